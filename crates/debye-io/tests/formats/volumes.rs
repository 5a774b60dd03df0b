//! Grids of numbers: written and read back, written as the specifications say, and refused where damaged.
#![allow(clippy::unwrap_used)]

use debye_io::IoError;
use debye_io::volumes::{
    MrcOrigin, Volume, VolumeAtom, VolumeFormat, VolumeValues, read_dx, read_npy, read_volume, write_cube,
    write_dx, write_mrc, write_npy, write_volume,
};
use proptest::prelude::*;

const UNIT: [[f64; 3]; 3] = [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]];
const OBLIQUE: [[f64; 3]; 3] = [[0.5, 0.0, 0.0], [0.1, 0.4, 0.0], [-0.2, 0.15, 0.75]];

/// As APBS writes it.
const APBS: &str = "# Data from APBS\n#\n# POTENTIAL (kT/e)\n#\n\
    object 1 class gridpositions counts 2 1 3\n\
    origin -1.000000e+00 2.000000e+00 3.500000e+00\n\
    delta 5.000000e-01 0.000000e+00 0.000000e+00\n\
    delta 0.000000e+00 5.000000e-01 0.000000e+00\n\
    delta 0.000000e+00 0.000000e+00 5.000000e-01\n\
    object 2 class gridconnections counts 2 1 3\n\
    object 3 class array type double rank 0 items 6 data follows\n\
    1.000000e+00 2.000000e+00 3.000000e+00 \n4.000000e+00 5.000000e+00 6.000000e+00 \n\
    attribute \"dep\" string \"positions\"\n\
    object \"regular positions regular connections\" class field\n\
    component \"positions\" value 1\ncomponent \"connections\" value 2\ncomponent \"data\" value 3\n";

/// As GridDataFormats and VMD write it: names in quotes, no attribute, blank lines.
const VMD: &str = "object 1 class gridpositions counts 2 1 3\norigin -1 2 3.5\ndelta 0.5 0 0\ndelta 0 0.5 0\n\
    delta 0 0 0.5\nobject 2 class gridconnections counts 2 1 3\n\
    object 3 class array type \"double\" rank 0 items 6 data follows\n1 2 3\n4 5 6\n\n\
    object \"density (all) [A^-3]\" class field\ncomponent \"positions\" value 1\n\
    component \"connections\" value 2\ncomponent \"data\" value 3\n";

fn dx(volume: &Volume) -> Vec<u8> {
    let mut bytes = Vec::new();
    write_dx(&mut bytes, "x.dx", volume).unwrap();
    bytes
}

fn npy(volume: &Volume) -> Vec<u8> {
    let mut bytes = Vec::new();
    write_npy(&mut bytes, "x.npy", volume).unwrap();
    bytes
}

fn mrc(volume: &Volume, origin: MrcOrigin) -> Result<Vec<u8>, IoError> {
    let mut bytes = Vec::new();
    write_mrc(&mut bytes, "x.mrc", volume, origin)?;
    Ok(bytes)
}

/// A small grid with values that differ.
fn sample(single: bool) -> Volume {
    let values: Vec<f64> = (0..2 * 3 * 4).map(|i| (f64::from(i) - 7.3) * 0.37).collect();
    let values = VolumeValues::from(values);
    let values = if single { values.into_f32().into() } else { values };
    let volume = Volume::new([2, 3, 4], [1.5, -2.0, 0.25], OBLIQUE, values).unwrap();
    volume.with_title("potential, kT/e")
}

pub fn dx_seeds() -> Vec<Vec<u8>> {
    vec![APBS.into(), VMD.into(), dx(&sample(true)), dx(&sample(false))]
}

pub fn npy_seeds() -> Vec<Vec<u8>> {
    vec![npy(&sample(true)), npy(&sample(false)), fortran()]
}

/// Values 0 to 5 of shape (1, 2, 3) in Fortran order, with the header of version 2.
fn fortran() -> Vec<u8> {
    let header = "{\"shape\": (1L,2L , 3L) , 'fortran_order':True, 'descr': \"<f8\"}  \n";
    let mut bytes = b"\x93NUMPY\x02\x00".to_vec();
    bytes.extend((header.len() as u32).to_le_bytes());
    bytes.extend(header.as_bytes());
    for value in [0, 3, 1, 4, 2, 5] {
        bytes.extend(f64::from(value).to_le_bytes());
    }
    bytes
}

