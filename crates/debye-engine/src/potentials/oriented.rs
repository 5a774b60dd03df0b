//! Interactions of two particles that have orientations: energies of their distance and of the directions of their axes.
//!
//! A formula sees nothing but numbers that stay the same when everything is turned together: the squared distance, the
//! components of the separation along the axes of both particles, and the cosines between their axes. Its derivatives by
//! these give forces and torques; that r × F + T₁ + T₂ = 0 then holds for every formula, whatever it says.

use std::marker::PhantomData;

use super::pair::{PairModel, Preparation};
use super::parameter::{Parameter, ParameterError, Parameters, Value};
use crate::expr::{Dual, Real, Sym, Table, Tape, Vec3};
use crate::record::Doc;
use crate::truncation::{Adapter, Switched, Truncation, TruncationCoefficients, constant_truncation};

/// How many numbers an oriented potential may keep per pair of species.
pub const MAX_ORIENTED: usize = 20;

/// What an oriented potential precomputes from its parameters, once per ordered pair of species.
pub type OrientedCoefficients<R> = [R; MAX_ORIENTED];

/// Numbers by which an energy is differentiated: r², components along the axes of both, cosines.
pub const INVARIANTS: usize = 16;

/// What a formula knows of two particles. The separation leads from the first to the second.
#[derive(Clone, Copy, Debug)]
pub struct OrientedPair<'a, R> {
    /// Squared distance.
    pub r2: R,
    /// Components of the separation along the axes x, y, z of the first particle, and of the second.
    pub along: [[R; 3]; 2],
    /// `cosines[a][b]`: axis a of the first times axis b of the second.
    pub cosines: [[R; 3]; 3],
    /// Charges.
    pub charges: [R; 2],
    /// Dipole moments, along z of each.
    pub dipoles: [R; 2],
    /// The term's lookup table.
    pub table: &'a Table,
}

impl<'a, R: Real> OrientedPair<'a, R> {
    /// Two particles at a separation, with these axes.
    #[inline(always)]
    pub fn new(
        separation: Vec3<R>,
        axes: [[Vec3<R>; 3]; 2],
        charges: [R; 2],
        dipoles: [R; 2],
        table: &'a Table,
    ) -> Self {
        let [first, second] = axes;
        Self {
            r2: separation.norm2(),
            along: [first, second].map(|axes| axes.map(|axis| axis.dot(separation))),
            cosines: first.map(|a| second.map(|b| a.dot(b))),
            charges,
            dipoles,
            table,
        }
    }

    /// The same with numbers of another type.
    #[inline(always)]
    fn map<S: Real>(&self, f: impl Fn(R) -> S) -> OrientedPair<'a, S> {
        OrientedPair {
            r2: f(self.r2),
            along: self.along.map(|axes| axes.map(&f)),
            cosines: self.cosines.map(|axes| axes.map(&f)),
            charges: self.charges.map(&f),
            dipoles: self.dipoles.map(&f),
            table: self.table,
        }
    }

    /// The same directions at another distance, as a function of that distance.
    #[inline(always)]
    fn moved_to(&self, distance: R) -> OrientedPair<'a, Dual<R>> {
        let r = Dual::variable(distance);
        let scale = r * Dual::constant(self.r2.sqrt().recip());
        let mut moved = self.map(Dual::constant);
        moved.r2 = r * r;
        moved.along = moved.along.map(|axes| axes.map(|x| x * scale));
        moved
    }
}

/// An energy and its derivatives.
#[derive(Clone, Copy, Debug)]
pub struct OrientedEnergy<R> {
    /// The energy.
    pub value: R,
    /// By r².
    pub r2: R,
    /// By the components along the axes of both.
    pub along: [[R; 3]; 2],
    /// By the cosines.
    pub cosines: [[R; 3]; 3],
}

/// What two particles do to one another.
#[derive(Clone, Copy, Debug)]
pub struct OrientedForces<R> {
    /// Force on the second; that on the first is opposite.
    pub force: Vec3<R>,
    /// Torques on both, in the laboratory's axes.
    pub torques: [Vec3<R>; 2],
}

