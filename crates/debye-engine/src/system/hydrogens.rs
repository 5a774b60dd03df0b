//! Heavier hydrogens: mass moved to them from the atoms they are bonded to, so that the fastest motions take longer.
//!
//! Averages of anything that depends on positions alone do not change: in classical mechanics no mass enters them. What
//! depends on time does, such as viscosity and diffusion.

use std::collections::HashMap;
use std::ops::RangeInclusive;

use super::{System, Units};

/// Masses, in u, by which hydrogens are known; deuterium is none.
const HYDROGEN: RangeInclusive<f64> = 0.99..=1.02;

/// Why hydrogens were not made heavier.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum HydrogenError {
    /// Reduced units have no hydrogens.
    #[error("reduced units have no hydrogens")]
    Units,
    /// A mass that makes no hydrogen heavier.
    #[error("a hydrogen of {0} u; expected more than {end} u", end = HYDROGEN.end())]
    Mass(f64),
    /// No hydrogens.
    #[error("no particle has the mass of hydrogen, {} to {} u", HYDROGEN.start(), HYDROGEN.end())]
    NoHydrogens,
    /// A hydrogen with no heavier partner, or with several.
    #[error(
        "particle {} is a hydrogen bonded to {heavy} heavier particles; expected one to take its mass from",
        particle + 1
    )]
    Partners {
        /// The hydrogen, counted from 0.
        particle: u32,
        /// Heavier particles it is bonded to, or kept at a distance from.
        heavy: usize,
    },
    /// An atom that would become lighter than its hydrogens.
    #[error("particle {} would be left with {left:.4} u, less than its hydrogens", particle + 1)]
    LightPartner {
        /// The atom, counted from 0.
        particle: u32,
        /// What it would be left with.
        left: f64,
    },
    /// A site of a rigid body of several sites.
    #[error("particle {} belongs to a rigid body, whose moments of inertia are those of its masses", particle + 1)]
    Body {
        /// The hydrogen or its partner, counted from 0.
        particle: u32,
    },
}

impl System {
    /// The system with hydrogens of this mass, in u. What each gains is taken from the atom that it is bonded to, or
    /// constrained to where it has no bonds. Velocities change with the masses, so that every particle keeps its kinetic
    /// energy; the engine then takes from them what constraints forbid. Hydrogens that have this mass already stay as they are.
    ///
    /// ```
    /// use debye::system::{builders, models};
    ///
    /// let tip3p = models::water("tip3p").unwrap();
    /// let water = builders::water(tip3p).molecules(64).build()?.with_rigid_water(tip3p, "OW", "HW")?;
    /// let heavy = water.with_hydrogen_mass(3.024)?;
    /// assert_eq!(heavy.particles.masses[1], 3.024);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// Systems without hydrogens, and hydrogens that no single heavier atom gives mass to.
    pub fn with_hydrogen_mass(mut self, mass: f64) -> Result<Self, HydrogenError> {
        let masses = self.masses_with_hydrogens_of(mass)?;
        self.particles.change_masses(masses);
        Ok(self)
    }

    /// The masses that particles have with hydrogens of this mass.
    pub fn masses_with_hydrogens_of(&self, mass: f64) -> Result<Vec<f64>, HydrogenError> {
        if self.units != Units::Md {
            return Err(HydrogenError::Units);
        }
        if !(mass.is_finite() && mass > *HYDROGEN.end()) {
            return Err(HydrogenError::Mass(mass));
        }
        let mut masses = self.particles.masses.clone();
        let is_hydrogen = |i: u32| HYDROGEN.contains(&self.particles.masses[i as usize]);
        let bonds = self.topology.bonds.iter().map(|bond| bond.atoms);
        let by_bonds = self.heavy_partners(bonds, &is_hydrogen);
        let by_distances =
            self.heavy_partners(self.constraints.pairs().map(|(atoms, _)| atoms), &is_hydrogen);
        let in_body = self.constraints.in_bodies(masses.len());
        let hydrogens: Vec<u32> = (0..masses.len() as u32).filter(|&i| is_hydrogen(i)).collect();
        if hydrogens.is_empty() && !masses.contains(&mass) {
            return Err(HydrogenError::NoHydrogens);
        }
        for &particle in &hydrogens {
            let found = by_bonds.get(&particle).or(by_distances.get(&particle));
            let &[partner] = found.map_or(&[][..], Vec::as_slice) else {
                let heavy = found.map_or(0, Vec::len);
                return Err(HydrogenError::Partners { particle, heavy });
            };
            if let Some(particle) = [particle, partner].into_iter().find(|&i| in_body[i as usize]) {
                return Err(HydrogenError::Body { particle });
            }
            masses[partner as usize] -= mass - masses[particle as usize];
            masses[particle as usize] = mass;
            if masses[partner as usize] < mass {
                return Err(HydrogenError::LightPartner {
                    particle: partner,
                    left: masses[partner as usize],
                });
            }
        }
        Ok(masses)
    }

