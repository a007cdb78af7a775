//! The verb: what is measured, or read, and which laws are fitted.

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Result, anyhow, bail};
use clap::Args;
use warpsmith_device::Device;
use warpsmith_measure::command::size_study::{SizedCommand, measure_sizes};
use warpsmith_measure::command::{CommandError, CommandTarget, words};
use warpsmith_measure::findings;
use warpsmith_measure::import::sizes::{parse_size, read_sizes};
use warpsmith_measure::memory_scaling::{MemoryScaling, fit_memory};
use warpsmith_measure::report::html::Section;
use warpsmith_measure::report::plot;
use warpsmith_measure::run_sampler::RunMode;
use warpsmith_measure::scaling::{self, FEWEST_POINTS, SizePoint};
use warpsmith_measure::size_study::{SizeRow, SizeStudy};
use warpsmith_measure::statistics::stop_rule::StopPlan;
use warpsmith_workload::Parameters;

use super::body::{Body, Row};
use crate::kernel::command_end::ended;
use warpsmith_console::catalogue;
use warpsmith_console::exit::Outcome;
use warpsmith_console::global::Global;
use warpsmith_console::inputs;
use warpsmith_console::interruption::Interruption;
use warpsmith_console::measured::{self, Files};
use warpsmith_console::numbers;
use warpsmith_console::output;

/// Measure at several sizes: how time and memory grow.
///
/// A workload or a command is measured at several sizes, and a + b·f(N) is fitted to its time and, for
/// a command, to its peak memory.
#[derive(Args)]
#[command(after_long_help = "Examples:\n  \
    warpsmith scale machine/saxpy\n  \
    warpsmith scale machine/saxpy --sizes 1K,4K,16K,64K,256K,1M,4M,16M\n  \
    warpsmith scale --command './solver --cells {\x1b[0mn}' --sizes 1K,2K,4K,8K,16K,32K,64K,128K\n  \
    warpsmith scale --from times.csv    # columns n,seconds and, if there, bytes\n  \
    warpsmith scale machine/saxpy --device cuda --sizes 1K,8K,64K,512K,4M,32M,64M,128M --html s.html")]
pub(crate) struct Scale {
    /// The workload.
    #[arg(required_unless_present_any = ["command", "from"], conflicts_with_all = ["command", "from"])]
    workload: Option<String>,
    // clap takes `{n}` for a line break; a style that changes nothing keeps it apart.
    #[arg(
        long,
        value_name = "LINE",
        conflicts_with = "from",
        requires = "sizes",
        help = "A command line for `sh -c` with `{\x1b[0mn}` where the size goes"
    )]
    command: Option<String>,
    /// Sizes and times that were measured elsewhere.
    ///
    /// A text of columns (size, seconds and, if there, bytes; a header may name `n`, `ms`, `us`, `kib`,
    /// …), or hyperfine's JSON of a parameter scan.
    #[arg(long, value_name = "FILE", conflicts_with = "sizes", value_parser = inputs::file())]
    from: Option<PathBuf>,
    /// Sizes, separated by commas; `K`, `M` and `G` are powers of 1024. The workload's own where it
    /// names some.
    #[arg(long, value_name = "N,…", value_delimiter = ',')]
    sizes: Vec<String>,
    /// The parameter that is the size; the workload's own, else `n`.
    #[arg(long, value_name = "NAME")]
    parameter: Option<String>,
    /// Set another parameter, `name=value`.
    #[arg(long = "set", value_name = "NAME=VALUE", value_parser = catalogue::parse_setting,
          conflicts_with_all = ["command", "from"])]
    settings: Vec<(String, String)>,
    /// Run the command without a shell.
    #[arg(short = 'N', long, requires = "command")]
    no_shell: bool,
    #[arg(
        long,
        alias = "input",
        value_name = "FILE",
        requires = "command",
        help = "A file that every run of the command reads as its standard input; `{\x1b[0mn}` in its name is the size"
    )]
    stdin: Option<String>,
    /// End a single run of the command that takes longer than this.
    #[arg(long, default_value = "10m", value_name = "TIME", value_parser = numbers::seconds,
          allow_negative_numbers = true, requires = "command")]
    limit: f64,
    /// Stop a size after this long.
    #[arg(long, default_value = "5s", value_name = "TIME", value_parser = numbers::seconds, allow_negative_numbers = true)]
    budget: f64,
    #[command(flatten)]
    files: Files,
}

