//! Sections of the mesh: Figs. 5 and 6.

use debye::plot::Axis;

use super::super::salt::ORDER;
use super::super::{FFT, MESH, paper};
use super::{NO_DEVICE, at, compared, figure, largest_common, times};
use crate::study::{Bench, Lead, Section, Table, seconds};

/// The power of the number of ions that times grow with, between two sizes.
fn power(sizes: [f64; 2], times: [f64; 2]) -> f64 {
    (times[1] / times[0]).ln() / (sizes[1] / sizes[0]).ln()
}

pub(in crate::spme) fn interpolation(bench: &mut Bench<'_>) {
    let found = &bench.found;
    let (atomics, engine) = ("GPU atomics, stored splines", "GPU engine");
    let (place, ions) = largest_common(found, MESH);
    let both = [paper::IONS[3], paper::IONS[6]];
    let meaning = match (
        found.lead(MESH, engine, atomics),
        found.lead(MESH, "CPU engine", "CPU loop"),
    ) {
        (Some(lead), _) => {
            let why = match lead.wins() {
                true => ": it adds in shared memory and writes every point once",
                false => "",
            };
            format!(
                "For {} ions the engine's kernel is {} the paper's, whose threads add {} numbers each to memory one by \
                 one{why}. Its result is the same bits every time, that of atomic adds is not.",
                lead.size,
                lead.words(),
                ORDER.pow(3)
            )
        }
        (None, Some(lead)) => format!(
            "For {} ions the engine on this processor is {} one loop of double precision. {NO_DEVICE}",
            lead.size,
            lead.words()
        ),
        _ => "Nothing was measured.".into(),
    };
    let us = |name: &str| at(found, MESH, name, ions).map(|s| s * 1e6);
    let growth = |name: &str| {
        let [from, to] = both.map(|size| at(found, MESH, name, size));
        Some(power(both, [from?, to?]))
    };
    let chart = times(
        found,
        MESH,
        "Charges onto a mesh",
        (Axis::log("ions"), 1e6, "µs"),
        &[("paper, NVIDIA 2080", &paper::IONS, &paper::INTERPOLATION)],
    );
    let in_paper = power(both, [paper::INTERPOLATION[3], paper::INTERPOLATION[6]]);
    let section = Section {
        title: "Charge interpolation (Fig. 5)".into(),
        meaning,
        comparisons: vec![
            compared(
                format!("atomic adds, {ions} ions"),
                (paper::INTERPOLATION[place], paper::GPU),
                us(atomics),
                "µs",
            ),
            compared(
                format!("the engine, {ions} ions"),
                (paper::INTERPOLATION[place], paper::GPU),
                us(engine),
                "µs",
            ),
            compared(
                "power of the ions that atomic adds grow with, 1,728 to 5,832 (the text says linear)".into(),
                (in_paper, paper::GPU),
                growth(atomics),
                "",
            ),
        ],
        figures: vec![figure(
            "interpolation",
            "Fig. 5: time to interpolate all charges. Dashed: this processor. Dots: the paper. Beyond 5,832 ions the mesh is \
             that of a tolerance of 1e-4, not 1e-5.",
            chart,
        )],
        ladders: &[MESH],
        ..Section::default()
    };
    bench.found.sections.push(section);
}

