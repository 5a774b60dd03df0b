//! Bonded terms on the device against the CPU: both are of double precision.

use super::engine::{within, wrong};
use super::systems::{Space, integrators, layouts, melt, plain, settings, steps_of};
use super::{Extent, Place, Random, Wrong};
use debye::engines::cpu::{BondedForces, CpuEngine, Slots};
use debye::engines::cuda::{Choice, CudaEngine};
use debye::engines::{Engine, Precision};
use debye::expr::Vec3;
use debye::forces::{BondedFamily, BondedTerm, ForceField, PairTerm};
use debye::integrate::Dynamics;
use debye::potentials::{
    AnglePotential, BondPotential, BondedSample, DihedralPotential, HarmonicAngle, HarmonicBond, PAIRS,
    Parameters, PeriodicDihedral, Value,
};
use debye::system::{Cell, ExclusionRule, Exclusions, Link, Particles, ScaledPair, Species, System, Units};
use debye_gpu::ModuleSource;

type Vector = Vec3<f64>;

/// Lengths of the cell. Positions are fractions of it with few digits, so that differences are exact on both sides.
const LENGTHS: [f64; 3] = [16.0, 32.0, 16.0];

/// Small molecules anywhere in a periodic cell, many of them across its faces.
struct Bag<'a> {
    random: &'a mut Random,
    system: System,
}

impl<'a> Bag<'a> {
    fn new(random: &'a mut Random) -> Result<Self, Wrong> {
        // One species for every pair potential, and one that none acts on.
        let species = (0..=PAIRS.iter().count()).map(|k| Species::point(format!("S{k}"), 1.0, 0.4));
        let system = System {
            units: debye::system::Units::LennardJones,
            cell: Cell::orthorhombic(LENGTHS).map_err(wrong)?,
            species: species.collect(),
            particles: Particles::default(),
            topology: debye::system::Topology::default(),
            exclusions: debye::system::Exclusions::default(),
            constraints: debye::system::Constraints::default(),
            labels: debye::system::AtomLabels::default(),
        };
        Ok(Self { random, system })
    }

    fn between(&mut self, from: f64, to: f64) -> f64 {
        from + 0.5 * (to - from) * (self.random.real() + 1.0)
    }

    fn direction(&mut self) -> Vector {
        loop {
            let d = Vec3::new(self.random.real(), self.random.real(), self.random.real());
            if (0.1..1.0).contains(&d.norm2()) {
                return d * d.norm().recip();
            }
        }
    }

    /// A place that every third time is on a face of the cell.
    fn anywhere(&mut self) -> Vector {
        Vec3::from(LENGTHS.map(|length| {
            if self.random.below(3) == 0 {
                0.0
            } else {
                self.between(0.0, length)
            }
        }))
    }

    /// Adds particles, and gives their numbers.
    fn add<const N: usize>(&mut self, species: usize, positions: [Vector; N]) -> [u32; N] {
        positions.map(|r| {
            let p = &mut self.system.particles;
            let digits = 2.0_f64.powi(36);
            let rounded = r.map(|x| (x * digits).round() / digits);
            p.positions.push(self.system.cell.wrap(rounded).0);
            p.velocities.push(Vec3::zero());
            p.species.push(species as u32);
            p.masses.push(1.0);
            p.charges.push(if p.charges.len().is_multiple_of(2) {
                0.4
            } else {
                -0.7
            });
            p.molecules.push(0);
            p.images.push([0; 3]);
            p.charges.len() as u32 - 1
        })
    }

    /// Two particles so far apart.
    fn two(&mut self, species: usize, r: f64) -> [u32; 2] {
        let (at, along) = (self.anywhere(), self.direction());
        self.add(species, [at, at + along * r])
    }

    /// Three particles with this angle between them.
    fn three(&mut self, theta: f64) -> [u32; 3] {
        let (at, [x, y, _]) = (self.anywhere(), self.frame());
        let (a, b) = (self.between(0.3, 1.2), self.between(0.3, 1.2));
        let other = x * theta.cos() + y * theta.sin();
        self.add(PAIRS.iter().count(), [at + x * a, at, at + other * b])
    }

    /// Four particles with this dihedral angle.
    fn four(&mut self, phi: f64) -> [u32; 4] {
        let (at, [x, y, z]) = (self.anywhere(), self.frame());
        let lengths: [f64; 3] = std::array::from_fn(|_| self.between(0.3, 1.2));
        let tilts: [f64; 2] = std::array::from_fn(|_| self.between(0.4, 2.7));
        let bent = |tilt: f64, side: Vector| x * tilt.cos() + side * tilt.sin();
        let away = y * phi.cos() + z * phi.sin();
        let k = at + x * lengths[1];
        let i = at + bent(tilts[0], y) * lengths[0];
        self.add(
            PAIRS.iter().count(),
            [i, at, k, k + bent(tilts[1], away) * lengths[2]],
        )
    }

