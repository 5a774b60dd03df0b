//! `equilibration` of [run] and `from` of [[analyze]]: steps, or times.

use crate::{ARGON, accept, parse, with};

fn argon(run: &str, analyses: &str) -> String {
    with(ARGON, "steps = 10_000", &format!("steps = 10_000\n{run}")) + analyses
}

#[test]
fn steps_or_a_time() {
    for (text, steps) in [
        ("equilibration = 500", 500),
        ("equilibration = 1e3", 1000),
        ("equilibration = \"1 ps\"", 500),
        ("equilibration = \"1.0009 ps\"", 501),
        ("equilibration = \"0.6 ps\"", 300),
        ("equilibration = 0", 0),
        ("", 0),
    ] {
        assert_eq!(accept(&argon(text, "")).run.equilibration, steps, "{text}");
    }
    for bad in ["-5", "1.5", "\"1 nm\"", "\"-1 ps\"", "true", "\"1e30 ps\""] {
        let error = parse(&argon(&format!("equilibration = {bad}"), ""))
            .err()
            .unwrap();
        assert_eq!(
            (error.key.as_str(), error.line),
            ("run.equilibration", 17),
            "{error}"
        );
    }
}

#[test]
fn analyses_begin_after_it_unless_they_say_when() {
    let analyses = "[[analyze]]\nkind = \"rdf\"\nevery = 300\n[[analyze]]\nkind = \"msd\"\nevery = 10\nfrom = \"4 ps\"\n\
                    [[analyze]]\nkind = \"vacf\"\nevery = 10\nfrom = 0\n";
    let s = accept(&argon("equilibration = \"1 ps\"", analyses));
    let from: Vec<u64> = s.analyses.iter().map(|a| a.from).collect();
    assert_eq!(from, [500, 2000, 0]);
    let first = &s.analyses[0];
    assert_eq!(first.first_look(), 600);
    assert!(!first.looks_at(300) && first.looks_at(600) && !first.looks_at(601));
    let rows = debye::run::setup(&s);
    let text = |label: &str| rows.iter().find(|(l, _)| *l == label).map(|(_, t)| t.as_str());
    assert_eq!(text("run"), Some("10 000 steps, 20 ps; averages from 1 ps on"));
    assert_eq!(
        text("analyses"),
        Some(
            "rdf.csv every 300 steps from 1 ps on, msd.csv every 10 steps from 4 ps on, vacf.csv every 10 steps"
        )
    );
}
