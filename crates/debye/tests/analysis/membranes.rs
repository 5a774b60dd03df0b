//! Analyses of bilayers and of particles that turn, on systems whose answers are known.

use debye::analysis::{
    ANALYSES, Analysis, AnalysisError, AnalysisRequest, Analyzed, Labels, SettingValue, Snapshot, Subject,
};
use debye::expr::Vec3;
use debye::random::Philox;
use debye::simulation::Simulation;
use debye::system::{Cell, Species, Units};

/// Beads of a made-up lipid: a head and two of the tail.
const BEADS: usize = 3;

/// Lipids in two leaflets across the face of the cell: heads 1.5 above and below z = 0.2, tails straight down; then water.
struct Layer {
    cell: Cell,
    positions: Vec<Vec3<f64>>,
    species: Vec<u32>,
    lipids: usize,
}

const SIDE: f64 = 4.0;
const HEIGHT: f64 = 10.0;
const MIDDLE: f64 = 0.2;

fn layer() -> Layer {
    let (mut positions, mut species) = (Vec::new(), Vec::new());
    for i in 0..32 {
        let side = if i < 16 { 1.0 } else { -1.0 };
        let (x, y) = (f64::from(i % 4) + 0.3, f64::from(i / 4 % 4) + 0.4);
        for (k, depth) in [1.5, 1.0, 0.5].into_iter().enumerate() {
            positions.push(Vec3::new(x, y, MIDDLE + side * depth));
            species.push(u32::from(k > 0));
        }
    }
    for i in 0..100 {
        positions.push(Vec3::new(f64::from(i % 4), f64::from(i / 4 % 4), 5.0));
        species.push(2);
    }
    Layer {
        cell: Cell::orthorhombic([SIDE, SIDE, HEIGHT]).unwrap(),
        positions,
        species,
        lipids: 32,
    }
}

impl Layer {
    fn subject(&self) -> Subject {
        let beads = BEADS * self.lipids;
        let species = ["P", "T", "W"].map(|name| Species::point(name, 10.0, 0.0));
        let molecule = |i: usize| if i < beads { i / BEADS } else { i };
        let bonds = (0..beads as u32).filter(|i| i % 3 != 2).map(|i| [i, i + 1]);
        Subject {
            units: Units::Md,
            labels: Labels::new(Units::Md, &species),
            electrons: [47.0, 24.0, 10.0].into(),
            species: self.species.clone().into(),
            masses: vec![10.0; self.species.len()].into(),
            charges: vec![0.0; self.species.len()].into(),
            rotations: [].into(),
            molecules: (0..self.species.len()).map(|i| molecule(i) as u32).collect(),
            constraints: Default::default(),
            bonds: bonds.collect(),
            cell: self.cell,
            reach: 1.0,
            temperature: Some(300.0),
            model: None,
        }
    }
}

fn snapshot<'a>(
    time: f64,
    cell: &'a Cell,
    [positions, unwrapped]: [&'a [Vec3<f64>]; 2],
    species: &'a [u32],
    axes: Option<&'a [Vec3<f64>]>,
) -> Snapshot<'a> {
    Snapshot {
        step: time as u64,
        time,
        cell,
        positions,
        unwrapped,
        velocities: None,
        species,
        axes,
        rotational_energies: None,
    }
}

fn wrapped(cell: &Cell, positions: &[Vec3<f64>]) -> Vec<Vec3<f64>> {
    positions.iter().map(|&r| cell.wrap(r).0).collect()
}

fn analysis(
    kind: &str,
    settings: &[(&str, SettingValue)],
    subject: &Subject,
) -> Result<Box<dyn Analysis>, AnalysisError> {
    let kind = ANALYSES.iter().find(|k| k.name == kind).unwrap();
    let given = |name: &str| {
        settings
            .iter()
            .find(|(key, _)| *key == name)
            .map(|(_, value)| value.clone())
    };
    let request = AnalysisRequest::new(kind, |setting| Ok::<_, ()>(given(setting.name)));
    request.unwrap().build(subject)
}

