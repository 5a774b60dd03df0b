//! Table III: what the best kernels do, counted from the bins, or read from a profile of NVIDIA's `ncu`.

use super::bins::Layout;
use super::device::{Owner, PointRead};
use super::input::Sites;
use crate::study::{Profile, Table, number};

/// Threads of a warp.
const WARP: usize = 32;
/// Operations of a particle in `add_charge`: three offsets, three times Eq. 3 of 16, and 4 + 16 + 64 products.
const PARTICLE_FLOPS: usize = 3 + 3 * 16 + 84;
/// Operations of a particle at a point in `share_of`: three offsets, three times Eq. 3, three products and an addition.
const SHARE_FLOPS: usize = 3 + 3 * 16 + 4;

/// The kernels of the paper's Table III.
pub(super) const BEST: [Owner; 2] = [Owner::Bin(Layout::Coalesced), Owner::Point(PointRead::Reduced)];

/// What a kernel does, as warps issue it.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Counted {
    /// Loads from global memory.
    pub loads: usize,
    /// Stores to global memory.
    pub stores: usize,
    /// Atomic additions.
    pub atomics: usize,
    /// Operations of single precision, of threads.
    pub flops: usize,
    /// Lanes that have a particle, of those that wait for one.
    pub efficiency: f64,
}

impl Counted {
    /// Algorithm 4 with coalesced slots: a lane for each bin.
    pub fn particle_centric(sites: &Sites) -> Self {
        let counts = counts(sites);
        let longest: usize = counts.chunks(WARP).map(longest).sum();
        let warps = counts.len().div_ceil(WARP);
        Self {
            loads: warps + 4 * longest,
            stores: 0,
            atomics: 64 * longest,
            flops: PARTICLE_FLOPS * sites.particles().len(),
            efficiency: sites.particles().len() as f64 / (WARP * longest.max(1)) as f64,
        }
    }

    /// Algorithm 6: a lane for each point, 64 bins one after another.
    pub fn grid_centric(sites: &Sites) -> Self {
        let (counts, [nx, ny, nz]) = (counts(sites), sites.size());
        let points: Vec<usize> = (0..counts.len()).collect();
        let mut all = Self::default();
        let (mut held, mut waited) = (0, 0);
        for warp in points.chunks(WARP) {
            all.stores += 1;
            for remote in 0..64 {
                let [wx, wy, wz] = [remote % 4, remote / 4 % 4, remote / 16];
                let at = |&g: &usize| {
                    let along = |i: usize, w: usize, n: usize| (i + n + 1 - w) % n;
                    let x = along(g % nx, wx, nx);
                    let y = along(g / nx % ny, wy, ny);
                    let z = along(g / (nx * ny), wz, nz);
                    counts[(z * ny + y) * nx + x]
                };
                let near: Vec<usize> = warp.iter().map(at).collect();
                all.loads += 1 + 4 * longest(&near);
                held += near.iter().sum::<usize>();
                waited += WARP * longest(&near);
            }
        }
        all.flops = SHARE_FLOPS * 64 * sites.particles().len();
        all.efficiency = held as f64 / waited.max(1) as f64;
        all
    }
}

fn longest(counts: &[usize]) -> usize {
    counts.iter().copied().max().unwrap_or(0)
}

/// Particles of every bin.
fn counts(sites: &Sites) -> Vec<usize> {
    let mut counts = vec![0; sites.points()];
    sites.bins().for_each(|bin| counts[bin] += 1);
    counts
}

/// A line of Table III: its name, the paper's numbers, what is counted, and metrics of `ncu` with their factors.
struct Line {
    name: &'static str,
    paper: [&'static str; 2],
    counted: Option<fn(&Counted) -> String>,
    metrics: &'static [(f64, &'static str)],
}

const fn line(
    name: &'static str,
    paper: [&'static str; 2],
    counted: Option<fn(&Counted) -> String>,
    metrics: &'static [(f64, &'static str)],
) -> Line {
    Line {
        name,
        paper,
        counted,
        metrics,
    }
}

