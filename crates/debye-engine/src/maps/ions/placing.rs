//! [`Placing`]: where ions can be, and where each goes.

use std::f64::consts::PI;

use crate::parallel::{InParallel, Indexed};
use debye_io::Atom;

use super::{Ion, IonPlacement, IonRequest, Ionized, PlacedIon};
use crate::expr::Vec3;
use crate::maps::cuda::Target;
use crate::maps::near::images;
use crate::maps::request::refuse_memory;
use crate::maps::tiles::{Charges, Kernel, sum};
use crate::maps::{MapError, MapGrid, MapRequest, MapSubject, PointCharges, mesh};
use crate::random::{Philox, stream};
use crate::system::{Cell, Units};

/// Proposals for the place of an ion at random.
const PROPOSALS: u64 = 100;
/// The relative error that the grid's potential may have.
const TOLERANCE: f64 = 1e-5;
/// Places whose potential on the grid is so near to the best are compared exactly, as a part of the range.
const CLOSE: f64 = 1e-4;
/// And so near, equal: what is near to a charge is right to 3e-8 on the CPU.
const EQUAL: f64 = 1e-6;

/// What placing ions needs and changes.
pub(super) struct Placing<'a> {
    request: &'a IonRequest,
    target: Target,
    subject: &'a MapSubject,
    cell: Option<Cell>,
    grid: MapGrid,
    /// Atoms of the solute, charged or not.
    atoms: Vec<Vec3<f64>>,
    solute: PointCharges,
    pub(super) solute_charge: f64,
    /// The potential on the grid, in kJ/mol/e; empty where none is needed.
    potential: Vec<f64>,
    /// In a periodic cell, that of a unit charge at the first point.
    unit: Vec<f64>,
    /// Whether an ion may be at a point.
    free: Vec<bool>,
    /// Points where one may be, before any was placed.
    places: Vec<u32>,
    pub(super) waters: Vec<Vec<usize>>,
    gone: Vec<bool>,
    pub(super) ions: Vec<PlacedIon>,
    random: Philox,
}

impl<'a> Placing<'a> {
    pub(super) fn new(
        request: &'a IonRequest,
        target: Target,
        subject: &'a MapSubject,
        solute: &[usize],
        waters: Vec<Vec<usize>>,
    ) -> Result<Self, MapError> {
        let atoms: Vec<Vec3<f64>> = solute.iter().map(|&i| subject.positions[i]).collect();
        let cell = subject.cell.filter(|cell| cell.periodic() == [true; 3]);
        if cell.is_some_and(|cell| !cell.is_orthorhombic()) && request.placement == IonPlacement::Extrema {
            return Err(MapError::TriclinicIons);
        }
        let grid = match cell {
            Some(cell) => MapGrid::of_cell(&cell, subject.corner(&cell), request.spacing)?,
            None if !waters.is_empty() => MapGrid::around(&subject.positions, 0.0, request.spacing)?,
            None => MapGrid::around(&atoms, request.padding, request.spacing)?,
        };
        // The potential, whether a point is free, and a list of those that are.
        refuse_memory(grid.points(), 24.0 * grid.points() as f64)?;
        if u32::try_from(grid.points()).is_err() {
            return Err(MapError::Shape(grid.shape()));
        }
        let mut keep = vec![false; subject.positions.len()];
        solute.iter().for_each(|&i| keep[i] = true);
        let charged = subject.without(&keep).point_charges()?;
        let mut placing = Self {
            request,
            target,
            subject,
            cell,
            grid,
            solute_charge: charged.total(),
            solute: charged,
            atoms,
            potential: Vec::new(),
            unit: Vec::new(),
            free: vec![true; grid.points()],
            places: Vec::new(),
            gone: vec![false; waters.len()],
            waters,
            ions: Vec::new(),
            random: Philox::new(request.seed),
        };
        if request.placement == IonPlacement::Extrema {
            placing.map()?;
        }
        for r in placing.atoms.clone() {
            placing.exclude(r, request.solute_distance);
        }
        let free = placing.free.iter().enumerate().filter(|(_, free)| **free);
        placing.places = free.map(|(i, _)| i as u32).collect();
        Ok(placing)
    }

    /// The potential of the solute on the grid; in a periodic cell also what a unit charge at its first point makes.
    fn map(&mut self) -> Result<(), MapError> {
        let mut map = MapRequest::new(self.grid)
            .permittivity(self.request.permittivity)
            .tolerance(TOLERANCE);
        map.target = self.target.clone();
        let Some(cell) = self.cell else {
            self.potential = map.compute(&self.solute)?.values().clone().into_f64();
            return Ok(());
        };
        let map = map.periodic(cell);
        let plan = mesh::Plan::new(&map, &self.solute)?;
        self.potential = map.by_mesh(&plan, &self.solute, &|_| ())?;
        let one = PointCharges::new(&[self.grid.origin()], &[1.0])?;
        self.unit = map.by_mesh(&plan, &one, &|_| ())?;
        Ok(())
    }

