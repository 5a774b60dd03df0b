//! What checks simulate: melts in cells of any shape, ways to move them and to lay them out.

use super::engine::wrong;
use super::{Extent, Wrong};
use debye::engines::cpu::CpuEngine;
use debye::engines::cuda::Choice;
use debye::engines::{Precision, Settings};
use debye::forces::{ForceField, PairTerm};
use debye::integrate::{Barostat, BarostatKind, Coupling, Dynamics, Scheme, Thermostat, ThermostatKind};
use debye::system::{Cell, System, builders};
use debye::truncation::Truncation;

/// Plain velocity Verlet.
pub(super) fn plain() -> Dynamics {
    Dynamics {
        timestep: 0.004,
        scheme: Scheme::VelocityVerlet,
        thermostats: vec![],
        barostat: None,
        remove_momentum_every: 0,
        seed: 5,
    }
}

fn with_thermostat(kind: ThermostatKind) -> Dynamics {
    Dynamics {
        thermostats: vec![Thermostat {
            kind,
            species: vec![],
            temperature: 1.0,
            time: 0.5,
            every: None,
        }],
        ..plain()
    }
}

/// As large as the pressures below, in a cell of some σ.
const SURFACE: Coupling = Coupling::SurfaceTension { tension: 8.0 };

fn with_barostat(kind: BarostatKind, coupling: Coupling, dynamics: Dynamics) -> Dynamics {
    Dynamics {
        barostat: Some(Barostat {
            kind,
            coupling,
            pressure: [2.0, 3.0, 4.0],
            time: 0.1,
            compressibility: [0.1, 0.1, 0.05],
            temperature: 1.0,
            every: 3,
            limited: Default::default(),
        }),
        ..dynamics
    }
}

/// Every way to move, by its name.
pub(super) fn integrators() -> Vec<(&'static str, Dynamics)> {
    use ThermostatKind::{Berendsen, Bussi, Langevin, NoseHoover};
    let leapfrog = |dynamics| Dynamics {
        scheme: Scheme::Leapfrog,
        ..dynamics
    };
    let still = |dynamics| Dynamics {
        remove_momentum_every: 5,
        ..dynamics
    };
    let every = |steps, mut dynamics: Dynamics| {
        dynamics.thermostats[0].every = Some(steps);
        dynamics
    };
    let chain = NoseHoover { chain: 3 };
    let weak = BarostatKind::Berendsen;
    let rescale = BarostatKind::CellRescale;
    vec![
        ("velocity Verlet", plain()),
        ("Langevin", with_thermostat(Langevin)),
        ("leapfrog", leapfrog(plain())),
        ("Bussi", with_thermostat(Bussi)),
        ("Nosé–Hoover", still(with_thermostat(chain))),
        (
            "Langevin, cell rescaling",
            with_barostat(rescale, Coupling::SemiIsotropic, with_thermostat(Langevin)),
        ),
        (
            "Bussi, cell rescaling",
            every(
                4,
                with_barostat(rescale, Coupling::Isotropic, with_thermostat(Bussi)),
            ),
        ),
        ("Berendsen", every(1, with_thermostat(Berendsen))),
        (
            "Berendsen twice",
            with_barostat(weak, Coupling::Anisotropic, with_thermostat(Berendsen)),
        ),
        ("leapfrog, Bussi", still(leapfrog(with_thermostat(Bussi)))),
        ("Langevin, momentum removed", still(with_thermostat(Langevin))),
        (
            "leapfrog, cell rescaling",
            with_barostat(rescale, Coupling::Anisotropic, leapfrog(plain())),
        ),
        (
            "Bussi, surface tension",
            every(1, with_barostat(rescale, SURFACE, with_thermostat(Bussi))),
        ),
        (
            "Berendsen twice, surface tension",
            with_barostat(weak, SURFACE, with_thermostat(Berendsen)),
        ),
    ]
}

/// Laid out as a large or as a small system. Where lists know particles, each has one thread, as in systems too large for
/// checks.
pub(super) fn layout(small: bool) -> Choice {
    Choice {
        small: Some(small),
        measure: Some(false),
        lanes: (!small).then_some(1),
        ..Choice::default()
    }
}

