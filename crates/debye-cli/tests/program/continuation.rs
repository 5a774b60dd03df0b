//! Exact continuation: 2N steps equal N steps, a resume and N steps, byte for byte.

use crate::lab::{ARGON, Lab, changed};

/// What a run leaves that must not depend on how it was interrupted.
const OUTPUTS: &[&str] = &[
    "energy.csv",
    "argon.xtc",
    "argon.dcd",
    "argon.gro",
    "argon.xyz",
    "argon.pdb",
    "final.gro",
    "rdf.csv",
    "msd.csv",
];

const BUSSI: &str = "kind = \"bussi\"\ntemperature = \"120 K\"\ntime = \"0.1 ps\"";
const BERENDSEN: &str = "kind = \"berendsen\"\ntemperature = \"120 K\"\ntime = \"0.1 ps\"";

/// Name, integrator, further sections.
fn integrators() -> Vec<(&'static str, String)> {
    let simple = |kind: &str| format!("kind = \"{kind}\"\ntemperature = \"120 K\"\ntime = \"0.1 ps\"\n");
    let barostat = |thermostat: &str, kind: &str, coupling: &str, pressure: &str| {
        format!(
            "{thermostat}\n[barostat]\nkind = \"{kind}\"\ncoupling = \"{coupling}\"\npressure = {pressure}\n\
             time = \"1 ps\"\ncompressibility = \"2e-4 1/bar\"\nevery = 7\n"
        )
    };
    let (one, two, three) = (
        "\"1 bar\"",
        "[\"1 bar\", \"5 bar\"]",
        "[\"1 bar\", \"2 bar\", \"3 bar\"]",
    );
    let tension = "\"1 bar\"\ntension = \"20 mN/m\"";
    vec![
        ("nve", "kind = \"nve\"\n".into()),
        ("leapfrog", "kind = \"leapfrog\"\n".into()),
        ("langevin", simple("langevin")),
        ("bussi", simple("bussi")),
        ("nose-hoover", simple("nose-hoover")),
        ("berendsen", simple("berendsen")),
        (
            "rescale isotropic",
            barostat(BUSSI, "cell-rescale", "isotropic", one),
        ),
        (
            "rescale semi-isotropic",
            barostat(BUSSI, "cell-rescale", "semi-isotropic", two),
        ),
        (
            "rescale anisotropic",
            barostat(BUSSI, "cell-rescale", "anisotropic", three),
        ),
        (
            "berendsen isotropic",
            barostat(BERENDSEN, "berendsen", "isotropic", one),
        ),
        (
            "berendsen semi-isotropic",
            barostat(BERENDSEN, "berendsen", "semi-isotropic", two),
        ),
        (
            "berendsen anisotropic",
            barostat(BERENDSEN, "berendsen", "anisotropic", three),
        ),
        (
            "rescale surface tension",
            barostat(BUSSI, "cell-rescale", "surface-tension", tension),
        ),
        (
            "berendsen surface tension",
            barostat(BERENDSEN, "berendsen", "surface-tension", tension),
        ),
    ]
}

/// The example with an integrator and every kind of output.
pub fn input(integrator: &str) -> String {
    // The time step stands in [integrator], whatever follows.
    let (first, rest) = integrator.split_once('\n').unwrap();
    let section = format!("{first}\ntimestep = \"4 fs\"\n{rest}");
    let text = changed(ARGON, "kind = \"nve\"\ntimestep = \"2 fs\"\n", &section);
    let text = changed(&text, "steps = 20", "steps = 150");
    let trajectories = "trajectory = [{ every = 10, file = \"argon.xtc\" }, { every = 15, file = \"argon.dcd\" }, \
                        { every = 20, file = \"argon.gro\" }, { every = 25, file = \"argon.xyz\", unwrap = true }, \
                        { every = 30, file = \"argon.pdb\" }]";
    let text = changed(
        &text,
        "trajectory = { every = 5, file = \"argon.xtc\" }",
        trajectories,
    );
    text + "[[analyze]]\nkind = \"rdf\"\nevery = 10\n[[analyze]]\nkind = \"msd\"\nevery = 10\n"
}

