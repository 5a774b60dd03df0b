//! Simulations with charges on a mesh against the CPU.

use super::constraints::{self, What, breaks_alike};
use super::engine::{continues, difference, moves_alike, tolerances, within, wrong};
use super::systems::{Space, integrators, layout, melt, plain, settings};
use super::{Extent, Place, Wrong};
use debye::engines::cpu::CpuEngine;
use debye::engines::cuda::{Choice, CudaEngine};
use debye::engines::{Engine, Precision};
use debye::forces::ForceField;
use debye::forces::electrostatics::{Boundary, Electrostatics, MeshPlan, Method};
use debye::forces::multilevel::{Boundaries, GridPlan, Interpolation, MultilevelPlan};
use debye::forces::pme::Basis;
use debye::integrate::Dynamics;
use debye::system::{Cell, ExclusionRule, Exclusions, System, Topology};
use debye_gpu::ModuleSource;

/// What charges are on, and in.
#[derive(Clone, Copy, Debug)]
struct Way {
    space: Space,
    basis: Basis,
    optimal: bool,
    boundary: Boundary,
    /// Nested grids of this order of interpolation instead of the mesh.
    grids: Option<usize>,
}

/// The usual mesh in a box.
const USUAL: Way = Way {
    space: Space::Box,
    basis: Basis::BSpline(5),
    optimal: false,
    boundary: Boundary::Conductor,
    grids: None,
};

const SLAB: Way = Way {
    space: Space::Slab,
    boundary: Boundary::Slab { factor: 3.0 },
    ..USUAL
};

impl Way {
    fn method(self, extent: Extent, cell: &Cell) -> Result<Method, Wrong> {
        let Some(order) = self.grids else {
            return Ok(Method::Mesh(self.mesh(extent)));
        };
        let interpolation = Interpolation::of_order(order).ok_or_else(|| wrong("no such order"))?;
        let split = MultilevelPlan {
            cutoff: 2.3,
            spacing: 0.7,
            interpolation,
        };
        let boundaries = Boundaries::of(cell.periodic()).ok_or_else(|| wrong("a wire"))?;
        let grids = GridPlan::new(split, boundaries, cell.heights().to_array());
        Ok(Method::Multilevel(grids))
    }

    fn mesh(self, extent: Extent) -> MeshPlan {
        let [x, y, z] = match extent {
            Extent::Full => [60, 64, 70],
            _ => [15, 18, 20],
        };
        let longer = if self.space == Space::Slab { 2 } else { 1 };
        MeshPlan {
            size: [x, y, longer * z],
            basis: self.basis,
            optimal: self.optimal,
        }
    }
}

/// A melt of charges of three sizes, with a net charge and pairs left out.
fn ions(extent: Extent, way: Way) -> Result<(System, ForceField), Wrong> {
    let (mut system, mut field) = melt(extent, true, way.space, 40)?;
    let rule = ExclusionRule::default().extra([[0, 1], [2, 50], [7, 9]]);
    let n = system.particles.len();
    system.exclusions = Exclusions::from_bonds(&Topology::default(), n, &rule).map_err(wrong)?;
    // Dipoles are those of particles that have left the cell: far enough to be seen in the pressure.
    if system.cell.has_volume() {
        system.particles.images.resize(n, [0; 3]);
        system.particles.images[4] = [6, 0, -9];
    }
    field.pairs.truncate(1);
    let plan = Electrostatics {
        name: "coulomb".into(),
        cutoff: 2.3,
        alpha: 1.2,
        permittivity: 1.3,
        method: way.method(extent, &system.cell)?,
        boundary: way.boundary,
    };
    field
        .pairs
        .push(plan.short_range(&system.species).map_err(wrong)?);
    field.electrostatics = Some(plan);
    field.coulomb_constant = 20.0;
    Ok((system, field))
}

