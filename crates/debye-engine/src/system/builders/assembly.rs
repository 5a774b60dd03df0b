//! [`Assembly`]: a system put together from molecules and single particles around them.

use super::builder::Setting;
use super::grid::Grid;
use super::{BuildError, places, push};
use crate::expr::{Quat, Vec3};
use crate::random::{Philox, stream};
use crate::system::orientation::random_rotation;
use crate::system::{
    Cell, Class, ExclusionRule, Exclusions, Link, Molecule, Species, System, Topology, Units,
};

/// Volume of a bead of a lipid in nm³: ELBA's DOPC has 1.3235 nm³ and 15 beads, water counted as below.
const BEAD_VOLUME: f64 = 1.3235 / 15.0;
/// Volume of a water in nm³, by which volumes per lipid are counted.
const WATER_VOLUME: f64 = 0.030;
/// Distance kept between molecules, in nm.
const CONTACT: f64 = 0.3;
/// The same in reduced units.
const REDUCED_CONTACT: f64 = 0.9;
/// A distance is lowered to this fraction of itself before there is no room.
const LEAST: f64 = 0.6;
/// What one try takes off a distance.
const LESS: f64 = 0.95;

/// Lipids, with how many of each, and what surrounds them.
#[derive(Clone, Debug, Default)]
pub struct Mixture {
    pub(super) lipids: Vec<(Molecule, usize)>,
    pub(super) water: Option<(Species, usize)>,
    pub(super) cell: Option<Cell>,
}

impl Mixture {
    pub(super) fn waters(&self) -> usize {
        self.water.as_ref().map_or(0, |(_, count)| *count)
    }

    /// Volumes of a bead and of a water, where they are known.
    pub(super) fn volumes(setting: &Setting) -> Option<[f64; 2]> {
        (setting.units == Units::Md).then_some([BEAD_VOLUME, WATER_VOLUME])
    }

    /// The distance that molecules keep.
    pub(super) fn contact(setting: &Setting) -> Result<f64, BuildError> {
        match (setting.minimum_distance, setting.units) {
            (0.0, Units::Md) => Ok(CONTACT),
            (0.0, Units::LennardJones) => Ok(REDUCED_CONTACT),
            (distance, _) => super::positive("minimum distance", distance),
        }
    }
}

/// How many lipids there are.
pub(super) fn lipid_count(lipids: &[(Molecule, usize)]) -> usize {
    lipids.iter().fold(0, |sum, (_, n)| sum.saturating_add(*n))
}

/// How many beads they have.
pub(super) fn bead_count(lipids: &[(Molecule, usize)]) -> usize {
    let beads = |(molecule, n): &(Molecule, usize)| molecule.beads.len().saturating_mul(*n);
    lipids.iter().fold(0, |sum, one| sum.saturating_add(beads(one)))
}

/// A system that grows by whole molecules.
pub(super) struct Assembly {
    pub(super) system: System,
    /// Beads of the molecules.
    pub(super) grid: Grid,
    philox: Philox,
    molecules: u32,
}

/// What the beads and links of a molecule are in the system.
pub(super) struct Template<'m> {
    molecule: &'m Molecule,
    species: Vec<usize>,
    topology: Topology,
}

impl Assembly {
    /// An empty cell. Distances up to `reach` from beads can be asked for.
    pub(super) fn new(
        setting: &Setting,
        mixture: &Mixture,
        cell: Cell,
        reach: f64,
    ) -> Result<Self, BuildError> {
        let beads = bead_count(&mixture.lipids);
        let total = beads.saturating_add(mixture.waters());
        super::count(&[total])?;
        let mut system = setting.system(Vec::new(), cell)?;
        super::reserve(&mut system, total);
        Ok(Self {
            grid: Grid::new(system.cell, reach, beads),
            system,
            philox: Philox::new(setting.seed),
            molecules: 0,
        })
    }

    fn species(&mut self, wanted: &Species) -> usize {
        let all = &mut self.system.species;
        all.iter().position(|s| s.name == wanted.name).unwrap_or_else(|| {
            all.push(wanted.clone());
            all.len() - 1
        })
    }

