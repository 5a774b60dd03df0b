//! What happens while a formula is called with symbols: lines are added, merged and simplified.
//!
//! Every simplification is exact in floating point for finite values (up to the sign of a zero), so
//! the tape computes what the function computes, bit for bit. `0·x` and `x − x` become 0: where x is infinite
//! the function would have returned NaN, and derivatives of constants would make it do so at r = 0.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;

use super::interpret::{apply_binary, apply_unary};
use super::{Binary, Node, Sym, Table, Unary};

thread_local! {
    static RECORDERS: RefCell<Vec<Recorder>> = const { RefCell::new(Vec::new()) };
    static RECORDINGS: Cell<u32> = const { Cell::new(0) };
}

/// The tape in the making.
pub(super) struct Recorder {
    recording: u32,
    nodes: Vec<Node>,
    places: HashMap<Node, u32>,
    /// Addresses of the tables met so far; a table's number on the tape is its place here.
    tables: Vec<usize>,
}

/// Takes the recorder away again, also when the recorded function panics.
struct Recording;

impl Drop for Recording {
    fn drop(&mut self) {
        RECORDERS.with_borrow_mut(|stack| stack.pop());
    }
}

/// Lines, places of the outputs, number of tables.
pub(super) fn record(
    inputs: usize,
    function: impl FnOnce(&[Sym]) -> Vec<Sym>,
) -> (Vec<Node>, Vec<u32>, usize) {
    let recording = RECORDINGS.get();
    RECORDINGS.set(recording.wrapping_add(1));
    let new = Recorder {
        recording,
        nodes: Vec::new(),
        places: HashMap::new(),
        tables: Vec::new(),
    };
    RECORDERS.with_borrow_mut(|stack| stack.push(new));
    let guard = Recording;
    let symbols: Vec<Sym> = (0..inputs as u32)
        .map(|i| with(|r| r.intern(Node::Input(i))))
        .collect();
    let outputs = function(&symbols);
    let result = RECORDERS.with_borrow_mut(|stack| {
        let recorder = stack.last_mut().map(std::mem::take).unwrap_or_default();
        let places = outputs.iter().map(|symbol| recorder.place(*symbol)).collect();
        (recorder.nodes, places, recorder.tables.len())
    });
    drop(guard);
    result
}

impl Default for Recorder {
    fn default() -> Self {
        Self {
            recording: u32::MAX,
            nodes: Vec::new(),
            places: HashMap::new(),
            tables: Vec::new(),
        }
    }
}

/// Runs `f` on the innermost recording.
///
/// # Panics
/// Where nothing is being recorded: symbols exist only inside `Tape::record`.
pub(super) fn with<T>(f: impl FnOnce(&mut Recorder) -> T) -> T {
    RECORDERS.with_borrow_mut(|stack| match stack.last_mut() {
        Some(recorder) => f(recorder),
        None => panic!("a symbol was used outside Tape::record"),
    })
}

/// Gives tables their numbers in this order, whatever is looked up first.
pub(super) fn declare_tables(tables: &[Table]) {
    with(|r| tables.iter().for_each(|table| _ = r.table(table)));
}

impl Recorder {
    fn place(&self, symbol: Sym) -> u32 {
        assert_eq!(symbol.recording, self.recording, "a symbol of another recording");
        symbol.place
    }

    fn symbol(&self, place: u32) -> Sym {
        Sym {
            place,
            recording: self.recording,
        }
    }

    fn intern(&mut self, node: Node) -> Sym {
        let next = self.nodes.len() as u32;
        let place = *self.places.entry(node).or_insert(next);
        if place == next {
            self.nodes.push(node);
        }
        self.symbol(place)
    }

    fn value(&self, symbol: Sym) -> Option<f64> {
        match self.nodes[self.place(symbol) as usize] {
            Node::Constant(bits) => Some(f64::from_bits(bits)),
            _ => None,
        }
    }

    fn negated(&self, symbol: Sym) -> Option<Sym> {
        match self.nodes[self.place(symbol) as usize] {
            Node::Unary(Unary::Neg, a) => Some(self.symbol(a)),
            _ => None,
        }
    }

    fn table(&mut self, table: &Table) -> u32 {
        let address = std::ptr::from_ref(table) as usize;
        let known = self.tables.iter().position(|&known| known == address);
        known.unwrap_or_else(|| {
            self.tables.push(address);
            self.tables.len() - 1
        }) as u32
    }

    pub(super) fn constant(&mut self, x: f64) -> Sym {
        self.intern(Node::Constant(x.to_bits()))
    }

    /// The constant, unless it is infinite or NaN.
    fn folded(&mut self, x: f64) -> Option<Sym> {
        x.is_finite().then(|| self.constant(x))
    }

    pub(super) fn unary(&mut self, op: Unary, a: Sym) -> Sym {
        if let Some(folded) = self.value(a).and_then(|x| self.folded(apply_unary(op, x))) {
            return folded;
        }
        if op == Unary::Neg {
            match self.nodes[self.place(a) as usize] {
                Node::Unary(Unary::Neg, inner) => return self.symbol(inner),
                Node::Binary(Binary::Sub, x, y) => {
                    let (x, y) = (self.symbol(x), self.symbol(y));
                    return self.binary(Binary::Sub, y, x);
                }
                _ => {}
            }
        }
        let place = self.place(a);
        self.intern(Node::Unary(op, place))
    }

