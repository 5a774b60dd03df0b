//! A function given by samples. In f32 the place in the table is exact up to two million rows.

use super::{Coefficients, Pair, PairPotential, PairSample, Parameter, ParameterError, Parameters};
use super::{Parametrized, Preparation, Value};
use crate::expr::Real;
use crate::record::{Conventions, Doc};

/// A potential from a file.
#[derive(Clone, Debug, PartialEq)]
pub struct Tabulated {
    /// Rows of distance and energy, at ascending distances.
    pub table: Vec<[f64; 2]>,
}

impl Tabulated {
    /// The potential of these rows of distance and energy.
    pub fn new(table: impl Into<Vec<[f64; 2]>>) -> Self {
        Self { table: table.into() }
    }
}

impl Parametrized for Tabulated {
    fn values(&self) -> Vec<Value> {
        vec![Value::Samples(self.table.clone())]
    }
}

/// How far a row may lie from its place on the grid, in spacings: files round their numbers.
const GRID_TOLERANCE: f64 = 1e-3;

const LAYOUT: &str = "at least 4 rows (r, u) with finite u and r ≥ 0 rising in equal steps";

fn spacing(rows: &[[f64; 2]]) -> f64 {
    (rows[rows.len() - 1][0] - rows[0][0]) / (rows.len() - 1) as f64
}

fn fault(rows: &[[f64; 2]]) -> Option<String> {
    if rows.len() < 4 {
        return Some(format!("{} rows", rows.len()));
    }
    let h = spacing(rows);
    let bad = |(i, &[r, u]): (usize, &[f64; 2])| {
        let place = rows[0][0] + i as f64 * h;
        let good = r >= 0.0 && r.is_finite() && u.is_finite() && (r - place).abs() < GRID_TOLERANCE * h;
        (!good).then(|| format!("row {} = ({r}, {u})", i + 1))
    };
    let falls = rows
        .windows(2)
        .position(|w| w[1][0].partial_cmp(&w[0][0]) != Some(std::cmp::Ordering::Greater));
    let falls = falls.map(|i| {
        format!(
            "row {} = ({}, {}) after r = {}",
            i + 2,
            rows[i + 1][0],
            rows[i + 1][1],
            rows[i][0]
        )
    });
    falls.or_else(|| rows.iter().enumerate().find_map(bad))
}

/// Second derivatives at the samples times h²: the tridiagonal system of the natural spline.
fn curvatures(u: &[f64]) -> Vec<f64> {
    let n = u.len();
    let (mut upper, mut right) = (vec![0.0; n], vec![0.0; n]);
    for i in 1..n - 1 {
        let pivot = 4.0 - upper[i - 1];
        upper[i] = 1.0 / pivot;
        right[i] = (6.0 * (u[i + 1] - 2.0 * u[i] + u[i - 1]) - right[i - 1]) / pivot;
    }
    for i in (1..n - 1).rev() {
        right[i] -= upper[i] * right[i + 1];
    }
    right
}

/// Four numbers a row, of the cubic in t = 0..1 after it; the last row goes on in a straight line.
fn cubics(u: &[f64]) -> Vec<f64> {
    let m = curvatures(u);
    let last = u.len() - 1;
    let cubic = |i: usize| {
        let derivative = u[i + 1] - u[i] - (2.0 * m[i] + m[i + 1]) / 6.0;
        [u[i], derivative, 0.5 * m[i], (m[i + 1] - m[i]) / 6.0]
    };
    let end_derivative = u[last] - u[last - 1] + m[last - 1] / 6.0;
    (0..last)
        .map(cubic)
        .chain([[u[last], end_derivative, 0.0, 0.0]])
        .flatten()
        .collect()
}

