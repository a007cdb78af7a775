//! Adjoints of builtins on vectors, matrices and quaternions as Warp's CPU adds them up.
//!
//! The chain rule through their scalar operations gives the same numbers in another order, and so other last
//! bits; what is not stated here goes that way. Invariant: a share is computed from the arguments, the result
//! and its gradient alone, so that an argument that is given twice may receive both.

use super::call::Operand;
use super::inverse::determinant_shares;
use super::quaternion;
use super::rotation_adjoint::{self, Turn};
use super::vector::Math;
use crate::instruction::{Binary, Unary};
use crate::lanes::Cell;
use warpsmith_ir::Comparison;
use warpsmith_ir::types::Type;

/// What the dual of an argument's leaf receives: argument, leaf, whether it is subtracted, and the number.
pub(super) struct Share {
    pub(super) argument: usize,
    pub(super) leaf: usize,
    pub(super) op: Binary,
    pub(super) value: Cell,
}

/// Shares in the order in which duals receive them.
#[derive(Default)]
struct Shares(Vec<Share>);

impl Shares {
    fn one(&mut self, argument: usize, leaf: usize, op: Binary, value: Cell) {
        self.0.push(Share {
            argument,
            leaf,
            op,
            value,
        });
    }
    fn add(&mut self, argument: usize, values: &[Cell]) {
        self.add_from(argument, 0, values);
    }
    /// Adds to leaves from `first` on.
    fn add_from(&mut self, argument: usize, first: usize, values: &[Cell]) {
        for (n, value) in values.iter().enumerate() {
            self.one(argument, first + n, Binary::Add, *value);
        }
    }
    fn sub(&mut self, argument: usize, values: &[Cell]) {
        for (leaf, value) in values.iter().enumerate() {
            self.one(argument, leaf, Binary::Sub, *value);
        }
    }
}

/// A matrix's shape and cells.
#[derive(Clone)]
struct Matrix {
    rows: usize,
    cols: usize,
    cells: Vec<Cell>,
}

impl Matrix {
    fn of(ty: Type, cells: &[Cell]) -> Option<Self> {
        let Type::Matrix { rows, cols, .. } = ty else {
            return None;
        };
        Some(Self {
            rows: rows as usize,
            cols: cols as usize,
            cells: cells.to_vec(),
        })
    }
    fn row(&self, row: usize) -> Vec<Cell> {
        self.cells[row * self.cols..][..self.cols].to_vec()
    }
    fn col(&self, col: usize) -> Vec<Cell> {
        let rows = 0..self.rows;
        rows.map(|row| self.cells[row * self.cols + col]).collect()
    }
    fn transposed(&self) -> Self {
        Self {
            rows: self.cols,
            cols: self.rows,
            cells: (0..self.cols).flat_map(|col| self.col(col)).collect(),
        }
    }
    fn times(&self, m: &mut Math<'_, '_>, other: &Self) -> Self {
        let mut cells = Vec::with_capacity(self.rows * other.cols);
        for row in 0..self.rows {
            for col in 0..other.cols {
                cells.push(m.chain(&self.row(row), &other.col(col)));
            }
        }
        Self {
            rows: self.rows,
            cols: other.cols,
            cells,
        }
    }
    fn times_vector(&self, m: &mut Math<'_, '_>, v: &[Cell]) -> Vec<Cell> {
        let rows = 0..self.rows;
        rows.map(|row| m.sum_of_products(&self.row(row), v))
            .collect()
    }
}

/// The inner product that Warp's function of the same type makes.
fn inner(m: &mut Math<'_, '_>, ty: Type, v: &[Cell], w: &[Cell]) -> Cell {
    match ty {
        Type::Matrix { .. } => m.chain(v, w),
        Type::Quat(_) => m.sum_of_products(v, w),
        _ => m.dot(v, w),
    }
}

