//! Bilayers, dispersions and particles that turn from the command line.

use crate::lab::Lab;

fn json(text: &str) -> serde_json::Value {
    serde_json::from_str(text).unwrap_or_else(|e| panic!("{e}: {text}"))
}

/// What is printed runs as it is printed, with a file or without.
#[test]
fn what_is_printed_runs() {
    let lab = Lab::new();
    for (arguments, particles) in [
        (
            "bilayer --lipid DOPC --lipids 32 --waters 800 -o b.debye",
            32 * 15 + 800,
        ),
        ("bilayer --lipid DOPC=0.7,DOPE=0.3 --lipids 32", 32 * 15 + 33 * 32),
        (
            "bilayer --upper DOPC=9,DMPC=8 --lower DOPE=16 --waters 900 -o b.gro",
            25 * 15 + 8 * 13 + 900,
        ),
        (
            "dispersion --lipid POPC --lipids 20 --waters 700 -o d.xyz",
            20 * 14 + 700,
        ),
        ("ssd-water --model ssd-e --molecules 250", 250),
        ("ssd-water --model ssd-rf --molecules 250 -o w.xyz", 250),
        ("liquid-crystal --molecules 300", 300),
        ("liquid-crystal --molecules 200 --random -o c.debye", 200),
    ] {
        let words: Vec<&str> = arguments.split(' ').collect();
        let built = lab.succeeds(&[&["build"], &words[..]].concat());
        let file = words.iter().position(|w| *w == "-o").map(|at| words[at + 1]);
        assert_eq!(file.is_some_and(|file| lab.path(file).exists()), file.is_some());
        // Only native files hold lipids whole, and XYZ orientations.
        let keeps = file.is_some_and(|file| !["b.gro", "d.xyz"].contains(&file));
        assert_eq!(built.out.contains("\nfile = "), keeps, "{}", built.out);
        assert_eq!(
            built.out.contains("so the system is built again"),
            !keeps && file.is_some()
        );
        lab.write("it.toml", &built.out);
        lab.succeeds(&["run", "it.toml", "--steps", "20", "--out", "it", "--overwrite"]);
        let seen = json(&lab.succeeds(&["energy", "it.toml", "--json"]).out);
        assert_eq!(seen["particles"], particles, "{arguments}");
    }
}

/// The file and the recipe are the same system.
#[test]
fn a_native_file_keeps_everything() {
    let lab = Lab::new();
    let build = [
        "build", "bilayer", "--lipid", "DSPC", "--lipids", "18", "--waters", "500",
    ];
    let energy = |text: &str| {
        lab.write("it.toml", text);
        json(&lab.succeeds(&["energy", "it.toml", "--json"]).out)["potential"].clone()
    };
    let again = energy(&lab.succeeds(&build).out);
    let lammps = energy(&lab.succeeds(&[&build[..], &["-o", "b.lammps"]].concat()).out);
    let (a, b) = (again.as_f64().unwrap(), lammps.as_f64().unwrap());
    assert!((a - b).abs() < 1e-7 * a.abs(), "{a} {b}");
    let file = energy(&lab.succeeds(&[&build[..], &["-o", "b.debye"]].concat()).out);
    // Cells differ in the last bit, and so do sums.
    let file = file.as_f64().unwrap();
    assert!((a - file).abs() <= 1e-13 * a.abs(), "{a} {file}");
    // A mixture adds up, and a lipid of a file of one's own is as good.
    lab.write(
        "mine.toml",
        "[molecules.mine]\nbeads = [\"P\", \"T\"]\nbonds = [[1, 2, \"T-T\"]]\npositions = [[0, 0, 0.4], [0, 0, 0]]\n",
    );
    let own = "build bilayer --lipid mine=1,DMPC=2 --lipids 31 --waters 300 --forcefield elba,mine.toml";
    let refused = own.split(' ').collect::<Vec<_>>();
    lab.refuses(&refused, 2, &["31 lipids do not make two equal leaflets"]);
    let own = own.replace("31", "30");
    let built = lab.succeeds(&own.split(' ').collect::<Vec<_>>());
    assert!(built.out.contains("mine = 10, DMPC = 20"), "{}", built.out);
}

