//! How far the forces of a program are from those of a reference in double precision.

use debye::engines::Precision;
use debye::expr::Vec3;
use debye::run::measure::Exact;
use debye::simulation::{DeviceChoice, Simulation};
use debye::system::{Constraints, Topology};

use crate::failure::Failure;

/// Forces without those of constraints: an Ewald sum for the charges, every pair within the cut-off for Lennard-Jones, all
/// in double precision.
pub(super) struct Reference {
    /// Particles that are compared: a sample where there are charges, else all.
    sample: Vec<usize>,
    forces: Vec<Vec3<f64>>,
}

/// A simulation whose forces are not those of constraints.
pub(super) fn unconstrained(simulation: &Simulation, precision: Precision) -> Simulation {
    let mut free = simulation.clone();
    free.run.precision = precision;
    free.system.constraints = Constraints::default();
    free.system.topology = Topology::default();
    free
}

impl Reference {
    /// Of a configuration.
    pub(super) fn of(simulation: &Simulation) -> Result<Self, Failure> {
        let mut neutral = unconstrained(simulation, Precision::Double);
        neutral.run.device = DeviceChoice::Cpu;
        neutral.forces.pairs.retain(|term| !term.family.uses_charges());
        neutral.forces.electrostatics = None;
        let short = debye::run::engine(&neutral)?.forces()?;
        if simulation.forces.electrostatics.is_none() {
            return Ok(Self {
                sample: (0..short.len()).collect(),
                forces: short,
            });
        }
        let exact = Exact::of(&simulation.system, &simulation.forces, &mut |_| {})?;
        let both = exact.sample.iter().zip(&exact.forces);
        Ok(Self {
            forces: both.map(|(&i, &charges)| charges + short[i]).collect(),
            sample: exact.sample,
        })
    }

    /// Root mean square of the differences over that of the forces; `None` where forces are missing.
    pub(super) fn error(&self, forces: &[[f64; 3]]) -> Option<f64> {
        let (mut off, mut whole) = (0.0, 0.0);
        for (&i, &exact) in self.sample.iter().zip(&self.forces) {
            off += (Vec3::from(*forces.get(i)?) - exact).norm2();
            whole += exact.norm2();
        }
        let error = (off / whole).sqrt();
        error.is_finite().then_some(error)
    }
}