    /// The heavier partners of every hydrogen that has any, each once.
    fn heavy_partners(
        &self,
        pairs: impl Iterator<Item = [u32; 2]>,
        is_hydrogen: &impl Fn(u32) -> bool,
    ) -> HashMap<u32, Vec<u32>> {
        let mut partners: HashMap<u32, Vec<u32>> = HashMap::new();
        for [i, j] in pairs {
            for (hydrogen, heavy) in [(i, j), (j, i)] {
                // Sites without mass have none to give.
                let gives = !is_hydrogen(heavy) && self.particles.masses[heavy as usize] > 0.0;
                if is_hydrogen(hydrogen) && gives {
                    let of_hydrogen = partners.entry(hydrogen).or_default();
                    if !of_hydrogen.contains(&heavy) {
                        of_hydrogen.push(heavy);
                    }
                }
            }
        }
        partners
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::system::builders::{self, Lattice};
    use crate::system::{Link, models};

    /// Methane, four hydrogens around their carbon, and another particle.
    fn methane_and(more: f64) -> System {
        let mut system = builders::lattice(Lattice::Sc, [6, 1, 1])
            .spacing(0.5)
            .units(Units::Md)
            .species("C", 12.011, 0.0)
            .build()
            .unwrap();
        system.particles.masses = vec![12.011, 1.008, 1.008, 1.008, 1.008, more];
        let bond = |i: u32| Link {
            atoms: [0, i],
            kind: 0,
        };
        system.topology.bonds = (1..5).map(bond).collect();
        system
    }

    #[test]
    fn bonded_hydrogens_take_mass_from_their_carbon() {
        let methane = methane_and(39.948).with_hydrogen_mass(2.016).unwrap();
        let expected = [12.011 - 4.0 * 1.008, 2.016, 2.016, 2.016, 2.016, 39.948];
        for (found, expected) in methane.particles.masses.iter().zip(expected) {
            assert!((found - expected).abs() < 1e-12);
        }
        // All of them have it already; none is a hydrogen of another mass.
        assert_eq!(methane.clone().with_hydrogen_mass(2.016), Ok(methane.clone()));
        assert_eq!(methane.with_hydrogen_mass(3.0), Err(HydrogenError::NoHydrogens));
    }

    #[test]
    fn velocities_keep_energy_and_momentum() {
        let mut methane = methane_and(39.948);
        for (k, v) in methane.particles.velocities.iter_mut().enumerate() {
            *v = crate::expr::Vec3::new(0.3 * k as f64, 1.0 - 0.2 * k as f64, 0.1);
        }
        let before = methane.particles.clone();
        let after = methane.with_hydrogen_mass(2.016).unwrap().particles;
        let sums = |p: &crate::system::Particles| {
            let all = || p.velocities.iter().zip(&p.masses);
            let momentum = all().fold(crate::expr::Vec3::zero(), |sum, (&v, &m)| sum + v * m);
            (momentum, all().map(|(v, m)| 0.5 * m * v.norm2()).sum::<f64>())
        };
        let ((p, e), (momentum, energy)) = (sums(&before), sums(&after));
        assert!((p - momentum).norm() < 1e-12);
        // Less what the momentum takes.
        assert!((energy / e - 1.0).abs() < 0.05, "{e} {energy}");
    }

    #[test]
    fn rigid_waters_keep_their_mass() {
        let tip3p = models::water("tip3p").unwrap();
        let water = builders::water(tip3p).molecules(8).build().unwrap();
        let water = water.with_rigid_water(tip3p, "OW", "HW").unwrap();
        for molecule in water
            .with_hydrogen_mass(4.0)
            .unwrap()
            .particles
            .masses
            .chunks_exact(3)
        {
            assert!(
                (molecule.iter().sum::<f64>() - tip3p.mass()).abs() < 1e-12,
                "{molecule:?}"
            );
            assert_eq!(molecule[1..], [4.0, 4.0]);
        }
    }

    #[test]
    fn what_cannot_be_is_refused() {
        let refused = |system: System, mass: f64| system.with_hydrogen_mass(mass).unwrap_err();
        let partners = |particle: u32, heavy: usize| HydrogenError::Partners { particle, heavy };
        assert_eq!(refused(methane_and(1.008), 2.0), partners(5, 0));
        assert_eq!(refused(methane_and(4.0), 1.0), HydrogenError::Mass(1.0));
        assert!(matches!(
            refused(methane_and(4.0), 3.5),
            HydrogenError::LightPartner { particle: 0, .. }
        ));
        let mut bridge = methane_and(16.0);
        bridge.topology.bonds.push(Link {
            atoms: [4, 5],
            kind: 0,
        });
        assert_eq!(refused(bridge, 2.0), partners(4, 2));
        let mut reduced = methane_and(4.0);
        reduced.units = Units::LennardJones;
        assert_eq!(refused(reduced, 2.0), HydrogenError::Units);
    }
}