fn bits(values: &VolumeValues) -> Vec<u64> {
    let canonical = |x: f64| if x.is_nan() { f64::NAN } else { x };
    let value = |i| canonical(values.get(i).unwrap()).to_bits();
    (0..values.len()).map(value).collect()
}

fn same_values(a: &VolumeValues, b: &VolumeValues) -> bool {
    bits(a) == bits(b)
}

fn volumes() -> impl Strategy<Value = (bool, Volume)> {
    let number = prop_oneof![
        8 => any::<f64>(),
        8 => -100.0..100.0,
        1 => Just(f64::NAN),
        1 => Just(f64::INFINITY),
        1 => Just(-0.0),
    ];
    let shape = [1_usize..6, 1..6, 1..9];
    (any::<bool>(), shape, prop::array::uniform3(-1e6..1e6), 0.01..10.0).prop_flat_map(
        move |(single, shape, origin, size)| {
            let values = prop::collection::vec(number.clone(), shape.iter().product::<usize>());
            values.prop_map(move |values| {
                let values = VolumeValues::from(values);
                let values = if single { values.into_f32().into() } else { values };
                let steps = OBLIQUE.map(|step| step.map(|x| x * size));
                (single, Volume::new(shape, origin, steps, values).unwrap())
            })
        },
    )
}

proptest! {
    #[test]
    fn dx_gives_back_what_it_was_given((single, volume) in volumes(), title in "[ -~]{0,30}") {
        let title = title.trim_matches(['#', ' ']).to_owned();
        let volume = volume.with_title(title);
        let finite = |i| volume.values().get(i).is_some_and(f64::is_finite);
        let read = read_dx(&dx(&volume)[..], "x.dx");
        if !(0..volume.values().len()).all(finite) {
            prop_assert!(read.unwrap_err().to_string().contains("is not a finite number"));
            return Ok(());
        }
        let read = read.unwrap();
        prop_assert_eq!(read.shape(), volume.shape());
        prop_assert_eq!(read.origin(), volume.origin());
        prop_assert_eq!(read.steps(), volume.steps());
        prop_assert_eq!(read.title(), volume.title());
        // Read in double precision, and rounded to what was written.
        let values = read.into_values();
        let values = if single { values.into_f32().into() } else { values };
        prop_assert!(same_values(&values, volume.values()));
    }

    #[test]
    fn npy_gives_back_what_it_was_given((single, volume) in volumes()) {
        let bytes = npy(&volume);
        prop_assert_eq!((bytes.len() - volume.values().len() * if single { 4 } else { 8 }) % 64, 0);
        let read = read_npy(&bytes[..], "x.npy").unwrap();
        prop_assert_eq!(read.shape(), volume.shape());
        prop_assert_eq!(matches!(read.values(), VolumeValues::F32(_)), single);
        prop_assert!(same_values(read.values(), volume.values()));
    }

    #[test]
    fn mrc_has_x_fastest((_, volume) in volumes()) {
        match mrc(&volume, MrcOrigin::Length) {
            Err(error) => {
                prop_assert!(error.to_string().contains("single precision"), "{}", error);
            }
            Ok(bytes) => {
                let [nx, ny, nz] = volume.shape();
                let values = VolumeValues::F32(bytes[1024..].chunks(4).map(real).collect());
                prop_assert_eq!(values.len(), nx * ny * nz);
                for (x, y, z) in (0..nx * ny * nz).map(|i| (i % nx, i / nx % ny, i / nx / ny)) {
                    let here = values.get((z * ny + y) * nx + x).unwrap();
                    let there = volume.value([x, y, z]).unwrap() as f32;
                    prop_assert!(here.to_bits() == f64::from(there).to_bits() || here.is_nan() && there.is_nan());
                }
            }
        }
    }
}

fn real(bytes: &[u8]) -> f32 {
    f32::from_le_bytes(bytes[..4].try_into().unwrap())
}

