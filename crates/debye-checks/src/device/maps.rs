//! Maps of the potential, against plain loops in double precision.

use super::{Extent, Place, Wrong};
use debye::expr::{Real, Vec3};
use debye::forces::multilevel::Softening;
use debye::maps::Ionized;
use debye::maps::cuda::{PointKernel, PointSums, Tuning, short};
use debye::prelude::{
    Cell, DeviceChoice, IonRequest, MapError, MapGrid, MapMethod, MapRequest, MapSubject, PointCharges,
    Precision,
};
use debye_gpu::{Float, Value};
use std::f64::consts::FRAC_2_SQRT_PI;

impl From<MapError> for Wrong {
    fn from(error: MapError) -> Self {
        Self::Result(error.to_string())
    }
}

const EXCLUSION: f64 = 0.01;

/// Σ q K(r) in double precision at every point, and Σ |q K(r)|.
fn plain(grid: &MapGrid, charges: &PointCharges, term: impl Fn(f64) -> f64) -> (Vec<f64>, Vec<f64>) {
    let [a, b, c] = grid.shape();
    let points = (0..a * b * c).map(|i| grid.position([i / (b * c), i / c % b, i % c]));
    let terms = |at: Vec3<f64>| {
        let all = charges.positions().iter().zip(charges.charges());
        all.map(|(&r, q)| q * term((at - r).dot(at - r).sqrt()))
            .fold((0.0, 0.0), |(sum, size), t| (sum + t, size + t.abs()))
    };
    points.map(terms).unzip()
}

fn coulomb(r: f64) -> f64 {
    1.0 / r.max(EXCLUSION)
}

/// The largest error, by the largest of `scale`.
fn compare<T: Float>(
    place: &mut Place<'_>,
    what: &str,
    got: &[T],
    want: &[f64],
    scale: &[f64],
    allowed: f64,
) -> Result<(), Wrong> {
    place.count(what, &vec![0.0; got.len()], want)?;
    let most = scale.iter().fold(0.0_f64, |most, v| most.max(v.abs()));
    let wide = got.iter().map(|x| x.wide());
    let off = wide.zip(want).map(|(got, want)| (got - want).abs() / most);
    // Not a number is the worst of all.
    let worst = off.fold(
        0.0,
        |worst: f64, x| if x > worst || x.is_nan() { x } else { worst },
    );
    if worst < allowed {
        return Ok(());
    }
    Err(Wrong::Result(format!(
        "{what}: off by {worst:.1e}, expected {allowed:e}"
    )))
}

#[derive(Clone, Copy, Debug)]
enum Which {
    Random,
    Neutral,
    /// Ions of rock salt, some of them on points.
    Lattice,
}

/// Charges in and around a grid, up to `beyond` of its size outside.
fn charges(
    place: &mut Place<'_>,
    grid: &MapGrid,
    number: usize,
    which: Which,
    beyond: f64,
) -> Result<PointCharges, Wrong> {
    let (origin, spacing, shape) = (grid.origin(), grid.spacing(), grid.shape());
    let mut positions = Vec::new();
    let mut signed = Vec::new();
    for i in 0..number {
        let at: [f64; 3] = std::array::from_fn(|k| {
            let length = spacing[k] * shape[k] as f64;
            match which {
                Which::Lattice => origin[k] + spacing[k] * 1.5 * ((i / [64, 8, 1][k]) % 8) as f64,
                _ => origin[k] + length * (0.5 + (0.5 + beyond) * place.random.real()),
            }
        });
        positions.push(Vec3::new(at[0], at[1], at[2]));
        signed.push(match which {
            Which::Random => place.random.real(),
            Which::Neutral => [0.5, -0.5][i % 2],
            Which::Lattice => [1.0, -1.0][(i / 64 + i / 8 + i) % 2],
        });
    }
    Ok(PointCharges::new(&positions, &signed)?)
}

fn direct<T: Float + Value>(
    place: &Place<'_>,
    grid: &MapGrid,
    charges: &PointCharges,
    tolerance: Option<f64>,
    tuning: Option<Tuning>,
) -> Result<Vec<T>, Wrong> {
    let stream = place.device.stream()?;
    let mut sums = PointSums::direct(place.device, grid, charges, EXCLUSION, 1.0, tolerance, tuning)?;
    sums.queue(&stream)?;
    Ok(sums.values(&stream)?)
}

