//! The autocorrelation of overlapping frames with lags in the lanes of vectors: a product that several
//! frames have is computed once.
//!
//! A lag is `16·row + lane`. At place `o` of a frame all rows see the same sixteen samples from `o` on, each
//! beside one sample of its own, `16·row` before: a load, and a multiply-add to a row. Sixteen places are a
//! block; the first block of a frame in which row `r` looks back no further than the frame's start is block
//! `r`. The blocks of a hop are kept as two sums to a row, of those before the block in which the row may
//! begin and of those from it on, so that a frame that starts in the hop takes the second and one that
//! started earlier takes both. Only the places whose sixteen samples reach beyond the frame's end are its own.
//!
//! Invariant: a frame's sums are taken over its own samples, in an order that depends on the framing and the
//! number of lags alone.

use warpsmith_lanes::Lanes;
use warpsmith_signal::{Framing, smooth_length_at_least};

/// Lags in a row, places in a block.
const LANES: usize = 16;
/// Rows that are added up together, in registers.
const ROWS: usize = 8;
/// Samples that those rows look back to, from the last row's to the first's.
const SPAN: usize = (ROWS - 1) * LANES + 1;

/// Where the parts of a frame lie.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct RunningPlan {
    framing: Framing,
    /// Rows of lags, a multiple of [`ROWS`].
    rows: usize,
    /// Blocks of a frame.
    blocks: usize,
    /// Blocks of a hop.
    step: usize,
    /// Hops of a frame, the last of them perhaps in part.
    hops: usize,
}

impl RunningPlan {
    /// For lags up to `longest`; `None` where hops are not whole blocks or transforms are cheaper.
    pub(super) fn new(framing: Framing, longest: usize) -> Option<Self> {
        let blocks = framing.length.saturating_sub(LANES - 1) / LANES;
        let step = framing.hop / LANES;
        let plan = Self {
            framing,
            rows: (longest + 1).div_ceil(LANES).next_multiple_of(ROWS),
            blocks,
            step,
            hops: blocks.div_ceil(step.max(1)),
        };
        let transform = smooth_length_at_least(framing.length + longest + 1);
        let fresh = framing.hop.min(framing.length) + 2 * LANES;
        // A multiply-add of a row takes about twice as long as what a transform does to a point in a pass.
        let pays = 2 * plan.rows * fresh < transform * transform.ilog2() as usize;
        let fits = framing.hop.is_multiple_of(LANES) && plan.rows < plan.blocks;
        (fits && pays).then_some(plan)
    }

    /// Lags that are computed, from 0 on.
    pub(super) fn lags(&self) -> usize {
        LANES * self.rows
    }
}

/// The frame at hand and the sums of its hops.
#[derive(Clone, Debug)]
pub(super) struct RunningCorrelation<V> {
    plan: RunningPlan,
    /// The frame, silence before it as far as the rows look back, and a vector of silence after it.
    samples: Vec<f32>,
    /// Where each row begins.
    begins: Vec<Begin>,
    /// `[hop, row, part, vector]`: sums of the blocks before the one in which the row begins, and of those from
    /// there on. The frame's first hop stands at `oldest`, and after the last comes the first.
    sums: Vec<V>,
    oldest: usize,
    /// By lag.
    correlation: Vec<f32>,
}

/// The first block in which a row looks back no further than the frame's start: its hop, and its place there.
#[derive(Clone, Copy, Debug)]
struct Begin {
    hop: usize,
    place: usize,
}

/// Sums of sixteen lags: one vector, or two.
type Row<V> = [V; 2];

impl<V: Lanes> RunningCorrelation<V> {
    /// Vectors to a row.
    const PARTS: usize = LANES / V::WIDTH;

    /// Nothing heard yet.
    pub(super) fn new(plan: RunningPlan) -> Self {
        Self {
            plan,
            samples: vec![0.0; plan.lags() + plan.framing.length + LANES],
            begins: (0..plan.rows)
                .map(|row| Begin {
                    hop: row / plan.step,
                    place: row % plan.step,
                })
                .collect(),
            sums: vec![V::splat(0.0); plan.hops * plan.rows * 2 * Self::PARTS],
            oldest: 0,
            correlation: vec![0.0; plan.lags()],
        }
    }

