//! [`PressureProfile`]: how lateral and normal pressure vary across a layer.
//!
//! The force between two particles is a stress on the straight line between them (Irving & Kirkwood), shared among the
//! slabs it passes through. Forces of angles and dihedrals, which act between more than two, are taken apart into (F_i
//! − F_j)/n between each two of n particles (Goetz & Lipowsky 1998). The mean over all slabs is the pressure of the
//! cell, and the tension of the layer is γ = ∫ (P_N − P_L) dz.

use std::sync::Arc;

use crate::parallel::{InParallel, Indexed};

use super::blocks::FrameSums;
use super::kind::{AnalysisKind, AnalysisRequest, Model, Setting, Subject};
use super::pairs::Grid;
use super::slabs::{Axis, Slabs};
use super::state::{Reader, Writer};
use super::{Analysis, AnalysisError, Analyzed, Column, Labels, Plot, Scalar, Snapshot, axes, check};
use crate::engines::reference::{bonded_forces, force_between};
use crate::expr::{Quat, Vec3};
use crate::potentials::Axes;
use crate::system::{Dimension, System, Units};

/// Pairs whose stresses are added up together: fixed, so that sums do not depend on the number of threads.
const CHUNK: usize = 4096;

/// Pressure along and across an axis, slab by slab.
///
/// Forces are those of the reference, in double precision: a second or so for 10⁴ particles. Memory: 60 bytes for each
/// pair within the cut-off.
pub struct PressureProfile {
    labels: Labels,
    units: Units,
    slabs: Slabs,
    model: Arc<Model>,
    /// The system as it was in the last frame.
    system: System,
    reach: f64,
    temperature: Option<f64>,
    /// For each slab xx, yy, zz; then frames, height, and frames with velocities.
    sums: FrameSums,
}

impl PressureProfile {
    fn new(request: &AnalysisRequest, subject: &Subject) -> Result<Self, AnalysisError> {
        let slabs = Slabs::of(request)?;
        slabs.check("pressure-profile", &subject.labels)?;
        let refuse = |value: &str, expected: &str| AnalysisError::Setting {
            analysis: "pressure-profile",
            setting: "forces",
            value: value.into(),
            expected: expected.into(),
        };
        let model = subject.model.as_ref().ok_or_else(|| {
            refuse(
                "not known",
                "the forces of the run; `debye analyze` learns of them by --input",
            )
        })?;
        let Model { system, forces } = model.as_ref();
        if forces.electrostatics.is_some() {
            let why = "terms between pairs alone: the reciprocal sum of Ewald acts nowhere in particular";
            return Err(refuse("with long-range electrostatics", why));
        }
        if forces.oriented.iter().any(|term| term.family.axes() == Axes::All) {
            return Err(refuse(
                "with terms of rigid bodies",
                "dipoles, or particles that do not turn",
            ));
        }
        if !system.constraints.is_empty() {
            return Err(refuse(
                "with constraints",
                "none: the forces that hold distances are not known here",
            ));
        }
        let pairs = forces
            .pairs
            .iter()
            .flat_map(|term| term.rows.iter().map(|row| row.cutoff));
        let oriented = forces
            .oriented
            .iter()
            .flat_map(|term| term.rows.iter().flatten().map(|row| row.cutoff));
        Ok(Self {
            labels: subject.labels.clone(),
            units: subject.units,
            reach: pairs.chain(oriented).fold(0.0, f64::max),
            system: system.clone(),
            model: Arc::clone(model),
            temperature: subject.temperature,
            sums: FrameSums::new(3 * slabs.count + 3),
            slabs,
        })
    }

    fn head(&self) -> Writer {
        let mut writer = Writer::new(b"PRES");
        writer.text(self.slabs.axis.name()).u64(self.slabs.count as u64);
        writer
    }

    /// Takes over the particles of a frame.
    fn take(&mut self, frame: &Snapshot<'_>) -> Result<(), AnalysisError> {
        check(frame, &self.labels, frame.positions, "position")?;
        let particles = &mut self.system.particles;
        if frame.positions.len() != particles.len() {
            return Err(AnalysisError::Length {
                step: frame.step,
                what: "particles",
                found: frame.positions.len(),
                expected: particles.len(),
            });
        }
        if !self.model.forces.oriented.is_empty() {
            let axes = axes(frame, &self.labels, "pressure-profile")?;
            let turns = particles.orientations.rotations.iter_mut().zip(axes);
            turns
                .filter(|(_, axis)| **axis != Vec3::zero())
                .for_each(|(turn, &axis)| *turn = Quat::from_z_to(axis));
        }
        particles.positions.copy_from_slice(frame.positions);
        self.system.cell = *frame.cell;
        Ok(())
    }

