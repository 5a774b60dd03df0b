//! [`AnalysisKind`]: what an analysis is called, what can be set, and how it is made.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use debye_io::Registered;

use super::{Analysis, AnalysisError, Analyzed, Labels};
use crate::forces::ForceField;
use crate::system::{Cell, Constraints, Dimension, System, Units};

/// Makes an empty accumulator.
pub type BuildAnalysis = fn(&AnalysisRequest, &Subject) -> Result<Box<dyn Analysis>, AnalysisError>;

/// The description of a kind of analysis, for input files and for the command line.
pub struct AnalysisKind {
    /// Its `kind` in input files, and its command under `debye analyze`.
    pub name: &'static str,
    /// What it measures.
    pub about: &'static str,
    /// What can be set, in the order of the keys of input files.
    pub settings: &'static [Setting],
    /// How many frames it needs.
    pub fewest_frames: usize,
    /// An empty accumulator.
    pub build: BuildAnalysis,
    /// Refuses before a run begins what `build` cannot see and the first frame would show.
    pub check: fn(&AnalysisRequest, &Subject) -> Result<(), AnalysisError>,
}

impl Registered for AnalysisKind {
    fn registered_name(&self) -> &str {
        self.name
    }
}

/// Something that can be set.
#[derive(Clone, Copy, Debug)]
pub struct Setting {
    /// What the analysis calls it, and its flag on the command line: `r_max` is `--r-max`.
    pub name: &'static str,
    /// Its key in input files; `None` where only the command line has it.
    pub key: Option<&'static str>,
    /// The help of its flag; `None` where only input files have it.
    pub flag: Option<&'static str>,
    /// Its kind.
    pub kind: SettingKind,
}

impl Setting {
    /// The number of bins, 200 unless said.
    pub const BINS: Setting = Setting {
        name: "bins",
        key: Some("bins"),
        flag: Some("Bins"),
        kind: SettingKind::Count(200),
    };
    /// The species that a result by species is narrowed down to.
    pub const SPECIES: Setting = Setting {
        name: "species",
        key: Some("species"),
        flag: Some("Species that are shown [default: all]"),
        kind: SettingKind::Species,
    };
}

/// What kind of value a setting takes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum SettingKind {
    /// A whole number of at least 1; this one unless said.
    Count(usize),
    /// A positive quantity of this dimension, left to the analysis unless said.
    Quantity(Dimension),
    /// One of these names; the one in this place unless said.
    Choice(&'static [&'static str], usize),
    /// Two species; all particles unless said.
    Pair,
    /// Some species; all unless said.
    Species,
}

/// The value of a setting, in the units of the run.
#[derive(Clone, Debug, PartialEq)]
pub enum SettingValue {
    /// A whole number.
    Count(usize),
    /// A quantity, where it is given.
    Quantity(Option<f64>),
    /// The place of a name.
    Choice(usize),
    /// Two species, where they are given.
    Pair(Option<[u32; 2]>),
    /// Species; empty means all.
    Species(Vec<u32>),
}

/// What an analysis is made for.
#[derive(Clone, Debug)]
pub struct Subject {
    /// The system of units.
    pub units: Units,
    /// Units and species in words.
    pub labels: Labels,
    /// Electrons of a particle of each species; zero where not known.
    pub electrons: Arc<[f64]>,
    /// Species of the particles.
    pub species: Arc<[u32]>,
    /// Masses of the particles.
    pub masses: Arc<[f64]>,
    /// Charges of the particles.
    pub charges: Arc<[f64]>,
    /// Degrees of freedom of each particle's rotation; empty where nothing turns.
    pub rotations: Arc<[u8]>,
    /// Molecules of the particles.
    pub molecules: Arc<[u32]>,
    /// Bonded particles.
    pub bonds: Arc<[[u32; 2]]>,
    /// What holds distances.
    pub constraints: Arc<Constraints>,
    /// The cell at the beginning.
    pub cell: Cell,
    /// How far pairs are looked for unless said.
    pub reach: f64,
    /// The temperature that a thermostat keeps, where it is known.
    pub temperature: Option<f64>,
    /// The system and what acts in it, where that is known.
    pub model: Option<Arc<Model>>,
}

