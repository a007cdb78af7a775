//! One pass: adds to, or subtracts from, some rows the sums of their cells' neighbours in the other
//! array. Compiled for each instruction set; integers, so every form gives the same bits.

use super::obstacles::Obstacles;
use crate::shape::Shape;
use warpsmith_lanes::for_each_set;

for_each_set! {
    /// Changes the rows `target`, the first of which is row `first`, by their neighbours in
    /// `source`, the whole other array. `sign` is 0 to add and all ones to subtract; `zeros` is one
    /// row of zeros.
    pub(super) fn rows[8, 16, 32] = sweep_rows(
        shape: Shape,
        first: usize,
        source: &[u32],
        target: &mut [u32],
        obstacles: Option<&Obstacles>,
        sign: u32,
        zeros: &[u32],
    )
}

/// The five rows of the other array that a row depends on.
#[derive(Clone, Copy)]
struct Rows<'a> {
    own: &'a [u32],
    beside: [&'a [u32]; 4],
}

#[inline(always)]
#[allow(clippy::too_many_arguments)] // As in the declaration above.
fn sweep_rows<const W: usize>(
    shape: Shape,
    first: usize,
    source: &[u32],
    target: &mut [u32],
    obstacles: Option<&Obstacles>,
    sign: u32,
    zeros: &[u32],
) {
    let [nz, ny, nx] = shape.extents();
    let row = |index: usize| &source[index * nx..(index + 1) * nx];
    for (index, target) in (first..).zip(target.chunks_exact_mut(nx)) {
        let (z, y) = (index / ny, index % ny);
        let needed = Rows {
            own: row(index),
            beside: [
                if y > 0 { row(index - 1) } else { zeros },
                if y + 1 < ny { row(index + 1) } else { zeros },
                if z > 0 { row(index - ny) } else { zeros },
                if z + 1 < nz { row(index + ny) } else { zeros },
            ],
        };
        match obstacles {
            Some(obstacles) => sweep_row::<W, true>(needed, target, obstacles.row(index), sign),
            None => sweep_row::<W, false>(needed, target, &[], sign),
        }
    }
}

#[inline(always)]
fn sweep_row<const W: usize, const MASKED: bool>(
    rows: Rows<'_>,
    target: &mut [u32],
    open: &[u32],
    sign: u32,
) {
    let nx = target.len();
    let whole = nx / W * W;
    for base in (0..whole).step_by(W) {
        let left: [u32; W] = if base > 0 {
            chunk(rows.own, base - 1)
        } else {
            let mut left = [0; W];
            left[1..].copy_from_slice(&rows.own[..W - 1]);
            left
        };
        let right: [u32; W] = if base + W < nx {
            chunk(rows.own, base + 1)
        } else {
            let mut right = [0; W];
            right[..W - 1].copy_from_slice(&rows.own[base + 1..]);
            right
        };
        let beside = rows.beside.map(|row| chunk::<W>(row, base));
        // A chunk never crosses a word, because its width divides 32.
        let bits = if MASKED {
            open[base / 32] >> (base % 32)
        } else {
            0
        };
        let mut values: [u32; W] = chunk(target, base);
        for lane in 0..W {
            let mut sum = left[lane].wrapping_add(right[lane]);
            for row in &beside {
                sum = sum.wrapping_add(row[lane]);
            }
            if MASKED {
                sum &= 0u32.wrapping_sub((bits >> lane) & 1);
            }
            // −x is !x + 1, and subtracting all ones adds one.
            values[lane] = values[lane].wrapping_add((sum ^ sign).wrapping_sub(sign));
        }
        target[base..base + W].copy_from_slice(&values);
    }
    for x in whole..nx {
        if MASKED && (open[x / 32] >> (x % 32)) & 1 == 0 {
            continue;
        }
        let mut sum = rows
            .beside
            .iter()
            .fold(0u32, |sum, row| sum.wrapping_add(row[x]));
        if x > 0 {
            sum = sum.wrapping_add(rows.own[x - 1]);
        }
        if x + 1 < nx {
            sum = sum.wrapping_add(rows.own[x + 1]);
        }
        target[x] = target[x].wrapping_add((sum ^ sign).wrapping_sub(sign));
    }
}

#[inline(always)]
fn chunk<const W: usize>(from: &[u32], base: usize) -> [u32; W] {
    let mut values = [0; W];
    values.copy_from_slice(&from[base..base + W]);
    values
}
