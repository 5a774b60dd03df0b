//! Saving, restoring and damaging the state of analyses; refusing bad frames; writing tables.

use std::sync::Arc;

use debye::analysis::{
    ANALYSES, Analysis, AnalysisError, AnalysisRequest, Labels, Lags, Msd, MsdOptions, Rdf, RdfOptions,
    SettingKind, SettingValue, Snapshot, Subject, Vacf, Window,
};
use debye::expr::Vec3;
use debye::system::{Cell, Species, Units};
use proptest::prelude::*;

const N: usize = 24;

fn labels() -> Labels {
    let species = ["A", "B"].map(|name| Species::point(name, 1.0, 0.0));
    Labels::new(Units::Md, &species)
}

fn all() -> Vec<Box<dyn Analysis>> {
    let window = Window {
        longest: 12,
        origins: 4,
        lags: Lags::Even(6),
    };
    let rdf = RdfOptions {
        pair: Some([0, 1]),
        r_max: 1.5,
        bins: 12,
    };
    let masses: Arc<[f64]> = vec![1.5; N].into();
    let msd = MsdOptions {
        window,
        masses: Some(masses.clone()),
        fit: None,
    };
    let labels = labels();
    let mut all: Vec<Box<dyn Analysis>> = vec![
        Box::new(Rdf::new(rdf, &labels).unwrap()),
        Box::new(Msd::new(msd, &labels).unwrap()),
        Box::new(Vacf::new(window, &labels).unwrap()),
    ];
    let subject = Subject {
        units: Units::Md,
        labels,
        electrons: [3.0, 1.0].into(),
        species: (0..N as u32).map(|i| i % 2).collect(),
        masses: masses.clone(),
        charges: masses,
        rotations: [].into(),
        molecules: (0..N as u32).map(|i| i / 4).collect(),
        constraints: Default::default(),
        bonds: (0..N as u32).filter(|i| i % 4 != 3).map(|i| [i, i + 1]).collect(),
        cell: Cell::orthorhombic([2.0, 2.5, 3.0]).unwrap(),
        reach: 1.0,
        temperature: Some(300.0),
        model: None,
    };
    // The pressure needs forces; its state is that of other profiles.
    let made = ["rdf", "msd", "vacf", "pressure-profile"];
    for kind in ANALYSES.iter().filter(|kind| !made.contains(&kind.name)) {
        let request = AnalysisRequest::new(kind, |setting| {
            Ok::<_, ()>(match (setting.name, setting.kind) {
                (_, SettingKind::Count(_)) => Some(SettingValue::Count(7)),
                ("heads", _) => Some(SettingValue::Species(vec![0])),
                _ => None,
            })
        });
        all.push(request.unwrap().build(&subject).unwrap());
    }
    all
}

fn feed(analysis: &mut dyn Analysis, frames: std::ops::Range<u64>) {
    let cell = Cell::orthorhombic([2.0, 2.5, 3.0]).unwrap();
    let species: Vec<u32> = (0..N as u32).map(|i| i % 2).collect();
    for step in frames {
        let wave = |i: usize, k: usize| (1.7 * i as f64 + 0.9 * k as f64 + 0.31 * step as f64).sin();
        let values: Vec<_> = (0..N)
            .map(|i| Vec3::new(wave(i, 0), wave(i, 1), wave(i, 2)))
            .collect();
        let frame = frame(step, 0.1 * step as f64, &cell, &values, &species);
        analysis.add(&frame).unwrap();
    }
}

fn frame<'a>(
    step: u64,
    time: f64,
    cell: &'a Cell,
    values: &'a [Vec3<f64>],
    species: &'a [u32],
) -> Snapshot<'a> {
    Snapshot {
        step,
        time,
        cell,
        positions: values,
        unwrapped: values,
        velocities: Some(values),
        species,
        axes: Some(values),
        rotational_energies: None,
    }
}

/// What says that it needs no velocities finds the same without them.
#[test]
fn who_needs_no_velocities_looks_at_none() {
    let cell = Cell::orthorhombic([2.0, 2.5, 3.0]).unwrap();
    let species: Vec<u32> = (0..N as u32).map(|i| i % 2).collect();
    let mut without = 0;
    for (mut moving, mut still) in all().into_iter().zip(all()) {
        if moving.needs_velocities() {
            continue;
        }
        without += 1;
        for step in 0..9 {
            let wave = |i: usize, k: usize| (1.7 * i as f64 + 0.9 * k as f64 + 0.31 * step as f64).sin();
            let values: Vec<_> = (0..N)
                .map(|i| Vec3::new(wave(i, 0), wave(i, 1), wave(i, 2)))
                .collect();
            let energies = [0.5; N];
            let frame = frame(step, 0.1 * step as f64, &cell, &values, &species);
            moving
                .add(&Snapshot {
                    rotational_energies: Some(&energies),
                    ..frame
                })
                .unwrap();
            still
                .add(&Snapshot {
                    velocities: None,
                    ..frame
                })
                .unwrap();
        }
        assert!(moving.save() == still.save(), "{}", moving.name());
    }
    assert!(without > 8);
}

