//! An analysis and a file format of one's own: cargo run --release -p debye-examples --bin custom_analysis

use debye::prelude::*;
use debye_examples::COORDINATION;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    debye_examples::register()?;
    let argon = builders::lattice(Lattice::Fcc, [5, 5, 5])
        .units(Units::Md)
        .species("Ar", 39.948, 0.0)
        .spacing(0.54)
        .thermalize(90.0, 3)?;
    let mut run = Simulation::builder(argon)
        .title("argon")
        .pair(PairForce::new(LennardJones::new(0.998, 0.34)).cutoff(0.85))
        .thermostat(Thermostat::langevin(90.0, 1.0))
        .timestep(0.002)
        .every(
            10,
            Measure::new(&COORDINATION, "coordination.csv").set("radius", SettingValue::Quantity(Some(0.5))),
        )
        .every(100, Trajectory::new("argon.rows"))
        .existing(Existing::Overwrite)
        .start()?;
    run.steps(300)?;
    let found = run.analysis("coordination.csv").ok_or("nothing was measured")?;
    println!("{}: {:.3}", found.scalars[0].name, found.scalars[0].value);
    run.finish()?;
    Ok(())
}
