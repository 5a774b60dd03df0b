//! [`BeadVariant`]: ways to compute forces and torques of beads.

use std::time::Instant;

use debye::engines::Engine;
use debye::expr::Vec3;
use debye::prelude::Precision;
use debye_gpu::{CudaError, Device, Stream};

use super::beads::{Acted, Beads, Model};
use super::device::OnCard;
use super::sequential::{Motion, PairList};
use super::versions::{Arithmetic, Kept, Types, Version};
use crate::study::{OnDevice, OnHost, Place, StudyError, Variant, Work};

/// Rows of the matrix of neighbors at first.
pub(super) const FEW: u32 = 32;

/// Which part of a step is timed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// Lists of neighbors, and forces to be compared.
    Neighbors,
    /// Forces.
    Forces,
    /// The first integration, and forces to be compared.
    Integration,
    /// Integration, forces, integration; no list.
    Step,
}

/// A way to compute forces and torques.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BeadVariant {
    /// The paper's serial program.
    Sequential(Part),
    /// The paper's kernels.
    Kernels(Version, Part),
    /// Whole steps of the engine, bonds and lists among them.
    Engine(Precision, Place),
}

impl Variant<Beads> for BeadVariant {
    fn name(&self) -> String {
        match self {
            Self::Sequential(_) => "CPU serial".into(),
            Self::Kernels(version, _) => {
                let apart = if version.merged { "" } else { ", kick apart" };
                format!(
                    "GPU {}, {}{apart}",
                    version.types.name(),
                    version.arithmetic.name()
                )
            }
            Self::Engine(precision, place) => {
                let place = place.name().replace("cuda", "GPU").replace("cpu", "CPU");
                format!("{place} engine, {}, whole step", precision.name())
            }
        }
    }

    fn place(&self) -> Place {
        match self {
            Self::Sequential(_) => Place::Cpu,
            Self::Kernels(..) => Place::Cuda,
            Self::Engine(_, place) => *place,
        }
    }

    fn tolerance(&self) -> f64 {
        match self {
            Self::Sequential(_) | Self::Engine(Precision::Double, _) => force_tolerance(Arithmetic::Double),
            // Differences of coordinates in single precision, and r⁻¹² of them.
            Self::Engine(..) => 1e-4,
            Self::Kernels(version, _) => force_tolerance(version.arithmetic),
        }
    }

    fn declines(&self, beads: &Beads) -> Option<String> {
        match self {
            Self::Kernels(version, _) if version.types == Types::WaterOnly && beads.model != Model::Water => {
                Some("there is more than water".into())
            }
            _ => None,
        }
    }

    fn prepare<'i>(
        &self,
        beads: &'i Beads,
        device: Option<&Device>,
    ) -> Result<Box<dyn Work<Acted> + 'i>, StudyError> {
        match *self {
            Self::Sequential(part) => Ok(sequential(beads, part)),
            Self::Kernels(version, part) => {
                let device = device.ok_or(StudyError::NoDevice)?;
                match version.arithmetic {
                    Arithmetic::Single | Arithmetic::Intrinsic => {
                        kernels::<f32>(device, beads, version, part)
                    }
                    Arithmetic::Double | Arithmetic::Mixed => kernels::<f64>(device, beads, version, part),
                    Arithmetic::Fixed => kernels::<i64>(device, beads, version, part),
                }
            }
            Self::Engine(precision, place) => {
                let device = match place {
                    Place::Cpu => None,
                    Place::Cuda => Some(device.ok_or(StudyError::NoDevice)?),
                };
                let engine = beads.engine(precision, device)?;
                // Forces are compared without those of bonds, which the kernels do not have.
                let (bonded, torques) = (beads.bonded(), engine.torques()?);
                let without = |found: &[Vec3<f64>], bonded: &[Vec3<f64>]| {
                    let at = |v: &[Vec3<f64>], i: usize| v.get(i).copied().unwrap_or_else(Vec3::zero);
                    (0..beads.len()).map(|i| at(found, i) - at(bonded, i)).collect()
                };
                let acted = Acted {
                    forces: without(&engine.forces()?, &bonded.forces),
                    torques: without(&torques, &bonded.torques),
                    energy: f64::NAN,
                };
                Ok(Box::new(Steps { engine, acted }))
            }
        }
    }
}

