//! [`BondOrder`]: how bonds lie along an axis, S = ⟨3 cos²θ − 1⟩ / 2.
//!
//! 1 along the axis, −1/2 across it, 0 at random. For the tails of lipids the axis is the normal of the bilayer.

use std::collections::HashMap;

use super::blocks::FrameSums;
use super::kind::{AnalysisKind, AnalysisRequest, Subject};
use super::slabs::Axis;
use super::state::{Reader, Writer};
use super::{Analysis, AnalysisError, Analyzed, Column, Labels, Plot, Scalar, Snapshot, check};

/// Order parameters of bonds, by their place in the molecule and by the species they join.
///
/// Memory: 12 bytes for each bond, and 32 · (bonds of a molecule) · 16 bytes for each kind of molecule.
#[derive(Clone, Debug)]
pub struct BondOrder {
    labels: Labels,
    axis: Axis,
    /// Bonded particles and the number of their place.
    bonds: Vec<([u32; 2], u32)>,
    places: Vec<Place>,
    kinds: Vec<Kind>,
    /// For each place, how many bonds and the sum of 3 cos²θ / 2 − 1/2; then how many frames.
    sums: FrameSums,
}

/// A bond of a kind of molecule.
#[derive(Clone, Debug)]
struct Place {
    kind: usize,
    /// Its beads in the molecule, from 1.
    beads: [usize; 2],
    /// `T-T`.
    pair: String,
}

/// Species of the beads of a molecule, and which of them are bonded.
type Shape = (String, Vec<[usize; 2]>);

/// Molecules of the same beads and bonds.
#[derive(Clone, Debug)]
struct Kind {
    /// Species of its beads: `C P G E T T T T E T T T T`.
    beads: String,
    molecules: usize,
}

impl BondOrder {
    fn new(request: &AnalysisRequest, subject: &Subject) -> Result<Self, AnalysisError> {
        let name = |i: u32| subject.labels.species[subject.species[i as usize] as usize].as_str();
        let members = subject.particles_by_molecule();
        let mut number = vec![0; subject.species.len()];
        for (molecule, beads) in members.iter().enumerate() {
            beads.iter().for_each(|&i| number[i as usize] = molecule);
        }
        let mut links_of = vec![Vec::new(); members.len()];
        for &[i, j] in subject.bonds.iter() {
            links_of[number[i as usize]].push([i.min(j), i.max(j)]);
        }
        // Files may list the bonds of every molecule in another order.
        links_of.iter_mut().for_each(|links| links.sort_unstable());
        let (mut kinds, mut places, mut bonds) = (Vec::<Kind>::new(), Vec::<Place>::new(), Vec::new());
        let mut known: HashMap<Shape, (usize, usize)> = HashMap::new();
        for (beads, links) in members.iter().zip(&links_of) {
            if links.is_empty() {
                continue;
            }
            let place = |i: u32| beads.binary_search(&i).map_or(0, |at| at + 1);
            let inside: Vec<[usize; 2]> = links.iter().map(|link| link.map(place)).collect();
            let names: Vec<&str> = beads.iter().map(|&i| name(i)).collect();
            let names = names.join(" ");
            let (kind, first) = *known.entry((names.clone(), inside.clone())).or_insert_with(|| {
                let first = places.len();
                places.extend(inside.iter().zip(links).map(|(&beads, link)| Place {
                    kind: kinds.len(),
                    beads,
                    pair: link.map(name).join("-"),
                }));
                kinds.push(Kind {
                    beads: names,
                    molecules: 0,
                });
                (kinds.len() - 1, first)
            });
            kinds[kind].molecules += 1;
            bonds.extend(
                links
                    .iter()
                    .zip(first as u32..)
                    .map(|(&link, place)| (link, place)),
            );
        }
        if bonds.is_empty() {
            return Err(AnalysisError::Setting {
                analysis: "order",
                setting: "bonds",
                value: "none".into(),
                expected: "molecules with bonds; `debye analyze` learns of them by --input".into(),
            });
        }
        Ok(Self {
            labels: subject.labels.clone(),
            axis: Axis::of(request)?,
            bonds,
            sums: FrameSums::new(2 * places.len() + 1),
            places,
            kinds,
        })
    }

    fn head(&self) -> Writer {
        let mut writer = Writer::new(b"ORDR");
        writer
            .text(self.axis.name())
            .u64(self.bonds.len() as u64)
            .u64(self.places.len() as u64);
        writer
    }
}

impl Analysis for BondOrder {
    fn name(&self) -> &str {
        "order"
    }

