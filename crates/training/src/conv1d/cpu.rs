//! One-dimensional convolution over channels, as networks define it (a correlation).

use crate::error::{ArgumentError, Result};
use warpsmith_lanes::{Task, with_widest};

/// The shape of a convolution of `[channel, position]` signals.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Conv1d {
    /// Channels of the signal.
    pub in_channels: usize,
    /// Channels of the result.
    pub out_channels: usize,
    /// Weights of a pair of channels.
    pub taps: usize,
    /// Positions between results.
    pub stride: usize,
    /// Zeros before and after the signal.
    pub padding: usize,
    /// Positions between taps.
    pub dilation: usize,
}

impl Conv1d {
    /// Positions of the result of a signal of `length` positions; 0 where the taps do not fit.
    pub fn positions(&self, length: usize) -> usize {
        let reach = self.dilation * self.taps.saturating_sub(1) + 1;
        let padded = length + 2 * self.padding;
        if padded < reach || self.stride == 0 {
            0
        } else {
            (padded - reach) / self.stride + 1
        }
    }

    /// Convolves one signal `x` with `weight`, `[out, in, tap]`, and adds `bias`, into `out`.
    pub fn apply(&self, x: &[f32], weight: &[f32], bias: &[f32], out: &mut [f32]) -> Result<()> {
        if self.in_channels == 0 || self.stride == 0 || self.dilation == 0 {
            return Err(ArgumentError::parameter(
                "convolution",
                format!("{self:?}"),
                "channels, stride and dilation must not be 0",
            ));
        }
        let length = x.len() / self.in_channels;
        let positions = self.positions(length);
        ArgumentError::expect_size("the signal", x.len(), self.in_channels * length)?;
        let weights = self.out_channels * self.in_channels * self.taps;
        ArgumentError::expect_size("the weights", weight.len(), weights)?;
        ArgumentError::expect_size("the biases", bias.len(), self.out_channels)?;
        ArgumentError::expect_size("the result", out.len(), self.out_channels * positions)?;
        if positions == 0 {
            return Ok(());
        }
        with_widest(Channels {
            shape: *self,
            length,
            positions,
            inputs: [x, weight, bias],
            out,
        });
        Ok(())
    }

    /// Adds one tap's products to the positions that it reaches.
    #[inline(always)]
    fn add_tap(&self, channel: &[f32], tap: usize, weight: f64, sums: &mut [f64]) {
        let ahead = tap * self.dilation;
        // The first position whose source is not in the padding before the signal.
        let first = self
            .padding
            .saturating_sub(ahead)
            .div_ceil(self.stride)
            .min(sums.len());
        let source = first * self.stride + ahead - self.padding;
        let samples = channel.get(source..).unwrap_or_default();
        let sums = &mut sums[first..];
        // A step of 1 apart: its loop is a vector loop.
        if self.stride == 1 {
            for (sum, x) in sums.iter_mut().zip(samples) {
                *sum += weight * f64::from(*x);
            }
        } else {
            for (sum, x) in sums.iter_mut().zip(samples.iter().step_by(self.stride)) {
                *sum += weight * f64::from(*x);
            }
        }
    }
}

/// The channels of the result, one after another.
struct Channels<'a> {
    shape: Conv1d,
    length: usize,
    positions: usize,
    /// Signal, weights, biases.
    inputs: [&'a [f32]; 3],
    out: &'a mut [f32],
}

impl Task for Channels<'_> {
    #[inline(always)]
    fn run(self) {
        let shape = self.shape;
        let [x, weight, bias] = self.inputs;
        let rows = weight.chunks_exact((shape.in_channels * shape.taps).max(1));
        let mut sums = vec![0.0f64; self.positions];
        let channels = self.out.chunks_exact_mut(self.positions);
        for ((out, row), bias) in channels.zip(rows).zip(bias) {
            sums.fill(f64::from(*bias));
            let signal = x.chunks_exact(self.length);
            for (channel, taps) in signal.zip(row.chunks_exact(shape.taps)) {
                for (tap, weight) in taps.iter().enumerate() {
                    shape.add_tap(channel, tap, f64::from(*weight), &mut sums);
                }
            }
            for (slot, sum) in out.iter_mut().zip(&sums) {
                *slot = *sum as f32;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn by_definition(conv: Conv1d, x: &[f32], weight: &[f32], bias: &[f32]) -> Vec<f32> {
        let length = x.len() / conv.in_channels;
        let mut out = Vec::new();
        for (o, bias) in bias.iter().enumerate() {
            for t in 0..conv.positions(length) {
                let mut sum = f64::from(*bias);
                for c in 0..conv.in_channels {
                    for k in 0..conv.taps {
                        let at = (t * conv.stride + k * conv.dilation).checked_sub(conv.padding);
                        if let Some(x) = at.filter(|at| *at < length).map(|at| x[c * length + at]) {
                            let w = weight[(o * conv.in_channels + c) * conv.taps + k];
                            sum += f64::from(w) * f64::from(x);
                        }
                    }
                }
                out.push(sum as f32);
            }
        }
        out
    }

    #[test]
    fn every_stride_padding_and_dilation_follows_the_definition() {
        for (taps, stride, padding, dilation) in [
            (1, 1, 0, 1),
            (3, 1, 1, 1),
            (3, 2, 1, 1),
            (5, 3, 4, 2),
            (4, 1, 9, 3),
            (2, 5, 0, 7),
        ] {
            let conv = Conv1d {
                in_channels: 3,
                out_channels: 4,
                taps,
                stride,
                padding,
                dilation,
            };
            let number = |n: usize| ((n * 37 % 101) as f32 - 50.0) / 50.0;
            let x: Vec<f32> = (0..3 * 20).map(number).collect();
            let weight: Vec<f32> = (0..12 * taps).map(|n| number(n + 7)).collect();
            let bias = [0.5, -1.0, 0.0, 2.0];
            let mut out = vec![f32::NAN; 4 * conv.positions(20)];
            conv.apply(&x, &weight, &bias, &mut out).unwrap();
            let expected = by_definition(conv, &x, &weight, &bias);
            assert_eq!(out.len(), expected.len());
            for (a, b) in out.iter().zip(expected) {
                assert!((a - b).abs() < 1e-6, "{conv:?}");
            }
        }
    }

    #[test]
    fn taps_that_do_not_fit_leave_no_positions() {
        let conv = Conv1d {
            in_channels: 1,
            out_channels: 1,
            taps: 5,
            stride: 1,
            padding: 0,
            dilation: 1,
        };
        assert_eq!(conv.positions(4), 0);
        conv.apply(&[1.0; 4], &[1.0; 5], &[0.0], &mut []).unwrap();
    }
}
