//! [`Volume`]: numbers on the points of a regular grid.

use std::fmt;

/// Numbers on the points of a regular grid, with the place of every point.
///
/// Point (i, j, k) lies at `origin + i·steps[0] + j·steps[1] + k·steps[2]`. The steps need not be orthogonal. Its value
/// is number `(i·shape[1] + j)·shape[2] + k`: the last index runs fastest, as in an array `[x][y][z]` of C.
///
/// ```
/// use debye_io::volumes::Volume;
///
/// let steps = [[0.5, 0.0, 0.0], [0.0, 0.5, 0.0], [0.0, 0.0, 2.0]];
/// let volume = Volume::new([1, 2, 3], [0.0, 0.0, 10.0], steps, vec![0.0_f32, 1.0, 2.0, 3.0, 4.0, 5.0])?;
/// assert_eq!(volume.value([0, 1, 2]), Some(5.0));
/// assert_eq!(volume.position([0, 1, 2]), [0.0, 0.5, 14.0]);
/// # Ok::<(), debye_io::volumes::VolumeError>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Volume {
    shape: [usize; 3],
    origin: [f64; 3],
    steps: [[f64; 3]; 3],
    values: VolumeValues,
    title: String,
    atoms: Vec<VolumeAtom>,
}

/// The values of a [`Volume`], in the precision they are kept and written in.
#[derive(Clone, Debug, PartialEq)]
pub enum VolumeValues {
    /// Single precision.
    F32(Vec<f32>),
    /// Double precision.
    F64(Vec<f64>),
}

/// An atom beside the values of a [`Volume`]. Only Gaussian cube files keep atoms.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct VolumeAtom {
    /// Number of the element.
    pub number: u32,
    /// Charge.
    pub charge: f64,
    /// Position, in the unit of the grid.
    pub position: [f64; 3],
}

/// Why there is no such [`Volume`].
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum VolumeError {
    /// An axis without points.
    #[error("a grid of {} points; every axis needs one at least", Counts(.shape))]
    EmptyAxis {
        /// Points along each axis.
        shape: [usize; 3],
    },
    /// The number of points does not fit the memory of any machine.
    #[error("a grid of {} points is more than a machine can address", Counts(.shape))]
    TooManyPoints {
        /// Points along each axis.
        shape: [usize; 3],
    },
    /// A file claims more points than readers accept.
    #[error("{points} points are more than the {limit} that are read")]
    OverLimit {
        /// The number claimed.
        points: usize,
        /// [`LARGEST_READ`](super::LARGEST_READ).
        limit: usize,
    },
    /// The system gave no memory.
    #[error("no memory for {bytes} bytes of values")]
    NoMemory {
        /// What was asked for.
        bytes: usize,
    },
    /// Points and values are not as many.
    #[error("{found} values for a grid of {} = {expected} points", Counts(.shape))]
    ValueCount {
        /// Points along each axis.
        shape: [usize; 3],
        /// Their product.
        expected: usize,
        /// How many values there are.
        found: usize,
    },
    /// A number of the geometry is NaN or infinite.
    #[error("{what} {vector:?} is not finite")]
    NotFinite {
        /// What it belongs to.
        what: &'static str,
        /// The vector.
        vector: [f64; 3],
    },
    /// A step is zero or lies in the space of the others, so that points coincide.
    #[error("step vectors {steps:?} are not linearly independent")]
    DependentSteps {
        /// The steps.
        steps: [[f64; 3]; 3],
    },
}

/// `2 × 3 × 4`.
struct Counts<'a>(&'a [usize; 3]);

impl fmt::Display for Counts<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [x, y, z] = self.0;
        write!(f, "{x} × {y} × {z}")
    }
}

impl Volume {
    /// A volume of these values.
    ///
    /// # Errors
    /// [`VolumeError`] if the shape has an empty axis or overflows, if there is not one value per point, or if the
    /// geometry is not finite or lets points coincide. A step along an axis of one point may be zero. Values may be
    /// NaN or infinite.
    pub fn new(
        shape: [usize; 3],
        origin: [f64; 3],
        steps: [[f64; 3]; 3],
        values: impl Into<VolumeValues>,
    ) -> Result<Self, VolumeError> {
        let values = values.into();
        let expected = points(shape)?;
        if values.len() != expected {
            let found = values.len();
            return Err(VolumeError::ValueCount {
                shape,
                expected,
                found,
            });
        }
        check_geometry(shape, origin, steps)?;
        Ok(Volume {
            shape,
            origin,
            steps,
            values,
            title: String::new(),
            atoms: Vec::new(),
        })
    }

