//! `debye build bilayer` and `dispersion`.

use clap::Args;
use debye::system::Units;

use super::recipe::{Recipe, key};
use super::{Rest, cell_key, counts_of, quoted, value};
use crate::failure::Failure;

/// Waters per lipid of the published bilayer of DOPC, 4,232 for 128.
const HYDRATION: u64 = 33;

/// What lipids there are, and in how much water.
#[derive(Args)]
pub(super) struct Lipids {
    /// The lipid, or a mixture by fractions: DOPC=0.7,DOPE=0.3
    #[arg(long, value_delimiter = ',', value_name = "NAME[=FRACTION]")]
    lipid: Vec<String>,
    /// How many lipids in all
    #[arg(long, default_value_t = 128)]
    lipids: u64,
    /// How many waters [default: 33 for each lipid]
    #[arg(long)]
    waters: Option<u64>,
    /// Species of the water
    #[arg(long, default_value = "W")]
    water: String,
    /// Set or files with species, molecules and forces
    #[arg(long, value_delimiter = ',', default_value = "elba")]
    forcefield: Vec<String>,
    /// Edges of the cell: one length for all, or three [default: what fits]
    #[arg(long, value_delimiter = ',')]
    cell: Vec<String>,
    #[command(flatten)]
    pub(super) rest: Rest,
}

/// Lipids in two leaflets, with water above and below
#[derive(Args)]
pub(super) struct Bilayer {
    #[command(flatten)]
    pub(super) lipids: Lipids,
    /// Lipids of the upper leaflet by numbers: DOPC=40,DOPE=24
    #[arg(long, value_delimiter = ',', requires = "lower", conflicts_with_all = ["lipid", "lipids"])]
    upper: Vec<String>,
    /// Lipids of the lower leaflet
    #[arg(long, value_delimiter = ',', requires = "upper")]
    lower: Vec<String>,
    /// Area per lipid [default: 0.731 nm^2]
    #[arg(long, conflicts_with = "cell")]
    area: Option<String>,
    /// Thickness of both leaflets [default: that of the lipids' volume]
    #[arg(long)]
    thickness: Option<String>,
}

/// Lipids scattered in water, for self-assembly
#[derive(Args)]
pub(super) struct Dispersion {
    #[command(flatten)]
    pub(super) lipids: Lipids,
    /// Density over that of the liquid [default: 0.9]
    #[arg(long, conflicts_with = "cell")]
    relative_density: Option<String>,
}

impl Bilayer {
    pub(super) fn recipe(&self) -> Result<Recipe, Failure> {
        let (keys, total) = match self.upper.is_empty() {
            true => (self.lipids.shares()?, self.lipids.lipids),
            false => {
                let total = total(&self.upper)? + total(&self.lower)?;
                let leaflets = [&self.upper, &self.lower].map(|leaflet| counts_of(leaflet));
                (
                    format!("upper = {{ {} }}, lower = {{ {} }}", leaflets[0], leaflets[1]),
                    total,
                )
            }
        };
        let mut recipe = self.lipids.recipe("bilayer", &keys, total)?;
        for (key, given) in [("area", &self.area), ("thickness", &self.thickness)] {
            if let Some(text) = given {
                recipe.build += &format!(", {key} = {}", value(text));
            }
        }
        recipe.motion = motion(&self.lipids.rest, "10 fs", "semi-isotropic");
        Ok(recipe)
    }
}

impl Dispersion {
    pub(super) fn recipe(&self) -> Result<Recipe, Failure> {
        let lipids = &self.lipids;
        let mut recipe = lipids.recipe("dispersion", &lipids.shares()?, lipids.lipids)?;
        if let Some(density) = &self.relative_density {
            recipe.build += &format!(", relative_density = {}", value(density));
        }
        // The edges must be free for the bilayer that forms to lose its tension.
        recipe.motion = motion(&lipids.rest, "2 fs", "anisotropic");
        Ok(recipe)
    }
}

