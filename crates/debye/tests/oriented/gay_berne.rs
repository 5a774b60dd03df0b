//! Gay–Berne particles: their limits, and LAMMPS, A17.

use debye::engines::Precision;
use debye::engines::reference;
use debye::expr::{Quat, Vec3};
use debye::forces::{ForceField, OrientedTerm};
use debye::potentials::OrientedPair;
use debye::system::{Cell, Rotor, Species, Units, builders};
use debye::truncation::Truncation;

use super::{Backend, axes, empty, rows};

/// Side by side, end to end, T and crossed: distances and depths of the minima, A17.
#[test]
fn gay_berne_has_its_limits() {
    let species = [Species::point("R", 1.0, 0.0)];
    let own = [
        "diameter_x",
        "diameter_y",
        "diameter_z",
        "well_x",
        "well_y",
        "well_z",
    ];
    let own = own.iter().map(|name| (*name).to_owned());
    let values = [1.0, 1.0, 3.0, 1.0, 1.0, 0.2].map(debye::potentials::Value::Number);
    let term = OrientedTerm::build("gay-berne", &species).unwrap();
    let term = term.cutoff(5.0).truncation(Truncation::Cut);
    let term = term.all(&[("epsilon", 1.0), ("sigma", 1.0)]).unwrap();
    let term = term
        .own_values("R", own.zip(values).collect())
        .unwrap()
        .finish()
        .unwrap();
    let row = term.rows[0].unwrap();
    let energy = |d: Vec3<f64>, first: Vec3<f64>, second: Vec3<f64>| {
        let axes = [first, second].map(|z| axes(Quat::from_z_to(z)));
        let pair = OrientedPair::new(d, axes, [0.0; 2], [0.0; 2], &term.table);
        term.family
            .energy(term.truncation, &pair, &row.coefficients, &row.truncation)
    };
    let [x, y, z] = axes(Quat::identity());
    for (first, second, direction, distance, depth) in [
        (z, z, x, 1.122462048, 5.0 / 3.0),
        (z, z, z, 3.122462048, 1.0 / 3.0),
        (z, x, z, 2.358530026, 0.381966011),
        (z, y, x, 1.122462048, 1.0),
    ] {
        let at = |r: f64| energy(direction * r, first, second);
        assert!((at(distance) + depth).abs() < 1e-8, "{} {depth}", at(distance));
        assert!(at(distance - 1e-3) > at(distance) && at(distance + 1e-3) > at(distance));
    }
    assert!((energy(x * 1.5, z, z) + 0.533894323798).abs() < 1e-11);
}

/// The 48 particles of LAMMPS's own test: spheres, discs and rods, A17.
#[test]
fn gay_berne_agrees_with_lammps() {
    let low = [-1.3679807573413574, -1.3679807573413574, -1.0259855680060177];
    let high = [8.207884544048145, 8.207884544048145, 6.155913408036108];
    let lengths = [0, 1, 2].map(|k| high[k] - low[k]);
    let mut system = empty(Cell::orthorhombic(lengths).unwrap(), Units::LennardJones);
    let shapes = [[1.0; 3], [1.0, 2.0, 2.0], [3.0, 1.0, 1.0]];
    system.species = ["S", "D", "R"]
        .map(|name| Species::point(name, 1.0, 0.0))
        .to_vec();
    let table = rows("gay_berne/gb48.dat.xz");
    for (i, row) in table.iter().enumerate() {
        let r = Vec3::from([0, 1, 2].map(|k| row[2 + k] - low[k]));
        system.particles.push(r, row[1] as u32 - 1, 1.0, 0.0, i as u32);
        let q = Quat {
            w: row[5],
            v: Vec3::new(row[6], row[7], row[8]),
        };
        system.particles.orient(i, Rotor::body([1.0, 1.0, 1.0]), q);
    }
    let mut term = OrientedTerm::build("gay-berne", &system.species).unwrap();
    term = term.cutoff(4.0).truncation(Truncation::Cut);
    term = term
        .all(&[
            ("sigma", 1.0),
            ("gamma", 1.0),
            ("upsilon", 3.0),
            ("mu", 1.0),
            ("epsilon", 1.0),
        ])
        .unwrap();
    let number = debye::potentials::Value::Number;
    for (name, shape) in ["S", "D", "R"].iter().zip(shapes) {
        let last = if *name == "S" { 1.0 } else { 0.2 };
        let names = [
            "diameter_x",
            "diameter_y",
            "diameter_z",
            "well_x",
            "well_y",
            "well_z",
        ];
        let [x, y, z] = shape;
        let values = [x, y, z, 1.0, 1.0, last].map(number);
        let own = names.iter().map(|n| (*n).to_owned()).zip(values).collect();
        term = term.own_values(name, own).unwrap();
    }
    let epsilon = |value: f64| vec![("epsilon".to_owned(), number(value))];
    term = term.pair_values("S", "S", epsilon(3.0), Some(2.5)).unwrap();
    term = term.pair_values("S", "D", epsilon(3.0), None).unwrap();
    term = term.pair_values("S", "R", epsilon(3.0), None).unwrap();
    let mut field = ForceField::new(Units::LennardJones);
    field.oriented.push(term.finish().unwrap());
    let mut found = vec![(reference::evaluate(&system, &field), 1.0)];
    for backend in Backend::all() {
        for (precision, tolerance) in [
            (Precision::Double, 1.0),
            (Precision::Mixed, 1e4),
            (Precision::Single, 1e4),
        ] {
            // On a device no cell may be shorter than two cut-offs: there it is two of them.
            let copies = if matches!(backend, Backend::Cpu) { 1 } else { 2 };
            let several = builders::replicate(&system, [1, 1, copies]).unwrap();
            let mut one = backend.evaluate(&several, &field, precision);
            one.potential /= copies as f64;
            one.virial = one.virial.map(|w| w / copies as f64);
            found.push((one, tolerance));
        }
    }
    for (found, tolerance) in found {
        assert!(
            (found.potential + 19.3967066653).abs() < 2e-9 * tolerance,
            "{}",
            found.potential
        );
        let pressure = found.virial[..3].iter().sum::<f64>() / (3.0 * system.cell.volume());
        assert!(
            (pressure + 0.0684233764676).abs() < 1e-10 * tolerance,
            "{pressure}"
        );
        for (i, row) in table.iter().enumerate() {
            let vector = |at: usize| Vec3::new(row[at], row[at + 1], row[at + 2]);
            assert!((found.forces[i] - vector(12)).norm() < 3e-8 * tolerance, "{i}");
            assert!((found.torques[i] - vector(15)).norm() < 3e-8 * tolerance, "{i}");
        }
    }
}
