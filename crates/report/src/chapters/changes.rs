//! *What changed since …*: two reports compared, by the clock that both machines allow.

use std::fmt;

use serde_json::Value;
use warpsmith_core::{Finding, Severity};
use warpsmith_measure::comparison::evaluation::Verdict;
use warpsmith_measure::comparison::stored::{
    Fitness as StoredFitness, StoredComparison, StoredResult, compare_stored,
};
use warpsmith_measure::measurement::Measurement;
use warpsmith_measure::statistics::order::median_of;

use super::{counted, empty};
use crate::digits;
use crate::document::{
    Block, Cell, Chapter, Column, Document, Fold, Place, Row, State, StripScale, Table,
};

/// Differences below this share are not worth a word between two reports taken apart.
const MARGIN: f64 = 0.03;
const ALPHA: f64 = 0.05;

/// An older report, as far as it is compared.
pub struct Older {
    /// When it was made, in words.
    pub when: String,
    fitness: StoredFitness,
    rows: Vec<(String, Measurement)>,
}

/// Reads a report's JSON document; says what is wrong with it.
pub fn read(text: &[u8], name: &str) -> Result<Older, String> {
    let value: Value = serde_json::from_slice(text)
        .map_err(|error| format!("`{name}` is not a JSON document: {error}"))?;
    if value["verb"] != "report" {
        return Err(format!(
            "`{name}` was not written by `warpsmith report`: give its report.json"
        ));
    }
    match value["body"]["document"].as_u64() {
        Some(version) if version > u64::from(crate::document::DOCUMENT_SCHEMA) => {
            return Err(format!(
                "`{name}` was written by a newer Warpsmith (document {version}): update this one"
            ));
        }
        Some(_) => {}
        None => {
            return Err(format!(
                "`{name}` was written by an older Warpsmith that did not record how busy the \
                 machine was: make it again with this one"
            ));
        }
    }
    let body = &value["body"];
    Ok(Older {
        when: text_at(&body["subject"]["started"]),
        fitness: fitness(&value),
        rows: rows(&body["raw"]["latency"]),
    })
}

fn text_at(value: &Value) -> String {
    value.as_str().unwrap_or("an unknown time").to_owned()
}

fn fitness(report: &Value) -> StoredFitness {
    let fitness = &report["body"]["fitness"];
    let machine = &report["machine"];
    let load = fitness["foreign_busy"].as_f64();
    let throttled = fitness["throttled"]
        .as_array()
        .and_then(|reasons| reasons.first())
        .map(text_at);
    StoredFitness {
        machine: Some(format!(
            "{} {} {}",
            machine["cpu"], machine["cores"], machine["gpus"]
        )),
        load_per_core: load,
        steal_share: fitness["steal"].as_f64(),
        throttled,
        clock_mhz: fitness["gpu_clock_mhz"].as_f64(),
    }
}

/// Workloads with their parameters, and their measurements.
fn rows(latency: &Value) -> Vec<(String, Measurement)> {
    let row = |row: &Value| {
        let measurement = serde_json::from_value(row["measurement"].clone()).ok()?;
        let name = format!(
            "{} {}",
            row["workload"].as_str()?,
            row["parameters"].as_str()?
        );
        Some((name, measurement))
    };
    latency
        .as_array()
        .map(|rows| rows.iter().filter_map(row).collect())
        .unwrap_or_default()
}

/// The chapter that compares `old` with a report that was just made.
pub fn chapter(old: &Older, new: &warpsmith_core::Report<Document>) -> Result<Chapter, String> {
    let value = serde_json::to_value(new).map_err(|error| error.to_string())?;
    let now = Older {
        when: new.body.subject.started.clone(),
        fitness: fitness(&value),
        rows: rows(&value["body"]["raw"]["latency"]),
    };
    Ok(compare(old, &now))
}

/// How many workloads came out how.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Slower in the newer report.
    pub slower: usize,
    /// Faster in the newer report.
    pub faster: usize,
    /// The same within the margin.
    pub same: usize,
    /// The samples do not decide.
    pub undecided: usize,
    /// The machine was not fit in one of them.
    pub not_comparable: usize,
}