/// Every specialization against the double loop: points of a thread, threads, terms, precision; any shape of a grid.
pub(super) fn points(place: &mut Place<'_>) -> Result<(), Wrong> {
    let number = if place.extent == Extent::Full { 300 } else { 150 };
    let far = MapGrid::new([60.0, -70.0, 80.0], [0.04, 0.05, 0.06], [3, 17, 5])?;
    let mut cases = vec![
        (far, Which::Neutral, Some(Tuning::direct(12, false))),
        (
            MapGrid::new([0.1; 3], [0.05; 3], [5, 40, 3])?,
            Which::Random,
            None,
        ),
        (MapGrid::new([0.0; 3], [0.1; 3], [1; 3])?, Which::Random, None),
    ];
    if place.extent > Extent::Smallest {
        let wide = Tuning {
            threads: 128,
            root_terms: 3,
            ..Tuning::direct(16, false)
        };
        let narrow = Tuning {
            threads: 32,
            between: 0,
            ..Tuning::direct(7, false)
        };
        let grid = MapGrid::new([0.2, -0.1, 0.0], [0.05; 3], [21; 3])?;
        cases.extend([
            (grid, Which::Lattice, None),
            (grid, Which::Random, Some(wide)),
            (far, Which::Lattice, Some(narrow)),
            (
                MapGrid::new([0.0; 3], [0.03; 3], [1, 1, 70])?,
                Which::Neutral,
                None,
            ),
        ]);
    }
    if place.extent == Extent::Full {
        for points in 1..=16 {
            let grid = MapGrid::new([0.2, -0.1, 0.0], [0.05; 3], [100, 97, 53])?;
            cases.push((grid, Which::Random, Some(Tuning::direct(points, false))));
        }
    }
    for (grid, which, tuning) in cases {
        let charges = charges(place, &grid, number, which, 0.6)?;
        let (want, size) = plain(&grid, &charges, coulomb);
        // At one point alone nothing is large where terms cancel.
        let scale = if grid.points() == 1 { &size } else { &want };
        let what = format!("{:?} points, {which:?}, {tuning:?}", grid.shape());
        let single: Vec<f32> = direct(place, &grid, &charges, None, tuning)?;
        compare(place, &what, &single, &want, scale, 1e-6)?;
        let again: Vec<f32> = direct(place, &grid, &charges, None, tuning)?;
        place.expect(&what, &again, &single)?;
        let double: Vec<f64> = direct(place, &grid, &charges, None, None)?;
        compare(place, &format!("double, {what}"), &double, &want, &want, 1e-12)?;
    }
    Ok(())
}

/// Points on charges and nearer than the exclusion radius, and far from the origin: 1/r is that at the radius.
pub(super) fn exclusion(place: &mut Place<'_>) -> Result<(), Wrong> {
    for spacing in [[0.05; 3], [0.05, 0.037, 0.043]] {
        let grid = MapGrid::new([95.0, -95.0, 3.0], spacing, [16, 8, 12])?;
        let off = |point: [usize; 3], d: [f64; 3]| grid.position(point) + Vec3::new(d[0], d[1], d[2]);
        let sets = [
            vec![
                off([3, 4, 5], [0.0; 3]),
                off([5, 4, 5], [0.0, 0.009, 0.0]),
                off([0; 3], [3e-9; 3]),
            ],
            // Just outside, far from the middle of a block: every digit of a difference counts.
            vec![off([15, 7, 11], [0.0105, 0.0, 0.0])],
            vec![off([15, 7, 11], [0.0, 0.0105, 0.0])],
            vec![off([15, 7, 11], [0.0, 0.0, 0.0105])],
        ];
        for positions in sets {
            let charges = PointCharges::new(&positions, &[1.0, -0.7, 0.4][..positions.len()])?;
            let (want, _) = plain(&grid, &charges, coulomb);
            let single: Vec<f32> = direct(place, &grid, &charges, None, None)?;
            compare(
                place,
                &format!("single, {spacing:?}"),
                &single,
                &want,
                &want,
                4e-7,
            )?;
            // A coordinate of 95 nm is right to 1.4e-14 nm, 1.4e-12 of the exclusion radius.
            let double: Vec<f64> = direct(place, &grid, &charges, None, None)?;
            compare(
                place,
                &format!("double, {spacing:?}"),
                &double,
                &want,
                &want,
                3e-12,
            )?;
        }
    }
    Ok(())
}

