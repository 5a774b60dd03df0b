//! [`MapVariant`]: the rungs of the ladder.

use debye::io::volumes::VolumeValues;
use debye::maps::cuda::PointSums;
use debye::prelude::{DeviceChoice, MapMethod, MapRequest, Units};
use debye_gpu::Device;
use rayon::ThreadPoolBuilder;
use rayon::prelude::*;

use super::input::{CUTOFF, EXCLUSION, Molecule, SPACING, Summed};
use super::slices::{Slices, Version};
use crate::study::{OnDevice, OnHost, Place, StudyError, Variant, Work};

/// How a map is summed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum How {
    /// The paper's sequential code, Fig. 15.3.
    Loop,
    /// The same, slices shared by all threads.
    LoopOnThreads,
    /// The engine's vectors on one thread.
    EngineOnOneThread,
    /// The engine on the processor.
    Engine,
    /// A kernel of the paper.
    Version(Version),
    /// The engine's kernel that sums every charge at every point.
    EngineOnDevice,
    /// The engine's kernel with polynomials along lines for far charges.
    Lines,
    /// The engine's linear methods.
    Cutoff(Place),
    /// Multilevel summation.
    Multilevel(Place),
}

/// A rung.
#[derive(Clone, Copy, Debug)]
pub struct MapVariant {
    /// How it sums.
    pub how: How,
    /// Whether the time is that of everything from atoms in the host's memory to values there; else, on a device, of the
    /// kernels.
    pub whole: bool,
    /// The most evaluations it is given.
    pub most: f64,
}

impl MapVariant {
    fn request(&self, molecule: &Molecule, device: Option<&Device>) -> Result<MapRequest, StudyError> {
        let method = match self.how {
            How::Cutoff(_) => MapMethod::Cutoff,
            How::Multilevel(_) => MapMethod::Multilevel,
            _ => MapMethod::Direct,
        };
        let mut request = MapRequest::new(molecule.grid()?)
            .method(method)
            .exclusion(EXCLUSION);
        match self.how {
            How::Lines => request = request.tolerance(LINES),
            How::Cutoff(_) => request = request.cutoff(CUTOFF),
            _ => {}
        }
        Ok(match (self.place(), device) {
            (Place::Cpu, _) => request.device(DeviceChoice::Cpu),
            (Place::Cuda, Some(device)) => request.on_device(device),
            (Place::Cuda, None) => return Err(StudyError::NoDevice),
        })
    }
}

/// The tolerance that lets the engine take polynomials.
const LINES: f64 = 1e-6;

impl Variant<Molecule> for MapVariant {
    fn name(&self) -> String {
        match self.how {
            How::Loop => "CPU loop of Fig. 15.3".into(),
            How::LoopOnThreads => "CPU loop, all threads".into(),
            How::EngineOnOneThread => "CPU engine, one thread".into(),
            How::Engine => "CPU engine".into(),
            How::Version(version) => format!("GPU version {}", version.number()),
            How::EngineOnDevice => "GPU engine".into(),
            How::Lines => "GPU engine, lines".into(),
            How::Cutoff(Place::Cpu) => "CPU engine, cut-off".into(),
            How::Cutoff(Place::Cuda) => "GPU engine, cut-off".into(),
            How::Multilevel(Place::Cpu) => "CPU engine, multilevel".into(),
            How::Multilevel(Place::Cuda) => "GPU engine, multilevel".into(),
        }
    }

    fn place(&self) -> Place {
        match self.how {
            How::Loop | How::LoopOnThreads | How::EngineOnOneThread | How::Engine => Place::Cpu,
            How::Version(_) | How::EngineOnDevice | How::Lines => Place::Cuda,
            How::Cutoff(place) | How::Multilevel(place) => place,
        }
    }

    fn tolerance(&self) -> f64 {
        match self.how {
            // Sums in single precision, one after another.
            How::Loop | How::LoopOnThreads | How::Version(_) => 2e-5,
            How::EngineOnOneThread | How::Engine | How::EngineOnDevice | How::Cutoff(_) => 1e-6,
            How::Lines => 2.0 * LINES,
            How::Multilevel(_) => 5e-4,
        }
    }

    fn declines(&self, molecule: &Molecule) -> Option<String> {
        let evaluations = crate::study::Input::work(molecule);
        (evaluations > self.most).then(|| "it would take too long".into())
    }

