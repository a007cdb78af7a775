//! Products of matrices: blocks of the result, each by one thread, from panels that lie in memory as the
//! registers take them.
//!
//! Invariant: an element is `sum ← a·b + sum` over the depth from first to last, one multiply-add to a
//! step, from what the result held before. Its bits therefore do not depend on blocks, lanes or threads.

use std::marker::PhantomData;

use rayon::prelude::*;

use warpsmith_lanes::{Blocks, InstructionSet, Lanes, LanesTask, Task};

/// A matrix that gives pieces of its rows.
pub(crate) trait Matrix: Sync {
    /// Writes the numbers of `row` from column `first` on into `to`.
    fn read(&self, row: usize, first: usize, to: &mut [f32]);
}

/// Steps of the depth that are packed at once: a panel of the right matrix then fits the first cache.
const DEPTH: usize = 256;
/// Rows and columns of a block: both sides packed fit the second cache, and packing them is a few per
/// cent of multiplying them.
const BLOCK_ROWS: usize = 192;
const BLOCK_COLUMNS: usize = 512;

/// Adds the product of `a`, rows by `depth`, and `b`, `depth` by `columns`, to `out`, rows by `columns`.
pub(crate) fn add_product(
    a: &impl Matrix,
    b: &impl Matrix,
    depth: usize,
    columns: usize,
    out: &mut [f32],
) {
    add_product_with(InstructionSet::widest(), a, b, depth, blocks(out, columns));
}

/// Rows of a tile where the set is portable; a target with fused multiply-adds has 32 registers.
const PORTABLE_ROWS: usize = if cfg!(target_arch = "aarch64") { 6 } else { 2 };

fn add_product_with(
    set: InstructionSet,
    a: &impl Matrix,
    b: &impl Matrix,
    depth: usize,
    blocks: Vec<Block<'_>>,
) {
    // Twice the rows in vectors is what the registers hold beside the operands.
    match set {
        InstructionSet::Portable => {
            set.with_lanes(
                Blocks::Wide,
                Product::<_, _, PORTABLE_ROWS> {
                    blocks,
                    a,
                    b,
                    depth,
                },
            );
        }
        InstructionSet::Avx2(token) => token.with_lanes(Product::<_, _, 6> {
            blocks,
            a,
            b,
            depth,
        }),
        InstructionSet::Avx512(token) => token.with_lanes(Product::<_, _, 12> {
            blocks,
            a,
            b,
            depth,
        }),
    }
}

/// All blocks, on every thread.
struct Product<'a, A, B, const ROWS: usize> {
    blocks: Vec<Block<'a>>,
    a: &'a A,
    b: &'a B,
    depth: usize,
}

impl<A: Matrix, B: Matrix, const ROWS: usize> LanesTask for Product<'_, A, B, ROWS> {
    type Output = ();

    fn run<V: Lanes>(self) {
        let Self {
            blocks,
            a,
            b,
            depth,
        } = self;
        blocks.into_par_iter().for_each(|block| {
            V::vectorize(Tiles::<V, _, _, ROWS> {
                block,
                a,
                b,
                depth,
                lanes: PhantomData,
            });
        });
    }
}

/// A part of the result.
struct Block<'a> {
    first_row: usize,
    first_column: usize,
    rows: Vec<&'a mut [f32]>,
}

/// The result in blocks.
fn blocks(out: &mut [f32], columns: usize) -> Vec<Block<'_>> {
    let mut blocks: Vec<Block<'_>> = Vec::new();
    let across = columns.div_ceil(BLOCK_COLUMNS);
    for (row, numbers) in out.chunks_mut(columns.max(1)).enumerate() {
        if row % BLOCK_ROWS == 0 {
            blocks.extend((0..across).map(|block| Block {
                first_row: row,
                first_column: block * BLOCK_COLUMNS,
                rows: Vec::with_capacity(BLOCK_ROWS),
            }));
        }
        let last = blocks.len() - across;
        let pieces = numbers.chunks_mut(BLOCK_COLUMNS);
        for (block, piece) in blocks[last..].iter_mut().zip(pieces) {
            block.rows.push(piece);
        }
    }
    blocks
}

/// One block, tile by tile.
struct Tiles<'a, V, A, B, const ROWS: usize> {
    block: Block<'a>,
    a: &'a A,
    b: &'a B,
    depth: usize,
    lanes: PhantomData<V>,
}

impl<V: Lanes, A: Matrix, B: Matrix, const ROWS: usize> Task for Tiles<'_, V, A, B, ROWS> {
    #[inline(always)]
    fn run(self) {
        let Block {
            first_row,
            first_column,
            mut rows,
        } = self.block;
        let width = 2 * V::WIDTH;
        let columns = rows[0].len();
        let (mut left, mut right) = (Vec::new(), Vec::new());
        for first in (0..self.depth).step_by(DEPTH) {
            let depth = DEPTH.min(self.depth - first);
            pack_rows::<A, ROWS>(self.a, first_row, rows.len(), first, depth, &mut left);
            pack_columns(
                self.b,
                first_column,
                columns,
                first,
                depth,
                width,
                &mut right,
            );
            for (panel, right) in right.chunks_exact(depth * width).enumerate() {
                let column = panel * width;
                let tiles = rows.chunks_mut(ROWS).zip(left.chunks_exact(depth * ROWS));
                for (rows, left) in tiles {
                    add_tile::<V, ROWS>(left, right, rows, column);
                }
            }
        }
    }
}

