//! [`Bilayer`]: area and volume per lipid, thickness, and how easily the layer is stretched.
//!
//! The area compressibility modulus comes from fluctuations of the area A of a layer without tension,
//! K_A = kT ⟨A⟩ / (⟨A²⟩ − ⟨A⟩²): it needs a barostat that samples them (cell rescaling; weak coupling does not) and runs of
//! many times their relaxation.

use super::blocks::FrameSums;
use super::kind::{AnalysisKind, AnalysisRequest, Setting, SettingKind, Subject};
use super::lipids::Lipids;
use super::slabs::Axis;
use super::state::{Reader, Writer};
use super::{Analysis, AnalysisError, Analyzed, Column, Labels, Plot, Scalar, Snapshot, check};
use crate::system::{Dimension, Units};

/// Sums of a frame: frames, time, area, its square, frames with two leaflets and the distance of their heads, volume, lipids
/// whose head points up.
const SUMS: usize = 8;

/// The size of a bilayer.
///
/// Memory: 100 bytes for each bead of a lipid.
#[derive(Clone, Debug)]
pub struct Bilayer {
    labels: Labels,
    units: Units,
    lipids: Lipids,
    /// How much of the volume is not the lipids'; `None` where it is not known.
    solvent: Option<f64>,
    temperature: Option<f64>,
    /// The first area, which squares are taken from: they would lose digits.
    first: f64,
    sums: FrameSums,
}

impl Bilayer {
    fn new(request: &AnalysisRequest, subject: &Subject) -> Result<Self, AnalysisError> {
        let water = request.species("water")?;
        let volume = request.quantity("water_volume")?;
        let solvent = match (water, volume) {
            ([], None) => None,
            ([_, ..], Some(volume)) => {
                let molecules = subject.species.iter().filter(|s| water.contains(s)).count();
                Some(volume * molecules as f64)
            }
            _ => {
                let given = if water.is_empty() { "water_volume" } else { "water" };
                return Err(AnalysisError::Setting {
                    analysis: "bilayer",
                    setting: given,
                    value: "given without the other".into(),
                    expected: "`water` and `water_volume` together: the volume per lipid needs both".into(),
                });
            }
        };
        Ok(Self {
            labels: subject.labels.clone(),
            units: subject.units,
            lipids: Lipids::of("bilayer", request, subject)?,
            solvent,
            temperature: request.quantity("temperature")?.or(subject.temperature),
            first: 0.0,
            sums: FrameSums::new(SUMS),
        })
    }

    fn head(&self) -> Writer {
        let mut writer = Writer::of_version(b"BILA", 2);
        writer.text(self.lipids.axis.name()).u64(self.lipids.len() as u64);
        writer
    }

    /// Twice the area over the number of lipids.
    fn area(&self, sums: &[f64]) -> f64 {
        2.0 * sums[2] / sums[0] / self.lipids.len() as f64
    }

    /// kT ⟨A⟩ over the variance of A, for kT = 1.
    fn stiffness(&self, sums: &[f64]) -> f64 {
        let frames = sums[0];
        let mean = sums[2] / frames;
        let variance = sums[3] / frames - (mean - self.first).powi(2);
        mean / (variance * frames / (frames - 1.0))
    }
}

impl Analysis for Bilayer {
    fn name(&self) -> &str {
        "bilayer"
    }

    fn add(&mut self, frame: &Snapshot<'_>) -> Result<(), AnalysisError> {
        check(frame, &self.labels, frame.positions, "position")?;
        let placed = self.lipids.place(frame);
        let heights = self.lipids.heights(frame, &placed);
        let mean = |upper: bool| {
            let side = placed
                .iter()
                .zip(&heights)
                .filter(|(lipid, _)| lipid.upper == upper);
            let (count, sum) = side.fold((0.0, 0.0), |(n, sum), (_, &height)| (n + 1.0, sum + height));
            sum / count
        };
        // There is none without two leaflets.
        let thickness = Some(mean(true) - mean(false)).filter(|thickness| thickness.is_finite());
        let volume = frame.cell.volume();
        let area = volume / frame.cell.heights()[self.lipids.axis as usize];
        if self.sums.frames() == 0 {
            self.first = area;
        }
        let upper = placed.iter().filter(|lipid| lipid.upper).count() as f64;
        let amounts = [
            1.0,
            frame.time,
            area,
            (area - self.first).powi(2),
            f64::from(u8::from(thickness.is_some())),
            thickness.unwrap_or(0.0),
            volume,
            upper,
        ];
        self.sums.add(amounts);
        Ok(())
    }

