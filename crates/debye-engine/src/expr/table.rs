//! [`Table`]: numbers a formula looks up, in both precisions.

/// Values for [`super::Real::gather`]; never empty.
#[derive(Clone, Debug)]
pub struct Table {
    f64s: Vec<f64>,
    f32s: Vec<f32>,
}

impl Table {
    /// A table of these values; an empty one holds a single zero.
    pub fn new(values: Vec<f64>) -> Self {
        let mut table = Self {
            f32s: values.iter().map(|&v| v as f32).collect(),
            f64s: values,
        };
        if table.f64s.is_empty() {
            table.extend(&[0.0]);
        }
        table
    }

    /// Adds values at the end and returns the index of the first.
    pub fn extend(&mut self, values: &[f64]) -> usize {
        let start = self.f64s.len();
        self.f64s.extend_from_slice(values);
        self.f32s.extend(values.iter().map(|&v| v as f32));
        start
    }

    /// The values in double precision.
    #[inline(always)]
    pub fn f64s(&self) -> &[f64] {
        &self.f64s
    }

    /// The values in single precision.
    #[inline(always)]
    pub fn f32s(&self) -> &[f32] {
        &self.f32s
    }
}

impl Default for Table {
    fn default() -> Self {
        Self::new(Vec::new())
    }
}