    /// Three directions at right angles.
    fn frame(&mut self) -> [Vector; 3] {
        let x = self.direction();
        let normal = loop {
            let normal = x.cross(self.direction());
            if normal.norm2() > 0.05 {
                break normal * normal.norm().recip();
            }
        };
        [x, normal.cross(x), normal]
    }
}

/// A term for every potential of a register: each sample of each is a kind of its own.
fn terms<F: BondedFamily + ?Sized>(
    samples: impl Fn(&F) -> Vec<BondedSample>,
) -> Result<(Vec<BondedTerm<F>>, Vec<BondedSample>), Wrong> {
    let kinds: usize = F::register().iter().map(|f| samples(f).len()).sum();
    let (mut terms, mut all) = (Vec::new(), Vec::new());
    for family in F::register() {
        let mut rows = vec![None; kinds];
        for sample in samples(family) {
            rows[all.len()] = Some(family.prepared(Parameters(&sample.values)).map_err(wrong)?);
            all.push(sample);
        }
        terms.push(BondedTerm {
            name: family.family_name().into(),
            family,
            rows,
        });
    }
    Ok((terms, all))
}

/// Every pair potential, each between particles of one species.
fn pair_terms(species: &[Species]) -> Result<Vec<PairTerm>, Wrong> {
    let of_family = |(number, family): (usize, &'static dyn debye::potentials::PairFamily)| {
        let sample = family.samples().swap_remove(0);
        let given = family.parameters().iter().map(|p| p.name.to_owned());
        let given: Vec<(String, Value)> = given.zip(sample.values).collect();
        let built = PairTerm::build(family.name(), species).map_err(wrong)?;
        let built = built.cutoff(sample.to).all_values(given).map_err(wrong)?;
        let mut term = built.finish().map_err(wrong)?;
        let own = number * species.len() + number;
        for (k, row) in term.rows.iter_mut().enumerate() {
            row.cutoff = if k == own { row.cutoff } else { 0.0 };
        }
        Ok(term)
    };
    PAIRS.iter().enumerate().map(of_family).collect()
}

/// Links of every bonded potential and scaled pairs of every pair potential, each between particles of its own.
fn every_potential<'a>(random: &'a mut Random, copies: usize) -> Result<(Bag<'a>, ForceField), Wrong> {
    let mut bag = Bag::new(random)?;
    let (bonds, of_bonds) = terms::<dyn debye::potentials::BondFamily>(|f| f.samples())?;
    let (angles, of_angles) = terms::<dyn debye::potentials::AngleFamily>(|f| f.samples())?;
    let (dihedrals, of_dihedrals) = terms::<dyn debye::potentials::DihedralFamily>(|f| f.samples())?;
    let pairs = pair_terms(&bag.system.species)?;
    for copy in 0..copies {
        for (kind, s) in of_bonds.iter().enumerate() {
            let r = bag.between(s.from, s.to);
            let atoms = bag.two(PAIRS.iter().count(), r);
            let kind = kind as u32;
            bag.system.topology.bonds.push(Link { kind, atoms });
        }
        for (kind, s) in of_angles.iter().enumerate() {
            let theta = bag.between(s.from, s.to);
            let atoms = bag.three(theta);
            let kind = kind as u32;
            bag.system.topology.angles.push(Link { kind, atoms });
        }
        for (kind, s) in of_dihedrals.iter().enumerate() {
            let kind = kind as u32;
            let phi = bag.between(s.from, s.to);
            let atoms = bag.four(phi);
            bag.system.topology.dihedrals.push(Link { kind, atoms });
            let atoms = bag.four(phi);
            bag.system.topology.impropers.push(Link { kind, atoms });
        }
        for (species, family) in PAIRS.iter().enumerate() {
            let s = family.samples().swap_remove(0);
            // Some of them beyond the cut-off.
            let r = bag.between(s.from, 1.1 * s.to);
            let atoms = bag.two(species, r);
            let (pair, charge) = if copy % 2 == 0 {
                (0.5, 5.0 / 6.0)
            } else {
                (0.25, 1.0)
            };
            let scaled = ScaledPair { atoms, pair, charge };
            bag.system.exclusions.scaled.push(scaled);
        }
    }
    let field = ForceField {
        pairs,
        bonds,
        angles,
        impropers: dihedrals.clone(),
        dihedrals,
        coulomb_constant: 1.7,
        ..ForceField::new(Units::LennardJones)
    };
    Ok((bag, field))
}

