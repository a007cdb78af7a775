//! `warpsmith voice turns`: where the speaker changes.

use anyhow::Result;
use clap::Args;
use warpsmith_descriptors::turns::{TurnSettings, find_turns_of};
use warpsmith_voice::signal::count_samples;
use warpsmith_voice::{StatisticalSettings, StatisticalStream, segments};

use super::activity::HOP_SECONDS;
use super::input::Input;
use super::recording::analyse;
use super::segment_text::SegmentDestination;
use super::sheet::Sheet;
use warpsmith_console::exit::Outcome;
use warpsmith_console::global::Global;
use warpsmith_console::output::note;

/// List turns of speech: where one voice gives way to another.
///
/// A simple detector without a network: Gaussians over cepstra and the Bayesian information criterion.
/// It finds changes and does not know who speaks, so that a voice that comes back is a new turn. It needs
/// some seconds of each voice. In meetings with one far microphone and short turns it is little better than
/// chance; people who talk at once, music and noise mislead it. `bic_gain` says by how much two voices fit
/// better than one.
#[derive(Args)]
#[command(after_long_help = "Examples:
  warpsmith voice turns meeting.wav
  warpsmith voice turns meeting.wav --penalty 3 --as rttm --output meeting.rttm
  warpsmith voice turns calls/ --as json --output turns")]
pub(crate) struct Turns {
    #[command(flatten)]
    input: Input,
    #[command(flatten)]
    destination: SegmentDestination,
    /// How much better two voices must fit than one; more finds fewer changes.
    #[arg(long, default_value_t = TurnSettings::default().penalty)]
    penalty: f64,
    /// Speech on each side of a possible change, seconds.
    #[arg(long, value_name = "SECONDS", default_value_t = TurnSettings::default().window)]
    side: f64,
    /// Shortest turn, seconds.
    #[arg(long, value_name = "SECONDS", default_value_t = TurnSettings::default().least)]
    min_turn: f64,
}

impl Turns {
    pub(crate) fn run(&self, global: &Global) -> Result<Outcome> {
        let settings = TurnSettings {
            penalty: self.penalty,
            window: self.side,
            least: self.min_turn,
        };
        note(
            global,
            "note: turns are changes of voice by BIC over cepstra, without speaker identity",
        );
        let destination = self.destination.destination("turn", true);
        destination.each(global, &self.input, |path| {
            let turns = analyse(&self.input, path, |recording| {
                let (rate, samples) = (recording.sample_rate(), count_samples(recording)?);
                let mut detector =
                    StatisticalStream::new(rate, StatisticalSettings::default(), samples)?;
                recording.hear(&mut |piece| detector.process(piece))?;
                let speech = segments(&detector.finish()?, HOP_SECONDS);
                find_turns_of(recording, &speech, &settings)
            })?;
            Ok(Sheet::new(
                ["start", "end", "bic_gain"].map(str::to_owned).to_vec(),
                turns
                    .iter()
                    .flat_map(|turn| [turn.start, turn.end, turn.gain.unwrap_or(f64::NAN)])
                    .collect(),
            ))
        })
    }
}
