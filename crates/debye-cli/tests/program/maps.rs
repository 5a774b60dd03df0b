//! `debye map` and `debye ionize`, as they are typed.

use crate::lab::Lab;

const PQR: &str = "\
ATOM 1 N ALA 1 12.0 20.0 20.0 1.0 1.8
ATOM 2 C ALA 1 28.3 21.1 19.6 -0.6 1.7
ATOM 3 O ALA 1 20.0 20.0 25.0 -0.4 1.5
ATOM 4 OW SOL 2 35.0 20.0 20.0 -0.8 1.5
ATOM 5 HW1 SOL 2 35.9 20.0 20.0 0.4 0.0
ATOM 6 HW2 SOL 2 34.7 20.9 20.0 0.4 0.0
";

fn lab() -> Lab {
    let lab = Lab::new();
    lab.write("c.pqr", PQR);
    lab
}

/// The values of a `.npy` file of f32, which begin after its header.
fn values(bytes: &[u8]) -> Vec<f32> {
    let header = 10 + usize::from(u16::from_le_bytes([bytes[8], bytes[9]]));
    let words = bytes[header..].chunks_exact(4);
    words
        .map(|w| f32::from_le_bytes([w[0], w[1], w[2], w[3]]))
        .collect()
}

#[test]
fn a_map_is_what_a_double_loop_gives() {
    let lab = lab();
    let tried = lab.debye(&[
        "map",
        "c.pqr",
        "--method",
        "direct",
        "--origin",
        "0 Å,0 Å,0 Å",
        "--spacing",
        "2 Å",
        "--shape",
        "21,21,21",
        "--units",
        "kJ/mol/e",
        "-o",
        "m.npy",
    ]);
    assert_eq!(tried.status, Some(0), "{}", tried.err);
    assert!(
        tried.out.contains("direct: every charge at every point"),
        "{}",
        tried.out
    );
    let found = values(&std::fs::read(lab.path("m.npy")).unwrap());
    let atoms: Vec<[f64; 4]> = PQR
        .lines()
        .map(|line| {
            let words: Vec<f64> = line.split(' ').skip(5).map(|w| w.parse().unwrap()).collect();
            [words[0], words[1], words[2], words[3]]
        })
        .collect();
    let k = 1_389.354_576;
    let mut largest = [0.0_f64; 2];
    for (n, &value) in found.iter().enumerate() {
        let at = [n / 441, n / 21 % 21, n % 21].map(|i| 2.0 * i as f64);
        let term = |a: &[f64; 4]| {
            let r2: f64 = (0..3).map(|c| (at[c] - a[c]).powi(2)).sum();
            // The second point of the row lies on an atom: 1/r is that at 0.1 Å.
            a[3] / r2.sqrt().max(0.1)
        };
        let expected: f64 = k * atoms.iter().map(term).sum::<f64>();
        largest[0] = largest[0].max((f64::from(value) - expected).abs());
        largest[1] = largest[1].max(expected.abs());
    }
    assert_eq!(found.len(), 9261);
    assert!(largest[0] < 1e-6 * largest[1], "{largest:?}");
}

#[test]
fn every_kind_of_file_is_written_and_not_replaced() {
    let lab = lab();
    let files = [
        "m.dx", "m.mrc", "m.ccp4", "m.cube", "m.npy", "m.png", "m.ply", "m.obj", "m.html",
    ];
    let mut command = vec![
        "map",
        "c.pqr",
        "--level",
        "5",
        "--cell",
        "40 Å,40 Å,40 Å",
        "--profile",
        "p.csv",
    ];
    files.iter().for_each(|file| command.extend(["-o", file]));
    let tried = lab.debye(&command);
    assert_eq!(tried.status, Some(0), "{}", tried.err);
    for file in files.iter().chain(&["p.csv", "p.png"]) {
        assert!(lab.path(file).metadata().unwrap().len() > 100, "{file}");
    }
    let again = lab.debye(&command);
    assert_eq!(again.status, Some(2));
    assert!(
        again
            .err
            .contains("m.dx is there already; --overwrite replaces it"),
        "{}",
        again.err
    );
    // A map that is there is drawn.
    let drawn = lab.debye(&[
        "map",
        "m.dx",
        "--units",
        "V",
        "--axis",
        "x",
        "-o",
        "again.png",
        "-o",
        "volts.dx",
    ]);
    assert_eq!(drawn.status, Some(0), "{}", drawn.err);
    let first = |file: &str| -> f64 {
        let text = String::from_utf8(lab.read(file)).unwrap();
        let values = text
            .lines()
            .skip_while(|line| !line.starts_with("object 3"))
            .nth(1)
            .unwrap();
        values.split_whitespace().next().unwrap().parse().unwrap()
    };
    // kT/e at 300 K to volts.
    assert!((first("volts.dx") / first("m.dx") - 0.025_852).abs() < 1e-6);
    let twice = lab.debye(&["map", "c.pqr", "-o", "a.dx", "-o", "a.dx"]);
    assert!(twice.err.contains("would be written twice"), "{}", twice.err);
    let nowhere = lab.debye(&["map", "c.pqr", "-o", "no/where.dx"]);
    assert!(nowhere.err.contains("its folder is not there"), "{}", nowhere.err);
}

