//! What must be the same for a run to go on from a checkpoint.

use debye_io::codec::Writer;

use crate::integrate::Dynamics;
use crate::simulation::Simulation;
use crate::system::Constraints;

/// Checksums of everything that decides the trajectory, by name.
pub fn fingerprint(simulation: &Simulation) -> Vec<(String, u32)> {
    let system = &simulation.system;
    let f = &simulation.forces;
    let pairs: Vec<_> = f
        .pairs
        .iter()
        .map(|t| (t.family.name(), t.truncation, &t.rows, t.tail, t.table.f64s()))
        .collect();
    let oriented: Vec<_> = f
        .oriented
        .iter()
        .map(|t| (t.family.name(), t.truncation, &t.rows, t.table.f64s()))
        .collect();
    let axes: Vec<_> = f.axes.iter().map(|t| (t.family.name(), &t.rows)).collect();
    let bonds: Vec<_> = f.bonds.iter().map(|t| (t.family.name(), &t.rows)).collect();
    let angles: Vec<_> = f.angles.iter().map(|t| (t.family.name(), &t.rows)).collect();
    let dihedrals: Vec<_> = f
        .dihedrals
        .iter()
        .chain(&f.impropers)
        .map(|t| (t.family.name(), &t.rows))
        .collect();
    let mut masses = Writer::new();
    masses.f64s(&system.particles.masses);
    masses.f64s(&system.particles.charges);
    masses.u32s(&system.particles.species);
    for rotor in &system.particles.orientations.rotors {
        masses.f64s(&rotor.inertia);
        masses.f64(rotor.dipole);
    }
    // Only where there are any: checkpoints from before there were constraints still fit.
    let constraints = match &system.constraints {
        none if none.is_empty() => String::new(),
        some => {
            let Constraints {
                waters,
                bodies,
                distances,
                tolerance,
            } = some;
            let of_bodies = match bodies[..] {
                [] => String::new(),
                _ => format!(" {bodies:?}"),
            };
            format!(
                " Constraints {{ waters: {waters:?}, distances: {distances:?}, tolerance: {tolerance:?} }}{of_bodies}"
            )
        }
    };
    let parts: [(&str, String); 7] = [
        ("the number of particles", system.particles.len().to_string()),
        (
            "units or species",
            format!(
                "{:?} {:?} {:?}",
                system.units,
                system.species,
                system.cell.periodic()
            ),
        ),
        (
            "masses, charges, moments of inertia, dipoles or species of particles",
            crc32fast::hash(&masses.finish()).to_string(),
        ),
        (
            "topology or exclusions",
            format!("{:?} {:?}{}", system.topology, system.exclusions, constraints),
        ),
        (
            "[[forces]]",
            format!(
                "{pairs:?} {oriented:?} {bonds:?} {angles:?} {dihedrals:?} {axes:?} {}",
                f.coulomb_constant
            ),
        ),
        (
            "[integrator], thermostats, barostat or seed",
            motion(&simulation.dynamics),
        ),
        ("[neighbors]", format!("{:?}", simulation.neighbors)),
    ];
    parts
        .map(|(name, text)| (name.to_owned(), crc32fast::hash(text.as_bytes())))
        .to_vec()
}

/// How particles move. Thermostats count as often as they act, however that was said; those that act in every step have
/// the text that they always had.
fn motion(dynamics: &Dynamics) -> String {
    let mut dynamics = dynamics.clone();
    let timestep = dynamics.timestep;
    for thermostat in &mut dynamics.thermostats {
        let steps = thermostat.interval(timestep);
        thermostat.every = (steps > 1).then_some(steps);
    }
    format!("{dynamics:?}").replace(", every: None", "")
}
