//! A case by all programs: their forces first, then round by round.

use debye::simulation::{DeviceChoice, Simulation};

use super::super::cases::Selection;
use super::super::timing;
use super::Request;
use super::accuracy::Reference;
use super::model::Model;
use super::program::{Case, Contestant, Place, Problem, Program};
use super::results::{CaseResult, ProgramResult};
use crate::console;
use crate::failure::Failure;

/// Gets a line for each thing that begins.
pub(super) type Report<'a> = &'a dyn Fn(&str);

/// A program and what was measured of it.
struct Turn<'a> {
    contestant: Option<Box<dyn Contestant + 'a>>,
    result: ProgramResult,
}

impl Turn<'_> {
    /// Keeps what a program gave. One that failed is given up; `None` where it was stopped.
    fn take<T>(&mut self, given: Result<T, Problem>) -> Option<T> {
        match given {
            Ok(value) => return Some(value),
            Err(Problem::Stopped) => {}
            Err(Problem::Failed(why)) => {
                console::report(&format!("{} failed: {why}", self.result.program));
                self.result.failure = Some(why);
                self.contestant = None;
            }
        }
        None
    }
}

/// Compares the programs on a case; where it runs besides.
pub(super) fn compare(
    selection: &Selection,
    request: &Request<'_>,
    programs: &[Box<dyn Program>],
    place: &Place<'_>,
    rounds: u16,
    report: Report<'_>,
) -> Result<(CaseResult, String), Failure> {
    let name = &selection.name;
    report(&format!("{name}: equilibrating"));
    let (simulation, machine) = request
        .threads
        .install(|| equilibrated(selection, request, place))?;
    let model = Model::of(selection, &simulation)?;
    let case = Case {
        selection,
        simulation,
        model,
    };
    let mut result = CaseResult {
        case: name.clone(),
        particles: case.model.len(),
        loads: Vec::new(),
        programs: Vec::new(),
    };
    let mut turns = Vec::new();
    if !place.stopped() {
        report(&format!("{name}: forces of the first configuration"));
        let reference = request.threads.install(|| Reference::of(&case.simulation))?;
        for program in programs {
            turns.push(started(program.as_ref(), &case, place, &reference));
        }
    }
    for round in 1..=rounds {
        if place.stopped() {
            break;
        }
        let load = load();
        let speeds = take_round(&mut turns, request.seconds, place);
        let shown = load.map_or("unknown".into(), |load| format!("{load:.1}"));
        report(&format!(
            "{name}, round {round} of {rounds}, load {shown}:{speeds}"
        ));
        result.loads.push(load);
    }
    for mut turn in turns {
        if let Some(choice) = turn.contestant.and_then(|contestant| contestant.choice()) {
            turn.result.settings += &format!(", {choice}");
        }
        result.programs.push(turn.result);
    }
    result.summarize();
    Ok((result, machine))
}

/// Lets every program that has not failed run once; their speeds in words.
fn take_round(turns: &mut [Turn<'_>], seconds: f64, place: &Place<'_>) -> String {
    let mut line = String::new();
    for turn in turns {
        let Some(contestant) = turn.contestant.as_mut().filter(|_| !place.stopped()) else {
            continue;
        };
        let given = contestant.speed(seconds);
        if let Some(speed) = turn.take(given) {
            turn.result.steps_per_second.push(speed);
            line += &format!(" {} {}", turn.result.program, console::short(speed));
        }
    }
    line
}

/// Writes the input of a program, and measures the error of its forces.
fn started<'a>(
    program: &'a dyn Program,
    case: &'a Case<'a>,
    place: &Place<'a>,
    reference: &Reference,
) -> Turn<'a> {
    let folder = program.name().to_lowercase().replace(' ', "-");
    let place = place
        .within(&case.selection.name.replace(':', "-"))
        .within(&folder);
    let mut turn = Turn {
        contestant: None,
        result: ProgramResult {
            program: program.name(),
            settings: program.settings(case, &place),
            force_error: None,
            steps_per_second: Vec::new(),
            speed: None,
            debye_over_it: None,
            failure: None,
        },
    };
    let begun = program.start(case, &place);
    turn.contestant = turn.take(begun);
    match turn.contestant.as_mut().map(|contestant| contestant.forces()) {
        Some(Ok(forces)) => turn.result.force_error = reference.error(&forces),
        // It may be timed all the same.
        Some(Err(Problem::Failed(why))) => {
            console::report(&format!("{}: its forces failed: {why}", turn.result.program));
            turn.result.failure = Some(why);
        }
        Some(Err(Problem::Stopped)) | None => {}
    }
    turn
}

/// The case as `debye bench` times it, after its equilibration; and what ran it.
fn equilibrated(
    selection: &Selection,
    request: &Request<'_>,
    place: &Place<'_>,
) -> Result<(Simulation, String), Failure> {
    let structure = request.structure.filter(|_| selection.takes_structure());
    let mut simulation = selection.simulation(structure)?;
    simulation.run.device = place.cuda.map_or(DeviceChoice::Cpu, DeviceChoice::Cuda);
    let mut engine = debye::run::engine(&simulation)?;
    if structure.is_none() {
        selection.check(engine.as_mut(), &simulation)?;
    }
    timing::equilibrate(selection, structure.is_some(), engine.as_mut(), &|| {
        !place.stopped()
    })?;
    simulation.system.particles = engine.particles()?;
    let machine = format!("{} ({})", debye::run::report::processor(), engine.device());
    Ok((simulation, machine))
}

/// How many programs wait for a core, as the system counts them over a minute.
fn load() -> Option<f64> {
    let text = std::fs::read_to_string("/proc/loadavg").ok()?;
    text.split_whitespace().next()?.parse().ok()
}
