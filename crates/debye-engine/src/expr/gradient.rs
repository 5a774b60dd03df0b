//! Derivatives of a [`Tape`] by all its inputs at once: a reverse sweep over its lines.
//!
//! The cost is a small multiple of the tape's own, whatever the number of inputs; a forward
//! [`super::Dual`] costs that much for each of them (Griewank & Walther, Evaluating Derivatives, 2008).

use super::recorder::declare_tables;
use super::{Binary, Node, Real, Sym, Table, Tape, Unary};

impl Tape {
    /// A tape whose outputs are the derivatives of one output by each input.
    ///
    /// # Panics
    /// Where there is no such output.
    pub fn gradient(&self, output: usize) -> Self {
        self.differentiated(output, self.inputs(), false)
    }

    /// A tape whose outputs are one output, then its derivatives by each input.
    ///
    /// # Panics
    /// Where there is no such output.
    pub fn value_and_gradient(&self, output: usize) -> Self {
        self.value_and_gradient_by(output, self.inputs())
    }

    /// A tape whose outputs are one output, then its derivatives by the first so many inputs.
    ///
    /// # Panics
    /// Where there is no such output.
    pub fn value_and_gradient_by(&self, output: usize, inputs: usize) -> Self {
        self.differentiated(output, inputs, true)
    }

    fn differentiated(&self, output: usize, by: usize, with_value: bool) -> Self {
        let last = self.outputs[output].1 as usize;
        // The values are not looked at while recording, only which table it is.
        let tables: Vec<Table> = (0..self.tables).map(|_| Table::default()).collect();
        let tables_by_reference: Vec<&Table> = tables.iter().collect();
        let mut tape = Self::record(self.inputs(), |inputs| {
            declare_tables(&tables);
            let values = self.evaluate_lines(inputs, &tables_by_reference);
            let mut sweep = Sweep {
                values,
                adjoints: vec![None; last + 1],
            };
            sweep.add(last as u32, Sym::lit(1.0));
            for place in (0..=last).rev() {
                if let Some(weight) = sweep.adjoints[place] {
                    sweep.step(self.nodes[place], place, weight);
                }
            }
            let value = with_value.then(|| sweep.values[last]);
            let partials = (0..by).map(|i| {
                let line = self.nodes[..=last]
                    .iter()
                    .position(|&node| node == Node::Input(i as u32));
                line.and_then(|line| sweep.adjoints[line])
                    .unwrap_or_else(|| Sym::lit(0.0))
            });
            value.into_iter().chain(partials).collect()
        });
        tape.name_partials(self, output, with_value);
        tape
    }

    fn name_partials(&mut self, of: &Self, output: usize, with_value: bool) {
        let name = &of.outputs[output].0;
        let value = with_value.then(|| name.clone());
        let partials = of.inputs.iter().map(|input| format!("d_{name}_d_{input}"));
        for (slot, name) in self.outputs.iter_mut().zip(value.into_iter().chain(partials)) {
            slot.0 = name;
        }
        self.inputs.clone_from(&of.inputs);
    }
}

/// The derivative of the output by every line, filled from the last line to the first.
struct Sweep {
    values: Vec<Sym>,
    adjoints: Vec<Option<Sym>>,
}

impl Sweep {
    fn value(&self, place: u32) -> Sym {
        self.values[place as usize]
    }

    fn add(&mut self, place: u32, amount: Sym) {
        let slot = &mut self.adjoints[place as usize];
        *slot = Some(slot.map_or(amount, |sum| sum + amount));
    }

    /// Hands the weight of a line on to its operands.
    fn step(&mut self, node: Node, place: usize, weight: Sym) {
        let result = self.values[place];
        match node {
            Node::Input(_) | Node::Constant(_) | Node::Floor(_) | Node::Gather { .. } => {}
            Node::Unary(op, a) => self.add(a, weight * unary_derivative(op, self.value(a), result)),
            Node::Binary(op, a, b) => self.binary(op, a, b, result, weight),
            Node::MulAdd(a, b, c) => {
                let (x, y) = (self.value(a), self.value(b));
                self.add(a, weight * y);
                self.add(b, weight * x);
                self.add(c, weight);
            }
            Node::SelectLt([a, b, yes, no]) => {
                let (x, y, zero) = (self.value(a), self.value(b), Sym::lit(0.0));
                self.add(yes, Sym::select_lt(x, y, weight, zero));
                self.add(no, Sym::select_lt(x, y, zero, weight));
            }
            Node::Rest(a) => self.add(a, weight),
        }
    }

