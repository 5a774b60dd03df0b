//! Prints a [`Tape`] as a CUDA C++ device function.
//!
//! The text needs no header (a bare NVRTC has none): only types and functions that are built in.
//! Literals are the shortest decimals that read back as the same number in the function's precision.

use std::fmt::Write;

use super::erfc::{erfc_beside, real_space_force, screened};
use super::interpret::{apply_binary, apply_unary};
use super::recorder::declare_tables;
use super::{Binary, Node, Table, Tape, Unary};

/// The type of the numbers in printed code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CudaReal {
    /// 32 bits.
    Float,
    /// 64 bits.
    Double,
}

impl CudaReal {
    /// The type's name in CUDA C++.
    pub fn name(self) -> &'static str {
        match self {
            Self::Float => "float",
            Self::Double => "double",
        }
    }

    /// A function of the CUDA mathematics library: `sqrtf` or `sqrt`.
    fn function(self, name: &str) -> String {
        match self {
            Self::Float => format!("{name}f"),
            Self::Double => name.to_owned(),
        }
    }

    fn literal(self, x: f64) -> String {
        match self {
            Self::Float if (x as f32).is_finite() => format!("{:?}f", x as f32),
            Self::Float => format!("__int_as_float(0x{:08x})", (x as f32).to_bits()),
            Self::Double if x.is_finite() => format!("{x:?}"),
            Self::Double => format!("__longlong_as_double(0x{:016x}ll)", x.to_bits()),
        }
    }
}

/// What is known of the numbers that a function of a pair will be given.
#[derive(Clone, Copy, Debug)]
pub(crate) struct KnownInputs<'a> {
    /// Nobody looks at what comes out where the first input is not below this.
    pub(crate) below: f64,
    /// Inputs that are always the same.
    pub(crate) always: &'a [Option<f64>],
}

impl Tape {
    /// `__device__ __forceinline__ void name(const real in0, …, real &out0)` in CUDA C++.
    ///
    /// Each table the tape looks into adds `const real* __restrict__ table, const int table_size`
    /// after the inputs (`table0`, `table1`, … where there are several); an index past the end
    /// reads the last value, as it does on the CPU.
    pub fn to_cuda(&self, name: &str, real: CudaReal) -> String {
        self.printed(name, real, None)
    }

    /// The same for pairs, of which there are many: without comparisons that can have but one outcome, and with quotients to
    /// two units in the last place that are zero where they are divided by more than 2¹²⁶.
    pub(crate) fn to_cuda_for_pairs(&self, name: &str, real: CudaReal, given: KnownInputs<'_>) -> String {
        self.printed(name, real, Some(given))
    }

    fn printed(&self, name: &str, real: CudaReal, given: Option<KnownInputs<'_>>) -> String {
        let short = |node: &Node| {
            matches!(
                node,
                Node::Binary(Binary::ErfcBeside, ..)
                    | Node::Unary(Unary::Screened | Unary::RealSpaceForce, _)
            )
        };
        if self.nodes.iter().any(short) {
            return self.spelled_out(real).printed(name, real, given);
        }
        let tape = self;
        let printer = Printer { tape, real, given };
        let mut text = format!("// {}\n", printer.summary());
        let _ = writeln!(
            text,
            "__device__ __forceinline__ void {name}({})\n{{",
            printer.arguments()
        );
        let needed = printer.lines_needed();
        for (place, node) in self.nodes.iter().enumerate() {
            if needed[place] && node.operation().is_some() {
                let sort = if matches!(node, Node::Floor(_)) {
                    "int"
                } else {
                    real.name()
                };
                let _ = writeln!(text, "    const {sort} v{place} = {};", printer.expression(*node));
            }
        }
        for (name, place) in &self.outputs {
            let _ = writeln!(text, "    {name} = {};", printer.operand(*place));
        }
        text.push_str("}\n");
        text
    }

    /// With what a precision needs in place of every erfc beside a Gaussian and of what a cloud leaves.
    fn spelled_out(&self, real: CudaReal) -> Self {
        let tables: Vec<Table> = (0..self.tables).map(|_| Table::default()).collect();
        let tables_by_reference: Vec<&Table> = tables.iter().collect();
        let mut tape = Self::record(self.inputs(), |inputs| {
            declare_tables(&tables);
            let double = real == CudaReal::Double;
            self.evaluate_with(
                inputs,
                &tables_by_reference,
                |op, a| match op {
                    Unary::Screened => screened(double, a),
                    Unary::RealSpaceForce => real_space_force(double, a),
                    _ => apply_unary(op, a),
                },
                |op, a, b| match op {
                    Binary::ErfcBeside => erfc_beside(double, a, b),
                    _ => apply_binary(op, a, b),
                },
            )
        });
        tape.inputs.clone_from(&self.inputs);
        for (to, from) in tape.outputs.iter_mut().zip(&self.outputs) {
            to.0.clone_from(&from.0);
        }
        tape
    }
}

struct Printer<'a> {
    tape: &'a Tape,
    real: CudaReal,
    given: Option<KnownInputs<'a>>,
}

