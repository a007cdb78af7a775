//! A convolution over many channels, with frames in the lanes, as one product to a frequency: long filters cost
//! no more than short ones.
//!
//! The transform is as long as the signal and the taps that reach over its longer end: the zeros after the signal
//! are those before it, too.

use std::sync::Arc;

use warpsmith_lanes::{Lanes, Task};
use warpsmith_signal::{RealBlock, smooth_length_at_least};

/// Outputs whose products are summed up together: each bin that is loaded is used by all of them.
const TOGETHER: usize = 4;

/// The shape of a layer. Output `p` sees the inputs `p − left .. p − left + taps`.
#[derive(Clone, Copy, Debug)]
pub struct LayerShape {
    /// Channels that go in.
    pub inputs: usize,
    /// Channels that come out.
    pub outputs: usize,
    /// Positions of an input.
    pub length: usize,
    /// Positions of an output.
    pub positions: usize,
    /// Weights from an input to an output.
    pub taps: usize,
    /// Taps before an output's place.
    pub left: usize,
}

/// A planned layer; copies share the filters.
#[derive(Clone)]
pub struct SpectralLayer<V> {
    shape: LayerShape,
    transform: RealBlock<V>,
    /// Of the filters, `[bin, group of outputs, input, output of the group]`.
    spectra: Arc<Vec<[[f32; 2]; TOGETHER]>>,
    /// Bins of the inputs and of the outputs, a channel's together.
    bins: [Vec<[V; 2]>; 2],
    /// An output's positions, an even number, as the transform gives them.
    samples: Vec<V>,
}

impl<V: Lanes> SpectralLayer<V> {
    /// A layer with a multiple of four outputs; `weight` is called with output, input and tap.
    pub fn new(shape: LayerShape, weight: &dyn Fn(usize, usize, usize) -> f32) -> Self {
        let LayerShape {
            inputs,
            outputs,
            length,
            positions,
            taps,
            left,
        } = shape;
        // Taps that only ever see zeros are left out.
        let reach = (left + 1).saturating_sub(positions)..taps.min(left + length);
        let after = (positions + reach.end - 1).saturating_sub(left + length);
        let transform_length = smooth_length_at_least(length + after.max(left - reach.start));
        let mut transform = RealBlock::<V>::new(transform_length);
        let count = transform_length / 2 + 1;
        let mut bins = vec![[V::splat(0.0); 2]; count];
        let groups = outputs / TOGETHER;
        let mut spectra = vec![[[0.0; 2]; TOGETHER]; count * groups * inputs];
        let scale = 1.0 / transform_length as f32;
        for first in (0..outputs * inputs).step_by(V::WIDTH) {
            let pairs = first..(first + V::WIDTH).min(outputs * inputs);
            let samples = V::floats_mut(transform.samples_mut());
            samples.fill(0.0);
            for (lane, pair) in pairs.clone().enumerate() {
                for tap in reach.clone() {
                    // A correlation is a convolution with the filter turned round.
                    let at = (transform_length + left - tap) % transform_length;
                    samples[at * V::WIDTH + lane] =
                        scale * weight(pair / inputs, pair % inputs, tap);
                }
            }
            transform.forward(&mut bins);
            for (bin, values) in bins.iter().enumerate() {
                let values = V::floats(values);
                for (lane, pair) in pairs.clone().enumerate() {
                    let (output, input) = (pair / inputs, pair % inputs);
                    let group = bin * groups + output / TOGETHER;
                    spectra[group * inputs + input][output % TOGETHER] =
                        [values[lane], values[V::WIDTH + lane]];
                }
            }
        }
        let zeros = |channels: usize| vec![[V::splat(0.0); 2]; channels * count];
        Self {
            shape,
            transform,
            spectra: Arc::new(spectra),
            bins: [zeros(inputs), zeros(outputs)],
            samples: vec![V::splat(0.0); positions.next_multiple_of(2)],
        }
    }

    /// Takes inputs, `[channel, position]`, and hands every output channel's positions to `take`.
    pub fn apply(&mut self, x: &[V], mut take: impl FnMut(usize, &[V])) {
        let LayerShape {
            length, positions, ..
        } = self.shape;
        let count = self.bins[0].len() / self.shape.inputs;
        let [from, to] = &mut self.bins;
        for (x, bins) in x.chunks_exact(length).zip(from.chunks_exact_mut(count)) {
            let samples = self.transform.samples_mut();
            samples[..length].copy_from_slice(x);
            samples[length..].fill(V::splat(0.0));
            self.transform.forward(bins);
        }
        V::vectorize(ProductTask {
            count,
            spectra: &self.spectra,
            from,
            to,
        });
        for (channel, bins) in to.chunks_exact(count).enumerate() {
            self.transform.inverse(bins, &mut self.samples);
            take(channel, &self.samples[..positions]);
        }
    }
}

struct ProductTask<'a, V> {
    /// Bins of a channel.
    count: usize,
    spectra: &'a [[[f32; 2]; TOGETHER]],
    from: &'a [[V; 2]],
    to: &'a mut [[V; 2]],
}

impl<V: Lanes> Task for ProductTask<'_, V> {
    #[inline(always)]
    fn run(self) {
        let count = self.count;
        let inputs = self.from.len() / count;
        let groups = self.to.len() / count / TOGETHER;
        for (row, filters) in self.spectra.chunks_exact(inputs).enumerate() {
            let (bin, group) = (row / groups, row % groups);
            let mut sums = [[V::splat(0.0); 2]; TOGETHER];
            for ([re, im], filters) in self.from[bin..].iter().step_by(count).zip(filters) {
                for (sum, [a, b]) in sums.iter_mut().zip(filters) {
                    let (a, b) = (V::splat(*a), V::splat(*b));
                    sum[0] = im.neg_mul_add(b, re.mul_add(a, sum[0]));
                    sum[1] = im.mul_add(a, re.mul_add(b, sum[1]));
                }
            }
            for (n, sum) in sums.iter().enumerate() {
                self.to[(group * TOGETHER + n) * count + bin] = *sum;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use warpsmith_lanes::{One, Vector};

    #[test]
    fn every_reach_over_the_ends_follows_the_definition() {
        for (length, positions, taps, left) in [
            (8, 8, 64, 31),
            (16, 16, 5, 2),
            (9, 8, 4, 1),
            (4, 4, 1, 0),
            (20, 12, 9, 0),
            (6, 6, 7, 6),
        ] {
            let shape = LayerShape {
                inputs: 3,
                outputs: 8,
                length,
                positions,
                taps,
                left,
            };
            let number = |n: usize| ((n * 37 % 101) as f32 - 50.0) / 50.0;
            let weight = |o: usize, c: usize, t: usize| number((o * 3 + c) * taps + t + 7);
            let x: Vec<f32> = (0..3 * length).map(number).collect();
            let lanes: Vec<One> = x.iter().map(|x| One::splat(*x)).collect();
            let mut seen = 0;
            SpectralLayer::new(shape, &weight).apply(&lanes, |o, found| {
                seen += 1;
                for (p, found) in One::floats(found).iter().enumerate() {
                    let mut sum = 0.0f64;
                    for c in 0..3 {
                        for t in 0..taps {
                            let at = (p + t).checked_sub(left).filter(|at| *at < length);
                            let x = at.map_or(0.0, |at| x[c * length + at]);
                            sum += f64::from(x) * f64::from(weight(o, c, t));
                        }
                    }
                    assert!(
                        (f64::from(*found) - sum).abs() < 2e-5,
                        "{shape:?} {found} {sum}"
                    );
                }
            });
            assert_eq!(seen, 8);
        }
    }
}