    fn needs_velocities(&self) -> bool {
        false
    }

    fn finish(&self) -> Analyzed {
        let Labels { length, time, .. } = &self.labels;
        let (area_unit, volume_unit) = (format!("{length}²"), format!("{length}³"));
        let total = self.sums.total();
        let lipids = self.lipids.len() as f64;
        let mean = |sums: &[f64], what: usize| sums[what] / sums[0];
        let thickness = |sums: &[f64]| sums[5] / sums[4];
        let error = |statistic: &dyn Fn(&[f64]) -> f64| self.sums.error_of(statistic);
        let mut scalars = Vec::new();
        let mut put = |name: &str, unit: &str, note: &str, statistic: &dyn Fn(&[f64]) -> f64| {
            scalars.push(Scalar::new(name, unit, statistic(&total), error(statistic), note));
        };
        put(
            "area per lipid",
            &area_unit,
            "twice the area over the lipids",
            &|sums| self.area(sums),
        );
        put(
            "thickness",
            length,
            "between the head groups of the leaflets",
            &thickness,
        );
        if let Some(solvent) = self.solvent {
            let note = "volume that is not the water's, over the lipids";
            put("volume per lipid", &volume_unit, note, &|sums| {
                (mean(sums, 6) - solvent) / lipids
            });
        }
        put("lipids with their heads up", "", "", &|sums| mean(sums, 7));
        if let Some(temperature) = self.temperature {
            let (factor, unit) = self.units.tension();
            let energy = self.units.boltzmann() * temperature * factor;
            let note = "from fluctuations of the area; a barostat of weak coupling does not sample them";
            let modulus = |sums: &[f64]| energy * self.stiffness(sums);
            let error = self.sums.jackknife(modulus);
            let name = "area compressibility modulus";
            scalars.push(Scalar::new(name, &unit, modulus(&total), error, note));
        }
        let blocks = self.sums.complete();
        let column = |name: &str, unit: &str, f: &dyn Fn(&[f64]) -> f64| {
            Column::new(name, unit, blocks.iter().map(|sums| f(sums)).collect(), None)
        };
        let columns = vec![
            column("time", time, &|sums| mean(sums, 1)),
            column("area per lipid", &area_unit, &|sums| self.area(sums)),
            column("thickness", length, &thickness),
        ];
        let over_time = |name: &str, unit: &str, column| {
            let title = format!("{}{} over time", name[..1].to_uppercase(), &name[1..]);
            Plot::new(
                &title,
                &format!("time ({time})"),
                &format!("{name} ({unit})"),
                vec![column],
            )
        };
        Analyzed {
            name: "bilayer".into(),
            title: "Bilayer".into(),
            notes: vec![format!(
                "Frames: {}; lipids: {lipids}; rows are means over equal blocks of time.",
                self.sums.frames()
            )],
            plots: vec![
                over_time("area per lipid", &area_unit, 1),
                over_time("thickness", length, 2),
            ],
            columns,
            scalars,
        }
    }

    fn save(&self) -> Vec<u8> {
        let mut writer = self.head();
        writer.f64(self.first);
        self.sums.save(writer)
    }

    fn restore(&mut self, state: &[u8]) -> Result<(), AnalysisError> {
        let mut reader = Reader::new("bilayer", state, &self.head())?;
        let first = reader.f64()?;
        (self.sums, self.first) = (self.sums.restored(reader)?, first);
        Ok(())
    }
}

pub(super) static KIND: AnalysisKind = AnalysisKind {
    name: "bilayer",
    about: "Area and volume per lipid, thickness and area compressibility of a bilayer",
    settings: &[
        Lipids::HEADS,
        Axis::SETTING,
        Setting {
            name: "water",
            key: Some("water"),
            flag: Some("Species of the water, for the volume per lipid"),
            kind: SettingKind::Species,
        },
        Setting {
            name: "water_volume",
            key: Some("water_volume"),
            flag: Some("Volume of a water molecule, for the volume per lipid"),
            kind: SettingKind::Quantity(Dimension::VOLUME),
        },
        Setting {
            name: "temperature",
            key: Some("temperature"),
            flag: Some("Temperature, for the area compressibility"),
            kind: SettingKind::Quantity(Dimension::TEMPERATURE),
        },
    ],
    fewest_frames: 1,
    build: |request, subject| Ok(Box::new(Bilayer::new(request, subject)?)),
    check: |_, _| Ok(()),
};
