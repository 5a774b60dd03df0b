//! Settings of electrostatics and their errors, as commands print them.

use debye::forces::electrostatics::{Electrostatics, Method};
use debye::forces::pme::Basis;
use debye::forces::pme::expected::Expected;
use debye::forces::pme::measure::{Exact, Measured};
use debye::input::Simulation;
use debye::run::tune::coulomb_forces;
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
    alpha: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    mesh: Option<[usize; 3]>,
    #[serde(skip_serializing_if = "Option::is_none")]
    waves: Option<[usize; 3]>,
    #[serde(skip_serializing_if = "Option::is_none")]
    order: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    basis: Option<&'static str>,
}

impl SettingsLine {
    /// Of a plan.
    pub fn new(plan: &Electrostatics) -> Self {
        let (mut mesh, mut waves, mut order, mut basis) = (None, None, None, None);
        match &plan.method {
            Method::Ewald(set) => waves = Some(set.reach),
            Method::Mesh(m) => {
                mesh = Some(m.size);
                match m.basis {
                    Basis::BSpline(n) => order = Some(n),
                    Basis::Cubic => basis = Some("cubic"),
                }
            }
        }
        Self {
            kind: plan.kind(),
            cutoff: plan.cutoff,
            alpha: plan.alpha,
            mesh,
            waves,
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
    /// Of the force between neighbours.
    relative_to_neighbours: f64,
}

impl From<Expected> for EstimateLine {
    fn from(e: Expected) -> Self {
        Self {
            pairs: e.pairs,
            rest: e.rest,
            absolute: e.total(),
            relative_to_neighbours: e.relative(),
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
    #[serde(skip)]
    text: String,
}

/// The sum that errors are measured against.
#[derive(Clone, Copy, Debug, Serialize)]
struct ExactLine {
    cutoff: f64,
    alpha: f64,
    waves: usize,
    estimated_error: f64,
}

impl Checked {
    /// The settings and what is expected of them; `None` without long-range electrostatics.
    pub fn expected(simulation: &Simulation) -> Option<Self> {
        let (system, forces) = (&simulation.system, &simulation.forces);
        let plan = forces.electrostatics.as_ref()?;
        let expected = Expected::of(system, forces);
        let line = debye::forces::pme::expected::described(plan, expected, system.units);
        Some(Self {
            settings: SettingsLine::new(plan),
            expected,
            estimated: expected.map(EstimateLine::from),
            measured: None,
            against: None,
            text: format!("electrostatics: {line}\n"),
        })
    }

    /// The same, and the error as it is.
    pub fn measured(simulation: &Simulation) -> Result<Self, Failure> {
        let mut patience = Patience::new("exact Coulomb forces");
        let tell = &mut |part| patience.show(part);
        let exact = Exact::of(&simulation.system, &simulation.forces, tell);
        patience.clear();
        let exact = exact?;
        let measured = exact.measure(&coulomb_forces(simulation)?);
        let Some(mut checked) = Self::expected(simulation) else {
            return Err(Failure::refused(
                debye::forces::pme::measure::MeasureError::Nothing,
            ));
        };
        checked.measured = Some(measured.into());
        checked.against = Some(ExactLine {
            cutoff: exact.cutoff,
            alpha: exact.alpha,
            waves: exact.waves,
            estimated_error: exact.error,
        });
        checked.text = checked.table(simulation, &exact, &measured);
        Ok(checked)
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
            "of the force between neighbours",
        ];
        let mut rows = vec![head.map(String::from).to_vec()];
        let mut usual = f64::NAN;
        if let Some(expected) = self.expected {
            usual = expected.usual;
            let row = |name: &str, error: f64| row(name, error, measured.usual, usual);
            rows.push(row("  estimated, pairs", expected.pairs));
            rows.push(row("  estimated, rest", expected.rest));
            rows.push(row("  estimated", expected.total()));
        }
        rows.push(row("  measured", measured.absolute, measured.usual, usual));
        text = format!("electrostatics\n{text}{}", console::columns(&rows));
        text += &format!(
            "measured on {} of {} charges, against an Ewald sum in double precision: cut-off {} {}, α {} {}, {} waves, \
             its own error {:.0e} {force}\n",
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
            console::short(exact.cutoff),
            units.label(Dimension::LENGTH),
            console::short(exact.alpha),
            units.label(Dimension::PER_LENGTH),
            console::grouped(exact.waves as u64),
            exact.error
        );
        if measured.usual < STILL * usual {
            text += "the Coulomb forces of this configuration nearly cancel, as in a crystal at rest: go by the last column, or \
                     check again after some steps\n";
        }
        text
    }
}

/// Below this fraction of the force between neighbours, forces cancel.
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
        Method::Ewald(_) => "waves",
        Method::Mesh(_) => "mesh",
    };
    let words = plan.sum_in_words();
    vec![
        ("kind", plan.kind().to_owned()),
        (
            "cut-off",
            format!(
                "{} {}",
                console::short(plan.cutoff),
                units.label(Dimension::LENGTH)
            ),
        ),
        (
            "α",
            format!(
                "{} {}",
                console::short(plan.alpha),
                units.label(Dimension::PER_LENGTH)
            ),
        ),
        (what, words.strip_prefix("mesh ").unwrap_or(&words).to_owned()),
    ]
}
