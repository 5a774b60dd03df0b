//! How fast charges are spread over a mesh and forces gathered from it; timed by events around replays of a graph.

use debye_gpu::{Buffer, CudaError, Device, Stream};

use super::bricks::{Bricks, Entered};
use super::design::{self, Design, Tiling};
use super::gather::{self, Gather, Way};
use super::shape::{MeshNumber, MeshShape, Particles, Word};
use super::spread::Spread;

/// Rounds; the median counts.
const ROUNDS: usize = 9;
/// Repetitions inside a graph, so that gaps between launches do not count.
const REPETITIONS: usize = 20;

/// Seconds that a piece of work takes on the device: the median.
pub(super) fn median(
    stream: &Stream,
    mut work: impl FnMut(&Stream) -> Result<(), CudaError>,
) -> Result<f64, CudaError> {
    let graph = stream.capture(|stream| (0..REPETITIONS).try_for_each(|_| work(stream)))?;
    stream.time(&graph, 2)?;
    let mut times = Vec::new();
    for _ in 0..ROUNDS {
        times.push(stream.time(&graph, 1)? / REPETITIONS as f64);
    }
    times.sort_by(f64::total_cmp);
    Ok(times[ROUNDS / 2])
}

/// Charges to spread.
#[derive(Clone, Debug)]
pub struct Charges {
    /// Fractions of the cell, in 2^−32.
    pub places: Vec<[u32; 3]>,
    /// Their charges.
    pub charges: Vec<f64>,
}

impl Charges {
    /// So many at random, with the charges of water.
    pub fn random(number: usize) -> Self {
        let mut state = 1_u64;
        let mut next = || {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            ((state ^ (state >> 29)).wrapping_mul(0xbf58_476d_1ce4_e5b9) >> 32) as u32
        };
        Self {
            places: (0..number).map(|_| [next(), next(), next()]).collect(),
            charges: (0..number).map(|i| [-0.834, 0.417, 0.417][i % 3]).collect(),
        }
    }

    /// The same in the order of cubes of about so many mesh cells, as a simulation keeps them.
    pub fn ordered(&self, shape: &MeshShape, edge: u32) -> Self {
        let mut order: Vec<usize> = (0..self.places.len()).collect();
        order.sort_by_key(|&i| {
            let cube =
                |a: usize| ((u64::from(self.places[i][a]) * u64::from(shape.size[a])) >> 32) as u32 / edge;
            (cube(0), cube(1), cube(2))
        });
        Self {
            places: order.iter().map(|&i| self.places[i]).collect(),
            charges: order.iter().map(|&i| self.charges[i]).collect(),
        }
    }

    /// Slots and the charges of kinds, for a device.
    pub fn kinds(&self) -> (Vec<u32>, Vec<f64>) {
        let mut table: Vec<f64> = Vec::new();
        let mut known = std::collections::HashMap::new();
        let mut slots = Vec::with_capacity(4 * self.places.len());
        for (place, q) in self.places.iter().zip(&self.charges) {
            let kind = *known.entry(q.to_bits()).or_insert_with(|| {
                table.push(*q);
                table.len() as u32 - 1
            });
            slots.extend_from_slice(place);
            slots.push(kind);
        }
        (slots, table)
    }

    /// The mesh by a plain loop in double precision.
    pub fn mesh(&self, shape: &MeshShape) -> Vec<f64> {
        self.mesh_of(shape, |part| part)
    }

    /// The same with every part of every charge rounded to so many binary places.
    pub fn mesh_rounded(&self, shape: &MeshShape, bits: i32) -> Vec<f64> {
        let (scale, unit) = (2_f64.powi(bits), 2_f64.powi(-bits));
        self.mesh_of(shape, |part| (part * scale).round_ties_even() * unit)
    }

    fn mesh_of(&self, shape: &MeshShape, rounded: impl Fn(f64) -> f64) -> Vec<f64> {
        let n = shape.basis.points();
        let [kx, ky, kz] = shape.size.map(|k| k as usize);
        let mut mesh = vec![0.0; shape.points()];
        for (place, q) in self.places.iter().zip(&self.charges) {
            let along: [(usize, _); 3] = std::array::from_fn(|a| {
                let u = u64::from(place[a]) * u64::from(shape.size[a]);
                let first = (u >> 32) as i64 + i64::from(shape.basis.first());
                let rest = (u & 0xffff_ffff) as f64 / 4_294_967_296.0;
                let start = first.rem_euclid(i64::from(shape.size[a])) as usize;
                (start, shape.basis.weights::<f64>(rest).values)
            });
            for i in 0..n {
                let x = (along[0].0 + i) % kx;
                for j in 0..n {
                    let y = (along[1].0 + j) % ky;
                    let part = q * along[0].1[i] * along[1].1[j];
                    for k in 0..n {
                        let z = (along[2].0 + k) % kz;
                        mesh[(x * ky + y) * kz + z] += rounded(part * along[2].1[k]);
                    }
                }
            }
        }
        mesh
    }
}