fn each(m: &mut Math<'_, '_>, op: Binary, v: &[Cell], w: &[Cell]) -> Vec<Cell> {
    let pairs = v.iter().zip(w);
    pairs.map(|(x, y)| m.b.binary(op, m.ty, *x, *y)).collect()
}

/// What the arguments' duals receive of `g`, the gradient of the result `ret`; `None` where this is not stated.
pub(super) fn shares(
    m: &mut Math<'_, '_>,
    name: &str,
    args: &[Operand],
    ret: &[Cell],
    g: &[Cell],
) -> Option<Vec<Share>> {
    let mut shares = Shares::default();
    let types: Vec<Type> = args.iter().map(|arg| arg.ty).collect();
    let cells: Vec<Vec<Cell>> = args.iter().map(Operand::cells).collect();
    let is_quat = |n: usize| matches!(types[n], Type::Quat(_));
    let is_vector = |n: usize| matches!(types[n], Type::Vector { .. });
    let is_transform = |n: usize| matches!(types[n], Type::Transform(_));
    let is_scalar = |n: usize| matches!(types[n], Type::Scalar(_));
    let is_whole = |n: usize| is_vector(n) || is_quat(n) || matches!(types[n], Type::Matrix { .. });
    let matrices: Vec<Option<Matrix>> = args
        .iter()
        .zip(&cells)
        .map(|(arg, cells)| Matrix::of(arg.ty, cells))
        .collect();
    match (name, cells.as_slice(), matrices.as_slice()) {
        ("mul", [..], [Some(a), Some(b)]) => {
            let g = Matrix {
                rows: a.rows,
                cols: b.cols,
                cells: g.to_vec(),
            };
            let left = g.times(m, &b.transposed());
            let right = a.transposed().times(m, &g);
            shares.add(0, &left.cells);
            shares.add(1, &right.cells);
        }
        ("mul", [_, v], [Some(a), None]) if is_vector(1) => {
            let left = outer(m, g, v);
            let right = a.transposed().times_vector(m, g);
            shares.add(0, &left);
            shares.add(1, &right);
        }
        ("mul", [v, _], [None, Some(a)]) if is_vector(0) => {
            let right = outer(m, v, g);
            let left = a.times_vector(m, g);
            shares.add(1, &right);
            shares.add(0, &left);
        }
        ("mul", [p, q], _) if is_quat(0) && is_quat(1) => {
            let (left, right) = (left_factor(m, q, g), right_factor(m, p, g));
            shares.add(0, &left);
            shares.add(1, &right);
        }
        ("mul", [..], _) if is_whole(0) && is_scalar(1) || is_scalar(0) && is_whole(1) => {
            let (whole, scalar) = if is_whole(0) { (0, 1) } else { (1, 0) };
            let scaled = m.scale(g, cells[scalar][0]);
            shares.add(whole, &scaled);
            if matrices[whole].is_some() {
                for product in each(m, Binary::Mul, &cells[whole], g) {
                    shares.one(scalar, 0, Binary::Add, product);
                }
            } else {
                let sum = inner(m, types[whole], &cells[whole], g);
                shares.one(scalar, 0, Binary::Add, sum);
            }
        }
        ("div", [a, s], _) if is_whole(0) && is_scalar(1) => {
            let sum = inner(m, types[0], a, g);
            let square = m.mul(s[0], s[0]);
            let quotient = m.div(sum, square);
            shares.one(1, 0, Binary::Sub, quotient);
            let quotients: Vec<Cell> = g.iter().map(|g| m.div(*g, s[0])).collect();
            shares.add(0, &quotients);
        }
        ("div", [s, a], _) if is_scalar(0) && is_whole(1) => {
            let one = m.number(1.0);
            for (leaf, (a, g)) in a.iter().zip(g).enumerate() {
                let inverse = m.div(one, *a);
                let share = m.mul(s[0], *g);
                let share = m.mul(share, inverse);
                let share = m.mul(share, inverse);
                shares.one(1, leaf, Binary::Sub, share);
                let share = m.mul(*g, inverse);
                shares.one(0, 0, Binary::Add, share);
            }
        }
        ("dot" | "ddot" | "spatial_dot", [a, b], _) => {
            let (left, right) = (m.scale(b, g[0]), m.scale(a, g[0]));
            shares.add(0, &left);
            shares.add(1, &right);
        }
        ("cw_mul", [a, b], _) if is_whole(0) && is_whole(1) => {
            let (left, right) = (each(m, Binary::Mul, b, g), each(m, Binary::Mul, a, g));
            shares.add(0, &left);
            shares.add(1, &right);
        }
        ("cw_div", [_, b], _) if is_whole(0) && is_whole(1) => {
            let left = each(m, Binary::Div, g, b);
            let quotients = each(m, Binary::Div, ret, b);
            let right = each(m, Binary::Mul, g, &quotients);
            shares.add(0, &left);
            shares.sub(1, &right);
        }
        ("lerp", [a, b, t], _) if is_whole(0) => {
            let one = m.number(1.0);
            let rest = m.sub(one, t[0]);
            let (left, right) = (m.scale(g, rest), m.scale(g, t[0]));
            let (x, y) = (inner(m, types[1], b, g), inner(m, types[0], a, g));
            let difference = m.sub(x, y);
            shares.add(0, &left);
            shares.add(1, &right);
            shares.one(2, 0, Binary::Add, difference);
        }
        ("outer", [a, b], _) if is_vector(0) && is_vector(1) => {
            let g = Matrix {
                rows: a.len(),
                cols: b.len(),
                cells: g.to_vec(),
            };
            let (left, right) = (g.times_vector(m, b), g.transposed().times_vector(m, a));
            shares.add(0, &left);
            shares.add(1, &right);
        }
        ("cross", [a, b], _) => {
            let (left, right) = (m.cross(b, g), m.cross(a, g));
            shares.add(0, &left);
            shares.sub(1, &right);
        }
        ("skew", [_], _) => {
            let differences = [(7, 5), (2, 6), (3, 1)].map(|(x, y)| m.sub(g[x], g[y]));
            shares.add(0, &differences);
        }
        ("length_sq", [a], _) => {
            let two = m.number(2.0);
            let doubled = m.scale(a, two);
            let scaled = m.scale(&doubled, g[0]);
            shares.add(0, &scaled);
        }
        ("length", [a], _) => {
            let (defined, divisor) = positive_divisor(m, ret[0]);
            let unit: Vec<Cell> = match is_quat(0) {
                true => {
                    let inverse = reciprocal(m, divisor);
                    m.scale(a, inverse)
                }
                false => a.iter().map(|x| m.div(*x, divisor)).collect(),
            };
            let scaled = m.scale(&unit, g[0]);
            shares.add(0, &where_defined(m, defined, &scaled));
        }
        ("normalize", [a], _) => {
            let length = m.length(a);
            let (defined, divisor) = positive_divisor(m, length);
            let inverse = reciprocal(m, divisor);
            let scaled = m.scale(g, inverse);
            let along = if is_quat(0) {
                let square = m.mul(inverse, inverse);
                let cube = m.mul(square, inverse);
                let sum = m.sum_of_products(a, g);
                let factor = m.mul(cube, sum);
                m.scale(a, factor)
            } else {
                let sum = m.dot(ret, g);
                let product = m.scale(ret, sum);
                m.scale(&product, inverse)
            };
            let differences = each(m, Binary::Sub, &scaled, &along);
            shares.add(0, &where_defined(m, defined, &differences));
        }
        ("spatial_cross", [a, b], _) => {
            crossed(m, &mut shares, (a, 0), (b, 0), &g[..3]);
            crossed(m, &mut shares, (a, 3), (b, 0), &g[3..]);
            crossed(m, &mut shares, (a, 0), (b, 3), &g[3..]);
        }
        ("spatial_cross_dual", [a, b], _) => {
            crossed(m, &mut shares, (a, 0), (b, 0), &g[..3]);
            crossed(m, &mut shares, (a, 3), (b, 3), &g[..3]);
            crossed(m, &mut shares, (a, 0), (b, 3), &g[3..]);
        }
        ("quat_rotate" | "quat_rotate_inv", [q, x], _) => {
            let turn = match name {
                "quat_rotate" => Turn::There,
                _ => Turn::Back,
            };
            let (left, right) = rotation_adjoint::shares(m, turn, (q, x), g);
            shares.add(0, &left);
            shares.add(1, &right);
        }
        ("quat_to_matrix", [q], _) => {
            let (zero, one) = (m.number(0.0), m.number(1.0));
            for col in 0..3 {
                let mut axis = [zero; 3];
                axis[col] = one;
                let of_col = [g[col], g[3 + col], g[6 + col]];
                let (share, _) = rotation_adjoint::shares(m, Turn::There, (q, &axis), &of_col);
                shares.add(0, &share);
            }
        }
        ("quat_from_axis_angle", [axis, angle], _) => {
            let half = m.number(0.5);
            let part = m.mul(angle[0], half);
            let (sin, cos) = (
                m.b.unary(Unary::Sin, m.ty, part),
                m.b.unary(Unary::Cos, m.ty, part),
            );
            let along = m.scale(&g[..3], sin);
            let mut slope = m.scale(axis, cos);
            slope.push(m.neg(sin));
            let slope = m.scale(&slope, half);
            let sum = m.sum_of_products(&slope, g);
            shares.add(0, &along);
            shares.one(1, 0, Binary::Add, sum);
        }
        ("transform_point" | "transform_vector", [t, x], _) if is_transform(0) => {
            let (turned, moved) = rotation_adjoint::shares(m, Turn::There, (&t[3..], x), g);
            shares.add_from(0, 3, &turned);
            shares.add(1, &moved);
            if name == "transform_point" {
                shares.add(0, g);
            }
        }
        ("transform_multiply" | "mul", [s, t], _) if is_transform(0) && is_transform(1) => {
            let (turned, moved) =
                rotation_adjoint::shares(m, Turn::There, (&s[3..], &t[..3]), &g[..3]);
            shares.add_from(0, 3, &turned);
            shares.add(1, &moved);
            shares.add(0, &g[..3]);
            let left = left_factor(m, &t[3..], &g[3..]);
            let right = right_factor(m, &s[3..], &g[3..]);
            shares.add_from(0, 3, &left);
            shares.add_from(1, 3, &right);
        }
        ("transform_inverse", [t], _) => {
            let inverse = quaternion::conjugate(m, &t[3..]);
            let back = m.neg_all(&g[..3]);
            let (turned, moved) =
                rotation_adjoint::shares(m, Turn::There, (&inverse, &t[..3]), &back);
            shares.add(0, &moved);
            let sums = m.add_all(&g[3..], &turned);
            for (n, sum) in sums.into_iter().enumerate() {
                let op = if n == 3 { Binary::Add } else { Binary::Sub };
                shares.one(0, 3 + n, op, sum);
            }
        }
        ("determinant", [a], [Some(_)]) if matches!(a.len(), 4 | 9 | 16) => {
            let values = determinant_shares(m, a, g[0]);
            shares.add(0, &values);
        }
        ("inverse" | "inverse_approx", [a], [Some(of)]) => {
            let back = Matrix {
                cells: ret.to_vec(),
                ..of.clone()
            }
            .transposed();
            let g = Matrix {
                cells: g.to_vec(),
                ..of.clone()
            };
            debug_assert_eq!(a.len(), ret.len());
            let product = back.times(m, &g).times(m, &back);
            shares.sub(0, &product.cells);
        }
        ("transform_point" | "transform_vector", [_, v], [Some(a), None]) if a.rows == 4 => {
            let mut ends = v.clone();
            ends.push(m.number(if name == "transform_point" { 1.0 } else { 0.0 }));
            shares.add(0, &outer(m, g, &ends));
            for col in 0..3 {
                let sum = m.dot(&a.col(col)[..3], g);
                shares.one(1, col, Binary::Add, sum);
            }
        }
        _ => return None,
    }
    Some(shares.0)
}

