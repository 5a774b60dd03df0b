//! Inputs that are written, outputs that are read, and what is made of them; no other program is needed.

#![allow(clippy::unwrap_used)]

use super::super::cases::Selection;
use super::model::{Model, Scale, reason_against};
use super::program::visible_device;
use super::results::{CaseResult, ProgramResult, Spread};
use super::{gromacs, lammps, openmm};

fn model(name: &str) -> Model {
    let case = Selection::named(name).unwrap();
    Model::of(&case, &case.simulation(None).unwrap()).unwrap()
}

/// Words of the lines of a section, up to the next one.
fn section(text: &str, head: &str) -> Vec<Vec<String>> {
    let lines = text.lines().skip_while(|line| line.trim() != head).skip(1);
    let lines = lines.skip_while(|line| line.is_empty());
    lines
        .take_while(|line| !line.is_empty() && !line.starts_with('['))
        .filter(|line| !line.starts_with(';'))
        .map(|line| line.split_whitespace().map(String::from).collect())
        .collect()
}

fn number(text: &str) -> f64 {
    text.parse().unwrap()
}

fn close(a: f64, b: f64) -> bool {
    (a - b).abs() <= 1e-9 * b.abs().max(1e-9)
}

#[test]
fn a_melt_is_the_same_in_reduced_units_and_as_argon() {
    let melt = model("lj1k");
    assert_eq!((melt.len(), melt.cutoff, melt.timestep), (1000, 2.5, 0.005));
    let data = lammps::data(&melt);
    assert!(data.contains("1000 atoms\n1 atom types\n"));
    assert_eq!(section(&data, "Atoms # atomic").len(), 1000);
    assert_eq!(section(&data, "Velocities").len(), 1000);
    let input = lammps::input(&melt);
    assert!(input.contains("pair_style lj/cut 2.5\n") && input.contains("pair_coeff 1 1 1 1\n"));
    let scale = Scale::argon().unwrap();
    let argon = melt.scaled(&scale);
    // 0.0104 eV, 3.40 Å and 39.948 u; τ is σ √(m/ε).
    assert!((argon.species[0].epsilon - 1.00344).abs() < 1e-4);
    assert!(close(argon.cutoff, 0.85) && close(argon.species[0].mass, 39.948));
    assert!(close(
        argon.timestep,
        0.005 * 0.34 * (39.948 / argon.species[0].epsilon).sqrt()
    ));
    let kinetic = |m: &Model| {
        let squares: f64 = m.velocities.iter().flatten().map(|v| v * v).sum();
        0.5 * m.species[0].mass * squares / m.species[0].epsilon
    };
    assert!(close(kinetic(&argon), kinetic(&melt)));
    let force = scale.energy / scale.length;
    assert!(close(scale.forces_back(vec![[force, 0.0, 0.0]])[0][0], 1.0));
    let topology = gromacs::topology(&argon);
    assert_eq!(section(&topology, "[ molecules ]"), [["A", "1000"]]);
    assert!(gromacs::parameters(&argon).contains("coulombtype = Cut-off\ntcoupl = no\n"));
}

#[test]
fn salt_is_neutral_and_in_the_units_of_each_program() {
    let salt = model("nacl6k");
    let real = salt.scaled(&lammps::REAL);
    let atoms = section(&lammps::data(&real), "Atoms # charge");
    assert_eq!(atoms.len(), 5832);
    assert_eq!(atoms.iter().map(|words| number(&words[2])).sum::<f64>(), 0.0);
    for (words, position) in atoms.iter().zip(&salt.positions) {
        assert!(close(number(&words[3]), 10.0 * position[0]));
    }
    let input = lammps::input(&real);
    assert!(input.contains("units real\natom_style charge\npair_style lj/cut/coul/long 10\n"));
    let sodium: Vec<f64> = input
        .lines()
        .find_map(|line| line.strip_prefix("pair_coeff 1 1 "))
        .map(|rest| rest.split(' ').map(number).collect())
        .unwrap();
    assert!(close(sodium[0], 1.4754533 / 4.184) && close(sodium[1], 2.159538));
    assert!(lammps::motion(&real).contains("fix motion all nve\ntimestep 2\n"));
    // GROMACS wants ions of a species together, and gives forces in that order.
    let order = gromacs::order(&salt);
    assert!(order.is_sorted_by_key(|&i| salt.kinds[i]));
    let topology = gromacs::topology(&salt);
    assert_eq!(
        section(&topology, "[ molecules ]"),
        [["Na", "2916"], ["Cl", "2916"]]
    );
    let gro = String::from_utf8(gromacs::coordinates(&salt, &order).unwrap()).unwrap();
    assert_eq!(gro.lines().count(), 5832 + 3);
    assert!(gro.lines().nth(2).unwrap().contains("Na"));
    assert!(gro.trim_end().ends_with("5.076000000 5.076000000 5.076000000"));
    assert!(gromacs::parameters(&salt).contains("pme-order = 4\nfourierspacing = 0.12\newald-rtol = 1e-5\n"));
}

