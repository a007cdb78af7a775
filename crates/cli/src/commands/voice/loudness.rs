//! `warpsmith voice loudness`: programme loudness and peak.

use anyhow::Result;
use clap::Args;
use warpsmith_voice::integrated_loudness;

use super::input::Input;
use super::sheet::{Destination, Sheet};
use crate::arguments::Global;
use crate::exit::Outcome;

/// Measure integrated loudness (ITU-R BS.1770-4, LUFS) and sample peak (dBFS) over all channels.
#[derive(Args)]
#[command(after_help = "Example:\n  warpsmith voice loudness master.wav")]
pub(crate) struct Loudness {
    #[command(flatten)]
    input: Input,
    #[command(flatten)]
    destination: Destination,
}

impl Loudness {
    pub(crate) fn run(&self, global: &Global) -> Result<Outcome> {
        self.destination.each(global, &self.input, |path| {
            let audio = self.input.read(path)?;
            let samples = audio.channels.iter().flatten();
            let peak = samples.fold(0.0f32, |peak, x| peak.max(x.abs()));
            Ok(Sheet {
                columns: vec!["lufs".into(), "peak_dbfs".into()],
                values: vec![
                    integrated_loudness(&audio)?,
                    20.0 * f64::from(peak.max(1e-10)).log10(),
                ],
            })
        })?;
        Ok(Outcome::Fine)
    }
}
