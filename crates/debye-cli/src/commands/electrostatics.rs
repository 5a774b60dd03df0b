//! Settings of electrostatics and their errors, as commands print them.

use debye::forces::electrostatics::{Boundary, Electrostatics, Method};
use debye::forces::pme::Basis;
use debye::forces::pme::expected::Expected;
use debye::forces::pme::pressure::PressureError;
use debye::run::coulomb::{ExactSums, SumsError, coulomb_forces, coulomb_sums};
use debye::run::measure::{Exact, Measured};
use debye::simulation::Simulation;
use debye::system::{Dimension, Units};
use serde::Serialize;

use crate::console;
use crate::failure::Failure;
use crate::progress::Patience;

/// The settings.
#[derive(Clone, Debug, Serialize)]
pub struct SettingsLine {
    kind: &'static str,
    cutoff: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    alpha: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    spacing: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    mesh: Option<[usize; 3]>,
    #[serde(skip_serializing_if = "Option::is_none")]
    vectors: Option<[usize; 3]>,
    #[serde(skip_serializing_if = "Option::is_none")]
    order: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    basis: Option<&'static str>,
}

impl SettingsLine {
    /// Of a plan.
    pub fn new(plan: &Electrostatics) -> Self {
        let (mut mesh, mut vectors, mut order, mut basis) = (None, None, None, None);
        match &plan.method {
            Method::Ewald(set) => vectors = Some(set.reach),
            Method::Mesh(m) => {
                mesh = Some(m.size);
                match m.basis {
                    Basis::BSpline(n) => order = Some(n),
                    Basis::Cubic => basis = Some("cubic"),
                    Basis::Interpolating(interpolation) => order = Some(interpolation.order()),
                }
            }
            Method::Multilevel(grids) => order = Some(grids.split.interpolation.order()),
        }
        Self {
            kind: plan.kind(),
            cutoff: plan.cutoff,
            alpha: plan.grids().is_none().then_some(plan.alpha),
            spacing: plan.grids().map(|grids| grids.split.spacing),
            mesh,
            vectors,
            order,
            basis,
        }
    }
}

/// An estimate. Errors are root mean squares over the charged particles.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct EstimateLine {
    pairs: f64,
    rest: f64,
    absolute: f64,
    /// Of the force between neighbors.
    relative_to_neighbors: f64,
}

impl From<Expected> for EstimateLine {
    fn from(e: Expected) -> Self {
        Self {
            pairs: e.pairs,
            rest: e.rest,
            absolute: e.total(),
            relative_to_neighbors: e.relative(),
        }
    }
}

/// A measured error.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct MeasuredLine {
    particles: usize,
    absolute: f64,
    relative: f64,
    largest: f64,
    rms_force: f64,
}

impl From<Measured> for MeasuredLine {
    fn from(m: Measured) -> Self {
        Self {
            particles: m.particles,
            absolute: m.absolute,
            relative: m.relative,
            largest: m.largest,
            rms_force: m.usual,
        }
    }
}

/// What `--check-electrostatics` found.
#[derive(Clone, Debug, Serialize)]
pub struct Checked {
    #[serde(flatten)]
    pub settings: SettingsLine,
    #[serde(skip)]
    expected: Option<Expected>,
    #[serde(skip_serializing_if = "Option::is_none")]
    estimated: Option<EstimateLine>,
    #[serde(skip_serializing_if = "Option::is_none")]
    measured: Option<MeasuredLine>,
    /// The sum that it was measured against.
    #[serde(skip_serializing_if = "Option::is_none")]
    against: Option<ExactLine>,
    #[serde(skip_serializing_if = "Option::is_none")]
    energy_error: Option<EnergyLine>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pressure_error: Option<PressureLine>,
    #[serde(skip)]
    text: String,
}

/// Errors of the energy, in the units of the run.
#[derive(Clone, Copy, Debug, Serialize)]
struct EnergyLine {
    estimated_pairs: f64,
    estimated_rest: f64,
    estimated: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    measured: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    measured_per_charge: Option<f64>,
}

/// Errors of the pressure, in bar or reduced units.
#[derive(Clone, Debug, Serialize)]
struct PressureLine {
    unit: String,
    estimated_pairs: f64,
    estimated_rest: f64,
    estimated: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    measured: Option<f64>,
    /// xx yy zz xy xz yz.
    #[serde(skip_serializing_if = "Option::is_none")]
    measured_tensor: Option<[f64; 6]>,
    #[serde(skip_serializing_if = "Option::is_none")]
    allowed: Option<f64>,
}

