//! Charge mapping after Sanaullah et al., against double precision: every kernel of `debye study charge-mapping`.

use super::studies::agrees;
use super::{Extent, Place, Wrong};
use debye_studies::charge_mapping::{
    Arrangement, Charged, How, MappingVariant, Method, Owner, Sites, Stage, Staged,
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
                    if declined(&variant, &sites)? {
                        continue;
                    }
                    // Thousands of charges within a brick of a full mesh: the engine refuses them.
                    let crowded = place.extent == Extent::Full
                        && arrangement != Arrangement::Random
                        && How::BRICKS.contains(&how);
                    match agrees(place, &sites, &variant) {
                        Err(Wrong::Result(why)) if crowded && why.contains("never fit") => {}
                        done => done?,
                    }
                }
            }
        }
    }
    // A tenth of these charges is in one bin: the rungs that read bins whole refuse them, and no others.
    let crowded = Sites::synthetic(Arrangement::Overflow, [6; 3], 700);
    let mut refused = Vec::new();
    for how in all {
        let variant = MappingVariant::new(how);
        match declined(&variant, &crowded)? {
            true => refused.push(how.name()),
            false => agrees(place, &crowded, &variant)?,
        }
    }
    if refused != READ_WHOLE {
        return Err(Wrong::Result(format!("refused by {refused:?}")));
    }
    Ok(())
}

/// Rungs whose threads read bins whole.
const READ_WHOLE: [&str; 4] = [
    "PC binning",
    "GC baseline",
    "GC compute efficient",
    "GC shared memory",
];

/// Whether a rung declines. It must where a bin has more slots than a thread keeps or bins would take more than 4 GiB, say
/// which, and otherwise not.
fn declined(variant: &MappingVariant, sites: &Sites) -> Result<bool, Wrong> {
    let (name, crowd) = (variant.how.name(), sites.crowd());
    let bytes = sites.points() * 16 * crowd;
    let has_bins = matches!(variant.how, How::Kernel(owner) if owner != Owner::Particle);
    let why = variant.declines(sites);
    let right = match &why {
        None => (!READ_WHOLE.contains(&name) || crowd <= 48) && (!has_bins || bytes <= 4 << 30),
        Some(why) if why.contains("a thread keeps") => READ_WHOLE.contains(&name) && crowd > 48,
        // Slots are in sixteens, so bins take more than their particles.
        Some(why) => why.contains("would take") && has_bins && bytes > 3 << 30,
    };
    match right {
        true => Ok(why.is_some()),
        false => Err(Wrong::Result(format!(
            "{name}, {crowd} in a bin: declines with {why:?}"
        ))),
    }
}

/// Mapping, solve and interpolation: forces are those of the processor in double precision.
pub(super) fn stages(place: &mut Place<'_>) -> Result<(), Wrong> {
    let (size, particles) = match place.extent {
        Extent::Full => ([60, 54, 48], 15_000),
        _ => ([12, 10, 9], 200),
    };
    let arrangements = [
        Arrangement::Random,
        Arrangement::Boundary,
        Arrangement::Clustered,
        Arrangement::Overflow,
    ];
    let number = if place.extent == Extent::Watched { 1 } else { 4 };
    for method in [Method::Transforms, Method::Grids] {
        for &arrangement in &arrangements[..number] {
            let charged = Charged::new(Sites::synthetic(arrangement, size, particles), method)?;
            let staged = |stage| Staged {
                stage,
                place: Runs::Cuda,
            };
            agrees(place, &charged, &staged(Stage::All))?;
            if place.extent > Extent::Smallest {
                agrees(place, &charged, &staged(Stage::Solve))?;
            }
        }
    }
    Ok(())
}
