//! [`Lipids`]: molecules with head groups, made whole, each in its leaflet.

use std::collections::HashMap;

use super::kind::{AnalysisRequest, Setting, SettingKind, Subject};
use super::slabs::{Axis, middle};
use super::{AnalysisError, Snapshot};
use crate::expr::Vec3;

/// Molecules that have a head group.
#[derive(Clone, Debug)]
pub(super) struct Lipids {
    pub(super) axis: Axis,
    all: Vec<Lipid>,
}

#[derive(Clone, Debug)]
struct Lipid {
    /// The head first; each bead with the place of the one it is bonded to, and its share of the mass.
    beads: Vec<(u32, usize, f64)>,
}

/// A lipid at one moment.
#[derive(Clone, Copy, Debug)]
pub(super) struct Placed {
    /// Its head group, followed through the faces of the cell.
    pub(super) head: Vec3<f64>,
    /// Its center of mass, likewise.
    pub(super) center: Vec3<f64>,
    /// Whether its head looks up the axis.
    pub(super) upper: bool,
}

impl Lipids {
    /// The setting of the head groups.
    pub(super) const HEADS: Setting = Setting {
        name: "heads",
        key: Some("heads"),
        flag: Some("Species of the head groups, such as P: molecules that have one are lipids"),
        kind: SettingKind::Species,
    };

    /// The lipids of a system; a molecule without bonds is followed from its head.
    pub(super) fn of(
        analysis: &'static str,
        request: &AnalysisRequest,
        subject: &Subject,
    ) -> Result<Self, AnalysisError> {
        let heads = request.species("heads")?;
        let wrong = |value: String, expected: &str| AnalysisError::Setting {
            analysis,
            setting: "heads",
            value,
            expected: expected.into(),
        };
        if heads.is_empty() {
            let known = subject.labels.species.join(", ");
            return Err(wrong(
                "not given".into(),
                &format!("the species of the head groups, such as `heads = \"P\"`, of {known}"),
            ));
        }
        let mut bonded: HashMap<u32, Vec<u32>> = HashMap::new();
        for &[i, j] in subject.bonds.iter() {
            bonded.entry(i).or_default().push(j);
            bonded.entry(j).or_default().push(i);
        }
        let is_head = |&&i: &&u32| heads.contains(&subject.species[i as usize]);
        let lipid = |beads: &Vec<u32>| {
            let head = *beads.iter().find(is_head)?;
            (beads.len() > 1).then(|| Lipid::new(head, beads, &bonded, &subject.masses))
        };
        let all: Vec<Lipid> = subject.particles_by_molecule().iter().filter_map(lipid).collect();
        if all.is_empty() {
            let names: Vec<&str> = heads
                .iter()
                .map(|&s| subject.labels.species[s as usize].as_str())
                .collect();
            return Err(wrong(
                names.join(", "),
                "species that are part of molecules of several beads; `debye analyze` learns of molecules by --input",
            ));
        }
        Ok(Self {
            axis: Axis::of(request)?,
            all,
        })
    }

    /// How many there are.
    pub(super) fn len(&self) -> usize {
        self.all.len()
    }

    /// Where they are.
    pub(super) fn place(&self, frame: &Snapshot<'_>) -> Vec<Placed> {
        let axis = self.axis as usize;
        let mut offsets = Vec::new();
        let place = |lipid: &Lipid| {
            offsets.clear();
            offsets.push(Vec3::zero());
            let mut center = Vec3::zero();
            for &(bead, from, share) in &lipid.beads[1..] {
                let [here, there] = [bead, lipid.beads[from].0].map(|i| frame.positions[i as usize]);
                let offset = offsets[from] + frame.cell.minimum_image(here - there);
                center += offset * share;
                offsets.push(offset);
            }
            let head = frame.unwrapped[lipid.beads[0].0 as usize];
            Placed {
                head,
                center: head + center,
                upper: frame.cell.fractional(center)[axis] < 0.0,
            }
        };
        self.all.iter().map(place).collect()
    }

    /// Heights of the heads above the middle of the layer.
    pub(super) fn heights(&self, frame: &Snapshot<'_>, placed: &[Placed]) -> Vec<f64> {
        let axis = self.axis as usize;
        let along = |r: Vec3<f64>| frame.cell.fractional(r)[axis];
        let centers: Vec<f64> = placed.iter().map(|lipid| along(lipid.center)).collect();
        let periodic = frame.cell.periodic()[axis];
        let origin = middle(&centers, periodic);
        let height = frame.cell.heights()[axis];
        let near = |s: f64| if periodic { s - s.round() } else { s };
        // The center of mass lies deeper than the head and never across a face from it.
        let above = |lipid: &Placed| near(along(lipid.center) - origin) + along(lipid.head - lipid.center);
        placed.iter().map(|lipid| height * above(lipid)).collect()
    }
}

impl Lipid {
    fn new(head: u32, beads: &[u32], bonded: &HashMap<u32, Vec<u32>>, masses: &[f64]) -> Self {
        let total: f64 = beads.iter().map(|&i| masses[i as usize]).sum();
        let share = |i: u32| masses[i as usize] / total;
        let mut chain = vec![(head, 0, share(head))];
        let mut next = 0;
        while next < chain.len() {
            let here = chain[next].0;
            for &other in bonded.get(&here).into_iter().flatten() {
                if beads.contains(&other) && !chain.iter().any(|(bead, ..)| *bead == other) {
                    chain.push((other, next, share(other)));
                }
            }
            next += 1;
        }
        for &bead in beads {
            if !chain.iter().any(|(known, ..)| *known == bead) {
                chain.push((bead, 0, share(bead)));
            }
        }
        Self { beads: chain }
    }
}
