//! What is said at the end: how many of each verdict, the fastest, and those that cheat.

use std::collections::BTreeMap;
use std::path::Path;

use serde::Serialize;
use warpsmith_case::judge::{FAMILY, Judgement, Outcome};
use warpsmith_console::table::Table;
use warpsmith_core::{Finding, Severity};

use super::session::Ended;

/// Cheating candidates that are told in full.
const TOLD: usize = 20;

#[derive(Serialize)]
pub(super) struct Body {
    verdicts: String,
    candidates: usize,
    judged: usize,
    counts: BTreeMap<&'static str, usize>,
    fastest: Vec<(String, f64)>,
    seconds: f64,
    candidates_per_second: f64,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    notes: Vec<String>,
}

impl Body {
    pub(super) fn new(path: &Path, ended: &Ended) -> Self {
        Self {
            verdicts: path.display().to_string(),
            candidates: ended.judgements.len(),
            judged: ended.judged,
            counts: counts(&ended.judgements),
            fastest: fastest(&ended.judgements),
            seconds: ended.seconds,
            candidates_per_second: ended.judged as f64 / ended.seconds.max(1e-9),
            notes: ended.notes.clone(),
        }
    }
}

fn counts(judgements: &[Judgement]) -> BTreeMap<&'static str, usize> {
    let mut counts = BTreeMap::new();
    for judgement in judgements {
        *counts.entry(judgement.outcome.word()).or_default() += 1;
    }
    counts
}

/// The fastest correct candidates, by the lower end of their intervals.
fn fastest(judgements: &[Judgement]) -> Vec<(String, f64)> {
    let mut rows: Vec<(String, f64)> = judgements
        .iter()
        .filter_map(|one| match &one.outcome {
            Outcome::Correct {
                speed: Some(speed), ..
            } => Some((one.id.clone(), speed.low)),
            _ => None,
        })
        .collect();
    rows.sort_by(|a, b| b.1.total_cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
    rows.truncate(5);
    rows
}

pub(super) fn findings(judgements: &[Judgement]) -> Vec<Finding> {
    let mut cheating: Vec<&Judgement> = judgements
        .iter()
        .filter(|one| matches!(one.outcome, Outcome::Cheating { .. }))
        .collect();
    cheating.sort_by(|a, b| a.id.cmp(&b.id));
    let told = cheating.iter().take(TOLD).filter_map(|one| {
        let Outcome::Cheating { code, detail, .. } = &one.outcome else {
            return None;
        };
        let mut stories = FAMILY.stories().iter();
        let title = stories.find(|story| story.code == code)?.title;
        let message = title.replacen("a candidate", &format!("`{}`", one.id), 1);
        let finding = Finding::new(code.clone(), Severity::Error, message);
        Some(finding.because("evidence", detail.clone()))
    });
    told.collect()
}

pub(super) fn describe(body: &Body) -> String {
    let mut table = Table::new(&["verdict", ">candidates"]);
    for (word, count) in &body.counts {
        table.row([(*word).to_owned(), count.to_string()]);
    }
    let mut text = format!("{table}\n");
    if !body.fastest.is_empty() {
        let rows = body
            .fastest
            .iter()
            .map(|(id, low)| format!("{id} (at least {low:.2} ×)"));
        text.push_str(&format!(
            "fastest: {}\n",
            rows.collect::<Vec<_>>().join(", ")
        ));
    }
    for note in &body.notes {
        text.push_str(&format!("note: {note}\n"));
    }
    text.push_str(&format!(
        "judge: {} candidates, {} judged now in {:.1} s ({:.1}/s); verdicts in `{}`\n",
        body.candidates, body.judged, body.seconds, body.candidates_per_second, body.verdicts
    ));
    text
}