    /// The frame's samples.
    #[inline(always)]
    pub(super) fn frame(&self) -> &[f32] {
        &self.samples[self.plan.lags()..][..self.plan.framing.length]
    }

    /// Its correlation, lag 0 first.
    #[inline(always)]
    pub(super) fn by_lag(&self) -> &[f32] {
        &self.correlation
    }

    /// Goes to frame `index` of `signal`. One that `follows` comes a hop after the one before.
    #[inline(always)]
    pub(super) fn advance(&mut self, signal: &[f32], index: usize, follows: bool) {
        self.take(signal, index);
        let RunningPlan { blocks, step, .. } = self.plan;
        let mut block = 0;
        if follows {
            self.oldest = (self.oldest + 1) % self.plan.hops;
            block = blocks.saturating_sub(step);
        }
        let (mut hop, mut place) = (block / step, block % step);
        while block < blocks {
            self.add_block(block, hop, place);
            (block, place) = (block + 1, place + 1);
            if place == step {
                (hop, place) = (hop + 1, 0);
            }
        }
        self.add_up();
    }

    #[inline(always)]
    fn take(&mut self, signal: &[f32], index: usize) {
        let framing = self.plan.framing;
        let frame = &mut self.samples[self.plan.lags()..][..framing.length];
        let start = (index * framing.hop) as i64 - framing.left() as i64;
        let inside = usize::try_from(start)
            .ok()
            .and_then(|start| signal.get(start..start + framing.length));
        if let Some(inside) = inside {
            frame.copy_from_slice(inside);
            return;
        }
        for (at, slot) in (start..).zip(frame) {
            let source = framing.source(at, signal.len());
            *slot = source.map_or(0.0, |at| signal[at]);
        }
    }

    /// Where the rows of one of the frame's hops stand.
    #[inline(always)]
    fn slot(&self, hop: usize) -> usize {
        let (at, hops) = (self.oldest + hop, self.plan.hops);
        2 * Self::PARTS * self.plan.rows * if at < hops { at } else { at - hops }
    }

    /// Adds a block to the sums of its hop, in which it has this place.
    #[inline(always)]
    fn add_block(&mut self, block: usize, hop: usize, place: usize) {
        let slot = self.slot(hop);
        let size = 2 * Self::PARTS;
        if place == 0 {
            self.sums[slot..slot + size * self.plan.rows].fill(V::splat(0.0));
        }
        for first in (0..self.plan.rows).step_by(ROWS) {
            let mut fresh = [[V::splat(0.0); 2]; ROWS];
            self.products(&mut fresh, first, LANES * block, LANES * (block + 1));
            let begins = &self.begins[first..][..ROWS];
            let slots = &mut self.sums[slot + size * first..][..size * ROWS];
            for (row, fresh) in fresh.iter().enumerate() {
                let part = usize::from(place >= begins[row].place);
                let slots = &mut slots[size * row + Self::PARTS * part..][..Self::PARTS];
                for (sum, fresh) in slots.iter_mut().zip(fresh) {
                    *sum = sum.add(*fresh);
                }
            }
        }
    }

    /// The sums of the whole frame.
    #[inline(always)]
    fn add_up(&mut self) {
        let RunningPlan {
            framing,
            rows,
            blocks,
            hops,
            ..
        } = self.plan;
        let size = 2 * Self::PARTS;
        for first in (0..rows).step_by(ROWS) {
            let mut sums = [[V::splat(0.0); 2]; ROWS];
            self.products(&mut sums, first, LANES * blocks, framing.length);
            let begins = &self.begins[first..][..ROWS];
            for hop in begins[0].hop..hops {
                let shared = &self.sums[self.slot(hop) + size * first..][..size * ROWS];
                for (row, sums) in sums.iter_mut().enumerate() {
                    let shared = &shared[size * row..][..size];
                    if hop > begins[row].hop {
                        for part in 0..Self::PARTS {
                            let whole = shared[part].add(shared[Self::PARTS + part]);
                            sums[part] = sums[part].add(whole);
                        }
                    } else if hop == begins[row].hop {
                        for part in 0..Self::PARTS {
                            sums[part] = sums[part].add(shared[Self::PARTS + part]);
                        }
                    }
                }
            }
            let lags = &mut self.correlation[LANES * first..][..LANES * ROWS];
            for (lags, sums) in lags.as_chunks_mut::<LANES>().0.iter_mut().zip(&sums) {
                for (lags, sum) in lags.chunks_exact_mut(V::WIDTH).zip(sums) {
                    sum.store(lags);
                }
            }
        }
    }

