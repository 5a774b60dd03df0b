//! Every potential of the registers, from an input file.

use debye::potentials::{ANGLES, BONDS, BondedSample, DIHEDRALS, PAIRS, Parameter, Parameters, Value};

use crate::{CHAIN, SALT, accept, with};

/// A value as it stands in a file.
fn written(value: &Value) -> String {
    match value {
        Value::Number(x) => format!("{x:?}"),
        Value::Samples(rows) => format!("{rows:?}"),
    }
}

fn keys(parameters: &[Parameter], values: &[Value]) -> String {
    let pair = |(p, v): (&Parameter, &Value)| format!("{} = {}", p.name, written(v));
    parameters
        .iter()
        .zip(values)
        .map(pair)
        .collect::<Vec<_>>()
        .join(", ")
}

/// Every potential of the registers takes its samples from an input file, and gives the same numbers.
#[test]
fn every_potential() {
    let start = SALT.find("[[forces]]").unwrap();
    let end = SALT.find("[integrator]").unwrap();
    for family in &PAIRS {
        for sample in family.samples() {
            let (name, keys) = (family.name(), keys(family.parameters(), &sample.values));
            let forces = format!(
                "[[forces]]\nkind = \"{name}\"\ncutoff = {:?}\npairs = {{ Na-Na = {{ {keys} }}, Na-Cl = {{ {keys} }}, Cl-Cl = \"none\" }}\n",
                sample.to
            );
            let s = accept(&with(SALT, &SALT[start..end], &forces));
            let term = &s.forces.pairs[0];
            assert_eq!((term.name.as_str(), term.rows[3].cutoff), (name, 0.0));
            assert!(
                term.rows[0].cutoff > 0.0 && term.rows[0].cutoff <= sample.to,
                "{name}"
            );
            assert_eq!(term.rows[1], term.rows[2]);
        }
    }
    // So small a cell that no bond exceeds the reach of a FENE spring.
    let small = with(CHAIN, "[10.0, 10.0, 10.0]", "[0.3, 0.3, 0.3]");
    let small = with(&small, "minimum_distance = 1.0", "minimum_distance = 0.05");
    let chain = with(
        &small,
        "bonds = [[1, 2, \"stiff\"], [2, 3, \"soft\"], [3, 4, \"soft\"]]",
        "bonds = [[1, 2, \"t\"]]\nangles = [[1, 2, 3, \"t\"]]\ndihedrals = [[1, 2, 3, 4, \"t\"]]\nimpropers = [[4, 3, 2, 1, \"t\"]]",
    );
    let start = chain.find("[[forces]]\nkind = \"harmonic-bond\"").unwrap();
    let end = chain.find("[integrator]").unwrap();
    let line = |name: &str, parameters: &[Parameter], sample: &BondedSample, more: &str| {
        let keys = keys(parameters, &sample.values);
        format!("[[forces]]\nkind = \"{name}\"\ntypes = {{ t = {{ {keys} }} }}\n{more}")
    };
    let mut forces = String::new();
    for f in &BONDS {
        forces += &f
            .samples()
            .iter()
            .map(|s| line(f.name(), f.parameters(), s, ""))
            .collect::<String>();
    }
    for f in &ANGLES {
        forces += &f
            .samples()
            .iter()
            .map(|s| line(f.name(), f.parameters(), s, ""))
            .collect::<String>();
    }
    for f in &DIHEDRALS {
        for s in f.samples() {
            forces += &line(f.name(), f.parameters(), &s, "");
            forces += &line(f.name(), f.parameters(), &s, "on = \"impropers\"\n");
        }
    }
    let s = accept(&with(&chain, &chain[start..end], &forces));
    assert!(s.forces.bonds.len() >= BONDS.iter().count() && s.forces.angles.len() >= ANGLES.iter().count());
    assert_eq!(s.forces.dihedrals.len(), s.forces.impropers.len());
    for (term, family) in s
        .forces
        .bonds
        .iter()
        .flat_map(|t| BONDS.iter().find(|f| f.name() == t.family.name()).map(|f| (t, f)))
    {
        let rows = term.rows[0].unwrap();
        assert!(
            family
                .samples()
                .iter()
                .any(|s| family.coefficients(Parameters(&s.values)) == rows)
        );
    }
    // Terms of one kind are told apart in tables.
    let mut names: Vec<&str> = s.forces.dihedrals.iter().map(|t| t.name.as_str()).collect();
    names.extend(s.forces.impropers.iter().map(|t| t.name.as_str()));
    let count = names.len();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), count);
}
