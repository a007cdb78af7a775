//! What the user typed: the global options and one verb. Only the entry of the library is above this.

use anyhow::Result;
use clap::{Parser, Subcommand};

use crate::help::program;
use crate::kernel::{
    ablate, bench, compare, compile, exec, inspect, judge, leak, new, profile, run, scale, tune,
    verify,
};
use crate::machine::{
    baseline, check, clock_guard, devices, export, fleet, health, record, replay, watch, wisdom,
};
use crate::project::{audit, explain, history, report};
use crate::setup::{completions, config, manual, selftest};
use warpsmith_apps::{corpus, lattice, md, serve, synth, voice};
use warpsmith_console::exit::Outcome;
use warpsmith_console::global::Global;
use warpsmith_device::{DeviceChoice, DeviceError};

/// The GPU engineer's workbench: compile, run, check, measure, explain.
#[derive(Parser)]
#[command(
    name = "warpsmith",
    version,
    propagate_version = true,
    subcommand_required = true
)]
pub(crate) struct Arguments {
    #[command(flatten)]
    pub(crate) global: Global,
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// The verbs.
#[derive(Subcommand)]
pub(crate) enum Command {
    New(new::New),
    Compile(compile::Compile),
    Inspect(inspect::Inspect),
    Verify(verify::Verify),
    Exec(exec::Exec),
    Bench(bench::Bench),
    Compare(compare::Compare),
    Tune(tune::Tune),
    Judge(judge::Judge),
    Scale(scale::Scale),
    Ablate(ablate::Ablate),
    Leak(leak::Leak),
    Profile(profile::Profile),
    Run(run::Run),
    Check(check::Check),
    Devices(devices::Devices),
    Watch(watch::Watch),
    Baseline(baseline::Baseline),
    Record(record::Record),
    Replay(replay::Replay),
    Export(export::Export),
    Health(health::Health),
    Fleet(fleet::Fleet),
    Wisdom(wisdom::WisdomCommand),
    Report(report::Report),
    Audit(audit::Audit),
    History(history::HistoryCommand),
    Explain(explain::Explain),
    Voice(voice::Voice),
    Corpus(corpus::Corpus),
    Md(md::Md),
    Lattice(lattice::Lattice),
    Synth(synth::Synth),
    Serve(serve::Serve),
    Config(config::Config),
    Completions(completions::Completions),
    #[command(hide = true)]
    ClockGuard(clock_guard::GuardClocks),
    Selftest(selftest::Selftest),
    Manual(manual::Manual),
}

impl Command {
    /// Does what the verb says.
    pub(crate) fn run(&self, global: &Global) -> Result<Outcome> {
        self.check_device(global)?;
        match self {
            Self::New(command) => command.run(global),
            Self::Compile(command) => command.run(global),
            Self::Inspect(command) => command.run(global),
            Self::Verify(command) => command.run(global),
            Self::Exec(command) => command.run(global),
            Self::Bench(command) => command.run(global),
            Self::Compare(command) => command.run(global),
            Self::Tune(command) => command.run(global),
            Self::Judge(command) => command.run(global),
            Self::Scale(command) => command.run(global),
            Self::Ablate(command) => command.run(global),
            Self::Leak(command) => command.run(global),
            Self::Profile(command) => command.run(global),
            Self::Run(command) => command.run(global),
            Self::Check(command) => command.run(global),
            Self::Devices(command) => command.run(global),
            Self::Watch(command) => command.run(global),
            Self::Baseline(command) => command.run(global),
            Self::Record(command) => command.run(global),
            Self::Replay(command) => command.run(global),
            Self::Export(command) => command.run(global),
            Self::Health(command) => command.run(global),
            Self::Fleet(command) => command.run(global),
            Self::Wisdom(command) => command.run(global),
            Self::Report(command) => command.run(global),
            Self::Audit(command) => command.run(global),
            Self::History(command) => command.run(global),
            Self::Explain(command) => command.run(global),
            Self::Voice(command) => command.run(global),
            Self::Corpus(command) => command.run(global),
            Self::Md(command) => command.run(global),
            Self::Lattice(command) => command.run(global),
            Self::Synth(command) => command.run(global),
            Self::Serve(command) => command.run(global),
            Self::Config(command) => command.run(global),
            Self::ClockGuard(command) => command.run(),
            Self::Completions(command) => command.run(program()),
            Self::Selftest(command) => command.run(global),
            Self::Manual(command) => command.run(global, &program()),
        }
    }

