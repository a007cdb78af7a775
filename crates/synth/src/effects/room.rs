//! The room: delay, first reflections and reverb, at half the rate.
//!
//! Echoes and tails of ambient music have little above 10 kHz, and a wall takes that first. At half
//! the rate the room takes half the memory and half the time; a stream of less than 32 kHz has
//! nothing to spare and keeps its rate.

use super::chain::Gains;
use super::delay::Delay;
use super::half_band::{BLOCK, Block, Double, Halve};
use super::reverb::Reverb;
use crate::sound::{Lane, QUANTUM};

/// What of the dry sound goes into the reverb.
pub(crate) const SEND: f32 = 0.35;
/// Streams of this rate and more have a room of half the rate.
const HALVED_FROM: u32 = 32_000;

/// How many samples of the stream are one of the room.
pub(crate) fn samples_each(sample_rate: u32) -> u32 {
    if sample_rate >= HALVED_FROM { 2 } else { 1 }
}

/// The room of one stream.
#[derive(Debug)]
pub(crate) struct Room {
    /// Into the delay, and both sides into the reverb; both sides out of the room.
    into: [Halve; 3],
    out_of: [Double; 2],
    delay: Delay,
    reverb: Reverb,
    sample_rate: u32,
    is_halved: bool,
}

impl Clone for Room {
    fn clone(&self) -> Self {
        Self {
            delay: self.delay.clone(),
            reverb: self.reverb.clone(),
            ..*self
        }
    }

    /// Into the memory that is there.
    fn clone_from(&mut self, source: &Self) {
        self.into = source.into;
        self.out_of = source.out_of;
        self.delay.clone_from(&source.delay);
        self.reverb.clone_from(&source.reverb);
        self.sample_rate = source.sample_rate;
        self.is_halved = source.is_halved;
    }
}

impl Room {
    pub(crate) fn new(bpm: f32, space: f64, stream_rate: u32) -> Self {
        let each = samples_each(stream_rate);
        let sample_rate = stream_rate / each;
        Self {
            into: [Halve::default(); 3],
            out_of: [Double::default(); 2],
            delay: Delay::new(bpm, sample_rate),
            reverb: Reverb::new(space, sample_rate),
            sample_rate,
            is_halved: each == 2,
        }
    }

    /// The delay follows another tempo.
    pub(crate) fn aim(&mut self, bpm: f32) {
        self.delay.aim(bpm, self.sample_rate);
    }

    /// Takes a quantum in, `middle` into the delay and both sides into the reverb, and gives what
    /// comes back of both.
    #[inline(always)]
    pub(crate) fn run(
        &mut self,
        quantum: u64,
        space: f64,
        gains: &Gains,
        middle: &Lane,
        sides: &[Lane; 2],
    ) -> [Lane; 2] {
        if self.is_halved {
            let inputs = [middle, &sides[0], &sides[1]];
            let [middle, left, right] = Halve::run(&mut self.into, inputs);
            let sides = [left, right];
            let gain = |which, j| gains.at(which, 2 * j);
            let wet = self.answer(quantum, space, gain, &middle, &sides);
            return Double::run(&mut self.out_of, &wet);
        }
        let mut wet = [[0.0; QUANTUM]; 2];
        for part in 0..2 {
            let from = part * BLOCK;
            let block = |lane: &Lane| -> Block { std::array::from_fn(|j| lane[from + j]) };
            let gain = |which, j| gains.at(which, from + j);
            let sides = [block(&sides[0]), block(&sides[1])];
            let number = 2 * quantum + part as u64;
            let heard = self.answer(number, space, gain, &block(middle), &sides);
            for side in 0..2 {
                wet[side][from..from + BLOCK].copy_from_slice(&heard[side]);
            }
        }
        wet
    }

    /// A block at the room's own rate.
    #[inline(always)]
    #[allow(clippy::needless_range_loop)] // plain loops become vector loops
    fn answer(
        &mut self,
        number: u64,
        space: f64,
        gain: impl Fn(usize, usize) -> f32,
        middle: &Block,
        sides: &[Block; 2],
    ) -> [Block; 2] {
        let delayed = self.delay.run(number, middle);
        let mut sent = [[0.0; BLOCK]; 2];
        for side in 0..2 {
            for j in 0..BLOCK {
                sent[side][j] = SEND * (sides[side][j] + delayed[side][j]);
            }
        }
        let mut wet = self.reverb.run(number, space, &sent);
        for side in 0..2 {
            for j in 0..BLOCK {
                wet[side][j] = gain(1, j) * delayed[side][j] + gain(2, j) * wet[side][j];
            }
        }
        wet
    }
}
