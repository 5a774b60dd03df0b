//! The bodies of the fuzz targets as ordinary tests: made-up bytes, made-up text of the words the
//! formats know, and valid files with damage done to them.

#[path = "../../../../fuzz/bodies.rs"]
mod bodies;

use debye_io::Format;
use proptest::prelude::*;

use crate::samples::{self, later, system, written};
use crate::volumes;

type Body = fn(&[u8]);

const BODIES: [(&str, Body); 13] = [
    ("gro", bodies::gro),
    ("pdb", bodies::pdb),
    ("xyz", bodies::xyz),
    ("pqr", bodies::pqr),
    ("dcd", bodies::dcd),
    ("xtc", bodies::xtc),
    ("lammps", bodies::lammps),
    ("trr", bodies::trr),
    ("mmcif", bodies::mmcif),
    ("lammpstrj", bodies::lammpstrj),
    ("compressed", bodies::compressed),
    ("dx", bodies::dx),
    ("npy", bodies::npy),
];

fn run(name: &str, data: &[u8]) {
    for (_, body) in BODIES.iter().filter(|(known, _)| *known == name) {
        body(data);
    }
}

/// Valid files to start damage from.
#[allow(clippy::unwrap_used)]
fn seeds(name: &str) -> Vec<Vec<u8>> {
    match name {
        "mmcif" => return vec![samples::CIF.into()],
        "dx" => return volumes::dx_seeds(),
        "npy" => return volumes::npy_seeds(),
        "lammpstrj" => return vec![samples::DUMP.into()],
        "compressed" => {
            let packed = [samples::GZIP, samples::BZIP2, samples::XZ, samples::ZSTD];
            return packed.map(<[u8]>::to_vec).to_vec();
        }
        "trr" => {
            let (_, frame) = system(5, Format::TRR.length_unit());
            let frames = [frame.clone(), later(&frame, 10)];
            return vec![samples::trr(&frames, false), samples::trr(&frames, true)];
        }
        _ => {}
    }
    if name == "lammps" {
        let lipid = "t\n\n1 atoms\n1 bonds\n0 1 xlo xhi\n0 1 ylo yhi\n0 1 zlo zhi\n\nAtoms\n\n1 2 0.1 0.2 0.3 7 0.7 0 0 0.5 5.4 1.1\n\nBonds\n\n1 1 1 1\n";
        return vec![samples::LAMMPS.into(), lipid.into()];
    }
    let unit = name.parse::<Format>().unwrap().length_unit();
    let mut seeds: Vec<Vec<u8>> = Vec::new();
    for count in [3, 40] {
        let (atoms, frame) = system(count, unit);
        let frames = [frame.clone(), later(&frame, 10)];
        let frames = if name == "pqr" { &frames[..1] } else { &frames[..] };
        seeds.push(written(name, &atoms, frames).unwrap());
    }
    let sample = match name {
        "gro" => samples::GRO,
        "pdb" => samples::PDB,
        "xyz" => samples::EXTENDED_XYZ,
        "pqr" => samples::PQR,
        _ => return seeds,
    };
    seeds.push(sample.into());
    seeds
}

#[derive(Debug, Clone)]
enum Damage {
    Set(usize, u8),
    Flip(usize, u8),
    Remove(usize, usize),
    Insert(usize, Vec<u8>),
    Repeat(usize, usize),
    Cut(usize),
}

fn damage() -> impl Strategy<Value = Damage> {
    let words = prop::sample::select(vec![
        "-1",
        "0",
        "99999999999",
        "nan",
        "1e308",
        "\n",
        "\r\n",
        "é",
        "*****",
        "\"",
        "=",
    ]);
    prop_oneof![
        (any::<usize>(), any::<u8>()).prop_map(|(at, byte)| Damage::Set(at, byte)),
        (any::<usize>(), 0_u8..8).prop_map(|(at, bit)| Damage::Flip(at, bit)),
        (any::<usize>(), 1_usize..40).prop_map(|(at, count)| Damage::Remove(at, count)),
        (any::<usize>(), prop::collection::vec(any::<u8>(), 1..8))
            .prop_map(|(at, bytes)| Damage::Insert(at, bytes)),
        (any::<usize>(), words).prop_map(|(at, word)| Damage::Insert(at, word.into())),
        (any::<usize>(), 1_usize..60).prop_map(|(at, count)| Damage::Repeat(at, count)),
        any::<usize>().prop_map(Damage::Cut),
    ]
}

fn apply(bytes: &mut Vec<u8>, damage: &Damage) {
    let place = |at: usize| at % (bytes.len() + 1);
    match damage {
        Damage::Set(at, byte) => {
            let at = place(*at);
            bytes.iter_mut().skip(at).take(1).for_each(|b| *b = *byte);
        }
        Damage::Flip(at, bit) => {
            let at = place(*at);
            bytes.iter_mut().skip(at).take(1).for_each(|b| *b ^= 1 << bit);
        }
        Damage::Remove(at, count) => {
            let at = place(*at);
            let end = (at + count).min(bytes.len());
            bytes.drain(at..end);
        }
        Damage::Insert(at, new) => {
            let at = place(*at);
            bytes.splice(at..at, new.iter().copied());
        }
        Damage::Repeat(at, count) => {
            let at = place(*at);
            let end = (at + count).min(bytes.len());
            let copy = bytes[at..end].to_vec();
            bytes.splice(at..at, copy);
        }
        Damage::Cut(at) => bytes.truncate(place(*at)),
    }
}

