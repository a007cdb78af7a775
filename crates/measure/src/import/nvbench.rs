//! nvbench's JSON: states with summaries; with `--jsonbin` each names a file of little-endian f32
//! seconds beside the JSON.

use std::fs;
use std::path::Path;

use serde_json::Value;

use super::{ImportError, Named};

const SAMPLES: &str = "nv/json/bin:nv/cold/sample_times";

pub(super) fn samples(json: &Value, path: &Path) -> Result<Option<Vec<Named>>, ImportError> {
    let Some(benchmarks) = json.get("benchmarks").and_then(Value::as_array) else {
        return Ok(None);
    };
    if !benchmarks
        .iter()
        .any(|benchmark| benchmark.get("states").is_some())
    {
        return Ok(None);
    }
    let mut found = Vec::new();
    for benchmark in benchmarks {
        let text = |value: &Value, key: &str| {
            value
                .get(key)
                .and_then(Value::as_str)
                .unwrap_or_default()
                .to_owned()
        };
        let states = benchmark.get("states").and_then(Value::as_array);
        for state in states.into_iter().flatten() {
            let name = format!("{} {}", text(benchmark, "name"), text(state, "name"));
            let summaries = state.get("summaries").and_then(Value::as_array);
            let binary = summaries
                .into_iter()
                .flatten()
                .find(|summary| text(summary, "tag") == SAMPLES);
            let Some(binary) = binary else {
                continue;
            };
            let file = datum(binary, "filename").unwrap_or_default();
            found.push((name.clone(), read_binary(path, &file, name)?));
        }
    }
    Ok(Some(found))
}

/// A named value of a summary; nvbench writes every number as text.
fn datum(summary: &Value, name: &str) -> Option<String> {
    let data = summary.get("data")?.as_array()?;
    let entry = data
        .iter()
        .find(|entry| entry.get("name").and_then(Value::as_str) == Some(name))?;
    let value = entry.get("value")?;
    Some(
        value
            .as_str()
            .map_or_else(|| value.to_string(), str::to_owned),
    )
}

fn read_binary(json: &Path, file: &str, benchmark: String) -> Result<Vec<f64>, ImportError> {
    // The name is relative to where nvbench ran, usually the folder of the JSON.
    let beside = json.parent().unwrap_or(Path::new(".")).join(file);
    let chosen = if beside.exists() { beside } else { file.into() };
    let bytes = fs::read(&chosen).map_err(|source| ImportError::Read {
        path: chosen.clone(),
        source,
    })?;
    let (samples, rest) = bytes.as_chunks::<4>();
    if !rest.is_empty() {
        return Err(ImportError::Malformed {
            path: chosen,
            benchmark,
            problem: format!("{} bytes are no whole number of f32", bytes.len()),
        });
    }
    Ok(samples
        .iter()
        .map(|bytes| f64::from(f32::from_le_bytes(*bytes)))
        .collect())
}