/// Compares everything two runs left.
pub fn same_outputs(lab: &Lab, one: &str, other: &str, what: &str) {
    for name in OUTPUTS {
        if !lab.path(&format!("{one}/{name}")).exists() {
            continue;
        }
        let (a, b) = (
            lab.read(&format!("{one}/{name}")),
            lab.read(&format!("{other}/{name}")),
        );
        assert!(
            a == b,
            "{what}: {name} of {one} and {other} differ ({} and {} bytes)",
            a.len(),
            b.len()
        );
    }
}

fn continues_exactly(range: std::ops::Range<usize>) {
    for (name, integrator) in &integrators()[range] {
        let lab = Lab::with_argon(&input(integrator));
        lab.succeeds(&["run", "argon.toml", "--out", "whole"]);
        assert!(lab.path("whole/rdf.csv").exists() && lab.path("whole/argon.xyz").exists());
        // 67 is no multiple of any period.
        lab.succeeds(&["run", "argon.toml", "--out", "parts", "--steps", "67"]);
        lab.succeeds(&[
            "run",
            "argon.toml",
            "--out",
            "parts",
            "--resume",
            "--steps",
            "101",
        ]);
        let tried = lab.succeeds(&["run", "argon.toml", "--out", "parts", "--resume"]);
        assert!(tried.out.contains("from step 101"), "{}", tried.out);
        same_outputs(&lab, "whole", "parts", name);
    }
}

#[test]
fn integrators_continue_exactly() {
    continues_exactly(0..6);
}

#[test]
fn barostats_continue_exactly() {
    continues_exactly(6..14);
}

/// A lipid with dipoles, whose trajectories have orientations beside them.
fn lipid() -> String {
    let data = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../debye/tests/data/elba/single_lipid_dopc.data"
    );
    format!(
        "units = \"md\"\n[system]\nfile = \"{data}\"\nformat = \"lammps\"\nlength_unit = \"Å\"\n\
         [forcefield]\ninclude = \"elba\"\n\
         [integrator]\nkind = \"langevin\"\ntimestep = \"5 fs\"\ntemperature = \"303 K\"\ntime = \"1 ps\"\n\
         [run]\nsteps = 60\ntemperature = \"303 K\"\n\
         [output]\ntrajectory = [{{ every = 5, file = \"lipid.xtc\" }}, {{ every = 7, file = \"lipid.dcd\" }}, \
         {{ every = 10, file = \"plain.xtc\", orientations = false }}, {{ every = 5, file = \"lipid.xyz\" }}, \
         {{ every = 5, file = \"some.gro\", species = [\"G\", \"T\"] }}]\n\
         final = \"final.data\"\nreport = false\n"
    )
}

#[test]
fn orientations_beside_trajectories_continue_exactly() {
    let lab = Lab::new();
    lab.write("lipid.toml", lipid());
    lab.succeeds(&["run", "lipid.toml", "--out", "whole"]);
    lab.succeeds(&["run", "lipid.toml", "--out", "parts", "--steps", "33"]);
    lab.succeeds(&["run", "lipid.toml", "--out", "parts", "--resume"]);
    // As a run leaves them that was killed after its checkpoint: frames too many, the last cut short.
    lab.succeeds(&["run", "lipid.toml", "--out", "killed", "--steps", "33"]);
    for name in ["lipid.xtc", "lipid.dcd", "some.gro"] {
        let name = format!("killed/{name}.orientations");
        let more = [lab.read(&name), vec![7; 500]].concat();
        lab.write(&name, more);
    }
    lab.succeeds(&["run", "lipid.toml", "--out", "killed", "--resume"]);
    for name in [
        "lipid.xtc",
        "lipid.xtc.orientations",
        "lipid.dcd",
        "lipid.dcd.orientations",
        "some.gro.orientations",
        "final.data",
    ] {
        for other in ["parts", "killed"] {
            let (a, b) = (
                lab.read(&format!("whole/{name}")),
                lab.read(&format!("{other}/{name}")),
            );
            assert!(a == b, "{name} of {other}: {} and {} bytes", a.len(), b.len());
        }
    }
    assert!(!lab.path("whole/plain.xtc.orientations").exists());
    assert!(!lab.path("whole/lipid.xyz.orientations").exists());
    let frames = |name: &str| -> Vec<debye_io::Frame> {
        let all = debye_io::Trajectory::open(lab.path(name)).unwrap();
        all.map(Result::unwrap).collect()
    };
    let exact = frames("whole/lipid.xyz");
    for (name, count) in [("whole/lipid.xtc", 13), ("whole/lipid.dcd", 9)] {
        let found = frames(name);
        assert_eq!(found.len(), count);
        let some = |frame: &debye_io::Frame| frame.orientations.is_some();
        assert!(found.iter().all(some), "{name}");
    }
    for (exact, found) in exact.iter().zip(&frames("whole/lipid.xtc")) {
        let pairs = exact.orientations.iter().flatten();
        let pairs = pairs.zip(found.orientations.iter().flatten());
        // Beads that do not turn have none beside the trajectory.
        let turning: Vec<_> = pairs.filter(|(_, found)| **found != [0.0; 4]).collect();
        assert_eq!(turning.len(), 3);
        let near = |(a, b): &(&[f64; 4], &[f64; 4])| a.iter().zip(*b).all(|(a, b)| (a - b).abs() < 1e-7);
        assert!(turning.iter().all(near));
    }
    assert!(
        frames("whole/plain.xtc")
            .iter()
            .all(|frame| frame.orientations.is_none())
    );
    // What was lost is missed before anything is changed.
    std::fs::remove_file(lab.path("parts/lipid.xtc.orientations")).unwrap();
    let arguments = ["run", "lipid.toml", "--out", "parts", "--resume", "--steps", "90"];
    lab.refuses(&arguments, 2, &["lipid.xtc.orientations"]);
}

