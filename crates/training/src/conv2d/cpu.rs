//! Two-dimensional convolution over channels, as networks define it (a correlation): a product of the
//! weights with the picture's shifted copies, which are made where the product reads them.

use rayon::prelude::*;

use crate::error::{ArgumentError, Result};
use crate::matmul::{Matrix, Rows, add_product};

/// The shape of a convolution of `[channel, row, column]` pictures. Pairs are along rows and columns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Conv2d {
    /// Channels of a picture.
    pub in_channels: usize,
    /// Channels of the result.
    pub out_channels: usize,
    /// Rows and columns of a picture.
    pub size: [usize; 2],
    /// Weights of a pair of channels.
    pub taps: [usize; 2],
    /// Positions between results.
    pub stride: [usize; 2],
    /// Zeros at either edge. They are multiplied like any number: an infinite weight makes them NaN.
    pub padding: [usize; 2],
    /// Positions between taps.
    pub dilation: [usize; 2],
    /// Channels are cut into so many groups; a result comes from the group of its channel.
    pub groups: usize,
}

impl Conv2d {
    /// Rows and columns of the result; 0 where the taps do not fit.
    pub fn positions(&self) -> [usize; 2] {
        [0, 1].map(|axis| {
            let reach = self.dilation[axis] * self.taps[axis].saturating_sub(1) + 1;
            let padded = self.size[axis] + 2 * self.padding[axis];
            if padded < reach || self.stride[axis] == 0 {
                0
            } else {
                (padded - reach) / self.stride[axis] + 1
            }
        })
    }

    /// Products of an element of the result.
    pub fn depth(&self) -> usize {
        self.in_channels / self.groups.max(1) * self.taps[0] * self.taps[1]
    }

    /// Convolves the pictures `x` with `weight`, `[out, in / groups, tap row, tap column]`, and adds `bias`,
    /// into `out`.
    pub fn apply(&self, x: &[f32], weight: &[f32], bias: &[f32], out: &mut [f32]) -> Result<()> {
        self.check()?;
        let [rows, columns] = self.positions();
        let (picture, area) = (
            self.in_channels * self.size[0] * self.size[1],
            rows * columns,
        );
        let pictures = x.len().checked_div(picture).unwrap_or(0);
        ArgumentError::expect_size("the pictures", x.len(), pictures * picture)?;
        ArgumentError::expect_size(
            "the weights",
            weight.len(),
            self.out_channels * self.depth(),
        )?;
        ArgumentError::expect_size("the biases", bias.len(), self.out_channels)?;
        let results = pictures * self.out_channels * area;
        ArgumentError::expect_size("the result", out.len(), results)?;
        if results == 0 {
            return Ok(());
        }
        let outputs = self.out_channels / self.groups;
        out.par_chunks_mut(outputs * area)
            .enumerate()
            .for_each(|(index, out)| {
                let (picture_index, group) = (index / self.groups, index % self.groups);
                for (out, bias) in out.chunks_exact_mut(area).zip(&bias[group * outputs..]) {
                    out.fill(*bias);
                }
                let inputs = picture / self.groups;
                let shifted = Shifted {
                    shape: *self,
                    columns,
                    channels: &x[picture_index * picture + group * inputs..][..inputs],
                };
                let weights = Rows {
                    numbers: &weight[group * outputs * self.depth()..],
                    width: self.depth(),
                };
                add_product(&weights, &shifted, self.depth(), area, out);
            });
        Ok(())
    }

    /// Whether the numbers make sense together.
    pub(crate) fn check(&self) -> Result<()> {
        let wrong = |why| ArgumentError::parameter("convolution", format!("{self:?}"), why);
        let steps = self.stride.into_iter().chain(self.dilation);
        if self.groups == 0 || steps.chain(self.taps).any(|number| number == 0) {
            return Err(wrong("taps, stride, dilation and groups must not be 0"));
        }
        if [self.in_channels, self.out_channels]
            .iter()
            .any(|channels| !channels.is_multiple_of(self.groups))
        {
            return Err(wrong("the groups must divide the channels"));
        }
        Ok(())
    }
}

/// A group's channels, once for each tap: its rows are channels and taps, its columns positions of the
/// result.
struct Shifted<'a> {
    shape: Conv2d,
    columns: usize,
    channels: &'a [f32],
}

