//! Evaluates a [`Tape`] in any [`Real`]: `f64`, `f32`, lanes, [`super::Dual`], even symbols again.

use super::{Binary, Node, Real, Table, Tape, Unary};

#[inline(always)]
pub(super) fn apply_unary<R: Real>(op: Unary, a: R) -> R {
    match op {
        Unary::Neg => -a,
        Unary::Recip => a.recip(),
        Unary::Sqrt => a.sqrt(),
        Unary::Exp => a.exp(),
        Unary::Ln => a.ln(),
        Unary::Sin => a.sin(),
        Unary::Cos => a.cos(),
        Unary::Acos => a.acos(),
        Unary::Erfc => a.erfc(),
        Unary::Screened => a.screened(),
        Unary::RealSpaceForce => a.real_space_force(),
    }
}

#[inline(always)]
pub(super) fn apply_binary<R: Real>(op: Binary, a: R, b: R) -> R {
    match op {
        Binary::Add => a + b,
        Binary::Sub => a - b,
        Binary::Mul => a * b,
        Binary::Div => a / b,
        Binary::Atan2 => a.atan2(b),
        Binary::ErfcBeside => a.erfc_beside(b),
    }
}

/// The value of a line: a number, or an index into a table.
#[derive(Clone, Copy)]
enum Slot<R: Real> {
    Number(R),
    Index(R::Index),
}

impl Tape {
    /// The outputs for these inputs. Of the tables, the first is the one the recorded function
    /// looked into first, and so on.
    ///
    /// # Panics
    /// Where there are fewer inputs or tables than the tape has.
    pub fn evaluate<R: Real>(&self, inputs: &[R], tables: &[&Table]) -> Vec<R> {
        self.evaluate_with(inputs, tables, apply_unary, apply_binary)
    }

    /// The same with `unary` and `binary` for operations of one number and of two.
    pub(super) fn evaluate_with<R: Real>(
        &self,
        inputs: &[R],
        tables: &[&Table],
        unary: impl Fn(Unary, R) -> R,
        binary: impl Fn(Binary, R, R) -> R,
    ) -> Vec<R> {
        let values = self.lines_with(inputs, tables, unary, binary);
        self.outputs
            .iter()
            .map(|&(_, place)| values[place as usize])
            .collect()
    }

    /// The line of an output.
    pub(crate) fn output(&self, k: usize) -> usize {
        self.outputs[k].1 as usize
    }

    /// The value of every line; of an index, zero.
    pub(crate) fn evaluate_lines<R: Real>(&self, inputs: &[R], tables: &[&Table]) -> Vec<R> {
        self.lines_with(inputs, tables, apply_unary, apply_binary)
    }

    fn lines_with<R: Real>(
        &self,
        inputs: &[R],
        tables: &[&Table],
        unary: impl Fn(Unary, R) -> R,
        binary: impl Fn(Binary, R, R) -> R,
    ) -> Vec<R> {
        assert!(
            inputs.len() >= self.inputs(),
            "{} inputs of {}",
            inputs.len(),
            self.inputs()
        );
        assert!(
            tables.len() >= self.tables(),
            "{} tables of {}",
            tables.len(),
            self.tables()
        );
        let mut slots: Vec<Slot<R>> = Vec::with_capacity(self.nodes.len());
        for &node in &self.nodes {
            let slot = evaluate_line(node, &slots, inputs, tables, &unary, &binary);
            slots.push(slot);
        }
        let number = |slot: Slot<R>| match slot {
            Slot::Number(x) => x,
            Slot::Index(_) => R::lit(0.0),
        };
        slots.into_iter().map(number).collect()
    }
}

impl Node {
    /// The value of a line of a tape without tables, from those before it.
    #[inline(always)]
    pub(crate) fn of_numbers<R: Real>(self, inputs: &[R], lines: &[R]) -> R {
        let line = |place: u32| lines[place as usize];
        match self {
            Self::Input(i) => inputs[i as usize],
            Self::Constant(bits) => R::lit(f64::from_bits(bits)),
            Self::Unary(op, a) => apply_unary(op, line(a)),
            Self::Binary(op, a, b) => apply_binary(op, line(a), line(b)),
            Self::MulAdd(a, b, c) => line(a).mul_add(line(b), line(c)),
            Self::SelectLt([a, b, yes, no]) => R::select_lt(line(a), line(b), line(yes), line(no)),
            // Only tables are looked up by an index.
            Self::Floor(_) | Self::Gather { .. } => R::lit(f64::NAN),
            Self::Rest(a) => line(a).split().1,
        }
    }
}

fn evaluate_line<R: Real>(
    node: Node,
    slots: &[Slot<R>],
    inputs: &[R],
    tables: &[&Table],
    unary: &impl Fn(Unary, R) -> R,
    binary: &impl Fn(Binary, R, R) -> R,
) -> Slot<R> {
    let number = |place: u32| match slots[place as usize] {
        Slot::Number(x) => x,
        Slot::Index(_) => unreachable!("only a gather reads an index"),
    };
    Slot::Number(match node {
        Node::Input(i) => inputs[i as usize],
        Node::Constant(bits) => R::lit(f64::from_bits(bits)),
        Node::Unary(op, a) => unary(op, number(a)),
        Node::Binary(op, a, b) => binary(op, number(a), number(b)),
        Node::MulAdd(a, b, c) => number(a).mul_add(number(b), number(c)),
        Node::SelectLt([a, b, yes, no]) => R::select_lt(number(a), number(b), number(yes), number(no)),
        Node::Floor(a) => return Slot::Index(number(a).split().0),
        Node::Rest(a) => number(a).split().1,
        Node::Gather { table, index, offset } => match slots[index as usize] {
            Slot::Index(index) => R::gather(tables[table as usize], index, offset as usize),
            Slot::Number(_) => unreachable!("a gather reads an index"),
        },
    })
}
