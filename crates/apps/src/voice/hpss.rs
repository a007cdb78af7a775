//! `warpsmith voice hpss`: the harmonic or the percussive part of a recording.

use std::collections::VecDeque;

use anyhow::{Result, bail};
use clap::{Args, ValueEnum};
use warpsmith_descriptors::separation::{Parts, SplitSettings, SplitStream};
use warpsmith_formats::wav::SampleFormat;

use super::input::Input;
use super::sound::{ByChannel, Change, ChannelChange, SoundOutput, Whole};
use warpsmith_console::exit::Outcome;
use warpsmith_console::global::Global;

/// Keep the tones or the clicks of a recording (harmonic/percussive), as librosa does.
///
/// Every channel is split by itself. With margins above 1 a part keeps what is clearly its own; what
/// belongs to neither is `rest`.
#[derive(Args)]
#[command(after_long_help = "Examples:
  warpsmith voice hpss song.wav --part harmonic --output tones.wav
  warpsmith voice hpss song.wav --part percussive --exceed 3 --output drums.wav
  warpsmith voice hpss song.wav --part rest --exceed 2,3 --median 31,17 --output rest.wav
  warpsmith voice hpss album/ --part harmonic --output tones")]
pub(crate) struct Hpss {
    #[command(flatten)]
    input: Input,
    #[command(flatten)]
    output: SoundOutput,
    /// The part to write.
    #[arg(long, value_enum)]
    part: Part,
    /// How many times the other part a part must exceed, from 1 on; two numbers for the harmonic and the percussive.
    #[arg(long, value_name = "TIMES", value_delimiter = ',', default_value = "1")]
    exceed: Vec<f32>,
    /// Frames and bins of the medians; two numbers for along time and along frequency.
    #[arg(long, value_name = "SIZE", value_delimiter = ',', default_value = "31")]
    median: Vec<usize>,
    /// How sharply the masks decide.
    #[arg(long, default_value_t = SplitSettings::default().power)]
    sharpness: f32,
    /// Points of the transform.
    #[arg(long, default_value_t = SplitSettings::default().transform)]
    transform: usize,
    /// Samples between frames.
    #[arg(long, default_value_t = SplitSettings::default().hop)]
    hop: usize,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Part {
    /// Tones.
    Harmonic,
    /// Clicks.
    Percussive,
    /// What margins above 1 leave to neither.
    Rest,
}

/// One value for both parts, or one for each.
fn pair<T: Copy>(name: &str, values: &[T]) -> Result<(T, T)> {
    match values {
        [both] => Ok((*both, *both)),
        [harmonic, percussive] => Ok((*harmonic, *percussive)),
        _ => bail!("`{name}` takes one or two numbers; got {}", values.len()),
    }
}

impl Hpss {
    pub(crate) fn run(&self, global: &Global) -> Result<Outcome> {
        let (harmonic_margin, percussive_margin) = pair("--exceed", &self.exceed)?;
        let (harmonic_kernel, percussive_kernel) = pair("--median", &self.median)?;
        let settings = SplitSettings {
            transform: self.transform,
            hop: self.hop,
            harmonic_kernel,
            percussive_kernel,
            power: self.sharpness,
            harmonic_margin,
            percussive_margin,
        };
        let begin = |whole: &Whole<'_>| -> Result<Box<dyn Change>> {
            let splits = (0..whole.channels).map(|_| {
                Ok(SplitChannel {
                    stream: SplitStream::new(whole.sample_rate, whole.samples, settings)?,
                    known: Known {
                        wanted: self.part,
                        parts: Parts::default(),
                        waiting: VecDeque::new(),
                    },
                })
            });
            Ok(Box::new(ByChannel {
                sample_rate: whole.sample_rate,
                length: whole.samples,
                channels: splits.collect::<Result<_>>()?,
            }))
        };
        self.output
            .each_in_pieces(global, &self.input, SampleFormat::Float32, &begin)
    }
}

/// What splits one channel.
struct SplitChannel {
    stream: SplitStream,
    known: Known,
}

/// What is known of the parts.
struct Known {
    wanted: Part,
    parts: Parts,
    /// Samples whose parts are not known, where the rest is wanted.
    waiting: VecDeque<f32>,
}

impl Known {
    fn pass_on(&mut self, out: &mut Vec<f32>) {
        let Parts {
            harmonic,
            percussive,
        } = &mut self.parts;
        match self.wanted {
            Part::Harmonic => out.append(harmonic),
            Part::Percussive => out.append(percussive),
            Part::Rest => {
                let whole = self.waiting.drain(..harmonic.len());
                let parts = harmonic.iter().zip(&*percussive);
                out.extend(
                    whole
                        .zip(parts)
                        .map(|(whole, (harmonic, percussive))| whole - harmonic - percussive),
                );
            }
        }
        harmonic.clear();
        percussive.clear();
    }
}

impl ChannelChange for SplitChannel {
    fn process(&mut self, samples: &[f32], out: &mut Vec<f32>) -> Result<()> {
        if self.known.wanted == Part::Rest {
            self.known.waiting.extend(samples);
        }
        self.stream.process(samples, &mut self.known.parts)?;
        self.known.pass_on(out);
        Ok(())
    }

    fn finish(mut self, out: &mut Vec<f32>) -> Result<()> {
        self.stream.finish(&mut self.known.parts)?;
        self.known.pass_on(out);
        Ok(())
    }
}
