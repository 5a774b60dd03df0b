//! Constraints of a whole system: its groups, and a start that keeps every distance.

use super::{Clusters, Group, Nearest, Scratch, Unsolved, misfit};
use crate::expr::Vec3;
use crate::system::constraints::{ConstraintError, FARTHEST_START};
use crate::system::models::WaterModel;
use crate::system::{Particles, RigidBodies, RigidShape, RigidWater, System};

impl System {
    /// The system with the molecules of a rigid water: consecutive particles of the species `oxygen`, `hydrogen` and
    /// `hydrogen`.
    ///
    /// # Errors
    /// Molecules of another shape, or none.
    pub fn with_rigid_water(
        mut self,
        model: &WaterModel,
        oxygen: &str,
        hydrogen: &str,
    ) -> Result<Self, ConstraintError> {
        let place = |name: &str| self.species.iter().position(|s| s.name == name).map(|k| k as u32);
        let site = |name: &str| place(name).ok_or_else(|| ConstraintError::NoSpecies(name.into()));
        let sites = [site(oxygen)?, site(hydrogen)?, site(hydrogen)?];
        let begins = |i: &u32| {
            self.particles
                .species
                .get(*i as usize..)
                .is_some_and(|s| s.starts_with(&sites))
        };
        let first = (0..self.particles.len() as u32).filter(begins);
        self.constraints.waters.push(RigidWater {
            bond: model.bond,
            base: model.base,
            molecules: first.map(|i| [i, i + 1, i + 2]).collect(),
        });
        self.apply_constraints()?;
        Ok(self)
    }

    /// The system with rigid molecules: consecutive particles of these species, whose sites are at these places, in any
    /// axes. Where no places are given, the shape is that of the first molecule.
    ///
    /// ```
    /// use debye::expr::Vec3;
    /// use debye::system::{Molecule, Species, Topology, builders};
    /// // A bent molecule whose last site has no mass.
    /// let sites = [[0.0, 0.0, 0.0], [0.8, 0.0, 0.4], [-0.8, 0.0, 0.4], [0.0, 0.0, 0.3]].map(Vec3::from);
    /// let beads = [("A", 1.0), ("B", 0.5), ("B", 0.5), ("M", 0.0)].map(|(name, mass)| Species::point(name, mass, 0.0));
    /// let bent = Molecule {
    ///     name: "bent".into(),
    ///     beads: beads.to_vec(),
    ///     topology: Topology::default(),
    ///     positions: sites.to_vec(),
    /// };
    /// let liquid = builders::liquid().molecules(50, bent).density(0.2).seed(1).build()?;
    /// let rigid = liquid.with_rigid_bodies(&["A", "B", "B", "M"], Some(&sites))?;
    /// assert_eq!(rigid.constraints.bodies[0].molecules().len(), 50);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// Molecules of another shape, or none.
    pub fn with_rigid_bodies(
        mut self,
        species: &[&str],
        sites: Option<&[Vec3<f64>]>,
    ) -> Result<Self, ConstraintError> {
        let place = |name: &&str| {
            let found = self.species.iter().position(|s| s.name == *name);
            found
                .map(|k| k as u32)
                .ok_or_else(|| ConstraintError::NoSpecies((*name).into()))
        };
        let kinds: Vec<u32> = species.iter().map(place).collect::<Result<_, _>>()?;
        let (p, n) = (&self.particles, kinds.len());
        let mut particles = Vec::new();
        let mut i = 0;
        while i + n <= p.len() {
            if n > 0 && p.species[i..i + n] == kinds[..] {
                particles.extend(i as u32..(i + n) as u32);
                i += n;
            } else {
                i += 1;
            }
        }
        let Some(first) = particles.first().map(|&i| i as usize) else {
            return Err(ConstraintError::NoMolecules(species.join(", ")));
        };
        let from = |i: usize| self.cell.minimum_image(p.positions[i] - p.positions[first]);
        let own: Vec<Vec3<f64>> = (first..first + n).map(from).collect();
        let shape = match sites {
            Some(sites) => RigidShape::new(sites, &p.masses[first..first + n])?,
            None => RigidShape::of_rounded(&own, &p.masses[first..first + n])?,
        };
        self.constraints.bodies.push(RigidBodies { shape, particles });
        self.apply_constraints()?;
        Ok(self)
    }

    /// Leaves the pairs of all constraints out of the pair terms, joins their molecules, and brings their distances to
    /// their lengths. What sets constraints does this last.
    ///
    /// # Errors
    /// Constraints that cannot be kept, and a start that is too far from them.
    pub fn apply_constraints(&mut self) -> Result<(), ConstraintError> {
        self.check_constraints()?;
        let pairs: Vec<[u32; 2]> = self.constraints.pairs().map(|(atoms, _)| atoms).collect();
        self.exclusions
            .exclude(self.particles.len(), pairs.iter().copied())?;
        self.join_molecules();
        self.constrain_positions()
    }

    /// The constraints in groups, after a look at whether they can be held at all.
    pub fn clusters(&self) -> Result<Clusters, ConstraintError> {
        let p = &self.particles;
        self.check_constraints()?;
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
    pub fn constrain_positions(&mut self) -> Result<(), ConstraintError> {
        let clusters = self.clusters()?;
        let (nearest, r) = (Nearest::new(&self.cell), &mut self.particles.positions);
        let mut scratch = Scratch::default();
        for group in &clusters.groups {
            clusters.whole(group, nearest, |i| r[i as usize], &mut scratch.old);
            let start = |unsolved| refused(&clusters, group, unsolved);
            if let Some((_, shape)) = clusters.body(group) {
                if let Some((site, off, mirrored)) = misfit(shape, &scratch.old) {
                    let particle = clusters.atoms[group.places.start + site];
                    let size = shape.size();
                    return Err(ConstraintError::Misfit {
                        particle,
                        off,
                        size,
                        mirrored,
                    });
                }
            } else {
                let worst = clusters.worst(group, &scratch.old);
                let wanted = clusters.constraint(group, worst.bond).1;
                let off = (worst.found / wanted - 1.0).abs();
                if off.is_nan() || off > FARTHEST_START {
                    return Err(start(worst));
                }
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
    pub fn constrain_velocities(&mut self) -> Result<(), ConstraintError> {
        if self.constraints.is_empty() {
            return Ok(());
        }
        let clusters = self.clusters()?;
        let Particles {
            positions: r,
            velocities: v,
            masses,
            ..
        } = &mut self.particles;
        let nearest = Nearest::new(&self.cell);
        let mut scratch = Scratch::default();
        for group in &clusters.groups {
            clusters.whole(group, nearest, |i| r[i as usize], &mut scratch.old);
            let atoms = &clusters.atoms[group.places.clone()];
            scratch.new.clear();
            // Where a site without mass is said to go is not asked: it goes with its body.
            let given = |&i: &u32| {
                if masses[i as usize] > 0.0 {
                    v[i as usize]
                } else {
                    Vec3::zero()
                }
            };
            scratch.new.extend(atoms.iter().map(given));
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
