//! Analyses against closed forms.

use std::sync::Arc;

use debye::analysis::{
    Analysis, Analyzed, Axis, BlockAverage, Density, Labels, Lags, Msd, MsdOptions, Rdf, RdfOptions, Slabs,
    Snapshot, Subject, Vacf, Window, drift,
};
use debye::expr::Vec3;
use debye::system::{Cell, Species, Units};

/// SplitMix64, for tests only.
struct Random(u64);

impl Random {
    fn uniform(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) >> 11) as f64 / (1_u64 << 53) as f64
    }

    fn normal(&mut self) -> f64 {
        let (u, v) = (1.0 - self.uniform(), self.uniform());
        (-2.0 * u.ln()).sqrt() * (std::f64::consts::TAU * v).cos()
    }

    fn vector(&mut self, mut f: impl FnMut(&mut Self) -> f64) -> Vec3<f64> {
        Vec3::new(f(self), f(self), f(self))
    }
}

fn labels(names: &[&str]) -> Labels {
    let species: Vec<_> = (names.iter())
        .map(|name| Species::point(*name, 1.0, 0.0))
        .collect();
    Labels::new(Units::LennardJones, &species)
}

fn frame<'a>(time: f64, cell: &'a Cell, positions: &'a [Vec3<f64>], species: &'a [u32]) -> Snapshot<'a> {
    Snapshot {
        step: time as u64,
        time,
        cell,
        positions,
        unwrapped: positions,
        velocities: None,
        species,
        axes: None,
        rotational_energies: None,
    }
}

fn slabs(axis: Axis, count: usize) -> Slabs {
    let center = Vec::new();
    Slabs { axis, count, center }
}

fn subject(masses: Vec<f64>, charges: Vec<f64>, labels: &Labels) -> Subject {
    let n = masses.len() as u32;
    Subject {
        units: Units::LennardJones,
        labels: labels.clone(),
        electrons: vec![0.0; labels.species.len()].into(),
        species: vec![0; masses.len()].into(),
        masses: masses.into(),
        charges: charges.into(),
        rotations: [].into(),
        molecules: (0..n).collect(),
        constraints: Default::default(),
        bonds: [].into(),
        cell: Cell::orthorhombic([1.0; 3]).unwrap(),
        reach: 1.0,
        temperature: None,
        model: None,
    }
}

fn column<'a>(analyzed: &'a Analyzed, name: &str) -> &'a [f64] {
    &analyzed.columns.iter().find(|c| c.name == name).unwrap().values
}

fn scalar(analyzed: &Analyzed, name: &str) -> (f64, f64) {
    let found = analyzed.scalars.iter().find(|s| s.name == name).unwrap();
    (found.value, found.error)
}

fn fcc(cells: usize) -> Vec<Vec3<f64>> {
    let basis = [[0.0, 0.0, 0.0], [0.5, 0.5, 0.0], [0.5, 0.0, 0.5], [0.0, 0.5, 0.5]];
    let mut positions = Vec::new();
    for i in 0..cells * cells * cells {
        let corner = Vec3::new(
            (i % cells) as f64,
            (i / cells % cells) as f64,
            (i / cells / cells) as f64,
        );
        positions.extend(basis.map(|b| corner + Vec3::from(b)));
    }
    positions
}

/// Neighbors in the shells of fcc at √(k/2) lattice constants (the 14th is empty).
const SHELLS: [u32; 15] = [12, 6, 24, 12, 24, 8, 48, 6, 36, 24, 24, 24, 72, 0, 48];

fn assert_shells(analyzed: &Analyzed) {
    let (r, n) = (column(analyzed, "r"), column(analyzed, "coordination number"));
    let mut sum = 0;
    for (k, shell) in SHELLS.iter().enumerate() {
        sum += shell;
        let between = 0.5 * (((k + 1) as f64 / 2.0).sqrt() + ((k + 2) as f64 / 2.0).sqrt());
        let bin = r.iter().rposition(|&r| r < between).unwrap();
        assert_eq!(n[bin], f64::from(sum), "up to shell {}", k + 1);
    }
}