    /// The sums of d⊗F by slab: of pairs, then of bonded terms.
    fn stresses(&self, lines: &Lines<'_>) -> Result<Vec<f64>, AnalysisError> {
        let (system, forces) = (&self.system, &self.model.forces);
        let positions = &system.particles.positions;
        let numbered: Vec<(Vec3<f64>, u32)> = positions.iter().copied().zip(0..).collect();
        let pairs = match self.reach > 0.0 {
            true => Grid::new(&system.cell, &numbered, self.reach)?.pairs(),
            false => Vec::new(),
        };
        let nothing = || vec![0.0; 3 * self.slabs.count];
        let parts: Vec<Vec<f64>> = (pairs.par_chunks(CHUNK))
            .map(|pairs| {
                let mut sums = nothing();
                for &([i, j], d) in pairs {
                    let nearest = || d.norm2() <= system.cell.minimum_image(d).norm2() * (1.0 + 1e-9);
                    if i != j && system.exclusions.contains(i, j) && nearest() {
                        continue;
                    }
                    let force = force_between(system, forces, [i, j].map(|k| k as usize), d);
                    lines.add(positions[i as usize], d, force, &mut sums);
                }
                sums
            })
            .collect();
        let mut sums = nothing();
        for part in parts {
            sums.iter_mut().zip(part).for_each(|(sum, part)| *sum += part);
        }
        bonded_forces(system, forces, |particles, r, forces| {
            let count = particles.len();
            let share = (count as f64).recip();
            let first = positions[particles[0] as usize];
            for j in 1..count {
                for i in 0..j {
                    let force = (forces[j] - forces[i]) * share;
                    lines.add(first + r[i], r[j] - r[i], force, &mut sums);
                }
            }
        });
        Ok(sums)
    }
}

/// What a curve shows of the lateral and the normal pressure.
type Curve = fn([f64; 2]) -> f64;

/// Slabs that lines of force pass through.
struct Lines<'a> {
    frame: &'a Snapshot<'a>,
    slabs: &'a Slabs,
    origin: f64,
}

impl Lines<'_> {
    /// Shares d⊗F out among the slabs between the ends.
    fn add(&self, start: Vec3<f64>, d: Vec3<f64>, force: Vec3<f64>, sums: &mut [f64]) {
        let (cell, axis) = (self.frame.cell, self.slabs.axis as usize);
        let count = self.slabs.count as f64;
        let from = (cell.fractional(start)[axis] - self.origin + 0.5) * count;
        let to = from + cell.fractional(d)[axis] * count;
        let (low, high) = (from.min(to), from.max(to));
        let stress = [d.x * force.x, d.y * force.y, d.z * force.z];
        let (first, last) = (low.floor() as i64, high.floor() as i64);
        for slab in first..=last {
            let inside = high.min(slab as f64 + 1.0) - low.max(slab as f64);
            let share = if first == last { 1.0 } else { inside / (high - low) };
            let place = match cell.periodic()[axis] {
                true => slab.rem_euclid(self.slabs.count as i64) as usize,
                false if (0..self.slabs.count as i64).contains(&slab) => slab as usize,
                false => continue,
            };
            for (k, part) in stress.iter().enumerate() {
                sums[3 * place + k] += share * part;
            }
        }
    }
}

impl Analysis for PressureProfile {
    fn name(&self) -> &str {
        "pressure-profile"
    }

    fn add(&mut self, frame: &Snapshot<'_>) -> Result<(), AnalysisError> {
        self.take(frame)?;
        let origin = self.slabs.origin(frame);
        let lines = Lines {
            frame,
            slabs: &self.slabs,
            origin,
        };
        let mut found = self.stresses(&lines)?;
        // Without velocities the kinetic part is that of the temperature.
        let thermal = self.units.boltzmann() * self.temperature.unwrap_or(0.0);
        let masses = &self.system.particles.masses;
        for i in 0..masses.len() {
            let Some(slab) = self.slabs.slab(frame, origin, i) else {
                continue;
            };
            let kinetic = match frame.velocities {
                Some(velocities) => {
                    let v = velocities[i];
                    [v.x * v.x, v.y * v.y, v.z * v.z].map(|square| masses[i] * square)
                }
                None => [thermal; 3],
            };
            (0..3).for_each(|k| found[3 * slab + k] += kinetic[k]);
        }
        let weight = self.slabs.count as f64 / frame.cell.volume();
        let sums = self.sums.next_frame();
        let end = sums.len();
        sums.iter_mut()
            .zip(found)
            .for_each(|(sum, part)| *sum += part * weight);
        sums[end - 3] += 1.0;
        sums[end - 2] += frame.cell.heights()[self.slabs.axis as usize];
        sums[end - 1] += f64::from(u8::from(frame.velocities.is_some()));
        Ok(())
    }

