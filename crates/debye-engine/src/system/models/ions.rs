//! Alkali and halide ions.

use super::Site;

/// Ions fitted together, in one water.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct IonSet {
    /// Its name in input files.
    pub name: &'static str,
    /// The water it was made for.
    pub water: &'static str,
    /// Who published it.
    pub citation: &'static str,
    /// The ions.
    pub ions: &'static [Site],
}

impl IonSet {
    /// The ion of an element: `Na`, or `Na+`.
    pub fn ion(&self, name: &str) -> Option<&'static Site> {
        self.ions
            .iter()
            .find(|ion| ion.name == name || ion.element() == name)
    }

    /// Cation and anion of a salt of two elements: `NaCl`.
    pub fn salt(&self, formula: &str) -> Option<[&'static Site; 2]> {
        let of = |sign: f64| self.ions.iter().filter(move |ion| ion.charge * sign > 0.0);
        of(1.0)
            .flat_map(|cation| of(-1.0).map(move |anion| [cation, anion]))
            .find(|[cation, anion]| formula == format!("{}{}", cation.element(), anion.element()))
    }
}

const CITATION: &str = "Joung & Cheatham, J. Phys. Chem. B 112, 9020 (2008)";

/// σ = 2·(R_min/2)/2^⅙.
const SIGMA_OF_RADIUS: f64 = 1.781_797_436_280_678_5;
const NM_PER_ANGSTROM: f64 = 0.1;
const KJ_PER_KCAL: f64 = 4.184;

/// An ion from R_min/2 in Å and ε in kcal/mol, as they were published.
const fn ion(name: &'static str, mass: f64, charge: f64, radius: f64, epsilon: f64) -> Site {
    Site {
        name,
        mass,
        charge,
        sigma: radius * NM_PER_ANGSTROM * SIGMA_OF_RADIUS,
        epsilon: epsilon * KJ_PER_KCAL,
    }
}

/// All sets of ions.
///
/// R_min/2 and ε as in a public table of all three sets of the paper, which agree, ion by ion and to every digit, with σ
/// and ε in OpenMM's `amber14/spce.xml` and `amber14/tip3p.xml` (made from AmberTools' `frcmod.ionsjc_spce` and
/// `frcmod.ionsjc_tip3p`) and in OpenMD's `JoungCheathamIons12-6.SPCE.frc` and `.TIP3P.frc` (which rounds σ of I⁻ in TIP3P
/// to 5.096 Å). The tests hold them to both. The third set of the paper is for TIP4P-Ew, which has four sites.
pub static IONS: &[IonSet] = &[
    IonSet {
        name: "joung-cheatham-tip3p",
        water: "tip3p",
        citation: CITATION,
        ions: &[
            ion("Li+", 6.94, 1.0, 1.025, 0.027_989_6),
            ion("Na+", 22.990, 1.0, 1.369, 0.087_439_3),
            ion("K+", 39.098, 1.0, 1.705, 0.193_682_9),
            ion("Rb+", 85.468, 1.0, 1.813, 0.327_821_9),
            ion("Cs+", 132.905, 1.0, 1.976, 0.406_539_4),
            ion("F-", 18.998, -1.0, 2.303, 0.003_364_0),
            ion("Cl-", 35.45, -1.0, 2.513, 0.035_591_0),
            ion("Br-", 79.904, -1.0, 2.608, 0.058_655_4),
            ion("I-", 126.904, -1.0, 2.860, 0.053_681_6),
        ],
    },
    IonSet {
        name: "joung-cheatham-spce",
        water: "spce",
        citation: CITATION,
        ions: &[
            ion("Li+", 6.94, 1.0, 0.791, 0.336_734_4),
            ion("Na+", 22.990, 1.0, 1.212, 0.352_641_8),
            ion("K+", 39.098, 1.0, 1.593, 0.429_705_4),
            ion("Rb+", 85.468, 1.0, 1.737, 0.445_103_6),
            ion("Cs+", 132.905, 1.0, 2.021, 0.089_856_5),
            ion("F-", 18.998, -1.0, 2.257, 0.007_400_5),
            ion("Cl-", 35.45, -1.0, 2.711, 0.012_785_0),
            ion("Br-", 79.904, -1.0, 2.751, 0.026_958_6),
            ion("I-", 126.904, -1.0, 2.919, 0.042_784_5),
        ],
    },
];