/// The shares of the cross product of three components of the first argument and three of the second.
fn crossed(
    m: &mut Math<'_, '_>,
    shares: &mut Shares,
    (a, of_a): (&[Cell], usize),
    (b, of_b): (&[Cell], usize),
    g: &[Cell],
) {
    let left = m.cross(&b[of_b..of_b + 3], g);
    let right = m.cross(&a[of_a..of_a + 3], g);
    shares.add_from(0, of_a, &left);
    for (n, value) in right.into_iter().enumerate() {
        shares.one(1, of_b + n, Binary::Sub, value);
    }
}

fn outer(m: &mut Math<'_, '_>, v: &[Cell], w: &[Cell]) -> Vec<Cell> {
    v.iter().flat_map(|x| m.scale(w, *x)).collect()
}

fn reciprocal(m: &mut Math<'_, '_>, divisor: Cell) -> Cell {
    let one = m.number(1.0);
    m.div(one, divisor)
}

/// Whether a number is positive, and a number to divide by in either case.
fn positive_divisor(m: &mut Math<'_, '_>, number: Cell) -> (Cell, Cell) {
    let zero = m.number(0.0);
    let defined = m.b.compare(Comparison::Greater, m.ty, number, zero);
    let one = m.number(1.0);
    (defined, m.select(defined, number, one))
}

