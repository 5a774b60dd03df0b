//! [`Kernel`]: what a charge at one point of a level gives at another, with all images.

use super::nested::{Boundaries, Nested};
use super::periodic::PeriodicKernel;
use super::slab::SlabKernel;
use super::{MultilevelPlan, Softening};
use crate::expr::Dual;

/// A value, and its derivatives by a strain of the lattice: xx yy zz xy xz yz.
pub(super) type Strained = (f64, [f64; 6]);

/// f(r) at a difference, from f and f′/r.
pub(super) fn radial(d: [f64; 3], (value, along): (f64, f64)) -> Strained {
    let products = [
        d[0] * d[0],
        d[1] * d[1],
        d[2] * d[2],
        d[0] * d[1],
        d[0] * d[2],
        d[1] * d[2],
    ];
    (value, products.map(|x| along * x))
}

pub(super) fn add(sum: &mut Strained, (value, tensor): Strained) {
    sum.0 += value;
    sum.1.iter_mut().zip(tensor).for_each(|(to, x)| *to += x);
}

impl Softening {
    /// g_s(r), and its derivative by r over r.
    pub(super) fn smooth_radial(self, r2: f64, s: f64) -> (f64, f64) {
        if r2 >= s * s {
            let inverse = r2.sqrt().recip();
            (inverse, -inverse.powi(3))
        } else {
            let at = self.polynomial(Dual::variable(r2 / (s * s)));
            (at.value / s, 2.0 * at.derivative / (s * s * s))
        }
    }
}

/// The kernel of one level.
pub(super) struct Kernel {
    softening: Softening,
    s: f64,
    step: [f64; 3],
    edges: [f64; 3],
    /// Images that are summed along each axis, on either side.
    images: [i64; 3],
    top: Option<Top>,
}

enum Top {
    Open,
    Slab(SlabKernel),
    Periodic(PeriodicKernel),
}

impl Kernel {
    /// Of level l.
    pub(super) fn new(plan: &MultilevelPlan, nested: &Nested, l: usize) -> Self {
        let (softening, s) = (plan.softening(), plan.cutoff * f64::from(1_u32 << l));
        let step = nested.spacing.map(|h| h * f64::from(1_u32 << l));
        let shape = nested.shapes[l].1;
        let edges = std::array::from_fn(|k| step[k] * shape[k] as f64);
        let periodic = nested.boundaries.periodic();
        let top = (l + 1 == nested.shapes.len()).then(|| match nested.boundaries {
            Boundaries::Open => Top::Open,
            Boundaries::Slab { open } => Top::Slab(SlabKernel::new(edges, open, softening, s)),
            Boundaries::Periodic => Top::Periodic(PeriodicKernel::new(edges, softening, s)),
        });
        let reach = 2.0 * s;
        let wraps = (0..3).any(|k| periodic[k] && 2.0 * reach >= edges[k]);
        let images = std::array::from_fn(|k| match periodic[k] && wraps {
            true => (reach / edges[k]).ceil() as i64 + 1,
            false => 0,
        });
        Self {
            softening,
            s,
            step,
            edges,
            images,
            top,
        }
    }

    /// Differences of points that the kernel is not zero for, on a grid of this shape.
    pub(super) fn ranges(&self, nested: &Nested, shape: [usize; 3]) -> [std::ops::RangeInclusive<i64>; 3] {
        let periodic = nested.boundaries.periodic();
        std::array::from_fn(|k| {
            let whole = shape[k] as i64 - 1;
            let reach = (2.0 * self.s / self.step[k]).floor() as i64;
            match (periodic[k], &self.top) {
                (true, None) if self.images[k] == 0 => -reach..=reach,
                (true, _) => 0..=whole,
                (false, None) => -reach.min(whole)..=reach.min(whole),
                (false, Some(_)) => -whole..=whole,
            }
        })
    }

    /// At a difference of so many points.
    pub(super) fn at(&self, n: [i64; 3]) -> Strained {
        let d: [f64; 3] = std::array::from_fn(|k| n[k] as f64 * self.step[k]);
        match &self.top {
            Some(Top::Open) => radial(d, self.softening.smooth_radial(square(d), self.s)),
            Some(Top::Slab(kernel)) => (kernel.at(d), [0.0; 6]),
            Some(Top::Periodic(kernel)) => kernel.at(d),
            None => {
                let mut sum = (0.0, [0.0; 6]);
                over_images(d, self.edges, self.images, |r| add(&mut sum, self.between(r)));
                sum
            }
        }
    }

    /// Whether a value takes long to find, and is the same for n and N − n.
    pub(super) fn is_costly(&self) -> bool {
        matches!(self.top, Some(Top::Slab(_) | Top::Periodic(_)))
    }

    /// g_s − g_2s at a distance.
    fn between(&self, d: [f64; 3]) -> Strained {
        let r2 = square(d);
        if r2 >= 4.0 * self.s * self.s {
            return (0.0, [0.0; 6]);
        }
        let fine = self.softening.smooth_radial(r2, self.s);
        let coarse = self.softening.smooth_radial(r2, 2.0 * self.s);
        radial(d, (fine.0 - coarse.0, fine.1 - coarse.1))
    }
}

pub(super) fn square(d: [f64; 3]) -> f64 {
    d.iter().map(|x| x * x).sum()
}

/// Calls `act` with a difference and so many of its images along each axis.
pub(super) fn over_images(d: [f64; 3], edges: [f64; 3], most: [i64; 3], mut act: impl FnMut([f64; 3])) {
    for i in -most[0]..=most[0] {
        for j in -most[1]..=most[1] {
            for k in -most[2]..=most[2] {
                let n = [i, j, k];
                act(std::array::from_fn(|c| d[c] + n[c] as f64 * edges[c]));
            }
        }
    }
}
