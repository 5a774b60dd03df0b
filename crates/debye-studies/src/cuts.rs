//! Ways to cut a mesh that are worth measuring.

use debye_gpu::transforms::{Across, Cut, Lines, radices};
use debye_gpu::{CudaError, DeviceInfo};

/// Columns along x of a block, and its most threads. They are measured beside other things that do not depend on them.
const TILES: [(u32, u32); 5] = [(8, 128), (16, 256), (16, 512), (8, 256), (32, 512)];

/// What a mesh is cut for.
#[derive(Clone, Copy)]
struct Case<'a> {
    info: &'a DeviceInfo,
    size: [u32; 3],
    double: bool,
    all: bool,
}

/// Those worth measuring, no two of which do the same. `all` for more than a run would wait for.
pub(crate) fn candidates(
    info: &DeviceInfo,
    size: [u32; 3],
    double: bool,
    all: bool,
) -> Result<Vec<Cut>, CudaError> {
    let case = Case {
        info,
        size,
        double,
        all,
    };
    let most: &[u32] = if all { &[8, 10, 16] } else { &[10, 16] };
    let mut distinct: Vec<Cut> = Vec::new();
    for &radix in most {
        let found = case.planes(radix)?.into_iter().chain(case.rows(radix)?);
        for cut in found.filter(|cut| cut.check(info, size, double).is_ok()) {
            if !distinct.iter().any(|other| same(other, &cut, size)) {
                distinct.push(cut);
            }
        }
    }
    Ok(distinct)
}

/// Whether two cuts do the same.
fn same(one: &Cut, other: &Cut, size: [u32; 3]) -> bool {
    let same = |&n: &u32| radices(n, one.radix) == radices(n, other.radix);
    one.across == other.across && one.tile == other.tile && size.iter().all(same)
}

impl Case<'_> {
    /// Lines along an axis, by up to so many threads.
    fn lines(&self, axis: usize, radix: u32, lines: u32, most: u32) -> Lines {
        let radices = radices(self.size[axis], radix).unwrap_or_default();
        Lines::balanced(lines, &radices, most)
    }

    fn tile(&self, radix: u32, which: usize) -> Lines {
        let (lines, most) = TILES[which % TILES.len()];
        self.lines(0, radix, lines, most)
    }

    /// Whole planes by few and by many threads.
    fn planes(&self, radix: u32) -> Result<Vec<Cut>, CudaError> {
        let threads: &[u32] = match (self.all, self.double) {
            (true, false) => &[256, 384, 512, 768, 1024],
            (true, true) => &[128, 192, 256, 384, 512],
            (false, false) => &[512],
            (false, true) => &[384],
        };
        let mut found = Vec::new();
        for (k, &threads) in threads.iter().enumerate() {
            let cut = Cut::whole_planes(self.info, self.size, self.double, radix, threads)?;
            let tile = self.tile(radix, if self.all { k } else { 1 });
            found.extend(cut.map(|cut| Cut { tile, ..cut }));
        }
        Ok(found)
    }

    /// Rows and columns, the former by more and the latter by fewer than the rule says.
    fn rows(&self, radix: u32) -> Result<Vec<Cut>, CudaError> {
        let rule = Cut::by_rows(self.info, self.size, self.double, radix)?;
        let mut found = vec![rule];
        let Across::Rows { pairs, strip } = rule.across else {
            return Ok(found);
        };
        let scales: &[(usize, u32)] = if self.all { &[(0, 2), (3, 4)] } else { &[] };
        for &(which, scale) in scales {
            let lines = |lines: u32, axis: usize| self.lines(axis, radix, lines, 512);
            found.push(Cut {
                across: Across::Rows {
                    pairs: lines(pairs.lines * scale, 2),
                    strip: lines((strip.lines / scale).max(1), 1),
                },
                tile: self.tile(radix, which),
                ..rule
            });
        }
        Ok(found)
    }
}
