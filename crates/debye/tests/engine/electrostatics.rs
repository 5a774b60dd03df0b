//! Ewald sums and meshes against published numbers, identities and each other.

use debye::engines::cpu::CpuEngine;
use debye::engines::reference::{self, Evaluation};
use debye::engines::{Precision, Settings};
use debye::expr::Vec3;
use debye::forces::electrostatics::{Boundary, Electrostatics, MeshPlan, Method, ReciprocalVectors, Within};
use debye::forces::pme::Basis;
use debye::forces::pme::estimate::{Charged, coarsest, vectors};
use debye::forces::{ForceField, MixingRule, PairTerm};
use debye::system::{Cell, ExclusionRule, Exclusions, Link, Species, System, Topology, builders};
use debye::truncation::Truncation;

use super::{Tolerance, assert_same, check, double, evaluated, nve, precisions, random, relative_rms};

/// k_e of LAMMPS, kcal Å/mol.
pub(super) const LAMMPS: f64 = 332.063_71;

/// A system of species with these charges, at these places.
pub(super) fn system(cell: Cell, charges: &[f64], places: &[(usize, Vec3<f64>)]) -> System {
    let mut system = builders::random(cell).add(0, "A", 1.0, 0.0).build().unwrap();
    system.species = charges
        .iter()
        .enumerate()
        .map(|(k, &charge)| Species::point(format!("S{k}"), 1.0, charge))
        .collect();
    for &(species, r) in places {
        system.particles.push(r, species as u32, 1.0, charges[species], 0);
    }
    system
}

/// One species, charges by particle.
pub(super) fn bag(cell: Cell, charged: &[(f64, Vec3<f64>)]) -> System {
    let mut system = system(cell, &[0.0], &[]);
    for &(q, r) in charged {
        system.particles.push(r, 0, 1.0, q, 0);
    }
    system
}

pub(super) fn plan(cutoff: f64, alpha: f64, method: Method) -> Electrostatics {
    Electrostatics {
        name: "coulomb".into(),
        cutoff,
        alpha,
        permittivity: 1.0,
        method,
        boundary: Boundary::Conductor,
    }
}

pub(super) fn mesh(size: [usize; 3], basis: Basis) -> Method {
    Method::Mesh(MeshPlan {
        size,
        basis,
        optimal: false,
    })
}

/// Reciprocal vectors to the last digit.
pub(super) fn all_vectors(cell: &Cell, alpha: f64) -> Method {
    Method::Ewald(ReciprocalVectors::converged(
        &cell.with_periodicity([true; 3]),
        alpha,
    ))
}

pub(super) fn field(system: &System, plan: Electrostatics, k: f64, mut pairs: Vec<PairTerm>) -> ForceField {
    pairs.push(plan.short_range(&system.species).unwrap());
    ForceField {
        pairs,
        electrostatics: Some(plan),
        coulomb_constant: k,
        ..ForceField::new(debye::system::Units::LennardJones)
    }
}

pub(super) fn term(e: &Evaluation, name: &str) -> f64 {
    e.terms
        .iter()
        .find(|t| t.0 == name)
        .unwrap_or_else(|| panic!("{name} in {:?}", e.terms))
        .1
}

/// Everything of the Ewald sum.
pub(super) fn coulomb(e: &Evaluation) -> f64 {
    let parts = e.terms.iter().filter(|t| t.0.starts_with("coulomb"));
    parts.map(|t| t.1).sum()
}

pub(super) fn close(got: f64, want: f64, relative: f64, what: &str) {
    assert!(
        (got - want).abs() <= relative * want.abs(),
        "{what}: {got} instead of {want}, off by {:e}",
        (got - want).abs() / want.abs()
    );
}

fn numbers(line: &str) -> Vec<f64> {
    line.split_whitespace().filter_map(|x| x.parse().ok()).collect()
}

/// The reference, then the engine in each precision, with the error each may have.
fn evaluations(system: &System, field: &ForceField) -> Vec<(String, Evaluation, Tolerance)> {
    let exact = Tolerance::of(Precision::Double);
    let mut all = vec![("reference".into(), reference::evaluate(system, field), exact)];
    for settings in precisions() {
        all.push((
            settings.precision.name().into(),
            evaluated(system, field, &settings),
            Tolerance::of(settings.precision),
        ));
    }
    all
}

/// NIST's water: species 0 oxygen, 1 hydrogen, pairs of a molecule excluded; lengths in Å, energies in K.
pub(super) fn spce(cell: Cell, places: &[Vec3<f64>], epsilon: f64) -> (System, Vec<PairTerm>) {
    let placed: Vec<(usize, Vec3<f64>)> = places
        .iter()
        .enumerate()
        .map(|(i, &r)| (usize::from(i % 3 != 0), r))
        .collect();
    let mut water = system(cell, &[-0.8476, 0.4238], &placed);
    let pairs = (0..places.len() as u32 / 3).flat_map(|m| {
        let o = 3 * m;
        [[o, o + 1], [o, o + 2], [o + 1, o + 2]]
    });
    let rule = ExclusionRule::default().extra(pairs);
    water.exclusions = Exclusions::from_bonds(&water.topology, places.len(), &rule).unwrap();
    water.topology.bond_kinds = vec!["OH".into()];
    let bonds = (0..places.len() as u32).filter(|i| i % 3 != 0);
    water.topology.bonds = bonds
        .map(|i| Link {
            kind: 0,
            atoms: [i - i % 3, i],
        })
        .collect();
    let lj = |cutoff: f64| {
        PairTerm::build("lennard-jones", &water.species)
            .unwrap()
            .cutoff(cutoff)
            .truncation(Truncation::Cut)
            .tail(true)
            .mixing(MixingRule::None)
            .pair("S0", "S0", &[("epsilon", epsilon), ("sigma", 3.165_557_89)])
            .unwrap()
            .no_interaction("S0", "S1")
            .unwrap()
            .no_interaction("S1", "S1")
            .unwrap()
            .finish()
            .unwrap()
    };
    let terms = vec![lj(10.0), lj(9.0)];
    (water, terms)
}