/// The ways to lay a simulation out, whatever its size. An emulation has few lanes, as it runs one after the other.
pub(super) fn layouts(extent: Extent, space: Space) -> Vec<Choice> {
    let able = matches!(space, Space::Box | Space::Triclinic);
    let small = Choice {
        lanes: (extent != Extent::Full).then_some(4),
        ..layout(true)
    };
    let shared = Choice {
        lanes: Some(4),
        ..layout(false)
    };
    let skewed = space == Space::Triclinic;
    std::iter::once(layout(false))
        .chain(able.then_some(small))
        .chain(skewed.then_some(shared))
        .collect()
}

/// Shapes of cells.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Space {
    Box,
    Triclinic,
    Open,
    Slab,
}

impl Space {
    /// The same particles in a cell of this shape.
    fn shape(self, system: &mut System) -> Result<(), Wrong> {
        let cell = system.cell;
        match self {
            Self::Box => {}
            Self::Open => system.cell = cell.with_periodicity([false; 3]),
            Self::Slab => system.cell = cell.with_periodicity([true, true, false]),
            Self::Triclinic => {
                let [a, b, c] = cell.to_arrays();
                let skewed = [a, [0.17 * a[0], b[1], 0.0], [-0.21 * a[0], 0.13 * b[1], c[2]]];
                system.cell = Cell::triclinic(skewed).map_err(wrong)?;
                for r in &mut system.particles.positions {
                    *r = system.cell.position(cell.fractional(*r));
                }
            }
        }
        Ok(())
    }
}

/// A melt of atoms that are alike, or of three species with charges, far enough from a crystal.
pub(super) fn melt(
    extent: Extent,
    mixed: bool,
    space: Space,
    steps: u64,
) -> Result<(System, ForceField), Wrong> {
    let cells = match extent {
        Extent::Watched | Extent::Smallest => [4, 4, 5],
        Extent::Small => [5, 6, 7],
        Extent::Full => [14, 15, 16],
    };
    melt_of(cells, mixed, space, steps)
}

/// The same with so many cells of its crystal.
pub(super) fn melt_of(
    cells: [usize; 3],
    mixed: bool,
    space: Space,
    steps: u64,
) -> Result<(System, ForceField), Wrong> {
    let builder = builders::lj_melt(cells);
    let mut system = builder.thermalize(1.4, 3).map_err(wrong)?;
    if mixed {
        let like = system.species[0].clone();
        for name in ["B", "C"] {
            let mut other = like.clone();
            other.name = name.into();
            system.species.push(other);
        }
        for i in 0..system.particles.len() {
            system.particles.species[i] = (i % 3) as u32;
            system.particles.charges[i] = [0.4, -0.2, -0.2][i % 3];
            system.particles.masses[i] = [1.0, 1.5, 2.0][i % 3];
        }
    }
    let built = PairTerm::build("lennard-jones", &system.species)
        .map_err(wrong)?
        .cutoff(2.3)
        .truncation(Truncation::ForceShift)
        .all(&[("epsilon", 1.0), ("sigma", 1.0)])
        .map_err(wrong)?;
    let mut pairs = vec![built.finish().map_err(wrong)?];
    if mixed {
        // Pairs of species that differ.
        let term = &mut pairs[0];
        for a in 0..3 {
            for b in 0..3 {
                let strength = 1.0 - 0.1 * (a + b) as f64;
                let row = &mut term.rows[a * 3 + b];
                row.coefficients.iter_mut().for_each(|c| *c *= strength);
                row.truncation.iter_mut().for_each(|t| *t *= strength);
            }
        }
        let field = PairTerm::build("coulomb-reaction-field", &system.species)
            .map_err(wrong)?
            .cutoff(2.1)
            .all(&[])
            .map_err(wrong)?;
        pairs.push(field.finish().map_err(wrong)?);
    }
    let field = ForceField {
        pairs,
        coulomb_constant: 1.0,
        ..ForceField::new(debye::system::Units::LennardJones)
    };
    space.shape(&mut system)?;
    // Away from the lattice, where forces vanish.
    let mut engine = CpuEngine::new(&system, &field, &plain(), &settings(Precision::Double))?;
    engine.advance(steps, false)?;
    system.particles = engine.particles();
    Ok((system, field))
}

pub(super) fn settings(precision: Precision) -> Settings {
    Settings {
        precision,
        ..Settings::default()
    }
}

/// Steps of a run that is short, or through several lists.
pub(super) fn steps_of(extent: Extent) -> u64 {
    match extent {
        Extent::Watched | Extent::Smallest => 12,
        Extent::Small => 24,
        Extent::Full => 40,
    }
}
