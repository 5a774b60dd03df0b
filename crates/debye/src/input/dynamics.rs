//! `[integrator]`, `[[thermostat]]`, `[barostat]`, `[minimize]`.

use super::error::InputError;
use super::reader::{Item, Section};
use super::species::SpeciesList;
use crate::engines::cpu::{FIRE, Fire};
use crate::integrate::{
    Barostat, BarostatKind, COMPRESSIBILITY, Coupling, Dynamics, EVERY, Scheme, Tally, Thermostat,
    ThermostatKind,
};
use crate::simulation::{Minimize, MinimizeKind};
use crate::system::{Dimension, System, Units};

type Result<T> = std::result::Result<T, InputError>;

pub(super) const INTEGRATOR_KEYS: &[&str] = &[
    "kind",
    "timestep",
    "temperature",
    "time",
    "friction",
    "chain",
    "every",
];
pub(super) const THERMOSTAT_KEYS: &[&str] = &[
    "kind",
    "species",
    "temperature",
    "time",
    "friction",
    "chain",
    "every",
];
pub(super) const BAROSTAT_KEYS: &[&str] = &[
    "kind",
    "coupling",
    "pressure",
    "tension",
    "time",
    "compressibility",
    "temperature",
    "every",
];
pub(super) const MINIMIZE_KEYS: &[&str] = &["kind", "force_tolerance", "max_steps", "max_displacement"];

/// Thermostats by their names.
fn thermostat_names() -> Vec<(&'static str, ThermostatKind)> {
    ThermostatKind::ALL
        .iter()
        .map(|kind| (kind.record().name, *kind))
        .collect()
}

/// Names of those that do what is asked, for messages.
fn names_of(which: fn(ThermostatKind) -> bool) -> String {
    let names = thermostat_names().into_iter().filter(|(_, kind)| which(*kind));
    names.map(|(name, _)| name).collect::<Vec<_>>().join(", ")
}

/// What the system and the rest of the file have to say.
pub(super) struct Surroundings<'s, 'a> {
    pub(super) units: Units,
    pub(super) system: &'s System,
    pub(super) declared: &'s SpeciesList<'a>,
    pub(super) seed: u64,
    pub(super) remove_momentum_every: Option<u64>,
}

impl Surroundings<'_, '_> {
    /// Nothing moves, and nobody says how it would.
    pub(super) fn at_rest(&self, root: &Section) -> Option<Dynamics> {
        let silent = ["integrator", "thermostat", "barostat"]
            .iter()
            .all(|key| root.get(key).is_none());
        silent.then(|| Dynamics {
            timestep: 0.0,
            scheme: Scheme::VelocityVerlet,
            thermostats: Vec::new(),
            barostat: None,
            remove_momentum_every: 0,
            seed: self.seed,
        })
    }

    pub(super) fn dynamics(&self, root: &Section) -> Result<Dynamics> {
        let section = root
            .require(
                "integrator",
                "a section [integrator] with kind = \"nve\" and timestep = …",
            )?
            .section("[integrator]", INTEGRATOR_KEYS)?;
        let mut kinds = vec![("nve", (Scheme::VelocityVerlet, None))];
        kinds.extend(Scheme::ALL.map(|scheme| (scheme.record().name, (scheme, None))));
        kinds.extend(
            (thermostat_names().into_iter()).map(|(name, kind)| (name, (Scheme::VelocityVerlet, Some(kind)))),
        );
        let kind_item = section.require("kind", "kind = \"nve\"")?;
        let (scheme, thermostat) = kind_item.choice("integrator", &kinds)?;
        let example = if self.units == Units::Md {
            "timestep = \"2 fs\""
        } else {
            "timestep = 0.005"
        };
        let timestep = section
            .require("timestep", example)?
            .positive(self.units, Dimension::TIME)?;

        let mut thermostats = Vec::new();
        if let Some(kind) = thermostat {
            if let Some(item) = root.get("thermostat") {
                let kind = kind_item.text()?;
                return Err(item
                    .key_error(format!(
                        "both [[thermostat]] and the thermostat `{kind}` of [integrator]"
                    ))
                    .expected("one of them")
                    .help("say kind = \"nve\" in [integrator], or leave [[thermostat]] out"));
            }
            thermostats.push(self.thermostat(&section, kind)?);
        } else {
            for key in ["temperature", "time", "friction", "chain"] {
                if let Some(item) = section.get(key) {
                    let kind = kind_item.text()?;
                    return Err(item
                        .key_error(format!(
                            "`{key}` belongs to a thermostat, but kind = \"{kind}\" has none"
                        ))
                        .expected("no such key")
                        .help(format!("use kind = {}, or a [[thermostat]]", names_of(|_| true))));
                }
            }
        }
        if let Some(list) = root.get("thermostat") {
            thermostats = self.groups(list, scheme)?;
        }
        let alone = self.system.particles.len() == 1;
        let scaling = thermostats
            .iter()
            .any(|t: &Thermostat| t.kind.scales_velocities());
        if alone && scaling {
            let at = root.get("thermostat").unwrap_or(kind_item);
            return Err(at
                .key_error("this thermostat scales velocities, which never turns a lone particle: it would move along one line for ever")
                .expected("langevin")
                .help("use kind = \"langevin\", which thermalizes one particle as well as many"));
        }
        if let (true, Some(1..)) = (alone, self.remove_momentum_every) {
            let at = root.get("run").unwrap_or(&root.item);
            return Err(at
                .key_error("`remove_momentum_every` would bring the only particle of the system to rest")
                .expected("remove_momentum_every = 0")
                .help("leave `remove_momentum_every` out"));
        }
        let barostat = match root.get("barostat") {
            Some(item) => Some(self.barostat(item, thermostats.first().map(|t| t.temperature))?),
            None => None,
        };
        Ok(Dynamics {
            remove_momentum_every: (self.remove_momentum_every)
                .unwrap_or_else(|| Dynamics::usual_momentum_removal(&thermostats)),
            timestep,
            scheme,
            thermostats,
            barostat,
            seed: self.seed,
        })
    }

