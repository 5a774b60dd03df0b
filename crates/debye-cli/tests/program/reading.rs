//! Files of other programs: what is odd is told on standard error, and what is whole is used.

use crate::lab::Lab;

const XYZ: &str = "2\nargon\nAr 0 0 0\nAr 4 0 0\n";
const DUMP: &str = "ITEM: TIMESTEP\n0\nITEM: NUMBER OF ATOMS\n2\nITEM: BOX BOUNDS pp pp pp\n0 30\n0 30\n0 30\n\
    ITEM: ATOMS id type x y z\n2 1 4 0 0\n1 1 0 0 0\n";

fn info(lab: &Lab, arguments: &[&str]) -> (serde_json::Value, String) {
    let tried = lab.succeeds(&[&["analyze", "info", "--json"], arguments].concat());
    (serde_json::from_str(&tried.out).unwrap(), tried.err)
}

#[test]
fn a_trajectory_cut_short_gives_its_whole_frames() {
    let lab = Lab::new();
    lab.write("cut.xyz", XYZ.repeat(3).trim_end_matches("0 0\n"));
    let (seen, err) = info(&lab, &["cut.xyz"]);
    assert_eq!(seen["frames"], 2);
    assert!(
        err.starts_with("warning: cut.xyz") && err.contains("the 2 whole frames"),
        "{err}"
    );
    assert_eq!(err.lines().count(), 1, "{err}");
    lab.refuses(
        &["analyze", "info", "cut.xyz", "--strict"],
        2,
        &["cut.xyz", "line 12"],
    );
    let msd = [
        "analyze",
        "msd",
        "cut.xyz",
        "--cell",
        "3 nm,3 nm,3 nm",
        "--lags",
        "1",
    ];
    let tried = lab.succeeds(&msd);
    assert!(
        tried.err.contains("the 2 whole frames") && tried.out.contains("2 frames"),
        "{}",
        tried.err
    );
    // Damage before the end is refused in any case.
    lab.write(
        "bad.xyz",
        XYZ.repeat(3)
            .replacen("4 0 0", "4 0 x", 2)
            .replacen("4 0 x", "4 0 0", 1),
    );
    lab.refuses(&["analyze", "info", "bad.xyz"], 2, &["bad.xyz", "line 8"]);
}

#[test]
fn formats_by_name_and_compressed_files() {
    let lab = Lab::new();
    lab.write("melt.data2", DUMP.repeat(2));
    lab.refuses(
        &["analyze", "info", "melt.data2"],
        2,
        &["melt.data2", "unknown format"],
    );
    let (seen, err) = info(&lab, &["melt.data2", "--format", "lammpstrj"]);
    assert_eq!(
        (&seen["frames"], &seen["format"]),
        (&2.into(), &"lammpstrj".into())
    );
    assert!(err.is_empty(), "{err}");
    lab.write("melt.lammpstrj", DUMP.repeat(2));
    let rdf = ["analyze", "rdf", "melt.lammpstrj"];
    assert!(lab.succeeds(&rdf).err.contains("--length-unit"));
    let tried = lab.succeeds(
        &[
            &rdf[..],
            &["--length-unit", "Å", "--r-max", "1 nm", "--overwrite"],
        ]
        .concat(),
    );
    assert!(tried.err.is_empty(), "{}", tried.err);
    lab.shell("gzip -k melt.lammpstrj");
    let (seen, _) = info(&lab, &["melt.lammpstrj.gz"]);
    assert_eq!(seen["frames"], 2);
}