/// What was measured.
#[derive(Clone, Debug)]
pub struct MeshRate {
    /// What ran.
    pub what: String,
    /// How the mesh was cut.
    pub tiling: Tiling,
    /// Charges.
    pub charges: usize,
    /// Seconds for all of them: the median.
    pub seconds: f64,
    /// Bytes that must be read and written.
    pub bytes: f64,
    /// ‖mesh − reference‖ / ‖reference‖, where a mesh was made.
    pub error: Option<f64>,
    /// Why it was not measured.
    pub failure: Option<String>,
}

impl MeshRate {
    /// Charges per microsecond.
    pub fn per_microsecond(&self) -> f64 {
        self.charges as f64 / (self.seconds * 1e6)
    }
}

/// A measurement in the making.
struct Bench<'a, M: MeshNumber> {
    device: &'a Device,
    stream: Stream,
    shape: &'a MeshShape,
    charges: &'a Charges,
    particles: Particles,
    mesh: Buffer<M>,
    want: Vec<f64>,
}

impl<M: MeshNumber> Bench<'_, M> {
    fn error(&self) -> Result<f64, CudaError> {
        let got = self.stream.download(&self.mesh)?;
        let pairs = got.iter().zip(&self.want);
        let (off, all) = pairs.fold((0.0, 0.0), |(off, all), (a, b)| {
            (off + (a.wide() - b).powi(2), all + b * b)
        });
        Ok((off / all).sqrt())
    }

    fn rate(&self, what: String, tiling: Tiling, seconds: f64, bytes: f64, error: Option<f64>) -> MeshRate {
        MeshRate {
            what,
            tiling,
            charges: self.charges.charges.len(),
            seconds,
            bytes,
            error,
            failure: None,
        }
    }

    /// What cannot be measured is said, and the rest goes on, unless nothing more can be done on the device.
    fn or_failure(
        &self,
        what: String,
        tiling: Tiling,
        found: Result<Vec<MeshRate>, CudaError>,
    ) -> Result<Vec<MeshRate>, CudaError> {
        match found {
            Err(error @ (CudaError::Lost { .. } | CudaError::Launch { .. })) => Err(error),
            Err(error) => {
                let mut rate = self.rate(what, tiling, f64::NAN, 0.0, None);
                rate.failure = Some(error.to_string());
                Ok(vec![rate])
            }
            Ok(rates) => Ok(rates),
        }
    }

    /// Spreading with lists ready, the making of lists, and both.
    fn spread(&mut self, design: Design, tiling: Tiling, margin: u32) -> Result<Vec<MeshRate>, CudaError> {
        let charges = &self.charges.charges;
        let margins = [margin; 3];
        let mut spread = Spread::<M>::settled(
            self.device,
            &self.stream,
            self.shape,
            design,
            tiling,
            &self.particles,
            charges,
            margins,
        )?;
        let ready = spread.time(&self.stream, &self.particles, &mut self.mesh)?;
        let error = self.error()?;
        let entries: u32 = spread.bricks().counts(&self.stream)?.iter().sum();
        let (points, word) = (self.shape.points() as f64, size_of::<M>() as f64);
        let passes = if design == Design::Halo { 4.0 } else { 1.0 };
        let spread_bytes = 20.0 * f64::from(entries) + passes * word * points;
        let list_bytes = 16.0 * charges.len() as f64 + 4.0 * f64::from(entries);
        let particles = &self.particles;
        let listing = median(&self.stream, |stream| spread.list(stream, particles))?;
        let mut all = vec![
            self.rate(
                format!("{design}, margin {margin}"),
                tiling,
                ready,
                spread_bytes,
                Some(error),
            ),
            self.rate("  its lists".into(), tiling, listing, list_bytes, None),
        ];
        if margin == 0 {
            let bricks = spread.bricks_mut();
            bricks.clear(&self.stream)?;
            let (particles, mesh) = (&self.particles, &mut self.mesh);
            let fresh = median(&self.stream, |stream| spread.queue_fresh(stream, particles, mesh))?;
            let error = self.error()?;
            let bytes = spread_bytes + list_bytes;
            all.push(self.rate("  lists and spreading".into(), tiling, fresh, bytes, Some(error)));
        }
        Ok(all)
    }

    fn gather(&mut self, way: Way, tiling: Tiling) -> Result<Vec<MeshRate>, CudaError> {
        let slots = self.particles.slots;
        let mut gather = Gather::<M>::new(self.device, self.shape, way, tiling)?;
        let charged = self.charges.charges.iter().filter(|q| **q != 0.0).count();
        let turn = std::array::from_fn(|k| std::array::from_fn(|j| f64::from(u8::from(j == k))));
        gather.set_cell(&self.stream, turn, 1.0, charged)?;
        let mut forces = self.device.zeros::<f64>(3 * slots)?;
        let entered = Entered::Touched;
        let capacity = Bricks::capacity_for(self.shape, tiling.edges, entered, [0; 3], slots);
        let mut bricks = Bricks::new::<M>(
            self.device,
            self.shape,
            tiling.edges,
            entered,
            [0; 3],
            capacity,
            None,
        )?;
        bricks.queue(&self.stream, &self.particles, false)?;
        if let Some(needed) = bricks.notes(&self.stream)?.listed {
            bricks.grow(self.device, needed)?;
            bricks.queue(&self.stream, &self.particles, false)?;
        }
        let (particles, mesh) = (&self.particles, &self.mesh);
        let sums = self.device.zeros::<u64>(3)?;
        let sums = Word::of(&sums, 0);
        let mut with = |sum: bool| {
            median(&self.stream, |stream| {
                gather.queue(
                    stream,
                    particles,
                    Some(&bricks),
                    mesh,
                    &mut forces,
                    None,
                    true,
                    Some(&sums).filter(|_| sum),
                )
            })
        };
        let (plain, mean) = (with(false)?, with(true)?);
        let bytes = 64.0 * slots as f64 + (self.shape.points() * size_of::<M>()) as f64;
        Ok(vec![
            self.rate(
                format!("gather, {way:?}").to_lowercase(),
                tiling,
                plain,
                bytes,
                None,
            ),
            self.rate(
                "  and the sums of forces".into(),
                tiling,
                mean,
                bytes + 64.0 * slots as f64,
                None,
            ),
        ])
    }
}

