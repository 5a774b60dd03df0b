//! Energy and pressure of the charges alone, and how far they are from what they should be.
//!
//! Both need all charges, so that the exact sum over a sample ([`crate::run::measure`]) does not do. They are
//! compared with a mesh of order 8 in double precision on the processor, with an α and a spacing for which the estimated
//! error of forces is ten thousand times smaller. Its cost grows as the number of charges.

use super::engine;
use super::tune::{TuneError, with_plan};
use crate::engines::Precision;
use crate::expr::Vec3;
use crate::forces::electrostatics::{Boundary, Electrostatics, MeshPlan, Method};
use crate::forces::pme::Basis;
use crate::forces::pme::estimate::{Charged, coarsest, good_size, most_points};
use crate::forces::pme::expected::{Expected, charged};
use crate::integrate::Dynamics;
use crate::run::measure::{MeasureError, coulomb_only};
use crate::simulation::{DeviceChoice, Simulation};

/// The order of the splines of the reference.
const ORDER: usize = 8;
/// Its error, as a fraction of the one that is looked for.
const FINER: f64 = 1e-4;
/// No sum in double precision is better than this fraction of the usual force.
const FINEST: f64 = 1e-12;
/// Estimates of meshes are differences of squares: they say nothing about errors below this fraction of the usual force.
const ESTIMATED: f64 = 1e-6;

/// Energy and pressure tensor (xx yy zz xy xz yz) of charges at rest. Constraints take up their share of the virial, so that
/// rigid molecules count as wholes. There is no pressure in an open cell.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CoulombSums {
    /// Energy.
    pub energy: f64,
    /// Pressure tensor.
    pub pressure: Option<[f64; 6]>,
}

/// How far energy and pressure are from what they should be, with their signs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SumsError {
    /// Of the energy.
    pub energy: f64,
    /// The same per charged particle.
    pub energy_per_charge: f64,
    /// Of the pressure.
    pub pressure: Option<f64>,
    /// Of the pressure tensor, xx yy zz xy xz yz.
    pub tensor: Option<[f64; 6]>,
}

/// What energy and pressure should be.
#[derive(Clone, Debug)]
pub struct ExactSums {
    /// They.
    pub sums: CoulombSums,
    /// The settings they were computed with.
    pub plan: Electrostatics,
    charges: f64,
}

impl ExactSums {
    /// Exact enough for the settings of a simulation; `None` where that takes a mesh beyond all limits, or an open system.
    pub fn of(simulation: &Simulation) -> Result<Option<Self>, TuneError> {
        let expected = match Expected::of(&simulation.system, &simulation.forces) {
            Some(expected) => expected,
            None if simulation.forces.electrostatics.is_none() => {
                return Err(TuneError::Measure(MeasureError::Nothing));
            }
            None => return Err(TuneError::Measure(MeasureError::NoCharges)),
        };
        Self::within(simulation, expected.total())
    }

    /// Exact enough to measure settings whose forces have errors of this size.
    pub fn within(simulation: &Simulation, looked_for: f64) -> Result<Option<Self>, TuneError> {
        let field = &simulation.forces;
        let nothing = || TuneError::Measure(MeasureError::Nothing);
        let plan = field.electrostatics.as_ref().ok_or_else(nothing)?;
        let charged = charged(&simulation.system, field, plan);
        if charged.squares == 0.0 {
            return Err(TuneError::Measure(MeasureError::NoCharges));
        }
        if plan.boundary == Boundary::Open {
            return Ok(None);
        }
        let error = (looked_for * FINER).max(charged.usual_force() * FINEST);
        let alpha = charged.alpha(plan.cutoff, error);
        let Some(mesh) = fine_mesh(&charged, alpha, error) else {
            return Ok(None);
        };
        let plan = Electrostatics {
            alpha,
            method: Method::Mesh(mesh),
            ..plan.clone()
        };
        let mut fine = with_plan(simulation, &plan).map_err(TuneError::Measure)?;
        fine.run.device = DeviceChoice::Cpu;
        fine.run.precision = Precision::Double;
        Ok(Some(Self {
            sums: coulomb_sums(&fine)?,
            plan,
            charges: charged.particles,
        }))
    }

    /// How far sums are from these.
    pub fn measure(&self, sums: &CoulombSums) -> SumsError {
        let energy = sums.energy - self.sums.energy;
        let tensor = match (sums.pressure, self.sums.pressure) {
            (Some(found), Some(exact)) => Some(std::array::from_fn(|k| found[k] - exact[k])),
            _ => None,
        };
        SumsError {
            energy,
            energy_per_charge: energy / self.charges,
            pressure: tensor.map(|t: [f64; 6]| (t[0] + t[1] + t[2]) / 3.0),
            tensor,
        }
    }
}

/// A mesh of the reference. Beyond what estimates can tell, errors fall with the order's power of the spacing.
fn fine_mesh(charged: &Charged, alpha: f64, error: f64) -> Option<MeshPlan> {
    let tolerance = error.max(ESTIMATED * charged.usual_force());
    let mesh = coarsest(charged, alpha, Basis::BSpline(ORDER), true, tolerance)?;
    let finer = (tolerance / error).powf(1.0 / ORDER as f64);
    let size = mesh.size.map(|n| good_size((finer * n as f64).ceil() as usize));
    let fits = size.iter().product::<usize>() <= most_points(charged.particles as usize);
    fits.then_some(MeshPlan { size, ..mesh })
}

/// The Coulomb forces alone, by the engine that the simulation asks for.
pub fn coulomb_forces(simulation: &Simulation) -> Result<Vec<Vec3<f64>>, TuneError> {
    Ok(engine(&at_rest(simulation)?)?.forces()?)
}

/// Energy and pressure of the charges alone, by the engine that the simulation asks for.
pub fn coulomb_sums(simulation: &Simulation) -> Result<CoulombSums, TuneError> {
    let mut still = at_rest(simulation)?;
    still.system.constraints = simulation.system.constraints.clone();
    still
        .system
        .particles
        .velocities
        .iter_mut()
        .for_each(|v| *v = Vec3::zero());
    let seen = engine(&still)?.observe()?;
    Ok(CoulombSums {
        energy: seen.potential,
        pressure: seen.pressure().map(|_| seen.pressure_tensor),
    })
}

/// The simulation with nothing but its charges, and without thermostats.
fn at_rest(simulation: &Simulation) -> Result<Simulation, TuneError> {
    let mut other = simulation.clone();
    (other.system, other.forces) =
        coulomb_only(&simulation.system, &simulation.forces).map_err(TuneError::Measure)?;
    other.dynamics = Dynamics {
        thermostats: Vec::new(),
        barostat: None,
        ..other.dynamics
    };
    Ok(other)
}
