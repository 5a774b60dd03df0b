//! Lipid bilayers in water.

use std::f64::consts::TAU;

use super::assembly::{Assembly, Mixture, bead_count, lipid_count, shuffled};
use super::builder::{Bonded, Builder, Placed, Setting, Shape};
use super::{BuildError, positive};
use crate::expr::Vec3;
use crate::random::{Philox, stream};
use crate::system::{Cell, Molecule, Species, System, Units};

/// Makes bilayers; see [`bilayer`].
pub type BilayerBuilder = Builder<Bilayer>;

/// Area per lipid of ELBA's DOPC at 303 K in nm², taken unless another one is given.
pub const ELBA_AREA: f64 = 0.731;
/// Rotations tried for a lipid.
const ROTATIONS: u64 = 24;
/// Lipids are not made shorter than this fraction of their length.
const SHORTEST: f64 = 0.4;
/// A cell may be this much smaller than what is in it: pressure does the rest.
pub(super) const SQUEEZE: f64 = 1.1;

/// Two leaflets of lipids with water above and below.
#[derive(Clone, Debug)]
pub struct Bilayer {
    mixture: Mixture,
    /// Upper and lower, where they are given one by one.
    leaflets: [Vec<(Molecule, usize)>; 2],
    area: Option<f64>,
    thickness: Option<f64>,
}

/// A bilayer in the middle of its cell: heads outwards, the normal along z, water above and below.
///
/// The lipids of a leaflet stand in staggered rows, each rotated about z at random, so that it keeps away from those
/// before it; different lipids are mixed at random. They are shortened along z until the leaflet has the volume of a
/// liquid: minimization restores their bonds. Water stands on a lattice, its dipoles at random; where nothing else is
/// said, 0.030 nm³ each make the cell as high as it is. Particles follow as upper leaflet, lower leaflet, water.
pub fn bilayer() -> BilayerBuilder {
    Builder::new(Bilayer {
        mixture: Mixture::default(),
        leaflets: [Vec::new(), Vec::new()],
        area: None,
        thickness: None,
    })
    .units(Units::Md)
}

impl Builder<Bilayer> {
    /// Adds lipids, one half to each leaflet.
    pub fn lipids(mut self, lipid: Molecule, count: usize) -> Self {
        self.shape.mixture.lipids.push((lipid, count));
        self
    }

    /// Adds lipids to the upper leaflet.
    pub fn upper(mut self, lipid: Molecule, count: usize) -> Self {
        self.shape.leaflets[0].push((lipid, count));
        self
    }

    /// Adds lipids to the lower leaflet.
    pub fn lower(mut self, lipid: Molecule, count: usize) -> Self {
        self.shape.leaflets[1].push((lipid, count));
        self
    }

    /// The water, and how much of it.
    pub fn water(mut self, water: Species, count: usize) -> Self {
        self.shape.mixture.water = Some((water, count));
        self
    }

    /// Area per lipid, from which the cell follows; [`ELBA_AREA`] in md units unless said.
    pub fn area(mut self, area: f64) -> Self {
        self.shape.area = Some(area);
        self
    }

    /// Thickness of both leaflets together; unless said, that of their volume, 1.3235 nm³ for each 15 beads, or in reduced
    /// units that of upright lipids.
    pub fn thickness(mut self, thickness: f64) -> Self {
        self.shape.thickness = Some(thickness);
        self
    }

    /// The cell; a square in xy unless said.
    pub fn cell(mut self, cell: Cell) -> Self {
        self.setting.periodic = cell.periodic();
        self.shape.mixture.cell = Some(cell);
        self
    }
}

impl Placed for Bilayer {}
impl Bonded for Bilayer {}

/// How large everything is.
struct Size {
    cell: Cell,
    /// Heights of the upper and the lower leaflet.
    heights: [f64; 2],
}

