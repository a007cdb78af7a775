//! Data sets of kernel pairs: the same calls that `warpsmith corpus` makes.

use std::path::PathBuf;

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use warpsmith_corpus::{
    Category, Compression, Level, Settings, Tools, Verifier, card, generate, statistics,
};
use warpsmith_formats::write_output;

use crate::{failed, json};

/// Makes a data set, or one share of it; its manifest as JSON.
#[pyfunction]
#[allow(clippy::too_many_arguments, reason = "Python names them")]
pub(crate) fn corpus_generate(
    py: Python<'_>,
    folder: PathBuf,
    count: u64,
    seed: u64,
    categories: Vec<String>,
    difficulties: Vec<u8>,
    verify: Vec<String>,
    format: &str,
    compression: Option<&str>,
    shard_pairs: u64,
    share: (u64, u64),
    progress: Option<Py<PyAny>>,
) -> PyResult<String> {
    let refused = |error: &dyn std::fmt::Display| PyValueError::new_err(error.to_string());
    let compression = match (format, compression) {
        ("jsonl", None | Some("none")) => Compression::None,
        ("jsonl", Some(_)) => return Err(refused(&"JSON lines are never compressed")),
        (_, None) => Compression::Zstd,
        (_, Some(name)) => name.parse().map_err(|error| refused(&error))?,
    };
    let mut settings = Settings {
        compression,
        count,
        seed,
        shard_pairs,
        format: format.to_owned(),
        ..Settings::default()
    };
    if !categories.is_empty() {
        let parsed: Result<Vec<Category>, _> = categories.iter().map(|name| name.parse()).collect();
        settings.categories = parsed.map_err(|error| refused(&error))?;
    }
    if !difficulties.is_empty() {
        settings.difficulties = difficulties;
    }
    let levels: Result<Vec<Level>, _> = verify.iter().map(|name| name.parse()).collect();
    settings
        .verify
        .extend(levels.map_err(|error| refused(&error))?);
    settings.verify.sort();
    settings.verify.dedup();
    let manifest = py.detach(|| {
        let verifier = Verifier::new(&settings.verify, &Tools::default(), settings.warp_every)
            .map_err(failed)?;
        let mut interrupted = None;
        let made = generate(&settings, share, &folder, &verifier, &mut |step| {
            if let Some(call) = progress.as_ref().filter(|_| interrupted.is_none()) {
                let told = Python::attach(|py| call.call1(py, (step.pairs, step.of)));
                interrupted = told.err();
            }
        });
        match interrupted {
            // What was written stays, and the same call goes on from there.
            Some(error) => Err(error),
            None => made.map_err(failed),
        }
    })?;
    if share == (0, 1) {
        py.detach(|| {
            let text = card(&statistics(&folder).map_err(failed)?);
            write_output(&folder.join("README.md"), text.as_bytes()).map_err(failed)
        })?;
    }
    json(&manifest)
}

/// What a data set is made of, as JSON.
#[pyfunction]
pub(crate) fn corpus_statistics(py: Python<'_>, folder: PathBuf) -> PyResult<String> {
    py.detach(|| json(&statistics(&folder).map_err(failed)?))
}
