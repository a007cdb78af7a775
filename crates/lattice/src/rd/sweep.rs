//! One step over some rows, compiled for each instruction set.
//!
//! A row is cut into chunks of the vector's width. The neighbours in x of a chunk are the same row
//! read one cell earlier and later; at the two ends of a row a zero is shifted in.

use super::rule::{Around, Rule};
use crate::shape::Shape;
use warpsmith_lanes::for_each_set;

for_each_set! {
    /// Computes the rows that start at `first` and whose old memory `e` holds: their new medium to
    /// `out`, their new memory in place. `u` is the whole old medium, `zeros` one row of zeros.
    pub(super) fn rows[8, 16, 32] = sweep_rows(
        rule: &Rule,
        shape: Shape,
        first: usize,
        u: &[f32],
        e: &mut [f32],
        out: &mut [f32],
        zeros: &[f32],
    )
}

/// The five rows that a row depends on.
#[derive(Clone, Copy)]
struct Rows<'a> {
    own: &'a [f32],
    y: [&'a [f32]; 2],
    z: [&'a [f32]; 2],
}

#[inline(always)]
#[allow(clippy::too_many_arguments)] // As in the declaration above.
fn sweep_rows<const W: usize>(
    rule: &Rule,
    shape: Shape,
    first: usize,
    u: &[f32],
    e: &mut [f32],
    out: &mut [f32],
    zeros: &[f32],
) {
    let [nz, ny, nx] = shape.extents();
    let row = |index: usize| &u[index * nx..(index + 1) * nx];
    let pairs = e.chunks_exact_mut(nx).zip(out.chunks_exact_mut(nx));
    for (index, (e, out)) in (first..).zip(pairs) {
        let (z, y) = (index / ny, index % ny);
        let needed = Rows {
            own: row(index),
            y: [
                if y > 0 { row(index - 1) } else { zeros },
                if y + 1 < ny { row(index + 1) } else { zeros },
            ],
            z: [
                if z > 0 { row(index - ny) } else { zeros },
                if z + 1 < nz { row(index + ny) } else { zeros },
            ],
        };
        sweep_row::<W>(rule, needed, e, out);
    }
}

#[inline(always)]
fn sweep_row<const W: usize>(rule: &Rule, rows: Rows<'_>, e: &mut [f32], out: &mut [f32]) {
    let nx = rows.own.len();
    let mut x = 0;
    while x + W <= nx {
        sweep_chunk::<W>(rule, rows, e, out, x);
        x += W;
    }
    // Wide vectors leave up to 31 cells, which are most of a short row.
    while x + NARROWEST <= nx {
        sweep_chunk::<NARROWEST>(rule, rows, e, out, x);
        x += NARROWEST;
    }
    for x in x..nx {
        let around = Around {
            x: [
                if x > 0 { rows.own[x - 1] } else { 0.0 },
                if x + 1 < nx { rows.own[x + 1] } else { 0.0 },
            ],
            y: [rows.y[0][x], rows.y[1][x]],
            z: [rows.z[0][x], rows.z[1][x]],
        };
        (out[x], e[x]) = rule.cell(rows.own[x], e[x], around);
    }
}

/// Cells of the narrowest chunk.
const NARROWEST: usize = 8;

/// The `W` cells of a row from `base` on.
#[inline(always)]
fn sweep_chunk<const W: usize>(
    rule: &Rule,
    rows: Rows<'_>,
    e: &mut [f32],
    out: &mut [f32],
    base: usize,
) {
    let left: [f32; W] = if base > 0 {
        chunk(rows.own, base - 1)
    } else {
        let mut left = [0.0; W];
        left[1..].copy_from_slice(&rows.own[..W - 1]);
        left
    };
    let right: [f32; W] = if base + W < rows.own.len() {
        chunk(rows.own, base + 1)
    } else {
        let mut right = [0.0; W];
        right[..W - 1].copy_from_slice(&rows.own[base + 1..]);
        right
    };
    let own: [f32; W] = chunk(rows.own, base);
    let old: [f32; W] = chunk(e, base);
    let y: [[f32; W]; 2] = [chunk(rows.y[0], base), chunk(rows.y[1], base)];
    let z: [[f32; W]; 2] = [chunk(rows.z[0], base), chunk(rows.z[1], base)];
    let (mut next, mut memory) = ([0.0; W], [0.0; W]);
    for lane in 0..W {
        let around = Around {
            x: [left[lane], right[lane]],
            y: [y[0][lane], y[1][lane]],
            z: [z[0][lane], z[1][lane]],
        };
        (next[lane], memory[lane]) = rule.cell(own[lane], old[lane], around);
    }
    out[base..base + W].copy_from_slice(&next);
    e[base..base + W].copy_from_slice(&memory);
}

#[inline(always)]
fn chunk<const W: usize>(from: &[f32], base: usize) -> [f32; W] {
    let mut values = [0.0; W];
    values.copy_from_slice(&from[base..base + W]);
    values
}

/// The specification: one cell after the other, each neighbour looked up by its coordinates.
pub(super) fn plain(rule: &Rule, shape: Shape, u: &[f32], e: &mut [f32], out: &mut [f32]) {
    let [nz, ny, nx] = shape.extents();
    let at = |z: usize, y: usize, x: usize| {
        if z < nz && y < ny && x < nx {
            u[(z * ny + y) * nx + x]
        } else {
            0.0
        }
    };
    for index in 0..shape.cells() {
        let [z, y, x] = shape.cell(index).0;
        // Below zero wraps to the largest number, which is outside as well.
        let below = |coordinate: usize| coordinate.wrapping_sub(1);
        let around = Around {
            x: [at(z, y, below(x)), at(z, y, x + 1)],
            y: [at(z, below(y), x), at(z, y + 1, x)],
            z: [at(below(z), y, x), at(z + 1, y, x)],
        };
        (out[index], e[index]) = rule.cell(u[index], e[index], around);
    }
}
