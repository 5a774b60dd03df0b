//! Structure files, trajectories and output folders that cannot be used.

use crate::lab::{ARGON, Lab, changed};

/// The example with its atoms from a file.
fn from_file(name: &str) -> String {
    let build = ARGON.lines().find(|line| line.starts_with("build")).unwrap();
    changed(
        ARGON,
        build,
        &format!("file = \"{name}\"\ncell = [2.75, 2.75, 2.75]"),
    )
}

fn gro(count: &str, lines: &[&str]) -> String {
    format!("argon\n{count}\n{}\n   2.75   2.75   2.75\n", lines.join("\n"))
}

const FIRST: &str = "    1AR      AR    1   0.100   0.200   0.300";
const SECOND: &str = "    2AR      AR    2   0.900   0.200   0.300";

fn refuses_structure(name: &str, content: impl AsRef<[u8]>, expected: &[&str]) {
    let lab = Lab::with_argon(&from_file(name));
    lab.write(name, content);
    for command in ["run", "energy"] {
        lab.refuses(&[command, "argon.toml"], 2, expected);
    }
}

#[test]
fn structure_files_are_judged() {
    let nan = SECOND.replace("0.900", "  nan");
    refuses_structure("a.gro", gro("2", &[FIRST, &nan]), &["a.gro", "line 4", "nan"]);
    refuses_structure("a.gro", format!("argon\n2\n{FIRST}\n"), &["a.gro"]);
    refuses_structure(
        "a.gro",
        gro("99999999999", &[FIRST, SECOND]),
        &["a.gro", "line 5"],
    );
    refuses_structure("a.gro", gro("-2", &[FIRST, SECOND]), &["a.gro", "line 2", "-2"]);
    refuses_structure(
        "a.gro",
        gro("2", &[FIRST, FIRST]),
        &[
            "particles 1 (AR of residue AR 1)",
            "on top of one another",
            "one atom twice",
            "altLoc",
        ],
    );
    let other = FIRST.replace("    1AR", "    2AR");
    refuses_structure(
        "a.gro",
        gro("2", &[FIRST, &other]),
        &[
            "2 (AR of residue AR 2)",
            "duplicated atoms",
            "altLoc",
            "opposite faces",
        ],
    );
    refuses_structure("a.gro", "", &["a.gro"]);
    refuses_structure("a.gro", [0u8, 159, 146, 150, 255, 254, 0, 0], &["a.gro"]);
    refuses_structure("a.xyz", "1000000000000\nargon\nAr 0 0 0\n", &["a.xyz"]);
    refuses_structure("a.xyz", "2\nargon\nAr 0 0 0\n", &["a.xyz"]);
    refuses_structure("a.xyz", "2\nargon\nAr 0 0 0\nAr 1 inf 0\n", &["a.xyz", "inf"]);
    refuses_structure("a.xyz", "2\nargon\nAr 0 0 0\nXe 1 2 3\n", &["Xe"]);
    refuses_structure("a.pdb", "END\n", &["a.pdb"]);
    refuses_structure("a.mol2", "@<TRIPOS>MOLECULE\n", &["a.mol2", "gro"]);
}

/// Files that an editor saved in another encoding.
#[test]
fn other_encodings_are_told() {
    let why = "not UTF-8 text; saved as Latin-1 or UTF-16?";
    let latin: Vec<u8> = ARGON.chars().map(|c| c as u8).collect();
    let wide = |text: &str| {
        text.encode_utf16()
            .flat_map(u16::to_le_bytes)
            .collect::<Vec<u8>>()
    };
    let marked = [&[0xff, 0xfe][..], &wide(ARGON)].concat();
    for (content, line) in [
        (latin, "argon.toml:3"),
        (marked, "argon.toml:1"),
        (wide(ARGON), "argon.toml:1"),
    ] {
        let lab = Lab::new();
        lab.write("argon.toml", content);
        lab.refuses(&["run", "argon.toml"], 2, &[line, why]);
    }
    let whole = gro("2", &[FIRST, SECOND]);
    refuses_structure("a.gro", wide(&whole), &["a.gro", "line 1", why]);
    let mut bytes = whole.replace("0.900", "0.9x0").into_bytes();
    let place = bytes.iter().position(|b| *b == b'x').unwrap();
    bytes[place] = 0xb5;
    refuses_structure("a.gro", bytes, &["a.gro", "line 4", why]);
}

#[test]
fn a_structure_file_must_be_there_and_be_a_file() {
    let lab = Lab::with_argon(&from_file("missing.gro"));
    lab.refuses(
        &["run", "argon.toml"],
        2,
        &["argon.toml:3", "missing.gro", "does not exist"],
    );
    let lab = Lab::with_argon(&from_file("folder.gro"));
    lab.write("folder.gro/x", "");
    lab.refuses(
        &["run", "argon.toml"],
        2,
        &["argon.toml:3", "folder.gro", "not a file"],
    );
}

