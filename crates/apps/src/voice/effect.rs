//! `warpsmith voice denoise|pitch-shift|stretch|convert`: from sound to sound.

use anyhow::Result;
use clap::{Args, ValueEnum};
use warpsmith_formats::wav::SampleFormat;
use warpsmith_voice::ChannelChoice;
use warpsmith_voice::effect::{
    DenoiseSettings, NoiseLook, NoiseReduction, NoiseSearch, PitchShiftStream, StretchSettings,
    TimeStretchStream, time_stretch_stream,
};
use warpsmith_voice::signal::{
    LevelTarget, Quality, Resampler, Reverb, ReverbSettings, TrimSettings,
};

use super::conversion::{Conversion, Wanted};
use super::input::Input;
use super::sound::{ByChannel, Change, ChannelChange, SoundOutput, Whole};
use warpsmith_console::exit::Outcome;
use warpsmith_console::global::Global;
use warpsmith_console::numbers;

/// Take steady noise out of a recording.
#[derive(Args)]
#[command(after_long_help = "Examples:
  warpsmith voice denoise talk.wav --output clean.wav
  warpsmith voice denoise talk.wav --noise 0-0.8 --reduction 30 --output clean.wav")]
pub(crate) struct Denoise {
    #[command(flatten)]
    input: Input,
    #[command(flatten)]
    output: SoundOutput,
    /// The most that noise is lowered, dB.
    #[arg(long, default_value_t = DenoiseSettings::default().reduction_db)]
    reduction: f64,
    /// How much stronger the noise is taken to be than measured, dB.
    #[arg(long = "margin-db", alias = "margin", value_name = "DB", default_value_t = DenoiseSettings::default().margin_db)]
    margin: f64,
    /// Seconds that hold nothing but noise, as FROM-TO; default: the quietest frames.
    #[arg(long, value_parser = parse_stretch)]
    noise: Option<(f64, f64)>,
}

fn parse_stretch(text: &str) -> Result<(f64, f64), String> {
    text.split_once('-')
        .and_then(|(from, to)| Some((from.parse().ok()?, to.parse().ok()?)))
        .filter(|(from, to)| 0.0 <= *from && from < to)
        .ok_or_else(|| format!("`{text}` is not a stretch of seconds such as 0-0.8"))
}

impl Denoise {
    pub(crate) fn run(&self, global: &Global) -> Result<Outcome> {
        let settings = DenoiseSettings {
            reduction_db: self.reduction,
            margin_db: self.margin,
        };
        // Settings are refused before any file is read.
        NoiseSearch::new(16_000, settings)?;
        let begin = |whole: &Whole<'_>| -> Result<Box<dyn Change>> {
            let rate = whole.sample_rate;
            let sample = |seconds: f64| (seconds * f64::from(rate)) as usize;
            let named = self.noise.map(|(from, to)| sample(from)..sample(to));
            let mut looks: Vec<NoiseLook> = match named {
                Some(noise) => (0..whole.channels)
                    .map(|_| NoiseLook::of_samples(rate, settings, whole.samples, &noise))
                    .collect::<Result<_, _>>()?,
                None => {
                    let searches = (0..whole.channels).map(|_| NoiseSearch::new(rate, settings));
                    let mut searches: Vec<NoiseSearch> = searches.collect::<Result<_, _>>()?;
                    (whole.again)(&mut |piece| {
                        let channels = searches.iter_mut().zip(&piece.channels);
                        channels.for_each(|(search, samples)| search.hear(samples));
                        Ok(())
                    })?;
                    searches.into_iter().map(NoiseSearch::finish).collect()
                }
            };
            (whole.again)(&mut |piece| {
                let channels = looks.iter_mut().zip(&piece.channels);
                channels.for_each(|(look, samples)| look.hear(samples));
                Ok(())
            })?;
            Ok(Box::new(ByChannel {
                sample_rate: rate,
                length: whole.samples,
                channels: looks.into_iter().map(NoiseLook::finish).collect(),
            }))
        };
        self.output
            .each_in_pieces(global, &self.input, SampleFormat::Float32, &begin)
    }
}

impl ChannelChange for NoiseReduction {
    fn process(&mut self, samples: &[f32], out: &mut Vec<f32>) -> Result<()> {
        self.process(samples, out);
        Ok(())
    }

    fn finish(self, out: &mut Vec<f32>) -> Result<()> {
        self.finish(out);
        Ok(())
    }
}