#[test]
fn water_is_whole_neutral_and_rigid() {
    let water = model("water21k");
    let molecules = &water.water.as_ref().unwrap().molecules;
    assert_eq!((water.len(), molecules.len()), (21_480, 7160));
    for molecule in molecules {
        let [o, h, g] = molecule.map(|i| i as usize);
        let charge: f64 = [o, h, g].iter().map(|&i| water.species_of(i).charge).sum();
        assert!(charge.abs() < 1e-12);
        let apart = |a: usize, b: usize| {
            let squares = (0..3).map(|k| (water.positions[a][k] - water.positions[b][k]).powi(2));
            squares.sum::<f64>().sqrt()
        };
        assert!((apart(o, h) - 0.09572).abs() < 1e-6 && (apart(h, g) - 0.15139).abs() < 1e-6);
    }
    let real = water.scaled(&lammps::REAL);
    let data = lammps::data(&real);
    assert_eq!(section(&data, "Atoms # full").len(), 21_480);
    assert_eq!(section(&data, "Bonds").len(), 2 * 7160);
    assert_eq!(section(&data, "Angles").len(), 7160);
    let input = lammps::input(&real);
    assert!(input.contains("bond_style zero") && input.contains("angle_coeff 1 104.5"));
    assert!(lammps::motion(&real).contains("langevin 300 300 1000"));
    let topology = gromacs::topology(&water);
    assert_eq!(
        section(&topology, "[ settles ]"),
        [["1", "1", "0.09572", "0.15139"]]
    );
    assert_eq!(section(&topology, "[ molecules ]"), [["SOL", "7160"]]);
    assert!(gromacs::parameters(&water).contains("tcoupl = v-rescale"));
}

#[test]
fn speeds_are_read_from_what_the_programs_print() {
    // gmx mdrun 2022.5.
    let mdrun = "               Core t (s)   Wall t (s)        (%)\n       Time:        4.364        2.182      200.0\n\
                 \x20                (ns/day)    (hour/ns)\nPerformance:      258.653        0.093\n";
    assert_eq!(gromacs::nanoseconds_per_day(mdrun), Some(258.653));
    assert_eq!(gromacs::nanoseconds_per_day("Fatal error:"), None);
    let version = "GROMACS version:    2022.5-Debian_2022.5_2\nPrecision:          mixed\n\
                   GPU support:        disabled\nSIMD instructions:  SSE4.1\n";
    let gromacs = gromacs::Gromacs::read("gmx", version).unwrap();
    assert_eq!(
        super::Program::version(&gromacs),
        "2022.5-Debian_2022.5_2, SSE4.1, mixed precision"
    );
    // lmp 22 Jul 2025.
    let log = "   Step          Temp          E_pair         E_mol          TotEng         Press     \n\
               \x20      100   0.7574531     -5.7585055      0             -4.6223613      0.20726105   \n\
               \x20      300   0.74624286    -5.741962       0             -4.6226327      0.32016436   \n\
               Loop time of 1.21003 on 2 procs for 200 steps with 32000 atoms\n\n\
               Performance: 71403.044 tau/day, 165.285 timesteps/s, 5.289 Matom-step/s\n";
    assert!((lammps::rate(log).unwrap() - 165.285).abs() < 1e-3);
    let about = "\nLarge-scale Atomic/Molecular Massively Parallel Simulator - 22 Jul 2025 - Update 4\n";
    assert_eq!(lammps::version(about), Some("22 Jul 2025 - Update 4"));
    assert_eq!(
        lammps::version("LAMMPS (22 Jul 2025 - Update 4)\n"),
        Some("22 Jul 2025 - Update 4")
    );
    assert_eq!(
        openmm::rate("a warning\n{\"steps\": 300, \"seconds\": 4.0}\n"),
        Some(75.0)
    );
    assert_eq!(openmm::rate("Traceback"), None);
}

#[test]
fn medians_and_ratios_are_of_rounds() {
    assert_eq!(Spread::of(&[]), None);
    let program = |name: &str, speeds: &[f64]| ProgramResult {
        program: name.into(),
        settings: String::new(),
        force_error: None,
        steps_per_second: speeds.to_vec(),
        speed: None,
        debye_over_it: None,
        failure: None,
    };
    let mut case = CaseResult {
        case: "lj32k".into(),
        particles: 32_000,
        loads: vec![None; 3],
        programs: vec![
            program("Debye", &[10.0, 30.0, 20.0]),
            program("GROMACS", &[10.0, 10.0]),
        ],
    };
    case.summarize();
    let own = case.programs[0].speed.unwrap();
    assert_eq!([own.median, own.lowest, own.highest], [20.0, 10.0, 30.0]);
    // The third round has one of them only.
    let ratio = case.programs[1].debye_over_it.unwrap();
    assert_eq!([ratio.median, ratio.lowest, ratio.highest], [2.0, 1.0, 3.0]);
}

#[test]
fn other_programs_see_the_device_that_debye_uses() {
    assert_eq!(visible_device(1, None), "1");
    assert_eq!(visible_device(1, Some("3, 2")), "2");
}

#[test]
fn cases_that_others_cannot_run_say_why() {
    for (name, why) in [
        ("argon-droplet", "rest"),
        ("ssd4k", "sticky"),
        ("elba-dopc", "ELBA"),
    ] {
        assert!(
            reason_against(&Selection::named(name).unwrap())
                .unwrap()
                .contains(why)
        );
    }
    for name in ["lj:4000", "nacl512k", "water1m"] {
        assert!(reason_against(&Selection::named(name).unwrap()).is_none());
    }
}
