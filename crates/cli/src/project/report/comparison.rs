//! What changed since an older report.

use anyhow::Result;
use serde_json::Value;
use warpsmith_core::Seconds;
use warpsmith_measure::comparison::candidates::correct_for_several;
use warpsmith_measure::comparison::evaluation::Evaluation;
use warpsmith_measure::comparison::unpaired::compare;
use warpsmith_measure::findings;
use warpsmith_measure::measurement::Measurement;
use warpsmith_measure::report::plot::{ForestRow, forest};
use warpsmith_measure::statistics::order::median_of;

use super::document::{Block, FinishedSection, Section};

/// Differences below this share are not worth a word between two reports taken apart.
const MARGIN: f64 = 0.03;

/// Compares the latencies of an old report with those of the sections just made.
pub(crate) fn compare_with(old: &Value, new: &[FinishedSection]) -> Result<Section> {
    let before = old["body"]["sections"]
        .as_array()
        .and_then(|sections| sections.iter().find(|section| section["id"] == "latency"))
        .map(|section| measured(&section["raw"]))
        .unwrap_or_default();
    let now = new
        .iter()
        .find(|section| section.id == "latency")
        .map(|section| measured(&section.content.raw))
        .unwrap_or_default();
    let mut section = Section::default();
    let mut names = Vec::new();
    let mut pairs = Vec::new();
    for (name, a) in &before {
        match now.iter().find(|(other, _)| other == name) {
            Some((_, b)) => {
                names.push(name.clone());
                pairs.push((a, b));
            }
            None => section.blocks.push(Block::Paragraph(format!(
                "`{name}` is in the old report alone."
            ))),
        }
    }
    for (name, _) in &now {
        if !before.iter().any(|(other, _)| other == name) {
            section.blocks.push(Block::Paragraph(format!(
                "`{name}` is in the new report alone."
            )));
        }
    }
    let mut evaluations: Vec<Evaluation> = pairs
        .iter()
        .map(|(a, b)| compare(&a.seconds, &b.seconds, MARGIN, 0.05))
        .collect();
    correct_for_several(&mut evaluations);
    let rows = names.iter().zip(&pairs).zip(&evaluations);
    let rows: Vec<Vec<String>> = rows
        .map(|((name, (a, b)), evaluation)| {
            vec![
                name.clone(),
                Seconds(median_of(&a.seconds)).to_string(),
                Seconds(median_of(&b.seconds)).to_string(),
                // Samples too few for a ratio have none.
                match evaluation.ratio.is_finite() {
                    true => format!("{:.3}", evaluation.ratio),
                    false => "–".to_owned(),
                },
                match evaluation.high.is_finite() {
                    true => format!("{:.3} to {:.3}", evaluation.low, evaluation.high),
                    false => "–".to_owned(),
                },
                evaluation.verdict.to_string(),
            ]
        })
        .collect();
    let bars: Vec<ForestRow<'_>> = names
        .iter()
        .zip(&evaluations)
        .filter(|(_, evaluation)| evaluation.ratio.is_finite() && evaluation.high.is_finite())
        .map(|(name, evaluation)| ForestRow::of(name, evaluation))
        .collect();
    for (name, evaluation) in names.iter().zip(&evaluations) {
        section
            .findings
            .extend(findings::of_evaluation(name, evaluation));
    }
    let headings = [
        "workload",
        ">before",
        ">now",
        ">now / before",
        ">interval",
        "verdict",
    ];
    section.blocks.insert(0, Block::table(&headings, rows));
    section
        .blocks
        .push(Block::Plot(forest("now / before", &bars, MARGIN)));
    section.blocks.push(Block::Paragraph(format!(
        "The two reports were taken apart ({} and now), so a change of clocks or of load between \
         them is inside these ratios; differences up to {:.0} % are not called. `warpsmith compare` \
         takes turns and finds less.",
        old["machine"]["cpu"].as_str().unwrap_or("an unknown machine"),
        100.0 * MARGIN
    )));
    Ok(section)
}

/// The measurements of a latency section, by workload and parameters.
fn measured(raw: &Value) -> Vec<(String, Measurement)> {
    let row = |row: &Value| {
        let measurement: Measurement = serde_json::from_value(row["measurement"].clone()).ok()?;
        let settings: Vec<String> = row["parameters"]
            .as_object()?
            .iter()
            .map(|(name, value)| format!("{name}={}", value.to_string().trim_matches('"')))
            .collect();
        Some((
            format!("{} {}", measurement.name, settings.join(" ")),
            measurement,
        ))
    };
    raw.as_array()
        .map(|rows| rows.iter().filter_map(row).collect())
        .unwrap_or_default()
}
