//! [`MapRequest`]: what is wanted of a map, and how it is computed.

use std::fmt;
use std::str::FromStr;

use debye_io::volumes::VolumeValues;

use super::charges::PointCharges;
use super::choice::LEVEL_BYTES;
use super::grid::Bounds;
use super::near::Near;
use super::tiles::{Charges, Kernel, MapReal, Watch, sum};
use super::{MapError, MapGrid, PotentialMap, cuda, mesh};
use crate::engines::DeviceChoice;
use crate::engines::memory::available;
use crate::engines::{InstructionSet, Precision};
use crate::forces::multilevel::{GridReal, Interpolation, Levels, MultilevelPlan, Nested, Softening};
use crate::system::units::display::number;
use crate::system::{Cell, Units};

/// How the potential is summed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum MapMethod {
    /// The cheapest that reaches the tolerance.
    #[default]
    Auto,
    /// Every charge at every point.
    Direct,
    /// Charges within a cut-off, smoothed.
    Cutoff,
    /// Multilevel summation.
    Multilevel,
    /// Particle mesh Ewald.
    Mesh,
}

impl MapMethod {
    /// Every method by name.
    pub const NAMES: [(&str, Self); 5] = [
        ("auto", Self::Auto),
        ("direct", Self::Direct),
        ("cutoff", Self::Cutoff),
        ("multilevel", Self::Multilevel),
        ("mesh", Self::Mesh),
    ];

    /// The name as it is typed.
    pub fn name(self) -> &'static str {
        Self::NAMES
            .iter()
            .find(|(_, method)| *method == self)
            .map_or("", |(name, _)| name)
    }
}

/// Refuses what takes more memory than there is.
pub(super) fn refuse_memory(points: usize, needed: f64) -> Result<(), MapError> {
    match available() {
        // Also what is no number.
        Some(available) if needed.is_nan() || needed > available as f64 => Err(MapError::Memory {
            points,
            needed: needed as usize,
            available,
        }),
        _ => Ok(()),
    }
}

impl fmt::Display for MapMethod {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for MapMethod {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let found = Self::NAMES.iter().find(|(name, _)| *name == text);
        found.map(|(_, method)| *method).ok_or_else(|| {
            let names: Vec<&str> = Self::NAMES.iter().map(|(name, _)| *name).collect();
            format!("`{text}` is no method; one of {}", names.join(", "))
        })
    }
}

/// The exclusion radius unless another is asked for, in nm.
const EXCLUSION: f64 = 0.01;
/// The cut-off of `cutoff` unless another is asked for, in nm: the usual choice for maps.
const CUTOFF: f64 = 1.2;

/// What is wanted of a map. What is not said is chosen.
#[derive(Clone, Debug)]
#[must_use]
pub struct MapRequest {
    pub(super) grid: MapGrid,
    pub(super) method: MapMethod,
    pub(super) cell: Option<Cell>,
    pub(super) precision: Precision,
    pub(super) permittivity: f64,
    pub(super) exclusion: f64,
    pub(super) cutoff: Option<f64>,
    pub(super) spacing: Option<f64>,
    pub(super) order: Option<usize>,
    pub(super) tolerance: Option<f64>,
    pub(super) set: InstructionSet,
    pub(super) target: cuda::Target,
}

impl MapRequest {
    /// A map on these points, in vacuum, with open boundaries.
    pub fn new(grid: MapGrid) -> Self {
        Self {
            grid,
            method: MapMethod::Auto,
            cell: None,
            precision: Precision::Mixed,
            permittivity: 1.0,
            exclusion: EXCLUSION,
            cutoff: None,
            spacing: None,
            order: None,
            tolerance: None,
            set: InstructionSet::detect(),
            target: cuda::Target::Choice(DeviceChoice::Auto),
        }
    }

    /// How it is summed.
    pub fn method(mut self, method: MapMethod) -> Self {
        self.method = method;
        self
    }

    /// Over all periodic images of a cell.
    pub fn periodic(mut self, cell: Cell) -> Self {
        self.cell = Some(cell);
        self
    }

    /// `Double` sums everything in double precision; the others far charges in single, near ones and totals in double.
    pub fn precision(mut self, precision: Precision) -> Self {
        self.precision = precision;
        self
    }

    /// The relative permittivity, which divides the potential.
    pub fn permittivity(mut self, permittivity: f64) -> Self {
        self.permittivity = permittivity;
        self
    }

    /// Within this distance of a charge, in nm, the potential is that at this distance.
    pub fn exclusion(mut self, radius: f64) -> Self {
        self.exclusion = radius;
        self
    }

    /// How far the short-range part reaches, in nm.
    pub fn cutoff(mut self, cutoff: f64) -> Self {
        self.cutoff = Some(cutoff);
        self
    }

