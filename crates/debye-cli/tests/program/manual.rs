//! `debye info NAME`: formulas, units and conventions.

use crate::lab::Lab;

#[test]
fn a_name_has_its_formula_units_and_conventions() {
    let lab = Lab::new();
    let bond = lab.succeeds(&["info", "harmonic-bond"]).out;
    for text in [
        "u(r) = ½ k (r − r₀)²",
        "kJ/mol/nm²",
        "GROMACS",
        "LAMMPS",
        "K (r − r₀)²",
        "k = 2K",
        "OpenMM",
        "AMBER/CHARMM",
        "References",
    ] {
        assert!(bond.contains(text), "`{text}` is missing in\n{bond}");
    }
    for name in [
        "force-shift",
        "bussi",
        "lorentz-berthelot",
        "pme",
        "settle",
        "fire",
        "leapfrog",
    ] {
        let page = lab.succeeds(&["info", name]).out;
        assert!(page.contains("In other programs"), "{page}");
    }
    // A thermostat and a barostat of one name.
    let both = lab.succeeds(&["info", "berendsen"]).out;
    assert!(
        both.contains("(thermostat)") && both.contains("(barostat)"),
        "{both}"
    );
}

#[test]
fn a_page_is_json_and_markdown_too() {
    let lab = Lab::new();
    let text = lab.succeeds(&["info", "fene-bond", "--json"]).out;
    let page: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!(page["schema"], "debye/info-model/1");
    let page = &page["results"][0];
    assert_eq!(page["parameters"][0]["name"], "k");
    assert_eq!(page["parameters"][0]["unit_md"], "kJ/mol/nm²");
    assert_eq!(page["parameters"][0]["required"], true);
    assert_eq!(page["parameters"][2]["default"], 0.0);
    assert_eq!(page["conventions"].as_array().unwrap().len(), 4);
    assert!(page["examples"][0]["energy"].as_f64().unwrap() > 0.0);
    let text = lab.succeeds(&["info", "cell-rescale", "--json"]).out;
    let barostat: serde_json::Value = serde_json::from_str(&text).unwrap();
    let compressibility = &barostat["results"][0]["parameters"][2];
    assert_eq!(compressibility["default"], 4.5e-5);
    assert_eq!(compressibility["default_unit"], "1/bar");
    assert_eq!(compressibility["required"], false);
    let one = lab.succeeds(&["info", "fene-bond", "--markdown"]).out;
    assert!(one.starts_with("### `fene-bond`"), "{one}");
    let whole = lab.succeeds(&["info", "--markdown"]).out;
    assert_eq!(whole, include_str!("../../../../docs/models.md"));
}

#[test]
fn a_misspelled_name_is_answered_with_the_nearest() {
    let lab = Lab::new();
    lab.refuses(
        &["info", "harmonc-bond"],
        2,
        &["harmonc-bond", "did you mean `harmonic-bond`?"],
    );
    assert!(
        lab.succeeds(&["info", "Lennard_Jones"])
            .out
            .contains("lennard-jones")
    );
    lab.refuses(&["info", "NVT"], 2, &["a thermostat, such as `bussi`"]);
    lab.refuses(&["info", "lj"], 2, &["did you mean `lennard-jones`?"]);
    lab.refuses(&["info", "qqqqqqqqqq"], 2, &["`debye info` lists all"]);
}

#[test]
fn the_list_has_a_formula_for_each() {
    let lab = Lab::new();
    let list = lab.succeeds(&["info"]).out;
    for text in [
        "u(r) = 4ε [(σ/r)¹² − (σ/r)⁶]",
        "u(r) − u(r_c) for r < r_c, else 0",
        "σ_ab = ½(σ_a + σ_b), ε_ab = √(ε_a ε_b)",
        "debye info NAME",
    ] {
        assert!(list.contains(text), "`{text}` is missing in\n{list}");
    }
    let json: serde_json::Value = serde_json::from_str(&lab.succeeds(&["info", "--json"]).out).unwrap();
    assert!(json["methods"].as_array().unwrap().len() >= 15);
    assert!(json["potentials"][0]["formula"].as_str().unwrap().contains("4ε"));
}
