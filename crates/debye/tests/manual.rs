//! The manual says what the code does: its examples are computed, its page is the committed one, its conversions hold.

// A test may stop at the first surprise.
#![allow(clippy::unwrap_used, clippy::expect_used)]

use debye::expr::Table;
use debye::integrate::{
    ActiveThermostat, Barostat, BarostatKind, Coupling, Tally, Thermostat, ThermostatKind,
};
use debye::manual::{self, Example, Section, entries};
use debye::potentials::{
    ANGLES, AXES, BONDS, COULOMB_ERF, DIHEDRALS, Kind, PAIRS, Pair, PairFamily, Parameters, Preparation,
    Value,
};
use debye::random::Philox;
use debye::system::Cell;
use debye::truncation::Truncation;

fn numbers(values: &[f64]) -> Vec<Value> {
    values.iter().map(|x| Value::Number(*x)).collect()
}

fn pair_energy(family: &dyn PairFamily, values: &[f64], cutoff: f64, r: f64) -> f64 {
    let (values, mut table) = (numbers(values), Table::default());
    family.check(Parameters(&values)).unwrap();
    let preparation = &mut Preparation {
        cutoff,
        table: &mut table,
    };
    let c = family.coefficients(Parameters(&values), preparation);
    let pair = Pair {
        r2: r * r,
        table: &table,
    };
    family.energy(pair, &c)
}

fn pair(name: &str) -> &'static dyn PairFamily {
    PAIRS.find(name).unwrap()
}

fn bonded_energy(name: &str, values: &[f64], x: f64) -> f64 {
    let values = numbers(values);
    macro_rules! in_register {
        ($list:ident) => {
            if let Some(family) = $list.iter().find(|family| family.name() == name) {
                family.check(Parameters(&values)).unwrap();
                return family.energy(x, &family.coefficients(Parameters(&values)));
            }
        };
    }
    in_register!(BONDS);
    in_register!(ANGLES);
    in_register!(DIHEDRALS);
    in_register!(AXES);
    panic!("{name} is not registered");
}

/// The number in the manual has ten digits, from the formula evaluated elsewhere in forty.
fn assert_example(name: &str, example: &Example, found: f64) {
    let error = (found - example.energy).abs();
    assert!(
        error <= 2e-9 * example.energy.abs(),
        "{name} at {}: the manual says {}, the code {found}",
        example.at,
        example.energy
    );
}

#[test]
fn examples_are_what_the_code_computes() {
    for family in PAIRS.iter().chain([COULOMB_ERF]) {
        let sampled = family.parameters().iter().any(|p| p.kind == Kind::Samples);
        assert!(
            sampled || !family.doc().examples.is_empty(),
            "{} needs an example in its DOC",
            family.name()
        );
        for example in family.doc().examples {
            assert_eq!(
                example.values.len(),
                family.parameters().len(),
                "{}",
                family.name()
            );
            let cutoff = if example.cutoff > 0.0 { example.cutoff } else { 1.2 };
            let found = pair_energy(family, example.values, cutoff, example.at);
            assert_example(family.name(), example, found);
        }
    }
    for entry in entries() {
        if matches!(
            entry.section,
            Section::Bond | Section::Angle | Section::Dihedral | Section::Axis
        ) {
            assert!(
                !entry.doc.examples.is_empty(),
                "{} needs an example in its DOC",
                entry.name
            );
            for example in entry.doc.examples {
                assert_eq!(example.values.len(), entry.keys.len(), "{}", entry.name);
                let found = bonded_energy(entry.name, example.values, example.at);
                assert_example(entry.name, example, found);
            }
        }
    }
}

#[test]
fn the_page_is_the_one_the_source_generates() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/models.md");
    let committed = std::fs::read_to_string(path).unwrap_or_default();
    let generated = manual::page();
    let differs = committed.lines().zip(generated.lines()).position(|(a, b)| a != b);
    assert!(
        committed == generated,
        "docs/models.md differs from the source (first in line {}); regenerate it with\n  \
         cargo run -p debye-cli -- info --markdown > docs/models.md",
        differs.unwrap_or_else(|| committed.lines().count().min(generated.lines().count())) + 1
    );
}

