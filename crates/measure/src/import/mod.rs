//! Samples that other tools wrote, so that our verdicts apply to them: nvbench, Criterion,
//! hyperfine, Google Benchmark, pytest-benchmark; and our own reports.
//!
//! Invariants: the format is recognised by content, not by name; a file without raw samples is
//! refused with what would make its tool write them; times are seconds afterwards.

mod criterion;
mod google_benchmark;
mod hyperfine;
mod nvbench;
mod pytest_benchmark;
pub mod sizes;
mod warpsmith;

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;
use thiserror::Error;

use crate::measurement::Measurement;

/// Why a file gave no samples.
#[derive(Debug, Error)]
pub enum ImportError {
    /// It could not be read.
    #[error("cannot read `{path}`")]
    Read {
        /// Which file.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// It is no JSON.
    #[error("`{path}` is not JSON")]
    Json {
        /// Which file.
        path: PathBuf,
        /// Where and why.
        source: serde_json::Error,
    },
    /// JSON of a kind that is not known.
    #[error("`{path}` is JSON of none of the known benchmark formats")]
    UnknownFormat {
        /// Which file.
        path: PathBuf,
    },
    /// A known format without samples.
    #[error("`{path}` holds no samples: {hint}")]
    NoSamples {
        /// Which file.
        path: PathBuf,
        /// What would make the tool write them.
        hint: &'static str,
    },
    /// A known format with something that does not fit.
    #[error("`{path}`, benchmark `{benchmark}`: {problem}")]
    Malformed {
        /// Which file.
        path: PathBuf,
        /// Which benchmark in it.
        benchmark: String,
        /// What does not fit.
        problem: String,
    },
}

/// A benchmark's name with its samples in seconds.
type Named = (String, Vec<f64>);

/// Reads every benchmark with samples in a file.
pub fn read(path: &Path) -> Result<Vec<Measurement>, ImportError> {
    let text = fs::read_to_string(path).map_err(|source| ImportError::Read {
        path: path.to_owned(),
        source,
    })?;
    let json: Value = serde_json::from_str(&text).map_err(|source| ImportError::Json {
        path: path.to_owned(),
        source,
    })?;
    let own = warpsmith::measurements(&json);
    if !own.is_empty() {
        return Ok(own);
    }
    let (named, hint) = if let Some(found) = nvbench::samples(&json, path)? {
        (found, "run nvbench with `--jsonbin` instead of `--json`")
    } else if let Some(found) = criterion::samples(&json, path) {
        (found, "give `sample.json` of a Criterion benchmark")
    } else if let Some(found) = hyperfine::samples(&json) {
        (found, "hyperfine writes times with `--export-json`")
    } else if let Some(found) = google_benchmark::samples(&json) {
        (
            found,
            "run Google Benchmark with `--benchmark_repetitions=20` and without `--benchmark_report_aggregates_only`",
        )
    } else if let Some(found) = pytest_benchmark::samples(&json) {
        (found, "run pytest-benchmark with `--benchmark-save-data`")
    } else {
        return Err(ImportError::UnknownFormat {
            path: path.to_owned(),
        });
    };
    let mut measurements = Vec::new();
    for (name, seconds) in named {
        if let Some(bad) = seconds.iter().find(|s| !s.is_finite() || **s <= 0.0) {
            return Err(ImportError::Malformed {
                path: path.to_owned(),
                benchmark: name,
                problem: format!("a time of {bad} s"),
            });
        }
        if !seconds.is_empty() {
            measurements.push(Measurement::imported(name, seconds));
        }
    }
    if measurements.is_empty() {
        return Err(ImportError::NoSamples {
            path: path.to_owned(),
            hint,
        });
    }
    Ok(measurements)
}

/// An array of numbers; `None` if it is none.
fn numbers(value: &Value) -> Option<Vec<f64>> {
    value.as_array()?.iter().map(Value::as_f64).collect()
}