    fn add(&mut self, frame: &Snapshot<'_>) -> Result<(), AnalysisError> {
        check(frame, &self.labels, frame.positions, "position")?;
        let normal = frame.cell.normal(self.axis as usize);
        let sums = self.sums.next_frame();
        for &([i, j], place) in &self.bonds {
            let [a, b] = [i, j].map(|k| frame.positions[k as usize]);
            let bond = frame.cell.minimum_image(b - a);
            let cosine = bond.dot(normal);
            let at = 2 * place as usize;
            sums[at] += 1.0;
            sums[at + 1] += 1.5 * cosine * cosine / bond.norm2() - 0.5;
        }
        sums[2 * self.places.len()] += 1.0;
        Ok(())
    }

    fn needs_velocities(&self) -> bool {
        false
    }

    fn finish(&self) -> Analyzed {
        let total = self.sums.total();
        let mean = |sums: &[f64], places: &[usize]| {
            let sum = |part: usize| places.iter().map(|&k| sums[2 * k + part]).sum::<f64>();
            sum(1) / sum(0)
        };
        let order = |places: &[usize]| {
            let error = self.sums.error_of(|sums| mean(sums, places));
            (mean(&total, places), error)
        };
        let of_kind = |kind: usize| (0..self.places.len()).filter(move |&k| self.places[k].kind == kind);
        let longest = (0..self.kinds.len())
            .map(|kind| of_kind(kind).count())
            .max()
            .unwrap_or(0);
        let mut columns = vec![Column::new(
            "bond",
            "",
            (1..=longest).map(|k| k as f64).collect(),
            None,
        )];
        let mut notes = vec![format!(
            "Frames: {}; axis {}.",
            self.sums.frames(),
            self.axis.name()
        )];
        for (number, kind) in self.kinds.iter().enumerate() {
            let of = |k: usize| order(&[k]);
            let (mut values, mut errors): (Vec<f64>, Vec<f64>) = of_kind(number).map(of).unzip();
            values.resize(longest, f64::NAN);
            errors.resize(longest, f64::NAN);
            let name = match self.kinds.len() {
                1 => "S".to_owned(),
                _ => format!("S, molecule {}", number + 1),
            };
            columns.push(Column::new(&name, "", values, Some(errors)));
            let bonds: Vec<String> = of_kind(number)
                .zip(1..)
                .map(|(k, row)| {
                    let Place {
                        beads: [i, j], pair, ..
                    } = &self.places[k];
                    format!("{row}: {pair} ({i}, {j})")
                })
                .collect();
            notes.push(format!(
                "Molecule {} is {} of which there are {}. Its bonds: {}.",
                number + 1,
                kind.beads,
                kind.molecules,
                bonds.join(", ")
            ));
        }
        // What the bonds of a row join: one name where molecules agree.
        let names = (0..longest).map(|row| {
            let mut names: Vec<&str> = Vec::new();
            for kind in 0..self.kinds.len() {
                let pair = of_kind(kind).nth(row).map(|k| self.places[k].pair.as_str());
                names.extend(pair.filter(|pair| !names.contains(pair)));
            }
            names.join(", ")
        });
        let names = names.collect();
        let mut pairs: Vec<&str> = Vec::new();
        for place in &self.places {
            if !pairs.contains(&place.pair.as_str()) {
                pairs.push(&place.pair);
            }
        }
        let scalars = pairs.iter().map(|&pair| {
            let places: Vec<usize> = (0..self.places.len())
                .filter(|&k| self.places[k].pair == pair)
                .collect();
            let (value, error) = order(&places);
            Scalar::new(&format!("S, {pair}"), "", value, error, "mean over such bonds")
        });
        Analyzed {
            name: "order".into(),
            title: format!("Order of bonds along {}", self.axis.name()),
            notes,
            scalars: scalars.collect(),
            plots: vec![Plot::new("", "bond", "S", (1..columns.len()).collect()).with_names(names)],
            columns,
        }
    }

    fn save(&self) -> Vec<u8> {
        self.sums.save(self.head())
    }

    fn restore(&mut self, state: &[u8]) -> Result<(), AnalysisError> {
        let reader = Reader::new("order", state, &self.head())?;
        self.sums = self.sums.restored(reader)?;
        Ok(())
    }
}

pub(super) static KIND: AnalysisKind = AnalysisKind {
    name: "order",
    about: "Order parameters of bonds along an axis, such as those of lipid tails",
    settings: &[Axis::SETTING],
    fewest_frames: 1,
    build: |request, subject| Ok(Box::new(BondOrder::new(request, subject)?)),
    check: |_, _| Ok(()),
};
