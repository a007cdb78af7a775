//! SWIPE' on the CPU: the specification.

use std::ops::Range;
use std::sync::Arc;

use warpsmith_lanes::{Blocks, Lanes, Task, engine_for_this_machine, with_widest};
use warpsmith_signal::Result;

use super::loudness::Loudness;
use super::plan::SwipePlan;
use super::strength::Kernels;
use crate::pitch::range::PitchRange;

/// A track; frame `n` is at `n` hops from the signal's start.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SwipeTrack {
    /// Seconds of each frame.
    pub seconds: Vec<f64>,
    /// Frequency, Hz; 0 in unvoiced frames.
    pub frequency: Vec<f32>,
    /// How well the best candidate fits, at most 1; of unvoiced frames too.
    pub strength: Vec<f32>,
}

/// A planned tracker.
pub struct Swipe {
    plan: Arc<SwipePlan>,
    threshold: f32,
    engine: Box<dyn SwipeEngine>,
}

impl Swipe {
    /// The strength above which SPTK calls a frame voiced.
    pub const THRESHOLD: f32 = 0.3;

    /// A tracker for frames `hop` samples apart; a frame is voiced where its strength is above `threshold`.
    pub fn new(sample_rate: u32, hop: usize, range: PitchRange, threshold: f32) -> Result<Self> {
        let plan = Arc::new(SwipePlan::new(sample_rate, hop, range)?);
        let engine = engine_for_this_machine!(Blocks::Wide, Engine::new(Arc::clone(&plan)));
        Ok(Self {
            plan,
            threshold,
            engine,
        })
    }

    /// Frames of a signal of `samples` samples.
    pub fn frames(&self, samples: usize) -> usize {
        self.plan.frames(samples)
    }

    /// The track of `signal`.
    pub fn track(&mut self, signal: &[f32]) -> SwipeTrack {
        let frames = self.frames(signal.len());
        let mut track = SwipeTrack {
            seconds: self.plan.seconds(frames),
            frequency: Vec::with_capacity(frames),
            strength: Vec::with_capacity(frames),
        };
        let (plan, threshold) = (&self.plan, self.threshold);
        self.engine.each(signal, &mut |strengths| {
            let (frequency, strength) = chosen(plan, strengths, threshold);
            track.frequency.push(frequency);
            track.strength.push(strength);
        });
        track
    }
}

/// The frequency of a frame, 0 if it is unvoiced, and the strength of its best candidate, the first of equals;
/// what is not a number is no candidate.
fn chosen(plan: &SwipePlan, strengths: &[f32], threshold: f32) -> (f32, f32) {
    let mut best = (0, f32::MIN);
    for (n, strength) in strengths.iter().enumerate() {
        if *strength > best.1 {
            best = (n, *strength);
        }
    }
    let (best, strength) = best;
    if strength <= threshold {
        return (0.0, strength.max(0.0));
    }
    let frequency = match best.checked_sub(1).map(|before| &strengths[before..]) {
        Some(&[before, here, after, ..]) => plan.refined(best, [before, here, after]),
        // A maximum at either end is the lowest frequency to SPTK.
        _ => plan.candidates[0],
    };
    (frequency as f32, strength.max(0.0))
}

trait SwipeEngine: Send {
    /// Hands the strengths of all candidates of each frame to `take`.
    fn each(&mut self, signal: &[f32], take: &mut dyn FnMut(&[f32]));
}

struct Engine<V> {
    plan: Arc<SwipePlan>,
    loudness: Vec<Loudness<V>>,
    kernels: Kernels<V>,
    /// Strengths of the frames of one window in a section.
    rows: Vec<f32>,
    /// Strengths of the frames of a section.
    sums: Vec<f32>,
}

impl<V: Lanes> Engine<V> {
    fn new(plan: Arc<SwipePlan>) -> Self {
        Self {
            loudness: plan.windows.iter().map(Loudness::new).collect(),
            kernels: Kernels::new(&plan),
            rows: Vec::new(),
            sums: Vec::new(),
            plan,
        }
    }

