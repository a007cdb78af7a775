//! `warpsmith voice denoise|pitch-shift|stretch|convert`: from sound to sound.

use anyhow::Result;
use clap::{Args, ValueEnum};
use warpsmith_voice::effect::{
    DenoiseSettings, Denoiser, StretchSettings, pitch_shift, time_stretch,
};
use warpsmith_voice::signal::{
    LevelTarget, Quality, ResampleStream, Resampler, Reverb, ReverbSettings, TrimSettings,
    normalise, trim,
};
use warpsmith_voice::{Audio, ChannelChoice, SignalError, check_room};

use super::input::Input;
use super::sound::{Changing, PieceChange, SoundOutput, by_channel};
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
        self.output.each(global, &self.input, |audio| {
            let rate = audio.sample_rate;
            let settings = DenoiseSettings {
                reduction_db: self.reduction,
                margin_db: self.margin,
            };
            let mut denoiser = Denoiser::new(rate, settings)?;
            let sample = |seconds: f64| (seconds * f64::from(rate)) as usize;
            let noise = self.noise.map(|(from, to)| sample(from)..sample(to));
            by_channel(audio, |channel| {
                Ok(denoiser.process(channel, noise.clone())?)
            })
        })
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
}

impl PitchShift {
    pub(crate) fn run(&self, global: &Global) -> Result<Outcome> {
        stretched(&self.output, global, &self.input, |channel, settings| {
            pitch_shift(channel, self.semitones, settings)
        })
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
}

impl Stretch {
    pub(crate) fn run(&self, global: &Global) -> Result<Outcome> {
        stretched(&self.output, global, &self.input, |channel, settings| {
            time_stretch(channel, self.rate, settings)
        })
    }
}

/// Writes what `change` makes of each channel with settings that suit its rate.
fn stretched(
    output: &SoundOutput,
    global: &Global,
    input: &Input,
    change: impl Fn(&[f32], StretchSettings) -> Result<Vec<f32>, SignalError>,
) -> Result<Outcome> {
    output.each(global, input, |audio| {
        let settings = StretchSettings::for_voice(audio.sample_rate);
        by_channel(audio, |channel| Ok(change(channel, settings)?))
    })
}

/// Convert to WAV: another rate, one channel, a wanted level, without silence at the ends, in a room.
#[derive(Args)]
#[command(after_long_help = "Examples:
  warpsmith voice convert song.m4a --rate 16000 --mono --output song.wav
  warpsmith voice convert *.flac --loudness -16 --trim 60 --output masters/
  warpsmith voice convert dry.wav --reverb 1.5 --output wet.wav")]
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
    /// Drop what is this many dB below the loudest frame from both ends.
    #[arg(long, value_name = "DB")]
    trim: Option<f32>,
    /// Add a room in which sound falls by 60 dB in this time.
    #[arg(long, value_name = "TIME", value_parser = numbers::seconds)]
    reverb: Option<f64>,
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

impl Convert {
    pub(crate) fn run(&self, global: &Global) -> Result<Outcome> {
        let begin = |audio: &Audio| self.in_pieces(audio);
        // The rest looks at the whole sound, or goes on after its end.
        let levels = [self.peak, self.rms, self.loudness];
        let in_pieces = self.trim.is_none() && self.reverb.is_none() && levels == [None; 3];
        let in_pieces: Option<Changing<'_>> = in_pieces.then_some(&begin);
        self.output
            .each_or_in_pieces(global, &self.input, in_pieces, |audio| self.convert(audio))
    }

    /// The channel that is chosen, at the rate that is wanted.
    fn in_pieces(&self, audio: &Audio) -> Result<Box<dyn PieceChange>> {
        let choice = self.chosen_channel();
        let channels = if choice.is_some() {
            1
        } else {
            audio.channels.len()
        };
        let resampler = match self.rate {
            Some(rate) => Some(self.resampler(audio.sample_rate, rate)?),
            None => None,
        };
        let stream = |resampler: &Resampler| ResampleStream::new(resampler.clone());
        Ok(Box::new(Conversion {
            choice,
            rate: self.rate.unwrap_or(audio.sample_rate),
            streams: resampler
                .iter()
                .flat_map(|one| (0..channels).map(|_| stream(one)))
                .collect(),
            resampler,
        }))
    }