#[cfg(test)]
mod tests {
    use super::super::ions;

    /// σ/nm and ε/(kJ/mol) of OpenMM, σ/Å and ε/(kcal/mol) of OpenMD, in the order of the sets.
    type Row = (&'static str, f64, f64, f64, f64);

    #[rustfmt::skip]
    const TIP3P: [Row; 9] = [
        ("Li+", 0.18263423721876956, 0.1171084864, 1.8263423721877, 0.0279896),
        ("Na+", 0.2439280690268249, 0.3658460312, 2.43928069026825, 0.0874393),
        ("K+", 0.3037964628858557, 0.8103692536, 3.03796462885856, 0.1936829),
        ("Rb+", 0.32303987519768707, 1.3716068296, 3.23039875197687, 0.3278219),
        ("Cs+", 0.3520831734090621, 1.7009608496, 3.52083173409062, 0.4065394),
        ("F-", 0.4103479495754403, 0.014074976, 4.1034794957544, 0.0033640),
        ("Cl-", 0.4477656957373345, 0.148912744, 4.47765695737335, 0.0355910),
        ("Br-", 0.46469277138200105, 0.2454141936, 4.64692771382001, 0.0586554),
        ("I-", 0.5095940667762741, 0.2246038144, 5.096, 0.0536816),
    ];
    #[rustfmt::skip]
    const SPCE: [Row; 9] = [
        ("Li+", 0.14094017720980168, 1.4088967296, 1.40940177209802, 0.3367344),
        ("Na+", 0.21595384927721822, 1.4754532912, 2.15953849277218, 0.3526418),
        ("K+", 0.2838403315995121, 1.7978873936, 2.83840331599512, 0.4297054),
        ("Rb+", 0.3094982146819539, 1.8623134624, 3.09498214681954, 0.4451036),
        ("Cs+", 0.36010126187232516, 0.375959596, 3.60101261872325, 0.0898565),
        ("F-", 0.4021516813685492, 0.030963692, 4.02151681368549, 0.0074005),
        ("Cl-", 0.48304528497569194, 0.05349244, 4.83045284975692, 0.0127850),
        ("Br-", 0.4901724747208147, 0.1127947824, 4.90172474720815, 0.0269586),
        ("I-", 0.5201066716503301, 0.179010348, 5.2010667165033, 0.0427845),
    ];

    #[test]
    fn two_other_files_agree() {
        for (set, rows) in [("joung-cheatham-tip3p", TIP3P), ("joung-cheatham-spce", SPCE)] {
            let set = ions(set).unwrap();
            assert_eq!(set.ions.len(), rows.len());
            for (ion, (name, sigma, epsilon, angstroms, kilocalories)) in set.ions.iter().zip(rows) {
                assert_eq!(ion.name, name);
                assert!((ion.sigma / sigma - 1.0).abs() < 1e-12, "{name} {}", ion.sigma);
                assert!((ion.epsilon / epsilon - 1.0).abs() < 1e-12, "{name}");
                // OpenMD rounds one of them to a thousandth of an ångström.
                assert!((ion.sigma * 10.0 - angstroms).abs() < 1e-4, "{name}");
                assert!((ion.epsilon / 4.184 / kilocalories - 1.0).abs() < 1e-12, "{name}");
                let sign = if name.ends_with('+') { 1.0 } else { -1.0 };
                assert_eq!(ion.charge, sign);
            }
        }
    }

    #[test]
    fn salts_by_their_formula() {
        let set = ions("joung-cheatham-spce").unwrap();
        let salt = |formula| set.salt(formula).map(|pair| pair.map(|ion| ion.name));
        assert_eq!(salt("NaCl"), Some(["Na+", "Cl-"]));
        assert_eq!(salt("CsI"), Some(["Cs+", "I-"]));
        for wrong in ["", "Na", "ClNa", "NaCl2", "nacl", "NaNa"] {
            assert_eq!(salt(wrong), None, "{wrong}");
        }
        assert_eq!(set.ion("K"), set.ion("K+"));
        assert_eq!(set.ion("K-"), None);
    }
}