fn where_defined(m: &mut Math<'_, '_>, defined: Cell, values: &[Cell]) -> Vec<Cell> {
    let zero = m.number(0.0);
    values.iter().map(|x| m.select(defined, *x, zero)).collect()
}

/// A sum of products of a quaternion's components, by their numbers; `false` subtracts. The first is added.
fn terms(m: &mut Math<'_, '_>, q: &[Cell], g: &[Cell], terms: [(usize, usize, bool); 4]) -> Cell {
    let [first, rest @ ..] = terms;
    let mut sum = m.mul(q[first.0], g[first.1]);
    for (x, y, plus) in rest {
        let product = m.mul(q[x], g[y]);
        sum = if plus {
            m.add(sum, product)
        } else {
            m.sub(sum, product)
        };
    }
    sum
}

/// The share of `p` in `p * q`.
fn left_factor(m: &mut Math<'_, '_>, q: &[Cell], g: &[Cell]) -> Vec<Cell> {
    vec![
        terms(
            m,
            q,
            g,
            [(3, 0, true), (0, 3, false), (1, 2, true), (2, 1, false)],
        ),
        terms(
            m,
            q,
            g,
            [(3, 1, true), (1, 3, false), (0, 2, false), (2, 0, true)],
        ),
        terms(
            m,
            q,
            g,
            [(3, 2, true), (0, 1, true), (1, 0, false), (2, 3, false)],
        ),
        terms(
            m,
            q,
            g,
            [(3, 3, true), (0, 0, true), (1, 1, true), (2, 2, true)],
        ),
    ]
}

/// The share of `q` in `p * q`.
fn right_factor(m: &mut Math<'_, '_>, p: &[Cell], g: &[Cell]) -> Vec<Cell> {
    vec![
        terms(
            m,
            p,
            g,
            [(3, 0, true), (0, 3, false), (1, 2, false), (2, 1, true)],
        ),
        terms(
            m,
            p,
            g,
            [(3, 1, true), (1, 3, false), (0, 2, true), (2, 0, false)],
        ),
        terms(
            m,
            p,
            g,
            [(3, 2, true), (0, 1, false), (1, 0, true), (2, 3, false)],
        ),
        terms(
            m,
            p,
            g,
            [(3, 3, true), (0, 0, true), (1, 1, true), (2, 2, true)],
        ),
    ]
}