pub(super) fn xyz(text: &str) -> Vec<Vec3<f64>> {
    text.lines()
        .skip(2)
        .filter(|l| !l.trim().is_empty())
        .map(|line| {
            let x: Vec<f64> = line
                .split_whitespace()
                .skip(1)
                .map(|x| x.parse().unwrap())
                .collect();
            Vec3::new(x[0], x[1], x[2])
        })
        .collect()
}

/// k_e e² in K Å with CODATA 2010.
pub(super) fn kelvin() -> f64 {
    let (e, permittivity, boltzmann) = (1.602_176_565e-19_f64, 8.854_187_817e-12, 1.380_648_8e-23);
    e * e / (4.0 * std::f64::consts::PI * permittivity * boltzmann) * 1e10
}

#[test]
fn nist_water_term_by_term() {
    let files = [
        (include_str!("../data/nist_spce/spce-1.xyz"), 20.0),
        (include_str!("../data/nist_spce/spce-2.xyz"), 20.0),
        (include_str!("../data/nist_spce/spce-3.xyz"), 20.0),
        (include_str!("../data/nist_spce/spce-4.xyz"), 30.0),
    ];
    // Dispersion, tail, real, reciprocal, self, excluded at 10 Å; dispersion, tail, Coulomb at 9 Å.
    let printed = [
        [
            99538.7,
            -823.715,
            -558_889.0,
            6270.09,
            -2_844_690.0,
            2_809_990.0,
            99856.0,
            -1129.59,
            -587_334.0,
        ],
        [
            193_712.0,
            -3294.86,
            -1_192_950.0,
            6034.95,
            -5_689_380.0,
            5_619_980.0,
            194_941.0,
            -4518.36,
            -1_256_450.0,
        ],
        [
            354_344.0,
            -7413.43,
            -1_962_970.0,
            5244.61,
            -8_534_070.0,
            8_429_980.0,
            357_106.0,
            -10166.3,
            -2_062_050.0,
        ],
        [
            448_593.0,
            -13728.6,
            -3_572_260.0,
            7587.85,
            -14_223_500.0,
            14_148_300.0,
            453_536.0,
            -18826.5,
            -3_514_810.0,
        ],
    ];
    for ((text, side), want) in files.into_iter().zip(printed) {
        let cell = Cell::orthorhombic([side; 3]).unwrap();
        let (water, terms) = spce(cell, &xyz(text), 78.197_431_11);
        let set = ReciprocalVectors {
            reach: [5; 3],
            within: Within::Numbers(27),
        };
        for (k, cutoff) in [(0, 10.0), (1, 9.0)] {
            let plan = plan(cutoff, 5.6 / side, Method::Ewald(set));
            let field = field(&water, plan, kelvin(), vec![terms[k].clone()]);
            for (name, e, tolerance) in evaluations(&water, &field) {
                let same = |part: &str, want: f64| {
                    // Single precision knows erfc(x)/x to 4e-8 of 1/x, and a sum of some hundred times what is left cancels.
                    let single = part == "coulomb-real" && tolerance.energy > 1e-9;
                    let allowed = 1e-5 + tolerance.energy + if single { 1e-5 } else { 0.0 };
                    close(
                        term(&e, part),
                        want,
                        allowed,
                        &format!("{name}, {side}, {cutoff}: {part}"),
                    );
                };
                if k == 0 {
                    same("lennard-jones", want[0]);
                    same("tail", want[1]);
                    same("coulomb-real", want[2]);
                    same("coulomb-reciprocal", want[3]);
                    same("coulomb-self", want[4]);
                    // What is printed there is what is taken out.
                    same("coulomb-excluded", want[5]);
                } else {
                    same("lennard-jones", want[6]);
                    same("tail", want[7]);
                    close(coulomb(&e), want[8], 2e-5 + tolerance.energy, &name);
                }
            }
        }
    }
}