/// Text made of the words that open doors in the parsers.
fn text() -> impl Strategy<Value = Vec<u8>> {
    let words = vec![
        "ATOM  ",
        "HETATM",
        "CRYST1",
        "MODEL",
        "ENDMDL\n",
        "END\n",
        "CONECT",
        "TITLE ",
        "Atoms",
        "Atoms # full",
        "Masses",
        "Bonds",
        "Velocities",
        " atoms\n",
        " xlo xhi\n",
        " ylo yhi\n",
        " zlo zhi\n",
        "xy xz yz\n",
        "Lattice=\"",
        "ITEM: TIMESTEP\n",
        "ITEM: NUMBER OF ATOMS\n",
        "ITEM: BOX BOUNDS pp pp pp\n",
        "ITEM: BOX BOUNDS xy xz yz\n",
        "ITEM: ATOMS id type x y z\n",
        "ITEM: ATOMS xs ys zs\n",
        "Pair Coeffs\n",
        "loop_\n",
        "data_x\n",
        "_atom_site.Cartn_x\n_atom_site.Cartn_y\n_atom_site.Cartn_z\n",
        "_atom_site.label_alt_id\n",
        "_atom_site.pdbx_PDB_model_num\n",
        "_cell.length_a ",
        "\n;",
        "'",
        "Properties=species:S:1:pos:R:3",
        "object 1 class gridpositions counts 1 2 1\norigin 0 0 0 delta 1 0 0 delta 0 1 0 delta 0 0 1\n",
        "object 1 class gridconnections counts ",
        "object 3 class array type double rank 0 items 2 data follows\n",
        "object 3 class array type float items ",
        " data follows\n",
        "attribute \"dep\" string ",
        "component ",
        ":vel:R:3",
        "t=",
        "step=",
        "1",
        "2",
        "3",
        "0.5",
        "-1.25",
        "1e400",
        "nan",
        "99999999",
        "O",
        "H",
        " ",
        "  ",
        "    ",
        "\n",
        "\n\n",
        "\t",
        "é",
        "#",
        "\"",
        ".",
        "*****",
        "A000",
    ];
    prop::collection::vec(prop::sample::select(words), 0..120).prop_map(|words| words.concat().into_bytes())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1500, ..ProptestConfig::default() })]

    #[test]
    fn bytes_never_panic(data in prop::collection::vec(any::<u8>(), 0..600)) {
        for (name, _) in BODIES {
            run(name, &data);
        }
    }

    #[test]
    fn words_never_panic(data in text()) {
        for (name, _) in BODIES {
            run(name, &data);
        }
    }

    /// Bytes behind headers that are right, which random bytes never are.
    #[test]
    fn bytes_behind_headers_never_panic(atoms in 0_u32..2000, tail in prop::collection::vec(any::<u8>(), 0..400)) {
        let mut xtc = Vec::new();
        xtc.extend(1995_u32.to_be_bytes());
        xtc.extend(atoms.to_be_bytes());
        xtc.extend([0; 44]);
        xtc.extend(atoms.to_be_bytes());
        let mut ranges = xtc.clone();
        xtc.extend(&tail);
        bodies::xtc(&xtc);
        // Also with ranges and the length of the stream right.
        ranges.extend(1000_f32.to_be_bytes());
        for value in [-100_i32, -200, -300, 1000, 2_000_000, 300, 9 + (atoms % 64) as i32, tail.len() as i32] {
            ranges.extend(value.to_be_bytes());
        }
        ranges.extend(&tail);
        ranges.extend([0; 3]);
        bodies::xtc(&ranges);
    }
}

macro_rules! mutated {
    ($($test:ident $name:literal)*) => {
        proptest! {
            #![proptest_config(ProptestConfig { cases: 1000, ..ProptestConfig::default() })]
            $(
                #[test]
                fn $test(seed in 0_usize..4, damages in prop::collection::vec(damage(), 1..5)) {
                    let seeds = seeds($name);
                    let mut bytes = seeds[seed % seeds.len()].clone();
                    for damage in &damages {
                        apply(&mut bytes, damage);
                    }
                    run($name, &bytes);
                }
            )*
        }
    };
}

mutated! {
    mutated_gro_never_panics "gro"
    mutated_pdb_never_panics "pdb"
    mutated_xyz_never_panics "xyz"
    mutated_pqr_never_panics "pqr"
    mutated_dcd_never_panics "dcd"
    mutated_xtc_never_panics "xtc"
    mutated_lammps_never_panics "lammps"
    mutated_trr_never_panics "trr"
    mutated_mmcif_never_panics "mmcif"
    mutated_lammpstrj_never_panics "lammpstrj"
    mutated_compressed_never_panics "compressed"
    mutated_dx_never_panics "dx"
    mutated_npy_never_panics "npy"
}

/// Every single bit of a small binary file, one after the other.
#[test]
fn every_flipped_bit_of_binary_files() {
    for name in ["xtc", "dcd", "trr", "compressed", "npy"] {
        for seed in seeds(name) {
            for bit in 0..8 * seed.len() {
                let mut bytes = seed.clone();
                bytes[bit / 8] ^= 1 << (bit % 8);
                run(name, &bytes);
            }
        }
    }
}
