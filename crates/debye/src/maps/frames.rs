//! [`MapFrames`]: the mean map of a trajectory.

use debye_io::{Frame, LengthUnit};

use super::align::Alignment;
use super::average::MapAverage;
use super::profile::PotentialProfile;
use super::{MapError, MapGrid, MapRequest, MapSubject};
use crate::expr::{Quat, Vec3};
use crate::system::Cell;

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
    profile: Option<PotentialProfile>,
    average: MapAverage,
    edges: Vec3<f64>,
}

impl MapFrames {
    /// For the atoms of a subject. `follows`: the grid of the request goes over the whole cell, and does so in every
    /// frame.
    pub fn new(subject: MapSubject, request: MapRequest, follows: bool) -> Result<Self, MapError> {
        // Sums of the average besides.
        request.check_memory(72)?;
        Ok(Self {
            average: MapAverage::new(request.grid),
            follows: follows && request.cell.is_some(),
            subject,
            request,
            alignment: None,
            center: Vec::new(),
            profile: None,
            edges: Vec3::zero(),
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
            return Err(MapError::Periodic("alignment"));
        }
        self.alignment = Some(Alignment::new(&self.subject.positions, atoms)?);
        Ok(self)
    }

    /// Moves the middle of these atoms to the middle of the periodic cell in every frame.
    pub fn centered(mut self, atoms: Vec<usize>) -> Result<Self, MapError> {
        if self.request.cell.is_none() {
            return Err(MapError::Open("centering"));
        }
        self.center = atoms;
        Ok(self)
    }

    /// Adds a frame. `unit`: the length in nm of a file that does not say its own.
    pub fn add(&mut self, frame: &Frame, unit: Option<f64>) -> Result<(), MapError> {
        let mut subject = self.subject.at(frame, unit)?;
        let mut request = self.request.clone();
        if request.cell.is_some() {
            let cell = subject.cell.or(request.cell).ok_or(MapError::Open("periodic"))?;
            let cell = cell.with_periodicity([true; 3]);
            request.cell = Some(cell);
            if self.follows {
                request.grid = self.request.grid.over(&cell)?;
            }
            if !self.center.is_empty() {
                let corner = Vec3::from(self.subject.corner(&cell));
                center(&cell, corner, &self.center, &mut subject.positions);
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

    /// What was averaged.
    pub fn finish(mut self) -> Result<(MapAverage, Option<PotentialProfile>), MapError> {
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

/// Moves the middle of some atoms, taken around the periodic cell, to the middle of the cell.
fn center(cell: &Cell, corner: Vec3<f64>, atoms: &[usize], positions: &mut [Vec3<f64>]) {
    use std::f64::consts::TAU;
    let mut waves = [[0.0; 2]; 3];
    for r in atoms.iter().filter_map(|&i| positions.get(i)) {
        let s = cell.fractional(*r);
        for (k, wave) in waves.iter_mut().enumerate() {
            wave[0] += (TAU * s[k]).cos();
            wave[1] += (TAU * s[k]).sin();
        }
    }
    let here = waves.map(|[c, s]| s.atan2(c) / TAU);
    let to = cell.fractional(corner) + Vec3::splat(0.5);
    let shift = cell.position(Vec3::new(to.x - here[0], to.y - here[1], to.z - here[2]));
    positions.iter_mut().for_each(|r| *r += shift);
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
