//! What is compiled for a simulation, without running it.

use super::bonded::LinkTables;
use super::parts::{Parts, Request, refuse};
use super::{Choice, CudaEngine, count, small};
use crate::engines::{EngineError, Settings};
use crate::forces::ForceField;
use crate::integrate::{BEGINNING, Dynamics};
use crate::system::System;
use debye_gpu::primitives::Collection;
use debye_gpu::{Ahead, Device, ModuleSource};

impl CudaEngine {
    /// Begins to compile what a simulation would use on a device, so that a run finds it on disk.
    pub fn prepare(
        device: &Device,
        system: &System,
        field: &ForceField,
        dynamics: &Dynamics,
        settings: &Settings,
    ) -> Result<Ahead, EngineError> {
        refuse(system, field, dynamics, settings)?;
        let choice = Choice::default();
        let request = Request::new(system, field, dynamics, settings, &choice, &BEGINNING);
        if request.is_small()? {
            let multiprocessors = device.info().multiprocessors;
            let module = small_module(system, field, dynamics, settings, multiprocessors, &choice)?;
            let counting = settings.counts_pairs.then(count::source);
            let all = [module, Collection::source()].into_iter().chain(counting);
            return Ok(device.compile_ahead(all.collect()));
        }
        request.compile_ahead(device, &request.parts(device)?)
    }
}

/// The module that counts pairs by their distance.
pub fn pair_counting() -> ModuleSource {
    count::source()
}

/// The modules that a simulation would use.
pub fn modules(
    system: &System,
    field: &ForceField,
    dynamics: &Dynamics,
    settings: &Settings,
    choice: &Choice,
) -> Result<Vec<ModuleSource>, EngineError> {
    let parts = Parts::new(Request::new(
        system, field, dynamics, settings, choice, &BEGINNING,
    ))?;
    Ok(parts.sources(true))
}

/// The module that a small simulation would use on a device of so many multiprocessors.
pub fn small_module(
    system: &System,
    field: &ForceField,
    dynamics: &Dynamics,
    settings: &Settings,
    multiprocessors: u32,
    choice: &Choice,
) -> Result<ModuleSource, EngineError> {
    let request = Request::new(system, field, dynamics, settings, choice, &BEGINNING);
    let (values, rules) = (request.small_values(), request.rules()?);
    let terms = request.small_terms(&rules)?;
    let links = LinkTables::new(system, field)?;
    let links = links.as_ref();
    let variant = small::variant(multiprocessors, system, &values, &rules, links, choice);
    Ok(variant.source(&terms, links))
}
