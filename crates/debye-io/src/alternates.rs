//! Alternate locations: of several positions of one atom, that with the highest occupancy is taken.

use std::collections::HashMap;

/// Where an atom belongs, as the file writes it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Site<'t> {
    /// Chain.
    pub(crate) chain: &'t str,
    /// Number of the residue with its insertion code.
    pub(crate) number: &'t str,
    /// Name of the residue.
    pub(crate) residue: &'t str,
    /// Name of the atom.
    pub(crate) name: &'t str,
}

/// An atom with an alternate location.
struct Place {
    index: usize,
    label: String,
    residue: String,
    occupancy: f64,
}

/// The places of one atom.
struct Group {
    chain_and_number: (String, String),
    places: Vec<Place>,
}

/// The atoms of one model that have alternate locations.
#[derive(Default)]
pub(crate) struct Alternates {
    groups: Vec<Group>,
    /// The group of a chain, a residue number and a name.
    known: HashMap<(String, String, String), usize>,
}

impl Alternates {
    /// Takes notice of atom `index`, whose location has the label `label`.
    pub(crate) fn note(&mut self, index: usize, label: &str, site: Site, occupancy: f64) {
        let (chain, number) = (site.chain.to_owned(), site.number.to_owned());
        let key = (chain.clone(), number.clone(), site.name.to_owned());
        let known = self.known.get(&key).copied();
        // Residue numbers wrap around: the same label again belongs to another residue.
        let group = known.filter(|at| self.groups[*at].places.iter().all(|place| place.label != label));
        let group = group.unwrap_or_else(|| {
            let chain_and_number = (chain, number);
            self.known.insert(key, self.groups.len());
            self.groups.push(Group {
                chain_and_number,
                places: Vec::new(),
            });
            self.groups.len() - 1
        });
        self.groups[group].places.push(Place {
            index,
            label: label.to_owned(),
            residue: site.residue.to_owned(),
            occupancy,
        });
    }

    /// The atoms to leave out, in ascending order; the first of equal occupancy stays.
    ///
    /// Where different residues share a number, only atoms of that with the highest occupancy stay.
    pub(crate) fn left_out(&self) -> Vec<usize> {
        let mut out = Vec::new();
        let mut kept: Vec<(&Group, &Place)> = Vec::new();
        for group in &self.groups {
            let Some(best) = group.best() else { continue };
            for place in &group.places {
                if group.is_one_atom() && place.index != best.index {
                    out.push(place.index);
                } else {
                    kept.push((group, place));
                }
            }
        }
        let mut residues: HashMap<&(String, String), &Place> = HashMap::new();
        for (group, place) in &kept {
            let best = residues.entry(&group.chain_and_number).or_insert(place);
            if place.occupancy > best.occupancy {
                *best = place;
            }
        }
        let strangers = kept.iter().filter(|(group, place)| {
            let best = residues.get(&group.chain_and_number);
            best.is_some_and(|best| best.residue != place.residue && best.label != place.label)
        });
        out.extend(strangers.map(|(_, place)| place.index));
        out.sort_unstable();
        out
    }
}

impl Group {
    fn best(&self) -> Option<&Place> {
        let better = |best: &&Place, place: &&Place| place.occupancy > best.occupancy;
        self.places
            .iter()
            .reduce(|best, place| if better(&best, &place) { place } else { best })
    }

    /// Whether the places are those of one atom. Digits may also be the end of a long name (`C1011`):
    /// they are labels only where the occupancies are those of one atom.
    fn is_one_atom(&self) -> bool {
        let letters = self
            .places
            .iter()
            .all(|place| place.label.chars().all(char::is_alphabetic));
        let whole = self.places.iter().map(|place| place.occupancy).sum::<f64>() <= 1.05;
        letters || whole
    }
}

/// `rows` without those of the ascending indices `left_out`.
pub(crate) fn remove<T>(rows: &mut Vec<T>, left_out: &[usize]) {
    let (mut at, mut next) = (0, left_out.iter().peekable());
    rows.retain(|_| {
        let gone = next.next_if(|index| **index == at).is_some();
        at += 1;
        !gone
    });
}

/// What a reader says about the atoms it left out.
pub(crate) fn warning(file: &str, count: usize) -> String {
    format!(
        "{file}: {count} alternate locations of atoms are left out; that with the highest occupancy is taken, the \
         first where they are equal"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn choose(atoms: &[(&str, &str, &str, &str, f64)]) -> Vec<usize> {
        let mut alternates = Alternates::default();
        for (index, (label, number, residue, name, occupancy)) in atoms.iter().enumerate() {
            let site = Site {
                chain: "A",
                number,
                residue,
                name,
            };
            alternates.note(index, label, site, *occupancy);
        }
        alternates.left_out()
    }

    #[test]
    fn highest_occupancy_then_the_first() {
        assert_eq!(
            choose(&[("A", "1", "SER", "CB", 0.4), ("B", "1", "SER", "CB", 0.6)]),
            [0]
        );
        assert_eq!(
            choose(&[("A", "1", "SER", "CB", 0.5), ("B", "1", "SER", "CB", 0.5)]),
            [1]
        );
        // One location only, and a residue number that comes again.
        assert!(choose(&[("A", "1", "SER", "CB", 0.5)]).is_empty());
        assert!(choose(&[("A", "1", "SER", "CB", 0.5), ("A", "1", "SER", "CB", 0.5)]).is_empty());
    }

    #[test]
    fn different_residues_at_one_place() {
        let atoms = [
            ("A", "1", "SER", "CB", 0.4),
            ("A", "1", "SER", "OG", 0.4),
            ("B", "1", "ALA", "CB", 0.6),
        ];
        assert_eq!(choose(&atoms), [0, 1]);
    }

    #[test]
    fn ends_of_long_names_are_no_labels() {
        assert!(choose(&[("1", "1", "LIP", "C101", 1.0), ("2", "1", "LIP", "C101", 1.0)]).is_empty());
        assert_eq!(
            choose(&[("1", "1", "SER", "CB", 0.5), ("2", "1", "SER", "CB", 0.5)]),
            [1]
        );
    }

    #[test]
    fn rows_are_removed() {
        let mut rows = vec![0, 1, 2, 3, 4];
        remove(&mut rows, &[0, 3]);
        assert_eq!(rows, [1, 2, 4]);
    }
}
