//! The other commands, used as a newcomer would.

use crate::lab::{ARGON, Lab};

fn json(text: &str) -> serde_json::Value {
    serde_json::from_str(text).unwrap_or_else(|e| panic!("{e}: {text}"))
}

#[test]
fn every_command_explains_itself_with_an_example() {
    let lab = Lab::new();
    for command in ["run", "energy", "build", "analyze", "bench", "check", "info"] {
        let tried = lab.succeeds(&[command, "--help"]);
        assert!(tried.out.contains("Example"), "{command}");
        assert!(tried.out.contains(&format!("debye {command}")), "{command}");
    }
    assert!(lab.succeeds(&["--version"]).out.starts_with("debye "));
}

#[test]
fn a_run_says_what_it_does() {
    let lab = Lab::with_argon(ARGON);
    let tried = lab.succeeds(&["run", "argon.toml"]);
    for text in [
        "  particles   500 (Ar 500)\n",
        "mixed precision",
        "  ensemble    NVE\n",
        "  time step   2 fs, velocity Verlet\n",
        "  force       lennard-jones, cut-off 1 nm, shifted\n",
        "  velocities  drawn for 120 K, seed 1\n",
        "  run         20 steps, 40 fs\n",
        "  output      argon.out: energy.csv every 5, argon.xtc every 5 steps\n",
        "steps/s",
        "ns/day",
    ] {
        assert!(tried.out.contains(text), "`{text}` is missing in {}", tried.out);
    }
    for name in [
        "energy.csv",
        "argon.xtc",
        "argon.checkpoint",
        "final.gro",
        "input.toml",
    ] {
        assert!(lab.path("argon.out").join(name).exists(), "{name}");
    }
    let one = lab.succeeds(&["run", "argon.toml", "--out", "one", "--threads", "1"]);
    assert!(one.out.contains("CPU, 1 thread,"), "{}", one.out);
    let quiet = lab.succeeds(&["run", "argon.toml", "--out", "quiet", "--quiet"]);
    assert_eq!((quiet.out.as_str(), quiet.err.as_str()), ("", ""));
}

/// A barostat that cannot follow says so, and how often.
#[test]
fn a_limited_barostat_is_noted() {
    let barostat = "[barostat]\nkind = \"berendsen\"\npressure = \"1 bar\"\ntime = \"0.01 ps\"\n\
                    compressibility = \"0.1 1/bar\"\nevery = 5\n[run]";
    let lab = Lab::with_argon(&ARGON.replace("[run]", barostat));
    let tried = lab.succeeds(&["run", "argon.toml", "--steps", "6"]);
    assert!(
        tried.out.contains("note: the barostat was limited") && tried.out.contains("10 %"),
        "{}",
        tried.out
    );
    assert!(tried.out.contains("2 times"), "{}", tried.out);
    // The count goes through checkpoints.
    let tried = lab.succeeds(&["run", "argon.toml", "--steps", "7", "--resume"]);
    assert!(tried.out.contains("2 times"), "{}", tried.out);
}

