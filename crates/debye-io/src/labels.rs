//! [`AtomLabels`]: what structure files call the atoms, kept in little memory.

use std::collections::HashMap;

use crate::structure::Atom;

/// Names, elements, residues and chains of atoms. Texts are stored once.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct AtomLabels {
    texts: Vec<String>,
    atoms: Vec<Option<Label>>,
}

/// Places in the list of texts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Label {
    name: u32,
    element: u32,
    residue: u32,
    chain: u32,
    insertion: u32,
    hetero: bool,
    residue_number: i64,
}

impl AtomLabels {
    /// The labels of these atoms.
    pub fn new<'a>(atoms: impl IntoIterator<Item = &'a Atom>) -> Self {
        let mut labels = AtomLabels::default();
        let mut places: HashMap<String, u32> = HashMap::new();
        for atom in atoms {
            let mut place = |text: &str| {
                if let Some(&place) = places.get(text) {
                    return place;
                }
                let place = labels.texts.len() as u32;
                labels.texts.push(text.to_owned());
                places.insert(text.to_owned(), place);
                place
            };
            let label = Label {
                name: place(&atom.name),
                element: place(&atom.element),
                residue: place(&atom.residue),
                chain: place(&atom.chain),
                insertion: place(&atom.insertion),
                hetero: atom.hetero,
                residue_number: atom.residue_number,
            };
            labels.atoms.push(Some(label));
        }
        labels
    }

    /// Whether no atom has one.
    pub fn is_empty(&self) -> bool {
        self.atoms.is_empty()
    }

    /// Puts the labels of atom `index` into `atom`; `false` where it has none.
    pub fn apply(&self, index: usize, atom: &mut Atom) -> bool {
        let Some(Some(label)) = self.atoms.get(index) else {
            return false;
        };
        let text = |place: u32| self.texts[place as usize].clone();
        atom.name = text(label.name);
        atom.element = text(label.element);
        atom.residue = text(label.residue);
        atom.chain = text(label.chain);
        atom.insertion = text(label.insertion);
        atom.hetero = label.hetero;
        atom.residue_number = label.residue_number;
        true
    }

    /// The labels of `copies` of `count` atoms one after another. Residues are numbered on from copy to copy, so that no
    /// two of a chain have the same number.
    pub fn repeated(&self, count: usize, copies: usize) -> Self {
        if self.is_empty() {
            return self.clone();
        }
        let numbers = || self.atoms.iter().flatten().map(|label| label.residue_number);
        let span = match (numbers().min(), numbers().max()) {
            (Some(low), Some(high)) => high.saturating_sub(low).saturating_add(1),
            _ => 0,
        };
        let of = |copy: usize, i: usize| {
            let label = self.atoms.get(i).copied().flatten()?;
            let shift = span.saturating_mul(copy as i64);
            Some(Label {
                residue_number: label.residue_number.saturating_add(shift),
                ..label
            })
        };
        AtomLabels {
            texts: self.texts.clone(),
            atoms: (0..copies)
                .flat_map(|copy| (0..count).map(move |i| of(copy, i)))
                .collect(),
        }
    }

    pub(crate) fn encode(&self, w: &mut crate::codec::Writer) {
        w.u64(self.texts.len() as u64);
        self.texts.iter().for_each(|text| w.text(text));
        w.u64(self.atoms.len() as u64);
        for label in &self.atoms {
            let places = label.map_or([u32::MAX; 5], |l| {
                [l.name, l.element, l.residue, l.chain, l.insertion]
            });
            w.u32s(&places);
            w.u64(label.map_or(0, |l| u64::from(l.hetero)));
            w.u64(label.map_or(0, |l| l.residue_number).cast_unsigned());
        }
    }

    pub(crate) fn decode(r: &mut crate::codec::Reader) -> Result<Self, crate::codec::CodecError> {
        let mut texts = Vec::new();
        for _ in 0..r.u64()? {
            texts.push(r.text()?);
        }
        let mut atoms = Vec::new();
        for _ in 0..r.u64()? {
            let places = r.u32s()?;
            let hetero = r.u64()? != 0;
            let residue_number = r.u64()?.cast_signed();
            let known = |place: &u32| (*place as usize) < texts.len();
            atoms.push(match places[..] {
                [u32::MAX, u32::MAX, u32::MAX, u32::MAX, u32::MAX] => None,
                [name, element, residue, chain, insertion] if places.iter().all(known) => Some(Label {
                    name,
                    element,
                    residue,
                    chain,
                    insertion,
                    hetero,
                    residue_number,
                }),
                _ => {
                    return Err(crate::codec::CodecError(
                        "a label that names no text of its list".into(),
                    ));
                }
            });
        }
        Ok(AtomLabels { texts, atoms })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn copies_number_residues_on() {
        let atom = |name: &str, residue_number| Atom {
            name: name.into(),
            residue: "HOH".into(),
            residue_number,
            ..Atom::default()
        };
        let labels = AtomLabels::new(&[atom("OW", 5), atom("HW1", 5), atom("OW", 6)]);
        let twice = labels.repeated(4, 2);
        let mut found = Atom::default();
        assert!(twice.apply(4, &mut found));
        assert_eq!((found.name.as_str(), found.residue_number), ("OW", 7));
        assert!(!twice.apply(3, &mut found), "the fourth atom has no label");
    }
}
