//! `warpsmith wisdom …`: what has been measured on this machine, for choosing devices.

use std::fmt::Write;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use anyhow::{Result, bail};
use clap::{Args, Subcommand};
use serde::Serialize;
use warpsmith_core::{BytesPerSecond, Seconds};
use warpsmith_wisdom::{
    Bus, Calibration, Identity, Loaded, Plan, Way, Wisdom, WisdomFile, calibrate,
};

use warpsmith_console::background_calibration;
use warpsmith_console::catalogue;
use warpsmith_console::exit::Outcome;
use warpsmith_console::global::Global;
use warpsmith_console::inputs;
use warpsmith_console::output;
use warpsmith_console::placement::{devices, unix_now};
use warpsmith_console::table::Table;

/// Measure this machine once, so that `--device auto` chooses well.
#[derive(Args)]
#[command(
    after_long_help = "Wisdom lies in `$XDG_STATE_HOME/warpsmith/wisdom`, one file per machine; \
`WARPSMITH_STATE_DIR` puts it elsewhere. Wisdom of another machine, driver or version is not used, \
and a note says so. A verb that chose between devices without wisdom measures its workload in the \
background when it is done, at the lowest priority; `WARPSMITH_BACKGROUND=off` forbids it.

Examples:
  warpsmith wisdom calibrate
  warpsmith wisdom calibrate --thorough --only lattice
  warpsmith wisdom calibrate --background
  warpsmith wisdom show
  warpsmith wisdom export h200.json && warpsmith wisdom import h200.json"
)]
pub(crate) struct WisdomCommand {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Subcommand)]
enum Verb {
    /// Show what is known about this machine.
    Show,
    /// Measure every workload that has sizes on every device here.
    Calibrate(Effort),
    /// Write this machine's wisdom to a file.
    Export {
        /// The file.
        file: PathBuf,
    },
    /// Take over wisdom that was exported on this machine.
    Import {
        /// The file.
        #[arg(value_parser = inputs::file())]
        file: PathBuf,
    },
    /// Remove this machine's wisdom.
    Forget,
}

/// How thoroughly to measure what.
#[derive(Args)]
struct Effort {
    /// Take a tenth of the time.
    #[arg(long)]
    quick: bool,
    /// Take ten times as long: more of the large sizes, more runs of each.
    #[arg(long, conflicts_with = "quick")]
    thorough: bool,
    /// Return at once; the measuring goes on in a process of its own, at the lowest priority.
    #[arg(long)]
    background: bool,
    /// Only workloads whose name contains this.
    #[arg(long, value_name = "TEXT")]
    only: Option<String>,
}

impl Effort {
    /// Time for one workload on one device: some eight seconds for all of them on a CPU.
    fn budget(&self) -> Duration {
        Duration::from_millis(match (self.quick, self.thorough) {
            (true, _) => 30,
            (_, true) => 3_000,
            _ => 300,
        })
    }
}

#[derive(Serialize)]
struct Body {
    file: String,
    /// Why the file is not used, where it is not.
    #[serde(skip_serializing_if = "Option::is_none")]
    useless: Option<String>,
    wisdom: Option<Wisdom>,
}

impl WisdomCommand {
    pub(crate) fn run(&self, global: &Global) -> Result<Outcome> {
        let exported = match &self.verb {
            Verb::Export { file } => Some(file.as_path()),
            _ => None,
        };
        let global = &output::check_outputs(global, &[("export", exported)])?;
        let identity = Identity::here();
        let file = WisdomFile::of(&identity);
        let path = file.path().display().to_string();
        let found = || match file.load(&identity) {
            Loaded::Found(wisdom) => Ok(wisdom),
            Loaded::Absent => {
                bail!("there is no wisdom yet: `warpsmith wisdom calibrate` measures")
            }
            Loaded::Useless(why) => bail!("`{path}` is not used: {why}"),
        };
        match &self.verb {
            Verb::Show => {}
            Verb::Calibrate(effort) if effort.background => {
                background_calibration::start(global, effort.only.as_deref())?;
                return Ok(Outcome::Fine);
            }
            Verb::Calibrate(effort) => calibrate_here(global, &file, &identity, effort)?,
            Verb::Export { file: target } => {
                let wisdom = found()?;
                WisdomFile::at(target).save(&wisdom)?;
                output::note(global, &format!("exported to `{}`", target.display()));
            }
            Verb::Import { file: source } => {
                let wisdom = WisdomFile::at(source).read()?;
                if let Some(difference) = identity.difference(&wisdom.identity) {
                    bail!("`{}` is of another machine: {difference}", source.display());
                }
                file.save(&wisdom)?;
            }
            Verb::Forget => {
                let words = if file.forget()? {
                    "removed"
                } else {
                    "there was none"
                };
                output::note(global, &format!("`{path}`: {words}"));
                return Ok(Outcome::Fine);
            }
        }
        let (wisdom, useless) = match file.load(&identity) {
            Loaded::Found(wisdom) => (Some(wisdom), None),
            Loaded::Absent => (None, None),
            Loaded::Useless(why) => (None, Some(why)),
        };
        let report = output::report(
            "wisdom",
            Body {
                file: path,
                useless,
                wisdom,
            },
        );
        output::print(global, &report, describe)?;
        Ok(Outcome::fine_if(report.body.useless.is_none()))
    }
}

