//! How fast maps of the potential are summed on a CUDA device, and how exactly: `cargo run --release --example map_speed`.
//! `--all` tries what kernels may be compiled with, `--only points,threads,software,root_terms,between,unroll,resident,order,far`
//! the given ones on the first grid; `--requests` has whole requests at the density of atoms in water; `--emulated` runs tiny grids on the emulation.

// An example may stop at the first surprise.
#![allow(clippy::unwrap_used, clippy::print_stdout)]

use debye::gpu::{Device, Emulation, Float, Value};
use debye::maps::cuda::{PointSums, Tuning};
use debye::prelude::*;
use rayon::prelude::*;

/// A small generator of random numbers between 0 and 1.
fn random(state: &mut u64) -> f64 {
    *state = state
        .wrapping_mul(6_364_136_223_846_793_005)
        .wrapping_add(1_442_695_040_888_963_407);
    (*state >> 11) as f64 / (1_u64 << 53) as f64
}

struct Case {
    grid: MapGrid,
    charges: PointCharges,
    /// Some points, and what the potential is there in double precision.
    reference: Vec<(usize, f64)>,
}

const EXCLUSION: f64 = 0.01;

impl Case {
    fn new(shape: [usize; 3], atoms: usize) -> Self {
        Self::spaced(shape, atoms, 0.05)
    }

    fn spaced(shape: [usize; 3], atoms: usize, spacing: f64) -> Self {
        let mut state = 1;
        let grid = MapGrid::new([-0.3, 0.2, 0.1], [spacing; 3], shape).unwrap();
        let place = |state: &mut u64| {
            let at = |k: usize, state: &mut u64| {
                grid.origin()[k] + grid.spacing()[k] * shape[k] as f64 * random(state)
            };
            Vec3::new(at(0, state), at(1, state), at(2, state))
        };
        let positions: Vec<_> = (0..atoms).map(|_| place(&mut state)).collect();
        let signed: Vec<f64> = (0..atoms).map(|_| 2.0 * random(&mut state) - 1.0).collect();
        let charges = PointCharges::new(&positions, &signed).unwrap();
        let points: Vec<[usize; 3]> = (0..3000)
            .map(|_| shape.map(|n| (random(&mut state) * n as f64) as usize))
            .collect();
        let value = |point: &[usize; 3]| {
            let at = grid.position(*point);
            let terms = positions.iter().zip(&signed).map(|(&r, q)| {
                let d = at - r;
                q / d.dot(d).sqrt().max(EXCLUSION)
            });
            (grid.index(*point), terms.sum())
        };
        let reference = points.par_iter().map(value).collect();
        Self {
            grid,
            charges,
            reference,
        }
    }

    fn measure<T: Float + Value>(&self, device: &Device, tolerance: Option<f64>, tuning: Option<Tuning>) {
        let stream = device.stream().unwrap();
        let (grid, charges) = (&self.grid, &self.charges);
        let sums = PointSums::<T>::direct(device, grid, charges, EXCLUSION, 1.0, tolerance, tuning);
        let mut sums = match sums {
            Ok(sums) => sums,
            Err(error) => return println!("  {error}"),
        };
        let graph = stream.capture(|stream| sums.queue(stream)).unwrap();
        let evaluations = grid.points() as f64 * charges.len() as f64;
        let repetitions = if device.info().emulated {
            1
        } else {
            (1e12 / evaluations).clamp(1.0, 200.0) as u32
        };
        stream.time(&graph, 1).unwrap();
        let mut times: Vec<f64> = (0..5)
            .map(|_| stream.time(&graph, repetitions).unwrap() / f64::from(repetitions))
            .collect();
        times.sort_by(f64::total_cmp);
        let values = sums.values(&stream).unwrap();
        let most = self
            .reference
            .iter()
            .fold(0.0_f64, |most, (_, v)| most.max(v.abs()));
        let error = self.reference.iter().map(|&(i, v)| (values[i].wide() - v).abs());
        let error = error.fold(0.0, f64::max) / most;
        let t = sums.tuning();
        println!(
            "  {:3} bits {:>2} points/thread {:3} threads {} software of {} terms, {} between, unroll {}, resident {:2}, orders {} and {}: \
             {:8.1} G/s  {:9.1} µs  error {error:.1e}",
            8 * size_of::<T>(),
            t.points,
            t.threads,
            t.software,
            t.root_terms,
            t.between,
            t.unroll,
            t.resident,
            t.line_order,
            t.far_order,
            evaluations / times[2] / 1e9,
            times[2] * 1e6,
        );
    }
}

