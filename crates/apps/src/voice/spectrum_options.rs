//! What the peers can set of spectra, mel filters and cepstra, as options over a preset.

use std::str::FromStr;

use anyhow::{Result, bail};
use clap::{Args, ValueEnum};
use warpsmith_voice::{
    Compression, DeltaStream, Derivative, FeatureSettings, Lifter, MelNorm, MelScale, Padding,
    Preset, SignalError, SpectrumSettings, Stage, Window,
};

/// How frames become spectra.
#[derive(Args, Clone, Copy, PartialEq)]
pub(super) struct SpectrumOptions {
    /// The window: hann, hamming, blackman, povey, boxcar or `kaiser:BETA`; default: the preset's.
    #[arg(long = "window-shape", hide_short_help = true, value_name = "SHAPE", value_parser = window)]
    window: Option<Window>,
    /// Samples under the window, in the middle of the frame; default: the frame's.
    #[arg(
        long,
        hide_short_help = true,
        value_name = "SAMPLES",
        visible_alias = "win-length"
    )]
    window_length: Option<usize>,
    /// What frames see beyond the ends of the sound; default: the preset's.
    #[arg(long, hide_short_help = true, value_enum, value_name = "WHAT")]
    padding: Option<Pad>,
    /// `x[n] - C x[n-1]` within each frame, as Kaldi does, C from 0 to 1; default: the preset's.
    #[arg(long, hide_short_help = true, value_name = "C", value_parser = coefficient)]
    pre_emphasis: Option<f32>,
}

/// What frames see beyond the ends of the sound.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Pad {
    /// Silence: librosa's `pad_mode="constant"`.
    Zero,
    /// The sound mirrored: `pad_mode="reflect"`.
    Reflect,
    /// Nothing, frames lie inside: `center=False`.
    None,
}

fn window(text: &str) -> Result<Window, String> {
    let (name, shape) = text.split_once(':').unwrap_or((text, ""));
    match (name, shape) {
        ("hann", "") => Ok(Window::Hann),
        ("hamming", "") => Ok(Window::Hamming),
        ("blackman", "") => Ok(Window::Blackman),
        ("povey", "") => Ok(Window::Povey),
        ("boxcar" | "rectangular", "") => Ok(Window::Rectangular),
        ("kaiser", beta) => match beta.parse::<f64>() {
            Ok(beta) if (0.0..=700.0).contains(&beta) => Ok(Window::Kaiser { beta }),
            _ => Err("a Kaiser window has a beta from 0 to 700, such as `kaiser:14`".to_owned()),
        },
        _ => Err(
            "hann, hamming, blackman, povey, boxcar and kaiser with its beta, such as `kaiser:14`, are known"
                .to_owned(),
        ),
    }
}

fn coefficient(text: &str) -> Result<f32, String> {
    match text.parse::<f32>() {
        Ok(value) if (0.0..=1.0).contains(&value) => Ok(value),
        _ => Err("a number from 0 to 1 is needed".to_owned()),
    }
}

impl SpectrumOptions {
    /// Whether nothing is set.
    pub(super) fn is_default(&self) -> bool {
        *self
            == Self {
                window: None,
                window_length: None,
                padding: None,
                pre_emphasis: None,
            }
    }

    /// The settings of a preset with what is set.
    pub(super) fn over(&self, preset: SpectrumSettings) -> SpectrumSettings {
        let mut settings = preset;
        if let Some(window) = self.window {
            settings.window = window;
        }
        if let Some(length) = self.window_length {
            settings.window_length = length;
        }
        if let Some(padding) = self.padding {
            settings.framing.padding = match padding {
                Pad::Zero => Padding::CentredZero,
                Pad::Reflect => Padding::CentredReflect,
                Pad::None => Padding::Inside,
            };
        }
        if let Some(coefficient) = self.pre_emphasis {
            settings.conditioning.preemphasis = coefficient;
        }
        settings
    }
}

