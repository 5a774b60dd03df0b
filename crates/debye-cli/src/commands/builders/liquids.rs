//! `debye build nacl`, `water` and `solution`.

use std::path::PathBuf;

use clap::Args;
use debye::system::Units;
use debye::system::models::{self, IonSet, Site, WaterModel};

use super::{Declared, Recipe, Rest, cell_key, quoted, triple, value};
use crate::failure::Failure;

/// The Lennard-Jones parameters are those of the models.
const LENNARD_JONES: &str = "\
[[forces]]
kind = \"lennard-jones\"
cutoff = \"0.9 nm\"
mixing = \"lorentz-berthelot\"
";

const CHARGES: &str = "\
[[forces]]
kind = \"pme\"
cutoff = \"0.9 nm\"
tolerance = 5e-4
";

/// Water of this model, rigid.
fn rigid(model: &WaterModel) -> String {
    format!(
        "[[constraints]]\nkind = \"rigid-water\"\nmodel = {}\n",
        quoted(model.name)
    )
}

/// The rest of an input file that runs as it is printed.
fn motion(rest: &Rest, minimize: bool) -> String {
    let temperature = value(rest.temperature.as_deref().unwrap_or("298 K"));
    let minimize = if minimize {
        "[minimize]\nforce_tolerance = 50.0\nmax_steps = 1000\n"
    } else {
        ""
    };
    format!(
        "{minimize}[integrator]\nkind = \"bussi\"\ntimestep = \"2 fs\"\ntemperature = {temperature}\ntime = \"0.5 ps\"\n\
         [run]\nsteps = 5000\ntemperature = {temperature}\n\
         [output]\ntable = {{ every = 50 }}\n"
    )
}

/// Rock salt, with the charges of its ions
#[derive(Args)]
pub(super) struct Nacl {
    /// Cells of eight ions along a, b, c, or one number for all
    #[arg(long, value_delimiter = ',', num_args = 1, required = true)]
    cells: Vec<u32>,
    /// The salt: an alkali metal and a halogen
    #[arg(long, default_value = "NaCl")]
    salt: String,
    /// Lattice constant [default: 0.564 nm for NaCl]
    #[arg(long)]
    spacing: Option<String>,
    /// The set of ions (`debye info` lists them)
    #[arg(long, default_value = "joung-cheatham-spce")]
    ions: String,
    #[command(flatten)]
    pub(super) rest: Rest,
}

/// A box of rigid water
#[derive(Args)]
pub(super) struct Liquid {
    /// The water model: tip3p or spce
    #[arg(long, default_value = "spce")]
    model: String,
    /// How many molecules; in a solution, before ions take the place of some
    #[arg(long)]
    molecules: Option<u64>,
    /// Edges of the cell: one length for all, or three [default: a cube of the density]
    #[arg(long, value_delimiter = ',')]
    cell: Vec<String>,
    /// Mass density of the water [default: 0.997 g/cm^3]
    #[arg(long)]
    density: Option<String>,
    #[command(flatten)]
    pub(super) rest: Rest,
}

/// Salt in water, or water around a solute
#[derive(Args)]
pub(super) struct Solution {
    #[command(flatten)]
    pub(super) liquid: Liquid,
    /// The salt: an alkali metal and a halogen
    #[arg(long, default_value = "NaCl")]
    salt: String,
    /// Moles of salt per kilogram of water
    #[arg(long, conflicts_with = "pairs")]
    molality: Option<String>,
    /// Pairs of ions
    #[arg(long)]
    pairs: Option<u64>,
    /// Smallest distance of ions from one another and from the solute [default: what fits]
    #[arg(long)]
    ions_apart: Option<String>,
    /// The set of ions (`debye info` lists them) [default: the one made for the water]
    #[arg(long)]
    ions: Option<String>,
    /// Structure file to put into water; name its atoms with their masses by --species
    #[arg(long, value_name = "FILE", conflicts_with = "molecules")]
    solute: Option<PathBuf>,
    /// Room between the solute and each face of the cell [default: 1 nm]
    #[arg(long, requires = "solute")]
    padding: Option<String>,
    /// Smallest distance of the water's oxygens from the solute [default: 0.25 nm]
    #[arg(long, requires = "solute")]
    clearance: Option<String>,
    /// Add ions until the charge of the solute is made up for
    #[arg(long, requires = "solute")]
    neutralize: bool,
}

impl Nacl {
    pub(super) fn recipe(&self) -> Result<Recipe, Failure> {
        self.rest.md_only()?;
        self.rest.no_species()?;
        let set = ion_set(&self.ions)?;
        let ions = salt(set, &self.salt)?;
        let mut build = format!(
            "kind = \"nacl\", cells = {}, species = {}",
            triple(&self.cells)?,
            names(ions)
        );
        if let Some(spacing) = &self.spacing {
            build += &format!(", spacing = {}", value(spacing));
        } else if self.salt != "NaCl" {
            return Err(Failure::refused(format!(
                "what is the lattice constant of {}? Give it: --spacing \"6.29 Å\" or the like",
                self.salt
            )));
        }
        Ok(Recipe {
            units: Units::Md,
            build,
            more: String::new(),
            species: ions.map(|ion| modeled(ion.element(), set.name, ion)).into(),
            include: Vec::new(),
            forces: [LENNARD_JONES, CHARGES].concat(),
            motion: motion(&self.rest, false),
        })
    }
}

