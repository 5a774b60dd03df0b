//! Maps of the potential against double loops in f64, and against one another.

use debye::engines::{InstructionSet, Precision};
use debye::prelude::*;
use debye::random::Philox;
use debye::system::Units;

/// Charges at random in a box, neutral together, with the numbers of a seed.
fn charges(n: usize, edges: [f64; 3], seed: u64) -> PointCharges {
    let random = Philox::new(seed);
    let at = |i: usize, k: u64| random.uniform(k, i as u32, 0);
    let positions: Vec<Vec3<f64>> = (0..n)
        .map(|i| Vec3::new(at(i, 0) * edges[0], at(i, 1) * edges[1], at(i, 2) * edges[2]))
        .collect();
    let mut values: Vec<f64> = (0..n).map(|i| at(i, 3) - 0.5).collect();
    let mean = values.iter().sum::<f64>() / n as f64;
    values.iter_mut().for_each(|q| *q -= mean);
    PointCharges::new(&positions, &values).unwrap()
}

fn every(grid: &MapGrid) -> impl Iterator<Item = [usize; 3]> + use<> {
    let [a, b, c] = grid.shape();
    (0..a).flat_map(move |i| (0..b).flat_map(move |j| (0..c).map(move |k| [i, j, k])))
}

/// Σ k q/max(r, d), the plain way.
fn double_loop(grid: &MapGrid, charges: &PointCharges, exclusion: f64) -> Vec<f64> {
    let k = Units::Md.coulomb_constant();
    every(grid)
        .map(|point| {
            let at = grid.position(point);
            let terms = charges.positions().iter().zip(charges.charges());
            k * terms
                .map(|(&r, q)| q / (at - r).norm().max(exclusion))
                .sum::<f64>()
        })
        .collect()
}

/// max |ΔV| / max |V|.
fn error(map: &PotentialMap, reference: &[f64]) -> f64 {
    let largest = reference.iter().fold(0.0_f64, |m, v| m.max(v.abs()));
    let apart = |(i, v): (usize, &f64)| (map.values().get(i).unwrap() - v).abs();
    reference.iter().enumerate().map(apart).fold(0.0, f64::max) / largest
}

/// √⟨ΔV²⟩ / √⟨V²⟩.
fn mean_error(map: &PotentialMap, reference: &[f64]) -> f64 {
    let square = |x: f64| x * x;
    let apart = reference
        .iter()
        .enumerate()
        .map(|(i, v)| square(map.values().get(i).unwrap() - v));
    (apart.sum::<f64>() / reference.iter().map(|v| v * v).sum::<f64>()).sqrt()
}

#[test]
fn direct_sums_are_those_of_a_double_loop() {
    let some = charges(700, [2.0, 1.5, 1.8], 3);
    for shape in [[21, 21, 21], [1, 1, 1], [37, 4, 9], [5, 40, 3]] {
        let grid = MapGrid::new([-0.3, 0.1, 0.0], [0.11, 0.09, 0.1], shape).unwrap();
        let reference = double_loop(&grid, &some, 0.01);
        for set in InstructionSet::available() {
            let request = MapRequest::new(grid)
                .method(MapMethod::Direct)
                .instruction_set(set);
            let single = request.clone().compute(&some).unwrap();
            let double = request.precision(Precision::Double).compute(&some).unwrap();
            let [single, double] = [single, double].map(|map| error(&map, &reference));
            // Where charges cancel at the only point, their rounding does not.
            let allowed = if grid.points() == 1 { 4e-6 } else { 1e-6 };
            assert!(single < allowed, "{shape:?} {set:?}: {single:.1e}");
            assert!(double < 1e-12, "{shape:?} {set:?}: {double:.1e}");
        }
    }
}

#[test]
fn points_on_charges_have_the_potential_of_the_exclusion_radius() {
    let one = PointCharges::new(&[Vec3::new(0.2, 0.2, 0.2)], &[-2.0]).unwrap();
    let grid = MapGrid::new([0.0; 3], [0.1; 3], [5; 3]).unwrap();
    for method in [MapMethod::Direct, MapMethod::Multilevel] {
        let request = MapRequest::new(grid).method(method).exclusion(0.02);
        let map = request.precision(Precision::Double).compute(&one).unwrap();
        let expected = -2.0 * Units::Md.coulomb_constant() / 0.02;
        let value = map.value([2, 2, 2]);
        assert!(
            (value / expected - 1.0).abs() < 1e-3,
            "{method}: {value} {expected}"
        );
    }
}

