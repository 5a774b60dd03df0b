//! Every integrator: its conserved energy, and whether a saved state goes on bit for bit.

use debye::expr::Vec3;
use debye::simulation::Simulation;
use debye::system::{Constraints, FixedDistance, Particles, RigidWater, velocities};

use super::Finding;
use crate::Failed;

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
pub fn check() -> Result<Vec<Finding>, Failed> {
    let mut findings = Vec::new();
    for &(name, section, allowed) in INTEGRATORS {
        let simulation = melt(section, 0.8442)?;
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
    for &(name, section, allowed) in INTEGRATORS {
        findings.extend(rigid(name, &trimers(section)?, allowed)?);
    }
    Ok(findings)
}

/// How far a fixed length may be off: ten times the tolerance.
const LENGTHS: f64 = 1e-9;

/// An integrator with rigid molecules.
fn rigid(name: &str, simulation: &Simulation, allowed: Option<f64>) -> Result<Vec<Finding>, Failed> {
    let mut findings = Vec::new();
    if let Some(allowed) = allowed {
        findings.push(Finding::new(
            format!("{name}, rigid molecules: conserved energy"),
            wandering(simulation)?,
            allowed,
            "kT per degree of freedom",
        ));
    }
    let mut engine = debye::run::engine(simulation)?;
    engine.advance(STEPS, false)?;
    let mut end = simulation.system.clone();
    (end.particles, end.cell) = (engine.particles()?, engine.cell());
    let [length, speed] = end.constraint_errors();
    findings.push(Finding::new(
        format!("{name}, rigid molecules: lengths and their change"),
        length.max(speed),
        LENGTHS,
        "relative, and in thermal speeds",
    ));
    findings.push(Finding::new(
        format!("{name}, rigid molecules: saved and continued"),
        f64::from(u8::from(!continues(simulation)?)),
        0.0,
        "0 where every bit is the same",
    ));
    Ok(findings)
}

/// A gas of 500 rigid triangles, every other one held by SETTLE, the rest by SHAKE and RATTLE.
fn trimers(section: &str) -> Result<Simulation, Failed> {
    let mut simulation = melt(section, 0.15)?;
    let (bond, base) = (0.5_f64, 0.7_f64);
    let height = (bond * bond - 0.25 * base * base).sqrt();
    let system = &mut simulation.system;
    let apexes = std::mem::take(&mut system.particles.positions);
    system.particles = Particles::default();
    let (mut molecules, mut distances) = (Vec::new(), Vec::new());
    for (number, apex) in (0_u32..).zip(apexes) {
        let first = system.particles.len() as u32;
        let [a, b, c] = [first, first + 1, first + 2];
        // Turned by an axis, from one to the next.
        let turn = |x: f64, y: f64| match number % 3 {
            0 => Vec3::new(x, y, 0.0),
            1 => Vec3::new(0.0, x, y),
            _ => Vec3::new(y, 0.0, x),
        };
        system.particles.push(apex, 0, 2.0, 0.0, number);
        for x in [0.5 * base, -0.5 * base] {
            system.particles.push(apex + turn(x, height), 0, 1.0, 0.0, number);
        }
        if number % 2 == 0 {
            molecules.push([a, b, c]);
        } else {
            let sides = [([a, b], bond), ([a, c], bond), ([b, c], base)];
            distances.extend(sides.map(|(atoms, length)| FixedDistance { atoms, length }));
        }
    }
    system.constraints = Constraints {
        waters: vec![RigidWater {
            bond,
            base,
            molecules,
        }],
        distances,
        ..Constraints::default()
    };
    let pairs: Vec<[u32; 2]> = system.constraints.pairs().map(|(atoms, _)| atoms).collect();
    system
        .exclusions
        .exclude(system.particles.len(), pairs.iter().copied())?;
    velocities::thermalize(system, 1.44, 1)?;
    Ok(simulation)
}

fn melt(section: &str, density: f64) -> Result<Simulation, Failed> {
    let text = format!(
        "units = \"lj\"\n\
         [system]\nbuild = {{ kind = \"lattice\", lattice = \"fcc\", cells = 5, density = {density} }}\n\
         [species.A]\n\
         [[forces]]\nkind = \"lennard-jones\"\ncutoff = 2.5\ntruncation = \"force-shift\"\nepsilon = 1.0\nsigma = 1.0\n\
         {section}\
         [run]\nsteps = 1\ntemperature = 1.44\n"
    );
    Ok(Simulation::parse(&text, ".", "check")?)
}

/// The largest change of the conserved energy.
fn wandering(simulation: &Simulation) -> Result<f64, Failed> {
    let mut engine = debye::run::engine(simulation)?;
    let (mut first, mut largest) = (None, 0.0_f64);
    for _ in 0..STEPS / 20 {
        engine.advance(20, true)?;
        let seen = engine.observe()?;
        let Some(thermostat) = seen.thermostat else {
            return Ok(f64::NAN);
        };
        let conserved = seen.total() + thermostat;
        let begin = *first.get_or_insert(conserved);
        let off = (conserved - begin).abs() / seen.degrees_of_freedom / seen.temperature;
        largest = largest.max(off);
    }
    Ok(largest)
}

/// Whether a run that was saved half-way ends in the same state.
fn continues(simulation: &Simulation) -> Result<bool, Failed> {
    let mut whole = debye::run::engine(simulation)?;
    whole.advance(STEPS / 4, false)?;
    let mut half = debye::run::resumed_engine(simulation, &whole.save()?)?;
    whole.advance(STEPS / 4, false)?;
    half.advance(STEPS / 4, false)?;
    Ok(whole.particles()? == half.particles()?
        && whole.forces()? == half.forces()?
        && whole.cell() == half.cell())
}
