//! "Will this file run on that GPU?", answered from the file.

use std::path::Path;

use serde::{Deserialize, Serialize};
use thiserror::Error;

use warpsmith_compatibility::database;
use warpsmith_compatibility::{Capability, Coverage, Runs};
use warpsmith_compatibility::{WheelError, coverage_of_elf, coverage_of_wheel};

/// The answer for one library.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FileAnswer {
    /// The library, inside a wheel or alone.
    pub library: String,
    /// What it contains.
    pub coverage: Coverage,
    /// Whether that runs on the GPU.
    pub runs: Runs,
}

/// Why the question has no answer.
#[derive(Debug, Error)]
pub enum FileQuestionError {
    /// The GPU is not in the database.
    #[error(
        "`{0}` is not a GPU that the database knows; name a model such as `RTX 5090`, or a compute capability such as `12.0`"
    )]
    UnknownGpu(String),
    /// The file cannot be read.
    #[error("cannot read `{path}`")]
    Read {
        /// The file.
        path: String,
        /// The cause.
        source: std::io::Error,
    },
    /// The file holds no GPU code.
    #[error(
        "`{0}` holds no GPU code: it is not a 64-bit ELF library or a wheel with a fat-binary section"
    )]
    NoGpuCode(String),
    /// The wheel cannot be read.
    #[error(transparent)]
    Wheel(#[from] WheelError),
}

/// The capability of a GPU named by model or by number.
pub(crate) fn capability_of(gpu: &str) -> Option<Capability> {
    Capability::parse(gpu)
        .or_else(|| {
            Some(warpsmith_compatibility::Target::parse(gpu.strip_prefix("sm_")?)?.capability)
        })
        .or_else(|| Capability::parse(&database().gpu(gpu)?.compute_capability))
}

/// Reads a library or a wheel and says whether its GPU code runs on `gpu`.
pub fn will_it_run(file: &Path, gpu: &str) -> Result<Vec<FileAnswer>, FileQuestionError> {
    let device = capability_of(gpu).ok_or_else(|| FileQuestionError::UnknownGpu(gpu.to_owned()))?;
    let name = file.display().to_string();
    let libraries = if file.extension().is_some_and(|e| e == "whl" || e == "zip") {
        coverage_of_wheel(file)?
    } else {
        let source = std::fs::File::open(file).map_err(|source| FileQuestionError::Read {
            path: name.clone(),
            source,
        })?;
        coverage_of_elf(&source)
            .map(|c| (name.clone(), c))
            .into_iter()
            .collect()
    };
    if libraries.is_empty() {
        return Err(FileQuestionError::NoGpuCode(name));
    }
    Ok(libraries
        .into_iter()
        .map(|(library, coverage)| FileAnswer {
            runs: coverage.runs_on(device),
            library,
            coverage,
        })
        .collect())
}