/// More charges than a block takes, at few points: parts that are added in a fixed order.
pub(super) fn parts(place: &mut Place<'_>) -> Result<(), Wrong> {
    let number = if place.extent == Extent::Full {
        100_000
    } else {
        1000
    };
    for shape in [[1, 1, 1], [3, 2, 13]] {
        let grid = MapGrid::new([0.0; 3], [0.1; 3], shape)?;
        let charges = charges(place, &grid, number, Which::Random, 10.0)?;
        let (want, size) = plain(&grid, &charges, coulomb);
        let single: Vec<f32> = direct(place, &grid, &charges, None, None)?;
        // Next to nothing may be left of so many charges: the potential of all without signs is what rounding goes by.
        compare(place, "single", &single, &want, &size, 2e-7)?;
        let again: Vec<f32> = direct(place, &grid, &charges, None, None)?;
        place.expect("same bits", &again, &single)?;
        let double: Vec<f64> = direct(place, &grid, &charges, None, None)?;
        compare(place, "double", &double, &want, &size, 1e-14)?;
        // All in one block: what is rounded of a list must not be lost to the next.
        let one = Tuning {
            busy: 1,
            ..Tuning::direct(3, false)
        };
        let positive: Vec<f64> = charges.charges().iter().map(|q| q.abs()).collect();
        let positive = PointCharges::new(charges.positions(), &positive)?;
        let single: Vec<f32> = direct(place, &grid, &positive, None, Some(one))?;
        compare(place, "one block", &single, &size, &size, 3e-7)?;
    }
    Ok(())
}

/// Far charges by polynomials along lines: within the tolerance of what each charge makes.
pub(super) fn lines(place: &mut Place<'_>) -> Result<(), Wrong> {
    let (shape, beyond) = ([4, 3, 26], 6.0);
    let number = if place.extent == Extent::Full { 20_000 } else { 200 };
    let grid = MapGrid::new([1.0, 2.0, 3.0], [0.05, 0.04, 0.05], shape)?;
    let mut charges = charges(place, &grid, number, Which::Neutral, beyond)?;
    let (want, size) = plain(&grid, &charges, coulomb);
    for (tolerance, points, order, far) in [(1e-6, 24, 8, 5), (1e-4, 13, 6, 3)] {
        let tuning = Tuning::lines(points, order, far);
        let got: Vec<f32> = direct(place, &grid, &charges, Some(tolerance), Some(tuning))?;
        compare(place, &format!("{tolerance:e}"), &got, &want, &size, tolerance)?;
    }
    // One charge alone, at every distance: nothing averages out.
    for distance in [1.0, 2.2, 2.8, 2.9, 3.5, 6.2, 6.4, 8.0] {
        charges = PointCharges::new(&[Vec3::new(1.0, 2.0, 3.6 - distance)], &[1.0])?;
        let (want, _) = plain(&grid, &charges, coulomb);
        let got: Vec<f32> = direct(place, &grid, &charges, Some(1e-6), Some(Tuning::lines(24, 8, 5)))?;
        compare(
            place,
            &format!("a charge {distance} nm away"),
            &got,
            &want,
            &want,
            1e-6,
        )?;
        let strict: Vec<f32> = direct(place, &grid, &charges, None, Some(Tuning::direct(12, false)))?;
        compare(
            place,
            &format!("strictly, {distance} nm away"),
            &strict,
            &want,
            &want,
            5e-7,
        )?;
    }
    Ok(())
}