#[test]
fn a_mesh_keeps_the_rule_of_the_exclusion_radius() {
    let edges = [4.0; 3];
    let some = charges(300, edges, 19);
    let cell = Cell::orthorhombic(edges).unwrap();
    // From a charge on, so that one point has no distance from it at all.
    let corner = some.positions()[0].to_array();
    let grid = MapGrid::new(corner, [0.04; 3], [5; 3]).unwrap();
    let mesh = |exclusion: f64| {
        MapRequest::new(grid)
            .method(MapMethod::Mesh)
            .periodic(cell)
            .tolerance(1e-5)
            .exclusion(exclusion)
    };
    let least = 1e-3;
    let request = mesh(least).precision(Precision::Double);
    let bare = request.device(DeviceChoice::Cpu).compute(&some).unwrap();
    for exclusion in [0.02, 0.1, 0.2] {
        let k = Units::Md.coulomb_constant();
        let rule = |point: [usize; 3]| -> f64 {
            let at = grid.position(point);
            let all = some.positions().iter().zip(some.charges());
            let change = |(&r, q): (&Vec3<f64>, &f64)| {
                let distance = cell.minimum_image(at - r).norm();
                k * q * (1.0 / distance.max(exclusion) - 1.0 / distance.max(least))
            };
            bare.value(point) + all.map(change).sum::<f64>()
        };
        let reference: Vec<f64> = every(&grid).map(rule).collect();
        for set in InstructionSet::available() {
            for precision in [Precision::Mixed, Precision::Double] {
                let request = mesh(exclusion).precision(precision).instruction_set(set);
                let found = error(&request.compute(&some).unwrap(), &reference);
                assert!(
                    found < 1e-4,
                    "{exclusion} nm, {set:?}, {precision:?}: {found:.1e}"
                );
            }
        }
    }
    let text = mesh(0.9).compute(&some).unwrap_err().to_string();
    assert!(text.contains("9 Å") && text.contains("cut-off"), "{text}");
}

#[test]
fn multilevel_summation_is_as_good_as_its_order() {
    let some = charges(3000, [3.0, 3.5, 4.0], 5);
    let grid = MapGrid::around(some.positions(), 0.4, 0.15).unwrap();
    let reference = double_loop(&grid, &some, 0.01);
    for (order, allowed) in [(4, 5e-3), (6, 1e-3), (8, 5e-4)] {
        let request = MapRequest::new(grid).method(MapMethod::Multilevel).order(order);
        let found = mean_error(&request.compute(&some).unwrap(), &reference);
        println!("order {order}: {found:.2e}");
        assert!(found < allowed, "order {order}: {found:.1e}");
    }
}

#[test]
fn periodic_methods_agree() {
    let edges = [3.1, 2.7, 2.4];
    let some = charges(600, edges, 7);
    let cell = Cell::orthorhombic(edges).unwrap();
    let grid = MapGrid::of_cell(&cell, [0.0; 3], 0.2).unwrap();
    let mesh = MapRequest::new(grid)
        .method(MapMethod::Mesh)
        .periodic(cell)
        .tolerance(1e-6);
    let mesh = mesh.precision(Precision::Double).compute(&some).unwrap();
    let reference: Vec<f64> = (0..grid.points())
        .map(|i| mesh.values().get(i).unwrap())
        .collect();
    for (order, allowed) in [(4, 1e-2), (8, 1e-3)] {
        let request = MapRequest::new(grid)
            .method(MapMethod::Multilevel)
            .periodic(cell)
            .order(order);
        let found = mean_error(&request.compute(&some).unwrap(), &reference);
        println!("order {order}: {found:.2e}");
        assert!(found < allowed, "order {order}: {found:.1e}");
    }
}

