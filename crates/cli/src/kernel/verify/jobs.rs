//! The kernels of a file that are compared with the interpreter.

use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;

use anyhow::{Context, Result, bail};
use flate2::read::GzDecoder;
use serde::Deserialize;
use warpsmith_compiler::ir::Module;
use warpsmith_compiler::{Options, compile, kernels};
use warpsmith_core::Finding;

/// The square root of the number of threads, about.
pub(super) const SIZE: usize = 24;

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
}

impl Job {
    /// Compiles the kernel. A source of one kernel needs no name, and an instance of a generic one has
    /// another.
    pub(super) fn compile(&self, options: &Options) -> Result<Module, Vec<Finding>> {
        let by_name = || {
            let named = Options {
                kernel: self.kernel.clone(),
                ..options.clone()
            };
            compile(&self.source, &named)
        };
        compile(&self.source, options).or_else(|_| by_name())
    }
}

/// Whether `name` is a file of Python kernels rather than a workload.
pub(super) fn is_kernel_file(name: &str) -> bool {
    [".py", ".jsonl", ".jsonl.gz"]
        .iter()
        .any(|ending| name.ends_with(ending))
}

pub(super) fn read_jobs(path: &Path) -> Result<Vec<Job>> {
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
            ..Options::default()
        };
        let found = kernels(&source, &options)
            .map_err(|findings| anyhow::anyhow!("{}", first(&findings)))?;
        if found.is_empty() {
            bail!("`{name}` has no kernel");
        }
        let job = |kernel: String| Job {
            id: kernel.clone(),
            source: source.clone(),
            kernel: Some(kernel),
            tier: None,
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
