//! Electrostatics on a CUDA device against published numbers, in each precision: the rows of `electrostatics.rs` by
//! meshes.
//!
//! With `DEBYE_TEST_DEVICE=N` in the environment all rows run on the card of that number, with `emulated` on the host,
//! which takes long. Without it one row runs on the emulation, and the kernels are held to the CPU by
//! `cuda_emulated.rs`.

use debye::engines::cuda::{Choice, CudaEngine};
use debye::engines::reference::Evaluation;
use debye::engines::{Engine, Precision, Settings};
use debye::expr::Vec3;
use debye::forces::ForceField;
use debye::forces::electrostatics::{Boundary, Method};
use debye::forces::pme::Basis;
use debye::forces::pme::estimate::{Charged, coarsest};
use debye::system::{Cell, ExclusionRule, Exclusions, System};
use debye_gpu::{Device, Emulation};

use super::electrostatics::{
    ATMOSPHERES, DISPLACED, LAMMPS, PAPER, bag, close, coulomb, crystal, crystals, field, kelvin, largest,
    lennard_jones, melt, mesh, plan, sixty, spce, table, term, xyz,
};
use super::{Tolerance, double, nve, precisions, relative_rms};

/// The card to test on, if there is one.
fn card() -> Option<Device> {
    let number = std::env::var("DEBYE_TEST_DEVICE").ok()?;
    if number == "emulated" {
        return Some(Device::emulated(Emulation::default()).unwrap());
    }
    Some(Device::open(number.parse().unwrap()).unwrap())
}

fn evaluated(device: &Device, system: &System, field: &ForceField, precision: Precision) -> Evaluation {
    // Some of these cells are hardly longer than two cut-offs.
    let heights = system.cell.heights();
    let room = 0.5 * heights.x.min(heights.y).min(heights.z) - field.cutoff();
    let settings = Settings {
        precision,
        buffer: Some((0.99 * room).min(0.16 * field.cutoff())),
        ..Settings::default()
    };
    let dynamics = nve(1e-3);
    let choice = Choice::default();
    let mut engine = CudaEngine::with_choice(device, system, field, &dynamics, &settings, &choice).unwrap();
    let o = engine.observe().unwrap();
    let volume = system.cell.volume();
    Evaluation {
        torques: Vec::new(),
        potential: o.potential,
        virial: o.pressure_tensor.map(|p| p * volume),
        forces: Engine::forces(&engine).unwrap(),
        terms: o.terms,
    }
}

/// Charges cancel: a sum of energies is as exact as the largest of them.
fn of_sum(e: &Evaluation, tolerance: Tolerance) -> f64 {
    let largest = e.terms.iter().fold(0.0_f64, |most, t| most.max(t.1.abs()));
    tolerance.energy * (largest / e.potential.abs()).max(1.0)
}

/// Each row in each precision, on the card.
fn each(row: impl Fn(&Device, Precision, Tolerance)) {
    let Some(device) = card() else {
        return;
    };
    for settings in precisions() {
        row(&device, settings.precision, Tolerance::of(settings.precision));
    }
}

