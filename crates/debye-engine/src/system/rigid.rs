//! [`RigidShape`]: sites that keep their places in a body; [`RigidBodies`]: the molecules that have it.

use super::{ConstraintError, Rotor};
use crate::expr::{Vec3, eigen};

/// A moment of inertia below this part of the largest is taken for zero: the body is linear.
const LINEAR: f64 = 1e-5;
/// The same for places that were rounded in a file.
const LINEAR_IF_ROUNDED: f64 = 1e-3;
/// Sites of a linear body may be this far from its line, over its size.
const BESIDE_LINE: f64 = 0.03;

/// The sites of a rigid molecule in its own axes, along which its inertia is diagonal.
#[derive(Clone, Debug, PartialEq)]
pub struct RigidShape {
    sites: Vec<Vec3<f64>>,
    masses: Vec<f64>,
    rotor: Rotor,
    references: References,
    size: f64,
}

/// Sites by which the axes of a body are found again.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct References {
    /// Two sites far from each other, and one far from their line; of a linear body the third is the first.
    pub(crate) sites: [u32; 3],
    /// In the axes of the body: the direction from the first to the second, across it to the third, and across both.
    pub(crate) directions: [Vec3<f64>; 3],
}

impl RigidShape {
    /// The shape of sites at these places, in any axes, with these masses. Sites without mass carry forces only.
    ///
    /// # Errors
    /// Fewer than two places, masses that are none, all mass in one point, and sites off the axis of a linear body.
    pub fn new(places: &[Vec3<f64>], masses: &[f64]) -> Result<Self, ConstraintError> {
        Self::made(places, masses, LINEAR)
    }

    /// The same of places that were rounded in a file, where nearly straight ones are taken for straight.
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub fn of_rounded(places: &[Vec3<f64>], masses: &[f64]) -> Result<Self, ConstraintError> {
        Self::made(places, masses, LINEAR_IF_ROUNDED)
    }

    fn made(places: &[Vec3<f64>], masses: &[f64], linear_below: f64) -> Result<Self, ConstraintError> {
        let refused = |why: &str| Err(ConstraintError::Shape(why.into()));
        if places.len() < 2 || places.len() != masses.len() {
            return refused("two sites and a mass for each are the least");
        }
        if !places.iter().all(|r| r.norm2().is_finite()) {
            return refused("a site is at no finite place");
        }
        if !masses.iter().all(|m| m.is_finite() && *m >= 0.0) {
            return refused("a mass is below zero or not finite");
        }
        let total: f64 = masses.iter().sum();
        let weighed = places.iter().zip(masses);
        let center = weighed.fold(Vec3::zero(), |sum, (&r, &m)| sum + r * m) * total.recip();
        let mut inertia = [0.0; 6];
        for (&r, &m) in places.iter().zip(masses) {
            let r = r - center;
            let s = r.norm2();
            let parts = [
                s - r.x * r.x,
                s - r.y * r.y,
                s - r.z * r.z,
                -r.x * r.y,
                -r.x * r.z,
                -r.y * r.z,
            ];
            inertia
                .iter_mut()
                .zip(parts)
                .for_each(|(sum, part)| *sum += m * part);
        }
        let [(least, z), (middle, x), (most, _)] = eigen(inertia);
        let size = places.iter().map(|&r| (r - center).norm()).fold(0.0, f64::max);
        // Where no site has a mass, it is not a number.
        if most.is_nan() || most <= 1e-12 * total * size * size {
            return refused("all its mass is in one point, so that it has no moment of inertia");
        }
        let linear = least < linear_below * most;
        let y = z.cross(x);
        let mut sites: Vec<Vec3<f64>> = places
            .iter()
            .map(|&r| Vec3::new((r - center).dot(x), (r - center).dot(y), (r - center).dot(z)))
            .collect();
        if linear {
            if sites.iter().any(|s| s.x.hypot(s.y) > BESIDE_LINE * size) {
                return refused(
                    "its mass is on a line and a site without mass beside it, whose torque nothing resists",
                );
            }
            sites.iter_mut().for_each(|s| (s.x, s.y) = (0.0, 0.0));
        }
        // That of the straightened body: its sites must have the angular momentum that its moment says.
        let across: f64 = sites.iter().zip(masses).map(|(s, m)| m * s.z * s.z).sum();
        let inertia = if linear {
            [across, across, 0.0]
        } else {
            [middle, most, least]
        };
        let references = References::among(&sites, linear);
        let [a, b, _] = references.sites.map(|k| sites[k as usize]);
        let size = (b - a).norm();
        Ok(Self {
            sites,
            masses: masses.to_vec(),
            rotor: Rotor::body(inertia),
            references,
            size,
        })
    }

    /// Its sites, from the center of mass, in its own axes.
    pub fn sites(&self) -> &[Vec3<f64>] {
        &self.sites
    }