/// A system and what acts in it.
pub struct Model {
    /// Particles, topology, exclusions.
    pub system: System,
    /// What acts on them.
    pub forces: ForceField,
}

impl fmt::Debug for Model {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Model of {} particles", self.system.particles.len())
    }
}

impl Subject {
    /// Some of its particles, with the bonds between them; constraints are left out.
    #[must_use]
    pub fn of(&self, places: &[usize]) -> Self {
        let mut place_of = vec![None; self.species.len()];
        for (now, &then) in places.iter().enumerate() {
            place_of[then] = Some(now as u32);
        }
        let bond = |&[i, j]: &[u32; 2]| Some([place_of[i as usize]?, place_of[j as usize]?]);
        Self {
            species: places.iter().map(|&i| self.species[i]).collect(),
            masses: places.iter().map(|&i| self.masses[i]).collect(),
            charges: places.iter().map(|&i| self.charges[i]).collect(),
            rotations: places
                .iter()
                .filter_map(|&i| self.rotations.get(i).copied())
                .collect(),
            molecules: places.iter().map(|&i| self.molecules[i]).collect(),
            bonds: self.bonds.iter().filter_map(bond).collect(),
            constraints: Arc::default(),
            model: None,
            ..self.clone()
        }
    }

    /// Molecules in the order of their first particles: the particles of each.
    pub(super) fn particles_by_molecule(&self) -> Vec<Vec<u32>> {
        let mut places = HashMap::new();
        let mut members: Vec<Vec<u32>> = Vec::new();
        for (i, &molecule) in self.molecules.iter().enumerate() {
            let place = *places.entry(molecule).or_insert(members.len());
            if place == members.len() {
                members.push(Vec::new());
            }
            members[place].push(i as u32);
        }
        members
    }

    /// A system without a thermostat.
    pub fn new(system: &System, reach: f64) -> Self {
        let particles = &system.particles;
        Self {
            units: system.units,
            labels: Labels::new(system.units, &system.species),
            electrons: system.species.iter().map(|s| s.electrons).collect(),
            species: particles.species.clone().into(),
            masses: particles.masses.clone().into(),
            charges: particles.charges.clone().into(),
            rotations: particles
                .orientations
                .rotors
                .iter()
                .map(|r| r.class().rotations() as u8)
                .collect(),
            molecules: particles.molecules.clone().into(),
            bonds: system.topology.bonds.iter().map(|bond| bond.atoms).collect(),
            constraints: Arc::new(system.constraints.clone()),
            cell: system.cell,
            reach,
            temperature: None,
            model: None,
        }
    }
}

/// A kind of analysis and its settings.
#[derive(Clone)]
pub struct AnalysisRequest {
    kind: &'static AnalysisKind,
    /// In the order of the settings.
    values: Vec<SettingValue>,
}

impl AnalysisRequest {
    /// Asks for an analysis; `given` says the value of a setting, or `None` for the usual one.
    ///
    /// # Errors
    /// Those of `given`.
    pub fn new<E>(
        kind: &'static AnalysisKind,
        mut given: impl FnMut(&'static Setting) -> Result<Option<SettingValue>, E>,
    ) -> Result<Self, E> {
        let value = |setting: &'static Setting| {
            Ok(given(setting)?.unwrap_or(match setting.kind {
                SettingKind::Count(usual) => SettingValue::Count(usual),
                SettingKind::Quantity(_) => SettingValue::Quantity(None),
                SettingKind::Choice(_, usual) => SettingValue::Choice(usual),
                SettingKind::Pair => SettingValue::Pair(None),
                SettingKind::Species => SettingValue::Species(Vec::new()),
            }))
        };
        let values = kind.settings.iter().map(value).collect::<Result<_, E>>()?;
        Ok(Self { kind, values })
    }