#[test]
fn what_is_built_can_be_run() {
    let lab = Lab::new();
    let lattice = [
        "build",
        "lattice",
        "--cells",
        "4",
        "--spacing",
        "5.5 Å",
        "--species",
        "Ar=39.948 u",
        "-o",
        "a.gro",
    ];
    let built = lab.succeeds(&lattice);
    lab.refuses(&lattice, 2, &["a.gro", "exists already"]);
    lab.refuses(
        &["build", "lj-melt", "-o", "melt.trr"],
        2,
        &["melt.trr", "trr cannot be used to write"],
    );
    lab.succeeds(&["build", "lj-melt", "-o", "melt.data"]);
    assert!(lab.path("melt.data").exists());
    let wrong = [
        "build",
        "lattice",
        "--cells",
        "4",
        "--spacing",
        "5 K",
        "--species",
        "Ar=1",
        "-o",
        "b.gro",
    ];
    lab.refuses(&wrong, 2, &["5 K", "length"]);
    let forces = "[[forces]]\nkind = \"lennard-jones\"\ncutoff = 0.9\nepsilon = 1.0\nsigma = 0.34\n\
                  [integrator]\nkind = \"nve\"\ntimestep = \"2 fs\"\n[run]\nsteps = 5\n[output]\nreport = false\n";
    lab.write("a.toml", built.out + forces);
    lab.succeeds(&["run", "a.toml"]);
    let random = [
        "build",
        "random",
        "--counts",
        "Ar=50,Ne=20",
        "--species",
        "Ar=39.948 u,Ne=20.18 u",
        "--cell",
        "3",
    ];
    lab.succeeds(&[&random[..], &["--apart", "3 Å", "-o", "mix.pdb"]].concat());
    let seen = json(&lab.succeeds(&["analyze", "info", "mix.pdb", "--json"]).out);
    assert_eq!(
        (&seen["species"]["Ar"], &seen["species"]["Ne"]),
        (&50.into(), &20.into())
    );
    for (kind, count) in [("argon-droplet", 14147), ("lj-melt", 4000)] {
        lab.succeeds(&["build", kind, "-o", &format!("{kind}.xyz")]);
        let seen = json(
            &lab.succeeds(&["analyze", "info", &format!("{kind}.xyz"), "--json"])
                .out,
        );
        assert_eq!(seen["particles"], count);
    }
    let forces = "[[forces]]\nkind = \"wca\"\nepsilon = 1.0\nsigma = 1.0\n\
                  [[forces]]\nkind = \"fene-bond\"\nk = 30.0\nr0 = 1.5\n\
                  [integrator]\nkind = \"nve\"\ntimestep = 0.001\n";
    let chains = "build polymer --chains 4 --beads 10 --density 0.5 -o";
    for file in ["chains.pdb", "chains.data", "chains.debye", "chains.gro"] {
        let arguments: Vec<&str> = chains.split(' ').chain([file]).collect();
        let built = lab.succeeds(&arguments);
        let again = built
            .out
            .contains("holds no bonds, but these do: pdb, lammps, debye");
        assert_eq!(again, file == "chains.gro", "{}", built.out);
        lab.write("chains.toml", built.out + forces);
        let seen = json(&lab.succeeds(&["energy", "chains.toml", "--json"]).out);
        assert!(seen["terms"]["fene-bond"].as_f64().unwrap() > 0.0, "{file}");
    }
}

#[test]
fn trajectories_are_analyzed() {
    let lab = Lab::with_argon(&ARGON.replace("steps = 20", "steps = 200"));
    lab.succeeds(&["run", "argon.toml"]);
    let seen = json(
        &lab.succeeds(&["analyze", "info", "argon.out/argon.xtc", "--json"])
            .out,
    );
    assert_eq!((&seen["frames"], &seen["particles"]), (&41.into(), &500.into()));
    assert!((seen["last_time"].as_f64().unwrap() - 0.4).abs() < 1e-6);
    let trajectory = [
        "argon.out/argon.xtc",
        "--topology",
        "argon.out/final.gro",
        "--json",
    ];
    let rdf = json(
        &lab.succeeds(&[&["analyze", "rdf", "--pair", "Ar-Ar"], &trajectory[..]].concat())
            .out,
    );
    let peak = rdf["results"][0]["value"].as_f64().unwrap();
    assert!((0.33..0.45).contains(&peak), "{rdf}");
    assert_eq!(rdf["schema"], "debye/analyze/1");
    for kind in ["msd", "density"] {
        let found = json(&lab.succeeds(&[&["analyze", kind], &trajectory[..]].concat()).out);
        for file in found["files"].as_array().unwrap() {
            assert!(!lab.read(file.as_str().unwrap()).is_empty());
        }
    }
    let drift = json(
        &lab.succeeds(&["analyze", "drift", "argon.out/energy.csv", "--json"])
            .out,
    );
    assert_eq!(drift["rows"], 41);
    assert_eq!(drift["schema"], "debye/analyze-drift/1");
    assert_eq!(seen["schema"], "debye/analyze-info/1");
    assert!(drift["kt_per_ns_per_dof"].as_f64().unwrap().abs() < 1.0);
}

