//! The part of `warpsmith compare` that is about commands.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Result, bail};
use clap::Args;
use warpsmith_measure::command::contest::{ContestProgress, Contestant, contest};
use warpsmith_measure::command::{CommandError, CommandTarget, precedence, words};
use warpsmith_measure::comparison::turns::{Turns, TurnsPlan};

use super::parameters::{Parameter, expand};
use warpsmith_console::global::Global;
use warpsmith_console::inputs;
use warpsmith_console::interruption::Interruption;
use warpsmith_console::numbers;
use warpsmith_console::output;

/// Commands, and what runs around them.
#[derive(Args)]
pub(super) struct Commands {
    /// A command line for `sh -c`; give it twice or more, the base first. Runs alternate.
    #[arg(long, value_name = "LINE", conflicts_with = "workload")]
    pub(super) command: Vec<String>,
    /// A name for a command in the results; as many as there are commands.
    #[arg(short = 'n', long, value_name = "NAME", requires = "command")]
    name: Vec<String>,
    /// Run before every run, untimed; one for all commands, or one for each.
    #[arg(
        hide_short_help = true,
        short = 'p',
        long,
        value_name = "LINE",
        requires = "command"
    )]
    prepare: Vec<String>,
    /// Run once for each command, before the first run.
    #[arg(
        hide_short_help = true,
        short = 's',
        long,
        value_name = "LINE",
        requires = "command"
    )]
    setup: Option<String>,
    /// Run once for each command, after the last run, also after a failure.
    #[arg(
        hide_short_help = true,
        short = 'c',
        long,
        value_name = "LINE",
        requires = "command"
    )]
    cleanup: Option<String>,
    /// Untimed runs of each command first.
    #[arg(
        short = 'w',
        long,
        alias = "warmup",
        value_name = "N",
        default_value_t = 1,
        value_parser = numbers::few,
        allow_negative_numbers = true
    )]
    warm_up: usize,
    /// A parameter and its values: `{NAME}` in a command takes each of them.
    #[arg(short = 'L', long, num_args = 2, value_names = ["NAME", "VALUES"], requires = "command")]
    parameter_list: Vec<String>,
    /// A parameter that goes from one number to another: `{NAME}` in a command takes each value.
    #[arg(hide_short_help = true, short = 'P', long, num_args = 3, value_names = ["NAME", "FIRST", "LAST"],
          requires = "command", allow_negative_numbers = true)]
    parameter_scan: Vec<String>,
    /// The step of `--parameter-scan`.
    #[arg(
        hide_short_help = true,
        short = 'D',
        long,
        value_name = "STEP",
        default_value_t = 1.0,
        requires = "parameter_scan",
        allow_negative_numbers = true
    )]
    parameter_step_size: f64,
    /// A file that every run reads as its standard input.
    #[arg(
        hide_short_help = true,
        long,
        alias = "input",
        value_name = "FILE",
        requires = "command",
        value_parser = inputs::file(),
    )]
    stdin: Option<PathBuf>,
    /// Accept runs that fail.
    #[arg(hide_short_help = true, short = 'i', long, requires = "command")]
    ignore_failure: bool,
    /// Run commands without a shell: for those of a few milliseconds.
    #[arg(hide_short_help = true, short = 'N', long, requires = "command")]
    no_shell: bool,
    /// Do not run the commands before everything else, also where this user may.
    #[arg(hide_short_help = true, long, requires = "command")]
    ordinary_priority: bool,
    /// End a single run that takes longer than this.
    #[arg(hide_short_help = true, long, default_value = "10m", value_name = "TIME", value_parser = numbers::seconds, allow_negative_numbers = true, requires = "command")]
    limit: f64,
}