impl Matrix for Shifted<'_> {
    #[inline(always)]
    fn read(&self, row: usize, first: usize, to: &mut [f32]) {
        let Conv2d {
            size,
            taps,
            stride,
            padding,
            dilation,
            ..
        } = self.shape;
        let channel = row / (taps[0] * taps[1]);
        let tap = [row / taps[1] % taps[0], row % taps[1]];
        let ahead = [tap[0] * dilation[0], tap[1] * dilation[1]];
        let channel = &self.channels[channel * size[0] * size[1]..][..size[0] * size[1]];
        let (mut y, mut x, mut to) = (first / self.columns, first % self.columns, to);
        // Row by row of the result, as far as this piece goes.
        while !to.is_empty() {
            let (now, later) = to.split_at_mut((self.columns - x).min(to.len()));
            now.fill(0.0);
            let source = (y * stride[0] + ahead[0]).checked_sub(padding[0]);
            if let Some(source) = source.filter(|row| *row < size[0]) {
                let line = &channel[source * size[1]..][..size[1]];
                // The first position whose source is not in the padding before the line.
                let begin = padding[1].saturating_sub(ahead[1]).div_ceil(stride[1]);
                let skip = begin.saturating_sub(x).min(now.len());
                let from = (x + skip) * stride[1] + ahead[1];
                let from = from
                    .checked_sub(padding[1])
                    .and_then(|from| line.get(from..));
                let (from, now) = (from.unwrap_or_default(), &mut now[skip..]);
                // A step of 1 apart: its loop is a copy.
                if stride[1] == 1 {
                    let count = now.len().min(from.len());
                    now[..count].copy_from_slice(&from[..count]);
                } else {
                    for (to, x) in now.iter_mut().zip(from.iter().step_by(stride[1])) {
                        *to = *x;
                    }
                }
            }
            (y, x, to) = (y + 1, 0, later);
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Sums of the products and of their absolute values, in f64.
    fn by_definition(conv: Conv2d, x: &[f32], weight: &[f32], bias: &[f32]) -> Vec<(f64, f64)> {
        let [high, wide] = conv.positions();
        let (ins, outs) = (
            conv.in_channels / conv.groups,
            conv.out_channels / conv.groups,
        );
        let pictures = x.len() / (conv.in_channels * conv.size[0] * conv.size[1]);
        let mut out = Vec::new();
        for index in 0..pictures * conv.out_channels * high * wide {
            let (column, row) = (index % wide, index / wide % high);
            let (o, picture) = (
                index / (wide * high) % conv.out_channels,
                index / (wide * high) / conv.out_channels,
            );
            let mut sums = (f64::from(bias[o]), f64::from(bias[o]).abs());
            for c in 0..ins {
                for ky in 0..conv.taps[0] {
                    for kx in 0..conv.taps[1] {
                        let y = (row * conv.stride[0] + ky * conv.dilation[0])
                            .wrapping_sub(conv.padding[0]);
                        let x_at = (column * conv.stride[1] + kx * conv.dilation[1])
                            .wrapping_sub(conv.padding[1]);
                        if y < conv.size[0] && x_at < conv.size[1] {
                            let channel = picture * conv.in_channels + o / outs * ins + c;
                            let x = x[(channel * conv.size[0] + y) * conv.size[1] + x_at];
                            let w = weight[((o * ins + c) * conv.taps[0] + ky) * conv.taps[1] + kx];
                            let product = f64::from(w) * f64::from(x);
                            sums = (sums.0 + product, sums.1 + product.abs());
                        }
                    }
                }
            }
            out.push(sums);
        }
        out
    }

    fn numbers(seed: usize, count: usize) -> Vec<f32> {
        let number = |n: usize| (n.wrapping_mul(2_654_435_761) >> 7) % 2001;
        (0..count)
            .map(|n| number(n + seed) as f32 / 1000.0 - 1.0)
            .collect()
    }

    fn check(conv: Conv2d, pictures: usize, seed: usize) {
        let x = numbers(
            seed,
            pictures * conv.in_channels * conv.size[0] * conv.size[1],
        );
        let weight = numbers(seed + 1, conv.out_channels * conv.depth());
        let bias = numbers(seed + 2, conv.out_channels);
        let [rows, columns] = conv.positions();
        let mut out = vec![f32::NAN; pictures * conv.out_channels * rows * columns];
        conv.apply(&x, &weight, &bias, &mut out).unwrap();
        // As in `matmul`, with the bias as one more product.
        let bound = (conv.depth() + 1) as f64 * 2f64.powi(-23);
        let expected = by_definition(conv, &x, &weight, &bias);
        assert_eq!(out.len(), expected.len());
        for (value, (exact, absolute)) in out.iter().zip(expected) {
            assert!(
                (f64::from(*value) - exact).abs() <= bound * absolute,
                "{conv:?}"
            );
        }
    }

    fn pair(range: std::ops::Range<usize>) -> impl Strategy<Value = [usize; 2]> {
        [range.clone(), range]
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(256))]
        #[test]
        fn every_shape_follows_the_definition(
            (ins, outs, groups, pictures, seed) in (1usize..4, 1usize..4, 1usize..4, 1usize..3, 0usize..1000),
            (size, taps, stride, padding, dilation) in
                (pair(1..12), pair(1..5), pair(1..4), pair(0..6), pair(1..4)),
        ) {
            let conv = Conv2d {
                in_channels: ins * groups, out_channels: outs * groups,
                size, taps, stride, padding, dilation, groups,
            };
            check(conv, pictures, seed);
        }
    }

    const PLAIN: Conv2d = Conv2d {
        in_channels: 5,
        out_channels: 30,
        size: [40, 41],
        taps: [3, 3],
        stride: [1, 1],
        padding: [1, 1],
        dilation: [1, 1],
        groups: 1,
    };

    #[test]
    fn a_picture_of_several_blocks_follows_the_definition() {
        check(PLAIN, 2, 5);
    }

    #[test]
    fn shapes_without_sense_are_refused_and_taps_that_do_not_fit_leave_nothing() {
        let x = [0.0; 5 * 40 * 41];
        for wrong in [
            Conv2d {
                stride: [1, 0],
                ..PLAIN
            },
            Conv2d { groups: 2, ..PLAIN },
            Conv2d { groups: 0, ..PLAIN },
        ] {
            assert!(
                wrong
                    .apply(&x, &[0.0; 30 * 45], &[0.0; 30], &mut [])
                    .is_err()
            );
        }
        let large = Conv2d {
            padding: [0, 0],
            dilation: [20, 1],
            ..PLAIN
        };
        assert_eq!(large.positions()[0], 0);
        large
            .apply(&x, &[0.0; 30 * 45], &[0.0; 30], &mut [])
            .unwrap();
    }
}
