//! `[[forces]]` of kind `ewald`, `pme`, `p3m` and `multilevel`: long-range electrostatics from their keys.

use super::error::InputError;
use super::forces::{Terms, number};
use super::reader::{Item, Section};
use crate::forces::electrostatics::{
    Boundary, EWALD, MULTILEVEL, ORDER, P3M, PME, ReciprocalVectors, SLAB_FACTOR, TOLERANCE, Within,
    open_axis,
};
use crate::forces::multilevel::{Boundaries, Interpolation};
use crate::forces::pme::Basis;
use crate::forces::pme::estimate::{MOST_MESH, good_size};
use crate::forces::{ForceField, LongRange, LongRangeError};
use crate::system::{Dimension, Units};

type Result<T> = std::result::Result<T, InputError>;

/// The kinds this module reads.
pub(super) const KINDS: &[&str] = &[EWALD.name, PME.name, P3M.name, MULTILEVEL.name];

pub(super) const EWALD_KEYS: &[&str] = &[
    "kind",
    "name",
    "cutoff",
    "tolerance",
    "alpha",
    "kmax",
    "k2max",
    "epsilon_r",
    "boundary",
    "slab_factor",
    "pressure_tolerance",
];
pub(super) const MESH_KEYS: &[&str] = &[
    "kind",
    "name",
    "cutoff",
    "tolerance",
    "alpha",
    "mesh",
    "order",
    "basis",
    "epsilon_r",
    "boundary",
    "slab_factor",
    "pressure_tolerance",
];
pub(super) const GRID_KEYS: &[&str] = &[
    "kind",
    "name",
    "cutoff",
    "tolerance",
    "spacing",
    "order",
    "epsilon_r",
    "boundary",
];