impl Tally {
    fn of(answers: &[StoredComparison]) -> Self {
        let mut tally = Self::default();
        for answer in answers {
            match answer {
                StoredComparison::Judged(judged) => match judged.evaluation.verdict {
                    Verdict::Slower => tally.slower += 1,
                    Verdict::Faster => tally.faster += 1,
                    Verdict::Same => tally.same += 1,
                    Verdict::Undecided => tally.undecided += 1,
                },
                StoredComparison::NotComparable { .. } => tally.not_comparable += 1,
            }
        }
        tally
    }

    /// Adds another pair of reports.
    pub fn add(&mut self, other: &Self) {
        self.slower += other.slower;
        self.faster += other.faster;
        self.same += other.same;
        self.undecided += other.undecided;
        self.not_comparable += other.not_comparable;
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} slower, {} faster, {} the same, {} undecided, {} not comparable",
            self.slower, self.faster, self.same, self.undecided, self.not_comparable
        )
    }
}

/// How the workloads of two reports compare.
pub fn tally(old: &Older, new: &Older) -> Tally {
    let (_, pairs) = paired(old, new);
    Tally::of(&compare_stored(&pairs, MARGIN, ALPHA))
}

/// The workloads that both reports have.
fn paired<'a>(
    old: &'a Older,
    now: &'a Older,
) -> (Vec<&'a str>, Vec<(StoredResult<'a>, StoredResult<'a>)>) {
    let mut names = Vec::new();
    let mut pairs = Vec::new();
    for (name, before) in &old.rows {
        if let Some((_, after)) = now.rows.iter().find(|(other, _)| other == name) {
            names.push(name.as_str());
            pairs.push((
                StoredResult {
                    measurement: before,
                    fitness: &old.fitness,
                },
                StoredResult {
                    measurement: after,
                    fitness: &now.fitness,
                },
            ));
        }
    }
    (names, pairs)
}

