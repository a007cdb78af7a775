//! Fourier transforms of the rows of a tile.

use super::super::control::Machine;
use super::super::lane_function::{bits as float_bits, number};
use crate::tile::TileSpace;
use std::f64::consts::TAU;

/// The transform of a row in place, without a factor: by halves where the length is even, else by its sum.
fn transform(row: &mut [(f64, f64)], inverse: bool) {
    let n = row.len();
    if n <= 1 {
        return;
    }
    let sign = if inverse { 1.0 } else { -1.0 };
    let turn = |k: usize| {
        let angle = sign * TAU * k as f64 / n as f64;
        (angle.cos(), angle.sin())
    };
    let times = |(a, b): (f64, f64), (c, d): (f64, f64)| (a * c - b * d, a * d + b * c);
    if n % 2 == 1 {
        let sums: Vec<(f64, f64)> = (0..n)
            .map(|k| {
                row.iter().enumerate().fold((0.0, 0.0), |sum, (j, x)| {
                    let term = times(*x, turn(j * k % n));
                    (sum.0 + term.0, sum.1 + term.1)
                })
            })
            .collect();
        row.copy_from_slice(&sums);
        return;
    }
    let mut even: Vec<(f64, f64)> = row.iter().step_by(2).copied().collect();
    let mut odd: Vec<(f64, f64)> = row.iter().skip(1).step_by(2).copied().collect();
    transform(&mut even, inverse);
    transform(&mut odd, inverse);
    for k in 0..n / 2 {
        let term = times(odd[k], turn(k));
        row[k] = (even[k].0 + term.0, even[k].1 + term.1);
        row[k + n / 2] = (even[k].0 - term.0, even[k].1 - term.1);
    }
}

impl Machine<'_> {
    /// Each row of pairs becomes its transform.
    pub(super) fn tile_fourier(&mut self, lane: usize, tile: TileSpace<'_>, inverse: bool) {
        let Some(&length) = tile.0.shape.last() else {
            return;
        };
        let ty = tile.0.scalars[0];
        let (re, im) = (self.read_tile(lane, tile, 0), self.read_tile(lane, tile, 1));
        let pairs = re.into_iter().zip(im);
        let mut pairs: Vec<(f64, f64)> = pairs
            .map(|(re, im)| (number(ty, re), number(ty, im)))
            .collect();
        for row in pairs.chunks_mut(length) {
            transform(row, inverse);
        }
        let re: Vec<u64> = pairs.iter().map(|pair| float_bits(ty, pair.0)).collect();
        let im: Vec<u64> = pairs.iter().map(|pair| float_bits(ty, pair.1)).collect();
        self.write_tile(lane, tile, 0, &re);
        self.write_tile(lane, tile, 1, &im);
    }
}

#[cfg(test)]
mod tests {
    use super::transform;

    #[test]
    fn a_transform_and_its_inverse_multiply_by_the_length() {
        for n in [1_usize, 2, 3, 6, 8, 12, 16] {
            let row: Vec<(f64, f64)> = (0..n).map(|k| (k as f64, 1.0 - k as f64 * 0.5)).collect();
            let mut there = row.clone();
            transform(&mut there, false);
            let sum = row.iter().fold((0.0, 0.0), |s, x| (s.0 + x.0, s.1 + x.1));
            assert!((there[0].0 - sum.0).abs() < 1e-12 * n as f64);
            transform(&mut there, true);
            for (back, x) in there.iter().zip(&row) {
                assert!((back.0 - x.0 * n as f64).abs() < 1e-11 * n as f64);
                assert!((back.1 - x.1 * n as f64).abs() < 1e-11 * n as f64);
            }
        }
    }
}
