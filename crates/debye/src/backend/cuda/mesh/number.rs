//! [`MeshNumber`]: what a mesh is made of.

use crate::backend::cuda::{Element, Value};

/// A number of a mesh: `f32` in single and mixed precision, `f64` in double.
pub trait MeshNumber: Element + Value {
    /// Whether it is `f64`.
    const DOUBLE: bool;
    /// Rounded to it.
    fn rounded(x: f64) -> Self;
    /// As `f64`.
    fn wide(self) -> f64;
}

impl MeshNumber for f32 {
    const DOUBLE: bool = false;

    fn rounded(x: f64) -> Self {
        x as Self
    }

    fn wide(self) -> f64 {
        f64::from(self)
    }
}

impl MeshNumber for f64 {
    const DOUBLE: bool = true;

    fn rounded(x: f64) -> Self {
        x
    }

    fn wide(self) -> f64 {
        self
    }
}