#[test]
fn nist_water_in_triclinic_cells() {
    let files = [
        (
            include_str!("../data/nist_spce/spce_triclinic_sample_periodic1.xyz"),
            0.2414,
            [
                931.154_51,
                -34.165_69,
                371.465_25,
                -6_046.436_27,
                95_078.894_47,
                -96_297.755_79,
            ],
        ),
        (
            include_str!("../data/nist_spce/spce_monoclinic_sample_periodic4.xyz"),
            0.22396,
            [
                208.070_258_465_546_63,
                -1.356_014_022_857_23,
                185.609_550_259_359_57,
                -1_425.614_389_433_790_6,
                23_769.718_311_281_21,
                -24_074.443_366_236_523,
            ],
        ),
    ];
    for (text, longest, want) in files {
        let l = numbers(text.lines().nth(1).unwrap());
        let cell = Cell::triclinic([[l[1], 0.0, 0.0], [l[4], l[2], 0.0], [l[5], l[6], l[3]]]).unwrap();
        let (mut water, terms) = spce(cell, &xyz(text), 0.650_169_582_063_203_2);
        for r in &mut water.particles.positions {
            *r = cell.wrap(*r).0;
        }
        // The sums printed are those of all reciprocal vectors no shorter than this, to their last digits.
        let set = ReciprocalVectors {
            reach: [7; 3],
            within: Within::Length(longest),
        };
        let plan = plan(10.0, 0.2850, Method::Ewald(set));
        let field = field(&water, plan, 1_389.354_576, vec![terms[0].clone()]);
        for (name, e, tolerance) in evaluations(&water, &field) {
            let allowed = 2e-6 + tolerance.energy;
            let parts = [
                "lennard-jones",
                "tail",
                "coulomb-reciprocal",
                "coulomb-real",
                "coulomb-excluded",
                "coulomb-self",
            ];
            for (part, want) in parts.into_iter().zip(want) {
                let rounding = if part == "tail" { 1e-6 } else { 0.0 };
                close(
                    term(&e, part),
                    want,
                    allowed + rounding,
                    &format!("{name}: {part}"),
                );
            }
        }
    }
}

#[test]
fn forces_on_nist_water() {
    let files = [
        (
            include_str!("../data/nist_spce/spce-1.xyz"),
            include_str!("../data/nist_spce/forces-10-1.xyz"),
            20.0,
            10.0,
            0.326_983,
            7,
        ),
        (
            include_str!("../data/nist_spce/spce-2.xyz"),
            include_str!("../data/nist_spce/forces-10-2.xyz"),
            20.0,
            10.0,
            0.332_241,
            8,
        ),
        (
            include_str!("../data/nist_spce/spce-3.xyz"),
            include_str!("../data/nist_spce/forces-9-3.xyz"),
            20.0,
            9.0,
            0.373_403,
            8,
        ),
        (
            include_str!("../data/nist_spce/spce-4.xyz"),
            include_str!("../data/nist_spce/forces-10-4.xyz"),
            30.0,
            10.0,
            0.333_033,
            11,
        ),
    ];
    for (text, printed, side, cutoff, alpha, reach) in files {
        let cell = Cell::orthorhombic([side; 3]).unwrap();
        let (water, terms) = spce(cell, &xyz(text), 0.155_393_959_384_130_9);
        let lj = terms[usize::from(cutoff < 9.5)].clone();
        let set = ReciprocalVectors {
            reach: [reach; 3],
            within: Within::Length(reach as f64 / side * (1.0 + 1e-6)),
        };
        let want = xyz(printed);
        let fine = [36, 36, 36].map(|n| if side > 25.0 { 54 } else { n });
        for method in [Method::Ewald(set), mesh(fine, Basis::BSpline(6))] {
            let field = field(&water, plan(cutoff, alpha, method), LAMMPS, vec![lj.clone()]);
            for settings in precisions() {
                let e = evaluated(&water, &field, &settings);
                for (got, want) in e.forces.iter().zip(&want) {
                    for axis in 0..3 {
                        let (got, want) = (got[axis], want[axis]);
                        assert!(
                            want.abs() < 1.0 || (got - want).abs() < 5e-3 * want.abs().max(3.0),
                            "{side} {cutoff}: {got} instead of {want}"
                        );
                    }
                }
            }
        }
    }
}

/// Atoms of a water share a row of the list, wherever in the input they stand and in whatever image they are.
#[test]
fn waters_in_any_order() {
    let places = xyz(include_str!("../data/nist_spce/spce-1.xyz"));
    let cell = Cell::orthorhombic([20.0; 3]).unwrap();
    let (water, terms) = spce(cell, &places, 78.197_43);
    // Oxygens first and their hydrogens elsewhere; then one of them with an atom that meets the others too.
    let waters = places.len() as u32 / 3;
    let number = |i: u32| i % 3 * waters + i / 3;
    let mut shuffled = water.clone();
    shuffled
        .topology
        .bonds
        .iter_mut()
        .for_each(|bond| bond.atoms = bond.atoms.map(number));
    let mut pairs = Vec::new();
    for i in 0..3 * waters {
        let (to, from) = (number(i) as usize, i as usize);
        let shift = random(5, from).map(|x| (3.0 * x).floor() - 1.0);
        let (p, q) = (&mut shuffled.particles, &water.particles);
        p.positions[to] =
            q.positions[from] + cell.translation([shift.x as i32, shift.y as i32, shift.z as i32]);
        (p.species[to], p.charges[to]) = (q.species[from], q.charges[from]);
        if i % 3 == 0 {
            pairs.extend([[i, i + 1], [i, i + 2], [i + 1, i + 2]].map(|pair| pair.map(number)));
        }
    }
    for without in [u32::MAX, number(6)] {
        let pairs = pairs.iter().copied().filter(|pair| !pair.contains(&without));
        let rule = ExclusionRule::default().extra(pairs);
        shuffled.exclusions = Exclusions::from_bonds(&Topology::default(), places.len(), &rule).unwrap();
        for (cutoff, lj) in [10.0, 9.0].into_iter().zip(&terms) {
            let plan = plan(cutoff, 0.34, all_vectors(&cell, 0.34));
            let field = field(&shuffled, plan, kelvin(), vec![lj.clone()]);
            check(&shuffled, &field, "waters in any order");
        }
    }
}

