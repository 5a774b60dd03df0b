//! [`MapFrames`]: the mean map of a trajectory.

use debye_gpu::Device;
use debye_io::codec::{CodecError, Reader, Writer};
use debye_io::{Frame, LengthUnit};

use super::align::Alignment;
use super::average::MapAverage;
use super::cuda::LiveMap;
use super::profile::PotentialProfile;
use super::{MapError, MapGrid, MapMethod, MapRequest, MapSubject, mesh};
use crate::engines::{ChargesOnDevice, Engine};
use crate::expr::{Quat, Vec3};
use crate::system::{Cell, Particles};

/// Maps of frames, one after the other, and their mean.
///
/// With periodic boundaries a grid over the whole cell follows it: the same number of points in every frame, averaged
/// one by one. The mean lies on the grid of the mean cell.
pub struct MapFrames {
    subject: MapSubject,
    request: MapRequest,
    /// Whether the grid is that of the cell, whatever its size.
    follows: bool,
    alignment: Option<Alignment>,
    center: Vec<usize>,
    uncentered: usize,
    profile: Option<PotentialProfile>,
    average: MapAverage,
    edges: Vec3<f64>,
    live: Option<Live>,
    /// A sum of maps, and of how many, that a checkpoint had of a device.
    pending: Option<(Vec<f64>, usize)>,
}

/// Maps that are summed on a device, and how, in words.
struct Live {
    device: Device,
    map: LivePrecision,
    method: String,
}

enum LivePrecision {
    Single(Box<LiveMap<f32>>),
    Double(Box<LiveMap<f64>>),
}

macro_rules! live {
    ($of:expr, $map:ident => $what:expr) => {
        match $of {
            LivePrecision::Single($map) => $what,
            LivePrecision::Double($map) => $what,
        }
    };
}

impl MapFrames {
    /// For the atoms of a subject. `follows`: the grid of the request goes over the whole cell, and does so in every
    /// frame. Refuses what no map of the subject can be made with.
    pub fn new(subject: MapSubject, request: MapRequest, follows: bool) -> Result<Self, MapError> {
        // Sums of the average besides.
        request.check_memory(72)?;
        request.check_for(&subject.point_charges()?)?;
        Ok(Self {
            average: MapAverage::new(request.grid),
            follows: follows && request.cell.is_some(),
            subject,
            request,
            alignment: None,
            center: Vec::new(),
            uncentered: 0,
            profile: None,
            edges: Vec3::zero(),
            live: None,
            pending: None,
        })
    }

    /// Also takes the mean over planes across an axis.
    pub fn with_profile(mut self, axis: usize) -> Result<Self, MapError> {
        let cell = self.request.cell.ok_or(MapError::Profile)?;
        let corner = self.subject.corner(&cell)[axis.min(2)];
        let points = self.request.grid.shape()[axis.min(2)];
        self.profile = Some(PotentialProfile::new(
            axis,
            points,
            corner,
            self.request.permittivity,
        ));
        Ok(self)
    }

    /// The mean over planes of the subject itself.
    pub fn profile_of_subject(self, axis: usize) -> Result<PotentialProfile, MapError> {
        let cell = self.request.cell.ok_or(MapError::Profile)?;
        let charges = self.subject.point_charges()?;
        let mut profile = self.with_profile(axis)?.profile.ok_or(MapError::Profile)?;
        profile.add(&charges, &cell)?;
        Ok(profile)
    }

    /// Lays these atoms, counted from 0, over where they are in the subject; with open boundaries.
    pub fn aligned(mut self, atoms: Vec<usize>) -> Result<Self, MapError> {
        if self.request.cell.is_some() {
            return Err(MapError::AlignedImages);
        }
        self.alignment = Some(Alignment::new(&self.subject.positions, atoms)?);
        Ok(self)
    }

    /// Moves the middle of these atoms to the middle of the periodic cell in every frame, along the axes where they have one:
    /// not where they are spread over the whole cell, as a bilayer is in its plane.
    pub fn centered(mut self, atoms: Vec<usize>) -> Result<Self, MapError> {
        if self.request.cell.is_none() {
            return Err(MapError::Centering);
        }
        self.center = atoms;
        Ok(self)
    }

    /// Frames that nothing was moved in: the atoms to be centered have no middle along any axis.
    pub fn uncentered(&self) -> usize {
        self.uncentered
    }

    /// Whether the atoms to be centered, if there are any, have a middle in the subject itself.
    pub fn has_middle(&self) -> bool {
        let found = |cell: &Cell| middle(cell, &self.center, &self.subject.positions);
        let middle = self.request.cell.as_ref().map(found);
        self.center.is_empty() || middle.is_none_or(|middle| middle.iter().any(Option::is_some))
    }

    /// Adds a frame. `unit`: the length in nm of a file that does not say its own.
    pub fn add(&mut self, frame: &Frame, unit: Option<f64>) -> Result<(), MapError> {
        self.add_moved(self.subject.at(frame, unit)?)
    }

