//! [`IonRequest`]: ions where the potential wants them, or at random.
//!
//! At extrema: the potential of the solute on a grid, with all images in a periodic cell; the next ion goes to the lowest
//! place for its sign that keeps its distances, and its own potential is added to the grid before the next. At random:
//! places drawn with the weight exp(−qφ/kT) of the Debye–Hückel potential φ of the solute and the ions before. Here is
//! what can be asked for and how many ions that makes; `placing.rs` finds the places.

mod placing;

use debye_io::Atom;

use super::cuda::Target;
use super::{MapError, MapSubject};
use crate::engines::DeviceChoice;
use crate::expr::Vec3;
use placing::Placing;

/// Water molecules of one liter, in mol: 997.05 g/L at 25 °C over 18.0153 g/mol.
const WATER: f64 = 55.34;

/// A kind of ion.
#[derive(Clone, Debug, PartialEq)]
pub struct Ion {
    /// Name of its atom and residue.
    pub name: String,
    /// In e.
    pub charge: f64,
    /// In nm, for formats that hold one.
    pub radius: Option<f64>,
}

impl Ion {
    /// Of a name and a charge.
    pub fn new(name: impl Into<String>, charge: f64) -> Self {
        Self {
            name: name.into(),
            charge,
            radius: None,
        }
    }
}

/// Where ions go.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum IonPlacement {
    /// To the extrema of the potential.
    #[default]
    Extrema,
    /// To places at random, with the weights of Debye–Hückel theory.
    Random,
}

/// What ions are wanted, and where.
#[derive(Clone, Debug)]
pub struct IonRequest {
    /// The one with a charge above zero.
    pub cation: Ion,
    /// The one with a charge below zero.
    pub anion: Ion,
    /// Whether counter-ions take the charge of the solute away.
    pub neutralize: bool,
    /// Salt besides, in mol/L.
    pub concentration: f64,
    /// How.
    pub placement: IonPlacement,
    /// The least distance to atoms of the solute, in nm.
    pub solute_distance: f64,
    /// The least distance between ions, in nm.
    pub ion_distance: f64,
    /// Waters whose oxygen is nearer to an ion than this, in nm, are taken out.
    pub water_distance: f64,
    /// Spacing of the grid, in nm.
    pub spacing: f64,
    /// Room around the solute where there is neither cell nor water, in nm.
    pub padding: f64,
    /// Relative permittivity.
    pub permittivity: f64,
    /// In K.
    pub temperature: f64,
    /// Of the random numbers.
    pub seed: u64,
    /// Names of atoms or residues that are water; the usual names where there is none.
    pub waters: Option<String>,
    /// Where the potential is computed. Ions are the same wherever it is.
    pub device: DeviceChoice,
}

impl Default for IonRequest {
    fn default() -> Self {
        Self {
            cation: Ion::new("NA", 1.0),
            anion: Ion::new("CL", -1.0),
            neutralize: true,
            concentration: 0.0,
            placement: IonPlacement::Extrema,
            solute_distance: 0.5,
            ion_distance: 0.5,
            water_distance: 0.23,
            spacing: 0.1,
            padding: 1.0,
            permittivity: 1.0,
            temperature: 300.0,
            seed: 1,
            waters: None,
            device: DeviceChoice::Auto,
        }
    }
}

/// An ion and where it went.
#[derive(Clone, Debug, PartialEq)]
pub struct PlacedIon {
    /// Its name.
    pub name: String,
    /// Its charge.
    pub charge: f64,
    /// Its place, in nm.
    pub position: Vec3<f64>,
    /// The potential there of the solute and the ions before, in kJ/mol/e.
    pub potential: f64,
    /// Waters it took the place of.
    pub waters: usize,
}

/// A structure with ions.
#[derive(Clone, Debug)]
pub struct Ionized {
    /// The atoms that are left, and the ions behind them.
    pub subject: MapSubject,
    /// The ions, in the order they were placed.
    pub ions: Vec<PlacedIon>,
}

impl Ionized {
    /// The electrostatic energy of the ions with the solute and one another, in kJ/mol.
    pub fn energy(&self) -> f64 {
        self.ions.iter().map(|ion| ion.charge * ion.potential).sum()
    }
}

impl IonRequest {
    /// Places ions around the solute of a structure: what is not water.
    pub fn place(&self, subject: &MapSubject) -> Result<Ionized, MapError> {
        self.place_with(subject, Target::Choice(self.device))
    }

    /// The same with the potential from this device.
    pub fn place_on_device(
        &self,
        subject: &MapSubject,
        device: &debye_gpu::Device,
    ) -> Result<Ionized, MapError> {
        self.place_with(subject, Target::Given(device.clone()))
    }

    fn place_with(&self, subject: &MapSubject, target: Target) -> Result<Ionized, MapError> {
        self.check()?;
        let mut is_water: Vec<bool> = subject.structure.atoms.iter().map(Atom::is_water).collect();
        if let Some(names) = &self.waters {
            is_water.fill(false);
            subject
                .select(names)?
                .into_iter()
                .for_each(|i| is_water[i] = true);
        }
        let waters = waters(&subject.structure.atoms, &is_water);
        let solute: Vec<usize> = (0..is_water.len()).filter(|&i| !is_water[i]).collect();
        if subject.positions.is_empty() {
            return Err(MapError::Empty);
        }
        if solute.is_empty() {
            return Err(MapError::NoSolute);
        }
        let mut placing = Placing::new(self, target, subject, &solute, waters)?;
        let [mut cations, mut anions] = self.counts(&placing)?;
        let of = cations + anions;
        while cations + anions > 0 {
            // Of whichever kind more are left, so that the charge stays small on the way.
            let ion = if cations >= anions {
                &self.cation
            } else {
                &self.anion
            };
            if cations >= anions {
                cations -= 1;
            } else {
                anions -= 1;
            }
            let place = match self.placement {
                IonPlacement::Extrema => placing.extremum(ion),
                IonPlacement::Random => placing.random(ion),
            };
            let Some(position) = place else {
                return Err(MapError::NoPlace {
                    number: placing.ions.len() + 1,
                    of,
                    solute: self.solute_distance,
                    ions: self.ion_distance,
                });
            };
            placing.put(ion, position)?;
        }
        Ok(placing.finish())
    }