/// Charges and places of a cell.
pub(super) type Unit = Vec<(f64, [f64; 3])>;

/// Places of a crystal of unit charges, in units of the cell, with the distance of neighbors; its Madelung constant.
pub(super) fn crystals() -> Vec<(&'static str, Unit, f64, f64)> {
    let fcc = [[0.0, 0.0, 0.0], [0.0, 0.5, 0.5], [0.5, 0.0, 0.5], [0.5, 0.5, 0.0]];
    let moved = |by: [f64; 3]| fcc.map(|s| std::array::from_fn(|k| s[k] + by[k]));
    let two = |by: [f64; 3]| {
        let plus = fcc.iter().map(|&s| (1.0, s));
        plus.chain(moved(by).map(|s| (-1.0, s))).collect::<Vec<_>>()
    };
    vec![
        ("NaCl", two([0.5, 0.0, 0.0]), 0.5, 1.747_564_594_633_182),
        (
            "CsCl",
            vec![(1.0, [0.0; 3]), (-1.0, [0.5; 3])],
            0.75_f64.sqrt(),
            1.762_674_773_070_989,
        ),
        (
            "ZnS",
            two([0.25, 0.25, 0.25]),
            0.1875_f64.sqrt(),
            1.638_055_053_388_79,
        ),
    ]
}

pub(super) fn crystal(unit: &[(f64, [f64; 3])], cells: usize, side: f64) -> System {
    let mut all = Vec::new();
    for x in 0..cells {
        for y in 0..cells {
            for z in 0..cells {
                for (q, s) in unit {
                    let at = |k: usize, n: usize| side * (s[k] + n as f64 + 0.013);
                    all.push((*q, Vec3::new(at(0, x), at(1, y), at(2, z))));
                }
            }
        }
    }
    bag(Cell::orthorhombic([side * cells as f64; 3]).unwrap(), &all)
}

#[test]
fn madelung_constants() {
    for (name, unit, neighbors, madelung) in crystals() {
        let crystal = crystal(&unit, 2, 1.0);
        let formulas = crystal.particles.len() as f64 / 2.0;
        let exact = -madelung / neighbors * formulas;
        let settings = |method| field(&crystal, plan(0.99, 6.2, method), 1.0, vec![]);
        let ewald = settings(all_vectors(&crystal.cell, 6.2));
        for (precision, e, tolerance) in evaluations(&crystal, &ewald) {
            close(
                coulomb(&e),
                exact,
                1e-10_f64.max(tolerance.energy),
                &format!("{name}, {precision}"),
            );
        }
        // Six orders, three meshes: each finer mesh is better by about the power of the order.
        for order in 3..=8 {
            let error = |points: usize| {
                let field = settings(mesh([points; 3], Basis::BSpline(order)));
                (coulomb(&evaluated(&crystal, &field, &double())) - exact).abs() / exact.abs()
            };
            let errors = [27, 40, 60].map(error);
            let power = (errors[0] / errors[2]).ln() / (60.0_f64 / 27.0).ln();
            assert!(
                power > order as f64 - 0.7 || errors[2] < 1e-12,
                "{name}, order {order}: {errors:?}, power {power}"
            );
        }
        // What is chosen for a tolerance keeps it.
        let charged = Charged::new(
            &crystal.cell,
            Boundary::Conductor,
            &crystal.particles.charges,
            1.0,
        );
        for tolerance in [1e-3, 1e-5, 1e-7] {
            let error = tolerance * charged.usual_force();
            let alpha = charged.alpha(0.99, error);
            let chosen = coarsest(&charged, alpha, Basis::BSpline(6), false, error).unwrap();
            let field = field(&crystal, plan(0.99, alpha, Method::Mesh(chosen)), 1.0, vec![]);
            let found = coulomb(&evaluated(&crystal, &field, &double()));
            close(found, exact, tolerance, &format!("{name}, tolerance {tolerance}"));
        }
    }
}

#[test]
fn the_error_of_forces_falls_with_the_power_of_the_order() {
    let cell = Cell::orthorhombic([2.0, 2.2, 1.9]).unwrap();
    let (salt, _) = melt(cell, 120, 5);
    let want = reference::evaluate(
        &salt,
        &field(&salt, plan(0.9, 4.0, all_vectors(&cell, 4.0)), 138.9, vec![]),
    );
    for basis in Basis::ALL {
        let error = |points: usize| {
            let field = field(&salt, plan(0.9, 4.0, mesh([points; 3], basis)), 138.9, vec![]);
            relative_rms(&evaluated(&salt, &field, &double()).forces, &want.forces)
        };
        let (coarse, fine) = (error(20), error(40));
        let power = (coarse / fine).log2();
        let least = match basis {
            Basis::BSpline(order) => order as f64 - 1.0 - 0.3,
            // Forces of the interpolating cubic with the plain influence function gain two orders at each.
            Basis::Cubic | Basis::Interpolating(_) => 1.7,
        };
        assert!(power > least, "{basis:?}: {coarse:e} {fine:e}, power {power}");
    }
}

