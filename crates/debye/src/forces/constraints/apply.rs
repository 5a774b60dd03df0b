//! Constraints of a whole system: its groups, and a start that keeps every distance.

use super::{Clusters, Group, Nearest, Scratch, Unsolved};
use crate::system::System;
use crate::system::constraints::{ConstraintError, FARTHEST_START};

impl System {
    /// The constraints in groups, after a look at whether they can be held at all.
    pub fn clusters(&self) -> Result<Clusters, ConstraintError> {
        let p = &self.particles;
        self.constraints.check(&p.masses)?;
        let clusters = Clusters::new(&self.constraints, &p.masses);
        if let Some(group) = clusters.dependent(&self.cell, &p.positions) {
            return Err(ConstraintError::Dependent {
                particle: clusters.atoms[group.places.start],
                count: group.places.len(),
            });
        }
        Ok(clusters)
    }

    /// Brings the distances of all constraints to their lengths; an error where they are further off than
    /// [`FARTHEST_START`].
    pub fn hold_positions(&mut self) -> Result<(), ConstraintError> {
        let clusters = self.clusters()?;
        let (nearest, r) = (Nearest::new(&self.cell), &mut self.particles.positions);
        let mut scratch = Scratch::default();
        for group in &clusters.groups {
            clusters.whole(group, nearest, |i| r[i as usize], &mut scratch.old);
            let start = |unsolved| refused(&clusters, group, unsolved);
            let worst = clusters.worst(group, &scratch.old);
            let wanted = clusters.constraint(group, worst.bond).1;
            let off = (worst.found / wanted - 1.0).abs();
            if off.is_nan() || off > FARTHEST_START {
                return Err(start(worst));
            }
            let Scratch { old, new, .. } = &mut scratch;
            new.clone_from(old);
            clusters.positions(group, &mut scratch).map_err(start)?;
            for (k, &i) in clusters.atoms[group.places.clone()].iter().enumerate() {
                r[i as usize] += scratch.new[k] - scratch.old[k];
            }
        }
        Ok(())
    }

    /// Takes from the velocities what would change a fixed distance.
    pub fn hold_velocities(&mut self) -> Result<(), ConstraintError> {
        if self.constraints.is_empty() {
            return Ok(());
        }
        let clusters = self.clusters()?;
        let (r, v) = (&self.particles.positions, &mut self.particles.velocities);
        let nearest = Nearest::new(&self.cell);
        let mut scratch = Scratch::default();
        for group in &clusters.groups {
            clusters.whole(group, nearest, |i| r[i as usize], &mut scratch.old);
            let atoms = &clusters.atoms[group.places.clone()];
            scratch.new.clear();
            scratch.new.extend(atoms.iter().map(|&i| v[i as usize]));
            clusters
                .rates(group, &mut scratch, |_| 0.0)
                .map_err(|unsolved| refused(&clusters, group, unsolved))?;
            for (&i, &held) in atoms.iter().zip(&scratch.new) {
                v[i as usize] = held;
            }
        }
        Ok(())
    }
}

fn refused(clusters: &Clusters, group: &Group, unsolved: Unsolved) -> ConstraintError {
    let (atoms, wanted) = clusters.constraint(group, unsolved.bond);
    ConstraintError::Start {
        atoms,
        wanted,
        found: unsolved.found,
    }
}