    fn check(&self) -> Result<(), MapError> {
        let positive = [
            ("a distance of ions from the solute", self.solute_distance),
            ("a distance between ions", self.ion_distance),
            ("a spacing", self.spacing),
            ("a relative permittivity", self.permittivity),
            ("a temperature", self.temperature),
            ("the charge of the cation", self.cation.charge),
        ];
        let not_negative = [
            ("a concentration", self.concentration),
            ("a distance of ions from waters", self.water_distance),
            ("a padding", self.padding),
        ];
        let refuse = |what, value, expected| {
            Err(MapError::Setting {
                what,
                value,
                expected,
            })
        };
        for (what, value) in positive {
            if !(value.is_finite() && value > 0.0) {
                return refuse(what, value, "it must be above zero");
            }
        }
        for (what, value) in not_negative {
            if !(value.is_finite() && value >= 0.0) {
                return refuse(what, value, "it must be zero or more");
            }
        }
        if !(self.anion.charge.is_finite() && self.anion.charge < 0.0) {
            return refuse(
                "the charge of the anion",
                self.anion.charge,
                "it must be below zero",
            );
        }
        for ion in [&self.cation, &self.anion] {
            if let Some(radius) = ion.radius.filter(|r| !r.is_finite() || *r < 0.0) {
                return refuse("the radius of an ion", radius, "it must be zero or more");
            }
        }
        Ok(())
    }

    /// Cations and anions: salt of the concentration, and what takes the charge of the solute away.
    fn counts(&self, placing: &Placing<'_>) -> Result<[usize; 2], MapError> {
        let (plus, minus) = (self.cation.charge, -self.anion.charge);
        let liters = if placing.waters.is_empty() {
            // 1 nm³ is 1e-24 L; a mol of them is this many liters.
            placing.volume() * 0.602_214_076
        } else {
            placing.waters.len() as f64 / WATER
        };
        // A formula unit has as many cations as the anion's charge has parts that both have in common, and conversely.
        let (units, part) = ((self.concentration * liters).round(), common(plus, minus));
        let mut counts = [units * minus / part, units * plus / part];
        if self.neutralize {
            let left = placing.solute_charge + counts[0] * plus - counts[1] * minus;
            let [own, other] = if left > 0.0 { [minus, plus] } else { [plus, minus] };
            let [more, rest] = counter_ions(left.abs(), own, other);
            let (own, other) = if left > 0.0 { (1, 0) } else { (0, 1) };
            counts[own] += more;
            counts[other] += rest;
        }
        if counts[0] + counts[1] > 1e6 {
            return Err(MapError::Setting {
                what: "a number of ions",
                value: counts[0] + counts[1],
                expected: "a million is the most",
            });
        }
        Ok(counts.map(|n| n.round() as usize))
    }
}

/// Counter-ions of charge `own` and, where they go over it, ions of charge `other` that take away a charge: as few as
/// leave nothing, or where nothing does, the nearest number of the first.
fn counter_ions(charge: f64, own: f64, other: f64) -> [f64; 2] {
    let least = (charge / own - 1e-6).ceil().max(0.0);
    let exact = (0..100).map(|more| least + f64::from(more)).find_map(|n| {
        let rest = (n * own - charge) / other;
        ((rest - rest.round()).abs() < 1e-3).then(|| [n, rest.round()])
    });
    exact.unwrap_or([(charge / own).round(), 0.0])
}

/// What the charges of a formula unit are divided by, so that CaCl₂ is one Ca and two Cl, and NaCl one of each.
fn common(plus: f64, minus: f64) -> f64 {
    let (mut a, mut b) = (plus.max(minus), plus.min(minus));
    // Euclid, also for fractions of a charge.
    for _ in 0..64 {
        if b < 1e-6 {
            return a;
        }
        (a, b) = (b, a - b * (a / b + 1e-9).floor());
    }
    1.0
}

/// Water molecules: places of their atoms. A molecule ends where the residue or the molecule's number changes, or a
/// second oxygen comes.
fn waters(atoms: &[Atom], is_water: &[bool]) -> Vec<Vec<usize>> {
    let mut waters: Vec<Vec<usize>> = Vec::new();
    let mut last: Option<(i64, &str, Option<i64>)> = None;
    for (i, atom) in atoms.iter().enumerate() {
        if !is_water[i] {
            last = None;
            continue;
        }
        let here = (atom.residue_number, atom.chain.as_str(), atom.molecule);
        let oxygen = |&i: &usize| atoms[i].element == "O";
        let full = atom.element == "O" && waters.last().is_some_and(|w| w.iter().any(oxygen));
        match waters.last_mut() {
            Some(molecule) if last == Some(here) && !full => molecule.push(i),
            _ => waters.push(vec![i]),
        }
        last = Some(here);
    }
    waters
}