#[test]
fn the_cutoff_method_sums_the_smoothed_kernel() {
    let (at, a) = (Vec3::new(0.31, 0.2, 0.17), 0.9);
    let one = PointCharges::new(&[at], &[0.7]).unwrap();
    let grid = MapGrid::new([0.0; 3], [0.1; 3], [14, 9, 7]).unwrap();
    let request = MapRequest::new(grid).method(MapMethod::Cutoff).cutoff(a);
    let map = request.precision(Precision::Double).compute(&one).unwrap();
    for point in every(&grid) {
        let r = (grid.position(point) - at).norm();
        let x2 = (r / a) * (r / a);
        let gamma = 15.0 / 8.0 - 5.0 / 4.0 * x2 + 3.0 / 8.0 * x2 * x2;
        let short = if r < a { 1.0 / r - gamma / a } else { 0.0 };
        let expected = 0.7 * Units::Md.coulomb_constant() * short;
        assert!((map.value(point) - expected).abs() < 1e-8 * (1.0 + expected.abs()));
    }
}

/// A lattice tilted by half an edge is also a rectangular one of twice the charges.
#[test]
fn triclinic_meshes_agree_with_rectangular_ones() {
    let (a, b, c) = (2.4, 2.0, 2.2);
    let tilted = Cell::triclinic([[a, 0.0, 0.0], [0.5 * a, b, 0.0], [0.0, 0.0, c]]).unwrap();
    let straight = Cell::orthorhombic([a, 2.0 * b, c]).unwrap();
    let some = charges(200, [a, b, c], 11);
    let shifted = some.positions().iter().map(|&r| r + Vec3::new(0.5 * a, b, 0.0));
    let places: Vec<Vec3<f64>> = some.positions().iter().copied().chain(shifted).collect();
    let twice = PointCharges::new(&places, &[some.charges(), some.charges()].concat()).unwrap();
    let grid = MapGrid::new([0.1, 0.2, 0.3], [0.2; 3], [10, 9, 8]).unwrap();
    let request = MapRequest::new(grid)
        .method(MapMethod::Mesh)
        .tolerance(1e-5)
        .precision(Precision::Double);
    let one = request.clone().periodic(tilted).compute(&some).unwrap();
    let other = request.periodic(straight).compute(&twice).unwrap();
    let reference: Vec<f64> = (0..grid.points())
        .map(|i| other.values().get(i).unwrap())
        .collect();
    let found = mean_error(&one, &reference);
    assert!(found < 1e-4, "{found:.1e}");
}

/// Across a layer of dipoles p with one to an area A the potential rises by p/ε₀A, less what the periodic images take.
#[test]
fn a_layer_of_dipoles_makes_a_step() {
    let (edge, p) = (3.2, 0.05);
    let cell = Cell::orthorhombic([edge; 3]).unwrap();
    let step = edge / 8.0;
    let mut positions = Vec::new();
    for i in 0..64_usize {
        let across = |n: usize| (n as f64 + 0.5) * step;
        positions.push(Vec3::new(across(i % 8), across(i / 8), 1.6));
    }
    let mut subject = MapSubject::new(positions, Vec::new());
    subject.dipoles = (0..64).map(|i| (i, Vec3::new(0.0, 0.0, p))).collect();
    let charges = subject.point_charges().unwrap();
    let mut profile = debye::maps::PotentialProfile::new(2, 32, 0.0, 1.0);
    profile.add(&charges, &cell).unwrap();
    let profile = profile.rows();
    let [below, above] = [profile[9], profile[23]];
    // Without images the whole step; with them the mean field takes it back over the cell.
    let jump = 4.0 * std::f64::consts::PI * Units::Md.coulomb_constant() * p / (step * step);
    let expected = jump * (1.0 - (above[0] - below[0]) / edge);
    let found = above[1] - below[1];
    assert!((found / expected - 1.0).abs() < 1e-9, "{found} {expected}");
    // And the means of planes of a map, away from the layer.
    let grid = MapGrid::of_cell(&cell, [0.0; 3], 0.1).unwrap();
    let map = MapRequest::new(grid)
        .periodic(cell)
        .tolerance(1e-4)
        .compute(&charges)
        .unwrap();
    for k in [2, 9, 23, 30] {
        let plane = every(&grid).filter(|point| point[2] == k);
        let mean = plane.map(|point| map.value(point)).sum::<f64>() / 1024.0;
        assert!(
            (mean - profile[k][1]).abs() < 2e-3 * jump,
            "{k}: {mean} {:?}",
            profile[k]
        );
    }
}

