//! Which of two numbers is larger, and the whole numbers around a float.
//!
//! NVIDIA's driver takes a `float32` below 2⁻¹²⁶ for 0 where it compares and rounds, and offers no mode in which
//! it would not; sums and products keep such numbers.

use super::emitter::{Emitter, kind};
use super::opcode::{Op, glsl};
use super::whole_number::is_signed;
use super::writer::{Id, Kind};
use warpsmith_interpreter::scalar_form::{Binary, Class};
use warpsmith_ir::Comparison;
use warpsmith_ir::types::Scalar;

/// 2¹⁰⁰: makes every number below 2⁻¹²⁶ one that is compared as it is, exactly.
const LIFT: f32 = f32::from_bits((127 + 100) << 23);

impl Emitter<'_> {
    pub(super) fn compare(&mut self, op: Comparison, ty: Scalar, a: Id, b: Id) -> Id {
        let (signed, float) = (is_signed(ty), ty.is_float());
        let op = match (op, float) {
            (Comparison::Equal, true) => Op::FOrdEqual,
            (Comparison::Equal, false) => Op::IEqual,
            (Comparison::NotEqual, true) => Op::FUnordNotEqual,
            (Comparison::NotEqual, false) => Op::INotEqual,
            (Comparison::Less, true) => Op::FOrdLessThan,
            (Comparison::Less, false) if signed => Op::SLessThan,
            (Comparison::Less, false) => Op::ULessThan,
            (Comparison::LessEqual, true) => Op::FOrdLessThanEqual,
            (Comparison::LessEqual, false) if signed => Op::SLessThanEqual,
            (Comparison::LessEqual, false) => Op::ULessThanEqual,
            (Comparison::Greater, true) => Op::FOrdGreaterThan,
            (Comparison::Greater, false) if signed => Op::SGreaterThan,
            (Comparison::Greater, false) => Op::UGreaterThan,
            (Comparison::GreaterEqual, true) => Op::FOrdGreaterThanEqual,
            (Comparison::GreaterEqual, false) if signed => Op::SGreaterThanEqual,
            (Comparison::GreaterEqual, false) => Op::UGreaterThanEqual,
        };
        if float {
            return self.ordered(op, kind(ty), a, b);
        }
        self.w.value(op, Kind::Bool, &[a, b])
    }

    /// Whether floats are in this order.
    ///
    /// `float32` numbers are compared twice, as they are and lifted: the first is right unless both are small,
    /// the second unless both become infinite, and each errs to the side that the other corrects.
    pub(super) fn ordered(&mut self, op: Op, k: Kind, a: Id, b: Id) -> Id {
        let known = match k {
            Kind::F32 => [a, b].map(|number| self.w.float_constant(number).map(f32::from_bits)),
            _ => return self.w.value(op, Kind::Bool, &[a, b]),
        };
        let is_clear = |number: &f32| number.is_nan() || number.abs() >= f32::MIN_POSITIVE;
        if known.iter().flatten().any(is_clear) {
            return self.w.value(op, Kind::Bool, &[a, b]);
        }
        let lifted = [(a, known[0]), (b, known[1])].map(|(number, known)| match known {
            Some(constant) => self.w.f32(constant * LIFT),
            None => {
                let by = self.w.f32(LIFT);
                self.w.value(Op::FMul, Kind::F32, &[number, by])
            }
        });
        let high = self.w.value(op, Kind::Bool, &lifted);
        if known.iter().flatten().any(|number| *number == 0.0) {
            return high;
        }
        let join = match op {
            Op::FOrdLessThan | Op::FOrdGreaterThan | Op::FUnordNotEqual => Op::LogicalOr,
            _ => Op::LogicalAnd,
        };
        let low = self.w.value(op, Kind::Bool, &[a, b]);
        self.w.value(join, Kind::Bool, &[low, high])
    }

    /// The smaller or larger float, as `minss` chooses it; a number rather than NaN.
    pub(super) fn extreme(&mut self, op: Binary, k: Kind, a: Id, b: Id) -> Id {
        let order = if op == Binary::Min {
            Op::FOrdLessThan
        } else {
            Op::FOrdGreaterThan
        };
        let better = self.ordered(order, k, b, a);
        let none = self.classify(Class::Nan, k, a);
        let second = self.w.value(Op::LogicalOr, Kind::Bool, &[better, none]);
        self.select(k, second, b, a)
    }

    pub(super) fn floor(&mut self, k: Kind, a: Id) -> Id {
        let a = self.with_clear_sign(k, a);
        self.w.extended(glsl::FLOOR, k, a)
    }

    pub(super) fn ceiling(&mut self, k: Kind, a: Id) -> Id {
        let a = self.with_clear_sign(k, a);
        self.w.extended(glsl::CEIL, k, a)
    }

    /// A float, or ± 1/4 for a small one, which lies between the same whole numbers.
    fn with_clear_sign(&mut self, k: Kind, a: Id) -> Id {
        if k != Kind::F32 {
            return a;
        }
        let small = self.is_small(a);
        let quarter = self.w.f32(0.25);
        let clear = self.copy_sign(k, quarter, a);
        self.select(k, small, clear, a)
    }
}
