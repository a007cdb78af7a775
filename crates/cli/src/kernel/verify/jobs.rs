//! The kernels of a file that are compared with the interpreter.

use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, Result, bail};
use flate2::read::GzDecoder;
use serde::Deserialize;
use warpsmith_compiler::ir::Module;
use warpsmith_compiler::{Compiler, Options, compile};
use warpsmith_core::Finding;

use crate::kernel::python_file::ProjectRoot;

/// The square root of the number of threads, about.
pub(super) const SIZE: usize = 24;

/// The kernels to verify.
pub(super) struct Kernels {
    pub(super) jobs: Vec<Job>,
    /// Seed of their arguments.
    pub(super) seed: u64,
    /// The functions that Warp's library writes in Python.
    pub(super) library: Arc<str>,
}

/// One kernel to verify; a pair of a data set is one too.
#[derive(Deserialize)]
pub(super) struct Job {
    pub(super) id: String,
    #[serde(alias = "python")]
    source: String,
    #[serde(default, alias = "kernel_name")]
    pub(super) kernel: Option<String>,
    #[serde(default)]
    pub(super) tier: Option<String>,
    /// The file that the source is, whose project it imports.
    #[serde(skip)]
    file: Option<(PathBuf, ProjectRoot)>,
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
        if let Some((path, root)) = &job.file {
            let named = Options {
                file: path.display().to_string(),
                bind: root.bindings(),
                ..named
            };
            let folder = root.folder(path);
            return Compiler::new().compile_in(&job.source, &named, Some(&folder.place()));
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

pub(super) fn read_jobs(path: &Path, root: &ProjectRoot) -> Result<Vec<Job>> {
    let name = path.display();
    let file = File::open(path).with_context(|| format!("cannot read `{name}`"))?;
    let mut reader: Box<dyn Read> = Box::new(file);
    if path.extension().is_some_and(|extension| extension == "gz") {
        reader = Box::new(GzDecoder::new(reader));
    }
    if path.extension().is_some_and(|extension| extension == "py") {
        let mut source = String::new();
        reader
            .read_to_string(&mut source)
            .with_context(|| format!("cannot read `{name}`"))?;
        let options = Options {
            file: name.to_string(),
            bind: root.bindings(),
            ..Options::default()
        };
        let folder = root.folder(path);
        let found = Compiler::new()
            .kernels_in(&source, &options, Some(&folder.place()))
            .map_err(|findings| anyhow::anyhow!("{}", first(&findings)))?;
        if found.is_empty() {
            bail!("`{name}` has no kernel");
        }
        let job = |kernel: String| Job {
            id: kernel.clone(),
            source: source.clone(),
            kernel: Some(kernel),
            tier: None,
            file: Some((path.to_owned(), root.clone())),
        };
        return Ok(found.into_iter().map(job).collect());
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