#[test]
fn fcc_has_its_shells_in_large_and_tiny_cells() {
    let options = RdfOptions {
        pair: None,
        r_max: 2.8,
        bins: 700,
    };
    for cells in [1_usize, 2, 3, 7] {
        let positions = fcc(cells);
        let cell = Cell::orthorhombic([cells as f64; 3]).unwrap();
        let mut rdf = Rdf::new(options, &labels(&["A"])).unwrap();
        rdf.add(&frame(0.0, &cell, &positions, &vec![0; positions.len()]))
            .unwrap();
        assert_shells(&rdf.finish());
    }
    // One atom in the primitive, triclinic cell: all neighbors are its own images.
    let h = 0.5_f64.sqrt();
    let cell = Cell::triclinic([
        [h, 0.0, 0.0],
        [0.5 * h, 0.75_f64.sqrt() * h, 0.0],
        [0.5 * h, h / 12_f64.sqrt(), h * (2.0_f64 / 3.0).sqrt()],
    ])
    .unwrap();
    let mut rdf = Rdf::new(options, &labels(&["A"])).unwrap();
    rdf.add(&frame(0.0, &cell, &[Vec3::new(-5.3, 0.2, 0.9)], &[0]))
        .unwrap();
    assert_shells(&rdf.finish());
}

#[test]
fn rock_salt_has_six_unlike_neighbors() {
    let n = 6;
    let cell = Cell::orthorhombic([n as f64; 3]).unwrap();
    let site = |i: usize| [i % n, i / n % n, i / n / n];
    let positions: Vec<_> = (0..n * n * n)
        .map(|i| Vec3::from(site(i).map(|k| k as f64)))
        .collect();
    let species: Vec<u32> = (0..n * n * n)
        .map(|i| (site(i).iter().sum::<usize>() % 2) as u32)
        .collect();
    for (pair, expected) in [([0, 1], [6.0, 6.0]), ([1, 0], [6.0, 6.0]), ([1, 1], [0.0, 12.0])] {
        let options = RdfOptions {
            pair: Some(pair),
            r_max: 1.6,
            bins: 160,
        };
        let mut rdf = Rdf::new(options, &labels(&["Na", "Cl"])).unwrap();
        rdf.add(&frame(0.0, &cell, &positions, &species)).unwrap();
        let found = rdf.finish();
        let n = column(&found, "coordination number");
        assert_eq!([n[120], n[159]], expected, "{pair:?}");
    }
}

#[test]
fn ideal_gas_has_no_structure() {
    let mut random = Random(1);
    let cell = Cell::triclinic([[6.0, 0.0, 0.0], [1.0, 5.0, 0.0], [-0.8, 0.7, 5.5]]).unwrap();
    let species: Vec<u32> = (0..600).map(|i| u32::from(i % 3 == 0)).collect();
    let make = |pair, r_max| {
        let options = RdfOptions {
            pair,
            r_max,
            bins: 20,
        };
        Rdf::new(options, &labels(&["A", "B"])).unwrap()
    };
    let mut all = [
        make(None, 2.4),
        make(Some([0, 1]), 2.4),
        make(Some([1, 1]), 2.4),
        make(Some([0, 1]), 5.6),
    ];
    for step in 0..64 {
        let positions: Vec<_> = (0..600)
            .map(|_| cell.position(random.vector(Random::uniform)))
            .collect();
        for rdf in &mut all {
            rdf.add(&frame(f64::from(step), &cell, &positions, &species))
                .unwrap();
        }
    }
    for rdf in &all {
        let found = rdf.finish();
        let (g, errors) = (
            &found.columns[1].values,
            found.columns[1].errors.as_ref().unwrap(),
        );
        let chi2: f64 = g
            .iter()
            .zip(errors)
            .skip(1)
            .map(|(g, e)| ((g - 1.0) / e).powi(2))
            .sum();
        assert!(chi2 < 50.0, "{}: χ² = {chi2} for 19 bins", rdf.name());
        assert!(errors[10] > 0.0 && errors[10] < 0.05);
    }
}