impl Shape for Bilayer {
    fn fill(&self, setting: &Setting) -> Result<System, BuildError> {
        let leaflets = self.shared_out()?;
        let contact = Mixture::contact(setting)?;
        let size = self.size(setting, &leaflets, contact)?;
        let all = Mixture {
            lipids: leaflets.concat(),
            ..self.mixture.clone()
        };
        let mut assembly = Assembly::new(setting, &all, size.cell, 2.0 * contact)?;
        let [a, b, c] = size.cell.to_arrays();
        let middle = 0.5 * (c[2] + size.heights[1] - size.heights[0]);
        for (side, leaflet) in leaflets.iter().enumerate() {
            let plane = Plane {
                cell: &size.cell,
                middle,
                lowest: 0.5 * contact,
                highest: size.heights[side] - 0.5 * contact,
                side,
            };
            plane.fill(leaflet, &mut assembly, setting);
        }
        if let Some((water, count)) = &self.mixture.water {
            let room = [middle - size.heights[1], c[2] - middle - size.heights[0]].map(|h| h.max(0.0));
            let below =
                (*count as f64 * room[0] / (room[0] + room[1]).max(f64::MIN_POSITIVE)).round() as usize;
            for (wanted, height, bottom) in [
                (below, room[0], 0.0),
                (count - below, room[1], middle + size.heights[0]),
            ] {
                if wanted > 0 {
                    let part = Cell::triclinic([a, b, [0.0, 0.0, height]])?;
                    let origin = Vec3::new(0.0, 0.0, bottom);
                    let places = assembly.around(&part, origin, wanted, contact)?;
                    assembly.add_singles(water, &places);
                }
            }
        }
        assembly.finish(setting)
    }
}

impl Bilayer {
    /// The lipids of the upper and the lower leaflet.
    fn shared_out(&self) -> Result<[Vec<(Molecule, usize)>; 2], BuildError> {
        let lipids = lipid_count(&self.mixture.lipids);
        if lipids % 2 == 1 {
            return Err(BuildError::OddLipids { lipids });
        }
        let mut leaflets = self.leaflets.clone();
        // Of odd numbers each leaflet gets the larger half in turn.
        let mut larger = 0;
        for (lipid, count) in &self.mixture.lipids {
            let mut halves = [count / 2; 2];
            if count % 2 == 1 {
                halves[larger] += 1;
                larger = 1 - larger;
            }
            for (leaflet, half) in leaflets.iter_mut().zip(halves) {
                leaflet.push((lipid.clone(), half));
            }
        }
        for leaflet in &mut leaflets {
            leaflet.retain(|(_, count)| *count > 0);
        }
        match leaflets.iter().any(Vec::is_empty) {
            true => Err(BuildError::NoLipids),
            false => Ok(leaflets),
        }
    }

    /// The cell, and the heights of the leaflets in it.
    fn size(
        &self,
        setting: &Setting,
        leaflets: &[Vec<(Molecule, usize)>; 2],
        contact: f64,
    ) -> Result<Size, BuildError> {
        let counts = leaflets.each_ref().map(|leaflet| lipid_count(leaflet));
        let volumes = Mixture::volumes(setting);
        let area = match (self.mixture.cell, self.area, volumes) {
            (Some(cell), _, _) => {
                let [a, b, _] = cell.to_arrays();
                a[0] * b[1]
            }
            (None, Some(area), Some(_)) => {
                positive("area per lipid", area)? * counts[0].max(counts[1]) as f64
            }
            (None, None, Some(_)) => ELBA_AREA * counts[0].max(counts[1]) as f64,
            (None, _, None) => return Err(BuildError::MissingCell { what: "bilayer" }),
        };
        let mut heights = [0.0; 2];
        for (height, leaflet) in heights.iter_mut().zip(leaflets) {
            let lengths = leaflet.iter().map(|(lipid, _)| lipid.length());
            let upright = lengths.fold(0.0, f64::max) + contact;
            *height = match (self.thickness, volumes) {
                (Some(thickness), _) => 0.5 * positive("thickness", thickness)?,
                (None, None) => upright,
                (None, Some([bead, _])) => {
                    let volume = bead_count(leaflet) as f64 * bead;
                    if volume > SQUEEZE * upright * area {
                        return Err(BuildError::LeafletTooLarge {
                            lipids: lipid_count(leaflet),
                            needed: volume / upright,
                            available: area,
                        });
                    }
                    (volume / area).clamp(SHORTEST * upright, upright)
                }
            };
        }
        let dry = heights[0] + heights[1];
        let wet = dry + volumes.map_or(0.0, |[_, water]| self.mixture.waters() as f64 * water / area);
        let cell = match self.mixture.cell {
            Some(cell) => cell,
            None => {
                let side = area.sqrt();
                Cell::orthorhombic([side, side, positive("height of the cell", wet)?])?
            }
        };
        let available = cell.to_arrays()[2][2];
        if wet > SQUEEZE * available || dry > available {
            return Err(BuildError::CellTooLow {
                needed: wet,
                available,
            });
        }
        Ok(Size { cell, heights })
    }
}