    pub(super) fn volume(&self) -> f64 {
        let cell = self.cell.filter(Cell::has_volume).map(|cell| cell.volume());
        let spacing = self.grid.spacing();
        cell.unwrap_or(self.grid.points() as f64 * spacing.x * spacing.y * spacing.z)
    }

    fn apart(&self, d: Vec3<f64>) -> Vec3<f64> {
        self.cell.map_or(d, |cell| cell.minimum_image(d))
    }

    /// Marks points nearer to a place than a distance, and to its images.
    fn exclude(&mut self, r: Vec3<f64>, distance: f64) {
        let bounds = self.grid.bounds();
        let places: Vec<Vec3<f64>> = match &self.cell {
            Some(cell) => images(cell, cell.wrap(r).0, &bounds, distance).collect(),
            None => vec![r],
        };
        let (grid, shape, spacing) = (self.grid, self.grid.shape(), self.grid.spacing());
        for r in places {
            let [xs, ys, zs] = [0, 1, 2].map(|k| {
                let at = |x: f64| (x - grid.origin()[k]) / spacing[k];
                let first = at(r[k] - distance).ceil().max(0.0);
                let last = at(r[k] + distance).floor().min(shape[k] as f64 - 1.0);
                // Nothing where the last is before the first.
                first as usize..(last + 1.0).max(first) as usize
            });
            for x in xs {
                for y in ys.clone() {
                    for z in zs.clone() {
                        if (grid.position([x, y, z]) - r).norm2() < distance * distance {
                            self.free[grid.index([x, y, z])] = false;
                        }
                    }
                }
            }
        }
    }

    fn point(&self, index: usize) -> Vec3<f64> {
        self.grid.position(self.grid.point(index))
    }