    /// The spacing of the finest grid of `multilevel`, in nm.
    pub fn level_spacing(mut self, spacing: f64) -> Self {
        self.spacing = Some(spacing);
        self
    }

    /// The order of interpolation of `multilevel`: 4, 6 or 8.
    pub fn order(mut self, order: usize) -> Self {
        self.order = Some(order);
        self
    }

    /// The relative error that is allowed.
    pub fn tolerance(mut self, tolerance: f64) -> Self {
        self.tolerance = Some(tolerance);
        self
    }

    /// Where it is computed. Unless said, on the first CUDA device where there is one.
    pub fn device(mut self, device: DeviceChoice) -> Self {
        self.target = cuda::Target::Choice(device);
        self
    }

    /// On this device.
    pub fn on_device(mut self, device: &debye_gpu::Device) -> Self {
        self.target = cuda::Target::Given(device.clone());
        self
    }

    /// On the CPU with these instructions; for tests.
    #[doc(hidden)]
    pub fn instruction_set(mut self, set: InstructionSet) -> Self {
        self.target = cuda::Target::Choice(DeviceChoice::Cpu);
        self.set = set;
        self
    }

    /// Computes it.
    pub fn compute(&self, charges: &PointCharges) -> Result<PotentialMap, MapError> {
        self.compute_watched(charges, &|_| ())
    }

    /// The same; tells how much is done, from 0 to 1.
    pub fn compute_watched(
        &self,
        charges: &PointCharges,
        watch: &(dyn Fn(f64) + Sync),
    ) -> Result<PotentialMap, MapError> {
        let method = self.check_for(charges)?;
        let values = if self.double() {
            VolumeValues::F64(self.values::<f64>(method, charges, watch)?)
        } else {
            VolumeValues::F32(self.values::<f32>(method, charges, watch)?)
        };
        let map = PotentialMap::new(self.grid, values, self.described(method, charges)?)?;
        match map.range().iter().all(|v| v.is_finite()) {
            true => Ok(map),
            false => Err(MapError::Infinite),
        }
    }

    /// Refuses settings, a cell or a grid that no map of these charges can be made with, before anything is computed;
    /// says which method is taken.
    pub(super) fn check_for(&self, charges: &PointCharges) -> Result<MapMethod, MapError> {
        self.check()?;
        self.check_cell(charges)?;
        let method = self.choose(charges).method;
        self.check_boundaries(method)?;
        self.check_method(method, charges)?;
        Ok(method)
    }

    fn check(&self) -> Result<(), MapError> {
        let positive = "it must be above zero";
        let settings = [
            ("a relative permittivity", Some(self.permittivity)),
            ("an exclusion radius", Some(self.exclusion)),
            ("a cut-off", self.cutoff),
            ("a spacing of grids", self.spacing),
            ("a tolerance", self.tolerance),
        ];
        for (what, value) in settings {
            if let Some(value) = value.filter(|v| !v.is_finite() || *v <= 0.0) {
                return Err(MapError::Setting {
                    what,
                    value,
                    expected: positive,
                });
            }
        }
        if let Some(value) = self.tolerance.filter(|t| *t >= 1.0) {
            return Err(MapError::Setting {
                what: "a tolerance",
                value,
                expected: "it must be below 1",
            });
        }
        if let Some(order) = self
            .order
            .filter(|order| Interpolation::of_order(*order).is_none())
        {
            return Err(MapError::Order(order));
        }
        // Tiles of a line of points are many.
        self.check_memory(5)
    }

    /// Refuses what the memory cannot hold, with so many bytes for a point besides the values themselves.
    pub(super) fn check_memory(&self, besides: usize) -> Result<(), MapError> {
        let word = if self.double() { 8 } else { 4 };
        refuse_memory(
            self.grid.points(),
            self.grid.points() as f64 * (2 * word + besides) as f64,
        )
    }

    /// Refuses a method that does not go with the cell.
    fn check_boundaries(&self, method: MapMethod) -> Result<(), MapError> {
        match (method, &self.cell) {
            (MapMethod::Direct, Some(_)) => Err(MapError::Periodic("direct")),
            (MapMethod::Mesh, None) => Err(MapError::Open("mesh")),
            (MapMethod::Mesh | MapMethod::Multilevel, Some(cell)) if cell.periodic() != [true; 3] => {
                Err(MapError::Open(method.name()))
            }
            (MapMethod::Multilevel, Some(cell)) if !cell.is_orthorhombic() => {
                Err(MapError::Triclinic("multilevel"))
            }
            _ => Ok(()),
        }
    }