/// Coarse-grain water: sites with dipoles and without charges.
const DIPOLES: &str = r#"units = "md"
[system]
build = { kind = "lattice", lattice = "fcc", cells = [3, 3, 3], density = "0.99 g/cm^3", species = "W" }
[forcefield]
include = "elba"
[integrator]
kind = "nve"
timestep = "5 fs"
[run]
steps = 10
temperature = "300 K"
[output]
final = ["w.debye", "w.data"]
report = false
"#;

#[test]
fn native_files_keep_dipoles() {
    let lab = Lab::new();
    lab.write("w.toml", DIPOLES);
    lab.succeeds(&["run", "w.toml", "--device", "cpu"]);
    let map = |from: &str, to: &str| {
        let tried = lab.succeeds(&[
            "map",
            from,
            "--length-unit",
            "Å",
            "--open",
            "--method",
            "direct",
            "--origin",
            "0.2 Å,0.3 Å,0.4 Å",
            "--spacing",
            "3 Å",
            "--shape",
            "5,5,5",
            "-o",
            to,
        ]);
        assert!(
            tried.out.contains("216"),
            "two charges for each dipole: {}",
            tried.out
        );
        values(&lab.read(to))
    };
    let native = map("w.out/w.debye", "native.npy");
    let lammps = map("w.out/w.data", "lammps.npy");
    let largest = lammps.iter().fold(0.0_f32, |most, v| most.max(v.abs()));
    let differ = native.iter().zip(&lammps).map(|(a, b)| (a - b).abs());
    // LAMMPS data have fewer digits.
    assert!(differ.fold(0.0, f32::max) < 1e-4 * largest);
}

