//! Quantities with units: any text is a finite number or refused.
#![no_main]

use debye::system::{Dimension, Units};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    for units in [Units::Md, Units::LennardJones] {
        for dimension in [Dimension::LENGTH, Dimension::ENERGY, Dimension::PRESSURE, Dimension::NONE] {
            if let Ok(value) = units.quantity(text, dimension) {
                assert!(value.is_finite());
            }
        }
    }
});
