//! What every verb that samples needs: which GPUs, for how long, and when to stop.

use std::io::{self, Read};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use anyhow::{Context, Result, anyhow};
use clap::Args;
use serde::Serialize;
use signal_hook::consts::{SIGINT, SIGTERM};
use warpsmith_telemetry::{Machine, OpenError, Settings};

use crate::arguments::Global;
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

/// Ctrl-C or a polite request to end, so that what was gathered is not lost. Waiting for it wakes
/// nobody until it comes.
pub(crate) struct Interruption {
    came: Arc<AtomicBool>,
    /// The signals' handlers write a byte to the other end.
    bell: UnixStream,
}

impl Interruption {
    /// Listens from now on.
    pub(crate) fn listen() -> Result<Self> {
        let came = Arc::new(AtomicBool::new(false));
        let listen = || -> io::Result<UnixStream> {
            let (bell, rope) = UnixStream::pair()?;
            for signal in [SIGINT, SIGTERM] {
                // The second one ends the program at once.
                signal_hook::flag::register_conditional_default(signal, Arc::clone(&came))?;
                signal_hook::flag::register(signal, Arc::clone(&came))?;
                signal_hook::low_level::pipe::register(signal, rope.try_clone()?)?;
            }
            Ok(bell)
        };
        let bell = listen().context("cannot listen for signals")?;
        Ok(Self { came, bell })
    }

    /// Whether it came.
    pub(crate) fn came(&self) -> bool {
        self.came.load(Ordering::Relaxed)
    }

    /// Waits for it, at most for `most`; whether it came.
    pub(crate) fn wait(&self, most: Duration) -> bool {
        // A timeout of zero is none.
        let most = most.max(Duration::from_micros(1));
        if !self.came() && self.bell.set_read_timeout(Some(most)).is_ok() {
            // Also ends early for other signals: the caller asks again.
            let _ = (&self.bell).read(&mut [0; 8]);
        }
        self.came()
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
        _ => return Err(format!("`{unit}` is no unit of time: use ms, s, m or h")),
    };
    let seconds = number
        .parse::<f64>()
        .map_err(|_| format!("`{text}` is no duration: write `60s` or `2m`"))?
        * scale;
    Duration::try_from_secs_f64(seconds).map_err(|_| format!("`{text}` is too long"))
}

/// Writes a report beside its final name and renames it, so that nobody reads half of one.
pub(crate) fn write_json(path: &Path, value: &impl Serialize) -> Result<()> {
    let folder = match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    };
    let attempt = || -> Result<()> {
        // As open as the user's mask allows, not private like other temporary files.
        let mode = std::os::unix::fs::PermissionsExt::from_mode(0o666);
        let mut file = tempfile::Builder::new()
            .permissions(mode)
            .tempfile_in(folder)?;
        serde_json::to_writer(&mut file, value)?;
        file.as_file().sync_all()?;
        file.persist(path)?;
        Ok(())
    };
    attempt().with_context(|| anyhow!("cannot write `{}`", path.display()))
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