    /// The same values at other places.
    ///
    /// # Errors
    /// As [`Volume::new`].
    pub fn with_geometry(mut self, origin: [f64; 3], steps: [[f64; 3]; 3]) -> Result<Self, VolumeError> {
        check_geometry(self.shape, origin, steps)?;
        (self.origin, self.steps) = (origin, steps);
        Ok(self)
    }

    /// The same volume with a title.
    #[must_use]
    pub fn with_title(mut self, title: impl Into<String>) -> Self {
        self.title = title.into();
        self
    }

    /// The same volume with atoms.
    ///
    /// # Errors
    /// [`VolumeError::NotFinite`].
    pub fn with_atoms(mut self, atoms: Vec<VolumeAtom>) -> Result<Self, VolumeError> {
        for atom in &atoms {
            finite("the position of an atom", atom.position)?;
            finite("the charge of an atom", [atom.charge, 0.0, 0.0])?;
        }
        self.atoms = atoms;
        Ok(self)
    }

    /// The same volume with origin, steps and atoms multiplied by `factor`: from one unit of length to another.
    ///
    /// # Errors
    /// As [`Volume::new`]: the factor must keep lengths finite and steps different from zero.
    pub fn with_lengths_scaled(self, factor: f64) -> Result<Self, VolumeError> {
        let scaled = |v: [f64; 3]| v.map(|x| x * factor);
        let (origin, steps) = (scaled(self.origin), self.steps.map(scaled));
        let atoms = self.atoms.iter().map(|atom| VolumeAtom {
            position: scaled(atom.position),
            ..*atom
        });
        let atoms = atoms.collect();
        self.with_geometry(origin, steps)?.with_atoms(atoms)
    }

    /// Points along each axis.
    pub fn shape(&self) -> [usize; 3] {
        self.shape
    }

    /// Place of point (0, 0, 0).
    pub fn origin(&self) -> [f64; 3] {
        self.origin
    }

    /// The vectors from a point to the next along each axis.
    pub fn steps(&self) -> [[f64; 3]; 3] {
        self.steps
    }

    /// The values, the last index fastest.
    pub fn values(&self) -> &VolumeValues {
        &self.values
    }

    /// The values, without a copy.
    pub fn into_values(self) -> VolumeValues {
        self.values
    }

    /// The title.
    pub fn title(&self) -> &str {
        &self.title
    }

    /// The atoms.
    pub fn atoms(&self) -> &[VolumeAtom] {
        &self.atoms
    }

    /// Place of a point.
    pub fn position(&self, point: [usize; 3]) -> [f64; 3] {
        let mut position = self.origin;
        for (step, count) in self.steps.iter().zip(point) {
            for (x, dx) in position.iter_mut().zip(step) {
                *x += count as f64 * dx;
            }
        }
        position
    }

    /// The value at a point; `None` outside of the grid.
    pub fn value(&self, point: [usize; 3]) -> Option<f64> {
        let inside = point.iter().zip(self.shape).all(|(index, count)| *index < count);
        let [_, y, z] = self.shape;
        let number = || (point[0] * y + point[1]) * z + point[2];
        inside.then(|| self.values.get(number())).flatten()
    }

    /// The indices of value number `index`.
    pub(super) fn point(&self, index: usize) -> [usize; 3] {
        let [_, y, z] = self.shape;
        [index / (y * z), index / z % y, index % z]
    }
}