    /// Makes species and kinds of a molecule known to the system.
    pub(super) fn template<'m>(&mut self, molecule: &'m Molecule) -> Template<'m> {
        let species = molecule.beads.iter().map(|bead| self.species(bead)).collect();
        let (own, all) = (&molecule.topology, &mut self.system.topology);
        let topology = Topology {
            bonds: translate(&own.bonds, &own.bond_kinds, &mut all.bond_kinds),
            angles: translate(&own.angles, &own.angle_kinds, &mut all.angle_kinds),
            dihedrals: translate(&own.dihedrals, &own.dihedral_kinds, &mut all.dihedral_kinds),
            impropers: translate(&own.impropers, &own.improper_kinds, &mut all.improper_kinds),
            axes: translate(&own.axes, &own.axis_kinds, &mut all.axis_kinds),
            ..Topology::default()
        };
        Template {
            molecule,
            species,
            topology,
        }
    }

    /// Adds a molecule whose beads are there, in the cell or not. Axes of beads point where their restraints lead them;
    /// those without one lie at random.
    pub(super) fn add(&mut self, template: &Template, beads: &[Vec3<f64>]) {
        let first = self.system.particles.len();
        for (bead, &r) in beads.iter().enumerate() {
            self.grid.push(r);
            let (inside, image) = self.system.cell.wrap(r);
            push(&mut self.system, inside, template.species[bead], self.molecules);
            self.system.particles.images[first + bead] = image;
            let rotor = template.molecule.beads[bead].rotor;
            if rotor.class() != Class::Point {
                let axes = &template.topology.axes;
                let reference = axes.iter().find(|link| link.atoms[0] as usize == bead);
                let along = reference.map(|link| beads[link.atoms[1] as usize] - r);
                let turn = match along.filter(|d| d.norm2() > 0.0) {
                    Some(d) => Quat::from_z_to(d * d.norm().recip()),
                    None => self.random_turn(first + bead),
                };
                self.system.particles.orient(first + bead, rotor, turn);
            }
        }
        let (own, all) = (&template.topology, &mut self.system.topology);
        append(&own.bonds, &mut all.bonds, first);
        append(&own.angles, &mut all.angles, first);
        append(&own.dihedrals, &mut all.dihedrals, first);
        append(&own.impropers, &mut all.impropers, first);
        append(&own.axes, &mut all.axes, first);
        self.molecules += 1;
    }

    /// Adds single particles, oriented at random.
    pub(super) fn add_singles(&mut self, species: &Species, places: &[Vec3<f64>]) {
        let kind = self.species(species);
        for &r in places {
            self.add_single(kind, r, None);
        }
    }

    /// Adds a particle of a species of the system, oriented at random unless said.
    pub(super) fn add_single(&mut self, kind: usize, r: Vec3<f64>, turn: Option<Quat<f64>>) {
        let i = self.system.particles.len();
        let (inside, image) = self.system.cell.wrap(r);
        push(&mut self.system, inside, kind, self.molecules);
        self.system.particles.images[i] = image;
        let rotor = self.system.species[kind].rotor;
        if rotor.class() != Class::Point {
            let turn = turn.unwrap_or_else(|| self.random_turn(i));
            self.system.particles.orient(i, rotor, turn);
        }
        self.molecules += 1;
    }

    fn random_turn(&self, particle: usize) -> Quat<f64> {
        random_rotation(self.philox.uniforms(0, particle as u32, stream::ORIENTATIONS))
    }

    /// Places on a lattice in a part of the cell, the part with its origin there, none within `contact` of a bead. Where
    /// they do not fit, they come nearer, down to a limit.
    pub(super) fn around(
        &self,
        part: &Cell,
        origin: Vec3<f64>,
        wanted: usize,
        contact: f64,
    ) -> Result<Vec<Vec3<f64>>, BuildError> {
        let mut most = 0;
        let mut distance = contact;
        while distance >= LEAST * contact {
            // As many as a lattice of this distance has.
            let limit = (part.volume() / distance.powi(3)).min(f64::from(u32::MAX)) as usize;
            let mut sites = wanted;
            while sites <= limit.max(wanted) {
                let mut free = places::spread(part, sites);
                free.iter_mut().for_each(|r| *r += origin);
                free.retain(|r| self.grid.nearest2(*r, None) >= distance * distance);
                if free.len() >= wanted {
                    let chosen = |n: usize| (n as u64 * free.len() as u64 / wanted.max(1) as u64) as usize;
                    return Ok((0..wanted).map(|n| free[chosen(n)]).collect());
                }
                most = most.max(free.len());
                sites += (wanted - free.len()).max(sites / 50).max(1);
            }
            distance *= LESS;
        }
        Err(BuildError::NoRoom {
            what: "waters",
            placed: most,
            wanted,
            distance: distance / LESS,
        })
    }

    /// The system, with pairs excluded.
    pub(super) fn finish(mut self, setting: &Setting) -> Result<System, BuildError> {
        let n = self.system.particles.len();
        let rule = ExclusionRule::through(setting.exclude);
        self.system.exclusions = Exclusions::from_bonds(&self.system.topology, n, &rule)?;
        Ok(self.system)
    }
}

/// The links with the numbers that their kinds have in the system.
fn translate<const N: usize>(links: &[Link<N>], own: &[String], all: &mut Vec<String>) -> Vec<Link<N>> {
    let mut numbers = Vec::with_capacity(own.len());
    for name in own {
        let number = all.iter().position(|kind| kind == name).unwrap_or_else(|| {
            all.push(name.clone());
            all.len() - 1
        });
        numbers.push(number as u32);
    }
    let number = |link: &Link<N>| Link {
        kind: numbers[link.kind as usize],
        atoms: link.atoms,
    };
    links.iter().map(number).collect()
}

fn append<const N: usize>(own: &[Link<N>], all: &mut Vec<Link<N>>, first: usize) {
    let shifted = |link: &Link<N>| Link {
        kind: link.kind,
        atoms: link.atoms.map(|i| i + first as u32),
    };
    all.extend(own.iter().map(shifted));
}

/// Which molecule takes which place: each as often as it is wanted, in an order drawn by `draw`.
pub(super) fn shuffled(
    counts: impl Iterator<Item = usize>,
    philox: &Philox,
    draw: u64,
) -> Vec<(usize, usize)> {
    let kinds: Vec<usize> = counts
        .enumerate()
        .flat_map(|(k, n)| std::iter::repeat_n(k, n))
        .collect();
    let mut places: Vec<usize> = (0..kinds.len()).collect();
    if kinds.last() != Some(&0) {
        places.sort_by_cached_key(|&place| (philox.words(draw, place as u32, stream::MIXING, 0), place));
    }
    kinds.into_iter().zip(places).collect()
}
