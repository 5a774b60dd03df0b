//! [`Parts`]: what an engine is made from, put together from what was asked for.

use super::bodies::Bodies;
use super::bonded::LinkTables;
use super::choice::{self, Choice};
use super::constraints::HostConstraints;
use super::count;
use super::frame::Region;
use super::kernels::{KernelConfig, Values};
use super::layout::{Grain, Layout, WARP};
use super::mesh::MeshTables;
use super::needs::{self, Tables};
use super::resident::Resident;
use super::rules::Rules;
use super::small::{self, SmallValues};
use super::terms::{Distinct, MOST_SORTS, Terms};
use super::unsupported;
use crate::engines::{EngineError, ListKind, Needs, Settings};
use crate::forces::ForceField;
use crate::forces::electrostatics::{Boundary, Method, open_axis};
use crate::integrate::{Dynamics, MotionState, Scheme};
use crate::system::System;
use debye_gpu::primitives::{Collection, CountingSort};
use debye_gpu::{Ahead, CudaError, Device, ModuleSource};

/// What an engine is made from.
pub(super) struct Parts {
    pub(super) layout: Layout,
    pub(super) terms: Terms,
    pub(super) rules: Rules,
    pub(super) links: Option<LinkTables>,
    pub(super) mesh: Option<MeshTables>,
    pub(super) constrained: Option<HostConstraints>,
    pub(super) values: Values,
}

impl Parts {
    pub(super) fn new(request: Request<'_>) -> Result<Self, EngineError> {
        let Request {
            system,
            field,
            dynamics,
            settings,
            choice,
            ..
        } = request;
        let rules = request.rules()?;
        let constrained = HostConstraints::new(system)?;
        let mut buffer = 0.0;
        let bodies = |kind_of: &[u32], own_rows: bool| {
            // Molecules are known by the kinds of their sites, of which there must be few.
            let molecules = constrained.as_ref().filter(|_| own_rows);
            let bodies = choice.bodies(
                system,
                molecules,
                kind_of,
                field.cutoff(),
                settings,
                dynamics.barostat.is_some(),
            );
            buffer = bodies.1;
            bodies.0
        };
        let terms = Terms::new(
            system,
            field,
            dynamics,
            &rules.group_of,
            settings.precision,
            bodies,
        )?;
        if let Some(constrained) = &constrained {
            constrained.check_groups(&terms)?;
        }
        let short = terms.short;
        let (arm, grain) = (terms.bodies.arm(), terms.bodies.grain());
        let cutoff = field.cutoff() + 2.0 * arm;
        let radius = cutoff + buffer;
        let region = region(system, field, radius)?;
        refuse_short(&region, radius)?;
        let fractions = region.fractions(&system.particles);
        let anchors: Vec<_> = terms.bodies.anchors().map(|i| fractions[i]).collect();
        let layout = Layout {
            tiles: settings.lists == Some(ListKind::Clusters)
                && !terms.own_lists()
                && grain == Grain::PARTICLE,
            ..Layout::new(&anchors, &region, radius, grain, arm)?
        };
        // Lists are made anew where a barostat has stretched them by so much.
        let moving = dynamics.barostat.is_some();
        let stretched = if moving { 1.05 } else { 1.0 };
        let reach = 0.5 * (stretched * radius - cutoff) + arm;
        let mesh = MeshTables::new(
            system,
            field,
            (&terms.kind_of, terms.kinds.len()),
            &region,
            [radius, reach],
            moving,
            settings.precision,
        )?;
        Ok(Self {
            layout,
            terms,
            rules,
            links: LinkTables::new(system, field)?,
            mesh,
            constrained,
            values: Values {
                region,
                dt: dynamics.timestep,
                seed: dynamics.seed,
                radius,
                cutoff,
                arm,
                short,
            },
        })
    }

    /// Fits the layout to the shared memory of a device.
    fn fit(&mut self, device: &Device) -> Result<(), EngineError> {
        let shared = device.info().shared_per_block;
        let excludes = self.terms.own_lists();
        self.layout = self.layout.fitting(shared, self.terms.staged_bytes(), excludes)?;
        Ok(())
    }

    /// What tables on the device take.
    pub(super) fn tables(&self) -> Tables {
        Tables {
            links: self.links.as_ref().map(LinkTables::needs),
            constrained: self
                .constrained
                .as_ref()
                .map(|constrained| constrained.bytes(&self.rules)),
            mesh: self.mesh.as_ref().map_or(0, MeshTables::bytes),
        }
    }

    /// The modules of the engine itself.
    pub(super) fn sources(&self, minimizes: bool) -> Vec<ModuleSource> {
        let case = self.case();
        let mut all = case.of_lists(minimizes);
        all.extend(self.links.as_ref().map(|links| links.source(case)));
        all.extend(self.mesh.iter().flat_map(|mesh| mesh.sources(case)));
        all.extend(case.constrained.iter().flat_map(|groups| groups.sources(case)));
        all
    }

