//! Which audio is meant: files or a pipe, and which channel of them.

use std::io::stdin;
use std::path::{Path, PathBuf};

use anyhow::{Result, bail};
use clap::{Args, ValueEnum};
use warpsmith_console::inputs;
use warpsmith_voice::{Audio, ChannelChoice, SignalError, check_finite};

/// The audio to analyse.
#[derive(Args)]
pub(super) struct Input {
    /// Audio files; `-` reads one from standard input.
    #[arg(required = true, value_name = "FILE", value_parser = inputs::file())]
    pub(super) files: Vec<PathBuf>,
    /// Which signal of several channels: `mix`, or a channel counted from 0.
    #[arg(long, default_value = "mix", value_parser = parse_channel)]
    pub(super) channels: ChannelChoice,
    /// What to do with samples that are not finite numbers.
    #[arg(long, value_enum, default_value_t = BadSamples::Error)]
    pub(super) nan: BadSamples,
}

/// What to do with samples that are not finite numbers.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum BadSamples {
    /// Stop and name the first.
    Error,
    /// Take zero instead.
    Zero,
}

fn parse_channel(text: &str) -> Result<ChannelChoice, String> {
    if text == "mix" {
        return Ok(ChannelChoice::Mix);
    }
    text.parse()
        .map(ChannelChoice::One)
        .map_err(|_| format!("`{text}` is neither `mix` nor a channel number"))
}

impl Input {
    /// Decodes one of the files and checks its samples.
    pub(super) fn read(&self, path: &Path) -> Result<Audio> {
        let mut audio = if path == Path::new("-") {
            Audio::read_stream(path, &mut stdin().lock())?
        } else {
            Audio::read(path)?
        };
        self.check(path, &mut audio, 0)?;
        Ok(audio)
    }

    /// Checks the samples of audio that has `before` samples before it, or makes them zeros.
    pub(super) fn check(&self, path: &Path, audio: &mut Audio, before: usize) -> Result<()> {
        for channel in &mut audio.channels {
            if self.nan == BadSamples::Zero {
                for x in channel.iter_mut().filter(|x| !x.is_finite()) {
                    *x = 0.0;
                }
            }
            if let Err(error) = check_finite(channel) {
                let error = match error {
                    SignalError::BadSample { index, value } => SignalError::BadSample {
                        index: before + index,
                        value,
                    },
                    other => other,
                };
                bail!(
                    "cannot analyse `{}`: {error} (`--nan zero`)",
                    path.display()
                );
            }
        }
        Ok(())
    }

    /// The signal to analyse, with its sample rate.
    pub(super) fn signal(&self, path: &Path) -> Result<(Vec<f32>, u32)> {
        let audio = self.read(path)?;
        Ok((audio.signal(self.channels)?, audio.sample_rate))
    }
}