impl<'a> Terms<'_, 'a> {
    /// The plan and its pair term, added to the field. Comes after all other terms, whose cut-offs it takes over.
    pub(super) fn electrostatics(
        &mut self,
        item: &Item<'a>,
        kind: &str,
        field: &mut ForceField,
    ) -> Result<()> {
        let keys = match kind {
            _ if kind == EWALD.name => EWALD_KEYS,
            _ if kind == MULTILEVEL.name => GRID_KEYS,
            _ => MESH_KEYS,
        };
        let section = item.section("[[forces]]", keys)?;
        let mut request = match kind {
            _ if kind == EWALD.name => LongRange::ewald(),
            _ if kind == P3M.name => LongRange::p3m(),
            _ if kind == MULTILEVEL.name => LongRange::multilevel(),
            _ => LongRange::pme(),
        };
        request.boundary = match kind == MULTILEVEL.name {
            true => self.boundary_of_grids(&section)?,
            false => Some(self.boundary(&section)?),
        };
        let positive =
            |key: &str, units: Units, dimension| section.map(key, |i| i.positive(units, dimension));
        request.permittivity = positive("epsilon_r", Units::Md, Dimension::NONE)?.unwrap_or(1.0);
        request.cutoff = positive("cutoff", self.units, Dimension::LENGTH)?;
        request.tolerance = section.map("tolerance", |i| tolerance(i))?;
        request.alpha = positive("alpha", self.units, Dimension::PER_LENGTH)?;
        request.pressure_tolerance = positive("pressure_tolerance", self.units, Dimension::PRESSURE)?;
        if kind == EWALD.name {
            request.vectors = reciprocal_vectors(&section)?;
        } else if kind == MULTILEVEL.name {
            request.spacing = positive("spacing", self.units, Dimension::LENGTH)?;
            let orders = |i: &Item| {
                i.count(4..=8, "4, 6 or 8")
                    .and_then(|n| match Interpolation::of_order(n) {
                        Some(_) => Ok(n),
                        None => Err(i.wrong("4, 6 or 8")),
                    })
            };
            request.order = section.map("order", orders)?.unwrap_or(request.order);
        } else {
            (request.basis, request.mesh) = mesh(&section)?;
        }
        if let Some(name) = section.map("name", Item::text)? {
            request.name = name.to_owned();
        }
        if let (Some(item), Some(Boundary::Slab { .. })) =
            (section.get("pressure_tolerance"), request.boundary)
        {
            return Err(item
                .key_error("`pressure_tolerance` is for cells that are periodic in all directions")
                .expected("no such key")
                .help("the pressure of a slab is not defined by its cell"));
        }
        let request = request.for_barostat(self.target_pressure, self.system);
        self.pressure_tolerance = request.pressure_tolerance;
        let warnings = field
            .add_long_range(&request, self.system)
            .map_err(|e| self.long_range_error(e, kind, &section))?;
        self.warnings.extend(warnings);
        match field.pairs.last() {
            Some(term) => self.refuse_absurd_cutoff(term, &section),
            None => Ok(()),
        }
    }

    /// What was refused, at the key that it is about.
    fn long_range_error(&self, error: LongRangeError, kind: &str, section: &Section<'a>) -> InputError {
        let unit = self.units.label(Dimension::LENGTH);
        match error {
            LongRangeError::Two => section
                .error("there are two [[forces]] of long-range electrostatics")
                .found(kind)
                .expected("one of `ewald`, `pme`, `p3m` and `multilevel`, once"),
            LongRangeError::Twice(term) => section
                .error(format!("`{term}` counts Coulomb's law between near charges once more"))
                .found(kind)
                .expected("one term for charges")
                .help(format!("leave out `{term}`: {kind} has both the near and the far part")),
            LongRangeError::MissingCutoff(_) => section.missing("cutoff", &format!("cutoff = {}", self.example())),
            LongRangeError::SteepAlpha { alpha, points } => section
                .get("alpha")
                .unwrap_or(&section.item)
                .error(format!(
                    "is {alpha} per unit of length, more than a mesh of up to {points} points ({MOST_MESH} along an axis) \
                     can follow"
                ))
                .expected("about 3 divided by the cut-off")
                .help(
                    "about 3 divided by the cut-off is usual; without `alpha` one is chosen for the cut-off and the \
                     tolerance",
                ),
            LongRangeError::NoMesh { points } => section
                .error(format!(
                    "no mesh of up to {points} points ({MOST_MESH} along an axis) reaches this tolerance"
                ))
                .found(
                    section
                        .get("tolerance")
                        .map_or_else(|| TOLERANCE.to_string(), |i| i.path().to_owned()),
                )
                .expected("a larger tolerance, a longer cut-off or a higher order")
                .help("a longer cut-off makes the rest smoother: try cutoff = 1.2 times as long and order = 6"),
            LongRangeError::Coarse { spacing, cutoff } => section
                .get("spacing")
                .unwrap_or(&section.item)
                .error(format!(
                    "is {} {unit}, more than a third of the cut-off of {} {unit}",
                    number(spacing),
                    number(cutoff)
                ))
                .expected("at most a third of the cut-off")
                .help("a sixth of the cut-off is usual; without `spacing` one is chosen for the tolerance"),
            LongRangeError::ManyPoints { points } => section
                .get("spacing")
                .or_else(|| section.get("tolerance"))
                .unwrap_or(&section.item)
                .error(format!("takes {points:.1e} points of the finest grid"))
                .expected("at most 1e8 points")
                .help("take a larger `spacing` or `tolerance`, or a longer `cutoff`"),
            LongRangeError::Term(e) => self.term_error(e, section, &[], false),
            other => section.error(other.to_string()),
        }
    }

    /// What surrounds the images of grids, where the file says so.
    fn boundary_of_grids(&self, section: &Section) -> Result<Option<Boundary>> {
        let cell = &self.system.cell;
        if !cell.is_orthorhombic() {
            return Err(section
                .error("multilevel summation needs a rectangular cell")
                .found("a triclinic cell")
                .expected("three vectors at right angles")
                .help("kind = \"pme\" sums triclinic cells"));
        }
        let choices = [("tin-foil", Boundary::Conductor), ("vacuum", Boundary::Vacuum)];
        let chosen = section.map("boundary", |i| i.choice("boundary", &choices))?;
        match (Boundaries::of(cell.periodic()), section.get("boundary")) {
            (None, _) => Err(section
                .error("multilevel summation needs a cell that is periodic along no, two or three axes")
                .found(format!("periodic = {:?}", cell.periodic()))
                .expected("periodic = true, false, or [true, true, false] for a slab")
                .help("say periodic = true, false, or [true, true, false] for a slab")),
            (Some(Boundaries::Open | Boundaries::Slab { .. }), Some(item)) => Err(item
                .key_error("`boundary` is for cells that are periodic in all directions")
                .expected("no such key")
                .help("leave it out: along open axes there are no images")),
            _ => Ok(chosen),
        }
    }

    fn boundary(&self, section: &Section) -> Result<Boundary> {
        let choices = [("tin-foil", Boundary::Conductor), ("vacuum", Boundary::Vacuum)];
        let chosen = section.map("boundary", |i| i.choice("boundary", &choices))?;
        let factor = section.map("slab_factor", |i| i.positive(Units::Md, Dimension::NONE))?;
        let cell = &self.system.cell;
        match (cell.periodic().iter().filter(|p| **p).count(), open_axis(cell)) {
            (3, _) => match section.get("slab_factor") {
                Some(item) => Err(item
                    .key_error("`slab_factor` is for cells that are open along one axis")
                    .expected("no such key, or periodic = [true, true, false] in [system]")),
                None => Ok(chosen.unwrap_or(Boundary::Conductor)),
            },
            (2, Some(axis)) => {
                if let Some(item) = section.get("boundary") {
                    return Err(item
                        .key_error("a cell that is open along one axis has the boundary of a slab")
                        .expected("no such key"));
                }
                if axis != 2 && !cell.is_orthorhombic() {
                    return Err(section
                        .error("a slab in a triclinic cell must be open along its third vector")
                        .expected("periodic = [true, true, false]"));
                }
                let factor = factor.unwrap_or(SLAB_FACTOR);
                match section.get("slab_factor") {
                    Some(item) if factor < 1.5 => Err(item
                        .wrong("a number of at least 1.5; 3 is usual")
                        .help("the space between a slab and its image must not be shorter than the slab is wide")),
                    _ => Ok(Boundary::Slab { factor }),
                }
            }
            _ => Err(section
                .error("long-range electrostatics needs a cell that is periodic along two or three axes")
                .found(format!("periodic = {:?}", cell.periodic()))
                .expected("periodic = true, or [true, true, false] for a slab")
                .help(
                    "in an open cell kind = \"multilevel\" sums all charges, and kind = \"coulomb\" with a cut-off beyond its \
                     size all pairs",
                )),
        }
    }
}