fn scalar(found: &Analyzed, name: &str) -> (f64, f64) {
    let scalar = found.scalars.iter().find(|s| s.name == name).unwrap();
    (scalar.value, scalar.error)
}

fn column<'a>(found: &'a Analyzed, name: &str) -> &'a [f64] {
    &found.columns.iter().find(|c| c.name == name).unwrap().values
}

fn close(found: f64, expected: f64, tolerance: f64) {
    assert!(
        (found - expected).abs() <= tolerance,
        "{found}, expected {expected} ± {tolerance}"
    );
}

fn species(which: &[u32]) -> SettingValue {
    SettingValue::Species(which.to_vec())
}

/// A normal deviate.
fn normal(random: &Philox, counter: u64) -> f64 {
    random.normals(counter, 0, 0)[0]
}

#[test]
fn a_layer_across_a_face_has_its_area_thickness_and_volume() {
    let layer = layer();
    let subject = layer.subject();
    let settings = [
        ("heads", species(&[0])),
        ("water", species(&[2])),
        ("water_volume", SettingValue::Quantity(Some(0.03))),
    ];
    let mut bilayer = analysis("bilayer", &settings, &subject).unwrap();
    // Areas of known variance: K_A = kT ⟨A⟩ / var A.
    let mut areas = Vec::new();
    for k in 0..4096_u32 {
        let stretch = 1.0 + 0.01 * (0.7 * f64::from(k)).sin();
        let cell = layer.cell.scaled(Vec3::new(stretch, 1.0, 1.0));
        let positions: Vec<_> = layer
            .positions
            .iter()
            .map(|r| Vec3::new(r.x * stretch, r.y, r.z))
            .collect();
        let positions = wrapped(&cell, &positions);
        areas.push(SIDE * SIDE * stretch);
        bilayer
            .add(&snapshot(
                f64::from(k),
                &cell,
                [&positions; 2],
                &layer.species,
                None,
            ))
            .unwrap();
    }
    let found = bilayer.finish();
    let mean = areas.iter().sum::<f64>() / areas.len() as f64;
    let variance = areas.iter().map(|a| (a - mean).powi(2)).sum::<f64>() / (areas.len() - 1) as f64;
    close(scalar(&found, "area per lipid").0, mean / 16.0, 1e-12);
    close(scalar(&found, "thickness").0, 3.0, 1e-12);
    close(scalar(&found, "lipids with their heads up").0, 16.0, 0.0);
    let volume = (mean * HEIGHT - 100.0 * 0.03) / 32.0;
    close(scalar(&found, "volume per lipid").0, volume, 1e-12);
    let (modulus, error) = scalar(&found, "area compressibility modulus");
    // 1 kJ/mol/nm² = 1.66054 mN/m.
    let expected = 0.008_314_462_618 * 300.0 * mean / variance * 1.660_539;
    close(modulus, expected, 1e-5 * expected);
    assert!(error > 0.0 && error < 0.1 * modulus, "{error}");
    assert_eq!(column(&found, "time").len(), 32);
}

#[test]
fn lipids_need_heads_that_are_there() {
    let layer = layer();
    let subject = layer.subject();
    for kind in ["bilayer", "lateral-diffusion"] {
        let error = analysis(kind, &[], &subject).err().unwrap().to_string();
        assert!(
            error.contains("heads is not given") && error.contains("P, T, W"),
            "{error}"
        );
        let error = analysis(kind, &[("heads", species(&[2]))], &subject)
            .err()
            .unwrap()
            .to_string();
        assert!(
            error.contains("heads is W") && error.contains("several beads"),
            "{error}"
        );
    }
    let settings = [("heads", species(&[0])), ("water", species(&[2]))];
    let error = analysis("bilayer", &settings, &subject)
        .err()
        .unwrap()
        .to_string();
    assert!(error.contains("`water_volume`"), "{error}");
}