pub(in crate::spme) fn transforms(bench: &mut Bench<'_>, chosen: &[(f64, [usize; 2])]) {
    let found = &bench.found;
    let (library, any, engine) = ("GPU cuFFT", "GPU cuFFT, any size", "GPU engine");
    let (complex, complex_any) = ("CPU rustfft, complex", "CPU rustfft, complex, any size");
    let rows = chosen.iter().map(|&(tolerance, [computed, smooth])| {
        let time = |name: &str| at(found, FFT, name, tolerance).map_or("–".into(), seconds);
        vec![
            format!("{tolerance:.0e}"),
            format!("{computed}{}", factored(computed)),
            time(complex_any),
            time(any),
            format!("{smooth}{}", factored(smooth)),
            time(complex),
            time("CPU engine"),
            time(library),
            time(engine),
        ]
    });
    let rows: Vec<Vec<String>> = rows.collect();
    // Over the tolerances that both were measured for.
    let mean = |one: &str, other: &str| Lead::mean(&found.leads(FFT, one, other));
    let rounded = |one: &str, other: &str| mean(one, other).map_or("not compared with".into(), |l| l.words());
    // Leads are in order of the tolerance, so the largest mesh comes first.
    let largest = found
        .leads(FFT, engine, library)
        .first()
        .map_or(String::new(), |lead| {
            format!(", and with the largest mesh {} it", lead.words())
        });
    let meaning = match (mean(engine, library), mean("CPU engine", complex)) {
        (Some(lead), _) => {
            let why = match lead.wins() {
                true => ": it has fewer launches, and multiplies between two of its passes",
                false => "",
            };
            format!(
                "On average over the tolerances the engine's transforms are {} cuFFT{largest}{why}. With sizes of 2, 3 and 5 \
                 cuFFT is {} with sizes as they are computed; its meshes are larger then.",
                lead.words(),
                rounded(library, any),
            )
        }
        (None, Some(lead)) => format!(
            "On average over the tolerances the engine's transforms of real numbers on this processor are {} complex ones on one \
             thread. With sizes of 2, 3 and 5 these are {} with sizes as they are computed; the meshes are larger then.",
            lead.words(),
            rounded(complex, complex_any),
        ),
        _ => "Nothing was measured.".into(),
    };
    let growth = |name: &str| Some(at(found, FFT, name, 1e-6)? / at(found, FFT, name, 1e-3)?);
    // The usual tolerance, where it was measured.
    let usual = if chosen.iter().any(|one| one.0 == 1e-5) {
        4
    } else {
        2
    };
    let tolerance = paper::TOLERANCES[usual];
    let ms = |name: &str, tolerance: f64| at(found, FFT, name, tolerance).map(|s| s * 1e3);
    let chart = times(
        found,
        FFT,
        "There and back, four cells",
        (Axis::log("error tolerance"), 1e3, "ms"),
        &[("paper, NVIDIA 2080", &paper::TOLERANCES, &paper::TRANSFORM)],
    );
    let section = Section {
        title: "The reciprocal-space sum (Fig. 6)".into(),
        meaning,
        comparisons: vec![
            compared(
                format!("cuFFT, tolerance {tolerance:.0e}"),
                (paper::TRANSFORM[usual], paper::GPU),
                ms(library, tolerance),
                "ms",
            ),
            compared(
                format!("the engine, tolerance {tolerance:.0e}"),
                (paper::TRANSFORM[usual], paper::GPU),
                ms(engine, tolerance),
                "ms",
            ),
            compared(
                "tolerance 1e-6 over 1e-3, cuFFT with sizes as computed".into(),
                (paper::TRANSFORM[6] / paper::TRANSFORM[0], paper::GPU),
                growth(any),
                "times",
            ),
        ],
        tables: vec![Table {
            name: "sizes".into(),
            title: "Points along an axis that a tolerance asks for, and rounded up".into(),
            head: [
                "tolerance",
                "computed",
                complex_any,
                any,
                "rounded up",
                complex,
                "CPU engine",
                library,
                engine,
            ]
            .map(String::from)
            .into(),
            rows,
        }],
        figures: vec![figure(
            "transforms",
            "Fig. 6: transforms there and back and the product between. Dashed: this processor. Dots: the paper.",
            chart,
        )],
        ladders: &[FFT],
        ..Section::default()
    };
    bench.found.sections.push(section);
}

/// Factors of a number: ` = 2·43`.
fn factored(number: usize) -> String {
    let (mut rest, mut factors) = (number, Vec::new());
    for p in 2..=number {
        while rest.is_multiple_of(p) && rest > 1 {
            factors.push(p.to_string());
            rest /= p;
        }
    }
    match factors.len() {
        0 | 1 => String::new(),
        _ => format!(" = {}", factors.join("·")),
    }
}