#[test]
fn a_restored_analysis_goes_on_as_if_nothing_had_happened() {
    for count in [0, 1, 7, 33, 100] {
        for ((mut through, mut first), mut second) in all().into_iter().zip(all()).zip(all()) {
            feed(through.as_mut(), 0..count + 50);
            feed(first.as_mut(), 0..count);
            second.restore(&first.save()).unwrap();
            assert_eq!(first.save(), second.save());
            feed(second.as_mut(), count..count + 50);
            assert_eq!(
                through.save(),
                second.save(),
                "{} after {count} frames",
                through.name()
            );
            assert_eq!(through.finish().to_csv(), second.finish().to_csv());
        }
    }
}

#[test]
fn states_of_others_are_refused() {
    let states: Vec<_> = all().iter().map(|a| a.save()).collect();
    for (k, analysis) in all().iter_mut().enumerate() {
        for (j, state) in states.iter().enumerate() {
            assert_eq!(analysis.restore(state).is_ok(), j == k, "{}", analysis.name());
        }
    }
    let options = RdfOptions {
        pair: Some([0, 1]),
        r_max: 1.5,
        bins: 13,
    };
    let mut other = Rdf::new(options, &labels()).unwrap();
    let error = other.restore(&states[0]).unwrap_err();
    assert!(error.to_string().contains("other settings"), "{error}");
}

/// Recomputes the checksum, so that what lies behind it is tested too.
fn signed(mut state: Vec<u8>) -> Vec<u8> {
    let body = state.len().saturating_sub(4);
    state.truncate(body);
    let sum = crc32(&state);
    state.extend(sum.to_le_bytes());
    state
}

fn crc32(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(!0_u32, |crc, &byte| {
        (0..8).fold(crc ^ u32::from(byte), |c, _| {
            if c & 1 == 1 {
                (c >> 1) ^ 0xedb8_8320
            } else {
                c >> 1
            }
        })
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn damaged_states_are_refused_or_harmless(
        kind in 0..4_usize, at in any::<prop::sample::Index>(), bits in 1..=255_u8, cut in any::<prop::sample::Index>(),
        junk in prop::collection::vec(any::<u8>(), 0..40), way in 0..5_u8,
    ) {
        let mut analysis = all().swap_remove(kind);
        feed(analysis.as_mut(), 0..20);
        let good = analysis.save();
        let mut bad = good.clone();
        match way {
            0 => bad.truncate(cut.index(good.len())),
            1 => bad = junk,
            _ => { let k = at.index(good.len()); bad[k] ^= bits; }
        }
        // Without a fresh checksum every damage is found.
        if way < 3 {
            prop_assert!(analysis.restore(&bad).is_err());
            prop_assert_eq!(analysis.save(), good);
        } else {
            // With one, only contents can be wrong: never a panic, then or later.
            let resigned = signed(bad);
            if analysis.restore(&resigned).is_ok() {
                prop_assert_eq!(analysis.save(), resigned);
            }
            let _ = analysis.finish().to_csv();
        }
    }
}

#[test]
fn bad_frames_and_settings_are_named() {
    let cell = Cell::orthorhombic([2.0; 3]).unwrap();
    let mut values = vec![Vec3::splat(0.5); N];
    let good = vec![0_u32; N];
    for analysis in &mut all() {
        let error = analysis
            .add(&frame(77, 0.0, &cell, &values, &good[1..]))
            .unwrap_err();
        assert!(matches!(error, AnalysisError::Length { step: 77, .. }), "{error}");
        let error = analysis
            .add(&frame(77, 0.0, &cell, &values, &[5; N]))
            .unwrap_err();
        assert!(
            matches!(error, AnalysisError::UnknownSpecies { species: 5, .. }),
            "{error}"
        );
        values[3].y = f64::NAN;
        assert!(analysis.add(&frame(77, 0.0, &cell, &values, &good)).is_err());
        values[3].y = 0.1;
        assert_eq!(
            analysis.save(),
            all().iter().find(|a| a.name() == analysis.name()).unwrap().save()
        );
        assert!(analysis.finish().to_csv().starts_with("# "));
        assert!(
            analysis
                .finish()
                .charts()
                .iter()
                .all(|c| c.to_svg().contains("no data") || !c.series.is_empty())
        );
    }
    let mut vacf = all().swap_remove(2);
    vacf.add(&frame(0, 0.0, &cell, &values, &good)).unwrap();
    vacf.add(&frame(1, 1.0, &cell, &values, &good)).unwrap();
    let error = vacf.add(&frame(2, 3.0, &cell, &values, &good)).unwrap_err();
    assert!(
        matches!(error, AnalysisError::Uneven { expected: 2.0, .. }),
        "{error}"
    );
    for (r_max, bins) in [(0.0, 5), (f64::NAN, 5), (1.0, 0), (1.0, usize::MAX)] {
        assert!(
            Rdf::new(
                RdfOptions {
                    pair: None,
                    r_max,
                    bins
                },
                &labels()
            )
            .is_err()
        );
    }
    let far = RdfOptions {
        pair: None,
        r_max: 1e6,
        bins: 10,
    };
    let error = Rdf::new(far, &labels())
        .unwrap()
        .add(&frame(0, 0.0, &cell, &values, &good))
        .unwrap_err();
    assert!(error.to_string().contains("r_max"), "{error}");
}