fn sequential(beads: &Beads, part: Part) -> Box<dyn Work<Acted> + '_> {
    let list = beads.list();
    match part {
        Part::Neighbors => Box::new(Listing {
            beads,
            list: list.clone(),
        }),
        Part::Forces => OnHost::boxed(move || Ok(list.act(beads))),
        Part::Integration | Part::Step => {
            let (mut motion, acted) = (Motion::new(beads), list.act(beads));
            OnHost::boxed(move || {
                motion.first(beads, &acted, 0.0);
                let again = if part == Part::Step {
                    list.act(beads)
                } else {
                    acted.clone()
                };
                motion.second(beads, &again, 0.0);
                Ok(again)
            })
        }
    }
}

/// Lists of the serial program, and what follows from the last.
struct Listing<'i> {
    beads: &'i Beads,
    list: PairList,
}

impl Work<Acted> for Listing<'_> {
    fn seconds(&mut self, passes: u32) -> Result<f64, StudyError> {
        let began = Instant::now();
        (0..passes).for_each(|_| self.list = PairList::new(self.beads));
        Ok(began.elapsed().as_secs_f64())
    }

    fn output(&mut self) -> Result<Acted, StudyError> {
        Ok(self.list.act(self.beads))
    }
}

/// Time stands still while it is measured, so that lists stay right; the arithmetic is the same.
fn kernels<'i, S: Kept + 'i>(
    device: &Device,
    beads: &'i Beads,
    version: Version,
    part: Part,
) -> Result<Box<dyn Work<Acted> + 'i>, StudyError> {
    let state = OnCard::<S>::new(device, beads, version, 0.0, FEW)?;
    let queue: fn(&mut OnCard<S>, &Stream) -> Result<(), CudaError> = match part {
        Part::Neighbors => OnCard::list,
        Part::Forces => OnCard::act,
        Part::Integration => OnCard::integrate,
        Part::Step => OnCard::step,
    };
    OnDevice::boxed(device, state, queue, move |state, stream| {
        queue(state, stream)?;
        if matches!(part, Part::Neighbors | Part::Integration) {
            state.act(stream)?;
        }
        Ok(state.acted(stream)?)
    })
}

/// Steps of the engine; its forces are those of the first.
struct Steps {
    engine: Box<dyn Engine>,
    acted: Acted,
}

impl Work<Acted> for Steps {
    fn seconds(&mut self, passes: u32) -> Result<f64, StudyError> {
        // Many steps, so that lists count as they come and launches overlap.
        let steps = passes.max(50);
        let began = Instant::now();
        self.engine.advance(u64::from(steps), false)?;
        Ok(began.elapsed().as_secs_f64() * f64::from(passes) / f64::from(steps))
    }

    fn output(&mut self) -> Result<Acted, StudyError> {
        Ok(self.acted.clone())
    }
}

/// By how much forces and torques of the kernels may be off, beside the largest. A pair costs about thirty roundings, the
/// steepness of r⁻¹³ among them, and forces of pairs cancel to a hundredth in a liquid: 3000 roundings of half a unit in
/// the last place are allowed. In fixed point the smallest coefficient, 6·10⁻⁶ kJ nm¹²/mol of two waters, is rounded to
/// 8·10⁻⁸ of itself, which outweighs the rest.
pub(super) fn force_tolerance(arithmetic: Arithmetic) -> f64 {
    match arithmetic {
        Arithmetic::Double => 1e-12,
        Arithmetic::Single | Arithmetic::Intrinsic | Arithmetic::Mixed => 2e-4,
        Arithmetic::Fixed => 1e-5,
    }
}