#[test]
fn bad_input_is_named() {
    let lab = lab();
    lab.write("empty.pqr", "");
    lab.write("neutral.pqr", "ATOM 1 N ALA 1 12.0 20.0 20.0 0.0 1.8\n");
    lab.write(
        "twice.pqr",
        "ATOM 1 N ALA 1 1.0 1.0 1.0 1.0 1.8\nATOM 2 N ALA 1 1.0 1.0 1.0 1.0 1.8\n",
    );
    lab.write("damaged.dx", "object 1 class gridpositions counts 2 2 2\n");
    lab.write(
        "nan.dx",
        "object 1 class gridpositions counts 1 1 2\norigin 0 0 0\ndelta 1 0 0\ndelta 0 1 0\ndelta 0 0 1\n\
         object 3 class array type double rank 0 items 2 data follows\n1.0 nan\n",
    );
    let formats = "pqr, gro, pdb or xyz";
    lab.write(
        "plain.dx",
        "object 1 class gridpositions counts 1 1 2\norigin 0 0 0\ndelta 1 0 0\ndelta 0 1 0\ndelta 0 0 1\n\
         object 3 class array type double rank 0 items 2 data follows\n1.0 2.0\n",
    );
    let cases: [(&[&str], &str); 24] = [
        (&["map", "empty.pqr", "-o", "m.dx"], "empty.pqr"),
        (&["map", "neutral.pqr", "-o", "m.dx"], "no atom has a charge"),
        (&["map", "c.pqr", "--spacing", "1e-4 Å", "-o", "m.dx"], "GB"),
        (&["map", "c.pqr", "--spacing", "0 Å", "-o", "m.dx"], "spacing"),
        (&["map", "c.pqr", "-o", "m.xyz"], ".png is a slice"),
        (
            &["map", "c.pqr", "--method", "mesh", "-o", "m.dx"],
            "needs a cell",
        ),
        (&["map", "damaged.dx", "-o", "m.png"], "damaged.dx"),
        (
            &["map", "c.pqr", "--origin", "0,0,0", "-o", "m.dx"],
            "--origin and --shape go together",
        ),
        (&["ionize", "neutral.pqr", "-o", "i.pqr"], "no atom has a charge"),
        (&["ionize", "c.pqr", "-o", "i.dcd"], formats),
        (&["ionize", "c.pqr", "-o", "i.data"], formats),
        (&["ionize", "c.pqr", "-o", "ions"], formats),
        (&["map", "nan.dx", "-o", "n.png"], "line 7: `nan`"),
        (
            &[
                "map",
                "c.pqr",
                "--method",
                "multilevel",
                "--tolerance",
                "1e-6",
                "-o",
                "m.dx",
            ],
            "`multilevel` has errors of 4.4e-6 at least, above half a tolerance of 1e-6",
        ),
        (&["map", "c.pqr", "--tolerance", "2", "-o", "m.dx"], "below 1"),
        (
            &[
                "map", "c.pqr", "--origin", "0,0,0", "--shape", "0,10,10", "-o", "m.dx",
            ],
            "one along each axis at least",
        ),
        (
            &[
                "map",
                "c.pqr",
                "--method",
                "multilevel",
                "--cutoff",
                "1 Å",
                "-o",
                "m.dx",
            ],
            "a cut-off of 1 Å: it must be 5 Å or more",
        ),
        (
            &["map", "c.pqr", "--method", "direct", "--order", "6", "-o", "m.dx"],
            "--order does nothing with --method direct",
        ),
        (
            &["map", "c.pqr", "--at", "500 Å", "-o", "m.png"],
            "--at 500.0 Å lies outside of the grid, which goes from 9.600 to 35.60 Å",
        ),
        (
            &["map", "plain.dx", "--method", "mesh", "-o", "p.npy"],
            "--method needs a structure",
        ),
        (
            &["map", "plain.dx", "--cell", "1,1,1", "-o", "p.npy"],
            "--cell needs a structure",
        ),
        (
            &["ionize", "c.pqr", "--anion", "CL:1", "-o", "i.pqr"],
            "the charge of the anion of 1: it must be below zero",
        ),
        (
            &["ionize", "c.pqr", "--cation", "NA:1:-2", "-o", "i.pqr"],
            "radius of an ion",
        ),
        (
            &["ionize", "c.pqr", "--no-neutralize", "-o", "i.pqr"],
            "give a --concentration",
        ),
    ];
    for (command, expected) in cases {
        let tried = lab.debye(command);
        assert_eq!(tried.status, Some(2), "{command:?}: {}", tried.err);
        assert!(tried.err.contains(expected), "{command:?}: {}", tried.err);
    }
    // A map without a title gets one that does not end in nothing.
    lab.succeeds(&["map", "plain.dx", "--units", "V", "-o", "titled.dx"]);
    let titled = String::from_utf8(lab.read("titled.dx")).unwrap();
    assert!(titled.starts_with("# electrostatic potential, V\n"), "{titled}");
    let tried = lab.debye(&["map", "twice.pqr", "-o", "twice.dx"]);
    assert_eq!(tried.status, Some(0), "{}", tried.err);
    assert!(
        tried.err.contains("atoms 1 and 2 lie at the same place"),
        "{}",
        tried.err
    );
}

#[test]
fn ions_are_placed_and_told() {
    let lab = lab();
    lab.write("charged.pqr", PQR.replace("-0.6 1.7", "-2.6 1.7"));
    let command = [
        "ionize",
        "charged.pqr",
        "-o",
        "i.pqr",
        "--table",
        "ions.csv",
        "--water-distance",
        "40 Å",
    ];
    let tried = lab.debye(&command);
    assert_eq!(tried.status, Some(0), "{}", tried.err);
    assert!(tried.out.contains("2 NA, 0 CL"), "{}", tried.out);
    let written = std::fs::read_to_string(lab.path("i.pqr")).unwrap();
    assert_eq!(written.matches(" NA ").count() % 2, 0);
    assert!(!written.contains("SOL"), "the water is gone: {written}");
    let table = std::fs::read_to_string(lab.path("ions.csv")).unwrap();
    assert_eq!(table.lines().count(), 3);
}