impl<R: Real> OrientedEnergy<R> {
    /// From the value and the derivatives by the invariants, in their order.
    pub fn from_slice(x: &[R]) -> Self {
        let three = |at: usize| [x[at], x[at + 1], x[at + 2]];
        Self {
            value: x[0],
            r2: x[1],
            along: [three(2), three(5)],
            cosines: [three(8), three(11), three(14)],
        }
    }

    /// The value and the derivatives by the invariants, in their order.
    pub fn to_vec(&self) -> Vec<R> {
        let derivatives = self.along.iter().chain(&self.cosines).flatten();
        [self.value, self.r2].iter().chain(derivatives).copied().collect()
    }

    /// Switched off with the distance.
    #[inline(always)]
    pub fn switched(&self, r2: R, t: &TruncationCoefficients<R>) -> Self {
        let one = Dual::constant(R::lit(1.0));
        let fall = Switched::apply(one, Dual::variable(r2), &constant_truncation(t));
        let s = fall.value;
        let ([a, b], [c, d, e]) = (self.along, self.cosines);
        Self {
            value: self.value * s,
            r2: self.r2 * s + self.value * fall.derivative,
            along: [scaled(a, s), scaled(b, s)],
            cosines: [scaled(c, s), scaled(d, s), scaled(e, s)],
        }
    }

    /// Forces and torques from the separation and the axes.
    #[inline(always)]
    pub fn forces(&self, separation: Vec3<R>, axes: [[Vec3<R>; 3]; 2]) -> OrientedForces<R> {
        let [first, second] = axes;
        let mut gradient = separation * (self.r2 + self.r2);
        let mut torques = [Vec3::zero(); 2];
        for k in 0..3 {
            gradient = gradient + first[k] * self.along[0][k] + second[k] * self.along[1][k];
            let (mut on_first, mut on_second) =
                (separation * self.along[0][k], separation * self.along[1][k]);
            for l in 0..3 {
                on_first += second[l] * self.cosines[k][l];
                on_second += first[l] * self.cosines[l][k];
            }
            torques[0] -= first[k].cross(on_first);
            torques[1] -= second[k].cross(on_second);
        }
        OrientedForces {
            force: -gradient,
            torques,
        }
    }
}

/// Three numbers times one. A function, as closures do not have the instruction set of the kernel they are in.
#[inline(always)]
pub(super) fn scaled<R: Real>([x, y, z]: [R; 3], by: R) -> [R; 3] {
    [x * by, y * by, z * by]
}

/// Which axes of its particles a formula reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Axes {
    /// z alone: a dipole, an ellipsoid of revolution.
    Z,
    /// All three.
    All,
}

/// Parameters for which the tests of every oriented potential are run, and the distances they cover.
#[derive(Clone, Debug)]
pub struct OrientedSample {
    /// In the order of `PARAMETERS`.
    pub values: Vec<Value>,
    /// In the order of `OWN`, of both species.
    pub own: [Vec<Value>; 2],
    /// From which distance.
    pub from: f64,
    /// To which distance; also the cut-off.
    pub to: f64,
}

impl OrientedSample {
    /// A sample for a potential whose parameters are all numbers.
    pub fn numbers(values: &[f64], own: [&[f64]; 2], from: f64, to: f64) -> Self {
        let numbers = |values: &[f64]| values.iter().copied().map(Value::Number).collect();
        Self {
            values: numbers(values),
            own: own.map(numbers),
            from,
            to,
        }
    }
}