impl Liquid {
    pub(super) fn recipe(&self) -> Result<Recipe, Failure> {
        self.rest.no_species()?;
        self.of_kind("water")
    }

    fn water(&self) -> Result<&'static WaterModel, Failure> {
        models::water(&self.model).ok_or_else(|| {
            let known: Vec<&str> = models::WATERS.iter().map(|m| m.name).collect();
            Failure::refused(format!(
                "there is no water model `{}`; known are: {}",
                self.model,
                known.join(", ")
            ))
        })
    }

    fn of_kind(&self, kind: &str) -> Result<Recipe, Failure> {
        self.rest.md_only()?;
        let model = self.water()?;
        let mut build = format!(
            "kind = {}, model = {}, seed = {}",
            quoted(kind),
            quoted(model.name),
            self.rest.seed
        );
        if let Some(molecules) = self.molecules {
            build += &format!(", molecules = {molecules}");
        }
        if let Some(density) = &self.density {
            build += &format!(", density = {}", value(density));
        }
        let more = if self.cell.is_empty() {
            String::new()
        } else {
            cell_key(&self.cell)
        };
        Ok(Recipe {
            units: Units::Md,
            build,
            more,
            species: vec![
                modeled("OW", model.name, &model.oxygen),
                modeled("HW", model.name, &model.hydrogen),
            ],
            include: Vec::new(),
            forces: [LENNARD_JONES, CHARGES, &rigid(model)].concat(),
            motion: motion(&self.rest, true),
        })
    }
}

impl Solution {
    pub(super) fn recipe(&self) -> Result<Recipe, Failure> {
        let mut recipe = self.liquid.of_kind("solution")?;
        let salted = self.molality.is_some() || self.pairs.is_some();
        if salted || self.neutralize {
            let model = self.liquid.water()?;
            let set = match (&self.ions, models::ions_for(model.name)) {
                (Some(name), _) => ion_set(name)?,
                (None, Some(set)) => set,
                (None, None) => {
                    return Err(Failure::refused(format!(
                        "no ions were made for {}: name some with --ions",
                        model.title
                    )));
                }
            };
            let ions = salt(set, &self.salt)?;
            recipe.build += &format!(", ions = {}", names(ions));
            let named = ions.map(|ion| modeled(ion.element(), set.name, ion));
            recipe.species.extend(named);
        }
        if let Some(pairs) = self.pairs {
            recipe.build += &format!(", pairs = {pairs}");
        }
        let quantities = [
            ("molality", &self.molality),
            ("ions_apart", &self.ions_apart),
            ("padding", &self.padding),
            ("clearance", &self.clearance),
        ];
        for (key, given) in quantities {
            if let Some(text) = given {
                recipe.build += &format!(", {key} = {}", value(text));
            }
        }
        if self.neutralize {
            recipe.build += ", neutralize = true";
        }
        match &self.solute {
            Some(file) => {
                recipe.build += &format!(", solute = {}", quoted(&file.display().to_string()));
                // Its Lennard-Jones parameters are not known here.
                recipe.forces = [CHARGES, &rigid(self.liquid.water()?)].concat();
                recipe.motion.clear();
                let own = self.liquid.rest.masses();
                let known = |name: &str| recipe.species.iter().any(|s| s.name == name);
                if let Some(twice) = own.iter().find(|s| known(&s.name)) {
                    return Err(Failure::refused(format!(
                        "`{}` is a species of the water or its ions already: leave it out of --species",
                        twice.name
                    )));
                }
                recipe.species.extend(own);
            }
            None => {
                self.liquid.rest.no_species()?;
                if !salted {
                    return Err(Failure::refused(
                        "what is dissolved? Give --molality, --pairs or --solute; pure water is `debye build water`",
                    ));
                }
            }
        }
        Ok(recipe)
    }
}

impl Rest {
    pub(super) fn md_only(&self) -> Result<(), Failure> {
        match self.units {
            None | Some(Units::Md) => Ok(()),
            Some(_) => Err(Failure::refused(
                "water, ions and lipids have md units only: their models have no reduced ones",
            )),
        }
    }

    pub(super) fn no_species(&self) -> Result<(), Failure> {
        if self.species.is_empty() {
            return Ok(());
        }
        Err(Failure::refused(
            "this builder takes no --species: its models have masses and charges",
        ))
    }
}

/// A species that is an atom of a model.
fn modeled(name: &str, model: &str, site: &Site) -> Declared {
    Declared {
        name: name.to_owned(),
        lines: vec![format!("model = {}", quoted(&format!("{model}:{}", site.name)))],
    }
}

fn ion_set(name: &str) -> Result<&'static IonSet, Failure> {
    models::ions(name).ok_or_else(|| {
        let known: Vec<&str> = models::IONS.iter().map(|set| set.name).collect();
        Failure::refused(format!(
            "there is no set of ions `{name}`; known are: {}",
            known.join(", ")
        ))
    })
}

fn salt(set: &'static IonSet, formula: &str) -> Result<[&'static Site; 2], Failure> {
    set.salt(formula).ok_or_else(|| {
        let known: Vec<&str> = set.ions.iter().map(|ion| ion.name).collect();
        Failure::refused(format!(
            "`{formula}` is not a salt of {}; expected a cation and an anion of {}, such as NaCl",
            set.name,
            known.join(", ")
        ))
    })
}

fn names(ions: [&Site; 2]) -> String {
    format!("[{}, {}]", quoted(ions[0].element()), quoted(ions[1].element()))
}
