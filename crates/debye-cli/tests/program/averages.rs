//! Averages and analyses that leave out the beginning, while a run goes on and afterwards.

use crate::lab::{ARGON, Lab, changed};

fn json(text: &str) -> serde_json::Value {
    serde_json::from_str(text).unwrap_or_else(|e| panic!("{e}: {text}"))
}

/// 200 steps with a row every 5; 50 of them to equilibrate.
fn equilibrated() -> String {
    let text = changed(ARGON, "steps = 20", "steps = 200\nequilibration = \"0.1 ps\"");
    let text = changed(&text, "report = false", "report = true");
    text + "[[analyze]]\nkind = \"rdf\"\nevery = 10\n[[analyze]]\nkind = \"msd\"\nevery = 10\nfrom = 100\n"
}

fn column(lab: &Lab, file: &str, name: &str) -> Vec<f64> {
    let text = String::from_utf8(lab.read(file)).unwrap();
    let mut lines = text.lines();
    let place = lines.next().unwrap().split(',').position(|c| c.starts_with(name));
    let cell = |line: &str| line.split(',').nth(place.unwrap()).unwrap().parse().unwrap();
    lines.map(cell).collect()
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

#[test]
fn the_report_leaves_the_equilibration_out() {
    let lab = Lab::with_argon(&equilibrated());
    let tried = lab.succeeds(&["run", "argon.toml"]);
    for text in [
        "run         200 steps, 0.4 ps; averages from 0.1 ps on",
        "analyses    rdf.csv every 10 steps from 0.1 ps on, msd.csv every 10 steps from 0.2 ps on",
        "mean   temperature ",
        "(31 rows from 0.1000 ps on)",
    ] {
        assert!(tried.out.contains(text), "`{text}` is missing in {}", tried.out);
    }
    // The table has all rows.
    assert_eq!(column(&lab, "argon.out/energy.csv", "step").len(), 41);
    let page = String::from_utf8(lab.read("argon.out/report.html")).unwrap();
    for text in [
        "Averages from 0.1 ps on (31 rows",
        "<th>Ensemble</th><td>NVE</td>",
        "<th>Time step</th><td>2 fs, velocity Verlet</td>",
        "<td>lennard-jones, cut-off 1 nm, shifted</td>",
    ] {
        assert!(page.contains(text), "`{text}` is missing in the report");
    }
    let seen = json(
        &lab.succeeds(&[
            "analyze",
            "average",
            "argon.out/energy.csv",
            "--from",
            "0.1 ps",
            "--json",
        ])
        .out,
    );
    assert_eq!(seen["rows"], 31);
}

/// Header, warning, note and report agree where nothing is left to average.
#[test]
fn a_run_that_is_all_equilibration_has_no_averages() {
    for time in ["0.4 ps", "1 ps"] {
        let text = changed(
            &equilibrated(),
            "equilibration = \"0.1 ps\"",
            &format!("equilibration = \"{time}\""),
        );
        let lab = Lab::with_argon(&text);
        let out = lab.succeeds(&["run", "argon.toml"]).out;
        for part in [
            "200 steps, 0.4 ps; all of it is equilibration, without averages",
            "nothing is left to average",
            "there are no averages: the run ends within its equilibration",
        ] {
            assert!(out.contains(part), "`{part}` is missing in {out}");
        }
        assert!(!out.contains("mean  "), "{out}");
        let page = String::from_utf8(lab.read("argon.out/report.html")).unwrap();
        assert!(
            page.contains("No averages: the run ends within its equilibration"),
            "{time}"
        );
        assert!(
            !page.contains("mean of the run") && !page.contains("mean without"),
            "{time}"
        );
    }
    let lab = Lab::with_argon(&equilibrated());
    lab.succeeds(&["run", "argon.toml"]);
    lab.refuses(
        &["analyze", "average", "argon.out/energy.csv", "--from", "-1"],
        2,
        &["--from -1", "a time from 0 on"],
    );
}

/// Interrupted before an analysis has begun, and after: the files are those of one run.
#[test]
fn what_begins_later_goes_on_exactly() {
    let lab = Lab::with_argon(&equilibrated());
    lab.succeeds(&["run", "argon.toml", "--out", "whole"]);
    let early = lab.succeeds(&["run", "argon.toml", "--out", "parts", "--steps", "30"]);
    assert!(
        early
            .out
            .contains("note: rdf.csv is not written: it begins at step 50"),
        "{}",
        early.out
    );
    assert!(
        early
            .out
            .contains("there are no averages: the run ends within its equilibration"),
        "{}",
        early.out
    );
    assert!(!lab.path("parts/rdf.csv").exists());
    lab.succeeds(&["run", "argon.toml", "--out", "parts", "--resume", "--steps", "70"]);
    assert!(lab.path("parts/rdf.csv").exists() && !lab.path("parts/msd.csv").exists());
    lab.succeeds(&[
        "run",
        "argon.toml",
        "--out",
        "parts",
        "--resume",
        "--steps",
        "130",
    ]);
    lab.succeeds(&["run", "argon.toml", "--out", "parts", "--resume"]);
    for name in ["energy.csv", "rdf.csv", "msd.csv"] {
        let [a, b] = ["whole", "parts"].map(|folder| lab.read(&format!("{folder}/{name}")));
        assert!(a == b, "{name} differs");
    }
    // Further than planned is the same simulation; from another time on is another measurement.
    lab.succeeds(&[
        "run",
        "argon.toml",
        "--out",
        "parts",
        "--resume",
        "--steps",
        "220",
    ]);
    lab.write("argon.toml", changed(&equilibrated(), "from = 100", "from = 120"));
    lab.refuses(
        &[
            "run",
            "argon.toml",
            "--out",
            "parts",
            "--resume",
            "--steps",
            "240",
        ],
        2,
        &["msd.csv", "from when"],
    );
}

#[test]
fn a_table_is_averaged_with_block_errors() {
    let lab = Lab::with_argon(&changed(ARGON, "steps = 20", "steps = 200"));
    lab.succeeds(&["run", "argon.toml"]);
    fn asked<'a>(more: &[&'a str]) -> Vec<&'a str> {
        [&["analyze", "average", "argon.out/energy.csv"], more].concat()
    }
    let all = json(&lab.succeeds(&asked(&["--json"])).out);
    assert_eq!(all["rows"], 41);
    let temperatures = column(&lab, "argon.out/energy.csv", "temperature");
    let of = |answer: &serde_json::Value, name: &str| {
        let columns = answer["columns"].as_array().unwrap();
        columns.iter().find(|c| c["name"] == name).unwrap().clone()
    };
    let found = of(&all, "temperature");
    assert!((found["mean"].as_f64().unwrap() / mean(&temperatures) - 1.0).abs() < 1e-12);
    assert!(found["error"].as_f64().unwrap() > 0.0 && found["inefficiency"].as_f64().unwrap() >= 1.0);
    assert_eq!(found["unit"], "K");
    // A row every 0.01 ps: 0.2 ps is step 100, row 20.
    for from in [
        ["--from", "0.2 ps"],
        ["--from", "200 fs"],
        ["--from", "0.2"],
        ["--from-step", "100"],
    ] {
        let late = json(
            &lab.succeeds(&asked(
                &[&from[..], &["--columns", "temperature", "--json"]].concat(),
            ))
            .out,
        );
        assert_eq!(
            (&late["rows"], late["columns"].as_array().unwrap().len()),
            (&21.into(), 1),
            "{from:?}"
        );
        let found = late["columns"][0]["mean"].as_f64().unwrap();
        assert!((found / mean(&temperatures[20..]) - 1.0).abs() < 1e-12);
    }
    let text = lab
        .succeeds(&asked(&["--from", "0.2 ps", "--columns", "temperature,pressure"]))
        .out;
    assert!(
        text.starts_with("averages from 0.2000 ps on, 21 rows\n"),
        "{text}"
    );
    assert!(text.contains(" ± ") && text.contains("bar"), "{text}");
    lab.refuses(
        &asked(&["--from", "0.35 ps"]),
        2,
        &["6 of 41 rows", "at least 10"],
    );
    lab.refuses(&asked(&["--from", "1 nm"]), 2, &["--from 1 nm"]);
    lab.refuses(
        &asked(&["--columns", "warmth"]),
        2,
        &["no column `warmth`", "temperature"],
    );
    lab.refuses(&["analyze", "average", "none.csv"], 2, &["none.csv"]);
    let late = json(
        &lab.succeeds(&[
            "analyze",
            "drift",
            "argon.out/energy.csv",
            "--from",
            "0.2 ps",
            "--json",
        ])
        .out,
    );
    assert_eq!(late["rows"], 21);
}

