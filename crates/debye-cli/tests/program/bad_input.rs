//! Input files that cannot be taken as they are meant.

use crate::lab::{ARGON, Lab, changed};

/// What is changed in the example, into what, and what the message must hold.
const CASES: &[(&str, &str, &[&str])] = &[
    (
        "cutoff = \"10 Å\"",
        "cutof = \"10 Å\"",
        &["argon.toml:8", "`cutof`", "did you mean `cutoff`"],
    ),
    (
        "[integrator]",
        "[integrater]",
        &["argon.toml:11", "`integrater`", "did you mean `integrator`"],
    ),
    (
        "timestep = \"2 fs\"",
        "timestep = \"2 nm\"",
        &["argon.toml:13", "2 nm", "time"],
    ),
    (
        "timestep = \"2 fs\"",
        "timestep = \"2 fortnights\"",
        &["argon.toml:13", "fortnights"],
    ),
    (
        "timestep = \"2 fs\"",
        "timestep = 0",
        &["argon.toml:13", "timestep", "0"],
    ),
    (
        "timestep = \"2 fs\"",
        "timestep = -0.002",
        &["argon.toml:13", "-0.002"],
    ),
    (
        "timestep = \"2 fs\"\n",
        "",
        &["argon.toml", "missing", "timestep"],
    ),
    (", sigma = \"3.40 Å\"", "", &["argon.toml:6", "Ar-Ar", "sigma"]),
    (
        "sigma = \"3.40 Å\"",
        "sigma = \"3.40 eV\"",
        &["argon.toml:10", "3.40 eV", "length"],
    ),
    ("sigma = \"3.40 Å\"", "sigma = -0.34", &["argon.toml:10", "-0.34"]),
    ("pairs = { Ar-Ar =", "pairs = { Ar-Ne =", &["argon.toml:10", "Ne"]),
    (
        "cutoff = \"10 Å\"",
        "cutoff = \"500 nm\"",
        &["argon.toml:8", "500"],
    ),
    ("cutoff = \"10 Å\"", "cutoff = -1", &["argon.toml:8", "-1"]),
    (
        "mass = \"39.948 u\"",
        "mass = \"-39.948 u\"",
        &["argon.toml:5", "-39.948"],
    ),
    ("mass = \"39.948 u\"\n", "", &["argon.toml", "mass"]),
    (
        "kind = \"lennard-jones\"",
        "kind = \"lenard-jones\"",
        &["argon.toml:7", "did you mean `lennard-jones`"],
    ),
    (
        "kind = \"nve\"",
        "kind = \"npt\"",
        &["argon.toml:12", "npt", "bussi"],
    ),
    (
        "kind = \"nve\"",
        "kind = \"langevin\"",
        &["argon.toml", "temperature"],
    ),
    (
        "truncation = \"shift\"",
        "truncation = \"switch\"",
        &["argon.toml", "switch_from"],
    ),
    ("steps = 20", "steps = -20", &["argon.toml:15", "-20"]),
    ("steps = 20", "steps = \"many\"", &["argon.toml:15", "many"]),
    (
        "steps = 20",
        "steps = 20\nsteps = 30",
        &["argon.toml:16", "steps"],
    ),
    (
        "temperature = \"120 K\"",
        "temperature = nan",
        &["argon.toml:16", "temperature"],
    ),
    (
        "temperature = \"120 K\"",
        "temperature = \"120 K\"\nprecision = \"half\"",
        &["argon.toml:17", "half", "single, mixed, double"],
    ),
    ("species = \"Ar\"", "species = \"Xe\"", &["argon.toml:3", "Xe"]),
    (
        "lattice = \"fcc\"",
        "lattice = \"fc\"",
        &["argon.toml:3", "did you mean `fcc`"],
    ),
    ("cells = [5, 5, 5]", "cells = [5, 5]", &["argon.toml:3", "cells"]),
    (
        "cells = [5, 5, 5]",
        "cells = [100000, 100000, 100000]",
        &["argon.toml:3", "particles"],
    ),
    (
        "units = \"md\"",
        "units = \"metric\"",
        &["argon.toml:1", "metric"],
    ),
    ("units = \"md\"\n", "", &["argon.toml", "units"]),
    (
        "file = \"argon.xtc\"",
        "file = \"argon.trr\"",
        &["argon.toml:19", "argon.trr"],
    ),
    (
        "file = \"argon.xtc\"",
        "file = \"energy.csv\"",
        &["argon.toml:19", "energy.csv"],
    ),
    (
        "table = { every = 5 }",
        "table = { every = 0 }",
        &["argon.toml:18", "0"],
    ),
    (
        "[run]",
        "[barostat]\nkind = \"berendsen\"\npressure = 1\n[run]",
        &["argon.toml", "time"],
    ),
    ("[species.Ar]", "[species.Ar", &["argon.toml:4"]),
    (
        "cutoff = \"10 Å\"",
        "cutoff = 1e300",
        &["argon.toml:8", "reaches 1e300 nm, more than 10 times"],
    ),
    (
        "[run]",
        "[neighbors]\nbuffer = 1e12\n[run]",
        &[
            "argon.toml:15",
            "is 1e12 nm",
            "10 times the longest cut-off (1 nm)",
        ],
    ),
    ("report = false", "report = \"no\"", &["argon.toml:22", "report"]),
];

#[test]
fn every_fault_is_named_with_its_line() {
    for (from, to, expected) in CASES {
        let lab = Lab::with_argon(&changed(ARGON, from, to));
        for command in ["run", "energy"] {
            lab.refuses(&[command, "argon.toml"], 2, expected);
        }
        assert!(!lab.path("argon.out").exists(), "{to}: a folder was made");
    }
}