    fn groups(&self, list: &Item, scheme: Scheme) -> Result<Vec<Thermostat>> {
        let mut taken: Vec<Option<usize>> = vec![None; self.system.species.len()];
        let mut thermostats = Vec::new();
        for (place, item) in list.one_or_many().iter().enumerate() {
            let section = item.section("[[thermostat]]", THERMOSTAT_KEYS)?;
            let kind_item = section.require("kind", "kind = \"bussi\"")?;
            let kind = kind_item.choice("thermostat", &thermostat_names())?;
            if scheme == Scheme::Leapfrog && !kind.goes_with_leapfrog() {
                let name = kind.record().name;
                return Err(kind_item
                    .error(format!(
                        "is \"{name}\", which does not go with kind = \"leapfrog\" of [integrator]"
                    ))
                    .expected(names_of(ThermostatKind::goes_with_leapfrog))
                    .help("this thermostat is a splitting of velocity Verlet: say kind = \"nve\" in [integrator]"));
            }
            let mut thermostat = self.thermostat(&section, kind)?;
            thermostat.species = match section.get("species") {
                Some(item) => self.species(item)?,
                None => Vec::new(),
            };
            let all: Vec<u32> = (0..self.system.species.len() as u32).collect();
            let group = if section.get("species").is_some() {
                &thermostat.species
            } else {
                &all
            };
            if group.iter().all(|&s| self.system.species[s as usize].mass == 0.0) {
                let at = section.get("species").unwrap_or(&section.item);
                return Err(at
                    .error("names only sites without mass, which have no motion of their own to thermalize")
                    .expected("species with a mass")
                    .help(
                        "sites of a rigid body belong to the thermostat of its other sites: name these too",
                    ));
            }
            for &species in group {
                if let Some(other) = taken[species as usize].replace(place) {
                    let name = &self.system.species[species as usize].name;
                    let at = section.get("species").unwrap_or(&section.item);
                    return Err(at
                        .error(format!("puts species `{name}` under a second thermostat; thermostat[{other}] has it already"))
                        .expected("each species in one thermostat"));
                }
            }
            thermostats.push(thermostat);
        }
        Ok(thermostats)
    }

    /// Species by name; those no particle belongs to are left out.
    pub(super) fn species(&self, item: &Item) -> Result<Vec<u32>> {
        let mut found = Vec::new();
        for (name, item) in item.names()? {
            self.declared.named(name, &item)?;
            let place = self.system.species.iter().position(|s| s.name == name);
            let place = place.ok_or_else(|| {
                item.error(format!(
                    "names species `{name}`, of which the system has no particle"
                ))
                .expected("a species of the system")
            })?;
            let place = place as u32;
            if found.contains(&place) {
                return Err(item
                    .error(format!("names species `{name}` twice"))
                    .expected("each species once"));
            }
            found.push(place);
        }
        if found.is_empty() {
            return Err(item.wrong("at least one species"));
        }
        Ok(found)
    }

