//! `warpsmith wisdom …`: what has been measured on this machine, for choosing devices.

use std::fmt::Write;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use anyhow::{Result, bail};
use clap::{Args, Subcommand};
use serde::Serialize;
use warpsmith_chooser::{
    Bus, Calibration, ChooserError, Identity, Loaded, Plan, Wisdom, WisdomFile, calibrate,
};
use warpsmith_core::{BytesPerSecond, Seconds};
use warpsmith_measure::WorkloadError;

use crate::arguments::Global;
use crate::catalogue;
use crate::exit::Outcome;
use crate::output;
use crate::placement::{devices, unix_now};
use crate::table::Table;

/// Measure this machine for `--device auto`, and show, copy or forget what was measured.
#[derive(Args)]
#[command(
    after_help = "Wisdom lies in `$XDG_STATE_HOME/warpsmith/wisdom`, one file per machine; \
`WARPSMITH_STATE_DIR` puts it elsewhere. Wisdom of another machine, driver or version is not used, \
and said not to be. A verb that chose between devices without wisdom measures its workload in the
background when it is done, at the lowest priority; `WARPSMITH_BACKGROUND=off` forbids it.

Examples:
  warpsmith wisdom calibrate
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
    Calibrate {
        /// Take a tenth of the time.
        #[arg(long)]
        quick: bool,
        /// Only workloads whose name contains this.
        #[arg(long, value_name = "TEXT")]
        only: Option<String>,
    },
    /// Write this machine's wisdom to a file.
    Export {
        /// The file.
        file: PathBuf,
    },
    /// Take over wisdom that was exported on this machine.
    Import {
        /// The file.
        file: PathBuf,
    },
    /// Remove this machine's wisdom.
    Forget,
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
            Verb::Calibrate { quick, only } => {
                let wisdom = self.calibrate(global, &file, &identity, *quick, only.as_deref())?;
                file.save(&wisdom)?;
            }
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
        Ok(if report.body.useless.is_some() {
            Outcome::NotFine
        } else {
            Outcome::Fine
        })
    }

    fn calibrate(
        &self,
        global: &Global,
        file: &WisdomFile,
        identity: &Identity,
        quick: bool,
        only: Option<&str>,
    ) -> Result<Wisdom> {
        // A useless file is replaced: its numbers are of no use to anybody.
        let mut wisdom = match file.load(identity) {
            Loaded::Found(wisdom) => wisdom,
            Loaded::Absent | Loaded::Useless(_) => Wisdom::empty(identity.clone()),
        };
        let calibration = Calibration {
            budget: Duration::from_millis(if quick { 40 } else { 400 }),
            ..Calibration::default()
        };
        let begun = Instant::now();
        let mut measured = 0;
        for (name, device) in devices(global)? {
            device.warm_up()?;
            if let Some(gpu) = device.cuda() {
                let [to, back] = Bus::measure(gpu)?;
                wisdom.put_bus(&name, to, back);
            }
            for workload in catalogue::workloads() {
                let workload = workload.as_ref();
                if only.is_some_and(|text| !workload.id().contains(text)) {
                    continue;
                }
                let Some(plan) = Plan::of(workload) else {
                    continue;
                };
                output::progress(global, &format!("{} on {name}", workload.id()));
                match calibrate(workload, &device, &name, &plan, &calibration, unix_now()) {
                    Ok(found) => wisdom.put(found),
                    // What has no form for a device is never placed there.
                    Err(ChooserError::Workload(WorkloadError::Unsupported { .. })) => continue,
                    Err(error) => return Err(error.into()),
                }
                measured += 1;
            }
        }
        output::progress(global, "");
        if measured == 0 {
            bail!(
                "no workload with sizes has `{}` in its name",
                only.unwrap_or_default()
            );
        }
        output::note(
            global,
            &format!(
                "{measured} measured in {}",
                Seconds(begun.elapsed().as_secs_f64())
            ),
        );
        Ok(wisdom)
    }
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