/// A pair potential of particles with orientations.
pub trait OrientedPotential: Send + Sync + 'static {
    /// The `kind` in input files.
    const NAME: &'static str;
    /// Its formula, its conventions beside those of other programs, its reference.
    const DOC: Doc;
    /// What an input file must give for a pair of species.
    const PARAMETERS: &'static [Parameter];
    /// What it must give for every species.
    const OWN: &'static [Parameter] = &[];
    /// Which axes it reads.
    const AXES: Axes;
    /// Whether it is electrostatic: the engine multiplies the energy by Coulomb's constant, and only particles with
    /// charges or dipoles take part.
    const ELECTROSTATIC: bool = false;

    /// Refuses parameters that make no sense.
    fn check(p: Parameters) -> Result<(), ParameterError>;

    /// Refuses parameters of a species.
    fn check_own(_own: Parameters) -> Result<(), ParameterError> {
        Ok(())
    }

    /// Precomputes the numbers `energy` reads for a pair of species, in this order.
    fn coefficients(
        p: Parameters,
        own: [Parameters; 2],
        preparation: &mut Preparation,
    ) -> OrientedCoefficients<f64>;

    /// The energy of a pair.
    fn energy<R: Real>(pair: &OrientedPair<R>, c: &OrientedCoefficients<R>) -> R;

    /// The energy less its value at the cut-off and a force that ends it smoothly there, at the same directions. A closed
    /// form may replace this one; the tests hold both together.
    #[inline(always)]
    fn force_shifted<R: Real>(pair: &OrientedPair<R>, c: &OrientedCoefficients<R>, cutoff: R) -> R {
        force_shifted_by_duals::<Self, R>(pair, c, cutoff)
    }

    /// The truncated energy and its derivatives by hand, where that is measurably faster than the derived ones; the tests
    /// hold both together. `None` for truncations that are not worth it; a switch follows from `Cut`.
    #[inline(always)]
    fn energy_and_derivatives<R: Real>(
        _truncation: Truncation,
        _pair: &OrientedPair<R>,
        _c: &OrientedCoefficients<R>,
    ) -> Option<OrientedEnergy<R>> {
        None
    }

    /// What a particle has by itself: in a reaction field, for one.
    fn self_energy(_charge: f64, _dipole: f64, _c: &OrientedCoefficients<f64>) -> f64 {
        0.0
    }

    /// The cut-off that belongs to the potential itself, where it has one.
    fn natural_cutoff(_p: Parameters) -> Option<f64> {
        None
    }

    /// Parameters for the tests; at least one.
    fn samples() -> Vec<OrientedSample>;
}

/// A force shift of any potential, from its derivative by the distance at the cut-off.
#[inline(always)]
fn force_shifted_by_duals<P: OrientedPotential + ?Sized, R: Real>(
    pair: &OrientedPair<R>,
    c: &OrientedCoefficients<R>,
    cutoff: R,
) -> R {
    let end = P::energy(&pair.moved_to(cutoff), &c.map(Dual::constant));
    P::energy(pair, c) - end.value - (pair.r2.sqrt() - cutoff) * end.derivative
}

/// The energy of a pair as a truncation leaves it; zero beyond the cut-off is the caller's business. Of `t`, the first is
/// the cut-off; a switch has its own numbers.
#[inline(always)]
fn truncated<P: OrientedPotential, R: Real>(
    truncation: Truncation,
    pair: &OrientedPair<R>,
    c: &OrientedCoefficients<R>,
    t: &TruncationCoefficients<R>,
) -> R {
    match truncation {
        Truncation::Cut => P::energy(pair, c),
        Truncation::Shift => {
            let end = P::energy(&pair.moved_to(t[0]), &c.map(Dual::constant));
            P::energy(pair, c) - end.value
        }
        Truncation::ForceShift => P::force_shifted(pair, c, t[0]),
        Truncation::QuadraticShift => {
            let end = P::energy(&pair.moved_to(t[0]), &c.map(Dual::constant));
            let derivative_at_end = end.derivative / (t[0] + t[0]);
            P::energy(pair, c) - end.value - (pair.r2 - t[0] * t[0]) * derivative_at_end
        }
        Truncation::Switch { .. } => Switched::apply(P::energy(pair, c), pair.r2, t),
    }
}

/// The truncated energy and its derivatives by hand, where the potential has them.
#[inline(always)]
pub(crate) fn by_hand<P: OrientedPotential, R: Real>(
    truncation: Truncation,
    pair: &OrientedPair<R>,
    c: &OrientedCoefficients<R>,
    t: &TruncationCoefficients<R>,
) -> Option<OrientedEnergy<R>> {
    match truncation {
        Truncation::Switch { .. } => {
            let bare = P::energy_and_derivatives(Truncation::Cut, pair, c)?;
            Some(bare.switched(pair.r2, t))
        }
        _ => P::energy_and_derivatives(truncation, pair, c),
    }
}

