//! Every interaction, one file each; the file is the whole job.
//!
//! A file holds the formula, the names and dimensions of its parameters, and samples for the
//! tests that every potential goes through. The lines at the end of this module are the register:
//! a line there makes the potential available to input files, to the library, to every engine
//! and to the tests. See `docs/adding-a-potential.md`.

mod bonded;
#[doc(hidden)]
pub mod checks;
mod coulomb_erf;
mod kernels;
mod oriented;
mod pair;
mod parameter;

pub use bonded::{
    AngleFamily, AnglePotential, AngleVisitor, AxisFamily, AxisPotential, AxisVisitor, BONDED_INPUTS,
    BondFamily, BondPotential, BondVisitor, BondedSample, DihedralFamily, DihedralPotential, DihedralVisitor,
    MAX_BONDED,
};
pub use kernels::{Numbers, PairColumns, PairForces, PairJob, PairKernel, PairKernels, PairSums, TOGETHER};
pub use oriented::{
    Axes, INVARIANTS, MAX_ORIENTED, OrientedCoefficients, OrientedEnergy, OrientedFamily, OrientedForces,
    OrientedPair, OrientedPotential, OrientedSample, OrientedVisitor, oriented_inputs, oriented_truncation,
};
pub use pair::{
    Coefficients, MAX_COEFFICIENTS, PAIR_INPUTS, Pair, PairFamily, PairModel, PairPotential, PairSample,
    PairVisitor, Preparation, Tail, truncated,
};
pub use parameter::{
    Kind, Mixing, Parameter, ParameterError, Parameters, Parametrized, Value, energy_times_length,
};

pub use coulomb_erf::{COULOMB_ERF, CoulombErf};
pub use coulomb_multilevel::{COULOMB_SMOOTH, CoulombSmooth};

use debye_io::{Register, Registered};

use bonded::{AngleAdapter, AxisAdapter, BondAdapter, DihedralAdapter};
use oriented::OrientedAdapter;
pub(crate) use oriented::{INVARIANT_NAMES, by_hand};
pub(crate) use pair::PairAdapter;

/// Declares the modules and the register of one kind of potential.
macro_rules! register {
    ($list:ident: $potential:ident as $family:ident by $erase:ident via $adapter:ident, $visit:ident by $visitor:ident {
        $($module:ident :: $name:ident),* $(,)?
    }) => {
        $( mod $module; pub use $module::$name; )*
        /// Every potential of this kind, in the order of the register.
        pub static $list: Register<dyn $family> =
            Register::new(&[$( &$adapter::<$name>(std::marker::PhantomData) ),*]);
        impl Registered for dyn $family {
            fn registered_name(&self) -> &str {
                self.name()
            }
        }
        #[doc = concat!("A potential of any crate as a [`", stringify!($family), "`].")]
        pub fn $erase<P: $potential>() -> &'static dyn $family {
            &const { $adapter::<P>(std::marker::PhantomData) }
        }
        /// Calls the visitor once per potential of this kind: for code that needs the type.
        pub fn $visit(visitor: &mut impl $visitor) {
            $( visitor.visit::<$name>(); )*
        }
    };
}

register!(PAIRS: PairPotential as PairFamily by pair via PairAdapter, visit_pairs by PairVisitor {
    lennard_jones::LennardJones,
    mie::Mie,
    wca::Wca,
    buckingham::Buckingham,
    born_mayer_huggins::BornMayerHuggins,
    morse::Morse,
    yukawa::Yukawa,
    coulomb::Coulomb,
    coulomb_ewald::CoulombEwald,
    coulomb_multilevel::CoulombMultilevel,
    coulomb_reaction_field::CoulombReactionField,
    tabulated::Tabulated,
});

register!(ORIENTED: OrientedPotential as OrientedFamily by oriented via OrientedAdapter, visit_oriented by OrientedVisitor {
    dipoles::Dipoles,
    dipoles_reaction_field::DipolesReactionField,
    sticky::Sticky,
    gay_berne::GayBerne,
});

register!(BONDS: BondPotential as BondFamily by bond via BondAdapter, visit_bonds by BondVisitor {
    harmonic_bond::HarmonicBond,
    morse_bond::MorseBond,
    fene_bond::FeneBond,
});

register!(ANGLES: AnglePotential as AngleFamily by angle via AngleAdapter, visit_angles by AngleVisitor {
    harmonic_angle::HarmonicAngle,
    cosine_squared_angle::CosineSquaredAngle,
});

register!(DIHEDRALS: DihedralPotential as DihedralFamily by dihedral via DihedralAdapter, visit_dihedrals by DihedralVisitor {
    periodic_dihedral::PeriodicDihedral,
    ryckaert_bellemans::RyckaertBellemans,
    harmonic_improper::HarmonicImproper,
});

register!(AXES: AxisPotential as AxisFamily by axis via AxisAdapter, visit_axes by AxisVisitor {
    axis_restraint::AxisRestraint,
});
