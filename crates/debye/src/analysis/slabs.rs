//! [`Slabs`]: parallel slices of the cell, for profiles along an axis.

use super::kind::{AnalysisRequest, Setting, SettingKind};
use super::{AnalysisError, Column, Labels, Snapshot};

/// The cell vector a profile runs along; its slabs are parallel to the other two.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Axis {
    /// Across the slabs of a.
    X,
    /// Across the slabs of b.
    Y,
    /// Across the slabs of c.
    Z,
}

impl Axis {
    /// x, y or z.
    pub fn name(self) -> &'static str {
        ["x", "y", "z"][self as usize]
    }

    /// The setting of analyses along an axis.
    pub(super) const SETTING: Setting = Setting {
        name: "axis",
        key: Some("axis"),
        flag: Some("Axis"),
        kind: SettingKind::Choice(&["x", "y", "z"], 2),
    };

    /// The axis that was asked for.
    pub(super) fn of(request: &AnalysisRequest) -> Result<Self, AnalysisError> {
        Ok([Self::X, Self::Y, Self::Z][request.choice("axis")?.min(2)])
    }
}

/// Slices of the cell of equal height, which are fractions of it, so that a cell may change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Slabs {
    /// Across which axis.
    pub axis: Axis,
    /// How many.
    pub count: usize,
    /// Species whose middle is in the middle of the slabs, in every frame; where none are named, the slabs lie still.
    pub center: Vec<u32>,
}

impl Slabs {
    /// The setting of the species in the middle.
    pub(super) const CENTER: Setting = Setting {
        name: "center",
        key: Some("center"),
        flag: Some(
            "Species whose middle is kept in the middle of the profile, such as C,P,G,E,T [default: none]",
        ),
        kind: SettingKind::Species,
    };

    /// The slabs that were asked for.
    pub(super) fn of(request: &AnalysisRequest) -> Result<Self, AnalysisError> {
        Ok(Self {
            axis: Axis::of(request)?,
            count: request.count("bins")?,
            center: request.species("center")?.to_vec(),
        })
    }

    /// Refuses a number of slabs, and an unknown species.
    pub(super) fn check(&self, analysis: &'static str, labels: &Labels) -> Result<(), AnalysisError> {
        let wrong = |setting, value: String, expected: &str| AnalysisError::Setting {
            analysis,
            setting,
            value,
            expected: expected.into(),
        };
        if !(1..=1_000_000).contains(&self.count) {
            return Err(wrong("bins", self.count.to_string(), "1 to 1000000"));
        }
        match self.center.iter().find(|&&s| s as usize >= labels.species.len()) {
            Some(species) => Err(wrong("center", species.to_string(), "species of the system")),
            None => Ok(()),
        }
    }

    /// The fraction of the cell that is moved to its middle.
    ///
    /// Along a periodic axis the middle is that of points on a circle, made exact by the mean distance from it; no particle
    /// may be farther from it than half the cell.
    pub(super) fn origin(&self, frame: &Snapshot<'_>) -> f64 {
        if self.center.is_empty() {
            return 0.5;
        }
        let axis = self.axis as usize;
        let chosen = frame.positions.iter().zip(frame.species);
        let chosen = chosen.filter(|(_, species)| self.center.contains(species));
        let places: Vec<f64> = chosen.map(|(&r, _)| frame.cell.fractional(r)[axis]).collect();
        middle(&places, frame.cell.periodic()[axis])
    }

    /// The slab of a particle; `None` outside of an open cell.
    pub(super) fn slab(&self, frame: &Snapshot<'_>, origin: f64, i: usize) -> Option<usize> {
        let axis = self.axis as usize;
        let s = frame.cell.fractional(frame.positions[i])[axis] - origin + 0.5;
        let s = match frame.cell.periodic()[axis] {
            true => s - s.floor(),
            false => s,
        };
        (0.0..=1.0)
            .contains(&s)
            .then(|| ((s * self.count as f64) as usize).min(self.count - 1))
    }

    /// The middles of the slabs in a cell of this height, from the center where there is one.
    pub(super) fn middles(&self, height: f64, labels: &Labels) -> Column {
        let shift = if self.center.is_empty() { 0.0 } else { 0.5 };
        let place = |k: usize| ((k as f64 + 0.5) / self.count as f64 - shift) * height;
        let places = (0..self.count).map(place).collect();
        Column::new(self.axis.name(), &labels.length, places, None)
    }

    /// A sentence that says what the distances are.
    pub(super) fn note(&self, labels: &Labels) -> String {
        let names: Vec<&str> = self
            .center
            .iter()
            .map(|&s| labels.species[s as usize].as_str())
            .collect();
        let from = match names.is_empty() {
            true => String::new(),
            false => format!(" from the middle of {}", names.join(", ")),
        };
        format!("slabs are fractions of the cell, drawn at its mean height{from}.")
    }
}

/// The mean of fractions of a cell; where it is periodic, that of the nearest images.
pub(super) fn middle(places: &[f64], periodic: bool) -> f64 {
    use std::f64::consts::TAU;
    let count = places.len().max(1) as f64;
    if !periodic {
        return places.iter().sum::<f64>() / count;
    }
    let (sine, cosine) = places.iter().fold((0.0, 0.0), |(s, c), &place| {
        let (sine, cosine) = (TAU * place).sin_cos();
        (s + sine, c + cosine)
    });
    let first = sine.atan2(cosine) / TAU;
    let distance = |place: f64| place - first - (place - first).round();
    first + places.iter().map(|&place| distance(place)).sum::<f64>() / count
}

#[cfg(test)]
mod tests {
    use super::middle;

    #[test]
    fn a_layer_across_a_face_has_its_middle_there() {
        let places = [0.9, 0.95, 0.05, 0.1, 0.2];
        assert!((middle(&places, true) - 0.04).abs() < 1e-14);
        assert!((middle(&places, false) - 0.44).abs() < 1e-14);
    }
}
