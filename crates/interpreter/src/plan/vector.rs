//! Builtins on vectors, and the arithmetic that matrices and quaternions are made of.

use super::builder::{Builder, Expanded};
use super::call::Operand;
use super::quaternion;
use crate::instruction::{Binary, Unary};
use crate::lanes::Cell;
use warpsmith_ir::Comparison;
use warpsmith_ir::types::{Scalar, Type};

/// Arithmetic on cells of one scalar type.
pub(super) struct Math<'b, 'm> {
    pub(super) b: &'b mut Builder<'m>,
    pub(super) ty: Scalar,
}

impl Math<'_, '_> {
    pub(super) fn number(&mut self, value: f64) -> Cell {
        self.b.number(self.ty, value)
    }
    pub(super) fn add(&mut self, x: Cell, y: Cell) -> Cell {
        self.b.binary(Binary::Add, self.ty, x, y)
    }
    pub(super) fn sub(&mut self, x: Cell, y: Cell) -> Cell {
        self.b.binary(Binary::Sub, self.ty, x, y)
    }
    pub(super) fn mul(&mut self, x: Cell, y: Cell) -> Cell {
        self.b.binary(Binary::Mul, self.ty, x, y)
    }
    pub(super) fn div(&mut self, x: Cell, y: Cell) -> Cell {
        self.b.binary(Binary::Div, self.ty, x, y)
    }
    pub(super) fn neg(&mut self, x: Cell) -> Cell {
        self.b.unary(Unary::Neg, self.ty, x)
    }
    pub(super) fn scale(&mut self, v: &[Cell], s: Cell) -> Vec<Cell> {
        v.iter().map(|x| self.mul(*x, s)).collect()
    }
    pub(super) fn add_all(&mut self, v: &[Cell], w: &[Cell]) -> Vec<Cell> {
        v.iter().zip(w).map(|(x, y)| self.add(*x, *y)).collect()
    }
    pub(super) fn neg_all(&mut self, v: &[Cell]) -> Vec<Cell> {
        v.iter().map(|x| self.neg(*x)).collect()
    }
    /// A sum of products as Warp makes those of two matrices: from zero, by multiply-adds that round once.
    pub(super) fn chain(&mut self, v: &[Cell], w: &[Cell]) -> Cell {
        let zero = self.number(0.0);
        let terms = v.iter().zip(w);
        terms.fold(zero, |sum, (x, y)| self.b.mul_add(self.ty, *x, *y, sum))
    }
    /// The sum of products of vectors: from the first of two or three, of more from zero, which only shows in
    /// the sign of a zero.
    pub(super) fn dot(&mut self, v: &[Cell], w: &[Cell]) -> Cell {
        let sum = self.sum_of_products(v, w);
        match v.len() {
            0..=3 => sum,
            _ => {
                let zero = self.number(0.0);
                self.add(zero, sum)
            }
        }
    }
    /// The sum of products, from the first on.
    pub(super) fn sum_of_products(&mut self, v: &[Cell], w: &[Cell]) -> Cell {
        let mut sum = None;
        for (x, y) in v.iter().zip(w) {
            let product = self.mul(*x, *y);
            sum = Some(sum.map_or(product, |sum| self.add(sum, product)));
        }
        sum.unwrap_or_else(|| self.number(0.0))
    }
    /// The length of a vector.
    pub(super) fn length(&mut self, v: &[Cell]) -> Cell {
        let square = self.sum_of_products(v, v);
        self.b.unary(Unary::Length, self.ty, square)
    }
    pub(super) fn is_positive(&mut self, x: Cell) -> Cell {
        let zero = self.number(0.0);
        self.b.compare(Comparison::Greater, self.ty, x, zero)
    }
    pub(super) fn select(&mut self, cond: Cell, x: Cell, y: Cell) -> Cell {
        self.b.select(self.ty, cond, x, y)
    }
    /// `v` over its length; zero where that is zero.
    pub(super) fn normalize(&mut self, v: &[Cell]) -> Vec<Cell> {
        let length = self.length(v);
        let defined = self.is_positive(length);
        // No lane divides by zero, so that no derivative is NaN where the value was replaced.
        let (zero, one) = (self.number(0.0), self.number(1.0));
        let divisor = self.select(defined, length, one);
        let mut unit = Vec::new();
        for x in v {
            let quotient = self.div(*x, divisor);
            unit.push(self.select(defined, quotient, zero));
        }
        unit
    }
    pub(super) fn cross(&mut self, v: &[Cell], w: &[Cell]) -> Vec<Cell> {
        [(1, 2), (2, 0), (0, 1)]
            .into_iter()
            .map(|(i, j)| {
                let (x, y) = (self.mul(v[i], w[j]), self.mul(v[j], w[i]));
                self.sub(x, y)
            })
            .collect()
    }
}