#[test]
fn rdf_agrees_with_a_plain_loop() {
    let mut random = Random(5);
    let cell = Cell::triclinic([[4.0, 0.0, 0.0], [1.5, 3.0, 0.0], [-1.0, 1.2, 5.0]]).unwrap();
    for periodic in [[true; 3], [true, true, false], [false; 3]] {
        let cell = cell.with_periodicity(periodic);
        let positions: Vec<_> = (0..40)
            .map(|_| cell.position(random.vector(|r| 3.0 * r.uniform() - 1.0)))
            .collect();
        // No lattice vector at the edge of a bin, where rounding would decide.
        let (bins, r_max) = (30, 6.1);
        let mut counts = vec![0.0; bins];
        let reach = periodic.map(|p| if p { 8 } else { 0 });
        for &a in &positions {
            for &b in &positions {
                for i in -reach[0]..=reach[0] {
                    for j in -reach[1]..=reach[1] {
                        for k in -reach[2]..=reach[2] {
                            let d = (b + cell.translation([i, j, k]) - a).norm();
                            if d > 1e-9 && d < r_max {
                                counts[(d / r_max * bins as f64) as usize] += 1.0 / 40.0;
                            }
                        }
                    }
                }
            }
        }
        let mut rdf = Rdf::new(
            RdfOptions {
                pair: None,
                r_max,
                bins,
            },
            &labels(&["A"]),
        )
        .unwrap();
        rdf.add(&frame(0.0, &cell, &positions, &[0; 40])).unwrap();
        let found = rdf.finish();
        let n = column(&found, "coordination number");
        let mut sum = 0.0;
        for bin in 0..bins {
            sum += counts[bin];
            assert!(
                (n[bin] - sum).abs() < 1e-9,
                "{periodic:?} bin {bin}: {} vs {sum}",
                n[bin]
            );
        }
    }
}

fn msd(window: Window, fit: Option<[f64; 2]>, masses: Option<Arc<[f64]>>) -> Msd {
    Msd::new(MsdOptions { window, masses, fit }, &labels(&["A", "B"])).unwrap()
}

#[test]
fn ballistic_particles_move_as_the_square_of_time() {
    let cell = Cell::orthorhombic([1.0; 3]).unwrap();
    let mut random = Random(3);
    let velocities: Vec<_> = (0..50).map(|_| random.vector(Random::normal)).collect();
    let mean = velocities.iter().map(|v| v.norm2()).sum::<f64>() / 50.0;
    let species: Vec<u32> = (0..50).map(|i| i % 2).collect();
    let window = Window {
        longest: 60,
        origins: 7,
        lags: Lags::PerDecade(8),
    };
    let mut with = msd(window, None, None);
    let mut without = msd(window, None, Some(vec![1.0; 50].into()));
    for k in 0..200 {
        let time = 5.0 + 0.25 * f64::from(k);
        let positions: Vec<_> = velocities.iter().map(|&v| v * time).collect();
        with.add(&frame(time, &cell, &positions, &species)).unwrap();
        without.add(&frame(time, &cell, &positions, &species)).unwrap();
    }
    let drift = velocities.iter().fold(Vec3::zero(), |s, &v| s + v) * (1.0 / 50.0);
    for (analysis, speed2) in [(with, mean), (without, mean - drift.norm2())] {
        let found = analysis.finish();
        let (lag, all) = (column(&found, "lag"), column(&found, "all"));
        assert_eq!(lag.len(), all.len());
        assert!(lag.len() > 10 && (lag[lag.len() - 1] - 15.0).abs() < 1e-9);
        for (t, value) in lag.iter().zip(all) {
            assert!(
                (value - speed2 * t * t).abs() < 1e-9 * (1.0 + value),
                "{t} {value}"
            );
        }
    }
}

#[test]
fn random_walkers_diffuse() {
    let cell = Cell::orthorhombic([1.0; 3]).unwrap();
    let sigma = [0.1, 0.3];
    let mut random = Random(7);
    let species: Vec<u32> = (0..400).map(|i| i % 2).collect();
    let mut positions = vec![Vec3::zero(); 400];
    let window = Window {
        longest: 40,
        origins: 10,
        lags: Lags::Even(40),
    };
    let mut msd = msd(window, Some([4.0, 20.0]), None);
    for k in 0..1200 {
        msd.add(&frame(0.5 * f64::from(k), &cell, &positions, &species))
            .unwrap();
        for (r, &s) in positions.iter_mut().zip(&species) {
            *r += random.vector(|r| r.normal() * sigma[s as usize]);
        }
    }
    let found = msd.finish();
    for (name, sigma) in [("D, A", 0.1_f64), ("D, B", 0.3)] {
        let exact = sigma * sigma / (2.0 * 0.5);
        let (value, error) = scalar(&found, name);
        assert!(
            (value - exact).abs() < 4.0 * error,
            "{name}: {value} ± {error}, exactly {exact}"
        );
        assert!(error < 0.05 * exact && error > 1e-3 * exact, "{name}: ± {error}");
    }
}