/// Positive and negative ions at random, no two too close.
pub(super) fn melt(cell: Cell, ions: usize, seed: u64) -> (System, f64) {
    let mut places: Vec<Vec3<f64>> = Vec::new();
    let mut k = 0;
    while places.len() < ions {
        let r = cell.position(random(seed, k));
        k += 1;
        let apart = |other: &Vec3<f64>| cell.minimum_image(r - *other).norm() > 0.2;
        if places.iter().all(apart) {
            places.push(r);
        }
    }
    let charged: Vec<_> = places
        .into_iter()
        .enumerate()
        .map(|(i, r)| (if i % 2 == 0 { 1.0 } else { -1.0 }, r))
        .collect();
    (bag(cell, &charged), ions as f64)
}

/// Of crystals of the second paper, by their edges in cells: energies of charges and of Lennard-Jones, kcal/mol.
pub(super) const PAPER: [(usize, f64, f64); 6] = [
    (
        3,
        -9_829.551_521_567_8 - 12_473.771_959_531_2,
        2_330.780_420_050_7,
    ),
    (
        5,
        -45_507.182_970_216_5 - 57_748.944_257_088_7,
        10_790.650_092_823_3,
    ),
    (
        6,
        -78_636.412_172_537_3 - 99_790.175_676_249_3,
        18_646.243_360_399_1,
    ),
    (7, -124_871.710_070_28 - 158_491.773_141_184, 29_609.543_854_717_8),
    (8, -186_397.421_446_322 - 236_539.675_677_035, 44_198.502_780_216),
    (9, -265_397.891_082_292 - 336_791.842_907_341, 62_931.071_341_352),
];

/// Lennard-Jones between all ions of those crystals.
pub(super) fn lennard_jones(salt: &System) -> PairTerm {
    PairTerm::build("lennard-jones", &salt.species)
        .unwrap()
        .cutoff(7.0)
        .truncation(Truncation::Cut)
        .all(&[("epsilon", 0.1), ("sigma", 3.492)])
        .unwrap()
        .finish()
        .unwrap()
}

/// Crystals of the second paper: LAMMPS's own parts, to the accuracy it had.
#[test]
fn sodium_chloride_of_the_paper() {
    let unit = &crystals()[0].1;
    for (n, charges, dispersion) in PAPER {
        let salt = crystal(unit, n, 5.62);
        let lj = lennard_jones(&salt);
        let alpha = 0.308_301_85;
        let charged = Charged::new(&salt.cell, Boundary::Conductor, &salt.particles.charges, LAMMPS);
        let fine = coarsest(&charged, alpha, Basis::BSpline(6), false, 1e-5).unwrap();
        // The log of the seventh leaves out the strongest reflection of the crystal, at 7 reciprocal vectors along each
        // edge.
        let set = match n {
            7 => ReciprocalVectors::up_to(&salt.cell, 0.305),
            _ => vectors(&charged, alpha, 1e-5),
        };
        for method in [Method::Ewald(set), Method::Mesh(fine)] {
            let as_logged = n != 7 || matches!(method, Method::Ewald(_));
            let field = field(&salt, plan(10.0, alpha, method), LAMMPS, vec![lj.clone()]);
            for settings in precisions() {
                let e = evaluated(&salt, &field, &settings);
                let tolerance = Tolerance::of(settings.precision).energy;
                let what = format!("{n}, {}", settings.precision.name());
                let madelung = -103.256_72 * salt.particles.len() as f64;
                close(
                    coulomb(&e),
                    if as_logged { charges } else { madelung },
                    1e-5,
                    &what,
                );
                close(
                    term(&e, "lennard-jones"),
                    dispersion,
                    1e-9_f64.max(tolerance),
                    &what,
                );
            }
        }
    }
}

/// Of the fourth only the sum was kept.
#[test]
fn the_fourth_crystal_of_the_paper() {
    let salt = crystal(&crystals()[0].1, 4, 5.62);
    let lj = lennard_jones(&salt);
    let alpha = 0.308_301_85;
    let charged = Charged::new(&salt.cell, Boundary::Conductor, &salt.particles.charges, LAMMPS);
    let method = Method::Ewald(vectors(&charged, alpha, 1e-5));
    let field = field(&salt, plan(10.0, alpha, method), LAMMPS, vec![lj]);
    for settings in precisions() {
        let e = evaluated(&salt, &field, &settings);
        close(
            e.potential,
            -47_342.324_292_854_1,
            1.2e-5,
            settings.precision.name(),
        );
    }
}

/// id q x y z fx fy fz, after a line of words.
pub(super) fn table(text: &str) -> Vec<(f64, Vec3<f64>, Vec3<f64>)> {
    text.lines()
        .filter(|l| !l.starts_with('#'))
        .map(|line| {
            let x = numbers(line);
            (x[1], Vec3::new(x[2], x[3], x[4]), Vec3::new(x[5], x[6], x[7]))
        })
        .collect()
}

