//! Kernels one by one, and the ways through them: Tables 4 and 5, Fig. 12.

use debye::prelude::Precision;

use super::beads::{Beads, Model};
use super::branches::{Ways, of_kernels};
use super::interactions::Interaction;
use super::ladder;
use super::report::{SERIAL, compare, engine_name, kernels_name, percent, table};
use super::variants::Part;
use super::versions::{Arithmetic, Types};
use crate::study::{Bench, Input, Place, Section};

/// Speed-up, shares of time and divergence of each kernel: Tables 4 and 5; cost per pair.
pub(super) fn kernels(bench: &mut Bench<'_>, systems: &[Beads]) {
    let found = &bench.found;
    let seconds = |beads: &Beads, part: Part, variant: &str| {
        found
            .of(ladder(beads.model, part), variant)
            .find(|row| row.size == beads.work())
            .and_then(|row| row.seconds)
    };
    let gpu = kernels_name(Types::Matrix, Arithmetic::Single);
    // Published: speed-up, divergent branches.
    let published = |model: Model| match model {
        Model::Water => [(11.78, 0.50), (5.31, 4.73), (13.11, 7.98)],
        Model::Lipids => [(10.0, 1.48), (4.38, 5.52), (7.58, 11.61)],
    };
    let (mut tables, mut comparisons) = (Vec::new(), Vec::new());
    let branches: Vec<_> = systems.iter().map(|beads| of_kernels(beads, true)).collect();
    let within: Vec<f64> = systems
        .iter()
        .map(|beads| Ways::of(beads).within as f64)
        .collect();
    for (beads, counted) in systems.iter().zip(&branches) {
        let parts = [Part::Integration, Part::Neighbors, Part::Forces];
        let names = ["integration", "neighbors", "forces"];
        // A list for ten steps, as at 10 fs.
        let weight = |part: Part| if part == Part::Neighbors { 0.1 } else { 1.0 };
        let total = |variant: &str| -> f64 {
            let of = |&part: &Part| seconds(beads, part, variant).map_or(f64::NAN, |s| weight(part) * s);
            parts.iter().map(of).sum()
        };
        let share = |part: Part, variant: &str| {
            let x = 100.0 * weight(part) * seconds(beads, part, variant)? / total(variant);
            x.is_finite().then_some(x)
        };
        let cell = |x: Option<f64>| x.map_or("not measured".into(), |x| format!("{x:.2}"));
        let warps = beads.len().div_ceil(32) as f64;
        let mut rows = Vec::new();
        for (k, part) in parts.into_iter().enumerate() {
            let ratio = seconds(beads, part, SERIAL)
                .zip(seconds(beads, part, &gpu))
                .map(|(a, b)| a / b);
            let (speed, divergence) = published(beads.model)[k];
            let what = |x: &str| format!("{}, {}: {x}", beads.model.name(), names[k]);
            comparisons.push(compare(
                &what("speed-up"),
                speed,
                "GTX 295, 100,000 beads",
                ratio,
                "times",
            ));
            comparisons.push(compare(
                &what("divergent branches"),
                divergence,
                "GTX 295, 100,000 beads",
                Some(counted[k].percent()),
                "%",
            ));
            rows.push(vec![
                names[k].into(),
                cell(ratio),
                cell(share(part, SERIAL)),
                cell(share(part, &gpu)),
                format!("{:.1}", counted[k].all as f64 / warps),
                format!("{:.1}", counted[k].divided as f64 / warps),
                format!("{:.2}", counted[k].percent()),
            ]);
        }
        let (name, number) = match beads.model {
            Model::Water => ("kernels-water", "Table 4"),
            Model::Lipids => ("kernels-lipids", "Table 5"),
        };
        tables.push(table(
            name,
            &format!("{number}: kernels, {}", beads.label()),
            &[
                "",
                "speed-up",
                "% of time, CPU",
                "% of time, GPU",
                "branches of a warp",
                "divergent",
                "%",
            ],
            rows,
        ));
    }
    // What a pair within the cut-off costs, lipids beside water.
    let per_pair = |part: Part, variant: &str| {
        let cost = |k: usize| Some(seconds(&systems[k], part, variant)? / within[k]);
        Some(cost(1)? / cost(0)?)
    };
    let engine = engine_name(Precision::Mixed, Place::Cuda);
    comparisons.push(compare(
        "a pair of lipids beside one of water, kernels",
        2.0,
        "speed-ups, GTX 480",
        per_pair(Part::Forces, &gpu),
        "times",
    ));
    comparisons.push(compare(
        "a pair of lipids beside one of water, engine",
        2.0,
        "speed-ups, GTX 480",
        per_pair(Part::Step, &engine),
        "times",
    ));
    let [water, lipids] = [0, 1].map(|k| branches[k][2].percent());
    let section = Section {
        title: "Kernels and their divergence (Tables 4 and 5)".into(),
        meaning: format!(
            "Lanes of a warp disagree on {water:.1} % of the decisions of the force kernel in water and on {lipids:.1} % among \
             lipids, counted over all warps: every type of interaction that one lane meets is walked by all. A list counts \
             for a tenth, as one is made for ten steps of 10 fs."
        ),
        comparisons,
        tables,
        ..Section::default()
    };
    bench.found.sections.push(section);
}

/// How often each way is taken: Fig. 12.
pub(super) fn ways(bench: &mut Bench<'_>, systems: &[Beads]) {
    let counted: Vec<Ways> = systems.iter().map(Ways::of).collect();
    let line = |name: &str, of: &dyn Fn(&Ways) -> f64| {
        let mut cells = vec![name.to_owned()];
        cells.extend(counted.iter().map(|ways| format!("{:.2} %", 100.0 * of(ways))));
        cells
    };
    let mut rows = vec![line("A: of listed pairs, within the cut-off", &|w| {
        w.within as f64 / w.listed as f64
    })];
    for what in Interaction::ALL {
        let name = match what {
            Interaction::Water => "B: water–water".to_owned(),
            other => other.name().to_owned(),
        };
        rows.push(line(&name, &|w| {
            w.of_type[what as usize] as f64 / w.within as f64
        }));
    }
    rows.push(line("within reach of the sticky term", &|w| {
        w.sticky as f64 / w.within as f64
    }));
    let water = |k: usize| counted[k].of_type[0] as f64 / counted[k].within as f64;
    let mut head = vec![""];
    head.extend(systems.iter().map(|beads| beads.model.name()));
    let section = Section {
        title: "Ways through the forces (Fig. 12)".into(),
        meaning: format!(
            "In sticky water every pair takes the way of water, and {:.1} % go on to the sticky term; with lipids {:.1} % are \
             pairs of waters and the rest is spread over five ways. Shares are of the pairs within the cut-off.",
            100.0 * counted[0].sticky as f64 / counted[0].within as f64,
            100.0 * water(1),
        ),
        comparisons: vec![
            compare(
                "the rarest way in water",
                3.36,
                "Fig. 12",
                percent(Some(counted[0].sticky as f64 / counted[0].within as f64)),
                "%",
            ),
            compare(
                "the commonest way with lipids",
                76.53,
                "Fig. 12",
                percent(Some(
                    counted[1].of_type.iter().copied().max().unwrap_or(0) as f64 / counted[1].within as f64,
                )),
                "%",
            ),
        ],
        tables: vec![table("ways", "Pairs that take each way", &head, rows)],
        ..Section::default()
    };
    bench.found.sections.push(section);
}
