//! [`Space`]: positions as kernels read them, their images, and the lists of neighbors.

use crate::parallel::{InParallel, Indexed, IntoIndexed};

use super::interactions::ListSize;
use super::pair::PairPrecision;
use super::rotation::Rotations;
use crate::expr::Vec3;
use crate::neighbors::{Candidates, CountingSort, Grid, Image, NeighborList, PairExclusions, images};
use crate::simd::{InstructionSet, Search};
use crate::system::{Cell, Exclusions};

/// Particles per block of copying.
const BLOCK: usize = 4096;

/// Coordinates, images and lists of one precision.
#[derive(Debug)]
pub struct Space<P: PairPrecision> {
    /// Particles; where there is a full list, also images and places out of reach.
    pub coordinates: Vec<[P::Coordinate; 4]>,
    /// Species of particles, images and places out of reach.
    pub species: Vec<u32>,
    /// Length of one unit of the coordinates.
    pub unit: f64,
    /// The full list, which oriented terms read.
    pub list: NeighborList,
    /// The half list, which pair terms read.
    pub halves: NeighborList,
    /// The translations that images have, in units of the coordinates; the first is none.
    pub shifts: Vec<[P::Coordinate; 3]>,
    /// The search radius of the lists.
    pub radius: f64,
    lists: Lists,
    origin: Vec3<f64>,
    particles: usize,
    images: Vec<Image>,
    /// Which of the translations each image has.
    image_shift: Vec<u16>,
    cells: Vec<[i16; 3]>,
    search: Search,
    groups: usize,
}

/// Which lists there are.
#[derive(Clone, Copy, Debug)]
pub struct Lists {
    /// Every pair in the rows of both.
    pub full: bool,
    /// Every pair once.
    pub half: bool,
}

/// How a precision stores coordinates.
pub trait Store: PairPrecision {
    /// Vector width of the kernels of a set.
    fn width(set: InstructionSet) -> usize;
    /// Length of one unit for a region of this size.
    fn unit(extent: f64) -> f64;
    /// A difference vector in these units.
    fn store(d: Vec3<f64>, per_unit: f64) -> [Self::Coordinate; 3];
    /// `a + shift`.
    fn shifted(a: [Self::Coordinate; 4], shift: [Self::Coordinate; 3]) -> [Self::Coordinate; 4];
    /// A number that is no coordinate, such as the charge in the fourth place.
    fn number(x: f64) -> Self::Coordinate;
    /// A place out of reach of any other.
    fn far(extent: f64) -> [Self::Coordinate; 4];
}

/// Fixed-point coordinates keep to ±2²⁹; the place out of reach lies at 2³⁰, so that no
/// difference overflows 32 bits.
const FIXED_RANGE: f64 = (1_u32 << 30) as f64;

impl Store for super::pair::Single {
    fn width(set: InstructionSet) -> usize {
        match set {
            InstructionSet::Avx512 => 16,
            InstructionSet::Avx2 => 8,
            InstructionSet::Portable => 4,
        }
    }
    fn unit(extent: f64) -> f64 {
        // Its square is a number of single precision: kernels scale squares by it, and rounding it would shift them all.
        let unit = extent / FIXED_RANGE;
        f64::from(((unit * unit) as f32).next_up()).sqrt()
    }
    #[inline(always)]
    fn store(d: Vec3<f64>, per_unit: f64) -> [i32; 3] {
        // Adding 1½·2⁵² leaves the nearest whole number in the low bits, without a call to round.
        (d * per_unit)
            .to_array()
            .map(|x| (x + 6_755_399_441_055_744.0).to_bits() as i32)
    }
    #[inline(always)]
    fn shifted(a: [i32; 4], s: [i32; 3]) -> [i32; 4] {
        [
            a[0].wrapping_add(s[0]),
            a[1].wrapping_add(s[1]),
            a[2].wrapping_add(s[2]),
            a[3],
        ]
    }
    #[inline(always)]
    fn number(x: f64) -> i32 {
        (x as f32).to_bits() as i32
    }
    fn far(_extent: f64) -> [i32; 4] {
        [1 << 30, 1 << 30, 1 << 30, 0]
    }
}