#[test]
fn precisions_continue_exactly() {
    let (_, integrator) = &integrators()[4];
    let lab = Lab::with_argon(&input(integrator));
    for precision in ["single", "double"] {
        let run = |arguments: &[&str]| {
            let base = ["run", "argon.toml", "--precision", precision];
            lab.succeeds(&[&base, arguments].concat());
        };
        let (whole, parts) = (format!("whole-{precision}"), format!("parts-{precision}"));
        run(&["--out", &whole]);
        run(&["--out", &parts, "--steps", "67"]);
        run(&["--out", &parts, "--resume"]);
        same_outputs(&lab, &whole, &parts, precision);
    }
}

#[test]
fn threads_change_nothing() {
    for integrator in [0, 2, 8] {
        let (name, integrator) = &integrators()[integrator];
        let lab = Lab::with_argon(&input(integrator));
        for threads in ["1", "2", "5"] {
            lab.succeeds(&["run", "argon.toml", "--threads", threads, "--out", threads]);
        }
        same_outputs(&lab, "1", "2", name);
        same_outputs(&lab, "1", "5", name);
        // Another number of threads may go on.
        lab.succeeds(&[
            "run",
            "argon.toml",
            "--threads",
            "1",
            "--out",
            "mixed",
            "--steps",
            "67",
        ]);
        let tried = lab.succeeds(&[
            "run",
            "argon.toml",
            "--threads",
            "2",
            "--out",
            "mixed",
            "--resume",
        ]);
        assert!(!tried.out.contains("note"), "{}", tried.out);
        same_outputs(&lab, "1", "mixed", name);
    }
}

#[test]
fn a_finished_run_can_be_resumed_and_stays() {
    let lab = Lab::with_argon(ARGON);
    lab.succeeds(&["run", "argon.toml"]);
    let before = lab.read("argon.out/final.gro");
    for arguments in [&["--resume"][..], &["--resume", "--steps", "10"]] {
        let tried = lab.succeeds(&[&["run", "argon.toml"], arguments].concat());
        assert!(tried.out.contains("nothing is left to do"), "{}", tried.out);
        assert!(tried.out.contains("at step 20"), "{}", tried.out);
        assert!(before == lab.read("argon.out/final.gro"));
    }
    // Nothing to resume yet: it begins.
    lab.succeeds(&["run", "argon.toml", "--resume", "--out", "new"]);
    assert!(before == lab.read("new/final.gro"));
}

