//! The report: well formed, escaped, and calm about missing data. `DEBYE_PICTURES=folder` keeps the page.

use std::path::PathBuf;

use super::assert_well_formed;
use debye::analysis::{Analysis, Column, Labels, Rdf, RdfOptions, Rounded, Snapshot, drift};
use debye::expr::Vec3;
use debye::plot::Scenery;
use debye::run::report::{DriftFacts, Host, Kind, Place, Quantity, Report, Shot, Speed, Stage, SystemFacts};
use debye::system::{Cell, Species, Units};

fn noise(k: usize) -> f64 {
    let x = (k as f64 * 12.9898).sin() * 43_758.545_3;
    x - x.floor() - 0.5
}

fn quantity(kind: Kind, name: &str, unit: &str, values: Vec<f64>) -> Quantity {
    Quantity {
        kind,
        column: Column::new(name, unit, values, None),
    }
}

/// A cell of jittered sites, its picture and its g(r).
fn liquid(cells: usize, jitter: f64) -> (Shot, debye::analysis::Analyzed) {
    let cell = Cell::orthorhombic([0.35 * cells as f64; 3]).unwrap();
    let species = vec![0; cells.pow(3)];
    let mut positions = Vec::new();
    for i in 0..cells.pow(3) {
        let site = [i % cells, i / cells % cells, i / cells / cells];
        let place = |k: usize| 0.35 * (site[k] as f64 + 0.5 + jitter * noise(3 * i + k));
        positions.push(Vec3::new(place(0), place(1), place(2)));
    }
    let frame = Snapshot {
        step: 0,
        time: 0.0,
        cell: &cell,
        positions: &positions,
        unwrapped: &positions,
        velocities: None,
        species: &species,
        axes: None,
        rotational_energies: None,
    };
    let argon = Species::point("Ar", 39.948, 0.0);
    let options = RdfOptions {
        pair: None,
        r_max: 1.4,
        bins: 140,
    };
    let mut rdf = Rdf::new(options, &Labels::new(Units::Md, &[argon])).unwrap();
    rdf.add(&frame).unwrap();
    let scenery = Scenery {
        size: [720, 540],
        ..Scenery::default()
    };
    let shot = Shot {
        caption: format!("Step {}", (jitter * 1e5) as u64),
        data_uri: scenery.render(&frame).unwrap().to_data_uri().unwrap(),
    };
    (shot, rdf.finish())
}

