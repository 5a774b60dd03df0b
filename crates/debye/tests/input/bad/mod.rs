//! What is refused: the place, the message and the advice. In a replacement, «…» marks what the
//! message must underline.

mod keys;
mod values;

use crate::{ARGON, CHAIN, SALT, parse, with};

fn refused(base: &str, old: &str, new: &str) -> debye::input::InputError {
    let marked = with(base, old, new);
    let text = marked.replace(['«', '»'], "");
    let error = match parse(&text) {
        Err(error) => error,
        Ok(_) => panic!("accepted:\n{text}"),
    };
    let shown = error.to_string();
    if let Some(start) = marked.find('«') {
        let line = marked[..start].matches('\n').count() + 1;
        let line_start = marked[..start].rfind('\n').map_or(0, |at| at + 1);
        let column = marked[line_start..start].chars().count() + 1;
        assert_eq!((error.line, error.column), (line, column), "{shown}");
        let end = marked.find('»').unwrap();
        let width = marked[start + '«'.len_utf8()..end].chars().count();
        assert_eq!(shown.matches('^').count(), width, "{shown}");
        assert!(shown.starts_with(&format!("test.toml:{line}: ")), "{shown}");
        assert!(
            shown.contains(text.lines().nth(line - 1).unwrap()) || shown.contains('…'),
            "{shown}"
        );
    } else {
        assert_eq!(error.line, 0, "{shown}");
    }
    error
}

/// Each case: base, part replaced, replacement with the place marked, and parts of the message.
pub fn check(base: &str, old: &str, new: &str, parts: &[&str]) {
    let shown = refused(base, old, new).to_string();
    for part in parts {
        assert!(shown.contains(part), "`{part}` is not in:\n{shown}");
    }
}

#[test]
fn the_message_is_what_the_guide_shows() {
    let error = refused(ARGON, "cutoff = \"12 Å\"", "«cutof» = \"12 Å\"");
    assert_eq!(
        error.to_string(),
        "test.toml:9: unknown key `cutof` in [[forces]]
 9 | cutof = \"12 Å\"
   | ^^^^^
 help: did you mean `cutoff`? valid keys: kind, name, cutoff, truncation, switch_from, mixing, tail, species, pairs, epsilon, sigma"
    );
    assert_eq!(error.key, "forces[0].cutof");
    assert_eq!(error.found, "\"12 Å\"");
}

