//! What is refused: the place, the message and the advice. In a replacement, «…» marks what the
//! message must underline.

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
fn check(base: &str, old: &str, new: &str, parts: &[&str]) {
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
fn unknown_keys() {
    for (base, old, new, parts) in [
        (
            ARGON,
            "units = \"md\"",
            "«unit» = \"md\"",
            ["unknown key `unit` in the file", "did you mean `units`?"],
        ),
        (
            ARGON,
            "title",
            "«tilte»",
            ["unknown key `tilte`", "did you mean `title`?"],
        ),
        (
            ARGON,
            "[run]",
            "[«runs»]",
            ["unknown key `runs` in the file", "did you mean `run`?"],
        ),
        (
            ARGON,
            "build =",
            "«buld» =",
            ["unknown key `buld` in [system]", "did you mean `build`?"],
        ),
        (
            ARGON,
            "spacing =",
            "«spaceing» =",
            ["of kind \"lattice\"", "did you mean `spacing`?"],
        ),
        (
            ARGON,
            "mass =",
            "«mas» =",
            ["unknown key `mas` in [species.Ar]", "did you mean `mass`?"],
        ),
        (
            ARGON,
            "timestep =",
            "«time_step» =",
            [
                "unknown key `time_step` in [integrator]",
                "did you mean `timestep`?",
            ],
        ),
        (
            ARGON,
            "seed =",
            "«sed» =",
            ["unknown key `sed` in [run]", "did you mean `seed`?"],
        ),
        (
            ARGON,
            "table =",
            "«tabel» =",
            ["unknown key `tabel` in [output]", "did you mean `table`?"],
        ),
        (
            ARGON,
            "every = 1000,",
            "«evry» = 1000,",
            ["unknown key `evry` in `trajectory`", "did you mean `every`?"],
        ),
        (
            ARGON,
            "epsilon =",
            "«epsilom» =",
            ["in pair Ar-Ar", "did you mean `epsilon`?"],
        ),
        (
            SALT,
            "sigma = 0.8",
            "«sgima» = 0.8",
            ["in species Na", "did you mean `sigma`?"],
        ),
        (
            CHAIN,
            "k = 100.0",
            "«kk» = 100.0",
            ["in type stiff", "valid keys: k, r0"],
        ),
        (
            CHAIN,
            "bonds = [[",
            "«bond» = [[",
            ["in [topology]", "did you mean `bonds`?"],
        ),
        (
            CHAIN,
            "scale_14",
            "«scale14»",
            ["in [exclusions]", "did you mean `scale_14`?"],
        ),
        (
            CHAIN,
            "pair = 0.5",
            "«pairs» = 0.5",
            ["in `scale_14`", "did you mean `pair`?"],
        ),
        (
            CHAIN,
            "time = 0.5",
            "«tau» = 0.5",
            ["in [[thermostat]]", "valid keys: kind, species"],
        ),
        (
            ARGON,
            "[run]",
            "[neighbors]\n«bufer» = 1\n[run]",
            ["in [neighbors]", "did you mean `buffer`?"],
        ),
        (
            ARGON,
            "[run]",
            "[minimize]\n«max_step» = 1\n[run]",
            ["in [minimize]", "did you mean `max_steps`?"],
        ),
        (
            ARGON,
            "[run]",
            "[barostat]\n«presure» = 1\n[run]",
            ["in [barostat]", "did you mean `pressure`?"],
        ),
        (
            ARGON,
            "[run]",
            "[[analyze]]\nkind = \"rdf\"\n«bin» = 1\n[run]",
            ["kind \"rdf\"", "did you mean `bins`?"],
        ),
    ] {
        check(base, old, new, &parts);
    }
}

#[test]
fn misspelled_names() {
    for (base, old, new, parts) in [
        (
            ARGON,
            "\"md\"",
            "«\"si\"»",
            ["unknown unit system `si`", "known are: md, lj"],
        ),
        (
            ARGON,
            "\"lennard-jones\"",
            "«\"lenard-jones\"»",
            [
                "unknown potential `lenard-jones`",
                "did you mean `lennard-jones`?",
            ],
        ),
        (
            ARGON,
            "\"nve\"",
            "«\"nev\"»",
            ["unknown integrator `nev`", "did you mean `nve`?"],
        ),
        (
            ARGON,
            "\"shift\"",
            "«\"shfit\"»",
            ["unknown truncation `shfit`", "did you mean `shift`?"],
        ),
        (
            ARGON,
            "\"fcc\"",
            "«\"fc\"»",
            ["unknown lattice `fc`", "did you mean `fcc`?"],
        ),
        (
            ARGON,
            "kind = \"lattice\"",
            "kind = «\"latice\"»",
            ["unknown builder `latice`", "did you mean `lattice`?"],
        ),
        (
            ARGON,
            "species = \"Ar\"",
            "species = «\"AR\"»",
            ["no species `AR`", "did you mean `Ar`?"],
        ),
        (
            ARGON,
            "Ar-Ar =",
            "«Ar-Ra» =",
            ["no species `Ra`", "declared are: Ar"],
        ),
        (
            ARGON,
            "Ar-Ar =",
            "«ArAr» =",
            ["`ArAr` is not a pair of species", "declared are: Ar"],
        ),
        (
            SALT,
            "\"lorentz-berthelot\"",
            "«\"lorenz-berthelot\"»",
            ["unknown mixing rule", "did you mean `lorentz-berthelot`?"],
        ),
        (
            SALT,
            "\"langevin\"",
            "«\"langwin\"»",
            ["unknown integrator `langwin`", "did you mean `langevin`?"],
        ),
        (
            CHAIN,
            "\"bussi\"",
            "«\"busi\"»",
            ["unknown thermostat `busi`", "did you mean `bussi`?"],
        ),
        (
            CHAIN,
            "species = [\"A\"]",
            "species = [«\"C\"»]",
            ["no species `C`", "declared are: A, B"],
        ),
        (
            ARGON,
            "seed = 1",
            "precision = «\"duoble\"»",
            ["unknown precision `duoble`", "did you mean `double`?"],
        ),
        (
            ARGON,
            "seed = 1",
            "device = «\"gpu\"»",
            ["unknown device `gpu`", "known are: auto, cpu, cuda"],
        ),
        (
            ARGON,
            "[run]",
            "[[analyze]]\nkind = «\"rfd\"»\n[run]",
            ["unknown analysis `rfd`", "did you mean `rdf`?"],
        ),
        (
            ARGON,
            "[run]",
            "[barostat]\nkind = «\"berendson\"»\n[run]",
            ["unknown barostat", "did you mean `berendsen`?"],
        ),
        (
            ARGON,
            "\"argon.xtc\"",
            "«\"argon.xct\"»",
            ["no format that can be written", "xtc"],
        ),
    ] {
        check(base, old, new, &parts);
    }
}

#[test]
fn wrong_units_and_types() {
    for (base, old, new, parts) in [
        (
            ARGON,
            "cutoff = \"12 Å\"",
            "cutoff = «\"12 ps\"»",
            [
                "expected a length such as \"12 Å\", found \"12 ps\" (a time)",
                "forces[0].cutoff",
            ],
        ),
        (
            ARGON,
            "\"2 fs\"",
            "«\"2 Å\"»",
            ["expected a time such as \"2 fs\"", "(a length)"],
        ),
        (
            ARGON,
            "\"39.948 u\"",
            "«\"39.948 K\"»",
            ["expected a mass", "(a temperature)"],
        ),
        (
            ARGON,
            "\"120 K\"",
            "«\"120 kJ/mol\"»",
            ["expected a temperature", "(an energy)"],
        ),
        (
            ARGON,
            "\"0.0104 eV\"",
            "«\"120 K\"»",
            [
                "expected an energy such as \"0.0104 eV\"",
                "forces[0].pairs.Ar-Ar.epsilon",
            ],
        ),
        (
            ARGON,
            "\"3.40 Å\"",
            "«\"3.40 angstrm\"»",
            ["unknown unit `angstrm`", "did you mean `angstrom`?"],
        ),
        (
            SALT,
            "cutoff = 2.0",
            "cutoff = «\"12 Å\"»",
            ["`Å` in \"12 Å\" is a unit of the laboratory", "units = \"lj\""],
        ),
        (
            ARGON,
            "\"12 Å\"",
            "«\"long\"»",
            ["must begin with a number", "\"long\""],
        ),
        (
            ARGON,
            "\"12 Å\"",
            "«true»",
            ["is true, expected a length", "\"12 Å\""],
        ),
        (
            ARGON,
            "\"12 Å\"",
            "«inf»",
            ["is inf, expected a finite number", "cutoff"],
        ),
        (ARGON, "\"12 Å\"", "«nan»", ["expected a finite number", "cutoff"]),
        (
            ARGON,
            "\"argon\"\n",
            "«3»\n",
            ["`title` is 3, expected a text in quotes", "title"],
        ),
        (
            ARGON,
            "10_000\ntemp",
            "«1.5»\ntemp",
            ["`run.steps` is 1.5", "expected a number of steps"],
        ),
        (
            ARGON,
            "cells = [6, 6, 6]",
            "cells = «[6, 6]»",
            ["is a list of 2", "expected three whole numbers"],
        ),
        (
            ARGON,
            "cells = [6, 6, 6]",
            "cells = [6, «0», 6]",
            ["`system.build.cells[1]` is 0", "at least 1"],
        ),
        (
            ARGON,
            "[species.Ar]\nmass = \"39.948 u\"\n",
            "[species]\nAr = «3»\n",
            ["`species.Ar` is 3", "expected a table"],
        ),
    ] {
        check(base, old, new, &parts);
    }
}

#[test]
fn missing_keys() {
    for (base, old, new, parts) in [
        (
            ARGON,
            "units = \"md\"\n",
            "",
            ["missing key `units`", "add units = \"md\""],
        ),
        (
            ARGON,
            "timestep = \"2 fs\"\n",
            "",
            [
                "missing key `timestep` in [integrator]",
                "add timestep = \"2 fs\"",
            ],
        ),
        (
            ARGON,
            "steps = 10_000\n",
            "",
            ["missing key `steps` in [run]", "add steps"],
        ),
        (
            ARGON,
            "cutoff = \"12 Å\"\n",
            "",
            ["missing key `cutoff` in [[forces]]", "add cutoff = \"12 Å\""],
        ),
        (
            ARGON,
            "mass = \"39.948 u\"\n",
            "",
            ["missing key `mass` in [species.Ar]", "add mass"],
        ),
        (
            ARGON,
            "kind = \"lennard-jones\"\n",
            "",
            ["missing key `kind` in [[forces]]", "lennard-jones"],
        ),
        (
            ARGON,
            "lattice = \"fcc\", ",
            "",
            ["missing key `lattice`", "add lattice = \"fcc\""],
        ),
        (
            ARGON,
            ", spacing = \"5.256 Å\"",
            "",
            ["missing key `spacing`", "density"],
        ),
        (
            ARGON,
            ", sigma = \"3.40 Å\"",
            "",
            ["lacks its parameter `sigma`", "it takes epsilon = …, sigma = …"],
        ),
        (
            ARGON,
            "every = 100, ",
            "",
            ["missing key `every` in `table`", "add every = 1000"],
        ),
        (
            SALT,
            "friction = 0.5\n",
            "",
            ["missing key `friction` in [integrator]", "add friction = 0.5"],
        ),
        (
            SALT,
            "temperature = 1.0\n",
            "",
            [
                "missing key `temperature` in [integrator]",
                "add temperature = 1.0",
            ],
        ),
        (
            CHAIN,
            "cell = [10.0, 10.0, 10.0]\n",
            "",
            ["missing key `cell` in [system]", "add cell"],
        ),
    ] {
        let text = with(base, old, new);
        let error = parse(&text).err().unwrap_or_else(|| panic!("accepted:\n{text}"));
        for part in parts {
            assert!(error.to_string().contains(part), "`{part}` is not in:\n{error}");
        }
    }
    let error = refused(
        ARGON,
        "[[forces]]\nkind = \"lennard-jones\"\ncutoff = \"12 Å\"\n",
        "«[[forces]]»\nkind = \"lennard-jones\"\n",
    );
    assert_eq!(error.key, "forces[0].cutoff");
    let error = parse("").err().unwrap();
    assert!(
        error
            .to_string()
            .starts_with("test.toml: missing key `units` in the file"),
        "{error}"
    );
}

#[test]
fn numbers_that_make_no_sense() {
    for (base, old, new, parts) in [
        (
            ARGON,
            "\"39.948 u\"",
            "«\"-1 u\"»",
            ["`species.Ar.mass` is \"-1 u\"", "a mass greater than zero"],
        ),
        (
            ARGON,
            "\"39.948 u\"",
            "«0»",
            ["`species.Ar.mass` is 0", "a mass greater than zero"],
        ),
        (
            ARGON,
            "\"12 Å\"",
            "«0.0»",
            ["`forces[0].cutoff` is 0.0", "a length greater than zero"],
        ),
        (
            ARGON,
            "\"12 Å\"",
            "«\"-12 Å\"»",
            ["is \"-12 Å\"", "a length greater than zero"],
        ),
        (
            ARGON,
            "\"2 fs\"",
            "«\"0 fs\"»",
            ["`integrator.timestep` is \"0 fs\"", "a time greater than zero"],
        ),
        (
            ARGON,
            "10_000\ntemp",
            "«0»\ntemp",
            ["`run.steps` is 0", "a number of steps of at least 1"],
        ),
        (
            ARGON,
            "10_000\ntemp",
            "«-5»\ntemp",
            ["`run.steps` is -5", "at least 1"],
        ),
        (
            ARGON,
            "10_000\ntemp",
            "«9_000_000_000_000_000_000»\ntemp",
            ["`run.steps` is 9000000000000000000", "at most"],
        ),
        (
            ARGON,
            "\"120 K\"",
            "«\"-120 K\"»",
            ["`run.temperature` is", "of at least zero"],
        ),
        (
            ARGON,
            "every = 100,",
            "every = «0»,",
            ["`output.table.every` is 0", "at least 1"],
        ),
        (
            ARGON,
            "\"3.40 Å\"",
            "«\"-3.40 Å\"»",
            ["`forces[0].pairs.Ar-Ar.sigma` is", "expected a length > 0"],
        ),
        (
            ARGON,
            "\"0.0104 eV\"",
            "«-1»",
            ["epsilon` is -1", "expected a number ≥ 0"],
        ),
        (
            ARGON,
            "\"12 Å\"",
            "«\"400 nm\"»",
            ["reaches 400 nm, more than 10 times", "check the unit"],
        ),
        (
            ARGON,
            "cells = [6, 6, 6]",
            "cells = «[60000, 60000, 6]»",
            ["would make 86400000000 particles", "at most 1000000000"],
        ),
        (
            CHAIN,
            "[10.0, 10.0, 10.0]",
            "«[10.0, 0.0, 10.0]»",
            ["`system.cell` is not a usable cell", "greater than zero"],
        ),
        (
            CHAIN,
            "[10.0, 10.0, 10.0]",
            "«[10.0, 10.0]»",
            ["is a list of 2", "nine numbers"],
        ),
        (
            CHAIN,
            "[10.0, 10.0, 10.0]",
            "«[0, 10, 0, -10, 0, 0, 0, 0, 10]»",
            ["standard orientation", "a lies along x"],
        ),
        (
            CHAIN,
            "minimum_distance = 1.0",
            "minimum_distance = «-1.0»",
            ["minimum_distance` is -1.0", "at least zero"],
        ),
        (
            CHAIN,
            "r0 = 1.0 }, soft",
            "r0 = «-1.0» }, soft",
            ["`forces[1].types.stiff.r0` is -1.0", "a length ≥ 0"],
        ),
        (
            CHAIN,
            "[1, 2, \"stiff\"]",
            "[«0», 2, \"stiff\"]",
            ["`topology.bonds[0][0]` is 0", "from 1 to 6"],
        ),
        (
            CHAIN,
            "[1, 2, \"stiff\"]",
            "[1, «7», \"stiff\"]",
            ["`topology.bonds[0][1]` is 7", "from 1 to 6"],
        ),
        (
            CHAIN,
            "[1, 2, \"stiff\"]",
            "«[1, 1, \"stiff\"]»",
            ["names particle 1 twice", "topology.bonds[0]"],
        ),
        (
            CHAIN,
            "[1, 2, \"stiff\"]",
            "«[1, \"stiff\"]»",
            ["is a list of 2", "2 particle numbers and the name of a kind"],
        ),
    ] {
        check(base, old, new, &parts);
    }
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
            ["no tail correction", "truncations cut and shift"],
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
    let error = debye::input::Simulation::read("/nowhere/x.toml").err().unwrap();
    assert!(
        error
            .to_string()
            .starts_with("/nowhere/x.toml: cannot read the input file"),
        "{error}"
    );
}