impl Commands {
    /// The contestants that the options describe.
    fn contestants(&self, interruption: &Interruption) -> Result<Vec<Contestant>> {
        let mut parameters = Vec::new();
        for words in self.parameter_list.chunks(2) {
            parameters.push(Parameter::list(words)?);
        }
        for words in self.parameter_scan.chunks(3) {
            parameters.push(Parameter::scan(words, self.parameter_step_size)?);
        }
        let lines = expand(&self.command, &parameters)?;
        if lines.len() < 2 {
            bail!("`--command` gives one command; a comparison needs two or more");
        }
        if !self.name.is_empty() && self.name.len() != lines.len() {
            bail!(
                "`--name` is given {} times for {} commands",
                self.name.len(),
                lines.len()
            );
        }
        if self.prepare.len() > 1 && self.prepare.len() != lines.len() {
            bail!(
                "`--prepare` is given {} times for {} commands: give it once, or once for each",
                self.prepare.len(),
                lines.len()
            );
        }
        let beside = |line: &String| CommandTarget {
            interrupted: Some(interruption.flag()),
            ..CommandTarget::shell(line)
        };
        let contestant = |(index, line): (usize, &String)| -> Result<Contestant> {
            let words = match self.no_shell {
                true => words::split(line).map_err(|why| anyhow::anyhow!("`{line}`: {why}"))?,
                false => CommandTarget::shell(line).words,
            };
            Ok(Contestant {
                name: self.name.get(index).unwrap_or(line).clone(),
                target: CommandTarget {
                    limit: Duration::try_from_secs_f64(self.limit)?,
                    ignore_failure: self.ignore_failure,
                    stdin: self.stdin.clone(),
                    precedes: self.precede(),
                    interrupted: Some(interruption.flag()),
                    ..CommandTarget::new(words)
                },
                setup: self.setup.as_ref().map(beside),
                prepare: self.prepare.get(index).or(self.prepare.first()).map(beside),
                cleanup: self.cleanup.as_ref().map(beside),
            })
        };
        lines.iter().enumerate().map(contestant).collect()
    }

    /// Whether they go before everything else that wants a core.
    pub(super) fn precede(&self) -> bool {
        !self.ordinary_priority && precedence::is_permitted()
    }

    /// Runs the commands in turns.
    pub(super) fn compare(&self, global: &Global, plan: &TurnsPlan) -> Result<Turns<CommandError>> {
        let interruption = Interruption::listen()?;
        let contestants = self.contestants(&interruption)?;
        Ok(contest(
            &contestants,
            self.warm_up,
            plan,
            &mut |progress| {
                show(global, plan.budget, progress);
            },
        )?)
    }
}

/// Two lines for `sh -c` in turns.
pub(crate) fn compare_lines(
    global: &Global,
    a: &str,
    b: &str,
    plan: &TurnsPlan,
) -> Result<Turns<CommandError>> {
    let interruption = Interruption::listen()?;
    let contestants = [a, b].map(|line| {
        let target = CommandTarget {
            precedes: true,
            interrupted: Some(interruption.flag()),
            ..CommandTarget::shell(line)
        };
        Contestant::new(line, target)
    });
    let mut turns = contest(&contestants, 1, plan, &mut |progress| {
        show(global, plan.budget, progress);
    })?;
    match turns.failure.take() {
        Some(error) => Err(error.into()),
        None => Ok(turns),
    }
}

fn show(global: &Global, budget: Duration, progress: ContestProgress<'_>) {
    let text = match progress {
        ContestProgress::WarmUp(name) => format!("warming up: {name}"),
        ContestProgress::Rounds(seen) if seen.elapsed < Duration::from_secs(1) => return,
        ContestProgress::Rounds(seen) => {
            let ratios: Vec<String> = seen
                .conclusions
                .iter()
                .map(|conclusion| &conclusion.evaluation)
                .filter(|evaluation| evaluation.high.is_finite())
                .map(|e| format!("{:.3} ({:.3} to {:.3})", e.ratio, e.low, e.high))
                .collect();
            format!(
                "{} rounds, {:.0} of {:.0} s  {}",
                seen.rounds,
                seen.elapsed.as_secs_f64(),
                budget.as_secs_f64(),
                ratios.join("  ")
            )
        }
    };
    output::progress(global, &text);
}
