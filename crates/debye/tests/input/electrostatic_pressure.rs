//! The pressure of an Ewald sum: settings that keep its error small, estimates beside measurements, and refusals.

use debye::engines::{Precision, reference};
use debye::forces::electrostatics::{Boundary, Electrostatics, Method, ReciprocalVectors};
use debye::forces::pme::Basis;
use debye::forces::pme::estimate::{Charged, coarsest};
use debye::forces::pme::expected::{describe, two_digits};
use debye::forces::pme::pressure::PressureError;
use debye::input::InputError;
use debye::run::coulomb::{ExactSums, coulomb_sums};
use debye::run::tune::with_plan;
use debye::simulation::Simulation;
use debye::system::Units;

const BAROSTAT: &str = "[barostat]\nkind = \"berendsen\"\npressure = \"1 bar\"\ntime = \"2 ps\"\n";

/// Rock salt whose ions are off their places by about 0.02 nm along each axis.
fn salt(cells: usize) -> String {
    let side = 2 * cells;
    let length = 2.82 * side as f64;
    let number = side.pow(3);
    let mut text = format!(
        "{number}\nLattice=\"{length} 0 0 0 {length} 0 0 0 {length}\" Properties=species:S:1:pos:R:3\n"
    );
    let mut state = 1_u64;
    let mut random = || {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (state >> 40) as f64 / (1_u64 << 24) as f64 - 0.5
    };
    for n in 0..number {
        let at = [n / (side * side), n / side % side, n % side];
        let name = if at.iter().sum::<usize>().is_multiple_of(2) {
            "Na"
        } else {
            "Cl"
        };
        let [x, y, z] = at.map(|k| 2.82 * k as f64 + 0.4 * (random() + random() + random()));
        text += &format!("{name} {x:.5} {y:.5} {z:.5}\n");
    }
    text
}

fn salt_input(cutoff: f64, charges: &str) -> String {
    format!(
        "units = \"md\"\n[system]\nfile = \"charges.xyz\"\n\
         [species.Na]\nmass = 22.99\ncharge = 1.0\n[species.Cl]\nmass = 35.45\ncharge = -1.0\n\
         [[forces]]\nkind = \"pme\"\ncutoff = {cutoff}\n{charges}\
         [integrator]\nkind = \"nve\"\ntimestep = \"1 fs\"\n[run]\nsteps = 1\nprecision = \"double\"\n"
    )
}

fn read(xyz: &str, input: &str) -> Result<Simulation, InputError> {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("charges.xyz"), xyz).unwrap();
    Simulation::parse(input, folder.path(), "test.toml")
}

fn plan(simulation: &Simulation) -> &Electrostatics {
    simulation.forces.electrostatics.as_ref().unwrap()
}

/// Errors of the pressure in bar: estimated, measured.
fn errors(simulation: &Simulation) -> [f64; 2] {
    let estimated = PressureError::of(&simulation.system, &simulation.forces).unwrap();
    let exact = ExactSums::of(simulation).unwrap().unwrap();
    let measured = exact.measure(&coulomb_sums(simulation).unwrap());
    let bar = Units::Md.bar();
    [bar * estimated.total(), bar * measured.pressure.unwrap()]
}

/// What energy and pressure are compared with is the Ewald sum of plain loops.
#[test]
fn the_reference_of_sums_is_exact() {
    let simulation = read(&salt(2), &salt_input(0.55, "tolerance = 1e-3\n")).unwrap();
    let exact = ExactSums::of(&simulation).unwrap().unwrap();
    let cell = simulation.system.cell;
    let fine = Electrostatics {
        cutoff: 1.1,
        alpha: 5.2,
        method: Method::Ewald(ReciprocalVectors::converged(&cell, 5.2)),
        ..plan(&simulation).clone()
    };
    let fine = with_plan(&simulation, &fine).unwrap();
    let want = reference::evaluate(&fine.system, &fine.forces);
    let (exact, own) = (exact.sums, coulomb_sums(&simulation).unwrap());
    let off = |energy: f64| (energy - want.potential).abs();
    assert!(off(exact.energy) < 2e-3 * off(own.energy));
    // Largest difference of the tensor.
    let off = |tensor: [f64; 6]| {
        let each = tensor.iter().zip(want.virial);
        each.map(|(p, w)| (p - w / cell.volume()).abs())
            .fold(0.0, f64::max)
    };
    let [exact, own] = [exact, own].map(|sums| off(sums.pressure.unwrap()));
    assert!(exact < 2e-3 * own, "{exact} {own}");
}

