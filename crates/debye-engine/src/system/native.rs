//! Systems as native structures, and back: nothing is rounded, nothing is left out.

use debye_io::{NativeLinks, NativeRotor, NativeSpecies, NativeStructure};

use super::{Cell, Link, Orientations, Particles, Rotor, System, Units};
use crate::expr::{Quat, Vec3};

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
        let (t, o) = (&self.topology, &particles.orientations);
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
                    rotor: to_rotor(&s.rotor),
                })
                .collect(),
            species_of: particles.species.clone(),
            positions: particles.positions.iter().map(|r| r.to_array()).collect(),
            velocities: particles.velocities.iter().map(|v| v.to_array()).collect(),
            images: particles.images.clone(),
            masses: particles.masses.clone(),
            charges: particles.charges.clone(),
            molecules: particles.molecules.clone(),
            rotors: o.rotors.iter().map(to_rotor).collect(),
            orientations: o.rotations.iter().map(|q| [q.w, q.v.x, q.v.y, q.v.z]).collect(),
            angular_momenta: o.angular_momenta.iter().map(|l| l.to_array()).collect(),
            labels: self.labels.clone(),
            bonds: to_links(&t.bond_kinds, &t.bonds),
            angles: to_links(&t.angle_kinds, &t.angles),
            dihedrals: to_links(&t.dihedral_kinds, &t.dihedrals),
            impropers: to_links(&t.improper_kinds, &t.impropers),
            axes: to_links(&t.axis_kinds, &t.axes),
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
pub fn from_links<const N: usize>(native: NativeLinks<N>) -> (Vec<String>, Vec<Link<N>>) {
    let link = |(kind, atoms)| Link { kind, atoms };
    (native.kinds, native.links.into_iter().map(link).collect())
}

fn to_rotor(rotor: &Rotor) -> NativeRotor {
    let [x, y, z] = rotor.inertia;
    [x, y, z, rotor.dipole]
}

/// How a particle of a native structure turns.
pub fn from_rotor([x, y, z, dipole]: NativeRotor) -> Rotor {
    Rotor::body([x, y, z]).with_dipole(dipole)
}

impl Orientations {
    /// Those of a native structure, which are taken from it. Readers of files see to it that there is one for every
    /// particle.
    pub fn from_native(native: &mut NativeStructure) -> Self {
        Self {
            rotors: (std::mem::take(&mut native.rotors).into_iter())
                .map(from_rotor)
                .collect(),
            rotations: (std::mem::take(&mut native.orientations).into_iter())
                .map(|[w, x, y, z]| Quat {
                    w,
                    v: Vec3::new(x, y, z),
                })
                .collect(),
            angular_momenta: (std::mem::take(&mut native.angular_momenta).into_iter())
                .map(Vec3::from)
                .collect(),
        }
    }
}