    /// Modules that lists may come to need: for more candidates, or where blocks become as long as the cell.
    fn later_sources(&self, minimizes: bool, tries: bool) -> Vec<ModuleSource> {
        let other = (tries && self.has_choice()).then(|| self.other_lists());
        let mut all = Vec::new();
        for layout in [self.layout].into_iter().chain(other) {
            let many = Layout {
                groups: WARP + 1,
                ..layout
            };
            all.push(self.with_layout(&many).rebuild());
            if layout.may_wrap && !layout.wrap {
                let wrapped = Layout { wrap: true, ..layout };
                all.extend(self.with_layout(&wrapped).of_lists(minimizes));
            }
        }
        all
    }

    /// Whether there may be either kind of lists.
    fn has_choice(&self) -> bool {
        self.layout.grain == Grain::PARTICLE && !self.terms.own_lists()
    }

    /// The layout with the other kind of lists.
    fn other_lists(&self) -> Layout {
        Layout {
            tiles: !self.layout.tiles,
            ..self.layout
        }
    }

    fn with_layout<'a>(&'a self, layout: &'a Layout) -> KernelConfig<'a> {
        KernelConfig {
            layout,
            ..self.case()
        }
    }

    /// All modules that it takes on a device, also those of the other kind of lists where both are tried.
    fn all_sources(
        &self,
        device: &Device,
        minimizes: bool,
        tries: bool,
    ) -> Result<Vec<ModuleSource>, CudaError> {
        let mut all = self.sources(minimizes);
        all.extend(CountingSort::sources(device, self.layout.buckets()));
        all.push(Collection::source());
        if let Some(mesh) = &self.mesh {
            all.extend(mesh.common_sources(device, self.layout.grain)?);
        }
        if tries && self.has_choice() {
            all.extend(self.with_layout(&self.other_lists()).of_lists(false));
        }
        Ok(all)
    }

    pub(super) fn case(&self) -> KernelConfig<'_> {
        KernelConfig {
            layout: &self.layout,
            terms: &self.terms,
            rules: &self.rules,
            region: &self.values.region,
            bonded: self.links.is_some() || self.mesh.is_some(),
            meshed: self.mesh.is_some(),
            constrained: self.constrained.as_ref().map(HostConstraints::kinds),
        }
    }
}

/// Everything that was asked for.
#[derive(Clone, Copy)]
pub(super) struct Request<'a> {
    pub(super) system: &'a System,
    pub(super) field: &'a ForceField,
    pub(super) dynamics: &'a Dynamics,
    pub(super) settings: &'a Settings,
    pub(super) choice: &'a Choice,
    pub(super) start: &'a MotionState,
}

/// Processor cores with which modules that may be needed are compiled together with the others.
const MANY_CORES: usize = 12;

impl<'a> Request<'a> {
    pub(super) fn new(
        system: &'a System,
        field: &'a ForceField,
        dynamics: &'a Dynamics,
        settings: &'a Settings,
        choice: &'a Choice,
        start: &'a MotionState,
    ) -> Self {
        Self {
            system,
            field,
            dynamics,
            settings,
            choice,
            start,
        }
    }

    /// Whether the kernel of small systems does it, by a rule that looks at no clock.
    pub(super) fn is_small(self) -> Result<bool, EngineError> {
        let able = small::supports(self.system, self.field);
        if self.choice.small == Some(true) && !able {
            return Err(unsupported("this as a small system".into()));
        }
        let buffer = self.choice.buffer.or(self.settings.buffer);
        let (n, cutoff) = (self.system.particles.len(), self.field.cutoff());
        let small = able && self.choice.is_small(n, &self.system.cell, cutoff, buffer);
        Ok(small && Distinct::all(self.system).1.len() <= MOST_SORTS)
    }

    pub(super) fn large(self, device: &Device) -> Result<Resident, EngineError> {
        let parts = self.parts(device)?;
        let _ahead = self.compile_ahead(device, &parts)?;
        let later = parts.later_sources(self.settings.minimizes, self.tries_lists(device));
        // What may be needed must not keep what is needed waiting.
        let many = std::thread::available_parallelism().is_ok_and(|cores| cores.get() >= MANY_CORES);
        if many {
            device.compile_ahead(later).detach();
            return Resident::new(device, parts);
        }
        let resident = Resident::new(device, parts)?;
        device.compile_ahead(later).detach();
        Ok(resident)
    }

    /// Fitted to a device.
    pub(super) fn parts(self, device: &Device) -> Result<Parts, EngineError> {
        let mut parts = Parts::new(self)?;
        parts.fit(device)?;
        Ok(parts)
    }

    pub(super) fn compile_ahead(self, device: &Device, parts: &Parts) -> Result<Ahead, EngineError> {
        let (minimizes, tries) = (self.settings.minimizes, self.tries_lists(device));
        let mut all = parts.all_sources(device, minimizes, tries)?;
        all.extend(self.settings.counts_pairs.then(count::source));
        Ok(device.compile_ahead(all))
    }

