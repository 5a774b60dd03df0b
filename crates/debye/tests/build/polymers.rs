//! Bead–spring melts.

use debye::system::builders;
use debye::system::{Cell, System};

/// Shortest distance of beads that are not bonded, by bins of the side of one.
fn closest(system: &System) -> f64 {
    let r = &system.particles.positions;
    let cell: &Cell = &system.cell;
    let bins = cell.to_arrays()[0][0].floor() as usize;
    let bin_of = |axis: usize, i: usize| {
        let s = cell.fractional(r[i])[axis];
        ((s * bins as f64) as usize).min(bins - 1)
    };
    let mut members = vec![Vec::new(); bins * bins * bins];
    for i in 0..r.len() {
        members[(bin_of(2, i) * bins + bin_of(1, i)) * bins + bin_of(0, i)].push(i);
    }
    let mut shortest = f64::INFINITY;
    for i in 0..r.len() {
        for step in 0..27 {
            let at = |axis: usize, step: usize| (bin_of(axis, i) + bins + step - 1) % bins;
            let (x, y, z) = (at(0, step % 3), at(1, step / 3 % 3), at(2, step / 9));
            for &j in &members[(z * bins + y) * bins + x] {
                let bonded =
                    i.abs_diff(j) == 1 && system.particles.molecules[i] == system.particles.molecules[j];
                if i != j && !bonded {
                    shortest = shortest.min(cell.minimum_image(r[j] - r[i]).norm());
                }
            }
        }
    }
    shortest
}

#[test]
fn kremer_grest_melt() {
    let (chains, beads) = (100, 100);
    let begin = std::time::Instant::now();
    let make = || {
        builders::polymers(chains, beads)
            .density(0.85)
            .bond_kind("fene")
            .exclude(1)
            .seed(3)
    };
    let system = make().build().unwrap();
    println!("10 000 beads: {:?}", begin.elapsed());
    let p = &system.particles;
    assert_eq!(p.len(), chains * beads);
    assert!((p.len() as f64 / system.cell.volume() - 0.85).abs() < 1e-12);
    assert_eq!(system.topology.bonds.len(), chains * (beads - 1));
    assert_eq!(system.topology.bond_kinds, ["fene"]);
    assert_eq!(system.exclusions.pairs().count(), system.topology.bonds.len());
    let whole = |i: usize| p.positions[i] + system.cell.translation(p.images[i]);
    for bond in &system.topology.bonds {
        let [i, j] = bond.atoms.map(|i| i as usize);
        assert_eq!(p.molecules[i], p.molecules[j]);
        assert!(((whole(j) - whole(i)).norm() - 0.97).abs() < 1e-6);
        if j + 1 < p.len() && p.molecules[j + 1] == p.molecules[i] {
            assert!((whole(j + 1) - whole(i)).norm() >= 1.02 * 0.97 - 1e-9);
        }
    }
    assert_eq!(system.topology.bonds[99].atoms, [100, 101]);
    let shortest = closest(&system);
    println!("closest {shortest}");
    assert!(shortest >= 0.9 - 1e-9, "{shortest}");
    assert_eq!(system, make().build().unwrap());
    assert_ne!(system, make().seed(4).build().unwrap());
}

#[test]
fn chains_spread_as_walks_without_folding() {
    // Dilute, so that only the bonds and the rule against folding count: for a walk with ⟨cos θ⟩ = c
    // between successive bonds, ⟨R²⟩ ≈ n b² (1 + c)/(1 − c); cos θ is uniform from 1.02²/2 − 1 to 1.
    let (chains, beads) = (1500, 40);
    let system = builders::polymers(chains, beads)
        .density(0.001)
        .minimum_distance(1e-3)
        .build()
        .unwrap();
    let p = &system.particles;
    let whole = |i: usize| p.positions[i] + system.cell.translation(p.images[i]);
    let ends = |chain: usize| (whole(chain * beads + beads - 1) - whole(chain * beads)).norm2();
    let mean = (0..chains).map(ends).sum::<f64>() / chains as f64;
    let (n, c) = ((beads - 1) as f64, 1.02f64 * 1.02 / 4.0);
    let expected =
        0.97 * 0.97 * (n * (1.0 + c) / (1.0 - c) - 2.0 * c * (1.0 - c.powf(n)) / ((1.0 - c) * (1.0 - c)));
    // R² of a long walk has a relative standard deviation of √(2/3).
    let five = 5.0 * (2.0f64 / 3.0 / chains as f64).sqrt();
    assert!((mean / expected - 1.0).abs() < five, "{mean} {expected}");
}

#[test]
fn too_dense_melts_are_still_built() {
    let system = builders::polymers(8, 50)
        .density(0.85)
        .minimum_distance(1.1)
        .build()
        .unwrap();
    assert_eq!(system.particles.len(), 400);
    assert!(closest(&system) > 0.1);
}

#[test]
fn odd_requests() {
    assert!(builders::polymers(3, 5).build().is_err());
    assert!(
        builders::polymers(3, 5)
            .density(0.1)
            .bond_length(f64::NAN)
            .build()
            .is_err()
    );
    let atoms = builders::polymers(5, 1).density(0.1).build().unwrap();
    assert_eq!(atoms.topology.bonds.len(), 0);
    assert!(builders::polymers(5, 0).density(0.1).build().is_err());
}