fn full() -> Report {
    let rows = 1000;
    let time: Vec<f64> = (0..rows).map(|k| k as f64).collect();
    let curve = |base: f64, change: f64, spread: f64, seed: usize| -> Vec<f64> {
        (0..rows)
            .map(|k| base + change * (-(k as f64) / 60.0).exp() + spread * noise(7 * k + seed))
            .collect()
    };
    let potential = curve(-36_214.0, -900.0, 120.0, 1);
    let kinetic: Vec<f64> = (0..rows).map(|k| 5_978.0 + (-36_214.0 - potential[k])).collect();
    let total: Vec<f64> = (0..rows)
        .map(|k| potential[k] + kinetic[k] + 4e-5 * k as f64 + 0.06 * noise(k + 5))
        .collect();
    let fit = drift(&time, &total, 0.9977, 3.0 * 8000.0 - 3.0);
    let (first, _) = liquid(14, 0.02);
    let (last, rdf) = liquid(14, 0.45);
    Report {
        title: "Liquid argon, 8 000 atoms".into(),
        program: "debye 0.1.0".into(),
        commit: Some("c55e5c2".into()),
        date: "2026-01-31 12:00 UTC".into(),
        host: Host {
            processor: "Example processor, 16 cores".into(),
            threads: 16,
            simd: "AVX-512".into(),
            precision: "mixed".into(),
            device: "cpu".into(),
        },
        input: "units = \"md\"\n[system]\nbuild = { kind = \"lattice\" }   # <fcc> & friends\n".repeat(6),
        setup: vec![
            ("Ensemble".into(), "NVE".into()),
            ("Time step".into(), "2 fs, velocity Verlet".into()),
        ],
        system: SystemFacts {
            particles: 8000,
            species: vec![("Ar".into(), 8000)],
            facts: vec![
                ("Cell".into(), "7.2 × 7.2 × 7.2 nm, periodic along a, b, c".into()),
                ("Cut-off".into(), "1.2 nm, force-shifted".into()),
                ("List buffer".into(), "0.14 nm".into()),
                ("Integrator".into(), "nve, 2 fs".into()),
            ],
        },
        places: vec![
            Place {
                term: "lennard-jones".into(),
                place: "CPU, 8×8 clusters".into(),
            },
            Place {
                term: "integrate".into(),
                place: "CPU, f64".into(),
            },
        ],
        time: Column::new("time", "ps", time, None),
        table: vec![
            quantity(
                Kind::Step,
                "step",
                "",
                (0..rows).map(|k| 500.0 * k as f64).collect(),
            ),
            quantity(Kind::Potential, "potential", "kJ/mol", potential.clone()),
            quantity(Kind::Kinetic, "kinetic", "kJ/mol", kinetic.clone()),
            quantity(Kind::Total, "total", "kJ/mol", total),
            quantity(
                Kind::Temperature,
                "temperature",
                "K",
                kinetic.iter().map(|k| k / 49.8875).collect(),
            ),
            quantity(Kind::Pressure, "pressure", "bar", curve(211.0, -300.0, 180.0, 3)),
            quantity(Kind::Volume, "volume", "nm³", vec![373.248; rows]),
            quantity(Kind::Term, "lennard-jones", "kJ/mol", potential),
            quantity(Kind::Term, "restraint", "kJ/mol", curve(2000.0, 900.0, 90.0, 4)),
        ],
        equilibration_rows: 0,
        drift: Some(DriftFacts {
            drift: fit,
            timestep: 0.002,
            picoseconds: true,
        }),
        stages: [
            ("pair forces", 61.2, 500_000),
            ("neighbor list", 9.1, 6_213),
            ("sort", 2.0, 6_213),
            ("integrate", 7.4, 500_000),
            ("output", 0.6, 1000),
        ]
        .map(|(name, seconds, calls)| Stage {
            name: name.into(),
            seconds,
            calls,
        })
        .into(),
        device_use: None,
        speed: Speed {
            steps: 500_000,
            seconds: 80.3,
            nanoseconds_per_day: Some(1075.9),
        },
        rebuild_interval: Some(80.5),
        memory: vec![("particles".into(), 1_920_000), ("lists".into(), 28_311_552)],
        pictures: vec![first, last],
        analyses: vec![rdf],
        warnings: vec!["The pressure's error is a lower bound: its series is short.".into()],
    }
}

/// Every tag closed in order, no stray ampersands, nothing fetched from elsewhere.
fn assert_sound(page: &str) {
    let (before, script) = page.split_once("<script>").unwrap();
    let (script, after) = script.split_once("</script>").unwrap();
    assert!(!script.contains('<') && !script.contains('&'));
    let page = format!("{before}{after}");
    assert_well_formed(page.strip_prefix("<!DOCTYPE html>").unwrap());
    let without_namespace = page.replace("xmlns=\"http://www.w3.org/2000/svg\"", "");
    assert!(!without_namespace.contains("http:") && !without_namespace.contains("https:"));
    // Base64 may hold any three letters.
    let text: String = page
        .split("base64,")
        .map(|part| part.split_once('"').map_or(part, |(_, rest)| rest))
        .collect();
    assert!(
        !text.contains("NaN") && !text.contains("inf"),
        "a number that is none"
    );
}

#[test]
fn a_full_report_is_one_sound_page() {
    let page = full().to_html();
    if let Some(folder) = std::env::var_os("DEBYE_PICTURES") {
        std::fs::write(PathBuf::from(folder).join("report.html"), &page).unwrap();
    }
    assert_sound(&page);
    for part in [
        "Liquid argon",
        "kT/ns/dof",
        "ns/day",
        "pair forces",
        "Radial distribution",
        "c55e5c2",
        "fitted line",
    ] {
        assert!(page.contains(part), "{part}");
    }
    assert!(page.contains("&lt;fcc&gt; &amp; friends"));
    assert!(page.len() < 3_000_000, "{} bytes", page.len());
}

