//! Lists that may miss pairs do so within the drift they were allowed; a pair that stands in one list only acts on
//! both.

use debye::engines::Settings;
use debye::engines::cpu::CpuEngine;
use debye::expr::Vec3;
use debye::system::Cell;
use debye::truncation::Truncation;

use crate::electrostatics::{all_vectors, field, plan, spce};
use crate::{check, double, liquid, lj, nve, random};

/// Waters on a grid, each turned its own way; lengths in Å.
fn waters(cell: &Cell, counts: [usize; 3]) -> Vec<Vec3<f64>> {
    let count: usize = counts.iter().product();
    let places = (0..count).flat_map(|k| {
        let at = [
            k % counts[0],
            k / counts[0] % counts[1],
            k / counts[0] / counts[1],
        ];
        let part = |axis: usize| (at[axis] as f64 + 0.5) / counts[axis] as f64;
        let s = Vec3::new(part(0), part(1), part(2));
        let aside = |n: usize| (random(9, 2 * k + n) - Vec3::splat(0.5)) * 2.0;
        let unit = |v: Vec3<f64>| v * (1.0 / v.norm());
        let first = unit(aside(0));
        let across = aside(1);
        let second = unit(across - first * across.dot(first));
        let oxygen = cell.position(s) + aside(0) * 0.2;
        [
            oxygen,
            oxygen + first,
            oxygen + first * (-1.0 / 3.0) + second * (8.0_f64.sqrt() / 3.0),
        ]
    });
    places.collect()
}

/// Cells from less than half a cut-off on, where waters meet many images of each other and of themselves, to some whose
/// blocks of particles begin within a water. With every third of the hydrogens gone astray by a whole cell.
#[test]
fn waters_meet_every_image_once() {
    let small = Cell::orthorhombic([4.0, 6.5, 7.0]).unwrap();
    let skewed = Cell::triclinic([[9.5, 0.0, 0.0], [2.5, 9.0, 0.0], [-3.0, 2.0, 10.0]]).unwrap();
    let large = Cell::orthorhombic([16.0, 22.0, 25.5]).unwrap();
    for (cell, counts) in [(small, [1, 2, 2]), (skewed, [3, 3, 3]), (large, [5, 7, 8])] {
        let mut places = waters(&cell, counts);
        for (k, r) in places.iter_mut().enumerate().filter(|(k, _)| k % 9 == 1) {
            *r += cell.translation([1, 0, -1].map(|n| n * (1 + k as i32 % 2)));
        }
        let (water, mut terms) = spce(cell, &places, 78.2);
        terms.truncate(1);
        let plan = plan(10.0, 0.3, all_vectors(&cell, 0.3));
        check(
            &water,
            &field(&water, plan, 167_100.0, terms),
            &format!("{counts:?}"),
        );
    }
}

#[test]
fn a_tolerated_drift_is_kept_and_saves_lists() {
    let system = liquid(5, 0.8442, 1.0, 7);
    let dynamics = nve(0.005);
    let per_particle = system.particles.len() as f64;
    for (truncation, tolerance) in [
        (Truncation::Cut, 1e-3),
        (Truncation::Shift, 1e-4),
        (Truncation::ForceShift, 1e-5),
    ] {
        let field = lj(&system, 2.5, truncation, false);
        let strict = Settings {
            buffer: Some(0.2),
            ..double()
        };
        let loose = Settings {
            drift_tolerance: Some(tolerance),
            ..strict.clone()
        };
        let mut exact = CpuEngine::new(&system, &field, &dynamics, &strict).unwrap();
        let mut engine = CpuEngine::new(&system, &field, &dynamics, &loose).unwrap();
        exact.advance(200, false).unwrap();
        // What is bounded is the mean: single steps lose a pair more or less by chance.
        let (mut age, mut lost, mut allowed) = (0.0, 0.0, 0.0);
        for _ in 0..200 {
            let builds = engine.lists().builds;
            engine.advance(1, true).unwrap();
            age = if engine.lists().builds > builds {
                0.0
            } else {
                age + dynamics.timestep
            };
            let mut now = system.clone();
            now.particles = engine.particles();
            let whole = CpuEngine::new(&now, &field, &dynamics, &strict)
                .unwrap()
                .observe()
                .unwrap()
                .potential;
            lost += (engine.observe().unwrap().potential - whole).abs();
            allowed += tolerance * age * per_particle;
        }
        assert!(
            lost < allowed,
            "{truncation:?}: lost {lost:e} where {allowed:e} was allowed"
        );
        let (few, many) = (engine.lists().builds, exact.lists().builds);
        assert!(few < many, "{truncation:?}: {few} lists against {many}");
        println!(
            "{truncation:?}: {few} lists against {many}, {:.2} of the drift allowed",
            lost / allowed
        );
    }
}