    /// Adds the products at the places from `start` to `end` to the sums of the rows from `first` on.
    #[inline(always)]
    fn products(&self, sums: &mut [Row<V>; ROWS], first: usize, start: usize, end: usize) {
        let front = self.plan.lags();
        let back = front - LANES * first - (SPAN - 1);
        let befores = self.samples[start + back..end + back + SPAN - 1].windows(SPAN);
        let heres = self.samples[start + front..end + front + LANES - 1].windows(LANES);
        for (before, here) in befores.zip(heres) {
            let mut vectors = [V::splat(0.0); 2];
            for (vector, here) in vectors.iter_mut().zip(here.chunks_exact(V::WIDTH)) {
                *vector = V::load(here);
            }
            for (row, sums) in sums.iter_mut().enumerate() {
                let before = V::splat(before[SPAN - 1 - LANES * row]);
                for part in 0..Self::PARTS {
                    sums[part] = vectors[part].mul_add(before, sums[part]);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use warpsmith_lanes::Eight;
    use warpsmith_signal::Padding;

    fn framing(length: usize, hop: usize) -> Framing {
        Framing {
            length,
            hop,
            padding: Padding::CentredZero,
        }
    }

    #[test]
    fn frames_have_the_correlation_of_the_definition() {
        let signal: Vec<f32> = (0..3000)
            .map(|n| (n as f32 * 0.11).sin() + (n as f32 * 0.73).cos() * 0.4)
            .collect();
        for (length, hop, longest) in [
            (1024, 160, 247),
            (903, 48, 200),
            (1600, 512, 100),
            (640, 320, 31),
        ] {
            let framing = framing(length, hop);
            let plan = RunningPlan::new(framing, longest).unwrap();
            let mut running = RunningCorrelation::<Eight>::new(plan);
            for frame in 0..framing.count(signal.len()) {
                running.advance(&signal, frame, frame > 0);
                let found = running.by_lag();
                let samples: Vec<f64> = (0..length)
                    .map(|n| {
                        let at = (frame * hop + n) as i64 - framing.left() as i64;
                        let source = framing.source(at, signal.len());
                        source.map_or(0.0, |at| f64::from(signal[at]))
                    })
                    .collect();
                let energy: f64 = samples.iter().map(|x| x * x).sum();
                for (lag, found) in found[..=longest].iter().enumerate() {
                    let pairs = samples.iter().zip(&samples[lag..]);
                    let expected: f64 = pairs.map(|(a, b)| a * b).sum();
                    let error = (f64::from(*found) - expected).abs();
                    assert!(error <= 5e-7 * energy, "{length} {frame} {lag}: {error}");
                }
                // A frame on its own has the same bits.
                let mut alone = RunningCorrelation::<Eight>::new(plan);
                alone.advance(&signal, frame, false);
                assert_eq!(alone.by_lag(), found);
            }
        }
    }

    #[test]
    fn odd_hops_and_long_periods_are_left_to_transforms() {
        let pays = |framing, longest| RunningPlan::new(framing, longest).is_some();
        assert!(pays(framing(1024, 160), 247));
        assert!(!pays(framing(1024, 161), 247));
        assert!(!pays(framing(2048, 441), 679));
        assert!(!pays(framing(4096, 512), 1500));
        assert!(!pays(framing(257, 160), 250));
    }
}
