//! A sample of the data set that this program makes.

use std::path::Path;
use std::time::Instant;

use anyhow::Result;
use warpsmith_corpus::{
    Level, Settings, Tools, Verifier, find_row, generate, manifest_findings, statistics,
};
use warpsmith_report::Facts;
use warpsmith_report::facts::CorpusFacts;

use crate::project::report::job::Job;

const SEED: u64 = 1;

pub(in crate::project::report) fn collect(job: &Job, facts: &mut Facts) -> Result<Option<String>> {
    let settings = Settings {
        count: job.pick(100, 4000),
        seed: SEED,
        verify: vec![Level::Text, Level::Executed],
        ..Settings::default()
    };
    let folder = tempfile::tempdir()?;
    let verifier = Verifier::new(&settings.verify, &Tools::default(), settings.warp_every)?;
    let begun = Instant::now();
    let manifest = generate(&settings, (0, 1), folder.path(), &verifier, &mut |_| {})?;
    let seconds = begun.elapsed().as_secs_f64();
    facts.corpus = Some(CorpusFacts {
        statistics: statistics(folder.path())?,
        seconds,
        seed: SEED,
        findings: manifest_findings(&manifest),
        example: example(folder.path())?,
    });
    Ok(None)
}

/// Lines of CUDA that are shown of a pair.
const SHOWN_LINES: usize = 40;

/// The first short pair: its name, its source, and how its CUDA begins.
fn example(folder: &Path) -> Result<Option<(String, String)>> {
    for index in 0..50 {
        if let Some(row) = find_row(folder, index)?
            && row.python_tokens < 150
        {
            let cuda: Vec<&str> = row.cuda_forward.lines().take(SHOWN_LINES).collect();
            let text = format!("{}\n\n{}\n…", row.python.trim(), cuda.join("\n").trim());
            let name = format!("pair {index}, {} tokens of Python", row.python_tokens);
            return Ok(Some((name, text)));
        }
    }
    Ok(None)
}
