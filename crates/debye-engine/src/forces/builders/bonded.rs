//! Bonded terms from the parameters of each kind of bond, angle or dihedral.

use debye_io::{Register, Registered};

use super::{TermError, complete, ordered};
use crate::forces::BondedTerm;
use crate::potentials::{
    self, AngleFamily, AxisFamily, BondFamily, DihedralFamily, MAX_BONDED, Parameter, ParameterError,
    Parameters, Value,
};

/// What [`BondedTerm::build`] needs of a register of bonded potentials.
pub trait BondedFamily: Registered + Send + Sync + 'static {
    /// The register.
    fn register() -> &'static Register<Self>;
    /// The `kind` in input files.
    fn family_name(&self) -> &'static str;
    /// What an input file must give.
    fn family_parameters(&self) -> &'static [Parameter];
    /// Checked coefficients.
    fn prepared(&self, p: Parameters) -> Result<[f64; MAX_BONDED], ParameterError>;
    /// The largest coordinate allowed, where there is one.
    fn longest(&self, p: Parameters) -> Option<f64>;
}

macro_rules! bonded_family {
    ($($family:ident from $list:ident),*) => { $(
        impl BondedFamily for dyn $family {
            fn register() -> &'static Register<Self> {
                &potentials::$list
            }
            fn family_name(&self) -> &'static str {
                self.name()
            }
            fn family_parameters(&self) -> &'static [Parameter] {
                self.parameters()
            }
            fn prepared(&self, p: Parameters) -> Result<[f64; MAX_BONDED], ParameterError> {
                self.check(p)?;
                Ok(self.coefficients(p))
            }
            fn longest(&self, p: Parameters) -> Option<f64> {
                self.limit(p)
            }
        }
    )* };
}

bonded_family!(BondFamily from BONDS, AngleFamily from ANGLES, DihedralFamily from DIHEDRALS, AxisFamily from AXES);

impl<F: BondedFamily + ?Sized> BondedTerm<F> {
    /// A term of the registered potential `name`, with the parameters of each kind in the topology;
    /// kinds with `None` are left alone.
    pub fn build(name: &str, kinds: &[Option<Vec<(String, Value)>>]) -> Result<Self, TermError> {
        let family = F::register()
            .find(name)
            .ok_or_else(|| TermError::UnknownPotential(name.into()))?;
        Self::of(family, kinds)
    }

    /// [`Self::build`] for a potential of any crate.
    pub fn of(family: &'static F, kinds: &[Option<Vec<(String, Value)>>]) -> Result<Self, TermError> {
        let potential = family.family_name();
        let row = |(kind, given): (usize, &Option<Vec<(String, Value)>>)| {
            let Some(given) = given else { return Ok(None) };
            let of = || format!("kind {kind}");
            let values = ordered(potential, family.family_parameters(), given.clone())?;
            let values = complete(family.family_parameters(), &[&values]).map_err(|parameter| {
                TermError::MissingParameter {
                    potential,
                    of: of(),
                    parameter,
                }
            })?;
            let prepared = family.prepared(Parameters(&values));
            prepared.map(Some).map_err(|source| TermError::Refused {
                potential,
                of: of(),
                source,
            })
        };
        let rows = kinds.iter().enumerate().map(row).collect::<Result<_, _>>()?;
        Ok(Self {
            name: potential.into(),
            family,
            rows,
        })
    }
}
