//! Praat's pitch of a recording that is heard twice. The first look finds its length, which says where frames lie, and
//! how loud it is; the second has the bits of the whole, and keeps the frames whose pitch later ones may change.

use std::collections::VecDeque;
use std::ops::Range;

use super::cpu::PraatTrack;
use crate::pitch::autocorrelation::{ArrivingFrames, Placement, Stretch};
use crate::pitch::path::{Candidate, PathCosts, PathSearch};

/// Frames between looks at what is settled.
const EVERY: usize = 64;

/// What a first look finds.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct PraatLook {
    samples: usize,
    sum: f64,
    low: f32,
    high: f32,
}

impl PraatLook {
    /// Takes the next samples.
    pub fn hear(&mut self, piece: &[f32]) {
        if self.samples == 0
            && let Some(first) = piece.first()
        {
            (self.low, self.high) = (*first, *first);
        }
        self.samples += piece.len();
        self.sum = piece.iter().fold(self.sum, |sum, x| sum + f64::from(*x));
        self.low = piece.iter().copied().fold(self.low, f32::min);
        self.high = piece.iter().copied().fold(self.high, f32::max);
    }

    /// What is found in a signal.
    pub fn of(signal: &[f32]) -> Self {
        let mut look = Self::default();
        look.hear(signal);
        look
    }

    /// Samples.
    pub fn samples(&self) -> usize {
        self.samples
    }

    /// Their mean.
    pub fn mean(&self) -> f64 {
        self.sum / self.samples.max(1) as f64
    }

    /// The largest magnitude.
    pub fn peak(&self) -> f32 {
        self.low.abs().max(self.high.abs())
    }

    /// The largest distance of a sample from the mean.
    pub fn loudest(&self) -> f64 {
        let mean = self.mean();
        let distance = |x: f32| (f64::from(x) - mean).abs();
        distance(self.low).max(distance(self.high))
    }
}

/// What finds the candidates of frames.
pub(super) trait Candidates: Send {
    fn placement(&self) -> Placement;
    fn costs(&self) -> PathCosts;
    /// Of these frames, which lie in the stretch, in a signal whose loudest sample is given.
    fn candidates(
        &mut self,
        stretch: Stretch<'_>,
        frames: Range<usize>,
        loudest: f64,
    ) -> Vec<Vec<Candidate>>;
}

/// A second look.
pub struct PraatStream {
    tracker: Box<dyn Candidates>,
    arriving: ArrivingFrames,
    loudest: f64,
    search: PathSearch,
    /// Candidates of the frames that are not settled.
    waiting: VecDeque<Vec<Candidate>>,
    settled: usize,
}

impl PraatStream {
    pub(super) fn new(tracker: Box<dyn Candidates>, look: PraatLook) -> Self {
        Self {
            arriving: ArrivingFrames::new(tracker.placement(), look.samples),
            search: PathSearch::new(tracker.costs()),
            tracker,
            loudest: look.loudest(),
            waiting: VecDeque::new(),
            settled: 0,
        }
    }

    /// Takes the next samples; appends the frames that no later one can change.
    pub fn process(&mut self, piece: &[f32], track: &mut PraatTrack) {
        let frames = self.arriving.push(piece);
        let end = frames.end;
        let stretch = self.arriving.stretch();
        for found in self.tracker.candidates(stretch, frames, self.loudest) {
            self.search.step(&found);
            self.waiting.push_back(found);
            if self.waiting.len().is_multiple_of(EVERY) {
                let path = self.search.settled();
                self.append(&path, track);
            }
        }
        self.arriving.take(end);
    }

    /// Ends the signal; appends the frames that are left.
    pub fn finish(mut self, track: &mut PraatTrack) {
        let costs = self.tracker.costs();
        let search = std::mem::replace(&mut self.search, PathSearch::new(costs));
        self.append(&search.finish(), track);
    }

    fn append(&mut self, path: &[usize], track: &mut PraatTrack) {
        let placement = self.tracker.placement();
        track.step = placement.step();
        for (index, candidates) in path.iter().zip(self.waiting.drain(..path.len())) {
            let seconds = placement.time(self.settled, self.arriving.length());
            track.seconds.push(seconds);
            track.append(candidates[*index]);
            self.settled += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pitch::{PitchRange, PraatPitch, PraatSettings, PrecisePraat};

    #[test]
    fn pieces_have_the_bits_of_the_whole() {
        let signal: Vec<f32> = (0..60_007)
            .map(|n| {
                let noise = ((n as u32).wrapping_mul(2_654_435_761) >> 8) as f32 / 16_777_216.0;
                let hertz = 140.0 + 20.0 * (n as f32 / 9000.0).sin();
                let phase = std::f32::consts::TAU * hertz * n as f32 / 16_000.0;
                let voice: f32 = (1..9).map(|k| (k as f32 * phase).sin() / k as f32).sum();
                let on = n / 8000 % 2 == 1;
                0.03 + 0.01 * noise + if on { 0.2 * voice } else { 0.0 }
            })
            .collect();
        let (range, settings) = (PitchRange::VOICE, PraatSettings::default());
        let single = || PraatPitch::new(16_000, 160, range, settings).unwrap();
        let precise = || PrecisePraat::new(16_000, 0.0115, range, settings).unwrap();
        for length in [0, 1, 700, 60_007] {
            let signal = &signal[..length];
            let look = PraatLook::of(signal);
            for piece in [333, 20_000] {
                for (whole, mut stream) in [
                    (single().track(signal), single().second_look(look)),
                    (precise().track(signal), precise().second_look(look)),
                ] {
                    let mut track = PraatTrack {
                        step: whole.step,
                        ..PraatTrack::default()
                    };
                    for piece in signal.chunks(piece) {
                        stream.process(piece, &mut track);
                    }
                    assert!(stream.waiting.len() < 300);
                    stream.finish(&mut track);
                    assert_eq!(track, whole);
                    if length > 50_000 {
                        let voiced = track.frequency.iter().filter(|hz| **hz > 0.0);
                        assert!(voiced.count() > 100);
                    }
                }
            }
        }
    }
}
