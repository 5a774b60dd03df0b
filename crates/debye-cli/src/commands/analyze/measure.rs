//! [`Measure`]: the analyses of the register, each a command with a flag for each of its settings.

use std::path::PathBuf;

use clap::builder::PossibleValuesParser;
use clap::{Arg, ArgMatches, Args, Command, FromArgMatches, Subcommand, value_parser};
use debye::analysis::{ANALYSES, AnalysisKind, AnalysisRequest, Setting, SettingKind, SettingValue};

use super::Destination;
use super::frames::{Frames, Source};
use crate::failure::Failure;

/// An analysis of the frames of a trajectory.
pub struct Measure {
    kind: &'static AnalysisKind,
    source: Source,
    settings: ArgMatches,
    to: Destination,
}

impl Subcommand for Measure {
    fn augment_subcommands(command: Command) -> Command {
        ANALYSES.iter().fold(command, |command, kind| {
            // Species are the last of the keys and the first of the flags.
            let flags = kind.settings.iter().rev().filter_map(flag);
            let measure = Source::augment_args(Command::new(kind.name)).args(flags);
            let measure = Destination::augment_args(measure).about(kind.about);
            command.subcommand(measure.long_about(None))
        })
    }

    fn augment_subcommands_for_update(command: Command) -> Command {
        Self::augment_subcommands(command)
    }

    fn has_subcommand(name: &str) -> bool {
        ANALYSES.iter().any(|kind| kind.name == name)
    }
}

impl FromArgMatches for Measure {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let found = matches.subcommand().and_then(|(name, matches)| {
            let kind = ANALYSES.iter().find(|kind| kind.name == name)?;
            Some((kind, matches))
        });
        let (kind, matches) =
            found.ok_or_else(|| clap::Error::new(clap::error::ErrorKind::InvalidSubcommand))?;
        Ok(Self {
            kind,
            source: Source::from_arg_matches(matches)?,
            settings: matches.clone(),
            to: Destination::from_arg_matches(matches)?,
        })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

/// The flag of a setting, where it has one.
fn flag(setting: &'static Setting) -> Option<Arg> {
    let flag = Arg::new(setting.name)
        .long(setting.name.replace('_', "-"))
        .value_name(setting.name.to_uppercase())
        .help(setting.flag?);
    Some(match setting.kind {
        SettingKind::Count(usual) => flag
            .value_parser(value_parser!(usize))
            .default_value(usual.to_string()),
        SettingKind::Choice(names, usual) => flag
            .value_parser(PossibleValuesParser::new(names))
            .default_value(names[usual]),
        SettingKind::Quantity(_) | SettingKind::Pair | SettingKind::Species => flag,
    })
}

impl Measure {
    /// Feeds every frame to the analysis and writes what comes out.
    pub fn execute(&self) -> Result<(), Failure> {
        let (result, count, csv) = self.to.threads.install(|| {
            let mut frames = Frames::open(&self.source)?;
            let request = AnalysisRequest::new(self.kind, |setting| self.value(setting, &frames))?;
            let mut analysis = request.build(frames.subject())?;
            let csv = self.to.output.clone();
            let csv = csv.unwrap_or_else(|| PathBuf::from(format!("{}.csv", analysis.name())));
            // Before a long trajectory is read for nothing.
            self.to
                .refuse_existing(&[csv.clone(), csv.with_extension("png")])?;
            frames.for_each(|snapshot| analysis.add(snapshot))?;
            if frames.count() < self.kind.fewest_frames {
                return Err(frames.too_few(self.kind.fewest_frames, analysis.name()));
            }
            let names: Vec<&str> = frames
                .subject()
                .labels
                .species
                .iter()
                .map(String::as_str)
                .collect();
            let result = request.narrow(analysis.finish(), &names);
            Ok((result, frames.count(), csv))
        })?;
        self.to.conclude(&result, count, &csv)
    }

    /// The value of a flag, where it is given or has a default.
    fn value(&self, setting: &'static Setting, frames: &Frames) -> Result<Option<SettingValue>, Failure> {
        if setting.flag.is_none() {
            return Ok(None);
        }
        let text = || self.settings.get_one::<String>(setting.name);
        let flag = setting.name.replace('_', "-");
        Ok(match setting.kind {
            SettingKind::Count(_) => {
                let count = self.settings.get_one(setting.name);
                count.copied().map(SettingValue::Count)
            }
            SettingKind::Quantity(dimension) => match text() {
                Some(text) => {
                    let quantity = frames.subject().units.quantity(text, dimension);
                    let quantity = quantity.map_err(|e| Failure::refused(format!("--{flag} {text}: {e}")))?;
                    Some(SettingValue::Quantity(Some(quantity)))
                }
                None => None,
            },
            SettingKind::Choice(names, _) => {
                let place = text().and_then(|text| names.iter().position(|name| name == text));
                place.map(SettingValue::Choice)
            }
            SettingKind::Pair => match text() {
                Some(text) => Some(SettingValue::Pair(Some(frames.pair(&flag, text)?))),
                None => None,
            },
            SettingKind::Species => match text() {
                Some(text) => Some(SettingValue::Species(frames.some_species(&flag, text)?)),
                None => None,
            },
        })
    }
}