/// Chains whose particles have links of all kinds, and a particle with sixty of them.
fn add_chains(bag: &mut Bag<'_>, field: &ForceField, count: usize) {
    // Bonds of kind 0 are harmonic and may have any length.
    let (angle_kinds, dihedral_kinds) = (field.angles[0].rows.len(), field.dihedrals[0].rows.len());
    for _ in 0..count {
        let mut at = bag.anywhere();
        let beads: Vec<u32> = (0..9)
            .map(|_| {
                at += bag.direction() * 0.9;
                bag.add(PAIRS.iter().count(), [at])[0]
            })
            .collect();
        let t = &mut bag.system.topology;
        let kind = |k: usize, kinds: usize| (k % kinds) as u32;
        for (k, w) in beads.windows(2).enumerate() {
            let atoms = [w[0], w[1]];
            // A bond may run either way.
            let atoms = if k % 2 == 0 { atoms } else { [w[1], w[0]] };
            t.bonds.push(Link { kind: 0, atoms });
        }
        for (k, w) in beads.windows(3).enumerate() {
            let atoms = [w[0], w[1], w[2]];
            t.angles.push(Link {
                kind: kind(k, angle_kinds),
                atoms,
            });
        }
        for (k, w) in beads.windows(4).enumerate() {
            let atoms = [w[0], w[1], w[2], w[3]];
            let kind = kind(k, dihedral_kinds);
            t.dihedrals.push(Link { kind, atoms });
            let atoms = [w[1], w[0], w[2], w[3]];
            t.impropers.push(Link { kind, atoms });
        }
    }
    let middle = bag.anywhere();
    let [hub] = bag.add(PAIRS.iter().count(), [middle]);
    let mut last = None;
    for _ in 0..60 {
        let r = bag.between(0.1, 0.3);
        let at = middle + bag.direction() * r;
        let [spoke] = bag.add(PAIRS.iter().count(), [at]);
        let t = &mut bag.system.topology;
        t.bonds.push(Link {
            kind: 0,
            atoms: [spoke, hub],
        });
        if let Some(last) = last {
            t.angles.push(Link {
                kind: 0,
                atoms: [last, hub, spoke],
            });
        }
        last = Some(spoke);
    }
}

/// Compares the bonded part alone; the pairs of the list, from which nothing is left out, do not matter.
fn agree(place: &mut Place<'_>, system: &System, field: &ForceField) -> Result<(), Wrong> {
    let alone = debye::engines::cuda::bonded_alone;
    let (found, (energies, virial)) = alone(place.device, system, field, &plain())?;
    let p = &system.particles;
    let ids: Vec<u32> = (0..p.len() as u32).collect();
    let slots = Slots {
        ids: &ids,
        slot_of: &ids,
        positions: &p.positions,
        species: &p.species,
        charges: &p.charges,
        turns: &[],
    };
    let mut bonded = BondedForces::new(system, field);
    let mut expected = vec![Vec3::zero(); p.len()];
    let sums = bonded.add(&system.cell, field, &slots, &mut expected, &mut [], true);
    place.expect("number of terms", &[energies.len()], &[sums.len()])?;
    for ((name, found), sum) in bonded.names().iter().zip(energies).zip(&sums) {
        within(place, name, found, sum.energy, 1e-12)?;
    }
    for (k, found) in virial.into_iter().enumerate() {
        let total: f64 = sums.iter().map(|s| s.virial[k]).sum();
        let scale: f64 = sums.iter().map(|s| s.virial[k].abs()).sum();
        within(place, "virial", (found - total) / scale.max(1.0), 0.0, 1e-12)?;
    }
    for (i, (f, e)) in found.iter().zip(&expected).enumerate() {
        let off = (*f - *e).norm() / (100.0 + e.norm());
        within(place, &format!("force on {i}"), off, 0.0, 1e-12)?;
    }
    Ok(())
}

/// Every potential by itself, then chains, hubs and links across faces.
pub(super) fn potentials(place: &mut Place<'_>) -> Result<(), Wrong> {
    let copies = match place.extent {
        Extent::Watched | Extent::Smallest => 2,
        Extent::Small => 6,
        Extent::Full => 16,
    };
    let (mut bag, mut field) = every_potential(&mut place.random, copies)?;
    add_chains(&mut bag, &field, copies);
    // Some impropers are of kinds that no term knows.
    field.impropers.truncate(2);
    let system = bag.system;
    agree(place, &system, &field)
}

