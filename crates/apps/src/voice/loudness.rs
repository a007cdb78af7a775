//! `warpsmith voice loudness`: programme loudness and peak.

use anyhow::{Context, Result};
use clap::Args;
use warpsmith_voice::signal::LoudnessMeter;

use super::input::Input;
use super::live::each_checked_piece;
use super::sheet::{Destination, Sheet};
use warpsmith_console::exit::Outcome;
use warpsmith_console::global::Global;

/// Measure loudness over all channels: integrated, its range, the loudest 0.4 s and 3 s (ITU-R
/// BS.1770-4, EBU Tech 3341 and 3342), sample peak and true peak.
#[derive(Args)]
#[command(after_long_help = "Example:\n  warpsmith voice loudness master.wav")]
pub(crate) struct Loudness {
    #[command(flatten)]
    input: Input,
    #[command(flatten)]
    destination: Destination,
}

impl Loudness {
    pub(crate) fn run(&self, global: &Global) -> Result<Outcome> {
        self.destination.each(global, &self.input, |path| {
            let mut peak = 0.0f32;
            let mut meter = None;
            each_checked_piece(&self.input, path, |piece| {
                let channels: Vec<&[f32]> = piece.channels.iter().map(|c| &c[..]).collect();
                let samples = channels.iter().copied().flatten();
                peak = samples.fold(peak, |peak, x| peak.max(x.abs()));
                let fresh = || LoudnessMeter::new(piece.sample_rate, channels.len());
                let current = match meter.take() {
                    Some(current) => current,
                    None => fresh()?,
                };
                meter.insert(current).push(&channels);
                Ok(())
            })?;
            let meter = meter.context("there is no sound")?;
            let measured = meter.finish()?;
            let loudest = |values: &[f64]| values.iter().copied().fold(f64::NAN, f64::max);
            let rows = [
                ("lufs", measured.integrated),
                ("range_lu", measured.range.unwrap_or(f64::NAN)),
                ("momentary_max_lufs", loudest(&measured.momentary)),
                ("short_term_max_lufs", loudest(&measured.short_term)),
                ("peak_dbfs", 20.0 * f64::from(peak.max(1e-10)).log10()),
                ("true_peak_dbtp", measured.true_peak.max(-200.0)),
            ];
            Ok(Sheet::new(
                rows.iter().map(|(name, _)| (*name).to_owned()).collect(),
                rows.iter().map(|(_, value)| *value).collect(),
            ))
        })
    }
}