#[test]
fn auto_takes_what_is_cheapest_and_says_why() {
    let few = charges(50, [2.0; 3], 1);
    let grid = MapGrid::around(few.positions(), 0.2, 0.2).unwrap();
    let choice = MapRequest::new(grid).choose(&few);
    assert_eq!(choice.method, MapMethod::Direct);
    assert!(choice.why.unwrap().contains("multilevel"));
    let many = charges(20_000, [8.0; 3], 1);
    let grid = MapGrid::around(many.positions(), 0.2, 0.2).unwrap();
    assert_eq!(MapRequest::new(grid).choose(&many).method, MapMethod::Multilevel);
    assert_eq!(
        MapRequest::new(grid).tolerance(1e-7).choose(&many).method,
        MapMethod::Direct
    );
    // Grids of levels go over charges and points, however far apart they are.
    let some = charges(3000, [6.0; 3], 1);
    let near = MapGrid::new([0.0; 3], [0.1; 3], [64; 3]).unwrap();
    assert_eq!(MapRequest::new(near).choose(&some).method, MapMethod::Multilevel);
    for away in [100.0, 400.0, 1e6] {
        let far = MapGrid::new([away; 3], [0.1; 3], [64; 3]).unwrap();
        let request = MapRequest::new(far).device(DeviceChoice::Cpu);
        let choice = request.choose(&some);
        assert_eq!(choice.method, MapMethod::Direct, "{away}");
        assert!(!choice.why.unwrap().contains("inf"));
    }
    let cell = Cell::triclinic([[8.0, 0.0, 0.0], [1.0, 8.0, 0.0], [0.0, 0.0, 8.0]]).unwrap();
    assert_eq!(
        MapRequest::new(grid).periodic(cell).choose(&many).method,
        MapMethod::Mesh
    );
}

#[test]
fn nonsense_is_refused() {
    let one = charges(10, [1.0; 3], 1);
    let grid = MapGrid::new([0.0; 3], [0.1; 3], [4; 3]).unwrap();
    let refused = |request: MapRequest| request.compute(&one).unwrap_err().to_string();
    let cell = Cell::orthorhombic([1.0; 3]).unwrap();
    let periodic = MapRequest::new(grid).method(MapMethod::Direct).periodic(cell);
    assert!(refused(periodic).contains("open boundaries"));
    assert!(refused(MapRequest::new(grid).method(MapMethod::Mesh)).contains("periodic"));
    assert!(refused(MapRequest::new(grid).permittivity(0.0)).contains("permittivity"));
    let odd = MapRequest::new(grid).method(MapMethod::Multilevel).order(5);
    assert!(refused(odd).contains("4, 6 and 8"));
    let vast = MapGrid::new([0.0; 3], [0.1; 3], [20_000; 3]).unwrap();
    let text = refused(MapRequest::new(vast));
    assert!(text.contains("8000000000000 points take 104000 GB"), "{text}");
    let fine = MapRequest::new(grid)
        .method(MapMethod::Multilevel)
        .level_spacing(1e-5);
    assert!(refused(fine).contains("GB"));
    let short = MapRequest::new(grid).method(MapMethod::Multilevel).cutoff(0.01);
    assert!(refused(short).contains("twice the spacing"));
    let many = MapRequest::new(grid)
        .method(MapMethod::Cutoff)
        .periodic(cell)
        .cutoff(1e5);
    assert!(refused(many).contains("GB"));
    let long = MapGrid::new([0.0; 3], [0.1; 3], [40, 4, 4]).unwrap();
    let text = refused(MapRequest::new(long).method(MapMethod::Mesh).periodic(cell));
    assert!(text.contains("longer than the cell along x"), "{text}");
    let away = MapGrid::new([0.0, 50.0, 0.0], [0.1; 3], [4; 3]).unwrap();
    let text = refused(MapRequest::new(away).method(MapMethod::Mesh).periodic(cell));
    assert!(text.contains("outside of the cell along y"), "{text}");
    let none = PointCharges::new(&[Vec3::zero()], &[0.0])
        .unwrap_err()
        .to_string();
    assert!(none.contains("no atom has a charge"));
}