/// Curves are not replaced unless that is said, and what needs two frames does not take one.
#[test]
fn analyses_refuse_to_overwrite_and_to_guess() {
    let lab = Lab::with_argon(ARGON);
    lab.succeeds(&["run", "argon.toml"]);
    let msd = ["analyze", "msd", "argon.out/argon.xtc"];
    let tried = lab.succeeds(&msd);
    assert!(
        tried.out.contains("a line through 0.01 to 0.03 ps"),
        "{}",
        tried.out
    );
    lab.refuses(&msd, 2, &["msd.csv exists already", "--overwrite"]);
    std::fs::remove_file(lab.path("msd.csv")).unwrap();
    lab.refuses(&msd, 2, &["msd.png exists already"]);
    assert!(!lab.path("msd.csv").exists());
    lab.succeeds(&[&msd[..], &["--overwrite"]].concat());
    lab.succeeds(&[&msd[..], &["-o", "other.csv"]].concat());
    let one = ["--skip", "4", "-o", "one.csv"];
    let why = ["argon.xtc: 1 frame with this --skip", "msd needs at least 2"];
    lab.refuses(&[&msd[..], &one].concat(), 2, &why);
    lab.refuses(
        &["analyze", "msd", "argon.out/final.gro", "-o", "one.csv"],
        2,
        &["final.gro: 1 frame is not enough", "at least 2"],
    );
    assert!(!lab.path("one.csv").exists());
}

/// A structure that cannot be written leaves nothing, and what was there stays.
#[test]
fn a_failed_build_leaves_no_file() {
    let lab = Lab::new();
    let build = |side: &str| {
        let base = "build random --counts Ar=5 --species Ar=40 -o a.gro --overwrite --cell";
        base.split(' ')
            .chain([side])
            .map(str::to_owned)
            .collect::<Vec<_>>()
    };
    let (near, far) = (build("5"), build("9000000"));
    let [near, far] = [&near, &far].map(|all| all.iter().map(String::as_str).collect::<Vec<_>>());
    lab.refuses(&far, 2, &["a.gro", "does not fit"]);
    assert!(lab.files().is_empty(), "{:?}", lab.files().keys());
    lab.succeeds(&near);
    lab.refuses(&far, 2, &["a.gro", "does not fit"]);
    assert_eq!(lab.files().len(), 1);
}

#[test]
fn the_benchmark_checks_and_names_what_it_ran() {
    let lab = Lab::new();
    let arguments = [
        "bench",
        "--cases",
        "lj4k",
        "--precision",
        "mixed,double",
        "--seconds",
        "0.2",
        "--threads",
        "1",
    ];
    let found = json(&lab.succeeds(&[&arguments[..], &["--json"]].concat()).out);
    assert_eq!(found["schema"], "debye/bench/1");
    let list = found["results"].as_array().unwrap();
    assert_eq!(list.len(), 2);
    for (row, precision) in list.iter().zip(["mixed", "double"]) {
        assert_eq!((&row["case"], &row["particles"]), (&"lj4k".into(), &4000.into()));
        assert_eq!(
            (&row["precision"], &row["threads"]),
            (&precision.into(), &1.into())
        );
        assert!(row["device"].as_str().unwrap().starts_with("CPU"));
        assert!(row["steps_per_second"].as_f64().unwrap() > 1.0);
        assert!(row["ns_per_day"].is_null());
        assert!(row["energy_error"].as_f64().unwrap() < 2e-6);
    }
    let argon = ["bench", "--cases", "argon-droplet", "--seconds", "0.2", "--json"];
    let found = json(&lab.succeeds(&argon).out);
    assert!(found["results"][0]["ns_per_day"].as_f64().unwrap() > 0.0);
}

#[test]
fn the_checks_pass() {
    let lab = Lab::new();
    assert!(lab.succeeds(&["check"]).out.contains("checks passed"));
    let found = json(&lab.succeeds(&["check", "--json"]).out);
    assert_eq!(found["schema"], "debye/check/1");
    let results = found["results"].as_array().unwrap();
    assert!(results.iter().all(|f| f["passed"] == true));
    let info = json(&lab.succeeds(&["info", "--json"]).out);
    assert_eq!(info["schema"], "debye/info/1");
    assert!(info["potentials"].as_array().unwrap().len() >= 15);
}

#[test]
fn the_examples_are_sound() {
    let lab = Lab::new();
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples");
    let mut count = 0;
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let Some(name) = path
            .file_name()
            .and_then(|n| n.to_str())
            .filter(|n| n.ends_with(".toml"))
        else {
            continue;
        };
        // The large one is evaluated by the benchmark.
        if name == "argon-sphere.toml" {
            continue;
        }
        let text = std::fs::read_to_string(&path).unwrap();
        assert!(
            text.starts_with('#') && text.contains("cargo run --release -- run examples/"),
            "{name}"
        );
        let out = name.replace(".toml", "");
        lab.succeeds(&["run", path.to_str().unwrap(), "--steps", "20", "--out", &out]);
        assert!(lab.path(&format!("{out}/report.html")).exists(), "{name}");
        count += 1;
    }
    assert!(count >= 4);
}