fn compare(old: &Older, now: &Older) -> Chapter {
    let title = format!("What changed since {}?", old.when);
    let mut chapter = empty("changes", "Changes", &title);
    let (names, pairs) = paired(old, now);
    let answers = compare_stored(&pairs, MARGIN, ALPHA);
    let mut rows = Vec::new();
    for ((name, (before, after)), answer) in names.iter().zip(&pairs).zip(&answers) {
        let place = match answer {
            StoredComparison::Judged(judged) => match judged.evaluation.verdict {
                Verdict::Slower => 0,
                Verdict::Faster => 1,
                Verdict::Same => 2,
                Verdict::Undecided => 3,
            },
            StoredComparison::NotComparable { .. } => 4,
        };
        if let StoredComparison::Judged(judged) = answer
            && judged.evaluation.verdict == Verdict::Slower
        {
            let message = format!(
                "`{name}` takes {} of the time of {}",
                digits::ratio(judged.evaluation.ratio),
                old.when
            );
            let finding = Finding::new("M010", Severity::Warning, message)
                .because("the clock that decided", judged.choice.clock.to_string());
            chapter.findings.push(finding);
        }
        rows.push((
            place,
            line(name, before.measurement, after.measurement, answer),
        ));
    }
    // The slower ones first.
    rows.sort_by_key(|(place, _)| *place);
    let Tally {
        slower,
        faster,
        same,
        undecided,
        not_comparable: not,
    } = Tally::of(&answers);
    chapter.light = match (slower, same + faster) {
        (0, 0) => State::NotMeasured,
        (0, _) => State::Good,
        _ => State::Look,
    };
    chapter.note = match (slower, faster, same + undecided) {
        (0, 0, 0) => format!("{not} not comparable"),
        (0, 0, _) => "nothing that can be called".to_owned(),
        (slower, faster, _) => format!("{slower} slower, {faster} faster"),
    };
    let first = match (slower, faster) {
        (0, 0) => format!(
            "Nothing changed that can be called: {same} the same within 3 %, {undecided} undecided, \
             {not} not comparable."
        ),
        _ => format!(
            "{slower} slower and {faster} faster; {same} the same within 3 %, {undecided} \
             undecided, {not} not comparable."
        ),
    };
    let second = format!(
        "Compared: {} and {}, taken apart, so that levels between runs are inside the intervals.",
        old.when, now.when
    );
    let alone = |rows: &[(String, Measurement)], others: &[(String, Measurement)]| {
        rows.iter()
            .filter(|(name, _)| !others.iter().any(|(other, _)| other == name))
            .map(|(name, _)| name.clone())
            .collect::<Vec<String>>()
    };
    let (only_old, only_new) = (alone(&old.rows, &now.rows), alone(&now.rows, &old.rows));
    let third = match only_old.len() + only_new.len() {
        0 => "`warpsmith compare` takes turns and finds smaller changes.".to_owned(),
        count => format!(
            "{} in one report alone; `warpsmith compare` takes turns and finds smaller changes.",
            counted(count, "workload")
        ),
    };
    chapter.answers = [first, second, third];
    let columns = vec![
        Column::text("workload"),
        Column::text("verdict"),
        Column::text("now over before")
            .on(StripScale::Times(2.0))
            .from(Place::Medium),
        Column::number("time now over before [95 %]"),
        Column::number("before").from(Place::Medium),
        Column::number("now").from(Place::Medium),
        Column::text("clock that decided").from(Place::Wide),
    ];
    if !rows.is_empty() {
        chapter.blocks.push(Block::Table(Table {
            name: "changes".to_owned(),
            columns,
            rows: rows.into_iter().map(|(_, row)| row).collect(),
            shown: 12,
            caption: String::new(),
        }));
    }
    if !only_old.is_empty() || !only_new.is_empty() {
        let list = |names: &[String], whose: &str| match names.is_empty() {
            true => None,
            false => Some(Block::Text(format!(
                "In the {whose} alone: {}.",
                names.join(", ")
            ))),
        };
        let blocks = [
            list(&only_old, "older report"),
            list(&only_new, "newer report"),
        ];
        chapter.folds.push(Fold {
            title: "In one report alone".to_owned(),
            note: counted(only_old.len() + only_new.len(), "workload"),
            blocks: blocks.into_iter().flatten().collect(),
        });
    }
    chapter
}

fn line(name: &str, before: &Measurement, after: &Measurement, answer: &StoredComparison) -> Row {
    let time = |measurement: &Measurement| {
        let median = median_of(&measurement.seconds);
        match median.is_finite() {
            true => {
                let shown = digits::seconds(median, None);
                Cell::number(median, shown.text, shown.unit)
            }
            false => Cell::Empty,
        }
    };
    let (verdict, dots, ratio, clock) = match answer {
        StoredComparison::Judged(judged) => {
            let found = &judged.evaluation;
            let state = match found.verdict {
                Verdict::Slower => Some(State::Act),
                Verdict::Faster => Some(State::Good),
                Verdict::Same | Verdict::Undecided => None,
            };
            (
                Cell::Tag {
                    state,
                    text: found.verdict.to_string(),
                },
                Cell::Dots {
                    alone: found.ratio,
                    among: None,
                    state,
                },
                Cell::Interval {
                    value: found.ratio,
                    text: digits::ratio(found.ratio),
                    interval: digits::ratio_interval(found.ratio, found.low, found.high),
                },
                Cell::Muted(format!("{}: {}", judged.choice.clock, judged.choice.reason)),
            )
        }
        StoredComparison::NotComparable { reason } => (
            Cell::Muted("not comparable".to_owned()),
            Cell::Empty,
            Cell::Empty,
            Cell::Muted(reason.clone()),
        ),
    };
    Row::new(vec![
        Cell::text(name),
        verdict,
        dots,
        ratio,
        time(before),
        time(after),
        clock,
    ])
}
