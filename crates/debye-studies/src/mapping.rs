//! How fast charges are spread over a mesh and forces gathered from it; timed by events around replays of a graph.

use debye::engines::cuda::mesh::{
    Bricks, Entered, Gather, GatherMethod, MeshNumber, MeshShape, Particles, Tiling, Word,
};
use debye_gpu::{Buffer, CudaError, Device, Stream};

use crate::charges::Charges;
use crate::design::{Design, fitted, time};
use crate::{REPETITIONS, median};

/// What is tried from memory, the usual choice first; edges do not matter.
const SLOTS: &[Tiling] = &[
    Tiling::new([16, 16, 16], 128, 6),
    Tiling::new([16, 16, 16], 128, 4),
    Tiling::new([16, 16, 16], 256, 3),
    Tiling::new([16, 16, 16], 64, 12),
];

/// What is tried from shared memory.
const TILES: &[Tiling] = &[
    Tiling::new([16, 16, 16], 256, 4),
    Tiling::new([8, 16, 16], 256, 4),
    Tiling::new([16, 16, 16], 512, 2),
    Tiling::new([16, 16, 32], 512, 2),
    Tiling::new([8, 8, 8], 128, 6),
    Tiling::new([8, 8, 16], 128, 6),
    Tiling::new([8, 8, 16], 256, 3),
];

/// What is tried, the usual choice first.
fn gatherings(method: GatherMethod) -> &'static [Tiling] {
    match method {
        GatherMethod::Slots | GatherMethod::Groups { .. } => SLOTS,
        GatherMethod::Tiles => TILES,
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
        let mut spread = fitted::<M>(
            self.device,
            &self.stream,
            self.shape,
            design,
            tiling,
            &self.particles,
            charges,
            margins,
        )?;
        let ready = time(&spread, &self.stream, &self.particles, &mut self.mesh)?;
        let error = self.error()?;
        let entries: u32 = spread.bricks().counts(&self.stream)?.iter().sum();
        let (points, word) = (self.shape.points() as f64, size_of::<M>() as f64);
        let passes = if design == Design::Halo { 4.0 } else { 1.0 };
        let spread_bytes = 20.0 * f64::from(entries) + passes * word * points;
        let list_bytes = 16.0 * charges.len() as f64 + 4.0 * f64::from(entries);
        let particles = &self.particles;
        let listing = median(&self.stream, REPETITIONS, |stream| spread.list(stream, particles))?;
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
            let fresh = median(&self.stream, REPETITIONS, |stream| {
                spread.queue_fresh(stream, particles, mesh)
            })?;
            let error = self.error()?;
            let bytes = spread_bytes + list_bytes;
            all.push(self.rate("  lists and spreading".into(), tiling, fresh, bytes, Some(error)));
        }
        Ok(all)
    }

    fn gather(&mut self, method: GatherMethod, tiling: Tiling) -> Result<Vec<MeshRate>, CudaError> {
        let slots = self.charges.places.len();
        let mut gather = Gather::<M>::new(self.device, self.shape, method, tiling)?;
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
            median(&self.stream, REPETITIONS, |stream| {
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
                format!("gather, {method:?}").to_lowercase(),
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

/// Measures everything for these charges, and gives each as it is found: designs and methods to cut the mesh in `told`, or
/// all that there are.
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
        let mut tilings = design.fitting::<M>(device, shape, [0; 3]);
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
    for method in [GatherMethod::Slots, GatherMethod::Tiles] {
        for &tiling in gatherings(method) {
            let found = bench.gather(method, tiling);
            let what = format!("gather, {method:?}").to_lowercase();
            bench.or_failure(what, tiling, found)?.iter().for_each(&mut each);
        }
    }
    Ok(())
}