/// How spectra become mel features.
#[derive(Args, Clone, Copy, PartialEq)]
pub(super) struct MelOptions {
    /// Where the lowest filter begins, Hz; default: the preset's.
    #[arg(
        long,
        hide_short_help = true,
        value_name = "HZ",
        visible_alias = "fmin"
    )]
    low: Option<f64>,
    /// Where the highest filter ends, Hz; default: half the sample rate.
    #[arg(
        long,
        hide_short_help = true,
        value_name = "HZ",
        visible_alias = "fmax"
    )]
    high: Option<f64>,
    /// Whose mel curve; default: the preset's.
    #[arg(long, hide_short_help = true, value_enum, value_name = "CURVE")]
    mel_scale: Option<Curve>,
    /// How filters are scaled; default: the preset's.
    #[arg(long, hide_short_help = true, value_enum, value_name = "HOW")]
    norm: Option<Norm>,
    /// Levels further below the loudest of the file count as that far below it, dB; `none` keeps them.
    #[arg(long, hide_short_help = true, value_name = "DB")]
    top_db: Option<TopDb>,
}

/// Whose mel curve.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Curve {
    /// Straight up to 1 kHz, logarithmic above.
    Slaney,
    /// `2595 log10(1 + f / 700)`.
    Htk,
}

/// How filters are scaled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Norm {
    /// Every triangle has unit area.
    Slaney,
    /// Every triangle has a peak of one.
    None,
}

/// A limit of levels, or none.
#[derive(Clone, Copy, Debug, PartialEq)]
enum TopDb {
    None,
    Below(f32),
}

impl FromStr for TopDb {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text == "none" {
            return Ok(Self::None);
        }
        match text.parse::<f32>() {
            Ok(below) if (0.0..=1000.0).contains(&below) => Ok(Self::Below(below)),
            _ => Err("`none` or decibels from 0 to 1000".to_owned()),
        }
    }
}

impl MelOptions {
    /// Whether nothing is set.
    pub(super) fn is_default(&self) -> bool {
        *self
            == Self {
                low: None,
                high: None,
                mel_scale: None,
                norm: None,
                top_db: None,
            }
    }

    /// The settings of a preset with what is set.
    pub(super) fn over(&self, preset: FeatureSettings) -> FeatureSettings {
        let mut settings = preset;
        settings.mel.low_hz = self.low.unwrap_or(settings.mel.low_hz);
        settings.mel.high_hz = self.high.or(settings.mel.high_hz);
        match self.mel_scale {
            Some(Curve::Slaney) => settings.mel.scale = MelScale::Slaney,
            Some(Curve::Htk) => settings.mel.scale = MelScale::Htk,
            None => {}
        }
        match self.norm {
            Some(Norm::Slaney) => settings.mel.norm = MelNorm::Area,
            Some(Norm::None) => settings.mel.norm = MelNorm::Peak,
            None => {}
        }
        match self.top_db {
            Some(TopDb::Below(below)) => settings.dynamic_range = Some(below),
            Some(TopDb::None) => settings.dynamic_range = None,
            None => {}
        }
        settings
    }

    /// An error where a limit in decibels is set for numbers that are none.
    pub(super) fn check(&self, peer: Preset, stage: Stage) -> Result<()> {
        if self.top_db.is_none() {
            return Ok(());
        }
        let sizes = peer.own_sizes(16_000);
        let settings = peer.feature(16_000, sizes, stage);
        if !matches!(settings.compression, Compression::Decibel { .. }) {
            bail!(
                "`--top-db` is for levels in decibels; {}",
                match stage {
                    Stage::Mel => "powers are none".to_owned(),
                    _ => format!("those of `{peer}` are none"),
                }
            );
        }
        Ok(())
    }
}

/// How cepstra are weighted.
#[derive(Args, Clone, Copy)]
pub(super) struct CepstrumOptions {
    /// Weight coefficient k by `1 + L/2 sin(pi (k+1) / L)`, as librosa does; with `--preset kaldi` by Kaldi's
    /// `1 + L/2 sin(pi k / L)`. 0 is none; default: the preset's.
    #[arg(long, hide_short_help = true, value_name = "L", value_parser = lifter)]
    lifter: Option<f64>,
}

fn lifter(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(length) if (0.0..=1e6).contains(&length) => Ok(length),
        _ => Err("a number from 0 to 1e6 is needed".to_owned()),
    }
}

