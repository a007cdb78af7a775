//! Tiles as matrices.

use super::super::control::Machine;
use super::super::lane_function::{bits as float_bits, number};
use crate::instruction::Space;
use crate::tile::{Solve, Tile};
use warpsmith_ir::types::Scalar;
use warpsmith_lanes::{InstructionSet, Task};

/// Rounds a number to a float's precision.
fn rounded(ty: Scalar, value: f64) -> f64 {
    match ty {
        Scalar::F64 => value,
        _ => number(ty, float_bits(ty, value)),
    }
}

/// A product, each sum in the precision of `ty`, one term after the other: by multiply-adds that round once,
/// but for 16 bits.
fn product(ty: Scalar, a: &[f64], b: &[f64], sizes: [usize; 3]) -> Vec<f64> {
    let mut out = Vec::with_capacity(sizes[0] * sizes[2]);
    let task = Product {
        ty,
        factors: [a, b],
        sizes,
        out: &mut out,
    };
    // The processor's own multiply-add, where it has one: the same bits in far less time.
    match InstructionSet::widest().avx2() {
        Some(avx2) => avx2.run(task),
        None => task.run(),
    }
    out
}

/// [`product`], compiled for an instruction set.
struct Product<'a> {
    ty: Scalar,
    factors: [&'a [f64]; 2],
    sizes: [usize; 3],
    out: &'a mut Vec<f64>,
}

impl Task for Product<'_> {
    #[inline(always)]
    fn run(self) {
        let [a, b] = self.factors;
        let [rows, terms, cols] = self.sizes;
        match self.ty {
            Scalar::F32 => {
                // Conversions once, instead of one after each step.
                let a: Vec<f32> = a.iter().map(|x| *x as f32).collect();
                let b: Vec<f32> = b.iter().map(|x| *x as f32).collect();
                for (i, j) in each_entry(rows, cols) {
                    let sum = (0..terms).fold(0.0_f32, |sum, k| {
                        a[i * terms + k].mul_add(b[k * cols + j], sum)
                    });
                    self.out.push(f64::from(sum));
                }
            }
            Scalar::F64 => {
                for (i, j) in each_entry(rows, cols) {
                    let sum = (0..terms)
                        .fold(0.0, |sum, k| a[i * terms + k].mul_add(b[k * cols + j], sum));
                    self.out.push(sum);
                }
            }
            ty => {
                for (i, j) in each_entry(rows, cols) {
                    let sum = (0..terms).fold(0.0, |sum, k| {
                        let term = rounded(ty, a[i * terms + k] * b[k * cols + j]);
                        rounded(ty, sum + term)
                    });
                    self.out.push(sum);
                }
            }
        }
    }
}

fn each_entry(rows: usize, cols: usize) -> impl Iterator<Item = (usize, usize)> {
    (0..rows).flat_map(move |i| (0..cols).map(move |j| (i, j)))
}

fn transposed(a: &[f64], rows: usize, cols: usize) -> Vec<f64> {
    let mut out = Vec::with_capacity(a.len());
    for j in 0..cols {
        out.extend((0..rows).map(|i| a[i * cols + j]));
    }
    out
}

/// The wider of the two precisions.
fn wider(a: Scalar, b: Scalar) -> Scalar {
    let rank = |ty: Scalar| match ty {
        Scalar::F64 => 2,
        Scalar::F32 => 1,
        _ => 0,
    };
    if rank(b) > rank(a) { b } else { a }
}