/// Make a recording higher or lower at the same speed.
#[derive(Args)]
#[command(
    after_long_help = "Example:\n  warpsmith voice pitch-shift song.flac --semitones -3 --output lower.wav"
)]
pub(crate) struct PitchShift {
    #[command(flatten)]
    input: Input,
    #[command(flatten)]
    output: SoundOutput,
    /// Semitones up; negative is down.
    #[arg(long, allow_negative_numbers = true)]
    semitones: f64,
    #[command(flatten)]
    sizes: VocoderSizes,
}

/// The spectra that the phase vocoder goes by.
#[derive(Args, Clone, Copy)]
struct VocoderSizes {
    /// Points of the transform; default: the power of two from 64 ms on (librosa: 2048).
    #[arg(long)]
    transform: Option<usize>,
    /// Samples between frames; default: a quarter of the transform.
    #[arg(long)]
    hop: Option<usize>,
}

impl VocoderSizes {
    fn settings(self, rate: u32) -> StretchSettings {
        let transform = self
            .transform
            .unwrap_or(StretchSettings::for_voice(rate).transform);
        StretchSettings {
            transform,
            hop: self.hop.unwrap_or((transform / 4).max(1)),
        }
    }
}

impl PitchShift {
    pub(crate) fn run(&self, global: &Global) -> Result<Outcome> {
        stretched(&self.output, global, &self.input, |whole| {
            let settings = self.sizes.settings(whole.sample_rate);
            let streams = (0..whole.channels)
                .map(|_| PitchShiftStream::new(whole.samples, self.semitones, settings));
            Ok((whole.samples, streams.collect::<Result<_, _>>()?))
        })
    }
}

impl ChannelChange for PitchShiftStream {
    fn process(&mut self, samples: &[f32], out: &mut Vec<f32>) -> Result<()> {
        self.process(samples, out);
        Ok(())
    }

    fn finish(self, out: &mut Vec<f32>) -> Result<()> {
        self.finish(out);
        Ok(())
    }
}

/// Make a recording faster or slower at the same pitch.
#[derive(Args)]
#[command(
    after_long_help = "Example:\n  warpsmith voice stretch talk.wav --speed 1.25 --output faster.wav"
)]
pub(crate) struct Stretch {
    #[command(flatten)]
    input: Input,
    #[command(flatten)]
    output: SoundOutput,
    /// Speed: 2 is half as long.
    #[arg(long = "speed", alias = "rate", value_name = "TIMES")]
    rate: f64,
    #[command(flatten)]
    sizes: VocoderSizes,
}

impl Stretch {
    pub(crate) fn run(&self, global: &Global) -> Result<Outcome> {
        stretched(&self.output, global, &self.input, |whole| {
            let settings = self.sizes.settings(whole.sample_rate);
            let streams = (0..whole.channels)
                .map(|_| time_stretch_stream(whole.samples, self.rate, settings));
            let streams: Vec<TimeStretchStream> = streams.collect::<Result<_, _>>()?;
            let length = streams.first().map_or(0, TimeStretchStream::length);
            Ok((length, streams))
        })
    }
}

impl ChannelChange for TimeStretchStream {
    fn process(&mut self, samples: &[f32], out: &mut Vec<f32>) -> Result<()> {
        self.process(samples, out);
        Ok(())
    }

    fn finish(self, out: &mut Vec<f32>) -> Result<()> {
        self.finish(out);
        Ok(())
    }
}

/// Writes what streams make of the channels; `streams` gives one to a channel, and the length of the result.
fn stretched<C: ChannelChange + 'static>(
    output: &SoundOutput,
    global: &Global,
    input: &Input,
    streams: impl Fn(&Whole<'_>) -> Result<(usize, Vec<C>)>,
) -> Result<Outcome> {
    let begin = |whole: &Whole<'_>| -> Result<Box<dyn Change>> {
        let (length, channels) = streams(whole)?;
        Ok(Box::new(ByChannel {
            sample_rate: whole.sample_rate,
            length,
            channels,
        }))
    };
    output.each_in_pieces(global, input, SampleFormat::Float32, &begin)
}

/// Convert to WAV: another rate, one channel, a wanted level, without silence at the ends, in a room.
#[derive(Args)]
#[command(after_long_help = "Examples:
  warpsmith voice convert song.m4a --rate 16000 --mono --output song.wav
  warpsmith voice convert *.flac --loudness -16 --trim 60 --bits 24 --output masters/
  warpsmith voice convert dry.wav --reverb 1.5 --room 2 --wet 0.5 --output wet.wav")]
