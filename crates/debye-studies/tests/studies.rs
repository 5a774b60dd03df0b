//! Every rung of the studies that runs on the processor, against double precision. Those of CUDA are checked by
//! `debye-checks`, on the emulation and on cards.

// A test may stop at the first surprise.
#![allow(clippy::unwrap_used, clippy::expect_used)]

use std::sync::atomic::AtomicBool;

use debye_studies::potential_map::{Arrangement, How, MapVariant, Molecule};
use debye_studies::prefix_sum::{self, Argon, BinVariant, Counts, Gas, Numbers, ScanVariant};
use debye_studies::study::{Bench, Extent, Input, Place, Row, StudyError, Variant, Work, check};
use debye_studies::{STUDIES, Study};

#[test]
fn maps_agree() {
    let all = [How::Loop, How::LoopOnThreads, How::EngineOnOneThread, How::Engine];
    let all = all
        .into_iter()
        .chain([How::Cutoff(Place::Cpu), How::Multilevel(Place::Cpu)]);
    for how in all {
        for whole in [false, true] {
            let variant = MapVariant {
                how,
                whole,
                most: f64::INFINITY,
            };
            for arrangement in [
                Arrangement::Random,
                Arrangement::Clustered,
                Arrangement::Boundary,
                Arrangement::Corner,
            ] {
                for (shape, atoms) in [([21, 17, 9], 90), ([40, 3, 1], 700), ([1, 1, 1], 1)] {
                    check(&Molecule::new(arrangement, shape, atoms), &variant, None).unwrap();
                }
            }
        }
    }
}

#[test]
fn scans_agree() {
    for how in ScanVariant::ALL {
        let variant = ScanVariant::new(how);
        for counts in [
            Counts::Random,
            Counts::Clustered,
            Counts::Boundary,
            Counts::Overflow,
        ] {
            for length in [1, 2, 511, 512, 513, 40_000] {
                let numbers = Numbers::new(counts, length);
                if variant.place() == Place::Cpu && variant.declines(&numbers).is_none() {
                    check(&numbers, &variant, None).unwrap();
                }
            }
        }
    }
    // The engine says that sums do not fit; it does not wrap them.
    let engine = ScanVariant::new(prefix_sum::How::EngineOnHost);
    let numbers = Numbers::new(Counts::Overflow, 3);
    assert!(engine.declines(&numbers).is_some());
    assert!(engine.prepare(&numbers, None).unwrap().seconds(1).is_err());
}

#[test]
fn forces_agree() {
    for gas in [Gas::Ball, Gas::Random, Gas::Clustered, Gas::Boundary] {
        let argon = Argon::new(gas, 300);
        check(&argon, &BinVariant::Loop, None).unwrap();
        check(&argon, &BinVariant::EngineOnHost, None).unwrap();
        assert!((0.0..1.0).contains(&argon.divergence()));
    }
}

/// A version that is wrong.
struct Wrong;

impl Variant<Numbers> for Wrong {
    fn name(&self) -> String {
        "wrong".into()
    }
    fn place(&self) -> Place {
        Place::Cpu
    }
    fn tolerance(&self) -> f64 {
        0.0
    }
    fn prepare<'i>(
        &self,
        input: &'i Numbers,
        _: Option<&debye_gpu::Device>,
    ) -> Result<Box<dyn Work<Vec<u32>> + 'i>, StudyError> {
        Ok(debye_studies::study::OnHost::boxed(|| {
            Ok(vec![7; input.work() as usize])
        }))
    }
}

#[test]
fn what_is_wrong_is_said_and_not_timed() {
    let (stop, mut told) = (AtomicBool::new(false), 0);
    let mut tell = |_: &Row| told += 1;
    let mut bench = Bench::new(Extent::Smallest, Err("none here".into()), &stop, &mut tell);
    let numbers = Numbers::new(Counts::Random, 100);
    bench.measure("scan", "elements", 100.0, &numbers, &Wrong);
    bench.measure(
        "scan",
        "elements",
        100.0,
        &numbers,
        &ScanVariant::new(prefix_sum::How::Double),
    );
    stop.store(true, std::sync::atomic::Ordering::Relaxed);
    bench.measure(
        "scan",
        "elements",
        100.0,
        &numbers,
        &ScanVariant::new(prefix_sum::How::Loop),
    );
    let rows = &bench.found.rows;
    assert!(rows[0].failure.as_deref().unwrap().contains("off by") && rows[0].seconds.is_none());
    assert_eq!(rows[1].skipped.as_deref(), Some("none here"));
    assert_eq!(rows[2].skipped.as_deref(), Some("interrupted"));
    assert_eq!(bench.found.failures().count(), 1);
    // A study that was stopped says so on its page.
    let folder = std::env::temp_dir().join(format!("debye-partial-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    bench.found.save(&STUDIES[0], &folder).unwrap();
    let page = std::fs::read_to_string(folder.join("report.html")).unwrap();
    std::fs::remove_dir_all(&folder).unwrap();
    assert!(page.contains("this report is partial"));
    assert_eq!(told, 3);
}

#[test]
fn studies_have_names_of_their_own() {
    for study in STUDIES {
        assert_eq!(Study::find(study.name).unwrap().page, study.page);
        assert!(study.page.contains(study.name));
    }
    assert!(Study::find("nothing").is_none());
}

/// Wherever the engine has a rival, a section says where it loses and the study knows why.
#[test]
fn every_loss_has_a_reason() {
    for study in STUDIES {
        let (stop, mut tell) = (AtomicBool::new(false), |_: &Row| {});
        let mut bench = Bench::new(Extent::Smallest, Err("none here".into()), &stop, &mut tell);
        study.run(&mut bench).unwrap();
        assert!(bench.found.complete);
        let (rows, sections) = (&bench.found.rows, &bench.found.sections);
        let mut compared = 0;
        for row in rows.iter().filter(|row| row.variant.contains("engine")) {
            let rival = rows.iter().any(|other| {
                (other.ladder, other.place, other.size) == (row.ladder, row.place, row.size)
                    && !other.variant.contains("engine")
            });
            // A perfect crystal is there for its error alone.
            if !rival || row.ladder == "perfect crystal" {
                continue;
            }
            compared += 1;
            let name = format!("{}: {}, {}", study.name, row.ladder, row.variant);
            assert!(study.why(row).is_some_and(|why| !why.is_empty()), "{name}");
            let told = sections.iter().any(|section| {
                section.ladders.contains(&row.ladder) && section.place.is_none_or(|place| place == row.place)
            });
            assert!(told, "{name}");
        }
        assert!(compared >= 4, "{}: {compared}", study.name);
    }
}

/// Whole studies on an emulated device: every section with its numbers of a GPU.
#[test]
#[ignore = "a minute: simulations on the emulation"]
fn studies_run_on_a_device() {
    for study in STUDIES {
        let device = debye_gpu::Device::emulated(debye_gpu::Emulation::default()).unwrap();
        let (stop, mut tell) = (AtomicBool::new(false), |row: &Row| println!("{row:?}"));
        let mut bench = Bench::new(Extent::Smallest, Ok(device), &stop, &mut tell);
        study.run(&mut bench).unwrap();
        assert_eq!(bench.found.failures().count(), 0, "{}", study.name);
        for section in &bench.found.sections {
            println!("{}\n{}\n{:#?}", section.title, section.meaning, section.tables);
        }
        let ours = bench
            .found
            .sections
            .iter()
            .flat_map(|section| &section.comparisons);
        assert!(ours.filter(|c| c.ours.is_some()).count() >= 6, "{}", study.name);
    }
}
