//! Where the speaker changes, by the Bayesian information criterion over cepstra (Chen and Gopalakrishnan,
//! 1998). No network and no speaker embedding: two stretches of speech are of two voices where two
//! Gaussians describe their cepstra so much better than one that it pays for their parameters. It knows
//! changes, not persons, and needs some seconds of each voice.

mod changes;
mod gaussian;

use std::ops::Range;

use serde::Serialize;
use warpsmith_signal::{InMemory, Recording};
use warpsmith_voice::{
    FeatureSettings, Layout, MelStream, Preset, Result, Segment, SignalError, Sizes, Stage,
};

use changes::{Change, Search};
use gaussian::Sums;

/// Cepstral coefficients of a frame; the level, which the microphone decides, is left out.
const COEFFICIENTS: usize = 12;
/// Frames of 10 ms that are decided together.
const BLOCK: usize = 10;
/// Seconds of a block.
const BLOCK_SECONDS: f64 = 0.1;

/// Choices of the detector.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TurnSettings {
    /// How much better two voices must fit than one; 1 is the criterion as published, more finds fewer
    /// changes.
    pub penalty: f64,
    /// Speech on each side of a possible change, seconds.
    pub window: f64,
    /// Turns shorter than this belong to a neighbour, seconds.
    pub least: f64,
}

impl Default for TurnSettings {
    fn default() -> Self {
        Self {
            penalty: 1.5,
            window: 4.0,
            least: 1.0,
        }
    }
}

impl TurnSettings {
    fn checked(&self) -> Result<()> {
        let bounds = [
            ("penalty", self.penalty, 0.01, 1000.0),
            ("turn window", self.window, 0.5, 60.0),
            ("shortest turn", self.least, 0.1, 600.0),
        ];
        for (name, value, least, most) in bounds {
            if !(value >= least && value <= most) {
                return Err(SignalError::parameter(
                    name,
                    value,
                    format!("{least} to {most} are possible"),
                ));
            }
        }
        Ok(())
    }
}

/// A stretch of one voice.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Turn {
    /// Seconds.
    pub start: f64,
    /// Seconds.
    pub end: f64,
    /// By how much two voices fit better than one at its start, penalty included; `None` for the first.
    pub gain: Option<f64>,
}

/// The turns in the segments of speech of a signal, which follow each other. Pauses inside a turn belong to it.
pub fn find_turns(
    signal: &[f32],
    sample_rate: u32,
    speech: &[Segment],
    settings: &TurnSettings,
) -> Result<Vec<Turn>> {
    let recording = InMemory {
        signal,
        sample_rate,
    };
    find_turns_of(&recording, speech, settings)
}

/// The turns of a recording, which is heard twice.
pub fn find_turns_of(
    recording: &dyn Recording,
    speech: &[Segment],
    settings: &TurnSettings,
) -> Result<Vec<Turn>> {
    settings.checked()?;
    let Blocks {
        places,
        changes,
        totals,
    } = Blocks::of(recording, speech, settings)?;
    Ok(turns(&places, &refine(changes, &totals, settings)))
}

/// Speech in blocks one after the other, without the pauses.
struct Blocks {
    /// Of each block: where it lies in the signal, seconds.
    places: Vec<Segment>,
    /// Where the voice may change.
    changes: Vec<Change>,
    /// Totals of all blocks.
    totals: Sums,
}