/// Outputs may come, go and change places; those that stay are those of one run.
#[test]
fn outputs_are_found_by_name() {
    let outputs = |lines: &str, analyses: &str| {
        let text = changed(ARGON, "trajectory = { every = 5, file = \"argon.xtc\" }", lines);
        changed(&text, "steps = 20", "steps = 40") + analyses
    };
    let rdf = "[[analyze]]\nkind = \"rdf\"\nevery = 10\n";
    let msd = "[[analyze]]\nkind = \"msd\"\nevery = 10\n";
    let both = "trajectory = [{ every = 10, file = \"argon.xtc\" }, { every = 10, file = \"argon.dcd\" }]";
    let others = "trajectory = [{ every = 5, file = \"new.xyz\" }, { every = 10, file = \"argon.dcd\" }]";

    let lab = Lab::with_argon(&outputs(both, &format!("{rdf}{msd}")));
    lab.succeeds(&["run", "argon.toml", "--out", "whole"]);
    lab.succeeds(&["run", "argon.toml", "--steps", "20"]);
    let left = lab.read("argon.out/argon.xtc");

    // Without the XTC and the MSD, with an XYZ before what was there.
    lab.write("argon.toml", outputs(others, rdf));
    lab.succeeds(&["run", "argon.toml", "--resume"]);
    assert!(lab.read("argon.out/argon.xtc") == left);
    for name in ["energy.csv", "argon.dcd", "final.gro", "rdf.csv"] {
        let (whole, parts) = (
            lab.read(&format!("whole/{name}")),
            lab.read(&format!("argon.out/{name}")),
        );
        assert!(whole == parts, "{name}");
    }
    // Steps 20, 25, 30, 35, 40, five hundred atoms each.
    let frames = String::from_utf8(lab.read("argon.out/new.xyz")).unwrap();
    assert_eq!(frames.lines().count(), 5 * 502);

    // What was left alone is not overwritten by an output that comes anew.
    lab.write("argon.toml", outputs(both, rdf));
    let resume = ["run", "argon.toml", "--resume", "--steps", "60"];
    lab.refuses(&resume, 2, &["argon.xtc", "there already", "another `file`"]);
    // What a file holds cannot change half-way.
    let unwrapped = others.replace("\"argon.dcd\"", "\"argon.dcd\", unwrap = true");
    lab.write("argon.toml", outputs(&unwrapped, rdf));
    lab.refuses(
        &resume,
        2,
        &["argon.dcd", "whether they are wrapped, changed", "another `file`"],
    );
}

/// Everybody may read a checkpoint who may read the other files.
#[test]
#[cfg(unix)]
fn checkpoints_have_the_usual_mode() {
    use std::os::unix::fs::PermissionsExt;
    let lab = Lab::with_argon(&changed(ARGON, "keep = 1", "keep = 2"));
    lab.succeeds(&["run", "argon.toml"]);
    let mode = |name: &str| {
        let path = lab.path(&format!("argon.out/{name}"));
        std::fs::metadata(path).unwrap().permissions().mode()
    };
    assert_eq!(mode("argon.checkpoint"), mode("energy.csv"));
    assert_eq!(mode("argon.checkpoint.1"), mode("energy.csv"));
}

/// The newest checkpoint of the folder is taken whatever it is called.
#[test]
fn a_renamed_checkpoint_is_found() {
    let planned = "checkpoint = { every = 10, keep = 1 }\n";
    let lab = Lab::with_argon(ARGON);
    lab.succeeds(&["run", "argon.toml", "--out", "whole", "--steps", "60"]);
    lab.write("argon.toml", changed(ARGON, planned, ""));
    lab.succeeds(&["run", "argon.toml"]);
    assert!(lab.path("argon.out/argon.checkpoint").exists());
    // As runs without a plan called it once.
    std::fs::rename(
        lab.path("argon.out/argon.checkpoint"),
        lab.path("argon.out/run.checkpoint"),
    )
    .unwrap();
    lab.write("argon.toml", ARGON);
    let tried = lab.succeeds(&["run", "argon.toml", "--resume", "--steps", "40"]);
    assert!(tried.out.contains("from step 20"), "{}", tried.out);
    assert!(tried.out.contains("went on from run.checkpoint"), "{}", tried.out);
    let named = planned.replace("keep", "file = \"foo.cpt\", keep");
    lab.write("argon.toml", changed(ARGON, planned, &named));
    let tried = lab.succeeds(&["run", "argon.toml", "--resume", "--steps", "60"]);
    assert!(tried.out.contains("from step 40"), "{}", tried.out);
    same_outputs(&lab, "whole", "argon.out", "renamed");
    // Nor is the name a reason to take an older one.
    lab.write("argon.toml", ARGON);
    let tried = lab.succeeds(&["run", "argon.toml", "--resume", "--steps", "61"]);
    assert!(tried.out.contains("from step 60"), "{}", tried.out);
}

