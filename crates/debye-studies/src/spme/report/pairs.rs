//! Sections of the real-space sum: Fig. 4, orders, kinds of tile, the search for neighbors.

use debye::plot::Axis;

use super::super::order::{BLOCK, EMPTY, Order};
use super::super::real_space::{How, KindVariant, Kinds};
use super::super::salt::{Ions, LARGEST, Salt};
use super::super::search::SearchVariant;
use super::super::tiles::{Blocks, Kind, UNFLAGGED};
use super::super::{KINDS, REAL, SEARCH, paper};
use super::{NO_DEVICE, at, compared, figure, largest_common, times};
use crate::study::{Bench, Comparison, Lead, Place, Section, StudyError, Table, Variant, number, seconds};

pub(in crate::spme) fn real_space(bench: &mut Bench<'_>) {
    let found = &bench.found;
    let tiles = How::Tiles(Order::Hilbert, Kinds::Three).name();
    let [engine, host] = [How::Engine, How::EngineOnHost].map(How::name);
    let on_host = How::TilesOnHost(Order::Hilbert).name();
    let (place, ions) = largest_common(found, REAL);
    let meaning = match (
        found.lead(REAL, &engine, &tiles),
        found.lead(REAL, &host, &on_host),
    ) {
        (Some(lead), _) => {
            let why = match lead.wins() {
                true => ": its lists hold few pairs beyond the cut-off, and no force is added by atomics",
                false => "",
            };
            let small = found.lead_at(REAL, &engine, &tiles, ions);
            let small = small.map_or(String::new(), |lead| {
                format!(" For {ions} ions it is {} them.", lead.words())
            });
            format!(
                "For {} ions a whole step of the engine is {} the paper's tiles, which sum forces alone{why}.{small}",
                lead.size,
                lead.words()
            )
        }
        (None, Some(lead)) => format!(
            "For {} ions a whole step of the engine on this processor is {} the paper's tiles in plain loops of double \
             precision. {NO_DEVICE}",
            lead.size,
            lead.words()
        ),
        _ => "Nothing was measured.".into(),
    };
    let ms = |name: &str| at(found, REAL, name, ions).map(|s| s * 1e3);
    let ratio = |slow: &str, fast: &str| Some(ms(slow)? / ms(fast)?);
    let chart = times(
        found,
        REAL,
        "Real-space sum",
        (Axis::log("ions"), 1e3, "ms"),
        &[
            ("paper, NVIDIA 2080", &paper::IONS, &paper::REAL),
            ("paper, LAMMPS on one core", &paper::IONS, &paper::REAL_LAMMPS),
        ],
    );
    let section = Section {
        title: "The real-space sum (Fig. 4)".into(),
        meaning,
        comparisons: vec![
            compared(
                format!("tiles, {ions} ions"),
                (paper::REAL[place], paper::GPU),
                ms(&tiles),
                "ms",
            ),
            compared(
                format!("the engine, {ions} ions"),
                (paper::REAL[place], paper::GPU),
                ms(&engine),
                "ms",
            ),
            compared(
                format!("the engine on all threads against LAMMPS on one core, {ions} ions"),
                (paper::REAL_LAMMPS[place], paper::CORE),
                ms(&host),
                "ms",
            ),
            Comparison {
                what: format!(
                    "tiles over the processor, {ions} ions (there LAMMPS on one core, here the engine on all)"
                ),
                paper: 4.0,
                source: "abstract; the data of Fig. 4 give 2.7",
                ours: ratio(&host, &tiles),
                unit: "times",
            },
            Comparison {
                what: "ions above which tiles on the GPU win over the processor".into(),
                paper: 1000.0,
                source: "text of Fig. 4",
                ours: found.crossover(REAL, &tiles, &host),
                unit: "ions",
            },
        ],
        tables: Vec::new(),
        figures: vec![figure(
            "real-space",
            "Fig. 4: time of the real-space sum, lists ready. Dashed: this processor. Dots: the paper.",
            chart,
        )],
        ladders: &[REAL],
        ..Section::default()
    };
    bench.found.sections.push(section);
}

