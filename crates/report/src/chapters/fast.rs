//! *What makes it fast?*: the optimisation matrix.

use super::gains::{Impact, impact, is_known, speed_up, wrong_defaults};
use super::{counted, empty};
use crate::digits::{self, Quantity};
use crate::document::{Block, Cell, Chapter, Column, Fold, Place, Row, State, StripScale, Table};
use crate::facts::{Default, Facts, TechniqueFacts};

/// What to do about a technique.
fn priority(row: &TechniqueFacts, impact: Impact) -> (Option<State>, &'static str) {
    let easy = row.effort == "low";
    match (impact, &row.default) {
        (Impact::Harmful, Default::On) => (Some(State::Act), "P0: turn off"),
        (Impact::Harmful, _) => (Some(State::Act), "avoid"),
        (Impact::High, Default::Off) if easy => (Some(State::Look), "P0: turn on"),
        (impact, Default::Off) if impact.helps() => (Some(State::Look), "P1: turn on"),
        (impact, _) if impact.helps() => (Some(State::Good), "kept"),
        _ => (None, "–"),
    }
}

pub(super) fn chapter(facts: &Facts) -> Chapter {
    let mut chapter = empty("fast", "Fast", "What makes it fast?");
    let mut rows: Vec<&TechniqueFacts> = facts.matrix.iter().filter(|row| is_known(row)).collect();
    if rows.is_empty() {
        chapter.note = "not measured".to_owned();
        chapter.answers = [
            "Not measured: no technique was compared.".to_owned(),
            "`warpsmith ablate lattice/rd` compares those of one workload.".to_owned(),
            String::new(),
        ];
        return chapter;
    }
    // By class, then by gain.
    rows.sort_by(|a, b| {
        let gain = |row: &TechniqueFacts| speed_up(row).0;
        impact(a).cmp(&impact(b)).then(gain(b).total_cmp(&gain(a)))
    });
    let wrong = wrong_defaults(&facts.matrix);
    chapter.light = match (facts.fitness.unfit.is_empty(), wrong.len()) {
        (_, 0) => State::Good,
        (_, 1) => State::Good,
        _ => State::Look,
    };
    let workloads: std::collections::BTreeSet<&str> =
        rows.iter().map(|row| row.workload.as_str()).collect();
    chapter.answers = answers(&rows, &wrong);
    chapter.note = match (rows.first(), wrong.len()) {
        (Some(best), 0) if impact(best).helps() => format!(
            "{} {} in {}",
            best.technique,
            digits::ratio(speed_up(best).0),
            best.workload
        ),
        (_, 0) => format!(
            "{} in {}",
            counted(rows.len(), "technique"),
            counted(workloads.len(), "workload")
        ),
        (_, 1) => "one default is contradicted by its measurement".to_owned(),
        (_, count) => format!("{count} defaults are contradicted by measurements"),
    };
    let drawn = drawn_scale(&rows);
    let columns = vec![
        Column::text("technique"),
        Column::text("workload"),
        Column::text("impact"),
        Column::text("faster when on").on(drawn).from(Place::Medium),
        Column::number("speed-up over off [95 %]"),
        Column::number("among all").from(Place::Wide),
        Column::number("memory").from(Place::Wide),
        Column::text("quality").from(Place::Medium),
        Column::text("effort").from(Place::Wide),
        Column::text("risk").from(Place::Wide),
        Column::text("default").from(Place::Medium),
        Column::text("priority"),
    ];
    chapter.blocks.push(Block::Table(Table {
        name: "matrix".to_owned(),
        columns,
        rows: rows.iter().map(|row| line(row)).collect(),
        shown: 16,
        caption: "filled: alone; hollow: among all others; band: no difference (± 1 %). Impact: \
                  high > 30 % less time, medium 10 to 30 %, low < 10 %. Effort and risk are \
                  judged, not measured. End to end, sides taking turns."
            .to_owned(),
    }));
    let not_told: Vec<String> = facts
        .matrix
        .iter()
        .filter(|row| !is_known(row))
        .map(|row| format!("{} of {}", row.technique, row.workload))
        .collect();
    if !not_told.is_empty() {
        chapter.folds.push(Fold {
            title: "Without a figure".to_owned(),
            note: counted(not_told.len(), "technique"),
            blocks: vec![Block::Text(format!(
                "Too few rounds for an interval: {}.",
                not_told.join(", ")
            ))],
        });
    }
    chapter
}

fn drawn_scale(rows: &[&TechniqueFacts]) -> StripScale {
    let farthest = rows
        .iter()
        .map(|row| speed_up(row).0.ln().abs())
        .fold(0.0, f64::max)
        .exp();
    let steps = [2.0, 4.0, 8.0, 16.0, 64.0];
    let fits = steps.into_iter().find(|step| farthest <= *step);
    StripScale::Times(fits.unwrap_or(256.0))
}

