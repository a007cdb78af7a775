//! Weighted sums of many inputs for several outputs at once, with frames in the lanes.
//!
//! A convolution whose input lies `[position, channel]` is one, too: the taps that reach inside the signal
//! are neighbours there.

use warpsmith_lanes::{Lanes, Task};

/// Outputs that are summed up together: each input that is loaded is used by all of them.
const TOGETHER: usize = 8;

/// The weights and biases of a layer.
pub struct Dense {
    inputs: usize,
    /// `[group, input, output of the group]`; zeros after the last output.
    weights: Vec<[f32; TOGETHER]>,
    bias: Vec<f32>,
}

impl Dense {
    /// A layer of `inputs` inputs and an output to a bias; `weight` is called with output and input.
    pub fn new(inputs: usize, bias: &[f32], weight: &dyn Fn(usize, usize) -> f32) -> Self {
        let mut weights = Vec::with_capacity(inputs * bias.len().div_ceil(TOGETHER));
        for group in (0..bias.len()).step_by(TOGETHER) {
            for input in 0..inputs {
                weights.push(std::array::from_fn(|n| {
                    let output = group + n;
                    if output < bias.len() {
                        weight(output, input)
                    } else {
                        0.0
                    }
                }));
            }
        }
        Self {
            inputs,
            weights,
            bias: bias.to_vec(),
        }
    }

    /// Inputs of an output.
    #[inline]
    pub fn inputs(&self) -> usize {
        self.inputs
    }

    /// How much of an input goes into an output.
    #[inline]
    pub fn weight(&self, output: usize, input: usize) -> f32 {
        self.weights[output / TOGETHER * self.inputs + input][output % TOGETHER]
    }

    /// What an output has without any input.
    #[inline]
    pub fn bias(&self) -> &[f32] {
        &self.bias
    }

    /// The outputs, not less than `floor`, of the inputs from `first` on; the others are zero.
    pub fn apply<V: Lanes>(&self, first: usize, x: &[V], floor: f32, out: &mut [V]) {
        V::vectorize(SumTask {
            layer: self,
            first,
            x,
            floor,
            out,
        });
    }

    /// A convolution with three taps and a zero before and after: `[position, channel]` to
    /// `[position, output]`, positives only.
    pub fn convolve3<V: Lanes>(&self, stride: usize, x: &[V], out: &mut [V]) {
        let channels = self.inputs / 3;
        let length = x.len() / channels;
        for (position, out) in out.chunks_exact_mut(self.bias.len()).enumerate() {
            let (begin, end) = (position * stride, (position * stride + 2).min(length));
            let skipped = usize::from(begin == 0);
            let x = &x[(begin + skipped - 1) * channels..end * channels];
            self.apply(skipped * channels, x, 0.0, out);
        }
    }
}

struct SumTask<'a, V> {
    layer: &'a Dense,
    first: usize,
    x: &'a [V],
    floor: f32,
    out: &'a mut [V],
}

impl<V: Lanes> Task for SumTask<'_, V> {
    #[inline(always)]
    fn run(self) {
        let Dense {
            inputs,
            weights,
            bias,
        } = self.layer;
        let groups = weights.chunks_exact(*inputs);
        let outputs = self.out.chunks_mut(TOGETHER).zip(bias.chunks(TOGETHER));
        for ((out, bias), weights) in outputs.zip(groups) {
            let mut sums = [V::splat(0.0); TOGETHER];
            for (x, weights) in self.x.iter().zip(&weights[self.first..]) {
                for (sum, weight) in sums.iter_mut().zip(weights) {
                    *sum = x.mul_add(V::splat(*weight), *sum);
                }
            }
            for ((out, sum), bias) in out.iter_mut().zip(&sums).zip(bias) {
                *out = sum.add(V::splat(*bias)).max(V::splat(self.floor));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use warpsmith_lanes::{One, Vector};

    fn number(n: usize) -> f32 {
        ((n * 37 % 101) as f32 - 50.0) / 50.0
    }

    #[test]
    fn a_convolution_reaches_over_both_ends_and_keeps_positives() {
        let (channels, outputs) = (5, 11);
        let bias: Vec<f32> = (0..outputs).map(|n| 0.1 * number(n)).collect();
        let weight = |o: usize, c: usize, t: usize| number((o * channels + c) * 3 + t);
        let layer = Dense::new(3 * channels, &bias, &|o, i| {
            weight(o, i % channels, i / channels)
        });
        assert_eq!(layer.weight(9, 2 * channels + 3), weight(9, 3, 2));
        for (length, stride) in [(4usize, 1usize), (4, 2), (2, 2), (1, 1)] {
            let x: Vec<f32> = (0..length * channels).map(|n| number(n + 3)).collect();
            let lanes: Vec<One> = x.iter().map(|x| One::splat(*x)).collect();
            let positions = (length - 1) / stride + 1;
            let mut out = vec![One::splat(f32::NAN); positions * outputs];
            layer.convolve3(stride, &lanes, &mut out);
            for p in 0..positions {
                for (o, bias) in bias.iter().enumerate() {
                    let mut sum = *bias;
                    for t in 0..3 {
                        if let Some(at) = (p * stride + t).checked_sub(1).filter(|at| *at < length)
                        {
                            sum += (0..channels)
                                .map(|c| x[at * channels + c] * weight(o, c, t))
                                .sum::<f32>();
                        }
                    }
                    let found = One::floats(&out)[p * outputs + o];
                    assert!((found - sum.max(0.0)).abs() < 1e-5, "{found} {sum}");
                }
            }
        }
    }
}