    /// Refuses grids of levels and images of charges that the memory cannot hold, and settings that make no sense.
    fn check_method(&self, method: MapMethod, charges: &PointCharges) -> Result<(), MapError> {
        let bounds = self.grid.bounds();
        let size = |reach: f64| -> f64 {
            (0..3)
                .map(|k| bounds.upper[k] - bounds.lower[k] + 2.0 * reach)
                .product()
        };
        let mut reach = self.cutoff.unwrap_or(match method {
            MapMethod::Mesh => mesh::CUTOFF,
            _ => CUTOFF,
        });
        if method == MapMethod::Multilevel {
            let plan = self.multilevel_plan()?;
            reach = plan.cutoff;
            if plan.cutoff < 2.0 * plan.spacing {
                return Err(MapError::Length {
                    what: "a cut-off",
                    value: plan.cutoff,
                    expected: format!(
                        "it must be {} Å or more, twice the spacing of the finest grid",
                        number(20.0 * plan.spacing)
                    ),
                });
            }
            let points = self.level_points(&plan, charges);
            refuse_memory(self.grid.points(), LEVEL_BYTES * points)?;
        }
        if method == MapMethod::Mesh {
            mesh::Plan::new(self, charges)?;
        }
        // Beyond the cut-off nothing is left to correct.
        if method != MapMethod::Direct && self.exclusion >= reach {
            return Err(MapError::Length {
                what: "an exclusion radius",
                value: self.exclusion,
                expected: format!("it must be less than the cut-off, {} Å", number(10.0 * reach)),
            });
        }
        match self.cell {
            Some(cell) if method != MapMethod::Direct => {
                let images = size(reach + cell.heights().norm()) / cell.volume() * charges.len() as f64;
                refuse_memory(self.grid.points(), 64.0 * images)
            }
            _ => Ok(()),
        }
    }

    /// Whether everything is summed in double precision: asked for, or needed for the tolerance.
    fn double(&self) -> bool {
        self.precision == Precision::Double || self.tolerance.is_some_and(|t| t < 1e-6)
    }

    /// A grid in a periodic cell must not be longer than the cell, and must touch it or the charges.
    fn check_cell(&self, charges: &PointCharges) -> Result<(), MapError> {
        let Some(cell) = self.cell.filter(Cell::is_orthorhombic) else {
            return Ok(());
        };
        let edges = cell.to_arrays();
        let (grid, atoms) = (self.grid.bounds(), Bounds::of(charges.positions()));
        for (k, axis) in ['x', 'y', 'z']
            .into_iter()
            .enumerate()
            .filter(|(k, _)| cell.periodic()[*k])
        {
            let edge = edges[k][k];
            let length = grid.upper[k] - grid.lower[k];
            if length > edge * (1.0 + 1e-9) {
                return Err(MapError::Longer {
                    axis,
                    grid: length,
                    cell: edge,
                });
            }
            let (low, high) = (atoms.lower[k].min(0.0), atoms.upper[k].max(edge));
            if grid.upper[k] < low || grid.lower[k] > high {
                return Err(MapError::Outside {
                    axis,
                    grid: [grid.lower[k], grid.upper[k]],
                    cell: edge,
                });
            }
        }
        Ok(())
    }

    fn values<T: MapReal + GridReal + mesh::MapMesh>(
        &self,
        method: MapMethod,
        charges: &PointCharges,
        watch: Watch<'_>,
    ) -> Result<Vec<T>, MapError> {
        if let Some(device) = self.target.device()? {
            return self.values_on(&device, method, charges);
        }
        let mut values = vec![<T as MapReal>::of(0.0); self.grid.points()];
        let k = self.scale();
        let exclusion = self.exclusion;
        match method {
            // `choose` never gives Auto.
            MapMethod::Direct | MapMethod::Auto => {
                let kernel = Kernel::Coulomb { exclusion };
                sum(
                    &self.grid,
                    &Charges::All(charges),
                    &kernel,
                    k,
                    self.set,
                    watch,
                    &mut values,
                );
            }
            MapMethod::Cutoff => {
                let reach = self.cutoff.unwrap_or(CUTOFF);
                self.add_short(&self.softened(reach, 4), reach, k, charges, watch, &mut values);
            }
            MapMethod::Multilevel => {
                let plan = self.multilevel_plan()?;
                let mut levels = Levels::<T>::new(plan, self.nested(&plan, charges), self.set);
                levels.solve(charges.positions(), charges.charges());
                values = levels.on_grid(std::array::from_fn(|axis| self.grid.along(axis).collect()));
                let scale = <T as MapReal>::of(k);
                values.iter_mut().for_each(|v| *v = *v * scale);
                let order = plan.interpolation.order();
                self.add_short(
                    &self.softened(plan.cutoff, order),
                    plan.cutoff,
                    k,
                    charges,
                    watch,
                    &mut values,
                );
            }
            MapMethod::Mesh => {
                let plan = mesh::Plan::new(self, charges)?;
                return self.by_mesh(&plan, charges, watch);
            }
        }
        Ok(values)
    }

