//! Another rate for sound that is still arriving: any cutting into chunks gives the bits of the whole.
//!
//! Invariant: `waiting` starts `before` samples ahead of the next period of inputs that has no outputs yet, the
//! silence ahead of the signal included.

use warpsmith_lanes::{Blocks, InstructionSet};

use super::resampler::{Filtering, Resampler};

/// A conversion of a stream.
#[derive(Clone, Debug)]
pub struct ResampleStream {
    resampler: Resampler,
    waiting: Vec<f32>,
    received: usize,
    sent: usize,
}

impl ResampleStream {
    /// A stream that has heard nothing.
    pub fn new(resampler: Resampler) -> Self {
        Self {
            waiting: vec![0.0; resampler.before()],
            resampler,
            received: 0,
            sent: 0,
        }
    }

    /// Samples that leave for one that comes.
    pub fn ratio(&self) -> f64 {
        let (up, down, ..) = self.resampler.polyphase();
        up as f64 / down as f64
    }

    /// Takes the next samples; appends the samples at the other rate whose surroundings they complete.
    pub fn process(&mut self, chunk: &[f32], out: &mut Vec<f32>) {
        self.received += chunk.len();
        if self.resampler.is_identity() {
            out.extend_from_slice(chunk);
            return;
        }
        self.waiting.extend_from_slice(chunk);
        let (up, down, taps, ..) = self.resampler.polyphase();
        // The last output of a period looks at `taps` samples from at most `down − 1` inputs on.
        let periods = (self.waiting.len() + 1).saturating_sub(taps) / down;
        self.emit(periods * up, out);
        self.waiting.drain(..periods * down);
    }

    /// Ends the signal; appends what is left, with silence after it.
    pub fn finish(mut self, out: &mut Vec<f32>) {
        if !self.resampler.is_identity() {
            let all = self.resampler.output_length(self.received);
            self.emit(all - self.sent, out);
        }
    }

    fn emit(&mut self, count: usize, out: &mut Vec<f32>) {
        let at = out.len();
        out.resize(at + count, 0.0);
        let task = Filtering {
            resampler: &self.resampler,
            signal: &self.waiting,
            start: 0,
            out: &mut out[at..],
        };
        InstructionSet::widest().with_lanes(Blocks::Wide, task);
        self.sent += count;
    }
}

#[cfg(test)]
mod tests {
    use super::super::resampler::Quality;
    use super::*;

    #[test]
    fn any_cutting_gives_the_bits_of_the_whole() {
        let signal: Vec<f32> = (0..9973).map(|n| (n as f32 * 0.37).sin()).collect();
        for (from, to) in [
            (44_100, 16_000),
            (16_000, 22_050),
            (8000, 8000),
            (3, 1),
            (1, 4),
        ] {
            let resampler = Resampler::new(from, to, Quality::Fast).unwrap();
            let whole = resampler.process(&signal);
            for size in [1, 7, 160, 4096, 20_000] {
                let (mut stream, mut out) = (ResampleStream::new(resampler.clone()), Vec::new());
                for chunk in signal.chunks(size) {
                    stream.process(chunk, &mut out);
                    assert!(out.len() <= whole.len());
                }
                stream.finish(&mut out);
                assert_eq!(out, whole, "{from} to {to} in chunks of {size}");
            }
            let mut nothing = Vec::new();
            ResampleStream::new(resampler).finish(&mut nothing);
            assert!(nothing.is_empty());
        }
    }
}
