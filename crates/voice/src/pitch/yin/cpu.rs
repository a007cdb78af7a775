//! YIN on the CPU: the specification.

use warpsmith_lanes::{Blocks, Lanes, engine_for_this_machine, vectorize_method};
use warpsmith_signal::{Framing, Result, SignalError, checkpoint};

use super::difference::{Difference, parabolic_shift, trough_lanes};
use super::lag_difference::LagDifference;
use super::running_correlation::RunningPlan;
use crate::pitch::range::PitchRange;

/// A planned YIN tracker.
pub struct Yin {
    framing: Framing,
    engine: Box<dyn YinEngine>,
}

impl Yin {
    /// A tracker; `threshold` is the depth at which the first trough is taken (librosa: 0.1).
    pub fn new(
        sample_rate: u32,
        framing: Framing,
        range: PitchRange,
        threshold: f32,
    ) -> Result<Self> {
        Self::with_blocks(sample_rate, framing, range, threshold, Blocks::Wide)
    }

    /// A tracker for one frame at a time: the same bits at the latency of a stream.
    pub(crate) fn with_blocks(
        sample_rate: u32,
        framing: Framing,
        range: PitchRange,
        threshold: f32,
        blocks: Blocks,
    ) -> Result<Self> {
        let framing = framing.checked()?;
        let periods = range.periods(sample_rate, framing)?;
        // The same choice for streams and whole files, or their bits would differ.
        let engine = if let Some(plan) = RunningPlan::new(framing, periods.1) {
            engine_for_this_machine!(
                Blocks::Wide,
                LagEngine::new(sample_rate, plan, periods, threshold)
            )
        } else {
            engine_for_this_machine!(
                blocks,
                Engine::new(sample_rate, framing, periods, threshold)
            )
        };
        Ok(Self { framing, engine })
    }

    /// Frames of a signal of `samples` samples.
    pub fn frames(&self, samples: usize) -> usize {
        self.framing.count(samples)
    }

    /// The frequency of each frame, Hz, into `out`.
    pub fn track_into(&mut self, signal: &[f32], out: &mut [f32]) -> Result<()> {
        SignalError::expect_size("the track", out.len(), self.frames(signal.len()))?;
        self.engine.track(signal, out, false);
        Ok(())
    }

    /// As [`Yin::track_into`]; the first frame comes a hop after the last one of the call before.
    pub(crate) fn go_on_into(&mut self, signal: &[f32], out: &mut [f32]) -> Result<()> {
        SignalError::expect_size("the track", out.len(), self.frames(signal.len()))?;
        self.engine.track(signal, out, true);
        Ok(())
    }

    /// The frequency of each frame, Hz.
    pub fn track(&mut self, signal: &[f32]) -> Result<Vec<f32>> {
        let mut out = vec![0.0; self.frames(signal.len())];
        self.track_into(signal, &mut out)?;
        Ok(out)
    }
}

trait YinEngine: Send {
    /// The frames that `signal` has; the first `follows` the last of the call before, or does not.
    fn track(&mut self, signal: &[f32], out: &mut [f32], follows: bool);
}

/// With lags in the lanes, one frame after the other.
struct LagEngine<V> {
    sample_rate: f32,
    shortest: usize,
    threshold: f32,
    difference: LagDifference<V>,
}

impl<V: Lanes> LagEngine<V> {
    fn new(sample_rate: u32, plan: RunningPlan, periods: (usize, usize), threshold: f32) -> Self {
        Self {
            sample_rate: sample_rate as f32,
            shortest: periods.0,
            threshold,
            difference: LagDifference::new(plan, periods),
        }
    }

    #[inline(always)]
    fn track_frames(&mut self, signal: &[f32], out: &mut [f32], follows: bool) {
        for (frame, slot) in out.iter_mut().enumerate() {
            checkpoint();
            let normalised = self.difference.of(signal, frame, follows || frame > 0);
            let k = chosen::<V>(normalised, self.threshold);
            let mut period = (self.shortest + k) as f32;
            if k > 0
                && let Some([before, here, after]) = normalised[k - 1..].first_chunk()
            {
                period += parabolic_shift(*before, *here, *after);
            }
            *slot = self.sample_rate / period;
        }
    }
}

