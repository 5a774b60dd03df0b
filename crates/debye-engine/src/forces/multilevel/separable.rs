//! Grids that are interpolated axis by axis.

use crate::parallel::{InParallel, Indexed};

use super::GridReal;

/// out(…, i, …) = Σ over the list of i of weight × in(…, place, …).
pub(crate) fn along_axis<T: GridReal>(
    from: &[T],
    shape: [usize; 3],
    axis: usize,
    lists: &[Vec<(usize, T)>],
) -> Vec<T> {
    // Places between neighbors along the axis.
    let inner: usize = shape[axis + 1..].iter().product();
    let outer: usize = shape[..axis].iter().product();
    let mut out = vec![T::default(); outer * lists.len() * inner];
    if inner == 1 {
        out.par_chunks_mut(lists.len())
            .zip(from.par_chunks(shape[axis]))
            .for_each(|(out, from)| {
                for (to, list) in out.iter_mut().zip(lists) {
                    for &(place, weight) in list {
                        *to += weight * from[place];
                    }
                }
            });
    } else {
        out.par_chunks_mut(inner).enumerate().for_each(|(chunk, out)| {
            let (block, i) = (chunk / lists.len(), chunk % lists.len());
            for &(place, weight) in &lists[i] {
                let row = &from[(block * shape[axis] + place) * inner..][..inner];
                for (to, &value) in out.iter_mut().zip(row) {
                    *to += weight * value;
                }
            }
        });
    }
    out
}