/// Numbers of a truncation of an oriented potential.
pub fn oriented_truncation(truncation: Truncation, cutoff: f64) -> TruncationCoefficients<f64> {
    match truncation {
        Truncation::Switch { .. } => truncation.coefficients(cutoff, Dual::constant(0.0)),
        _ => [cutoff, 0.0, 0.0, 0.0],
    }
}

/// Numbers besides the invariants that a tape reads: charges and dipoles of both.
const PROPERTIES: [&str; 4] = ["q_i", "q_j", "mu_i", "mu_j"];
/// Names of the invariants.
pub(crate) const INVARIANT_NAMES: [&str; INVARIANTS] = [
    "r2", "x_i", "y_i", "z_i", "x_j", "y_j", "z_j", "xx", "xy", "xz", "yx", "yy", "yz", "zx", "zy", "zz",
];

/// Names of the inputs of [`OrientedFamily::tape`], in order.
pub fn oriented_inputs() -> Vec<String> {
    let names = INVARIANT_NAMES
        .iter()
        .chain(&PROPERTIES)
        .map(|name| (*name).to_owned());
    let coefficients = (0..MAX_ORIENTED).map(|k| format!("c{k}"));
    names
        .chain(coefficients)
        .chain((0..4).map(|k| format!("t{k}")))
        .collect()
}

/// An [`OrientedPotential`] behind a pointer: what the register holds.
pub trait OrientedFamily: PairModel {
    /// Which axes matter.
    fn axes(&self) -> Axes;
    /// Whether charges and dipoles matter.
    fn is_electrostatic(&self) -> bool;
    /// Precomputes coefficients.
    fn coefficients(
        &self,
        p: Parameters,
        own: [Parameters; 2],
        preparation: &mut Preparation,
    ) -> OrientedCoefficients<f64>;
    /// What a particle has by itself.
    fn self_energy(&self, charge: f64, dipole: f64, c: &OrientedCoefficients<f64>) -> f64;
    /// Parameters for the tests.
    fn samples(&self) -> Vec<OrientedSample>;
    /// The truncated energy.
    fn energy(
        &self,
        truncation: Truncation,
        pair: &OrientedPair<f64>,
        c: &OrientedCoefficients<f64>,
        t: &TruncationCoefficients<f64>,
    ) -> f64;
    /// The same of a pair that moves or turns.
    fn energy_dual(
        &self,
        truncation: Truncation,
        pair: &OrientedPair<Dual<f64>>,
        c: &OrientedCoefficients<f64>,
        t: &TruncationCoefficients<f64>,
    ) -> Dual<f64>;
    /// The truncated energy and its derivatives by hand, where the potential has them.
    fn energy_and_derivatives(
        &self,
        truncation: Truncation,
        pair: &OrientedPair<f64>,
        c: &OrientedCoefficients<f64>,
        t: &TruncationCoefficients<f64>,
    ) -> Option<OrientedEnergy<f64>>;
    /// The energy at the end of the truncation [`Truncation::ForceShift`], by the general formula.
    fn force_shifted_by_duals(
        &self,
        pair: &OrientedPair<f64>,
        c: &OrientedCoefficients<f64>,
        cutoff: f64,
    ) -> f64;
    /// The truncated energy and its derivatives by the invariants as a tape over [`oriented_inputs`].
    fn tape(&self, truncation: Truncation) -> Tape;
    /// The same with derivatives by hand where the potential has them.
    fn shortest_tape(&self, truncation: Truncation) -> Tape;
}

/// Makes an [`OrientedFamily`] of an [`OrientedPotential`].
pub(crate) struct OrientedAdapter<P>(pub(crate) PhantomData<P>);

/// Something to do with each registered oriented potential as a type; see `visit_oriented`.
pub trait OrientedVisitor {
    /// Called once per potential.
    fn visit<P: OrientedPotential>(&mut self);
}

impl<P: OrientedPotential> PairModel for OrientedAdapter<P> {
    fn name(&self) -> &'static str {
        P::NAME
    }
    fn doc(&self) -> &'static Doc {
        &P::DOC
    }
    fn parameters(&self) -> &'static [Parameter] {
        P::PARAMETERS
    }
    fn own(&self) -> &'static [Parameter] {
        P::OWN
    }
    fn check(&self, p: Parameters) -> Result<(), ParameterError> {
        p.check_finite(P::PARAMETERS)?;
        P::check(p)
    }
    fn check_own(&self, own: Parameters) -> Result<(), ParameterError> {
        own.check_finite(P::OWN)?;
        P::check_own(own)
    }
    fn natural_cutoff(&self, p: Parameters) -> Option<f64> {
        P::natural_cutoff(p)
    }
}