    /// The same on a device.
    fn values_on<T: MapReal + GridReal + mesh::MapMesh>(
        &self,
        device: &debye_gpu::Device,
        method: MapMethod,
        charges: &PointCharges,
    ) -> Result<Vec<T>, MapError> {
        let k = self.scale();
        if method == MapMethod::Cutoff {
            let kernel = self.softened(self.cutoff.unwrap_or(CUTOFF), 4);
            return cuda::short(device, &self.grid, charges, self.cell.as_ref(), &kernel, k);
        }
        if method == MapMethod::Multilevel {
            let plan = self.multilevel_plan()?;
            let levels = Levels::<T>::new(plan, self.nested(&plan, charges), self.set);
            let kernel = self.softened(plan.cutoff, plan.interpolation.order());
            return cuda::multilevel(
                device,
                &self.grid,
                charges,
                self.cell.as_ref(),
                &kernel,
                k,
                &levels,
            );
        }
        if method == MapMethod::Mesh {
            let plan = mesh::Plan::new(self, charges)?;
            return self.by_mesh(&plan, charges, &|_| ());
        }
        cuda::direct(device, &self.grid, charges, self.exclusion, k, self.tolerance)
    }

    /// The potential by a mesh of this plan.
    pub(super) fn by_mesh<T: MapReal + GridReal + mesh::MapMesh>(
        &self,
        plan: &mesh::Plan,
        charges: &PointCharges,
        watch: Watch<'_>,
    ) -> Result<Vec<T>, MapError> {
        let k = self.scale();
        let kernel = self.screened(plan);
        if let Some(device) = self.target.device()? {
            return cuda::by_mesh(&device, &self.grid, charges, plan, &kernel, k);
        }
        let mut values = plan.smooth(self, charges, k);
        self.add_short(&kernel, plan.cutoff, k, charges, watch, &mut values);
        Ok(values)
    }

    /// What Σ q/r is multiplied by, in kJ/mol/e.
    pub(super) fn scale(&self) -> f64 {
        Units::Md.coulomb_constant() / self.permittivity
    }

    /// The part of finite reach of a mesh.
    pub(super) fn screened(&self, plan: &mesh::Plan) -> Kernel {
        Kernel::Screened {
            exclusion: self.exclusion,
            reach: plan.cutoff,
            alpha: plan.alpha,
        }
    }

    fn softened(&self, reach: f64, order: usize) -> Kernel {
        Kernel::Softened {
            exclusion: self.exclusion,
            reach,
            softening: Softening::for_order(order),
        }
    }

    /// Adds a part of finite reach.
    fn add_short<T: MapReal>(
        &self,
        kernel: &Kernel,
        reach: f64,
        k: f64,
        charges: &PointCharges,
        watch: Watch<'_>,
        values: &mut [T],
    ) {
        let near = Near::new(charges, self.cell.as_ref(), &self.grid.bounds(), reach);
        sum(
            &self.grid,
            &Charges::Near(&near),
            kernel,
            k,
            self.set,
            watch,
            values,
        );
    }

    /// Where the grids of a plan lie.
    fn nested(&self, plan: &MultilevelPlan, charges: &PointCharges) -> Nested {
        match &self.cell {
            None => {
                let bounds = Bounds::of(charges.positions()).with(self.grid.bounds());
                Nested::open(plan, bounds.lower, bounds.upper)
            }
            Some(cell) => {
                let vectors = cell.to_arrays();
                Nested::periodic(plan, std::array::from_fn(|k| vectors[k][k]))
            }
        }
    }

    /// How a method works here, for people.
    fn described(&self, method: MapMethod, charges: &PointCharges) -> Result<String, MapError> {
        let how = match method {
            MapMethod::Direct | MapMethod::Auto => "every charge at every point".into(),
            MapMethod::Cutoff => format!(
                "charges within {} Å, smoothed",
                10.0 * self.cutoff.unwrap_or(CUTOFF)
            ),
            MapMethod::Multilevel => {
                let plan = self.multilevel_plan()?;
                let [cutoff, spacing] = [plan.cutoff, plan.spacing].map(|x| 10.0 * x);
                let order = plan.interpolation.order();
                format!("cut-off {cutoff} Å, finest grid {spacing} Å, order {order}")
            }
            MapMethod::Mesh => mesh::Plan::new(self, charges)?.described(),
        };
        let boundaries = if self.cell.is_some() && method != MapMethod::Direct {
            "periodic"
        } else {
            "open"
        };
        Ok(format!("{method}: {how}, {boundaries} boundaries"))
    }
}