/// Energies by term, pressure and forces.
pub(super) fn forces(place: &mut Place<'_>) -> Result<(), Wrong> {
    let (triclinic, vacuum) = (Space::Triclinic, Boundary::Vacuum);
    let of = |space, basis| Way {
        space,
        basis,
        ..USUAL
    };
    let all = [
        (Precision::Mixed, USUAL),
        (Precision::Double, of(triclinic, Basis::BSpline(6))),
        (Precision::Double, SLAB),
        (Precision::Single, of(Space::Box, Basis::BSpline(4))),
        (
            Precision::Mixed,
            Way {
                optimal: true,
                ..of(triclinic, Basis::Cubic)
            },
        ),
        (
            Precision::Double,
            Way {
                boundary: vacuum,
                ..of(triclinic, Basis::BSpline(4))
            },
        ),
        (
            Precision::Single,
            Way {
                boundary: vacuum,
                ..USUAL
            },
        ),
        (
            Precision::Mixed,
            Way {
                boundary: Boundary::Slab { factor: 2.5 },
                ..SLAB
            },
        ),
    ];
    let few = if place.extent <= Extent::Smallest {
        3
    } else {
        all.len()
    };
    for &(precision, way) in &all[..few] {
        forces_of(place, precision, way).map_err(|e| wrong(format!("{way:?}, {}: {e}", precision.name())))?;
    }
    Ok(())
}

fn forces_of(place: &mut Place<'_>, precision: Precision, way: Way) -> Result<(), Wrong> {
    let (system, field) = ions(place.extent, way)?;
    let s = settings(precision);
    let shared = Choice {
        lanes: (way.space == Space::Box).then_some(8),
        ..layout(false)
    };
    let mut cuda = CudaEngine::with_choice(place.device, &system, &field, &plain(), &s, &shared)?;
    let mut cpu = CpuEngine::new(&system, &field, &plain(), &settings(Precision::Double))?;
    let (found, expected) = (cuda.observe()?, cpu.observe()?);
    let [force, energy, pressure] = tolerances(precision);
    let names = |o: &debye::engines::Observation| o.terms.iter().map(|t| t.0.clone()).collect::<Vec<_>>();
    place.expect("names", &names(&found), &names(&expected))?;
    // Charges cancel: an energy is as exact as what it is the sum of.
    let largest = expected.terms.iter().fold(1.0_f64, |most, t| most.max(t.1.abs()));
    for (a, b) in found.terms.iter().zip(&expected.terms) {
        within(place, &a.0, a.1 - b.1, 0.0, energy * largest)?;
    }
    let most = expected
        .pressure_tensor
        .iter()
        .fold(1.0_f64, |most, p| most.max(p.abs()));
    for k in 0..6 {
        let (a, b) = (found.pressure_tensor[k], expected.pressure_tensor[k]);
        within(place, "pressure", a - b, 0.0, pressure * most * 10.0)?;
    }
    let off = difference(&Engine::forces(&cuda)?, &cpu.forces());
    within(place, "forces", off, 0.0, force)
}

/// A short run stays with the CPU's through several lists; the same bits again, and resumed. Whoever watches sees the
/// same kernels again when a run is resumed, and need not.
pub(super) fn motion(place: &mut Place<'_>) -> Result<(), Wrong> {
    let (steps, few) = match place.extent {
        Extent::Watched => (4, 1),
        Extent::Smallest => (6, 2),
        Extent::Small => (8, 4),
        Extent::Full => (30, usize::MAX),
    };
    // A table of the mesh and a dipole that follow the cell.
    let all_follow = Way {
        basis: Basis::Cubic,
        optimal: true,
        boundary: Boundary::Vacuum,
        ..USUAL
    };
    let mut all = vec![
        ("Langevin, cell rescaling", all_follow),
        ("velocity Verlet", USUAL),
        ("Langevin", SLAB),
        ("Bussi, cell rescaling", USUAL),
    ];
    let named = integrators();
    all.extend(named.iter().map(|&(name, _)| (name, USUAL)));
    for (name, way) in all.into_iter().take(few) {
        let Some((_, dynamics)) = named.iter().find(|d| d.0 == name) else {
            return Err(wrong(format!("no way to move is called {name}")));
        };
        motion_of(place, way, steps, dynamics).map_err(|e| wrong(format!("{name}, {way:?}: {e}")))?;
    }
    Ok(())
}

fn motion_of(place: &mut Place<'_>, way: Way, steps: u64, dynamics: &Dynamics) -> Result<(), Wrong> {
    let (system, field) = ions(place.extent, way)?;
    let large = Choice {
        lanes: Some(8),
        ..layout(false)
    };
    let mixed = Precision::Mixed;
    moves_alike(place, &system, &field, dynamics, mixed, steps, &large)?;
    if place.extent == Extent::Watched {
        return Ok(());
    }
    let halves = [steps / 2, 1];
    continues(place, &system, &field, dynamics, mixed, halves, &large)
}

