//! Sections of the mesh and of the whole sum: Figs. 5, 6 and 7.

use debye::plot::Axis;

use super::super::exact::coulomb;
use super::super::salt::{Ions, ORDER, Salt};
use super::super::whole::{LONGEST, Whole, WholeHow, WholeVariant};
use super::super::{FFT, MADELUNG, MESH, WHOLE, paper};
use super::{NO_DEVICE, at, compared, figure, largest_common, times};
use crate::lammps::{CALORIE, Lammps, NO_LAMMPS};
use crate::study::{Bench, Comparison, Section, StudyError, Table, Variant, faster, loses, seconds};

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
        (Some((size, gpu)), _) => {
            let why = match gpu >= 1.0 {
                true => "it adds in shared memory and writes every point once",
                false => loses(bench.device(), size),
            };
            format!(
                "For {size:.0} ions the engine's kernel is {} the paper's, whose threads add {} numbers each to memory one by \
                 one: {why}. Its result is the same bits every time, that of atomic adds is not.",
                faster(gpu),
                ORDER.pow(3)
            )
        }
        (None, Some((size, cpu))) => format!(
            "For {size:.0} ions the engine on this processor is {} one loop of double precision. {NO_DEVICE}",
            faster(cpu)
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
    let mean = |fast: &str, slow: &str| {
        let ratios: Vec<f64> = chosen
            .iter()
            .filter_map(|&(size, _)| Some((at(found, FFT, slow, size)? / at(found, FFT, fast, size)?).ln()))
            .collect();
        (!ratios.is_empty()).then(|| (ratios.iter().sum::<f64>() / ratios.len() as f64).exp())
    };
    let largest = chosen.iter().map(|(_, [_, smooth])| smooth.pow(3)).max();
    let largest = largest.unwrap_or(0) as f64;
    let meaning = match (mean(engine, library), mean("CPU engine", complex)) {
        (Some(gpu), _) => {
            let why = match gpu >= 1.0 {
                true => "it has fewer launches, and multiplies between two of its passes",
                false => loses(bench.device(), largest),
            };
            let rounded = mean(library, any).unwrap_or(f64::NAN);
            format!(
                "On average over the tolerances the engine's transforms are {} cuFFT: {why}. Sizes of 2, 3 and 5 make cuFFT {} \
                 sizes as they are computed, though its meshes are larger.",
                faster(gpu),
                faster(rounded),
            )
        }
        (None, Some(cpu)) => format!(
            "On average over the tolerances the engine's transforms of real numbers on this processor are {} complex ones on one \
             thread. Sizes of 2, 3 and 5 make these {} sizes as they are computed, though the meshes are larger.",
            faster(cpu),
            faster(mean(complex, complex_any).unwrap_or(f64::NAN)),
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

pub(in crate::spme) fn whole(
    bench: &mut Bench<'_>,
    sizes: &[usize],
    lammps: Option<Lammps>,
) -> Result<(), StudyError> {
    let found = &bench.found;
    let name = |how: WholeHow| WholeVariant::new(how).name();
    let [loops, host, kernels, engine] = [
        WholeHow::Loops,
        WholeHow::EngineOnHost,
        WholeHow::Kernels,
        WholeHow::Engine,
    ]
    .map(name);
    let beside = name(WholeHow::Lammps);
    let (place, ions) = largest_common(found, WHOLE);
    let meaning = match (
        found.lead(WHOLE, &engine, &kernels),
        found.lead(WHOLE, &host, &loops),
    ) {
        (Some((size, gpu)), _) => {
            let why = match gpu >= 1.0 {
                true => "pairs and mesh run side by side, and charges are spread without atomics",
                false => "a step also moves ions and looks after its lists, which the paper's kernels do not",
            };
            let salt = Salt::new(Ions::Displaced, (size / 8.0).cbrt().round() as usize);
            let split = salt.split(LONGEST);
            let mesh = match split.points == salt.mesh() {
                true => "the same mesh".to_string(),
                false => format!(
                    "{split}, since its transforms on a device end at {LONGEST} points and the paper's rules ask for {} with its \
                     cut-off,",
                    salt.mesh()
                ),
            };
            format!(
                "For {size:.0} ions a whole step of the engine with {mesh} is {} the paper's kernels one after the other: {why}.",
                faster(gpu)
            )
        }
        (None, Some((size, cpu))) => format!(
            "For {size:.0} ions a whole step of the engine on this processor is {} the same algorithm in plain loops of double \
             precision. {NO_DEVICE}",
            faster(cpu)
        ),
        _ => "Nothing was measured.".into(),
    };
    let lammps = match lammps {
        Some(lammps) => format!("{} ran on one process.", lammps.name()),
        None => format!("{NO_LAMMPS}."),
    };
    let ms = |name: &str| at(found, WHOLE, name, ions).map(|s| s * 1e3);
    let ratio = |slow: &str, fast: &str| Some(ms(slow)? / ms(fast)?);
    let chart = times(
        found,
        WHOLE,
        "Energies and forces",
        (Axis::log("ions"), 1e3, "ms"),
        &[
            ("paper, NVIDIA 2080", &paper::IONS, &paper::WHOLE),
            ("paper, LAMMPS on one core", &paper::IONS, &paper::WHOLE_LAMMPS),
        ],
    );
    // Settings side by side, where the engine chose its own.
    let largest = Salt::new(Ions::Displaced, place + 3);
    let same = format!("{}, order {ORDER}", largest.split(usize::MAX));
    let own = own_mesh(&largest, usize::MAX)?;
    let mut rows = Vec::new();
    for row in found
        .rows
        .iter()
        .filter(|row| row.ladder == WHOLE && row.size == ions)
    {
        let chosen = [WholeHow::Chosen, WholeHow::ChosenOnHost].map(name);
        rows.push(vec![
            row.variant.clone(),
            match () {
                () if chosen.contains(&row.variant) => own.clone(),
                () if row.variant == beside => format!("PPPM to {:.0e}", largest.tolerance),
                () => same.clone(),
            },
            row.seconds.map_or("–".into(), seconds),
            row.error.map_or("–".into(), |error| format!("{error:.1e}")),
            row.skipped.clone().unwrap_or_default(),
        ]);
    }
    let perfect = found.rows.iter().filter(|row| row.ladder == MADELUNG);
    let madelung: Vec<Vec<String>> = perfect
        .map(|row| {
            let error = row.error.map_or("–".into(), |error| format!("{error:.1e}"));
            vec![
                row.variant.clone(),
                row.input.clone(),
                error,
                row.skipped.clone().unwrap_or_default(),
            ]
        })
        .collect();
    // The LAMMPS log of the paper's repository: short and long range of 216 ions.
    let logged = -103.256_13;
    let per_ion = Salt::new(Ions::Perfect, 3).whole().energy / CALORIE / 216.0;
    let exact = Whole::madelung(1) / CALORIE;
    let section = Section {
        title: "The whole sum (Fig. 7)".into(),
        meaning: format!("{meaning} {lammps}"),
        comparisons: vec![
            compared(
                format!("the paper's kernels, {ions} ions"),
                (paper::WHOLE[place], paper::GPU),
                ms(&kernels),
                "ms",
            ),
            compared(
                format!("the engine, {ions} ions"),
                (paper::WHOLE[place], paper::GPU),
                ms(&engine),
                "ms",
            ),
            compared(
                format!("the engine on all threads against LAMMPS on one core, {ions} ions"),
                (paper::WHOLE_LAMMPS[place], paper::CORE),
                ms(&host),
                "ms",
            ),
            Comparison {
                what: format!("the paper's kernels over LAMMPS on one core, {ions} ions"),
                paper: 6.0,
                source: "abstract; there LAMMPS sums Ewald's way, here by PPPM",
                ours: ratio(&beside, &kernels),
                unit: "times",
            },
            Comparison {
                what: format!(
                    "Coulomb energy per ion of the perfect crystal; Madelung's is {exact:.5} with CODATA's k_e"
                ),
                paper: logged,
                source: "LAMMPS log of the paper's repository",
                ours: Some(per_ion),
                unit: "kcal/mol",
            },
        ],
        tables: vec![
            Table {
                name: "whole".into(),
                title: format!("{ions} ions: time, and the largest error of a force by the largest force"),
                head: ["", "settings", "time", "error", ""].map(String::from).into(),
                rows,
            },
            meshes(sizes)?,
            Table {
                name: "madelung".into(),
                title: format!(
                    "A perfect crystal: error of Madelung's energy, {:.4} kJ/mol per ion with k_e = {:.4}, and of no forces",
                    Whole::madelung(1),
                    coulomb()
                ),
                head: ["", "input", "error", ""].map(String::from).into(),
                rows: madelung,
            },
        ],
        figures: vec![figure(
            "whole",
            "Fig. 7: energies and forces of all ions, lists ready. Dashed: this processor. Dots: the paper. Beyond 5,832 ions \
             the tolerance is 1e-4, not 1e-5.",
            chart,
        )],
    };
    bench.found.sections.push(section);
    Ok(())
}

/// What the engine chooses, where its mesh may have so many points along an axis.
fn own_mesh(salt: &Salt, most: usize) -> Result<String, StudyError> {
    let (own, order) = salt.chosen(&salt.split(most))?;
    Ok(format!("{own}, order {order}"))
}

/// Splittings and meshes of all crystals.
fn meshes(sizes: &[usize]) -> Result<Table, StudyError> {
    let row = |&cells: &usize| {
        let salt = Salt::new(Ions::Displaced, cells);
        Ok(vec![
            salt.len().to_string(),
            format!("{:.0e}", salt.tolerance),
            salt.split(usize::MAX).to_string(),
            salt.split(LONGEST).to_string(),
            own_mesh(&salt, LONGEST)?,
        ])
    };
    Ok(Table {
        name: "meshes".into(),
        title: format!(
            "Splitting and mesh; on a device the engine has up to {LONGEST} points along an axis, and a longer cut-off where the \
             paper's rules ask for more"
        ),
        head: [
            "ions",
            "tolerance",
            "the paper's rules",
            "the engine on a device",
            "the engine's own",
        ]
        .map(String::from)
        .into(),
        rows: sizes.iter().map(row).collect::<Result<_, StudyError>>()?,
    })
}