/// How many tiles each order makes.
pub(in crate::spme) fn orders(bench: &mut Bench<'_>) -> Result<(), StudyError> {
    let sizes: &[usize] = bench
        .extent
        .pick(&[4], &[4, 6, LARGEST, 20], &[4, 6, LARGEST, 20, 40]);
    let mut rows = Vec::new();
    let mut counts: Vec<(Order, f64, f64)> = Vec::new();
    for &cells in sizes {
        let salt = Salt::new(Ions::Displaced, cells);
        counts.clear();
        for order in Order::ALL {
            let blocks = Blocks::new(&salt, order)?;
            let tiles = blocks.by_cells();
            let share = |kind: Kind| {
                let of_kind = tiles.iter().filter(|tile| tile.kind(UNFLAGGED) == kind).count();
                format!("{:.1} %", 100.0 * of_kind as f64 / tiles.len() as f64)
            };
            let filled = blocks.slots.iter().filter(|slot| **slot != EMPTY).count();
            let timed = |how: How| at(&bench.found, REAL, &how.name(), salt.len() as f64);
            rows.push(vec![
                salt.len().to_string(),
                order.name().into(),
                tiles.len().to_string(),
                format!("{:.1}", tiles.len() as f64 / blocks.len() as f64),
                share(Kind::Diagonal),
                share(Kind::Sparse),
                share(Kind::Dense),
                format!("{:.1} %", 100.0 * filled as f64 / (blocks.len() * BLOCK) as f64),
                format!(
                    "{:.1} %",
                    100.0 * blocks.without_images(&tiles) as f64 / tiles.len() as f64
                ),
                timed(How::Tiles(order, Kinds::Three)).map_or("–".into(), seconds),
            ]);
            let filled = filled as f64 / (blocks.len() * BLOCK) as f64;
            counts.push((order, tiles.len() as f64, filled));
        }
    }
    let count = |order: Order| counts.iter().find(|c| c.0 == order).map(|c| c.1);
    let filled = counts.iter().find(|c| c.0 == Order::Columns).map_or(0.0, |c| c.2);
    let meaning = match (
        count(Order::Hilbert),
        count(Order::Rows),
        count(Order::Columns),
        count(Order::Cells),
    ) {
        (Some(curve), Some(rows), Some(columns), Some(cells)) => {
            let why = match columns <= curve {
                true => "they are cut where the curve would go on into another column",
                false => "each of them is filled up to whole blocks, which costs slots in small crystals",
            };
            format!(
                "In the largest crystal counted, columns as in the engine on CUDA devices make {:.2} times as many tiles as the \
                 Hilbert curve, with ions in {:.0} % of their slots: {why}. Cells in serpentines, as in the engine on the \
                 processor, make {:.2} times as many, and voxels in rows, which the paper's code comes to, {:.2} times; that \
                 code also misses the tiles that only periodic images make.",
                columns / curve,
                100.0 * filled,
                cells / curve,
                rows / curve,
            )
        }
        _ => "Nothing was counted.".into(),
    };
    bench.found.sections.push(Section {
        title: "Orders of ions (Fig. 1)".into(),
        meaning,
        tables: vec![Table {
            name: "orders".into(),
            title: "Tiles of blocks of 32 ions".into(),
            head: [
                "ions",
                "order",
                "tiles",
                "tiles per block",
                "diagonal",
                "sparse",
                "dense",
                "slots filled",
                "across faces",
                "time on the device",
            ]
            .map(String::from)
            .into(),
            rows,
        }],
        ..Section::default()
    });
    Ok(())
}

