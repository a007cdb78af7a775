//! How much the level rises in every frame: librosa's onset strength, averaged over bands in one of
//! two ways.

use std::collections::VecDeque;

use warpsmith_signal::{InMemory, Recording};
use warpsmith_voice::{
    FeatureSettings, Layout, MelStream, OnsetStream, Preset, Result, Sizes, Stage,
};

use super::settings::RhythmSettings;

/// Bands of the levels.
const BANDS: usize = 128;

/// How the rises of the bands become one number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Over {
    /// Their mean: what librosa's tempogram and tempo start from.
    Mean,
    /// Their median: what its beat tracker starts from, and does not mind one loud band.
    Median,
}

/// The rise of every frame, moved by half a frame so that it peaks where a sound begins.
pub fn envelope(
    signal: &[f32],
    sample_rate: u32,
    settings: &RhythmSettings,
    over: Over,
) -> Result<Vec<f32>> {
    let recording = InMemory {
        signal,
        sample_rate,
    };
    envelope_of(&recording, settings, over)
}

/// The rises of a recording, which is heard twice: levels are cut 80 dB below the loudest.
pub fn envelope_of(
    recording: &dyn Recording,
    settings: &RhythmSettings,
    over: Over,
) -> Result<Vec<f32>> {
    let mut strength = Vec::new();
    each_rise(recording, settings, over, &mut |rises| {
        strength.extend_from_slice(rises);
        Ok(())
    })?;
    Ok(strength)
}

/// Shows the rises of a recording as they are known.
pub fn each_rise(
    recording: &dyn Recording,
    settings: &RhythmSettings,
    over: Over,
    see: &mut dyn FnMut(&[f32]) -> Result<()>,
) -> Result<()> {
    let RhythmSettings { transform, hop, .. } = *settings;
    let sample_rate = recording.sample_rate();
    let look = OnsetStream::first_look(sample_rate, transform, hop)?;
    let mut largest = f32::NEG_INFINITY;
    each_value(recording, look, &mut |levels| {
        largest = levels.iter().copied().fold(largest, f32::max);
        Ok(())
    })?;
    if over == Over::Mean {
        let mut stream = OnsetStream::second_look(sample_rate, transform, hop, largest)?;
        let mut known = Vec::new();
        recording.hear(&mut |piece| {
            stream.process(piece, &mut known)?;
            see(&known)?;
            known.clear();
            Ok(())
        })?;
        stream.finish(&mut known)?;
        return see(&known);
    }
    let sizes = Sizes {
        transform,
        hop,
        filters: BANDS,
    };
    let levels = FeatureSettings {
        layout: Layout::FramesFirst,
        ..Preset::Librosa.feature(sample_rate, sizes, Stage::LogMel)
    };
    let mut medians = Medians {
        before: None,
        waiting: std::iter::repeat_n(0.0, 1 + transform / (2 * hop)).collect(),
    };
    each_value(
        recording,
        MelStream::second_look(levels, largest)?,
        &mut |levels| {
            let rises: Vec<f32> = levels
                .as_chunks()
                .0
                .iter()
                .filter_map(|frame| medians.next(frame))
                .collect();
            see(&rises)
        },
    )
}

/// Shows what a stream makes of a recording.
fn each_value(
    recording: &dyn Recording,
    mut stream: MelStream,
    see: &mut dyn FnMut(&[f32]) -> Result<()>,
) -> Result<()> {
    let mut values = Vec::new();
    recording.hear(&mut |piece| {
        stream.process(piece, &mut values)?;
        see(&values)?;
        values.clear();
        Ok(())
    })?;
    stream.finish(&mut values)?;
    see(&values)
}

/// Median rises between neighbouring frames.
struct Medians {
    before: Option<[f32; BANDS]>,
    /// Rises that wait for the frame that they are moved to; zeros before the first.
    waiting: VecDeque<f32>,
}

impl Medians {
    /// Takes the levels of the next frame; returns its rise.
    fn next(&mut self, here: &[f32; BANDS]) -> Option<f32> {
        if let Some(before) = self.before.replace(*here) {
            let mut rises = [0.0f32; BANDS];
            for (rise, (here, before)) in rises.iter_mut().zip(here.iter().zip(before)) {
                *rise = (here - before).max(0.0);
            }
            rises.sort_unstable_by(f32::total_cmp);
            let median = f32::midpoint(rises[BANDS / 2 - 1], rises[BANDS / 2]);
            self.waiting.push_back(median);
        }
        self.waiting.pop_front()
    }
}