#[test]
fn bonds_along_across_and_at_an_angle_have_their_order() {
    let mut layer = layer();
    // The second bond of every lipid leans by 60°.
    for lipid in 0..layer.lipids {
        let [a, b] = [1, 2].map(|k| BEADS * lipid + k);
        layer.positions[b] = layer.positions[a] + Vec3::new(0.75_f64.sqrt(), 0.0, -0.5) * 0.5;
    }
    let positions = wrapped(&layer.cell, &layer.positions);
    let frame = snapshot(0.0, &layer.cell, [&positions; 2], &layer.species, None);
    let mut subject = layer.subject();
    // The bonds of some lipids are listed in another order.
    let mut bonds = subject.bonds.to_vec();
    bonds.swap(2, 3);
    bonds[5].reverse();
    subject.bonds = bonds.into();
    for (axis, first, second) in [(2, 1.0, 1.5 * 0.25 - 0.5), (0, -0.5, 1.5 * 0.75 - 0.5)] {
        let mut order = analysis("order", &[("axis", SettingValue::Choice(axis))], &subject).unwrap();
        order.add(&frame).unwrap();
        let found = order.finish();
        let s = column(&found, "S");
        close(s[0], first, 1e-12);
        close(s[1], second, 1e-12);
        close(scalar(&found, "S, P-T").0, first, 1e-12);
        close(scalar(&found, "S, T-T").0, second, 1e-12);
        assert!(
            found.notes[1].contains("Molecule 1 is P T T of which there are 32"),
            "{:?}",
            found.notes
        );
    }
}

#[test]
fn profiles_follow_the_layer_and_count_electrons() {
    let layer = layer();
    let subject = layer.subject();
    let settings = [("center", species(&[0, 1])), ("bins", SettingValue::Count(100))];
    let mut density = analysis("density", &settings, &subject).unwrap();
    for k in 0..10 {
        // The layer drifts through the cell.
        let shift = Vec3::new(0.0, 0.0, 1.3 * f64::from(k));
        let positions: Vec<_> = layer.positions.iter().map(|&r| r + shift).collect();
        let positions = wrapped(&layer.cell, &positions);
        density
            .add(&snapshot(
                f64::from(k),
                &layer.cell,
                [&positions; 2],
                &layer.species,
                None,
            ))
            .unwrap();
    }
    let found = density.finish();
    let z = &found.columns[0].values;
    close(z[0], -4.95, 1e-12);
    let heads = column(&found, "number, P");
    let slab = SIDE * SIDE * 0.1;
    let near = |place: f64| -> f64 {
        let inside = z.iter().zip(heads).filter(|(z, _)| (**z - place).abs() < 0.11);
        inside.map(|(_, density)| density * slab).sum()
    };
    close(near(1.5), 16.0, 1e-9);
    close(near(-1.5), 16.0, 1e-9);
    let electrons: f64 = column(&found, "electron, all")
        .iter()
        .map(|density| density * slab)
        .sum();
    close(electrons, 32.0 * (47.0 + 2.0 * 24.0) + 1000.0, 1e-6);
}

#[test]
fn lipids_that_walk_diffuse_and_leaflets_that_slide_do_not() {
    let layer = layer();
    let subject = layer.subject();
    let settings = [("heads", species(&[0])), ("lags", SettingValue::Count(40))];
    let mut lateral = analysis("lateral-diffusion", &settings, &subject).unwrap();
    let random = Philox::new(7);
    let (diffusion, interval) = (0.02, 0.5);
    let step = (2.0_f64 * diffusion * interval).sqrt();
    let mut positions = layer.positions.clone();
    let mut counter = 0;
    for k in 0..4000 {
        let inside = wrapped(&layer.cell, &positions);
        let frame = snapshot(
            interval * f64::from(k),
            &layer.cell,
            [&inside, &positions],
            &layer.species,
            None,
        );
        lateral.add(&frame).unwrap();
        for lipid in 0..layer.lipids {
            let slide = if lipid < 16 { 0.05 } else { -0.05 };
            let moved = Vec3::new(
                step * normal(&random, counter) + slide,
                step * normal(&random, counter + 1),
                0.0,
            );
            counter += 2;
            (0..BEADS).for_each(|k| positions[BEADS * lipid + k] += moved);
        }
    }
    let found = lateral.finish();
    // The mean of 16 lipids is taken out, and a sixteenth of their motion with it.
    let expected = diffusion * 15.0 / 16.0;
    for name in ["D, lower leaflet", "D, upper leaflet", "D, all"] {
        let (value, error) = scalar(&found, name);
        assert!(error < 0.1 * expected, "{name}: ± {error}");
        close(value, expected, 4.0 * error);
    }
}