    fn thermostat(&self, section: &Section, kind: ThermostatKind) -> Result<Thermostat> {
        let units = self.units;
        let md = units == Units::Md;
        let example = if md {
            "temperature = \"300 K\""
        } else {
            "temperature = 1.0"
        };
        let temperature = section.require("temperature", example)?;
        // The masses of a Nosé–Hoover chain are proportional to its temperature.
        let temperature = match kind {
            ThermostatKind::NoseHoover { .. } => temperature.positive(units, Dimension::TEMPERATURE)?,
            _ => temperature.not_negative(units, Dimension::TEMPERATURE)?,
        };
        section.not_both("time", "friction")?;
        if let Some(item) = section.get("friction")
            && kind != ThermostatKind::Langevin
        {
            return Err(item
                .key_error("`friction` belongs to the langevin thermostat")
                .expected("time")
                .help("give the relaxation time as `time`"));
        }
        let time = match (section.get("time"), section.get("friction")) {
            (Some(time), _) => time.positive(units, Dimension::TIME)?,
            (None, Some(friction)) => friction.positive(units, Dimension::PER_TIME)?.recip(),
            (None, None) if kind == ThermostatKind::Langevin => {
                return Err(section.missing(
                    "friction",
                    if md {
                        "friction = \"1 1/ps\""
                    } else {
                        "friction = 0.5"
                    },
                ));
            }
            (None, None) => {
                return Err(section.missing("time", if md { "time = \"0.5 ps\"" } else { "time = 0.5" }));
            }
        };
        if !time.is_finite() {
            return Err(section.error(format!(
                "the relaxation time in {} is not finite",
                section.heading
            )));
        }
        let kind = match (section.get("chain"), kind) {
            (Some(item), ThermostatKind::NoseHoover { .. }) => ThermostatKind::NoseHoover {
                chain: item.count(1..=20, "a whole number from 1 to 20")?,
            },
            (Some(item), _) => {
                return Err(item
                    .key_error("`chain` belongs to the nose-hoover thermostat")
                    .expected("no such key"));
            }
            (None, kind) => kind,
        };
        let every = section.map("every", |item| match kind {
            ThermostatKind::Bussi | ThermostatKind::Berendsen => {
                item.whole(1..=1_000_000, "a number of steps from 1 to 1000000")
            }
            ThermostatKind::Langevin | ThermostatKind::NoseHoover { .. } => Err(item
                .key_error(format!(
                    "`every` belongs to bussi and berendsen; {} acts in every step",
                    kind.record().name
                ))
                .expected("no such key")),
        })?;
        Ok(Thermostat {
            kind,
            species: Vec::new(),
            temperature,
            time,
            every,
        })
    }

    fn barostat(&self, item: &Item, temperature: Option<f64>) -> Result<Barostat> {
        let (units, md) = (self.units, self.units == Units::Md);
        let section = item.section("[barostat]", BAROSTAT_KEYS)?;
        let kinds = BarostatKind::ALL.map(|kind| (kind.record().name, kind));
        let kind = section
            .require("kind", "kind = \"cell-rescale\"")?
            .choice("barostat", &kinds)?;
        if let Some(axis) = self.system.cell.periodic().iter().position(|p| !p) {
            let axis = ["x", "y", "z"][axis];
            return Err(section
                .error(format!("[barostat] needs a cell that is periodic in all directions; this one is open along {axis}"))
                .expected("periodic = [true, true, true]")
                .help("leave [barostat] out: the pressure of an open system is not defined by its cell"));
        }
        let couplings = Coupling::ALL.map(|coupling| (coupling.name(), coupling));
        let coupling = section
            .map("coupling", |i| i.choice("coupling", &couplings))?
            .unwrap_or(Coupling::Isotropic);
        let coupling = self.tension(&section, coupling)?;
        let example = if md {
            "pressure = \"1 bar\""
        } else {
            "pressure = 0.1"
        };
        let per_axis = |item: &Item, dimension| per_axis(item, coupling, |i| i.quantity(units, dimension));
        let pressure = section.require("pressure", example)?;
        if matches!(coupling, Coupling::SurfaceTension { .. }) && pressure.is_list() {
            return Err(pressure.wrong("one value, the pressure along z: `tension` gives that along x and y"));
        }
        let pressure = per_axis(pressure, Dimension::PRESSURE)?;
        let time = section
            .require("time", if md { "time = \"2 ps\"" } else { "time = 2.0" })?
            .positive(units, Dimension::TIME)?;
        let compressibility = match section.get("compressibility") {
            Some(item) => {
                let values = per_axis(item, Dimension::PER_PRESSURE)?;
                if values.iter().any(|x| *x < 0.0) || values == [0.0; 3] {
                    return Err(item.wrong("an inverse pressure greater than zero"));
                }
                values
            }
            None if md => [COMPRESSIBILITY * units.bar(); 3],
            None => return Err(section.missing("compressibility", "compressibility = 0.05")),
        };
        let own = section.map("temperature", |i| i.not_negative(units, Dimension::TEMPERATURE))?;
        let temperature = match (own.or(temperature), kind) {
            (Some(temperature), _) => temperature,
            (None, BarostatKind::Berendsen) => 0.0,
            (None, BarostatKind::CellRescale) => {
                let example = if md {
                    "temperature = \"300 K\""
                } else {
                    "temperature = 1.0"
                };
                return Err(section.missing("temperature", &format!("{example}, or a thermostat")));
            }
        };
        let every = section.map("every", |i| {
            i.whole(1..=1_000_000, "a number of steps from 1 to 1000000")
        })?;
        Ok(Barostat {
            limited: Tally::default(),
            kind,
            coupling,
            pressure,
            time,
            compressibility,
            temperature,
            every: every.unwrap_or(EVERY),
        })
    }