impl<P: OrientedPotential> OrientedFamily for OrientedAdapter<P> {
    fn axes(&self) -> Axes {
        P::AXES
    }
    fn is_electrostatic(&self) -> bool {
        P::ELECTROSTATIC
    }
    fn coefficients(
        &self,
        p: Parameters,
        own: [Parameters; 2],
        preparation: &mut Preparation,
    ) -> OrientedCoefficients<f64> {
        P::coefficients(p, own, preparation)
    }
    fn self_energy(&self, charge: f64, dipole: f64, c: &OrientedCoefficients<f64>) -> f64 {
        P::self_energy(charge, dipole, c)
    }
    fn samples(&self) -> Vec<OrientedSample> {
        P::samples()
    }
    fn energy(
        &self,
        truncation: Truncation,
        pair: &OrientedPair<f64>,
        c: &OrientedCoefficients<f64>,
        t: &TruncationCoefficients<f64>,
    ) -> f64 {
        truncated::<P, f64>(truncation, pair, c, t)
    }
    fn energy_dual(
        &self,
        truncation: Truncation,
        pair: &OrientedPair<Dual<f64>>,
        c: &OrientedCoefficients<f64>,
        t: &TruncationCoefficients<f64>,
    ) -> Dual<f64> {
        truncated::<P, _>(truncation, pair, &c.map(Dual::constant), &t.map(Dual::constant))
    }
    fn energy_and_derivatives(
        &self,
        truncation: Truncation,
        pair: &OrientedPair<f64>,
        c: &OrientedCoefficients<f64>,
        t: &TruncationCoefficients<f64>,
    ) -> Option<OrientedEnergy<f64>> {
        by_hand::<P, f64>(truncation, pair, c, t)
    }
    fn force_shifted_by_duals(
        &self,
        pair: &OrientedPair<f64>,
        c: &OrientedCoefficients<f64>,
        cutoff: f64,
    ) -> f64 {
        force_shifted_by_duals::<P, f64>(pair, c, cutoff)
    }
    fn tape(&self, truncation: Truncation) -> Tape {
        let energy = recorded(|pair, c, t| vec![truncated::<P, Sym>(truncation, pair, c, t)]);
        energy.value_and_gradient_by(0, INVARIANTS)
    }
    fn shortest_tape(&self, truncation: Truncation) -> Tape {
        let mut written = false;
        let tape = recorded(|pair, c, t| match by_hand::<P, Sym>(truncation, pair, c, t) {
            Some(energy) => {
                written = true;
                energy.to_vec()
            }
            None => Vec::new(),
        });
        if written { tape } else { self.tape(truncation) }
    }
}

/// A tape over [`oriented_inputs`].
fn recorded(
    function: impl FnOnce(
        &OrientedPair<Sym>,
        &OrientedCoefficients<Sym>,
        &TruncationCoefficients<Sym>,
    ) -> Vec<Sym>,
) -> Tape {
    // The values are not looked at while recording.
    let table = Table::default();
    let names = oriented_inputs();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let tape = Tape::record(names.len(), |x: &[Sym]| {
        let pair = OrientedPair {
            r2: x[0],
            along: [[x[1], x[2], x[3]], [x[4], x[5], x[6]]],
            cosines: [[x[7], x[8], x[9]], [x[10], x[11], x[12]], [x[13], x[14], x[15]]],
            charges: [x[16], x[17]],
            dipoles: [x[18], x[19]],
            table: &table,
        };
        let rest = INVARIANTS + PROPERTIES.len();
        let c: OrientedCoefficients<Sym> = std::array::from_fn(|k| x[rest + k]);
        let t: TruncationCoefficients<Sym> = std::array::from_fn(|k| x[rest + MAX_ORIENTED + k]);
        function(&pair, &c, &t)
    });
    tape.named(&names, &["energy"])
}
