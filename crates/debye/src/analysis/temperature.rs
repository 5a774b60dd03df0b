//! [`Temperature`]: how hot some species are, their translation and their rotation apart.
//!
//! From kinetic energies, T = 2 K / (f k) with three degrees of freedom f for the translation of a particle, two or three
//! for its rotation, and one less for every constraint. The motion of the center of mass is not taken out. In a canonical ensemble T fluctuates by T √(2/f): a thermostat that scales too eagerly shows a
//! smaller deviation.

use std::sync::Arc;

use super::blocks::FrameSums;
use super::kind::{AnalysisKind, Setting, Subject};
use super::state::{Reader, Writer};
use super::{Analysis, AnalysisError, Analyzed, Column, Labels, Plot, Scalar, Snapshot, check};
use crate::system::{Dimension, Units};

/// Sums of a frame: frames, time, then for translation, rotation and both the temperature and the square of what it differs
/// by from the first.
const SUMS: usize = 8;
const KINDS: [&str; 3] = ["translation", "rotation", "temperature"];

/// Temperature of some species.
///
/// Memory: a few kilobytes.
#[derive(Clone, Debug)]
pub struct Temperature {
    labels: Labels,
    units: Units,
    /// Empty means all.
    species: Vec<u32>,
    masses: Arc<[f64]>,
    rotations: Arc<[u8]>,
    /// Degrees of freedom of translation, rotation and both.
    freedom: [f64; 3],
    /// Whether the source has rotational energies.
    turning: bool,
    first: [f64; 3],
    sums: FrameSums,
}

impl Temperature {
    /// An empty accumulator; of all species where none are named.
    pub fn new(species: &[u32], subject: &Subject) -> Self {
        let wanted = |s: &u32| species.is_empty() || species.contains(s);
        let members = (0..subject.species.len()).filter(|&i| wanted(&subject.species[i]));
        let (moving, turning) = members.fold((0.0, 0.0), |(moving, turning), i| {
            let rotations = subject.rotations.get(i).copied().unwrap_or(0);
            (moving + 3.0, turning + f64::from(rotations))
        });
        let belongs = |i: u32| wanted(&subject.species[i as usize]);
        let held = subject.constraints.taken_from(&subject.masses, belongs);
        Self {
            labels: subject.labels.clone(),
            units: subject.units,
            species: species.to_vec(),
            masses: Arc::clone(&subject.masses),
            rotations: Arc::clone(&subject.rotations),
            freedom: [moving - held, turning, moving - held + turning],
            turning: false,
            first: [0.0; 3],
            sums: FrameSums::new(SUMS),
        }
    }

    fn head(&self) -> Writer {
        let mut writer = Writer::of_version(b"TEMP", 2);
        self.species.iter().for_each(|&species| {
            writer.u64(u64::from(species));
        });
        writer.f64(self.freedom[2]);
        writer
    }

    /// The standard deviation of a temperature.
    fn deviation(&self, sums: &[f64], kind: usize) -> f64 {
        let frames = sums[0];
        let mean = sums[2 + 2 * kind] / frames - self.first[kind];
        let variance = sums[3 + 2 * kind] / frames - mean * mean;
        (variance.max(0.0) * frames / (frames - 1.0)).sqrt()
    }
}

impl Analysis for Temperature {
    fn name(&self) -> &str {
        "temperature"
    }

    fn add(&mut self, frame: &Snapshot<'_>) -> Result<(), AnalysisError> {
        let (step, analysis) = (frame.step, "temperature");
        let velocities = frame
            .velocities
            .ok_or(AnalysisError::NoVelocities { step, analysis })?;
        check(frame, &self.labels, velocities, "velocity")?;
        let mut doubled = [0.0; 3];
        for (i, (v, species)) in velocities.iter().zip(frame.species).enumerate() {
            if !self.species.is_empty() && !self.species.contains(species) {
                continue;
            }
            doubled[0] += self.masses[i] * v.norm2();
            if let (Some(energies), 1..) =
                (frame.rotational_energies, self.rotations.get(i).map_or(0, |&n| n))
            {
                doubled[1] += 2.0 * energies[i];
            }
        }
        let turning = self.freedom[1] > 0.0 && frame.rotational_energies.is_some();
        doubled[2] = doubled[0] + doubled[1];
        let freedom = [
            self.freedom[0],
            self.freedom[1],
            if turning { self.freedom[2] } else { self.freedom[0] },
        ];
        let boltzmann = self.units.boltzmann();
        let found: [f64; 3] = std::array::from_fn(|k| match freedom[k] > 0.0 {
            true => doubled[k] / (freedom[k] * boltzmann),
            false => 0.0,
        });
        if self.sums.frames() == 0 {
            (self.first, self.turning) = (found, turning);
        }
        let sums = self.sums.next_frame();
        sums[0] += 1.0;
        sums[1] += frame.time;
        for k in 0..3 {
            sums[2 + 2 * k] += found[k];
            sums[3 + 2 * k] += (found[k] - self.first[k]).powi(2);
        }
        Ok(())
    }

