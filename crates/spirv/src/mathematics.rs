//! Functions that Vulkan does not promise enough of, from sums and products of `float64`.
//!
//! Each is wrong by at most a few units in the last place of a `float64` (`pow` by as many as its result
//! has digits before the point of its logarithm), so that a `float32` result is the nearest one but for a
//! case in ten million, and the same on every device that rounds as IEEE 754 says. The interpreter asks the
//! system's library, whose own last bit may be another.

use super::emitter::Emitter;
use super::opcode::{Op, glsl};
use super::writer::{Id, Kind};
use warpsmith_interpreter::scalar_form::{Binary, Class, Unary};

const D: Kind = Kind::F64;

/// π/2 in parts of 22 bits and a rest: multiples up to 2^30 are exact.
const QUARTER: [f64; 4] = [
    1.570_796_012_878_418,
    3.139_164_164_167_596e-7,
    6.223_371_969_669_989e-14,
    2.022_266_248_795_950_6e-21,
];
/// Larger arguments of `sin`, `cos` and `tan` are faults.
const LARGEST_ANGLE: f64 = 1_073_741_824.0;
/// ln 2 in 32 bits and a rest.
const LN_2: [f64; 2] = [0.693_147_180_369_123_8, 1.908_214_929_270_587_7e-10];

