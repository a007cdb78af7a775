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
        let mut track = SwipeTrack::default();
        let frames = self.frames(signal.len());
        for first in (0..frames).step_by(self.engine.section()) {
            let last = (first + self.engine.section()).min(frames);
            self.hear((signal, 0), first..last, &mut track);
        }
        track
    }

    /// Appends the frames of a section; `signal` has what they reach of the whole, and the place of its first sample.
    fn hear(&mut self, signal: (&[f32], usize), section: Range<usize>, track: &mut SwipeTrack) {
        let seconds = section.clone().map(|frame| self.plan.seconds(frame));
        track.seconds.extend(seconds);
        let (plan, threshold) = (&self.plan, self.threshold);
        self.engine.each(signal, section, &mut |strengths| {
            let (frequency, strength) = chosen(plan, strengths, threshold);
            track.frequency.push(frequency);
            track.strength.push(strength);
        });
    }
}

/// A track of a signal that is still arriving: any cutting into chunks gives the bits of the whole.
pub struct SwipeStream {
    swipe: Swipe,
    /// The samples that are still needed, and the place of the first.
    samples: Vec<f32>,
    origin: usize,
    /// Frames that are tracked.
    done: usize,
}

impl SwipeStream {
    /// A stream that has heard nothing.
    pub fn new(swipe: Swipe) -> Self {
        Self {
            swipe,
            samples: Vec::new(),
            origin: 0,
            done: 0,
        }
    }

    /// Takes the next samples; appends the frames whose surroundings they complete.
    pub fn process(&mut self, chunk: &[f32], track: &mut SwipeTrack) {
        self.samples.extend_from_slice(chunk);
        let section = self.swipe.engine.section();
        let longest = self.swipe.plan.windows[0].length;
        let apart = longest / 2;
        loop {
            let next = self.done + section;
            // The last frame lies before one of the longest window's, which reaches half its length beyond.
            let reach = ((next - 1) * self.swipe.plan.hop / apart + 2) * apart;
            if self.origin + self.samples.len() < reach {
                return;
            }
            let signal = (&self.samples[..], self.origin);
            self.swipe.hear(signal, self.done..next, track);
            self.done = next;
            // Windows lie where they do in the whole: what is gone ends where one of the longest begins.
            let first = (next * self.swipe.plan.hop / apart).saturating_sub(1);
            let here = (self.origin + self.samples.len()) / apart;
            let kept = first.min(here) * apart;
            self.samples.drain(..kept - self.origin);
            self.origin = kept;
        }
    }

    /// Ends the signal; appends the frames that are left.
    pub fn finish(mut self, track: &mut SwipeTrack) {
        let frames = self.swipe.frames(self.origin + self.samples.len());
        let section = self.swipe.engine.section();
        for first in (self.done..frames).step_by(section) {
            let signal = (&self.samples[..], self.origin);
            let last = (first + section).min(frames);
            self.swipe.hear(signal, first..last, track);
        }
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
    /// Frames that are heard together.
    fn section(&self) -> usize;
    /// Hands the strengths of all candidates of each frame of a section to `take`; a signal comes with the place of
    /// its first sample in the whole.
    fn each(
        &mut self,
        signal: (&[f32], usize),
        section: Range<usize>,
        take: &mut dyn FnMut(&[f32]),
    );
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
    fn add(&mut self, (signal, origin): (&[f32], usize), number: usize, section: &Range<usize>) {
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
            let here = first - origin / apart + block * V::WIDTH;
            let levels = self.loudness[number].block(signal, here);
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
    /// As many as one block of the longest windows reaches.
    fn section(&self) -> usize {
        let reach = (V::WIDTH - 1) * self.plan.windows[0].length / 2;
        (reach / self.plan.hop).max(1)
    }

    fn each(
        &mut self,
        signal: (&[f32], usize),
        section: Range<usize>,
        take: &mut dyn FnMut(&[f32]),
    ) {
        let candidates = self.plan.candidates.len();
        self.sums.clear();
        self.sums.resize(section.len() * candidates, 0.0);
        for window in 0..self.plan.windows.len() {
            self.add(signal, window, &section);
        }
        self.sums.chunks_exact(candidates).for_each(&mut *take);
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
    fn any_cutting_gives_the_bits_of_the_whole() {
        for (rate, hop, seconds) in [(16_000, 160, 2.3), (44_100, 441, 1.1), (8_000, 5000, 4.0)] {
            let signal = tone(rate, seconds, |seconds| 120.0 + 30.0 * seconds);
            let swipe = || Swipe::new(rate, hop, PitchRange::VOICE, Swipe::THRESHOLD).unwrap();
            let whole = swipe().track(&signal);
            for size in [37, 4096, 200_000] {
                let (mut stream, mut track) = (SwipeStream::new(swipe()), SwipeTrack::default());
                for chunk in signal.chunks(size) {
                    stream.process(chunk, &mut track);
                }
                stream.finish(&mut track);
                assert_eq!(track, whole, "{rate} Hz in chunks of {size}");
            }
        }
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