#[test]
fn trajectories_are_averaged() {
    let lab = lab();
    let places: Vec<[f64; 3]> = PQR
        .lines()
        .map(|line| {
            let words: Vec<f64> = line.split(' ').skip(5).map(|w| w.parse().unwrap()).collect();
            [words[0], words[1], words[2]]
        })
        .collect();
    let mut frames = String::new();
    for n in 0..6 {
        frames += "6\n\n";
        for [x, y, z] in &places {
            frames += &format!("C {} {y} {z}\n", x + f64::from(n % 2));
        }
    }
    lab.write("c.xyz", frames);
    let command = [
        "map",
        "c.pqr",
        "--trajectory",
        "c.xyz",
        "--spacing",
        "4 Å",
        "--cell",
        "40 Å,40 Å,40 Å",
        "--profile",
        "p.csv",
        "--axis",
        "x",
        "-o",
        "m.dx",
    ];
    let tried = lab.debye(&command);
    assert_eq!(tried.status, Some(0), "{}", tried.err);
    assert!(tried.out.contains("mean of 6 frames"), "{}", tried.out);
    assert!(lab.path("m.error.dx").exists());
    let table = String::from_utf8(lab.read("p.csv")).unwrap();
    assert!(
        table.starts_with("x (Å),potential (kT/e),standard error (kT/e)\n"),
        "{table}"
    );
    let one = [
        "map",
        "c.pqr",
        "--trajectory",
        "c.xyz",
        "--skip",
        "5",
        "-o",
        "one.dx",
    ];
    let tried = lab.debye(&one);
    assert!(
        tried.out.contains("one frame has none"),
        "{} {}",
        tried.out,
        tried.err
    );
    let refused = lab.debye(&[
        "map",
        "c.pqr",
        "--trajectory",
        "c.xyz",
        "--align",
        "QQ",
        "-o",
        "n.dx",
    ]);
    assert_eq!(refused.status, Some(2));
    assert!(
        refused.err.contains("no atom or residue is called `QQ`"),
        "{}",
        refused.err
    );
}

/// Salt whose potential is mapped while it moves.
const SALT: &str = r#"units = "md"
[system]
build = { kind = "nacl", cells = [2, 2, 2] }
[species.Na]
model = "joung-cheatham-spce:Na+"
[species.Cl]
model = "joung-cheatham-spce:Cl-"
[[forces]]
kind = "lennard-jones"
cutoff = "0.5 nm"
truncation = "cut"
mixing = "lorentz-berthelot"
[[forces]]
kind = "pme"
cutoff = "0.5 nm"
[integrator]
kind = "nve"
timestep = "1 fs"
[run]
steps = 40
temperature = "300 K"
[output]
map = { every = 10, file = "map.npy", spacing = "1.4 Å" }
"#;

#[test]
fn a_run_maps_its_potential() {
    let lab = Lab::new();
    lab.write("salt.toml", SALT);
    // A map of the first step alone is that of the structure.
    lab.write("first.toml", SALT.replace("every = 10", "every = 1000"));
    lab.succeeds(&["run", "first.toml", "--device", "cpu"]);
    let map = [
        "map",
        "salt.toml",
        "--device",
        "cpu",
        "--spacing",
        "1.4 Å",
        "-o",
        "m.npy",
    ];
    lab.succeeds(&map);
    let [run, alone] = ["first.out/map.npy", "m.npy"].map(|name| values(&lab.read(name)));
    assert_eq!(run.len(), 9 * 9 * 9);
    let largest = alone.iter().fold(0.0_f32, |most, v| most.max(v.abs()));
    assert!(
        run.iter()
            .zip(&alone)
            .all(|(a, b)| (a - b).abs() < 1e-6 * largest)
    );
    // In parts it has the same bytes, and an error.
    lab.succeeds(&["run", "salt.toml", "--device", "cpu"]);
    let whole = ["map.npy", "map.error.npy"].map(|name| lab.read(&format!("salt.out/{name}")));
    lab.write("salt.toml", SALT.replace("steps = 40", "steps = 20"));
    lab.succeeds(&["run", "salt.toml", "--device", "cpu", "--overwrite"]);
    lab.write("salt.toml", SALT);
    lab.succeeds(&["run", "salt.toml", "--device", "cpu", "--resume"]);
    let parts = ["map.npy", "map.error.npy"].map(|name| lab.read(&format!("salt.out/{name}")));
    assert!(whole == parts);
    assert!(values(&whole[1]).iter().all(|&error| error >= 0.0));
}

