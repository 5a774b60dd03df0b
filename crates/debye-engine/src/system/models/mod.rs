//! Published models as data: rigid water and the ions made for it.
//!
//! ```
//! use debye::system::models;
//! let tip3p = models::water("tip3p").unwrap();
//! assert_eq!((tip3p.bond, tip3p.base), (0.09572, 0.15139));
//! let sodium = models::site("joung-cheatham-spce:Na+").unwrap();
//! assert_eq!(sodium.charge, 1.0);
//! ```
//!
//! Numbers are in md units: nm, u, e, kJ/mol. An ion belongs to the water it was fitted in; the Lennard-Jones
//! parameters of all models here mix by Lorentz and Berthelot. A set is here only if two independent files agree on it;
//! each says which. Masses are standard atomic weights.

mod ions;
mod water;

pub use ions::{IONS, IonSet};
pub use water::{WATERS, WaterModel};

use super::Species;

/// An atom of a model: what an input file takes from `model = "tip3p:O"`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Site {
    /// Its name within the model: `O`, `Na+`.
    pub name: &'static str,
    /// Mass.
    pub mass: f64,
    /// Charge.
    pub charge: f64,
    /// Lennard-Jones σ; zero where ε is.
    pub sigma: f64,
    /// Lennard-Jones ε; zero for atoms that have charges only.
    pub epsilon: f64,
}

impl Site {
    /// A species of this mass and charge.
    pub fn species(&self, name: &str) -> Species {
        Species::point(name, self.mass, self.charge)
    }

    /// The name without the sign of the charge: `Na` of `Na+`.
    pub fn element(&self) -> &'static str {
        self.name.trim_end_matches(['+', '-'])
    }
}

/// The water model of this name.
pub fn water(name: &str) -> Option<&'static WaterModel> {
    WATERS.iter().find(|model| model.name == name)
}

/// The set of ions of this name.
pub fn ions(name: &str) -> Option<&'static IonSet> {
    IONS.iter().find(|set| set.name == name)
}

/// The set of ions made for a water model.
pub fn ions_for(water: &str) -> Option<&'static IonSet> {
    IONS.iter().find(|set| set.water == water)
}

/// The atom of a model: `tip3p:O`, `joung-cheatham-spce:Na+`.
pub fn site(name: &str) -> Option<&'static Site> {
    let (model, atom) = name.split_once(':')?;
    let of_water = water(model).map(|model| model.sites());
    let sites = match of_water {
        Some(sites) => sites.to_vec(),
        None => ions(model)?.ions.iter().collect(),
    };
    sites.into_iter().find(|site| site.name == atom)
}

/// All names that [`site`] knows.
pub fn site_names() -> Vec<String> {
    let of_waters = WATERS
        .iter()
        .flat_map(|model| model.sites().map(|site| format!("{}:{}", model.name, site.name)));
    let of_ions = IONS
        .iter()
        .flat_map(|set| set.ions.iter().map(|site| format!("{}:{}", set.name, site.name)));
    of_waters.chain(of_ions).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_lead_to_their_sites() {
        let names = site_names();
        assert_eq!(names.len(), 2 * WATERS.len() + 9 * IONS.len());
        for name in &names {
            let site = site(name).unwrap_or_else(|| panic!("{name}"));
            assert!(name.ends_with(&format!(":{}", site.name)), "{name}");
            assert!(
                site.mass > 1.0 && (site.epsilon > 0.0) == (site.sigma > 0.0),
                "{name}"
            );
        }
        for wrong in [
            "",
            ":",
            "tip3p",
            "tip3p:",
            "tip3p:Na+",
            "tip3p:o",
            "spc:O",
            "TIP3P:O",
            "a:b:c",
        ] {
            assert_eq!(site(wrong), None, "{wrong}");
        }
        assert_eq!(site("spce:H").map(|s| s.epsilon), Some(0.0));
    }

    #[test]
    fn every_water_has_its_ions() {
        for model in WATERS {
            let set = ions_for(model.name).unwrap_or_else(|| panic!("{}", model.name));
            assert_eq!(set.water, model.name);
        }
    }
}
