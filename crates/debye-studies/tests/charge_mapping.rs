//! The rungs of charge mapping that run on the processor, against double precision, and what the study counts.

// A test may stop at the first surprise.
#![allow(clippy::unwrap_used, clippy::expect_used)]

use debye::engines::cuda::mesh::Fixed;
use debye_gpu::{Device, Emulation};
use debye_studies::Design;
use debye_studies::charge_mapping::{
    Arrangement, Charged, Counted, FixedPoint, HostBins, How, MappingVariant, Method, Sites, Stage, Staged,
    metrics,
};
use debye_studies::study::{Input, Place, Profile, Variant, check};

const ARRANGEMENTS: [Arrangement; 4] = [
    Arrangement::Random,
    Arrangement::Clustered,
    Arrangement::Boundary,
    Arrangement::Overflow,
];

#[test]
fn meshes_agree() {
    for arrangement in ARRANGEMENTS {
        for (size, particles) in [
            ([4, 4, 4], 40),
            ([7, 12, 5], 900),
            ([20, 9, 16], 3000),
            ([6, 6, 6], 1),
        ] {
            let sites = Sites::synthetic(arrangement, size, particles);
            for how in How::HOST {
                for fresh in [false, true] {
                    let variant = MappingVariant {
                        fresh,
                        ..MappingVariant::new(how)
                    };
                    assert!(variant.declines(&sites).is_none());
                    check(&sites, &variant, None).unwrap();
                }
            }
        }
    }
}

#[test]
fn a_wrong_mesh_is_seen() {
    let sites = Sites::synthetic(Arrangement::Random, [8; 3], 100);
    let mut work = MappingVariant::new(How::Optimized).prepare(&sites, None).unwrap();
    let mut mesh = work.output().unwrap();
    let total: f32 = mesh.iter().sum();
    let charge: f32 = sites.particles().iter().map(|p| p[3]).sum();
    assert!((total - charge).abs() < 1e-4, "{total} {charge}");
    mesh[77] += 0.01;
    assert!(sites.error(&mesh) > 1e-3);
    mesh[77] = f32::NAN;
    assert!(sites.error(&mesh).is_nan());
    mesh.pop();
    assert!(sites.error(&mesh).is_nan());
}

/// Sums of whole numbers of 2^−places with weights in single precision, as the brick kernels make them.
fn summed(sites: &Sites, places: i32) -> Vec<f32> {
    let (shape, scale) = (sites.shape(), 2_f32.powi(places));
    let [x, y, z] = sites.size();
    let mut sums = vec![0_i32; shape.points()];
    for particle in sites.particles() {
        let weights = [0, 1, 2].map(|k| shape.basis.weights::<f32>(particle[k].fract()).values);
        let first = [0, 1, 2].map(|k| particle[k] as usize);
        for at in 0..64 {
            let [i, j, k] = [at % 4, at / 4 % 4, at / 16];
            let part = scale * particle[3] * weights[2][k] * weights[1][j] * weights[0][i];
            let row = (first[2] + z + k - 1) % z * y + (first[1] + y + j - 1) % y;
            sums[row * x + (first[0] + x + i - 1) % x] += part.round_ties_even() as i32;
        }
    }
    sums.into_iter().map(|sum| sum as f32 / scale).collect()
}

#[test]
fn what_fixed_point_costs_is_known() {
    // Places from all that charges leave room for to the few of a mesh that is crowded beyond measure.
    for (arrangement, size, particles, places) in [
        (Arrangement::Random, [16; 3], 10_000, 23),
        (Arrangement::Boundary, [13, 8, 7], 900, 17),
        (Arrangement::Overflow, [32; 3], 92_000, 10),
        (Arrangement::Clustered, [32; 3], 92_000, 9),
    ] {
        let sites = Sites::synthetic(arrangement, size, particles);
        let sums = FixedPoint::new(&sites, Fixed { bits: places });
        let mut mesh = summed(&sites, places);
        sums.check(&mesh).unwrap();
        let (error, cost) = (sites.error(&mesh), sums.cost());
        assert!(error < cost + 5e-6, "{arrangement:?}: {error:e}, {cost:e}");
        // Nor is more allowed than rounding costs.
        assert!(cost < error + 5e-6, "{arrangement:?}: {error:e}, {cost:e}");
        // The same charges but for the last.
        let without = summed(&Sites::synthetic(arrangement, size, particles - 1), places);
        assert!(
            sums.check(&without).is_err(),
            "{arrangement:?}: a lost charge is not seen"
        );
        mesh[5] += 0.02;
        assert!(
            sums.check(&mesh).is_err(),
            "{arrangement:?}: a wrong weight is not seen"
        );
        mesh.pop();
        assert!(sums.check(&mesh).is_err());
    }
}