    /// Adds particles of the subject as they are now: the same particles in the same order, with orientations where the
    /// subject has dipoles.
    pub fn add_particles(&mut self, particles: &Particles, cell: &Cell) -> Result<(), MapError> {
        let orientations = &particles.orientations;
        let dipole = |&(i, before): &(usize, Vec3<f64>)| (i, orientations.axes(i)[2] * before.norm());
        let mut moved = MapSubject::new(particles.positions.clone(), particles.charges.clone());
        moved.dipoles = self.subject.dipoles.iter().map(dipole).collect();
        self.add_moved(moved.with_cell(cell.has_volume().then_some(*cell)))
    }

    /// Adds the charges of an engine as they lie on its device, without a copy of positions. Whether it could: by a mesh
    /// over the whole cell, of particles without dipoles.
    pub fn add_on_device(&mut self, engine: &mut dyn Engine) -> Result<bool, MapError> {
        let plain = self.center.is_empty() && self.subject.dipoles.is_empty();
        let mesh = matches!(self.request.method, MapMethod::Auto | MapMethod::Mesh);
        if !(self.follows && plain && mesh && self.profile.is_none()) {
            return Ok(false);
        }
        let Some(charges) = engine.charges_on_device().map_err(MapError::Device)? else {
            return Ok(false);
        };
        let cell = engine.cell();
        let grid = self.request.grid.over(&cell)?;
        if self.live.is_none() {
            let mut live = self.live_map(&charges, &cell)?;
            if let Some((sum, frames)) = self.pending.take() {
                live!(&mut live.map, map => map.resume(&sum, frames)?);
            }
            self.live = Some(live);
        }
        let Some(live) = &mut self.live else {
            return Ok(false);
        };
        let added = live!(&mut live.map, map => map.add(&live.device, &grid, &charges.particles, &cell)?);
        if !added {
            self.flush()?;
            self.live = None;
            return self.add_on_device(engine);
        }
        self.edges += grid.spacing();
        let full = live!(&live.map, map => map.frames()) >= self.average.room();
        if full {
            self.flush().map(|()| true)
        } else {
            Ok(true)
        }
    }

    fn live_map(&self, on: &ChargesOnDevice, cell: &Cell) -> Result<Live, MapError> {
        let charges = self.subject.point_charges()?;
        // The mesh is that of the first cell, also of a run that went on.
        let request = &self.request;
        let plan = mesh::Plan::new(request, &charges)?;
        let method = format!("mesh: {}, periodic boundaries", plan.described());
        let (kernel, scale) = (request.screened(&plan), request.scale());
        let (device, grid, slots) = (&on.device, &request.grid.over(cell)?, on.particles.slots());
        let map = if on.particles.is_double() {
            let map = LiveMap::new(device, grid, cell, &charges, slots, plan, kernel, scale)?;
            LivePrecision::Double(Box::new(map))
        } else {
            let map = LiveMap::new(device, grid, cell, &charges, slots, plan, kernel, scale)?;
            LivePrecision::Single(Box::new(map))
        };
        let device = device.clone();
        Ok(Live { device, map, method })
    }

    /// Takes what is summed on a device into the average.
    fn flush(&mut self) -> Result<(), MapError> {
        let Some((sum, frames)) = self.summed()? else {
            return Ok(());
        };
        self.pending = None;
        let mut method = "mesh";
        if let Some(live) = &mut self.live {
            live!(&mut live.map, map => map.clear()?);
            method = &live.method;
        }
        if sum.iter().any(|v| !v.is_finite()) {
            return Err(MapError::Infinite);
        }
        self.average.add_sum(&sum, frames, method)
    }

    /// A sum that is not in the average yet, and of how many frames.
    fn summed(&self) -> Result<Option<(Vec<f64>, usize)>, MapError> {
        let Some(live) = &self.live else {
            return Ok(self.pending.clone());
        };
        match live!(&live.map, map => map.frames()) {
            0 => Ok(None),
            frames => Ok(Some((live!(&live.map, map => map.sum()?), frames))),
        }
    }

    fn add_moved(&mut self, mut subject: MapSubject) -> Result<(), MapError> {
        self.flush()?;
        let mut request = self.request.clone();
        if request.cell.is_some() {
            let cell = subject.cell.or(request.cell).ok_or(MapError::PartlyPeriodic)?;
            let cell = cell.with_periodicity([true; 3]);
            request.cell = Some(cell);
            if self.follows {
                request.grid = self.request.grid.over(&cell)?;
            }
            if !self.center.is_empty() {
                let corner = Vec3::from(self.subject.corner(&cell));
                if !center(&cell, corner, &self.center, &mut subject.positions) {
                    self.uncentered += 1;
                }
            }
        }
        if let Some(alignment) = &self.alignment {
            let (turn, _) = alignment.apply(&mut subject.positions)?;
            subject.dipoles.iter_mut().for_each(|(_, p)| *p = turn.rotate(*p));
        }
        let charges = subject.point_charges()?;
        if let (Some(profile), Some(cell)) = (&mut self.profile, &request.cell) {
            profile.add(&charges, cell)?;
        }
        let map = request.compute(&charges)?;
        self.edges += request.grid.spacing();
        self.average.add(&map)
    }