pub(super) fn largest(a: &[Vec3<f64>], b: impl Iterator<Item = Vec3<f64>>) -> f64 {
    a.iter().zip(b).map(|(&a, b)| (a - b).norm()).fold(0.0, f64::max)
}

/// atm per kcal/mol/Å³, as LAMMPS has it.
pub(super) const ATMOSPHERES: f64 = 68_568.415;

/// The pressure tensor of displaced ions, charges alone, in atm.
pub(super) const DISPLACED: [f64; 6] = [
    -106_058.215_685,
    -106_462.779_66,
    -105_967.482_304,
    100.114_371_575,
    21.470_723_681,
    40.710_715_579,
];

#[test]
fn displaced_sodium_chloride() {
    let rows = table(include_str!("../data/coulomb/nacl_3x3x3_thermal.dat"));
    let cell = Cell::orthorhombic([16.86; 3]).unwrap();
    let charged: Vec<_> = rows.iter().map(|r| (r.0, r.1)).collect();
    let salt = bag(cell, &charged);
    let lj = lennard_jones(&salt);
    for (method, exact) in [
        (all_vectors(&cell, 0.42), 1e-6),
        (mesh([48; 3], Basis::BSpline(8)), 2e-6),
    ] {
        let both = field(&salt, plan(12.0, 0.42, method.clone()), LAMMPS, vec![lj.clone()]);
        let charges = field(&salt, plan(12.0, 0.42, method), LAMMPS, vec![]);
        for settings in precisions() {
            let tolerance = Tolerance::of(settings.precision);
            let e = evaluated(&salt, &both, &settings);
            close(e.potential, -19_872.480_004_3, exact + tolerance.energy, "total");
            close(
                coulomb(&e),
                -22_260.879_812_6,
                exact + tolerance.energy,
                "Coulomb",
            );
            let rms = relative_rms(&e.forces, &rows.iter().map(|r| r.2).collect::<Vec<_>>());
            assert!(rms < exact + tolerance.forces, "{rms:e}");
            let e = evaluated(&salt, &charges, &settings);
            let pressure = e.virial.map(|w| w / cell.volume() * ATMOSPHERES);
            for (got, want) in pressure.iter().zip(DISPLACED) {
                let allowed = (exact + tolerance.virial) * 106_162.825_883;
                assert!((got - want).abs() < allowed, "{pressure:?}");
            }
        }
    }
}

