//! Convolution with a long response by overlap-save: blocks of the signal, transformed, multiplied
//! with the response's spectrum, and transformed back.

use warpsmith_lanes::{Blocks, Lanes, engine_for_this_machine, vectorize_method};

use crate::error::{Result, SignalError};
use crate::fourier::RealBlock;

/// A response with its spectrum, and scratch memory for blocks of a signal.
pub struct Convolver {
    response: usize,
    engine: Box<dyn ConvolveEngine>,
}

impl Convolver {
    /// Tables for `response`.
    pub fn new(response: &[f32]) -> Result<Self> {
        if response.is_empty() {
            return Err(SignalError::parameter(
                "response length",
                0,
                "a convolution needs at least one sample",
            ));
        }
        // Blocks of four responses spend a quarter of their work on the overlap.
        let transform = (4 * response.len()).next_power_of_two().max(256);
        Ok(Self {
            response: response.len(),
            engine: engine_for_this_machine!(Blocks::Wide, Engine::new(response, transform)),
        })
    }

    /// The convolution of `signal` with the response: `signal.len() + response − 1` samples.
    pub fn convolve(&mut self, signal: &[f32]) -> Vec<f32> {
        if signal.is_empty() {
            return Vec::new();
        }
        let mut out = vec![0.0; signal.len() + self.response - 1];
        self.engine.convolve(signal, &mut out);
        out
    }
}

trait ConvolveEngine: Send {
    fn convolve(&mut self, signal: &[f32], out: &mut [f32]);
}

struct Engine<V> {
    /// Samples of a block that are not overlap.
    step: usize,
    overlap: usize,
    transform: RealBlock<V>,
    /// The response's spectrum over the transform's length.
    spectrum: Vec<[f32; 2]>,
    bins: Vec<[V; 2]>,
    samples: Vec<V>,
}

impl<V: Lanes> Engine<V> {
    fn new(response: &[f32], length: usize) -> Self {
        let zero = V::splat(0.0);
        let mut transform = RealBlock::new(length);
        let mut bins = vec![[zero; 2]; length / 2 + 1];
        let scale = 1.0 / length as f32;
        for (n, slot) in transform.samples_mut().iter_mut().enumerate() {
            *slot = V::splat(response.get(n).copied().unwrap_or(0.0) * scale);
        }
        transform.forward(&mut bins);
        let mut lanes = [0.0f32; 16];
        let spectrum = bins
            .iter()
            .map(|bin| {
                bin.map(|part| {
                    part.store(&mut lanes);
                    lanes[0]
                })
            })
            .collect();
        Self {
            step: length + 1 - response.len(),
            overlap: response.len() - 1,
            transform,
            spectrum,
            bins,
            samples: vec![zero; length],
        }
    }

    #[inline(always)]
    fn convolve_blocks(&mut self, signal: &[f32], out: &mut [f32]) {
        let mut lanes = [0.0f32; 16];
        let blocks = out.len().div_ceil(self.step);
        for first in (0..blocks).step_by(V::WIDTH) {
            for (n, slot) in self.transform.samples_mut().iter_mut().enumerate() {
                for (lane, value) in lanes[..V::WIDTH].iter_mut().enumerate() {
                    let at = ((first + lane) * self.step + n).checked_sub(self.overlap);
                    *value = at.and_then(|at| signal.get(at)).copied().unwrap_or(0.0);
                }
                *slot = V::load(&lanes);
            }
            self.transform.forward(&mut self.bins);
            for (bin, [re, im]) in self.bins.iter_mut().zip(&self.spectrum) {
                let (re, im) = (V::splat(*re), V::splat(*im));
                let [x, y] = *bin;
                *bin = [y.neg_mul_add(im, x.mul(re)), y.mul_add(re, x.mul(im))];
            }
            self.transform.inverse(&self.bins, &mut self.samples);
            for (n, sample) in self.samples[self.overlap..].iter().enumerate() {
                sample.store(&mut lanes);
                for (lane, value) in lanes[..V::WIDTH].iter().enumerate() {
                    if let Some(slot) = out.get_mut((first + lane) * self.step + n) {
                        *slot = *value;
                    }
                }
            }
        }
    }
}

impl<V: Lanes> ConvolveEngine for Engine<V> {
    fn convolve(&mut self, signal: &[f32], out: &mut [f32]) {
        vectorize_method!(V: self => Engine::convolve_blocks(
            signal: &'a [f32],
            out: &'a mut [f32],
        ));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn noise(length: usize, seed: u32) -> Vec<f32> {
        let mut state = seed;
        (0..length)
            .map(|_| {
                state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                (state >> 8) as f32 / 8_388_608.0 - 1.0
            })
            .collect()
    }

    #[test]
    fn blocks_join_to_the_convolution_by_definition() {
        for (length, response) in [(1, 1), (5, 300), (1000, 1), (3000, 77), (20_000, 513)] {
            let (x, h) = (noise(length, 1), noise(response, 2));
            let out = Convolver::new(&h).unwrap().convolve(&x);
            assert_eq!(out.len(), length + response - 1);
            let largest = out.iter().fold(0.0f32, |peak, y| peak.max(y.abs()));
            for n in (0..out.len()).step_by(1 + out.len() / 400) {
                let low = n.saturating_sub(length - 1);
                let sum: f64 = (low..=n.min(response - 1))
                    .map(|k| f64::from(h[k]) * f64::from(x[n - k]))
                    .sum();
                // An f32 transform errs by some 1e-7 of the largest value for each of its stages.
                assert!((f64::from(out[n]) - sum).abs() < 1e-6 * f64::from(largest.max(1.0)));
            }
        }
        assert!(Convolver::new(&[]).is_err());
        assert!(Convolver::new(&[1.0]).unwrap().convolve(&[]).is_empty());
    }

    #[test]
    fn a_delayed_impulse_delays() {
        let mut response = vec![0.0; 100];
        response[40] = 0.5;
        let x = noise(700, 3);
        let out = Convolver::new(&response).unwrap().convolve(&x);
        for (n, x) in x.iter().enumerate() {
            assert!((out[n + 40] - 0.5 * x).abs() < 1e-6);
        }
    }
}
