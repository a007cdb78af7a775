//! What 60 ms every 10 ms say of a voice: its pitch, how regular it is, and its harmonics and formants.

use std::collections::VecDeque;

use warpsmith_signal::Kept;
use warpsmith_voice::signal::PreciseTransform;

use super::RATE;
use super::formants::{FORMANTS, Formant};
use super::harmonics::{Described, POINTS, describe};
use super::octaves::Octaves;
use super::path::Path;
use super::periods::Periods;
use super::spectral::{HOP, power};
use super::subharmonics::candidates;

/// Samples of a frame.
pub(super) const FRAME: usize = 960;
/// Width of the Gaussian window, in halves of the frame.
const SIGMA: f64 = 0.4;
/// Frames whose windowed root mean square is not above are not voiced.
const QUIET: f64 = 0.001;
/// The tone that semitones are counted from, Hz, and below what all frequencies count as one semitone.
const LOWEST_TONE: f64 = 27.5;
const LOWEST_PITCH: f64 = 29.136;

/// What is said of a frame; zeros of one that is not voiced.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct VoicedFrame {
    /// Semitones above 27.5 Hz.
    pub(super) semitones: f64,
    pub(super) jitter: f64,
    /// dB.
    pub(super) shimmer: f64,
    pub(super) harmonics: Described,
    pub(super) formants: [Formant; FORMANTS],
}

impl VoicedFrame {
    pub(super) fn is_voiced(&self) -> bool {
        self.semitones > 0.0
    }
}

/// Frames of a voice, each known when the path of the pitch has been decided.
pub(super) struct Voiced {
    window: Vec<f64>,
    transform: PreciseTransform,
    octaves: Octaves,
    path: Path,
    pitches: Vec<f64>,
    periods: Periods,
    /// Magnitudes of the frames that are not decided, and whether they are loud enough for a voice.
    waiting: VecDeque<(Vec<f64>, bool)>,
    /// Frames that have come, and those that are decided.
    come: usize,
    decided: usize,
}

impl Voiced {
    pub(super) fn new() -> Self {
        let half = (FRAME - 1) as f64 / 2.0;
        let weight = |n: usize| (-0.5 * ((n as f64 - half) / (SIGMA * half)).powi(2)).exp();
        Self {
            window: (0..FRAME).map(weight).collect(),
            transform: PreciseTransform::new(POINTS),
            octaves: Octaves::new(POINTS / 2 + 1, f64::from(RATE) / 2.0),
            path: Path::new(),
            pitches: Vec::new(),
            periods: Periods::default(),
            waiting: VecDeque::new(),
            come: 0,
            decided: 0,
        }
    }

    /// The first sample that is still looked at.
    pub(super) fn needs(&self) -> usize {
        self.periods.needs().min(self.come * HOP)
    }

    /// Takes the frames that have come; shows those that are decided. `formants` are those of the frames from the
    /// first that is not.
    pub(super) fn process(
        &mut self,
        signal: &Kept<f32>,
        formants: &mut VecDeque<[Formant; FORMANTS]>,
        mut see: impl FnMut(VoicedFrame),
    ) {
        while self.come * HOP + FRAME <= signal.end() {
            let frame = signal.slice(self.come * HOP..self.come * HOP + FRAME);
            let mut samples = vec![0.0f64; POINTS];
            for (slot, (x, weight)) in samples.iter_mut().zip(frame.iter().zip(&self.window)) {
                *slot = f64::from(*x) * weight;
            }
            let energy: f64 = samples.iter().map(|x| x * x).sum();
            let magnitude: Vec<f64> = power(&self.transform, &mut samples)
                .into_iter()
                .map(f64::sqrt)
                .collect();
            let found = candidates(&self.octaves, &self.octaves.of(&magnitude));
            let is_loud = (energy / FRAME as f64).sqrt() > QUIET;
            self.waiting.push_back((magnitude, is_loud));
            self.come += 1;
            self.path.add(found, &mut self.pitches);
            self.decide(signal, formants, &mut see);
        }
    }

    /// Ends the signal; shows one more frame, which does not count but as the neighbour of the last.
    pub(super) fn finish(
        &mut self,
        signal: &Kept<f32>,
        formants: &mut VecDeque<[Formant; FORMANTS]>,
        mut see: impl FnMut(VoicedFrame),
    ) {
        self.path.finish(&mut self.pitches);
        self.decide(signal, formants, &mut see);
    }

    fn decide(
        &mut self,
        signal: &Kept<f32>,
        formants: &mut VecDeque<[Formant; FORMANTS]>,
        see: &mut impl FnMut(VoicedFrame),
    ) {
        for hertz in self.pitches.drain(..) {
            let (Some((magnitude, is_loud)), Some(formants)) =
                (self.waiting.pop_front(), formants.pop_front())
            else {
                return;
            };
            let hertz = if is_loud { hertz } else { 0.0 };
            let [jitter, shimmer] = self.periods.of(signal, self.decided, hertz);
            self.decided += 1;
            if hertz <= 0.0 {
                see(VoicedFrame::default());
                continue;
            }
            see(VoicedFrame {
                semitones: if hertz > LOWEST_PITCH {
                    12.0 * (hertz / LOWEST_TONE).log2()
                } else {
                    1.0
                },
                jitter,
                shimmer,
                harmonics: describe(&magnitude, hertz, &formants, &self.transform),
                formants,
            });
        }
    }
}
