//! The papers' kernels, against double precision: everything that `debye study` measures on a device.

use super::{Extent, Place, Wrong};
use debye_studies::coarse_grain::{self, Arithmetic, BeadVariant, Beads, Model, Order, Part};
use debye_studies::potential_map::{Arrangement, How as MapHow, MapVariant, Molecule, Version};
use debye_studies::prefix_sum::{Argon, BinVariant, Counts, Gas, How, Numbers, ScanVariant};
use debye_studies::study::{Input, Place as Runs, StudyError, Variant, check};

impl From<StudyError> for Wrong {
    fn from(error: StudyError) -> Self {
        Self::Result(error.to_string())
    }
}

/// Prepares a variant, times it once, and compares what it gives.
pub(super) fn agrees<I: Input>(
    place: &mut Place<'_>,
    input: &I,
    variant: &dyn Variant<I>,
) -> Result<(), Wrong> {
    place.cases += 1;
    Ok(check(input, variant, Some(place.device))?)
}

/// Direct sums of the potential: grids that are no multiples of blocks, more atoms than constant memory holds.
pub(super) fn maps(place: &mut Place<'_>) -> Result<(), Wrong> {
    let mut shapes = vec![([21, 17, 2], 40)];
    if place.extent >= Extent::Small {
        shapes.extend([([130, 5, 1], 300), ([3, 2, 2], 4100)]);
    }
    if place.extent == Extent::Full {
        shapes.extend([([300, 170, 3], 9000), ([128, 16, 1], 4096)]);
    }
    for version in Version::ALL {
        for whole in [false, true] {
            let how = MapHow::Version(version);
            let variant = MapVariant {
                how,
                whole,
                most: f64::INFINITY,
            };
            let mut arrangements = vec![
                Arrangement::Random,
                Arrangement::Boundary,
                Arrangement::Clustered,
                Arrangement::Corner,
            ];
            if place.extent == Extent::Watched {
                arrangements.truncate(2);
            }
            for arrangement in arrangements {
                for &(shape, atoms) in &shapes {
                    agrees(place, &Molecule::new(arrangement, shape, atoms), &variant)?;
                }
            }
        }
    }
    // Two chunks of atoms.
    let how = MapHow::Version(Version::One);
    let two = Molecule::new(Arrangement::Random, [3, 2, 1], 4100);
    agrees(
        place,
        &two,
        &MapVariant {
            how,
            whole: true,
            most: f64::INFINITY,
        },
    )
}

/// Prefix sums: one to four levels of blocks, sums that wrap.
pub(super) fn scans(place: &mut Place<'_>) -> Result<(), Wrong> {
    let lengths: &[usize] = match place.extent {
        Extent::Watched | Extent::Smallest => &[1, 129, 4200],
        Extent::Small => &[1, 63, 64, 65, 128, 129, 4096, 4097, 20_000],
        Extent::Full => &[1, 511, 512, 513, 1025, 262_145, 3_000_001],
    };
    for how in ScanVariant::ALL {
        let threads = if place.extent == Extent::Full { 512 } else { 64 };
        let mut variant = ScanVariant {
            threads,
            ..ScanVariant::new(how)
        };
        if variant.place() == Runs::Cpu {
            continue;
        }
        for launched in [false, true] {
            variant.launched = launched;
            let mut all = vec![
                Counts::Random,
                Counts::Overflow,
                Counts::Clustered,
                Counts::Boundary,
            ];
            if place.extent == Extent::Watched {
                all.truncate(2);
            }
            for counts in all {
                for &length in lengths {
                    // Quadratic work stays small.
                    if how != How::Quadratic || length < 50_000 {
                        agrees(place, &Numbers::new(counts, length), &variant)?;
                    }
                }
            }
        }
    }
    Ok(())
}

/// Forces by loops over bins, across faces too.
pub(super) fn bins(place: &mut Place<'_>) -> Result<(), Wrong> {
    let atoms = if place.extent == Extent::Full { 50_000 } else { 200 };
    for gas in [Gas::Ball, Gas::Random, Gas::Clustered, Gas::Boundary] {
        let argon = Argon::new(gas, atoms);
        for branches in [true, false] {
            agrees(place, &argon, &BinVariant::Kernel { branches })?;
        }
        if place.extent == Extent::Full {
            agrees(place, &argon, &BinVariant::Engine)?;
        }
    }
    Ok(())
}

/// Which versions of the kernels of beads. Where kernels are watched, those are enough that differ in more than a type.
fn versions(place: &Place<'_>, model: Model) -> Vec<coarse_grain::Version> {
    let mut all = coarse_grain::Version::all(model);
    if place.extent == Extent::Watched {
        all.retain(|version| matches!(version.arithmetic, Arithmetic::Single | Arithmetic::Fixed));
    }
    all
}

/// Beads with axes by matrices of neighbors and of types of interactions; then a whole step, with its second half in the
/// kernel of the forces and in one of its own.
pub(super) fn beads(place: &mut Place<'_>) -> Result<(), Wrong> {
    let orders: &[Order] = match place.extent {
        Extent::Watched => &[Order::Clustered],
        _ => &Order::ALL,
    };
    let atoms = if place.extent == Extent::Full { 20_000 } else { 200 };
    for model in Model::ALL {
        for &order in orders {
            let beads = Beads::lying(model, order, atoms)?;
            for version in versions(place, model) {
                agrees(place, &beads, &BeadVariant::Kernels(version, Part::Forces))?;
                for version in [version, version.apart()] {
                    place.cases += 1;
                    let ratio = coarse_grain::step_error(place.device, &beads, version)?;
                    if ratio > 1.0 {
                        let what = format!(
                            "a step, {}, {version:?}: off by {ratio:.1e} of what is allowed",
                            beads.label()
                        );
                        return Err(Wrong::Result(what));
                    }
                }
            }
        }
    }
    Ok(())
}

/// A run of beads, with lists that are made on the way and bonds on the host, beside the engine's.
pub(super) fn beads_that_move(place: &mut Place<'_>) -> Result<(), Wrong> {
    // kJ/mol for each bead. Both turn dipoles in different order, so they differ by as much as steps of 1 fs let the total
    // energy vary.
    const ALLOWED: f64 = 1e-5;
    if place.extent == Extent::Watched {
        return Ok(());
    }
    place.cases += 1;
    let run = coarse_grain::run_difference(place.device)?;
    let right = run.potential <= ALLOWED && run.total <= ALLOWED;
    // Something must have happened for this to mean anything.
    if right && run.lists > 0 && run.change > 1e3 * ALLOWED {
        return Ok(());
    }
    Err(Wrong::Result(format!("{run:?}")))
}
