//! What every verb that samples needs: which GPUs, and for how long.

use std::time::Duration;

use anyhow::Result;
use clap::Args;
use warpsmith_telemetry::{Machine, OpenError, Settings};

use crate::global::Global;
use crate::output;

/// Which GPUs to sample.
#[derive(Args)]
pub(crate) struct Selection {
    /// Sample only this GPU, by NVML's index; can be given several times.
    #[arg(long = "gpu", value_name = "N")]
    pub(crate) gpus: Vec<u32>,
}

impl Selection {
    /// The settings for sampling these GPUs.
    pub(crate) fn settings(&self) -> Settings {
        Settings {
            gpus: self.gpus.clone(),
            ..Settings::default()
        }
    }
}

/// Opens the machine; `None`, with the reason said, where this machine cannot do what was asked.
pub(crate) fn open(global: &Global, settings: &Settings) -> Result<Option<Machine>> {
    match Machine::open(settings) {
        Ok(machine) => Ok(Some(machine)),
        Err(error @ OpenError::NoNvml { .. }) => {
            output::note(global, &format!("{error}"));
            Ok(None)
        }
        Err(error) => Err(error.into()),
    }
}

/// Reads `90`, `60s`, `500ms`, `2m`, `1h`; a number alone is seconds.
pub(crate) fn parse_duration(text: &str) -> Result<Duration, String> {
    let split = text
        .find(|c: char| !c.is_ascii_digit() && c != '.')
        .unwrap_or(text.len());
    let (number, unit) = text.split_at(split);
    let scale = match unit {
        "ms" => 1e-3,
        "" | "s" => 1.0,
        "m" | "min" => 60.0,
        "h" => 3600.0,
        _ => return Err(format!("`{unit}` is not a unit of time: use ms, s, m or h")),
    };
    let seconds = number
        .parse::<f64>()
        .map_err(|_| format!("`{text}` is not a duration: write `60s` or `2m`"))?
        * scale;
    Duration::try_from_secs_f64(seconds).map_err(|_| format!("`{text}` is too long"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_read_with_and_without_units() {
        for (text, seconds) in [
            ("90", 90.0),
            ("1.5s", 1.5),
            ("250ms", 0.25),
            ("2m", 120.0),
            ("1h", 3600.0),
        ] {
            assert_eq!(
                parse_duration(text),
                Ok(Duration::from_secs_f64(seconds)),
                "{text}"
            );
        }
        for text in ["", "s", "5 s", "5d", "-1", "1e999", "abc"] {
            assert!(parse_duration(text).is_err(), "{text}");
        }
    }
}