    /// What is asked for.
    pub fn kind(&self) -> &'static AnalysisKind {
        self.kind
    }

    /// An empty accumulator.
    ///
    /// # Errors
    /// Settings that make no sense.
    pub fn build(&self, subject: &Subject) -> Result<Box<dyn Analysis>, AnalysisError> {
        (self.kind.build)(self, subject)
    }

    /// Refuses what cannot be measured.
    ///
    /// # Errors
    /// Settings that make no sense, alone or for this subject.
    pub fn check(&self, subject: &Subject) -> Result<(), AnalysisError> {
        self.build(subject)?;
        (self.kind.check)(self, subject)
    }

    /// A result without the species that were not asked for, given the names of all.
    pub fn narrow(&self, result: Analyzed, names: &[&str]) -> Analyzed {
        let species = match self.value(Setting::SPECIES.name) {
            Some(SettingValue::Species(some)) if !some.is_empty() => some,
            _ => return result,
        };
        let kept: Vec<&str> = species
            .iter()
            .filter_map(|&s| names.get(s as usize).copied())
            .collect();
        result.only(&kept, &[names, &["all"]].concat())
    }

    /// The value of a whole number.
    ///
    /// # Errors
    /// A setting that is not of this kind.
    pub fn count(&self, name: &'static str) -> Result<usize, AnalysisError> {
        match self.value(name) {
            Some(SettingValue::Count(count)) => Ok(*count),
            other => Err(self.other_kind(name, other, "a whole number")),
        }
    }

    /// The value of a quantity, where it is given.
    ///
    /// # Errors
    /// A setting that is not of this kind.
    pub fn quantity(&self, name: &'static str) -> Result<Option<f64>, AnalysisError> {
        match self.value(name) {
            Some(SettingValue::Quantity(quantity)) => Ok(*quantity),
            other => Err(self.other_kind(name, other, "a quantity")),
        }
    }

    /// Some species; empty where none are named.
    ///
    /// # Errors
    /// A setting that is not of this kind.
    pub fn species(&self, name: &'static str) -> Result<&[u32], AnalysisError> {
        match self.value(name) {
            Some(SettingValue::Species(species)) => Ok(species),
            other => Err(self.other_kind(name, other, "some species")),
        }
    }

    /// The place of the name that was chosen.
    ///
    /// # Errors
    /// A setting that is not of this kind.
    pub fn choice(&self, name: &'static str) -> Result<usize, AnalysisError> {
        match self.value(name) {
            Some(SettingValue::Choice(place)) => Ok(*place),
            other => Err(self.other_kind(name, other, "a choice")),
        }
    }

    /// Two species, where they are given.
    ///
    /// # Errors
    /// A setting that is not of this kind.
    pub fn pair(&self, name: &'static str) -> Result<Option<[u32; 2]>, AnalysisError> {
        match self.value(name) {
            Some(SettingValue::Pair(pair)) => Ok(*pair),
            other => Err(self.other_kind(name, other, "two species")),
        }
    }

    fn value(&self, name: &str) -> Option<&SettingValue> {
        let place = self.kind.settings.iter().position(|s| s.name == name)?;
        self.values.get(place)
    }

    fn other_kind(&self, name: &'static str, value: Option<&SettingValue>, expected: &str) -> AnalysisError {
        AnalysisError::Setting {
            analysis: self.kind.name,
            setting: name,
            value: format!("{value:?}"),
            expected: expected.into(),
        }
    }
}

