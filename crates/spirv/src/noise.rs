//! Gradient noise, its curl and their derivatives: the operations of [`Noise`], in its order, so that
//! the bits are its own.
#![allow(
    clippy::needless_range_loop,
    reason = "formulas over axes read as they are written"
)]

use super::emitter::Emitter;
use super::opcode::{Op, glsl};
use super::writer::{Id, Kind};
use warpsmith_interpreter::scalar_form::Cell;
use warpsmith_interpreter::scalar_form::{Noise, NoiseKind, PRIMES, permuted};
use warpsmith_ir::types::Scalar;

const D: Kind = Kind::F64;

/// A cell of the lattice, and a point in it.
struct Around {
    corners: [[Id; 2]; 4],
    inside: [Id; 4],
}

/// Noise at a point with its first and second derivatives, up to the order that is requested.
struct Field {
    value: Id,
    slope: [Id; 4],
    bend: [[Id; 4]; 4],
}

impl Emitter<'_> {
    pub(super) fn noise(&mut self, noise: Noise, dst: Cell, src: Cell, backward: bool) {
        let axes = noise.axes();
        let state = self.read(src, Kind::U32);
        let point: Vec<Id> = (0..axes)
            .map(|n| self.read(src.at(1 + n), Kind::F32))
            .collect();
        let duals: Vec<Id> = (0..if backward { noise.outputs() } else { 0 })
            .map(|n| {
                let dual = self.read(src.at(noise.inputs() + n), Kind::F32);
                self.widened(dual)
            })
            .collect();
        let settings: Vec<Id> = (1 + axes..noise.inputs())
            .map(|n| self.read(src.at(n), Kind::U32))
            .collect();
        let results = match noise.kind() {
            NoiseKind::Curl => self.curl(axes, state, &point, &settings, &duals),
            kind => {
                let mut around = self.around(&point);
                if kind == NoiseKind::Periodic {
                    self.wrap(&mut around, &settings);
                }
                let field = self.field(axes, usize::from(backward), &around, state);
                match duals.first() {
                    Some(dual) => (0..axes)
                        .map(|n| self.times(field.slope[n], *dual))
                        .collect(),
                    None => vec![field.value],
                }
            }
        };
        for (n, result) in results.into_iter().enumerate() {
            let number = self.narrowed(result);
            self.write(dst.at(n), Kind::F32, number);
        }
    }

    fn around(&mut self, point: &[Id]) -> Around {
        let mut around = Around {
            corners: [[0; 2]; 4],
            inside: [0; 4],
        };
        let one = self.w.u32(1);
        for (n, x) in point.iter().enumerate() {
            let floor = self.floor(Kind::F32, *x);
            let low = self.cast(Scalar::F32, Scalar::I32, floor);
            let high = self.w.value(Op::IAdd, Kind::U32, &[low, one]);
            around.corners[n] = [low, high];
            let inside = self.w.value(Op::FSub, Kind::F32, &[*x, floor]);
            around.inside[n] = self.widened(inside);
        }
        around
    }

    /// Corners modulo the periods; modulo nothing they are 0.
    fn wrap(&mut self, around: &mut Around, periods: &[Id]) {
        let (zero, one, minus) = (self.w.u32(0), self.w.u32(1), self.w.u32(u32::MAX));
        for (corners, period) in around.corners.iter_mut().zip(periods) {
            // By -1 nothing is left, and the least number must not be divided by it.
            let none = self.w.value(Op::IEqual, Kind::Bool, &[*period, zero]);
            let back = self.w.value(Op::IEqual, Kind::Bool, &[*period, minus]);
            let odd = self.w.value(Op::LogicalOr, Kind::Bool, &[none, back]);
            let divisor = self.select(Kind::U32, odd, one, *period);
            let low = self.whole_remainder(Kind::U32, corners[0], divisor);
            let next = self.w.value(Op::IAdd, Kind::U32, &[low, one]);
            *corners = [low, self.whole_remainder(Kind::U32, next, divisor)];
        }
    }

    /// The sum of a product of weights, each differentiated as often as `orders` says.
    fn weight(
        &mut self,
        weights: &[[[Id; 3]; 2]; 4],
        corner: usize,
        axes: usize,
        orders: [usize; 4],
    ) -> Id {
        let of = |axis: usize| weights[axis][corner >> axis & 1][orders[axis]];
        (1..axes).fold(of(0), |product, axis| self.times(product, of(axis)))
    }

    fn field(&mut self, axes: usize, order: usize, around: &Around, state: Id) -> Field {
        let mut weights = [[[0; 3]; 2]; 4];
        for axis in 0..axes {
            weights[axis] = self.step_weights(order, around.inside[axis]);
        }
        let zero = self.w.f64(0.0);
        let mut field = Field {
            value: zero,
            slope: [zero; 4],
            bend: [[zero; 4]; 4],
        };
        for corner in 0..1_usize << axes {
            let direction = self.direction(axes, around, state, corner);
            let mut along = None;
            for axis in 0..axes {
                let distance = match corner >> axis & 1 {
                    0 => around.inside[axis],
                    _ => self.raised(around.inside[axis], -1.0),
                };
                let term = self.times(distance, direction[axis]);
                along = Some(match along {
                    Some(sum) => self.sum(sum, term),
                    None => term,
                });
            }
            let along = along.unwrap_or(zero);
            let plain = self.weight(&weights, corner, axes, [0; 4]);
            let term = self.times(plain, along);
            field.value = self.sum(field.value, term);
            if order == 0 {
                continue;
            }
            let mut along_one = [0; 4];
            for i in 0..axes {
                let mut orders = [0; 4];
                orders[i] = 1;
                along_one[i] = self.weight(&weights, corner, axes, orders);
            }
            for i in 0..axes {
                let terms = [
                    self.times(along_one[i], along),
                    self.times(plain, direction[i]),
                ];
                let term = self.sum(terms[0], terms[1]);
                field.slope[i] = self.sum(field.slope[i], term);
                if order == 1 {
                    continue;
                }
                for j in 0..axes {
                    let mut orders = [0; 4];
                    orders[i] += 1;
                    orders[j] += 1;
                    let weight = self.weight(&weights, corner, axes, orders);
                    let terms = [
                        self.times(weight, along),
                        self.times(along_one[i], direction[j]),
                        self.times(along_one[j], direction[i]),
                    ];
                    let term = self.sum(terms[0], terms[1]);
                    let term = self.sum(term, terms[2]);
                    field.bend[i][j] = self.sum(field.bend[i][j], term);
                }
            }
        }
        field
    }

    /// The quintic step and its derivatives, for the lower and the upper corner.
    fn step_weights(&mut self, order: usize, t: Id) -> [[Id; 3]; 2] {
        let one = self.w.f64(1.0);
        let square = self.times(t, t);
        let cube = self.times(square, t);
        let inner = self.scaled(t, 6.0);
        let inner = self.raised(inner, -15.0);
        let inner = self.times(t, inner);
        let inner = self.raised(inner, 10.0);
        let step = self.times(cube, inner);
        let rest = self.less(one, step);
        let (mut first, mut second) = (0, 0);
        if order > 0 {
            let outer = self.scaled(t, 30.0);
            let outer = self.times(outer, t);
            let inner = self.raised(t, -2.0);
            let inner = self.times(t, inner);
            let inner = self.raised(inner, 1.0);
            first = self.times(outer, inner);
        }
        if order > 1 {
            let outer = self.scaled(t, 60.0);
            let inner = self.scaled(t, 2.0);
            let inner = self.raised(inner, -3.0);
            let inner = self.times(t, inner);
            let inner = self.raised(inner, 1.0);
            second = self.times(outer, inner);
        }
        let minus = |emitter: &mut Self, id: Id| match id {
            0 => 0,
            id => emitter.negated(D, id),
        };
        let (down, back) = (minus(self, first), minus(self, second));
        [[rest, down, back], [step, first, second]]
    }

    /// The random direction of a corner.
    fn direction(&mut self, axes: usize, around: &Around, state: Id, corner: usize) -> [Id; 4] {
        let mut number = self.w.u32(0);
        for axis in 0..axes {
            let prime = self.w.u32(PRIMES[axis]);
            let at = around.corners[axis][corner >> axis & 1];
            let mut term = self.w.value(Op::IMul, Kind::U32, &[at, prime]);
            if axis + 1 == axes {
                term = self.w.value(Op::IAdd, Kind::U32, &[term, state]);
            }
            number = self.w.value(Op::BitwiseXor, Kind::U32, &[number, term]);
        }
        let mut direction = [0; 4];
        for part in &mut direction[..axes] {
            let unit = self.unit(&mut number);
            *part = self.raised(unit, -0.5);
        }
        if axes == 1 {
            direction[0] = self.scaled(direction[0], 2.0);
            return direction;
        }
        let squares: Vec<Id> = direction[..axes]
            .iter()
            .map(|x| self.times(*x, *x))
            .collect();
        let sum = squares[1..]
            .iter()
            .fold(squares[0], |sum, x| self.sum(sum, *x));
        let length = self.w.extended(glsl::SQRT, D, sum);
        let some = self.ask(Op::FOrdGreaterThan, length, 0.0);
        let zero = self.w.f64(0.0);
        for part in &mut direction[..axes] {
            let scaled = self.over(*part, length);
            *part = self.choose(some, scaled, zero);
        }
        direction
    }

    /// The next number in [0, 1); the generator's state moves on.
    pub(super) fn unit(&mut self, state: &mut Id) -> Id {
        *state = self.random_step(Kind::U32, *state);
        let eight = self.w.u32(8);
        let high = self
            .w
            .value(Op::ShiftRightLogical, Kind::U32, &[*state, eight]);
        let number = self.w.value(Op::ConvertUToF, D, &[high]);
        self.scaled(number, 1.0 / 16_777_216.0)
    }

    /// The curl of a sum of octaves, or what the point's dual receives of its duals.
    fn curl(
        &mut self,
        axes: usize,
        state: Id,
        point: &[Id],
        settings: &[Id],
        duals: &[Id],
    ) -> Vec<Id> {
        let [lacunarity, gain] =
            [1, 2].map(|n| self.w.value(Op::Bitcast, Kind::F32, &[settings[n]]));
        let order = if duals.is_empty() { 1 } else { 2 };
        let fields = if axes > 2 { 3 } else { 1 };
        // Slopes of each field, or the dual of the point.
        let count = if duals.is_empty() {
            fields * axes
        } else {
            axes
        };
        let sums: Vec<Id> = (0..count).map(|_| self.w.variable(D)).collect();
        let zero = self.w.f64(0.0);
        for sum in &sums {
            self.w.act(Op::Store, &[*sum, zero]);
        }
        let [frequency, amplitude] = [0; 2].map(|_| self.w.variable(Kind::F32));
        let moving = self.w.variable(Kind::U32);
        let one = self.w.f32(1.0);
        self.w.act(Op::Store, &[frequency, one]);
        self.w.act(Op::Store, &[amplitude, one]);
        self.w.act(Op::Store, &[moving, state]);
        self.repeat_times(settings[0], |e| {
            let [f, a] = [frequency, amplitude].map(|v| e.w.value(Op::Load, Kind::F32, &[v]));
            let scaled: Vec<Id> = (point.iter())
                .map(|x| e.w.value(Op::FMul, Kind::F32, &[f, *x]))
                .collect();
            let around = e.around(&scaled);
            let (wide_f, wide_a) = (e.widened(f), e.widened(a));
            let mut state = e.w.value(Op::Load, Kind::U32, &[moving]);
            for field in 0..fields {
                if field > 0 {
                    let offset = permuted([10_019_689, 13_112_221][field - 1]);
                    let offset = e.w.u32(offset);
                    let moved = e.w.value(Op::IAdd, Kind::U32, &[state, offset]);
                    state = e.random_step(Kind::U32, moved);
                }
                let term = e.field(axes, order, &around, state);
                if duals.is_empty() {
                    for n in 0..axes {
                        let slope = e.times(wide_a, term.slope[n]);
                        e.add_to(sums[field * axes + n], slope);
                    }
                    continue;
                }
                // Which slopes of this field the results are made of, and with which sign.
                let uses: [(usize, bool, usize); 2] = match (axes, field) {
                    (2, _) => [(1, true, 0), (0, false, 1)],
                    (_, 0) => [(2, false, 1), (1, true, 2)],
                    (_, 1) => [(2, true, 0), (0, false, 2)],
                    (_, _) => [(1, false, 0), (0, true, 1)],
                };
                for (axis, negative, result) in uses {
                    let weight = match negative {
                        true => e.negated(D, duals[result]),
                        false => duals[result],
                    };
                    let factor = e.times(wide_a, wide_f);
                    let factor = e.times(factor, weight);
                    for n in 0..axes {
                        let part = e.times(factor, term.bend[axis][n]);
                        e.add_to(sums[n], part);
                    }
                }
            }
            e.w.act(Op::Store, &[moving, state]);
            let a = e.w.value(Op::FMul, Kind::F32, &[a, gain]);
            let f = e.w.value(Op::FMul, Kind::F32, &[f, lacunarity]);
            e.w.act(Op::Store, &[amplitude, a]);
            e.w.act(Op::Store, &[frequency, f]);
        });
        let sums: Vec<Id> = sums
            .iter()
            .map(|sum| self.w.value(Op::Load, D, &[*sum]))
            .collect();
        if !duals.is_empty() {
            return sums;
        }
        if axes == 2 {
            return vec![self.negated(D, sums[1]), sums[0]];
        }
        let at = |field: usize, axis: usize| sums[field * axes + axis];
        [
            (at(2, 1), at(1, 2)),
            (at(0, 2), at(2, 0)),
            (at(1, 0), at(0, 1)),
        ]
        .into_iter()
        .map(|(a, b)| self.less(a, b))
        .collect()
    }

    fn add_to(&mut self, variable: Id, term: Id) {
        let now = self.w.value(Op::Load, D, &[variable]);
        let sum = self.sum(now, term);
        self.w.act(Op::Store, &[variable, sum]);
    }
}