pub(in crate::spme) fn kinds(bench: &mut Bench<'_>, counted: &[(Kind, usize, f64)]) {
    let found = &bench.found;
    let timed = |place: Place, kind: Kind| {
        let name = KindVariant(place, kind).name();
        found.of(KINDS, &name).find_map(|row| row.seconds)
    };
    let per_tile =
        |s: Option<f64>, tiles: usize| s.map_or("–".into(), |s| format!("{:.2}", 1e9 * s / tiles as f64));
    let rows = counted.iter().map(|&(kind, tiles, pairs)| {
        let (cpu, gpu) = (timed(Place::Cpu, kind), timed(Place::Cuda, kind));
        let rate = gpu.or(cpu).map_or("–".into(), |s| number(pairs / s));
        vec![
            kind.name().to_string(),
            tiles.to_string(),
            format!("{:.0}", pairs / tiles.max(1) as f64),
            per_tile(cpu, tiles),
            per_tile(gpu, tiles),
            rate,
        ]
    });
    let rows: Vec<Vec<String>> = rows.collect();
    // A sparse tile against a dense one.
    let lead = |place: Place| {
        let [sparse, dense] = [Kind::Sparse, Kind::Dense].map(|kind| {
            let name = KindVariant(place, kind).name();
            let row = found
                .rows
                .iter()
                .find(|row| row.ladder == KINDS && row.variant == name);
            row.filter(|row| row.seconds.is_some())
        });
        let (sparse, dense) = (sparse?, dense?);
        Some(Lead::of(sparse, dense)?.times(sparse.work / dense.work))
    };
    let full = 100.0 * (BLOCK as f64 - f64::from(UNFLAGGED + 1)) / BLOCK as f64;
    let meaning = match (lead(Place::Cuda), lead(Place::Cpu)) {
        (Some(lead), _) => format!(
            "A sparse tile has at most {full:.0} % of the pairs of a dense one and is {} it: each of its ions costs fifteen \
             shuffles. The limit of 24 ions without a flag {} here.",
            lead.words(),
            if lead.wins() { "pays" } else { "does not pay" },
        ),
        (None, Some(lead)) => format!(
            "A sparse tile is {} a dense one on this processor, where nothing is shuffled. {NO_DEVICE}",
            lead.words()
        ),
        _ => "Nothing was measured.".into(),
    };
    bench.found.sections.push(Section {
        title: "Three kinds of tile (Fig. 2)".into(),
        meaning,
        tables: vec![Table {
            name: "tiles".into(),
            title: "Tiles along a Hilbert curve".into(),
            head: [
                "",
                "tiles",
                "pairs in a tile",
                "ns per tile, CPU",
                "ns per tile, GPU",
                "pairs per second",
            ]
            .map(String::from)
            .into(),
            rows,
        }],
        ..Section::default()
    });
}

pub(in crate::spme) fn search(bench: &mut Bench<'_>) {
    let found = &bench.found;
    let [all, cells, engine, device, list] = SearchVariant::ALL.map(|how| SearchVariant::new(how).name());
    let meaning = match (
        found.lead(SEARCH, &cells, &all),
        found.lead(SEARCH, &engine, &all),
    ) {
        (Some(linear), Some(of_ions)) => {
            let on_device = match found.lead(SEARCH, &device, &all) {
                Some(lead) => format!(
                    " On the device all pairs of blocks are {} those on one thread for {} ions.",
                    lead.words(),
                    lead.size
                ),
                None => format!(" {NO_DEVICE}"),
            };
            let powers = [&all, &cells, &engine].map(|name| {
                let power = found.growth(SEARCH, name);
                power.map_or("–".into(), |p| format!("{p:.1}"))
            });
            format!(
                "For {} ions the search through cells is {} that over all pairs of blocks, and the engine's sort and list of \
                 single ions {} it. Between the two largest crystals the time of all pairs grows with the power {} of the \
                 ions, that of cells with {} and that of the engine with {}.{on_device}",
                linear.size,
                linear.words(),
                of_ions.words(),
                powers[0],
                powers[1],
                powers[2],
            )
        }
        _ => "Nothing was measured.".into(),
    };
    let ratio = |one: &str, other: &str, size: f64| {
        let lead = found.lead_at(SEARCH, one, other, size);
        lead.map_or("–".into(), |lead| format!("{:.2}", lead.ratio))
    };
    let mut sizes: Vec<f64> = found.of(SEARCH, &all).map(|row| row.size).collect();
    sizes.extend(found.of(SEARCH, &device).map(|row| row.size));
    sizes.sort_by(f64::total_cmp);
    sizes.dedup();
    let rows = sizes.iter().map(|&size| {
        vec![
            number(size),
            ratio(&cells, &all, size),
            ratio(&engine, &all, size),
            ratio(&device, &all, size),
            ratio(&list, &device, size),
        ]
    });
    let table = Table {
        name: "searches".into(),
        title: "How many times as fast as all pairs of blocks".into(),
        head: [
            "ions",
            "cells, CPU",
            "the engine, CPU",
            "all pairs on the device, over one thread",
            "the engine on the device, over all pairs there",
        ]
        .map(String::from)
        .into(),
        rows: rows.collect(),
    };
    let chart = times(
        found,
        SEARCH,
        "Search for neighbors",
        (Axis::log("ions"), 1e3, "ms"),
        &[],
    );
    bench.found.sections.push(Section {
        title: "The search for neighbors".into(),
        meaning,
        figures: vec![figure(
            "search",
            "From ions in blocks to a list; the engine also sorts them. Dashed: this processor.",
            chart,
        )],
        tables: vec![table],
        ladders: &[SEARCH],
        ..Section::default()
    });
}