#[test]
fn what_is_no_input_file_is_refused() {
    let lab = Lab::new();
    lab.refuses(&["run", "missing.toml"], 2, &["missing.toml", "No such file"]);
    lab.write("folder/x", "");
    lab.refuses(&["run", "folder"], 2, &["folder", "it is a folder"]);
    lab.write("empty.toml", "");
    lab.refuses(&["run", "empty.toml"], 2, &["empty.toml", "units"]);
    lab.write("binary.toml", [0xff, 0xfe, 0, 1, 2, 3]);
    lab.refuses(&["run", "binary.toml"], 2, &["binary.toml", "UTF-8"]);
    lab.write("nul.toml", "units = \"md\"\n\0\0\0");
    lab.refuses(&["run", "nul.toml"], 2, &["nul.toml:2"]);
    lab.refuses(&["run", "/dev/null"], 2, &["/dev/null", "not a file"]);
}

#[test]
fn flags_are_checked() {
    let lab = Lab::with_argon(ARGON);
    lab.refuses(
        &["run", "argon.toml", "--precision", "half"],
        2,
        &["half", "single, mixed, double"],
    );
    lab.refuses(&["run", "argon.toml", "--threads", "0"], 2, &["0"]);
    lab.refuses(&["run", "argon.toml", "--steps", "-5"], 2, &["-5"]);
    lab.refuses(&["run", "argon.toml", "--steps", "some"], 2, &["some"]);
    // As in the file.
    for steps in ["0", "1000000000000001"] {
        lab.refuses(
            &["run", "argon.toml", "--steps", steps],
            2,
            &[steps, "1..=1000000000000000"],
        );
    }
    lab.refuses(&["run", "argon.toml", "--device", "gpu"], 2, &["gpu", "cuda"]);
    let tried = lab.refuses(
        &["run", "argon.toml", "--device", "cuda:1"],
        2,
        &["cuda:1", "not available"],
    );
    assert_eq!(tried.out, "", "no header before a refusal");
    lab.refuses(
        &["run", "argon.toml", "--resume", "--overwrite"],
        2,
        &["--resume", "--overwrite"],
    );
    lab.refuses(&["run"], 2, &["<INPUT>"]);
    lab.refuses(&["runs"], 2, &["runs", "run"]);
    lab.refuses(&["bench", "--cases", "lj5"], 2, &["lj5", "lj32k"]);
    lab.refuses(&["bench", "--seconds", "-1"], 2, &["-1"]);
}

#[test]
fn a_run_that_explodes_says_who_and_fails() {
    let hot = changed(ARGON, "timestep = \"2 fs\"", "timestep = \"500 fs\"");
    let lab = Lab::with_argon(&changed(
        &hot,
        "temperature = \"120 K\"",
        "temperature = \"100000 K\"",
    ));
    lab.refuses(&["run", "argon.toml"], 1, &["particle", "step", "explosion.xyz"]);
    assert!(lab.path("argon.out/explosion.xyz").exists());
    // What was written before is there, and readable.
    lab.succeeds(&["analyze", "info", "argon.out/argon.xtc"]);
}

/// Lists of neighbors that no memory holds are refused before they are made.
#[test]
fn lists_fit_into_the_memory() {
    let cells = "cells = [5, 5, 5]";
    let many = changed(ARGON, cells, "cells = [40, 40, 40]");
    let lab = Lab::with_argon(&changed(&many, "cutoff = \"10 Å\"", "cutoff = 200"));
    for command in ["run", "energy"] {
        lab.refuses(&[command, "argon.toml"], 2, &["GiB", "neighbors", "`cutoff`"]);
    }
    assert!(!lab.path("argon.out").exists());
    // Ten heights of a small cell are too much for the buffer as for the cut-off.
    let few = changed(ARGON, cells, "cells = [1, 1, 1]");
    let lab = Lab::with_argon(&changed(&few, "[run]", "[neighbors]\nbuffer = 5\n[run]"));
    let why = ["argon.toml:15", "lists of 6 nm", "10 times the shortest height"];
    lab.refuses(&["run", "argon.toml"], 2, &why);
}

/// A device that is not there is an error that says what is missing, never a reason to take the processor.
#[test]
fn a_missing_device_is_not_replaced() {
    let lab = Lab::with_argon(ARGON);
    for command in [
        "run argon.toml",
        "energy argon.toml",
        "bench --cases lj4k",
        "run argon.toml --profile",
    ] {
        let tried = lab.shell(&format!(
            "DEBYE_CUDA_DRIVER=/no/such/libcuda.so exec \"$0\" {command} --device cuda"
        ));
        tried.is_refusal(
            command,
            2,
            &["cuda:0", "driver", "DEBYE_CUDA_DRIVER", "/no/such/libcuda.so"],
        );
        assert!(!tried.out.contains("CPU"), "{command}: {}", tried.out);
    }
    assert!(!lab.path("argon.out").exists());
}

/// On the processor there are no kernels to time, which is said.
#[test]
fn a_profile_is_of_a_device() {
    let lab = Lab::with_argon(ARGON);
    let tried = lab.succeeds(&["run", "argon.toml", "--profile=5", "--device", "cpu"]);
    assert!(tried.out.contains("kernels of a CUDA device"), "{}", tried.out);
    lab.refuses(&["run", "argon.toml", "--profile=0"], 2, &["profile"]);
}
