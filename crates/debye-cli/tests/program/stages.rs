//! A simulation in several stages: nothing is lost between them.

use debye_io::{NativeStructure, read_structure};

use crate::lab::{ARGON, Lab, Tried, changed};

fn example(name: &str) -> String {
    let path = format!("{}/../../examples/stages/{name}", env!("CARGO_MANIFEST_DIR"));
    std::fs::read_to_string(path).unwrap()
}

/// Runs a stage of the examples with few steps, and a native file of its last one.
fn run(lab: &Lab, name: &str, steps: u32) -> Tried {
    let text = example(&format!("{name}.toml"));
    // One `final` more, of this test's.
    let text = match text.find("final = ") {
        Some(at) => format!("{}final = \"end.debye\"\n#{}", &text[..at], &text[at..]),
        None => changed(&text, "[output]\n", "[output]\nfinal = \"end.debye\"\n"),
    };
    lab.write(&format!("{name}.toml"), text);
    lab.succeeds(&["run", &format!("{name}.toml"), "--steps", &steps.to_string()])
}

fn end(lab: &Lab, stage: &str) -> NativeStructure {
    NativeStructure::read(lab.path(&format!("{stage}.out/end.debye"))).unwrap()
}

/// The system a stage begins with.
fn start(lab: &Lab, stage: &str) -> NativeStructure {
    let checkpoint =
        debye::checkpoint::Checkpoint::read(&lab.path(&format!("{stage}.out/{stage}.checkpoint.1")));
    let checkpoint = checkpoint.unwrap();
    assert_eq!(checkpoint.step, 0);
    checkpoint.native_system(&lab.path(stage)).unwrap()
}

/// The same particles in the same state. Constraints are solved once more when a run begins, which may change the last
/// digits of constrained particles: `within` says by how much.
fn same_state(a: &NativeStructure, b: &NativeStructure, within: f64) {
    for (a, b) in [(&a.positions, &b.positions), (&a.velocities, &b.velocities)] {
        let pairs = a.as_flattened().iter().zip(b.as_flattened());
        let worst = pairs.map(|(x, y)| (x - y).abs()).fold(0.0, f64::max);
        assert!(a.len() == b.len() && worst <= within, "{worst}");
    }
    assert_eq!(a.images, b.images);
    assert_eq!(a.cell, b.cell);
    assert!((&a.charges, &a.masses) == (&b.charges, &b.masses));
    assert_eq!(a.molecules, b.molecules);
    assert_eq!(a.bonds, b.bonds);
}

#[test]
fn water_goes_from_stage_to_stage() {
    let lab = Lab::new();
    run(&lab, "water-1-nvt", 20);
    run(&lab, "water-2-npt", 20);
    run(&lab, "water-3-production", 20);
    let (first, second) = (end(&lab, "water-1-nvt"), end(&lab, "water-2-npt"));
    same_state(&first, &start(&lab, "water-2-npt"), 1e-12);
    same_state(&second, &start(&lab, "water-3-production"), 1e-12);
    assert_ne!(first.cell, second.cell, "the barostat changed the cell");
    assert_eq!(first.charges[0], -0.8476);
    assert!(first.velocities.iter().flatten().any(|v| *v != 0.0));
    // The state is the same: so are the energies of the same forces.
    let energy = |input: &str| lab.succeeds(&["energy", input, "--json"]).out;
    lab.write(
        "again.toml",
        changed(
            &example("water-2-npt.toml"),
            "water-1-nvt.out",
            "water-1-nvt.out/end.debye",
        ),
    );
    let value = |text: &str| serde_json::from_str::<serde_json::Value>(text).unwrap()["potential"].clone();
    assert_eq!(value(&energy("again.toml")), value(&energy("water-2-npt.toml")));
}

#[test]
fn a_polymer_keeps_its_bonds() {
    let lab = Lab::new();
    run(&lab, "polymer-1-equilibrate", 50);
    let second = run(&lab, "polymer-2-production", 50);
    for expected in ["480 bonds", "polymer-1-equilibrate.out, step 50"] {
        assert!(second.out.contains(expected), "{}", second.out);
    }
    same_state(
        &end(&lab, "polymer-1-equilibrate"),
        &start(&lab, "polymer-2-production"),
        0.0,
    );
    assert_eq!(end(&lab, "polymer-2-production").bonds.links.len(), 480);
}