    /// Whether both kinds of lists are tried, where there may be both.
    pub(super) fn tries_lists(self, device: &Device) -> bool {
        // On the emulation a clock says nothing, and lists of warps leave nothing out.
        let by_rule = self.settings.lists.is_none() && !device.info().emulated;
        self.choice.measure.unwrap_or(by_rule) && self.system.exclusions.is_empty()
    }

    pub(super) fn rules(self) -> Result<Rules, EngineError> {
        Rules::new(
            self.system,
            self.dynamics,
            &self.field.tail_correction(self.system),
            self.start,
        )
    }

    pub(super) fn small_terms(self, rules: &Rules) -> Result<Terms, EngineError> {
        Terms::new(
            self.system,
            self.field,
            self.dynamics,
            &rules.group_of,
            self.settings.precision,
            |_, _| Bodies::particles(self.system.particles.len(), 1),
        )
    }

    pub(super) fn small_values(self) -> SmallValues {
        let (cell, cutoff) = (self.system.cell, self.field.cutoff());
        let asked = self.choice.buffer.or(self.settings.buffer);
        let buffer = asked.unwrap_or_else(|| choice::buffer(&cell, cutoff));
        SmallValues {
            region: Region::around(&cell, &self.system.particles.positions, cutoff + buffer),
            dt: self.dynamics.timestep,
            seed: self.dynamics.seed,
            radius: cutoff + buffer,
            cutoff,
        }
    }

    pub(super) fn small_needs(self, device: &Device) -> Result<Needs, EngineError> {
        let (values, rules) = (self.small_values(), self.rules()?);
        let terms = self.small_terms(&rules)?;
        let links = LinkTables::new(self.system, self.field)?;
        let links = links.as_ref();
        let needs = small::needs(device, self.system, &terms, &values, &rules, links, self.choice);
        needs::fitting(device, needs, values.radius)
    }
}

/// The box that coordinates are fractions of.
pub(super) fn region(system: &System, field: &ForceField, radius: f64) -> Result<Region, EngineError> {
    let (cell, positions) = (&system.cell, &system.particles.positions[..]);
    let plan = field.electrostatics.as_ref();
    if let Some(grids) = plan.and_then(|plan| plan.grids()) {
        return Ok(Region::around(cell, positions, radius).on_grid(Some(grids.split.spacing)));
    }
    let slab = plan.and_then(|plan| {
        let Boundary::Slab { factor } = plan.boundary else {
            return None;
        };
        let axis = open_axis(cell)?;
        let points = match plan.method {
            Method::Mesh(mesh) => mesh.size[axis],
            Method::Ewald(_) | Method::Multilevel(_) => 1,
        };
        Some((axis, factor, points))
    });
    let Some((axis, factor, points)) = slab else {
        return Ok(Region::around(cell, positions, radius));
    };
    Region::of_slab(cell, positions, radius, axis, factor, points).ok_or_else(|| {
        unsupported(format!(
            "a slab that takes so much of {factor} times its cell that less than {:.4} are left above and below it \
             (a larger `slab_factor` makes room)",
            1.5 * radius
        ))
    })
}

/// Cells in which a pair may be within reach twice.
pub(super) fn refuse_short(region: &Region, radius: f64) -> Result<(), EngineError> {
    let heights = region.heights();
    let shortest = heights.x.min(heights.y).min(heights.z);
    if 2.0 * radius > shortest {
        return Err(unsupported(format!(
            "cells shorter ({shortest:.4}) than twice the radius of the lists ({radius:.4}) here (`copies` in [system], a \
             shorter cut-off or `buffer` in [neighbors] make room)"
        )));
    }
    Ok(())
}

/// What is not there yet.
pub(super) fn refuse(
    system: &System,
    field: &ForceField,
    dynamics: &Dynamics,
    settings: &Settings,
) -> Result<(), EngineError> {
    let no = |condition: bool, what: &str| {
        if condition {
            Err(unsupported(what.into()))
        } else {
            Ok(())
        }
    };
    if system.particles.is_empty() {
        return Err(EngineError::Empty);
    }
    dynamics
        .check(system.particles.len())
        .map_err(EngineError::Unsupported)?;
    system
        .check_massless()
        .map_err(|e| EngineError::Unsupported(e.to_string()))?;
    no(
        field.pairs.is_empty() && field.oriented.is_empty(),
        "systems without pair terms",
    )?;
    let scaled = dynamics.thermostats.iter().any(|t| t.kind.scales_velocities());
    no(
        !system.constraints.is_empty() && scaled && dynamics.scheme == Scheme::Leapfrog,
        "constraints with leapfrog and a thermostat that scales velocities (velocity Verlet it does)",
    )?;
    no(
        settings.drift_tolerance.is_some(),
        "lists that may miss pairs (`drift_tolerance`)",
    )
}