#[test]
fn maps_of_runs_are_refused_where_they_make_no_sense() {
    let lab = Lab::new();
    let cases: [(&str, &str, &[&str]); 5] = [
        ("map.npy", "map.txt", &["map.txt", "npy"]),
        ("every = 10, ", "", &["every"]),
        ("1.4 Å", "1e-4 Å", &["memory", "spacing"]),
        ("spacing =", "spaces =", &["unknown key `spaces`", "spacing"]),
        (
            "\"1.4 Å\"",
            "\"1.4 Å\", method = \"fast\"",
            &["fast", "multilevel"],
        ),
    ];
    for (from, to, expected) in cases {
        lab.write("salt.toml", SALT.replace(from, to));
        lab.refuses(&["run", "salt.toml"], 2, expected);
    }
    // Methods that do not go with the cell or the tolerance, before the first step.
    let open = |text: String| {
        let text = text.replace("[species.Na]", "periodic = false\n[species.Na]");
        text.replace("kind = \"pme\"", "kind = \"multilevel\"")
    };
    let with = |keys: &str| SALT.replace("spacing", &format!("{keys}, spacing"));
    let oblique = |text: String| {
        let cell =
            "cell = [[\"1.13 nm\", 0.0, 0.0], [\"0.2 nm\", \"1.13 nm\", 0.0], [0.0, 0.0, \"1.13 nm\"]]";
        text.replace("[species.Na]", &format!("{cell}\n[species.Na]"))
    };
    let cases: [(String, &[&str]); 7] = [
        (with("tolerance = 2"), &["tolerance = 2", "it must be below 1"]),
        (
            with("method = \"direct\""),
            &["method = \"direct\"", "open boundaries"],
        ),
        (
            open(with("method = \"mesh\"")),
            &["method = \"mesh\"", "periodic along all axes"],
        ),
        (
            with("method = \"multilevel\", tolerance = 1e-8"),
            &["tolerance = 1e-8", "method `multilevel` has errors"],
        ),
        (
            with("method = \"mesh\", tolerance = 1e-300"),
            &["tolerance = 1e-300", "no mesh"],
        ),
        (
            oblique(with("method = \"multilevel\"")),
            &["method = \"multilevel\"", "rectangular cells"],
        ),
        (
            open(with("center = [\"Na\"]")),
            &["center = ", "centering takes a cell"],
        ),
    ];
    for (text, expected) in cases {
        lab.write("salt.toml", text);
        lab.refuses(&["run", "salt.toml", "--device", "cpu"], 2, expected);
        assert!(!lab.path("salt.out").exists());
    }
}

#[test]
fn maps_that_see_nothing_are_doubted() {
    let lab = Lab::new();
    // Ions of a crystal have no middle.
    let text = SALT.replace("every = 10,", "every = 10, center = [\"Na\"],");
    lab.write("salt.toml", text.replace("spacing =", "from = 41, spacing ="));
    let tried = lab.debye(&["run", "salt.toml", "--device", "cpu"]);
    for expected in ["begins at step 50", "they have no middle"] {
        assert!(
            tried.err.contains(expected) || tried.out.contains(expected),
            "{}",
            tried.err
        );
    }
}

#[test]
fn a_map_that_fails_on_the_way_leaves_a_checkpoint() {
    let lab = Lab::new();
    // Beyond all numbers, which nobody knows before there is a value.
    let text = SALT.replace("every = 10,", "every = 10, from = 20, permittivity = 1e-60,");
    lab.write("salt.toml", &text);
    let tried = lab.debye(&["run", "salt.toml", "--device", "cpu"]);
    assert_eq!(tried.status, Some(1), "{}", tried.err);
    for expected in ["not finite", "of step 20", "--resume"] {
        assert!(tried.err.contains(expected), "{}", tried.err);
    }
    let without = text.lines().filter(|line| !line.starts_with("map"));
    lab.write("salt.toml", without.collect::<Vec<_>>().join("\n"));
    lab.succeeds(&["run", "salt.toml", "--device", "cpu", "--resume"]);
}