/// The page says how it was simulated and from when it averages, and averages from there.
#[test]
fn averages_leave_the_equilibration_out() {
    let mut report = full();
    assert!(
        report
            .to_html()
            .contains("Averages over all 1000 rows of the table")
    );
    report.equilibration_rows = 400;
    let page = report.to_html();
    assert_sound(&page);
    for part in [
        "Averages from 400 ps on (600 rows; the equilibration before is left out)",
        "mean without the equilibration",
        "a least-squares line through the total energy after the equilibration",
        "<h2>Setup</h2>",
        "<th>Time step</th><td>2 fs, velocity Verlet</td>",
    ] {
        assert!(page.contains(part), "{part}");
    }
    // A constant that the beginning is far from: its mean is exact only where that is left out.
    for quantity in &mut report.table {
        quantity.column.values[..400].fill(1e6);
        quantity.column.values[400..].fill(2.5);
    }
    let page = report.to_html();
    assert!(page.contains("<td>2.50000</td>"), "the mean of the rest is 2.5");
    // More rows left out than there are.
    report.equilibration_rows = 5000;
    assert_sound(&report.to_html());
}

#[test]
fn nothing_from_outside_is_taken_for_html() {
    let evil = "<img src=x onerror=\"alert('&')\">\u{0}";
    let mut report = full();
    (report.title, report.program, report.commit) = (evil.into(), evil.into(), Some(evil.into()));
    (report.date, report.input) = (evil.into(), format!("</pre></script>{evil}"));
    report.host = Host {
        processor: evil.into(),
        threads: 1,
        simd: evil.into(),
        precision: evil.into(),
        device: evil.into(),
    };
    report.system.species = vec![(evil.into(), 1)];
    report.system.facts = vec![(evil.into(), evil.into())];
    report.setup = vec![(evil.into(), evil.into())];
    report.places = vec![Place {
        term: evil.into(),
        place: evil.into(),
    }];
    (report.time.name, report.time.unit) = (evil.into(), evil.into());
    for quantity in &mut report.table {
        (quantity.column.name, quantity.column.unit) = (evil.into(), evil.into());
    }
    report.stages[0].name = evil.into();
    report.memory[0].0 = evil.into();
    report.warnings = vec![evil.into()];
    report.pictures = vec![
        Shot {
            caption: evil.into(),
            data_uri: "javascript:alert(1)".into(),
        },
        Shot {
            caption: evil.into(),
            data_uri: format!("data:image/png;base64,{evil}"),
        },
    ];
    let analyzed = &mut report.analyses[0];
    (analyzed.title, analyzed.notes) = (evil.into(), vec![evil.into()]);
    (analyzed.columns[1].name, analyzed.plots[0].x_label) = (evil.into(), evil.into());
    (
        analyzed.scalars[0].name,
        analyzed.scalars[0].unit,
        analyzed.scalars[0].note,
    ) = (evil.into(), evil.into(), evil.into());
    let page = report.to_html();
    assert_sound(&page);
    assert!(!page.contains("<img src=x") && !page.contains("javascript:alert") && !page.contains('\u{0}'));
}

#[test]
fn empty_and_broken_data_make_a_page_too() {
    assert_sound(&Report::default().to_html());
    let mut report = full();
    for quantity in &mut report.table {
        quantity
            .column
            .values
            .iter_mut()
            .step_by(3)
            .for_each(|v| *v = f64::NAN);
        quantity.column.values[1] = f64::INFINITY;
    }
    assert_sound(&report.to_html());
    for quantity in &mut report.table {
        quantity.column.values.fill(f64::NAN);
    }
    report.time.values.fill(f64::NAN);
    report.drift = Some(DriftFacts {
        drift: drift(&[], &[], 1.0, 1.0),
        timestep: f64::NAN,
        picoseconds: false,
    });
    report.stages[0].seconds = f64::NAN;
    report.speed.seconds = 0.0;
    assert_sound(&report.to_html());
    report.table.iter_mut().for_each(|q| q.column.values.truncate(1));
    assert_sound(&report.to_html());
}

#[test]
fn values_keep_two_digits_of_their_error() {
    for (value, error, text) in [
        (94.4123, 0.096, "94.412 ± 0.096"),
        (94.4123, 0.0996, "94.41 ± 0.10"),
        (3.0, 12.3, "3 ± 12"),
        (-123_456.0, 1234.0, "-123500 ± 1200"),
        (1.2344e-7, 1.2e-9, "(1.234 ± 0.012)e-7"),
        (0.0, 0.5, "0.00 ± 0.50"),
    ] {
        assert_eq!(Rounded::new(value, error).unwrap().to_string(), text);
    }
    assert_eq!(Rounded::new(1.0, 0.0), None);
    assert_eq!(Rounded::new(1.0, f64::NAN), None);
}