/// Particles in a line have forces that are numbers.
pub(super) fn straight(place: &mut Place<'_>) -> Result<(), Wrong> {
    let (mut bag, mut field) = every_potential(&mut place.random, 1)?;
    field.pairs.truncate(1);
    bag.system.exclusions.scaled.clear();
    let first = bag.system.particles.len();
    for axis in 0..4 {
        let at = Vec3::new(15.5, 0.25, 8.0);
        let along = [[0.5, 0.0, 0.0], [0.0, 0.5, 0.0], [0.0, 0.0, 0.5], [0.3, 0.2, 0.1]][axis];
        let step = Vec3::from(along);
        let line = [at, at + step, at + step * 2.0, at + step * 3.0];
        let atoms @ [i, j, k, _] = bag.add(PAIRS.iter().count(), line);
        let t = &mut bag.system.topology;
        for kind in 0..field.angles[0].rows.len() as u32 {
            let atoms = [i, j, k];
            t.angles.push(Link { kind, atoms });
            // There and back again.
            let atoms = [i, k, j];
            t.angles.push(Link { kind, atoms });
        }
        for kind in 0..field.dihedrals[0].rows.len() as u32 {
            t.dihedrals.push(Link { kind, atoms });
            t.impropers.push(Link { kind, atoms });
        }
    }
    let system = bag.system;
    let alone = debye::engines::cuda::bonded_alone;
    let (forces, (energies, _)) = alone(place.device, &system, &field, &plain())?;
    let finite = forces[first..].iter().all(|f| f.norm2() < 1e20) && energies.iter().all(|e| e.is_finite());
    place.expect("forces along a line are finite", &[finite], &[true])
}

/// A melt of molecules of four, whose ends are scaled pairs.
fn molecules(extent: Extent, space: Space) -> Result<(System, ForceField), Wrong> {
    let (mut system, mut field) = melt(extent, false, space, 40)?;
    let t = &mut system.topology;
    for first in (0..system.particles.len() as u32 - 3).step_by(4) {
        let at = |k: u32| first + k;
        for k in 0..3 {
            let atoms = [at(k), at(k + 1)];
            t.bonds.push(Link { kind: 0, atoms });
        }
        for k in 0..2 {
            let atoms = [at(k), at(k + 1), at(k + 2)];
            t.angles.push(Link { kind: 0, atoms });
        }
        let atoms = [at(0), at(1), at(2), at(3)];
        t.dihedrals.push(Link { kind: 0, atoms });
    }
    let rule = ExclusionRule::through(2).one_four(0.5, 0.8);
    system.exclusions =
        Exclusions::from_bonds(&system.topology, system.particles.len(), &rule).map_err(wrong)?;
    let row = |values: &[(&str, f64)]| {
        let named = values
            .iter()
            .map(|&(name, x)| (name.to_owned(), Value::Number(x)));
        [Some(named.collect::<Vec<_>>())]
    };
    let bond = row(&[("k", 60.0), ("r0", 1.1)]);
    let angle = row(&[("k", 5.0), ("theta0", 1.4)]);
    let dihedral = row(&[("k", 2.0), ("n", 3.0), ("phase", 0.4)]);
    field.bonds = vec![BondedTerm::build(HarmonicBond::NAME, &bond).map_err(wrong)?];
    field.angles = vec![BondedTerm::build(HarmonicAngle::NAME, &angle).map_err(wrong)?];
    field.dihedrals = vec![BondedTerm::build(PeriodicDihedral::NAME, &dihedral).map_err(wrong)?];
    Ok((system, field))
}

/// Molecules move as on the CPU, and to the last bit the same after saving and going on.
pub(super) fn motion(place: &mut Place<'_>) -> Result<(), Wrong> {
    motion_of(place, &plain(), Space::Box, Precision::Mixed)?;
    if place.extent <= Extent::Smallest {
        return Ok(());
    }
    // A barostat feels the bonds.
    let with_barostat = integrators().into_iter().filter(|(_, d)| d.barostat.is_some());
    for (name, dynamics) in with_barostat.take(2) {
        motion_of(place, &dynamics, Space::Triclinic, Precision::Double)
            .map_err(|e| wrong(format!("{name}: {e}")))?;
    }
    motion_of(place, &plain(), Space::Open, Precision::Single)
}

/// A buffer that makes the radius longer than half of the smaller cells.
const LONG: f64 = 1.6;

