//! Every integrator: its conserved energy, and whether a saved state goes on bit for bit.

use debye::input::Simulation;

use super::Finding;
use crate::failure::Failure;

/// The integrators, as sections of an input file, with the allowed wandering of the conserved energy in kT per
/// degree of freedom; none where nothing is conserved.
const INTEGRATORS: &[(&str, &str, Option<f64>)] = &[
    (
        "velocity Verlet",
        "[integrator]\nkind = \"nve\"\ntimestep = 0.002\n",
        Some(5e-4),
    ),
    (
        "leapfrog",
        "[integrator]\nkind = \"leapfrog\"\ntimestep = 0.002\n",
        Some(5e-4),
    ),
    (
        "Langevin",
        "[integrator]\nkind = \"langevin\"\ntimestep = 0.002\ntemperature = 1.0\ntime = 0.5\n",
        None,
    ),
    (
        "Bussi",
        "[integrator]\nkind = \"bussi\"\ntimestep = 0.002\ntemperature = 1.0\ntime = 0.2\n",
        Some(2e-3),
    ),
    (
        "Nosé–Hoover",
        "[integrator]\nkind = \"nose-hoover\"\ntimestep = 0.002\ntemperature = 1.0\ntime = 0.2\n",
        Some(2e-3),
    ),
    (
        "Berendsen",
        "[integrator]\nkind = \"berendsen\"\ntimestep = 0.002\ntemperature = 1.0\ntime = 0.2\n",
        Some(2e-3),
    ),
    (
        "Bussi, cell rescaling",
        "[integrator]\nkind = \"bussi\"\ntimestep = 0.002\ntemperature = 1.0\ntime = 0.2\n\
         [barostat]\nkind = \"cell-rescale\"\npressure = 1.0\ntime = 2.0\ncompressibility = 0.05\n",
        None,
    ),
    (
        "Berendsen, Berendsen barostat",
        "[integrator]\nkind = \"berendsen\"\ntimestep = 0.002\ntemperature = 1.0\ntime = 0.2\n\
         [barostat]\nkind = \"berendsen\"\ncoupling = \"anisotropic\"\npressure = [1.0, 1.0, 1.0]\n\
         time = 2.0\ncompressibility = 0.05\n",
        None,
    ),
];

const STEPS: u64 = 400;

/// The checks of this section.
pub fn check() -> Result<Vec<Finding>, Failure> {
    let mut findings = Vec::new();
    for &(name, section, allowed) in INTEGRATORS {
        let simulation = melt(section)?;
        if let Some(allowed) = allowed {
            findings.push(Finding::new(
                format!("{name}: conserved energy"),
                wandering(&simulation)?,
                allowed,
                "kT per degree of freedom",
            ));
        }
        findings.push(Finding::new(
            format!("{name}: saved and continued"),
            f64::from(u8::from(!continues(&simulation)?)),
            0.0,
            "0 where every bit is the same",
        ));
    }
    Ok(findings)
}

fn melt(section: &str) -> Result<Simulation, Failure> {
    let text = format!(
        "units = \"lj\"\n\
         [system]\nbuild = {{ kind = \"lattice\", lattice = \"fcc\", cells = 5, density = 0.8442 }}\n\
         [species.A]\n\
         [[forces]]\nkind = \"lennard-jones\"\ncutoff = 2.5\ntruncation = \"force-shift\"\nepsilon = 1.0\nsigma = 1.0\n\
         {section}\
         [run]\nsteps = 1\ntemperature = 1.44\n"
    );
    Ok(Simulation::parse(&text, ".", "check")?)
}

/// The largest change of the conserved energy.
fn wandering(simulation: &Simulation) -> Result<f64, Failure> {
    let mut engine = debye::run::engine(simulation)?;
    let (mut first, mut largest) = (None, 0.0_f64);
    for _ in 0..STEPS / 20 {
        engine.advance(20, true)?;
        let seen = engine.observe()?;
        let Some(bath) = seen.bath else {
            return Ok(f64::NAN);
        };
        let conserved = seen.total() + bath;
        let begin = *first.get_or_insert(conserved);
        let off = (conserved - begin).abs() / seen.degrees_of_freedom / seen.temperature;
        largest = largest.max(off);
    }
    Ok(largest)
}

/// Whether a run that was saved half-way ends in the same state.
fn continues(simulation: &Simulation) -> Result<bool, Failure> {
    let mut whole = debye::run::engine(simulation)?;
    whole.advance(STEPS / 4, false)?;
    let mut half = debye::run::resumed_engine(simulation, &whole.save()?)?;
    whole.advance(STEPS / 4, false)?;
    half.advance(STEPS / 4, false)?;
    Ok(whole.particles()? == half.particles()?
        && whole.forces()? == half.forces()?
        && whole.cell() == half.cell())
}
