//! A sample of the data set that this program makes, with what it is made of.

use std::path::Path;
use std::time::Instant;

use anyhow::Result;
use warpsmith_corpus::{
    Level, Settings, Tools, Verifier, find_row, generate, manifest_findings, statistics,
};

use crate::project::report::document::{Block, Section};
use crate::project::report::job::Job;

const SEED: u64 = 1;

pub(in crate::project::report) fn section(job: &Job) -> Result<Section> {
    let settings = Settings {
        count: if job.quick { 400 } else { 4000 },
        seed: SEED,
        verify: vec![Level::Text, Level::Executed],
        ..Settings::default()
    };
    let folder = tempfile::tempdir()?;
    let verifier = Verifier::new(&settings.verify, &Tools::default(), settings.warp_every)?;
    let begun = Instant::now();
    let manifest = generate(&settings, (0, 1), folder.path(), &verifier, &mut |_| {})?;
    let seconds = begun.elapsed().as_secs_f64();
    let found = statistics(folder.path())?;
    let share = |count: u64| format!("{:.1} %", 100.0 * count as f64 / found.pairs.max(1) as f64);
    let mut kinds: Vec<(&String, &u64)> = found.categories.iter().collect();
    kinds.sort_by_key(|(_, count)| std::cmp::Reverse(**count));
    let kinds = kinds
        .into_iter()
        .map(|(name, count)| vec![name.clone(), count.to_string(), share(*count)])
        .collect();
    let sizes = found
        .distributions
        .iter()
        .map(|(name, spread)| {
            let numbers = [spread.min, spread.median, spread.p90, spread.max];
            let mut row = vec![name.replace('_', " ")];
            row.extend(numbers.iter().map(u32::to_string));
            row
        })
        .collect();
    let checks = found
        .levels
        .iter()
        .map(|(level, counts)| {
            let numbers = [counts.passed, counts.skipped, counts.failed];
            let mut row = vec![level.clone()];
            row.extend(numbers.iter().map(u64::to_string));
            row
        })
        .collect();
    Ok(Section {
        blocks: vec![
            Block::Paragraph(format!(
                "{} pairs of a Python kernel and its CUDA, forward and backward, in {seconds:.1} s \
                 with every one run on the interpreter; {} drafts, {} distinct shapes, {} of {} core \
                 builtins used. `warpsmith corpus generate --seed {SEED}` makes the same bytes.",
                found.pairs,
                found.drafts,
                found.distinct_shapes,
                found.core_builtins - found.unused_builtins.len(),
                found.core_builtins
            )),
            Block::table(&["verified", ">passed", ">skipped", ">failed"], checks),
            Block::table(&["category", ">pairs", ">share"], kinds),
            Block::table(&["of a pair", ">least", ">median", ">P90", ">most"], sizes),
            Block::Paragraph("A pair of it, as the model sees it:".into()),
            Block::Text(example(folder.path())?),
        ],
        raw: serde_json::to_value(&found)?,
        findings: manifest_findings(&manifest),
        ..Section::default()
    })
}

/// Lines of CUDA that are shown of a pair.
const SHOWN_LINES: usize = 40;

/// The first short pair: its source, and how its CUDA begins.
fn example(folder: &Path) -> Result<String> {
    for index in 0..50 {
        if let Some(row) = find_row(folder, index)?
            && row.python_tokens < 150
        {
            let cuda: Vec<&str> = row.cuda_forward.lines().take(SHOWN_LINES).collect();
            return Ok(format!(
                "{}\n\n{}\n…",
                row.python.trim(),
                cuda.join("\n").trim()
            ));
        }
    }
    Ok("none of the first is short enough to be shown".to_owned())
}