#[test]
fn no_two_headings_of_the_page_are_the_same() {
    let page = manual::page();
    let mut seen = std::collections::HashSet::new();
    for line in page.lines().filter(|line| line.starts_with('#')) {
        let anchor = line.trim_start_matches('#').trim().to_lowercase();
        let anchor = anchor.replace(['`', '(', ')', ':', ','], "").replace(' ', "-");
        assert!(seen.insert(anchor), "{line}");
    }
    // Every link of the contents leads somewhere.
    for link in page.split("](#").skip(1) {
        let anchor = link.split(')').next().unwrap();
        assert!(seen.contains(anchor), "{anchor}");
    }
}

#[test]
fn nothing_is_left_blank() {
    let all = entries();
    for section in Section::ALL {
        assert!(all.iter().any(|entry| entry.section == section), "{section:?}");
    }
    for entry in &all {
        let (name, doc) = (entry.name, entry.doc);
        let first = manual::one_line(entry).chars().count();
        assert!(
            (1..=72).contains(&first),
            "{name}: {first} characters in the first line of its formula"
        );
        assert!(
            !doc.title.is_empty() && !doc.remarks.is_empty() && !doc.references.is_empty(),
            "{name}"
        );
        for reference in doc.references {
            assert!(
                reference.contains(['1', '2']) && reference.contains('('),
                "{name}: {reference}"
            );
        }
        for key in &entry.keys {
            assert!(!key.words.is_empty(), "{name}: {}", key.name);
        }
        for (program, [theirs, ours]) in doc.conventions.rows() {
            assert!(!theirs.is_empty() && !ours.is_empty(), "{name}: {program}");
        }
        let page = manual::entry_markdown(entry);
        // It would be read as a link.
        assert!(!page.contains("]("), "{name}: {page}");
        let text = manual::text(entry, 100);
        for line in text.lines() {
            assert!(line.chars().count() <= 100, "{name}: {line}");
        }
        for line in page.lines().filter(|line| !line.starts_with('|')) {
            assert!(line.chars().count() <= 120, "{name}: {line}");
        }
    }
}

#[test]
fn names_are_found_and_misspellings_answered() {
    let titles = |name: &str| manual::find(name).iter().map(|e| e.section).collect::<Vec<_>>();
    assert_eq!(titles("harmonic-bond"), [Section::Bond]);
    assert_eq!(titles("berendsen"), [Section::Thermostat, Section::Barostat]);
    assert_eq!(titles("nve"), [Section::Integrator]);
    assert_eq!(titles("settle"), [Section::Constraint]);
    assert!(titles("harmonicbond").is_empty());
    assert_eq!(manual::suggestion("harmonicbond"), Some("harmonic-bond"));
    assert_eq!(manual::suggestion("lj"), Some("lennard-jones"));
    assert_eq!(manual::suggestion("qqqqqqqqqqq"), None);
}

fn close(a: f64, b: f64) {
    assert!((a - b).abs() <= 1e-12 * b.abs().max(1e-3), "{a} {b}");
}

