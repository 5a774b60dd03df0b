//! [`LateralDiffusion`]: how far lipids move in the plane of their layer.
//!
//! D = slope / 4 of the mean-square displacement of their centers of mass in the plane. The motion of each leaflet as a
//! whole is taken out: leaflets slide over one another in a simulation, which is no diffusion of lipids.

use super::correlate::{Correlator, Lags, Window};
use super::kind::{AnalysisKind, AnalysisRequest, Setting, SettingKind, Subject};
use super::lipids::Lipids;
use super::msd::{diffusion, fit_range};
use super::slabs::Axis;
use super::state::{Reader, Writer};
use super::{Analysis, AnalysisError, Analyzed, Column, Labels, ORIGINS, Plot, Snapshot, check};
use crate::expr::Vec3;

/// Mean-square displacement of lipids in the plane of their layer.
///
/// Memory: (origins + 1) · 24 bytes for each lipid, and 16 for each of their beads.
#[derive(Clone, Debug)]
pub struct LateralDiffusion {
    labels: Labels,
    lipids: Lipids,
    correlator: Correlator,
    /// Leaflet of each lipid: 1 where its head looked up in the first frame.
    leaflets: Vec<u32>,
}

impl LateralDiffusion {
    fn new(request: &AnalysisRequest, subject: &Subject) -> Result<Self, AnalysisError> {
        let window = Window {
            longest: request.count("lags")?,
            origins: ORIGINS,
            lags: Lags::PerDecade(20),
        };
        let leaflets = Labels {
            species: vec!["lower leaflet".into(), "upper leaflet".into()],
            ..subject.labels.clone()
        };
        Ok(Self {
            labels: subject.labels.clone(),
            lipids: Lipids::of("lateral-diffusion", request, subject)?,
            correlator: Correlator::new("lateral-diffusion", window, &leaflets)?,
            leaflets: Vec::new(),
        })
    }

    fn head(&self) -> Writer {
        let mut writer = Writer::new(b"LATD");
        writer.text(self.lipids.axis.name()).u64(self.lipids.len() as u64);
        self.correlator.head(&mut writer);
        writer
    }
}

impl Analysis for LateralDiffusion {
    fn name(&self) -> &str {
        "lateral-diffusion"
    }

    fn add(&mut self, frame: &Snapshot<'_>) -> Result<(), AnalysisError> {
        check(frame, &self.labels, frame.unwrapped, "position")?;
        let placed = self.lipids.place(frame);
        let leaflets: Vec<u32> = match self.leaflets.is_empty() {
            true => placed.iter().map(|lipid| u32::from(lipid.upper)).collect(),
            false => self.leaflets.clone(),
        };
        let normal = frame.cell.normal(self.lipids.axis as usize);
        let mut drift = [(0.0, Vec3::zero()); 2];
        for (lipid, &leaflet) in placed.iter().zip(&leaflets) {
            let (count, sum) = &mut drift[leaflet as usize];
            *count += 1.0;
            *sum += lipid.center;
        }
        let flat = placed.iter().zip(&leaflets).map(|(lipid, &leaflet)| {
            let (count, sum) = drift[leaflet as usize];
            let moved = lipid.center - sum * f64::recip(count);
            moved - normal * moved.dot(normal)
        });
        let flat: Vec<Vec3<f64>> = flat.collect();
        let lipids = Snapshot {
            species: &leaflets,
            ..*frame
        };
        let squared = |a: Vec3<f64>, b: Vec3<f64>| (b - a).norm2();
        self.correlator.add(&lipids, &flat, "position", squared)?;
        self.leaflets = leaflets;
        Ok(())
    }

    fn needs_velocities(&self) -> bool {
        false
    }

    fn finish(&self) -> Analyzed {
        let times = self.correlator.lag_times();
        let Labels { length, time, .. } = &self.labels;
        let range = fit_range(&times, None);
        let mut columns = vec![Column::new("lag", time, times.clone(), None)];
        let mut scalars = Vec::new();
        for (group, name) in ["lower leaflet", "upper leaflet", "all"].iter().enumerate() {
            let (values, errors) = self.correlator.curve(group);
            if values.iter().all(|&v| v == 0.0) {
                continue;
            }
            scalars.extend(range.map(|range| diffusion(&self.correlator, group, name, range, 2)));
            columns.push(Column::new(name, &format!("{length}²"), values, Some(errors)));
        }
        Analyzed {
            name: "lateral-diffusion".into(),
            title: "Lateral diffusion of lipids".into(),
            notes: vec![
                format!(
                    "Frames: {}; centers of mass of {} lipids in the plane, motion of each leaflet taken out.",
                    self.correlator.frames(),
                    self.lipids.len()
                ),
                "D is that of the periodic cell: no correction for its size.".into(),
            ],
            plots: vec![Plot::new(
                "",
                &format!("lag ({time})"),
                &format!("MSD in the plane ({length}²)"),
                (1..columns.len()).collect(),
            )],
            columns,
            scalars,
        }
    }

    fn save(&self) -> Vec<u8> {
        let mut writer = self.head();
        writer.u64(self.leaflets.len() as u64);
        self.leaflets.iter().for_each(|&leaflet| {
            writer.u64(u64::from(leaflet));
        });
        self.correlator.save(writer)
    }

    fn restore(&mut self, state: &[u8]) -> Result<(), AnalysisError> {
        let mut reader = Reader::new("lateral-diffusion", state, &self.head())?;
        let count = reader.length(8)?;
        let leaflets = (0..count).map(|_| reader.u64()).collect::<Result<Vec<_>, _>>()?;
        if leaflets.iter().any(|&leaflet| leaflet > 1) || ![0, self.lipids.len()].contains(&count) {
            return Err(reader.error("its leaflets do not fit the lipids"));
        }
        self.correlator = self.correlator.restored(reader)?;
        self.leaflets = leaflets.iter().map(|&leaflet| leaflet as u32).collect();
        Ok(())
    }
}

pub(super) static KIND: AnalysisKind = AnalysisKind {
    name: "lateral-diffusion",
    about: "Diffusion of lipids in the plane of their layer",
    settings: &[
        Lipids::HEADS,
        Axis::SETTING,
        Setting {
            name: "lags",
            key: Some("lags"),
            flag: Some("Longest lag in frames"),
            kind: SettingKind::Count(1000),
        },
    ],
    fewest_frames: 2,
    build: |request, subject| Ok(Box::new(LateralDiffusion::new(request, subject)?)),
    check: |_, _| Ok(()),
};