#[test]
fn brick_kernels_have_the_places_they_may() {
    let device = Device::emulated(Emulation::default()).unwrap();
    for (arrangement, size, particles, most) in [
        (Arrangement::Random, [12, 9, 10], 1200, 2e-6),
        (Arrangement::Overflow, [12, 9, 10], 1200, 1e-5),
        // As crowded as lists allow.
        (Arrangement::Clustered, [32; 3], 92_000, 1e-5),
    ] {
        let sites = Sites::synthetic(arrangement, size, particles);
        for design in Design::ALL {
            let variant = MappingVariant::new(How::Bricks(design));
            check(&sites, &variant, Some(&device)).unwrap();
            let rounding = variant.prepare(&sites, Some(&device)).unwrap().rounding();
            println!("{design}, {arrangement:?}: {rounding:e}");
            assert!((0.0..most * design.overlap()).contains(&rounding));
        }
    }
}

#[test]
fn bins_that_overflow_are_enlarged_or_refused() {
    let sites = Sites::synthetic(Arrangement::Overflow, [8; 3], 4000);
    assert!(sites.crowd() > 400);
    let bins = HostBins::new(sites.size(), sites.particles());
    assert!(bins.slots() >= sites.crowd());
    let held: usize = bins.all().map(|(_, slots)| slots.len()).sum();
    assert_eq!(held, 4000);
    // Threads that keep a bin whole say that they cannot.
    let whole = MappingVariant::new(How::PARTICLE_CENTRIC[1]);
    assert!(whole.declines(&sites).unwrap().contains("a bin holds"));
    let slots = MappingVariant::new(How::PARTICLE_CENTRIC[3]);
    assert!(slots.declines(&sites).is_none());
    // Bins that no memory holds.
    let crowded = Sites::synthetic(Arrangement::Overflow, [80; 3], 50_000);
    assert!(slots.declines(&crowded).unwrap().contains("GB"));
}

#[test]
fn the_benchmark_is_that_of_namd() {
    let sites = Sites::apoa1([32; 3]).unwrap();
    assert_eq!(sites.particles().len(), 92_224);
    let charge: f64 = sites.particles().iter().map(|p| f64::from(p[3])).sum();
    assert!((charge + 14.0).abs() < 1e-3, "{charge}");
    let (pc, gc) = (Counted::particle_centric(&sites), Counted::grid_centric(&sites));
    // The paper: about 400K, and 1022.
    assert!((300_000..600_000).contains(&pc.atomics), "{pc:?}");
    assert_eq!(gc.stores, 1024);
    assert!(gc.loads > 20 * pc.loads && gc.efficiency < 1.0 && pc.efficiency < 1.0);
}

#[test]
fn counts_of_one_particle() {
    let sites = Sites::synthetic(Arrangement::Random, [8, 8, 8], 1);
    let (pc, gc) = (Counted::particle_centric(&sites), Counted::grid_centric(&sites));
    assert_eq!((pc.loads, pc.stores, pc.atomics), (16 + 4, 0, 64));
    // A load of a counter for each warp and bin; the particle lies in bins of warps with 4 rows of 8 points.
    assert_eq!(gc.stores, 16);
    assert_eq!((gc.loads - 16 * 64) % 4, 0);
    assert!((gc.efficiency - 1.0 / 32.0).abs() < 1e-12, "{gc:?}");
}

#[test]
fn profiles_are_read() {
    let text = "==PROF== Connected\n\
        \"ID\",\"Process ID\",\"Kernel Name\",\"Grid Size\",\"Metric Name\",\"Metric Unit\",\"Metric Value\"\n\
        \"0\",\"7\",\"debye_map_bins_coalesced(MapWork)\",\"(256, 1, 1)\",\"smsp__inst_executed.sum\",\"inst\",\"1,234\"\n\
        \"1\",\"7\",\"debye_map_bins_coalesced(MapWork)\",\"(256, 1, 1)\",\"smsp__inst_executed.sum\",\"inst\",\"9\"\n";
    let profile = Profile::parse(text).unwrap();
    assert!(format!("{profile:?}").contains("1234.0") && !format!("{profile:?}").contains("9.0"));
    assert!(Profile::parse("nothing\nhere\n").is_none());
    assert!(metrics().len() > 14);
}

#[test]
fn stages_agree() {
    for method in [Method::Transforms, Method::Grids] {
        for arrangement in [
            Arrangement::Random,
            Arrangement::Boundary,
            Arrangement::Clustered,
            Arrangement::Overflow,
        ] {
            let sites = Sites::synthetic(arrangement, [20, 18, 16], 600);
            let charged = Charged::new(sites, method).unwrap();
            for stage in Stage::ALL {
                let place = Place::Cpu;
                check(&charged, &Staged { stage, place }, None).unwrap();
            }
        }
    }
}
