//! Parameters of a potential: their names, dimensions and mixing.

use crate::system::Dimension;

/// How a parameter of two unlike species follows from those of the two.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mixing {
    /// Length-like: arithmetic mean under Lorentz–Berthelot, geometric mean under the geometric rule.
    Length,
    /// Energy-like: geometric mean under both rules.
    Energy,
    /// Taken over where both species agree; otherwise the pair must be given.
    Same,
    /// The pair must be given.
    Explicit,
}

/// Energy × lengthⁿ: the dimension of a coefficient of r⁻ⁿ.
pub const fn energy_times_length(n: i8) -> Dimension {
    let energy = Dimension::ENERGY;
    Dimension {
        length: energy.length + n,
        ..energy
    }
}

/// What kind of value a parameter takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A number with this dimension.
    Quantity(Dimension),
    /// An angle: radians, or a text with `deg`.
    Angle,
    /// A sampled function from a file: rows of distance and energy.
    Samples,
}

/// One parameter as it stands in an input file.
#[derive(Clone, Copy, Debug)]
pub struct Parameter {
    /// Its key.
    pub name: &'static str,
    /// Its symbol in the formula, where that is not the key, and what it is.
    pub words: &'static str,
    /// Its kind.
    pub kind: Kind,
    /// How it mixes.
    pub mixing: Mixing,
    /// The value taken when the key is absent; `None` makes the key required.
    pub default: Option<f64>,
}

impl Parameter {
    /// A required number.
    pub const fn quantity(
        name: &'static str,
        words: &'static str,
        dimension: Dimension,
        mixing: Mixing,
    ) -> Self {
        Self {
            name,
            words,
            kind: Kind::Quantity(dimension),
            mixing,
            default: None,
        }
    }

    /// A required angle, which does not mix.
    pub const fn angle(name: &'static str, words: &'static str) -> Self {
        Self {
            kind: Kind::Angle,
            ..Self::quantity(name, words, Dimension::NONE, Mixing::Explicit)
        }
    }

    /// A required sampled function.
    pub const fn samples(name: &'static str, words: &'static str) -> Self {
        Self {
            kind: Kind::Samples,
            ..Self::quantity(name, words, Dimension::NONE, Mixing::Explicit)
        }
    }

    /// The same with a default.
    pub const fn or(mut self, default: f64) -> Self {
        self.default = Some(default);
        self
    }
}

/// A parameter's value, in the units of the run.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// A number.
    Number(f64),
    /// Rows of (distance, energy).
    Samples(Vec<[f64; 2]>),
}

/// Values in the order of a potential's `PARAMETERS`.
#[derive(Clone, Copy, Debug)]
pub struct Parameters<'a>(pub &'a [Value]);

impl<'a> Parameters<'a> {
    /// The number in place `i`; NaN where there is none, which the checks of every potential refuse.
    pub fn number(self, i: usize) -> f64 {
        match self.0.get(i) {
            Some(Value::Number(x)) => *x,
            _ => f64::NAN,
        }
    }

    /// The first `N` numbers.
    pub fn numbers<const N: usize>(self) -> [f64; N] {
        std::array::from_fn(|i| self.number(i))
    }

    /// Refuses numbers that are infinite or missing, for every potential alike.
    pub(super) fn check_finite(self, parameters: &[Parameter]) -> Result<(), ParameterError> {
        for (i, parameter) in parameters.iter().enumerate() {
            let number = self.number(i);
            let fits = parameter.kind == Kind::Samples || number.is_finite();
            ParameterError::unless(fits, parameter.name, number, "a finite number")?;
        }
        Ok(())
    }

    /// The rows in place `i`.
    pub fn samples(self, i: usize) -> &'a [[f64; 2]] {
        match self.0.get(i) {
            Some(Value::Samples(rows)) => rows,
            _ => &[],
        }
    }
}

/// A potential together with its parameters, as `LennardJones::new(ε, σ)`.
pub trait Parametrized {
    /// In the order of the potential's `PARAMETERS`.
    fn values(&self) -> Vec<Value>;
}

/// Declares a potential as the struct of its parameters, all of them numbers, in the order of `PARAMETERS`:
///
/// ```
/// debye::parameters! {
///     /// A soft repulsion.
///     pub struct Soft { a, range }
/// }
/// assert_eq!(Soft::new(2.0, 0.5).range, 0.5);
/// ```
#[macro_export]
macro_rules! parameters {
    ($(#[$doc:meta])* pub struct $name:ident { $($field:ident),* $(,)? }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq)]
        pub struct $name {
            $( #[doc = concat!("The parameter `", stringify!($field), "`.")] pub $field: f64, )*
        }

        impl $name {
            /// The potential of these parameters, in the units of the system.
            pub const fn new($($field: f64),*) -> Self {
                Self { $($field),* }
            }
        }

        impl $crate::potentials::Parametrized for $name {
            fn values(&self) -> Vec<$crate::potentials::Value> {
                vec![$( $crate::potentials::Value::Number(self.$field) ),*]
            }
        }
    };
}

/// Why parameters were refused.
#[derive(Clone, Debug, thiserror::Error, PartialEq)]
#[error("parameter `{parameter}` is {value}, expected {expected}")]
pub struct ParameterError {
    /// The parameter's name.
    pub parameter: &'static str,
    /// What was given.
    pub value: String,
    /// What is accepted.
    pub expected: &'static str,
}

impl ParameterError {
    /// `Ok` where `holds`.
    pub fn unless(
        holds: bool,
        parameter: &'static str,
        value: impl ToString,
        expected: &'static str,
    ) -> Result<(), Self> {
        if holds {
            Ok(())
        } else {
            Err(Self {
                parameter,
                value: value.to_string(),
                expected,
            })
        }
    }
}