    /// The free point with the lowest energy, the same one wherever the grid was computed. Those that are close by the
    /// potential on the grid are compared exactly where that can be done, with open boundaries. Of all images the
    /// potential is there in double precision: the first of those that are equal but for rounding.
    pub(super) fn extremum(&self, ion: &Ion) -> Option<Vec3<f64>> {
        let energy = |i: u32| ion.charge * self.potential[i as usize];
        let free = || self.places.iter().copied().filter(|&i| self.free[i as usize]);
        let [low, high] = free()
            .map(energy)
            .fold([f64::INFINITY, f64::NEG_INFINITY], |[low, high], e| {
                [low.min(e), high.max(e)]
            });
        let within = |part: f64| move |i: &u32| energy(*i) <= low + part * (high - low);
        let best = match self.cell {
            Some(_) => free().find(within(EQUAL))?,
            None => {
                let exact = |i| (ion.charge * self.exact(self.point(i as usize), 0.0), i);
                let compared = free().filter(within(CLOSE)).map(exact);
                compared.min_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)))?.1
            }
        };
        Some(self.point(best as usize))
    }

    /// A place at random, by Metropolis steps among free ones.
    pub(super) fn random(&self, ion: &Ion) -> Option<Vec3<f64>> {
        let number = self.ions.len() as u32;
        let kt = Units::Md.boltzmann() * self.request.temperature;
        let kappa = self.kappa();
        let mut at: Option<(Vec3<f64>, f64)> = None;
        let mut proposals = 0;
        // Most places are free; where few are, tries are many.
        for step in 0..100 * PROPOSALS {
            let [pick, x, y, z] = self.random.uniforms(2 * step, number, stream::IONS);
            let place = self.places.get((pick * self.places.len() as f64) as usize)?;
            let spacing = self.grid.spacing();
            let jitter = Vec3::new(x - 0.5, y - 0.5, z - 0.5).scale(spacing);
            let r = self.point(*place as usize) + jitter;
            if !self.free[*place as usize] || !self.keeps_distance(r) {
                continue;
            }
            let energy = ion.charge * self.exact(r, kappa);
            let chance = self.random.uniform(2 * step + 1, number, stream::IONS);
            if at.is_none_or(|(_, before)| chance < ((before - energy) / kt).exp()) {
                at = Some((r, energy));
            }
            proposals += 1;
            if proposals == PROPOSALS {
                break;
            }
        }
        at.map(|(r, _)| r)
    }

    fn keeps_distance(&self, r: Vec3<f64>) -> bool {
        let far = |other: Vec3<f64>, least: f64| self.apart(r - other).norm2() >= least * least;
        let ions = self
            .ions
            .iter()
            .all(|ion| far(ion.position, self.request.ion_distance));
        ions && self
            .atoms
            .iter()
            .all(|&atom| far(atom, self.request.solute_distance))
    }

    /// 1/κ is the Debye length of all ions that are asked for.
    fn kappa(&self) -> f64 {
        let kt = Units::Md.boltzmann() * self.request.temperature;
        let k = Units::Md.coulomb_constant() / self.request.permittivity;
        let Ok([cations, anions]) = self.request.counts(self) else {
            return 0.0;
        };
        let charge = |n: usize, q: f64| n as f64 * q * q;
        let squares = charge(cations, self.request.cation.charge) + charge(anions, self.request.anion.charge);
        (4.0 * PI * k * squares / (self.volume() * kt)).sqrt()
    }

    /// The potential of the solute and the ions so far, of the nearest images, screened by exp(−κr).
    fn exact(&self, at: Vec3<f64>, kappa: f64) -> f64 {
        let k = Units::Md.coulomb_constant() / self.request.permittivity;
        let term = |r: Vec3<f64>, q: f64| {
            let distance = self.apart(at - r).norm();
            q * (-kappa * distance).exp() / distance
        };
        // In blocks of one order, whatever the number of threads.
        let blocks = self.solute.positions().par_chunks(4096);
        let blocks = blocks.zip(self.solute.charges().par_chunks(4096));
        let sums: Vec<f64> = blocks
            .map(|(places, charges)| places.iter().zip(charges).map(|(&r, &q)| term(r, q)).sum())
            .collect();
        let ions = self.ions.iter().map(|ion| term(ion.position, ion.charge));
        k * (sums.iter().sum::<f64>() + ions.sum::<f64>())
    }

    pub(super) fn put(&mut self, ion: &Ion, position: Vec3<f64>) -> Result<(), MapError> {
        let potential = match self.cell.filter(|_| !self.potential.is_empty()) {
            Some(_) => self.potential[self.nearest(position)],
            None => self.exact(position, 0.0),
        };
        let near2 = self.request.water_distance.powi(2);
        let atoms = &self.subject.structure.atoms;
        // Of a water without an oxygen by name, any atom.
        let near = |i: usize| self.apart(self.subject.positions[i] - position).norm2() < near2;
        let near = |water: &[usize]| match water.iter().find(|&&i| atoms[i].element == "O") {
            Some(&oxygen) => near(oxygen),
            None => water.iter().any(|&i| near(i)),
        };
        let left = self.waters.iter().enumerate().filter(|(n, _)| !self.gone[*n]);
        let taken: Vec<usize> = left.filter(|(_, water)| near(water)).map(|(n, _)| n).collect();
        taken.iter().for_each(|&n| self.gone[n] = true);
        self.exclude(position, self.request.ion_distance);
        if !self.potential.is_empty() {
            self.add_potential(ion, position)?;
        }
        self.ions.push(PlacedIon {
            name: ion.name.clone(),
            charge: ion.charge,
            position,
            potential,
            waters: taken.len(),
        });
        Ok(())
    }

    /// The point of the grid nearest to a place.
    fn nearest(&self, r: Vec3<f64>) -> usize {
        let (grid, shape) = (self.grid, self.grid.shape());
        let at = |k: usize| ((r[k] - grid.origin()[k]) / grid.spacing()[k]).round().max(0.0) as usize;
        grid.index([0, 1, 2].map(|k| at(k).min(shape[k] - 1)))
    }

    /// The potential of one more ion on the grid.
    fn add_potential(&mut self, ion: &Ion, position: Vec3<f64>) -> Result<(), MapError> {
        if self.cell.is_some() {
            // The grid repeats with the cell: the same as at the first point, moved.
            let (grid, shape) = (self.grid, self.grid.shape());
            let at = grid.point(self.nearest(position));
            let unit = &self.unit;
            self.potential.par_iter_mut().enumerate().for_each(|(i, to)| {
                let point = grid.point(i);
                let from = std::array::from_fn(|k| (point[k] + shape[k] - at[k]) % shape[k]);
                *to += ion.charge * unit[grid.index(from)];
            });
            return Ok(());
        }
        let one = PointCharges::new(&[position], &[ion.charge])?;
        let kernel = Kernel::Coulomb {
            exclusion: self.request.spacing,
        };
        let k = Units::Md.coulomb_constant() / self.request.permittivity;
        let set = crate::engines::InstructionSet::detect();
        let all = Charges::All(&one);
        sum(&self.grid, &all, &kernel, k, set, &|_| (), &mut self.potential);
        Ok(())
    }

    /// The structure without the waters that went, with the ions behind.
    pub(super) fn finish(self) -> Ionized {
        let mut keep = vec![true; self.subject.positions.len()];
        for (water, _) in self.waters.iter().zip(&self.gone).filter(|(_, gone)| **gone) {
            water.iter().for_each(|&i| keep[i] = false);
        }
        let mut subject = self.subject.without(&keep);
        let last = subject
            .structure
            .atoms
            .iter()
            .map(|atom| atom.residue_number)
            .max();
        for (n, ion) in self.ions.iter().enumerate() {
            let kind = [&self.request.cation, &self.request.anion]
                .into_iter()
                .find(|kind| kind.name == ion.name);
            subject.push(
                Atom {
                    name: ion.name.clone(),
                    element: debye_io::element_of(&ion.name).unwrap_or_default().to_owned(),
                    residue: ion.name.clone(),
                    residue_number: last.unwrap_or(0) + 1 + n as i64,
                    hetero: true,
                    charge: Some(ion.charge),
                    radius: kind.and_then(|kind| kind.radius).or(Some(0.0)),
                    ..Atom::default()
                },
                ion.position,
                ion.charge,
            );
        }
        Ionized {
            subject,
            ions: self.ions,
        }
    }
}