impl Lipids {
    fn recipe(&self, kind: &str, keys: &str, total: u64) -> Result<Recipe, Failure> {
        self.rest.md_only()?;
        self.rest.no_species()?;
        let waters = self.waters.unwrap_or(HYDRATION.saturating_mul(total));
        let build = format!(
            "kind = {}, {keys}, waters = {waters}, water = {}, seed = {}",
            quoted(kind),
            quoted(&self.water),
            self.rest.seed
        );
        let more = match self.cell.is_empty() {
            true => String::new(),
            false => cell_key(&self.cell),
        };
        Ok(Recipe {
            units: Units::Md,
            build,
            more,
            species: Vec::new(),
            include: self.forcefield.clone(),
            forces: String::new(),
            motion: String::new(),
        })
    }

    /// `lipids = { … }`: numbers that follow from the fractions and add up to the total.
    fn shares(&self) -> Result<String, Failure> {
        let mut shares = Vec::new();
        for text in &self.lipid {
            let (name, share) = text.split_once('=').unwrap_or((text, "1"));
            match share.trim().parse::<f64>() {
                Ok(share) if share > 0.0 && share.is_finite() => shares.push((name.trim(), share)),
                _ => {
                    return Err(Failure::refused(format!(
                        "`{share}` is no fraction of {name}: say --lipid DOPC=0.7,DOPE=0.3"
                    )));
                }
            }
        }
        if shares.is_empty() {
            return Err(Failure::refused("which lipid? Name it: --lipid DOPC"));
        }
        let sum: f64 = shares.iter().map(|(_, share)| share).sum();
        let (mut given, mut before) = (0, 0.0);
        let mut counts = Vec::new();
        for (name, share) in shares {
            // Rounding the running sum keeps the total.
            before += share;
            let until = (before / sum * self.lipids as f64).round() as u64;
            if until == given && self.lipids > 0 {
                return Err(Failure::refused(format!(
                    "{} lipids hold no {name} at this fraction: ask for more lipids, or a larger fraction",
                    self.lipids
                )));
            }
            if until > given {
                counts.push(format!("{} = {}", key(name), until - given));
            }
            given = until;
        }
        Ok(format!("lipids = {{ {} }}", counts.join(", ")))
    }
}

/// How many lipids a leaflet has.
fn total(leaflet: &[String]) -> Result<u64, Failure> {
    let one = |text: &String| {
        text.split_once('=')
            .and_then(|(_, n)| n.trim().parse::<u64>().ok())
    };
    let counts: Option<Vec<u64>> = leaflet.iter().map(one).collect();
    let sum = counts.map(|counts| counts.iter().fold(0u64, |sum, n| sum.saturating_add(*n)));
    sum.ok_or_else(|| {
        Failure::refused("leaflets take numbers of lipids: --upper DOPC=40,DOPE=24 --lower DOPC=64")
    })
}

/// The rest of an input file that runs as it is printed.
fn motion(rest: &Rest, timestep: &str, coupling: &str) -> String {
    let temperature = value(rest.temperature.as_deref().unwrap_or("303 K"));
    format!(
        "[minimize]\nkind = \"fire\"\nmax_steps = 1000\n\
         [integrator]\nkind = \"langevin\"\ntimestep = \"{timestep}\"\ntemperature = {temperature}\ntime = \"1 ps\"\n\
         [barostat]\nkind = \"berendsen\"\ncoupling = \"{coupling}\"\npressure = \"1 atm\"\ntime = \"1 ps\"\n\
         compressibility = \"4.6e-5 1/atm\"\n\
         [run]\nsteps = 5000\ntemperature = {temperature}\nseed = {}\n\
         [output]\ntable = {{ every = 50 }}\ntrajectory = {{ every = 500, file = \"lipids.xtc\" }}\n",
        rest.seed
    )
}