#[test]
fn final_files_hold_the_bonds_and_whole_molecules() {
    let lab = Lab::new();
    let text = example("polymer-1-equilibrate.toml");
    let text = changed(&text, "melt.pdb\"]", "melt.pdb\", \"melt.gro\", \"melt.debye\"]");
    lab.write("melt.toml", &text);
    lab.succeeds(&["run", "melt.toml", "--steps", "2000"]);
    let native = NativeStructure::read(lab.path("melt.out/melt.debye")).unwrap();
    let side = native.cell[0][0];
    let length = |r: &[[f64; 3]], [i, j]: [usize; 2]| {
        let d: [f64; 3] = std::array::from_fn(|k| r[i][k] - r[j][k]);
        d.iter().map(|x| x * x).sum::<f64>().sqrt()
    };
    let broken = |r: &[[f64; 3]]| {
        let bonds = native.bonds.links.iter();
        bonds
            .filter(|(_, b)| length(r, b.map(|i| i as usize)) > 0.5 * side)
            .count()
    };
    assert!(broken(&native.positions) > 0, "some bonds cross the faces");
    for name in ["melt.pdb", "melt.gro"] {
        let read = read_structure(lab.path(&format!("melt.out/{name}"))).unwrap();
        assert_eq!(broken(&read.frame.positions), 0, "{name}");
    }
    for name in ["melt.pdb", "melt.data"] {
        let read = read_structure(lab.path(&format!("melt.out/{name}"))).unwrap();
        assert_eq!(read.bonds.len(), 480, "{name}");
        // A stage that reads the file has the same potential energy, within the digits of the format.
        let kinds = if name.ends_with("pdb") { "A-A" } else { "bond" };
        let next = changed(
            &example("polymer-2-production.toml"),
            "from = \"polymer-1-equilibrate.out\"",
            &format!("file = \"melt.out/{name}\""),
        );
        let next = changed(
            &next,
            "k = 30.0\nr0 = 1.5",
            &format!("types = {{ {kinds} = {{ k = 30.0, r0 = 1.5 }} }}"),
        );
        lab.write("next.toml", &next);
        let energy = |input: &str| -> f64 {
            let out = lab.succeeds(&["energy", input, "--json"]).out;
            let value: serde_json::Value = serde_json::from_str(&out).unwrap();
            value["potential"].as_f64().unwrap()
        };
        lab.write(
            "native.toml",
            changed(
                &example("polymer-2-production.toml"),
                "polymer-1-equilibrate.out",
                "melt.out",
            ),
        );
        let (found, exact) = (energy("next.toml"), energy("native.toml"));
        let tolerance = if name.ends_with("pdb") { 0.05 } else { 1e-9 };
        assert!(
            (found - exact).abs() < tolerance * exact.abs(),
            "{name}: {found} {exact}"
        );
    }
}

/// Hydrogens of three times the mass: the next stage begins with the same masses and velocities where it has the key too,
/// and says so where it has not. Files call waters waters.
#[test]
fn heavier_hydrogens_go_from_stage_to_stage() {
    let lab = Lab::new();
    let heavy = |name: &str| {
        changed(
            &example(name),
            "[system]\n",
            "[system]\nhydrogen_mass = \"3.024 u\"\n",
        )
    };
    let first = changed(
        &heavy("water-1-nvt.toml"),
        "table = { every = 50 }",
        "final = [\"w.pdb\", \"end.debye\"]",
    );
    lab.write("water-1-nvt.toml", first);
    lab.succeeds(&["run", "water-1-nvt.toml", "--steps", "20"]);
    let ended = end(&lab, "water-1-nvt");
    assert_eq!(ended.masses[1..3], [3.024, 3.024]);
    let pdb = read_structure(lab.path("water-1-nvt.out/w.pdb")).unwrap();
    let names = pdb.atoms[3..6]
        .iter()
        .map(|a| (a.name.as_str(), a.residue.as_str()));
    assert!(names.eq([("OW", "HOH"), ("HW1", "HOH"), ("HW2", "HOH")]));

    lab.write("water-2-npt.toml", heavy("water-2-npt.toml"));
    let said = lab.succeeds(&["run", "water-2-npt.toml", "--steps", "20"]);
    assert!(!said.out.contains("in that run"), "{}", said.out);
    same_state(&ended, &start(&lab, "water-2-npt"), 1e-12);

    lab.write("light.toml", example("water-2-npt.toml"));
    let said = lab.succeeds(&["run", "light.toml", "--steps", "1"]);
    assert!(
        said.out.contains("11.967 u in that run and has 15.999"),
        "{}",
        said.out
    );
    assert!((start(&lab, "light").masses[1] - 1.008).abs() < 1e-12);
}

