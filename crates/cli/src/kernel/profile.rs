//! `warpsmith profile`: nsys or ncu on a command, and what they found.

use std::fs;
use std::num::NonZeroU32;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};
use clap::{Args, ValueEnum};
use serde::Serialize;
use warpsmith_core::{Bytes, BytesPerSecond, Flops, Seconds};
use warpsmith_device::Device;
use warpsmith_formats::write_output;
use warpsmith_history::nsys;
use warpsmith_measure::measurement::{Figures, Measurement};
use warpsmith_measure::profile::device_span::DeviceSpan;
use warpsmith_measure::profile::helper_kernels::is_helper;
use warpsmith_measure::profile::ncu::{self, LaunchWork, Metric};
use warpsmith_measure::profile::tool::{Tool, shell_line};
use warpsmith_measure::roofline::{Bound, Ceilings, Roofline};
use warpsmith_measure::trace;
use warpsmith_workload::Cost;

use warpsmith_console::exit::Outcome;
use warpsmith_console::global::Global;
use warpsmith_console::inputs;
use warpsmith_console::measured;
use warpsmith_console::output;
use warpsmith_console::table::Table;

/// Profile a command with nsys or ncu, or read what they wrote.
#[derive(Args)]
#[command(
    after_long_help = "Examples:\n  warpsmith profile -- ./solver --steps 10\n  \
    warpsmith profile --tool ncu --dry-run -- ./solver\n  \
    warpsmith profile --tool ncu --roofline -- ./solver\n  \
    warpsmith profile --read run.sqlite --trace run.json   # open run.json in ui.perfetto.dev"
)]
pub(crate) struct Profile {
    /// The command and its arguments.
    #[arg(last = true, required_unless_present = "read")]
    words: Vec<String>,
    /// Which profiler.
    #[arg(long, value_enum, default_value_t = Which::Nsys)]
    tool: Which,
    /// Print the profiler's command line, and run nothing.
    #[arg(long)]
    dry_run: bool,
    /// How many launches ncu takes of each kernel and launch shape: it repeats every one of them
    /// many times. 0 takes all.
    #[arg(long, value_name = "N", default_value_t = 5)]
    launches: u32,
    /// Where the profiler's files go, without their extension.
    #[arg(short, long, value_name = "PATH", default_value = "warpsmith-profile")]
    output: PathBuf,
    /// Read an nsys SQLite export or an ncu CSV instead of running.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["words", "dry_run"])]
    read: Option<PathBuf>,
    /// Measure this device's ceilings, and compare the kernels of an ncu profile with them.
    #[arg(long)]
    roofline: bool,
    /// Also write a trace for Perfetto (nsys).
    #[arg(long, value_name = "FILE")]
    trace: Option<PathBuf>,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Which {
    /// When what ran.
    Nsys,
    /// Why a kernel takes as long as it does.
    Ncu,
}

#[derive(Serialize)]
struct Kernel {
    measurement: Measurement,
    figures: Figures,
    total_seconds: f64,
    bytes: i64,
}

#[derive(Serialize)]
struct Body {
    kernels: Vec<Kernel>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    metrics: Vec<Metric>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    rooflines: Vec<KernelRoof>,
    #[serde(skip_serializing_if = "Option::is_none")]
    ceilings: Option<Ceilings>,
}

/// What the launches of a kernel moved and computed, and how near they came to the ceilings.
#[derive(Serialize)]
struct KernelRoof {
    kernel: String,
    launches: usize,
    seconds: f64,
    bytes: f64,
    flops: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    roofline: Option<Roofline>,
}

impl Profile {
    pub(crate) fn run(&self, global: &Global) -> Result<Outcome> {
        let global = &output::check_outputs(global, &[("--trace", self.trace.as_deref())])?;
        let result = match &self.read {
            Some(path) => {
                inputs::check_file(path)?;
                path.clone()
            }
            None => match self.profile(global)? {
                Some(path) => path,
                None => {
                    return Ok(if self.dry_run {
                        Outcome::Fine
                    } else {
                        Outcome::CannotHere
                    });
                }
            },
        };
        let body = self.read_result(global, &result)?;
        let report = output::report("profile", body);
        output::print(global, &report, describe)?;
        Ok(Outcome::Fine)
    }

