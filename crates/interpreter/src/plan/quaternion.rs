//! Builtins on quaternions (x, y, z, w), w the real part.

use super::builder::{Builder, Expanded};
use super::call::Operand;
use super::vector::Math;
use crate::instruction::{Binary, Unary};
use crate::lanes::Cell;
use warpsmith_ir::Comparison;
use warpsmith_ir::types::{Scalar, Type};

/// The product of quaternions.
pub(super) fn product(m: &mut Math<'_, '_>, p: &[Cell], q: &[Cell]) -> Vec<Cell> {
    let mut cells = Vec::new();
    for (i, j, k) in [(0, 1, 2), (1, 2, 0), (2, 0, 1)] {
        let (wq, qw) = (m.mul(p[3], q[i]), m.mul(q[3], p[i]));
        let (jk, kj) = (m.mul(p[j], q[k]), m.mul(q[j], p[k]));
        let sum = m.add(wq, qw);
        let sum = m.add(sum, jk);
        cells.push(m.sub(sum, kj));
    }
    let real = m.mul(p[3], q[3]);
    let real = (0..3).fold(real, |sum, n| {
        let product = m.mul(p[n], q[n]);
        m.sub(sum, product)
    });
    cells.push(real);
    cells
}

/// The conjugate, which is the inverse of a rotation.
pub(super) fn conjugate(m: &mut Math<'_, '_>, q: &[Cell]) -> Vec<Cell> {
    let mut cells = m.neg_all(&q[..3]);
    cells.push(q[3]);
    cells
}

/// A quaternion over its length, by way of the reciprocal; where that is zero, no rotation.
pub(super) fn normalize(m: &mut Math<'_, '_>, q: &[Cell]) -> Vec<Cell> {
    let length = m.length(q);
    let defined = m.is_positive(length);
    let (zero, one) = (m.number(0.0), m.number(1.0));
    let divisor = m.select(defined, length, one);
    let reciprocal = m.div(one, divisor);
    let otherwise = [zero, zero, zero, one];
    let scaled = m.scale(q, reciprocal);
    let pairs = scaled.iter().zip(otherwise);
    pairs
        .map(|(x, other)| m.select(defined, *x, other))
        .collect()
}

/// A vector rotated by a unit quaternion.
pub(super) fn rotate(m: &mut Math<'_, '_>, q: &[Cell], x: &[Cell]) -> Vec<Cell> {
    let (v, w) = (&q[..3], q[3]);
    let (one, two) = (m.number(1.0), m.number(2.0));
    let double = m.mul(two, w);
    let square = m.mul(double, w);
    let along = m.sub(square, one);
    let dot = m.dot(v, x);
    let dot = m.mul(two, dot);
    let cross = m.cross(v, x);
    let (a, b, c) = (m.scale(x, along), m.scale(&cross, double), m.scale(v, dot));
    // The cross product last, as Warp adds.
    let sum = m.add_all(&a, &c);
    m.add_all(&sum, &b)
}

fn from_axis_angle(m: &mut Math<'_, '_>, axis: &[Cell], angle: Cell) -> Vec<Cell> {
    let half = m.number(0.5);
    let half = m.mul(angle, half);
    let (sin, cos) = (
        m.b.unary(Unary::Sin, m.ty, half),
        m.b.unary(Unary::Cos, m.ty, half),
    );
    let mut cells = m.scale(axis, sin);
    cells.push(cos);
    cells
}

/// The axis, then the angle, of at most half a turn.
fn to_axis_angle(m: &mut Math<'_, '_>, q: &[Cell]) -> Vec<Cell> {
    let unit = m.normalize(&q[..3]);
    let length = m.length(&q[..3]);
    let zero = m.number(0.0);
    let flipped = m.b.compare(Comparison::Less, m.ty, q[3], zero);
    let mut cells = Vec::new();
    for x in unit {
        let minus = m.neg(x);
        cells.push(m.select(flipped, minus, x));
    }
    let real = m.b.unary(Unary::Abs, m.ty, q[3]);
    let half = m.b.binary(Binary::Atan2, m.ty, length, real);
    let two = m.number(2.0);
    cells.push(m.mul(two, half));
    cells
}

/// The columns are the rotated axes.
fn to_matrix(m: &mut Math<'_, '_>, q: &[Cell]) -> Vec<Cell> {
    let (zero, one) = (m.number(0.0), m.number(1.0));
    let cols: Vec<Vec<Cell>> = (0..3)
        .map(|n| {
            let mut axis = [zero; 3];
            axis[n] = one;
            rotate(m, q, &axis)
        })
        .collect();
    (0..3)
        .flat_map(|row| cols.iter().map(move |col| col[row]))
        .collect()
}

/// The branch of the largest component: `i` is that component, 3 the real one.
fn from_matrix_branch(m: &mut Math<'_, '_>, a: &[Cell], i: usize, taken: Cell) -> Vec<Cell> {
    let at = |row: usize, col: usize| a[row * 3 + col];
    let (half, one) = (m.number(0.5), m.number(1.0));
    let sum = if i == 3 {
        let sum = m.add(at(0, 0), at(1, 1));
        m.add(sum, at(2, 2))
    } else {
        let others = m.add(at((i + 1) % 3, (i + 1) % 3), at((i + 2) % 3, (i + 2) % 3));
        m.sub(at(i, i), others)
    };
    let square = m.add(sum, one);
    // In lanes that take another branch the root could be of a negative number.
    let square = m.select(taken, square, one);
    let root = m.b.unary(Unary::Sqrt, m.ty, square);
    let scale = m.div(half, root);
    let mut cells = vec![half; 4];
    cells[i] = m.mul(half, root);
    if i == 3 {
        for (n, cell) in cells.iter_mut().enumerate().take(3) {
            let (j, k) = ((n + 1) % 3, (n + 2) % 3);
            let difference = m.sub(at(k, j), at(j, k));
            *cell = m.mul(difference, scale);
        }
    } else {
        let (j, k) = ((i + 1) % 3, (i + 2) % 3);
        for (n, x, y) in [(j, at(j, i), at(i, j)), (k, at(k, i), at(i, k))] {
            let sum = m.add(x, y);
            cells[n] = m.mul(sum, scale);
        }
        let difference = m.sub(at(k, j), at(j, k));
        cells[3] = m.mul(difference, scale);
    }
    cells
}