impl VolumeValues {
    /// How many there are.
    pub fn len(&self) -> usize {
        match self {
            VolumeValues::F32(values) => values.len(),
            VolumeValues::F64(values) => values.len(),
        }
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Value number `index`.
    pub fn get(&self, index: usize) -> Option<f64> {
        match self {
            VolumeValues::F32(values) => values.get(index).map(|&x| f64::from(x)),
            VolumeValues::F64(values) => values.get(index).copied(),
        }
    }

    /// In single precision, rounded where they are double.
    pub fn into_f32(self) -> Vec<f32> {
        match self {
            VolumeValues::F32(values) => values,
            VolumeValues::F64(values) => values.into_iter().map(|x| x as f32).collect(),
        }
    }

    /// In double precision.
    pub fn into_f64(self) -> Vec<f64> {
        match self {
            VolumeValues::F32(values) => values.into_iter().map(f64::from).collect(),
            VolumeValues::F64(values) => values,
        }
    }
}

impl From<Vec<f32>> for VolumeValues {
    fn from(values: Vec<f32>) -> Self {
        VolumeValues::F32(values)
    }
}

impl From<Vec<f64>> for VolumeValues {
    fn from(values: Vec<f64>) -> Self {
        VolumeValues::F64(values)
    }
}

/// The number of points of a grid.
pub(super) fn points(shape: [usize; 3]) -> Result<usize, VolumeError> {
    if shape.contains(&0) {
        return Err(VolumeError::EmptyAxis { shape });
    }
    let [x, y, z] = shape;
    let product = x.checked_mul(y).and_then(|xy| xy.checked_mul(z));
    let addressable = |n: &usize| *n <= isize::MAX as usize / size_of::<f64>();
    product
        .filter(addressable)
        .ok_or(VolumeError::TooManyPoints { shape })
}

fn finite(what: &'static str, vector: [f64; 3]) -> Result<(), VolumeError> {
    if vector.iter().all(|x| x.is_finite()) {
        return Ok(());
    }
    Err(VolumeError::NotFinite { what, vector })
}

/// Finite numbers, and steps that lead to different points.
pub(super) fn check_geometry(
    shape: [usize; 3],
    origin: [f64; 3],
    steps: [[f64; 3]; 3],
) -> Result<(), VolumeError> {
    finite("the origin", origin)?;
    for step in steps {
        finite("a step", step)?;
    }
    /// Sine of the smallest angle between a step and the space of the others.
    const SMALLEST: f64 = 1e-9;
    let dot = |a: [f64; 3], b: [f64; 3]| a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
    let mut directions: Vec<[f64; 3]> = Vec::new();
    for (step, _) in steps.into_iter().zip(shape).filter(|(_, count)| *count > 1) {
        // Divided by the largest component, squares neither overflow nor vanish.
        let largest = step.iter().fold(0.0, |m: f64, x| m.max(x.abs()));
        let unit = step.map(|x| x / largest);
        let length = dot(unit, unit).sqrt();
        let mut rest = unit.map(|x| x / length);
        for &direction in &directions {
            let along = dot(rest, direction);
            rest = [0, 1, 2].map(|axis| rest[axis] - along * direction[axis]);
        }
        let length = dot(rest, rest).sqrt();
        // A step of zero gives NaN here.
        if length.is_nan() || length <= SMALLEST {
            return Err(VolumeError::DependentSteps { steps });
        }
        directions.push(rest.map(|x| x / length));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const UNIT: [[f64; 3]; 3] = [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]];

    fn refused(shape: [usize; 3], origin: [f64; 3], steps: [[f64; 3]; 3], values: usize) -> String {
        let made = Volume::new(shape, origin, steps, vec![0.0_f32; values]);
        made.unwrap_err().to_string()
    }

    #[test]
    fn impossible_volumes_are_refused() {
        let zero = [0.0; 3];
        let message = refused([2, 3, 4], zero, UNIT, 23);
        assert_eq!(message, "23 values for a grid of 2 × 3 × 4 = 24 points");
        assert!(refused([2, 0, 4], zero, UNIT, 0).contains("2 × 0 × 4"));
        for shape in [[usize::MAX, 2, 1], [1 << 30, 1 << 30, 1], [1 << 32, 1 << 32, 1]] {
            assert!(refused(shape, zero, UNIT, 1).contains("more than a machine can address"));
        }
        assert!(refused([1, 1, 1], [0.0, f64::NAN, 0.0], UNIT, 1).contains("the origin"));
        let mut steps = UNIT;
        steps[1][2] = f64::INFINITY;
        assert!(refused([1, 1, 1], zero, steps, 1).contains("a step"));
        for step in [zero, [1.0, 0.0, 0.0], [1.0, 1.0, 0.0]] {
            let steps = [UNIT[0], UNIT[1], step];
            assert!(refused([2, 2, 2], zero, steps, 8).contains("independent"));
            // Along an axis of one point there is no next one.
            assert!(Volume::new([2, 2, 1], zero, steps, vec![0.0_f64; 4]).is_ok());
        }
    }

    #[test]
    fn tiny_and_huge_steps() {
        for size in [1e-300, 1e300] {
            let steps = UNIT.map(|step| step.map(|x| x * size));
            assert!(Volume::new([2, 2, 2], [0.0; 3], steps, vec![0.0_f32; 8]).is_ok());
        }
        let volume = Volume::new([2, 2, 2], [1.0; 3], UNIT, vec![0.0_f32; 8]).unwrap();
        assert!(volume.clone().with_lengths_scaled(0.0).is_err());
        assert!(volume.clone().with_lengths_scaled(f64::NAN).is_err());
        let scaled = volume.with_lengths_scaled(10.0).unwrap();
        assert_eq!(scaled.position([1, 0, 1]), [20.0, 10.0, 20.0]);
    }

    #[test]
    fn points_and_values() {
        let values: Vec<f64> = (0..24).map(f64::from).collect();
        let volume = Volume::new([2, 3, 4], [0.0; 3], UNIT, values).unwrap();
        for index in 0..24 {
            assert_eq!(volume.value(volume.point(index)), Some(index as f64));
        }
        assert_eq!(volume.value([0, 3, 0]), None);
    }
}
