//! Charts and pictures: they are made, they are well formed, and with `DEBYE_PICTURES=folder` they can be looked at.

use std::path::PathBuf;

use super::assert_well_formed;
use debye::analysis::Snapshot;
use debye::expr::Vec3;
use debye::plot::{Axis, Chart, Paint, Picture, Scenery, Series, Stroke};
use debye::system::Cell;

fn keep(name: &str, file: &[u8]) {
    if let Some(folder) = std::env::var_os("DEBYE_PICTURES") {
        std::fs::write(PathBuf::from(folder).join(name), file).unwrap();
    }
}

fn noise(k: usize) -> f64 {
    let x = (k as f64 * 12.9898).sin() * 43_758.545_3;
    x - x.floor() - 0.5
}

fn charts() -> Vec<(&'static str, Chart)> {
    let r: Vec<f64> = (0..160).map(|k| (k as f64 + 0.5) * 0.025).collect();
    let g = |shift: f64, height: f64| -> (Vec<f64>, Vec<f64>) {
        let g = r.iter().map(|&r| {
            let core = 1.0 / (1.0 + (-(r - 0.97 - shift) * 40.0).exp());
            core * (1.0 + height * (-(r - 1.0) * 1.6).exp() * ((r - 1.08 - shift) * 6.6).cos())
        });
        (g.collect(), r.iter().map(|&r| 0.06 / (0.3 + r)).collect())
    };
    let ((a, a_errors), (b, b_errors)) = (g(0.0, 1.6), g(0.12, 1.0));
    let rdf = Chart::new(
        "Radial distribution function",
        Axis::new("r (σ)"),
        Axis::new("g(r)"),
    )
    .with(Series::new("Na–Na", &r, &a).with_errors(&a_errors))
    .with(Series::new("Na–Cl", &r, &b).with_errors(&b_errors));
    let time: Vec<f64> = (0..20_000).map(|k| k as f64 * 0.05).collect();
    let energy: Vec<f64> = (0..20_000)
        .map(|k| -461_342.118 + 2e-5 * time[k] + 0.03 * noise(k))
        .collect();
    let fit: Vec<f64> = time.iter().map(|t| -461_342.118 + 2e-5 * t).collect();
    let drift = Chart::new(
        "Total energy",
        Axis::new("time (ps)"),
        Axis::new("energy (kJ/mol)"),
    )
    .with(Series::new("total", &time, &energy).with_stroke(Stroke::Thin))
    .with(Series::new("fit", &time, &fit).with_stroke(Stroke::Dashed));
    let lag: Vec<f64> = (0..50).map(|k| 10_f64.powf(k as f64 / 10.0 - 2.0)).collect();
    let msd = |d: f64| lag.iter().map(|t| d * t * t / (t + 0.1)).collect::<Vec<_>>();
    let logarithmic = Chart::new(
        "Mean-square displacement",
        Axis::log("lag (ps)"),
        Axis::log("MSD (nm²)"),
    )
    .with(Series::new("water", &lag, &msd(1e-3)))
    .with(Series::new("lipid", &lag, &msd(3e-5)).with_stroke(Stroke::Dots));
    let six = (0..6).fold(
        Chart::new("Six series", Axis::new("x"), Axis::new("y (nm⁻³) ρ₀")),
        |chart, k| {
            let y: Vec<f64> = r
                .iter()
                .map(|r| 1e-6 * ((r + 0.4 * k as f64).sin() + 0.3 * k as f64))
                .collect();
            chart.with(Series::new(&format!("series number {k}"), &r, &y))
        },
    );
    // More names than there is room for, with bands.
    let few = [0.0, 1.0, 2.0];
    let crowd = (0..90).fold(
        Chart::new("A crowd", Axis::new("x"), Axis::new("y")),
        |chart, k| {
            let y = few.map(|x| x + 0.01 * f64::from(k));
            let name = format!("a series with a long name, number {k}");
            chart.with(Series::new(&name, &few, &y).with_errors(&[0.1; 3]))
        },
    );
    let gaps = Chart::new("Gaps <&>", Axis::new("x"), Axis::new("y")).with(Series::new(
        "with \"holes\"",
        &[0.0, 1.0, 2.0, 3.0, 4.0, 5.0],
        &[1.0, f64::NAN, 2.0, 2.5, f64::INFINITY, 1.0],
    ));
    let named = ["one", "two", "three"].map(String::from);
    let axis = |y: Axis| {
        let names = few.into_iter().zip(named.clone()).collect();
        let x = Axis {
            names,
            ..Axis::new("")
        };
        let bars = |name, x: &[f64], y: &[f64]| Series::new(name, x, y).with_stroke(Stroke::Bars);
        Chart::new("Bars", x, y)
            .with(bars("some", &few[..2], &[3.0, 700.0]))
            .with(bars("other", &few[2..], &[90.0]))
    };
    let (bars, log_bars) = (axis(Axis::new("y")), axis(Axis::log("y")));
    // Filled from the axis on: four corners each.
    assert_eq!(bars.to_svg().matches("<polygon").count(), 3);
    let empty = Chart::new("Nothing", Axis::new("x"), Axis::log("y"));
    vec![
        ("rdf", rdf),
        ("drift", drift),
        ("msd", logarithmic),
        ("six", six),
        ("crowd", crowd),
        ("gaps", gaps),
        ("bars", bars),
        ("log-bars", log_bars),
        ("empty", empty),
    ]
}