#[test]
fn refused_with_advice() {
    let lab = Lab::new();
    for (arguments, expected) in [
        ("bilayer --lipids 8", &["which lipid?", "--lipid DOPC"][..]),
        (
            "bilayer --lipid DOPX",
            &["there is no molecule `DOPX`", "did you mean `DOPC`?"],
        ),
        ("bilayer --lipid DOPC --lipids 0", &["at least one lipid"]),
        ("bilayer --lipid DOPC=many", &["`many` is no fraction of DOPC"]),
        ("bilayer --lipid DOPC --water Q", &["there is no species `Q`"]),
        (
            "bilayer --lipid DOPC --cell 5",
            &["lipids and water need", "the cell has 5.000"],
        ),
        ("bilayer --upper DOPC --lower DOPC=3", &["leaflets take numbers"]),
        ("bilayer --upper DOPC=3", &["--lower"]),
        ("bilayer --lipid DOPC --units lj", &["md units only"]),
        (
            "ssd-water --model ssd-x --molecules 9",
            &["`ssd-x`", "ssd, ssd1, ssd-e, ssd-rf"],
        ),
        ("liquid-crystal --molecules 9 --units md", &["reduced units only"]),
        (
            "dispersion --lipid DOPC --lipids 1 --waters 10",
            &["`DOPC` is 3.020 long"],
        ),
    ] {
        let words: Vec<&str> = arguments.split(' ').collect();
        lab.refuses(&[&["build"], &words[..]].concat(), 2, expected);
    }
}

/// Lipids without their water, and orientations beside a trajectory, are understood without more words.
#[test]
fn trajectories_of_lipids_are_analyzed() {
    let lab = Lab::new();
    let built = lab.succeeds(&[
        "build", "bilayer", "--lipid", "DOPC", "--lipids", "18", "--waters", "560",
    ]);
    let lipids = "trajectory = [{ every = 10, file = \"all.xtc\" }, \
                  { every = 10, file = \"some.xtc\", species = [\"C\", \"P\", \"G\", \"E\", \"T\"] }]";
    let usual = built
        .out
        .lines()
        .find(|line| line.starts_with("trajectory"))
        .unwrap()
        .to_owned();
    lab.write("it.toml", built.out.replace(&usual, lipids).replace("1000", "60"));
    lab.succeeds(&["run", "it.toml", "--steps", "40", "--out", "it"]);
    let number = |arguments: &[&str], name: &str| {
        let answer = json(
            &lab.succeeds(&[arguments, &["--json", "--overwrite"]].concat())
                .out,
        );
        let results = answer["results"].as_array().unwrap().clone();
        let found = results.iter().find(|r| r["name"] == name);
        found.unwrap_or_else(|| panic!("{results:?}"))["value"]
            .as_f64()
            .unwrap()
    };
    let bilayer = |file: &str| {
        number(
            &["analyze", "bilayer", file, "--input", "it.toml", "--heads", "P"],
            "thickness",
        )
    };
    assert_eq!(bilayer("it/all.xtc"), bilayer("it/some.xtc"));
    let modulus = [
        "analyze",
        "bilayer",
        "it/all.xtc",
        "--input",
        "it.toml",
        "--heads",
        "P",
    ];
    assert!(number(&modulus, "area compressibility modulus") > 0.0);
    // Beads that do not turn are no needles.
    let alone = number(&["analyze", "nematic", "it/all.xtc"], "S");
    let told = number(&["analyze", "nematic", "it/all.xtc", "--input", "it.toml"], "S");
    assert!((alone - told).abs() < 1e-12 && alone < 0.3, "{alone} {told}");
    lab.refuses(
        &[
            "analyze",
            "bilayer",
            "it/all.xtc",
            "--input",
            "it.toml",
            "--heads",
            "W",
        ],
        2,
        &["heads is W", "several beads"],
    );
    // A damaged record costs its frame, and the last one, cut short, that one.
    let beside = lab.path("it/all.xtc.orientations");
    let whole = std::fs::read(&beside).unwrap();
    let nematic = [
        "analyze",
        "nematic",
        "it/all.xtc",
        "--overwrite",
        "-o",
        "nematic.csv",
    ];
    let frames = |words: &[&str]| {
        let analyzed = lab.succeeds(&nematic);
        words
            .iter()
            .for_each(|word| assert!(analyzed.err.contains(word), "{}", analyzed.err));
        let notes = String::from_utf8(lab.read("nematic.csv")).unwrap();
        let note = notes.lines().find(|line| line.contains("Frames: ")).unwrap();
        let number = note.split("Frames: ").nth(1).unwrap().split(';').next().unwrap();
        number.parse::<usize>().unwrap()
    };
    let all = frames(&[]);
    let mut bytes = whole.clone();
    bytes[whole.len() / 2] ^= 1;
    std::fs::write(&beside, &bytes).unwrap();
    assert_eq!(frames(&["its checksum is", "has no orientations"]), all - 1);
    let refused = lab.debye(&[&nematic[..], &["--strict"]].concat());
    assert_eq!(refused.status, Some(2), "{}", refused.err);
    assert!(
        refused
            .err
            .contains("frame 3: step 20: the frame has no orientations"),
        "{}",
        refused.err
    );
    std::fs::write(&beside, &whole[..whole.len() - 1]).unwrap();
    assert_eq!(frames(&["is cut short"]), all - 1);
}