    /// Python kernels and some workloads run on Vulkan: whoever requests it for something else must not get
    /// another device.
    fn check_device(&self, global: &Global) -> Result<()> {
        let runs = matches!(
            self,
            Self::Exec(_)
                | Self::Verify(_)
                | Self::Bench(_)
                | Self::Compare(_)
                | Self::Scale(_)
                | Self::Ablate(_)
                | Self::Leak(_)
                | Self::Lattice(_)
                | Self::Wisdom(_)
                | Self::Compile(_)
                | Self::Devices(_)
                | Self::Check(_)
                | Self::Report(_)
        );
        if let (DeviceChoice::Vulkan(_), false) = (global.device, runs) {
            return Err(DeviceError::NotOnVulkan { what: "this verb" }.into());
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use clap::Command;

    use super::*;

    /// The words of a command line up to the first shell operator, as a shell splits them.
    fn words(line: &str) -> Vec<String> {
        let mut words = Vec::new();
        let mut word = String::new();
        let mut quote = None;
        for letter in line.chars() {
            match quote {
                Some(open) if letter == open => quote = None,
                Some(_) => word.push(letter),
                None => match letter {
                    '\'' | '"' => quote = Some(letter),
                    ' ' => words.push(std::mem::take(&mut word)),
                    _ => word.push(letter),
                },
            }
        }
        words.push(word);
        words.retain(|word| !word.is_empty());
        let operator = |word: &String| matches!(word.as_str(), "|" | ">" | "&&" | ";" | "&" | "#");
        let end = words.iter().position(operator).unwrap_or(words.len());
        words.truncate(end);
        words
    }

    fn examples(command: &Command, found: &mut Vec<String>) {
        let help = command.get_after_long_help().map(ToString::to_string);
        let lines = help.iter().flat_map(|help| help.lines());
        let typed = lines.filter_map(|line| line.strip_prefix("  "));
        found.extend(
            typed
                .filter(|line| line.starts_with("warpsmith "))
                .map(str::to_owned),
        );
        command
            .get_subcommands()
            .for_each(|below| examples(below, found));
    }

    /// Why a command line is not taken; files that it names are its user's, and taken to be there.
    fn refusal(mut words: Vec<String>) -> Option<String> {
        loop {
            let error = Arguments::try_parse_from(&words).err()?.to_string();
            let missing = error.split("there is no file `").nth(1);
            let missing = missing.and_then(|rest| rest.split('`').next());
            let word = words.iter_mut().find(|word| Some(word.as_str()) == missing);
            let Some(word) = word else {
                return Some(error);
            };
            *word = concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml").to_owned();
        }
    }

    #[test]
    fn every_example_of_a_help_text_is_a_command_line_that_we_take() {
        let mut found = Vec::new();
        examples(&program(), &mut found);
        assert!(found.len() > 60, "{} examples", found.len());
        let wrong: Vec<String> = found
            .iter()
            // A variable stands for what only its user knows.
            .map(|line| line.replace("$SLURM_ARRAY_TASK_ID", "0"))
            .map(|line| line.replace("$(git rev-parse HEAD)", "HEAD"))
            .filter_map(|line| {
                let error = refusal(words(&line))?;
                Some(format!("{line}\n{error}"))
            })
            .collect();
        assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    }

    #[test]
    fn every_verb_has_an_example() {
        let program = program();
        let without: Vec<&str> = program
            .get_subcommands()
            .filter(|verb| !verb.is_hide_set())
            .filter(|verb| {
                let mut found = Vec::new();
                examples(verb, &mut found);
                found.is_empty()
            })
            .map(Command::get_name)
            .collect();
        assert!(without.is_empty(), "{without:?}");
    }
}