/// Forces within the tolerance, and a pressure that is off by tens of bar: unless a barostat goes by it.
#[test]
fn a_barostat_asks_for_the_pressure_of_a_salt() {
    let xyz = salt(5);
    for (cutoff, tolerance, least) in [(0.9, 5e-4, 20.0), (1.0, 5e-4, 50.0), (1.0, 1e-4, 10.0)] {
        let input = salt_input(cutoff, &format!("tolerance = {tolerance:e}\norder = 5\n"));
        let before = read(&xyz, &input).unwrap();
        assert_eq!(before.pressure_tolerance, None);
        let [estimated, measured] = errors(&before);
        assert!(measured.abs() > least, "{cutoff} {tolerance}: {measured}");
        let ratio = measured.abs() / estimated;
        assert!(
            (0.1..1.5).contains(&ratio),
            "{cutoff} {tolerance}: {measured} {estimated}"
        );

        let after = read(&xyz, &(input.clone() + BAROSTAT)).unwrap();
        let allowed = after.pressure_tolerance.unwrap() * Units::Md.bar();
        assert!((allowed - 1.01).abs() < 1e-9);
        assert!(after.warnings.is_empty(), "{:?}", after.warnings);
        let [estimated, measured] = errors(&after);
        assert!(
            estimated <= allowed && measured.abs() <= allowed,
            "{estimated} {measured}"
        );
        assert!(plan(&after).alpha > plan(&before).alpha);
        let said = |s: &Simulation| describe(&s.system, &s.forces, s.pressure_tolerance).unwrap();
        assert!(!said(&before).contains("pressure"));
        assert!(
            said(&after).contains("estimated error of the pressure 0."),
            "{}",
            said(&after)
        );
    }
}

/// Without a barostat α and the mesh are those that forces ask for, to the last bit.
#[test]
fn settings_stay_without_a_barostat() {
    let simulation = read(&salt(4), &salt_input(0.9, "tolerance = 5e-4\n")).unwrap();
    let s = &simulation.system;
    let k = simulation.forces.coulomb_constant;
    let charged = Charged::new(&s.cell, Boundary::Conductor, &s.particles.charges, k);
    let error = 5e-4 * charged.usual_force() * 0.5_f64.sqrt();
    let alpha = charged.alpha(0.9, error);
    assert_eq!(plan(&simulation).alpha.to_bits(), alpha.to_bits());
    let mesh = coarsest(&charged, alpha, Basis::BSpline(5), false, error).unwrap();
    assert_eq!(plan(&simulation).method, Method::Mesh(mesh));
    // A pressure that is good enough as it is changes nothing either.
    let loose = salt_input(0.9, "tolerance = 5e-4\npressure_tolerance = \"1 kbar\"\n");
    let loose = read(&salt(4), &(loose + BAROSTAT)).unwrap();
    assert_eq!(plan(&loose), plan(&simulation));
}

fn water() -> String {
    let text = include_str!("../data/nist_spce/spce-4.xyz");
    let mut lines = text.lines();
    let number = lines.next().unwrap();
    let mut xyz = format!("{number}\nLattice=\"30 0 0 0 30 0 0 0 30\" Properties=species:S:1:pos:R:3\n");
    for line in lines.skip(1).filter(|line| !line.trim().is_empty()) {
        xyz += &line.replace('O', "OW").replace('H', "HW");
        xyz.push('\n');
    }
    xyz
}

