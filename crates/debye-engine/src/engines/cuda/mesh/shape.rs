//! [`MeshShape`]: the points of a mesh and the basis on it; [`Particles`]: where the charges are.

use std::fmt::Write;

use crate::expr::{CudaReal, Tape};
use crate::forces::pme::Basis;
use debye_gpu::transforms::Rest;
use debye_gpu::{
    Address, Binder, Buffer, Bundle, ConstAddress, CudaError, Element, Float, ModuleSource, Pointer, Value,
};

use super::shared::{self, MeshReal, Uint4};

/// A number of a mesh: `f32` in single and mixed precision, `f64` in double.
pub trait MeshNumber: Float + Value {
    /// Its name in printed code.
    const REAL: CudaReal;
}

impl MeshNumber for f32 {
    const REAL: CudaReal = CudaReal::Float;
}

impl MeshNumber for f64 {
    const REAL: CudaReal = CudaReal::Double;
}

/// Points along each axis, the last contiguous, and how a charge is spread over them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MeshShape {
    /// Points along each axis.
    pub size: [u32; 3],
    /// The functions along each axis.
    pub basis: Basis,
}

impl MeshShape {
    /// Points in all.
    pub fn points(&self) -> usize {
        self.size.iter().map(|&k| k as usize).product()
    }

    /// Refuses a mesh on which a charge would touch a point twice, or one too large for 32-bit numbers.
    pub(super) fn check(&self) -> Result<(), CudaError> {
        let least = self.basis.points() as u32;
        let too_large = |k: u32| k > 1 << 20;
        if self.size.iter().any(|&k| k < least || too_large(k)) {
            let Self { size, basis } = self;
            let range = format!("{basis:?} needs {least} to {} along each axis", 1 << 20);
            let reason = format!("a mesh of {size:?} points; {range}");
            return Err(CudaError::shape("debye_mesh", reason));
        }
        Ok(())
    }

    /// Bricks along each axis.
    pub(super) fn bricks(&self, edges: [u32; 3]) -> [u32; 3] {
        std::array::from_fn(|a| self.size[a].div_ceil(edges[a]))
    }

    /// A module for this mesh, cut into such bricks; it may include `mesh.cuh` and `stencil.cuh`.
    pub fn source<M: MeshNumber>(&self, name: &str, text: &str, edges: [u32; 3]) -> ModuleSource {
        let mut module = ModuleSource::new(name, text)
            .include("mesh.cuh", include_str!("../kernels/mesh.cuh"))
            .include("stencil.cuh", include_str!("../kernels/stencil.cuh"))
            .include("basis.cuh", &header::<M>(self.basis))
            .include("mesh_shared.cuh", &shared::of_particles())
            .define("MESH_DOUBLE", u32::from(M::DOUBLE))
            // Weights must have the same bits in every kernel, however it is compiled.
            .option("--fmad=false");
        for (axis, name) in ["X", "Y", "Z"].into_iter().enumerate() {
            module = module
                .define(&format!("MESH_{name}"), self.size[axis])
                .define(&format!("BRICK_{name}"), edges[axis]);
        }
        module
    }

    /// Edge of the boxes that charges near a point are summed in; as in the kernels.
    pub fn box_edge(&self) -> u32 {
        box_edge(self.basis)
    }

    /// The largest weight of a point along an axis.
    pub(super) fn most_weight(&self) -> f64 {
        most_weight(self.basis)
    }
}

/// Edge of the boxes that charges near a point are summed in.
fn box_edge(basis: Basis) -> u32 {
    if basis.points() <= 5 { 4 } else { 8 }
}

/// The largest weight of a point. B-splines have it with the charge on a point or halfway, the cubic on a point.
fn most_weight(basis: Basis) -> f64 {
    let all = [0.0, 0.5].map(|rest| basis.weights::<f64>(rest).values);
    all.iter().flatten().fold(0.0, |most, w| w.abs().max(most))
}

/// The functions of a basis as text for kernels, from the functions that the host uses.
fn header<M: MeshNumber>(basis: Basis) -> String {
    let n = basis.points();
    let real = M::REAL.name();
    let names = |letter: char| (0..n).map(|k| format!("{letter}{k}")).collect::<Vec<_>>();
    let (values, derivatives) = (names('w'), names('s'));
    let both: Vec<&str> = values.iter().chain(&derivatives).map(String::as_str).collect();
    let value_tape = Tape::record(1, |x| basis.weights(x[0]).values[..n].to_vec()).named(&["x"], &both[..n]);
    let both_tape = Tape::record(1, |x| {
        let w = basis.weights(x[0]);
        [&w.values[..n], &w.derivatives[..n]].concat()
    })
    .named(&["x"], &both);
    let mut text = format!(
        "#pragma once\nconstexpr u32 POINTS = {n};\nconstexpr i32 FIRST = {};\nconstexpr i32 BOX = {};\nusing mesh_real = {real};\n\
         #define MOST_WEIGHT {:?}\n",
        basis.first(),
        box_edge(basis),
        most_weight(basis)
    );
    text += &value_tape.to_cuda("basis_value_list", M::REAL);
    text += &both_tape.to_cuda("basis_derivative_list", M::REAL);
    let list = |letter: char| (0..n).map(|k| format!(", {letter}[{k}]")).collect::<String>();
    let _ = write!(
        text,
        "__device__ __forceinline__ void basis_values({real} x, {real} (&w)[POINTS])\n\
         {{\n    basis_value_list(x{});\n}}\n\
         __device__ __forceinline__ void basis_derivatives({real} x, {real} (&w)[POINTS], {real} (&s)[POINTS])\n\
         {{\n    basis_derivative_list(x{}{});\n}}\n",
        list('w'),
        list('w'),
        list('s')
    );
    text
}