/// Turns a unit vector by a small random rotation.
fn nudge(u: Vec3<f64>, size: f64, random: &Philox, counter: u64) -> Vec3<f64> {
    let kick = Vec3::new(
        normal(random, 3 * counter),
        normal(random, 3 * counter + 1),
        normal(random, 3 * counter + 2),
    );
    let moved = u + (kick - u * kick.dot(u)) * size;
    moved * moved.norm().recip()
}

#[test]
fn random_turning_forgets_at_the_known_rate() {
    let labels = Labels::new(Units::Md, &["D", "T"].map(|name| Species::point(name, 1.0, 0.0)));
    let cell = Cell::orthorhombic([5.0; 3]).unwrap();
    let positions = vec![Vec3::new(1.0, 1.0, 1.0); 300];
    let kinds: Vec<u32> = (0..300).map(|i| u32::from(i >= 200)).collect();
    let subject = Subject {
        labels: labels.clone(),
        ..layer().subject()
    };
    let size = 0.15_f64;
    let mut both: Vec<Box<dyn Analysis>> = [0, 1]
        .map(|rank| analysis("reorientation", &[("rank", SettingValue::Choice(rank))], &subject).unwrap())
        .into();
    let random = Philox::new(3);
    let mut axes: Vec<Vec3<f64>> = vec![Vec3::new(0.0, 0.0, 1.0); 200];
    axes.resize(300, Vec3::zero());
    for k in 0..3000_u64 {
        let frame = snapshot(k as f64, &cell, [&positions; 2], &kinds, Some(&axes));
        both.iter_mut().for_each(|one| one.add(&frame).unwrap());
        for (i, axis) in axes.iter_mut().take(200).enumerate() {
            *axis = nudge(*axis, size, &random, k * 200 + i as u64);
        }
    }
    // Diffusion on the sphere: C_l = exp(−l (l + 1) D t), D = size² / 2 for each step.
    for (one, rank) in both.iter().zip([1.0, 2.0]) {
        let found = one.finish();
        let (tau, error) = scalar(&found, "τ, D");
        let expected = (rank * (rank + 1.0) * 0.5 * size * size).recip();
        assert!(error < 0.15 * tau, "± {error}");
        close(tau, expected, 4.0 * error + 0.03 * expected);
        assert!(
            found
                .columns
                .iter()
                .all(|c| c.name != "C, T" && c.name != "C, all"),
            "points have no axis"
        );
    }
}

