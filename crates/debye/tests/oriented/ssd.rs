//! Soft sticky dipoles: pairs of OpenMD, snapshots of the liquid, A15, and minima of dimers, A16.

use debye::engines::cpu::CpuEngine;
use debye::engines::reference;
use debye::engines::{Precision, Settings};
use debye::expr::{Quat, Vec3};
use debye::forces::{ForceField, OrientedTerm, PairTerm};
use debye::simulation::Simulation;
use debye::system::{Cell, Rotor, Species, System, Units};
use debye::truncation::Truncation;

use super::{Backend, KCAL, agree, at_rest, empty, rows};

/// Sticky energies, forces and torques of OpenMD's own routine, A15.
#[test]
fn sticky_pairs_are_those_of_openmd() {
    for (file, v0, [a, b, c, d]) in [
        ("ssd", 3.7284, [2.75, 3.35, 2.75, 4.0]),
        ("ssd1", 3.6613, [2.75, 3.35, 2.75, 4.0]),
        ("ssd_e", 3.9, [2.4, 3.8, 2.75, 3.35]),
    ] {
        let species = [Species::point("W", 18.0, 0.0)];
        let parameters = [
            ("v0", v0),
            ("w0", 0.07715),
            ("lower", a),
            ("upper", b),
            ("lower_prime", c),
            ("upper_prime", d),
        ];
        let builder = OrientedTerm::build("sticky", &species).unwrap();
        let term = builder
            .truncation(Truncation::Cut)
            .all(&parameters)
            .unwrap()
            .finish()
            .unwrap();
        for row in rows(&format!("ssd/pairs_sticky_{file}.dat")) {
            let turn = |at: usize| Quat {
                w: row[at],
                v: Vec3::new(row[at + 1], row[at + 2], row[at + 3]),
            };
            let mut system = empty(Cell::orthorhombic([30.0; 3]).unwrap(), Units::LennardJones);
            system.species = species.to_vec();
            for (r, q) in [
                (Vec3::zero(), turn(3)),
                (Vec3::new(row[0], row[1], row[2]), turn(7)),
            ] {
                system.particles.push(r + Vec3::splat(10.0), 0, 18.0, 0.0, 0);
                let last = system.particles.len() - 1;
                system
                    .particles
                    .orient(last, Rotor::body([1.7696, 0.6145, 1.155]), q);
            }
            let mut field = ForceField::new(Units::LennardJones);
            field.oriented.push(term.clone());
            let vector = |at: usize| Vec3::new(row[at], row[at + 1], row[at + 2]);
            for found in [
                reference::evaluate(&system, &field),
                Backend::Cpu.evaluate(&system, &field, Precision::Double),
            ] {
                assert!(
                    (found.potential - row[11]).abs() < 2e-9,
                    "{file}: {} {}",
                    found.potential,
                    row[11]
                );
                // Ten decimals of numbers that come from quaternions of nine.
                for (a, b) in [
                    (found.forces[0], vector(12)),
                    (found.torques[0], vector(15)),
                    (found.torques[1], vector(18)),
                ] {
                    assert!((a - b).norm() < 3e-8, "{file}: {a:?} {b:?}");
                }
            }
        }
    }
}

/// 256 molecules of SSD or SSD/E in Å, kcal/mol, u and debye: plain cut-offs at 9 Å.
pub fn ssd(model: &str) -> (System, ForceField) {
    let (sigma, mu, v0, ranges) = match model {
        "ssd" => (3.051, 2.35, 3.7284, [2.75, 3.35, 2.75, 4.0]),
        _ => (3.035, 2.42, 3.9, [2.4, 3.8, 2.75, 3.35]),
    };
    let mut system = empty(Cell::orthorhombic([19.7166; 3]).unwrap(), Units::LennardJones);
    let rotor = Rotor::body([1.7696, 0.6145, 1.155]).with_dipole(mu);
    system.species = vec![Species::point("W", 18.0153, 0.0).with_rotor(rotor)];
    for (i, row) in rows(&format!("ssd/snapshot_256_{model}.dat.xz"))
        .iter()
        .enumerate()
    {
        let (r, _) = system.cell.wrap(Vec3::new(row[0], row[1], row[2]));
        system.particles.push(r, 0, 18.0153, 0.0, i as u32);
        let q = Quat {
            w: row[3],
            v: Vec3::new(row[4], row[5], row[6]),
        };
        system.particles.orient(i, rotor, q);
    }
    let mut field = ForceField::new(Units::LennardJones);
    field.coulomb_constant = 14.39325;
    let lj = PairTerm::build("lennard-jones", &system.species).unwrap();
    let lj = lj.cutoff(9.0).truncation(Truncation::Cut);
    field.pairs.push(
        lj.all(&[("epsilon", 0.152), ("sigma", sigma)])
            .unwrap()
            .finish()
            .unwrap(),
    );
    let dipoles = OrientedTerm::build("dipoles", &system.species).unwrap();
    let dipoles = dipoles.cutoff(9.0).truncation(Truncation::Cut);
    field.oriented.push(dipoles.finish().unwrap());
    let [a, b, c, d] = ranges;
    let parameters = [
        ("v0", v0),
        ("w0", 0.07715),
        ("lower", a),
        ("upper", b),
        ("lower_prime", c),
        ("upper_prime", d),
    ];
    let sticky = OrientedTerm::build("sticky", &system.species).unwrap();
    field.oriented.push(
        sticky
            .truncation(Truncation::Cut)
            .all(&parameters)
            .unwrap()
            .finish()
            .unwrap(),
    );
    (system, field)
}