impl Blocks {
    fn of(recording: &dyn Recording, speech: &[Segment], settings: &TurnSettings) -> Result<Self> {
        let sample_rate = recording.sample_rate();
        let hop = (sample_rate as usize / 100).max(1);
        let sizes = Sizes {
            hop,
            filters: 26,
            ..Sizes::for_speech(sample_rate)
        };
        let stage = Stage::Cepstrum {
            coefficients: COEFFICIENTS + 1,
        };
        let mfcc = FeatureSettings {
            layout: Layout::FramesFirst,
            ..Preset::Librosa.feature(sample_rate, sizes, stage)
        };
        let (mut frames, mut largest) = (0, f32::NEG_INFINITY);
        let look = MelStream::first_look(mfcc)?;
        each_row(recording, look, sizes.filters, &mut |levels| {
            largest = levels.iter().copied().fold(largest, f32::max);
            frames += 1;
        })?;
        let planned = planned(speech, |seconds| {
            ((seconds * f64::from(sample_rate)) as usize / hop).min(frames)
        })?;
        let (mut frame, mut sums) = (0, Sums::default());
        let mut search = Search::new(planned.len(), settings);
        let look = MelStream::second_look(mfcc, largest)?;
        each_row(recording, look, COEFFICIENTS + 1, &mut |row| {
            if let Some((block, _)) = planned.get(search.blocks())
                && frame >= block.start
            {
                sums.add(&row[1..]);
                if frame + 1 == block.end {
                    search.push(sums.clone());
                }
            }
            frame += 1;
        })?;
        let (changes, totals) = search.finish();
        Ok(Self {
            places: planned.into_iter().map(|(_, place)| place).collect(),
            changes,
            totals,
        })
    }
}

/// By how much two voices fit better than one, by the totals at the start of a stretch, at a change and at the end.
fn gain([from, change, to]: [&Sums; 3], penalty: f64) -> f64 {
    let (left, right, both) = (change.minus(from), to.minus(change), to.minus(from));
    let parameters = (COEFFICIENTS + COEFFICIENTS * (COEFFICIENTS + 1) / 2) as f64;
    let price = 0.5 * penalty * parameters * both.count().ln();
    both.cost() - left.cost() - right.cost() - price
}

/// The turns between changes with their gains.
fn turns(places: &[Segment], changes: &[(usize, f64)]) -> Vec<Turn> {
    if places.is_empty() {
        return Vec::new();
    }
    let mut edges = vec![(0, None)];
    edges.extend(changes.iter().map(|(at, gain)| (*at, Some(*gain))));
    let ends = edges
        .iter()
        .skip(1)
        .map(|edge| edge.0)
        .chain([places.len()]);
    edges
        .iter()
        .zip(ends)
        .map(|((from, gain), to)| Turn {
            start: places[*from].start,
            end: places[to - 1].end,
            gain: *gain,
        })
        .collect()
}

/// The frames of each block, and where it lies; `frame` is the number of the frame at a time.
fn planned(
    speech: &[Segment],
    frame: impl Fn(f64) -> usize,
) -> Result<Vec<(Range<usize>, Segment)>> {
    let mut blocks: Vec<(Range<usize>, Segment)> = Vec::new();
    for segment in speech {
        let (first, last) = (frame(segment.start), frame(segment.end));
        if blocks.last().is_some_and(|(before, _)| first < before.end) {
            return Err(SignalError::parameter(
                "speech",
                format!("a segment from {} s on", segment.start),
                "segments follow each other and do not overlap",
            ));
        }
        let count = last.saturating_sub(first) / BLOCK;
        for n in 0..count {
            let from = first + n * BLOCK;
            let start = segment.start + n as f64 * BLOCK_SECONDS;
            // The last block of a segment has its rest.
            let (to, end) = if n + 1 == count {
                (last, segment.end)
            } else {
                (from + BLOCK, start + BLOCK_SECONDS)
            };
            blocks.push((from..to, Segment { start, end }));
        }
    }
    Ok(blocks)
}

/// Shows the rows that a stream makes of a recording, so many values to a row.
fn each_row(
    recording: &dyn Recording,
    mut stream: MelStream,
    columns: usize,
    see: &mut dyn FnMut(&[f32]),
) -> Result<()> {
    let mut values = Vec::new();
    recording.hear(&mut |piece| {
        stream.process(piece, &mut values)?;
        values.chunks_exact(columns).for_each(&mut *see);
        values.clear();
        Ok(())
    })?;
    stream.finish(&mut values)?;
    values.chunks_exact(columns).for_each(see);
    Ok(())
}

