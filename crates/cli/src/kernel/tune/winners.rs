//! What a tuning found: the file that programs load, and how it is shown.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};
use warpsmith_case::{Case, Point, Scope, TunableValue, size_words};
use warpsmith_core::Seconds;
use warpsmith_formats::write_output;

use warpsmith_console::table::Table;

/// The file that a program loads: winners by GPU and size.
#[derive(Default, Serialize, Deserialize)]
pub(super) struct Tuned {
    /// By the GPU's name.
    pub(super) gpus: BTreeMap<String, Vec<Winner>>,
}

#[derive(Clone, Serialize, Deserialize)]
pub(super) struct Winner {
    pub(super) size: Scope,
    /// Values of the tunables.
    pub(super) choice: BTreeMap<String, serde_json::Value>,
    /// Median of samples taken after the choice was made.
    pub(super) seconds: f64,
    /// The first values of the tunables, for comparison.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) first_choice_seconds: Option<f64>,
    /// The next one, and how much longer it takes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) second: Option<(BTreeMap<String, serde_json::Value>, f64)>,
    /// Points that were measured, of how many; and how many were refused.
    pub(super) measured: usize,
    pub(super) points: usize,
    pub(super) refused: usize,
    /// Seconds that all of it took.
    pub(super) took: f64,
    /// Seconds of that in which candidates were compiled, checked and timed; in the final race; and in
    /// which the winner was checked at every size.
    #[serde(default)]
    pub(super) phases: Phases,
    /// How much of the spread each tunable explains by itself.
    pub(super) importance: Vec<(String, f64)>,
}

/// Where the time went.
#[derive(Clone, Copy, Default, Serialize, Deserialize)]
pub(super) struct Phases {
    pub(super) search: f64,
    pub(super) race: f64,
    pub(super) verification: f64,
}

/// Puts the winners of this GPU into the file, and leaves other GPUs and sizes as they are.
pub(super) fn write(path: &Path, gpu: &str, winners: &[Winner]) -> Result<()> {
    let mut tuned: Tuned = match fs::read(path) {
        Ok(bytes) => serde_json::from_slice(&bytes).with_context(|| {
            format!(
                "`{}` is no file of winners; name another with `--output`",
                path.display()
            )
        })?,
        Err(_) => Tuned::default(),
    };
    let rows = tuned.gpus.entry(gpu.to_owned()).or_default();
    for winner in winners {
        rows.retain(|row| row.size != winner.size);
        rows.push(winner.clone());
    }
    Ok(write_output(path, &serde_json::to_vec_pretty(&tuned)?)?)
}

pub(super) fn as_json(point: &Point) -> BTreeMap<String, serde_json::Value> {
    let pairs = point.iter().map(|(name, value)| {
        let value = match value {
            TunableValue::Whole(value) => (*value).into(),
            TunableValue::Word(word) => word.clone().into(),
        };
        (name.clone(), value)
    });
    pairs.collect()
}

pub(super) fn describe(winners: &[Winner], case: &Case) -> String {
    let mut table = Table::new(&[
        "size",
        "best",
        ">time",
        ">first values",
        ">next",
        ">measured",
        ">refused",
        ">took",
    ]);
    for winner in winners {
        let choice: Vec<String> = winner
            .choice
            .iter()
            .map(|(name, value)| format!("{name}={value}"))
            .collect();
        table.row([
            size_words(&winner.size, &case.sizes.names),
            choice.join(" "),
            Seconds(winner.seconds).to_string(),
            winner.first_choice_seconds.map_or("-".into(), |first| {
                format!("{:.2} ×", first / winner.seconds)
            }),
            winner.second.as_ref().map_or("-".into(), |(_, margin)| {
                format!("{:+.1} %", 100.0 * margin)
            }),
            format!("{} of {}", winner.measured, winner.points),
            winner.refused.to_string(),
            format!("{:.1} s", winner.took),
        ]);
    }
    let mut text = table.to_string();
    for winner in winners {
        let size = size_words(&winner.size, &case.sizes.names);
        text.push_str(&format!(
            "\nwhat mattered{}{size}\n",
            if size.is_empty() { "" } else { " at " }
        ));
        for (name, share) in &winner.importance {
            let bar = "#".repeat((share * 40.0).round() as usize);
            text.push_str(&format!("  {name:<16} {:>5.1} %  {bar}\n", 100.0 * share));
        }
    }
    text
}
