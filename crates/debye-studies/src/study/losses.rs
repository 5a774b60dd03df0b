//! Where the engine loses, on every ladder and at every size, and why.

use super::Place;
use super::findings::{Findings, Row, Section, Table};
use super::html::{digits, seconds};
use super::leads::Lead;

/// Why the engine may lose in this measurement; none where nobody has thought of it.
pub(crate) type Why = fn(&Row) -> Option<&'static str>;

/// The time of work that grows with its size by less than this power is mostly a constant.
const FLAT: f64 = 0.5;

/// A measurement of the engine that is slower than another variant in the same place.
struct Loss<'f> {
    row: &'f Row,
    rival: &'f Row,
    lead: Lead,
    why: &'static str,
}

/// How the engine stands on the ladders of a section.
#[derive(Default)]
struct Standing<'f> {
    /// The one place that the section is about.
    place: Option<Place>,
    inputs: usize,
    open: usize,
    losses: Vec<Loss<'f>>,
}

/// Whether it is one of the engine's.
pub(super) fn is_engine(variant: &str) -> bool {
    variant.contains("engine")
}

impl Findings {
    /// Adds to every section where the engine loses on its ladders.
    pub(super) fn explain(&mut self, why: Why) {
        let said: Vec<Option<(String, Option<Table>)>> = self
            .sections
            .iter()
            .map(|section| self.standing(section, why).said(self))
            .collect();
        for (section, said) in self.sections.iter_mut().zip(said) {
            if let Some((words, table)) = said {
                section.meaning += &words;
                section.tables.extend(table);
            }
        }
    }

    fn standing(&self, section: &Section, why: Why) -> Standing<'_> {
        let mut standing = Standing {
            place: section.place,
            ..Standing::default()
        };
        for ladder in section.ladders {
            let mut rows: Vec<&Row> = self
                .rows
                .iter()
                .filter(|row| row.ladder == *ladder && is_engine(&row.variant))
                .filter(|row| section.place.is_none_or(|place| row.place == place))
                .collect();
            // Sizes of a variant one after another.
            rows.sort_by(|a, b| a.variant.cmp(&b.variant).then(a.work.total_cmp(&b.work)));
            for row in rows {
                let rival = self.fastest_rival(row);
                let Some((rival, lead)) = rival.and_then(|rival| Some((rival, Lead::of(row, rival)?))) else {
                    continue;
                };
                standing.inputs += 1;
                match () {
                    () if lead.alike() => {}
                    () if !lead.decided() => standing.open += 1,
                    () if !lead.wins() => standing.losses.push(Loss {
                        row,
                        rival,
                        lead,
                        why: why(row).unwrap_or(UNKNOWN),
                    }),
                    () => {}
                }
            }
        }
        standing
    }

    /// The fastest variant that is not the engine's, in the same place and on the same input.
    fn fastest_rival(&self, row: &Row) -> Option<&Row> {
        let rivals = self.rows.iter().filter(|other| {
            other.ladder == row.ladder
                && other.place == row.place
                && other.size == row.size
                && !is_engine(&other.variant)
                && other.seconds.is_some()
        });
        rivals.min_by(|a, b| {
            a.seconds
                .unwrap_or(f64::NAN)
                .total_cmp(&b.seconds.unwrap_or(f64::NAN))
        })
    }
}

/// What a test does not let pass.
const UNKNOWN: &str = "not known";

impl Standing<'_> {
    /// A sentence for the section and a table of losses. None where there is nothing to compare.
    fn said(&self, found: &Findings) -> Option<(String, Option<Table>)> {
        if self.inputs == 0 {
            return None;
        }
        let all = self.inputs;
        let mut words = match (self.losses.len(), self.open) {
            (0, 0) => " The engine loses nowhere to another rung in the same place.".to_string(),
            (0, _) => String::new(),
            (lost, _) => format!(
                " In {lost} of {all} measurements the engine is slower than the fastest other rung in the same place: the last \
                 table says where and why."
            ),
        };
        if self.open > 0 {
            let open = self.open;
            words +=
                &format!(" Whether it is faster is not decided in {open} of {all}, since rounds overlap.");
        }
        Some((words, self.table(found)))
    }

    fn table(&self, found: &Findings) -> Option<Table> {
        let same = |a: &Loss<'_>, b: &Loss<'_>| {
            (a.row.ladder, &a.row.variant, a.why) == (b.row.ladder, &b.row.variant, b.why)
        };
        let groups: Vec<&[Loss<'_>]> = self.losses.chunk_by(same).collect();
        let first = groups.first()?.first()?;
        Some(Table {
            name: file_name(first.row.ladder, self.place),
            title: "Where the engine is slower, and why".into(),
            head: ["", "input", "its time", "slower than", "times", "why"]
                .map(String::from)
                .into(),
            rows: groups
                .into_iter()
                .filter_map(|group| cells(group, found))
                .collect(),
        })
    }
}