#[test]
fn an_occupied_folder_is_left_alone() {
    let lab = Lab::with_argon(ARGON);
    lab.succeeds(&["run", "argon.toml"]);
    lab.refuses(
        &["run", "argon.toml"],
        2,
        &["argon.out", "exists already", "--resume", "--overwrite"],
    );
    // What no run left is never removed.
    lab.write("thesis/chapter1.txt", "years of work");
    lab.refuses(
        &["run", "argon.toml", "--out", "thesis"],
        2,
        &["thesis", "exists already"],
    );
    for flag in ["--overwrite", "--resume"] {
        lab.refuses(
            &["run", "argon.toml", "--out", "thesis", flag],
            2,
            &["thesis", "not touched"],
        );
    }
    lab.write("here/input.toml", ARGON);
    lab.refuses(
        &["run", "here/input.toml", "--out", "here", "--overwrite"],
        2,
        &["here", "not touched"],
    );
    // A refusal for another reason keeps the old run.
    lab.refuses(
        &["run", "argon.toml", "--overwrite", "--device", "cuda"],
        2,
        &["cuda"],
    );
    // What the user put beside the run's files stays; the run's own are replaced.
    lab.write("argon.out/notes.txt", "mine");
    lab.write("argon.out/analysis.png", "mine too");
    lab.succeeds(&["run", "argon.toml", "--overwrite"]);
    assert_eq!(
        std::fs::read_to_string(lab.path("argon.out/notes.txt")).unwrap(),
        "mine"
    );
    assert_eq!(
        std::fs::read_to_string(lab.path("argon.out/analysis.png")).unwrap(),
        "mine too"
    );
}

#[test]
fn a_place_that_cannot_be_written_is_named() {
    let lab = Lab::with_argon(ARGON);
    lab.write("file", "precious");
    lab.refuses(&["run", "argon.toml", "--out", "file"], 2, &["file", "is a file"]);
    lab.refuses(&["run", "argon.toml", "--out", "file/below"], 2, &["file/below"]);
    lab.refuses(
        &["run", "argon.toml", "--out", "/proc/debye"],
        2,
        &["/proc/debye", "cannot write"],
    );
    lab.refuses(
        &["energy", "argon.toml", "--forces", "/proc/forces.csv"],
        2,
        &["/proc/forces.csv"],
    );
    lab.refuses(
        &["energy", "argon.toml", "--forces", "no/such/forces.csv"],
        2,
        &["no/such/forces.csv"],
    );
    let full = lab.shell("\"$0\" energy argon.toml --json > /dev/full");
    full.is_refusal("standard output", 2, &["standard output", "space"]);
}

#[test]
#[cfg(target_os = "linux")]
fn a_full_device_stops_the_run_with_a_message() {
    for name in ["energy.csv", "argon.xtc"] {
        let lab = Lab::with_argon(ARGON);
        // A run that was killed before its first checkpoint, on a disk that is full by now.
        lab.write("argon.out/input.toml", ARGON);
        std::os::unix::fs::symlink("/dev/full", lab.path(&format!("argon.out/{name}"))).unwrap();
        lab.refuses(
            &["run", "argon.toml", "--resume"],
            2,
            &[name, "No space left on device"],
        );
    }
}

#[test]
#[cfg(unix)]
fn a_disk_that_fills_up_loses_nothing() {
    let long = changed(ARGON, "steps = 20", "steps = 1000");
    let text = changed(&long, "table = { every = 5 }", "table = { every = 1 }");
    let lab = Lab::with_argon(&text);
    lab.succeeds(&["run", "argon.toml", "--out", "whole"]);
    // A limit on the length of files stands for the end of the disk; in blocks of 512 bytes.
    let limited = |bytes: usize| {
        let limit = format!("trap '' XFSZ; ulimit -f {};", bytes / 512);
        lab.shell(&format!("{limit} exec \"$0\" run argon.toml --quiet --resume"))
    };
    // No room for the first checkpoint.
    limited(20_000).is_refusal("no room", 2, &["argon.checkpoint", "File too large"]);
    // Room for checkpoints, but not for the whole trajectory.
    let checkpoint = lab.read("whole/argon.checkpoint").len();
    let trajectory = lab.read("whole/argon.xtc").len();
    assert!(trajectory > checkpoint + 20_000, "{trajectory} {checkpoint}");
    limited(checkpoint + 10_000).is_refusal("no room", 2, &["argon.out/", "File too large"]);
    // What is there is whole.
    let rows = String::from_utf8(lab.read("argon.out/energy.csv")).unwrap();
    assert!(rows.ends_with('\n') && rows.lines().count() > 10);
    lab.succeeds(&["analyze", "info", "argon.out/argon.xtc"]);
    lab.succeeds(&["run", "argon.toml", "--resume"]);
    for name in ["energy.csv", "argon.xtc", "final.gro"] {
        let (whole, resumed) = (
            lab.read(&format!("whole/{name}")),
            lab.read(&format!("argon.out/{name}")),
        );
        assert!(whole == resumed, "{name}");
    }
}

