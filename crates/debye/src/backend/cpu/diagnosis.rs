//! Which particle made a simulation explode, and why.

use super::state::State;
use super::verlet::Verlet;
use crate::backend::Culprit;
use crate::forces::ForceField;
use crate::potentials::Pair;

/// Finds the particle that went furthest since the list was made, or nowhere at all, and its nearest
/// neighbour before the last step, which was `dt` long. Where nobody has moved yet, it is the one whose
/// force is not finite, or the largest.
pub(super) fn culprit(state: &State, field: &ForceField, verlet: &Verlet, dt: f64) -> Culprit {
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
    let slot = (0..state.len()).fold(0, |worst, k| if moved(k) > moved(worst) { k } else { worst });
    // Where a step led astray, the list's positions are the last ones known to be sound.
    let place = |k: usize| {
        if still {
            state.positions[k]
        } else if moved(k) <= verlet.radius * verlet.radius {
            state.positions[k] - state.velocities[k] * dt
        } else {
            reference(k)
        }
    };
    let here = place(slot);
    let separation = |k: usize| state.cell.minimum_image(place(k) - here);
    let mut near: Vec<(f64, usize)> = (0..state.len())
        .filter(|&k| k != slot)
        .map(|k| (separation(k).norm(), k))
        .filter(|&(d, _)| d < verlet.radius)
        .collect();
    near.sort_by(|a, b| a.0.total_cmp(&b.0));
    let nearest = near.first().copied();
    let mut neighbourhood = vec![state.ids[slot]];
    neighbourhood.extend(near.iter().take(200).map(|&(_, k)| state.ids[k]));
    let velocity = state.velocities[slot];
    let finite = state.positions[slot].norm2().is_finite() && velocity.norm2().is_finite();
    Culprit {
        step: state.step,
        particle: state.ids[slot],
        species: state.species[slot],
        position: here.to_array(),
        force: state.forces[slot].to_array(),
        term: nearest.and_then(|(d, k)| strongest_term(state, field, slot, k, d)),
        partner: nearest.map(|(_, k)| state.ids[k]),
        distance: nearest.map(|(d, _)| d),
        neighbourhood,
        what: if still {
            "has no finite force"
        } else if finite {
            "flew across the cell"
        } else {
            "has no finite position"
        },
    }
}

fn strongest_term(state: &State, field: &ForceField, i: usize, j: usize, distance: f64) -> Option<String> {
    let strength = |term: &crate::forces::PairTerm| {
        let species = (term.rows.len() as f64).sqrt().round() as u32;
        let row = &term.rows[(state.species[i] * species + state.species[j]) as usize];
        let pair = Pair {
            r2: distance * distance,
            table: &term.table,
        };
        let slope = term.family.energy_and_slope(pair, &row.coefficients).derivative * 2.0 * distance;
        let charges = if term.family.uses_charges() {
            field.coulomb_constant * state.charges[i] * state.charges[j]
        } else {
            1.0
        };
        let force = (slope * charges).abs();
        if force.is_nan() { f64::INFINITY } else { force }
    };
    field
        .pairs
        .iter()
        .max_by(|a, b| strength(a).total_cmp(&strength(b)))
        .map(|term| term.name.clone())
}