#[test]
fn water_files_have_the_names_that_others_know() {
    let lab = Lab::new();
    let text = changed(
        &example("water-1-nvt.toml"),
        "table = { every = 50 }",
        "final = [\"w.pdb\", \"w.gro\", \"w.xyz\", \"w.data\", \"w.debye\"]",
    );
    lab.write("w.toml", changed(&text, "molecules = 512", "molecules = 216"));
    lab.write(
        "w.toml",
        String::from_utf8(lab.read("w.toml"))
            .unwrap()
            .replace("0.9 nm", "0.7 nm"),
    );
    lab.succeeds(&["run", "w.toml", "--steps", "300"]);
    let pdb = read_structure(lab.path("w.out/w.pdb")).unwrap();
    let names = pdb.atoms[3..6]
        .iter()
        .map(|a| (a.name.as_str(), a.element.as_str(), a.residue.as_str()));
    assert_eq!(
        names.collect::<Vec<_>>(),
        [("OW", "O", "HOH"), ("HW1", "H", "HOH"), ("HW2", "H", "HOH")]
    );
    let xyz = String::from_utf8(lab.read("w.out/w.xyz")).unwrap();
    let row: Vec<&str> = xyz.lines().nth(3).unwrap().split(' ').collect();
    assert_eq!((row[0], row[4]), ("H", "HW"));
    // Each can begin a run, as `file`, and the molecules are whole in those that have no image flags.
    for (name, more) in [
        ("w.pdb", ""),
        ("w.gro", ""),
        ("w.xyz", ""),
        ("w.data", ""),
        ("w.debye", ""),
    ] {
        let build = "build = { kind = \"water\", molecules = 216 }";
        let text = String::from_utf8(lab.read("w.toml")).unwrap();
        lab.write(
            "next.toml",
            changed(&text, build, &format!("file = \"w.out/{name}\"\n{more}")),
        );
        lab.succeeds(&["energy", "next.toml"]);
        let read = read_structure(lab.path(&format!("w.out/{name}"))).unwrap();
        let r = &read.frame.positions;
        let scale = if name.ends_with("gro") { 0.1 } else { 1.0 };
        let far = |i: usize| (0..3).any(|k| (r[i][k] - r[i - i % 3][k]).abs() > 1.2 * scale);
        if !name.ends_with("data") && !name.ends_with("debye") {
            assert!(!(0..r.len()).any(far), "{name} has molecules in pieces");
        }
    }
    // Labels of a structure file come out again.
    lab.write("next.toml", {
        let text = String::from_utf8(lab.read("w.toml")).unwrap();
        changed(
            &text,
            "build = { kind = \"water\", molecules = 216 }",
            "file = \"chains.pdb\"",
        )
    });
    let text = String::from_utf8(lab.read("w.out/w.pdb"))
        .unwrap()
        .replace(" HOH  ", " HOH W");
    lab.write("chains.pdb", text);
    lab.succeeds(&["run", "next.toml", "--steps", "2"]);
    let again = read_structure(lab.path("next.out/w.pdb")).unwrap();
    assert!(again.atoms.iter().all(|a| a.chain == "W" && a.residue == "HOH"));
}

