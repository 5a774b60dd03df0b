//! [`Bodies`]: what the lists of a device know of. Particles, or where most particles are in rigid molecules of one kind, these
//! molecules and the particles beside them.

use std::fmt::Write;

use super::constraints::HostConstraints;
use crate::engines::cuda::engine::layout::Grain;
use crate::engines::cuda::mesh::EMPTY_SLOT;
use crate::system::System;

/// Particles of a rigid molecule.
pub(super) const SITES: usize = 3;

/// With fewer particles, more threads to a molecule keep a device busy.
const FEW: usize = 40_000;

/// How far beyond its length a distance may be found that is constrained, relative to it.
const STRETCH: f64 = 1e-3;

/// Bodies, by their particles.
#[derive(Clone, Debug)]
pub(super) struct Bodies {
    /// Molecules if all are alike, and the particles beside them.
    molecules: Option<Molecules>,
    /// Threads of a body, and slots it takes.
    lanes: usize,
    particles: usize,
}

/// Rigid molecules.
#[derive(Clone, Debug)]
struct Molecules {
    /// Particles of every body, the anchor first; [`EMPTY_SLOT`] where it has fewer.
    members: Vec<[u32; SITES]>,
    /// Kinds of the particles of a molecule.
    kinds: [u32; SITES],
    /// How many bodies are molecules.
    count: usize,
    /// How far from its anchor a particle of a molecule may be.
    arm: f64,
}

impl Bodies {
    /// Particles, each with so many threads.
    pub(super) fn particles(particles: usize, lanes: usize) -> Self {
        Self {
            molecules: None,
            lanes,
            particles,
        }
    }

    /// Molecules where most particles are in some that are alike and whose particles are left out of no pairs but their own.
    /// `lanes` asks for 4 or 8 threads to each.
    pub(super) fn molecules(
        system: &System,
        constrained: &HostConstraints,
        kind_of: &[u32],
        lanes: Option<u32>,
    ) -> Option<Self> {
        let n = system.particles.len();
        let alone = |atoms: [u32; SITES]| {
            atoms.iter().all(|&i| {
                let excluded = system.exclusions.of(i);
                excluded.len() == SITES - 1 && excluded.iter().all(|j| atoms.contains(j))
            })
        };
        let kinds_of = |atoms: [u32; SITES]| atoms.map(|i| kind_of[i as usize]);
        let mut triangles = constrained.triangles();
        let kinds = kinds_of(triangles.next()?.0);
        let mut molecules = Molecules {
            members: Vec::with_capacity(n / SITES),
            kinds,
            count: 0,
            arm: 0.0,
        };
        let mut taken = vec![false; n];
        for (atoms, arm) in constrained.triangles() {
            if kinds_of(atoms) != kinds || !alone(atoms) {
                continue;
            }
            atoms.iter().for_each(|&i| taken[i as usize] = true);
            molecules.members.push(atoms);
            molecules.arm = molecules.arm.max(arm * (1.0 + STRETCH));
        }
        molecules.count = molecules.members.len();
        // Nobody else may look like the anchor of a molecule.
        let alike = (0..n).any(|i| !taken[i] && kind_of[i] == kinds[0]);
        if alike || kinds[1..].contains(&kinds[0]) || 2 * SITES * molecules.count < n {
            return None;
        }
        let others = (0..n as u32).filter(|&i| !taken[i as usize]);
        molecules
            .members
            .extend(others.map(|i| [i, EMPTY_SLOT, EMPTY_SLOT]));
        Some(Self {
            molecules: Some(molecules),
            lanes: match lanes {
                Some(lanes @ (4 | 8)) => lanes as usize,
                _ if n < FEW => 8,
                _ => 4,
            },
            particles: n,
        })
    }

    /// How many of them are molecules.
    pub(super) fn molecules_among(&self) -> usize {
        self.molecules.as_ref().map_or(0, |m| m.count)
    }

    /// Whether there is nothing but molecules.
    pub(super) fn pure(&self) -> bool {
        self.molecules_among() == self.len()
    }

    /// How many there are.
    pub(super) fn len(&self) -> usize {
        self.molecules
            .as_ref()
            .map_or(self.particles, |m| m.members.len())
    }

    /// Slots and particles of a body, and how far these may be from its anchor.
    pub(super) fn grain(&self) -> Grain {
        Grain {
            lanes: self.lanes,
            sites: if self.molecules.is_some() { SITES } else { 1 },
        }
    }

    /// How far from its anchor a particle may be.
    pub(super) fn arm(&self) -> f64 {
        self.molecules.as_ref().map_or(0.0, |m| m.arm)
    }

    /// The particles of a body, the anchor first.
    pub(super) fn members(&self, body: usize) -> impl Iterator<Item = usize> {
        let members = match &self.molecules {
            Some(molecules) => molecules.members[body],
            None => [body as u32, EMPTY_SLOT, EMPTY_SLOT],
        };
        members
            .into_iter()
            .filter(|&i| i != EMPTY_SLOT)
            .map(|i| i as usize)
    }

    /// The anchors of all bodies.
    pub(super) fn anchors(&self) -> impl Iterator<Item = usize> {
        (0..self.len()).filter_map(|body| self.members(body).next())
    }

    /// Whether a particle is in a molecule, so that its lists leave out nothing.
    pub(super) fn in_molecules(&self) -> Vec<bool> {
        let mut inside = vec![false; self.particles];
        if let Some(molecules) = &self.molecules {
            for atoms in &molecules.members[..molecules.count] {
                atoms.iter().for_each(|&i| inside[i as usize] = true);
            }
        }
        inside
    }

    /// What molecules.cuh asks for. `active` says which terms there are between two kinds: a bit for each.
    pub(super) fn text(&self, kinds: usize, active: &dyn Fn(u32, u32) -> u32) -> String {
        let Some(molecules) = &self.molecules else {
            return String::new();
        };
        let own = molecules.kinds;
        let alone = !self.pure();
        let like = own.map(|kind| own.iter().position(|&k| k == kind).unwrap_or(0));
        let mut text = String::new();
        let _ = writeln!(text, "constexpr bool PURE = {};", !alone);
        let _ = writeln!(text, "constexpr u32 KIND_OF_SITE[{SITES}] = {{{}}};", listed(own));
        let _ = writeln!(text, "constexpr u32 LIKE[{SITES}] = {{{}}};", listed(like));
        // An anchor's place is also that of the particles by themselves.
        let of_site = |s: usize, t: usize| {
            let mut bits = active(own[s], own[t]);
            if s == 0 && alone {
                bits = (0..kinds as u32).fold(bits, |bits, kind| bits | active(kind, own[t]));
            }
            bits
        };
        let rows: Vec<String> = (0..SITES)
            .map(|s| {
                format!(
                    "{{{}}}",
                    listed(std::array::from_fn::<_, SITES, _>(|t| of_site(s, t)))
                )
            })
            .collect();
        let _ = writeln!(
            text,
            "constexpr u32 ACTIVE[{SITES}][{SITES}] = {{{}}};",
            rows.join(", ")
        );
        text
    }
}

fn listed<T: std::fmt::Display, const N: usize>(values: [T; N]) -> String {
    values.map(|x| format!("{x}")).join(", ")
}