impl CepstrumOptions {
    /// The settings of a preset with what is set.
    pub(super) fn over(&self, preset: FeatureSettings) -> FeatureSettings {
        let mut settings = preset;
        if let (Some(length), Some(cepstrum)) = (self.lifter, &mut settings.cepstrum) {
            cepstrum.lifter = match cepstrum.lifter {
                _ if length == 0.0 => Lifter::None,
                Lifter::FromZero { .. } => Lifter::FromZero { length },
                Lifter::None | Lifter::FromOne { .. } => Lifter::FromOne { length },
            };
        }
        settings
    }
}

/// Derivatives along the frames, as columns of their own.
#[derive(Args, Clone)]
pub(super) struct DeltaOptions {
    /// Append derivatives, `1`, `2` or `1,2`: the columns are named `d_` and `dd_`.
    ///
    /// As `librosa.feature.delta` computes them.
    #[arg(long, hide_short_help = true, value_name = "ORDERS", value_delimiter = ',', value_parser = clap::value_parser!(u8).range(1..=2))]
    delta: Vec<u8>,
    /// Frames of the window of a derivative, an odd number.
    #[arg(
        long,
        hide_short_help = true,
        value_name = "FRAMES",
        default_value_t = 9
    )]
    delta_width: usize,
}

impl DeltaOptions {
    /// Whether nothing is appended.
    pub(super) fn is_default(&self) -> bool {
        self.delta.is_empty()
    }

    /// The names of all columns.
    pub(super) fn names(&self, names: Vec<String>) -> Vec<String> {
        let mut all = names.clone();
        for order in &self.delta {
            let mark = if *order == 1 { "d_" } else { "dd_" };
            all.extend(names.iter().map(|name| format!("{mark}{name}")));
        }
        all
    }

    /// What puts the derivatives behind each frame's own numbers, where some are wanted.
    pub(super) fn stream(&self, columns: usize) -> Result<Option<DeltaStream>, SignalError> {
        if self.is_default() || columns == 0 {
            return Ok(None);
        }
        let order = |order: &u8| match order {
            1 => Derivative::First,
            _ => Derivative::Second,
        };
        let orders: Vec<Derivative> = self.delta.iter().map(order).collect();
        DeltaStream::new(columns, self.delta_width, &orders).map(Some)
    }

    /// `[frame, column]` with the derivatives behind each frame's own numbers.
    pub(super) fn append(&self, values: Vec<f32>, columns: usize) -> Result<Vec<f32>, SignalError> {
        let Some(mut stream) = self.stream(columns)? else {
            return Ok(values);
        };
        let mut all = Vec::with_capacity(values.len() * (1 + self.delta.len()));
        stream.process(&values, &mut all);
        stream.finish(&mut all)?;
        Ok(all)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn windows_and_limits_are_read_and_others_refused() {
        assert_eq!(window("kaiser:8.5"), Ok(Window::Kaiser { beta: 8.5 }));
        assert_eq!(window("boxcar"), Ok(Window::Rectangular));
        for text in [
            "kaiser",
            "kaiser:-1",
            "kaiser:nan",
            "hann:2",
            "triangle",
            "",
        ] {
            assert!(window(text).is_err(), "{text}");
        }
        assert_eq!("none".parse(), Ok(TopDb::None));
        assert_eq!("60".parse(), Ok(TopDb::Below(60.0)));
        for text in ["-1", "nan", "inf", "many"] {
            assert!(text.parse::<TopDb>().is_err(), "{text}");
        }
    }

    #[test]
    fn derivatives_stand_behind_the_numbers_of_their_frame() {
        let options = DeltaOptions {
            delta: vec![1, 2],
            delta_width: 3,
        };
        let names = options.names(vec!["a".to_owned(), "b".to_owned()]);
        assert_eq!(names, ["a", "b", "d_a", "d_b", "dd_a", "dd_b"]);
        let values: Vec<f32> = (0..5).flat_map(|n| [n as f32, 3.0 * n as f32]).collect();
        let all = options.append(values, 2).unwrap();
        // The second derivative of a line is 0 but for the rounding of the filter's coefficients.
        let expected = [2.0, 6.0, 1.0, 3.0, 0.0, 0.0];
        let near = |(a, b): (&f32, &f32)| (a - b).abs() < 1e-6;
        assert!(all[12..18].iter().zip(&expected).all(near), "{all:?}");
        assert!(options.append(vec![1.0, 2.0], 2).is_err());
    }
}