/// The operations of a builtin on vectors; `None` if it is none.
pub(super) fn expand(b: &mut Builder<'_>, name: &str, args: &[Operand], out: Type) -> Expanded {
    let ty = match out {
        Type::Vector { scalar, .. }
        | Type::Matrix { scalar, .. }
        | Type::Quat(scalar)
        | Type::Transform(scalar) => scalar,
        _ => args.first().map_or(Scalar::Any, |arg| arg.scalar),
    };
    let wide = match out {
        Type::Vector { length, .. } => length as usize,
        Type::Matrix { rows, cols, .. } => (rows * cols) as usize,
        Type::Quat(_) => 4,
        Type::Transform(_) => 7,
        _ => 1,
    };
    let cells: Vec<Vec<Cell>> = args.iter().map(Operand::cells).collect();
    let is_constructor = matches!(
        name,
        "vector" | "matrix" | "quaternion" | "transformation" | "spatial_vector" | "spatial_matrix"
    );
    if is_constructor || is_type_name(name) && wide > 1 {
        return construct(b, ty, wide, args);
    }
    let mut m = Math { b, ty };
    let result = match (name, cells.as_slice()) {
        ("mul", [v, s]) if v.len() > 1 && s.len() == 1 => m.scale(v, s[0]),
        ("mul", [s, v]) if v.len() > 1 && s.len() == 1 => m.scale(v, s[0]),
        ("div" | "div_approx", [v, s]) if v.len() > 1 && s.len() == 1 => {
            v.iter().map(|x| m.div(*x, s[0])).collect()
        }
        ("div" | "div_approx", [s, v]) if v.len() > 1 && s.len() == 1 => {
            v.iter().map(|x| m.div(s[0], *x)).collect()
        }
        ("ddot", [v, w]) => vec![m.chain(v, w)],
        ("dot", [v, w]) if matches!(args[0].ty, Type::Quat(_)) => vec![m.sum_of_products(v, w)],
        ("dot" | "spatial_dot", [v, w]) => vec![m.dot(v, w)],
        ("length", [v]) => vec![m.length(v)],
        ("length_sq", [v]) => vec![m.sum_of_products(v, v)],
        ("normalize", [v]) if matches!(out, Type::Quat(_)) => quaternion::normalize(&mut m, v),
        ("normalize", [v]) => m.normalize(v),
        ("cross", [v, w]) => m.cross(v, w),
        ("min" | "max", [v]) => vec![extreme(m.b, ty, v, name == "min").0],
        ("argmin" | "argmax", [v]) => {
            let ty = args[0].scalar;
            vec![extreme(m.b, ty, v, name == "argmin").1]
        }
        ("spatial_top", [v]) => v[..3].to_vec(),
        ("spatial_bottom", [v]) => v[3..].to_vec(),
        ("spatial_cross", [v, w]) => {
            let top = m.cross(&v[..3], &w[..3]);
            let (x, y) = (m.cross(&v[3..], &w[..3]), m.cross(&v[..3], &w[3..]));
            [top, m.add_all(&x, &y)].concat()
        }
        ("spatial_cross_dual", [v, w]) => {
            let (x, y) = (m.cross(&v[..3], &w[..3]), m.cross(&v[3..], &w[3..]));
            let top = m.add_all(&x, &y);
            [top, m.cross(&v[..3], &w[3..])].concat()
        }
        _ => return Ok(None),
    };
    Ok(Some(result))
}

/// `vec3f` and the like, which construct by their own names.
fn is_type_name(name: &str) -> bool {
    name.starts_with("vec")
        || name.starts_with("mat") && !name.starts_with("matrix")
        || name == "quat"
}

/// A value from nothing, one number for all, one for each, parts, or a value of another scalar type.
fn construct(b: &mut Builder<'_>, ty: Scalar, wide: usize, args: &[Operand]) -> Expanded {
    let given: usize = args.iter().map(|arg| arg.len).sum();
    if given == 0 {
        return Ok(Some(vec![b.bits(ty, 0); wide]));
    }
    let mut cells = Vec::new();
    for arg in args {
        for cell in arg.cells() {
            cells.push(b.cast(arg.scalar, ty, cell));
        }
    }
    if let [fill] = *cells {
        return Ok(Some(vec![fill; wide]));
    }
    Ok((given == wide).then_some(cells))
}

/// The smallest or largest component and its position; the first of equals.
fn extreme(b: &mut Builder<'_>, ty: Scalar, v: &[Cell], smallest: bool) -> (Cell, Cell) {
    let op = if smallest {
        Comparison::Less
    } else {
        Comparison::Greater
    };
    let (mut best, mut at) = (v[0], b.integer(0));
    for (n, x) in v.iter().enumerate().skip(1) {
        let better = b.compare(op, ty, *x, best);
        best = b.select(ty, better, *x, best);
        let n = b.integer(n as i64);
        at = b.select(Scalar::I32, better, n, at);
    }
    (best, at)
}
