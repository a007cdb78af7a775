//! Criterion's `sample.json`: total nanoseconds and iterations of each sample.

use std::fs;
use std::path::Path;

use serde_json::Value;

use super::{Named, numbers};

pub(super) fn samples(json: &Value, path: &Path) -> Option<Vec<Named>> {
    json.get("sampling_mode")?;
    let (iterations, times) = (numbers(json.get("iters")?)?, numbers(json.get("times")?)?);
    let seconds = times
        .iter()
        .zip(&iterations)
        .map(|(time, count)| time / count * 1e-9)
        .collect();
    Some(vec![(name(path), seconds)])
}

/// The name in `benchmark.json` beside the samples, else the folders that Criterion files them in.
fn name(path: &Path) -> String {
    let beside = fs::read_to_string(path.with_file_name("benchmark.json")).ok();
    let named = beside
        .and_then(|text| serde_json::from_str::<Value>(&text).ok())
        .and_then(|json| Some(json.get("full_id")?.as_str()?.to_owned()));
    named.unwrap_or_else(|| {
        let folders = path.parent().and_then(Path::parent);
        let folder = folders.and_then(Path::file_name);
        folder.map_or("criterion".to_owned(), |name| {
            name.to_string_lossy().into_owned()
        })
    })
}
