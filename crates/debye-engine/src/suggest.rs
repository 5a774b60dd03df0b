//! What was probably meant: the known name most like an unknown one.

/// What other programs call things.
const ALIASES: &[(&str, &str)] = &[
    ("lj", "lennard-jones"),
    ("lj-cut", "lennard-jones"),
    ("12-6", "lennard-jones"),
    ("coul", "coulomb"),
    ("reaction-field", "coulomb-reaction-field"),
    ("harmonic", "harmonic-bond"),
    ("fene", "fene-bond"),
    ("nvt", "bussi"),
    ("npt", "bussi"),
    ("v-rescale", "bussi"),
    ("csvr", "bussi"),
    ("c-rescale", "cell-rescale"),
    ("scr", "cell-rescale"),
    ("verlet", "velocity-verlet"),
    ("md", "velocity-verlet"),
    ("sd", "langevin"),
    ("gpu", "cuda"),
    ("float", "single"),
    ("f32", "single"),
    ("f64", "double"),
    ("arithmetic", "lorentz-berthelot"),
    ("potential-shift", "shift"),
    ("force-switch", "force-shift"),
    ("xplor", "switch"),
    ("real", "md"),
    ("metal", "md"),
    ("si", "md"),
    ("reduced", "lj"),
];

/// The candidate that looks most like `name`, if one does, or is another program's word for it.
pub fn nearest<'a>(name: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let plain = |s: &str| s.to_lowercase().replace(['_', ' '], "-");
    // The distance of two long texts costs the product of their lengths.
    if name.len() > 64 {
        return None;
    }
    let name = plain(name);
    let alias = ALIASES
        .iter()
        .find(|(word, _)| *word == name)
        .map(|(_, ours)| *ours);
    let mut best: Option<(usize, f64, &str)> = None;
    for candidate in candidates {
        if alias == Some(candidate) {
            return Some(candidate);
        }
        let other = plain(candidate);
        let distance = strsim::damerau_levenshtein(&name, &other);
        let longer = name.chars().count().max(other.chars().count());
        // Among equally distant ones, the one that begins alike: `fc` is `fcc` and not `sc`.
        let alike = strsim::jaro_winkler(&name, &other);
        let better = best.is_none_or(|(d, a, _)| (distance, -alike) < (d, -a));
        if distance <= 1.max(longer * 2 / 5) && better {
            best = Some((distance, alike, candidate));
        }
    }
    best.map(|(_, _, candidate)| candidate)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn near_names() {
        let names = ["lennard-jones", "buckingham", "morse"];
        assert_eq!(nearest("lenard-jones", names), Some("lennard-jones"));
        assert_eq!(nearest("Lennard_Jones", names), Some("lennard-jones"));
        assert_eq!(nearest("LJ", names), Some("lennard-jones"));
        assert_eq!(nearest("coulomb", names), None);
    }
}
