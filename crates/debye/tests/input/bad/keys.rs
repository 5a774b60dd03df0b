//! Keys and names that do not exist, and keys that are missing.

use super::{check, refused};
use crate::{ARGON, CHAIN, SALT, parse, with};

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
            ["unknown unit system `si`", "did you mean `md`?"],
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
            ["unknown device `gpu`", "did you mean `cuda`?"],
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
