//! `warpsmith check`: what is wrong with this machine, and how to fix it.

use std::ffi::OsStr;
use std::io::{Write, stdout};
use std::iter;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use clap::Args;
use warpsmith_core::{Finding, Report, Severity};
use warpsmith_device::{VulkanFacts, vulkan_devices};
use warpsmith_doctor::{
    CheckBody, CommandOutput, Detail, DirectoryHost, Host, MachineFacts, RealHost, RecordingHost,
    Runs, check_machine, check_text, collect_machine, will_it_run,
};
use warpsmith_formats::write_output;

use super::devices::broken_vulkan;

use warpsmith_console::exit::Outcome;
use warpsmith_console::global::{Format, Global};
use warpsmith_console::inputs;
use warpsmith_console::output;

/// Check this machine: driver, GPUs, toolkits, Python, containers.
///
/// Reads files; starts neither Python nor CUDA nor Vulkan unless `--deep` is given.
#[derive(Args)]
#[command(
    after_long_help = "Examples:\n  warpsmith check\n  warpsmith check -v\n  warpsmith check --deep\n  \
                  warpsmith check --capture other-machine && warpsmith check --from other-machine\n  \
                  warpsmith check --file torch.whl --gpu \"RTX 5090\""
)]
pub(crate) struct Check {
    /// Initialise CUDA and Vulkan and launch a kernel in a child process, with a time limit.
    #[arg(long)]
    deep: bool,
    /// Also write the report as JSON.
    #[arg(long, alias = "json", value_name = "FILE")]
    save: Option<PathBuf>,
    /// Write the facts that the rules saw to a file.
    #[arg(long, value_name = "FILE")]
    facts: Option<PathBuf>,
    /// Write what was read to a directory that `--from` replays; the environment is filtered.
    #[arg(long, value_name = "DIR", conflicts_with = "from")]
    capture: Option<PathBuf>,
    /// Check another machine: a directory made by `--capture`, or a file made by `--facts`.
    #[arg(long, value_name = "PATH", conflicts_with = "deep")]
    from: Option<PathBuf>,
    /// Ask whether a library or wheel runs on `--gpu`, from the file alone.
    #[arg(long, value_name = "FILE", requires = "gpu", value_parser = inputs::file())]
    file: Option<PathBuf>,
    /// A GPU by name (`RTX 5090`) or compute capability (`12.0`).
    #[arg(long, value_name = "NAME", requires = "file")]
    gpu: Option<String>,
}

impl Check {
    pub(crate) fn run(&self, global: &Global) -> Result<Outcome> {
        let outputs = [
            ("--save", self.save.as_deref()),
            ("--facts", self.facts.as_deref()),
        ];
        let global = &output::check_outputs(global, &outputs)?;
        if let (Some(file), Some(gpu)) = (&self.file, &self.gpu) {
            return answer(global, file, gpu);
        }
        let facts = self.collect()?;
        if let Some(path) = &self.facts {
            write_output(path, &serde_json::to_vec_pretty(&facts)?)?;
        }
        let mut report = check_machine(&facts);
        if self.deep {
            output::note(global, "starting CUDA and Vulkan in child processes");
            deep(global, &mut report)?;
        }
        if let Some(path) = &self.save {
            write_output(path, &serde_json::to_vec_pretty(&report)?)?;
        }
        let mut out = output::writer(global);
        if global.format == Format::Json {
            serde_json::to_writer_pretty(&mut out, &report)?;
            writeln!(out)?;
        } else {
            let detail = if global.verbose {
                Detail::Everything
            } else {
                Detail::Summary
            };
            write!(out, "{}", check_text(&report, detail))?;
            // Who asks for it wants to know that it worked, too.
            if self.deep {
                let started = |finding: &&Finding| finding.code.starts_with("D0");
                for finding in report.findings.iter().filter(started) {
                    writeln!(out, "really started: {}", finding.message)?;
                }
            }
        }
        Ok(Outcome::fine_if(report.worst() != Some(Severity::Error)))
    }

    fn collect(&self) -> Result<MachineFacts> {
        if let Some(path) = &self.from {
            if path.is_dir() {
                if !path.join("env.json").exists() {
                    bail!(
                        "`{0}` is not a captured machine: it has no `env.json`; `warpsmith check \
                         --capture {0}` captures this one",
                        path.display()
                    );
                }
                return Ok(collect_machine(&DirectoryHost::open(path)?));
            }
            inputs::check_file(path)?;
            let text = std::fs::read_to_string(path)
                .with_context(|| format!("cannot read `{}`", path.display()))?;
            return serde_json::from_str(&text).with_context(|| {
                format!(
                    "`{}` holds no facts; make them with `warpsmith check --facts FILE`",
                    path.display()
                )
            });
        }
        let host = RealHost::new();
        let Some(directory) = &self.capture else {
            return Ok(collect_machine(&host));
        };
        if directory.exists() {
            bail!(
                "`{}` is there already; name a new directory",
                directory.display()
            );
        }
        let recording = RecordingHost::new(&host, directory)
            .with_context(|| format!("cannot write `{}`", directory.display()))?;
        let facts = collect_machine(&recording);
        recording
            .finish()
            .with_context(|| format!("cannot write `{}`", directory.display()))?;
        Ok(facts)
    }
}