/// `slower-tables-I-and-II-cpu`: what is no letter or digit is left out.
fn file_name(ladder: &str, place: Option<Place>) -> String {
    let words = ladder.split(|c: char| !c.is_ascii_alphanumeric());
    let words = words.filter(|word| !word.is_empty());
    let parts: Vec<&str> = std::iter::once("slower")
        .chain(words)
        .chain(place.map(Place::name))
        .collect();
    parts.join("-")
}

/// Losses of a variant for one reason, by size.
fn cells(group: &[Loss<'_>], found: &Findings) -> Option<Vec<String>> {
    let (first, last) = (group.first()?, group.last()?);
    let range = |one: String, other: String| match one == other {
        true => one,
        false => format!("{one} … {other}"),
    };
    let time = |loss: &Loss<'_>| seconds(loss.row.seconds.unwrap_or(f64::NAN));
    let mut times: Vec<f64> = group.iter().map(|loss| 1.0 / loss.lead.ratio).collect();
    times.sort_by(f64::total_cmp);
    let mut rivals: Vec<&str> = group.iter().map(|loss| loss.rival.variant.as_str()).collect();
    rivals.sort_unstable();
    rivals.dedup();
    let mut why = first.why.to_string();
    if let Some(power) = power(found, first.row, last.row).filter(|power| *power < FLAT) {
        why +=
            &format!(". Its time grows with the power {power:.2} of the work here: most of it is a constant");
    }
    let number = match group.len() {
        1 => String::new(),
        several => format!(" ({several} sizes)"),
    };
    Some(vec![
        first.row.variant.clone(),
        range(first.row.input.clone(), last.row.input.clone()) + &number,
        range(time(first), time(last)),
        rivals.join("; "),
        range(digits(*times.first()?), digits(*times.last()?)),
        why,
    ])
}

/// The power of the work that the time of a variant grows with over these sizes, or up to the next where it is one.
fn power(found: &Findings, first: &Row, last: &Row) -> Option<f64> {
    let later = found
        .of(first.ladder, &first.variant)
        .filter(|row| row.seconds.is_some() && row.work > first.work)
        .min_by(|a, b| a.work.total_cmp(&b.work));
    let end = if last.work > first.work { last } else { later? };
    Some((end.seconds? / first.seconds?).ln() / (end.work / first.work).ln())
}

#[cfg(test)]
mod tests {
    use super::super::findings::timed;
    use super::*;

    fn said(rows: Vec<Row>) -> Section {
        let mut found = Findings::new(Err("none".into()));
        found.rows = rows;
        found.sections = vec![Section {
            ladders: &["scan"],
            ..Section::default()
        }];
        found.explain(|row| (row.size < 1000.0).then_some("threads start"));
        found.sections.remove(0)
    }

    /// Sizes that are lost are named with the fastest rival, and those that rounds do not decide are counted.
    #[test]
    fn losses_are_found_at_every_size() {
        let rows = |largest: [f64; 3]| {
            vec![
                timed("scan", "CPU engine", 10.0, [2.0; 3]),
                timed("scan", "CPU engine", 100.0, [2.0; 3]),
                timed("scan", "CPU engine", 1e3, [2.0; 3]),
                timed("scan", "CPU engine", 1e4, largest),
                timed("scan", "CPU slow", 10.0, [9.0; 3]),
                timed("scan", "CPU loop", 10.0, [0.5; 3]),
                timed("scan", "CPU loop", 100.0, [1.0; 3]),
                timed("scan", "CPU loop", 1e3, [1.5, 3.0, 4.0]),
                timed("scan", "CPU loop", 1e4, [9.0; 3]),
            ]
        };
        let section = said(rows([2.0; 3]));
        assert!(
            section.meaning.contains("In 2 of 4 measurements"),
            "{}",
            section.meaning
        );
        assert!(
            section.meaning.contains("not decided in 1 of 4"),
            "{}",
            section.meaning
        );
        let table = &section.tables[0];
        assert_eq!(table.rows.len(), 1);
        let row = table.rows[0].join("|");
        for part in [
            "CPU engine|10 … 100 (2 sizes)|",
            "|CPU loop|2 … 4|threads start. Its time",
            "power 0.00",
        ] {
            assert!(row.contains(part), "{row}");
        }
        // A loss that nobody has a reason for is said to be one.
        let section = said(rows([20.0; 3]));
        assert!(
            section.tables[0].rows[1][5].contains(UNKNOWN),
            "{:?}",
            section.tables
        );
    }

    #[test]
    fn tables_have_names_of_their_own() {
        assert_eq!(file_name("a point for each Å", None), "slower-a-point-for-each");
        assert_eq!(
            file_name("step, water", Some(Place::Cpu)),
            "slower-step-water-cpu"
        );
    }

    #[test]
    fn a_ladder_that_is_won_is_said_to_be() {
        let rows = vec![
            timed("scan", "CPU engine", 10.0, [1.0; 3]),
            timed("scan", "CPU loop", 10.0, [2.0; 3]),
        ];
        let section = said(rows);
        assert!(section.meaning.contains("loses nowhere") && section.tables.is_empty());
    }
}
