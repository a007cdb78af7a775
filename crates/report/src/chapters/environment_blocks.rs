//! The CUDA environment: areas as tags, every rule and the versions folded away.

use std::collections::BTreeMap;

use warpsmith_core::Severity;
use warpsmith_doctor::{CheckBody, Outcome};

use super::counted;
use super::findings_table::{groups, table};
use crate::document::{Block, Cell, Column, Fold, Place, Row, State, Table, Tag};
use crate::facts::Facts;

fn worse(outcome: Outcome) -> State {
    match outcome {
        Outcome::Fail => State::Act,
        Outcome::Warn => State::Look,
        Outcome::Pass | Outcome::Info => State::Good,
        Outcome::Unknown | Outcome::NotApplicable => State::NotMeasured,
    }
}

/// Rules that passed, and rules that want a look or action.
pub(super) fn tally(body: &CheckBody) -> (usize, usize) {
    let of = |wanted: &[State]| {
        body.outcomes
            .iter()
            .filter(|outcome| wanted.contains(&worse(outcome.outcome)))
            .count()
    };
    (of(&[State::Good]), of(&[State::Look, State::Act]))
}

/// One tag per area: how many rules passed and what wants a look.
pub(super) fn tags(body: &CheckBody) -> Block {
    let mut areas: BTreeMap<_, (usize, usize, State)> = BTreeMap::new();
    for outcome in &body.outcomes {
        let state = worse(outcome.outcome);
        let area = areas
            .entry(outcome.area)
            .or_insert((0, 0, State::NotMeasured));
        area.0 += usize::from(state == State::Good);
        area.1 += usize::from(state > State::Good);
        area.2 = area.2.max(state);
    }
    let tags = areas.into_iter().map(|(area, (passed, wanting, state))| {
        let strong = match (passed, wanting, state) {
            (_, _, State::NotMeasured) => "nothing to check".to_owned(),
            (passed, 0, _) => passed.to_string(),
            (passed, wanting, _) => format!("{passed}, {wanting} to look at"),
        };
        Tag {
            state: Some(state),
            text: area.title().to_owned(),
            strong,
        }
    });
    Block::Tags(tags.collect())
}

/// Every finding and rule of the environment.
pub(super) fn rules(facts: &Facts) -> Option<Fold> {
    let report = facts.environment.as_ref()?;
    let (passed, wanting) = tally(&report.body);
    let rows = report.body.outcomes.iter().map(|outcome| {
        let state = worse(outcome.outcome);
        let words = match (&outcome.why, outcome.outcome) {
            (Some(why), _) => why.clone(),
            (None, Outcome::Pass) => "passes".to_owned(),
            (None, Outcome::Info) => "worth knowing".to_owned(),
            (None, _) => "see above".to_owned(),
        };
        Row::new(vec![
            Cell::Judged {
                state,
                text: outcome.title.clone(),
            },
            Cell::text(outcome.area.title()),
            Cell::Muted(words),
            Cell::Code(outcome.code.clone()),
        ])
    });
    let mut blocks = Vec::new();
    let found = groups(&report.findings, Severity::Info);
    if !found.is_empty() {
        blocks.push(Block::Table(table("environment-findings", "found", &found)));
    }
    blocks.push(Block::Table(Table {
        name: "environment-rules".to_owned(),
        columns: vec![
            Column::text("rule"),
            Column::text("area").from(Place::Medium),
            Column::text("outcome"),
            Column::text("code").from(Place::Medium),
        ],
        rows: rows.collect(),
        shown: 0,
        caption: String::new(),
    }));
    Some(Fold {
        title: "Environment, every rule".to_owned(),
        note: match wanting {
            0 => format!("{} passed", counted(passed, "check")),
            wanting => format!("{} passed, {wanting} to look at", counted(passed, "check")),
        },
        blocks,
    })
}

/// Which library goes with this driver and GPU.
pub(super) fn version_matrix(facts: &Facts) -> Option<Fold> {
    let body = &facts.environment.as_ref()?.body;
    let driver = facts.machine.driver.as_deref().unwrap_or("no driver");
    if body.matrix.is_empty() {
        return Some(Fold {
            title: "Version matrix".to_owned(),
            note: format!("{driver}; no toolkit and no CUDA library found"),
            blocks: vec![Block::Text(
                "There is nothing to match: no installed library was built for CUDA.".to_owned(),
            )],
        });
    }
    let breaks = body
        .matrix
        .iter()
        .filter(|row| row.driver_runs_it == Some(false))
        .count();
    let rows = body.matrix.iter().map(|row| {
        let (state, word) = match row.driver_runs_it {
            Some(true) => (Some(State::Good), "runs"),
            Some(false) => (Some(State::Act), "does not run"),
            None => (None, "not known"),
        };
        Row::new(vec![
            Cell::text(row.library.clone()),
            Cell::text(row.version.clone()),
            Cell::text(row.cuda.clone().unwrap_or_else(|| "–".to_owned())),
            Cell::Tag {
                state,
                text: word.to_owned(),
            },
            Cell::Muted(row.gpu_code.clone().unwrap_or_else(|| "–".to_owned())),
            Cell::Muted(row.environment.clone()),
        ])
    });
    Some(Fold {
        title: "Version matrix".to_owned(),
        note: match breaks {
            0 => format!(
                "driver {driver}; {}",
                counted(body.matrix.len(), "library row")
            ),
            breaks => format!("driver {driver}; {breaks} do not run on it"),
        },
        blocks: vec![Block::Table(Table {
            name: "versions".to_owned(),
            columns: vec![
                Column::text("library"),
                Column::text("version"),
                Column::text("built for CUDA"),
                Column::text("on this driver"),
                Column::text("code for this GPU").from(Place::Medium),
                Column::text("where").from(Place::Wide),
            ],
            rows: rows.collect(),
            shown: 0,
            caption: String::new(),
        })],
    })
}