#[test]
fn trajectories_are_judged() {
    let lab = Lab::with_argon(ARGON);
    lab.succeeds(&["run", "argon.toml"]);
    let whole = lab.read("argon.out/argon.xtc");
    lab.write("cut.xtc", &whole[..whole.len() - 100]);
    lab.refuses(
        &["analyze", "rdf", "cut.xtc", "--strict"],
        2,
        &["cut.xtc", "cut short"],
    );
    let mut huge = whole.clone();
    huge[4..8].copy_from_slice(&[0x7f, 0xff, 0xff, 0xff]);
    lab.write("huge.xtc", &huge);
    lab.refuses(&["analyze", "info", "huge.xtc"], 2, &["huge.xtc"]);
    lab.write("empty.xtc", "");
    lab.refuses(&["analyze", "info", "empty.xtc"], 2, &["empty.xtc", "no frame"]);
    lab.write("text.dcd", "this is no trajectory, whatever its name says");
    lab.refuses(&["analyze", "msd", "text.dcd"], 2, &["text.dcd"]);
    lab.refuses(
        &["analyze", "msd", "argon.out/energy.csv"],
        2,
        &["energy.csv", "unknown format"],
    );
    lab.refuses(
        &["analyze", "vacf", "argon.out/argon.xtc"],
        2,
        &["argon.xtc", "velocities"],
    );
    let pair = ["analyze", "rdf", "argon.out/argon.xtc", "--pair", "Na-Cl"];
    lab.refuses(&pair, 2, &["Na-Cl", "--topology"]);
    lab.write("two.gro", gro("2", &[FIRST, SECOND]));
    let topology = ["analyze", "rdf", "argon.out/argon.xtc", "--topology", "two.gro"];
    lab.refuses(&topology, 2, &["500", "2"]);
    lab.refuses(
        &["analyze", "rdf", "argon.out/argon.xtc", "--r-max", "3 ps"],
        2,
        &["--r-max", "3 ps"],
    );
    lab.write("bad.csv", "step,time (ps)\n1,2\nx,y\n");
    lab.refuses(&["analyze", "drift", "bad.csv"], 2, &["bad.csv:3", "x,y"]);
    lab.write("other.csv", "a,b\n1,2\n");
    lab.refuses(&["analyze", "drift", "other.csv"], 2, &["other.csv", "time"]);
}

/// Coordinates that no simulation has are named with their particle.
#[test]
fn absurd_coordinates_are_refused() {
    let lab = Lab::new();
    let text = "units = \"md\"\n[system]\nfile = \"a.xyz\"\nperiodic = false\n[species.Ar]\nmass = 40\n\
                [[forces]]\nkind = \"lennard-jones\"\ncutoff = 1.0\nepsilon = 1.0\nsigma = 0.3\n\
                [integrator]\nkind = \"nve\"\ntimestep = \"1 fs\"\n";
    lab.write("a.toml", text);
    let cell = "cell = [3, 3, 3]\nperiodic = true\n";
    for (periodic, y) in [(false, "1e300"), (false, "-4e12"), (true, "1e300")] {
        lab.write("a.xyz", format!("2\n\nAr 0 0 0\nAr 5 {y} 0\n"));
        if periodic {
            lab.write("a.toml", changed(text, "periodic = false\n", cell));
        }
        let number = y.parse::<f64>().unwrap() * 0.1;
        lab.refuses(
            &["energy", "a.toml"],
            2,
            &["a.toml:3", "particle 2", &format!("y = {number:e} nm")],
        );
    }
    lab.write("a.xyz", "2\n\nAr 0 0 0\nAr 5 4e5 0\n");
    lab.write("a.toml", text);
    lab.succeeds(&["energy", "a.toml"]);
    let huge =
        "build = { kind = \"lattice\", lattice = \"sc\", cells = 3, spacing = 1e200, species = \"Ar\" }\n";
    lab.write("a.toml", changed(text, "file = \"a.xyz\"\n", huge));
    lab.refuses(&["energy", "a.toml"], 2, &["a.toml:3"]);
}