/// Terms of finite reach against the double loop, with a charge on a point and others within the exclusion radius.
pub(super) fn reaches(place: &mut Place<'_>) -> Result<(), Wrong> {
    let reach = 0.37;
    let alpha = 8.0;
    let grid = MapGrid::new([-0.2, 0.1, 0.3], [0.05, 0.04, 0.05], [19, 6, 11])?;
    let inside = charges(place, &grid, 300, Which::Random, 0.5)?;
    let mut positions = inside.positions().to_vec();
    positions[0] = grid.position([9, 3, 3]);
    let charges = PointCharges::new(&positions, inside.charges())?;
    for exclusion in [EXCLUSION, 0.15] {
        let softened = [Softening::C2, Softening::C3, Softening::C4].map(|softening| PointKernel::Softened {
            exclusion,
            reach,
            softening,
        });
        let screened = PointKernel::Screened {
            exclusion,
            reach,
            alpha,
        };
        for kernel in softened.into_iter().chain([screened]) {
            let inverse = |r: f64| 1.0 / r.max(exclusion);
            let term = |r: f64| match kernel {
                _ if r >= reach => 0.0,
                PointKernel::Softened { softening, .. } => inverse(r) - softening.smooth(r, reach),
                PointKernel::Screened { .. } if r < 1e-9 => inverse(r) - alpha * FRAC_2_SQRT_PI,
                PointKernel::Screened { .. } => inverse(r) - (1.0 - Real::erfc(alpha * r)) / r,
                PointKernel::Coulomb { .. } => inverse(r),
            };
            let (want, size) = plain(&grid, &charges, term);
            let single: Vec<f32> = short(place.device, &grid, &charges, None, &kernel, 1.0)?;
            compare(place, &format!("{kernel:?}"), &single, &want, &size, 1e-6)?;
            if place.extent > Extent::Smallest || kernel == softened[0] || kernel == screened {
                let double: Vec<f64> = short(place.device, &grid, &charges, None, &kernel, 1.0)?;
                compare(
                    place,
                    &format!("double, {kernel:?}"),
                    &double,
                    &want,
                    &size,
                    1e-12,
                )?;
            }
        }
    }
    // Nothing within reach.
    let away = PointCharges::new(&[Vec3::new(50.0, 0.0, 0.0)], &[1.0])?;
    let kernel = PointKernel::Screened {
        exclusion: EXCLUSION,
        reach,
        alpha,
    };
    let none: Vec<f32> = short(place.device, &grid, &away, None, &kernel, 1.0)?;
    place.expect("nothing within reach", &none, &vec![0.0; grid.points()])
}

/// A request on the device and on the CPU.
fn compare_request(
    place: &mut Place<'_>,
    what: &str,
    request: &MapRequest,
    grid: &MapGrid,
    charges: &PointCharges,
    allowed: f64,
) -> Result<(), Wrong> {
    let here = request.clone().device(DeviceChoice::Cpu).compute(charges)?;
    let there = request.clone().on_device(place.device).compute(charges)?;
    let [_, b, c] = grid.shape();
    let [here, there] = [here, there].map(|map| {
        let all = (0..grid.points()).map(|i| map.value([i / (b * c), i / c % b, i % c]));
        all.collect::<Vec<f64>>()
    });
    compare(place, what, &there, &here, &here, allowed)
}

/// Grids of multilevel summation, open and periodic, of every order.
pub(super) fn levels(place: &mut Place<'_>) -> Result<(), Wrong> {
    let cell = Cell::orthorhombic([1.9, 1.5, 1.2]).map_err(|error| Wrong::Result(error.to_string()))?;
    let grid = MapGrid::new([0.1; 3], [0.16; 3], [8, 5, 7])?;
    let charges = charges(place, &grid, 60, Which::Neutral, 0.4)?;
    for (order, cutoff, spacing) in [(4, 0.5, 0.2), (6, 0.5, 0.25), (8, 0.6, 0.3)] {
        let request = MapRequest::new(grid).method(MapMethod::Multilevel);
        let request = request.cutoff(cutoff).order(order).level_spacing(spacing);
        let what = format!("order {order}");
        if order == 4 || place.extent > Extent::Smallest {
            // Both round grids to single precision, in another order; weights of order 8 cancel most.
            compare_request(place, &what, &request, &grid, &charges, 5e-6)?;
        }
        let request = request.periodic(cell).precision(Precision::Double);
        if order == 6 || place.extent > Extent::Smallest {
            compare_request(
                place,
                &format!("periodic, {what}"),
                &request,
                &grid,
                &charges,
                1e-11,
            )?;
        }
    }
    Ok(())
}

