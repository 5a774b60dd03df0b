//! Which particle made a simulation explode, and why.

use super::bonded::{BondedForces, Slots};
use super::motion::per_mass;
use super::state::State;
use super::verlet::Verlet;
use crate::engines::Culprit;
use crate::expr::Vec3;
use crate::forces::{ForceField, PairTerm};
use crate::potentials::Pair;
use crate::system::Exclusions;

/// What a search for the culprit looks at.
pub(super) struct Scene<'a> {
    pub(super) state: &'a State,
    pub(super) field: &'a ForceField,
    pub(super) exclusions: &'a Exclusions,
    pub(super) bonded: &'a BondedForces,
    pub(super) verlet: &'a Verlet,
}

/// Finds the particle that went furthest since the list was made, or nowhere at all, and what acted on it
/// before the last step, which was `dt` long: its nearest neighbor, or the bonded link that pulled harder.
/// Where nobody has moved yet, it is the one whose force is not finite, or the largest.
pub(super) fn culprit(scene: &Scene<'_>, dt: f64) -> Culprit {
    let (state, verlet) = (scene.state, scene.verlet);
    let reference = |k: usize| verlet.reference[k].scale(verlet.scale);
    let still = state.step == verlet.step && state.positions == verlet.reference;
    let moved = |k: usize| {
        if still {
            let f2 = state.forces[k].norm2();
            return if f2.is_nan() { f64::INFINITY } else { f2 };
        }
        let d2 = (state.positions[k] - reference(k)).norm2();
        let sound = d2.is_finite() && state.velocities[k].norm2().is_finite();
        if sound { d2 } else { f64::INFINITY }
    };
    let slot = worst(state.len(), moved);
    let heights = state.cell.heights();
    let reach = verlet.radius.max(0.1 * heights.x.min(heights.y).min(heights.z));
    // Where a step led too far to be undone, the list's positions are the last ones known to be sound.
    let place = |k: usize| {
        if still {
            return state.positions[k];
        }
        let before = state.positions[k] - state.velocities[k] * dt;
        let exact = moved(k) < (1e6 * reach).powi(2);
        if exact && (before - reference(k)).norm2() <= reach * reach {
            before
        } else {
            reference(k)
        }
    };
    let places: Vec<Vec3<f64>> = (0..state.len()).map(place).collect();
    let finite = state.positions[slot].norm2().is_finite() && state.velocities[slot].norm2().is_finite();
    let what = if still {
        "has no finite force"
    } else {
        fate(finite)
    };
    accuse(scene, &places, slot, what)
}

/// Finds the particle that a step elsewhere, `dt` long, led furthest or nowhere at all. Positions and forces are those
/// before that step, velocities those it led to.
pub(super) fn culprit_of_step(scene: &Scene<'_>, dt: f64) -> Culprit {
    let state = scene.state;
    let moved = |k: usize| {
        let kick = state.forces[k] * per_mass(dt, state.masses[k]);
        let speed2 = state.velocities[k].norm2().max(kick.norm2());
        let sound = state.velocities[k].norm2().is_finite() && kick.norm2().is_finite();
        if sound { speed2 } else { f64::INFINITY }
    };
    let slot = worst(state.len(), moved);
    accuse(scene, &state.positions, slot, fate(moved(slot).is_finite()))
}

/// The first of those that moved most.
fn worst(count: usize, moved: impl Fn(usize) -> f64) -> usize {
    (0..count).fold(0, |worst, k| if moved(k) > moved(worst) { k } else { worst })
}

fn fate(finite: bool) -> &'static str {
    if finite {
        "flew across the cell"
    } else {
        "has no finite position"
    }
}

/// What acted on the particle in a slot when particles were at these places.
fn accuse(scene: &Scene<'_>, places: &[Vec3<f64>], slot: usize, what: &'static str) -> Culprit {
    let Scene {
        state,
        field,
        exclusions,
        bonded,
        verlet,
    } = *scene;
    let here = places[slot];
    let distance = |k: usize| state.cell.minimum_image(places[k] - here).norm();
    let mut near: Vec<(f64, usize)> = (0..state.len())
        .filter(|&k| k != slot)
        .map(|k| (distance(k), k))
        .filter(|&(d, _)| d < verlet.radius)
        .collect();
    near.sort_by(|a, b| a.0.total_cmp(&b.0));
    let mut neighborhood = vec![state.ids[slot]];
    neighborhood.extend(near.iter().take(200).map(|&(_, k)| state.ids[k]));
    let mut found = Culprit {
        step: state.step,
        particle: state.ids[slot],
        species: state.species[slot],
        position: here.to_array(),
        force: state.forces[slot].to_array(),
        term: None,
        bonded: false,
        partners: near.first().map(|&(_, k)| state.ids[k]).into_iter().collect(),
        distance: near.first().map(|&(d, _)| d),
        neighborhood,
        what,
    };
    let free = |k: usize| !exclusions.contains(state.ids[slot], state.ids[k]);
    let mut hardest = 0.0;
    if let Some(&(d, k)) = near.iter().find(|&&(_, k)| free(k)) {
        found.partners = vec![state.ids[k]];
        found.distance = Some(d);
        if let Some((force, name)) = strongest_term(state, field, [slot, k], d) {
            found.term = Some(name);
            hardest = force;
        }
    }
    if !bonded.is_empty() {
        let slots = Slots {
            ids: &state.ids,
            slot_of: &state.slot_of,
            positions: places,
            species: &state.species,
            charges: &state.charges,
            turns: &state.rotations.turns,
        };
        let strongest = bonded.strongest(&state.cell, field, &slots, state.ids[slot]);
        if let Some(mut strongest) = strongest.filter(|strongest| strongest.force > hardest) {
            let away = |id: &u32| distance(state.slot_of[*id as usize] as usize);
            strongest.partners.sort_by(|a, b| away(a).total_cmp(&away(b)));
            found.distance = strongest.partners.first().map(away);
            found.partners = strongest.partners;
            found.term = Some(strongest.term);
            found.bonded = true;
        }
    }
    found
}

/// The pair term that acts most between two slots this far apart, and its force.
fn strongest_term(
    state: &State,
    field: &ForceField,
    [i, j]: [usize; 2],
    distance: f64,
) -> Option<(f64, String)> {
    let strength = |term: &PairTerm| {
        let species = (term.rows.len() as f64).sqrt().round() as u32;
        let row = &term.rows[(state.species[i] * species + state.species[j]) as usize];
        if distance >= row.cutoff {
            return 0.0;
        }
        let pair = Pair {
            r2: distance * distance,
            table: &term.table,
        };
        let derivative = term
            .family
            .energy_and_derivative(pair, &row.coefficients)
            .derivative
            * 2.0
            * distance;
        let charges = if term.family.uses_charges() {
            field.coulomb_constant * state.charges[i] * state.charges[j]
        } else {
            1.0
        };
        let force = (derivative * charges).abs();
        if force.is_nan() { f64::INFINITY } else { force }
    };
    let strongest = field.pairs.iter().map(|term| (strength(term), &term.name));
    strongest
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .filter(|(force, _)| *force > 0.0)
        .map(|(force, name)| (force, name.clone()))
}