/// Multilevel summation in a box, a slab and an open system: energies, pressure, forces and motion.
pub(super) fn multilevel(place: &mut Place<'_>) -> Result<(), Wrong> {
    let of = |space, boundary, order| Way {
        space,
        boundary,
        grids: Some(order),
        ..USUAL
    };
    let slab = Boundary::Slab { factor: 3.0 };
    let all = [
        (Precision::Mixed, of(Space::Box, Boundary::Conductor, 6)),
        (Precision::Double, of(Space::Slab, slab, 4)),
        (Precision::Mixed, of(Space::Open, Boundary::Open, 4)),
        (Precision::Double, of(Space::Box, Boundary::Vacuum, 8)),
        (Precision::Single, of(Space::Slab, slab, 6)),
        (Precision::Double, of(Space::Open, Boundary::Open, 8)),
    ];
    // The emulation takes long over the empty space around an open system; a slab is open along one axis.
    let (few, moved, steps) = match place.extent {
        Extent::Watched => (1, 1..2, 2),
        Extent::Smallest => (2, 1..2, 4),
        _ => (all.len(), 0..3, 8),
    };
    for &(precision, way) in &all[..few] {
        forces_of(place, precision, way).map_err(|e| wrong(format!("{way:?}, {}: {e}", precision.name())))?;
    }
    for &(_, way) in &all[moved] {
        motion_of(place, way, steps, &plain()).map_err(|e| wrong(format!("{way:?}: {e}")))?;
    }
    Ok(())
}

/// A gas whose cell shrinks by a quarter: lists of bricks are cut anew on the way.
pub(super) fn shrinking(place: &mut Place<'_>) -> Result<(), Wrong> {
    if place.extent <= Extent::Smallest {
        return Ok(());
    }
    let (mut system, mut field) = ions(place.extent, USUAL)?;
    let wider = system.cell.heights() * 1.3;
    system.cell = Cell::orthorhombic(wider.to_array()).map_err(wrong)?;
    system.particles.positions.iter_mut().for_each(|r| *r = *r * 1.3);
    if let Some(Electrostatics { method, .. }) = &mut field.electrostatics {
        let double = USUAL.mesh(place.extent).size.map(|n| 2 * n);
        *method = Method::Mesh(MeshPlan {
            size: double,
            ..USUAL.mesh(place.extent)
        });
    }
    let mut pressed = integrators()
        .into_iter()
        .find(|(name, _)| *name == "Berendsen twice")
        .map_or_else(plain, |(_, dynamics)| dynamics);
    if let Some(barostat) = &mut pressed.barostat {
        barostat.pressure = [60.0; 3];
    }
    let large = layout(false);
    moves_alike(place, &system, &field, &pressed, Precision::Mixed, 10, &large)
}

/// Liquids of rigid waters on a mesh, and how they move: where there is nothing else a step is one kernel, and with a
/// barostat the virial of a molecule is that of its center.
const WATERS: [(What, &str, Precision); 7] = [
    (What::Waters, "Langevin, cell rescaling", Precision::Mixed),
    (What::Solution, "velocity Verlet", Precision::Double),
    (What::Waters, "velocity Verlet", Precision::Double),
    (What::Waters, "Bussi, cell rescaling", Precision::Mixed),
    (What::Waters, "Langevin, momentum removed", Precision::Single),
    (What::Waters, "Langevin", Precision::Mixed),
    (What::Solution, "Langevin", Precision::Mixed),
];

/// Four threads to a molecule as in large systems, or eight as in small ones, in turns.
fn many_lanes(number: usize) -> Choice {
    Choice {
        lanes: Some(if number.is_multiple_of(2) { 4 } else { 8 }),
        ..layout(false)
    }
}