fn water_input(charges: &str) -> String {
    format!(
        "units = \"md\"\n[system]\nfile = \"charges.xyz\"\n\
         [species.OW]\nmodel = \"spce:O\"\n[species.HW]\nmodel = \"spce:H\"\n\
         [[constraints]]\nkind = \"rigid-water\"\nmodel = \"spce\"\n\
         [[forces]]\nkind = \"pme\"\n{charges}\
         [integrator]\nkind = \"nve\"\ntimestep = \"1 fs\"\n[run]\nsteps = 1\nprecision = \"double\"\n"
    )
}

/// Of rigid molecules, by the virial that counts: pairs alone, and the mesh alone.
#[test]
fn estimates_are_right_for_rigid_water() {
    let xyz = water();
    for (charges, ratios) in [
        ("cutoff = 1.0\ntolerance = 5e-4\n", 0.3..1.5),
        ("cutoff = 0.9\ntolerance = 5e-4\n", 0.1..1.5),
        ("cutoff = 1.38\nalpha = 3.2\nmesh = 20\norder = 5\n", 0.3..3.0),
        ("cutoff = 1.38\nalpha = 4.0\nmesh = 32\norder = 6\n", 0.3..3.0),
    ] {
        let simulation = read(&xyz, &water_input(charges)).unwrap();
        let [estimated, measured] = errors(&simulation);
        let ratio = measured.abs() / estimated;
        assert!(ratios.contains(&ratio), "{charges}: {measured} {estimated}");
    }
    let held = read(&xyz, &(water_input("cutoff = 1.0\n") + BAROSTAT)).unwrap();
    let [estimated, measured] = errors(&held);
    assert!(
        estimated <= 1.01 && measured.abs() <= 1.01,
        "{estimated} {measured}"
    );
}

/// Settings of the file are kept, and the run says what they do to the pressure.
#[test]
fn what_is_given_is_kept_and_told_of() {
    let xyz = salt(4);
    let given = salt_input(0.9, "alpha = 3.1\nmesh = 24\n");
    let simulation = read(&xyz, &(given.clone() + BAROSTAT)).unwrap();
    assert_eq!(plan(&simulation).alpha, 3.1);
    let [warning] = &simulation.warnings[..] else {
        panic!("{:?}", simulation.warnings)
    };
    for part in [
        "error of the pressure from pme",
        "bar",
        "`alpha` and `mesh`",
        "--check-electrostatics",
    ] {
        assert!(warning.contains(part), "{warning}");
    }
    assert!(read(&xyz, &given).unwrap().warnings.is_empty());
    // A bound of one's own needs no barostat.
    let own = salt_input(0.9, "pressure_tolerance = \"5 bar\"\n");
    let own = read(&xyz, &own).unwrap();
    let bound = own.pressure_tolerance.unwrap() * Units::Md.bar();
    assert!((bound - 5.0).abs() < 1e-9);
    assert!(errors(&own)[0] <= 5.0);
    assert_eq!(own.run.precision, Precision::Double);
}

#[test]
fn bad_tolerances_of_the_pressure_are_refused() {
    let xyz = salt(3);
    for (value, part) in [
        ("0", "greater than zero"),
        ("-1", "greater than zero"),
        ("\"1 nm\"", "a length"),
        ("\"little\"", "pressure_tolerance"),
    ] {
        let input = salt_input(0.8, &format!("pressure_tolerance = {value}\n"));
        let Err(error) = read(&xyz, &input) else {
            panic!("{value} is accepted")
        };
        assert!(error.to_string().contains(part), "{value}: {error}");
        assert!(error.line > 0);
    }
    let slab = salt_input(0.8, "pressure_tolerance = \"1 bar\"\n")
        .replace("file =", "periodic = [true, true, false]\nfile =");
    let Err(error) = read(&xyz, &slab) else {
        panic!("accepted")
    };
    assert!(
        error.to_string().contains("periodic in all directions"),
        "{error}"
    );
}

#[test]
fn pressures_in_words() {
    for (x, text) in [
        (0.0, "0"),
        (0.834, "0.83"),
        (12.3, "12"),
        (3.14e-4, "3.1e-4"),
        (99_999.0, "1.0e5"),
    ] {
        assert_eq!(two_digits(x), text);
    }
}
