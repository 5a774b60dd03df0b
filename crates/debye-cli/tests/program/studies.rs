//! `debye study` and `debye animate`, as they are typed.

use crate::lab::{ARGON, Lab};

/// What the files of a study must hold.
fn well_formed(lab: &Lab, folder: &str, figures: &[&str]) {
    let text = |name: &str| String::from_utf8(lab.read(&format!("{folder}/{name}"))).unwrap();
    let json: serde_json::Value = serde_json::from_str(&text("results.json")).unwrap();
    assert_eq!(json["schema"], "debye/study/1");
    let rows = json["rows"].as_array().unwrap();
    assert!(
        rows.iter()
            .any(|row| row["seconds"].as_f64().is_some_and(|s| s > 0.0))
    );
    assert!(rows.iter().all(|row| row["failure"].is_null()), "{rows:?}");
    // Nothing was timed on a device.
    assert!(
        rows.iter()
            .all(|row| row["place"] == "cpu" || row["seconds"].is_null())
    );
    let csv = text("results.csv");
    assert_eq!(csv.lines().count(), rows.len() + 1);
    let columns = csv.lines().next().unwrap().split(',').count();
    // Inputs have commas in them and are quoted.
    assert!(csv.lines().all(|line| line.split(',').count() >= columns));
    let page = text("report.html");
    assert!(page.starts_with("<!DOCTYPE html>") && page.trim_end().ends_with("</html>"));
    assert!(
        !page.contains("src=\"http") && !page.contains("href="),
        "the page needs nothing else"
    );
    assert!(page.contains("here / paper") && !page.contains("this report is partial"));
    assert_eq!(json["complete"], true);
    for figure in figures {
        assert!(text(&format!("{figure}.svg")).ends_with("</svg>"), "{figure}");
        assert!(
            lab.read(&format!("{folder}/{figure}.png"))
                .starts_with(b"\x89PNG"),
            "{figure}"
        );
    }
}

#[test]
fn studies_are_listed_run_and_not_replaced() {
    let lab = Lab::new();
    for list in [vec!["study"], vec!["study", "list"]] {
        let tried = lab.debye(&list);
        assert_eq!(tried.status, Some(0), "{}", tried.err);
        for name in [
            "charge-mapping",
            "coarse-grain",
            "potential-map",
            "prefix-sum",
            "spme",
        ] {
            assert!(tried.out.contains(name), "{}", tried.out);
        }
    }
    let unknown = lab.debye(&["study", "nothing", "-o", "x"]);
    assert_eq!(unknown.status, Some(2));
    assert!(
        unknown.err.contains("there is no study `nothing`"),
        "{}",
        unknown.err
    );
    let mistyped = lab.debye(&["study", "prefix_smu", "-o", "x"]);
    assert_eq!(mistyped.status, Some(2));
    assert!(
        mistyped.err.contains("Did you mean `prefix-sum`?"),
        "{}",
        mistyped.err
    );
    assert_eq!(lab.debye(&["study", "prefix-sum"]).status, Some(2));
    lab.write("taken", "a file");
    let file = lab.debye(&["study", "prefix-sum", "-o", "taken", "--overwrite"]);
    assert_eq!(file.status, Some(2));
    assert!(
        file.err.contains("taken is a file; -o takes a folder"),
        "{}",
        file.err
    );
    for (name, figures) in [
        ("charge-mapping", ["sizes", "throughput", "stages"]),
        ("coarse-grain", ["speed-up", "time-step", "potential-energy"]),
        ("potential-map", ["rates", "crossover", "volumes"]),
        ("prefix-sum", ["scans", "forces", "energies"]),
        ("spme", ["real-space", "transforms", "whole"]),
    ] {
        let command = ["study", name, "--device", "cpu", "--smallest", "-o", name];
        let tried = lab.debye(&command);
        assert_eq!(tried.status, Some(0), "{}{}", tried.out, tried.err);
        // All rungs of a device in one line.
        assert_eq!(
            tried.out.matches("not run: --device cpu").count(),
            1,
            "{}",
            tried.out
        );
        well_formed(&lab, name, &figures);
        let again = lab.debye(&command);
        assert_eq!(again.status, Some(2));
        assert!(again.err.contains("--overwrite"), "{}", again.err);
    }
    assert!(lab.read("prefix-sum/snapshots.png").len() > 1000);
    let film = lab.read("prefix-sum/collapse.png");
    assert!(film.windows(4).any(|w| w == b"acTL"));
    // Six rows after the start.
    let page = String::from_utf8(lab.read("prefix-sum/collapse.html")).unwrap();
    assert_eq!(page.matches("<img ").count(), 7);
}