/// Rigid waters on a mesh, and a way to move.
fn waters_on_mesh(what: What, name: &str, extent: Extent) -> Result<(System, ForceField, Dynamics), Wrong> {
    let (system, mut field) = constraints::waters(what, extent)?;
    let plan = Electrostatics {
        name: "coulomb".into(),
        cutoff: 0.5,
        alpha: 5.0,
        permittivity: 1.0,
        method: Method::Mesh(MeshPlan {
            size: [20, 21, 24],
            basis: Basis::BSpline(5),
            optimal: false,
        }),
        boundary: Boundary::Conductor,
    };
    field.pairs.truncate(1);
    field
        .pairs
        .push(plan.short_range(&system.species).map_err(wrong)?);
    field.electrostatics = Some(plan);
    let named = constraints::integrators().into_iter().find(|d| d.0 == name);
    let (_, dynamics) = named.ok_or_else(|| wrong(format!("no way to move is called {name}")))?;
    Ok((system, field, dynamics))
}

/// Rigid waters on a mesh stay with the CPU's; the same bits again, and resumed; one that turns too fast is named.
pub(super) fn waters(place: &mut Place<'_>) -> Result<(), Wrong> {
    let (few, steps) = match place.extent {
        Extent::Watched => (1, 4),
        Extent::Smallest => (1, 10),
        Extent::Small => (4, 10),
        Extent::Full => (WATERS.len(), 10),
    };
    for (number, &(what, name, precision)) in WATERS[..few].iter().enumerate() {
        let (system, field, dynamics) = waters_on_mesh(what, name, place.extent)?;
        let large = many_lanes(number);
        let named = |e: Wrong| wrong(format!("{what:?}, {name}: {e}"));
        moves_alike(place, &system, &field, &dynamics, precision, steps, &large).map_err(named)?;
        if (number == 0 && place.extent > Extent::Watched) || place.extent == Extent::Full {
            continues(place, &system, &field, &dynamics, precision, [4, 1], &large).map_err(named)?;
        }
        if name == "velocity Verlet" {
            breaks_alike(place, &system, &field, 21).map_err(named)?;
        }
    }
    Ok(())
}

/// What is not done, and slabs that are too thick for their reciprocal vectors.
pub(super) fn refused(place: &mut Place<'_>) -> Result<(), Wrong> {
    let thick = Way {
        boundary: Boundary::Slab { factor: 1.3 },
        ..SLAB
    };
    let named = integrators();
    let with_barostat = named.iter().find(|(_, d)| d.barostat.is_some());
    let moving = with_barostat.map_or_else(plain, |(_, d)| d.clone());
    let grids = Way {
        grids: Some(6),
        ..USUAL
    };
    for (way, dynamics, word) in [
        (thick, plain(), "slab_factor"),
        (SLAB, moving.clone(), "barostat"),
        (grids, moving, "multilevel"),
    ] {
        let (system, field) = ions(Extent::Smallest, way)?;
        let s = settings(Precision::Mixed);
        let made = CudaEngine::with_choice(place.device, &system, &field, &dynamics, &s, &layout(false));
        let message = made.err().map(|e| e.to_string()).unwrap_or_default();
        place.expect(&message, &[message.contains(word)], &[true])?;
    }
    Ok(())
}

/// The kernels of the systems above that others do not have.
pub(super) fn modules() -> Vec<ModuleSource> {
    let mut all = Vec::new();
    let named = integrators();
    let vacuum = Way {
        boundary: Boundary::Vacuum,
        ..USUAL
    };
    let cases = [
        (vacuum, "Langevin, cell rescaling", Precision::Mixed),
        (SLAB, "velocity Verlet", Precision::Double),
        (vacuum, "velocity Verlet", Precision::Single),
    ];
    for (way, name, precision) in cases {
        let (Ok((system, field)), Some((_, dynamics))) =
            (ions(Extent::Small, way), named.iter().find(|d| d.0 == name))
        else {
            continue;
        };
        let (settings, large) = (settings(precision), layout(false));
        let made = debye::engines::cuda::modules(&system, &field, dynamics, &settings, &large);
        all.extend(made.into_iter().flatten());
    }
    for (number, (what, name, precision)) in WATERS.into_iter().enumerate() {
        if let Ok((system, field, dynamics)) = waters_on_mesh(what, name, Extent::Smallest) {
            let (settings, large) = (settings(precision), many_lanes(number));
            let made = debye::engines::cuda::modules(&system, &field, &dynamics, &settings, &large);
            let draws = (what, name) == (What::Waters, "Langevin");
            let new = |m: &ModuleSource| {
                m.label().starts_with("constrain") || draws && m.label().starts_with("step.cu")
            };
            all.extend(made.into_iter().flatten().filter(new));
        }
    }
    all
}