#[test]
fn a_nematic_has_its_order_and_director_and_a_gas_of_needles_none() {
    let labels = Labels::new(Units::Md, &[Species::point("D", 1.0, 0.0)]);
    let cell = Cell::orthorhombic([5.0; 3]).unwrap();
    let subject = Subject {
        labels,
        ..layer().subject()
    };
    let n = 2000_u64;
    let positions = vec![Vec3::new(1.0, 1.0, 1.0); n as usize];
    let kinds = vec![0; n as usize];
    let random = Philox::new(11);
    // A cone of 25° about (1, 2, 2)/3: S = (3 cos² 25° − 1) / 2; every other one upside down.
    let director = Vec3::new(1.0, 2.0, 2.0) * (1.0 / 3.0);
    let across = Vec3::new(2.0, 1.0, -2.0) * (1.0 / 3.0);
    let beside = director.cross(across);
    let (sine, cosine) = 25.0_f64.to_radians().sin_cos();
    let cone = |i: u64| {
        let (s, c) = (std::f64::consts::TAU * i as f64 / n as f64).sin_cos();
        let sign = if i.is_multiple_of(2) { 1.0 } else { -1.0 };
        (director * cosine + (across * c + beside * s) * sine) * sign
    };
    let needle = |i: u64| {
        let v = Vec3::new(
            normal(&random, 3 * i),
            normal(&random, 3 * i + 1),
            normal(&random, 3 * i + 2),
        );
        v * v.norm().recip()
    };
    let measure = |axes: Vec<Vec3<f64>>| {
        let mut nematic = analysis("nematic", &[], &subject).unwrap();
        nematic
            .add(&snapshot(0.0, &cell, [&positions; 2], &kinds, Some(&axes)))
            .unwrap();
        nematic.finish()
    };
    let found = measure((0..n).map(cone).collect());
    close(scalar(&found, "S").0, 1.5 * cosine * cosine - 0.5, 1e-9);
    close(scalar(&found, "S, unbiased").0, 1.5 * cosine * cosine - 0.5, 1e-9);
    close(scalar(&found, "polar order").0, 0.0, 2e-3);
    for (name, expected) in [("x", 1.0 / 3.0), ("y", 2.0 / 3.0), ("z", 2.0 / 3.0)] {
        close(scalar(&found, &format!("director, {name}")).0, expected, 1e-9);
    }
    let found = measure((0..n).map(needle).collect());
    assert!(scalar(&found, "S").0 < 0.05 && scalar(&found, "S, unbiased").0.abs() < 0.04);
    let mut nematic = analysis("nematic", &[], &subject).unwrap();
    let error = nematic
        .add(&snapshot(0.0, &cell, [&positions; 2], &kinds, None))
        .unwrap_err();
    assert!(error.to_string().contains("has no orientations"), "{error}");
}

#[test]
fn dipoles_point_where_they_are_in_the_profile() {
    let layer = layer();
    let settings = [("center", species(&[0, 1])), ("bins", SettingValue::Count(50))];
    let mut profile = analysis("orientation", &settings, &layer.subject()).unwrap();
    // Heads point out of the layer, leaning by 60°.
    let axis = |(i, &kind): (usize, &u32)| match kind {
        0 => Vec3::new(0.75_f64.sqrt(), 0.0, if i < 48 { 0.5 } else { -0.5 }),
        _ => Vec3::zero(),
    };
    let axes: Vec<Vec3<f64>> = layer.species.iter().enumerate().map(axis).collect();
    let positions = wrapped(&layer.cell, &layer.positions);
    profile
        .add(&snapshot(
            0.0,
            &layer.cell,
            [&positions; 2],
            &layer.species,
            Some(&axes),
        ))
        .unwrap();
    let found = profile.finish();
    let cosines = column(&found, "cos θ, P");
    for (z, cosine) in found.columns[0]
        .values
        .iter()
        .zip(cosines)
        .filter(|(_, c)| c.is_finite())
    {
        close(*cosine, 0.5 * z.signum(), 1e-12);
    }
    assert_eq!(cosines.iter().filter(|c| c.is_finite()).count(), 2);
    assert!(found.columns.iter().all(|c| c.name != "cos θ, W"));
}

