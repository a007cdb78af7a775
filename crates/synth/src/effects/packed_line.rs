//! A long delay line that is written by whole blocks and read from anywhere.
//!
//! A block is stored as 16-bit numbers and the step between them, so that a line takes half the
//! memory of floats: what a listener costs is its lines. The error of a block is 90 dB below its
//! peak, whatever its level, and below the dither of 16-bit samples.
//!
//! Invariant: a read reaches back at least a block, so that what it needs is written.

use super::half_band::{BLOCK, Block};
use crate::sound::swell::ROUNDER;
use crate::sound::{Aligned, MOMENTS};
use warpsmith_lanes::prefetch;

/// Blocks ahead of a window that are fetched.
const AHEAD: usize = 3;
/// Numbers from the middle to either end.
const STEPS: f32 = 32_767.0;
/// A block whose peak is below is silence: −300 dB.
const SILENCE: f32 = 1e-15;

/// The line.
#[derive(Debug)]
pub(crate) struct PackedLine {
    /// What stands in the first block stands again behind the last, so that a read over the end
    /// needs no second piece.
    numbers: Vec<i16>,
    /// What the numbers of each block are multiplied by.
    steps: Vec<f32>,
    /// The block that is written next.
    next: usize,
}

impl Clone for PackedLine {
    fn clone(&self) -> Self {
        Self {
            numbers: self.numbers.clone(),
            steps: self.steps.clone(),
            next: self.next,
        }
    }

    /// Into the memory that is there.
    fn clone_from(&mut self, source: &Self) {
        self.numbers.clone_from(&source.numbers);
        self.steps.clone_from(&source.steps);
        self.next = source.next;
    }
}

/// What stood in a line: a block, and the sample before it.
#[derive(Clone, Copy)]
pub(crate) struct Window<'a> {
    numbers: &'a [i16; BLOCK + 1],
    /// Of the block in which the window begins, and of the one after it.
    steps: [f32; 2],
    /// Numbers of the first one.
    of_first: i32,
}

impl Window<'_> {
    /// The block, or what was there a sample before each of its samples.
    #[inline(always)]
    #[allow(clippy::needless_range_loop)] // plain loops become vector loops
    fn block<const BEFORE: usize>(&self) -> Block {
        let ([first, second], of_first) = (self.steps, self.of_first - 1 + BEFORE as i32);
        let mut block = [0.0; BLOCK];
        for j in 0..BLOCK {
            let is_first = PLACES.0[j] < of_first;
            let number = f32::from(self.numbers[j + 1 - BEFORE]);
            block[j] = number * if is_first { first } else { second };
        }
        block
    }

    /// The block between the samples: each with its share of the sample before it, which grows by
    /// `slope` with a sample. Numbers are unpacked for both: a vector that lies across two that have
    /// just been written would wait for them.
    #[inline(always)]
    #[allow(clippy::needless_range_loop)] // plain loops become vector loops
    pub(crate) fn between(&self, share: f32, slope: f32) -> Block {
        let (now, before) = (self.block::<0>(), self.block::<1>());
        let mut block = [0.0; BLOCK];
        for j in 0..BLOCK {
            block[j] = now[j] + (share + slope * MOMENTS.0[j]) * (before[j] - now[j]);
        }
        block
    }
}

/// The numbers 0 to 31 in 32 bits: a vector holds sixteen.
static PLACES: Aligned<[i32; BLOCK]> = {
    let mut places = [0; BLOCK];
    let mut j = 0;
    while j < BLOCK {
        places[j] = j as i32;
        j += 1;
    }
    Aligned(places)
};

impl PackedLine {
    /// A silent line from which samples up to `longest` ago can be read.
    pub(crate) fn new(longest: usize) -> Self {
        let count = longest.max(BLOCK).div_ceil(BLOCK);
        Self {
            numbers: vec![0; (count + 1) * BLOCK],
            steps: vec![0.0; count],
            next: 0,
        }
    }

