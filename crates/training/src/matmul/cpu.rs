//! The product of two matrices.

use super::bf16::Bf16;
use super::product::{Matrix, add_product};
use crate::error::{ArgumentError, Result};

/// The shape of a product of two matrices, all of them row by row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Matmul {
    /// Rows of the left matrix and of the result.
    pub rows: usize,
    /// Columns of the right matrix and of the result.
    pub columns: usize,
    /// Columns of the left matrix and rows of the right.
    pub depth: usize,
}

/// What a matrix can hold. Every product of two of these is summed in `f32`.
pub trait Number: Copy + Into<f32> + Sync {}
impl Number for f32 {}
impl Number for Bf16 {}

impl Matmul {
    /// Multiplies `a`, `[rows, depth]`, with `b`, `[depth, columns]`, into `out`, `[rows, columns]`.
    ///
    /// The result is `f32` for every kind of number: rounded to half the bits it would lose what the sum
    /// kept, and whoever wants that can still do it.
    pub fn apply<T: Number>(&self, a: &[T], b: &[T], out: &mut [f32]) -> Result<()> {
        ArgumentError::expect_size("the left matrix", a.len(), self.rows * self.depth)?;
        ArgumentError::expect_size("the right matrix", b.len(), self.depth * self.columns)?;
        ArgumentError::expect_size("the result", out.len(), self.rows * self.columns)?;
        out.fill(0.0);
        let a = Rows {
            numbers: a,
            width: self.depth,
        };
        let b = Rows {
            numbers: b,
            width: self.columns,
        };
        add_product(&a, &b, self.depth, self.columns, out);
        Ok(())
    }
}

/// A matrix that lies in memory row by row.
pub(crate) struct Rows<'a, T> {
    pub(crate) numbers: &'a [T],
    pub(crate) width: usize,
}

impl<T: Number> Matrix for Rows<'_, T> {
    #[inline(always)]
    fn read(&self, row: usize, first: usize, to: &mut [f32]) {
        let numbers = &self.numbers[row * self.width + first..][..to.len()];
        for (to, number) in to.iter_mut().zip(numbers) {
            *to = (*number).into();
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Sums of the products and of their absolute values, in f64.
    fn by_definition(shape: Matmul, a: &[f32], b: &[f32]) -> Vec<(f64, f64)> {
        let mut out = Vec::new();
        for row in 0..shape.rows {
            for column in 0..shape.columns {
                let products = (0..shape.depth).map(|k| {
                    let (a, b) = (a[row * shape.depth + k], b[k * shape.columns + column]);
                    f64::from(a) * f64::from(b)
                });
                let absolute = products.clone().map(f64::abs).sum();
                out.push((products.sum(), absolute));
            }
        }
        out
    }

    /// Every multiply-add rounds to within 2⁻²⁴ of itself, and no partial sum exceeds the sum of the
    /// absolute products by more than such roundings: `depth` of them, or twice as many where the product
    /// is rounded by itself, are off by `depth·2⁻²³` of that sum at most.
    fn agrees(shape: Matmul, out: &[f32], expected: &[(f64, f64)]) -> bool {
        let bound = shape.depth as f64 * 2f64.powi(-23);
        out.len() == expected.len()
            && out.iter().zip(expected).all(|(value, (exact, absolute))| {
                (f64::from(*value) - exact).abs() <= bound * absolute
            })
    }

    fn numbers(seed: u64, count: usize) -> Vec<f32> {
        let mut state = seed | 1;
        let mut next = || {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            (state >> 40) as f32 / 8_388_608.0 - 1.0
        };
        (0..count).map(|_| next()).collect()
    }

    fn check(shape: Matmul, seed: u64) {
        let a = numbers(seed, shape.rows * shape.depth);
        let b = numbers(seed + 1, shape.depth * shape.columns);
        let mut out = vec![f32::NAN; shape.rows * shape.columns];
        shape.apply(&a, &b, &mut out).unwrap();
        assert!(
            agrees(shape, &out, &by_definition(shape, &a, &b)),
            "{shape:?}"
        );
        let halves = |numbers: &[f32]| numbers.iter().map(|x| Bf16::from(*x)).collect::<Vec<_>>();
        let back = |numbers: &[Bf16]| numbers.iter().map(|x| f32::from(*x)).collect::<Vec<_>>();
        let (a, b) = (halves(&a), halves(&b));
        out.fill(f32::NAN);
        shape.apply(&a, &b, &mut out).unwrap();
        let expected = by_definition(shape, &back(&a), &back(&b));
        assert!(agrees(shape, &out, &expected), "{shape:?} of bf16");
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn every_shape_follows_the_definition(
            rows in 0usize..80, columns in 0usize..80, depth in 0usize..80, seed: u32,
        ) {
            check(Matmul { rows, columns, depth }, seed.into());
        }
    }

    #[test]
    fn shapes_of_several_blocks_follow_the_definition() {
        for (rows, columns, depth) in [(193, 513, 257), (1, 1025, 600), (400, 1, 300), (3, 2, 1031)]
        {
            check(
                Matmul {
                    rows,
                    columns,
                    depth,
                },
                7,
            );
        }
    }

    #[test]
    fn an_element_depends_on_its_row_and_column_alone() {
        let large = Matmul {
            rows: 205,
            columns: 530,
            depth: 300,
        };
        let a = numbers(3, large.rows * large.depth);
        let b = numbers(4, large.depth * large.columns);
        let mut out = vec![f32::NAN; large.rows * large.columns];
        large.apply(&a, &b, &mut out).unwrap();
        for (row, column) in [(0, 0), (204, 529), (191, 512), (192, 511)] {
            let one = Matmul {
                rows: 1,
                columns: 1,
                ..large
            };
            let line = &a[row * large.depth..][..large.depth];
            let slope: Vec<f32> = (0..large.depth)
                .map(|k| b[k * large.columns + column])
                .collect();
            let mut alone = [f32::NAN];
            one.apply(line, &slope, &mut alone).unwrap();
            assert_eq!(
                alone[0].to_bits(),
                out[row * large.columns + column].to_bits()
            );
        }
    }

    #[test]
    fn what_is_not_finite_reaches_its_row_or_column_and_nothing_else() {
        let shape = Matmul {
            rows: 14,
            columns: 35,
            depth: 5,
        };
        let (mut a, mut b) = (vec![1.0f32; 14 * 5], vec![1.0f32; 5 * 35]);
        a[12 * 5 + 3] = f32::NAN;
        b[4 * 35 + 33] = f32::INFINITY;
        let mut out = vec![0.0; 14 * 35];
        shape.apply(&a, &b, &mut out).unwrap();
        for (index, value) in out.iter().enumerate() {
            match (index / 35, index % 35) {
                (12, _) => assert!(value.is_nan()),
                (_, 33) => assert_eq!(*value, f32::INFINITY),
                _ => assert_eq!(*value, 5.0),
            }
        }
    }

    #[test]
    fn a_buffer_of_another_size_is_refused() {
        let shape = Matmul {
            rows: 2,
            columns: 3,
            depth: 4,
        };
        assert!(shape.apply(&[0.0; 7], &[0.0; 12], &mut [0.0; 6]).is_err());
        assert!(shape.apply(&[0.0; 8], &[0.0; 11], &mut [0.0; 6]).is_err());
        assert!(shape.apply(&[0.0; 8], &[0.0; 12], &mut [0.0; 5]).is_err());
    }
}