/// A3: what of NIST's water does not depend on how reciprocal vectors are summed; A5: forces.
#[test]
fn nist_water() {
    let files = [
        (
            include_str!("../data/nist_spce/spce-3.xyz"),
            include_str!("../data/nist_spce/forces-9-3.xyz"),
            (20.0, 9.0, 0.373_403),
            [357_106.0, -10166.3],
        ),
        (
            include_str!("../data/nist_spce/spce-4.xyz"),
            include_str!("../data/nist_spce/forces-10-4.xyz"),
            (30.0, 10.0, 0.333_033),
            [448_593.0, -13728.6],
        ),
    ];
    each(|device, precision, tolerance| {
        for (text, printed, (side, cutoff, alpha), dispersion) in files {
            let cell = Cell::orthorhombic([side; 3]).unwrap();
            let fine = mesh([if side > 25.0 { 60 } else { 40 }; 3], Basis::BSpline(6));
            // Forces in kcal/mol/Å, energies in K.
            let (water, terms) = spce(cell, &xyz(text), 0.155_393_959_384_130_9);
            let lj = terms[usize::from(cutoff < 9.5)].clone();
            let of_forces = field(&water, plan(cutoff, alpha, fine.clone()), LAMMPS, vec![lj]);
            let e = evaluated(device, &water, &of_forces, precision);
            for (got, want) in e.forces.iter().zip(&xyz(printed)) {
                for axis in 0..3 {
                    let (got, want) = (got[axis], want[axis]);
                    assert!(
                        want.abs() < 1.0 || (got - want).abs() < 5e-3 * want.abs().max(3.0),
                        "{side} {cutoff}: {got} instead of {want}"
                    );
                }
            }
            let (water, terms) = spce(cell, &xyz(text), 78.197_431_11);
            let lj = terms[usize::from(cutoff < 9.5)].clone();
            let plan = plan(cutoff, 5.6 / side, fine);
            let e = evaluated(
                device,
                &water,
                &field(&water, plan, kelvin(), vec![lj]),
                precision,
            );
            let allowed = 1e-5 + tolerance.energy;
            close(term(&e, "lennard-jones"), dispersion[0], allowed, "dispersion");
            close(term(&e, "tail"), dispersion[1], allowed, "tail");
            if side > 25.0 {
                close(term(&e, "coulomb-real"), -3_572_260.0, allowed, "real");
                close(term(&e, "coulomb-self"), -14_223_500.0, allowed, "self");
                close(term(&e, "coulomb-excluded"), 14_148_300.0, allowed, "excluded");
            }
        }
    });
}

/// A4: what of NIST's water in a triclinic cell does not depend on how reciprocal vectors are summed.
#[test]
fn nist_water_in_a_triclinic_cell() {
    let text = include_str!("../data/nist_spce/spce_triclinic_sample_periodic1.xyz");
    each(|device, precision, tolerance| {
        let l: Vec<f64> = text
            .lines()
            .nth(1)
            .unwrap()
            .split_whitespace()
            .filter_map(|x| x.parse().ok())
            .collect();
        let cell = Cell::triclinic([[l[1], 0.0, 0.0], [l[4], l[2], 0.0], [l[5], l[6], l[3]]]).unwrap();
        let (mut water, terms) = spce(cell, &xyz(text), 0.650_169_582_063_203_2);
        for r in &mut water.particles.positions {
            *r = cell.wrap(*r).0;
        }
        let plan = plan(10.0, 0.2850, mesh([60; 3], Basis::BSpline(8)));
        let field = field(&water, plan, 1_389.354_576, vec![terms[0].clone()]);
        let e = evaluated(device, &water, &field, precision);
        for (part, want) in [
            ("lennard-jones", 931.154_51),
            ("coulomb-real", -6_046.436_27),
            ("coulomb-excluded", 95_078.894_47),
            ("coulomb-self", -96_297.755_79),
        ] {
            close(term(&e, part), want, 2e-6 + tolerance.energy, part);
        }
    });
}

/// A6: Madelung constants.
#[test]
fn madelung_constants() {
    each(|device, precision, tolerance| {
        for (name, unit, neighbors, madelung) in crystals() {
            let crystal = crystal(&unit, 2, 1.0);
            let exact = -madelung / neighbors * crystal.particles.len() as f64 / 2.0;
            let error = |points: usize, order: usize| {
                let plan = plan(0.99, 6.2, mesh([points; 3], Basis::BSpline(order)));
                let field = field(&crystal, plan, 1.0, vec![]);
                let e = evaluated(device, &crystal, &field, precision);
                let allowed = of_sum(&e, tolerance);
                let on_host = coulomb(&super::evaluated(&crystal, &field, &double()));
                let apart = (coulomb(&e) - on_host).abs() / exact.abs();
                assert!(apart < allowed, "{name}, {precision:?}: {apart:e} from the CPU");
                ((coulomb(&e) - exact).abs() / exact.abs(), allowed)
            };
            // The mesh itself is good to less than that.
            let (fine, allowed) = error(96, 8);
            assert!(fine < allowed.max(1e-9), "{name}, {precision:?}: {fine:e}");
            let errors = [27, 40, 60].map(|points| error(points, 5).0);
            let power = (errors[0] / errors[2]).ln() / (60.0_f64 / 27.0).ln();
            assert!(
                power > 4.3 || errors[2] < allowed,
                "{name}, {precision:?}: {errors:?}, power {power}"
            );
        }
    });
}