fn motion_of(place: &mut Place<'_>, d: &Dynamics, space: Space, precision: Precision) -> Result<(), Wrong> {
    let (system, field) = molecules(place.extent, space)?;
    let mut all = Vec::new();
    for choice in layouts(place.extent, space) {
        if choice.small != Some(true) {
            all.push(choice);
            continue;
        }
        // Lists that do not last; and with a long radius the cell is a short one, which only small systems may have.
        let buffers = [Some(0.3), (place.extent < Extent::Full).then_some(LONG)];
        let with = |buffer| Choice {
            buffer: Some(buffer),
            ..choice
        };
        all.extend(buffers.into_iter().flatten().map(with));
    }
    for choice in all {
        moves(place, &system, &field, d, precision, &choice)?;
    }
    Ok(())
}

pub(super) fn moves(
    place: &mut Place<'_>,
    system: &System,
    field: &ForceField,
    d: &Dynamics,
    precision: Precision,
    choice: &Choice,
) -> Result<(), Wrong> {
    let steps = steps_of(place.extent);
    let s = settings(precision);
    let mut cuda = CudaEngine::with_choice(place.device, system, field, d, &s, choice)?;
    let mut cpu = CpuEngine::new(system, field, d, &settings(Precision::Double))?;
    compare(place, &mut cuda, &mut cpu)?;
    Engine::advance(&mut cuda, steps, false)?;
    cpu.advance(steps, true)?;
    compare(place, &mut cuda, &mut cpu)?;
    let (expected, reference) = (Engine::particles(&cuda)?, cpu.particles());
    let pairs = expected.positions.iter().zip(&reference.positions);
    let furthest = pairs
        .map(|(a, b)| cpu.cell().minimum_image(*a - *b).norm())
        .fold(0.0, f64::max);
    within(place, "positions", furthest, 0.0, 1e-4)?;
    if place.extent > Extent::Smallest && choice.buffer != Some(LONG) {
        place.expect("several lists", &[cuda.lists().builds > 1], &[true])?;
    }

    let mut parts = CudaEngine::with_choice(place.device, system, field, d, &s, choice)?;
    Engine::advance(&mut parts, 5, true)?;
    let saved = Engine::save(&parts)?;
    let mut resumed = CudaEngine::resumed_with_choice(place.device, system, field, d, &s, choice, &saved)?;
    for engine in [&mut parts, &mut resumed] {
        Engine::advance(engine, steps - 5, false)?;
        let found = Engine::particles(engine)?;
        place.expect("positions", &found.positions, &expected.positions)?;
        place.expect("velocities", &found.velocities, &expected.velocities)?;
        let (found, expected) = (&found.orientations, &expected.orientations);
        place.expect("orientations", &found.rotations, &expected.rotations)?;
        place.expect(
            "angular momenta",
            &found.angular_momenta,
            &expected.angular_momenta,
        )?;
    }
    Ok(())
}

fn compare(place: &mut Place<'_>, cuda: &mut dyn Engine, cpu: &mut dyn Engine) -> Result<(), Wrong> {
    let (found, expected) = (cuda.observe()?, cpu.observe()?);
    let names = |o: &debye::engines::Observation| o.terms.iter().map(|t| t.0.clone()).collect::<Vec<_>>();
    place.expect("names of terms", &names(&found), &names(&expected))?;
    for (a, b) in found.terms.iter().zip(&expected.terms) {
        within(place, &a.0, a.1, b.1, 1e-4)?;
    }
    within(place, "kinetic energy", found.kinetic, expected.kinetic, 1e-4)?;
    for k in 0..6 {
        let (a, b) = (found.pressure_tensor[k], expected.pressure_tensor[k]);
        within(place, "pressure", a, b, 1e-4)?;
    }
    let off = super::engine::difference(&cuda.forces()?, &cpu.forces()?);
    within(place, "forces", off, 0.0, 1e-4)?;
    let (found, expected) = (cuda.torques()?, cpu.torques()?);
    place.expect("torques there", &[found.len()], &[expected.len()])?;
    let off = super::engine::difference(&found, &expected);
    within(place, "torques", off, 0.0, 1e-4)
}

/// The kernels of the systems above.
pub(super) fn modules() -> Vec<ModuleSource> {
    let mut random = Random(1);
    let potentials = every_potential(&mut random, 1).map(|(bag, field)| (bag.system, field));
    let systems = [potentials, molecules(Extent::Smallest, Space::Box)]
        .into_iter()
        .flatten();
    systems
        .flat_map(|(system, field)| {
            let settings = settings(Precision::Mixed);
            let by_rule = Choice::default();
            let large = debye::engines::cuda::modules(&system, &field, &plain(), &settings, &by_rule);
            let choice = super::systems::layout(true);
            let small =
                debye::engines::cuda::small_module(&system, &field, &plain(), &settings, 132, &choice);
            large.into_iter().flatten().chain(small)
        })
        .collect()
}