impl EnergyLine {
    fn new(error: &PressureError, measured: Option<&SumsError>) -> Self {
        Self {
            estimated_pairs: error.energy_pairs,
            estimated_rest: error.energy_rest,
            estimated: error.energy(),
            measured: measured.map(|m| m.energy),
            measured_per_charge: measured.map(|m| m.energy_per_charge),
        }
    }
}

impl PressureLine {
    fn new(error: &PressureError, measured: Option<&SumsError>, allowed: Option<f64>, units: Units) -> Self {
        let (factor, unit) = units.readable(Dimension::PRESSURE);
        Self {
            unit,
            estimated_pairs: factor * error.pairs,
            estimated_rest: factor * error.rest,
            estimated: factor * error.total(),
            measured: measured.and_then(|m| m.pressure).map(|p| factor * p),
            measured_tensor: measured.and_then(|m| m.tensor).map(|t| t.map(|p| factor * p)),
            allowed: allowed.map(|p| factor * p),
        }
    }
}

/// The sum that errors are measured against.
#[derive(Clone, Copy, Debug, Serialize)]
struct ExactLine {
    cutoff: f64,
    alpha: f64,
    vectors: usize,
    estimated_error: f64,
}

impl Checked {
    /// The settings and what is expected of them; `None` without long-range electrostatics.
    pub fn expected(simulation: &Simulation) -> Option<Self> {
        let (system, forces) = (&simulation.system, &simulation.forces);
        let plan = forces.electrostatics.as_ref()?;
        let expected = Expected::of(system, forces);
        let allowed = simulation.pressure_tolerance;
        let line = debye::forces::pme::expected::describe(system, forces, allowed)?;
        Some(Self {
            settings: SettingsLine::new(plan),
            expected,
            estimated: expected.map(EstimateLine::from),
            measured: None,
            against: None,
            energy_error: None,
            pressure_error: None,
            text: format!("electrostatics: {line}\n"),
        })
    }

    /// The same, and the error as it is.
    pub fn measured(simulation: &Simulation) -> Result<Self, Failure> {
        let mut patience = Patience::new("exact Coulomb forces");
        let progress = &mut |part| patience.show(part);
        let exact = Exact::of(&simulation.system, &simulation.forces, progress);
        patience.clear();
        let exact = exact?;
        let measured = exact.measure(&coulomb_forces(simulation)?);
        let Some(mut checked) = Self::expected(simulation) else {
            return Err(Failure::refused(debye::run::measure::MeasureError::Nothing));
        };
        checked.measured = Some(measured.into());
        checked.against = Some(ExactLine {
            cutoff: exact.cutoff,
            alpha: exact.alpha,
            vectors: exact.vectors,
            estimated_error: exact.error,
        });
        checked.text = checked.table(simulation, &exact, &measured);
        checked.measure_sums(simulation)?;
        Ok(checked)
    }

    /// Errors of energy and pressure, and what they were measured against.
    fn measure_sums(&mut self, simulation: &Simulation) -> Result<(), Failure> {
        let units = simulation.system.units;
        let Some(estimated) = PressureError::of(&simulation.system, &simulation.forces) else {
            return Ok(());
        };
        let exact = ExactSums::of(simulation)?;
        let measured = match &exact {
            Some(exact) => Some(exact.measure(&coulomb_sums(simulation)?)),
            None => None,
        };
        let energy = EnergyLine::new(&estimated, measured.as_ref());
        let periodic = simulation.system.cell.periodic() == [true; 3];
        let allowed = simulation.pressure_tolerance;
        let pressure = periodic.then(|| PressureLine::new(&estimated, measured.as_ref(), allowed, units));
        self.text += &energy_table(&energy, units);
        self.text += &pressure.as_ref().map_or_else(String::new, pressure_table);
        self.text += &match &exact {
            Some(exact) => format!(
                "energy{} of all charges, against a mesh in double precision: α {} {}, {}\n",
                if periodic { " and pressure" } else { "" },
                console::short(exact.plan.alpha),
                units.label(Dimension::PER_LENGTH),
                exact.plan.sum_in_words()
            ),
            None => {
                "energy and pressure were not measured: the mesh to compare with would be too large\n".into()
            }
        };
        if !simulation.system.constraints.is_empty() && periodic {
            self.text +=
                "the pressure is that of whole rigid molecules: constraints take up the rest of the virial\n";
        }
        self.energy_error = Some(energy);
        self.pressure_error = pressure;
        Ok(())
    }

    /// For people.
    pub fn text(&self) -> &str {
        &self.text
    }