impl Store for super::pair::Double {
    fn width(set: InstructionSet) -> usize {
        match set {
            InstructionSet::Avx512 => 8,
            InstructionSet::Avx2 => 4,
            InstructionSet::Portable => 2,
        }
    }
    fn unit(_extent: f64) -> f64 {
        1.0
    }
    #[inline(always)]
    fn store(d: Vec3<f64>, _per_unit: f64) -> [f64; 3] {
        d.to_array()
    }
    #[inline(always)]
    fn shifted(a: [f64; 4], s: [f64; 3]) -> [f64; 4] {
        [a[0] + s[0], a[1] + s[1], a[2] + s[2], a[3]]
    }
    #[inline(always)]
    fn number(x: f64) -> f64 {
        x
    }
    fn far(extent: f64) -> [f64; 4] {
        [4.0 * extent, 4.0 * extent, 4.0 * extent, 0.0]
    }
}

/// What a rebuild reads, all in the order of `grid`'s cells.
#[derive(Debug)]
pub struct Sorted<'a> {
    /// The cells.
    pub grid: &'a Grid,
    /// The cell of each particle.
    pub cells: &'a [u32],
    /// Where each cell begins.
    pub starts: &'a [u32],
    /// Positions: inside the cell, but for those that share a row with one that is.
    pub positions: &'a [Vec3<f64>],
    /// Which particles are kept together and share rows of half lists. They are in the cell of the first of them.
    pub sharing: &'a [u8],
    /// How far from the first of them they are at most.
    pub arm: f64,
    /// Species.
    pub species: &'a [u32],
    /// Charges.
    pub charges: &'a [f64],
    /// Numbers of the particles before they were sorted.
    pub ids: &'a [u32],
    /// Pairs to leave out, by those numbers.
    pub exclusions: &'a Exclusions,
    /// How those that turn lie now.
    pub rotations: &'a Rotations,
}

impl<P: Store> Space<P> {
    /// An empty space for kernels of this set. With more than one group, lists are sorted by species, of which there must be as
    /// many.
    pub fn new(set: InstructionSet, groups: usize, lists: Lists) -> Self {
        Self {
            coordinates: Vec::new(),
            species: Vec::new(),
            unit: 1.0,
            list: NeighborList::default(),
            halves: NeighborList::default(),
            shifts: Vec::new(),
            radius: 0.0,
            lists,
            origin: Vec3::zero(),
            particles: 0,
            images: Vec::new(),
            image_shift: Vec::new(),
            cells: Vec::new(),
            search: Search::new(set),
            groups,
        }
    }