#[test]
fn dx_of_other_programs() {
    for (text, title) in [(APBS, "Data from APBS"), (VMD, "")] {
        let one_line = text.lines().filter(|line| !line.starts_with('#'));
        let one_line = one_line.collect::<Vec<_>>().join(" ");
        let dos = text.replace('\n', "\r\n");
        for (text, title) in [(text, title), (&one_line, ""), (&dos, title)] {
            let volume = read_dx(text.as_bytes(), "x.dx").unwrap();
            assert_eq!((volume.shape(), volume.title()), ([2, 1, 3], title));
            assert_eq!(volume.position([1, 0, 2]), [-0.5, 2.0, 4.5]);
            assert_eq!(
                *volume.values(),
                VolumeValues::F64(vec![1.0, 2.0, 3.0, 4.0, 5.0, 6.0])
            );
        }
    }
    let float = VMD.replace("\"double\"", "float").replace("4 5 6", "4 5 6.5D0");
    let VolumeValues::F32(values) = read_dx(float.as_bytes(), "x").unwrap().into_values() else {
        panic!("float is double")
    };
    assert_eq!(values[3..], [4.0, 5.0, 6.5]);
    // The array before the grid.
    let (grid, array) = VMD.split_at(VMD.find("object 3").unwrap());
    let turned = format!("{array}{grid}");
    assert_eq!(read_dx(turned.as_bytes(), "x").unwrap().shape(), [2, 1, 3]);
}

#[test]
fn dx_is_written_as_apbs_does() {
    let volume = Volume::new(
        [2, 1, 2],
        [-1.0, 0.0, 2.5],
        UNIT,
        vec![0.5_f32, -1.25, 3e-7, f32::NAN],
    )
    .unwrap();
    let text = String::from_utf8(dx(&volume.with_title("a\nmap"))).unwrap();
    let expected = "# a map\nobject 1 class gridpositions counts 2 1 2\norigin -1.0 0.0 2.5\n\
        delta 1.0 0.0 0.0\ndelta 0.0 1.0 0.0\ndelta 0.0 0.0 1.0\nobject 2 class gridconnections counts 2 1 2\n\
        object 3 class array type double rank 0 items 4 data follows\n\
        5.00000000e-01 -1.25000000e+00 3.00000011e-07\nnan\nattribute \"dep\" string \"positions\"\n\
        object \"regular positions regular connections\" class field\ncomponent \"positions\" value 1\n\
        component \"connections\" value 2\ncomponent \"data\" value 3\n";
    assert_eq!(text, expected);
}

#[test]
fn damaged_dx_is_refused_with_its_line() {
    for (from, to, message) in [
        (
            "counts 2 1 3\norigin",
            "counts 2 1\norigin",
            "line 6: found `origin`, expected a number of points",
        ),
        (
            "counts 2 1 3\norigin",
            "counts 2 -1 3\norigin",
            "line 5: found `-1`",
        ),
        (
            "counts 2 1 3\norigin",
            "counts 2 0 3\norigin",
            "line 5: a grid of 2 × 0 × 3 points",
        ),
        (
            "counts 2 1 3\norigin",
            "counts 99999 99999 99999\norigin",
            "line 5: 999970000299999 points are more than the 2147483648 that are read",
        ),
        (
            "counts 2 1 3\norigin",
            "counts 9999999999 9999999999 9999999999\norigin",
            "line 5: a grid of 9999999999 × 9999999999 × 9999999999 points is more than a machine",
        ),
        (
            "counts 2 1 3\nobject",
            "counts 2 3 1\nobject",
            "line 10: found `counts 2 3 1`, expected counts 2 1 3",
        ),
        ("5.000000e+00", "nan", "line 13: `nan` is not a finite number"),
        ("6.000000e+00", "-inf", "line 13: `-inf` is not a finite number"),
        (
            "origin -1.0",
            "origin nan -1.0",
            "line 6: `nan` is not a finite number",
        ),
        (
            "origin -1.000000e+00 2",
            "origin 2",
            "line 7: found `delta`, expected three coordinates of the origin",
        ),
        ("delta 5.000000e-01", "delta 0.000000e-01", "line 9: step vectors"),
        (
            "delta 0.000000e+00 0.000000e+00 5",
            "Delta 0 1e999 5",
            "line 9: `1e999` is not a finite",
        ),
        (
            "items 6",
            "items 7",
            "line 11: 7 values for a grid of 2 × 1 × 3 = 6 points",
        ),
        (
            "items 6",
            "items many",
            "line 11: found `many`, expected the number of values",
        ),
        ("items 6 ", "", "line 11: found `follows`, expected `items`"),
        (
            "type double",
            "type string",
            "line 11: found `string`, expected type `double`",
        ),
        ("rank 0", "rank 1 shape 3", "line 11: found `1`, expected rank 0"),
        (
            "data follows",
            "binary data follows",
            "line 11: found `binary`, expected values as text; binary",
        ),
        (
            "data follows",
            "lsb ieee data follows",
            "line 11: found `ieee`, expected values as text",
        ),
        (
            "data follows",
            "data file map.bin",
            "line 11: found `file`, expected `follows`",
        ),
        (
            "2.000000e+00 3.000000e+00 \n",
            "2.000000e+00 \n",
            "line 14: found `attribute`, expected value 6 of 6",
        ),
        (
            "3.000000e+00 \n4",
            "3.0 x \n4",
            "line 12: found `x`, expected value 4 of 6",
        ),
        (
            "3.000000e+00 \n4",
            "3.0 1e400 \n4",
            "line 12: `1e400` is not a finite",
        ),
        (
            "3.000000e+00 \n4",
            "3.0 1.0 \n4",
            "line 13: found `6.000000e+00`, expected `object`",
        ),
        (
            "class field",
            "class group",
            "line 15: found `group`, expected class",
        ),
        (
            "component \"data\" value",
            "component \"data value",
            "line 18: found `the end of the file`, expected a closing quote",
        ),
        (
            "object 2 class gridconnections",
            "object 2 class gridpositions",
            "line 10: found `gridpositions`, expected one",
        ),
    ] {
        assert!(APBS.contains(from), "{from}");
        let text = APBS.replacen(from, to, 1);
        let error = read_dx(text.as_bytes(), "bad.dx").unwrap_err().to_string();
        assert!(
            error.contains(&format!("bad.dx, {message}")),
            "{from} → {to}: {error}"
        );
    }
    for text in ["", "# nothing\n", "object 2 class field"] {
        let error = read_dx(text.as_bytes(), "x").unwrap_err().to_string();
        assert!(
            error.contains("`the end of the file`, expected an `object` of class `gridpositions`"),
            "{error}"
        );
    }
    let binary: Vec<u8> = (0..=255).cycle().take(9000).collect();
    assert!(read_dx(&binary[..], "x").is_err());
}