#[test]
fn harmonic_motion_correlates_as_a_cosine() {
    let cell = Cell::orthorhombic([1.0; 3]).unwrap();
    let (omega, dt, n) = (2.0_f64, 0.02_f64, 64);
    let mut vacf = Vacf::new(Vacf::every_lag(200, 25), &labels(&["A"])).unwrap();
    let zero = vec![Vec3::zero(); n];
    for k in 0..1500 {
        let time = f64::from(k) * dt;
        // Phases that are evenly spread make the average over particles exact.
        let speed = |i: usize| (omega * time + std::f64::consts::TAU * i as f64 / n as f64).cos();
        let velocities: Vec<_> = (0..n).map(|i| Vec3::new(speed(i), 0.0, speed(i))).collect();
        let mut snapshot = frame(time, &cell, &zero, &[0; 64]);
        assert!(vacf.add(&snapshot).is_err());
        snapshot.velocities = Some(&velocities);
        vacf.add(&snapshot).unwrap();
    }
    let found = vacf.finish();
    let (lag, c, d) = (
        column(&found, "lag"),
        column(&found, "A"),
        column(&found, "D(t), A"),
    );
    assert_eq!(lag.len(), 201);
    for k in 0..lag.len() {
        assert!((c[k] - (omega * lag[k]).cos()).abs() < 1e-9);
        assert!((d[k] - (omega * lag[k]).sin() / omega / 3.0).abs() < 1e-4);
    }
    assert!((scalar(&found, "⟨v²⟩, A").0 - 1.0).abs() < 1e-12);
}

#[test]
fn a_slab_has_the_density_it_was_given() {
    let (mass, charge) = (vec![2.0; 1000], vec![-0.5; 1000]);
    let names = labels(&["A", "B"]);
    let mut density = Density::new(slabs(Axis::Z, 10), &subject(mass, charge, &names)).unwrap();
    let species: Vec<u32> = (0..1000).map(|i| u32::from(i >= 400)).collect();
    // A breathing cell: fractions stay.
    for k in 0..12 {
        let length = 9.0 + 0.2 * f64::from(k);
        let cell = Cell::triclinic([[5.0, 0.0, 0.0], [0.5, 4.0, 0.0], [0.3, -0.4, length]]).unwrap();
        let fraction = |i: usize| {
            if i < 400 {
                0.25
            } else {
                0.55 + 0.2 * f64::from(i as u32 % 2)
            }
        };
        let positions: Vec<_> = (0..1000)
            .map(|i| cell.position(Vec3::new(0.3, 0.7, fraction(i))))
            .collect();
        density
            .add(&frame(f64::from(k), &cell, &positions, &species))
            .unwrap();
    }
    let found = density.finish();
    let mean_inverse = (0..12).map(|k| 1.0 / (9.0 + 0.2 * f64::from(k))).sum::<f64>() / 12.0;
    let unit = 10.0 / (5.0 * 4.0) * mean_inverse;
    let a = column(&found, "number, A");
    assert!((a[2] - 400.0 * unit).abs() < 1e-9 && a.iter().filter(|&&v| v > 0.0).count() == 1);
    let all = column(&found, "mass, all");
    assert!((all[5] - 600.0 * unit).abs() < 1e-9 && (all[7] - 600.0 * unit).abs() < 1e-9);
    assert!((column(&found, "charge, B")[5] + 150.0 * unit).abs() < 1e-9);
    assert!((found.columns[0].values[9] - 0.95 * 10.1).abs() < 1e-9);
    assert!(found.columns[1].errors.as_ref().unwrap()[2] > 0.0);
}

/// Correlated noise of unit variance.
fn colored(n: usize, phi: f64, seed: u64) -> Vec<f64> {
    let mut random = Random(seed);
    let mut value = random.normal();
    let step = |_| {
        value = phi * value + (1.0 - phi * phi).sqrt() * random.normal();
        value
    };
    (0..n).map(step).collect()
}