    /// Adds what window `number` hears in the frames of `section`.
    fn add(&mut self, signal: &[f32], number: usize, section: &Range<usize>) {
        let window = &self.plan.windows[number];
        let apart = window.length / 2;
        let (first, last) = (
            section.start * self.plan.hop / apart,
            (section.end - 1) * self.plan.hop / apart,
        );
        let width = self.kernels.width();
        // A frame lies between two of the window's.
        let blocks = (last + 2 - first).div_ceil(V::WIDTH);
        self.rows.resize(blocks * V::WIDTH * width, 0.0);
        for (block, rows) in self.rows.chunks_exact_mut(V::WIDTH * width).enumerate() {
            let levels = self.loudness[number].block(signal, first + block * V::WIDTH);
            self.kernels.apply(levels, &window.candidates, rows);
        }
        let heard = &window.candidates;
        for (frame, sums) in section
            .clone()
            .zip(self.sums.chunks_exact_mut(self.plan.candidates.len()))
        {
            let at = frame * self.plan.hop;
            let row = |n: usize| &self.rows[(at / apart - first + n) * width..][heard.clone()];
            with_widest(BlendTask {
                between: [row(0), row(1)],
                share: (at % apart) as f32 / apart as f32,
                weights: &window.weights,
                sums: &mut sums[heard.clone()],
            });
        }
    }
}

impl<V: Lanes> SwipeEngine for Engine<V> {
    fn each(&mut self, signal: &[f32], take: &mut dyn FnMut(&[f32])) {
        let frames = self.plan.frames(signal.len());
        let candidates = self.plan.candidates.len();
        // As many as one block of the longest windows reaches.
        let reach = (V::WIDTH - 1) * self.plan.windows[0].length / 2;
        let section = (reach / self.plan.hop).max(1);
        for first in (0..frames).step_by(section) {
            let section = first..(first + section).min(frames);
            self.sums.clear();
            self.sums.resize(section.len() * candidates, 0.0);
            for window in 0..self.plan.windows.len() {
                self.add(signal, window, &section);
            }
            self.sums.chunks_exact(candidates).for_each(&mut *take);
        }
    }
}

/// Adds what is heard between two frames of a window.
struct BlendTask<'a> {
    between: [&'a [f32]; 2],
    share: f32,
    weights: &'a [f32],
    sums: &'a mut [f32],
}