impl Scale {
    pub(crate) fn run(&self, global: &Global) -> Result<Outcome> {
        let global = &self.files.check(global, &[])?;
        let (body, failure) = match (&self.workload, &self.command, &self.from) {
            (_, Some(line), _) => self.commands(global, line)?,
            (_, _, Some(path)) => (self.table(path)?, None),
            (workload, None, None) => self.workload(global, workload.as_deref().unwrap_or(""))?,
        };
        let mut report = output::report("scale", body);
        let name = report.body.name();
        if let Some(scaling) = &report.body.scaling {
            report.findings.extend(findings::of_scaling(&name, scaling));
        }
        let body = &report.body;
        let measured: Vec<_> = body.rows.iter().filter_map(Row::measured).collect();
        let measurements: Vec<_> = measured
            .iter()
            .map(|(measurement, _)| *measurement)
            .collect();
        let sections = || {
            let mut plots = Vec::new();
            if let Some(scaling) = &body.scaling {
                plots.push(plot::scaling("time over size", scaling));
            }
            if let Some(memory) = &body.memory {
                plots.push(memory_plot(memory));
            }
            let mut sections = vec![Section {
                heading: name.clone(),
                text: body.describe(),
                plots,
            }];
            let each = measured.iter();
            sections.extend(each.map(|(samples, figures)| measured::section(samples, figures)));
            sections
        };
        let written = self.files.write(
            global,
            &format!("scale: {name}"),
            &measurements,
            sections,
            &report,
        );
        output::print(global, &report, Body::describe)?;
        // A file that cannot be written loses nothing: the result stands above.
        written?;
        ended(global, Outcome::Fine, failure)
    }

    /// The sizes of a command, checked before anything runs.
    fn numbers(&self) -> Result<Vec<u64>> {
        let mut sizes = Vec::new();
        for text in &self.sizes {
            let size = parse_size(text)
                .ok_or_else(|| anyhow!("`--sizes`: `{text}` is not a whole number above 0"))?;
            if size < 2 {
                bail!("`--sizes`: {text} shows nothing about growth; sizes begin at 2");
            }
            if sizes.contains(&size) {
                bail!("`--sizes` has {text} twice");
            }
            sizes.push(size);
        }
        if sizes.len() < FEWEST_POINTS {
            bail!(
                "{} sizes cannot show a law; give at least {FEWEST_POINTS}, better 8",
                sizes.len()
            );
        }
        Ok(sizes)
    }

    fn commands(&self, global: &Global, line: &str) -> Result<(Body, Option<CommandError>)> {
        let placeholder = format!("{{{}}}", self.parameter.as_deref().unwrap_or("n"));
        let in_input = self.stdin.as_ref();
        if !line.contains(&placeholder) && !in_input.is_some_and(|path| path.contains(&placeholder))
        {
            bail!("`--command {line}` has no `{placeholder}` where the size goes");
        }
        let sizes = self.numbers()?;
        let interruption = Interruption::listen()?;
        let sized = |size: &u64| -> Result<SizedCommand> {
            let line = line.replace(&placeholder, &size.to_string());
            let words = match self.no_shell {
                true => words::split(&line).map_err(|why| anyhow!("`{line}`: {why}"))?,
                false => CommandTarget::shell(&line).words,
            };
            let stdin = in_input.map(|path| path.replace(&placeholder, &size.to_string()));
            Ok(SizedCommand {
                size: *size,
                target: CommandTarget {
                    limit: Duration::try_from_secs_f64(self.limit)?,
                    stdin: stdin.map(PathBuf::from),
                    interrupted: Some(interruption.flag()),
                    ..CommandTarget::new(words)
                },
            })
        };
        let sized = sizes.iter().map(sized).collect::<Result<Vec<_>>>()?;
        let each = Duration::try_from_secs_f64(self.budget)?;
        let done = measure_sizes(&sized, each, &mut |size, progress| {
            measured::show_progress(global, &format!("n = {size}"), 0.01, progress);
        })?;
        output::progress(global, "");
        let body = Body {
            workload: None,
            command: Some(line.to_owned()),
            from: None,
            unit: "N",
            scaling: scaling::fit(&done.points()),
            memory: done.memory_points().and_then(|points| fit_memory(&points)),
            clock: Some(done.clock),
            failure: done.failure.as_ref().map(ToString::to_string),
            rows: done
                .rows
                .into_iter()
                .map(|row| Row::Command(Box::new(row)))
                .collect(),
        };
        Ok((body, done.failure))
    }

