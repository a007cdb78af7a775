//! `warpsmith voice egemaps`: a voice in 88 numbers.

use anyhow::Result;
use clap::Args;
use warpsmith_descriptors::egemaps::{NAMES, RATE, summarise_of};

use super::input::Input;
use super::recording::analyse;
use super::sheet::{Destination, Sheet};
use warpsmith_console::exit::Outcome;
use warpsmith_console::global::Global;

/// Summarise a voice in the 88 numbers of eGeMAPS.
///
/// Names, order, units and numbers are those of openSMILE's eGeMAPSv02; docs/benchmarks/egemaps.md has the
/// differences, which come from single precision. Sound of another rate is resampled to 16 kHz.
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
            let (features, rate) = analyse(&self.input, path, |recording| {
                Ok((summarise_of(recording)?, recording.sample_rate()))
            })?;
            let mut sheet = Sheet::new(NAMES.map(str::to_owned).to_vec(), features);
            sheet.resampled_from = (rate != RATE).then_some(rate);
            Ok(sheet)
        })
    }
}