#[test]
fn dx_cut_anywhere_before_its_last_value_is_refused() {
    let end = APBS.find("6.000000e+00").unwrap();
    for length in 0..end {
        let error = read_dx(&APBS.as_bytes()[..length], "cut").unwrap_err();
        assert!(error.to_string().contains("cut, line"), "{length}: {error}");
    }
    // What follows the values says nothing new.
    let whole = &APBS.as_bytes()[..end + 12];
    assert_eq!(read_dx(whole, "x").unwrap().shape(), [2, 1, 3]);
}

#[test]
fn npy_in_fortran_order() {
    let volume = read_npy(&fortran()[..], "x").unwrap();
    assert_eq!(
        (volume.shape(), volume.origin(), volume.steps()),
        ([1, 2, 3], [0.0; 3], UNIT)
    );
    assert_eq!(
        *volume.values(),
        VolumeValues::F64(vec![0.0, 1.0, 2.0, 3.0, 4.0, 5.0])
    );
    let placed = volume.with_geometry([1.0; 3], OBLIQUE).unwrap();
    assert_eq!(placed.position([0, 1, 0]), [1.1, 1.4, 1.0]);
}

#[test]
fn damaged_npy_is_refused_with_its_byte() {
    let with_header = |header: &str, values: usize| {
        let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
        bytes.extend((header.len() as u16).to_le_bytes());
        bytes.extend(header.as_bytes());
        bytes.extend(vec![0; values]);
        bytes
    };
    for (header, values, message) in [
        (
            "{'descr': '>f4', 'fortran_order': False, 'shape': (1, 1, 2)}",
            8,
            "byte 20: found `'>f4'",
        ),
        (
            "{'descr': '<i4', 'fortran_order': False, 'shape': (1, 1, 2)}",
            8,
            "expected type '<f4' or '<f8', little",
        ),
        (
            "{'descr': '<f4', 'fortran_order': 0, 'shape': (1, 1, 2)}",
            8,
            "byte 44: found `0, 'shape'",
        ),
        (
            "{'descr': '<f4', 'fortran_order': False, 'shape': (2,)}",
            8,
            "byte 60: found `(2,)}`, expected a shape of three",
        ),
        (
            "{'descr': '<f4', 'fortran_order': False, 'shape': (1, 0, 2)}",
            8,
            "byte 60: a grid of 1 × 0 × 2 points",
        ),
        (
            "{'descr': '<f4', 'fortran_order': False, 'shape': (99999, 99999, 99999)}",
            8,
            "byte 60: 999970000299999 points are more than",
        ),
        (
            "{'descr': '<f4', 'fortran_order': False, 'shape': (4294967296, 4294967296, 2)}",
            8,
            "byte 60: a grid of 4294967296 × 4294967296 × 2 points is more than a machine can address",
        ),
        (
            "{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999999999999, 1, 1)}",
            8,
            "byte 61: found `99999999999999999999, 1, 1)}`, expected a number of points",
        ),
        (
            "{'descr': '<f4', 'fortran_order': False, 'shape': (1, -1, 2)}",
            8,
            "byte 64: found `-1, 2)}`",
        ),
        (
            "{'descr': '<f4', 'shape': (1, 1, 2)}",
            8,
            "byte 46: found `the end of the header`, expected an entry 'fortran_order'",
        ),
        (
            "{'descr': '<f4', 'descr': '<f4'}",
            8,
            "byte 27: found `'descr': '<f4'}`",
        ),
        ("{'descr' '<f4'}", 8, "byte 19: found `'<f4'}`, expected a colon"),
        ("[1]", 0, "byte 10: found `[1]`, expected a dictionary"),
        ("{'descr': '<f4", 0, "byte 20: found `'<f4`"),
        (
            "{'descr': '<f4', 'fortran_order': False, 'shape': (1, 1, 2)}",
            7,
            "byte 77: found `the end of the file`, expected 2 values of 4 bytes; 1 are there",
        ),
        (
            "{'descr': '<f8', 'fortran_order': True, 'shape': (1, 1, 2), }",
            17,
            "byte 87: found `another byte`, expected the end of the file after 2 values",
        ),
    ] {
        let error = read_npy(&with_header(header, values)[..], "bad.npy").unwrap_err();
        let error = error.to_string();
        assert!(
            error.contains("bad.npy, byte") && error.contains(message),
            "{header}: {error}"
        );
    }
    let whole = npy(&sample(true));
    for length in 0..whole.len() {
        let error = read_npy(&whole[..length], "cut").unwrap_err().to_string();
        assert!(
            error.starts_with(&format!("cut, byte {length}:")),
            "{length}: {error}"
        );
    }
    for (bytes, message) in [
        (&b"PK\x03\x04aaaa"[..], "byte 0: found `PK"),
        (
            b"\x93NUMPY\x04\x00aaaaaaaa",
            "byte 6: found `version 4.0`, expected version 1.0, 2.0 or 3.0",
        ),
        (
            b"\x93NUMPY\x02\x00\xff\xff\xff\xff",
            "byte 8: found `4294967295 bytes`, expected a header of at most",
        ),
    ] {
        let error = read_npy(bytes, "x").unwrap_err().to_string();
        assert!(error.contains(message), "{error}");
    }
}