fn from_matrix(m: &mut Math<'_, '_>, a: &[Cell]) -> Vec<Cell> {
    let zero = m.number(0.0);
    let (x, y, z) = (a[0], a[4], a[8]);
    let trace = m.add(x, y);
    let trace = m.add(trace, z);
    let real = m.b.compare(Comparison::GreaterEqual, m.ty, trace, zero);
    let y_over_x = m.b.compare(Comparison::Greater, m.ty, y, x);
    let larger = m.select(y_over_x, y, x);
    let z_over = m.b.compare(Comparison::Greater, m.ty, z, larger);
    let truth = m.b.bits(Scalar::Bool, 1);
    let not = |m: &mut Math<'_, '_>, cond| m.b.binary(Binary::Xor, Scalar::Bool, cond, truth);
    let and = |m: &mut Math<'_, '_>, p, q| m.b.binary(Binary::And, Scalar::Bool, p, q);
    let (other, below) = (not(m, real), not(m, z_over));
    let planar = and(m, other, below);
    let (not_y, is_z) = (not(m, y_over_x), and(m, other, z_over));
    let taken = [and(m, planar, not_y), and(m, planar, y_over_x), is_z, real];
    let branches: Vec<Vec<Cell>> = taken
        .iter()
        .enumerate()
        .map(|(i, taken)| from_matrix_branch(m, a, i, *taken))
        .collect();
    let mut cells = branches[0].clone();
    for (branch, taken) in branches.iter().zip(taken).skip(1) {
        cells = branch
            .iter()
            .zip(&cells)
            .map(|(x, y)| m.select(taken, *x, *y))
            .collect();
    }
    normalize(m, &cells)
}

fn from_angles(m: &mut Math<'_, '_>, angles: [Cell; 3]) -> Vec<Cell> {
    let half = m.number(0.5);
    let [(cr, sr), (cp, sp), (cy, sy)] = angles.map(|angle| {
        let half = m.mul(angle, half);
        (
            m.b.unary(Unary::Cos, m.ty, half),
            m.b.unary(Unary::Sin, m.ty, half),
        )
    });
    let mut term = |a: [Cell; 3], b: [Cell; 3], plus: bool| {
        let (x, y) = (m.mul(a[0], a[1]), m.mul(b[0], b[1]));
        let (x, y) = (m.mul(x, a[2]), m.mul(y, b[2]));
        if plus { m.add(x, y) } else { m.sub(x, y) }
    };
    vec![
        // In Warp's order: the last bit depends on it.
        term([cy, sr, cp], [sy, cr, sp], false),
        term([cy, cr, sp], [sy, sr, cp], true),
        term([sy, cr, cp], [cy, sr, sp], false),
        term([cy, cr, cp], [sy, sr, sp], true),
    ]
}

/// The operations of a builtin on quaternions; `None` if it is none.
pub(super) fn expand(b: &mut Builder<'_>, name: &str, args: &[Operand], out: Type) -> Expanded {
    if name == "quat_identity" {
        let Type::Quat(scalar) = out else {
            return Ok(None);
        };
        let (zero, one) = (b.number(scalar, 0.0), b.number(scalar, 1.0));
        return Ok(Some(vec![zero, zero, zero, one]));
    }
    let Some(first) = args.first() else {
        return Ok(None);
    };
    let mut m = Math {
        b,
        ty: first.scalar,
    };
    let m = &mut m;
    let cells: Vec<Vec<Cell>> = args.iter().map(Operand::cells).collect();
    let both = args.iter().all(|arg| matches!(arg.ty, Type::Quat(_)));
    let result = match (name, cells.as_slice()) {
        ("mul", [p, q]) if both => product(m, p, q),
        ("quat_inverse", [q]) => conjugate(m, q),
        ("quat_rotate", [q, x]) => rotate(m, q, x),
        ("quat_rotate_inv", [q, x]) => {
            let inverse = conjugate(m, q);
            rotate(m, &inverse, x)
        }
        ("quat_to_matrix", [q]) => to_matrix(m, q),
        ("quat_from_matrix", [a]) if a.len() == 9 => from_matrix(m, a),
        ("quat_from_matrix", [a]) if a.len() == 16 => {
            let corner: Vec<Cell> = [0, 1, 2, 4, 5, 6, 8, 9, 10].map(|n| a[n]).to_vec();
            from_matrix(m, &corner)
        }
        ("quat_from_axis_angle", [axis, angle]) => from_axis_angle(m, axis, angle[0]),
        ("quat_to_axis_angle", [q]) => to_axis_angle(m, q),
        ("quat_rpy", [r, p, y]) => from_angles(m, [r[0], p[0], y[0]]),
        ("quat_slerp", [p, q, t]) => {
            let inverse = conjugate(m, p);
            let delta = product(m, &inverse, q);
            let turn = to_axis_angle(m, &delta);
            let part = m.mul(t[0], turn[3]);
            let step = from_axis_angle(m, &turn[..3], part);
            product(m, p, &step)
        }
        _ => return Ok(None),
    };
    Ok(Some(result))
}