#[test]
fn trajectories_are_analyzed_from_a_time_on() {
    let lab = Lab::with_argon(&changed(ARGON, "steps = 20", "steps = 100"));
    lab.succeeds(&["run", "argon.toml"]);
    let rdf = ["analyze", "rdf", "argon.out/argon.xtc", "--json", "--overwrite"];
    let frames = |more: &[&str]| json(&lab.succeeds(&[&rdf[..], more].concat()).out)["frames"].clone();
    // A frame every 0.01 ps.
    assert_eq!(frames(&[]), 21);
    assert_eq!(frames(&["--from", "0.1 ps"]), 11);
    assert_eq!(frames(&["--from", "0.1", "--stride", "2"]), 6);
    assert_eq!(frames(&["--from", "0.05", "--skip", "10"]), 11);
    lab.refuses(
        &[&rdf[..], &["--from", "1 ns"]].concat(),
        2,
        &["all of its 21 frames were skipped"],
    );
    lab.refuses(&[&rdf[..], &["--from", "1 K"]].concat(), 2, &["--from 1 K"]);
}

#[test]
fn doubts_are_shown_with_their_line() {
    let lab = Lab::with_argon(&changed(ARGON, "sigma = \"3.40 Å\"", "sigma = 3.4"));
    let tried = lab.succeeds(&["energy", "argon.toml"]);
    assert!(
        tried.err.contains(
            "warning: argon.toml:10: `forces[0].pairs.Ar-Ar.sigma` is 3.4 nm; did you mean \"3.4 Å\"?"
        ),
        "{}",
        tried.err
    );
    let seen = json(&lab.succeeds(&["energy", "argon.toml", "--json"]).out);
    assert!(seen["warnings"][0].as_str().unwrap().contains("did you mean"));
    let facts = seen["setup"].as_array().unwrap();
    assert!(
        facts
            .iter()
            .any(|f| f["fact"] == "force" && f["text"] == "lennard-jones, cut-off 1 nm, shifted")
    );
}