/// Runs a kernel in a child of this program on each device, and adds what came of it.
fn deep(global: &Global, report: &mut Report<CheckBody>) -> Result<()> {
    let mut found = vec![deep_on_cuda(global)?];
    match vulkan_devices() {
        Ok(devices) => {
            for facts in devices {
                found.push(deep_on_vulkan(global, &facts)?);
            }
        }
        Err(error) => found.extend(broken_vulkan(&error)),
    }
    for (place, finding) in found.into_iter().enumerate() {
        report.findings.insert(place, finding.clone());
        report.body.causes.insert(
            place,
            warpsmith_doctor::Cause {
                finding,
                consequences: Vec::new(),
            },
        );
    }
    Ok(())
}

/// How `verify machine/saxpy` ended in a child of this program; nothing where it had to be killed.
fn saxpy_in_a_child(global: &Global, device: Option<&str>) -> Result<Option<CommandOutput>> {
    let program = global.host.command();
    let mut command = program.context("cannot find this program's own file")?;
    command.args([
        "verify",
        "machine/saxpy",
        "--inputs",
        "1",
        "--format",
        "json",
    ]);
    if let Some(device) = device {
        command.args(["--device", device]);
    }
    let argv: Vec<_> = iter::once(command.get_program())
        .chain(command.get_args())
        .map(OsStr::to_string_lossy)
        .collect();
    let argv: Vec<&str> = argv.iter().map(AsRef::as_ref).collect();
    Ok(RealHost::new().run(&argv, Duration::from_secs(60)))
}

fn deep_on_cuda(global: &Global) -> Result<Finding> {
    let source = "warpsmith verify machine/saxpy";
    Ok(match saxpy_in_a_child(global, None)? {
        None => Finding::new(
            "D002",
            Severity::Error,
            "CUDA did not answer within 60 seconds",
        )
        .because(source, "killed")
        .hint("`nvidia-smi` will hang too: look at `dmesg` for Xid errors, then reset or reboot"),
        Some(output) if output.rc == 0 => Finding::new(
            "D003",
            Severity::Info,
            "CUDA starts, and a kernel computes what the CPU computes",
        )
        .because(source, "exit 0"),
        Some(output) if output.rc == 3 => {
            Finding::new("D001", Severity::Info, "CUDA reports no device").because(source, "exit 3")
        }
        Some(output) => Finding::new(
            "D002",
            Severity::Error,
            "CUDA does not start, or a kernel gives wrong numbers",
        )
        .because(source, format!("exit {}", output.rc))
        .because("stderr", output.stderr.trim().to_owned())
        .hint("`warpsmith devices` and `warpsmith verify --all` say more"),
    })
}

fn deep_on_vulkan(global: &Global, facts: &VulkanFacts) -> Result<Finding> {
    let name = format!("vulkan:{}", facts.index);
    let shown = format!("{name} ({})", facts.name);
    if !facts.lacks.is_empty() {
        let message = format!("{shown} runs no kernels");
        return Ok(Finding::new("D005", Severity::Warning, message)
            .because("it lacks", facts.lacks.join(", "))
            .hint("choose another device: `warpsmith devices` lists them"));
    }
    let source = format!("warpsmith verify machine/saxpy --device {name}");
    let finding = match saxpy_in_a_child(global, Some(&name))? {
        Some(output) if output.rc == 0 => {
            let message = format!("{shown} starts, and a kernel computes what the CPU computes");
            Finding::new("D004", Severity::Info, message).because(source, "exit 0")
        }
        output => {
            let message = format!("{shown} runs no kernels, or they give wrong numbers");
            let (end, said) = match output {
                Some(output) => (format!("exit {}", output.rc), output.stderr),
                None => ("killed after 60 seconds".to_owned(), String::new()),
            };
            Finding::new("D005", Severity::Warning, message)
                .because(source, end)
                .because("stderr", said.trim().to_owned())
                .hint("update the driver, or choose another device: `warpsmith devices` lists them")
        }
    };
    let missing = facts.missing_features();
    Ok(match missing.is_empty() {
        true => finding,
        false => finding.because("kernels are refused that need", missing.join(", ")),
    })
}

fn answer(global: &Global, file: &Path, gpu: &str) -> Result<Outcome> {
    let answers = will_it_run(file, gpu)?;
    let missing = answers
        .iter()
        .any(|answer| matches!(answer.runs, Runs::No(_)));
    let mut out = stdout().lock();
    if global.format == Format::Json {
        serde_json::to_writer_pretty(&mut out, &answers)?;
        writeln!(out)?;
    } else {
        for answer in &answers {
            let (mark, text) = match &answer.runs {
                Runs::Native(target) => ("✓", format!("runs: machine code for {target}")),
                Runs::Jit(target) => (
                    "✓",
                    format!(
                        "runs: compiled at load from PTX for {target}; the first start is slow"
                    ),
                ),
                Runs::No(why) => ("✗", format!("does not run: {why}")),
            };
            writeln!(out, "{mark} {}: {text}", answer.library)?;
            if global.verbose {
                writeln!(out, "    {}", answer.coverage.describe())?;
            }
        }
    }
    Ok(Outcome::fine_if(!missing))
}