    /// New images and lists, with everything within `radius` listed.
    pub fn rebuild(&mut self, cell: &Cell, sorted: &Sorted, radius: f64, set: InstructionSet) {
        let (low, high) = sorted.grid.region();
        let extent = (0..3).map(|k| high[k] - low[k]).fold(4.0 * radius, f64::max) * 1.1;
        self.origin = (low + high) * 0.5;
        self.unit = P::unit(extent);
        let image_starts = self.sort_images(cell, sorted, radius + sorted.arm);
        self.index_shifts();

        let (n, total) = (sorted.positions.len(), sorted.positions.len() + self.images.len());
        self.particles = n;
        self.radius = radius;
        self.coordinates.clear();
        self.coordinates
            .resize(if self.lists.full { total + 1 } else { n }, P::far(extent));
        self.species.clear();
        self.species.extend_from_slice(sorted.species);
        self.species.extend(
            self.images
                .iter()
                .map(|image| sorted.species[image.owner as usize]),
        );
        self.species.resize(total + 1, 0);
        self.coordinates[..n]
            .par_iter_mut()
            .zip(sorted.charges)
            .with_min_len(BLOCK)
            .for_each(|(to, &q)| to[3] = P::number(q));
        self.update(cell, sorted.positions);

        let places = self.places(cell, sorted);
        let owners = self.images.iter().map(|image| image.owner as usize);
        let ids: Vec<u32> = if sorted.exclusions.is_empty() {
            Vec::new()
        } else {
            let of_images = owners.map(|owner| sorted.ids[owner]);
            sorted.ids.iter().copied().chain(of_images).collect()
        };
        // Rounding of the places to f32 must not lose a pair.
        let slack = 8.0 * f64::from(f32::EPSILON) * extent;
        let full = Candidates {
            grid: sorted.grid,
            cells: sorted.cells,
            particle_starts: sorted.starts,
            images: &self.images,
            image_starts: &image_starts,
            places: [&places[0], &places[1], &places[2]],
            particles: n,
            radius: (radius + slack) as f32,
            width: P::width(set),
            species: &self.species,
            groups: self.groups,
            sharing: &[],
            halves: false,
        };
        let excluded = Excluded {
            cell,
            sorted,
            images: &self.images,
            ids: &ids,
        };
        let exclusions: Option<&dyn PairExclusions> = if sorted.exclusions.is_empty() {
            None
        } else {
            Some(&excluded)
        };
        if self.lists.full {
            self.list.build(&full, self.search, exclusions);
        }
        if self.lists.half {
            let half = Candidates {
                sharing: sorted.sharing,
                halves: true,
                ..full
            };
            self.halves.build(&half, self.search, exclusions);
        }
    }

    /// Writes the coordinates for positions that moved a little.
    pub fn update(&mut self, cell: &Cell, positions: &[Vec3<f64>]) {
        let (origin, per_unit) = (self.origin, 1.0 / self.unit);
        let (own, copies) = self.coordinates.split_at_mut(positions.len());
        own.par_iter_mut()
            .zip(positions)
            .with_min_len(BLOCK)
            .for_each(|(to, &r)| {
                let [x, y, z] = P::store(r - origin, per_unit);
                *to = [x, y, z, to[3]];
            });
        self.shifts.clear();
        let cells = self.cells.iter();
        self.shifts
            .extend(cells.map(|s| P::store(cell.translation(s.map(i32::from)), per_unit)));
        let (own, shifts) = (&*own, &self.shifts);
        copies
            .par_iter_mut()
            .zip(self.images.par_iter().zip(&self.image_shift))
            .with_min_len(BLOCK)
            .for_each(|(to, (image, &shift))| {
                *to = P::shifted(own[image.owner as usize], shifts[shift as usize]);
            });
    }

    /// Which lists there are.
    pub fn lists(&self) -> Lists {
        self.lists
    }

    /// Whether lists are sorted by species.
    pub fn is_grouped(&self) -> bool {
        self.groups > 1
    }

    /// How many particles there are.
    pub fn particles(&self) -> usize {
        self.particles
    }

    /// The particle at a place: itself, or the owner of the image.
    #[inline]
    pub fn owner(&self, place: usize) -> usize {
        match place.checked_sub(self.particles) {
            None => place,
            Some(image) => self.images[image].owner as usize,
        }
    }

    /// Which of the translations a place has.
    #[inline]
    pub fn shift(&self, place: usize) -> u16 {
        match place.checked_sub(self.particles) {
            None => 0,
            Some(image) => self.image_shift[image],
        }
    }