/// Measures every device, workload by workload, and adds what was found to the file.
fn calibrate_here(
    global: &Global,
    file: &WisdomFile,
    identity: &Identity,
    effort: &Effort,
) -> Result<()> {
    let Some(_claim) = file.claim()? else {
        bail!("another process is measuring this machine; both would measure each other");
    };
    let calibration = Calibration {
        budget: effort.budget(),
        ..Calibration::default()
    };
    let begun = Instant::now();
    let devices = devices(global)?;
    let mut buses = Vec::new();
    for (name, device) in &devices {
        device.warm_up()?;
        if let Some(gpu) = device.cuda() {
            buses.push((name, Bus::measure(gpu)?));
        }
    }
    let ways: Vec<_> = devices
        .iter()
        .map(|(name, device)| Way {
            backend: name,
            device,
            settings: &[],
        })
        .collect();
    let mut measured = Vec::new();
    for workload in catalogue::workloads() {
        let workload = workload.as_ref();
        let only = effort.only.as_deref();
        if only.is_some_and(|text| !workload.id().contains(text)) {
            continue;
        }
        if let Some(plan) = Plan::of(workload) {
            output::progress(global, workload.id());
            measured.extend(calibrate(workload, &ways, &plan, &calibration, unix_now())?);
        }
    }
    output::progress(global, "");
    if measured.is_empty() {
        bail!(
            "no workload with sizes has `{}` in its name",
            effort.only.as_deref().unwrap_or_default()
        );
    }
    output::note(
        global,
        &format!(
            "{} measured in {}",
            measured.len(),
            Seconds(begun.elapsed().as_secs_f64())
        ),
    );
    // Read only now: runs may have taught something meanwhile. A useless file is replaced, its
    // numbers are of no use to anybody.
    let mut wisdom = match file.load(identity) {
        Loaded::Found(wisdom) => wisdom,
        Loaded::Absent | Loaded::Useless(_) => Wisdom::empty(identity.clone()),
    };
    for (name, [to, back]) in buses {
        wisdom.put_bus(name, to, back);
    }
    measured.into_iter().for_each(|found| wisdom.put(found));
    file.save(&wisdom)?;
    Ok(())
}

fn describe(body: &Body) -> String {
    let Some(wisdom) = &body.wisdom else {
        return match &body.useless {
            Some(why) => format!("`{}` is not used: {why}\n", body.file),
            None => {
                "no wisdom yet: `warpsmith wisdom calibrate` measures this machine\n".to_owned()
            }
        };
    };
    let mut table = Table::new(&[
        "operation",
        "device",
        ">start, least",
        ">sizes",
        ">per unit, least",
        ">at",
    ]);
    for operation in &wisdom.operations {
        let best = operation
            .points
            .iter()
            .map(|point| (point.pass / point.size, point.size))
            .min_by(|a, b| a.0.total_cmp(&b.0));
        let starts = operation.points.iter().map(|point| point.start);
        let start = starts.fold(f64::INFINITY, f64::min);
        let (rate, size) = best.unwrap_or((f64::NAN, f64::NAN));
        table.row([
            operation.operation.clone(),
            operation.backend.clone(),
            Seconds(start).to_string(),
            operation.points.len().to_string(),
            Seconds(rate).to_string(),
            format!("{size:.0}"),
        ]);
    }
    let mut text = table.to_string();
    for (device, to, back) in &wisdom.buses {
        let _ = writeln!(
            text,
            "\n{device}: to it {} + {}, back {} + {}",
            Seconds(to.latency),
            BytesPerSecond(to.rate),
            Seconds(back.latency),
            BytesPerSecond(back.rate)
        );
    }
    let _ = writeln!(text, "\n{}", body.file);
    text
}
