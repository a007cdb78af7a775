//! The parameters of the music as options.

use clap::Args;
use warpsmith_synth::{Key, Mode, ParamError, Params, Preset};

/// What the music is like; what is not given comes from the preset.
#[derive(Args)]
pub(crate) struct Music {
    /// What to start from: focus, meditation, sleep or bright.
    #[arg(long, default_value = "focus")]
    preset: String,
    /// Root of the scale: C to B, with # or b.
    #[arg(long)]
    key: Option<String>,
    /// The scale: aeolian, dorian, lydian or phrygian.
    #[arg(long = "scale", alias = "mode")]
    mode: Option<String>,
    /// Beats per minute, 40 to 120.
    #[arg(long)]
    bpm: Option<f32>,
    /// 0 to 1: notes, octaves, loudness, percussion.
    #[arg(long)]
    intensity: Option<f32>,
    /// 0 to 1: how far the melody leaves the chord.
    #[arg(hide_short_help = true, long)]
    complexity: Option<f32>,
    /// 0 to 1: how freely chords follow each other.
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
}

impl Music {
    /// The parameters, all inside their ranges.
    pub(crate) fn params(&self) -> Result<Params, ParamError> {
        let mut params = Params::preset(self.preset.parse::<Preset>()?);
        if let Some(key) = &self.key {
            params.key = key.parse::<Key>()?;
        }
        if let Some(mode) = &self.mode {
            params.mode = mode.parse::<Mode>()?;
        }
        let given = [
            (self.bpm, &mut params.bpm),
            (self.intensity, &mut params.intensity),
            (self.complexity, &mut params.complexity),
            (self.variety, &mut params.variety),
            (self.density, &mut params.density),
            (self.brightness, &mut params.brightness),
            (self.space, &mut params.space),
            (self.volume, &mut params.volume),
        ];
        for (given, slot) in given {
            if let Some(value) = given {
                *slot = value;
            }
        }
        params.validate()?;
        Ok(params)
    }
}