#[test]
fn block_averages_know_the_correlation() {
    let (n, phi) = (1 << 15, 0.9);
    let exact_time = 0.5 * (1.0 + phi) / (1.0 - phi);
    let exact_error = (2.0 * exact_time / f64::from(n)).sqrt();
    let (mut ratio, mut z2) = (0.0, 0.0);
    for seed in 0..20 {
        let series: Vec<f64> = colored(n as usize, phi, 100 + seed)
            .iter()
            .map(|v| v + 3.0)
            .collect();
        let average = BlockAverage::of(&series);
        assert!(average.converged);
        assert!(
            (average.correlation_time / exact_time - 1.0).abs() < 0.4,
            "{average:?}"
        );
        ratio += average.standard_error / exact_error / 20.0;
        z2 += ((average.mean - 3.0) / average.standard_error).powi(2) / 20.0;
    }
    assert!((ratio - 1.0).abs() < 0.08, "{ratio}");
    assert!((0.3..2.2).contains(&z2), "{z2}");
    let white = BlockAverage::of(&colored(10_000, 0.0, 9));
    assert!((white.standard_error - 0.01).abs() < 0.001);
    assert!(!BlockAverage::of(&colored(64, 0.99, 3)).converged);
    assert_eq!(BlockAverage::of(&[2.0; 50]).standard_error, 0.0);
    assert!(BlockAverage::of(&[]).mean.is_nan());
}

#[test]
fn drift_is_found_under_colored_noise() {
    let n = 8192;
    let times: Vec<f64> = (0..n).map(|k| 100.0 + 0.01 * k as f64).collect();
    let (slope, kt, freedom) = (3e-4, 2.5, 3000.0);
    let (mut z2, mut naive, mut bounded) = (0.0, 0.0, 0);
    for seed in 0..20 {
        let noise = colored(n, 0.95, 500 + seed);
        let energies: Vec<f64> = times
            .iter()
            .zip(&noise)
            .map(|(t, e)| -8e6 + slope * t + 1e-2 * e)
            .collect();
        let found = drift(&times, &energies, kt, freedom);
        z2 += ((found.slope - slope) / found.standard_error).powi(2) / 20.0;
        naive += 1e-2 / (0.01 * (n as f64).powi(3).sqrt() / 12_f64.sqrt()) / found.standard_error / 20.0;
        bounded += u32::from(found.bound() > slope);
        assert!((found.per_freedom * kt * freedom / found.slope - 1.0).abs() < 1e-12);
        assert!((found.intercept + 8e6).abs() < 0.5 && (found.mean + 8e6).abs() < 1.0);
        assert!((found.deviation - 1e-2).abs() < 2e-3);
        assert!((found.relative_per_step(0.001)[0] - found.slope * 0.001 / 8e6).abs() < 1e-18);
    }
    // Two standard errors on one side: 1 in 44 falls outside.
    assert!(bounded >= 17, "{bounded} of 20");
    assert!((0.3..2.2).contains(&z2), "{z2}");
    // √((1 + φ)/(1 − φ)) = 6.2 times the error of independent points.
    assert!((naive * 6.24 - 1.0).abs() < 0.15, "{}", naive * 6.24);
    assert!(drift(&[1.0, 2.0], &[1.0, 2.0], 1.0, 1.0).slope.is_nan());
    assert!(drift(&[], &[], 1.0, 1.0).slope.is_nan());
    let gap = drift(&[0.0, 1.0, 2.0, 3.0], &[0.0, 2.0, f64::NAN, 6.0], 1.0, 1.0);
    assert!((gap.slope - 2.0).abs() < 1e-12);
}

/// Curves, numbers and pictures of the species that were not asked for go; the others keep their places in the pictures.
#[test]
fn only_some_species() {
    let labels = labels(&["Na", "OW", "W"]);
    let window = Window {
        longest: 20,
        origins: 4,
        lags: Lags::Even(20),
    };
    let options = MsdOptions {
        window,
        ..MsdOptions::default()
    };
    let mut msd = Msd::new(options, &labels).unwrap();
    let cell = Cell::orthorhombic([100.0; 3]).unwrap();
    for step in 0..30 {
        let at = |k: f64| Vec3::new(k * step as f64, 0.0, 0.0);
        let positions = [at(1.0), at(2.0), at(3.0)];
        msd.add(&Snapshot {
            step,
            time: step as f64,
            cell: &cell,
            positions: &positions,
            unwrapped: &positions,
            velocities: None,
            species: &[0, 1, 2],
            axes: None,
            rotational_energies: None,
        })
        .unwrap();
    }
    let whole = msd.finish();
    let some = whole.clone().only(&["W"], &["Na", "OW", "W", "all"]);
    let names: Vec<_> = some.columns.iter().map(|c| c.name.as_str()).collect();
    assert_eq!(names, ["lag", "W"]);
    assert_eq!(column(&some, "W"), column(&whole, "W"));
    assert_eq!(some.plots[0].columns, [1]);
    let numbers: Vec<_> = some.scalars.iter().map(|s| s.name.as_str()).collect();
    assert_eq!(numbers, ["D, W"]);
}