/// Measures everything for these charges, and gives each as it is found: designs and ways to cut the mesh in `told`, or all
/// that there are.
pub fn charge_mapping<M: MeshNumber>(
    device: &Device,
    shape: &MeshShape,
    charges: &Charges,
    told: &[(Design, Tiling)],
    mut each: impl FnMut(&MeshRate),
) -> Result<(), CudaError> {
    let (slots, table) = charges.kinds();
    let table: Vec<M> = table.iter().map(|&q| M::rounded(q)).collect();
    let (pos, table) = (device.upload(&slots)?, device.upload(&table)?);
    let mut bench = Bench::<M> {
        device,
        stream: device.stream()?,
        shape,
        charges,
        particles: Particles::new(&pos, &table),
        mesh: device.zeros(shape.points())?,
        want: charges.mesh(shape),
    };
    for design in Design::ALL {
        let mut tilings = design::fitting::<M>(device, shape, design, [0; 3]);
        if !told.is_empty() {
            tilings = told.iter().filter(|t| t.0 == design).map(|t| t.1).collect();
        }
        let margins = if design == Design::Grid { 0..1 } else { 0..2 };
        for (tiling, margin) in tilings
            .into_iter()
            .flat_map(|t| margins.clone().map(move |m| (t, m)))
        {
            let found = bench.spread(design, tiling, margin);
            let what = format!("{design}, margin {margin}");
            bench.or_failure(what, tiling, found)?.iter().for_each(&mut each);
        }
    }
    for way in [Way::Slots, Way::Tiles] {
        for &tiling in gather::candidates(way) {
            let found = bench.gather(way, tiling);
            let what = format!("gather, {way:?}").to_lowercase();
            bench.or_failure(what, tiling, found)?.iter().for_each(&mut each);
        }
    }
    Ok(())
}
