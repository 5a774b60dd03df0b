//! The standard cases of `debye bench`: their inputs, and the energies they must begin with.

use std::path::Path;

use debye::engines::{Engine, Precision};
use debye::simulation::Simulation;
use debye::suggest::nearest;
use debye::system::Dimension;

use super::super::mapping;
use crate::failure::Failure;

/// A standard case: what it is, and the energy it must have before it is timed.
pub(super) struct Case {
    pub(super) name: &'static str,
    pub(super) what: &'static str,
    kind: Kind,
}

impl Case {
    const fn new(name: &'static str, what: &'static str, kind: Kind) -> Self {
        Self { name, what, kind }
    }
}

/// A case to measure.
pub(super) struct Selection {
    pub(super) name: String,
    pub(super) kind: Kind,
}

#[derive(Clone, Copy)]
pub(super) enum Kind {
    /// Melt of so many cells of a crystal along each side.
    Melt(&'static Crystal, usize),
    /// Argon at rest: builder keys, and the energy in eV.
    Argon(&'static str, f64),
    /// Rock salt with PME.
    Salt(&'static Salt),
    /// Rigid water with PME.
    Water(&'static Water),
    /// Sticky water on a lattice.
    Sticky(&'static Sticky),
    /// Copies of a bilayer of lipids, which `--structure` names.
    Bilayer([usize; 3]),
}

/// Rock salt: cells along each side, the mesh, and the energy of the crystal in kJ/mol.
pub(super) struct Salt {
    cells: usize,
    mesh: usize,
    energy: f64,
}

/// Copies of a box of 895 molecules and 3 nm, the mesh, and the energy in kJ/mol of what is built of that size.
pub(super) struct Water {
    copies: [usize; 3],
    mesh: [usize; 3],
    energy: f64,
}

/// Sticky water: its lattice, cells along each side, and the energy in kJ/mol.
pub(super) struct Sticky {
    lattice: &'static str,
    cells: usize,
    energy: f64,
}

/// Molecules of the box, and its side in nm.
const BOX: (usize, f64) = (895, 3.0);

// α and the order go with the meshes: docs/benchmarks.md says how they were chosen.
const SALT_ALPHA: f64 = 2.95;
const WATER_ALPHA: f64 = 2.98;
const ORDER: usize = 5;

// The tolerances of OpenMM at which its measured error is that of these settings.
const SALT_TOLERANCE: f64 = 1e-4;
const WATER_TOLERANCE: f64 = 5e-4;

const NACL6K: Salt = Salt {
    cells: 9,
    mesh: 42,
    energy: -2_308_711.817_874,
};
const NACL512K: Salt = Salt {
    cells: 40,
    mesh: 192,
    energy: -202_685_276.001_2,
};
const WATER21K: Water = Water {
    copies: [2, 2, 2],
    mesh: [40, 40, 40],
    energy: -42_131.031_883,
};
const WATER97K: Water = Water {
    copies: [4, 3, 3],
    mesh: [80, 60, 60],
    energy: -183_569.801_371,
};
const WATER1M: Water = Water {
    copies: [6, 8, 8],
    mesh: [120, 160, 160],
    energy: -1_957_897.116_667,
};

const SSD4K: Sticky = Sticky {
    lattice: "sc",
    cells: 16,
    energy: -11_674.239_513_52,
};
const SSD219K: Sticky = Sticky {
    lattice: "fcc",
    cells: 38,
    energy: -1_064_193.679_914_41,
};

/// What a melt is made from.
pub(super) struct Crystal {
    name: &'static str,
    /// Atoms of a cell.
    atoms: usize,
    /// Energy per atom at ρ* = 0.8442, Lennard-Jones cut at 2.5 σ.
    energy: f64,
    /// Where it starts; both have the same total energy, so the melts are alike.
    temperature: f64,
}

const FCC: Crystal = Crystal {
    name: "fcc",
    atoms: 4,
    energy: -6.773_368_053,
    temperature: 1.44,
};
const SC: Crystal = Crystal {
    name: "sc",
    atoms: 1,
    energy: -5.220_218_519,
    temperature: 0.4046,
};

pub(super) const CASES: &[Case] = &[
    Case::new(
        "lj1k",
        "LJ melt from a simple cubic lattice, 10³ cells = 1 000 atoms",
        Kind::Melt(&SC, 10),
    ),
    Case::new("lj4k", "LJ melt, 10³ cells = 4 000 atoms", Kind::Melt(&FCC, 10)),
    Case::new(
        "lj6k",
        "LJ melt from a simple cubic lattice, 18³ cells = 5 832 atoms",
        Kind::Melt(&SC, 18),
    ),
    Case::new("lj32k", "LJ melt, 20³ cells = 32 000 atoms", Kind::Melt(&FCC, 20)),
    Case::new("lj98k", "LJ melt, 29³ cells = 97 556 atoms", Kind::Melt(&FCC, 29)),
    Case::new(
        "lj256k",
        "LJ melt, 40³ cells = 256 000 atoms",
        Kind::Melt(&FCC, 40),
    ),
    Case::new(
        "lj1m",
        "LJ melt, 63³ cells = 1 000 188 atoms",
        Kind::Melt(&FCC, 63),
    ),
    Case::new(
        "argon-droplet",
        "sphere of 14 147 argon atoms at rest, cut 12 Å, 2 fs",
        Kind::Argon("radius_spacings = 15, side_spacings = 48", -154.984_370_3),
    ),
    Case {
        name: "argon-sphere",
        what: "sphere of 1 047 293 argon atoms at rest, cut 12 Å, 2 fs",
        kind: Kind::Argon(
            "radius_spacings = 63, side_spacings = 200, edge_spacing = 5.256",
            -12_007.954_13,
        ),
    },
    Case::new(
        "nacl6k",
        "rock salt, 9³ cells = 5 832 ions, PME, cut 1.0 nm, 2 fs, 300 K start",
        Kind::Salt(&NACL6K),
    ),
    Case::new(
        "nacl512k",
        "the same, 40³ cells = 512 000 ions",
        Kind::Salt(&NACL512K),
    ),
    Case::new(
        "water21k",
        "rigid TIP3P water, 21 480 atoms, PME, cut 0.9 nm, 2 fs, Langevin 300 K",
        Kind::Water(&WATER21K),
    ),
    Case::new("water97k", "the same, 96 660 atoms", Kind::Water(&WATER97K)),
    Case::new("water1m", "the same, 1 031 040 atoms", Kind::Water(&WATER1M)),
    Case::new(
        "ssd4k",
        "SSD/E water, 4 096 molecules, cut 0.9 nm, 2 fs, Langevin 300 K",
        Kind::Sticky(&SSD4K),
    ),
    Case::new("ssd219k", "the same, 219 488 molecules", Kind::Sticky(&SSD219K)),
    Case::new(
        "elba-dopc",
        "the bilayer of --structure (LAMMPS data), ELBA, 10 fs, Langevin 303 K",
        Kind::Bilayer([1, 1, 1]),
    ),
    Case::new("elba-lipid", "6 × 6 copies of it", Kind::Bilayer([6, 6, 1])),
];

/// Begins the name of a melt of any size.
const ANY_MELT: &str = "lj:";

/// Cases that measure parts of the engine on a CUDA device.
pub(super) const PRIMITIVES: &[(&str, &str)] = &[
    ("scan", "prefix sums of 2^16 to 2^27 numbers beside a copy (CUDA)"),
    ("sort", "counting and radix sorts of 2^14 to 2^24 pairs (CUDA)"),
    (
        "fft",
        "mesh solves of 48³ to 256³ points, kernel by kernel (CUDA)",
    ),
    (
        mapping::CASE,
        "charges spread over a mesh and forces gathered from it (CUDA)",
    ),
];

impl Salt {
    fn input(&self) -> String {
        let Self { cells, mesh, .. } = self;
        format!(
            "units = \"md\"\n\
             [system]\nbuild = {{ kind = \"nacl\", cells = {cells}, spacing = 0.564 }}\n\
             [species.Na]\nmass = 22.99\ncharge = 1.0\n[species.Cl]\nmass = 35.45\ncharge = -1.0\n\
             [[forces]]\nkind = \"lennard-jones\"\ncutoff = 1.0\ntruncation = \"cut\"\nmixing = \"lorentz-berthelot\"\n\
             species = {{ Na = {{ sigma = 0.2159538, epsilon = 1.4754533 }}, Cl = {{ sigma = 0.4830453, epsilon = 0.0534924 }} }}\n\
             [[forces]]\nkind = \"pme\"\ncutoff = 1.0\nalpha = {SALT_ALPHA}\nmesh = {mesh}\norder = {ORDER}\n\
             [integrator]\nkind = \"nve\"\ntimestep = 0.002\n\
             [run]\nsteps = 1\ntemperature = 300\n"
        )
    }
}

impl Water {
    fn input(&self, structure: Option<&Path>) -> String {
        let (molecules, side) = BOX;
        let [x, y, z] = self.copies;
        let system = match structure {
            // A name between quotes of which nothing is special but the quote itself.
            Some(file) => format!("file = '{}'\ncopies = [{x}, {y}, {z}]\n", file.display()),
            None => {
                let cell = self.copies.map(|n| n as f64 * side);
                let molecules = molecules * x * y * z;
                format!("build = {{ kind = \"water\", molecules = {molecules} }}\ncell = {cell:?}\n")
            }
        };
        let mesh = self.mesh;
        format!(
            "units = \"md\"\n[system]\n{system}\
             [species.OW]\nmodel = \"tip3p:O\"\nnames = [\"O\", \"OW\"]\n\
             [species.HW]\nmodel = \"tip3p:H\"\nnames = [\"H\", \"HW\"]\n\
             [[constraints]]\nkind = \"rigid-water\"\nmodel = \"tip3p\"\n\
             [[forces]]\nkind = \"lennard-jones\"\ncutoff = 0.9\ntruncation = \"cut\"\nmixing = \"lorentz-berthelot\"\n\
             [[forces]]\nkind = \"pme\"\ncutoff = 0.9\nalpha = {WATER_ALPHA}\nmesh = {mesh:?}\norder = {ORDER}\n\
             [integrator]\nkind = \"langevin\"\ntimestep = 0.002\ntemperature = 300\ntime = 1.0\n\
             [run]\nsteps = 1\ntemperature = 300\n"
        )
    }
}

impl Sticky {
    fn input(&self) -> String {
        let Self { lattice, cells, .. } = self;
        format!(
            "units = \"md\"\n\
             [system]\nbuild = {{ kind = \"lattice\", lattice = \"{lattice}\", cells = {cells}, density = \"0.999 g/cm^3\", \
             species = \"W\" }}\n\
             [forcefield]\ninclude = \"ssd-e\"\n\
             [integrator]\nkind = \"langevin\"\ntimestep = 0.002\ntemperature = 300\ntime = 1.0\n\
             [run]\nsteps = 1\ntemperature = 300\n"
        )
    }
}

/// A bilayer in LAMMPS data of the ELBA toolkit.
fn bilayer(file: &Path, copies: [usize; 3]) -> String {
    format!(
        "units = \"md\"\n\
         [system]\nfile = '{}'\nformat = \"lammps\"\nlength_unit = \"Å\"\ncopies = {copies:?}\n\
         [forcefield]\ninclude = \"elba\"\n\
         [integrator]\nkind = \"langevin\"\ntimestep = 0.01\ntemperature = 303\ntime = 1.0\n\
         [run]\nsteps = 1\ntemperature = 303\n",
        file.display()
    )
}

/// Atoms that a melt of any size may have.
const SIZES: std::ops::RangeInclusive<u64> = 500..=900_000_000;

/// The fcc melt whose number of atoms is nearest to this one.
fn any_melt(number: &str) -> Option<Kind> {
    let wanted = number.parse().ok().filter(|n| SIZES.contains(n))?;
    let atoms = |side: usize| (FCC.atoms * side * side * side) as u64;
    let below = (wanted as f64 / FCC.atoms as f64).cbrt() as usize;
    let side = (below..=below + 1).min_by_key(|&side| atoms(side).abs_diff(wanted))?;
    Some(Kind::Melt(&FCC, side))
}

/// Cases whose kernels many simulations share: a small and a large melt, salt, water, sticky water.
const USUAL: [&str; 5] = ["lj1k", "lj32k", "nacl6k", "water21k", "ssd4k"];

/// The simulations of [`USUAL`].
pub fn usual() -> Result<Vec<Simulation>, Failure> {
    let one = |name: &str| Selection::named(name)?.simulation(None);
    USUAL.into_iter().map(one).collect()
}

impl Selection {
    /// A case of the list, or a melt of about as many atoms as its name says.
    pub(super) fn named(name: &str) -> Result<Self, Failure> {
        let listed = || CASES.iter().find(|c| c.name == name).map(|c| c.kind);
        let kind = name.strip_prefix(ANY_MELT).map_or_else(listed, any_melt);
        let name = name.to_owned();
        if let Some(kind) = kind {
            return Ok(Self { name, kind });
        }
        let known = CASES.iter().map(|c| c.name).chain(PRIMITIVES.iter().map(|p| p.0));
        let known: Vec<&str> = known.collect();
        let meant = nearest(&name, known.iter().copied());
        let meant = meant.map_or(String::new(), |near| format!(" did you mean `{near}`?"));
        Err(Failure::refused(format!(
            "unknown case `{name}`;{meant} known are {}, and lj:N with N from {} to {}",
            known.join(", "),
            SIZES.start(),
            SIZES.end()
        )))
    }

    /// Whether it is made of copies of a structure, or can be.
    pub(super) fn takes_structure(&self) -> bool {
        matches!(self.kind, Kind::Water(_) | Kind::Bilayer(_))
    }

    /// The tolerance of OpenMM's particle mesh Ewald that goes with the case; `None` without charges.
    pub(super) fn openmm_tolerance(&self) -> Option<f64> {
        match self.kind {
            Kind::Salt(_) => Some(SALT_TOLERANCE),
            Kind::Water(_) => Some(WATER_TOLERANCE),
            _ => None,
        }
    }

    /// The input file of the case.
    fn input(&self, structure: Option<&Path>) -> String {
        match self.kind {
            Kind::Melt(crystal, cells) => format!(
                "units = \"lj\"\n\
                 [system]\nbuild = {{ kind = \"lattice\", lattice = \"{}\", cells = {cells}, density = 0.8442 }}\n\
                 [species.A]\n\
                 [[forces]]\nkind = \"lennard-jones\"\ncutoff = 2.5\ntruncation = \"cut\"\nepsilon = 1.0\nsigma = 1.0\n\
                 [integrator]\nkind = \"nve\"\ntimestep = 0.005\n\
                 [run]\nsteps = 1\ntemperature = {}\n",
                crystal.name, crystal.temperature
            ),
            Kind::Argon(build, _) => format!(
                "units = \"md\"\n\
                 [system]\nbuild = {{ kind = \"sphere\", lattice = \"sc\", spacing = \"5.256 Å\", {build} }}\n\
                 [species.Ar]\nmass = \"39.948 u\"\n\
                 [[forces]]\nkind = \"lennard-jones\"\ncutoff = \"12 Å\"\ntruncation = \"cut\"\n\
                 epsilon = \"0.0104 eV\"\nsigma = \"3.40 Å\"\n\
                 [integrator]\nkind = \"nve\"\ntimestep = \"2 fs\"\n\
                 [run]\nsteps = 1\n"
            ),
            Kind::Salt(salt) => salt.input(),
            Kind::Water(water) => water.input(structure),
            Kind::Sticky(water) => water.input(),
            Kind::Bilayer(copies) => bilayer(structure.unwrap_or(Path::new("")), copies),
        }
    }

    pub(super) fn simulation(&self, structure: Option<&Path>) -> Result<Simulation, Failure> {
        if matches!(self.kind, Kind::Bilayer(_)) && structure.is_none() {
            return Err(Failure::refused(format!(
                "the case {} takes its bilayer from --structure FILE, LAMMPS data with the types of the ELBA toolkit",
                self.name
            )));
        }
        Ok(Simulation::parse(&self.input(structure), ".", &self.name)?)
    }

    /// Refuses to time what computes the wrong energy; gives its relative error.
    pub(super) fn check(&self, engine: &mut dyn Engine, simulation: &Simulation) -> Result<f64, Failure> {
        let expected = match self.kind {
            Kind::Melt(crystal, cells) => crystal.energy * (crystal.atoms * cells * cells * cells) as f64,
            Kind::Argon(_, energy) => {
                let volt = simulation.system.units.quantity("1 eV", Dimension::ENERGY);
                energy * volt.map_err(Failure::failed)?
            }
            Kind::Salt(salt) => salt.energy,
            Kind::Water(water) => water.energy,
            Kind::Sticky(water) => water.energy,
            // Nothing is known of a structure.
            Kind::Bilayer(_) => return Ok(0.0),
        };
        let seen = engine.observe()?;
        let found = seen.potential;
        // Parts of an Ewald sum are much larger than their sum, and so is their rounding.
        let parts: f64 = seen.terms.iter().map(|(_, energy)| energy.abs()).sum();
        let error = (found - expected).abs() / expected.abs().max(parts);
        let allowed = match simulation.run.precision {
            Precision::Double => 1e-8,
            Precision::Mixed => 2e-6,
            Precision::Single => 1e-5,
        };
        if error <= allowed {
            return Ok(error);
        }
        Err(Failure::failed(format!(
            "{}: the energy of the first configuration is {found}, expected {expected}: off by {error:.1e}, \
             allowed {allowed:.0e} in {} precision. Nothing was timed",
            self.name,
            simulation.run.precision.name()
        )))
    }
}