impl Printer<'_> {
    /// Whether the first input, or a multiple of it, is below a constant wherever it matters.
    fn always_below(&self, x: u32, limit: u32) -> bool {
        let Some(given) = self.given else { return false };
        let value = |place: u32| match self.tape.nodes[place as usize] {
            Node::Constant(bits) => Some(f64::from_bits(bits)),
            Node::Input(i) => given.always.get(i as usize).copied().flatten(),
            _ => None,
        };
        let is_first = |place: u32| matches!(self.tape.nodes[place as usize], Node::Input(0));
        let times = match self.tape.nodes[x as usize] {
            Node::Binary(Binary::Mul, a, b) if is_first(a) => value(b),
            Node::Binary(Binary::Mul, a, b) if is_first(b) => value(a),
            Node::Input(0) => Some(1.0),
            _ => None,
        };
        // With room for the rounding of the product.
        match (times, self.tape.nodes[limit as usize]) {
            (Some(times), Node::Constant(bits)) => {
                times >= 0.0 && given.below * times * (1.0 + 1e-6) < f64::from_bits(bits)
            }
            _ => false,
        }
    }

    fn summary(&self) -> String {
        let counts = self.tape.operation_counts();
        let list: Vec<String> = counts
            .iter()
            .map(|(name, count)| format!("{count} {name}"))
            .collect();
        format!("{} operations: {}", self.tape.operations(), list.join(", "))
    }

    /// The list of arguments: on one line where it is short, else inputs, tables and outputs apart.
    fn arguments(&self) -> String {
        let real = self.real.name();
        let inputs = self.tape.inputs.iter().map(|name| format!("const {real} {name}"));
        let tables = (0..self.tape.tables).map(|i| {
            let table = self.table(i as u32);
            format!("const {real}* __restrict__ {table}, const int {table}_size")
        });
        let outputs = self
            .tape
            .outputs
            .iter()
            .map(|(name, _)| format!("{real} &{name}"));
        let groups: [Vec<String>; 3] = [inputs.collect(), tables.collect(), outputs.collect()];
        let short = groups.iter().flatten().map(String::len).sum::<usize>() < 80;
        let lines = groups
            .iter()
            .filter(|group| !group.is_empty())
            .map(|group| group.join(", "));
        let lines: Vec<String> = lines.collect();
        if short {
            lines.join(", ")
        } else {
            format!("\n    {}", lines.join(",\n    "))
        }
    }

    fn table(&self, i: u32) -> String {
        if self.tape.tables == 1 {
            "table".to_owned()
        } else {
            format!("table{i}")
        }
    }

    /// A root that is only divided by is part of an `rsqrt`; every other line is printed.
    fn lines_needed(&self) -> Vec<bool> {
        let mut needed = vec![false; self.tape.nodes.len()];
        for (_, place) in &self.tape.outputs {
            needed[*place as usize] = true;
        }
        for (place, &node) in self.tape.nodes.iter().enumerate().rev() {
            if needed[place] {
                match (node, self.divided_by_root(node)) {
                    (Node::Binary(_, a, _), Some(inner)) => {
                        [a, inner]
                            .into_iter()
                            .for_each(|operand| needed[operand as usize] = true);
                    }
                    (_, Some(inner)) => needed[inner as usize] = true,
                    (_, None) => node.operands().for_each(|operand| needed[operand] = true),
                }
            }
        }
        needed
    }

    /// x where the line is 1/√x or a/√x: `rsqrt` is one instruction, a division about ten.
    fn divided_by_root(&self, node: Node) -> Option<u32> {
        let (Node::Unary(Unary::Recip, divisor) | Node::Binary(Binary::Div, _, divisor)) = node else {
            return None;
        };
        match self.tape.nodes[divisor as usize] {
            Node::Unary(Unary::Sqrt, inner) => Some(inner),
            _ => None,
        }
    }

    fn operand(&self, place: u32) -> String {
        match self.tape.nodes[place as usize] {
            Node::Input(i) => self.tape.inputs[i as usize].clone(),
            Node::Constant(bits) => self.real.literal(f64::from_bits(bits)),
            _ => format!("v{place}"),
        }
    }

    fn call(&self, function: &str, operands: &[u32]) -> String {
        let operands: Vec<String> = operands.iter().map(|&place| self.operand(place)).collect();
        format!("{}({})", self.real.function(function), operands.join(", "))
    }

    fn expression(&self, node: Node) -> String {
        let o = |place: u32| self.operand(place);
        match node {
            Node::Input(_) | Node::Constant(_) => String::new(),
            Node::Unary(op, a) => self.unary(op, a, node),
            Node::Binary(op, a, b) => match op {
                Binary::Add => format!("{} + {}", o(a), o(b)),
                Binary::Sub => format!("{} - {}", o(a), o(b)),
                Binary::Mul => format!("{} * {}", o(a), o(b)),
                Binary::Div => match self.divided_by_root(node) {
                    Some(inner) => format!("{} * {}", o(a), self.call("rsqrt", &[inner])),
                    None if self.given.is_some() && self.real == CudaReal::Float => {
                        format!("__fdividef({}, {})", o(a), o(b))
                    }
                    None => format!("{} / {}", o(a), o(b)),
                },
                Binary::Atan2 => self.call("atan2", &[a, b]),
                // Spelled out before it comes here.
                Binary::ErfcBeside => self.call("erfc", &[a]),
            },
            Node::MulAdd(a, b, c) => self.call("fma", &[a, b, c]),
            Node::SelectLt([a, b, yes, _]) if self.always_below(a, b) => o(yes),
            Node::SelectLt([a, b, yes, no]) => format!("{} < {} ? {} : {}", o(a), o(b), o(yes), o(no)),
            // The upper bound keeps index + offset from overflowing.
            Node::Floor(a) => format!("max(0, min((int){}, 1 << 30))", self.call("floor", &[a])),
            Node::Rest(a) => format!("{} - {}", o(a), self.call("floor", &[a])),
            Node::Gather { table, index, offset } => {
                let table = self.table(table);
                format!("{table}[min({} + {offset}, {table}_size - 1)]", o(index))
            }
        }
    }

    fn unary(&self, op: Unary, a: u32, node: Node) -> String {
        let name = match op {
            Unary::Neg => return format!("-{}", self.operand(a)),
            Unary::Recip => {
                return match self.divided_by_root(node) {
                    Some(inner) => self.call("rsqrt", &[inner]),
                    None => format!("{} / {}", self.real.literal(1.0), self.operand(a)),
                };
            }
            Unary::Sqrt => "sqrt",
            Unary::Exp => "exp",
            Unary::Ln => "log",
            Unary::Sin => "sin",
            Unary::Cos => "cos",
            Unary::Acos => "acos",
            Unary::Erfc => "erfc",
            // Spelled out before they come here.
            Unary::Screened | Unary::RealSpaceForce => "erfc",
        };
        self.call(name, &[a])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::expr::{Real, Sym, Table};

    #[test]
    fn a_formula_as_text() {
        let tape =
            Tape::record(2, |x| vec![x[0].sqrt().recip() * x[1] + Sym::lit(0.1)]).named(&["r2", "q"], &["u"]);
        let expected = "\
// 4 operations: 1 add, 1 mul, 1 recip, 1 sqrt
__device__ __forceinline__ void f(const float r2, const float q, float &u)
{
    const float v3 = rsqrtf(r2);
    const float v4 = q * v3;
    const float v6 = v4 + 0.1f;
    u = v6;
}
";
        assert_eq!(tape.to_cuda("f", CudaReal::Float), expected);
        assert!(
            tape.to_cuda("f", CudaReal::Double)
                .contains("const double v6 = v4 + 0.1;")
        );
    }

    #[test]
    fn pairs_are_spared_what_cannot_happen() {
        let tape = Tape::record(2, |x| {
            let far = Sym::select_lt(x[0] * x[1], Sym::lit(16.0), x[0] / (x[1] + x[0]), Sym::lit(0.0));
            vec![far]
        });
        let text = |below, always| {
            let always = [None, always];
            let given = KnownInputs {
                below,
                always: &always,
            };
            tape.to_cuda_for_pairs("f", CudaReal::Float, given)
        };
        assert!(!text(3.9, Some(4.0)).contains("16.0f"));
        for kept in [text(4.1, Some(4.0)), text(3.9, None), text(3.9, Some(-4.0))] {
            assert!(kept.contains("< 16.0f ?"), "{kept}");
        }
        assert!(text(3.9, None).contains("__fdividef("));
        assert!(!tape.to_cuda("f", CudaReal::Float).contains("__fdividef("));
    }

    #[test]
    fn a_table_comes_with_its_size() {
        let table = Table::default();
        let tape = Tape::record(1, |x| {
            let (index, rest) = x[0].split();
            vec![Sym::gather(&table, index, 3) * rest]
        });
        let text = tape.to_cuda("f", CudaReal::Double);
        assert!(
            text.contains("const double* __restrict__ table, const int table_size"),
            "{text}"
        );
        assert!(text.contains("table[min(v1 + 3, table_size - 1)]"), "{text}");
    }

    #[test]
    fn literals_read_back_exactly() {
        for x in [
            0.1,
            1.0,
            -2.5,
            1e-30,
            6.022_140_76e23,
            std::f64::consts::PI,
            f64::MIN_POSITIVE,
        ] {
            assert_eq!(CudaReal::Double.literal(x).parse::<f64>().unwrap(), x);
            let single = CudaReal::Float.literal(x);
            assert_eq!(single.trim_end_matches('f').parse::<f32>().unwrap(), x as f32);
        }
        assert_eq!(CudaReal::Float.literal(1e300), "__int_as_float(0x7f800000)");
        assert_eq!(
            CudaReal::Double.literal(f64::INFINITY),
            "__longlong_as_double(0x7ff0000000000000ll)"
        );
    }
}