/// Panels of `ROWS` rows, in each of them the rows of one step side by side; zeros after the last row.
#[inline(always)]
fn pack_rows<A: Matrix, const ROWS: usize>(
    a: &A,
    first_row: usize,
    rows: usize,
    first: usize,
    depth: usize,
    to: &mut Vec<f32>,
) {
    let mut numbers = [0.0; DEPTH];
    let numbers = &mut numbers[..depth];
    to.clear();
    to.resize(rows.div_ceil(ROWS) * ROWS * depth, 0.0);
    for (panel, to) in to.chunks_exact_mut(depth * ROWS).enumerate() {
        for row in 0..ROWS.min(rows - panel * ROWS) {
            a.read(first_row + panel * ROWS + row, first, numbers);
            for (step, number) in to.chunks_exact_mut(ROWS).zip(&*numbers) {
                step[row] = *number;
            }
        }
    }
}

/// Panels of `width` columns, in each of them the columns of one step side by side; zeros after the last.
#[inline(always)]
fn pack_columns<B: Matrix>(
    b: &B,
    first_column: usize,
    columns: usize,
    first: usize,
    depth: usize,
    width: usize,
    to: &mut Vec<f32>,
) {
    let mut numbers = [0.0; BLOCK_COLUMNS];
    let numbers = &mut numbers[..columns];
    to.clear();
    to.resize(columns.div_ceil(width) * width * depth, 0.0);
    for step in 0..depth {
        b.read(first + step, first_column, numbers);
        for (panel, numbers) in numbers.chunks(width).enumerate() {
            to[(panel * depth + step) * width..][..numbers.len()].copy_from_slice(numbers);
        }
    }
}

/// Adds the product of two panels to the rows from `column` on.
#[inline(always)]
fn add_tile<V: Lanes, const ROWS: usize>(
    left: &[f32],
    right: &[f32],
    rows: &mut [&mut [f32]],
    column: usize,
) {
    let width = 2 * V::WIDTH;
    let columns = width.min(rows[0].len() - column);
    // What hangs over the block's edge is computed and dropped.
    let mut spare = [[0.0f32; 32]; ROWS];
    let whole = columns == width && rows.len() == ROWS;
    if !whole {
        for (spare, row) in spare.iter_mut().zip(&*rows) {
            spare[..columns].copy_from_slice(&row[column..][..columns]);
        }
    }
    let mut sums = [[V::splat(0.0); 2]; ROWS];
    for (row, sums) in sums.iter_mut().enumerate() {
        let from = if whole {
            &rows[row][column..]
        } else {
            &spare[row][..]
        };
        *sums = [V::load(from), V::load(&from[V::WIDTH..])];
    }
    let (steps, _) = left.as_chunks::<ROWS>();
    for (a, b) in steps.iter().zip(right.chunks_exact(width)) {
        let b = [V::load(b), V::load(&b[V::WIDTH..])];
        for (sums, a) in sums.iter_mut().zip(a) {
            let a = V::splat(*a);
            *sums = [a.mul_add(b[0], sums[0]), a.mul_add(b[1], sums[1])];
        }
    }
    for (row, sums) in sums.iter().enumerate() {
        let to = if whole {
            &mut rows[row][column..]
        } else {
            &mut spare[row][..]
        };
        sums[0].store(to);
        sums[1].store(&mut to[V::WIDTH..]);
    }
    if !whole {
        for (spare, row) in spare.iter().zip(rows) {
            row[column..][..columns].copy_from_slice(&spare[..columns]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Small whole numbers, whose sums are exact in every order and with every rounding.
    struct Whole {
        factor: usize,
    }

    impl Whole {
        fn at(&self, row: usize, column: usize) -> f32 {
            ((row * 5 + column * self.factor) % 13) as f32 - 6.0
        }
    }

    impl Matrix for Whole {
        fn read(&self, row: usize, first: usize, to: &mut [f32]) {
            for (column, to) in to.iter_mut().enumerate() {
                *to = self.at(row, first + column);
            }
        }
    }

    #[test]
    fn every_kind_of_lanes_adds_the_product_to_what_was_there() {
        let (a, b) = (Whole { factor: 3 }, Whole { factor: 7 });
        let (rows, columns, depth) = (BLOCK_ROWS + 5, BLOCK_COLUMNS + 33, DEPTH + 3);
        for set in InstructionSet::present() {
            let mut out = vec![2.0; rows * columns];
            add_product_with(set, &a, &b, depth, blocks(&mut out, columns));
            for (index, value) in out.iter().enumerate() {
                let (row, column) = (index / columns, index % columns);
                let sum: f32 = (0..depth).map(|k| a.at(row, k) * b.at(k, column)).sum();
                assert_eq!(*value, 2.0 + sum, "{set}, row {row}, column {column}");
            }
        }
    }
}