/// A7: the crystals of the second paper.
#[test]
fn sodium_chloride_of_the_paper() {
    let unit = &crystals()[0].1;
    each(|device, precision, tolerance| {
        // Of the seventh the log lacks a reflection, which a mesh has.
        for (n, charges, dispersion) in PAPER.into_iter().filter(|row| row.0 != 7) {
            let salt = crystal(unit, n, 5.62);
            // The smallest cell is too short for the cut-off of the paper; what the charges sum to does not depend on
            // it.
            let (cutoff, alpha) = if n == 3 { (8.3, 0.4) } else { (10.0, 0.308_301_85) };
            let charged = Charged::new(&salt.cell, Boundary::Conductor, &salt.particles.charges, LAMMPS);
            let fine = coarsest(&charged, alpha, Basis::BSpline(6), false, 1e-5).unwrap();
            let plan = plan(cutoff, alpha, Method::Mesh(fine));
            let e = evaluated(
                device,
                &salt,
                &field(&salt, plan, LAMMPS, vec![lennard_jones(&salt)]),
                precision,
            );
            close(
                coulomb(&e),
                charges,
                1e-5 + tolerance.energy,
                &format!("{n}, {precision:?}"),
            );
            close(
                term(&e, "lennard-jones"),
                dispersion,
                1e-9_f64.max(tolerance.energy),
                &format!("{n}"),
            );
        }
    });
}

/// A8: energy, forces and pressure of displaced ions.
#[test]
fn displaced_sodium_chloride() {
    let rows = table(include_str!("../data/coulomb/nacl_3x3x3_thermal.dat"));
    let cell = Cell::orthorhombic([16.86; 3]).unwrap();
    let charged: Vec<_> = rows.iter().map(|r| (r.0, r.1)).collect();
    let salt = bag(cell, &charged);
    each(|device, precision, tolerance| {
        let plan = plan(8.3, 0.6, mesh([80; 3], Basis::BSpline(8)));
        let exact = 2e-6;
        let both = field(&salt, plan.clone(), LAMMPS, vec![lennard_jones(&salt)]);
        let e = evaluated(device, &salt, &both, precision);
        close(e.potential, -19_872.480_004_3, exact + tolerance.energy, "total");
        close(
            coulomb(&e),
            -22_260.879_812_6,
            exact + tolerance.energy,
            "Coulomb",
        );
        let rms = relative_rms(&e.forces, &rows.iter().map(|r| r.2).collect::<Vec<_>>());
        assert!(rms < exact + tolerance.forces, "{rms:e}");
        let e = evaluated(device, &salt, &field(&salt, plan, LAMMPS, vec![]), precision);
        let pressure = e.virial.map(|w| w / cell.volume() * ATMOSPHERES);
        for (got, want) in pressure.iter().zip(DISPLACED) {
            assert!(
                (got - want).abs() < (exact + tolerance.virial) * 106_162.825_883,
                "{pressure:?}"
            );
        }
    });
}