    /// Runs the profiler; `None` where nothing was run.
    fn profile(&self, global: &Global) -> Result<Option<PathBuf>> {
        let tool = match self.tool {
            Which::Nsys => Tool::Nsys,
            Which::Ncu => Tool::Ncu,
        };
        let found = tool.find();
        let program = found.clone().unwrap_or_else(|| tool.program().into());
        let words = tool.words(
            &program,
            &self.output,
            NonZeroU32::new(self.launches),
            &self.words,
        );
        let line = shell_line(&words);
        if self.dry_run {
            let report = output::report("profile", line);
            output::print(global, &report, |line| format!("{line}\n"))?;
            return Ok(None);
        }
        if found.is_none() {
            output::note(
                global,
                &format!(
                    "`{}` is not installed here; where it is, run:\n  {line}\nthen: warpsmith profile --read {}",
                    tool.program(),
                    tool.result(&self.output).display()
                ),
            );
            return Ok(None);
        }
        output::note(global, &line);
        let status = Command::new(&words[0])
            .args(&words[1..])
            .status()
            .with_context(|| format!("cannot start `{}`", words[0]))?;
        if !status.success() {
            bail!("`{}` failed ({status})", tool.program());
        }
        Ok(Some(tool.result(&self.output)))
    }

    fn read_result(&self, global: &Global, path: &Path) -> Result<Body> {
        let is_csv = path.extension().is_some_and(|extension| extension == "csv");
        if is_csv {
            let text = fs::read_to_string(path)
                .with_context(|| format!("cannot read `{}`", path.display()))?;
            let mut metrics = ncu::read(&text).with_context(|| format!("`{}`", path.display()))?;
            metrics.retain(|metric| !is_helper(&metric.kernel));
            let durations = ncu::durations(&metrics);
            let kernels = gather(
                durations
                    .into_iter()
                    .map(|(name, seconds)| (name, seconds, 0)),
            );
            let ceilings = match self.roofline {
                true => Some(Ceilings::measure(&Device::open(global.device)?)?),
                false => None,
            };
            return Ok(Body {
                kernels,
                rooflines: roofs(ncu::work(&metrics), ceilings.as_ref()),
                ceilings,
                metrics,
            });
        }
        let spans = nsys::read(path)?;
        if let Some(file) = &self.trace {
            write_output(file, &trace::device_spans(Vec::new(), &spans)?)?;
            output::note(global, &format!("wrote {}", file.display()));
        }
        let timed = |span: &DeviceSpan| (span.name.clone(), span.seconds(), span.bytes);
        Ok(Body {
            kernels: gather(
                spans
                    .iter()
                    .filter(|span| !is_helper(&span.name))
                    .map(timed),
            ),
            metrics: Vec::new(),
            rooflines: Vec::new(),
            ceilings: None,
        })
    }
}

/// Work by kernel, the most expensive first.
fn roofs(launches: Vec<LaunchWork>, ceilings: Option<&Ceilings>) -> Vec<KernelRoof> {
    let mut kernels: Vec<KernelRoof> = Vec::new();
    for launch in launches {
        let known = kernels.iter().position(|one| one.kernel == launch.kernel);
        let place = known.unwrap_or_else(|| {
            kernels.push(KernelRoof {
                kernel: launch.kernel.clone(),
                launches: 0,
                seconds: 0.0,
                bytes: 0.0,
                flops: 0.0,
                roofline: None,
            });
            kernels.len() - 1
        });
        let kernel = &mut kernels[place];
        kernel.launches += 1;
        kernel.seconds += launch.seconds;
        kernel.bytes += launch.bytes;
        kernel.flops += launch.flops;
    }
    for kernel in &mut kernels {
        let cost = Cost {
            bytes: Bytes(kernel.bytes as u64),
            flops: Flops(kernel.flops as u64),
            ..Cost::default()
        };
        kernel.roofline = ceilings.and_then(|ceilings| ceilings.judge(&cost, kernel.seconds));
    }
    kernels.sort_by(|a, b| b.seconds.total_cmp(&a.seconds));
    kernels
}

/// The kernels under their roofs; nothing where the profile has not what that takes.
fn roofline_text(body: &Body) -> String {
    if body.rooflines.is_empty() {
        return String::new();
    }
    let mut table = Table::new(&[
        "kernel",
        ">bytes",
        ">flop/byte",
        ">byte rate",
        ">flop rate",
        "bound by",
        ">of roof",
    ]);
    for kernel in &body.rooflines {
        let (bound, reached) = match &kernel.roofline {
            None => ("-".to_owned(), "-".to_owned()),
            Some(roofline) => (
                match roofline.bound {
                    Bound::Memory => "memory".to_owned(),
                    Bound::Arithmetic => "arithmetic".to_owned(),
                },
                roofline.reached_text(),
            ),
        };
        table.row([
            kernel.kernel.clone(),
            Bytes(kernel.bytes as u64).to_string(),
            format!("{:.3}", kernel.flops / kernel.bytes.max(1.0)),
            BytesPerSecond(kernel.bytes / kernel.seconds).to_string(),
            format!("{}/s", Flops((kernel.flops / kernel.seconds) as u64)),
            bound,
            reached,
        ]);
    }
    let ceilings = body.ceilings.map_or(String::new(), |ceilings| {
        format!(
            "ceilings measured here: copy {}, multiply-add {}/s\n",
            BytesPerSecond(ceilings.bytes_per_second),
            Flops(ceilings.flops_per_second as u64)
        )
    });
    format!("\n{ceilings}{table}")
}

/// Launches by name, the most expensive first.
fn gather(launches: impl Iterator<Item = (String, f64, i64)>) -> Vec<Kernel> {
    let mut by_name: std::collections::BTreeMap<String, (Vec<f64>, i64)> = Default::default();
    for (name, seconds, bytes) in launches {
        let entry = by_name.entry(name).or_default();
        entry.0.push(seconds);
        entry.1 += bytes;
    }
    let mut kernels: Vec<Kernel> = by_name
        .into_iter()
        .filter_map(|(name, (seconds, bytes))| {
            let total_seconds = seconds.iter().sum();
            let measurement = Measurement::imported(name, seconds);
            let figures = measurement.figures()?;
            Some(Kernel {
                measurement,
                figures,
                total_seconds,
                bytes,
            })
        })
        .collect();
    kernels.sort_by(|a, b| b.total_seconds.total_cmp(&a.total_seconds));
    kernels
}

fn describe(body: &Body) -> String {
    let whole: f64 = body.kernels.iter().map(|kernel| kernel.total_seconds).sum();
    let mut totals = Table::new(&["name", ">total", ">share", ">launches", ">moved"]);
    for kernel in &body.kernels {
        totals.row([
            kernel.measurement.name.clone(),
            Seconds(kernel.total_seconds).to_string(),
            format!("{:.1} %", 100.0 * kernel.total_seconds / whole),
            kernel.measurement.seconds.len().to_string(),
            match u64::try_from(kernel.bytes) {
                Ok(bytes @ 1..) => Bytes(bytes).to_string(),
                _ => "-".to_owned(),
            },
        ]);
    }
    let pairs: Vec<_> = body
        .kernels
        .iter()
        .map(|k| (&k.measurement, &k.figures))
        .collect();
    format!(
        "{totals}\n{}{}",
        measured::table(&pairs),
        roofline_text(body)
    )
}