/// A ball of charges with a net charge, as a solute.
fn solute(seed: u64) -> MapSubject {
    let some = charges(150, [2.0; 3], seed);
    let mut subject = MapSubject::new(some.positions().to_vec(), some.charges().to_vec());
    subject.charges[0] -= 4.0;
    subject
}

#[test]
fn ions_at_extrema_lie_lower_than_at_random() {
    for seed in 0..20 {
        let subject = solute(100 + seed);
        let request = IonRequest {
            concentration: 0.2,
            spacing: 0.15,
            seed,
            ..IonRequest::default()
        };
        let placed = request.place(&subject).unwrap();
        let random = IonRequest {
            placement: IonPlacement::Random,
            ..request.clone()
        };
        let random = random.place(&subject).unwrap();
        assert_eq!(placed.ions.len(), random.ions.len());
        assert!(placed.ions.len() >= 4);
        assert!(placed.energy() < random.energy(), "seed {seed}");
        let total: f64 = placed.subject.charges.iter().sum();
        assert!(total.abs() < 1e-9, "{total}");
        for both in [&placed, &random] {
            keep_their_distances(&subject, &both.ions, &request);
        }
        assert_eq!(request.place(&subject).unwrap().ions, placed.ions);
    }
}

fn keep_their_distances(subject: &MapSubject, ions: &[debye::maps::PlacedIon], request: &IonRequest) {
    let k = Units::Md.coulomb_constant();
    for (n, ion) in ions.iter().enumerate() {
        let mut potential = 0.0;
        for (r, q) in subject.positions.iter().zip(&subject.charges) {
            let distance = (ion.position - *r).norm();
            assert!(distance > request.solute_distance - 1e-9);
            potential += k * q / distance;
        }
        for other in &ions[..n] {
            let distance = (ion.position - other.position).norm();
            assert!(distance > request.ion_distance - 1e-9);
            potential += k * other.charge / distance;
        }
        assert!(
            (ion.potential / potential - 1.0).abs() < 1e-9,
            "{} {potential}",
            ion.potential
        );
    }
}

/// No other point that keeps the distances is lower for the first ion.
#[test]
fn the_first_ion_is_at_the_extremum() {
    let subject = solute(7);
    let request = IonRequest {
        spacing: 0.2,
        ..IonRequest::default()
    };
    let placed = request.place(&subject).unwrap();
    let first = &placed.ions[0];
    let grid = MapGrid::around(&subject.positions, request.padding, request.spacing).unwrap();
    let all = PointCharges::new(&subject.positions, &subject.charges).unwrap();
    let values = double_loop(&grid, &all, 1e-3);
    let free = |at: Vec3<f64>| {
        subject
            .positions
            .iter()
            .all(|&r| (at - r).norm() >= request.solute_distance)
    };
    let points = every(&grid)
        .zip(&values)
        .filter(|(point, _)| free(grid.position(*point)));
    let lowest = points.map(|(_, v)| *v).fold(f64::INFINITY, f64::min);
    assert!(
        (first.potential / lowest - 1.0).abs() < 1e-9,
        "{} {lowest}",
        first.potential
    );
}