/// Where the lipids of a leaflet stand.
struct Plane<'c> {
    cell: &'c Cell,
    /// Height of the plane between the leaflets.
    middle: f64,
    /// Distances of the lowest and the highest bead from it.
    lowest: f64,
    highest: f64,
    /// 0 for the upper leaflet, 1 for the lower one.
    side: usize,
}

impl Plane<'_> {
    fn fill(&self, lipids: &[(Molecule, usize)], assembly: &mut Assembly, setting: &Setting) {
        let philox = Philox::new(setting.seed);
        let sites = rows(self.cell, lipid_count(lipids));
        let templates: Vec<_> = lipids.iter().map(|(lipid, _)| assembly.template(lipid)).collect();
        let order = shuffled(lipids.iter().map(|(_, n)| *n), &philox, self.side as u64);
        for (kind, place) in order {
            let lipid = &lipids[kind].0;
            let number = 2 * place + self.side;
            let mut best = (f64::NEG_INFINITY, Vec::new());
            for attempt in 0..ROTATIONS {
                let angle = TAU * philox.uniform(attempt, number as u32, stream::LIPIDS);
                let beads = self.upright(lipid, sites[place], angle);
                let nearest = beads.iter().map(|r| assembly.grid.nearest2(*r, None));
                let nearest = nearest.fold(f64::INFINITY, f64::min);
                if nearest > best.0 {
                    best = (nearest, beads);
                }
            }
            assembly.add(&templates[kind], &best.1);
        }
    }

    /// Beads of a lipid at this place, rotated about its z axis.
    fn upright(&self, lipid: &Molecule, site: Vec3<f64>, angle: f64) -> Vec<Vec3<f64>> {
        let [_, top] = lipid.extent();
        let room = self.highest - self.lowest;
        let scale = (room / lipid.length().max(f64::MIN_POSITIVE)).min(1.0);
        let (sin, cos) = libm::sincos(angle);
        let place = |r: &Vec3<f64>| {
            let height = self.highest + (r.z - top) * scale;
            let (x, y) = (cos * r.x - sin * r.y, sin * r.x + cos * r.y);
            // The lower leaflet is the upper one turned about x.
            match self.side {
                0 => site + Vec3::new(x, y, self.middle + height),
                _ => site + Vec3::new(x, -y, self.middle - height),
            }
        };
        lipid.positions.iter().map(place).collect()
    }
}

/// This many places in the xy plane of the cell: rows along a, staggered, as even as can be.
fn rows(cell: &Cell, wanted: usize) -> Vec<Vec3<f64>> {
    let [a, b, _] = cell.to_arrays();
    // A hexagonal lattice has its rows √3/2 of its spacing apart.
    let ideal = (wanted as f64 * b[1] / a[0] * 2.0 / 3f64.sqrt()).sqrt();
    let rows = (ideal.round() as usize).clamp(1, wanted.max(1));
    let mut places = Vec::with_capacity(wanted);
    for row in 0..rows {
        let count = (row + 1) * wanted / rows - row * wanted / rows;
        let offset = if row % 2 == 0 { 0.25 } else { 0.75 };
        for n in 0..count {
            let s = [
                (n as f64 + offset) / count as f64,
                (row as f64 + 0.5) / rows as f64,
            ];
            places.push(Vec3::new(s[0] * a[0] + s[1] * b[0], s[1] * b[1], 0.0));
        }
    }
    places
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_number_of_lipids_stands_apart() {
        let cell = Cell::orthorhombic([1.0, 1.0, 1.0]).unwrap();
        for wanted in [1, 2, 3, 7, 12, 36, 37, 64, 100, 1001] {
            let places = rows(&cell, wanted);
            assert_eq!(places.len(), wanted);
            let square = (wanted as f64).sqrt().recip();
            for (i, r) in places.iter().enumerate().filter(|_| wanted > 12) {
                for other in &places[..i] {
                    let distance = cell.minimum_image(*r - *other).norm();
                    assert!(distance > 0.8 * square, "{wanted}: {distance} {square}");
                }
            }
        }
    }
}