    /// The coupling with the tension that it keeps.
    fn tension(&self, section: &Section, coupling: Coupling) -> Result<Coupling> {
        let example = match self.units {
            Units::Md => "tension = \"0 mN/m\"",
            Units::LennardJones => "tension = 0.0",
        };
        match (coupling, section.get("tension")) {
            (Coupling::SurfaceTension { .. }, Some(item)) => Ok(Coupling::SurfaceTension {
                tension: item.quantity(self.units, Dimension::ENERGY_PER_AREA)?,
            }),
            (Coupling::SurfaceTension { .. }, None) => Err(section.missing("tension", example)),
            (_, Some(item)) => Err(item
                .key_error("`tension` belongs to coupling = \"surface-tension\"")
                .expected("no such key")),
            (coupling, None) => Ok(coupling),
        }
    }
}

/// The size of the mean pressure that a barostat is to keep; `None` without one, or where it will be refused.
pub(super) fn target_pressure(root: &Section, units: Units) -> Option<f64> {
    let section = root.get("barostat")?.section("[barostat]", BAROSTAT_KEYS).ok()?;
    let item = section.get("pressure")?;
    let of = |item: &Item| item.quantity(units, Dimension::PRESSURE).ok();
    if !item.is_list() {
        return of(item).map(f64::abs);
    }
    let values = item.list().ok()?.iter().map(of).collect::<Option<Vec<f64>>>()?;
    let along = match values[..] {
        [xy, z] => [xy, xy, z],
        [x, y, z] => [x, y, z],
        _ => return None,
    };
    Some((along.iter().sum::<f64>() / 3.0).abs())
}

/// One value for all axes, [xy, z] or [x, y, z], as the coupling allows.
fn per_axis<'a>(
    item: &Item<'a>,
    coupling: Coupling,
    read: impl Fn(&Item<'a>) -> Result<f64>,
) -> Result<[f64; 3]> {
    if !item.is_list() {
        return read(item).map(|x| [x; 3]);
    }
    let values = item.list()?.iter().map(&read).collect::<Result<Vec<f64>>>()?;
    match (coupling, values.as_slice()) {
        (layered, &[xy, z]) if layered.is_layered() => Ok([xy, xy, z]),
        (layered, &[x, y, z]) if layered.is_layered() && x == y => Ok([x, y, z]),
        (Coupling::Anisotropic, &[x, y, z]) => Ok([x, y, z]),
        (Coupling::Isotropic, _) => Err(item.wrong("one value, since the coupling is isotropic")),
        (Coupling::SemiIsotropic | Coupling::SurfaceTension { .. }, _) => {
            Err(item.wrong("one value, or two: [xy, z]"))
        }
        (Coupling::Anisotropic, _) => Err(item.wrong("one value, or three: [x, y, z]")),
    }
}

pub(super) fn minimize(item: Option<&Item>, units: Units) -> Result<Option<Minimize>> {
    let Some(item) = item else { return Ok(None) };
    let section = item.section("[minimize]", MINIMIZE_KEYS)?;
    let kind = section
        .map("kind", |i| {
            i.choice("minimizer", &[(FIRE.name, MinimizeKind::Fire)])
        })?
        .unwrap_or(MinimizeKind::Fire);
    let place = usize::from(units != Units::Md);
    let force = section.map("force_tolerance", |i| i.positive(units, Dimension::FORCE))?;
    let steps = section.map("max_steps", |i| {
        i.whole(1..=1_000_000_000_000, "a number of steps of at least 1")
    })?;
    let displacement = section.map("max_displacement", |i| i.positive(units, Dimension::LENGTH))?;
    Ok(Some(Minimize {
        kind,
        force_tolerance: force.unwrap_or(Fire::FORCE_TOLERANCE[place]),
        max_steps: steps.unwrap_or(Fire::MAX_STEPS),
        max_displacement: displacement.unwrap_or(Fire::MAX_DISPLACEMENT[place]),
    }))
}