fn tolerance(item: &Item) -> Result<f64> {
    let value = item.positive(Units::Md, Dimension::NONE)?;
    if (1e-12..=0.1).contains(&value) {
        Ok(value)
    } else {
        Err(item.wrong("a relative error of forces between 1e-12 and 0.1; 5e-4 is usual"))
    }
}

/// One number for all axes, or three.
fn three(item: &Item, read: impl Fn(&Item) -> Result<usize>) -> Result<[usize; 3]> {
    if item.is_list() {
        let [a, b, c] = item.array("three whole numbers")?;
        Ok([read(&a)?, read(&b)?, read(&c)?])
    } else {
        let n = read(item)?;
        Ok([n; 3])
    }
}

fn reciprocal_vectors(section: &Section) -> Result<Option<ReciprocalVectors>> {
    let limit = section.map("k2max", |i| {
        i.whole(1..=1_000_000, "a whole number from 1 to 1 000 000")
    })?;
    let expected = "a whole number from 1 to 500";
    match section.map("kmax", |i| three(i, |i| i.count(1..=500, expected)))? {
        Some(reach) => Ok(Some(ReciprocalVectors {
            reach,
            within: limit.map_or(Within::Box, |limit| Within::Numbers(limit as u32)),
        })),
        None => match section.get("k2max") {
            Some(item) => Err(item
                .key_error("`k2max` belongs to `kmax`")
                .expected("kmax = 5 beside it")),
            None => Ok(None),
        },
    }
}

/// How charges are spread, and the mesh where it is given.
fn mesh(section: &Section) -> Result<(Basis, Option<[usize; 3]>)> {
    let order = section.map("order", |i| i.count(3..=8, "a whole number from 3 to 8"))?;
    let named = section.map("basis", |i| {
        i.choice(
            "basis",
            &[("b-spline", Basis::BSpline(ORDER)), ("cubic", Basis::Cubic)],
        )
    })?;
    if named == Some(Basis::Cubic) {
        section.not_both("basis", "order")?;
    }
    let splines = order.map_or(Basis::BSpline(ORDER), Basis::BSpline);
    let basis = named.filter(|&basis| basis == Basis::Cubic).unwrap_or(splines);
    let points = basis.points();
    let Some(item) = section.get("mesh") else {
        return Ok((basis, None));
    };
    let expected = format!("a whole number from {points} to {MOST_MESH}");
    let size = three(item, |i| i.count(points as u64..=MOST_MESH as u64, &expected))?;
    if let Some(bad) = size.iter().find(|&&n| good_size(n) != n) {
        return Err(item
            .error(format!(
                "has {bad} points along an axis, which has a prime factor above 7"
            ))
            .expected(format!("products of 2, 3, 5 and 7, such as {}", good_size(*bad)))
            .help(format!(
                "take {} points: a product of 2, 3, 5 and 7",
                good_size(*bad)
            )));
    }
    Ok((basis, Some(size)))
}
