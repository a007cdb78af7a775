//! A multiply-add that rounds once, of numbers whose sums and products round one by one: no driver says
//! whether its own does.
//!
//! The exact result lies between a double and its neighbour; the one of them with an odd last bit rounds to
//! what the exact result rounds to.

use super::emitter::Emitter;
use super::opcode::{Op, glsl};
use super::writer::{Id, Kind};

const D: Kind = Kind::F64;
/// Cuts a double into halves whose products are exact.
const SPLITTER: f64 = 134_217_729.0;
/// Factors below the first can be cut, and their products between the others lose nothing when they are.
const LARGEST_FACTOR: f64 = 9.97e291;
const LEAST_PRODUCT: f64 = 1.0e-270;
const LARGEST: f64 = 1.0e300;

impl Emitter<'_> {
    /// `a` times `b` plus `c`. A `float64` whose product is below 1e-270 or beyond 1e300 rounds twice.
    pub(super) fn fused(&mut self, k: Kind, [a, b, c]: [Id; 3]) -> Id {
        if self.target.no_float64 {
            // Metal's rounds once.
            return self.w.extended_triple(glsl::FMA, k, [a, b, c]);
        }
        if k == D {
            return self.fused_double(a, b, c);
        }
        let nothing = self.w.known_constant(k, 0) == Some(c);
        let [a, b, c] = [a, b, c].map(|number| self.widened(number));
        // Exact: 48 bits.
        let product = self.double(Op::FMul, a, b);
        let (sum, error) = self.sum_and_error(product, c);
        // The sum with zero is exact.
        let sum = if nothing {
            sum
        } else {
            self.rounded_to_odd(sum, error)
        };
        self.narrowed(sum)
    }

    fn fused_double(&mut self, a: Id, b: Id, c: Id) -> Id {
        let (product, rest) = self.product_and_error(a, b);
        let (low, lost) = self.sum_and_error(c, rest);
        let (high, more) = self.sum_and_error(product, low);
        let (left, error) = self.sum_and_error(lost, more);
        let left = self.rounded_to_odd(left, error);
        let fused = self.double(Op::FAdd, high, left);
        let plain = self.double(Op::FAdd, product, c);
        let mut safe = None;
        for (number, bound, op) in [
            (a, LARGEST_FACTOR, Op::FOrdLessThan),
            (b, LARGEST_FACTOR, Op::FOrdLessThan),
            (c, LARGEST, Op::FOrdLessThan),
            (product, LARGEST, Op::FOrdLessThan),
            (product, LEAST_PRODUCT, Op::FOrdGreaterThan),
        ] {
            let (size, bound) = (self.absolute(D, number), self.w.f64(bound));
            let holds = self.w.value(op, Kind::Bool, &[size, bound]);
            safe = Some(match safe {
                Some(all) => self.w.value(Op::LogicalAnd, Kind::Bool, &[all, holds]),
                None => holds,
            });
        }
        match safe {
            Some(safe) => self.select(D, safe, fused, plain),
            None => plain,
        }
    }

    fn double(&mut self, op: Op, a: Id, b: Id) -> Id {
        let [a, b] = [a, b].map(|number| self.hidden_zero(D, number));
        self.w.value(op, D, &[a, b])
    }

    /// The sum, and what it lacks of the exact one.
    fn sum_and_error(&mut self, a: Id, b: Id) -> (Id, Id) {
        let sum = self.double(Op::FAdd, a, b);
        let part = self.double(Op::FSub, sum, a);
        let whole = self.double(Op::FSub, sum, part);
        let (left, right) = (
            self.double(Op::FSub, a, whole),
            self.double(Op::FSub, b, part),
        );
        (sum, self.double(Op::FAdd, left, right))
    }

    /// The product, and what it lacks of the exact one.
    fn product_and_error(&mut self, a: Id, b: Id) -> (Id, Id) {
        let product = self.double(Op::FMul, a, b);
        let ((a, low_a), (b, low_b)) = (self.halves(a), self.halves(b));
        let highs = self.double(Op::FMul, a, b);
        let mut error = self.double(Op::FSub, highs, product);
        for (x, y) in [(a, low_b), (low_a, b), (low_a, low_b)] {
            let term = self.double(Op::FMul, x, y);
            error = self.double(Op::FAdd, error, term);
        }
        (product, error)
    }

    fn halves(&mut self, number: Id) -> (Id, Id) {
        let splitter = self.w.f64(SPLITTER);
        let scaled = self.double(Op::FMul, number, splitter);
        let rest = self.double(Op::FSub, scaled, number);
        let high = self.double(Op::FSub, scaled, rest);
        (high, self.double(Op::FSub, number, high))
    }

    /// Of a rounded sum and its neighbour on the exact one's side that with an odd last bit; an exact sum
    /// as it is.
    fn rounded_to_odd(&mut self, sum: Id, error: Id) -> Id {
        let zero = self.w.f64(0.0);
        let bits = self.bits(D, sum);
        let (one, none) = (self.w.u64(1), self.w.u64(0));
        let last = self.w.value(Op::BitwiseAnd, Kind::U64, &[bits, one]);
        let even = self.w.value(Op::IEqual, Kind::Bool, &[last, none]);
        let above = self
            .w
            .value(Op::FOrdGreaterThan, Kind::Bool, &[error, zero]);
        let below = self.w.value(Op::FOrdLessThan, Kind::Bool, &[error, zero]);
        let positive = self.w.value(Op::FOrdGreaterThan, Kind::Bool, &[sum, zero]);
        let inexact = self.w.value(Op::LogicalOr, Kind::Bool, &[above, below]);
        let moved = self.w.value(Op::LogicalAnd, Kind::Bool, &[even, inexact]);
        // The bits of a larger magnitude are the larger integer.
        let (more, less) = (self.w.u64(1), self.w.u64(u64::MAX));
        let up = self.select(Kind::U64, positive, more, less);
        let down = self.select(Kind::U64, positive, less, more);
        let step = self.select(Kind::U64, above, up, down);
        let step = self.select(Kind::U64, moved, step, none);
        let bits = self.w.value(Op::IAdd, Kind::U64, &[bits, step]);
        self.w.value(Op::Bitcast, D, &[bits])
    }
}
