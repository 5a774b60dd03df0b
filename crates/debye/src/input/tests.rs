//! The guide names every key.

use super::{
    bonded, builders, constraints, dynamics, electrostatics, forces, liquids, membranes, molecules, output,
    species, system, topology,
};

#[test]
fn every_key_is_documented() {
    let guide = include_str!("../../../../docs/input-file.md");
    let lists = [
        super::ROOT_KEYS,
        system::KEYS,
        species::KEYS,
        builders::LATTICE_KEYS,
        builders::SPHERE_KEYS,
        builders::RANDOM_KEYS,
        builders::POLYMER_KEYS,
        liquids::NACL_KEYS,
        liquids::WATER_KEYS,
        liquids::SOLUTION_KEYS,
        liquids::LIQUID_KEYS,
        membranes::BILAYER_KEYS,
        membranes::DISPERSION_KEYS,
        molecules::KEYS,
        forces::PAIR_KEYS,
        electrostatics::EWALD_KEYS,
        electrostatics::MESH_KEYS,
        electrostatics::GRID_KEYS,
        bonded::BONDED_KEYS,
        bonded::DIHEDRAL_KEYS,
        topology::TOPOLOGY_KEYS,
        topology::EXCLUSIONS_KEYS,
        topology::SCALE_KEYS,
        constraints::WATER_KEYS,
        constraints::BODY_KEYS,
        constraints::BONDS_KEYS,
        dynamics::INTEGRATOR_KEYS,
        dynamics::THERMOSTAT_KEYS,
        dynamics::BAROSTAT_KEYS,
        dynamics::MINIMIZE_KEYS,
        output::RUN_KEYS,
        output::NEIGHBORS_KEYS,
        output::OUTPUT_KEYS,
        output::TABLE_KEYS,
        output::TRAJECTORY_KEYS,
        output::CHECKPOINT_KEYS,
        output::ANALYZE_KEYS,
    ];
    let settings = crate::analysis::ANALYSES.iter().flat_map(|kind| kind.settings);
    let of_analyses = settings.filter_map(|setting| setting.key);
    for key in lists.concat().into_iter().chain(of_analyses) {
        let quoted = [
            format!("`{key}`"),
            format!("`[{key}]`"),
            format!("`[[{key}]]`"),
            format!("`[{key}."),
        ];
        assert!(
            quoted.iter().any(|q| guide.contains(q)),
            "docs/input-file.md does not mention `{key}`"
        );
    }
}

/// Every TOML block of the guide that is a whole file is one.
#[test]
fn examples_of_the_guide_are_read() {
    let guide = include_str!("../../../../docs/input-file.md");
    let blocks = guide
        .split("```toml\n")
        .skip(1)
        .filter_map(|rest| rest.split("```").next());
    let files: Vec<&str> = blocks.filter(|b| b.starts_with("units")).collect();
    assert!(files.len() >= 2);
    for text in files {
        if let Err(error) = super::Simulation::parse(text, "", "guide.toml") {
            panic!("{error}");
        }
    }
}