impl Machine<'_> {
    pub(super) fn tile_product(
        &mut self,
        lane: usize,
        [a, b, c]: [&Tile; 3],
        alpha: f64,
        beta: f64,
    ) {
        let value = Space::Value;
        let sizes = [a.shape[0], a.shape[1], b.shape[1]];
        let ty = c.scalars[0];
        let (x, y) = (
            self.read_numbers(lane, (a, value)),
            self.read_numbers(lane, (b, value)),
        );
        let sums = product(ty, &x, &y, sizes);
        let before = self.read_numbers(lane, (c, value));
        let scaled = |(sum, before): (f64, f64)| match beta == 0.0 {
            true => rounded(ty, alpha * sum),
            false => rounded(ty, rounded(ty, alpha * sum) + rounded(ty, beta * before)),
        };
        let results: Vec<f64> = sums.into_iter().zip(before).map(scaled).collect();
        self.write_numbers(lane, (c, value), &results);
    }

    /// The factors' gradients receive their shares; the result's are scaled by `beta`, if given.
    pub(super) fn tile_product_adjoint(
        &mut self,
        lane: usize,
        [a, b, c]: [&Tile; 3],
        alpha: f64,
        beta: Option<f64>,
    ) {
        let (value, gradient) = (Space::Value, Space::Gradient);
        let [rows, terms, cols] = [a.shape[0], a.shape[1], b.shape[1]];
        let (x, y) = (
            self.read_numbers(lane, (a, value)),
            self.read_numbers(lane, (b, value)),
        );
        let g = self.read_numbers(lane, (c, gradient));
        let ty = c.scalars[0];
        let shares = [
            (
                a,
                product(
                    wider(a.scalars[0], ty),
                    &g,
                    &transposed(&y, terms, cols),
                    [rows, cols, terms],
                ),
            ),
            (
                b,
                product(
                    wider(b.scalars[0], ty),
                    &transposed(&x, rows, terms),
                    &g,
                    [terms, rows, cols],
                ),
            ),
        ];
        for (tile, mut share) in shares {
            share.iter_mut().for_each(|share| *share *= alpha);
            self.add_numbers(lane, (tile, gradient), &share);
        }
        if let Some(beta) = beta {
            let scaled: Vec<f64> = g.iter().map(|g| rounded(ty, beta * g)).collect();
            self.write_numbers(lane, (c, gradient), &scaled);
        }
    }

    /// The factor of a symmetric matrix, of which one triangle is read; the other triangle is zero.
    pub(super) fn tile_cholesky(&mut self, lane: usize, a: &Tile, l: &Tile, upper: bool) {
        let n = a.shape[0];
        let ty = a.scalars[0];
        let value = Space::Value;
        let mut matrix = self.read_numbers(lane, (a, value));
        if upper {
            matrix = transposed(&matrix, n, n);
        }
        let mut factor = vec![0.0; n * n];
        for j in 0..n {
            let mut pivot = matrix[j * n + j];
            for k in 0..j {
                let r = factor[j * n + k];
                pivot = rounded(ty, pivot - rounded(ty, r * r));
            }
            let pivot = rounded(ty, pivot.sqrt());
            factor[j * n + j] = pivot;
            for i in j + 1..n {
                let mut sum = matrix[i * n + j];
                for k in 0..j {
                    let product = rounded(ty, factor[i * n + k] * factor[j * n + k]);
                    sum = rounded(ty, sum - product);
                }
                factor[i * n + j] = rounded(ty, sum / pivot);
            }
        }
        if upper {
            factor = transposed(&factor, n, n);
        }
        self.write_numbers(lane, (l, value), &factor);
    }

    pub(super) fn tile_solve(&mut self, lane: usize, solve: Solve, l: &Tile, y: &Tile, x: &Tile) {
        let value = Space::Value;
        let n = l.shape[0];
        let ty = x.scalars[0];
        let cols = y.shape.get(1).copied().unwrap_or(1);
        let matrix = self.read_numbers(lane, (l, value));
        let other = transposed(&matrix, n, n);
        let mut right = self.read_numbers(lane, (y, value));
        match solve {
            Solve::Lower => forwards(ty, &matrix, &mut right, cols),
            Solve::Upper => backwards(ty, &matrix, &mut right, cols),
            Solve::Cholesky { upper: false } => {
                forwards(ty, &matrix, &mut right, cols);
                backwards(ty, &other, &mut right, cols);
            }
            Solve::Cholesky { upper: true } => {
                forwards(ty, &other, &mut right, cols);
                backwards(ty, &matrix, &mut right, cols);
            }
        }
        self.write_numbers(lane, (x, value), &right);
    }

    /// With A = L Lᵀ, A receives L⁻ᵀ Φ(Lᵀ dL) L⁻¹, where Φ takes the lower triangle and half of the diagonal:
    /// all of it in the triangle that the factor was made of.
    pub(super) fn tile_cholesky_adjoint(&mut self, lane: usize, a: &Tile, l: &Tile, upper: bool) {
        let n = a.shape[0];
        let mut factor = self.read_numbers(lane, (l, Space::Value));
        let mut given = self.read_numbers(lane, (l, Space::Gradient));
        if upper {
            factor = transposed(&factor, n, n);
            given = transposed(&given, n, n);
        }
        let wide = Scalar::F64;
        for i in 0..n {
            given[i * n + i + 1..(i + 1) * n].fill(0.0);
        }
        let other = transposed(&factor, n, n);
        let mut middle = product(wide, &other, &given, [n, n, n]);
        for i in 0..n {
            middle[i * n + i] *= 0.5;
            middle[i * n + i + 1..(i + 1) * n].fill(0.0);
        }
        // X = L⁻ᵀ M, then Y = X L⁻¹, which is (L⁻ᵀ Xᵀ)ᵀ.
        backwards(wide, &other, &mut middle, n);
        let mut turned = transposed(&middle, n, n);
        backwards(wide, &other, &mut turned, n);
        let mut shares = vec![0.0; n * n];
        for i in 0..n {
            for j in 0..=i {
                let share = turned[i * n + j] + turned[j * n + i];
                let at = if upper { j * n + i } else { i * n + j };
                shares[at] = if i == j { turned[i * n + i] } else { share };
            }
        }
        self.add_numbers(lane, (a, Space::Gradient), &shares);
    }

    pub(super) fn tile_lower_solve_adjoint(&mut self, lane: usize, l: &Tile, y: &Tile, x: &Tile) {
        let n = l.shape[0];
        let cols = y.shape.get(1).copied().unwrap_or(1);
        let wide = Scalar::F64;
        let factor = self.read_numbers(lane, (l, Space::Value));
        let solution = self.read_numbers(lane, (x, Space::Value));
        let mut shares = self.read_numbers(lane, (x, Space::Gradient));
        backwards(wide, &transposed(&factor, n, n), &mut shares, cols);
        let mut of_factor = vec![0.0; n * n];
        for i in 0..n {
            for j in 0..=i {
                let terms = (0..cols).map(|c| shares[i * cols + c] * solution[j * cols + c]);
                of_factor[i * n + j] = -terms.sum::<f64>();
            }
        }
        self.add_numbers(lane, (y, Space::Gradient), &shares);
        self.add_numbers(lane, (l, Space::Gradient), &of_factor);
    }

    pub(super) fn tile_diagonal_add(&mut self, lane: usize, a: &Tile, d: &Tile, out: &Tile) {
        let value = Space::Value;
        let n = a.shape[0];
        let ty = a.scalars[0];
        let mut matrix = self.read_numbers(lane, (a, value));
        let diagonal = self.read_numbers(lane, (d, value));
        for (i, add) in diagonal.into_iter().enumerate() {
            let place = &mut matrix[i * n + i];
            *place = rounded(ty, *place + add);
        }
        self.write_numbers(lane, (out, value), &matrix);
    }
}

/// Solves with a lower triangle, in place.
fn forwards(ty: Scalar, l: &[f64], x: &mut [f64], cols: usize) {
    let n = x.len() / cols;
    for c in 0..cols {
        for i in 0..n {
            let mut sum = x[i * cols + c];
            for j in 0..i {
                sum = rounded(ty, sum - rounded(ty, l[i * n + j] * x[j * cols + c]));
            }
            x[i * cols + c] = rounded(ty, sum / l[i * n + i]);
        }
    }
}

/// Solves with an upper triangle, in place.
fn backwards(ty: Scalar, u: &[f64], x: &mut [f64], cols: usize) {
    let n = x.len() / cols;
    for c in 0..cols {
        for i in (0..n).rev() {
            let mut sum = x[i * cols + c];
            for j in i + 1..n {
                sum = rounded(ty, sum - rounded(ty, u[i * n + j] * x[j * cols + c]));
            }
            x[i * cols + c] = rounded(ty, sum / u[i * n + i]);
        }
    }
}
