//! A potential of one's own, on any device: cargo run --release -p debye-examples --bin user_potential -- cuda

use debye::prelude::*;
use debye_examples::GaussianCore;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let device: DeviceChoice = std::env::args().nth(1).as_deref().unwrap_or("auto").parse()?;
    let soft = builders::lattice(Lattice::Bcc, [8, 8, 8])
        .density(0.4)
        .thermalize(0.01, 7)?;
    let mut run = Simulation::builder(soft)
        .pair(PairForce::new(GaussianCore::new(1.0, 1.0)).cutoff(3.5))
        .timestep(0.05)
        .device(device)
        .start()?;
    let before = run.observe()?.total();
    let done = run.steps(500)?;
    let after = run.observe()?.total();
    println!("{}: {:.0} steps/s", run.device(), done.steps_per_second);
    println!("energy {before:.6} → {after:.6}");
    Ok(())
}