/// The published bilayer as it is in its file.
#[test]
fn the_dopc_bilayer_is_one() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/elba");
    let text = "units = \"md\"\n[system]\nfile = \"bilayer_128dopc_4232wat.data.xz\"\nformat = \"lammps\"\n\
                length_unit = \"Å\"\n[forcefield]\ninclude = \"elba\"\n[integrator]\nkind = \"nve\"\n\
                timestep = \"10 fs\"\n[run]\nsteps = 1\n";
    let system = Simulation::parse(text, folder, "bilayer").unwrap().system;
    let subject = Subject::new(&system, 1.0);
    let p = &system.particles;
    let positions = wrapped(&system.cell, &p.positions);
    let axes = p.orientations.facings();
    let frame = snapshot(0.0, &system.cell, [&positions; 2], &p.species, Some(&axes));
    let kind = |name: &str| system.species.iter().position(|s| s.name == name).unwrap() as u32;
    let mut bilayer = analysis("bilayer", &[("heads", species(&[kind("P")]))], &subject).unwrap();
    bilayer.add(&frame).unwrap();
    let found = bilayer.finish();
    assert_eq!(scalar(&found, "lipids with their heads up").0, 64.0);
    let thickness = scalar(&found, "thickness").0;
    assert!((3.0..4.5).contains(&thickness), "{thickness}");
    let mut order = analysis("order", &[], &subject).unwrap();
    order.add(&frame).unwrap();
    let found = order.finish();
    assert_eq!(column(&found, "S").len(), 14);
    // Bonds stand by their names at the axis, and none of them is left out.
    let svg = found.charts()[0].to_svg();
    for (name, count) in [("C-P", 1), ("P-G", 1), ("G-E", 2), ("E-T", 2), ("T-T", 8)] {
        assert_eq!(svg.matches(&format!(">{name}<")).count(), count, "{name}");
    }
    assert!(
        (0.05..0.6).contains(&scalar(&found, "S, T-T").0),
        "{}",
        scalar(&found, "S, T-T").0
    );
}

/// Over all slabs the profile is the pressure of the reference, term by term of ELBA: shifted Lennard-Jones, charges and
/// dipoles, bonds, angles, restraints.
#[test]
fn the_pressure_profile_adds_up_to_the_pressure() {
    let text = "units = \"md\"\n[system]\nbuild = { kind = \"bilayer\", lipids = { DOPC = 18 }, waters = 500 }\n\
                [forcefield]\ninclude = \"elba\"\n[integrator]\nkind = \"nve\"\ntimestep = \"10 fs\"\n\
                [run]\nsteps = 1\ntemperature = \"303 K\"\n";
    let simulation = Simulation::parse(text, ".", "bilayer").unwrap();
    let system = &simulation.system;
    let expected = debye::engines::reference::evaluate(system, &simulation.forces).virial;
    let p = &system.particles;
    let kinetic = |of: fn(&Vec3<f64>) -> f64| -> f64 {
        let all = p.velocities.iter().zip(&p.masses);
        all.map(|(v, m)| m * of(v) * of(v)).sum()
    };
    let volume = system.cell.volume();
    let [x, y, z] = [
        (expected[0] + kinetic(|v| v.x)) / volume,
        (expected[1] + kinetic(|v| v.y)) / volume,
        (expected[2] + kinetic(|v| v.z)) / volume,
    ];
    let subject = Subject {
        model: Some(std::sync::Arc::new(debye::analysis::Model {
            system: system.clone(),
            forces: simulation.forces.clone(),
        })),
        ..Subject::new(system, 1.0)
    };
    let axes = p.orientations.facings();
    let positions = wrapped(&system.cell, &p.positions);
    let frame = Snapshot {
        velocities: Some(&p.velocities),
        ..snapshot(0.0, &system.cell, [&positions; 2], &p.species, Some(&axes))
    };
    let bar = system.units.bar();
    for (axis, normal, lateral) in [(2, z, 0.5 * (x + y)), (0, x, 0.5 * (y + z))] {
        let settings = [
            ("axis", SettingValue::Choice(axis)),
            ("bins", SettingValue::Count(37)),
        ];
        let mut profile = analysis("pressure-profile", &settings, &subject).unwrap();
        profile.add(&frame).unwrap();
        let found = profile.finish();
        let size = bar * (x.abs() + y.abs() + z.abs());
        close(scalar(&found, "normal").0, bar * normal, 1e-9 * size);
        close(scalar(&found, "lateral").0, bar * lateral, 1e-9 * size);
        let height = system.cell.heights()[axis];
        close(
            scalar(&found, "tension").0,
            0.1 * bar * height * (normal - lateral),
            1e-9 * size * height,
        );
    }
    let error = analysis("pressure-profile", &[], &Subject::new(system, 1.0))
        .err()
        .unwrap();
    assert!(error.to_string().contains("forces is not known"), "{error}");
}
