//! Element symbols, and guesses where a file has names only.

#[rustfmt::skip]
const SYMBOLS: [&str; 118] = [
    "H", "He", "Li", "Be", "B", "C", "N", "O", "F", "Ne", "Na", "Mg", "Al", "Si", "P", "S", "Cl", "Ar", "K", "Ca",
    "Sc", "Ti", "V", "Cr", "Mn", "Fe", "Co", "Ni", "Cu", "Zn", "Ga", "Ge", "As", "Se", "Br", "Kr", "Rb", "Sr", "Y",
    "Zr", "Nb", "Mo", "Tc", "Ru", "Rh", "Pd", "Ag", "Cd", "In", "Sn", "Sb", "Te", "I", "Xe", "Cs", "Ba", "La", "Ce",
    "Pr", "Nd", "Pm", "Sm", "Eu", "Gd", "Tb", "Dy", "Ho", "Er", "Tm", "Yb", "Lu", "Hf", "Ta", "W", "Re", "Os", "Ir",
    "Pt", "Au", "Hg", "Tl", "Pb", "Bi", "Po", "At", "Rn", "Fr", "Ra", "Ac", "Th", "Pa", "U", "Np", "Pu", "Am", "Cm",
    "Bk", "Cf", "Es", "Fm", "Md", "No", "Lr", "Rf", "Db", "Sg", "Bh", "Hs", "Mt", "Ds", "Rg", "Cn", "Nh", "Fl", "Mc",
    "Lv", "Ts", "Og",
];

/// Two-letter symbols that open no usual name of a carbon, hydrogen, nitrogen … atom.
const UNMISTAKABLE: [&str; 14] = [
    "Cl", "Br", "Mg", "Zn", "Fe", "Li", "Rb", "Mn", "Cu", "Ar", "Kr", "Xe", "Si", "Al",
];

/// Ion names of the CHARMM force field.
const CHARMM_IONS: [(&str, &str); 5] = [
    ("SOD", "Na"),
    ("POT", "K"),
    ("CLA", "Cl"),
    ("CAL", "Ca"),
    ("CES", "Cs"),
];

/// The symbol that `text` spells in any case, or nothing.
pub(crate) fn symbol(text: &str) -> Option<&'static str> {
    SYMBOLS
        .iter()
        .find(|symbol| symbol.eq_ignore_ascii_case(text))
        .copied()
}

/// The element that the name of an atom stands for: `Na` of `NA`, `O` of `OW`; nothing where it is not known.
///
/// ```
/// assert_eq!(debye_io::element_of("HW1"), Some("H"));
/// ```
pub fn element_of(name: &str) -> Option<&'static str> {
    symbol(name).or(Some(guess(name, name)).filter(|symbol| !symbol.is_empty()))
}

/// The atomic number of an element's symbol, in any case.
///
/// ```
/// assert_eq!(debye_io::atomic_number("Na"), Some(11));
/// ```
pub fn atomic_number(symbol: &str) -> Option<u32> {
    let place = SYMBOLS.iter().position(|s| s.eq_ignore_ascii_case(symbol))?;
    Some(place as u32 + 1)
}

/// The symbol of atomic number `number`.
pub(crate) fn by_number(number: i64) -> Option<&'static str> {
    let index = usize::try_from(number).ok()?.checked_sub(1)?;
    SYMBOLS.get(index).copied()
}

/// A guess from the names of the atom and of its residue; empty where there is none.
pub(crate) fn guess(name: &str, residue: &str) -> &'static str {
    if let Some((_, ion)) = CHARMM_IONS.iter().find(|(ion, _)| ion.eq_ignore_ascii_case(name)) {
        return ion;
    }
    let letters = |text: &str| -> String {
        text.chars()
            .skip_while(|c| !c.is_ascii_alphabetic())
            .take_while(char::is_ascii_alphabetic)
            .collect()
    };
    let (name, residue) = (letters(name), letters(residue));
    // `NA` in residue `NA` is sodium, in a haem it is a nitrogen.
    let stands_alone = residue.is_empty() || name.eq_ignore_ascii_case(&residue);
    let first_two = name.get(..2).and_then(symbol);
    match first_two {
        Some(two) if (stands_alone && name.len() == 2) || UNMISTAKABLE.contains(&two) => two,
        _ => name.get(..1).and_then(symbol).unwrap_or(""),
    }
}

/// A guess from the four name columns of a PDB file, in which the symbol is right-aligned in the
/// first two.
pub(crate) fn guess_from_pdb_columns(columns: &str, residue: &str) -> &'static str {
    let aligned = columns.len() == 4 && columns.is_ascii();
    let two = columns.get(..2).unwrap_or("");
    if aligned && two.bytes().all(|b| b.is_ascii_alphabetic()) {
        // Hydrogens with four letters (HG11) fill the column of the symbol, and files that do not
        // align write CA of alanine at the left edge too.
        let full = !columns.ends_with(' ');
        let organic = two.starts_with(['C', 'N', 'O', 'H', 'S', 'P']);
        let misleading = (full && two.starts_with('H')) || (organic && is_polymer(residue));
        if let (false, Some(found)) = (misleading, symbol(two)) {
            return found;
        }
    }
    if aligned && two.starts_with(' ') {
        let first = columns.trim_start().get(..1).and_then(symbol);
        return first.unwrap_or("");
    }
    guess(columns.trim(), residue)
}

fn is_polymer(residue: &str) -> bool {
    #[rustfmt::skip]
    const RESIDUES: [&str; 31] = [
        "ALA", "ARG", "ASN", "ASP", "CYS", "GLN", "GLU", "GLY", "HIS", "ILE", "LEU", "LYS", "MET", "PHE", "PRO", "SER",
        "THR", "TRP", "TYR", "VAL", "MSE", "A", "C", "G", "U", "DA", "DC", "DG", "DT", "HID", "HIE",
    ];
    RESIDUES.contains(&residue)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn guesses() {
        for (name, residue, element) in [
            ("CA", "ALA", "C"),
            ("CA", "CA", "Ca"),
            ("NA", "HEM", "N"),
            ("NA", "NA", "Na"),
            ("OW", "SOL", "O"),
            ("HW1", "SOL", "H"),
            ("1HB", "LEU", "H"),
            ("CL", "LIG", "Cl"),
            ("SOD", "SOD", "Na"),
            ("W", "W", "W"),
            ("12", "", ""),
            ("é", "é", ""),
        ] {
            assert_eq!(guess(name, residue), element, "{name} {residue}");
        }
        for (columns, residue, element) in [
            (" CA ", "GLY", "C"),
            ("CA  ", "CA", "Ca"),
            ("CA  ", "GLY", "C"),
            ("HG11", "VAL", "H"),
            ("FE  ", "HEM", "Fe"),
            ("1HB ", "ALA", "H"),
        ] {
            assert_eq!(
                guess_from_pdb_columns(columns, residue),
                element,
                "{columns} {residue}"
            );
        }
    }
}