    fn table(&self, simulation: &Simulation, exact: &Exact, measured: &Measured) -> String {
        let units = simulation.system.units;
        let Some(plan) = &simulation.forces.electrostatics else {
            return String::new();
        };
        let mut text = console::facts(&facts(plan, units));
        let force = units.label(Dimension::FORCE);
        let head = [
            "error of forces",
            &force,
            "of the rms force",
            "of the force between neighbors",
        ];
        let mut rows = vec![head.map(String::from).to_vec()];
        let mut usual = f64::NAN;
        if let Some(expected) = self.expected {
            usual = expected.usual;
            let row = |name: &str, error: f64| row(name, error, measured.usual, usual);
            if plan.grids().is_none() {
                rows.push(row("  estimated, pairs", expected.pairs));
                rows.push(row("  estimated, rest", expected.rest));
            }
            rows.push(row("  estimated", expected.total()));
        }
        rows.push(row("  measured", measured.absolute, measured.usual, usual));
        text = format!("electrostatics\n{text}{}", console::columns(&rows));
        let against = match plan.boundary {
            Boundary::Open => "the sum over all pairs in double precision".to_owned(),
            _ => format!(
                "an Ewald sum in double precision: cut-off {} {}, α {} {}, {} reciprocal vectors, its own error {:.0e} {force}",
                console::short(exact.cutoff),
                units.label(Dimension::LENGTH),
                console::short(exact.alpha),
                units.label(Dimension::PER_LENGTH),
                console::grouped(exact.vectors as u64),
                exact.error
            ),
        };
        text += &format!(
            "measured on {} of {} charges, against {against}\n",
            console::grouped(measured.particles as u64),
            console::grouped(
                simulation
                    .system
                    .particles
                    .charges
                    .iter()
                    .filter(|q| **q != 0.0)
                    .count() as u64
            ),
        );
        if measured.usual < STILL * usual {
            text += "the Coulomb forces of this configuration nearly cancel, as in a crystal at rest: go by the last column, or \
                     check again after some steps\n";
        }
        text
    }
}

fn energy_table(line: &EnergyLine, units: Units) -> String {
    let energy = units.label(Dimension::ENERGY);
    let mut rows = vec![vec!["error of the energy".to_owned(), energy]];
    let mut row = |name: &str, error: f64| rows.push(vec![name.to_owned(), format!("{error:.2e}")]);
    row("  estimated, pairs", line.estimated_pairs);
    row("  estimated, rest", line.estimated_rest);
    row("  estimated", line.estimated);
    if let (Some(whole), Some(each)) = (line.measured, line.measured_per_charge) {
        row("  measured", whole);
        row("  measured, per charge", each);
    }
    console::columns(&rows)
}

fn pressure_table(line: &PressureLine) -> String {
    let mut rows = vec![vec!["error of the pressure".to_owned(), line.unit.clone()]];
    let mut row = |name: &str, error: f64| rows.push(vec![name.to_owned(), format!("{error:.2e}")]);
    row("  estimated, pairs", line.estimated_pairs);
    row("  estimated, rest", line.estimated_rest);
    row("  estimated", line.estimated);
    if let (Some(pressure), Some(tensor)) = (line.measured, line.measured_tensor) {
        row("  measured", pressure);
        for (name, value) in ["xx", "yy", "zz", "xy", "xz", "yz"].iter().zip(tensor) {
            row(&format!("    {name}"), value);
        }
    }
    if let Some(allowed) = line.allowed {
        row("  allowed", allowed);
    }
    console::columns(&rows)
}

/// Below this fraction of the force between neighbors, forces cancel.
const STILL: f64 = 0.02;

fn row(name: &str, error: f64, rms: f64, usual: f64) -> Vec<String> {
    vec![
        name.to_owned(),
        format!("{error:.2e}"),
        format!("{:.2e}", error / rms),
        format!("{:.2e}", error / usual),
    ]
}

fn facts(plan: &Electrostatics, units: Units) -> Vec<(&'static str, String)> {
    let what = match plan.method {
        Method::Ewald(_) => "kmax",
        Method::Mesh(_) => "mesh",
        Method::Multilevel(_) => "grids",
    };
    let words = plan.sum_in_words();
    let length = units.label(Dimension::LENGTH);
    let split = match plan.grids() {
        None => (
            "α",
            format!(
                "{} {}",
                console::short(plan.alpha),
                units.label(Dimension::PER_LENGTH)
            ),
        ),
        Some(grids) => (
            "spacing",
            format!("{} {length}", console::short(grids.split.spacing)),
        ),
    };
    vec![
        ("kind", plan.kind().to_owned()),
        ("cut-off", format!("{} {length}", console::short(plan.cutoff))),
        split,
        (what, words.strip_prefix("mesh ").unwrap_or(&words).to_owned()),
    ]
}
