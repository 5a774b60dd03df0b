//! What a comparison found: as a table, as JSON, as CSV.

use std::fmt::Write as _;

use serde::{Deserialize, Serialize};

use crate::console;

/// A comparison.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Comparison {
    /// Where it ran.
    pub(super) machine: String,
    /// Threads of every program.
    pub(super) threads: usize,
    /// The programs and their versions, and those that are missing.
    pub(super) programs: Vec<ProgramFound>,
    pub(super) cases: Vec<CaseResult>,
}

/// A program.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct ProgramFound {
    pub(super) name: String,
    /// Its version, or why it does not run.
    pub(super) version: String,
}

/// What was measured of a case.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct CaseResult {
    pub(super) case: String,
    pub(super) particles: usize,
    /// Load of the machine before every round.
    pub(super) loads: Vec<Option<f64>>,
    pub(super) programs: Vec<ProgramResult>,
}

/// What was measured of a program.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct ProgramResult {
    pub(super) program: String,
    pub(super) settings: String,
    /// Relative root-mean-square error of the forces.
    pub(super) force_error: Option<f64>,
    /// By round.
    pub(super) steps_per_second: Vec<f64>,
    /// Median and spread of `steps_per_second`.
    pub(super) speed: Option<Spread>,
    /// Of Debye's first precision over it, round by round.
    pub(super) debye_over_it: Option<Spread>,
    /// Why it was given up.
    pub(super) failure: Option<String>,
}

/// The middle and the ends of some numbers.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Spread {
    pub(super) median: f64,
    pub(super) lowest: f64,
    pub(super) highest: f64,
}

impl Spread {
    /// Of these numbers; none of none.
    pub(super) fn of(numbers: &[f64]) -> Option<Self> {
        let mut sorted = numbers.to_vec();
        sorted.sort_by(f64::total_cmp);
        let (lowest, highest) = (*sorted.first()?, *sorted.last()?);
        let middle = sorted.len() / 2;
        let median = match sorted.len() % 2 {
            0 => 0.5 * (sorted[middle - 1] + sorted[middle]),
            _ => sorted[middle],
        };
        Some(Self {
            median,
            lowest,
            highest,
        })
    }
}

impl CaseResult {
    /// Medians and ratios of what was measured so far. The first program is the one the others are compared with.
    pub(super) fn summarize(&mut self) {
        let own = self.programs.first().map(|p| p.steps_per_second.clone());
        for program in &mut self.programs {
            program.speed = Spread::of(&program.steps_per_second);
            let rounds = own.iter().flatten().zip(&program.steps_per_second);
            let ratios: Vec<f64> = rounds.map(|(own, other)| own / other).collect();
            program.debye_over_it = Spread::of(&ratios);
        }
    }
}

impl ProgramResult {
    /// A row of the table; the ratio only for others than Debye.
    fn cells(&self, case: &str, with_ratio: bool) -> Vec<String> {
        let number =
            |of: fn(&Spread) -> f64| self.speed.as_ref().map_or("–".into(), |s| console::short(of(s)));
        let ratio = self.debye_over_it.filter(|_| with_ratio);
        let ratio = ratio.map(|r| format!("{:.2} ({:.2} to {:.2})", r.median, r.lowest, r.highest));
        vec![
            case.to_owned(),
            self.program.clone(),
            number(|s| s.median),
            number(|s| s.lowest),
            number(|s| s.highest),
            ratio.unwrap_or_default(),
            self.force_error.map_or("–".into(), |e| format!("{e:.1e}")),
        ]
    }
}

impl Comparison {
    /// Programs that failed.
    pub(super) fn failures(&self) -> usize {
        let all = self.cases.iter().flat_map(|case| &case.programs);
        all.filter(|program| program.failure.is_some()).count()
    }

    /// The highest load before any round.
    pub(super) fn highest_load(&self) -> Option<f64> {
        let loads = self.cases.iter().flat_map(|case| &case.loads).flatten();
        loads.copied().max_by(f64::total_cmp)
    }

    /// For people: speeds and errors, then what every program was told.
    pub(super) fn table(&self) -> String {
        let head = [
            "case",
            "program",
            "steps/s",
            "lowest",
            "highest",
            "Debye / it",
            "force error",
        ];
        let mut rows = vec![head.map(String::from).to_vec()];
        let mut settings = String::new();
        for case in &self.cases {
            for (k, p) in case.programs.iter().enumerate() {
                rows.push(p.cells(if k == 0 { &case.case } else { "" }, k > 0));
                // Writing to a string cannot fail.
                let _ = writeln!(settings, "{} {}: {}", case.case, p.program, p.settings);
            }
        }
        format!("{}on {}\n\n{settings}", console::columns(&rows), self.machine)
    }

    /// A line for every measurement.
    pub(super) fn csv(&self) -> String {
        let mut text = String::from("case,program,round,load,steps_per_second\n");
        for case in &self.cases {
            for p in &case.programs {
                for (round, (speed, load)) in p.steps_per_second.iter().zip(&case.loads).enumerate() {
                    let load = load.map_or(String::new(), |load| load.to_string());
                    // Writing to a string cannot fail.
                    let _ = writeln!(text, "{},{},{},{load},{speed}", case.case, p.program, round + 1);
                }
            }
        }
        text
    }
}