    /// Frames so far, as a checkpoint keeps them; without a profile.
    pub fn save(&self) -> Result<Vec<u8>, MapError> {
        let mut to = Writer::default();
        self.edges.to_array().into_iter().for_each(|x| to.f64(x));
        self.average.save(&mut to);
        let (sum, frames) = self.summed()?.unwrap_or_default();
        to.u64(frames as u64);
        to.f64s(&sum);
        Ok(to.finish())
    }

    /// Goes on from frames that [`Self::save`] gave, in place of those so far.
    pub fn restore(&mut self, state: &[u8]) -> Result<(), CodecError> {
        let mut from = Reader::new(state);
        self.edges = Vec3::new(from.f64()?, from.f64()?, from.f64()?);
        self.average.restore(&mut from)?;
        let (frames, sum) = (from.u64()? as usize, from.f64s()?);
        self.pending = (frames > 0).then_some((sum, frames));
        Ok(())
    }

    /// What was averaged.
    pub fn finish(mut self) -> Result<(MapAverage, Option<PotentialProfile>), MapError> {
        self.flush()?;
        let frames = self.average.frames();
        if frames == 0 {
            return Err(MapError::NoFrames);
        }
        if self.follows {
            let spacing = self.edges * (1.0 / frames as f64);
            let first = self.request.grid;
            self.average.lie_on(MapGrid::new(
                first.origin().to_array(),
                spacing.to_array(),
                first.shape(),
            )?);
        }
        Ok((self.average, self.profile))
    }
}

/// The least length R of the mean of exp(2πis) over the fractions s of atoms along an axis: where it is shorter, atoms are
/// spread so evenly that their middle is noise.
const LEAST_RESULTANT: f64 = 0.1;

/// The circular mean of some atoms along each vector of a periodic cell, in fractions of it; none where it is undefined.
fn middle(cell: &Cell, atoms: &[usize], positions: &[Vec3<f64>]) -> [Option<f64>; 3] {
    use std::f64::consts::TAU;
    let (mut sums, mut number) = ([[0.0; 2]; 3], 0.0);
    for r in atoms.iter().filter_map(|&i| positions.get(i)) {
        let s = cell.fractional(*r);
        for (k, sum) in sums.iter_mut().enumerate() {
            sum[0] += (TAU * s[k]).cos();
            sum[1] += (TAU * s[k]).sin();
        }
        number += 1.0;
    }
    sums.map(|[c, s]: [f64; 2]| (c.hypot(s) > LEAST_RESULTANT * number).then(|| s.atan2(c) / TAU))
}

/// Moves the middle of some atoms to the middle of the cell along each of its vectors along which there is one. Whether there
/// is any.
fn center(cell: &Cell, corner: Vec3<f64>, atoms: &[usize], positions: &mut [Vec3<f64>]) -> bool {
    let here = middle(cell, atoms, positions);
    let to = cell.fractional(corner) + Vec3::splat(0.5);
    let [x, y, z] = std::array::from_fn(|k| here[k].map_or(0.0, |here| to[k] - here));
    let shift = cell.position(Vec3::new(x, y, z));
    positions.iter_mut().for_each(|r| *r += shift);
    here.iter().any(Option::is_some)
}

impl MapSubject {
    /// The same atoms as a frame has them.
    pub fn at(&self, frame: &Frame, unit: Option<f64>) -> Result<Self, MapError> {
        if frame.positions.len() != self.positions.len() {
            return Err(MapError::Lengths(frame.positions.len(), self.positions.len()));
        }
        let length = match frame.length_unit {
            LengthUnit::Nanometer => 1.0,
            LengthUnit::Angstrom => 0.1,
            LengthUnit::Unspecified => unit.ok_or(MapError::LengthUnit)?,
        };
        let vector = |r: &[f64; 3]| Vec3::from(r.map(|x| x * length));
        let cell = frame
            .cell
            .map(|rows| Cell::triclinic(rows.map(|row| row.map(|x| x * length))))
            .transpose()
            .map_err(|error| MapError::Cell(error.to_string()))?;
        let dipole = |&(i, before): &(usize, Vec3<f64>)| {
            let now = match (&frame.orientations, &frame.dipoles) {
                (Some(turns), _) => {
                    let [x, y, z, w] = turns[i];
                    let turn = Quat {
                        w,
                        v: Vec3::new(x, y, z),
                    };
                    turn.axes()[2] * before.norm()
                }
                (None, Some(dipoles)) => vector(&dipoles[i]),
                (None, None) => return Err(MapError::NoOrientations),
            };
            Ok((i, now))
        };
        Ok(Self {
            positions: frame.positions.iter().map(vector).collect(),
            dipoles: self.dipoles.iter().map(dipole).collect::<Result<_, _>>()?,
            cell,
            ..self.clone()
        })
    }
}