/// Seconds of whole requests on the device, 100 charges in a cubic nanometer.
fn sizes(device: &Device) {
    let few = [(1000, 32), (10_000, 64), (10_000, 128), (92_224, 112)];
    for (atoms, points) in few.into_iter().chain([(1_000_000, 216), (1_000_000, 512)]) {
        let spacing = (atoms as f64 / 100.0).cbrt() / points as f64;
        let case = Case::spaced([points; 3], atoms, spacing);
        for method in [MapMethod::Direct, MapMethod::Cutoff, MapMethod::Multilevel] {
            if method == MapMethod::Direct && case.grid.points() * atoms > 20_000_000_000_000 {
                continue;
            }
            let request = MapRequest::new(case.grid).method(method).on_device(device);
            let mut times: Vec<f64> = (0..4)
                .map(|_| {
                    let began = std::time::Instant::now();
                    request.compute(&case.charges).unwrap();
                    began.elapsed().as_secs_f64()
                })
                .skip(1)
                .collect();
            times.sort_by(f64::total_cmp);
            println!(
                "{atoms:8} charges {points:4}³ points {method:10} {:9.2} ms",
                1e3 * times[1]
            );
        }
    }
}

/// Whole requests, from charges to values on the host: seconds on the device and on the CPU, and how far apart they are.
fn requests(device: &Device, case: &Case) {
    for method in [MapMethod::Direct, MapMethod::Cutoff, MapMethod::Multilevel] {
        let request = MapRequest::new(case.grid).method(method);
        let there = request.clone().on_device(device);
        let here = request.device(DeviceChoice::Cpu);
        // Compiled and kept the first time.
        let first = there.compute(&case.charges).unwrap();
        let mut seconds = [&there, &here].map(|request| {
            let mut times: Vec<f64> = (0..if device.info().emulated { 1 } else { 5 })
                .map(|_| {
                    let began = std::time::Instant::now();
                    request.compute(&case.charges).unwrap();
                    began.elapsed().as_secs_f64()
                })
                .collect();
            times.sort_by(f64::total_cmp);
            times[times.len() / 2]
        });
        let other = here.compute(&case.charges).unwrap();
        let [_, b, c] = case.grid.shape();
        let (mut most, mut apart) = (0.0_f64, 0.0_f64);
        for i in 0..case.grid.points() {
            let at = [i / (b * c), i / c % b, i % c];
            most = most.max(other.value(at).abs());
            apart = apart.max((first.value(at) - other.value(at)).abs());
        }
        seconds = seconds.map(|s| s * 1e3);
        println!(
            "  {method:10}: {:9.2} ms on the device, {:9.2} ms on the CPU, apart by {:.1e}",
            seconds[0],
            seconds[1],
            apart / most
        );
    }
}

/// What a kernel is compiled with, from numbers with commas between them.
fn tuning(text: &str) -> Tuning {
    let n: Vec<u32> = text.split(',').map(|word| word.parse().unwrap()).collect();
    Tuning {
        threads: n[1],
        software: n[2],
        root_terms: n[3],
        between: n[4],
        unroll: n[5],
        resident: n[6],
        ..Tuning::lines(n[0], n[7], n[8])
    }
}

fn main() {
    let has = |name: &str| std::env::args().any(|argument| argument == name);
    let emulated = has("--emulated");
    let device = if emulated {
        Device::emulated(Emulation::default()).unwrap()
    } else {
        Device::open(0).unwrap()
    };
    println!("{}", device.info().name);
    if has("--requests") {
        return sizes(&device);
    }
    let cases = if emulated {
        vec![([96, 20, 18], 1000), ([21; 3], 500), ([5, 3, 2], 300)]
    } else {
        vec![
            ([192; 3], 4096),
            ([21; 3], 4096),
            ([100, 97, 53], 4096),
            ([64; 3], 100_000),
        ]
    };
    let given: Vec<Tuning> = std::env::args()
        .skip_while(|word| word != "--only")
        .skip(1)
        .map(|text| tuning(&text))
        .collect();
    for (shape, atoms) in cases {
        let case = Case::new(shape, atoms);
        println!(
            "{} × {} × {} points, {atoms} charges",
            shape[0], shape[1], shape[2]
        );
        if !given.is_empty() {
            for &tuning in &given {
                let lines = (tuning.line_order > 0).then_some(1e-6);
                case.measure::<f32>(&device, lines, Some(tuning));
            }
            return;
        }
        case.measure::<f32>(&device, None, None);
        case.measure::<f32>(&device, Some(1e-6), None);
        case.measure::<f64>(&device, None, None);
        for points in [8, 10, 11, 12, 14, 16] {
            case.measure::<f32>(&device, None, Some(Tuning::direct(points, false)));
        }
        requests(&device, &case);
        if !has("--all") {
            continue;
        }
        for tuning in Tuning::direct(12, false).candidates() {
            case.measure::<f32>(&device, None, Some(tuning));
        }
        for (points, order, far) in [(16, 8, 5), (24, 8, 5), (24, 10, 6)] {
            for tuning in Tuning::lines(points, order, far).candidates() {
                case.measure::<f32>(&device, Some(1e-6), Some(tuning));
            }
        }
        for points in [4, 6, 8] {
            for tuning in Tuning::direct(points, true).candidates() {
                case.measure::<f64>(&device, None, Some(tuning));
            }
        }
    }
}