/// A9: sixty charges that sum to nothing, with a net charge, and between two vacua.
fn sixty_charges_on(device: &Device, precision: Precision, tolerance: Tolerance, few: bool) {
    for (text, cell, energy, pressure) in sixty().into_iter().take(if few { 1 } else { 3 }) {
        let rows = table(text);
        let charged: Vec<_> = rows.iter().map(|r| (r.0, r.1)).collect();
        let charges = bag(cell, &charged);
        // Reciprocal vectors to the last digits need a fine mesh; the emulation takes its time.
        let (alpha, points) = if few { (0.45, 54) } else { (0.66, 160) };
        let mut plan = plan(9.8, alpha, mesh([points; 3], Basis::BSpline(8)));
        if pressure.is_none() {
            plan.boundary = Boundary::Slab { factor: 3.0 };
            plan.method = mesh([points, points, 3 * points], Basis::BSpline(8));
        }
        let e = evaluated(
            device,
            &charges,
            &field(&charges, plan, LAMMPS, vec![]),
            precision,
        );
        close(
            e.potential,
            energy,
            2e-9_f64.max(of_sum(&e, tolerance)),
            &format!("{precision:?}"),
        );
        let off = largest(&e.forces, rows.iter().map(|r| r.2));
        let strongest = rows.iter().map(|r| r.2.norm()).fold(0.0, f64::max);
        assert!(
            off < 1e-5_f64.max(tolerance.forces * strongest),
            "{precision:?}: {off:e}"
        );
        if let Some(pressure) = pressure {
            let got = (e.virial[0] + e.virial[1] + e.virial[2]) / 3.0 / cell.volume() * ATMOSPHERES;
            close(
                got,
                pressure,
                1e-8_f64.max(tolerance.virial),
                &format!("{precision:?}"),
            );
        }
    }
}

#[test]
fn sixty_charges() {
    each(|device, precision, tolerance| sixty_charges_on(device, precision, tolerance, false));
    if card().is_none() {
        let device = Device::emulated(Emulation::default()).unwrap();
        let mixed = Precision::Mixed;
        sixty_charges_on(&device, mixed, Tolerance::of(mixed), true);
    }
}

/// A11: the trace of the virial is the energy; A12: nothing depends on the splitting.
#[test]
fn identities() {
    let cell = Cell::triclinic([[2.4, 0.0, 0.0], [0.4, 2.3, 0.0], [-0.3, 0.5, 2.5]]).unwrap();
    let (mut salt, _) = melt(cell, 80, 6);
    salt.particles.charges[7] = 2.0;
    let rule = ExclusionRule::default().extra([[0, 1], [4, 9], [11, 30]]);
    salt.exclusions = Exclusions::from_bonds(&salt.topology, 80, &rule).unwrap();
    let k = 138.9;
    let charged = Charged::new(&cell, Boundary::Conductor, &salt.particles.charges, k);
    each(|device, precision, tolerance| {
        for boundary in [Boundary::Conductor, Boundary::Vacuum] {
            let all: Vec<Evaluation> = [0.9, 1.0, 1.2]
                .map(|factor| {
                    let alpha = 5.0 * factor;
                    let fine = coarsest(
                        &charged,
                        alpha,
                        Basis::BSpline(8),
                        false,
                        1e-7 * charged.usual_force(),
                    )
                    .unwrap();
                    let mut plan = plan(5.0 / alpha, alpha, Method::Mesh(fine));
                    plan.boundary = boundary;
                    evaluated(device, &salt, &field(&salt, plan, k, vec![]), precision)
                })
                .into();
            for e in &all {
                let trace: f64 = e.virial[..3].iter().sum();
                close(
                    trace,
                    e.potential,
                    1e-6 + tolerance.virial,
                    &format!("{boundary:?}, {precision:?}"),
                );
            }
            for e in &all[1..] {
                close(
                    e.potential,
                    all[0].potential,
                    1e-7 + 2.0 * of_sum(e, tolerance),
                    "energy",
                );
                let rms = relative_rms(&e.forces, &all[0].forces);
                assert!(rms < 1e-6 + 2.0 * tolerance.forces, "{rms:e}");
            }
        }
        // Nobody pulls himself.
        let plan = plan(1.0, 5.0, mesh([40; 3], Basis::BSpline(6)));
        let e = evaluated(device, &salt, &field(&salt, plan, k, vec![]), precision);
        let sum = e.forces.iter().fold(Vec3::zero(), |a, &b| a + b);
        assert!(sum.norm() < 1e-4 * charged.usual_force(), "{sum:?}");
    });
}