fn answers(rows: &[&TechniqueFacts], wrong: &[&TechniqueFacts]) -> [String; 3] {
    let helpful: Vec<&&TechniqueFacts> = rows.iter().filter(|row| impact(row).helps()).collect();
    let first = match helpful.first() {
        Some(best) => {
            let same: Vec<f64> = helpful
                .iter()
                .filter(|row| row.technique == best.technique)
                .map(|row| speed_up(row).0)
                .collect();
            let least = same.iter().copied().fold(f64::INFINITY, f64::min);
            let gains = match same.len() {
                1 => digits::ratio(speed_up(best).0),
                _ => format!(
                    "{} to {}",
                    digits::ratio(least).trim_end_matches('×'),
                    digits::ratio(speed_up(best).0)
                ),
            };
            format!(
                "{}: {gains} in {}.",
                crate::judge::verdict::capitalised(&best.technique),
                counted(same.len(), "workload")
            )
        }
        None => format!(
            "Nothing: none of {} changes the time by more than 1 %.",
            counted(rows.len(), "technique")
        ),
    };
    let second = match helpful
        .iter()
        .find(|row| Some(&row.technique) != helpful.first().map(|best| &best.technique))
    {
        Some(next) => format!(
            "{}: {} in {}.",
            crate::judge::verdict::capitalised(&next.technique),
            digits::ratio(speed_up(next).0),
            next.workload
        ),
        None => format!("{} measured on and off.", counted(rows.len(), "technique")),
    };
    let third = match wrong {
        [] => match rows.iter().rfind(|row| impact(row) == Impact::Harmful) {
            Some(row) => format!(
                "Avoid here: {} in {} ({}); it is not on by default.",
                row.technique,
                row.workload,
                digits::ratio(speed_up(row).0)
            ),
            None => "No default is contradicted by its measurement.".to_owned(),
        },
        [row, rest @ ..] => {
            let more = match rest.len() {
                0 => String::new(),
                count => format!(", and {count} more"),
            };
            let verb = match row.default {
                Default::On => "on by default and slower",
                _ => "off by default and faster when on",
            };
            format!(
                "{} in {} is {verb} ({}){more}.",
                crate::judge::verdict::capitalised(&row.technique),
                row.workload,
                digits::ratio(speed_up(row).0)
            )
        }
    };
    [first, second, third]
}

fn quality(row: &TechniqueFacts) -> Cell {
    match (row.alone.output_agrees, row.alone.output_difference) {
        (Some(true), Some(0.0)) => Cell::text("same bits"),
        (Some(true), Some(difference)) => Cell::text(format!("agrees, {difference:.0e}")),
        (Some(true), None) => Cell::text("agrees"),
        (Some(false), Some(difference)) => Cell::Judged {
            state: State::Look,
            text: format!("differs by {difference:.0e}"),
        },
        (Some(false), None) => Cell::Judged {
            state: State::Look,
            text: "differs".to_owned(),
        },
        (None, _) => Cell::Empty,
    }
}

fn line(row: &TechniqueFacts) -> Row {
    let (ratio, low, high) = speed_up(row);
    let impact = impact(row);
    let (state, word) = priority(row, impact);
    let among = row
        .among
        .as_ref()
        .map(|row| row.evaluation.ratio)
        .filter(|ratio| ratio.is_finite());
    let memory = row.alone.memory_bytes.map_or(Cell::Empty, |bytes| {
        let shown = digits::quantity(bytes.unsigned_abs() as f64, Quantity::Bytes, None);
        let sign = if bytes < 0 { "−" } else { "+" };
        Cell::number(bytes as f64, format!("{sign}{}", shown.text), shown.unit)
    });
    Row::new(vec![
        Cell::text(row.technique.clone()),
        Cell::text(row.workload.clone()),
        Cell::Tag {
            state: impact.state(),
            text: impact.word().to_owned(),
        },
        Cell::Dots {
            alone: ratio,
            among,
            state: impact.state(),
        },
        Cell::Interval {
            value: ratio,
            text: digits::ratio(ratio),
            interval: digits::ratio_interval(ratio, low, high),
        },
        among.map_or(Cell::Empty, |ratio| {
            Cell::number(ratio, digits::ratio(ratio), "")
        }),
        memory,
        quality(row),
        Cell::text(row.effort.clone()),
        Cell::text(row.risk.clone()),
        Cell::text(match &row.default {
            Default::On => "on".to_owned(),
            Default::Off => "off".to_owned(),
            Default::Other(value) => value.clone(),
        }),
        match word {
            "–" => Cell::Empty,
            word => Cell::Tag {
                state,
                text: word.to_owned(),
            },
        },
    ])
}