    pub(super) fn binary(&mut self, op: Binary, a: Sym, b: Sym) -> Sym {
        let (x, y) = (self.value(a), self.value(b));
        if let (Some(x), Some(y)) = (x, y)
            && let Some(folded) = self.folded(apply_binary(op, x, y))
        {
            return folded;
        }
        match op {
            Binary::Add => self.add(a, b, x, y),
            Binary::Sub => self.sub(a, b, x, y),
            Binary::Mul => self.mul(a, b, x, y),
            Binary::Div => self.div(a, b, x, y),
            Binary::Atan2 | Binary::ErfcBeside => self.raw(op, a, b),
        }
    }

    fn raw(&mut self, op: Binary, a: Sym, b: Sym) -> Sym {
        let (a, b) = (self.place(a), self.place(b));
        let swap = matches!(op, Binary::Add | Binary::Mul) && b < a;
        let (a, b) = if swap { (b, a) } else { (a, b) };
        self.intern(Node::Binary(op, a, b))
    }

    fn add(&mut self, a: Sym, b: Sym, x: Option<f64>, y: Option<f64>) -> Sym {
        if x == Some(0.0) {
            return b;
        }
        if y == Some(0.0) {
            return a;
        }
        match (self.negated(a), self.negated(b)) {
            (_, Some(inner)) => self.binary(Binary::Sub, a, inner),
            (Some(inner), None) => self.binary(Binary::Sub, b, inner),
            (None, None) => self.raw(Binary::Add, a, b),
        }
    }

    fn sub(&mut self, a: Sym, b: Sym, x: Option<f64>, y: Option<f64>) -> Sym {
        if y == Some(0.0) {
            return a;
        }
        if x == Some(0.0) {
            return self.unary(Unary::Neg, b);
        }
        if a == b {
            return self.constant(0.0);
        }
        match self.negated(b) {
            Some(inner) => self.binary(Binary::Add, a, inner),
            None => self.raw(Binary::Sub, a, b),
        }
    }

    fn mul(&mut self, a: Sym, b: Sym, x: Option<f64>, y: Option<f64>) -> Sym {
        let by_constant = x.map(|k| (k, b)).or(y.map(|k| (k, a)));
        if let Some((k, other)) = by_constant {
            if k == 0.0 {
                return self.constant(0.0);
            } else if k == 1.0 {
                return other;
            } else if k == -1.0 {
                return self.unary(Unary::Neg, other);
            } else if let Some(inner) = self.negated(other) {
                let k = self.constant(-k);
                return self.raw(Binary::Mul, k, inner);
            }
        }
        let (inner_a, inner_b) = (self.negated(a), self.negated(b));
        let product = self.raw(Binary::Mul, inner_a.unwrap_or(a), inner_b.unwrap_or(b));
        if inner_a.is_some() != inner_b.is_some() {
            self.unary(Unary::Neg, product)
        } else {
            product
        }
    }

    fn div(&mut self, a: Sym, b: Sym, x: Option<f64>, y: Option<f64>) -> Sym {
        if x == Some(0.0) {
            return self.constant(0.0);
        }
        if x == Some(1.0) {
            return self.unary(Unary::Recip, b);
        }
        match y {
            // The inverse of a power of two is exact.
            Some(k) if k.is_normal() && k.to_bits().trailing_zeros() >= 52 && k.recip().is_normal() => {
                let inverse = self.constant(k.recip());
                self.binary(Binary::Mul, a, inverse)
            }
            _ => self.raw(Binary::Div, a, b),
        }
    }

    pub(super) fn mul_add(&mut self, a: Sym, b: Sym, c: Sym) -> Sym {
        let (x, y) = (self.value(a), self.value(b));
        let trivial = |k: Option<f64>| k.is_some_and(|k| k == 0.0 || k.abs() == 1.0);
        if trivial(x) || trivial(y) || (x.is_some() && y.is_some()) || self.value(c) == Some(0.0) {
            let product = self.binary(Binary::Mul, a, b);
            return self.binary(Binary::Add, product, c);
        }
        let (a, b) = match (self.negated(a), self.negated(b)) {
            (Some(a), Some(b)) => (a, b),
            _ => (a, b),
        };
        let (a, b, c) = (self.place(a), self.place(b), self.place(c));
        self.intern(Node::MulAdd(a.min(b), a.max(b), c))
    }

    pub(super) fn select_lt(&mut self, a: Sym, b: Sym, yes: Sym, no: Sym) -> Sym {
        if yes == no {
            return yes;
        }
        if let (Some(x), Some(y)) = (self.value(a), self.value(b)) {
            return if x < y { yes } else { no };
        }
        let four = [a, b, yes, no].map(|symbol| self.place(symbol));
        self.intern(Node::SelectLt(four))
    }

    /// The index and the rest of a number.
    pub(super) fn split(&mut self, a: Sym) -> (Sym, Sym) {
        let place = self.place(a);
        (self.intern(Node::Floor(place)), self.intern(Node::Rest(place)))
    }

    pub(super) fn gather(&mut self, table: &Table, index: Sym, offset: usize) -> Sym {
        let (table, index) = (self.table(table), self.place(index));
        self.intern(Node::Gather {
            table,
            index,
            offset: offset as u32,
        })
    }
}