impl PairPotential for Tabulated {
    const NAME: &'static str = "tabulated";
    const DOC: Doc = Doc {
        title: "Tabulated",
        formula: "u(r) = natural cubic spline through the rows (r_k, u_k)",
        remarks: &[
            "At least 4 rows, r rising in equal steps. The spline passes through every row; its second \
             derivative is zero at both ends.",
            "Between smooth rows of spacing h the energy errs by about h⁴ u⁗/384; within a few rows of an \
             end by about h² u″/20: begin the table closer than particles come and end it where u is \
             flat.",
            "Outside its rows u goes on in a straight line. The last row is the cut-off, unless `cutoff` \
             is shorter.",
            "Forces are the derivative of the spline: a table of forces is not read.",
        ],
        conventions: Conventions {
            gromacs: [
                "columns r, f, −f′, g, −g′, h, −h′, multiplied by q₁q₂, C6 and C12",
                "one table per pair: u = k_e q₁q₂ f + C6 g + C12 h",
            ],
            lammps: [
                "pair_style table: N, r, E, F per row, by `linear`, `spline` or `bitmap`",
                "columns r and E, on a uniform grid",
            ],
            openmm: [
                "Continuous1DFunction, a natural cubic spline, in CustomNonbondedForce",
                "the same values",
            ],
            amber_charmm: ["no such function for pairs of types", "–"],
        },
        references: &["de Boor, A Practical Guide to Splines, Springer (1978), chapter IV"],
        examples: &[],
    };
    const PARAMETERS: &'static [Parameter] = &[Parameter::samples(
        "table",
        "a list [[r, u], …], or a file of two columns in the units of the run",
    )];

    fn check(p: Parameters) -> Result<(), ParameterError> {
        let fault = fault(p.samples(0));
        ParameterError::unless(fault.is_none(), "table", fault.unwrap_or_default(), LAYOUT)
    }

    fn coefficients(p: Parameters, preparation: &mut Preparation) -> Coefficients<f64> {
        let rows = p.samples(0);
        let u: Vec<f64> = rows.iter().map(|row| row[1]).collect();
        let cubics = cubics(&u);
        let start = preparation.table.extend(&cubics);
        let inverse = spacing(rows).recip();
        let (last, first_derivative) = ((rows.len() - 1) as f64, cubics[1]);
        [
            inverse,
            -rows[0][0] * inverse,
            last,
            start as f64 + 0.5,
            first_derivative,
            0.0,
            0.0,
            0.0,
        ]
    }

    #[inline(always)]
    fn energy<R: Real>(pair: Pair<R>, c: &Coefficients<R>) -> R {
        let place = pair.r2.sqrt().mul_add(c[0], c[1]);
        let inside = place.max(R::lit(0.0));
        let row = inside.min(c[2]);
        let row = row - row.split().1;
        // Four numbers a row; the half in c[3] keeps the floor away from rounding.
        let (index, _) = row.mul_add(R::lit(4.0), c[3]).split();
        let at = |offset| R::gather(pair.table, index, offset);
        let t = inside - row;
        let cubic = at(3).mul_add(t, at(2)).mul_add(t, at(1)).mul_add(t, at(0));
        (place - inside).mul_add(c[4], cubic)
    }

    fn natural_cutoff(p: Parameters) -> Option<f64> {
        p.samples(0).last().map(|row| row[0])
    }

    fn samples() -> Vec<PairSample> {
        let lennard_jones = |r: f64| 4.0 * (r.powi(-12) - r.powi(-6));
        let rows = |n: usize, from: f64, to: f64| -> Vec<[f64; 2]> {
            let place = |i: usize| from + (to - from) * i as f64 / (n - 1) as f64;
            (0..n).map(|i| [place(i), lennard_jones(place(i))]).collect()
        };
        vec![
            PairSample {
                values: vec![Value::Samples(rows(400, 0.7, 2.5))],
                from: 0.75,
                to: 2.5,
            },
            PairSample {
                values: vec![Value::Samples(rows(20, 0.9, 3.0))],
                from: 0.8,
                to: 3.0,
            },
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::expr::{Dual, Table};

    fn prepared(rows: &[[f64; 2]]) -> (Table, Coefficients<f64>) {
        let values = [Value::Samples(rows.to_vec())];
        Tabulated::check(Parameters(&values)).unwrap();
        let mut table = Table::new(vec![9.0; 7]); // something another pair of species put there
        let preparation = &mut Preparation {
            cutoff: 1.0,
            table: &mut table,
        };
        let c = Tabulated::coefficients(Parameters(&values), preparation);
        (table, c)
    }

    fn at(r: f64, table: &Table, c: &Coefficients<f64>) -> Dual<f64> {
        let e = Tabulated::energy_and_derivative(Pair { r2: r * r, table }, c);
        Dual {
            value: e.value,
            derivative: e.derivative * 2.0 * r,
        }
    }

    #[test]
    fn passes_through_every_row_and_is_smooth() {
        let rows: Vec<[f64; 2]> = (0..9)
            .map(|i| [0.5 + 0.25 * f64::from(i), f64::from(i * i % 5)])
            .collect();
        let (table, c) = prepared(&rows);
        for [r, u] in rows {
            assert!((at(r, &table, &c).value - u).abs() < 1e-13, "{r}");
            let (below, above) = (at(r - 1e-9, &table, &c), at(r + 1e-9, &table, &c));
            assert!(
                r == 2.5 || (below.derivative - above.derivative).abs() < 1e-6,
                "{r}"
            );
        }
        // Linear below the first row.
        assert!((at(0.3, &table, &c).derivative - at(0.5 + 1e-12, &table, &c).derivative).abs() < 1e-9);
    }

    #[test]
    fn reproduces_a_straight_line_and_converges_as_h4() {
        let line: Vec<[f64; 2]> = (0..5).map(|i| [f64::from(i), 3.0 - 2.0 * f64::from(i)]).collect();
        let (table, c) = prepared(&line);
        let e = at(1.7, &table, &c);
        assert!((e.value - (3.0 - 3.4)).abs() < 1e-14 && (e.derivative + 2.0).abs() < 1e-13);
        let error = |n: u32| {
            let h = 4.0 / f64::from(n);
            let rows: Vec<[f64; 2]> = (0..=n)
                .map(|i| [f64::from(i) * h, (std::f64::consts::PI * f64::from(i) * h).sin()])
                .collect();
            let (table, c) = prepared(&rows);
            (1..500)
                .map(f64::from)
                .map(|i| i * 0.008)
                .fold(0.0_f64, |worst, r| {
                    worst.max((at(r, &table, &c).value - (std::f64::consts::PI * r).sin()).abs())
                })
        };
        let ratio = error(64) / error(128);
        assert!((12.0..20.0).contains(&ratio), "{ratio}");
    }

    #[test]
    fn refuses_what_is_not_a_grid() {
        let refused =
            |rows: Vec<[f64; 2]>| Tabulated::check(Parameters(&[Value::Samples(rows)])).unwrap_err();
        assert!(
            refused(vec![[0.0, 1.0], [1.0, 1.0], [2.0, 1.0]])
                .to_string()
                .contains("3 rows")
        );
        let back = refused(vec![[0.0, 1.0], [1.0, 1.0], [0.5, 1.0], [3.0, 1.0]]);
        assert!(
            back.to_string().contains("row 3 = (0.5, 1) after r = 1"),
            "{back}"
        );
        let uneven = refused(vec![[0.0, 1.0], [1.0, 1.0], [2.5, 1.0], [3.0, 1.0]]);
        assert!(uneven.to_string().contains("row 3"), "{uneven}");
        assert!(
            refused(vec![[0.0, 1.0], [1.0, f64::NAN], [2.0, 1.0], [3.0, 1.0]])
                .to_string()
                .contains("NaN")
        );
        assert!(refused(vec![[f64::NAN; 2]; 5]).to_string().contains("NaN"));
        assert!(Tabulated::check(Parameters(&[])).is_err());
    }
}