#[test]
fn a_study_goes_on_where_it_stopped() {
    let lab = Lab::new();
    let command = |more: &'static str| {
        let study = [
            "study",
            "charge-mapping",
            "--device",
            "cpu",
            "--smallest",
            "-o",
            "x",
        ];
        [study.as_slice(), &[more]].concat()
    };
    let nothing = lab.debye(&command("--resume"));
    assert_eq!(nothing.status, Some(2));
    assert!(nothing.err.contains("journal.jsonl"), "{}", nothing.err);
    assert_eq!(lab.debye(&command("--overwrite")).status, Some(0));
    let file = lab.path("x/journal.jsonl");
    assert!(!file.exists(), "the study came to its end");
    // What a study that stopped early leaves; it is not overwritten unasked.
    let longer = ["study", "charge-mapping", "--device", "cpu", "--quick", "-o", "y"];
    let mut killed = lab.start(&longer);
    let measured =
        || std::fs::read_to_string(lab.path("y/journal.jsonl")).map_or(0, |text| text.lines().count());
    while measured() < 3 {
        std::thread::sleep(std::time::Duration::from_millis(5));
        assert!(killed.try_wait().unwrap().is_none(), "the study ended");
    }
    killed.kill().unwrap();
    killed.wait().unwrap();
    let refused = lab.debye(&longer);
    assert_eq!(refused.status, Some(2));
    assert!(refused.err.contains("--resume"), "{}", refused.err);
    // As if it had been killed in the middle of its third measurement: numbers of the first that no machine gives.
    let all: serde_json::Value = serde_json::from_slice(&lab.read("x/results.json")).unwrap();
    let head = String::from_utf8(lab.read("y/journal.jsonl")).unwrap();
    let head = head.lines().next().unwrap().replace("quick", "smallest");
    let mut first = all["rows"][0].clone();
    first["seconds"] = 1234.5.into();
    let kept = format!("{head}\n{first}\n{}\n{{\"ladder\": \"tab", all["rows"][1]);
    std::fs::write(&file, &kept).unwrap();
    let on = lab.debye(&command("--resume"));
    assert_eq!(on.status, Some(0), "{}{}", on.out, on.err);
    assert!(on.out.contains("2 measurements are there already"), "{}", on.out);
    let again: serde_json::Value = serde_json::from_slice(&lab.read("x/results.json")).unwrap();
    assert_eq!(again["rows"][0]["seconds"], 1234.5);
    assert_eq!(again["rows"][1], all["rows"][1]);
    let count = |all: &serde_json::Value| all["rows"].as_array().unwrap().len();
    assert_eq!(count(&again), count(&all));
    assert!(!file.exists());
    // Of another study, and of another machine.
    for (from, to) in [("charge-mapping", "spme"), ("\"threads\":", "\"threads\":9")] {
        std::fs::write(&file, kept.replace(from, to)).unwrap();
        let refused = lab.debye(&command("--resume"));
        assert_eq!(refused.status, Some(2));
        assert!(refused.err.contains("of another run"), "{}", refused.err);
    }
}

#[test]
fn a_profile_is_refused_where_it_is_not_read() {
    let lab = Lab::new();
    let tried = lab.debye(&["study", "spme", "--counters", "missing.csv", "-o", "spme"]);
    assert_eq!(tried.status, Some(2));
    assert!(
        tried.err.contains("spme reads no profile") && tried.err.contains("These do: charge-mapping"),
        "{}",
        tried.err
    );
    let tried = lab.debye(&[
        "study",
        "charge-mapping",
        "--counters",
        "missing.csv",
        "-o",
        "mapping",
    ]);
    assert_eq!(tried.status, Some(2));
    assert!(tried.err.contains("cannot read missing.csv"), "{}", tried.err);
    lab.write("empty.csv", "ID,Kernel Name\n");
    let command = [
        "study",
        "charge-mapping",
        "--counters",
        "empty.csv",
        "-o",
        "mapping",
    ];
    let tried = lab.debye(&command);
    assert_eq!(tried.status, Some(2));
    assert!(tried.err.contains("empty.csv has no metrics"), "{}", tried.err);
    assert!(!lab.path("mapping").exists(), "no folder is left behind");
}

#[test]
fn a_trajectory_is_animated() {
    let lab = Lab::with_argon(ARGON);
    assert_eq!(lab.debye(&["run", "argon.toml"]).status, Some(0));
    let command = [
        "animate",
        "argon.out/argon.xtc",
        "--frames",
        "3",
        "--size",
        "160,120",
        "-o",
        "a.png",
    ];
    let tried = lab.debye(&command);
    assert_eq!(tried.status, Some(0), "{}", tried.err);
    assert!(tried.out.contains("3 of 5 frames"), "{}", tried.out);
    let film = lab.read("a.png");
    assert!(film.starts_with(b"\x89PNG") && film.windows(4).any(|w| w == b"acTL"));
    let page = String::from_utf8(lab.read("a.html")).unwrap();
    assert_eq!(page.matches("<img ").count(), 3);
    let again = lab.debye(&command);
    assert_eq!(again.status, Some(2));
    for (wrong, why) in [
        (["--size", "5,5", "-o", "c.png"], "64 to 4096 pixels"),
        (["--size", "160,9000", "-o", "c.png"], "64 to 4096 pixels"),
        (["--size", "160,120", "-o", "c.gif"], "ends in .png"),
    ] {
        let tried = lab.debye(&[&["animate", "argon.out/argon.xtc"][..], &wrong].concat());
        assert_eq!(tried.status, Some(2));
        assert!(tried.err.contains(why), "{}", tried.err);
    }
    // A format that says its velocities, and one frame.
    let one = lab.debye(&[
        "animate",
        "argon.out/final.gro",
        "--size",
        "160,120",
        "-o",
        "b.png",
    ]);
    assert_eq!(one.status, Some(0), "{}", one.err);
}