/// Frames that are the reference, turned and moved, give its map again.
#[test]
fn aligned_frames_give_the_map_of_the_reference() {
    let some = charges(40, [1.5; 3], 21);
    let subject = MapSubject::new(some.positions().to_vec(), some.charges().to_vec());
    let grid = subject.grid_around(0.6, 0.2).unwrap();
    let request = MapRequest::new(grid).method(MapMethod::Direct);
    let alone = request.compute(&some).unwrap();
    let frames = MapFrames::new(subject.clone(), request, false).unwrap();
    let mut frames = frames.aligned((0..40).collect()).unwrap();
    for n in 0..20 {
        let turn = debye::expr::Quat::about(Vec3::new(0.6, 0.0, 0.8), 0.3 * f64::from(n));
        let moved = subject
            .positions
            .iter()
            .map(|&r| turn.rotate(r) + Vec3::new(f64::from(n), 0.0, -1.0));
        let frame = debye_io::Frame {
            length_unit: debye_io::LengthUnit::Nanometer,
            positions: moved.map(|r| r.to_array()).collect(),
            ..debye_io::Frame::default()
        };
        frames.add(&frame, None).unwrap();
    }
    let (average, _) = frames.finish().unwrap();
    let reference: Vec<f64> = (0..grid.points())
        .map(|i| alone.values().get(i).unwrap())
        .collect();
    assert!(error(&average.mean().unwrap(), &reference) < 1e-5);
    let spread = average.error().unwrap().unwrap().range()[1];
    assert!(spread < 1e-4 * alone.range()[1], "{spread}");
    let few = debye_io::Frame::default();
    let mut frames = MapFrames::new(subject, MapRequest::new(grid), false).unwrap();
    let text = frames.add(&few, None).unwrap_err().to_string();
    assert!(text.contains("0 atoms where there should be 40"), "{text}");
}

/// Ions that do not divide the charge, and those of fractions, leave nothing and keep the concentration.
#[test]
fn ions_take_the_whole_charge_away() {
    let counts = |cation: f64, anion: f64, concentration: f64| {
        let mut subject = solute(3);
        subject.charges[0] -= 1.0;
        let request = IonRequest {
            cation: Ion::new("A", cation),
            anion: Ion::new("B", anion),
            concentration,
            spacing: 0.2,
            ion_distance: 0.3,
            ..IonRequest::default()
        };
        let ionized = request.place(&subject).unwrap();
        let net: f64 = ionized.subject.charges.iter().sum();
        let count = |name: &str| ionized.ions.iter().filter(|ion| ion.name == name).count();
        (count("A"), count("B"), (net * 1e6).round() / 1e6)
    };
    assert_eq!(counts(1.0, -1.0, 0.0), (5, 0, 0.0));
    assert_eq!(counts(2.0, -1.0, 0.0), (3, 1, 0.0));
    assert_eq!(counts(2.0, -2.0, 0.0).2.abs(), 1.0);
    let [one, scaled] = [counts(1.0, -1.0, 0.3), counts(0.5, -0.5, 0.3)];
    assert_eq!(one.0 - one.1, 5);
    assert_eq!(scaled.0 - scaled.1, 10);
    assert_eq!(one.1, scaled.1);
    let double = counts(4.0, -2.0, 0.3);
    assert!(
        double.1 + 3 >= 2 * one.1 && double.1 <= 2 * one.1 + 3,
        "{double:?} {one:?}"
    );
}

/// A solute that lies across a face of the cell gets its ions where it would get them whole.
#[test]
fn ions_count_images_of_the_solute() {
    let cell = Cell::orthorhombic([4.0; 3]).unwrap();
    let whole = solute(5);
    let request = IonRequest {
        spacing: 0.2,
        ..IonRequest::default()
    };
    let place = |shift: f64, wrap: bool| {
        let mut subject = whole.clone().with_cell(Some(cell));
        for r in &mut subject.positions {
            *r += Vec3::splat(shift);
            if wrap {
                *r = cell.wrap(*r).0;
            }
        }
        subject.structure.origin = Some([0.0; 3]);
        request.place(&subject).unwrap()
    };
    let [middle, across] = [place(0.0, false), place(3.0, true)];
    for (a, b) in middle.ions.iter().zip(&across.ions) {
        let apart = cell
            .minimum_image(b.position - a.position - Vec3::splat(3.0))
            .norm();
        assert!(apart < 1e-6, "{a:?} {b:?}");
        assert!((a.potential / b.potential - 1.0).abs() < 1e-3);
    }
}