/// What "In other programs" says, for the conversions with a factor or a sign.
#[test]
fn conversions_hold() {
    let lj = pair("lennard-jones");
    // AMBER and CHARMM: Rmin/2 = 0.19 nm.
    let (half, epsilon, r) = (0.19_f64, 0.46, 0.41);
    let theirs = epsilon * ((2.0 * half / r).powi(12) - 2.0 * (2.0 * half / r).powi(6));
    close(
        pair_energy(lj, &[epsilon, 2.0_f64.powf(5.0 / 6.0) * half], 1.0, r),
        theirs,
    );
    // GROMACS: C6 and C12.
    let (c6, c12) = (2.6e-3_f64, 2.7e-6_f64);
    let ours = [c6 * c6 / (4.0 * c12), (c12 / c6).powf(1.0 / 6.0)];
    close(pair_energy(lj, &ours, 1.0, r), c12 / r.powi(12) - c6 / r.powi(6));
    // exp-6.
    let (alpha, r_m) = (13.5_f64, 0.38);
    let theirs =
        epsilon / (1.0 - 6.0 / alpha) * (6.0 / alpha * (alpha * (1.0 - r / r_m)).exp() - (r_m / r).powi(6));
    let c = alpha * epsilon * r_m.powi(6) / (alpha - 6.0);
    let ours = [6.0 * epsilon * alpha.exp() / (alpha - 6.0), r_m / alpha, c];
    close(pair_energy(pair("buckingham"), &ours, 1.0, r), theirs);
    // LAMMPS, AMBER, CHARMM: no factor of one half.
    let (k, x0, x) = (310.0, 0.9, 1.1_f64);
    for name in ["harmonic-bond", "harmonic-angle", "harmonic-improper"] {
        close(bonded_energy(name, &[2.0 * k, x0], x), k * (x - x0).powi(2));
    }
    let theirs = k * (x.cos() - x0.cos()).powi(2);
    close(bonded_energy("cosine-squared-angle", &[2.0 * k, x0], x), theirs);
    // LAMMPS dihedral_style harmonic with d = −1.
    let theirs = k * (1.0 - (3.0 * x).cos());
    close(
        bonded_energy("periodic-dihedral", &[k, 3.0, std::f64::consts::PI], x),
        theirs,
    );
    // OPLS, and LAMMPS multi/harmonic: both with 180° in trans.
    let [f1, f2, f3, f4] = [1.3, -0.7, 2.1, 0.4];
    let ours = [
        f2 + 0.5 * (f1 + f3),
        0.5 * (3.0 * f3 - f1),
        4.0 * f4 - f2,
        -2.0 * f3,
        -4.0 * f4,
        0.0,
    ];
    let c = |n: f64| (n * x).cos();
    let theirs =
        0.5 * (f1 * (1.0 + c(1.0)) + f2 * (1.0 - c(2.0)) + f3 * (1.0 + c(3.0)) + f4 * (1.0 - c(4.0)));
    close(bonded_energy("ryckaert-bellemans", &ours, x), theirs);
    let a = [0.3, 1.1, -0.6, 0.9, 2.2];
    let theirs: f64 = (0..5).map(|n| a[n] * x.cos().powi(n as i32)).sum();
    close(
        bonded_energy("ryckaert-bellemans", &[a[0], -a[1], a[2], -a[3], a[4], 0.0], x),
        theirs,
    );
}

/// The formulas of the truncations, written out for Coulomb's law.
#[test]
fn truncations_are_as_written() {
    let (family, table) = (pair("coulomb"), Table::default());
    let (rc, rs, r) = (1.0_f64, 0.6_f64, 0.8_f64);
    let c = [1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0];
    let (square, inner) = (r * r, rs * rs);
    let switch =
        (rc * rc - square).powi(2) * (rc * rc + 2.0 * square - 3.0 * inner) / (rc * rc - inner).powi(3);
    let cases = [
        (Truncation::Cut, 1.0 / r),
        (Truncation::Shift, 1.0 / r - 1.0 / rc),
        // FSHIFT of CHARMM.
        (Truncation::ForceShift, (1.0 - r / rc).powi(2) / r),
        (
            Truncation::QuadraticShift,
            1.0 / r - 1.0 / rc + (square - rc * rc) / (2.0 * rc.powi(3)),
        ),
        (Truncation::Switch { from: rs }, switch / r),
    ];
    for (truncation, wanted) in cases {
        let at = |r: f64| Pair {
            r2: r * r,
            table: &table,
        };
        let t = truncation.coefficients(rc, family.energy_and_derivative(at(rc), &c));
        close(family.truncated(truncation.kind(), at(r), &c, &t).value, wanted);
    }
}

fn thermostat(kind: ThermostatKind, freedom: f64) -> ActiveThermostat {
    let thermostat = Thermostat {
        kind,
        species: Vec::new(),
        temperature: 300.0,
        time: 0.5,
        every: Some(1),
    };
    ActiveThermostat::new(&thermostat, 0, 1, freedom, 1.0)
}

