//! The rows that headers and reports show of a simulation.

use crate::{ARGON, CHAIN, accept, with};
use debye::run::setup;
use debye::simulation::Simulation;

fn rows(s: &Simulation) -> Vec<(&'static str, String)> {
    setup(s)
}

#[track_caller]
fn says(s: &Simulation, label: &str, text: &str) {
    let rows = rows(s);
    assert!(
        rows.iter().any(|(l, t)| *l == label && t == text),
        "{label}: `{text}` is not in {rows:#?}"
    );
}

fn example(name: &str) -> Simulation {
    let path = format!("{}/../../examples/{name}", env!("CARGO_MANIFEST_DIR"));
    Simulation::read(path).unwrap_or_else(|e| panic!("{e}"))
}

#[test]
fn constant_energy() {
    let s = accept(ARGON);
    says(&s, "particles", "864 (Ar 864)");
    says(&s, "ensemble", "NVE");
    says(&s, "time step", "2 fs, velocity Verlet");
    says(&s, "force", "lennard-jones, cut-off 1.2 nm, shifted");
    says(&s, "velocities", "drawn for 120 K, seed 1");
    says(&s, "run", "10 000 steps, 20 ps");
    let labels: Vec<&str> = rows(&s).iter().map(|(label, _)| *label).collect();
    for absent in [
        "constraints",
        "exclusions",
        "neighbors",
        "electrostatics",
        "minimization",
        "barostat",
    ] {
        assert!(!labels.contains(&absent), "{absent}");
    }
}

#[test]
fn constant_temperature_and_pressure() {
    let s = example("argon-liquid.toml");
    says(
        &s,
        "ensemble",
        "NPT, 94.4 K by stochastic velocity rescaling every 5 steps, relaxation time 0.5 ps",
    );
    says(
        &s,
        "barostat",
        "1 bar by stochastic cell rescaling, isotropic, relaxation time 2 ps, compressibility 0.0002 1/bar",
    );
    says(&s, "force", "lennard-jones, cut-off 1.2 nm, cut, tail correction");
    says(&s, "momentum", "of the center of mass removed every 100 steps");
}

#[test]
fn rigid_water() {
    let s = example("water.toml");
    says(
        &s,
        "constraints",
        "895 rigid waters by SETTLE (bonds 0.1, base 0.163299 nm); 5367 degrees of freedom",
    );
    says(
        &s,
        "force",
        "lennard-jones, cut-off 0.9 nm, cut, Lorentz–Berthelot mixing, tail correction, OW-OW only",
    );
    says(&s, "exclusions", "2685 pairs, those of constraints");
    says(
        &s,
        "minimization",
        "by FIRE until no force exceeds 50 kJ/mol/nm, at most 1000 steps",
    );
    let rows = rows(&s);
    let of_charges: Vec<_> = rows.iter().filter(|(l, _)| *l == "electrostatics").collect();
    assert!(
        of_charges.len() == 1 && of_charges[0].1.starts_with("pme, cut-off 0.9 nm"),
        "{rows:#?}"
    );
}

#[test]
fn groups_bonds_and_exclusions() {
    let s = accept(CHAIN);
    says(&s, "ensemble", "NVT");
    says(
        &s,
        "thermostat",
        "A: 1 ε/k by stochastic velocity rescaling every 5 steps, relaxation time 0.5 τ",
    );
    says(
        &s,
        "thermostat",
        "B: 1 ε/k by weak coupling (Berendsen: fluctuations too small) every 5 steps, relaxation time 0.5 τ",
    );
    says(&s, "time step", "0.005 τ, leapfrog");
    says(&s, "force", "harmonic-bond on 3 bonds");
    says(
        &s,
        "exclusions",
        "5 pairs, those through 2 bonds; 1 1-4 pairs × 0.5, charges × 0.8333",
    );
    says(&s, "velocities", "at rest");
    let s = example("polymer.toml");
    says(&s, "force", "fene-bond on 1960 bonds");
    says(
        &s,
        "exclusions",
        "none: bonded particles interact through pair terms too",
    );
    says(&s, "time step", "0.01 τ, velocity Verlet (BAOAB)");
    says(
        &s,
        "ensemble",
        "NVT, 1 ε/k by Langevin dynamics, friction 0.5 1/τ",
    );
}

#[test]
fn other_targets() {
    let text = with(
        ARGON,
        "kind = \"nve\"\ntimestep = \"2 fs\"\n",
        "kind = \"nose-hoover\"\ntimestep = \"2 fs\"\ntemperature = \"298.15 K\"\ntime = \"50 fs\"\n\
         [barostat]\nkind = \"berendsen\"\ncoupling = \"semi-isotropic\"\npressure = [\"1 bar\", \"5 bar\"]\n\
         time = \"2 ps\"\n[neighbors]\nbuffer = \"1 Å\"\n",
    );
    let s = accept(&text);
    says(
        &s,
        "ensemble",
        "NPT, 298.15 K by a Nosé–Hoover chain of 3, relaxation time 50 fs",
    );
    says(
        &s,
        "barostat",
        "1 bar along x and y, 5 bar along z by weak coupling (Berendsen: fluctuations too small), semi-isotropic, \
         relaxation time 2 ps, compressibility 4.5e-5 1/bar",
    );
    says(&s, "neighbors", "buffer 0.1 nm");
    let text = with(
        &text,
        "coupling = \"semi-isotropic\"\npressure = [\"1 bar\", \"5 bar\"]\n",
        "coupling = \"surface-tension\"\npressure = \"1 bar\"\ntension = \"25 mN/m\"\n",
    );
    says(
        &accept(&text),
        "barostat",
        "surface tension 25 mN/m, 1 bar along z by weak coupling (Berendsen: fluctuations too small), surface-tension, \
         relaxation time 2 ps, compressibility 4.5e-5 1/bar",
    );
}
