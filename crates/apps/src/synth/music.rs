//! The parameters of the music as options.

use std::path::Path;

use clap::Args;
use warpsmith_synth::preset_file::read_preset;
use warpsmith_synth::{Key, Mode, ParamError, Params, Patch, Preset, Scale};

/// What the music is like; what is not given comes from the preset.
#[derive(Args)]
pub(crate) struct Music {
    /// What to start from: focus, meditation, sleep, bright, piano or pulse, or a TOML file.
    #[arg(long, default_value = "focus", value_name = "NAME|FILE")]
    preset: String,
    /// Root of the scale: C to B, with # or b.
    #[arg(long)]
    key: Option<String>,
    /// The scale: ionian, dorian, phrygian, lydian, mixolydian, aeolian, harmonic-minor,
    /// major-pentatonic or minor-pentatonic.
    #[arg(long = "scale", alias = "mode")]
    mode: Option<String>,
    /// A scale of your own: degrees in cents above the root, e.g. 0,204,386,498,702,884,1088.
    #[arg(
        hide_short_help = true,
        long,
        value_name = "CENTS",
        value_delimiter = ','
    )]
    scale_cents: Option<Vec<f64>>,
    /// Beats per minute, 40 to 120.
    #[arg(long)]
    bpm: Option<f32>,
    /// 0 to 1: notes, octaves, loudness, percussion.
    #[arg(long)]
    intensity: Option<f32>,
    /// 0 to 1: how far the melody leaves the chord.
    #[arg(hide_short_help = true, long)]
    complexity: Option<f32>,
    /// 0 to 1: how freely chords follow each other and the key moves.
    #[arg(hide_short_help = true, long)]
    variety: Option<f32>,
    /// 0 to 1: how many notes a chord has.
    #[arg(hide_short_help = true, long)]
    density: Option<f32>,
    /// 0 to 1: cutoff of the pads' filter.
    #[arg(long)]
    brightness: Option<f32>,
    /// 0 to 1: delay and reverb.
    #[arg(hide_short_help = true, long)]
    space: Option<f32>,
    /// 0 to 1: loudness of everything.
    #[arg(hide_short_help = true, long)]
    volume: Option<f32>,
    /// -40 to 20 dB: what makes a preset as loud as it should be.
    #[arg(
        hide_short_help = true,
        long,
        value_name = "DB",
        allow_negative_numbers = true
    )]
    trim: Option<f32>,
    /// 0 to 1: a bed of soft noise.
    #[arg(hide_short_help = true, long)]
    texture: Option<f32>,
    /// What the pitched parts are played on, e.g. pads=felt,melody=bell: usual, felt, bell or string
    /// for pads, bass, melody, pulse or bells.
    #[arg(
        hide_short_help = true,
        long,
        value_name = "PART=INSTRUMENT",
        value_delimiter = ','
    )]
    instrument: Vec<String>,
    /// Parts to add or, with a minus, to leave out, e.g. bells,-kicks.
    #[arg(
        hide_short_help = true,
        long,
        value_name = "PART",
        value_delimiter = ',',
        allow_hyphen_values = true
    )]
    part: Vec<String>,
}

impl Music {
    /// The parameters, all inside their ranges.
    pub(crate) fn params(&self) -> Result<Params, ParamError> {
        let mut params = preset(&self.preset)?;
        if let Some(key) = &self.key {
            params.key = key.parse::<Key>()?;
        }
        if let Some(mode) = &self.mode {
            params.mode = mode.parse::<Mode>()?;
            params.scale = None;
        }
        if let Some(cents) = &self.scale_cents {
            params.scale = Some(Scale::new(cents)?);
        }
        let given = [
            self.bpm,
            self.intensity,
            self.complexity,
            self.variety,
            self.density,
            self.brightness,
            self.space,
            self.volume,
            self.trim,
            self.texture,
        ];
        for (given, slot) in given.into_iter().zip(params.numbers_mut()) {
            if let Some(value) = given {
                *slot = value;
            }
        }
        for given in &self.instrument {
            let (part, patch) = given.split_once('=').unwrap_or((given, ""));
            *params.instruments.of_mut(part)? = patch.parse::<Patch>()?;
        }
        for given in &self.part {
            let silent = given.strip_prefix('-');
            *params.parts.of_mut(silent.unwrap_or(given))? = silent.is_none();
        }
        params.validate()?;
        Ok(params)
    }
}

/// A built-in preset, or a file: what has a folder or the ending of TOML in its name.
fn preset(text: &str) -> Result<Params, ParamError> {
    let path = Path::new(text);
    let is_file =
        path.extension().is_some_and(|ending| ending == "toml") || path.components().count() > 1;
    if is_file {
        read_preset(path)
    } else {
        Ok(Params::preset(text.parse::<Preset>()?))
    }
}