#[test]
fn contradictions() {
    for (base, old, new, parts) in [
        (
            ARGON,
            "truncation = \"shift\"",
            "truncation = \"switch\"\nswitch_from = «\"12 Å\"»",
            [
                "`forces[0].switch_from` is \"12 Å\"",
                "a length below the cut-off",
            ],
        ),
        (
            ARGON,
            "truncation = \"shift\"",
            "truncation = \"shift\"\n«switch_from» = \"10 Å\"",
            ["belongs to truncation = \"switch\"", "say truncation"],
        ),
        (
            ARGON,
            "truncation = \"shift\"",
            "truncation = \"force-shift\"\ntail = «true»",
            ["no tail correction", "a plain cut"],
        ),
        (
            ARGON,
            "build =",
            "file = \"x.gro\"\n«build» =",
            ["both `file` and `build` in [system]", "leave one"],
        ),
        (
            ARGON,
            "spacing = \"5.256 Å\"",
            "spacing = 1, «density» = 2",
            ["both `spacing` and `density`", "leave one"],
        ),
        (
            ARGON,
            "build =",
            "«length_unit» = \"nm\"\nbuild =",
            ["belongs to `file`", "[system] has `build`"],
        ),
        (
            SALT,
            "species = { Na = {",
            "pairs = { Na-Cl = \"none\", «Cl-Na» = \"none\" }\nspecies = { Na = {",
            ["the pair Cl-Na is given twice", "leave one of the two orders out"],
        ),
        (
            SALT,
            "[[forces]]\nkind = \"lennard-jones\"\ncutoff = 2.0\nmixing = \"lorentz-berthelot\"",
            "«[[forces]]»\nkind = \"lennard-jones\"\ncutoff = 2.0",
            [
                "no parameters for the pair Na-Cl",
                "add Na-Cl = { epsilon = …, sigma = … } to `pairs`",
            ],
        ),
        (
            SALT,
            "friction = 0.5",
            "time = 1\n«friction» = 0.5",
            ["both `time` and `friction`", "leave one"],
        ),
        (
            SALT,
            "[run]",
            "[[«thermostat»]]\nkind = \"bussi\"\n[run]",
            [
                "both [[thermostat]] and the thermostat `langevin`",
                "kind = \"nve\"",
            ],
        ),
        (
            ARGON,
            "timestep =",
            "«temperature» = 3\ntimestep =",
            ["`temperature` belongs to a thermostat", "kind = \"nve\" has none"],
        ),
        (
            CHAIN,
            "kind = \"bussi\"",
            "kind = «\"langevin\"»",
            ["does not go with kind = \"leapfrog\"", "velocity Verlet"],
        ),
        (
            CHAIN,
            "kind = \"bussi\"",
            "kind = «\"nose-hoover\"»",
            ["does not go with kind = \"leapfrog\"", "velocity Verlet"],
        ),
        (
            CHAIN,
            "species = [\"B\"]",
            "species = «[\"B\", \"A\"]»",
            ["puts species `A` under a second thermostat", "thermostat[0]"],
        ),
        (
            CHAIN,
            "kind = \"bussi\"",
            "kind = \"bussi\"\n«friction» = 1.0",
            ["both `time` and `friction`", "leave one"],
        ),
        (
            CHAIN,
            "kind = \"bussi\"",
            "kind = \"bussi\"\n«chain» = 3",
            ["`chain` belongs to the nose-hoover thermostat", "chain"],
        ),
        (
            ARGON,
            "kind = \"nve\"",
            "kind = \"nose-hoover\"\ntemperature = \"94 K\"\ntime = \"0.5 ps\"\n«every» = 3",
            ["`every` belongs to bussi and berendsen", "nose-hoover"],
        ),
        (
            CHAIN,
            "scale_14",
            "bonds = «3»\nscale_14",
            ["leaves out the 1-4 pairs", "bonds = 2"],
        ),
        (
            ARGON,
            "file = \"argon.checkpoint\"",
            "file = «\"argon.xtc\"»",
            ["another output writes already", "give it another `file`"],
        ),
    ] {
        check(base, old, new, &parts);
    }
    let uncovered = with(CHAIN, "stiff = { k = 100.0, r0 = 1.0 }, ", "");
    check(
        &uncovered,
        "[[forces]]",
        "[[«forces»]]",
        &[
            "no [[forces]] act on the 1 bonds of kind `stiff`",
            "types = { stiff",
        ],
    );
}

#[test]
fn grids() {
    let term = |rest: &str| format!("[[forces]]\nkind = \"multilevel\"\n{rest}\n[integrator]");
    for (rest, parts) in [
        ("order = «5»", ["`forces[1].order` is 5", "4, 6 or 8"]),
        ("order = «9»", ["`forces[1].order` is 9", "4, 6 or 8"]),
        (
            "spacing = «0.9»",
            [
                "more than a third of the cut-off of 2",
                "a sixth of the cut-off is usual",
            ],
        ),
        (
            "spacing = «-1.0»",
            ["`forces[1].spacing` is -1.0", "greater than zero"],
        ),
        (
            "spacing = «1e-4»",
            ["points of the finest grid", "a larger `spacing`"],
        ),
        (
            "tolerance = «2.0»",
            ["`forces[1].tolerance` is 2.0", "between 1e-12 and 0.1"],
        ),
        ("boundary = «\"open\"»", ["boundary", "tin-foil"]),
        ("«alpha» = 3.0", ["alpha", "spacing"]),
        ("«slab_factor» = 3.0", ["slab_factor", "spacing"]),
    ] {
        check(SALT, "[integrator]", &term(rest), &parts);
    }
    let periodic = |flags: &str| with(SALT, "[system]\n", &format!("[system]\nperiodic = {flags}\n"));
    let here = "«[[forces]]»\nkind = \"multilevel\"\n[integrator]";
    let wire = periodic("[true, false, false]");
    check(
        &wire,
        "[integrator]",
        here,
        &["along no, two or three axes", "[true, true, false] for a slab"],
    );
    let vacuum = "[[forces]]\nkind = \"multilevel\"\n«boundary» = \"vacuum\"\n[integrator]";
    for flags in ["[true, true, false]", "false"] {
        let parts = [
            "`boundary` is for cells that are periodic in all directions",
            "leave it out",
        ];
        check(&periodic(flags), "[integrator]", vacuum, &parts);
    }
}

