//! Systems as native structures, and back: nothing is rounded, nothing is left out.

use debye_io::{NativeLinks, NativeSpecies, NativeStructure};

use super::{Cell, Link, Particles, System, Units};

impl System {
    /// The system with its particles as they are now, for a native structure file or a checkpoint.
    pub fn to_native(
        &self,
        particles: &Particles,
        cell: &Cell,
        step: u64,
        time: f64,
        title: &str,
    ) -> NativeStructure {
        let t = &self.topology;
        NativeStructure {
            title: title.to_owned(),
            reduced: self.units == Units::LennardJones,
            step,
            time,
            cell: cell.to_arrays(),
            periodic: cell.periodic(),
            species: (self.species.iter())
                .map(|s| NativeSpecies {
                    name: s.name.clone(),
                    mass: s.mass,
                    charge: s.charge,
                })
                .collect(),
            species_of: particles.species.clone(),
            positions: particles.positions.iter().map(|r| r.to_array()).collect(),
            velocities: particles.velocities.iter().map(|v| v.to_array()).collect(),
            images: particles.images.clone(),
            masses: particles.masses.clone(),
            charges: particles.charges.clone(),
            molecules: particles.molecules.clone(),
            labels: self.labels.clone(),
            bonds: to_links(&t.bond_kinds, &t.bonds),
            angles: to_links(&t.angle_kinds, &t.angles),
            dihedrals: to_links(&t.dihedral_kinds, &t.dihedrals),
            impropers: to_links(&t.improper_kinds, &t.impropers),
        }
    }
}

fn to_links<const N: usize>(kinds: &[String], links: &[Link<N>]) -> NativeLinks<N> {
    NativeLinks {
        kinds: kinds.to_vec(),
        links: links.iter().map(|link| (link.kind, link.atoms)).collect(),
    }
}

/// Kinds and links of a native structure.
pub(crate) fn from_links<const N: usize>(native: NativeLinks<N>) -> (Vec<String>, Vec<Link<N>>) {
    let link = |(kind, atoms)| Link { kind, atoms };
    (native.kinds, native.links.into_iter().map(link).collect())
}