    fn binary(&mut self, op: Binary, a: u32, b: u32, result: Sym, weight: Sym) {
        let (x, y) = (self.value(a), self.value(b));
        let (to_a, to_b) = match op {
            Binary::Add => (weight, weight),
            Binary::Sub => (weight, -weight),
            Binary::Mul => (weight * y, weight * x),
            Binary::Div => {
                let share = weight / y;
                (share, -(share * result))
            }
            Binary::Atan2 => {
                let share = weight / (x * x + y * y);
                (share * y, -(share * x))
            }
            // The Gaussian is there only to save work: the whole derivative is that of erfc.
            Binary::ErfcBeside => (
                weight * y * Sym::lit(-std::f64::consts::FRAC_2_SQRT_PI),
                Sym::lit(0.0),
            ),
        };
        self.add(a, to_a);
        self.add(b, to_b);
    }
}

fn unary_derivative(op: Unary, x: Sym, result: Sym) -> Sym {
    let one = Sym::lit(1.0);
    match op {
        Unary::Neg => -one,
        Unary::Recip => -(result * result),
        Unary::Sqrt => Sym::lit(0.5) / result,
        Unary::Exp => result,
        Unary::Ln => x.recip(),
        Unary::Sin => x.cos(),
        Unary::Cos => -x.sin(),
        Unary::Acos => -((one - x * x).sqrt().recip()),
        Unary::Erfc => Sym::lit(-std::f64::consts::FRAC_2_SQRT_PI) * (-(x * x)).exp(),
        Unary::Screened => x.real_space_force() * Sym::lit(-0.5),
        Unary::RealSpaceForce => {
            let gaussian = (-x).exp() * Sym::lit(2.0 * std::f64::consts::FRAC_2_SQRT_PI);
            (result * Sym::lit(3.0) + gaussian) / (x * Sym::lit(-2.0))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::expr::Dual;

    fn formula<R: Real>(x: &[R], table: &Table) -> R {
        let (index, rest) = (x[0] * R::lit(2.0)).split();
        let looked_up = R::gather(table, index, 0) + rest * R::gather(table, index, 1);
        let trigonometry = (x[0] * x[1]).sin() + x[1].cos().atan2(x[2]) + (x[2] * R::lit(0.1)).acos();
        let others = x[0].sqrt() / x[1] + x[2].ln() * x[1].exp() - x[0].erfc() + x[1].recip();
        let select =
            R::select_lt(x[0], x[1], x[2] * x[0], x[1].powi(3)) - R::select_lt(x[1], x[0], x[2], x[0]);
        trigonometry + others.mul_add(x[2], select) + looked_up
    }

    #[test]
    fn reverse_equals_forward() {
        let table = Table::new(vec![0.5, -1.0, 2.0, 7.0, 3.0, 1.0, 0.0, 4.0]);
        let gradient = Tape::record(3, |x| vec![formula(x, &table)]).value_and_gradient(0);
        for x in [[1.2, 0.7, 2.1], [0.4, 1.9, 0.3]] {
            let reverse = gradient.evaluate(&x, &[&table]);
            assert_eq!(reverse[0], formula(&x, &table));
            for i in 0..3 {
                let mut duals = x.map(Dual::constant);
                duals[i] = Dual::variable(x[i]);
                let forward = formula(&duals, &table).derivative;
                assert!(
                    (reverse[i + 1] - forward).abs() < 1e-13 * (1.0 + forward.abs()),
                    "{i}: {reverse:?} {forward}"
                );
            }
        }
    }

    #[test]
    fn one_sweep_is_cheaper_than_many_duals() {
        let product = |x: &[Sym]| vec![x.iter().fold(Sym::lit(1.0), |p, &x| p * x.exp())];
        let tape = Tape::record(20, product);
        assert!(tape.gradient(0).operations() < 5 * tape.operations());
    }
}
