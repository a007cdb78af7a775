//! YIN as `librosa.yin` 0.11 computes it: always a frequency, no voicing decision.

use super::difference::{Difference, parabolic_shift, trough_lanes};
use super::range::PitchRange;
use crate::error::{Result, VoiceError};
use crate::framing::Framing;
use crate::lanes::{Blocks, Lanes, Task, engine_for_this_machine};

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
        let engine = engine_for_this_machine!(
            blocks,
            Engine::new(sample_rate, framing, periods, threshold)
        );
        Ok(Self { framing, engine })
    }

    /// Frames of a signal of `samples` samples.
    pub fn frames(&self, samples: usize) -> usize {
        self.framing.count(samples)
    }

    /// The frequency of each frame, Hz, into `out`.
    pub fn track_into(&mut self, signal: &[f32], out: &mut [f32]) -> Result<()> {
        VoiceError::expect_size("the track", out.len(), self.frames(signal.len()))?;
        self.engine.track(signal, out);
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
    fn track(&mut self, signal: &[f32], out: &mut [f32]);
}

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
    fn track(&mut self, signal: &[f32], out: &mut [f32]) {
        V::vectorize(TrackTask {
            engine: self,
            signal,
            out,
        });
    }
}

struct TrackTask<'a, V> {
    engine: &'a mut Engine<V>,
    signal: &'a [f32],
    out: &'a mut [f32],
}

impl<V: Lanes> Task for TrackTask<'_, V> {
    #[inline(always)]
    fn run(self) {
        self.engine.track_blocks(self.signal, self.out);
    }
}
