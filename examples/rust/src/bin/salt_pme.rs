//! Hot rock salt with particle mesh Ewald: cargo run --release -p debye-examples --bin salt_pme

use debye::prelude::*;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let ions = models::ions("joung-cheatham-spce").ok_or("no such ions")?;
    let site = |name: &str| {
        ions.ion(name)
            .map(|site| LennardJones::new(site.epsilon, site.sigma))
    };
    let (sodium, chloride) = (site("Na+").ok_or("no sodium")?, site("Cl-").ok_or("no chloride")?);
    let salt = builders::nacl([6, 6, 6]).thermalize(1100.0, 1)?;
    let mut run = Simulation::builder(salt)
        .title("salt-pme")
        .pair(
            PairForce::like("Na", sodium)
                .and_like("Cl", chloride)
                .mixing(MixingRule::LorentzBerthelot)
                .cutoff(1.0)
                .truncation(Truncation::Cut)
                .tail(),
        )
        .electrostatics(LongRange::pme().tolerance(5e-4))
        .timestep(0.001)
        .thermostat(Thermostat::bussi(1100.0, 0.2))
        .start()?;
    println!("{}", run.device());
    for note in &run.simulation().warnings {
        println!("note: {note}");
    }
    run.steps(200)?;
    let now = run.observe()?;
    for (term, energy) in &now.terms {
        println!("{term:24} {energy:16.4} kJ/mol");
    }
    println!("temperature {:.1} K", now.temperature);
    // Positions and forces out, positions in.
    let (mut positions, forces) = (run.positions()?, run.forces()?);
    println!("force on the first ion: {:?}", forces[0]);
    positions[0].x += 0.001;
    run.set_positions(&positions)?;
    println!("moved by 1 pm it is:    {:?}", run.forces()?[0]);
    Ok(())
}