/// Sixty charges that sum to nothing, with a net charge, and between two vacua: energies, and pressures in atm.
pub(super) fn sixty() -> [(&'static str, Cell, f64, Option<f64>); 3] {
    let cell = Cell::orthorhombic([20.0; 3]).unwrap();
    let slab = cell.with_periodicity([true, true, false]);
    [
        (
            include_str!("../data/coulomb/coulomb60_neut.dat"),
            cell,
            -588.542_845_71,
            Some(-1_681.477_086),
        ),
        (
            include_str!("../data/coulomb/coulomb60_net3.dat"),
            cell,
            -599.788_841_44,
            Some(-1_713.607_090),
        ),
        (
            include_str!("../data/coulomb/coulomb60_slab.dat"),
            slab,
            -588.059_880_52,
            None,
        ),
    ]
}

#[test]
fn sixty_charges() {
    for (text, cell, energy, pressure) in sixty() {
        let rows = table(text);
        let charged: Vec<_> = rows.iter().map(|r| (r.0, r.1)).collect();
        let charges = bag(cell, &charged);
        let mut plan = plan(9.9, 0.66, all_vectors(&cell, 0.66));
        if pressure.is_none() {
            plan.boundary = Boundary::Slab { factor: 3.0 };
            plan.method = Method::Ewald(ReciprocalVectors::converged(&plan.ewald_cell(&cell), plan.alpha));
        }
        let field = field(&charges, plan, LAMMPS, vec![]);
        for (name, e, tolerance) in evaluations(&charges, &field) {
            close(e.potential, energy, 1e-9_f64.max(tolerance.energy), &name);
            let off = largest(&e.forces, rows.iter().map(|r| r.2));
            let strongest = rows.iter().map(|r| r.2.norm()).fold(0.0, f64::max);
            assert!(
                off < 1e-5_f64.max(tolerance.forces * strongest),
                "{name}: {off:e}"
            );
            if let Some(pressure) = pressure {
                let got = (e.virial[0] + e.virial[1] + e.virial[2]) / 3.0 / cell.volume() * ATMOSPHERES;
                close(got, pressure, 1e-9_f64.max(tolerance.virial), &name);
            }
        }
    }
}

/// 1/r is homogeneous: the trace of the virial is the energy, exclusions and background included.
#[test]
fn the_trace_of_the_virial_is_the_energy() {
    let cell = Cell::triclinic([[2.1, 0.0, 0.0], [0.4, 2.3, 0.0], [-0.3, 0.5, 2.0]]).unwrap();
    let (mut salt, _) = melt(cell, 60, 3);
    salt.particles.charges[7] = 2.5;
    let rule = ExclusionRule::default().extra([[0, 1], [4, 9], [11, 30]]);
    salt.exclusions = Exclusions::from_bonds(&salt.topology, 60, &rule).unwrap();
    for boundary in [Boundary::Conductor, Boundary::Vacuum] {
        let mut plan = plan(0.99, 6.6, all_vectors(&cell, 6.6));
        plan.boundary = boundary;
        let field = field(&salt, plan, 138.9, vec![]);
        for (name, e, tolerance) in evaluations(&salt, &field) {
            let trace = e.virial[0] + e.virial[1] + e.virial[2];
            close(
                trace,
                e.potential,
                1e-9_f64.max(tolerance.virial),
                &format!("{boundary:?} {name}"),
            );
        }
    }
}

/// Forces are the derivatives of the energy, whatever surrounds the cell.
#[test]
fn forces_are_derivatives() {
    let cell = Cell::triclinic([[2.1, 0.0, 0.0], [0.4, 2.3, 0.0], [-0.3, 0.5, 2.0]]).unwrap();
    let slab = cell.with_periodicity([true, true, false]);
    let rule = ExclusionRule::default().extra([[0, 1], [4, 9]]);
    for (cell, boundary) in [
        (cell, Boundary::Conductor),
        (cell, Boundary::Vacuum),
        (slab, Boundary::Slab { factor: 3.0 }),
    ] {
        let (mut salt, _) = melt(cell, 40, 4);
        salt.particles.charges[3] = 1.7;
        salt.exclusions = Exclusions::from_bonds(&salt.topology, 40, &rule).unwrap();
        let mut plan = plan(0.99, 4.0, all_vectors(&cell, 4.0));
        plan.boundary = boundary;
        plan.method = Method::Ewald(ReciprocalVectors::converged(&plan.ewald_cell(&cell), 4.0));
        let field = field(&salt, plan, 138.9, vec![]);
        let e = reference::evaluate(&salt, &field);
        for (i, axis) in [(0, 0), (3, 2), (9, 1), (20, 2)] {
            let energy = |by: f64| {
                let mut moved = salt.clone();
                let mut step = [0.0; 3];
                step[axis] = by;
                moved.particles.positions[i] += Vec3::from(step);
                reference::evaluate(&moved, &field).potential
            };
            let h = 1e-5;
            let derivative = (energy(h) - energy(-h)) / (2.0 * h);
            // A pair that crosses the cut-off changes the energy by 1e-8 of itself.
            assert!(
                (derivative + e.forces[i][axis]).abs() < 2e-4 * e.forces[i].norm(),
                "{boundary:?} {i}"
            );
        }
    }
}

#[test]
fn nothing_depends_on_the_splitting() {
    let cell = Cell::triclinic([[2.4, 0.0, 0.0], [0.4, 2.3, 0.0], [-0.3, 0.5, 2.5]]).unwrap();
    let (mut salt, _) = melt(cell, 80, 6);
    salt.particles.charges[7] = 2.0;
    let rule = ExclusionRule::default().extra([[0, 1], [4, 9], [11, 30]]);
    salt.exclusions = Exclusions::from_bonds(&salt.topology, 80, &rule).unwrap();
    let k = 138.9;
    let charged = Charged::new(&cell, Boundary::Conductor, &salt.particles.charges, k);
    let error = 1e-7 * charged.usual_force();
    let all: Vec<Evaluation> = [0.75, 1.0, 1.3]
        .map(|factor| {
            let alpha = 5.0 * factor;
            let cutoff = 5.0 / alpha;
            let mesh = coarsest(&charged, alpha, Basis::BSpline(8), false, error).unwrap();
            let field = field(&salt, plan(cutoff, alpha, Method::Mesh(mesh)), k, vec![]);
            evaluated(&salt, &field, &double())
        })
        .into();
    for e in &all[1..] {
        close(e.potential, all[0].potential, 1e-7, "energy");
        let rms = relative_rms(&e.forces, &all[0].forces);
        assert!(rms < 1e-6, "{rms:e}");
    }
}

/// Meshes against reciprocal vectors, in every basis, precision and shape of cell, within twice the estimated error.
#[test]
fn meshes_do_what_was_estimated() {
    let cells = [
        Cell::orthorhombic([2.6, 2.3, 2.9]).unwrap(),
        Cell::triclinic([[2.4, 0.0, 0.0], [0.6, 2.3, 0.0], [-0.5, 0.7, 2.5]]).unwrap(),
    ];
    let (k, alpha, cutoff) = (138.9, 3.2, 1.0);
    for cell in cells {
        let (salt, n) = melt(cell, 200, 9);
        let charged = Charged::new(&cell, Boundary::Conductor, &salt.particles.charges, k);
        let want = reference::evaluate(
            &salt,
            &field(&salt, plan(cutoff, alpha, all_vectors(&cell, alpha)), k, vec![]),
        );
        for basis in Basis::ALL {
            for optimal in [false, true] {
                let size = [24, 21, 25];
                let mesh = MeshPlan { size, basis, optimal };
                let estimated = charged.mesh_error(alpha, &mesh);
                let field = field(&salt, plan(cutoff, alpha, Method::Mesh(mesh)), k, vec![]);
                for settings in precisions() {
                    let e = evaluated(&salt, &field, &settings);
                    let square: f64 = e
                        .forces
                        .iter()
                        .zip(&want.forces)
                        .map(|(&a, &b)| (a - b).norm2())
                        .sum();
                    let measured = (square / n).sqrt();
                    let rounding = Tolerance::of(settings.precision).forces * charged.usual_force();
                    let what = format!("{basis:?} {optimal} {}", settings.precision.name());
                    assert!(
                        measured < 2.0 * estimated + rounding && measured > 0.4 * estimated - rounding,
                        "{what}: {measured:e} measured, {estimated:e} estimated"
                    );
                    let sum = e.forces.iter().fold(Vec3::zero(), |a, &b| a + b);
                    assert!(sum.norm() < 1e-4 * charged.usual_force(), "{what}: {sum:?}");
                }
            }
        }
    }
}

#[test]
fn scaled_and_excluded_pairs() {
    let cell = Cell::orthorhombic([3.0; 3]).unwrap();
    let at = |x: f64| Vec3::new(1.0 + x, 1.1, 1.2);
    let mut chain = bag(
        cell,
        &[(0.6, at(0.0)), (-0.4, at(0.12)), (0.5, at(0.25)), (-0.7, at(0.4))],
    );
    let without = chain.clone();
    let factor = 0.8;
    let rule = ExclusionRule::default().extra([[0, 1], [0, 2], [1, 2], [1, 3], [2, 3]]);
    chain.exclusions = Exclusions::from_bonds(&chain.topology, 4, &rule).unwrap();
    chain.exclusions.scaled.push(debye::system::ScaledPair {
        atoms: [0, 3],
        pair: 0.5,
        charge: factor,
    });
    // Left out of the lists, like every scaled pair.
    let with = rule.extra([[0, 3]]);
    let listed = Exclusions::from_bonds(&chain.topology, 4, &with).unwrap();
    (chain.exclusions.start, chain.exclusions.partners) = (listed.start, listed.partners);
    let settings = |system: &System| field(system, plan(1.4, 4.5, all_vectors(&cell, 4.5)), 1.0, vec![]);
    let whole = reference::evaluate(&without, &settings(&without)).potential;
    let p = &chain.particles;
    let pair = |i: usize, j: usize| p.charges[i] * p.charges[j] / (p.positions[i] - p.positions[j]).norm();
    let left_out: f64 = [(0, 1), (0, 2), (1, 2), (1, 3), (2, 3)]
        .map(|(i, j)| pair(i, j))
        .iter()
        .sum();
    let want = whole - left_out - (1.0 - factor) * pair(0, 3);
    for (name, e, tolerance) in evaluations(&chain, &settings(&chain)) {
        close(e.potential, want, 1e-9_f64.max(tolerance.energy * 10.0), &name);
    }
}

/// Same bits on any number of threads; no net force; energy kept.
#[test]
fn a_melt_of_ions_moves() {
    let cell = Cell::orthorhombic([2.2, 2.4, 2.3]).unwrap();
    let (mut salt, _) = melt(cell, 216, 11);
    salt.particles.masses.iter_mut().for_each(|m| *m = 30.0);
    salt.species[0].mass = 30.0;
    let soft = PairTerm::build("lennard-jones", &salt.species)
        .unwrap()
        .cutoff(1.0)
        .truncation(Truncation::ForceShift)
        .all(&[("epsilon", 0.4), ("sigma", 0.27)])
        .unwrap()
        .finish()
        .unwrap();
    let settings = plan(1.0, 3.4, mesh([27, 30, 28], Basis::BSpline(6)));
    let field = field(&salt, settings, 138.935, vec![soft]);
    let run = |threads: usize, precision: Precision| {
        let pool = rayon::ThreadPoolBuilder::new()
            .num_threads(threads)
            .build()
            .unwrap();
        pool.install(|| {
            let settings = Settings {
                precision,
                ..Settings::default()
            };
            let mut engine = CpuEngine::new(&salt, &field, &nve(5e-4), &settings).unwrap();
            engine.advance(200, true).unwrap();
            let first = engine.observe().unwrap();
            engine.advance(400, true).unwrap();
            let last = engine.observe().unwrap();
            let drift = (last.potential + last.kinetic - first.potential - first.kinetic) / last.kinetic;
            assert!(drift.abs() < 3e-3, "{precision:?}: {drift:e}");
            // Pair forces in single precision are opposite to rounding only.
            let allowed = if precision == Precision::Double {
                1e-9
            } else {
                1e-3
            };
            assert!(engine.momentum().norm() < allowed, "{:?}", engine.momentum());
            engine.particles().positions
        })
    };
    for precision in [Precision::Mixed, Precision::Double] {
        assert_eq!(run(1, precision), run(3, precision));
    }
}

#[test]
fn references_hold_the_engine() {
    let cell = Cell::triclinic([[2.4, 0.0, 0.0], [0.6, 2.3, 0.0], [-0.5, 0.7, 2.5]]).unwrap();
    let (mut salt, _) = melt(cell, 100, 12);
    salt.particles.charges[0] = 2.0;
    let mut plan = plan(1.0, 3.2, all_vectors(&cell, 3.2));
    for boundary in [Boundary::Conductor, Boundary::Vacuum] {
        plan.boundary = boundary;
        plan.permittivity = 1.5;
        let field = field(&salt, plan.clone(), 138.9, vec![]);
        let want = reference::evaluate(&salt, &field);
        for settings in precisions() {
            let got = evaluated(&salt, &field, &settings);
            let tolerance = Tolerance::of(settings.precision);
            assert_same(&got, &want, tolerance, 1.0, settings.precision.name());
        }
    }
}
