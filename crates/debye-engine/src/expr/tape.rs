//! [`Tape`]: a formula as a list of operations in static single assignment.
//!
//! A tape is made by calling a generic function with [`Sym`]bols. It can be evaluated in any
//! [`super::Real`] (`interpret.rs`), differentiated by all its inputs at once (`gradient.rs`) and
//! printed as a CUDA device function (`emit_cuda.rs`).

use std::collections::BTreeMap;

use super::recorder;
use super::{Real, Sym, Table};

/// An operation of one number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Unary {
    /// −x.
    Neg,
    /// 1/x.
    Recip,
    /// √x.
    Sqrt,
    /// eˣ.
    Exp,
    /// ln x.
    Ln,
    /// sin x.
    Sin,
    /// cos x.
    Cos,
    /// arccos x.
    Acos,
    /// erfc x.
    Erfc,
    /// erfc(√x)/√x.
    Screened,
    /// −2 times its derivative.
    RealSpaceForce,
}

/// An operation of two numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Binary {
    /// a + b.
    Add,
    /// a − b.
    Sub,
    /// a b.
    Mul,
    /// a / b.
    Div,
    /// Angle of the point (b, a).
    Atan2,
    /// erfc a, where b = exp(−a²).
    ErfcBeside,
}

/// One line of a tape. Operands are the places of earlier lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Node {
    /// An argument of the function.
    Input(u32),
    /// A number, by its bits so that it can be compared and hashed.
    Constant(u64),
    /// f(a).
    Unary(Unary, u32),
    /// f(a, b).
    Binary(Binary, u32, u32),
    /// a b + c.
    MulAdd(u32, u32, u32),
    /// a < b ? yes : no, as [a, b, yes, no].
    SelectLt([u32; 4]),
    /// ⌊a⌋ as an index; negative ones become zero.
    Floor(u32),
    /// a − ⌊a⌋.
    Rest(u32),
    /// table[index + offset].
    Gather {
        /// Which of the tape's tables.
        table: u32,
        /// The line of the index.
        index: u32,
        /// Added to the index.
        offset: u32,
    },
}

impl Node {
    /// The places of the lines this one reads.
    pub fn operands(&self) -> impl Iterator<Item = usize> + use<> {
        let places = match *self {
            Self::Input(_) | Self::Constant(_) => [None; 4],
            Self::Unary(_, a) | Self::Floor(a) | Self::Rest(a) => [Some(a), None, None, None],
            Self::Gather { index, .. } => [Some(index), None, None, None],
            Self::Binary(_, a, b) => [Some(a), Some(b), None, None],
            Self::MulAdd(a, b, c) => [Some(a), Some(b), Some(c), None],
            Self::SelectLt(four) => four.map(Some),
        };
        places.into_iter().flatten().map(|place| place as usize)
    }

    fn moved(self, to: &[u32]) -> Self {
        let to = |place: u32| to[place as usize];
        match self {
            Self::Input(_) | Self::Constant(_) => self,
            Self::Unary(op, a) => Self::Unary(op, to(a)),
            Self::Binary(op, a, b) => Self::Binary(op, to(a), to(b)),
            Self::MulAdd(a, b, c) => Self::MulAdd(to(a), to(b), to(c)),
            Self::SelectLt(four) => Self::SelectLt(four.map(to)),
            Self::Floor(a) => Self::Floor(to(a)),
            Self::Rest(a) => Self::Rest(to(a)),
            Self::Gather { table, index, offset } => Self::Gather {
                table,
                index: to(index),
                offset,
            },
        }
    }

    /// What the operation is called in a count; `None` for inputs and constants.
    pub fn operation(&self) -> Option<&'static str> {
        Some(match self {
            Self::Input(_) | Self::Constant(_) => return None,
            Self::Unary(op, _) => match op {
                Unary::Neg => "neg",
                Unary::Recip => "recip",
                Unary::Sqrt => "sqrt",
                Unary::Exp => "exp",
                Unary::Ln => "ln",
                Unary::Sin => "sin",
                Unary::Cos => "cos",
                Unary::Acos => "acos",
                Unary::Erfc => "erfc",
                Unary::Screened | Unary::RealSpaceForce => "screened",
            },
            Self::Binary(op, ..) => match op {
                Binary::Add | Binary::Sub => "add",
                Binary::Mul => "mul",
                Binary::Div => "div",
                Binary::Atan2 => "atan2",
                Binary::ErfcBeside => "erfc",
            },
            Self::MulAdd(..) => "fma",
            Self::SelectLt(_) => "select",
            Self::Floor(_) | Self::Rest(_) => "floor",
            Self::Gather { .. } => "gather",
        })
    }
}

/// A recorded function of some numbers, with some results.
#[derive(Clone, Debug)]
pub struct Tape {
    pub(super) nodes: Vec<Node>,
    pub(super) inputs: Vec<String>,
    pub(super) outputs: Vec<(String, u32)>,
    pub(super) tables: usize,
}

impl Tape {
    /// Records what `function` does with `inputs` symbols. Common subexpressions are merged,
    /// constants folded, and lines that no output needs are left out.
    pub fn record(inputs: usize, function: impl FnOnce(&[Sym]) -> Vec<Sym>) -> Self {
        let (nodes, outputs, tables) = recorder::record(inputs, function);
        let tape = Self {
            nodes,
            inputs: (0..inputs).map(|i| format!("in{i}")).collect(),
            outputs: (outputs.into_iter().enumerate())
                .map(|(i, place)| (format!("out{i}"), place))
                .collect(),
            tables,
        };
        tape.without_dead_code()
    }