impl Task for BlendTask<'_> {
    #[inline(always)]
    fn run(self) {
        let [before, after] = self.between;
        for (((sum, weight), before), after) in self
            .sums
            .iter_mut()
            .zip(self.weights)
            .zip(before)
            .zip(after)
        {
            *sum += (before + self.share * (after - before)) * weight;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_noise::white_noise;
    use std::f64::consts::TAU;

    fn tone(rate: u32, seconds: f64, hertz: impl Fn(f64) -> f64) -> Vec<f32> {
        let rate = f64::from(rate);
        let mut phase = 0.0;
        (0..(seconds * rate) as usize)
            .map(|n| {
                let frequency = hertz(n as f64 / rate);
                phase += TAU * frequency / rate;
                let heard = (1..12)
                    .map(f64::from)
                    .filter(|k| k * frequency < 0.47 * rate);
                (0.2 * heard.map(|k| (k * phase + k * k).sin() / k).sum::<f64>()) as f32
            })
            .collect()
    }

    fn track(rate: u32, signal: &[f32]) -> SwipeTrack {
        let hop = rate as usize / 100;
        let mut swipe = Swipe::new(rate, hop, PitchRange::VOICE, Swipe::THRESHOLD).unwrap();
        let track = swipe.track(signal);
        assert_eq!(track.frequency.len(), signal.len().div_ceil(hop));
        assert_eq!(track.frequency.len(), swipe.frames(signal.len()));
        assert_eq!(track.strength.len(), track.frequency.len());
        assert_eq!(track.seconds.len(), track.frequency.len());
        track
    }

    /// The largest distance in cents of the frames a tenth of a second inside.
    fn farthest(track: &SwipeTrack, hertz: impl Fn(f64) -> f64) -> f64 {
        let frames = track.seconds.iter().zip(&track.frequency).skip(10);
        frames
            .take(track.seconds.len() - 20)
            .map(|(seconds, found)| (1200.0 * (f64::from(*found) / hertz(*seconds)).log2()).abs())
            .fold(0.0, f64::max)
    }

    #[test]
    fn tones_and_a_sweep_are_tracked_at_every_rate() {
        for rate in [
            8_000, 11_025, 16_000, 22_050, 44_100, 48_000, 96_000, 192_000,
        ] {
            for hertz in [83.1, 147.3, 220.0, 391.7] {
                let off = farthest(&track(rate, &tone(rate, 0.5, |_| hertz)), |_| hertz);
                assert!(off < 12.0, "{hertz} Hz at {rate}: {off} cents");
            }
            let glide = |seconds: f64| 90.0 * (1.2 * seconds).exp2();
            let off = farthest(&track(rate, &tone(rate, 1.5, glide)), glide);
            assert!(off < 30.0, "a sweep at {rate}: {off} cents");
        }
    }

    #[test]
    fn silence_noise_and_what_is_short_have_no_pitch() {
        let noise = white_noise(7, 16_000);
        for signal in [&[][..], &[0.5], &[0.0; 4000], &[0.3; 4000], &noise] {
            let track = track(16_000, signal);
            let voiced = track.frequency.iter().filter(|hertz| **hertz > 0.0).count();
            assert!(
                voiced * 20 <= signal.len() / 160,
                "{voiced} of {}",
                signal.len()
            );
            assert!(
                track
                    .strength
                    .iter()
                    .all(|strength| (0.0..=1.0).contains(strength))
            );
        }
    }

    #[test]
    fn a_bad_sample_touches_only_the_frames_near_it() {
        let clean = tone(16_000, 1.0, |_| 150.0);
        let before = track(16_000, &clean);
        for bad in [f32::NAN, f32::INFINITY] {
            let mut dirty = clean.clone();
            dirty[8000] = bad;
            let after = track(16_000, &dirty);
            for (frame, (a, b)) in before.frequency.iter().zip(&after.frequency).enumerate() {
                // Half the longest window, and half of it again to its next frame.
                if (160 * frame).abs_diff(8000) > 2048 {
                    assert_eq!(a, b, "frame {frame}");
                } else {
                    assert!(b.is_finite(), "frame {frame}: {b}");
                }
            }
            assert_eq!(after.frequency[50], 0.0);
        }
    }

    #[test]
    fn a_delay_of_whole_windows_moves_the_track_and_changes_no_bit() {
        let signal = tone(16_000, 3.0, |seconds| 150.0 + 40.0 * (5.0 * seconds).sin());
        let whole = track(16_000, &signal);
        // Five hops of the longest window are 32 frames; sections are longer, and now cut elsewhere.
        let mut delayed = vec![0.0; 5 * 1024];
        delayed.extend(&signal);
        let late = track(16_000, &delayed);
        assert_eq!(late.frequency[32..], whole.frequency);
        assert_eq!(late.strength[32..], whole.strength);
    }

    #[test]
    fn a_maximum_at_either_end_is_the_lowest_frequency() {
        let plan = SwipePlan::new(16_000, 160, PitchRange::VOICE).unwrap();
        for end in [0, plan.candidates.len() - 1] {
            let mut strengths = vec![0.1; plan.candidates.len()];
            strengths[end] = 0.9;
            assert_eq!(chosen(&plan, &strengths, 0.3), (65.0, 0.9));
            assert_eq!(chosen(&plan, &strengths, 0.95), (0.0, 0.9));
        }
    }
}