#[test]
fn thermostats_are_as_written() {
    let (g, kt, time, dt) = (12.0, 300.0, 0.5_f64, 0.01);
    // Q₁ = g k_B T τ², Q₂ = k_B T τ²: the energies of the chain.
    let mut chain = thermostat(ThermostatKind::NoseHoover { chain: 2 }, g);
    chain.chain[0][1] = 2.0;
    close(chain.energy(), 0.5 * g * kt * time * time * 4.0);
    chain.chain = vec![[0.0; 2], [0.0, 2.0]];
    close(chain.energy(), 0.5 * kt * time * time * 4.0);
    // λ² = 1 + Δt/τ (T/T_now − 1), T_now = 2K/(g k_B).
    let kinetic = 0.5 * g * 400.0;
    let factor = thermostat(ThermostatKind::Berendsen, g).rescale(kinetic, dt, 0, Philox::new(1));
    close(factor * factor, 1.0 + dt / time * (300.0 / 400.0 - 1.0));
    // The mean of λ² is c + (1 − c) T/T_now; its spread per draw is about √(2/g (1−c)).
    let draws = 20_000;
    let mut bussi = thermostat(ThermostatKind::Bussi, g);
    let sum: f64 = (0..draws)
        .map(|step| bussi.rescale(kinetic, 0.3, step, Philox::new(1)).powi(2))
        .sum();
    let c = (-0.3_f64 / time).exp();
    let (mean, wanted) = (sum / draws as f64, c + (1.0 - c) * 0.75);
    assert!((mean - wanted).abs() < 0.02, "{mean} {wanted}");
}

#[test]
fn barostats_are_as_written() {
    let barostat = |kind, temperature| Barostat {
        kind,
        coupling: Coupling::Isotropic,
        pressure: [2.0; 3],
        time: 0.5,
        compressibility: [0.05; 3],
        temperature,
        every: 10,
        limited: Tally::default(),
    };
    let (dt, cell) = (0.02, Cell::orthorhombic([3.0, 2.0, 5.0]).unwrap());
    let volume = cell.volume();
    let factor = |b: &Barostat, step| b.factors([3.0; 3], &cell, 1.0, dt, step, Philox::new(1)).x;
    let rate = 0.05 * dt / (3.0 * 0.5);
    // A pressure above the target makes the cell grow.
    close(factor(&barostat(BarostatKind::Berendsen, 0.0), 0), 1.0 + rate);
    close(factor(&barostat(BarostatKind::CellRescale, 0.0), 0).ln(), rate);
    // Along x and y the target is P₀ − γ/L_z.
    let stretched = Barostat {
        coupling: Coupling::SurfaceTension { tension: 2.5 },
        ..barostat(BarostatKind::Berendsen, 0.0)
    };
    let along = |pressure| {
        stretched
            .factors(pressure, &cell, 1.0, dt, 0, Philox::new(1))
            .to_array()
    };
    let lateral = 2.0 - 2.5 / 5.0;
    let found = along([3.0, 4.0, 6.0]);
    close(found[0], 1.0 + rate * (3.5 - lateral));
    close(found[1], found[0]);
    close(found[2], 1.0 + rate * (6.0 - 2.0));
    close(along([lateral, lateral, 2.0])[0], 1.0);
    // The spread of ln μ is √(2 k_B T β Δt/(3 n V τ)), n = 3.
    // Far from the limit of a tenth of a length.
    let noisy = barostat(BarostatKind::CellRescale, 30.0);
    let draws = 20_000;
    let squares: f64 = (0..draws)
        .map(|step| (factor(&noisy, step).ln() - rate).powi(2))
        .sum();
    let (variance, wanted) = (squares / draws as f64, 2.0 * 30.0 * rate / (3.0 * volume));
    assert!((variance / wanted - 1.0).abs() < 0.05, "{variance} {wanted}");
}