    fn prepare<'i>(
        &self,
        molecule: &'i Molecule,
        device: Option<&Device>,
    ) -> Result<Box<dyn Work<Summed> + 'i>, StudyError> {
        let cut = matches!(self.how, How::Cutoff(_));
        let needed = || device.ok_or(StudyError::NoDevice);
        match self.how {
            How::Loop | How::LoopOnThreads => {
                let threads = self.how == How::LoopOnThreads;
                let atoms: Vec<[f32; 4]> = molecule.atoms().iter().map(|a| a.map(|x| x as f32)).collect();
                Ok(OnHost::boxed(move || {
                    let values = plain_loop(molecule.shape(), &atoms, threads);
                    Ok(Summed {
                        values,
                        unit: 1.0,
                        cut,
                    })
                }))
            }
            How::Version(version) => {
                let device = needed()?;
                let mut slices = Slices::new(device, version, molecule)?;
                if self.whole {
                    let stream = device.stream()?;
                    return Ok(OnHost::boxed(move || {
                        let values = slices.map(&stream)?;
                        Ok(Summed {
                            values,
                            unit: 1.0,
                            cut,
                        })
                    }));
                }
                OnDevice::boxed(device, slices, Slices::launches, move |slices, stream| {
                    let values = slices.map(stream)?;
                    Ok(Summed {
                        values,
                        unit: 1.0,
                        cut,
                    })
                })
            }
            How::EngineOnDevice | How::Lines if !self.whole => {
                let device = needed()?;
                let tolerance = (self.how == How::Lines).then_some(LINES);
                let (grid, charges) = (molecule.grid()?, molecule.charges()?);
                let sums =
                    PointSums::<f32>::direct(device, &grid, &charges, EXCLUSION, 1.0, tolerance, None)?;
                OnDevice::boxed(device, sums, PointSums::queue, move |sums, stream| {
                    sums.queue(stream)?;
                    let values = sums.values(stream)?;
                    Ok(Summed {
                        values,
                        unit: 1.0,
                        cut,
                    })
                })
            }
            _ => {
                let request = self.request(molecule, device)?;
                let charges = molecule.charges()?;
                let one = (self.how == How::EngineOnOneThread)
                    .then(|| ThreadPoolBuilder::new().num_threads(1).build());
                let one = one.transpose().map_err(StudyError::other)?;
                let unit = 1.0 / Units::Md.coulomb_constant();
                Ok(OnHost::boxed(move || {
                    let map = match &one {
                        Some(pool) => pool.install(|| request.compute(&charges)),
                        None => request.compute(&charges),
                    }?;
                    let values = match map.values() {
                        VolumeValues::F32(values) => values.clone(),
                        values => values.clone().into_f64().into_iter().map(|v| v as f32).collect(),
                    };
                    Ok(Summed { values, unit, cut })
                }))
            }
        }
    }
}

/// Fig. 15.3, slice by slice.
fn plain_loop([nx, ny, nz]: [usize; 3], atoms: &[[f32; 4]], threads: bool) -> Vec<f32> {
    let mut energygrid = vec![0.0; nx * ny * nz];
    let slice = |(k, slice): (usize, &mut [f32])| {
        let z = SPACING as f32 * k as f32;
        cenergy(slice, nx, SPACING as f32, z, atoms);
    };
    if threads {
        energygrid.par_chunks_mut(nx * ny).enumerate().for_each(slice);
    } else {
        energygrid.chunks_mut(nx * ny).enumerate().for_each(slice);
    }
    energygrid
}

/// The paper's function `cenergy`.
fn cenergy(slice: &mut [f32], nx: usize, gridspacing: f32, z: f32, atoms: &[[f32; 4]]) {
    for (j, row) in slice.chunks_mut(nx).enumerate() {
        let y = gridspacing * j as f32;
        for (i, value) in row.iter_mut().enumerate() {
            let x = gridspacing * i as f32;
            let mut energy = 0.0;
            for atom in atoms {
                let (dx, dy, dz) = (x - atom[0], y - atom[1], z - atom[2]);
                energy += atom[3] / (dx * dx + dy * dy + dz * dz).sqrt();
            }
            *value = energy;
        }
    }
}