/// The last line is of the text, §V B.
const LINES: [Line; 15] = [
    line(
        "Global Load",
        ["85,372", "3,834,694"],
        Some(|c| c.loads.to_string()),
        &[(1.0, "smsp__inst_executed_op_global_ld.sum")],
    ),
    line(
        "Global Store",
        ["0", "1022"],
        Some(|c| c.stores.to_string()),
        &[(1.0, "smsp__inst_executed_op_global_st.sum")],
    ),
    line(
        "Local Load",
        ["578,396", "1,650,781"],
        None,
        &[(1.0, "smsp__inst_executed_op_local_ld.sum")],
    ),
    line(
        "Local Store",
        ["175,951", "1,650,781"],
        None,
        &[(1.0, "smsp__inst_executed_op_local_st.sum")],
    ),
    line(
        "L2 Read",
        ["3,439,981", "17,178,508"],
        None,
        &[(1.0, "lts__t_sectors_op_read.sum")],
    ),
    line(
        "L1 Hit Rate (Local), %",
        ["1.19", "17.01"],
        None,
        &[(1.0, "l1tex__t_sector_pipe_lsu_mem_local_op_ld_hit_rate.pct")],
    ),
    line(
        "L1 Hit Rate (Global), %",
        ["47.89", "57.19"],
        None,
        &[(1.0, "l1tex__t_sector_pipe_lsu_mem_global_op_ld_hit_rate.pct")],
    ),
    line(
        "L2 Hit Rate, %",
        ["7.98", "93.66"],
        None,
        &[(1.0, "lts__t_sector_hit_rate.pct")],
    ),
    line(
        "Single Precision FLOPs",
        ["17,333,048", "56,983,823"],
        Some(|c| c.flops.to_string()),
        &[
            (1.0, "smsp__sass_thread_inst_executed_op_fadd_pred_on.sum"),
            (1.0, "smsp__sass_thread_inst_executed_op_fmul_pred_on.sum"),
            (2.0, "smsp__sass_thread_inst_executed_op_ffma_pred_on.sum"),
        ],
    ),
    line(
        "Double Precision FLOPs",
        ["3,873,408", "72,334,599"],
        Some(|_| "0".into()),
        &[
            (1.0, "smsp__sass_thread_inst_executed_op_dadd_pred_on.sum"),
            (1.0, "smsp__sass_thread_inst_executed_op_dmul_pred_on.sum"),
            (2.0, "smsp__sass_thread_inst_executed_op_dfma_pred_on.sum"),
        ],
    ),
    line(
        "Instructions Executed",
        ["2,892,563", "42,690,098"],
        None,
        &[(1.0, "smsp__inst_executed.sum")],
    ),
    line(
        "Multiprocessor Efficiency, %",
        ["98.43", "92.8"],
        None,
        &[(1.0, "smsp__cycles_active.avg.pct_of_peak_sustained_elapsed")],
    ),
    line(
        "Warp Execution Efficiency, %",
        ["57.06", "46.83"],
        Some(|c| format!("{:.2}", 100.0 * c.efficiency)),
        &[(
            100.0 / WARP as f64,
            "smsp__thread_inst_executed_per_inst_executed.ratio",
        )],
    ),
    line(
        "Data Request Stalls, %",
        ["77.3", "24.56"],
        None,
        &[(
            1.0,
            "smsp__warp_issue_stalled_long_scoreboard_per_warp_active.pct",
        )],
    ),
    line(
        "Atomic operations",
        ["about 400K", "0"],
        Some(|c| c.atomics.to_string()),
        &[
            (1.0, "smsp__inst_executed_op_global_red.sum"),
            (1.0, "smsp__inst_executed_op_global_atom.sum"),
        ],
    ),
];

/// Every metric of `ncu` that Table III needs.
pub fn metrics() -> Vec<&'static str> {
    LINES.iter().flat_map(|line| line.metrics).map(|m| m.1).collect()
}

/// Table III, with counts for these sites, and a profile where there is one.
pub(super) fn table(sites: &Sites, profile: Option<&Profile>) -> Table {
    let counted = [Counted::particle_centric(sites), Counted::grid_centric(sites)];
    let mut head = vec![
        "",
        "PC, paper",
        "GC, paper",
        "PC, counted here",
        "GC, counted here",
    ];
    if profile.is_some() {
        head.extend(["PC, profiled here", "GC, profiled here"]);
    }
    let row = |line: &Line| {
        let mut row = vec![line.name.to_string()];
        row.extend(line.paper.map(String::from));
        row.extend(counted.iter().map(|c| line.counted.map_or("–".into(), |f| f(c))));
        if let Some(profile) = profile {
            let found = BEST.map(|owner| profile.sum(owner.kernel(), line.metrics));
            row.extend(found.map(|value| value.map_or("–".into(), number)));
        }
        row
    };
    Table {
        name: "table-3".into(),
        title: "Table III: the best kernels on ApoA1 (the paper does not say on which GPU)".into(),
        head: head.into_iter().map(String::from).collect(),
        rows: LINES.iter().map(row).collect(),
    }
}