    fn chosen_channel(&self) -> Option<ChannelChoice> {
        let one = self.mono || matches!(self.input.channels, ChannelChoice::One(_));
        one.then_some(self.input.channels)
    }

    fn resampler(&self, from: u32, to: u32) -> Result<Resampler> {
        let quality = match self.quality {
            Sharpness::Fast => Quality::Fast,
            Sharpness::High => Quality::High,
            Sharpness::Highest => Quality::Highest,
        };
        Ok(Resampler::new(from, to, quality)?)
    }

    fn convert(&self, mut audio: Audio) -> Result<Audio> {
        if let Some(choice) = self.chosen_channel() {
            audio.channels = vec![audio.signal(choice)?];
        }
        if let Some(rate) = self.rate {
            let resampler = self.resampler(audio.sample_rate, rate)?;
            let samples = resampler.output_length(audio.frames()) * audio.channels.len();
            check_room("the resampled signal", samples, size_of::<f32>())?;
            audio = by_channel(audio, |channel| Ok(resampler.process(channel)))?;
            audio.sample_rate = rate;
        }
        if let Some(range_db) = self.trim {
            let settings = TrimSettings {
                range_db,
                ..TrimSettings::default()
            };
            // All channels are cut at the same places: where their mean is loud.
            let kept = trim(&audio.signal(ChannelChoice::Mix)?, settings)?;
            audio = by_channel(audio, |channel| Ok(channel[kept.clone()].to_vec()))?;
        }
        if let Some(decay_seconds) = self.reverb {
            let settings = ReverbSettings {
                decay_seconds,
                ..ReverbSettings::default()
            };
            let rate = audio.sample_rate;
            audio = by_channel(audio, |channel| {
                let mut room = Reverb::new(rate, settings)?;
                let mut sound = channel.to_vec();
                sound.resize(channel.len() + room.tail(), 0.0);
                room.process(&mut sound);
                Ok(sound)
            })?;
        }
        let targets = [
            self.peak.map(LevelTarget::Peak),
            self.rms.map(LevelTarget::Rms),
            self.loudness.map(LevelTarget::Lufs),
        ];
        for target in targets.into_iter().flatten() {
            normalise(&mut audio, target)?;
        }
        Ok(audio)
    }
}

/// One channel or all, at another rate, piece by piece.
struct Conversion {
    choice: Option<ChannelChoice>,
    rate: u32,
    resampler: Option<Resampler>,
    /// One to a channel, where the rate is another.
    streams: Vec<ResampleStream>,
}

impl PieceChange for Conversion {
    fn length(&self, samples: usize) -> usize {
        match &self.resampler {
            Some(resampler) => resampler.output_length(samples),
            None => samples,
        }
    }

    fn piece(&mut self, piece: &Audio) -> Result<Audio> {
        let mut channels = match self.choice {
            Some(choice) => vec![piece.signal(choice)?],
            None => piece.channels.clone(),
        };
        for (channel, stream) in channels.iter_mut().zip(&mut self.streams) {
            let mut resampled = Vec::new();
            stream.process(channel, &mut resampled);
            *channel = resampled;
        }
        Ok(Audio {
            sample_rate: self.rate,
            channels,
        })
    }

    fn finish(self: Box<Self>) -> Result<Audio> {
        let rest = |stream: ResampleStream| {
            let mut rest = Vec::new();
            stream.finish(&mut rest);
            rest
        };
        Ok(Audio {
            sample_rate: self.rate,
            channels: self.streams.into_iter().map(rest).collect(),
        })
    }
}