    fn finish(&self) -> Analyzed {
        let (count, total) = (self.slabs.count, self.sums.total());
        let end = total.len();
        let normal = self.slabs.axis as usize;
        let (bar, unit) = self.units.readable(Dimension::PRESSURE);
        let (tension, tension_unit) = self.units.tension();
        let parts = |sums: &[f64], slab: usize| {
            let p = |k: usize| sums[3 * slab + k] / sums[end - 3];
            let across = p((normal + 1) % 3) + p((normal + 2) % 3);
            [0.5 * across, p(normal)]
        };
        let height = total[end - 2] / total[end - 3];
        let mut columns = vec![self.slabs.middles(height, &self.labels)];
        let curves: [(&str, Curve); 3] = [
            ("lateral", |[lateral, _]| lateral),
            ("normal", |[_, normal]| normal),
            ("lateral − normal", |[lateral, normal]| lateral - normal),
        ];
        for (name, of) in curves {
            let values = (0..count).map(|slab| bar * of(parts(&total, slab))).collect();
            let error = |slab| bar * self.sums.error_of(|sums| of(parts(sums, slab)));
            let errors = (0..count).map(error).collect();
            columns.push(Column::new(name, &unit, values, Some(errors)));
        }
        let layer = |sums: &[f64]| {
            let slab = sums[end - 2] / sums[end - 3] / count as f64;
            let excess = |k: usize| {
                let [lateral, normal] = parts(sums, k);
                normal - lateral
            };
            tension * slab * (0..count).map(excess).sum::<f64>()
        };
        let mean = |sums: &[f64], of: usize| {
            bar * (0..count).map(|k| parts(sums, k)[of]).sum::<f64>() / count as f64
        };
        let scalar = |name: &str, unit: &str, note: &str, f: &dyn Fn(&[f64]) -> f64| {
            Scalar::new(name, unit, f(&total), self.sums.error_of(f), note)
        };
        let kinetic = match (total[end - 1] > 0.0, self.temperature) {
            (true, _) => "from the velocities",
            (false, Some(_)) => "that of the thermostat's temperature",
            (false, None) => "left out: neither velocities nor a temperature are known",
        };
        let axis = self.slabs.axis.name();
        Analyzed {
            name: "pressure-profile".into(),
            title: format!("Pressure along {axis}"),
            notes: vec![
                format!(
                    "Frames: {}; {}",
                    self.sums.frames(),
                    self.slabs.note(&self.labels)
                ),
                format!("Kinetic part: {kinetic}. Lines of force are straight (Irving & Kirkwood)."),
            ],
            scalars: vec![
                scalar(
                    "tension",
                    &tension_unit,
                    "∫ (normal − lateral), of the whole layer",
                    &layer,
                ),
                scalar("lateral", &unit, "mean over the cell", &|sums| mean(sums, 0)),
                scalar("normal", &unit, "mean over the cell", &|sums| mean(sums, 1)),
            ],
            plots: vec![Plot::new(
                "",
                &format!("{axis} ({})", self.labels.length),
                &format!("pressure ({unit})"),
                vec![1, 2],
            )],
            columns,
        }
    }

    fn save(&self) -> Vec<u8> {
        self.sums.save(self.head())
    }

    fn restore(&mut self, state: &[u8]) -> Result<(), AnalysisError> {
        let reader = Reader::new("pressure-profile", state, &self.head())?;
        self.sums = self.sums.restored(reader)?;
        Ok(())
    }
}

pub(super) static KIND: AnalysisKind = AnalysisKind {
    name: "pressure-profile",
    about: "Lateral and normal pressure across a layer, and its tension",
    settings: &[Setting::BINS, Axis::SETTING, Slabs::CENTER],
    fewest_frames: 1,
    build: |request, subject| Ok(Box::new(PressureProfile::new(request, subject)?)),
    check: |_, _| Ok(()),
};