/// What input files can say, by its key: `Rdf { bins: 200, r_max: None, pair: None }`. Checkpoints hold a sum of this
/// text, so it must not change.
impl fmt::Debug for AnalysisRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let all = self.kind.settings.iter().zip(&self.values);
        // Species that a setting of a later version may name say nothing while it names none.
        let silent = |s: &Setting, v: &SettingValue| {
            s.name != Setting::SPECIES.name && *v == SettingValue::Species(Vec::new())
        };
        let all = all.filter(|(s, v)| !silent(s, v));
        let mut keyed: Vec<_> = all.filter_map(|(s, v)| Some((s.key?, s.name, v))).collect();
        keyed.sort_by_key(|(key, ..)| *key);
        let mut letters = self.kind.name.chars();
        let first = letters.next().into_iter().flat_map(char::to_uppercase);
        let mut text = f.debug_struct(&first.chain(letters).collect::<String>());
        for (_, name, value) in keyed {
            let value: &dyn fmt::Debug = match value {
                SettingValue::Count(number) | SettingValue::Choice(number) => number,
                SettingValue::Quantity(quantity) => quantity,
                SettingValue::Pair(pair) => pair,
                SettingValue::Species(species) => species,
            };
            text.field(name, value);
        }
        text.finish()
    }
}

impl PartialEq for AnalysisRequest {
    fn eq(&self, other: &Self) -> bool {
        self.kind.name == other.kind.name && self.values == other.values
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::ANALYSES;
    use crate::system::{Species, Units};

    /// Texts whose sums are in checkpoints.
    #[test]
    fn texts_of_requests_stay() {
        let usual = [
            "Rdf { bins: 200, r_max: None, pair: None }",
            "Msd { species: [] }",
            "Density { axis: 2, bins: 200, species: [] }",
            "Vacf { lags: 200, species: [] }",
        ];
        let given = [
            "Rdf { bins: 7, r_max: Some(1.5), pair: Some([0, 1]) }",
            "Msd { species: [1] }",
            "Density { axis: 0, bins: 7, center: [1], species: [1] }",
            "Vacf { lags: 7, species: [1] }",
        ];
        for (kind, (usual, given)) in ANALYSES.iter().zip(usual.iter().zip(given)) {
            let request = AnalysisRequest::new(kind, |_| Ok::<_, ()>(None)).unwrap();
            assert_eq!(format!("{request:?}"), *usual);
            let value = |setting: &'static Setting| match setting.kind {
                SettingKind::Count(_) => SettingValue::Count(7),
                SettingKind::Quantity(_) => SettingValue::Quantity(Some(1.5)),
                SettingKind::Choice(..) => SettingValue::Choice(0),
                SettingKind::Pair => SettingValue::Pair(Some([0, 1])),
                SettingKind::Species => SettingValue::Species(vec![1]),
            };
            let request = AnalysisRequest::new(kind, |s| Ok::<_, ()>(Some(value(s)))).unwrap();
            assert_eq!(format!("{request:?}"), given);
        }
    }

    #[test]
    fn every_kind_is_made_from_what_is_usual() {
        let beads = [Species::point("P", 40.0, 0.0), Species::point("T", 40.0, 0.0)];
        let subject = Subject {
            units: Units::Md,
            labels: Labels::new(Units::Md, &beads),
            electrons: [0.0; 2].into(),
            species: [0, 1].into(),
            masses: [40.0; 2].into(),
            charges: [0.0; 2].into(),
            rotations: [].into(),
            molecules: [0; 2].into(),
            bonds: [[0, 1]].into(),
            constraints: Arc::default(),
            cell: Cell::orthorhombic([2.0; 3]).unwrap(),
            reach: 1.0,
            temperature: None,
            model: None,
        };
        // Only what heads lipids have, and what acts on them, cannot be guessed.
        let heads = |setting: &Setting| (setting.name == "heads").then(|| SettingValue::Species(vec![0]));
        for kind in ANALYSES.iter().filter(|kind| kind.name != "pressure-profile") {
            let request = AnalysisRequest::new(kind, |s| Ok::<_, ()>(heads(s))).unwrap();
            request.check(&subject).unwrap();
            assert!(request.build(&subject).unwrap().name().starts_with(kind.name));
        }
    }
}