    /// The masses of its sites.
    pub fn masses(&self) -> &[f64] {
        &self.masses
    }

    /// Its mass.
    pub fn mass(&self) -> f64 {
        self.masses.iter().sum()
    }

    /// Its moments of inertia; z is the axis of a linear one.
    pub fn rotor(&self) -> Rotor {
        self.rotor
    }

    pub(crate) fn references(&self) -> &References {
        &self.references
    }

    /// 1/I about each axis; zero where there is no moment.
    pub fn inverse_inertia(&self) -> [f64; 3] {
        self.rotor.inertia.map(|i| if i > 0.0 { i.recip() } else { 0.0 })
    }

    /// The degrees of freedom of its motion: five for a linear one, else six.
    pub fn degrees_of_freedom(&self) -> u32 {
        3 + self.rotor.class().rotations()
    }

    /// How many of them move a site: m⟨v²⟩ of it, in units of k_B T.
    pub fn freedom_of(&self, site: usize) -> f64 {
        let (m, r) = (self.masses[site], self.sites[site]);
        let [x, y, z] = self.inverse_inertia();
        let turning = x * (r.y * r.y + r.z * r.z) + y * (r.x * r.x + r.z * r.z) + z * (r.x * r.x + r.y * r.y);
        m * (3.0 / self.mass() + turning)
    }

    /// The largest distance of two sites.
    pub fn size(&self) -> f64 {
        self.size
    }

    /// How far the first site is from any other.
    pub fn reach(&self) -> f64 {
        (1..self.sites.len())
            .map(|k| self.distance(0, k))
            .fold(0.0, f64::max)
    }

    /// The distance of two sites.
    pub fn distance(&self, a: usize, b: usize) -> f64 {
        (self.sites[a] - self.sites[b]).norm()
    }
}

impl References {
    fn among(sites: &[Vec3<f64>], linear: bool) -> Self {
        let n = sites.len();
        let mut ends = [0, 1];
        for a in 0..n {
            for b in a + 1..n {
                if (sites[b] - sites[a]).norm2() > (sites[ends[1]] - sites[ends[0]]).norm2() {
                    ends = [a, b];
                }
            }
        }
        let [a, b] = ends;
        let along = sites[b] - sites[a];
        let off = |k: usize| along.cross(sites[k] - sites[a]).norm2();
        let third = (0..n).fold(a, |best, k| if off(k) > off(best) { k } else { best });
        let third = if linear { a } else { third };
        let directions = match linear {
            true => linear_axes(along),
            false => directions(along, sites[third] - sites[a]),
        };
        Self {
            sites: [a, b, third].map(|k| k as u32),
            directions,
        }
    }
}

/// Unit vectors along `first`, across it towards `second`, and across both.
#[inline(always)]
pub(crate) fn directions<R: crate::expr::Real>(first: Vec3<R>, second: Vec3<R>) -> [Vec3<R>; 3] {
    let along = first * first.norm().recip();
    let across = second - along * along.dot(second);
    let across = across * across.norm().recip();
    [along, across, along.cross(across)]
}

/// The same where nothing says which way is across.
#[inline(always)]
pub(crate) fn linear_axes<R: crate::expr::Real>(first: Vec3<R>) -> [Vec3<R>; 3] {
    let (o, e) = (R::lit(0.0), R::lit(1.0));
    // The axis of the laboratory that is farther from it.
    let steep = |along_x: R, else_: R| R::select_lt(first.y * first.y, first.x * first.x, along_x, else_);
    directions(first, Vec3::new(steep(o, e), steep(e, o), o))
}

/// The axes of a body whose directions are found in the laboratory and known in its own axes.
#[inline(always)]
pub(crate) fn axes_of<R: crate::expr::Real>(found: [Vec3<R>; 3], known: [Vec3<R>; 3]) -> [Vec3<R>; 3] {
    let axis =
        |of: fn(Vec3<R>) -> R| found[0] * of(known[0]) + found[1] * of(known[1]) + found[2] * of(known[2]);
    [axis(|v| v.x), axis(|v| v.y), axis(|v| v.z)]
}

/// Rigid molecules of one shape.
#[derive(Clone, Debug, PartialEq)]
pub struct RigidBodies {
    /// Where their sites are.
    pub shape: RigidShape,
    /// The particles of every molecule, one molecule after another, in the order of the sites.
    pub particles: Vec<u32>,
}