pub(crate) struct Convert {
    #[command(flatten)]
    input: Input,
    #[command(flatten)]
    output: SoundOutput,
    /// Samples per second; default: the input's.
    #[arg(long, value_name = "HZ")]
    rate: Option<u32>,
    /// How sharply frequencies that the new rate cannot hold are cut.
    #[arg(long, value_enum, default_value_t = Sharpness::High)]
    quality: Sharpness,
    /// One channel, as `--channels` says.
    #[arg(long)]
    mono: bool,
    /// Bits of a sample; a note counts samples that are cut off.
    #[arg(long, value_enum, default_value_t = Bits::Floats)]
    bits: Bits,
    /// Drop what is this many dB below the loudest frame from both ends.
    #[arg(long, value_name = "DB")]
    trim: Option<f32>,
    /// Add a room in which sound falls by 60 dB in this time.
    #[arg(long, value_name = "TIME", value_parser = numbers::seconds)]
    reverb: Option<f64>,
    /// The room over a middle-sized one.
    #[arg(long, value_name = "TIMES", requires = "reverb", default_value_t = ReverbSettings::default().size)]
    room: f64,
    /// How much faster high frequencies fade, 0 to below 1.
    #[arg(long, value_name = "SHARE", requires = "reverb", default_value_t = ReverbSettings::default().damping)]
    damping: f64,
    /// The share of the room in the result, 0 to 1.
    #[arg(long, value_name = "SHARE", requires = "reverb", default_value_t = ReverbSettings::default().wet)]
    wet: f64,
    /// Bring the largest sample to this level, dBFS.
    #[arg(
        long,
        value_name = "DBFS",
        allow_negative_numbers = true,
        group = "level"
    )]
    peak: Option<f64>,
    /// Bring the mean power to this level, dBFS.
    #[arg(
        long,
        value_name = "DBFS",
        allow_negative_numbers = true,
        group = "level"
    )]
    rms: Option<f64>,
    /// Bring the integrated loudness to this level, LUFS.
    #[arg(
        long,
        value_name = "LUFS",
        allow_negative_numbers = true,
        group = "level"
    )]
    loudness: Option<f64>,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Sharpness {
    Fast,
    High,
    Highest,
}

/// How samples are stored.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Bits {
    /// Integers, rounded to the nearest, cut off at full scale.
    #[value(name = "16")]
    Sixteen,
    /// Integers, too.
    #[value(name = "24")]
    TwentyFour,
    /// Floats, full scale at 1, which nothing is cut off from.
    #[value(name = "32f")]
    Floats,
}

impl From<Bits> for SampleFormat {
    fn from(bits: Bits) -> Self {
        match bits {
            Bits::Sixteen => Self::Integer16,
            Bits::TwentyFour => Self::Integer24,
            Bits::Floats => Self::Float32,
        }
    }
}

impl Convert {
    pub(crate) fn run(&self, global: &Global) -> Result<Outcome> {
        // Settings are refused before any file is read.
        if let Some(room) = self.room() {
            Reverb::new(16_000, room)?;
        }
        self.output
            .each_in_pieces(global, &self.input, self.bits.into(), &|whole| {
                let wanted = self.wanted(whole.sample_rate)?;
                Ok(Box::new(Conversion::new(&wanted, whole)?))
            })
    }

    fn wanted(&self, from: u32) -> Result<Wanted> {
        let one = self.mono || matches!(self.input.channels, ChannelChoice::One(_));
        let quality = match self.quality {
            Sharpness::Fast => Quality::Fast,
            Sharpness::High => Quality::High,
            Sharpness::Highest => Quality::Highest,
        };
        let resampler = self.rate.map(|to| Resampler::new(from, to, quality));
        let targets = [
            self.peak.map(LevelTarget::Peak),
            self.rms.map(LevelTarget::Rms),
            self.loudness.map(LevelTarget::Lufs),
        ];
        Ok(Wanted {
            channel: one.then_some(self.input.channels),
            resampler: resampler.transpose()?,
            rate: self.rate.unwrap_or(from),
            trim: self.trim.map(|range_db| TrimSettings {
                range_db,
                ..TrimSettings::default()
            }),
            room: self.room(),
            level: targets.into_iter().flatten().next(),
        })
    }

    fn room(&self) -> Option<ReverbSettings> {
        self.reverb.map(|decay_seconds| ReverbSettings {
            decay_seconds,
            size: self.room,
            damping: self.damping,
            wet: self.wet,
        })
    }
}