#[test]
fn charts_are_drawn() {
    for (name, chart) in charts() {
        let svg = chart.to_svg();
        assert_well_formed(&svg);
        assert!(!svg.contains("NaN") && !svg.contains("inf"), "{name}");
        assert!(svg.len() < 60_000, "{name}: {} bytes", svg.len());
        let picture = chart.paint(2.0);
        assert_eq!((picture.width, picture.height), (1440, 760));
        let inked = picture.pixels.chunks(3).filter(|p| *p != [255, 255, 255]).count();
        assert!(inked > 4000, "{name}: {inked}");
        keep(&format!("{name}.png"), &picture.to_png().unwrap());
        keep(&format!("{name}.svg"), svg.as_bytes());
    }
}

/// Sites of a simple cubic lattice, jittered; all of them or a sphere cut from the middle.
fn render(scenery: &Scenery<'_>, cells: usize, sphere: bool) -> Picture {
    let cell = Cell::orthorhombic([cells as f64; 3]).unwrap();
    let middle = Vec3::splat(0.5 * cells as f64);
    let (mut positions, mut species, mut velocities) = (Vec::new(), Vec::new(), Vec::new());
    for i in 0..cells * cells * cells {
        let site = [i % cells, i / cells % cells, i / cells / cells];
        let place = |k: usize| site[k] as f64 + 0.5 + 0.25 * noise(3 * i + k);
        let r = Vec3::new(place(0), place(1), place(2));
        if !sphere || (r - middle).norm() < 0.38 * cells as f64 {
            positions.push(r);
            species.push((site.iter().sum::<usize>() % 2) as u32);
            velocities.push(Vec3::new(0.2 + r.x / cells as f64, noise(i), 0.0));
        }
    }
    let frame = Snapshot {
        step: 0,
        time: 0.0,
        cell: &cell,
        positions: &positions,
        unwrapped: &positions,
        velocities: Some(&velocities),
        species: &species,
        axes: None,
        rotational_energies: None,
    };
    scenery.render(&frame).unwrap()
}

#[test]
fn particles_are_painted_the_same_by_any_number_of_threads() {
    let names = ["Na".to_string(), "Cl".to_string()];
    let salt = Scenery {
        names: &names,
        radii: &[0.36, 0.58],
        ..Scenery::default()
    };
    let picture = render(&salt, 10, false);
    keep("salt.png", &picture.to_png().unwrap());
    let alone = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
    assert_eq!(alone.install(|| render(&salt, 10, false)), picture);
    let speed = Scenery {
        paint: Paint::Speed("nm/ps"),
        radii: &[0.55, 0.55],
        paper: [18, 22, 28],
        ..Scenery::default()
    };
    keep("drop.png", &render(&speed, 40, true).to_png().unwrap());
    assert!(
        render(&salt, 10, false)
            .to_data_uri()
            .unwrap()
            .starts_with("data:image/png;base64,iVBOR")
    );
}

#[test]
fn a_million_particles_take_a_moment() {
    let start = std::time::Instant::now();
    let picture = render(&Scenery::default(), 100, false);
    println!("a million particles: {:?}", start.elapsed());
    keep("million.png", &picture.to_png().unwrap());
}