#[test]
fn from_refuses_what_is_no_run_in_words() {
    let lab = Lab::new();
    let build = &ARGON[ARGON.find("build = ").unwrap()..ARGON.find("\n[species").unwrap()];
    let from = |what: &str| changed(ARGON, build, &format!("from = \"{what}\""));
    let refuses = |text: &str, expected: &[&str]| {
        lab.write("next.toml", text);
        lab.refuses(&["energy", "next.toml"], 2, expected);
    };
    refuses(&from("nothing.out"), &["next.toml:3", "does not exist"]);
    lab.write("empty.out/notes.txt", "");
    refuses(&from("empty.out"), &["next.toml:3", "holds no checkpoint"]);
    lab.write("notes.txt", "hello");
    refuses(&from("notes.txt"), &["does not begin as a native structure file"]);
    lab.write("argon.toml", ARGON);
    lab.succeeds(&["run", "argon.toml"]);
    let lj = changed(&from("argon.out"), "units = \"md\"", "units = \"lj\"")
        .replace(" Å", "")
        .replace(" fs", "");
    let lj = lj
        .replace("\"39.948 u\"", "1.0")
        .replace("0.0104 eV", "1.0")
        .replace("120 K", "1.0");
    refuses(&lj, &["units = \"md\", but this file has units = \"lj\""]);
    refuses(
        &changed(&from("argon.out"), "[species.Ar]", "[species.Ne]").replace("Ar-Ar", "Ne-Ne"),
        &["species `Ar`, which is not declared", "[species.Ar]"],
    );
    refuses(
        &changed(
            &from("argon.out"),
            "[species.Ar]",
            "length_unit = \"nm\"\n[species.Ar]",
        ),
        &["`length_unit` belongs to `file`"],
    );
    refuses(
        &changed(
            &from("argon.out"),
            "[species.Ar]",
            "file = \"x.gro\"\n[species.Ar]",
        ),
        &["both `file` and `from`"],
    );
    // New velocities are drawn only where that is said, and the header says so.
    lab.write("next.toml", from("argon.out/argon.checkpoint"));
    let ran = lab.succeeds(&["run", "next.toml"]);
    assert!(ran.out.contains("velocities are drawn anew"), "{}", ran.out);
}

/// What would lose or mistake the run that another begins with.
#[test]
fn from_is_careful_with_the_run_it_takes() {
    let lab = Lab::with_argon(&changed(ARGON, "keep = 1", "keep = 2"));
    lab.succeeds(&["run", "argon.toml"]);
    let build = &ARGON[ARGON.find("build = ").unwrap()..ARGON.find("\n[species").unwrap()];
    let next = changed(ARGON, build, "from = \"argon.out\"");
    let next = changed(&next, "temperature = \"120 K\"\n", "");
    lab.write("next.toml", &next);
    // Its own folder would be emptied.
    let own = ["run", "next.toml", "--out", "argon.out", "--overwrite"];
    lab.refuses(&own, 2, &["argon.out", "takes the system from it", "--out"]);
    let ran = lab.succeeds(&["run", "next.toml"]);
    assert!(
        ran.out.contains("argon.out, step 20") && !ran.out.contains("warning"),
        "{}",
        ran.out
    );
    // A run that was stopped.
    lab.succeeds(&["run", "argon.toml", "--out", "half.out", "--steps", "10"]);
    lab.write("half.toml", changed(&next, "argon.out", "half.out"));
    let ended = lab.succeeds(&["energy", "half.toml"]);
    assert!(!ended.err.contains("has not ended"), "{}", ended.err);
    let mut stopped = debye::checkpoint::Checkpoint::read(&lab.path("half.out/argon.checkpoint")).unwrap();
    stopped.planned = 500;
    stopped.write(&lab.path("half.out/argon.checkpoint"), 1).unwrap();
    let ran = lab.succeeds(&["energy", "half.toml"]);
    assert!(
        ran.err.contains("has not ended") && ran.err.contains("step 10 of 500"),
        "{}",
        ran.err
    );
    // A damaged newest checkpoint.
    let mut bytes = lab.read("argon.out/argon.checkpoint");
    bytes.truncate(bytes.len() - 7);
    lab.write("argon.out/argon.checkpoint", bytes);
    let ran = lab.succeeds(&["energy", "next.toml"]);
    assert!(
        ran.err.contains("damaged checkpoint") && ran.err.contains("before it was taken"),
        "{}",
        ran.err
    );
}

#[test]
fn a_bond_does_not_count_twice() {
    let lab = Lab::new();
    run(&lab, "polymer-1-equilibrate", 10);
    let text = example("polymer-2-production.toml");
    let more = "[topology]\nbonds = [[2, 1, \"bond\"]]\n[species.A]";
    lab.write("twice.toml", changed(&text, "[species.A]", more));
    lab.refuses(
        &["energy", "twice.toml"],
        2,
        &["2–1 of kind `bond` would count twice"],
    );
}
