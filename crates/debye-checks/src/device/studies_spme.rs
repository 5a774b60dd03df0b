//! The kernels of the study of particle mesh Ewald, against double precision.

use super::studies::agrees;
use super::{Extent, Place, Wrong};
use debye_studies::cufft_version;
use debye_studies::spme::{
    How, Interpolation, Ions, Kind, KindVariant, MeshHow, MeshVariant, OneKind, Potential, RealSpace,
    RealVariant, Salt, Search, SearchHow, SearchVariant, TransformHow, TransformVariant, Whole, WholeHow,
    WholeVariant,
};
use debye_studies::study::{Input, Place as Runs, Variant};

/// Where the ions are. Those that are watched also lie across the faces of the cell.
fn salts(place: &Place<'_>) -> &'static [Ions] {
    match place.extent {
        Extent::Watched => &[Ions::Displaced, Ions::Boundary],
        _ => &Ions::ALL,
    }
}

/// Cells along an axis: boxes of few blocks, and of blocks that are not full.
fn cells(place: &Place<'_>) -> &'static [usize] {
    match place.extent {
        Extent::Watched | Extent::Smallest => &[2],
        Extent::Small => &[2, 3],
        Extent::Full => &[1, 3, 4, 9],
    }
}

/// The engine has checks of its own: on the emulation they do, and so they do for boxes of few ions.
fn engine_takes(place: &Place<'_>, cells: usize) -> bool {
    place.extent == Extent::Full && cells >= 3
}

/// Tiles of three kinds in every order, across faces too, and the search for them with too little room.
pub(super) fn tiles(place: &mut Place<'_>) -> Result<(), Wrong> {
    for &ions in salts(place) {
        for &cells in cells(place) {
            let input = RealSpace(Salt::new(ions, cells));
            for how in How::ALL {
                let variant = RealVariant::new(how);
                if variant.place() == Runs::Cuda && (how != How::Engine || engine_takes(place, cells)) {
                    agrees(place, &input, &variant)?;
                }
            }
            let variant = SearchVariant {
                room: 1,
                ..SearchVariant::new(SearchHow::AllPairsOnDevice)
            };
            let input = Search::new(Salt::new(ions, cells))?;
            agrees(place, &input, &variant)?;
            if engine_takes(place, cells) {
                agrees(place, &input, &SearchVariant::new(SearchHow::Engine))?;
            }
        }
    }
    // Its kernels, one by one: the emulation watches them elsewhere.
    if place.extent != Extent::Watched {
        let input = Search::new(Salt::new(Ions::Displaced, 4))?;
        agrees(place, &input, &SearchVariant::new(SearchHow::Engine))?;
    }
    kinds(place)
}

/// Tiles of one kind alone, of salts that have all three.
fn kinds(place: &mut Place<'_>) -> Result<(), Wrong> {
    let salts: &[(Ions, usize)] = match place.extent {
        Extent::Watched | Extent::Smallest => &[(Ions::Clustered, 4)],
        Extent::Small => &[(Ions::Clustered, 4), (Ions::Random, 5), (Ions::Boundary, 6)],
        Extent::Full => &[
            (Ions::Displaced, 9),
            (Ions::Clustered, 4),
            (Ions::Random, 7),
            (Ions::Boundary, 7),
        ],
    };
    for &(ions, cells) in salts {
        for kind in Kind::ALL {
            let input = OneKind::new(Salt::new(ions, cells), kind)?;
            let variant = KindVariant(Runs::Cuda, kind);
            if let Some(why) = variant.declines(&input) {
                return Err(Wrong::Result(format!("{}: {why}", input.label())));
            }
            agrees(place, &input, &variant)?;
        }
    }
    Ok(())
}

/// Charges onto a mesh, with weights from memory and without.
pub(super) fn interpolation(place: &mut Place<'_>) -> Result<(), Wrong> {
    for &ions in salts(place) {
        for &cells in cells(place) {
            let input = Interpolation::new(Salt::new(ions, cells));
            for how in MeshHow::ALL {
                let variant = MeshVariant::new(how);
                if variant.place() == Runs::Cuda {
                    agrees(place, &input, &variant)?;
                }
            }
        }
    }
    Ok(())
}

/// Transforms, and the kernels of the paper one after the other.
pub(super) fn sums(place: &mut Place<'_>) -> Result<(), Wrong> {
    let full = place.extent == Extent::Full;
    for variant in TransformVariant::ALL {
        let missing = variant.how == TransformHow::Library && cufft_version(place.device).is_err();
        if variant.place() == Runs::Cuda && !missing {
            for &ions in salts(place) {
                let salt = Salt::new(ions, if full { 4 } else { 1 });
                agrees(place, &Potential::new(&salt, variant.sizes), &variant)?;
            }
        }
    }
    for &ions in salts(place) {
        for &cells in cells(place) {
            let input = Whole(Salt::new(ions, cells));
            for how in [WholeHow::Kernels, WholeHow::Engine] {
                if how == WholeHow::Kernels || engine_takes(place, cells) {
                    agrees(place, &input, &WholeVariant::new(how))?;
                }
            }
        }
    }
    Ok(())
}
