//! Every interaction, one file each; the file is the whole job.
//!
//! A file holds the formula, the names and dimensions of its parameters, and samples for the
//! tests that every potential goes through. The lines at the end of this module are the register:
//! a line there makes the potential available to input files, to the library, to every backend
//! and to the tests. See `docs/adding-a-potential.md`.

mod bonded;
mod pair;
mod parameter;

pub use bonded::{
    AngleFamily, AnglePotential, BondFamily, BondPotential, BondedSample, DihedralFamily, DihedralPotential,
    MAX_BONDED,
};
pub use pair::{
    Coefficients, MAX_COEFFICIENTS, Pair, PairFamily, PairPotential, PairSample, Preparation, Tail,
};
pub use parameter::{Kind, Mixing, Parameter, ParameterError, Parameters, Value};

/// Declares the modules and the register of one sort of potential.
macro_rules! register {
    ($list:ident: $family:ident via $adapter:ident { $($module:ident :: $name:ident),* $(,)? }) => {
        $( mod $module; pub use $module::$name; )*
        /// Every potential of this sort, in the order of the register.
        pub static $list: &[&dyn $family] = &[$( &$adapter::<$name>(std::marker::PhantomData) ),*];
    };
}

register!(PAIRS: PairFamily via PairAdapter {
    lennard_jones::LennardJones,
});

register!(BONDS: BondFamily via BondAdapter {
    harmonic_bond::HarmonicBond,
});

register!(ANGLES: AngleFamily via AngleAdapter {
});

register!(DIHEDRALS: DihedralFamily via DihedralAdapter {
});

use bonded::{AngleAdapter, BondAdapter, DihedralAdapter};
pub(crate) use pair::PairAdapter;