/// A claim is cheap: memory is taken for what is there.
#[test]
fn large_claims_take_no_memory() {
    let text = "object 1 class gridpositions counts 1280 1280 1280\norigin 0 0 0\ndelta 1 0 0\ndelta 0 1 0\n\
        delta 0 0 1\nobject 3 class array type double rank 0 items 2097152000 data follows\n1 2 3\n";
    let error = read_dx(text.as_bytes(), "x").unwrap_err().to_string();
    assert!(
        error.ends_with("line 7: found `the end of the file`, expected value 4 of 2097152000"),
        "{error}"
    );
}

#[test]
fn mrc_header() {
    let word =
        |bytes: &[u8], word: usize| i32::from_le_bytes(bytes[4 * word - 4..4 * word].try_into().unwrap());
    let reals = |bytes: &[u8], word: usize| [0, 1, 2].map(|i| real(&bytes[4 * (word + i) - 4..]));
    let values: Vec<f32> = (0..24).map(|i| i as f32).collect();
    let steps = [[0.5, 0.0, 0.0], [0.0, 0.25, 0.0], [0.0, 0.0, 2.0]];
    let volume = Volume::new([2, 3, 4], [-1.0, 0.75, 8.0], steps, values).unwrap();
    let volume = volume.with_title("Φ in kT/e");
    let bytes = mrc(&volume, MrcOrigin::Length).unwrap();
    assert_eq!(bytes.len(), 1024 + 4 * 24);
    let integers = [
        (1, 2),
        (2, 3),
        (3, 4),
        (4, 2),
        (5, 0),
        (6, 0),
        (7, 0),
        (8, 2),
        (9, 3),
        (10, 4),
    ];
    let more = [(17, 1), (18, 2), (19, 3), (23, 1), (24, 0), (28, 20141), (56, 1)];
    for (number, value) in integers.into_iter().chain(more) {
        assert_eq!(word(&bytes, number), value, "word {number}");
    }
    assert_eq!(reals(&bytes, 11), [1.0, 0.75, 8.0]);
    assert_eq!(reals(&bytes, 14), [90.0; 3]);
    assert_eq!(reals(&bytes, 20), [0.0, 23.0, 11.5]);
    assert_eq!(reals(&bytes, 50), [-1.0, 0.75, 8.0]);
    assert_eq!(&bytes[208..216], b"MAP \x44\x44\0\0");
    assert!((real(&bytes[216..]) - (575.0_f32 / 12.0).sqrt()).abs() < 1e-5);
    assert_eq!(bytes[224..304], *format!("{:80}", "? in kT/e").as_bytes());

    // In steps, where it is a whole number of them.
    let bytes = mrc(&volume, MrcOrigin::Steps).unwrap();
    assert_eq!([5, 6, 7].map(|i| word(&bytes, i)), [-2, 3, 4]);
    assert_eq!(reals(&bytes, 50), [0.0; 3]);
    let between = volume.clone().with_geometry([0.1, 0.75, 8.0], steps).unwrap();
    let bytes = mrc(&between, MrcOrigin::Steps).unwrap();
    assert_eq!([5, 6, 7].map(|i| word(&bytes, i)), [0; 3]);
    assert_eq!(reals(&bytes, 50), [0.1, 0.75, 8.0]);
    let corner = [0, 1, 2].map(|i| 3.0 * OBLIQUE[0][i] - 4.0 * OBLIQUE[1][i] + 7.0 * OBLIQUE[2][i]);
    let oblique = volume.clone().with_geometry(corner, OBLIQUE).unwrap();
    let bytes = mrc(&oblique, MrcOrigin::Steps).unwrap();
    assert_eq!([5, 6, 7].map(|i| word(&bytes, i)), [3, -4, 7]);
    let cosine = (0.1_f64 / 0.1_f64.hypot(0.4)).acos().to_degrees();
    assert!((f64::from(reals(&bytes, 14)[2]) - cosine).abs() < 1e-4);

    // NaN counts for no statistics; without any other value they are not known.
    let nan = Volume::new([1, 1, 3], [0.0; 3], UNIT, vec![1.0, f64::NAN, 3.0]).unwrap();
    assert_eq!(reals(&mrc(&nan, MrcOrigin::Length).unwrap(), 20), [1.0, 3.0, 2.0]);
    let none = Volume::new([1, 1, 1], [0.0; 3], UNIT, vec![f64::NAN]).unwrap();
    assert_eq!(
        reals(&mrc(&none, MrcOrigin::Length).unwrap(), 20),
        [0.0, -1.0, -2.0]
    );
}