/// Along axes where atoms fill the cell evenly there is no middle, and nothing moves.
#[test]
fn centering_leaves_axes_without_a_middle_alone() {
    let cell = Cell::orthorhombic([2.0; 3]).unwrap();
    // A layer across z, its sites a little off a lattice.
    let random = Philox::new(4);
    let off = |i: usize, k: u64| 0.02 * (random.uniform(k, i as u32, 0) - 0.5);
    let sites = |z: f64| -> Vec<Vec3<f64>> {
        let at = |i: usize| {
            Vec3::new(
                0.4 * (i % 5) as f64 + off(i, 0),
                0.4 * (i / 5) as f64 + off(i, 1),
                z,
            )
        };
        (0..25).map(at).collect()
    };
    let charges: Vec<f64> = (0..25).map(|i| [1.0, -1.0][i % 2]).collect();
    let of = |positions: Vec<Vec3<f64>>, center: Vec<usize>| {
        let mut subject = MapSubject::new(positions.clone(), charges.clone());
        subject.structure.origin = Some([0.0; 3]);
        let subject = subject.with_cell(Some(cell));
        let grid = subject.grid_over_cell(0.2).unwrap();
        let request = MapRequest::new(grid).periodic(cell).tolerance(1e-5);
        let mut frames = MapFrames::new(subject, request, true).unwrap();
        if !center.is_empty() {
            frames = frames.centered(center).unwrap();
        }
        let frame = debye_io::Frame {
            length_unit: debye_io::LengthUnit::Nanometer,
            cell: Some(cell.to_arrays()),
            positions: positions.iter().map(|r| r.to_array()).collect(),
            ..debye_io::Frame::default()
        };
        frames.add(&frame, None).unwrap();
        (frames.uncentered(), frames.finish().unwrap().0.mean().unwrap())
    };
    let all: Vec<usize> = (0..25).collect();
    let (_, plain) = of(sites(1.0), Vec::new());
    let (without, centered) = of(sites(0.3), all.clone());
    assert_eq!(without, 0);
    for i in 0..plain.values().len() {
        let [a, b] = [&plain, &centered].map(|map| map.values().get(i).unwrap());
        assert!((a - b).abs() < 1e-2 * (1.0 + a.abs()), "{i}: {a} {b}");
    }
    // Two layers half a cell apart have no middle at all.
    let two = |i: usize, r: Vec3<f64>| r + Vec3::new(0.0, 0.0, [0.0, 1.0][i / 13]);
    let apart: Vec<Vec3<f64>> = sites(0.3)
        .into_iter()
        .enumerate()
        .map(|(i, r)| two(i, r))
        .collect();
    assert_eq!(of(apart, all).0, 1);
}

/// The middle of the atoms goes to the middle of the cell, wherever its corner is.
#[test]
fn centered_frames_lie_in_the_middle() {
    let cell = Cell::orthorhombic([2.0; 3]).unwrap();
    let mut subject = MapSubject::new(vec![Vec3::splat(-0.9), Vec3::splat(-0.7)], vec![1.0, -1.0]);
    subject.structure.origin = Some([-1.0; 3]);
    let subject = subject.with_cell(Some(cell));
    let grid = subject.grid_over_cell(0.2).unwrap();
    assert_eq!(grid.origin(), Vec3::splat(-1.0));
    let frames = MapFrames::new(subject.clone(), MapRequest::new(grid).periodic(cell), true).unwrap();
    let mut frames = frames.centered(vec![0, 1]).unwrap();
    let frame = debye_io::Frame {
        length_unit: debye_io::LengthUnit::Nanometer,
        cell: Some(cell.to_arrays()),
        positions: subject
            .positions
            .iter()
            .map(|r| (*r + Vec3::splat(0.83)).to_array())
            .collect(),
        ..debye_io::Frame::default()
    };
    frames.add(&frame, None).unwrap();
    let mean = frames.finish().unwrap().0.mean().unwrap();
    // Between the charges, in the middle of the cell, there is nothing; about it the signs differ.
    assert!(mean.value([5, 5, 5]).abs() < 1.0, "{}", mean.value([5, 5, 5]));
    assert!(mean.value([4, 4, 4]) > 100.0 && mean.value([6, 6, 6]) < -100.0);
}
