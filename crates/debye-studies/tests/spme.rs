//! Every rung of the study of particle mesh Ewald that runs on the processor, against double precision. Those of CUDA
//! are checked by `debye-checks`, on the emulation and on cards.

// A test may stop at the first surprise.
#![allow(clippy::unwrap_used, clippy::expect_used)]

use debye_studies::spme::{
    Blocks, How, Interpolation, Ions, Kind, KindVariant, MeshHow, MeshVariant, OneKind, Order, Potential,
    RealSpace, RealVariant, Salt, Search, SearchVariant, Sizes, TransformVariant, Whole, WholeHow,
    WholeVariant,
};
use debye_studies::study::{Input, Place, Variant, check};

fn agrees<I: Input>(input: &I, variant: &dyn Variant<I>) {
    if variant.place() == Place::Cuda || variant.declines(input).is_some() {
        return;
    }
    check(input, variant, None).unwrap();
}

#[test]
fn real_space_sums_agree() {
    for ions in Ions::ALL {
        for cells in [1, 3, 4] {
            let input = RealSpace(Salt::new(ions, cells));
            if input.work() > 0.0 {
                How::ALL
                    .into_iter()
                    .for_each(|how| agrees(&input, &RealVariant::new(how)));
            }
        }
    }
    // Salts that have tiles of all three kinds.
    for (ions, cells) in [
        (Ions::Displaced, 5),
        (Ions::Random, 5),
        (Ions::Clustered, 4),
        (Ions::Boundary, 6),
    ] {
        for kind in Kind::ALL {
            let input = OneKind::new(Salt::new(ions, cells), kind).unwrap();
            check(&input, &KindVariant(Place::Cpu, kind), None).unwrap();
            assert!(input.tiles() > 0, "{}", input.label());
        }
    }
}

#[test]
fn searches_find_everybody() {
    for ions in Ions::ALL {
        for cells in [3, 5] {
            let input = Search::new(Salt::new(ions, cells)).unwrap();
            SearchVariant::ALL
                .into_iter()
                .for_each(|how| agrees(&input, &SearchVariant::new(how)));
        }
    }
}

#[test]
fn cells_find_the_tiles_of_all_pairs() {
    for (ions, cells) in [(Ions::Displaced, 12), (Ions::Clustered, 13), (Ions::Boundary, 12)] {
        let salt = Salt::new(ions, cells);
        for order in Order::ALL {
            let blocks = Blocks::new(&salt, order).unwrap();
            assert_eq!(blocks.by_cells(), blocks.by_all_pairs(), "{ions:?}, {order:?}");
        }
    }
}

#[test]
fn charges_on_a_mesh_agree() {
    for ions in Ions::ALL {
        for cells in [1, 3] {
            let input = Interpolation::new(Salt::new(ions, cells));
            if input.work() > 0.0 {
                MeshHow::ALL
                    .into_iter()
                    .for_each(|how| agrees(&input, &MeshVariant::new(how)));
            }
        }
    }
}

#[test]
fn transforms_agree() {
    for ions in Ions::ALL {
        for cells in [1, 2, 4] {
            let salt = Salt::new(ions, cells);
            for variant in TransformVariant::ALL {
                agrees(&Potential::new(&salt, variant.sizes), &variant);
            }
        }
    }
    assert!(Salt::new(Ions::Perfect, 9).mesh() == 120);
    assert_ne!(Sizes::Computed, Sizes::Smooth);
}

#[test]
fn whole_sums_agree() {
    for ions in Ions::ALL {
        let input = Whole(Salt::new(ions, 3));
        WholeHow::ALL
            .into_iter()
            .for_each(|how| agrees(&input, &WholeVariant::new(how)));
    }
}

/// Where a mesh may not be as fine as the rules ask for, a longer cut-off makes up for it.
#[test]
fn a_shorter_mesh_is_as_exact() {
    let largest = Salt::new(Ions::Perfect, 80);
    assert_eq!(largest.mesh(), 576);
    let split = largest.split(512);
    assert!(
        split.points == 512 && (1.07..1.09).contains(&split.cutoff),
        "{split}"
    );
    let input = Whole(Salt::new(Ions::Displaced, 5));
    let error = |longest: usize| {
        let mut variant = WholeVariant::new(WholeHow::EngineOnHost);
        variant.longest = longest;
        let mut work = variant.prepare(&input, None).unwrap();
        input.error(&work.output().unwrap())
    };
    let (whole, shorter) = (error(usize::MAX), error(54));
    assert!(
        input.0.mesh() == 64 && shorter < 1.5 * whole,
        "{whole:e} {shorter:e}"
    );
}
