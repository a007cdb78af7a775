//! The part of `warpsmith verify` that is about Python kernels: the GPU against the interpreter.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use anyhow::{Context, Result, bail};
use flate2::read::GzDecoder;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use warpsmith_compiler::ir::Module;
use warpsmith_compiler::{Options, compile, kernels};
use warpsmith_core::{Finding, Severity};
use warpsmith_device::{CompileCache, CudaDevice, Nvrtc};
use warpsmith_execution::{KernelParity, verify_kernel};

use warpsmith_console::exit::Outcome;
use warpsmith_console::global::Global;
use warpsmith_console::output;
use warpsmith_console::table::Table;

/// The square root of the number of threads, about.
pub(super) const SIZE: usize = 24;

#[derive(Serialize)]
struct Body {
    verified_on: String,
    counts: BTreeMap<&'static str, usize>,
    rows: Vec<Row>,
}

#[derive(Serialize)]
struct Row {
    id: String,
    kernel: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    tier: Option<String>,
    #[serde(flatten)]
    parity: KernelParity,
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

/// Verifies every kernel of the file on the GPU.
pub(super) fn run(
    global: &Global,
    file: &str,
    gpu: &CudaDevice,
    seed: u64,
    library: Option<Arc<str>>,
) -> Result<Outcome> {
    let options = Options {
        library,
        ..Options::default()
    };
    let nvrtc = Nvrtc::find()?;
    let jobs = read_jobs(Path::new(file))?;
    let cache = CompileCache::for_user();
    let done = AtomicUsize::new(0);
    // Compiling is most of the work and uses every core; launches queue on one stream.
    let rows: Vec<Row> = jobs
        .par_iter()
        .map(|job| {
            let row = verify(job, &options, gpu, &nvrtc, &cache, seed);
            let done = 1 + done.fetch_add(1, Ordering::Relaxed);
            output::progress(global, &format!("{done} of {} kernels", jobs.len()));
            row
        })
        .collect();
    output::progress(global, "");
    let facts = gpu.facts();
    let mut counts = BTreeMap::new();
    for row in &rows {
        *counts.entry(word(&row.parity)).or_default() += 1;
    }
    let driver = facts.driver_version.as_deref().unwrap_or("unknown");
    let verified_on = format!("{} (sm_{}), driver {driver}", facts.name, facts.sm());
    let mut report = output::report(
        "verify kernels",
        Body {
            verified_on,
            counts,
            rows,
        },
    );
    report.findings = report.body.rows.iter().filter_map(finding).collect();
    output::print(global, &report, describe)?;
    let wrong = report.body.rows.iter().any(|row| {
        matches!(
            row.parity,
            KernelParity::Disagrees { .. } | KernelParity::Failed { .. }
        )
    });
    Ok(Outcome::fine_if(!wrong))
}

fn verify(
    job: &Job,
    options: &Options,
    gpu: &CudaDevice,
    nvrtc: &Nvrtc,
    cache: &CompileCache,
    seed: u64,
) -> Row {
    Row {
        id: job.id.clone(),
        kernel: job.kernel.clone().unwrap_or_else(|| job.id.clone()),
        tier: job.tier.clone(),
        parity: match job.compile(options) {
            Ok(module) => verify_kernel(gpu, nvrtc, cache, &module, SIZE, seed),
            Err(findings) => KernelParity::Refused {
                reason: first(&findings),
            },
        },
    }
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

fn word(parity: &KernelParity) -> &'static str {
    match parity {
        KernelParity::Agrees {
            not_deterministic: Some(_),
            ..
        } => "not deterministic with many threads, agrees with few",
        KernelParity::Agrees {
            ill_conditioned: true,
            ..
        } => "agrees as far as the inputs' last bits decide",
        KernelParity::Agrees { fused: false, .. } => "agrees without fused multiply-add",
        KernelParity::Agrees { backward: true, .. } => "agrees, forward and backward",
        KernelParity::Agrees { .. } => "agrees, forward",
        KernelParity::Disagrees { .. } => "DISAGREES",
        KernelParity::NotExecutable { .. } => "not executable on random arguments",
        KernelParity::Refused { .. } => "refused by the compiler",
        KernelParity::Failed { .. } => "FAILED",
    }
}

fn detail(parity: &KernelParity) -> String {
    match parity {
        KernelParity::Agrees {
            threads,
            not_deterministic,
            ..
        } => match not_deterministic {
            Some(reason) => reason.clone(),
            None => format!("{threads} threads"),
        },
        KernelParity::Disagrees {
            direction,
            difference,
            threads,
        } => format!(
            "{direction}, {threads} threads: {} at {} is {:?}, expected {:?}",
            difference.place, difference.index, difference.actual, difference.expected
        ),
        KernelParity::NotExecutable { reason }
        | KernelParity::Refused { reason }
        | KernelParity::Failed { reason } => reason.lines().next().unwrap_or_default().to_owned(),
    }
}

fn finding(row: &Row) -> Option<Finding> {
    let KernelParity::Disagrees { .. } = &row.parity else {
        return None;
    };
    let message = format!(
        "kernel `{}` on the GPU is not what the interpreter says",
        row.kernel
    );
    Some(
        Finding::new("M050", Severity::Error, message).because(row.id.clone(), detail(&row.parity)),
    )
}

fn describe(body: &Body) -> String {
    let mut table = Table::new(&["id", "kernel", "parity", "detail"]);
    for row in body.rows.iter().filter(|row| {
        body.rows.len() <= 20
            || matches!(
                row.parity,
                KernelParity::Disagrees { .. } | KernelParity::Failed { .. }
            )
    }) {
        let word = word(&row.parity).to_owned();
        table.row([
            row.id.clone(),
            row.kernel.clone(),
            word,
            detail(&row.parity),
        ]);
    }
    let mut text = format!("{table}\n");
    for (word, count) in &body.counts {
        text.push_str(&format!("{count:>6}  {word}\n"));
    }
    text.push_str(&format!("on {}\n", body.verified_on));
    text
}