/// The kind of a slot without a particle.
pub(in crate::engines::cuda) const EMPTY_SLOT: u32 = u32::MAX;

debye_gpu::device_struct! {
    /// Where the particles are.
    pub(super) struct MeshParticles {
        /// One or two halves of `slots`.
        pos: ConstAddress<Uint4>,
        /// Lower halves of the fractions, axis by axis, for an `f64` mesh; none: they are zero.
        low: ConstAddress<u32>,
        /// By kind.
        charges: ConstAddress<MeshReal>,
        /// Which half is now; none: the first.
        parity: ConstAddress<u32>,
        /// Units of slots that are in use; none: all are.
        used: ConstAddress<u32>,
        /// Nothing is done while this word is not zero; none: work is always done.
        rest: ConstAddress<u32>,
        slots: u32,
        unit: u32,
    }
}

/// A 32-bit word in device memory that steers kernels.
#[derive(Clone, Debug)]
pub struct Word(Bundle<Address<u8>>);

impl Word {
    /// The word so many bytes into a buffer.
    pub fn of<T: Element>(buffer: &Buffer<T>, bytes: usize) -> Self {
        let mut at = Binder::default();
        let address = at.address_as::<T, Address<u8>>(buffer).plus(bytes);
        Self(at.bundle(address))
    }

    /// Its address as a parameter of kernels that do nothing while it is not zero; none: they always work.
    pub(super) fn rest(word: Option<&Self>) -> Bundle<Rest> {
        let mut at = Binder::default();
        let word = Self::address(word, &mut at);
        at.bundle(Rest { word })
    }

    /// Its address, or none.
    pub(super) fn address<P: Pointer>(word: Option<&Self>, at: &mut Binder) -> P {
        word.map_or(P::new(0), |word| at.join(&word.0).cast())
    }
}

/// Positions and charges on the device.
///
/// A slot is four words: the upper halves of the three fractions of the cell, and the kind of particle or `u32::MAX`
/// for none. A mesh of `f64` also takes their lower halves.
#[derive(Clone, Debug)]
pub struct Particles {
    pub(super) bundle: Bundle<MeshParticles>,
    pub(super) slots: usize,
    pub(super) double: bool,
}

impl Particles {
    /// All slots of `pos`, with the charge of each kind.
    pub fn new<M: MeshNumber>(pos: &Buffer<u32>, charges: &Buffer<M>) -> Self {
        Self::halves((pos, None), pos.len() / 4, None, None, charges)
    }

    /// `slots` of each of two halves of `pos`, and of the lower halves of fractions, axis by axis; `parity` says which
    /// is now, `used` how many units of how many slots are in use.
    pub fn halves<M: MeshNumber>(
        (pos, low): (&Buffer<u32>, Option<&Buffer<u32>>),
        slots: usize,
        parity: Option<&Word>,
        used: Option<(&Word, u32)>,
        charges: &Buffer<M>,
    ) -> Self {
        let mut at = Binder::default();
        let addresses = MeshParticles {
            pos: at.address(pos),
            low: low
                .filter(|_| M::DOUBLE)
                .map_or(ConstAddress::default(), |low| at.address(low)),
            charges: at.address_as(charges),
            parity: Word::address(parity, &mut at),
            used: Word::address(used.map(|used| used.0), &mut at),
            rest: ConstAddress::default(),
            slots: slots as u32,
            unit: used.map_or(0, |used| used.1),
        };
        Self {
            bundle: at.bundle(addresses),
            slots,
            double: M::DOUBLE,
        }
    }

    /// Slots, with a particle or without.
    pub fn slots(&self) -> usize {
        self.slots
    }

    /// Whether charges are in double precision.
    pub fn is_double(&self) -> bool {
        self.double
    }

    /// The same, for kernels that spread or gather and do nothing while a word is not zero. (What they add to is
    /// cleared all the same, where that is done by others.)
    pub fn unless(&self, rest: &Word) -> Self {
        let mut at = Binder::default();
        let mut addresses = at.join(&self.bundle);
        addresses.rest = Word::address(Some(rest), &mut at);
        Self {
            bundle: at.bundle(addresses),
            ..*self
        }
    }

    pub(super) fn check<M: MeshNumber>(&self) -> Result<(), CudaError> {
        if self.double == M::DOUBLE {
            return Ok(());
        }
        let reason = "charges of another precision than the mesh";
        Err(CudaError::shape("debye_mesh", reason))
    }
}
