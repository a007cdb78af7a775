//! Poisson variates, in the interpreter's steps.

use super::emitter::Emitter;
use super::opcode::{Op, glsl};
use super::writer::{Id, Kind};
use warpsmith_interpreter::scalar_form::Cell;
use warpsmith_interpreter::scalar_form::{Class, Unary};
use warpsmith_ir::types::Scalar;

const D: Kind = Kind::F64;
const F: Kind = Kind::F32;

impl Emitter<'_> {
    pub(super) fn poisson(&mut self, dst: Cell, state: Cell, rate: Cell) {
        let (moving, drawn) = (self.w.variable(Kind::U32), self.w.variable(Kind::U32));
        let given = self.read(state, Kind::U32);
        let rate = self.read(rate, F);
        let zero = self.w.u32(0);
        self.w.act(Op::Store, &[moving, given]);
        self.w.act(Op::Store, &[drawn, zero]);
        let (none, ten) = (self.w.f32(0.0), self.w.f32(10.0));
        let below = self.w.value(Op::FOrdLessThan, Kind::Bool, &[rate, ten]);
        let lost = self.classify(Class::Nan, F, rate);
        let some = self.w.value(Op::FUnordNotEqual, Kind::Bool, &[rate, none]);
        let small = self.w.value(Op::LogicalOr, Kind::Bool, &[below, lost]);
        let few = self.w.value(Op::LogicalAnd, Kind::Bool, &[small, some]);
        let merge = self.open_plain(few);
        self.by_products(moving, drawn, rate);
        self.close_plain(merge);
        let many = self.w.value(Op::LogicalNot, Kind::Bool, &[small]);
        let merge = self.open_plain(many);
        self.by_rejection(moving, drawn, rate);
        self.close_plain(merge);
        let moved = self.w.value(Op::Load, Kind::U32, &[moving]);
        let count = self.w.value(Op::Load, Kind::U32, &[drawn]);
        self.write(state, Kind::U32, moved);
        self.write(dst, Kind::U32, count);
    }

    /// The next number in [0, 1).
    fn next_unit(&mut self, moving: Id) -> Id {
        let mut state = self.w.value(Op::Load, Kind::U32, &[moving]);
        let unit = self.unit(&mut state);
        self.w.act(Op::Store, &[moving, state]);
        self.narrowed(unit)
    }

    fn by_products(&mut self, moving: Id, drawn: Id, rate: Id) {
        let minus = self.negated(F, rate);
        let floor = self.in_double(F, &[minus], |e, x| e.exponential(x[0]));
        let product = self.w.variable(F);
        let first = self.next_unit(moving);
        self.w.act(Op::Store, &[product, first]);
        let one = self.w.u32(1);
        self.repeat(
            |e| {
                let now = e.w.value(Op::Load, F, &[product]);
                e.w.value(Op::FOrdGreaterThan, Kind::Bool, &[now, floor])
            },
            |e| {
                let count = e.w.value(Op::Load, Kind::U32, &[drawn]);
                let count = e.w.value(Op::IAdd, Kind::U32, &[count, one]);
                e.w.act(Op::Store, &[drawn, count]);
                let now = e.w.value(Op::Load, F, &[product]);
                let next = e.next_unit(moving);
                let next = e.w.value(Op::FMul, F, &[now, next]);
                e.w.act(Op::Store, &[product, next]);
            },
        );
    }

    /// Hörmann's transformed rejection.
    fn by_rejection(&mut self, moving: Id, drawn: Id, rate: Id) {
        let single = |e: &mut Self, op: Op, a: Id, b: f32| {
            let b = e.w.f32(b);
            e.w.value(op, F, &[a, b])
        };
        let quotient = |e: &mut Self, a: f32, b: Id| {
            let a = e.w.f32(a);
            e.quotient(F, a, b)
        };
        let root = self.in_double(F, &[rate], |e, x| e.w.extended(glsl::SQRT, D, x[0]));
        let b = single(self, Op::FMul, root, 2.53);
        let b = single(self, Op::FAdd, b, 0.931);
        let a = single(self, Op::FMul, b, 0.02483);
        let a = single(self, Op::FAdd, a, -0.059);
        let down = single(self, Op::FSub, b, 3.4);
        let scale = quotient(self, 1.1328, down);
        let scale = single(self, Op::FAdd, scale, 1.1239);
        let down = single(self, Op::FSub, b, 2.0);
        let sure = quotient(self, 3.6224, down);
        let most = self.w.f32(0.9277);
        let sure = self.w.value(Op::FSub, F, &[most, sure]);
        let twice = single(self, Op::FMul, a, 2.0);
        let searching = self.w.variable(Kind::U32);
        let (one, zero) = (self.w.u32(1), self.w.u32(0));
        self.w.act(Op::Store, &[searching, one]);
        self.repeat(
            |e| {
                let now = e.w.value(Op::Load, Kind::U32, &[searching]);
                e.w.value(Op::INotEqual, Kind::Bool, &[now, zero])
            },
            |e| {
                let u = e.next_unit(moving);
                let u = single(e, Op::FSub, u, 0.5);
                let v = e.next_unit(moving);
                let size = e.absolute(F, u);
                let half = e.w.f32(0.5);
                let margin = e.w.value(Op::FSub, F, &[half, size]);
                let k = e.quotient(F, twice, margin);
                let k = e.w.value(Op::FAdd, F, &[k, b]);
                let k = e.w.value(Op::FMul, F, &[k, u]);
                let k = e.w.value(Op::FAdd, F, &[k, rate]);
                let k = single(e, Op::FAdd, k, 0.43);
                let k = e.w.extended(glsl::FLOOR, F, k);
                let compare = |e: &mut Self, op: Op, a: Id, b: f32| {
                    let b = e.w.f32(b);
                    e.w.value(op, Kind::Bool, &[a, b])
                };
                let wide = compare(e, Op::FOrdGreaterThanEqual, margin, 0.07);
                let within = e.w.value(Op::FOrdLessThanEqual, Kind::Bool, &[v, sure]);
                let at_once = e.w.value(Op::LogicalAnd, Kind::Bool, &[wide, within]);
                let negative = compare(e, Op::FOrdLessThan, k, 0.0);
                let narrow = compare(e, Op::FOrdLessThan, margin, 0.013);
                let over = e.w.value(Op::FOrdGreaterThan, Kind::Bool, &[v, margin]);
                let outside = e.w.value(Op::LogicalAnd, Kind::Bool, &[narrow, over]);
                let refused = e.w.value(Op::LogicalOr, Kind::Bool, &[negative, outside]);
                let square = e.w.value(Op::FMul, F, &[margin, margin]);
                let weight = e.quotient(F, a, square);
                let weight = e.w.value(Op::FAdd, F, &[weight, b]);
                let [v, scale, weight, mean, count] =
                    [v, scale, weight, rate, k].map(|number| e.widened(number));
                let [v, scale, weight] =
                    [v, scale, weight].map(|number| e.logarithm(Unary::Log, number));
                let left = e.sum(v, scale);
                let left = e.less(left, weight);
                let power = e.logarithm(Unary::Log, mean);
                let power = e.times(count, power);
                let minus = e.negated(D, mean);
                let right = e.sum(minus, power);
                let further = e.raised(count, 1.0);
                let factorial = e.log_gamma(further);
                let right = e.less(right, factorial);
                let likely = e.w.value(Op::FOrdLessThanEqual, Kind::Bool, &[left, right]);
                let stays = e.w.value(Op::LogicalNot, Kind::Bool, &[refused]);
                let likely = e.w.value(Op::LogicalAnd, Kind::Bool, &[likely, stays]);
                let found = e.w.value(Op::LogicalOr, Kind::Bool, &[at_once, likely]);
                let whole = e.cast(Scalar::F32, Scalar::U32, k);
                let before = e.w.value(Op::Load, Kind::U32, &[drawn]);
                let now = e.select(Kind::U32, found, whole, before);
                e.w.act(Op::Store, &[drawn, now]);
                let searches = e.select(Kind::U32, found, zero, one);
                e.w.act(Op::Store, &[searching, searches]);
            },
        );
    }

    /// The logarithm of the gamma function of a number from 1 on: Stirling's series from 8 further on, and
    /// eight steps back.
    fn log_gamma(&mut self, x: Id) -> Id {
        let mut product = x;
        for n in 1..8 {
            let factor = self.raised(x, f64::from(n));
            product = self.times(product, factor);
        }
        let small = self.ask(Op::FOrdLessThan, x, 1e6);
        let one = self.w.f64(1.0);
        let product = self.choose(small, product, one);
        let shifted = self.raised(x, 8.0);
        let z = self.choose(small, shifted, x);
        let inverse = self.over(one, z);
        let square = self.times(inverse, inverse);
        let series = self.polynomial(
            square,
            &[
                1.0 / 156.0,
                -691.0 / 360_360.0,
                1.0 / 1188.0,
                -1.0 / 1680.0,
                1.0 / 1260.0,
                -1.0 / 360.0,
                1.0 / 12.0,
            ],
        );
        let series = self.times(series, inverse);
        let logarithm = self.logarithm(Unary::Log, z);
        let half = self.raised(z, -0.5);
        let main = self.times(half, logarithm);
        let main = self.less(main, z);
        // Half of the logarithm of 2π.
        let main = self.raised(main, 0.918_938_533_204_672_7);
        let value = self.sum(main, series);
        let back = self.logarithm(Unary::Log, product);
        self.less(value, back)
    }
}