impl RigidBodies {
    /// The particles of each molecule.
    pub fn molecules(&self) -> std::slice::ChunksExact<'_, u32> {
        self.particles.chunks_exact(self.shape.sites.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::system::Class;

    /// A water-like body: O, H, H and a site without mass.
    fn water() -> RigidShape {
        let places = [
            [0.0, 0.0, 0.0],
            [0.1, 0.0, 0.0],
            [-0.03, 0.095, 0.0],
            [0.008, 0.011, 0.0],
        ];
        RigidShape::new(&places.map(Vec3::from), &[16.0, 1.0, 1.0, 0.0]).unwrap()
    }

    #[test]
    fn inertia_is_diagonal_in_the_axes_of_a_shape() {
        let shape = water();
        let mut first = Vec3::zero();
        let mut tensor = [0.0; 6];
        for (&r, &m) in shape.sites().iter().zip(shape.masses()) {
            first += r * m;
            let s = r.norm2();
            let parts = [
                s - r.x * r.x,
                s - r.y * r.y,
                s - r.z * r.z,
                r.x * r.y,
                r.x * r.z,
                r.y * r.z,
            ];
            tensor.iter_mut().zip(parts).for_each(|(t, p)| *t += m * p);
        }
        assert!(first.norm() < 1e-15, "{first:?}");
        let inertia = shape.rotor().inertia;
        for k in 0..3 {
            assert!(
                (tensor[k] / inertia[k] - 1.0).abs() < 1e-12,
                "{tensor:?} {inertia:?}"
            );
            assert!(tensor[3 + k].abs() < 1e-14);
        }
        assert!((shape.distance(0, 1) - 0.1).abs() < 1e-15);
        assert_eq!(shape.rotor().class(), Class::Body);
        assert!((shape.size() - shape.distance(1, 2)).abs() < 1e-15);
        shape.rotor().check().unwrap();
    }

    #[test]
    fn freedom_is_shared_among_sites() {
        let (bent, straight) = (water(), {
            let places = [-1.16, 0.0, 1.16].map(|z| Vec3::new(0.0, z, 0.0));
            RigidShape::new(&places, &[16.0, 12.0, 16.0]).unwrap()
        });
        assert_eq!(straight.rotor().class(), Class::Linear);
        for (shape, expected) in [(bent, 6.0), (straight, 5.0)] {
            let sum: f64 = (0..shape.sites().len()).map(|k| shape.freedom_of(k)).sum();
            assert!((sum - expected).abs() < 1e-12 && f64::from(shape.degrees_of_freedom()) == expected);
        }
    }

    /// The axes are right-handed: a body is not its mirror image.
    #[test]
    fn shapes_keep_their_hand() {
        let places = [[0.0, 0.0, 0.0], [1.0, 0.0, 0.1], [0.0, 2.0, 0.0], [0.3, 0.1, 1.5]].map(Vec3::from);
        let shape = RigidShape::new(&places, &[1.0, 2.0, 3.0, 4.0]).unwrap();
        let volume = |r: &[Vec3<f64>]| (r[1] - r[0]).cross(r[2] - r[0]).dot(r[3] - r[0]);
        assert!((volume(shape.sites()) - volume(&places)).abs() < 1e-12);
    }

    /// A line that was rounded is straightened, and its moment is that of its sites.
    #[test]
    fn rounded_lines_are_straight() {
        let places = [[0.0, 0.0, 0.0], [0.116, 0.003, 0.0], [-0.116, 0.0, 0.0]].map(Vec3::from);
        let masses = [12.0, 16.0, 16.0];
        assert_eq!(
            RigidShape::new(&places, &masses).unwrap().rotor().class(),
            Class::Body
        );
        let shape = RigidShape::of_rounded(&places, &masses).unwrap();
        assert_eq!(shape.rotor().class(), Class::Linear);
        let moment: f64 = shape.sites().iter().zip(masses).map(|(s, m)| m * s.norm2()).sum();
        assert!((shape.rotor().inertia[0] / moment - 1.0).abs() < 1e-14);
    }

    #[test]
    fn shapes_that_cannot_turn_are_refused() {
        let at = |x: f64, y: f64| Vec3::new(x, y, 0.0);
        for (places, masses, why) in [
            (vec![at(0.0, 0.0)], vec![1.0], "two sites"),
            (vec![at(0.0, 0.0), at(1.0, 0.0)], vec![1.0, 0.0], "one point"),
            (vec![at(0.0, 0.0), at(1.0, 0.0)], vec![0.0, 0.0], "one point"),
            (vec![at(0.0, 0.0), at(1.0, 0.0)], vec![-1.0, 1.0], "below zero"),
            (
                vec![at(0.0, 0.0), at(f64::NAN, 0.0)],
                vec![1.0, 1.0],
                "finite place",
            ),
            (
                vec![at(0.0, 0.0), at(1.0, 0.0), at(0.5, 0.3)],
                vec![1.0, 1.0, 0.0],
                "beside it",
            ),
        ] {
            let error = RigidShape::new(&places, &masses).unwrap_err().to_string();
            assert!(error.contains(why), "{error}");
        }
    }
}
