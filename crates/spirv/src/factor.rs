//! Factorisations of small matrices and their adjoints: the operations of [`Factorisation`], in its
//! order.
#![allow(
    clippy::needless_range_loop,
    reason = "formulas over rows and columns read as they are written"
)]

use super::emitter::Emitter;
use super::opcode::{Op, glsl};
use super::writer::{Id, Kind};
use warpsmith_interpreter::scalar_form::Cell;
use warpsmith_interpreter::scalar_form::Factorisation;
use warpsmith_interpreter::scalar_form::Unary;
use warpsmith_ir::types::Scalar;

const D: Kind = Kind::F64;
/// Sweeps of Jacobi's method.
const SWEEPS: u32 = 12;

/// A square matrix of doubles.
type Square<const N: usize> = [[Id; N]; N];

fn square<const N: usize>(numbers: &[Id]) -> Square<N> {
    std::array::from_fn(|i| std::array::from_fn(|j| numbers[N * i + j]))
}

fn transposed<const N: usize>(m: &Square<N>) -> Square<N> {
    std::array::from_fn(|i| std::array::from_fn(|j| m[j][i]))
}

impl Emitter<'_> {
    pub(super) fn factor(
        &mut self,
        kind: Factorisation,
        ty: Scalar,
        (dst, src): (Cell, Cell),
        backward: bool,
    ) {
        let count = if backward {
            2 * kind.outputs()
        } else {
            kind.inputs()
        };
        let given: Vec<Id> = (0..count)
            .map(|n| {
                let number = self.get(src.at(n), ty);
                match ty {
                    Scalar::F64 => number,
                    _ => self.widened(number),
                }
            })
            .collect();
        let made = if backward {
            let (factors, duals) = given.split_at(kind.outputs());
            self.factor_adjoint(kind, factors, duals)
        } else {
            self.factors(kind, &given)
        };
        for (n, number) in made.into_iter().enumerate() {
            let number = match ty {
                Scalar::F64 => number,
                _ => {
                    let single = self.narrowed(number);
                    self.rounded(ty, single)
                }
            };
            self.put(dst.at(n), ty, number);
        }
    }

    fn factors(&mut self, kind: Factorisation, given: &[Id]) -> Vec<Id> {
        match kind {
            Factorisation::Eig3 => {
                let (q, values) = self.eigen(&square(given));
                [q.as_flattened(), &values].concat()
            }
            Factorisation::Qr3 => {
                let (q, r) = self.rotation_and_triangle(&square(given));
                [q.as_flattened(), r.as_flattened()].concat()
            }
            Factorisation::Svd3 => {
                let (u, values, v) = self.singular(&square(given));
                [u.as_flattened(), &values, v.as_flattened()].concat()
            }
            Factorisation::Svd2 => self.singular_2(given),
        }
    }

    fn factor_adjoint(&mut self, kind: Factorisation, factors: &[Id], duals: &[Id]) -> Vec<Id> {
        match kind {
            Factorisation::Eig3 => {
                let (q, values) = (square::<3>(factors), &factors[9..12]);
                let mut inner = self.product(&transposed(&q), &square(duals));
                for i in 0..3 {
                    for j in 0..3 {
                        inner[i][j] = if i == j {
                            duals[9 + i]
                        } else {
                            let gap = self.less(values[j], values[i]);
                            let gap = self.reciprocal_gap(gap);
                            self.times(inner[i][j], gap)
                        };
                    }
                }
                let outer = self.product(&q, &inner);
                self.product(&outer, &transposed(&q))
                    .as_flattened()
                    .to_vec()
            }
            Factorisation::Qr3 => self.rotation_adjoint(factors, duals),
            Factorisation::Svd3 => self.singular_adjoint::<3>(factors, duals),
            Factorisation::Svd2 => self.singular_adjoint::<2>(factors, duals),
        }
    }

    fn inner_product(&mut self, a: &[Id], b: &[Id]) -> Id {
        let mut sum = self.times(a[0], b[0]);
        for (a, b) in a[1..].iter().zip(&b[1..]) {
            let term = self.times(*a, *b);
            sum = self.sum(sum, term);
        }
        sum
    }

    fn product<const N: usize>(&mut self, a: &Square<N>, b: &Square<N>) -> Square<N> {
        let columns = transposed(b);
        std::array::from_fn(|i| std::array::from_fn(|j| self.inner_product(&a[i], &columns[j])))
    }

    /// `a + factor·b`.
    fn added(&mut self, a: &Square<3>, b: &Square<3>, factor: f64) -> Square<3> {
        std::array::from_fn(|i| {
            std::array::from_fn(|j| {
                let term = self.scaled(b[i][j], factor);
                self.sum(a[i][j], term)
            })
        })
    }

    fn eigen(&mut self, m: &Square<3>) -> (Square<3>, [Id; 3]) {
        let a: [[Id; 3]; 3] = std::array::from_fn(|_| [0; 3].map(|_| self.w.variable(D)));
        let q: [[Id; 3]; 3] = std::array::from_fn(|_| [0; 3].map(|_| self.w.variable(D)));
        for i in 0..3 {
            for j in 0..3 {
                // The lower triangle is the matrix.
                let operands = [a[i][j], m[i.max(j)][i.min(j)]];
                self.w.act(Op::Store, &operands);
                let unit = self.w.f64(if i == j { 1.0 } else { 0.0 });
                self.w.act(Op::Store, &[q[i][j], unit]);
            }
        }
        let sweeps = self.w.u32(SWEEPS);
        self.repeat_times(sweeps, |e| {
            for (i, j) in [(0, 1), (1, 2), (2, 0)] {
                e.rotate(&a, &q, i, j);
            }
        });
        let q: Square<3> = q.map(|row| row.map(|cell| self.w.value(Op::Load, D, &[cell])));
        let turned = self.product(&transposed(&q), m);
        let columns = transposed(&q);
        let values = [0, 1, 2].map(|n| self.inner_product(&turned[n], &columns[n]));
        (q, values)
    }

    /// One rotation of Jacobi's method, where there is something to rotate away.
    fn rotate(&mut self, a: &[[Id; 3]; 3], q: &[[Id; 3]; 3], i: usize, j: usize) {
        let mut at = [[0; 3]; 3];
        for (row, cells) in at.iter_mut().zip(a) {
            *row = cells.map(|cell| self.w.value(Op::Load, D, &[cell]));
        }
        let off = at[i][j];
        let some = self.ask(Op::FUnordNotEqual, off, 0.0);
        let merge = self.open_plain(some);
        let gap = self.less(at[i][i], at[j][j]);
        let near_cos = self.scaled(gap, 2.0);
        let (eighth_sin, eighth_cos) = std::f64::consts::FRAC_PI_8.sin_cos();
        let bound = self.scaled(off, 3.0 + 2.0 * std::f64::consts::SQRT_2);
        let bound = self.times(bound, off);
        let square = self.times(near_cos, near_cos);
        let wide = (self.w).value(Op::FOrdGreaterThanEqual, Kind::Bool, &[bound, square]);
        let (eighth_sin, eighth_cos) = (self.w.f64(eighth_sin), self.w.f64(eighth_cos));
        let ch = self.choose(wide, eighth_cos, near_cos);
        let sh = self.choose(wide, eighth_sin, off);
        let (cc, ss) = (self.times(ch, ch), self.times(sh, sh));
        let whole = self.sum(cc, ss);
        let c = self.less(cc, ss);
        let c = self.over(c, whole);
        let s = self.scaled(ch, 2.0);
        let s = self.times(s, sh);
        let s = self.over(s, whole);
        let turn = |e: &mut Self, x: Id, y: Id| {
            let [cx, sy, cy, sx] = [(c, x), (s, y), (c, y), (s, x)].map(|(a, b)| e.times(a, b));
            (e.sum(cx, sy), e.less(cy, sx))
        };
        for row in &mut at {
            (row[i], row[j]) = turn(self, row[i], row[j]);
        }
        for k in 0..3 {
            (at[i][k], at[j][k]) = turn(self, at[i][k], at[j][k]);
            let [x, y] = [q[k][i], q[k][j]].map(|cell| self.w.value(Op::Load, D, &[cell]));
            let (x, y) = turn(self, x, y);
            self.w.act(Op::Store, &[q[k][i], x]);
            self.w.act(Op::Store, &[q[k][j], y]);
        }
        for (cells, row) in a.iter().zip(at) {
            for (cell, number) in cells.iter().zip(row) {
                self.w.act(Op::Store, &[*cell, number]);
            }
        }
        self.close_plain(merge);
    }

    fn unit_vector(&mut self, x: [Id; 3]) -> [Id; 3] {
        let square = self.inner_product(&x, &x);
        let length = self.w.extended(glsl::SQRT, D, square);
        let some = self.ask(Op::FOrdGreaterThan, length, 0.0);
        let zero = self.w.f64(0.0);
        x.map(|x| {
            let scaled = self.over(x, length);
            self.choose(some, scaled, zero)
        })
    }

    fn rotation_and_triangle(&mut self, m: &Square<3>) -> (Square<3>, Square<3>) {
        let [a, b, _] = transposed(m);
        let x = self.unit_vector(a);
        let along = self.inner_product(&x, &b);
        let rest: [Id; 3] = std::array::from_fn(|n| {
            let part = self.times(x[n], along);
            self.less(b[n], part)
        });
        let y = self.unit_vector(rest);
        let z = [(1, 2), (2, 0), (0, 1)].map(|(i, j)| {
            let (up, down) = (self.times(x[i], y[j]), self.times(x[j], y[i]));
            self.less(up, down)
        });
        let q = transposed(&[x, y, z]);
        let mut r = self.product(&transposed(&q), m);
        let zero = self.w.f64(0.0);
        (r[1][0], r[2][0], r[2][1]) = (zero, zero, zero);
        (q, r)
    }

    fn rotation_adjoint(&mut self, factors: &[Id], duals: &[Id]) -> Vec<Id> {
        let (q, r) = (square::<3>(factors), square::<3>(&factors[9..]));
        let (dq, dr) = (square::<3>(duals), square::<3>(&duals[9..]));
        let first = self.product(&r, &transposed(&dr));
        let second = self.product(&transposed(&dq), &q);
        let mut s = self.added(&first, &second, -1.0);
        // Its lower triangle, mirrored.
        for i in 0..3 {
            for j in i + 1..3 {
                s[i][j] = s[j][i];
            }
        }
        let inner = self.product(&q, &s);
        let sum = self.added(&dq, &inner, 1.0);
        let inverse = self.triangle_inverse(&r);
        let made = self.product(&sum, &transposed(&inverse));
        made.as_flattened().to_vec()
    }

    fn triangle_inverse(&mut self, r: &Square<3>) -> Square<3> {
        let (zero, one) = (self.w.f64(0.0), self.w.f64(1.0));
        let [x, y, z] = [r[0][0], r[1][1], r[2][2]].map(|d| self.over(one, d));
        let beside = |e: &mut Self, number: Id, x: Id, y: Id| {
            let minus = e.negated(D, number);
            let product = e.times(minus, x);
            e.times(product, y)
        };
        let upper = beside(self, r[0][1], x, y);
        let lower = beside(self, r[1][2], y, z);
        let (far, near) = (self.times(r[0][1], r[1][2]), self.times(r[0][2], r[1][1]));
        let corner = self.less(far, near);
        let corner = [x, y, z]
            .into_iter()
            .fold(corner, |product, factor| self.times(product, factor));
        [[x, upper, corner], [zero, y, lower], [zero, zero, z]]
    }

    fn singular(&mut self, m: &Square<3>) -> (Square<3>, [Id; 3], Square<3>) {
        let squares = self.product(&transposed(m), m);
        let (mut v, mut d) = self.eigen(&squares);
        for (i, j) in [(0, 1), (1, 2), (0, 1)] {
            let swap = self.w.value(Op::FOrdLessThan, Kind::Bool, &[d[i], d[j]]);
            (d[i], d[j]) = (self.choose(swap, d[j], d[i]), self.choose(swap, d[i], d[j]));
            // A swap with one sign changed keeps the rotation a rotation.
            for row in &mut v {
                let minus = self.negated(D, row[i]);
                let first = self.choose(swap, row[j], row[i]);
                let second = self.choose(swap, minus, row[j]);
                (row[i], row[j]) = (first, second);
            }
        }
        let turned = self.product(m, &v);
        let (u, r) = self.rotation_and_triangle(&turned);
        (u, [r[0][0], r[1][1], r[2][2]], v)
    }

    fn singular_2(&mut self, m: &[Id]) -> Vec<Id> {
        let [a, b, c, d] = [m[0], m[1], m[2], m[3]];
        let (trace, twist) = (self.sum(a, d), self.less(c, b));
        let (gap, shear) = (self.less(a, d), self.sum(c, b));
        let (turn, mirror) = (
            self.arc_tangent2(twist, trace),
            self.arc_tangent2(shear, gap),
        );
        let half_length = |e: &mut Self, x: Id, y: Id| {
            let square = e.inner_product(&[x, y], &[x, y]);
            let length = e.w.extended(glsl::SQRT, D, square);
            e.scaled(length, 0.5)
        };
        let (q, r) = (
            half_length(self, trace, twist),
            half_length(self, gap, shear),
        );
        let (left, right) = (self.sum(turn, mirror), self.less(mirror, turn));
        let (left, right) = (self.scaled(left, 0.5), self.scaled(right, 0.5));
        let (plus, minus) = (self.w.f64(1.0), self.w.f64(-1.0));
        let flips = self.w.value(Op::FOrdLessThan, Kind::Bool, &[q, r]);
        let sign = self.choose(flips, minus, plus);
        let [left_cos, left_sin, right_cos, right_sin] = [
            (Unary::Cos, left),
            (Unary::Sin, left),
            (Unary::Cos, right),
            (Unary::Sin, right),
        ]
        .map(|(op, angle)| self.circular(op, angle));
        let (cos, sin) = (self.times(sign, right_cos), self.times(sign, right_sin));
        let over = self.w.value(Op::FOrdGreaterThan, Kind::Bool, &[sin, cos]);
        let turned = self.choose(over, minus, plus);
        let (first, second) = (self.times(sign, left_cos), self.times(sign, left_sin));
        let (down, back) = (self.negated(D, left_sin), self.negated(D, sin));
        let gap = self.less(q, r);
        let values = [self.sum(q, r), self.absolute(D, gap)];
        let mut made: Vec<Id> = [first, down, second, left_cos]
            .map(|x| self.times(turned, x))
            .to_vec();
        made.extend(values);
        made.extend([cos, back, sin, cos].map(|x| self.times(turned, x)));
        made
    }

    /// 1 / x, and 0 where two values coincide.
    fn reciprocal_gap(&mut self, x: Id) -> Id {
        let size = self.absolute(D, x);
        let small = self.ask(Op::FOrdLessThan, size, 1e-12);
        let (zero, one) = (self.w.f64(0.0), self.w.f64(1.0));
        let inverse = self.over(one, x);
        self.choose(small, zero, inverse)
    }

    fn singular_adjoint<const N: usize>(&mut self, factors: &[Id], duals: &[Id]) -> Vec<Id> {
        let (first, last) = (N * N, N * N + N);
        let (u, v) = (square::<N>(factors), square::<N>(&factors[last..]));
        let s = &factors[first..last];
        let p = self.product(&transposed(&u), &square(duals));
        let q = self.product(&transposed(&v), &square(&duals[last..]));
        let mut core = [[0; N]; N];
        for i in 0..N {
            for j in 0..N {
                if i == j {
                    core[i][j] = duals[first + i];
                    continue;
                }
                let (upper, lower) = (self.times(s[j], s[j]), self.times(s[i], s[i]));
                let gap = self.less(upper, lower);
                let gap = self.reciprocal_gap(gap);
                let left = self.less(p[i][j], p[j][i]);
                let left = self.times(left, s[j]);
                let right = self.less(q[i][j], q[j][i]);
                let right = self.times(s[i], right);
                let sum = self.sum(left, right);
                core[i][j] = self.times(gap, sum);
            }
        }
        let outer = self.product(&u, &core);
        let made = self.product(&outer, &transposed(&v));
        made.as_flattened().to_vec()
    }
}
