//! Pictures of maps: a slice, and the page in a browser. With `DEBYE_PICTURES=folder` they can be looked at.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use debye::plot::{AtomSphere, Axis3, MapPage, SliceFigure};
use debye_io::volumes::Volume;

const CHARGES: [([f64; 3], f64); 2] = [([-3.0, 0.3, 0.1], 7.2), ([3.0, -0.2, -0.1], -7.2)];
const SHAPE: [usize; 3] = [25, 23, 21];

fn keep(name: &str, file: &[u8]) {
    if let Some(folder) = std::env::var_os("DEBYE_PICTURES") {
        std::fs::write(PathBuf::from(folder).join(name), file).unwrap();
    }
}

/// Two charges, with values that are none in a corner.
fn dipole() -> Volume {
    let steps = [[0.75, 0.0, 0.0], [0.0, 0.75, 0.0], [0.0, 0.0, 0.75]];
    let [_, y, z] = SHAPE;
    let count = SHAPE.iter().product();
    let grid = Volume::new(SHAPE, [-9.0, -8.0, -7.0], steps, vec![0.0_f32; count]).unwrap();
    let value = |n: usize| {
        let at = grid.position([n / (y * z), n / z % y, n % z]);
        let distance = |to: [f64; 3]| (0..3).map(|k| (at[k] - to[k]).powi(2)).sum::<f64>().sqrt();
        match at {
            [x, ..] if x > 8.5 => f64::NAN,
            [_, y, _] if y > 8.0 => f64::INFINITY,
            _ => CHARGES.iter().map(|(to, charge)| charge / distance(*to)).sum(),
        }
    };
    let values: Vec<f64> = (0..count).map(value).collect();
    Volume::new(SHAPE, grid.origin(), steps, values).unwrap()
}

fn atoms() -> Vec<AtomSphere> {
    let atom = |(position, _)| AtomSphere {
        position,
        radius: 1.8,
    };
    CHARGES.map(atom).to_vec()
}

#[test]
fn slices_across_each_axis() {
    let (volume, atoms) = (dipole(), atoms());
    for axis in Axis3::ALL {
        let figure = SliceFigure::new(&volume).axis(axis).at(0.1).atoms(&atoms);
        let picture = figure
            .label("electrostatic potential")
            .unit("kT/e")
            .paint()
            .unwrap();
        keep(&format!("slice_{}.png", axis.name()), &picture.to_png().unwrap());
    }
}

/// What the browser makes of a page; `None` where there is no browser.
fn dom_of(page: &Path, folder: &Path) -> Option<String> {
    let works = |name: &&str| {
        Command::new(name)
            .arg("--version")
            .output()
            .is_ok_and(|o| o.status.success())
    };
    let browser = ["chromium", "chromium-browser", "google-chrome"]
        .into_iter()
        .find(works)?;
    let dom = folder.join("dom.html");
    let mut child = Command::new(browser)
        .args(["--headless", "--no-sandbox", "--no-first-run", "--disable-quic"])
        .args([
            "--disable-background-networking",
            "--use-gl=angle",
            "--use-angle=swiftshader",
        ])
        .arg(format!("--user-data-dir={}", folder.join("profile").display()))
        .arg("--dump-dom")
        .arg(format!("file://{}#check", page.display()))
        .stdout(std::fs::File::create(&dom).unwrap())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let start = Instant::now();
    while child.try_wait().unwrap().is_none() {
        if start.elapsed() > Duration::from_secs(120) {
            child.kill().unwrap();
            panic!("{browser} has not finished within two minutes");
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    Some(std::fs::read_to_string(dom).unwrap())
}

#[test]
fn the_page_works_in_a_browser() {
    let volume = dipole();
    let page = MapPage {
        unit: "kT/e".into(),
        atoms: atoms(),
        surfaces: vec![1.0, -1.0],
        facts: vec![("Method".into(), "Coulomb's law".into())],
        ..MapPage::new("Two charges", &volume)
    };
    let html = page.html();
    keep("map.html", html.as_bytes());
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("map.html");
    std::fs::write(&file, html).unwrap();
    let Some(dom) = dom_of(&file, folder.path()) else {
        eprintln!("skipped: no Chromium");
        return;
    };
    let report = dom
        .split("<pre id=\"check\">")
        .nth(1)
        .expect("the script ran to its end");
    let report = report.split("</pre>").next().unwrap();
    let planes: usize = SHAPE.iter().sum();
    assert!(
        report.contains(&format!("\"planes\":{planes},\"colors\":3")),
        "{report}"
    );
    let corner = report
        .split("\"corner\":[")
        .nth(1)
        .unwrap()
        .split(']')
        .next()
        .unwrap();
    let expected = volume.value([0; 3]).unwrap();
    for value in corner.split(',') {
        let value: f64 = value.parse().unwrap();
        assert!(
            (value - expected).abs() < 1e-3 * expected.abs(),
            "{report} {expected}"
        );
    }
    let without = dom.contains("id=\"hint\">The isosurfaces are not shown");
    assert_eq!(report.contains("\"webgl\":false"), without, "{report}");
}
