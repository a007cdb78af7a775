//! `warpsmith voice segments`: where speech starts and ends, cut as a recogniser wants it.

use std::path::Path;

use anyhow::Result;
use clap::Args;
use warpsmith_descriptors::speech::{CutSettings, StepEnergies, cut};
use warpsmith_voice::segments;

use super::activity::{Detector, HOP_SECONDS};
use super::input::Input;
use super::live::{Listener, Listening};
use super::segment_text::SegmentDestination;
use super::sheet::Sheet;
use warpsmith_console::exit::Outcome;
use warpsmith_console::global::Global;

/// List where speech starts and ends.
///
/// Without options the segments are what the detector found. For a recogniser, pad them, join short
/// pauses, and bound their length: longer ones are cut at their quietest places.
#[derive(Args)]
#[command(after_long_help = "Examples:
  warpsmith voice segments talk.wav
  warpsmith voice segments talk.wav --pad 0.2 --min-speech 0.25 --min-pause 0.3 --max-length 30
  warpsmith voice segments talk.wav --as srt --output talk.srt
  warpsmith voice segments meetings/ --as rttm --output speech")]
pub(crate) struct Segments {
    #[command(flatten)]
    input: Input,
    #[command(flatten)]
    destination: SegmentDestination,
    #[command(flatten)]
    detector: Detector,
    /// Room before and after a segment, seconds; less where a neighbour or the end is nearer.
    #[arg(long, value_name = "SECONDS", default_value_t = 0.0)]
    pad: f64,
    /// Leave out segments shorter than this, seconds.
    #[arg(long, value_name = "SECONDS", default_value_t = 0.0)]
    min_speech: f64,
    /// Join segments with a shorter pause between them, seconds.
    #[arg(long, value_name = "SECONDS", default_value_t = 0.0)]
    min_pause: f64,
    /// Cut longer segments at their quietest places, seconds with the room around.
    #[arg(long, value_name = "SECONDS")]
    max_length: Option<f64>,
}

impl Segments {
    pub(crate) fn run(&self, global: &Global) -> Result<Outcome> {
        self.detector.check(global)?;
        let settings = CutSettings {
            pad: self.pad,
            least_speech: self.min_speech,
            least_pause: self.min_pause,
            longest: self.max_length,
        };
        // Settings are refused before any file is read.
        cut(&[], &StepEnergies::new(1), &settings)?;
        let destination = self.destination.destination("speech", false);
        let listener = |path: &Path, rate: u32| -> Result<Box<dyn Listener>> {
            Ok(Box::new(LiveSegments {
                detector: self.detector.listener(&self.input, path, rate)?,
                decisions: Vec::new(),
                rows: Vec::new(),
                steps: StepEnergies::new(rate),
                settings,
            }))
        };
        let in_pieces = self.detector.is_in_pieces();
        let listener: Option<Listening<'_>> = in_pieces.then_some(&listener);
        self.detector.write(
            global,
            (&self.input, &destination),
            listener,
            |decisions, signal, rate| {
                let found = segments(decisions, HOP_SECONDS);
                let cut = cut(&found, &StepEnergies::of(signal, rate), &settings)?;
                Ok(Sheet::new(
                    vec!["start".into(), "end".into()],
                    cut.iter()
                        .flat_map(|segment| [segment.start, segment.end])
                        .collect(),
                ))
            },
        )
    }
}

/// Segments of what a detector decides piece by piece.
struct LiveSegments {
    detector: Box<dyn Listener>,
    decisions: Vec<bool>,
    rows: Vec<f64>,
    steps: StepEnergies,
    settings: CutSettings,
}

/// The decisions in a detector's rows: a time and a decision to each.
fn decided(rows: &[f64]) -> impl Iterator<Item = bool> {
    rows.chunks_exact(2).map(|row| row[1] > 0.0)
}

impl Listener for LiveSegments {
    fn columns(&self) -> Vec<String> {
        ["start", "end"].map(str::to_owned).to_vec()
    }

    fn hear(&mut self, piece: &[f32], _: &mut Vec<f64>) -> Result<()> {
        self.steps.hear(piece);
        self.detector.hear(piece, &mut self.rows)?;
        self.decisions.extend(decided(&self.rows));
        self.rows.clear();
        Ok(())
    }

    fn finish(self: Box<Self>, rows: &mut Vec<f64>) -> Result<()> {
        let Self {
            detector,
            mut decisions,
            rows: mut last,
            steps,
            settings,
        } = *self;
        detector.finish(&mut last)?;
        decisions.extend(decided(&last));
        let found = segments(&decisions, HOP_SECONDS);
        let cut = cut(&found, &steps, &settings)?;
        rows.extend(cut.iter().flat_map(|segment| [segment.start, segment.end]));
        Ok(())
    }
}
