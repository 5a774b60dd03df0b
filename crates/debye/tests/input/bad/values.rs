//! Values of the wrong unit, type or size.

use super::check;
use crate::{ARGON, CHAIN, SALT};

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
fn numbers_that_make_no_sense() {
    for (base, old, new, parts) in [
        (
            ARGON,
            "\"39.948 u\"",
            "«\"-1 u\"»",
            ["`species.Ar.mass` is \"-1 u\"", "a mass of at least zero"],
        ),
        (
            ARGON,
            "\"39.948 u\"",
            "«0»",
            ["`species.Ar.mass` is zero", "belongs to no rigid body"],
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
            ["would make 86400000000 particles", "the memory that is free"],
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