    /// The block of `ago` samples ago and the sample before it; `ago` is [`BLOCK`] to one less than
    /// the longest.
    #[inline(always)]
    pub(crate) fn window(&self, ago: usize) -> Window<'_> {
        let count = self.steps.len();
        let back = (ago + 1).div_ceil(BLOCK);
        let inside = back * BLOCK - (ago + 1);
        let turned = |at: usize| if at < count { at } else { at - count };
        let first = turned(self.next + count - back);
        let place = first * BLOCK + inside;
        // With a thousand streams no line is in the cache; its next blocks are by the time.
        if let Some(later) = self.numbers.get(place + AHEAD * BLOCK) {
            prefetch(later);
        }
        Window {
            // Whoever asks for what is not there gets silence; there is no way to ask for it.
            numbers: self.numbers[place..]
                .first_chunk()
                .unwrap_or(&[0; BLOCK + 1]),
            steps: [self.steps[first], self.steps[turned(first + 1)]],
            of_first: (BLOCK - inside) as i32,
        }
    }

    /// Writes the next block.
    #[inline(always)]
    pub(crate) fn write(&mut self, block: &Block) {
        let peak = self.note_peak(block);
        self.put(block, scale(peak));
    }

    /// Writes the next block of each line: the quotients of all are one of vectors.
    #[inline(always)]
    pub(crate) fn write_all<const N: usize>(lines: &mut [Self; N], blocks: &[Block; N]) {
        let mut peaks = [0.0; N];
        for i in 0..N {
            peaks[i] = lines[i].note_peak(&blocks[i]);
        }
        let mut scales = [0.0; N];
        for i in 0..N {
            scales[i] = scale(peaks[i]);
        }
        for i in 0..N {
            lines[i].put(&blocks[i], scales[i]);
        }
    }

    /// Notes the step of the next block; gives its largest magnitude, or 0 for silence.
    #[inline(always)]
    fn note_peak(&mut self, block: &Block) -> f32 {
        // Magnitudes are in the order of their bits, and integers have a vector maximum.
        let mut peaks = [0; BLOCK / 2];
        for j in 0..BLOCK / 2 {
            let [low, high] = [block[j], block[j + BLOCK / 2]].map(|value| value.to_bits() << 1);
            peaks[j] = low.max(high);
        }
        let mut peak = 0;
        for value in peaks {
            peak = peak.max(value);
        }
        let peak = f32::from_bits(peak >> 1);
        // Faded out, or no number.
        let heard = (SILENCE..f32::INFINITY).contains(&peak);
        let peak = if heard { peak } else { 0.0 };
        self.steps[self.next] = peak * (1.0 / STEPS);
        peak
    }

    /// The next block as numbers.
    #[inline(always)]
    fn put(&mut self, block: &Block, scale: f32) {
        let mut numbers = [0; BLOCK];
        for j in 0..BLOCK {
            let rounded = (block[j] * scale + ROUNDER).to_bits();
            numbers[j] = rounded.wrapping_sub(ROUNDER.to_bits()) as i16;
        }
        let count = self.steps.len();
        let places = self.numbers.as_chunks_mut::<BLOCK>().0;
        places[self.next] = numbers;
        if self.next == 0 {
            places[count] = numbers;
        }
        self.next += 1;
        if self.next == count {
            self.next = 0;
        }
    }
}

/// What a block is multiplied by.
#[inline(always)]
fn scale(peak: f32) -> f32 {
    let scale = STEPS / peak;
    if peak > 0.0 { scale } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The sample before the block, and the block.
    fn samples(window: &Window) -> [f32; BLOCK + 1] {
        let (now, before) = (window.block::<0>(), window.block::<1>());
        assert_eq!(now[..BLOCK - 1], before[1..]);
        std::array::from_fn(|j| if j < BLOCK { before[j] } else { now[j - 1] })
    }

    #[test]
    fn every_sample_comes_back_after_any_delay_that_fits() {
        for longest in [64, 100, 129, 1_000] {
            let mut line = PackedLine::new(longest);
            for first in (0..5_000).step_by(BLOCK) {
                for ago in [BLOCK, BLOCK + 1, longest / 2 + 7, longest - 1] {
                    let window = samples(&line.window(ago));
                    for (j, value) in window.iter().enumerate() {
                        let position = (first + j).checked_sub(ago + 1);
                        let expected = position.map_or(0.0, |position| position as f32 + 1.0);
                        let error = (value - expected).abs();
                        // Half a step of a block's peak.
                        let most = (expected + BLOCK as f32) / STEPS / 2.0 + f32::EPSILON;
                        assert!(error <= most, "{longest}, {ago} before {first}: {error}");
                    }
                }
                let block = std::array::from_fn(|j| (first + j) as f32 + 1.0);
                line.write(&block);
            }
        }
    }

    #[test]
    fn lines_that_are_written_together_hold_what_each_would_alone() {
        let mut together = [0; 3].map(|_| PackedLine::new(200));
        let mut alone = together.clone();
        for first in (0..2_000).step_by(BLOCK) {
            let blocks: [Block; 3] = std::array::from_fn(|i| {
                std::array::from_fn(|j| i as f32 * ((first + j) as f32 * 0.37).sin())
            });
            PackedLine::write_all(&mut together, &blocks);
            for (line, block) in alone.iter_mut().zip(&blocks) {
                line.write(block);
            }
            for (a, b) in together.iter().zip(&alone) {
                assert_eq!(samples(&a.window(150)), samples(&b.window(150)));
            }
        }
    }

    #[test]
    fn silence_and_what_is_no_number_are_silence() {
        let mut line = PackedLine::new(BLOCK + 1);
        for value in [0.0, -0.0, 1e-30, f32::NAN, f32::INFINITY] {
            line.write(&[value; BLOCK]);
            line.write(&[value; BLOCK]);
            assert_eq!(samples(&line.window(BLOCK)), [0.0; BLOCK + 1], "{value}");
        }
    }
}
