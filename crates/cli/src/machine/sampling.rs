//! What every verb that samples needs: which GPUs.

use std::time::Duration;

use anyhow::Result;
use clap::Args;
use warpsmith_telemetry::{
    LiveMachine, Machine, OpenError, Schedule, Settings, Tier, open_telling,
};

use warpsmith_console::global::Global;
use warpsmith_console::numbers;
use warpsmith_console::output;

/// Which GPUs to sample.
#[derive(Args)]
pub(crate) struct Selection {
    /// Sample only this GPU, by the number that `watch` shows; can be given several times.
    #[arg(long = "gpu", value_name = "N")]
    pub(crate) gpus: Vec<u32>,
    /// Time between samples of use, power, clocks and temperature.
    #[arg(long, value_name = "TIME", default_value = "100ms", value_parser = numbers::seconds)]
    interval: f64,
}

impl Selection {
    /// The settings for sampling these GPUs.
    pub(crate) fn settings(&self) -> Settings {
        Settings {
            gpus: self.gpus.clone(),
            schedule: Schedule::default().with(Tier::State, Duration::from_secs_f64(self.interval)),
            ..Settings::default()
        }
    }
}

/// Opens the machine, and says what it waits for when the driver takes long; `None`, with the reason
/// said, where this machine cannot do what was requested.
pub(crate) fn open(global: &Global, settings: &Settings) -> Result<Option<Machine>> {
    match open_telling(settings, |waits| output::note(global, waits)) {
        Ok(machine) => Ok(Some(machine)),
        Err(error @ OpenError::NoNvml { .. }) => {
            output::note(global, &format!("{error}"));
            Ok(None)
        }
        Err(error) => Err(error.into()),
    }
}

/// Starts to open and to sample without waiting for the driver; `None` as above.
pub(crate) fn attend(global: &Global, settings: &Settings) -> Result<Option<LiveMachine>> {
    let machine = LiveMachine::start(settings);
    // Without a request nothing can fail, and there is nothing to wait for.
    if settings.gpus.is_empty() {
        return Ok(Some(machine));
    }
    match machine.check_requested() {
        Ok(()) => Ok(Some(machine)),
        Err(error @ OpenError::NoNvml { .. }) => {
            output::note(global, &format!("{error}"));
            Ok(None)
        }
        Err(error) => Err(error.into()),
    }
}

/// Says how much of a recording could not be read.
pub(crate) fn say_damage(global: &Global, blocks: usize) {
    if blocks > 0 {
        let text =
            format!("{blocks} damaged blocks of the recording, about a second each, are left out");
        output::note(global, &text);
    }
}
