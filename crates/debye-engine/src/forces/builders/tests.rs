//! Terms made without an input file.

use super::*;
use crate::forces::{BondedTerm, PairTerm};
use crate::potentials::BondFamily;
use crate::system::Species;
use crate::truncation::Truncation;

fn species(names: &[&str]) -> Vec<Species> {
    let one = |name: &&str| Species::point(*name, 1.0, 0.0);
    names.iter().map(one).collect()
}

fn lj(species: &[Species]) -> PairTermBuilder<'_> {
    PairTerm::build("lennard-jones", species).unwrap().cutoff(2.5)
}

#[test]
fn truncations_end_where_they_should() {
    let species = species(&["A"]);
    for truncation in [
        Truncation::Shift,
        Truncation::ForceShift,
        Truncation::Switch { from: 2.0 },
    ] {
        let term = lj(&species)
            .truncation(truncation)
            .all(&[("epsilon", 1.0), ("sigma", 1.0)])
            .unwrap()
            .finish()
            .unwrap();
        let (row, r2) = (term.rows[0], 2.5f64 * 2.5);
        let pair = crate::potentials::Pair {
            r2,
            table: &term.table,
        };
        let bare = term.family.energy_and_derivative(pair, &row.coefficients);
        let end = truncation.apply(bare, r2, &row.truncation);
        assert!(end.value.abs() < 1e-15, "{truncation:?}: {}", end.value);
        if truncation != Truncation::Shift {
            assert!(end.derivative.abs() < 1e-15, "{truncation:?}: {}", end.derivative);
        }
    }
}

#[test]
fn natural_cutoffs_need_no_other() {
    let species = species(&["A", "B"]);
    let term = PairTerm::build("wca", &species)
        .unwrap()
        .mixing(MixingRule::LorentzBerthelot)
        .like("A", &[("epsilon", 1.0), ("sigma", 1.0)])
        .unwrap()
        .like("B", &[("epsilon", 1.0), ("sigma", 2.0)])
        .unwrap()
        .finish()
        .unwrap();
    let end = 2f64.powf(1.0 / 6.0);
    for (row, sigma) in [(0, 1.0), (1, 1.5), (2, 1.5), (3, 2.0)] {
        assert!((term.rows[row].cutoff - sigma * end).abs() < 1e-12);
    }
}

#[test]
fn tails() {
    let species = species(&["A"]);
    let parameters = [("epsilon", 1.0), ("sigma", 1.0)];
    let with = |t| {
        lj(&species)
            .truncation(t)
            .tail(true)
            .all(&parameters)
            .unwrap()
            .finish()
    };
    // Allen & Tildesley: ∫ r² u dr = 4 (1/(9 r⁹) − 1/(3 r³)).
    let tail = with(Truncation::Cut).unwrap().rows[0].tail;
    let (r3, r9) = (2.5f64.powi(3), 2.5f64.powi(9));
    assert!((tail.energy - 4.0 * (1.0 / (9.0 * r9) - 1.0 / (3.0 * r3))).abs() < 1e-14);
    assert!(matches!(with(Truncation::ForceShift), Err(TermError::NoTail(_))));
    let coulomb = PairTerm::build("coulomb", &species)
        .unwrap()
        .cutoff(1.0)
        .tail(true);
    assert!(matches!(coulomb.finish(), Err(TermError::NoTail(_))));
}

#[test]
fn what_is_missing_is_named() {
    let species = species(&["A", "B"]);
    let full = [("epsilon", 1.0), ("sigma", 1.0)];
    let both = lj(&species).like("A", &full).unwrap().like("B", &full).unwrap();
    let missing = both.clone().finish().err().unwrap();
    assert_eq!(
        missing.to_string(),
        "`lennard-jones` has no parameters for the pair A-B"
    );
    assert!(both.clone().mixing(MixingRule::Geometric).finish().is_ok());
    assert!(both.clone().pair("B", "A", &full).unwrap().finish().is_ok());
    let none = both.no_interaction("B", "A").unwrap().finish().unwrap();
    assert_eq!(none.rows[1].cutoff, 0.0);

    let half = lj(&species)
        .all(&[("epsilon", 1.0)])
        .unwrap()
        .finish()
        .err()
        .unwrap();
    assert!(half.to_string().contains("lacks its parameter `sigma`"), "{half}");
    let unknown = lj(&species).like("A", &[("eps", 1.0)]).err().unwrap();
    assert!(unknown.to_string().contains("it has epsilon, sigma"), "{unknown}");
    assert!(matches!(
        lj(&species).like("C", &full),
        Err(TermError::UnknownSpecies(_))
    ));
    assert!(matches!(
        PairTerm::build("lj", &species),
        Err(TermError::UnknownPotential(_))
    ));
    let no_end = PairTerm::build("lennard-jones", &species)
        .unwrap()
        .all(&full)
        .unwrap();
    assert!(matches!(no_end.finish(), Err(TermError::MissingCutoff { .. })));
    let refused = lj(&species)
        .all(&[("epsilon", 1.0), ("sigma", -1.0)])
        .unwrap()
        .finish();
    assert!(matches!(refused, Err(TermError::Refused { .. })));
    for cutoff in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        let term = lj(&species).cutoff(cutoff).all(&full).unwrap().finish();
        assert!(matches!(term, Err(TermError::BadCutoff { .. })));
    }
    let late = lj(&species)
        .truncation(Truncation::Switch { from: 2.5 })
        .all(&full)
        .unwrap();
    assert!(matches!(late.finish(), Err(TermError::SwitchBeyondCutoff { .. })));
}

#[test]
fn bonded_kinds() {
    let values = vec![
        ("k".to_owned(), Value::Number(2.0)),
        ("r0".to_owned(), Value::Number(1.0)),
    ];
    let term = BondedTerm::<dyn BondFamily>::build("harmonic-bond", &[None, Some(values.clone())]).unwrap();
    assert_eq!((term.rows[0], term.rows[1].unwrap()[0]), (None, 1.0));
    let missing = BondedTerm::<dyn BondFamily>::build("harmonic-bond", &[Some(values[..1].to_vec())]);
    assert!(matches!(
        missing,
        Err(TermError::MissingParameter { parameter: "r0", .. })
    ));
}
