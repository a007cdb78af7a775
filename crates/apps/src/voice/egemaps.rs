//! `warpsmith voice egemaps`: a voice in 88 numbers.

use anyhow::Result;
use clap::Args;
use warpsmith_descriptors::egemaps::{NAMES, RATE, summarise};

use super::input::Input;
use super::sheet::{Destination, Sheet};
use warpsmith_console::exit::Outcome;
use warpsmith_console::global::Global;

/// Summarise a voice in 88 numbers that are eGeMAPS-compatible.
///
/// Names, order and units are those of openSMILE's eGeMAPSv02.
/// Loudness, spectral balance, flux and cepstra repeat openSMILE's numbers. Pitch is Praat's, formants are
/// Burg's, and jitter and shimmer are of glottal pulses: those are of the same kind and differ, as
/// docs/benchmarks/egemaps.md shows for every feature. Do not mix them with openSMILE's in one data set.
/// Sound of another rate is resampled to 16 kHz.
#[derive(Args)]
#[command(after_long_help = "Examples:
  warpsmith voice egemaps talk.wav
  warpsmith voice egemaps recordings/ --as npy --output features
  warpsmith voice egemaps talk.wav --format json")]
pub(crate) struct Egemaps {
    #[command(flatten)]
    input: Input,
    #[command(flatten)]
    destination: Destination,
}

impl Egemaps {
    pub(crate) fn run(&self, global: &Global) -> Result<Outcome> {
        self.destination.each(global, &self.input, |path| {
            let (signal, rate) = self.input.signal(path)?;
            let features = summarise(&signal, rate)?;
            let mut sheet = Sheet::new(NAMES.map(str::to_owned).to_vec(), features);
            sheet.resampled_from = (rate != RATE).then_some(rate);
            Ok(sheet)
        })
    }
}