/// What a request gives on the device and on the CPU; what is refused.
pub(super) fn requests(place: &mut Place<'_>) -> Result<(), Wrong> {
    let cell = Cell::triclinic([[1.1, 0.0, 0.0], [0.2, 1.0, 0.0], [0.0, 0.1, 0.9]]);
    let cell = cell.map_err(|error| Wrong::Result(error.to_string()))?;
    let grid = MapGrid::new([0.1; 3], [0.09; 3], [7, 9, 5])?;
    let inside = charges(place, &grid, 40, Which::Neutral, 0.2)?;
    let mut positions = inside.positions().to_vec();
    positions[0] = grid.position([3, 4, 2]);
    let charges = PointCharges::new(&positions, inside.charges())?;
    let direct = MapRequest::new(grid).method(MapMethod::Direct);
    let cutoff = MapRequest::new(grid).method(MapMethod::Cutoff).cutoff(0.8);
    let double = cutoff.clone().precision(Precision::Double);
    let mesh = MapRequest::new(grid).method(MapMethod::Mesh).cutoff(0.4);
    let rectangular = Cell::orthorhombic([1.2, 1.1, 1.0]);
    let rectangular = rectangular.map_err(|error| Wrong::Result(error.to_string()))?;
    let requests = [
        (direct, 1e-6),
        (cutoff.clone().periodic(cell), 1e-6),
        (double.periodic(cell), 1e-12),
        (mesh.clone().periodic(rectangular), 5e-6),
        // On the CPU what is near is right to 3e-8.
        (mesh.precision(Precision::Double).periodic(cell), 1e-7),
    ];
    // Kernels of meshes have checks of their own.
    let some = if place.extent <= Extent::Smallest { 3 } else { 5 };
    for (request, allowed) in requests.into_iter().take(some) {
        compare_request(place, "request", &request, &grid, &charges, allowed)?;
    }
    let refuse = |request: MapRequest| {
        let made = request.on_device(place.device).compute(&charges);
        made.err().map(|error| error.to_string()).unwrap_or_default()
    };
    let huge = MapGrid::new([0.0; 3], [1e-6; 3], [1 << 16, 1 << 16, 1 << 10])?;
    let huge = refuse(MapRequest::new(huge).method(MapMethod::Direct));
    place.expect(&huge, &[huge.contains("spacing")], &[true])?;
    Ok(())
}

/// Ions go to the same places wherever the potential was computed.
pub(super) fn ions(place: &mut Place<'_>) -> Result<(), Wrong> {
    if place.extent <= Extent::Smallest {
        return Ok(());
    }
    let number = if place.extent == Extent::Full { 200 } else { 30 };
    let grid = MapGrid::new([0.6; 3], [0.1; 3], [6; 3])?;
    let charges = charges(place, &grid, number, Which::Random, 0.0)?;
    let subject = MapSubject::new(charges.positions().to_vec(), charges.charges().to_vec());
    let cell = Cell::orthorhombic([1.8, 1.7, 1.6]).map_err(|error| Wrong::Result(error.to_string()))?;
    let request = IonRequest {
        concentration: 1.0,
        spacing: 0.2,
        padding: 0.6,
        solute_distance: 0.3,
        ion_distance: 0.3,
        neutralize: false,
        device: DeviceChoice::Cpu,
        ..IonRequest::default()
    };
    for cell in [None, Some(cell)] {
        let subject = subject.clone().with_cell(cell);
        let places = |made: Ionized| made.ions.into_iter().map(|ion| (ion.name, ion.position));
        let want: Vec<_> = places(request.place(&subject)?).collect();
        let got: Vec<_> = places(request.place_on_device(&subject, place.device)?).collect();
        place.expect("ions", &got, &want)?;
        place.expect("ions, some", &[got.is_empty()], &[false])?;
    }
    Ok(())
}
