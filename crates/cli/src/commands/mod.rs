//! The verbs, one file each: its arguments, its one call, its human view.

use anyhow::Result;
use clap::Subcommand;

use crate::arguments::Global;
use crate::exit::Outcome;

mod ablate;
mod audit;
mod baseline;
pub(crate) mod bench;
pub(crate) mod check;
mod compare;
mod compare_baselines;
mod compile;
mod compile_cuda;
mod compile_machine_code;
mod compile_python;
mod completions;
mod corpus;
pub(crate) mod devices;
mod exec;
pub(crate) mod explain;
mod export;
pub(crate) mod gpu_conditions;
mod health;
mod history;
mod lattice;
mod leak;
pub(crate) mod manual;
mod md;
mod paired_commands;
mod profile;
mod record;
mod replay;
mod report;
mod run;
mod sampling;
mod scale;
mod selftest;
mod serve;
mod synth;
mod verify;
mod verify_python;
mod voice;
mod watch;
mod wisdom;

/// The verbs.
#[derive(Subcommand)]
pub(crate) enum Command {
    Ablate(ablate::Ablate),
    Audit(audit::Audit),
    Baseline(baseline::Baseline),
    Bench(bench::Bench),
    Check(check::Check),
    Compare(compare::Compare),
    Compile(compile::Compile),
    Completions(completions::Completions),
    Corpus(corpus::Corpus),
    Devices(devices::Devices),
    Exec(exec::Exec),
    Explain(explain::Explain),
    Export(export::Export),
    Health(health::Health),
    History(history::HistoryCommand),
    Lattice(lattice::Lattice),
    Leak(leak::Leak),
    Manual(manual::Manual),
    Md(md::Md),
    Profile(profile::Profile),
    Record(record::Record),
    Replay(replay::Replay),
    Report(report::Report),
    Run(run::Run),
    Scale(scale::Scale),
    Selftest(selftest::Selftest),
    Serve(serve::Serve),
    Synth(synth::Synth),
    Verify(verify::Verify),
    Voice(voice::Voice),
    Watch(watch::Watch),
    Wisdom(wisdom::WisdomCommand),
}

impl Command {
    /// Does what the verb says.
    pub(crate) fn run(&self, global: &Global) -> Result<Outcome> {
        match self {
            Self::Ablate(command) => command.run(global),
            Self::Audit(command) => command.run(global),
            Self::Baseline(command) => command.run(global),
            Self::Bench(command) => command.run(global),
            Self::Check(command) => command.run(global),
            Self::Compare(command) => command.run(global),
            Self::Compile(command) => command.run(global),
            Self::Completions(command) => command.run(global),
            Self::Corpus(command) => command.run(global),
            Self::Devices(command) => command.run(global),
            Self::Exec(command) => command.run(global),
            Self::Explain(command) => command.run(global),
            Self::Export(command) => command.run(global),
            Self::Health(command) => command.run(global),
            Self::History(command) => command.run(global),
            Self::Lattice(command) => command.run(global),
            Self::Leak(command) => command.run(global),
            Self::Manual(command) => command.run(global),
            Self::Md(command) => command.run(global),
            Self::Profile(command) => command.run(global),
            Self::Record(command) => command.run(global),
            Self::Replay(command) => command.run(global),
            Self::Report(command) => command.run(global),
            Self::Run(command) => command.run(global),
            Self::Scale(command) => command.run(global),
            Self::Selftest(command) => command.run(global),
            Self::Serve(command) => command.run(global),
            Self::Synth(command) => command.run(global),
            Self::Verify(command) => command.run(global),
            Self::Voice(command) => command.run(global),
            Self::Watch(command) => command.run(global),
            Self::Wisdom(command) => command.run(global),
        }
    }
}