#[test]
fn mrc_refuses_what_it_cannot_hold() {
    let turned = [[0.0, 1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]];
    let left = [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, -1.0]];
    for steps in [turned, left] {
        let volume = Volume::new([1, 1, 2], [0.0; 3], steps, vec![0.0_f32; 2]).unwrap();
        let error = mrc(&volume, MrcOrigin::Length).unwrap_err().to_string();
        assert!(
            error.contains("x.mrc, grid: steps") && error.contains("first step along x"),
            "{error}"
        );
    }
    let volume = Volume::new([1, 2, 2], [0.0; 3], UNIT, vec![0.0, 0.0, 1e39, 0.0]).unwrap();
    let error = mrc(&volume, MrcOrigin::Length).unwrap_err().to_string();
    assert_eq!(
        error,
        "x.mrc, point (0, 1, 0): 1e39 does not fit the format (single precision)"
    );
}

#[test]
fn cube_with_atoms() {
    let values: Vec<f32> = (0..14).map(|i| i as f32).collect();
    let volume = Volume::new([1, 2, 7], [-1.0, 0.0, 2.0], OBLIQUE, values).unwrap();
    let atoms = vec![VolumeAtom {
        number: 8,
        charge: -0.5,
        position: [0.1, 0.2, 0.3],
    }];
    let volume = volume.with_title("water").with_atoms(atoms).unwrap();
    let mut bytes = Vec::new();
    write_cube(&mut bytes, "x.cube", &volume).unwrap();
    let text = String::from_utf8(bytes).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines.len(), 2 + 4 + 1 + 4);
    assert_eq!(lines[0], "water");
    assert_eq!(lines[2], "    1   -1.000000000    0.000000000    2.000000000");
    assert_eq!(lines[5], "    7   -0.200000000    0.150000000    0.750000000");
    assert_eq!(
        lines[6],
        "    8   -0.500000000    0.100000000    0.200000000    0.300000000"
    );
    assert!(lines[7].starts_with(" 0.00000000e+00 1.00000000e+00 "));
    assert_eq!(lines[8], " 6.00000000e+00");
    assert_eq!(lines[9].split_whitespace().count(), 6);
}

