//! Charge mapping after Sanaullah et al., against double precision: every kernel of `debye study charge-mapping`.

use super::studies::agrees;
use super::{Extent, Place, Wrong};
use debye_studies::charge_mapping::{
    Arrangement, Charged, How, MappingVariant, Method, Sites, Stage, Staged,
};
use debye_studies::study::{Place as Runs, Variant};

/// Meshes that are no multiples of blocks or tiles, bins that overflow and are enlarged, and those that are refused.
pub(super) fn mapping(place: &mut Place<'_>) -> Result<(), Wrong> {
    let mut shapes = vec![([5, 9, 6], 300)];
    if place.extent >= Extent::Small {
        shapes.extend([([4, 4, 4], 60), ([13, 8, 7], 900)]);
    }
    if place.extent == Extent::Full {
        shapes.extend([
            ([32, 32, 32], 92_000),
            ([108, 108, 80], 92_000),
            ([33, 17, 40], 20_000),
        ]);
    }
    let mut all = How::PARTICLE_CENTRIC.to_vec();
    all.extend(How::GRID_CENTRIC);
    all.extend(&How::BRICKS[..if place.extent <= Extent::Smallest { 1 } else { 3 }]);
    let mut declined = 0;
    let mut arrangements = vec![
        Arrangement::Random,
        Arrangement::Overflow,
        Arrangement::Clustered,
        Arrangement::Boundary,
    ];
    if place.extent == Extent::Watched {
        arrangements.truncate(2);
    }
    for arrangement in arrangements {
        for &(size, particles) in &shapes {
            let sites = Sites::synthetic(arrangement, size, particles);
            for &how in &all {
                for fresh in [false, true] {
                    let variant = MappingVariant {
                        fresh,
                        ..MappingVariant::new(how)
                    };
                    let crowded = arrangement != Arrangement::Random && How::BRICKS.contains(&how);
                    match variant.declines(&sites) {
                        Some(_) => declined += 1,
                        None => match agrees(place, &sites, &variant) {
                            // Thousands of charges within a brick: the engine refuses them.
                            Err(Wrong::Result(why)) if crowded && why.contains("never fit") => declined += 1,
                            done => done?,
                        },
                    }
                }
            }
        }
    }
    // Bins too large for a thread are refused, and only those.
    let crowded = Sites::synthetic(Arrangement::Overflow, [6; 3], 700);
    for how in all {
        let variant = MappingVariant::new(how);
        match variant.declines(&crowded) {
            Some(_) => declined += 1,
            None => agrees(place, &crowded, &variant)?,
        }
    }
    if declined == 0 {
        return Err(Wrong::Result("no bin was too large".into()));
    }
    Ok(())
}

/// Mapping, solve and interpolation: forces are those of the processor in double precision.
pub(super) fn stages(place: &mut Place<'_>) -> Result<(), Wrong> {
    let (size, particles) = match place.extent {
        Extent::Full => ([60, 54, 48], 15_000),
        _ => ([12, 10, 9], 200),
    };
    for method in [Method::Transforms, Method::Grids] {
        let sites = Sites::synthetic(Arrangement::Random, size, particles);
        let charged = Charged::new(sites, method)?;
        let staged = |stage| Staged {
            stage,
            place: Runs::Cuda,
        };
        agrees(place, &charged, &staged(Stage::All))?;
        if place.extent > Extent::Smallest {
            agrees(place, &charged, &staged(Stage::Solve))?;
        }
    }
    Ok(())
}