#[test]
fn bonds_beyond_their_limit() {
    let text = with(
        CHAIN,
        "stiff = { k = 100.0, r0 = 1.0 }, soft = { k = 10.0, r0 = 1.0 }",
        "stiff = { k = 1.0, r0 = 20.0 }, soft = { k = 10.0, r0 = 0.3 }",
    );
    check(
        &text,
        "[[forces]]\nkind = \"harmonic-bond\"",
        "«[[forces]]»\nkind = \"fene-bond\"",
        &[
            "the bond of particles 2 and 3 (kind `soft`) is",
            "its potential ends at 0.3000 σ",
        ],
    );
}

#[test]
fn tensions() {
    let section = |rest: &str| format!("[barostat]\nkind = \"berendsen\"\ntime = \"2 ps\"\n{rest}\n[run]");
    let layer = |rest: &str| section(&format!("coupling = \"surface-tension\"\n{rest}"));
    let cases = [
        (
            section("pressure = \"1 bar\"\n«tension» = \"5 mN/m\""),
            ["`tension` belongs to coupling", "surface-tension"],
        ),
        (
            layer("pressure = «[\"1 bar\", \"2 bar\"]»\ntension = \"5 mN/m\""),
            ["one value, the pressure along z", "tension"],
        ),
        (
            layer("pressure = \"1 bar\"").replacen("[barostat]", "«[barostat]»", 1),
            ["missing key `tension`", "0 mN/m"],
        ),
    ];
    for (text, words) in cases {
        check(ARGON, "[run]", &text, &words);
    }
}

#[test]
fn open_cells() {
    let open = with(ARGON, "build =", "periodic = [true, true, false]\nbuild =");
    let barostat = "«[barostat]»\nkind = \"berendsen\"\n[run]";
    check(
        &open,
        "[run]",
        barostat,
        &["periodic in all directions", "open along z"],
    );
    check(
        &open,
        "[run]",
        "«[barostat]»\nkind = \"berendsen\"\ncoupling = \"surface-tension\"\n[run]",
        &["periodic in all directions", "open along z"],
    );
    check(
        &open,
        "truncation = \"shift\"",
        "tail = «true»",
        &["periodic in all directions"],
    );
    let copies = "copies = «[1, 1, 2]»\nbuild =";
    check(
        &open,
        "build =",
        copies,
        &["along c, along which the cell is not periodic"],
    );
}

#[test]
fn damaged_toml() {
    check(
        ARGON,
        "seed = 1",
        "seed = 1\n«seed» = 2",
        &["not valid TOML", "duplicate key"],
    );
    let error = parse(&with(ARGON, "[run]", "[run")).err().unwrap();
    assert_eq!(error.line, 15, "{error}");
    assert!(error.to_string().contains("not valid TOML"), "{error}");
}

#[test]
fn files_that_are_not_there() {
    let text = with(
        ARGON,
        "build = { kind = \"lattice\", lattice = \"fcc\", cells = [6, 6, 6], spacing = \"5.256 Å\", species = \"Ar\" }",
        "file = \"nowhere.gro\"",
    );
    let error = parse(&text).err().unwrap();
    assert!(
        error.to_string().contains("nowhere.gro, which does not exist"),
        "{error}"
    );
    assert_eq!((error.line, error.column), (4, 8));
    let error = parse(&with(&text, "nowhere.gro", "nowhere.docx")).err().unwrap();
    assert!(error.to_string().contains("known are .gro"), "{error}");
    let error = debye::simulation::Simulation::read("/nowhere/x.toml")
        .err()
        .unwrap();
    assert!(
        error
            .to_string()
            .starts_with("/nowhere/x.toml: cannot read the input file"),
        "{error}"
    );
}