#[test]
fn whole_files_by_extension() {
    let folder = tempfile::tempdir().unwrap();
    let volume = sample(true);
    for name in ["a.dx", "a.DX.gz", "a.dx.bz2", "a.npy", "a.npy.gz"] {
        let path = folder.path().join(name);
        write_volume(&path, &volume).unwrap();
        let packed = name.ends_with("gz") || name.ends_with("bz2");
        let start = std::fs::read(&path).unwrap();
        assert_eq!(
            packed,
            start.starts_with(&[0x1f, 0x8b]) || start.starts_with(b"BZh")
        );
        let values = read_volume(&path).unwrap().into_values().into_f32();
        assert_eq!(VolumeValues::F32(values), *volume.values(), "{name}");
    }
    for name in ["a.mrc", "a.ccp4", "a.map", "a.cube", "a.map.gz"] {
        let path = folder.path().join(name);
        write_volume(&path, &volume).unwrap();
        assert!(std::fs::metadata(&path).unwrap().len() > 100);
        let error = read_volume(&path).unwrap_err();
        assert!(matches!(error, IoError::NotSupported { .. }), "{error}");
    }
    for name in ["a.vtk", "a", "a.gz", "dx"] {
        let path = folder.path().join(name);
        for error in [
            write_volume(&path, &volume).unwrap_err(),
            read_volume(&path).unwrap_err(),
        ] {
            let error = error.to_string();
            assert!(
                error.contains(".dx .mrc .ccp4 .map .cube .npy") && error.contains(name),
                "{error}"
            );
        }
    }
    let error = write_volume(folder.path().join("a.dx.xz"), &volume)
        .unwrap_err()
        .to_string();
    assert!(error.contains("take .gz or .bz2"), "{error}");
    // A file that is refused leaves the one that was there.
    let turned = [OBLIQUE[2], OBLIQUE[1], OBLIQUE[0]];
    let turned = volume.clone().with_geometry([0.0; 3], turned).unwrap();
    let path = folder.path().join("a.mrc");
    let before = std::fs::read(&path).unwrap();
    assert!(write_volume(&path, &turned).is_err());
    assert_eq!(std::fs::read(&path).unwrap(), before);
    let names = std::fs::read_dir(folder.path()).unwrap();
    assert_eq!(names.count(), 10);
    assert_eq!(VolumeFormat::from_path("b/x.Map.GZ").unwrap(), VolumeFormat::Ccp4);
    // A compressed file that ends too early.
    let path = folder.path().join("a.npy.gz");
    let bytes = std::fs::read(&path).unwrap();
    std::fs::write(&path, &bytes[..bytes.len() - 20]).unwrap();
    let error = read_volume(&path).unwrap_err().to_string();
    assert!(error.contains("ends too early"), "{error}");
}

/// A sink that is full after some bytes.
struct Full(usize);

impl std::io::Write for Full {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        let taken = bytes.len().min(self.0);
        self.0 -= taken;
        Ok(taken)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

#[test]
fn a_full_disk_is_told() {
    let volume = sample(true);
    for room in [0, 10, 700, 1030] {
        let errors = [
            write_dx(Full(room.min(500)), "full", &volume),
            write_mrc(Full(room), "full", &volume, MrcOrigin::Length),
            write_cube(Full(room.min(500)), "full", &volume),
            write_npy(Full(room.min(150)), "full", &volume),
        ];
        for error in errors {
            assert!(matches!(error, Err(IoError::Io { .. })), "{error:?}");
        }
    }
}
