//! A Lennard-Jones fluid: cargo run --release -p debye-examples --bin lj_fluid

use debye::prelude::*;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let melt = builders::lattice(Lattice::Fcc, [10, 10, 10])
        .density(0.8442)
        .thermalize(1.44, 1)?;
    let mut run = Simulation::builder(melt)
        .title("lj-fluid")
        .pair(PairForce::new(LennardJones::new(1.0, 1.0)).cutoff(2.5))
        .timestep(0.004)
        .equilibration(200)
        .every(20, Table::new("energy.csv"))
        .every(500, Trajectory::new("fluid.xtc"))
        .existing(Existing::Overwrite)
        .start()?;
    println!("{}", run.device());
    for _ in 0..5 {
        let done = run.steps(200)?;
        let now = run.observe()?;
        println!(
            "step {:5}  T {:.4}  E {:.5} per particle  {:.0} steps/s",
            done.step,
            now.temperature,
            now.total() / 4000.0,
            done.steps_per_second
        );
    }
    let summary = run.finish()?;
    if let Some(drift) = summary.drift {
        println!(
            "drift {:.2e} kT per degree of freedom and time",
            drift.per_freedom
        );
    }
    println!("see {}", summary.report.unwrap_or_default().display());
    Ok(())
}
