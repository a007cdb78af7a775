//! The kernels of a file that are compared with the interpreter.

use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, Result, bail};
use flate2::read::GzDecoder;
use serde::Deserialize;
use warpsmith_compiler::ir::Module;
use warpsmith_compiler::{Binding, Compiler, Options, compile};
use warpsmith_core::Finding;

use crate::kernel::python_file::PythonFile;

/// The square root of the number of threads, about.
pub(super) const SIZE: usize = 24;

/// The kernels to verify.
pub(super) struct Kernels {
    pub(super) jobs: Vec<Job>,
    /// Seed of their arguments.
    pub(super) seed: u64,
    /// The functions that Warp's library writes in Python.
    pub(super) library: Arc<str>,
    /// What functions around kernels are called with.
    pub(super) bind: Vec<Binding>,
}

/// One kernel to verify; a pair of a data set is one too.
#[derive(Deserialize)]
pub(super) struct Job {
    pub(super) id: String,
    /// The source, where it is not a file's.
    #[serde(alias = "python")]
    source: String,
    #[serde(default, alias = "kernel_name")]
    pub(super) kernel: Option<String>,
    #[serde(default)]
    pub(super) tier: Option<String>,
    /// The file that it stands in, with the project whose modules that imports.
    #[serde(skip)]
    file: Option<Arc<PythonFile>>,
}

impl Kernels {
    /// Compiles a kernel.
    pub(super) fn compile(&self, job: &Job) -> Result<Module, Vec<Finding>> {
        let options = Options {
            library: Some(self.library.clone()),
            ..Options::default()
        };
        let named = Options {
            kernel: job.kernel.clone(),
            ..options.clone()
        };
        if let Some(file) = &job.file {
            let named = Options {
                file: file.shown().to_owned(),
                bind: self.bind.clone(),
                ..named
            };
            return file.compile(&mut Compiler::new(), &named);
        }
        // A source of one kernel needs no name, and an instance of a generic one has another.
        compile(&job.source, &options).or_else(|_| compile(&job.source, &named))
    }
}

/// Whether `name` is a file of Python kernels rather than a workload.
pub(super) fn is_kernel_file(name: &str) -> bool {
    [".py", ".jsonl", ".jsonl.gz"]
        .iter()
        .any(|ending| name.ends_with(ending))
}

/// The kernels of a Python file, or the one with this name; findings where it cannot be read.
pub(super) fn jobs_of(
    file: &Arc<PythonFile>,
    kernel: Option<&str>,
    bind: &[Binding],
) -> Result<Result<Vec<Job>, Vec<Finding>>> {
    let shown = file.shown();
    let options = Options {
        file: shown.to_owned(),
        bind: bind.to_vec(),
        ..Options::default()
    };
    let mut found = match file.kernels(&options) {
        Ok(found) => found,
        Err(findings) => return Ok(Err(findings)),
    };
    if found.is_empty() {
        bail!("`{shown}` has no kernel");
    }
    if let Some(kernel) = kernel {
        let all = found.join(", ");
        found.retain(|name| name == kernel);
        if found.is_empty() {
            bail!("`{shown}` has no kernel `{kernel}`; it has {all}");
        }
    }
    let job = |kernel: String| Job {
        id: kernel.clone(),
        source: String::new(),
        kernel: Some(kernel),
        tier: None,
        file: Some(file.clone()),
    };
    Ok(Ok(found.into_iter().map(job).collect()))
}

/// The kernels of a file with one on each line.
pub(super) fn read_lines(path: &Path) -> Result<Vec<Job>> {
    let name = path.display();
    let file = File::open(path).with_context(|| format!("cannot read `{name}`"))?;
    let mut reader: Box<dyn Read> = Box::new(file);
    if path.extension().is_some_and(|extension| extension == "gz") {
        reader = Box::new(GzDecoder::new(reader));
    }
    let lines = BufReader::new(reader).lines().enumerate();
    lines
        .map(|(number, line)| {
            let line = line.with_context(|| format!("cannot read `{name}`"))?;
            serde_json::from_str(&line)
                .with_context(|| format!("`{name}` line {}: no `id` and `source`", number + 1))
        })
        .collect()
}

pub(super) fn first(findings: &[Finding]) -> String {
    findings
        .first()
        .map_or_else(String::new, ToString::to_string)
}