    /// The same tape with names for its inputs and outputs, as they appear in printed code. Names
    /// beyond the tape's own number are ignored, missing ones keep their default.
    pub fn named(mut self, inputs: &[&str], outputs: &[&str]) -> Self {
        for (name, new) in self.inputs.iter_mut().zip(inputs) {
            *name = (*new).to_owned();
        }
        for ((name, _), new) in self.outputs.iter_mut().zip(outputs) {
            *name = (*new).to_owned();
        }
        self
    }

    /// The lines, operands before their users.
    pub fn nodes(&self) -> &[Node] {
        &self.nodes
    }

    /// How many numbers the function takes.
    pub fn inputs(&self) -> usize {
        self.inputs.len()
    }

    /// How many numbers it returns.
    pub fn outputs(&self) -> usize {
        self.outputs.len()
    }

    /// How many tables it looks things up in.
    pub fn tables(&self) -> usize {
        self.tables
    }

    /// How many operations it does; inputs and constants are not operations.
    pub fn operations(&self) -> usize {
        self.nodes
            .iter()
            .filter(|node| node.operation().is_some())
            .count()
    }

    /// How many operations it does of each kind.
    pub fn operation_counts(&self) -> BTreeMap<&'static str, usize> {
        let mut counts = BTreeMap::new();
        for name in self.nodes.iter().filter_map(Node::operation) {
            *counts.entry(name).or_insert(0) += 1;
        }
        counts
    }

    /// The same function where some inputs are known: lines that follow from these alone are folded. The other inputs keep
    /// their order.
    pub(crate) fn with_known(&self, known: &[Option<f64>]) -> Self {
        let open: Vec<usize> = (0..self.inputs())
            .filter(|&i| known.get(i).copied().flatten().is_none())
            .collect();
        let tables: Vec<Table> = (0..self.tables).map(|_| Table::default()).collect();
        let tables_by_reference: Vec<&Table> = tables.iter().collect();
        let mut tape = Self::record(open.len(), |given| {
            recorder::declare_tables(&tables);
            let mut given = given.iter();
            let input = |i: usize| match known.get(i).copied().flatten() {
                Some(x) => Sym::lit(x),
                None => given.next().copied().unwrap_or_else(|| Sym::lit(0.0)),
            };
            let inputs: Vec<Sym> = (0..self.inputs()).map(input).collect();
            self.evaluate(&inputs, &tables_by_reference)
        });
        tape.inputs = open.iter().map(|&i| self.inputs[i].clone()).collect();
        for (to, from) in tape.outputs.iter_mut().zip(&self.outputs) {
            to.0.clone_from(&from.0);
        }
        tape
    }

    /// What an output is, where it is always the same.
    pub(crate) fn constant_output(&self, k: usize) -> Option<f64> {
        match self.nodes[self.output(k)] {
            Node::Constant(bits) => Some(f64::from_bits(bits)),
            _ => None,
        }
    }

    /// Keeps the lines that the outputs depend on.
    fn without_dead_code(mut self) -> Self {
        let mut alive = vec![false; self.nodes.len()];
        for &(_, place) in &self.outputs {
            alive[place as usize] = true;
        }
        for place in (0..self.nodes.len()).rev() {
            if alive[place] {
                self.nodes[place]
                    .operands()
                    .for_each(|operand| alive[operand] = true);
            }
        }
        let mut to = vec![u32::MAX; self.nodes.len()];
        let mut kept = Vec::new();
        for (place, node) in self.nodes.iter().enumerate().filter(|&(place, _)| alive[place]) {
            to[place] = kept.len() as u32;
            kept.push(node.moved(&to));
        }
        self.nodes = kept;
        for (_, place) in &mut self.outputs {
            *place = to[*place as usize];
        }
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::expr::Real;

    #[test]
    fn common_subexpressions_are_merged_and_dead_code_dropped() {
        let tape = Tape::record(2, |x| {
            let _unused = x[0].exp();
            vec![(x[0] * x[1]).sin() + (x[1] * x[0]).sin()]
        });
        assert_eq!(tape.operations(), 3, "mul, sin, add: {:?}", tape.nodes());
    }

    #[test]
    fn constants_and_neutral_elements_vanish() {
        let tape = Tape::record(1, |x| {
            let zero = Sym::lit(0.0);
            let one = Sym::lit(1.0);
            let y = -(-(x[0] * one + zero - zero));
            vec![
                y / one + zero * x[0].exp(),
                (Sym::lit(2.0) + Sym::lit(3.0)).sqrt(),
                x[0].mul_add(one, zero),
            ]
        });
        assert_eq!(tape.operations(), 0, "{:?}", tape.nodes());
        assert_eq!(tape.evaluate(&[7.0], &[]), [7.0, 5.0_f64.sqrt(), 7.0]);
    }

    #[test]
    fn signs_move_into_sums() {
        let tape = Tape::record(2, |x| {
            vec![x[0] + -x[1], (-x[0]) * (-x[1]), -(x[0] - x[1]), x[0] - -x[1]]
        });
        assert_eq!(tape.operation_counts(), BTreeMap::from([("add", 3), ("mul", 1)]));
        assert_eq!(tape.evaluate(&[5.0, 3.0], &[]), [2.0, 15.0, -2.0, 8.0]);
    }

    #[test]
    fn infinities_are_not_made_while_folding() {
        let tape = Tape::record(0, |_| vec![Sym::lit(0.0).recip()]);
        assert_eq!(tape.operations(), 1);
        assert_eq!(tape.evaluate::<f64>(&[], &[]), [f64::INFINITY]);
    }
}