    fn table(&self, path: &Path) -> Result<Body> {
        let table = read_sizes(path, self.parameter.as_deref())?;
        let Some(scaling) = scaling::fit(&table.times) else {
            bail!(
                "`{}` has {} sizes; a law needs at least {FEWEST_POINTS} different ones above 1",
                path.display(),
                table.times.len()
            );
        };
        Ok(Body {
            workload: None,
            command: None,
            from: Some(path.to_owned()),
            unit: "N",
            rows: table.times.into_iter().map(Row::Read).collect(),
            clock: None,
            scaling: Some(scaling),
            memory: fit_memory(&table.memory),
            failure: None,
        })
    }

    fn workload(&self, global: &Global, name: &str) -> Result<(Body, Option<CommandError>)> {
        let workloads = catalogue::choose(&[name.to_owned()])?;
        let [workload] = &workloads[..] else {
            bail!(
                "`scale` takes one workload; `{name}` names {}",
                workloads.len()
            );
        };
        let own = workload.sizes();
        let sizes: Vec<&str> = match (&self.sizes[..], &own) {
            ([], Some(own)) => own.values.to_vec(),
            ([], None) => bail!(
                "`{}` names no sizes of its own; give --sizes",
                workload.id()
            ),
            (given, _) => given.iter().map(String::as_str).collect(),
        };
        if sizes.len() < FEWEST_POINTS {
            bail!(
                "{} sizes cannot show a law; give at least {FEWEST_POINTS}, better 8",
                sizes.len()
            );
        }
        let device = Device::open(global.device)?;
        device.warm_up()?;
        let interruption = Interruption::listen()?;
        let study = SizeStudy {
            workload: workload.as_ref(),
            device: &device,
            mode: RunMode::Warm,
            parameter: match (&self.parameter, &own) {
                (Some(given), _) => given,
                (None, Some(own)) => own.parameter,
                (None, None) => "n",
            },
            settings: &self.settings,
            plan: StopPlan {
                timeout: Duration::try_from_secs_f64(self.budget)?,
                interrupted: Some(interruption.lasting_flag()),
                ..StopPlan::default()
            },
        };
        let mut rows = Vec::new();
        for size in sizes {
            if interruption.came() {
                break;
            }
            rows.push(study.measure(size, &mut |name, progress| {
                measured::show_progress(global, name, study.plan.target, progress);
            })?);
        }
        output::progress(global, "");
        let points: Vec<SizePoint> = rows.iter().map(SizeRow::point).collect();
        let scaling = scaling::fit(&points);
        let interrupted = interruption.came().then_some(CommandError::Interrupted);
        if scaling.is_none() && interrupted.is_none() {
            bail!("no law fits: sizes must be above 1 and different from one another");
        }
        let body = Body {
            workload: Some(workload.id()),
            command: None,
            from: None,
            unit: workload
                .cost(&Parameters::resolve(workload.parameters(), &[])?)
                .unit,
            rows: rows
                .into_iter()
                .map(|row| Row::Workload(Box::new(row)))
                .collect(),
            clock: None,
            scaling,
            memory: None,
            failure: None,
        };
        Ok((body, interrupted))
    }
}

fn memory_plot(memory: &MemoryScaling) -> String {
    let points = memory.points.iter();
    plot::curves(
        "peak memory over size",
        &[plot::Curve {
            name: "peak memory",
            points: points
                .map(|point| (point.size as f64, point.bytes as f64 / 1_048_576.0))
                .collect(),
        }],
        true,
        "N",
        "MiB",
    )
}
