//! The section of the whole sum: Fig. 7.

use debye::plot::Axis;

use super::super::exact::coulomb;
use super::super::salt::{Ions, ORDER, Salt};
use super::super::whole::{LONGEST, Whole, WholeHow, WholeVariant};
use super::super::{MADELUNG, WHOLE, paper};
use super::{NO_DEVICE, at, compared, figure, largest_common, times};
use crate::lammps::{CALORIE, Lammps};
use crate::study::{Bench, Comparison, Section, StudyError, Table, Variant, seconds};

pub(in crate::spme) fn whole(
    bench: &mut Bench<'_>,
    sizes: &[usize],
    lammps: &Result<Lammps, String>,
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
    let [beside, chosen] = [WholeHow::Lammps, WholeHow::ChosenOnHost].map(name);
    let (place, ions) = largest_common(found, WHOLE);
    let meaning = match (
        found.lead(WHOLE, &engine, &kernels),
        found.lead(WHOLE, &host, &loops),
    ) {
        (Some(lead), _) => {
            let why = match lead.wins() {
                true => ": pairs and mesh run side by side, and charges are spread without atomics",
                false => "",
            };
            let salt = Salt::new(Ions::Displaced, (lead.size / 8.0).cbrt().round() as usize);
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
                "For {} ions a whole step of the engine with {mesh} is {} the paper's kernels one after the other{why}.",
                lead.size,
                lead.words()
            )
        }
        (None, Some(lead)) => format!(
            "For {} ions a whole step of the engine on this processor is {} the same algorithm in plain loops of double \
             precision. {NO_DEVICE}",
            lead.size,
            lead.words()
        ),
        _ => "Nothing was measured.".into(),
    };
    let error = |name: &str| found.of(WHOLE, name).find(|row| row.size == ions)?.error;
    let against = [&host, &chosen].map(|name| found.lead_at(WHOLE, name, &beside, ions));
    let lammps = match (lammps, against) {
        (Ok(lammps), [Some(paper), Some(own)]) => format!(
            "For {ions} ions the engine on {} threads of this processor is {} {} on one process with the paper's mesh, and {} it \
             with its own. The largest errors of a force are {:.0e}, {:.0e} and {:.0e} (LAMMPS).",
            rayon::current_num_threads(),
            paper.words(),
            lammps.name(),
            own.words(),
            error(&host).unwrap_or(f64::NAN),
            error(&chosen).unwrap_or(f64::NAN),
            error(&beside).unwrap_or(f64::NAN),
        ),
        (Ok(lammps), _) => format!("{} was not measured.", lammps.name()),
        (Err(why), _) => format!("{why}."),
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
    let over_lammps = |mesh: &str, ours| Comparison {
        what: format!("the engine on all threads with {mesh} over LAMMPS on one process here, {ions} ions"),
        paper: 6.0,
        source: "abstract; there a GPU over LAMMPS",
        ours,
        unit: "times",
    };
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
            over_lammps("the paper's mesh", ratio(&beside, &host)),
            over_lammps("its own mesh", ratio(&beside, &chosen)),
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
        ladders: &[WHOLE],
        ..Section::default()
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