    /// The particle at every place.
    pub fn owners(&self) -> impl Indexed<Item = usize> + '_ {
        (0..self.particles() + self.images.len())
            .into_par_iter()
            .map(|place| self.owner(place))
    }

    /// How large the lists are.
    pub fn size(&self) -> ListSize {
        ListSize {
            entries: self.list.entries() + self.halves.entries(),
            pairs: self.list.pairs().max(self.halves.pairs()),
            images: self.images.len(),
            bytes: self.list.bytes() + self.halves.bytes() + self.bytes(),
        }
    }

    /// Bytes held besides the lists.
    fn bytes(&self) -> usize {
        self.coordinates.capacity() * size_of::<[P::Coordinate; 4]>()
            + self.species.capacity() * 4
            + self.images.capacity() * size_of::<Image>()
            + self.image_shift.capacity() * 2
    }

    fn sort_images(&mut self, cell: &Cell, sorted: &Sorted, radius: f64) -> Vec<u32> {
        let found = images(cell, sorted.positions, radius);
        let keys: Vec<u32> = found
            .par_iter()
            .with_min_len(BLOCK)
            .map(|image| {
                let r = sorted.positions[image.owner as usize] + cell.translation(image.shift.map(i32::from));
                sorted.grid.cell_of(r)
            })
            .collect();
        let mut sort = CountingSort::new();
        // The keys are cells of the grid, so the sort cannot refuse them.
        if sort.sort(&keys, sorted.grid.cells()).is_err() {
            debug_assert!(false, "a cell outside the grid");
        }
        self.images = sort.order().iter().map(|&k| found[k as usize]).collect();
        sort.starts().to_vec()
    }

    fn index_shifts(&mut self) {
        let mut last = ([0_i16; 3], 0_u16);
        self.cells.clear();
        self.cells.push(last.0);
        let mut known = std::collections::HashMap::from([last]);
        self.image_shift.clear();
        for image in &self.images {
            if image.shift != last.0 {
                let next = self.cells.len() as u16;
                let index = *known.entry(image.shift).or_insert(next);
                if index == next {
                    self.cells.push(image.shift);
                }
                last = (image.shift, index);
            }
            self.image_shift.push(last.1);
        }
    }

    /// Positions for the search, relative to the middle of the region.
    fn places(&self, cell: &Cell, sorted: &Sorted) -> [Vec<f32>; 3] {
        let n = sorted.positions.len();
        let shifts: Vec<_> = self
            .cells
            .iter()
            .map(|s| cell.translation(s.map(i32::from)))
            .collect();
        let place = |k: usize| {
            let r = if k < n {
                sorted.positions[k]
            } else {
                let image = self.images[k - n];
                sorted.positions[image.owner as usize] + shifts[self.image_shift[k - n] as usize]
            };
            r - self.origin
        };
        let total = n + self.images.len();
        let mut axes = [(); 3].map(|()| vec![0.0_f32; total]);
        let [x, y, z] = &mut axes;
        x.par_iter_mut()
            .zip(y.par_iter_mut().zip(z))
            .enumerate()
            .with_min_len(BLOCK)
            .for_each(|(k, (x, (y, z)))| {
                let r = place(k);
                (*x, *y, *z) = (r.x as f32, r.y as f32, r.z as f32);
            });
        axes
    }
}

/// The pairs to leave out, for places of one space.
struct Excluded<'a> {
    cell: &'a Cell,
    sorted: &'a Sorted<'a>,
    images: &'a [Image],
    /// The number of each place.
    ids: &'a [u32],
}

impl Excluded<'_> {
    /// The particle at a place, or whose image it is, and by how many cells it is shifted.
    fn owner(&self, place: u32) -> (usize, [i32; 3]) {
        match (place as usize).checked_sub(self.sorted.positions.len()) {
            None => (place as usize, [0; 3]),
            Some(k) => (self.images[k].owner as usize, self.images[k].shift.map(i32::from)),
        }
    }
}

impl PairExclusions for Excluded<'_> {
    fn ids(&self) -> &[u32] {
        self.ids
    }

    fn partners(&self, i: usize) -> &[u32] {
        self.sorted.exclusions.of(self.sorted.ids[i])
    }

    /// Only the nearest image of a partner is bonded.
    fn is_bonded(&self, i: usize, place: u32) -> bool {
        let (owner, shift) = self.owner(place);
        let d = self.sorted.positions[owner] - self.sorted.positions[i];
        let (here, nearest) = (d + self.cell.translation(shift), self.cell.minimum_image(d));
        here.norm2() <= nearest.norm2() * (1.0 + 1e-9)
    }
}