/// Sums over two snapshots of the liquid, A15.
#[test]
fn snapshots_of_ssd_have_their_energies() {
    for (model, wanted) in [
        ("ssd", [220.816380, -1939.845472, -633.067421]),
        ("ssde", [278.627828, -2167.479167, -549.106352]),
    ] {
        let (system, field) = ssd(model);
        let exact = reference::evaluate(&system, &field);
        let mut all = vec![(exact.clone(), 1e-6)];
        for backend in Backend::all() {
            let double = backend.evaluate(&system, &field, Precision::Double);
            agree(&double, &exact, 1e-10);
            all.push((double, 1e-6));
            all.push((backend.evaluate(&system, &field, Precision::Mixed), 2e-3));
        }
        for (found, tolerance) in all {
            for ((name, energy), wanted) in found.terms.iter().zip(wanted) {
                assert!(
                    (energy - wanted).abs() < tolerance,
                    "{model} {name}: {energy} {wanted}"
                );
            }
        }
    }
}

/// Two molecules of every published set at their minimum, A16: distance in Å; Lennard-Jones, dipoles, sticky in kcal/mol.
///
/// The table was made with 14.39325 kcal/mol Å³/D² and without the reaction field of SSD/RF; so are the numbers here.
#[test]
fn dimers_of_ssd_have_their_minimum() {
    for (set, dipole, [r, lj, dipoles, sticky], total) in [
        ("ssd", 2.35, [2.7545, 0.9505, -5.8728, -2.7144], -7.6366),
        ("ssd1", 2.35, [2.7199, 0.9708, -6.1439, -2.6232], -7.7962),
        ("ssd-e", 2.42, [2.6752, 1.4673, -6.9739, -2.4162], -7.9228),
        ("ssd-rf", 2.48, [2.6505, 1.5716, -7.6040, -2.3851], -8.4175),
    ] {
        let text = format!(
            "units = \"md\"\n[system]\nbuild = {{ kind = \"lattice\", lattice = \"sc\", cells = [2, 1, 1], spacing = 3.0 }}\n\
             periodic = [false, false, false]\n[forcefield]\ninclude = \"{set}\"\n"
        );
        let options = debye::input::InputOptions {
            moves: false,
            ..Default::default()
        };
        let simulation = Simulation::parse_with(&text, ".", "dimer.toml", &options).unwrap();
        let (species, mut field) = (&simulation.system.species, simulation.forces.clone());
        let debye = species[0].rotor.dipole / dipole;
        field.coulomb_constant = 14.39325 * KCAL * 1e-3 / (debye * debye);
        for term in &mut field.oriented {
            if term.family.name() == "dipoles-reaction-field" {
                let bare = OrientedTerm::build("dipoles", species).unwrap().cutoff(0.9);
                *term = bare.truncation(Truncation::Cut).finish().unwrap();
            }
        }
        let fire = debye::engines::cpu::Fire {
            force_tolerance: 1e-4,
            max_steps: 20_000,
            max_displacement: 0.01,
        };
        // From some directions it goes to other minima.
        let found = (0..12).map(|seed| {
            let mut system = simulation.system.clone();
            system.particles.positions[0] = Vec3::new(1.0, 1.0, 1.0);
            system.particles.positions[1] = Vec3::new(1.28, 1.0, 1.0);
            system.particles.turn_at_random(seed);
            let settings = Settings {
                precision: Precision::Double,
                ..Settings::default()
            };
            let mut engine = CpuEngine::new(&system, &field, &at_rest(), &settings).unwrap();
            let converged = engine.minimize(fire).unwrap().converged;
            let p = engine.particles();
            let d = (p.positions[1] - p.positions[0]).norm();
            (engine.observe().unwrap(), 10.0 * d, converged)
        });
        let (best, d, converged) = found
            .min_by(|a, b| a.0.potential.total_cmp(&b.0.potential))
            .unwrap();
        assert!(converged, "{set}");
        assert!((d - r).abs() < 1e-4, "{set}: {d} {r}");
        let close = |name: &str, energy: f64, wanted: f64| {
            let found = energy / KCAL;
            assert!((found - wanted).abs() < 1e-4, "{set} {name}: {found} {wanted}");
        };
        close("total", best.potential, total);
        for ((name, energy), wanted) in best.terms.iter().zip([lj, dipoles, sticky]) {
            close(name, *energy, wanted);
        }
    }
}
