//! Changes of an input file that keep its comments and its order.

use toml_edit::{ArrayOfTables, DocumentMut, Item, Table, Value, value};

use super::electrostatics::KINDS;
use crate::forces::electrostatics::{Electrostatics, Method, TOLERANCE};
use crate::forces::pme::Basis;

/// The tolerance of long-range electrostatics that the text of an input file asks for.
pub fn electrostatics_tolerance(text: &str) -> Option<f64> {
    let document: DocumentMut = text.parse().ok()?;
    let forces = document.get("forces")?;
    let of = |tolerance: Option<&Item>| match tolerance {
        None => Some(TOLERANCE),
        Some(item) => item.as_float().or_else(|| item.as_integer().map(|x| x as f64)),
    };
    match forces {
        Item::ArrayOfTables(list) => {
            let table = list.iter().find(|t| is_long_range(t.get("kind")))?;
            of(table.get("tolerance"))
        }
        Item::Table(table) if is_long_range(table.get("kind")) => of(table.get("tolerance")),
        _ => None,
    }
}

/// The text with these settings of long-range electrostatics in place of those it has; `None` where it has none, or has
/// them in a form that is not a table of its own.
pub fn with_electrostatics(text: &str, plan: &Electrostatics) -> Option<String> {
    let mut document: DocumentMut = text.parse().ok()?;
    let table = match document.get_mut("forces")? {
        Item::ArrayOfTables(list) => long_range(list)?,
        Item::Table(table) if is_long_range(table.get("kind")) => table,
        _ => return None,
    };
    for (key, item) in settings(plan) {
        set(table, key, item);
    }
    let others: &[&str] = match plan.method {
        Method::Ewald(_) => &["mesh", "order", "basis"],
        Method::Mesh(mesh) => match mesh.basis {
            Basis::BSpline(_) => &["kmax", "k2max", "basis"],
            Basis::Cubic | Basis::Interpolating(_) => &["kmax", "k2max", "order"],
        },
        Method::Multilevel(_) => &["mesh", "alpha", "basis", "kmax", "k2max"],
    };
    for key in others {
        table.remove(key);
    }
    Some(document.to_string())
}

/// The lines that say these settings.
pub fn electrostatics_lines(plan: &Electrostatics) -> String {
    let lines = settings(plan).into_iter().map(|(key, item)| match item {
        Item::Value(value) => format!("{key} = {}\n", value.to_string().trim()),
        _ => String::new(),
    });
    lines.collect()
}

fn is_long_range(kind: Option<&Item>) -> bool {
    kind.and_then(Item::as_str)
        .is_some_and(|kind| KINDS.contains(&kind))
}

fn long_range(list: &mut ArrayOfTables) -> Option<&mut Table> {
    list.iter_mut().find(|table| is_long_range(table.get("kind")))
}

fn settings(plan: &Electrostatics) -> Vec<(&'static str, Item)> {
    let three = |numbers: [usize; 3]| value(Value::Array(numbers.iter().map(|&n| n as i64).collect()));
    let mut all = vec![
        ("kind", value(plan.kind())),
        ("cutoff", value(rounded(plan.cutoff))),
    ];
    if plan.grids().is_none() {
        all.push(("alpha", value(rounded(plan.alpha))));
    }
    match &plan.method {
        Method::Multilevel(grids) => {
            all.push(("spacing", value(rounded(grids.split.spacing))));
            all.push(("order", value(grids.split.interpolation.order() as i64)));
        }
        Method::Ewald(set) => all.push(("kmax", three(set.reach))),
        Method::Mesh(mesh) => {
            all.push(("mesh", three(mesh.size)));
            all.push(match mesh.basis {
                Basis::BSpline(order) => ("order", value(order as i64)),
                Basis::Cubic | Basis::Interpolating(_) => ("basis", value("cubic")),
            });
        }
    }
    all
}

/// Six digits: as many as anyone wants to read, and more than errors notice.
fn rounded(x: f64) -> f64 {
    format!("{x:.5e}").parse().unwrap_or(x)
}

/// Changes a value and keeps what is written around it.
fn set(table: &mut Table, key: &str, item: Item) {
    match (table.get_mut(key), item) {
        (Some(Item::Value(old)), Item::Value(mut new)) => {
            *new.decor_mut() = old.decor().clone();
            *old = new;
        }
        (_, item) => {
            table.insert(key, item);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::forces::electrostatics::{Boundary, MeshPlan};

    const TEXT: &str = "# a salt\nunits = \"md\"\n\n[[forces]]\nkind = \"lennard-jones\" # first\ncutoff = 1.0 # stays\n\n\
                        # charges\n[[forces]]\nkind = \"pme\" # fast\ncutoff = \"1 nm\" # of the pairs\ntolerance = 1e-4\norder = 5\n\n\
                        [run]\nsteps = 5 # few\n";

    fn plan(basis: Basis) -> Electrostatics {
        Electrostatics {
            name: "coulomb".into(),
            cutoff: 0.850_000_001,
            alpha: 3.123_456_789,
            permittivity: 1.0,
            method: Method::Mesh(MeshPlan {
                size: [32, 36, 40],
                basis,
                optimal: basis == Basis::Cubic,
            }),
            boundary: Boundary::Conductor,
        }
    }

    #[test]
    fn settings_change_and_comments_stay() {
        let text = with_electrostatics(TEXT, &plan(Basis::BSpline(6))).unwrap();
        let expected = TEXT
            .replace("cutoff = \"1 nm\"", "cutoff = 0.85")
            .replace("order = 5\n", "order = 6\nalpha = 3.12346\nmesh = [32, 36, 40]\n");
        assert_eq!(text, expected);
        let text = with_electrostatics(TEXT, &plan(Basis::Cubic)).unwrap();
        assert!(
            text.contains("kind = \"p3m\" # fast\n") && text.contains("basis = \"cubic\"\n"),
            "{text}"
        );
        assert!(!text.contains("order"), "{text}");
        assert!(text.contains("cutoff = 1.0 # stays"), "{text}");
    }

    #[test]
    fn lines_to_paste() {
        assert_eq!(
            electrostatics_lines(&plan(Basis::BSpline(4))),
            "kind = \"pme\"\ncutoff = 0.85\nalpha = 3.12346\nmesh = [32, 36, 40]\norder = 4\n"
        );
    }

    #[test]
    fn tolerances_are_found() {
        assert_eq!(electrostatics_tolerance(TEXT), Some(1e-4));
        let silent = TEXT.replace("tolerance = 1e-4\n", "");
        assert_eq!(electrostatics_tolerance(&silent), Some(TOLERANCE));
        let none = TEXT.replace("\"pme\"", "\"coulomb\"");
        assert_eq!(electrostatics_tolerance(&none), None);
        assert_eq!(with_electrostatics(&none, &plan(Basis::Cubic)), None);
        assert_eq!(electrostatics_tolerance("not toml ["), None);
    }
}