/// The first trough below the threshold, or the deepest point, the first of equals.
#[inline(always)]
fn chosen<V: Lanes>(normalised: &[f32], threshold: f32) -> usize {
    let is_trough = |k: usize| {
        let (here, before) = (normalised[k], k.checked_sub(1).map(|k| normalised[k]));
        match (before, normalised.get(k + 1)) {
            (Some(before), Some(after)) => here < before && here <= *after,
            (Some(before), None) => here < before,
            (None, Some(after)) => here < *after,
            (None, None) => false,
        }
    };
    let deep = V::splat(threshold);
    let vectors = normalised.chunks_exact(V::WIDTH);
    let rest = normalised.len() - vectors.remainder().len();
    for (group, values) in vectors.enumerate() {
        let mut here = V::load(values).less(deep);
        while here != 0 {
            let k = group * V::WIDTH + here.trailing_zeros() as usize;
            if is_trough(k) {
                return k;
            }
            here &= here - 1;
        }
    }
    let mut rest = rest..normalised.len();
    if let Some(k) = rest.find(|k| normalised[*k] < threshold && is_trough(*k)) {
        return k;
    }
    let vectors = normalised.chunks_exact(V::WIDTH);
    let mut lowest = V::splat(f32::INFINITY);
    let mut rest = f32::INFINITY;
    for value in vectors.remainder() {
        rest = rest.min(*value);
    }
    for values in vectors {
        lowest = V::load(values).min(lowest);
    }
    let mut lanes = [f32::INFINITY; 16];
    lowest.store(&mut lanes);
    let lowest = lanes.iter().fold(rest, |lowest, value| lowest.min(*value));
    let deepest = normalised.iter().position(|value| *value <= lowest);
    deepest.unwrap_or(0)
}

impl<V: Lanes> YinEngine for LagEngine<V> {
    fn track(&mut self, signal: &[f32], out: &mut [f32], follows: bool) {
        vectorize_method!(V: self => LagEngine::track_frames(
            signal: &'a [f32],
            out: &'a mut [f32],
            follows: bool,
        ));
    }
}

/// With frames in the lanes.
struct Engine<V> {
    sample_rate: f32,
    shortest: usize,
    threshold: f32,
    difference: Difference<V>,
}

impl<V: Lanes> Engine<V> {
    fn new(sample_rate: u32, framing: Framing, periods: (usize, usize), threshold: f32) -> Self {
        Self {
            sample_rate: sample_rate as f32,
            shortest: periods.0,
            threshold,
            difference: Difference::new(framing, periods),
        }
    }

    #[inline(always)]
    fn track_blocks(&mut self, signal: &[f32], out: &mut [f32]) {
        let threshold = V::splat(self.threshold);
        let all = u32::MAX >> (32 - V::WIDTH);
        for (block, out) in out.chunks_mut(V::WIDTH).enumerate() {
            let normalised = self.difference.block(signal, block * V::WIDTH);
            let mut chosen = [0usize; 16];
            let mut found = 0u32;
            for (k, value) in normalised.iter().enumerate() {
                let mut fresh = value.less(threshold) & !found & all;
                if fresh != 0 {
                    fresh &= trough_lanes(normalised, k);
                    found |= fresh;
                    while fresh != 0 {
                        chosen[fresh.trailing_zeros() as usize] = k;
                        fresh &= fresh - 1;
                    }
                    if found == all {
                        break;
                    }
                }
            }
            if found != all {
                // No trough is deep enough: the deepest point, the first of equals.
                let mut lowest = normalised[0];
                for value in &normalised[1..] {
                    lowest = value.min(lowest);
                }
                for (k, value) in normalised.iter().enumerate() {
                    let mut here = value.less_or_equal(lowest) & !found & all;
                    found |= here;
                    while here != 0 {
                        chosen[here.trailing_zeros() as usize] = k;
                        here &= here - 1;
                    }
                    if found == all {
                        break;
                    }
                }
            }
            let mut lanes = [[0.0f32; 16]; 3];
            for (lane, slot) in out.iter_mut().enumerate() {
                let k = chosen[lane];
                let mut period = (self.shortest + k) as f32;
                if k > 0 && k + 1 < normalised.len() {
                    normalised[k - 1].store(&mut lanes[0]);
                    normalised[k].store(&mut lanes[1]);
                    normalised[k + 1].store(&mut lanes[2]);
                    period += parabolic_shift(lanes[0][lane], lanes[1][lane], lanes[2][lane]);
                }
                *slot = self.sample_rate / period;
            }
        }
    }
}

impl<V: Lanes> YinEngine for Engine<V> {
    fn track(&mut self, signal: &[f32], out: &mut [f32], _follows: bool) {
        vectorize_method!(V: self => Engine::track_blocks(signal: &'a [f32], out: &'a mut [f32]));
    }
}
