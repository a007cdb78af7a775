//! `warpsmith baseline`: measure the GPUs and the host at rest or under load, and judge them.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Result, bail};
use clap::Args;
use warpsmith_core::Report;
use warpsmith_formats::write_output_durably;
use warpsmith_telemetry::baseline::{BaselineBody, Collector, Expectation, Fitness, baseline_text};
use warpsmith_telemetry::fleet::{FleetBody, beside_fleet};
use warpsmith_telemetry::recording::Recording;
use warpsmith_telemetry::{Clock, Event, Happening, Sampler, Schedule};

use super::fleet;
use super::sampling::{self, Selection};
use warpsmith_console::exit::Outcome;
use warpsmith_console::global::Global;
use warpsmith_console::inputs;
use warpsmith_console::interruption::Interruption;
use warpsmith_console::numbers;
use warpsmith_console::output;

/// Sample GPUs and host for a while, and judge if they are fit.
///
/// Reports percentiles, energy, throttling and who was on the GPU.
///
/// The exit code is 1 when it is not fit (or when that cannot be told), 2 when there are too few
/// samples to judge, 3 when a GPU was requested on a machine without one. Without a GPU the host is measured alone.
#[derive(Args)]
#[command(after_long_help = "Examples:\n  warpsmith baseline\n  \
                        warpsmith baseline --duration 2m --gpu 0 --save before.json\n  \
                        warpsmith baseline --expect-load --duration 30s\n  \
                        warpsmith baseline --from recording.wsrec\n  \
                        warpsmith baseline --expect-load --compare-fleet fleet.json\n  \
                        warpsmith compare before.json after.json")]
pub(crate) struct Baseline {
    /// How long to sample.
    #[arg(long, default_value = "60s", value_name = "TIME", value_parser = numbers::duration)]
    duration: Duration,
    #[command(flatten)]
    selection: Selection,
    /// Expect load: report its absence, not its presence.
    #[arg(long)]
    expect_load: bool,
    /// Also write the report as JSON, every sample in it, which `compare` reads.
    #[arg(long, alias = "json", value_name = "FILE")]
    save: Option<PathBuf>,
    /// Judge a recording instead of this machine.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["gpus", "duration"], value_parser = inputs::file())]
    from: Option<PathBuf>,
    /// Compare the GPUs with others of their kind, from a report of `fleet --save`.
    #[arg(long, value_name = "FILE", value_parser = inputs::file())]
    compare_fleet: Option<PathBuf>,
}

impl Baseline {
    pub(crate) fn run(&self, global: &Global) -> Result<Outcome> {
        let global = &output::check_outputs(global, &[("--save", self.save.as_deref())])?;
        let fleet = self.compare_fleet.as_deref().map(fleet::read_report);
        let fleet = fleet.transpose()?;
        let mut report = match &self.from {
            Some(path) => self.judge_recording(global, path)?,
            None => match self.judge_machine(global)? {
                Some(report) => report,
                None => return Ok(Outcome::CannotHere),
            },
        };
        let differs = fleet.is_some_and(|fleet| compare(global, &mut report, &fleet.body));
        let written = match &self.save {
            Some(path) => write_output_durably(path, &serde_json::to_vec(&report)?),
            None => Ok(()),
        };
        output::print(global, &report, baseline_text)?;
        // A file that cannot be written loses nothing: the result stands above.
        written?;
        Ok(match report.body.fitness {
            Fitness::Fit => Outcome::fine_if(!differs),
            Fitness::NotFit | Fitness::CannotTell => Outcome::NotFine,
            Fitness::NotMeasured => {
                bail!("not measured: too few samples (hint: sample for longer, `--duration 10s`)")
            }
        })
    }

    fn expectation(&self) -> Expectation {
        if self.expect_load {
            Expectation::Load
        } else {
            Expectation::Idle
        }
    }

    fn judge_machine(&self, global: &Global) -> Result<Option<Report<BaselineBody>>> {
        // Twice a second: a minute has to give a host P99 too.
        let schedule = Schedule::default().with_host(Duration::from_millis(500));
        let mut settings = self.selection.settings();
        settings.schedule = schedule.clone();
        let Some(machine) = sampling::open(global, &settings)? else {
            return Ok(None);
        };
        let interruption = Interruption::listen()?;
        let mut collector = Collector::new(
            machine.inventory().clone(),
            Clock::System.now(),
            self.duration,
            self.expectation(),
            &schedule,
        );
        let started = Instant::now();
        let (sampler, events) = Sampler::start(machine, &settings);
        let mut glance = Glance::default();
        while let Some(left) = self.duration.checked_sub(started.elapsed()) {
            if interruption.wait(left.min(Duration::from_millis(200))) {
                output::note(global, "interrupted: judging what was sampled so far");
                break;
            }
            for event in events.try_iter() {
                glance.take(&event);
                collector.push(&event);
            }
            let elapsed = started.elapsed().as_secs_f64();
            let planned = self.duration.as_secs_f64();
            output::progress(
                global,
                &format!("{elapsed:5.1} of {planned:.0} s  {}", glance.text),
            );
        }
        sampler.stop();
        events.try_iter().for_each(|event| collector.push(&event));
        output::progress(global, "");
        Ok(Some(collector.finish()))
    }

    fn judge_recording(&self, global: &Global, path: &Path) -> Result<Report<BaselineBody>> {
        let recording = Recording::open(path)?;
        if !recording.is_complete() {
            output::note(
                global,
                "the recording has no end: judging what is there of it",
            );
        }
        let Some((first, last)) = recording.span() else {
            bail!("`{}` holds no samples", path.display());
        };
        let mut collector = Collector::new(
            recording.inventory().clone(),
            first,
            last.since(first),
            self.expectation(),
            &Schedule::default(),
        );
        let mut events = recording.events();
        for event in events.by_ref() {
            collector.push(&event?);
        }
        sampling::say_damage(global, events.damaged());
        Ok(collector.finish())
    }
}

/// Adds what differs from a fleet to a report; whether something does.
fn compare(global: &Global, report: &mut Report<BaselineBody>, fleet: &FleetBody) -> bool {
    let beside = beside_fleet(&report.body, fleet);
    for reason in &beside.not_compared {
        output::note(global, reason);
    }
    let differs = !beside.findings.is_empty();
    if beside.compared > 0 && !differs {
        let same = format!("{} GPUs are like others of their kind", beside.compared);
        output::note(global, &same);
    }
    report.findings.extend(beside.findings);
    differs
}

/// The last state of the first GPU, for the progress line.
#[derive(Default)]
struct Glance {
    text: String,
}

impl Glance {
    fn take(&mut self, event: &Event) {
        if let (0, Happening::State(state)) = (event.gpu, &event.what) {
            let show = |value: Option<i64>| value.map_or_else(|| "–".into(), |v| v.to_string());
            self.text = format!(
                "GPU 0: {} % busy, {} W, {} °C",
                show(state.busy_percent),
                show(state.power_mw.map(|mw| mw / 1000)),
                show(state.temperature_c)
            );
        }
    }
}