    fn finish(&self) -> Analyzed {
        let total = self.sums.total();
        let unit = self.units.label(Dimension::TEMPERATURE);
        let mean = |sums: &[f64], k: usize| sums[2 + 2 * k] / sums[0];
        let [moving, turning, both] = self.freedom;
        let freedom = match self.turning {
            true => [moving, turning, both],
            false => [moving, 0.0, moving],
        };
        // Rotation is told apart where there is one.
        let kinds: &[usize] = match mean(&total, 1) > 0.0 {
            true => &[0, 1, 2],
            false => &[2],
        };
        let mut scalars = Vec::new();
        for &k in kinds {
            let error = self.sums.error_of(|sums| mean(sums, k));
            let value = mean(&total, k);
            scalars.push(Scalar::new(KINDS[k], &unit, value, error, ""));
            let canonical = value * (2.0 / freedom[k]).sqrt();
            let note = format!("of a frame; {canonical:.5} in a canonical ensemble");
            let error = self.sums.jackknife(|sums| self.deviation(sums, k));
            let name = format!("deviation of {}", KINDS[k]);
            scalars.push(Scalar::new(&name, &unit, self.deviation(&total, k), error, &note));
        }
        let blocks = self.sums.complete();
        let time = &self.labels.time;
        let times = blocks.iter().map(|sums| sums[1] / sums[0]).collect();
        let mut columns = vec![Column::new("time", time, times, None)];
        for &k in kinds {
            let values = blocks.iter().map(|sums| mean(sums, k)).collect();
            columns.push(Column::new(KINDS[k], &unit, values, None));
        }
        let names: Vec<&str> = self
            .species
            .iter()
            .map(|&s| self.labels.species[s as usize].as_str())
            .collect();
        let names = if names.is_empty() {
            "all".into()
        } else {
            names.join(", ")
        };
        Analyzed {
            name: "temperature".into(),
            title: format!("Temperature of {names}"),
            notes: vec![format!(
                "Frames: {}; degrees of freedom: {} of translation, {} of rotation; rows are means over equal blocks of time.",
                self.sums.frames(),
                freedom[0],
                freedom[1]
            )],
            plots: vec![Plot::new(
                "",
                &format!("time ({time})"),
                &format!("temperature ({unit})"),
                (1..columns.len()).collect(),
            )],
            columns,
            scalars,
        }
    }

    fn save(&self) -> Vec<u8> {
        let mut writer = self.head();
        writer.u64(u64::from(self.turning));
        self.first.iter().for_each(|&first| {
            writer.f64(first);
        });
        self.sums.save(writer)
    }

    fn restore(&mut self, state: &[u8]) -> Result<(), AnalysisError> {
        let mut reader = Reader::new("temperature", state, &self.head())?;
        let turning = reader.u64()? != 0;
        let first = [reader.f64()?, reader.f64()?, reader.f64()?];
        (self.sums, self.turning, self.first) = (self.sums.restored(reader)?, turning, first);
        Ok(())
    }
}

pub(super) static KIND: AnalysisKind = AnalysisKind {
    name: "temperature",
    about: "Temperature of some species, translation and rotation apart",
    settings: &[Setting {
        flag: Some("Species whose temperature it is [default: all]"),
        ..Setting::SPECIES
    }],
    fewest_frames: 1,
    build: |request, subject| {
        let made = Temperature::new(request.species("species")?, subject);
        if made.freedom[2] <= 0.0 {
            let name = |&s: &u32| subject.labels.species[s as usize].clone();
            return Err(AnalysisError::Setting {
                analysis: "temperature",
                setting: "species",
                value: made.species.iter().map(name).collect::<Vec<_>>().join(", "),
                expected: "species with degrees of freedom of their own; sites without mass have none".into(),
            });
        }
        Ok(Box::new(made))
    },
    check: |_, _| Ok(()),
};