/// Changes that hold between whole neighbouring turns; the weakest goes first, which gives the others
/// more to stand on.
fn refine(mut changes: Vec<Change>, totals: &Sums, settings: &TurnSettings) -> Vec<(usize, f64)> {
    let nothing = Sums::default();
    loop {
        let edge = |n: usize| match n {
            0 => &nothing,
            n => changes.get(n - 1).map_or(totals, |change| &change.before),
        };
        let held: Vec<(usize, f64)> = (0..changes.len())
            .map(|n| {
                let between = [edge(n), &changes[n].before, edge(n + 2)];
                (changes[n].at, gain(between, settings.penalty))
            })
            .collect();
        let weakest = (0..held.len()).min_by(|a, b| held[*a].1.total_cmp(&held[*b].1));
        match weakest {
            Some(n) if held[n].1 <= 0.0 => {
                changes.remove(n);
            }
            _ => return held,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Noise through two resonances: a voice, as far as cepstra know.
    fn voice(low: f32, high: f32, seconds: f32, seed: u32, rate: u32) -> Vec<f32> {
        let mut state = seed;
        let mut noise = || {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (state >> 8) as f32 / 8_388_608.0 - 1.0
        };
        let count = (seconds * rate as f32) as usize;
        let mut signal: Vec<f32> = (0..count).map(|_| noise()).collect();
        for hertz in [low, high] {
            let (radius, angle) = (0.97f32, std::f32::consts::TAU * hertz / rate as f32);
            let (mut a, mut b) = (0.0f32, 0.0f32);
            for x in &mut signal {
                let y = *x + 2.0 * radius * angle.cos() * a - radius * radius * b;
                (b, a) = (a, y);
                *x = 0.1 * y;
            }
        }
        signal.iter().map(|x| x * 0.05).collect()
    }

    #[test]
    fn a_change_of_voice_is_found_and_none_in_one_voice() {
        let rate = 16_000;
        let mut signal = voice(500.0, 1500.0, 6.0, 1, rate);
        signal.extend(voice(700.0, 1150.0, 5.0, 2, rate));
        signal.extend(voice(500.0, 1500.0, 4.0, 3, rate));
        let all = [Segment {
            start: 0.0,
            end: 15.0,
        }];
        let settings = TurnSettings::default();
        let turns = find_turns(&signal, rate, &all, &settings).unwrap();
        assert_eq!(turns.len(), 3, "{turns:?}");
        assert!((turns[1].start - 6.0).abs() < 0.25, "{turns:?}");
        assert!((turns[2].start - 11.0).abs() < 0.25, "{turns:?}");
        assert!(turns[0].gain.is_none() && turns[1].gain.unwrap() > 0.0);
        let one = voice(500.0, 1500.0, 12.0, 4, rate);
        let all = [Segment {
            start: 0.0,
            end: 12.0,
        }];
        assert_eq!(find_turns(&one, rate, &all, &settings).unwrap().len(), 1);
    }

    #[test]
    fn nothing_and_too_little_have_no_change() {
        let settings = TurnSettings::default();
        assert!(find_turns(&[], 16_000, &[], &settings).unwrap().is_empty());
        let short = [Segment {
            start: 0.0,
            end: 0.5,
        }];
        let turns = find_turns(&[0.0; 8000], 16_000, &short, &settings).unwrap();
        assert_eq!(turns.len(), 1);
        // Digital silence has no spread at all, and still ends.
        let long = [Segment {
            start: 0.0,
            end: 10.0,
        }];
        let turns = find_turns(&[0.0; 160_000], 16_000, &long, &settings).unwrap();
        assert_eq!(turns.len(), 1);
        let again = [long[0], short[0]];
        let refused = find_turns(&[0.0; 160_000], 16_000, &again, &settings).unwrap_err();
        assert!(refused.to_string().contains("do not overlap"), "{refused}");
        for penalty in [0.0, f64::NAN, 1e6] {
            let settings = TurnSettings {
                penalty,
                ..settings
            };
            assert!(find_turns(&[], 16_000, &[], &settings).is_err());
        }
    }
}