/// Results without a checkpoint are not overwritten by a run that was to go on.
#[test]
fn lost_checkpoints_lose_nothing() {
    let lab = Lab::with_argon(ARGON);
    lab.succeeds(&["run", "argon.toml"]);
    std::fs::remove_file(lab.path("argon.out/argon.checkpoint")).unwrap();
    let why = ["argon.out", "no checkpoint", "--overwrite"];
    lab.refuses(&["run", "argon.toml", "--resume"], 2, &why);
    // Another input does not change that.
    lab.write("argon.toml", changed(ARGON, "steps = 20", "steps = 30"));
    lab.refuses(&["run", "argon.toml", "--resume"], 2, &why);
    lab.succeeds(&["run", "argon.toml", "--overwrite"]);
    std::fs::create_dir(lab.path("empty")).unwrap();
    lab.succeeds(&["run", "argon.toml", "--resume", "--out", "empty"]);
}

/// A start that fails takes nothing away and leaves a folder that can be used.
#[test]
fn failed_starts_leave_the_folder_usable() {
    let lab = Lab::with_argon(ARGON);
    lab.succeeds(&["run", "argon.toml"]);
    // The file of the trajectory is a folder.
    std::fs::create_dir(lab.path("argon.out/new.xtc")).unwrap();
    lab.write("argon.toml", changed(ARGON, "argon.xtc", "new.xtc"));
    lab.refuses(&["run", "argon.toml", "--overwrite"], 2, &["new.xtc"]);
    // An analysis that cannot be.
    let absurd = "[[analyze]]\nkind = \"rdf\"\nevery = 10\nr_max = \"1e9 nm\"\n";
    lab.write("argon.toml", ARGON.to_owned() + absurd);
    lab.refuses(&["run", "argon.toml", "--overwrite"], 2, &["r_max"]);
    // Killed before the first checkpoint: only a list and a beginning are there.
    lab.write("argon.toml", ARGON);
    lab.succeeds(&["run", "argon.toml", "--out", "begun"]);
    std::fs::remove_file(lab.path("begun/argon.checkpoint")).unwrap();
    lab.write("begun/.unfinished-start", "");
    lab.succeeds(&["run", "argon.toml", "--out", "begun", "--resume"]);
    assert!(!lab.path("begun/.unfinished-start").exists());
    // A list that this program wrote makes the folder its own.
    for name in ["begun/argon.checkpoint", "begun/input.toml"] {
        std::fs::remove_file(lab.path(name)).unwrap();
    }
    lab.succeeds(&["run", "argon.toml", "--out", "begun", "--overwrite"]);
    // Killed while it tried whether the folder can be written to.
    lab.write("tried/.unfinished-checkpoint-a1B2c3", "");
    lab.succeeds(&["run", "argon.toml", "--out", "tried", "--resume"]);
    assert!(!lab.path("tried/.unfinished-checkpoint-a1B2c3").exists());
    lab.write("other/files.txt", "energy.csv\n");
    lab.refuses(
        &["run", "argon.toml", "--out", "other", "--overwrite"],
        2,
        &["no run"],
    );
}

#[test]
fn outputs_stay_in_their_folder() {
    for file in ["sub/a.xtc", "../a.xtc", "/tmp/a.xtc"] {
        let lab = Lab::with_argon(&changed(ARGON, "argon.xtc", file));
        let why = ["argon.toml:19", file, "name the file alone"];
        lab.refuses(&["run", "argon.toml"], 2, &why);
        assert!(!lab.path("argon.out").exists());
    }
    let lab = Lab::with_argon(&changed(
        ARGON,
        "table = { every = 5 }",
        "table = { every = 5, file = \"input.toml\" }",
    ));
    lab.refuses(&["run", "argon.toml"], 2, &["input.toml", "another output"]);
}

/// A radial distribution of a large system does not look through half of it.
#[test]
fn the_default_of_r_max_is_bounded() {
    let text = changed(ARGON, "cutoff = \"10 Å\"", "cutoff = \"3 Å\"");
    let lab = Lab::with_argon(&(text + "[[analyze]]\nkind = \"rdf\"\nevery = 10\nbins = 12\n"));
    lab.succeeds(&["run", "argon.toml"]);
    let table = String::from_utf8(lab.read("argon.out/rdf.csv")).unwrap();
    let last = table.lines().last().unwrap();
    let r: f64 = last.split(',').next().unwrap().parse().unwrap();
    // Four cut-offs are 1.2 nm, half the cell is 1.375 nm.
    assert!((r - 1.15).abs() < 1e-6, "{last}");
}
