//! `warpsmith synth …`: ambient music from a seed, and what each optimisation of it is worth.

use anyhow::Result;
use clap::{Args, Subcommand};

use warpsmith_console::exit::Outcome;
use warpsmith_console::global::Global;

mod ablate;
mod gpu_voices;
pub(crate) mod music;
mod render;
mod sound_file;
mod spectrogram;
mod stems;

/// Make ambient music from a seed, and measure what makes it fast.
#[derive(Args)]
#[command(after_long_help = "Examples:
  warpsmith synth render --seed 7 --preset sleep --duration 10m --output night.wav
  warpsmith synth render --seed 3 --key F# --scale lydian --output a.wav --midi a.mid --spectrogram a.png
  warpsmith synth ablate --markdown matrix.md")]
pub struct Synth {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Subcommand)]
enum Verb {
    Render(Box<render::Render>),
    Ablate(ablate::Ablate),
}

impl Synth {
    /// Does what was typed.
    pub fn run(&self, global: &Global) -> Result<Outcome> {
        match &self.verb {
            Verb::Render(verb) => verb.run(global),
            Verb::Ablate(verb) => verb.run(global),
        }
    }
}