impl Emitter<'_> {
    pub(super) fn sum(&mut self, a: Id, b: Id) -> Id {
        self.w.value(Op::FAdd, D, &[a, b])
    }

    pub(super) fn less(&mut self, a: Id, b: Id) -> Id {
        self.w.value(Op::FSub, D, &[a, b])
    }

    pub(super) fn times(&mut self, a: Id, b: Id) -> Id {
        self.w.value(Op::FMul, D, &[a, b])
    }

    pub(super) fn over(&mut self, a: Id, b: Id) -> Id {
        self.w.value(Op::FDiv, D, &[a, b])
    }

    pub(super) fn scaled(&mut self, a: Id, by: f64) -> Id {
        let by = self.w.f64(by);
        self.times(a, by)
    }

    pub(super) fn raised(&mut self, a: Id, by: f64) -> Id {
        let by = self.w.f64(by);
        self.sum(a, by)
    }

    pub(super) fn ask(&mut self, op: Op, a: Id, b: f64) -> Id {
        let b = self.w.f64(b);
        self.w.value(op, Kind::Bool, &[a, b])
    }

    pub(super) fn choose(&mut self, cond: Id, a: Id, b: Id) -> Id {
        self.select(D, cond, a, b)
    }

    /// A polynomial, its highest coefficient first.
    pub(super) fn polynomial(&mut self, x: Id, coefficients: &[f64]) -> Id {
        let mut value = self.w.f64(coefficients[0]);
        for coefficient in &coefficients[1..] {
            let product = self.times(value, x);
            value = self.raised(product, *coefficient);
        }
        value
    }

    /// 2 to a whole power that a double holds, given as a double.
    fn power_of_two(&mut self, exponent: Id) -> Id {
        let whole = self.w.value(Op::ConvertFToS, Kind::U64, &[exponent]);
        self.power_of_two_bits(whole)
    }

    pub(super) fn exponential(&mut self, x: Id) -> Id {
        // Beyond these ends the result is infinite or zero; NaN passes both comparisons.
        let (high, low) = (self.w.f64(720.0), self.w.f64(-760.0));
        let above = self.w.value(Op::FOrdGreaterThan, Kind::Bool, &[x, high]);
        let bounded = self.choose(above, high, x);
        let below = self.w.value(Op::FOrdLessThan, Kind::Bool, &[bounded, low]);
        let bounded = self.choose(below, low, bounded);
        let none = self.classify(Class::Nan, D, x);
        let zero = self.w.f64(0.0);
        let safe = self.choose(none, zero, bounded);
        let turns = self.scaled(safe, std::f64::consts::LOG2_E);
        let turns = self.w.extended(glsl::ROUND_EVEN, D, turns);
        let high = self.scaled(turns, LN_2[0]);
        let low = self.scaled(turns, LN_2[1]);
        let rest = self.less(safe, high);
        let rest = self.less(rest, low);
        let mut coefficients = [0.0; 15];
        let mut factorial = 1.0;
        for (n, coefficient) in coefficients.iter_mut().rev().enumerate() {
            if n > 0 {
                factorial *= n as f64;
            }
            *coefficient = 1.0 / factorial;
        }
        let value = self.polynomial(rest, &coefficients);
        // In two steps: one alone would leave the range of a double before the result does.
        let first = self.scaled(turns, 0.5);
        let first = self.w.extended(glsl::FLOOR, D, first);
        let second = self.less(turns, first);
        let (first, second) = (self.power_of_two(first), self.power_of_two(second));
        let value = self.times(value, first);
        let value = self.times(value, second);
        self.choose(none, x, value)
    }

    /// The exponent of a positive number and the logarithm of the rest, which lies in 0.7 to 1.4.
    fn logarithm_parts(&mut self, x: Id) -> (Id, Id) {
        let small = self.ask(Op::FOrdLessThan, x, f64::MIN_POSITIVE);
        let lifted = self.scaled(x, 18_014_398_509_481_984.0);
        let x = self.choose(small, lifted, x);
        let bits = self.bits(D, x);
        // From the square root of a half on.
        let start = std::f64::consts::FRAC_1_SQRT_2.to_bits();
        let (start, places) = (self.w.u64(start), self.w.u64(52));
        let above = self.w.value(Op::ISub, Kind::U64, &[bits, start]);
        let exponent = self
            .w
            .value(Op::ShiftRightArithmetic, Kind::U64, &[above, places]);
        let back = self
            .w
            .value(Op::ShiftLeftLogical, Kind::U64, &[exponent, places]);
        let rest = self.w.value(Op::ISub, Kind::U64, &[bits, back]);
        let rest = self.w.value(Op::Bitcast, D, &[rest]);
        let exponent = self.w.value(Op::ConvertSToF, D, &[exponent]);
        let (lifted, zero) = (self.w.f64(54.0), self.w.f64(0.0));
        let lifted = self.choose(small, lifted, zero);
        let exponent = self.less(exponent, lifted);
        let minus = self.raised(rest, -1.0);
        let plus = self.raised(rest, 1.0);
        let ratio = self.over(minus, plus);
        let square = self.times(ratio, ratio);
        let coefficients: Vec<f64> = (1..=12).rev().map(|n| 2.0 / f64::from(2 * n + 1)).collect();
        let series = self.polynomial(square, &coefficients);
        let series = self.times(series, square);
        let series = self.times(series, ratio);
        let twice = self.scaled(ratio, 2.0);
        (exponent, self.sum(twice, series))
    }

    pub(super) fn logarithm(&mut self, op: Unary, x: Id) -> Id {
        let (exponent, rest) = self.logarithm_parts(x);
        let value = match op {
            Unary::Log2 => {
                let rest = self.scaled(rest, std::f64::consts::LOG2_E);
                self.sum(exponent, rest)
            }
            _ => {
                let low = self.scaled(exponent, LN_2[1]);
                let high = self.scaled(exponent, LN_2[0]);
                let value = self.sum(rest, low);
                self.sum(high, value)
            }
        };
        let value = match op {
            Unary::Log10 => self.scaled(value, std::f64::consts::LOG10_E),
            _ => value,
        };
        let zero = self.ask(Op::FOrdEqual, x, 0.0);
        let (low, nan) = (self.w.f64(f64::NEG_INFINITY), self.w.f64(f64::NAN));
        let value = self.choose(zero, low, value);
        let negative = self.ask(Op::FOrdLessThan, x, 0.0);
        let value = self.choose(negative, nan, value);
        // Infinity and NaN are their own logarithms; of minus infinity that was said above.
        let finite = self.ask(Op::FOrdLessThan, x, f64::INFINITY);
        self.choose(finite, value, x)
    }

    pub(super) fn power(&mut self, base: Id, exponent: Id) -> Id {
        let magnitude = self.absolute(D, base);
        let logarithm = self.logarithm(Unary::Log, magnitude);
        let product = self.times(exponent, logarithm);
        let value = self.exponential(product);
        let one = self.w.f64(1.0);
        let is_one = self.ask(Op::FOrdEqual, magnitude, 1.0);
        let none = self.classify(Class::Nan, D, exponent);
        let known = self.w.value(Op::LogicalNot, Kind::Bool, &[none]);
        let is_one = self.w.value(Op::LogicalAnd, Kind::Bool, &[is_one, known]);
        let value = self.choose(is_one, one, value);
        let whole = self.w.extended(glsl::FLOOR, D, exponent);
        let is_whole = self.w.value(Op::FOrdEqual, Kind::Bool, &[whole, exponent]);
        let half = self.scaled(exponent, 0.5);
        let floor = self.w.extended(glsl::FLOOR, D, half);
        let uneven = self.w.value(Op::FUnordNotEqual, Kind::Bool, &[floor, half]);
        let is_odd = self
            .w
            .value(Op::LogicalAnd, Kind::Bool, &[is_whole, uneven]);
        let bits = self.bits(D, base);
        let zero = self.w.u64(0);
        let negative = self.w.value(Op::SLessThan, Kind::Bool, &[bits, zero]);
        let flips = self
            .w
            .value(Op::LogicalAnd, Kind::Bool, &[negative, is_odd]);
        let flipped = self.negated(D, value);
        let value = self.choose(flips, flipped, value);
        // A negative finite number to a broken power is none.
        let below = self.ask(Op::FOrdLessThan, base, 0.0);
        let finite = self.classify(Class::Finite, D, base);
        let below = self.w.value(Op::LogicalAnd, Kind::Bool, &[below, finite]);
        let broken = self.w.value(Op::LogicalNot, Kind::Bool, &[is_whole]);
        let broken = self.w.value(Op::LogicalAnd, Kind::Bool, &[broken, below]);
        let nan = self.w.f64(f64::NAN);
        let value = self.choose(broken, nan, value);
        let never = self.classify(Class::Nan, D, base);
        let value = self.choose(never, base, value);
        let value = self.choose(none, exponent, value);
        let positive_one = self.ask(Op::FOrdEqual, base, 1.0);
        let value = self.choose(positive_one, one, value);
        let no_power = self.ask(Op::FOrdEqual, exponent, 0.0);
        self.choose(no_power, one, value)
    }

    pub(super) fn circular(&mut self, op: Unary, x: Id) -> Id {
        let size = self.absolute(D, x);
        let large = self.ask(Op::FOrdGreaterThan, size, LARGEST_ANGLE);
        let finite = self.classify(Class::Finite, D, x);
        let large = self.w.value(Op::LogicalAnd, Kind::Bool, &[large, finite]);
        self.fault(large);
        let turns = self.scaled(x, std::f64::consts::FRAC_2_PI);
        let turns = self.w.extended(glsl::ROUND_EVEN, D, turns);
        let mut rest = x;
        for part in QUARTER {
            let multiple = self.scaled(turns, part);
            rest = self.less(rest, multiple);
        }
        let square = self.times(rest, rest);
        let coefficients = |first: u32| -> Vec<f64> {
            // Of sin(x) / x and cos(x), in squares.
            let mut made = vec![1.0];
            let mut term = 1.0;
            for n in 1..=9 {
                let even = f64::from(2 * n + first);
                term /= -even * (even - 1.0);
                made.push(term);
            }
            made.reverse();
            made
        };
        let sine = coefficients(1);
        let series = self.polynomial(square, &sine[..sine.len() - 1]);
        let series = self.times(series, square);
        let series = self.times(series, rest);
        let sine = self.sum(rest, series);
        let cosine = self.polynomial(square, &coefficients(0));
        // A whole number of quarters, of which two bits count.
        let zero = self.w.f64(0.0);
        let sure = self.choose(finite, turns, zero);
        let quarters = self.w.value(Op::ConvertFToS, Kind::U64, &[sure]);
        let (one, two) = (self.w.u64(1), self.w.u64(2));
        let none = self.w.u64(0);
        let bit = |emitter: &mut Self, of: Id, mask: Id| {
            let bits = (emitter.w).value(Op::BitwiseAnd, Kind::U64, &[of, mask]);
            (emitter.w).value(Op::INotEqual, Kind::Bool, &[bits, none])
        };
        let odd = bit(self, quarters, one);
        let further = self.w.value(Op::IAdd, Kind::U64, &[quarters, one]);
        let (sine_flips, cosine_flips) = (bit(self, quarters, two), bit(self, further, two));
        let flip = |emitter: &mut Self, flips: Id, value: Id| {
            let minus = emitter.negated(D, value);
            emitter.choose(flips, minus, value)
        };
        let (as_sine, as_cosine) = (
            self.choose(odd, cosine, sine),
            self.choose(odd, sine, cosine),
        );
        let the_sine = flip(self, sine_flips, as_sine);
        let the_cosine = flip(self, cosine_flips, as_cosine);
        let value = match op {
            Unary::Sin => the_sine,
            Unary::Cos => the_cosine,
            _ => self.over(the_sine, the_cosine),
        };
        if op == Unary::Cos {
            return value;
        }
        // Of zero both have its sign.
        let is_zero = self.ask(Op::FOrdEqual, x, 0.0);
        self.choose(is_zero, x, value)
    }

    pub(super) fn arc_tangent(&mut self, x: Id) -> Id {
        let size = self.absolute(D, x);
        let (one, zero) = (self.w.f64(1.0), self.w.f64(0.0));
        let large = self.ask(Op::FOrdGreaterThan, size, 1.0);
        let inverse = self.over(one, size);
        let inner = self.choose(large, inverse, size);
        // Above tan(π/8) from π/4 on.
        let high = self.ask(Op::FOrdGreaterThan, inner, std::f64::consts::SQRT_2 - 1.0);
        let (minus, plus) = (self.raised(inner, -1.0), self.raised(inner, 1.0));
        let ratio = self.over(minus, plus);
        let small = self.choose(high, ratio, inner);
        let square = self.times(small, small);
        let coefficients: Vec<f64> = (1..=22)
            .rev()
            .map(|n| if n % 2 == 1 { -1.0 } else { 1.0 } / f64::from(2 * n + 1))
            .collect();
        let series = self.polynomial(square, &coefficients);
        let series = self.times(series, square);
        let series = self.times(series, small);
        let series = self.sum(small, series);
        let quarter = self.w.f64(std::f64::consts::FRAC_PI_4);
        let base = self.choose(high, quarter, zero);
        let angle = self.sum(base, series);
        let right = self.w.f64(std::f64::consts::FRAC_PI_2);
        let rest = self.less(right, angle);
        let angle = self.choose(large, rest, angle);
        self.copy_sign(D, angle, x)
    }

    pub(super) fn arc_tangent2(&mut self, y: Id, x: Id) -> Id {
        let (height, width) = (self.absolute(D, y), self.absolute(D, x));
        let ratio = self.over(height, width);
        // Two zeroes and two infinities have no ratio: 0 and 1 stand for it.
        let (zero, one) = (self.w.f64(0.0), self.w.f64(1.0));
        let flat = self.ask(Op::FOrdEqual, height, 0.0);
        let ratio = self.choose(flat, zero, ratio);
        let tall = self.classify(Class::Inf, D, height);
        let wide = self.classify(Class::Inf, D, width);
        let both = self.w.value(Op::LogicalAnd, Kind::Bool, &[tall, wide]);
        let ratio = self.choose(both, one, ratio);
        let angle = self.arc_tangent(ratio);
        let bits = self.bits(D, x);
        let none = self.w.u64(0);
        let left = self.w.value(Op::SLessThan, Kind::Bool, &[bits, none]);
        let half = self.w.f64(std::f64::consts::PI);
        let rest = self.less(half, angle);
        let angle = self.choose(left, rest, angle);
        let angle = self.copy_sign(D, angle, y);
        let sum = self.sum(x, y);
        let lost = [x, y].map(|number| self.classify(Class::Nan, D, number));
        let lost = self.w.value(Op::LogicalOr, Kind::Bool, &lost);
        self.choose(lost, sum, angle)
    }

    pub(super) fn arc(&mut self, op: Unary, x: Id) -> Id {
        // Rounding noise beyond 1 is forgiven.
        let (high, low) = (self.w.f64(1.0), self.w.f64(-1.0));
        let x = self.extreme(Binary::Max, D, x, low);
        let x = self.extreme(Binary::Min, D, x, high);
        let (below, above) = (self.less(high, x), self.sum(high, x));
        let product = self.times(below, above);
        let other = self.w.extended(glsl::SQRT, D, product);
        match op {
            Unary::Asin => self.arc_tangent2(x, other),
            _ => self.arc_tangent2(other, x),
        }
    }

    pub(super) fn hyperbolic(&mut self, op: Unary, x: Id) -> Id {
        let size = self.absolute(D, x);
        // Half of each, so that a result near the largest double does not pass through infinity.
        let half = self.scaled(size, 0.5);
        let root = self.exponential(half);
        let inverse = {
            let minus = self.negated(D, half);
            self.exponential(minus)
        };
        let (up, down) = (self.scaled(root, 0.5), self.scaled(inverse, 0.5));
        let (up, down) = (self.times(up, root), self.times(down, inverse));
        let cosine = self.sum(up, down);
        if op == Unary::Cosh {
            return cosine;
        }
        let difference = self.less(up, down);
        let square = self.times(size, size);
        let mut coefficients = vec![1.0];
        let mut term = 1.0;
        for n in 1..=9 {
            term /= f64::from(2 * n * (2 * n + 1));
            coefficients.push(term);
        }
        coefficients.reverse();
        let series = self.polynomial(square, &coefficients);
        let series = self.times(series, size);
        let small = self.ask(Op::FOrdLessThan, size, 1.0);
        let sine = self.choose(small, series, difference);
        let value = if op == Unary::Sinh {
            sine
        } else {
            let ratio = self.over(sine, cosine);
            // Where both are infinite, long after the ratio is 1.
            let large = self.ask(Op::FOrdGreaterThan, size, 40.0);
            let one = self.w.f64(1.0);
            self.choose(large, one, ratio)
        };
        self.copy_sign(D, value, x)
    }

    pub(super) fn cube_root(&mut self, x: Id) -> Id {
        let size = self.absolute(D, x);
        let logarithm = self.logarithm(Unary::Log, size);
        let third = self.scaled(logarithm, 1.0 / 3.0);
        let mut root = self.exponential(third);
        let square = self.times(root, root);
        let ratio = self.over(size, square);
        let error = self.less(root, ratio);
        let step = self.scaled(error, 1.0 / 3.0);
        root = self.less(root, step);
        let zero = self.ask(Op::FOrdEqual, x, 0.0);
        let finite = self.ask(Op::FOrdLessThan, size, f64::INFINITY);
        let root = self.choose(finite, root, size);
        let root = self.choose(zero, size, root);
        self.copy_sign(D, root, x)
    }

    /// What is left of a division of floats with the sign of the first, exactly: 28 bits of the quotient at
    /// a time, whose products with 24 bits a double holds.
    pub(super) fn remainder(&mut self, a: Id, b: Id) -> Id {
        let (wide_a, wide_b) = (self.widened(a), self.widened(b));
        let (size, by) = (self.absolute(D, wide_a), self.absolute(D, wide_b));
        let rest = self.w.variable(D);
        let start = self.divisible(size, by);
        self.w.act(Op::Store, &[rest, start]);
        self.repeat(
            |e| {
                let now = e.w.value(Op::Load, D, &[rest]);
                (e.w).value(Op::FOrdGreaterThanEqual, Kind::Bool, &[now, by])
            },
            |e| {
                let now = e.w.value(Op::Load, D, &[rest]);
                let ratio = e.over(now, by);
                let bits = e.bits(D, ratio);
                let places = e.w.u64(52);
                let operands = [bits, places];
                let exponent = e.w.value(Op::ShiftRightLogical, Kind::U64, &operands);
                let most = e.w.u64(1023 + 27);
                let high = e.w.value(Op::UGreaterThan, Kind::Bool, &[exponent, most]);
                let excess = e.w.value(Op::ISub, Kind::U64, &[exponent, most]);
                let none = e.w.u64(0);
                let excess = e.select(Kind::U64, high, excess, none);
                let scale = e.power_of_two_bits(excess);
                let divisor = e.times(by, scale);
                let quotient = e.over(now, divisor);
                let quotient = e.w.extended(glsl::FLOOR, D, quotient);
                let product = e.times(quotient, divisor);
                let left = e.less(now, product);
                let negative = e.ask(Op::FOrdLessThan, left, 0.0);
                let raised = e.sum(left, divisor);
                let left = e.choose(negative, raised, left);
                e.w.act(Op::Store, &[rest, left]);
            },
        );
        let left = self.w.value(Op::Load, D, &[rest]);
        let left = self.copy_sign(D, left, wide_a);
        self.narrowed(left)
    }

    /// As [`Emitter::remainder`], of doubles: bit by bit of the quotient, each difference exact.
    pub(super) fn wide_remainder(&mut self, a: Id, b: Id) -> Id {
        let (size, by) = (self.absolute(D, a), self.absolute(D, b));
        let rest = self.w.variable(D);
        let start = self.divisible(size, by);
        self.w.act(Op::Store, &[rest, start]);
        let least = self.exponent(by);
        self.repeat(
            |e| {
                let now = e.w.value(Op::Load, D, &[rest]);
                (e.w).value(Op::FOrdGreaterThanEqual, Kind::Bool, &[now, by])
            },
            |e| {
                let now = e.w.value(Op::Load, D, &[rest]);
                let places = e.exponent(now);
                let places = e.w.value(Op::ISub, Kind::U64, &[places, least]);
                // In two steps: a power beyond 1023 is no double.
                let one = e.w.u64(1);
                let first = (e.w).value(Op::ShiftRightArithmetic, Kind::U64, &[places, one]);
                let second = e.w.value(Op::ISub, Kind::U64, &[places, first]);
                let [first, second] = [first, second].map(|n| e.power_of_two_bits(n));
                let multiple = e.times(by, first);
                let multiple = e.times(multiple, second);
                let above = (e.w).value(Op::FOrdGreaterThan, Kind::Bool, &[multiple, now]);
                let half = e.scaled(multiple, 0.5);
                let multiple = e.choose(above, half, multiple);
                let left = e.less(now, multiple);
                e.w.act(Op::Store, &[rest, left]);
            },
        );
        let left = self.w.value(Op::Load, D, &[rest]);
        // What is smaller than an infinite divisor is its own rest, and so is zero.
        self.copy_sign(D, left, a)
    }

    /// `size` where it can be divided by `by`, else no number.
    fn divisible(&mut self, size: Id, by: Id) -> Id {
        let finite = self.classify(Class::Finite, D, size);
        let positive = self.ask(Op::FOrdGreaterThan, by, 0.0);
        let divides = (self.w).value(Op::LogicalAnd, Kind::Bool, &[finite, positive]);
        let nan = self.w.f64(f64::NAN);
        self.choose(divides, size, nan)
    }

    /// The exponent of a positive number as a word with a sign, of one below the normal ones too.
    fn exponent(&mut self, x: Id) -> Id {
        let small = self.ask(Op::FOrdLessThan, x, f64::MIN_POSITIVE);
        let lifted = self.scaled(x, 18_014_398_509_481_984.0);
        let x = self.choose(small, lifted, x);
        let bits = self.bits(D, x);
        let places = self.w.u64(52);
        let exponent = (self.w).value(Op::ShiftRightLogical, Kind::U64, &[bits, places]);
        let (up, zero) = (self.w.u64(54), self.w.u64(0));
        let lifted = self.select(Kind::U64, small, up, zero);
        self.w.value(Op::ISub, Kind::U64, &[exponent, lifted])
    }

    /// 2 to a whole power, given as a word with a sign.
    fn power_of_two_bits(&mut self, exponent: Id) -> Id {
        let (bias, places) = (self.w.u64(1023), self.w.u64(52));
        let biased = self.w.value(Op::IAdd, Kind::U64, &[exponent, bias]);
        let bits = (self.w).value(Op::ShiftLeftLogical, Kind::U64, &[biased, places]);
        self.w.value(Op::Bitcast, D, &[bits])
    }
}
