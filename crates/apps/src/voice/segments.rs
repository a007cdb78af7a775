//! `warpsmith voice segments`: where speech starts and ends, cut as a recogniser wants it.

use anyhow::Result;
use clap::Args;
use warpsmith_descriptors::speech::{CutSettings, cut};
use warpsmith_voice::segments;

use super::activity::{Detector, HOP_SECONDS};
use super::input::Input;
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
        cut(&[], &[], 1, &settings)?;
        let destination = self.destination.destination("speech", false);
        self.detector.write(
            global,
            (&self.input, &destination),
            None,
            |decisions, signal, rate| {
                let found = segments(decisions, HOP_SECONDS);
                let cut = cut(&found, signal, rate, &settings)?;
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
