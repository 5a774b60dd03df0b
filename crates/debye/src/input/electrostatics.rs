//! `[[forces]]` of kind `ewald`, `pme` and `p3m`: long-range electrostatics from their keys.

use super::electrostatic_pressure::Choice;
use super::error::InputError;
use super::forces::Terms;
use super::reader::{Item, Section};
use crate::forces::ForceField;
use crate::forces::electrostatics::{
    Boundary, EWALD, Electrostatics, MeshPlan, Method, ORDER, P3M, PME, SLAB_FACTOR, TOLERANCE, WaveSet,
    Within, open_axis,
};
use crate::forces::pme::Basis;
use crate::forces::pme::estimate::{Charged, MOST_MESH, coarsest, good_size, most_points, waves};
use crate::forces::pme::expected::Expected;
use crate::system::{Dimension, Units};

type Result<T> = std::result::Result<T, InputError>;

/// The kinds this module reads.
pub(super) const KINDS: &[&str] = &[EWALD.name, PME.name, P3M.name];

pub(super) const EWALD_KEYS: &[&str] = &[
    "kind",
    "name",
    "cutoff",
    "tolerance",
    "alpha",
    "waves",
    "wave_limit",
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

/// An error of forces that nobody wants, where no tolerance was asked for.
const LARGE: f64 = 1e-2;

impl<'a> Terms<'_, 'a> {
    /// The plan, and its pair term added to the field. Comes after all other terms, whose cut-offs it takes over.
    pub(super) fn electrostatics(
        &mut self,
        item: &Item<'a>,
        kind: &str,
        field: &mut ForceField,
    ) -> Result<()> {
        let keys = if kind == EWALD.name { EWALD_KEYS } else { MESH_KEYS };
        let section = item.section("[[forces]]", keys)?;
        if field.electrostatics.is_some() {
            return Err(section
                .error("there are two [[forces]] of long-range electrostatics")
                .found(kind)
                .expected("one of `ewald`, `pme` and `p3m`, once"));
        }
        let boundary = self.boundary(&section)?;
        let permittivity = section.map("epsilon_r", |i| i.positive(Units::Md, Dimension::NONE))?;
        let permittivity = permittivity.unwrap_or(1.0);
        let k = field.coulomb_constant / permittivity;
        let charged = Charged::new(&self.system.cell, boundary, &self.system.particles.charges, k);
        if charged.squares == 0.0 {
            self.warnings
                .push(format!("there is {kind}, but no particle has a charge"));
        }
        if let Some(twice) = field.pairs.iter().find(|term| term.family.uses_charges()) {
            return Err(section
                .error(format!(
                    "`{}` counts Coulomb's law between near charges once more",
                    twice.name
                ))
                .found(kind)
                .expected("one term for charges")
                .help(format!(
                    "leave out `{}`: {kind} has both the near and the far part",
                    twice.name
                )));
        }
        let net: f64 = self.system.particles.charges.iter().sum();
        if net.abs() > 1e-6 {
            self.warnings.push(format!(
                "the charges sum to {net:.6} e; an even background of the opposite charge makes up for it"
            ));
        }
        let cutoff = self.cutoff(&section, field)?;
        // Half of the square of the error to the pair term, half to the rest.
        let tolerance = section.map("tolerance", |i| tolerance(i))?.unwrap_or(TOLERANCE);
        let error = tolerance * charged.usual_force().max(f64::MIN_POSITIVE) * 0.5_f64.sqrt();
        let alpha = match section.map("alpha", |i| i.positive(self.units, Dimension::PER_LENGTH))? {
            Some(alpha) => alpha,
            None if charged.squares == 0.0 => 3.0 / cutoff,
            None => charged.alpha(cutoff, error),
        };
        let method = if kind == EWALD.name {
            Method::Ewald(wave_set(&section, &charged, alpha, error)?)
        } else {
            Method::Mesh(mesh_plan(&section, &charged, alpha, error, kind == P3M.name)?)
        };
        let name = section.map("name", Item::text)?.unwrap_or("coulomb");
        let mut plan = Electrostatics {
            name: name.to_owned(),
            cutoff,
            alpha,
            permittivity,
            method,
            boundary,
        };
        self.pressure_tolerance = self.pressure_bound(&section, boundary)?;
        if let Some(allowed) = self.pressure_tolerance
            && charged.squares > 0.0
        {
            let choice = Choice {
                system: self.system,
                section: &section,
                charged: &charged,
                force_error: error,
                allowed,
            };
            self.warnings.extend(choice.tighten(&mut plan, self.units));
        }
        let term = plan
            .short_range(&self.system.species)
            .map_err(|e| self.term_error(e, &section, &[], false))?;
        self.refuse_absurd_cutoff(&term, &section)?;
        if let Some(expected) = Expected::of_plan(&charged, &plan) {
            let off = expected.total() / expected.usual;
            let asked = section.get("tolerance").map_or(LARGE, |_| 2.0 * tolerance);
            if off > asked {
                self.warnings.push(format!(
                    "the error of the forces of {kind} would be {off:.1e} of the force between neighbors if charges were placed at random; without \
                     `alpha`, `mesh` and `waves` they are chosen for a tolerance, and `debye energy --check-electrostatics` measures"
                ));
            }
        }
        field.pairs.push(term);
        field.electrostatics = Some(plan);
        Ok(())
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
                .help("in an open cell kind = \"coulomb\" with a cut-off beyond its size sums all pairs")),
        }
    }

    fn cutoff(&self, section: &Section, field: &ForceField) -> Result<f64> {
        let given = section.map("cutoff", |i| i.positive(self.units, Dimension::LENGTH))?;
        match given {
            Some(cutoff) => Ok(cutoff),
            // Pairs within the longest cut-off are looked at anyway.
            None if field.cutoff() > 0.0 => Ok(field.cutoff()),
            None => Err(section.missing("cutoff", &format!("cutoff = {}", self.example()))),
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

fn wave_set(section: &Section, charged: &Charged, alpha: f64, error: f64) -> Result<WaveSet> {
    let limit = section.map("wave_limit", |i| {
        i.whole(1..=1_000_000, "a whole number from 1 to 1 000 000")
    })?;
    let expected = "a whole number from 1 to 500";
    match section.map("waves", |i| three(i, |i| i.count(1..=500, expected)))? {
        Some(reach) => Ok(WaveSet {
            reach,
            within: limit.map_or(Within::Box, |limit| Within::Numbers(limit as u32)),
        }),
        None => match section.get("wave_limit") {
            Some(item) => Err(item
                .key_error("`wave_limit` belongs to `waves`")
                .expected("waves = 5 beside it")),
            None => Ok(waves(charged, alpha, error)),
        },
    }
}

fn mesh_plan(
    section: &Section,
    charged: &Charged,
    alpha: f64,
    error: f64,
    optimal: bool,
) -> Result<MeshPlan> {
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
    if let Some(item) = section.get("mesh") {
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
        return Ok(MeshPlan { size, basis, optimal });
    }
    if charged.squares == 0.0 {
        let size = [good_size(points.max(8)); 3];
        return Ok(MeshPlan { size, basis, optimal });
    }
    coarsest(charged, alpha, basis, optimal, error).ok_or_else(|| {
        if let Some(item) = section.get("alpha") {
            return item
                .error(format!(
                    "is {alpha} per unit of length, more than a mesh of up to {} points ({MOST_MESH} along an axis) can follow",
                    most_points(charged.particles as usize)
                ))
                .expected("about 3 divided by the cut-off")
                .help("about 3 divided by the cut-off is usual; without `alpha` one is chosen for the cut-off and the tolerance");
        }
        section
            .error(format!(
                "no mesh of up to {} points ({MOST_MESH} along an axis) reaches this tolerance",
                most_points(charged.particles as usize)
            ))
            .found(
                section
                    .get("tolerance")
                    .map_or_else(|| TOLERANCE.to_string(), |i| i.path().to_owned()),
            )
            .expected("a larger tolerance, a longer cut-off or a higher order")
            .help("a longer cut-off makes the rest smoother: try cutoff = 1.2 times as long and order = 6")
    })
}
