//! Conversions between scalar types, and the 16-bit floats, in the interpreter's bits.

use super::emitter::{Emitter, kind};
use super::opcode::{Op, glsl};
use super::writer::{Id, Kind};
use warpsmith_interpreter::scalar_form::is_wide;
use warpsmith_ir::types::Scalar;

impl Emitter<'_> {
    pub(super) fn cast(&mut self, from: Scalar, to: Scalar, value: Id) -> Id {
        match (from.is_float(), to.is_float()) {
            (true, true) => {
                let value = match (kind(from), kind(to)) {
                    (Kind::F32, Kind::F64) => self.widened(value),
                    (Kind::F64, Kind::F32) => self.narrowed(value),
                    _ => value,
                };
                self.rounded(to, value)
            }
            (false, true) => {
                let signed = !matches!(from, Scalar::U8 | Scalar::U16 | Scalar::U32 | Scalar::U64);
                let op = if signed {
                    Op::ConvertSToF
                } else {
                    Op::ConvertUToF
                };
                let value = self.w.value(op, kind(to), &[value]);
                self.rounded(to, value)
            }
            (true, false) => self.whole(kind(from), to, value),
            (false, false) => self.resized(from, to, value),
        }
    }

    fn resized(&mut self, from: Scalar, to: Scalar, value: Id) -> Id {
        if to == Scalar::Bool {
            let zero = self.w.constant(kind(from), 0);
            let truth = self.w.value(Op::INotEqual, Kind::Bool, &[value, zero]);
            return self.number(truth);
        }
        let value = match (is_wide(from), is_wide(to)) {
            (false, true) => {
                let unsigned = matches!(from, Scalar::U8 | Scalar::U16 | Scalar::U32);
                match unsigned {
                    true => self.w.value(Op::UConvert, Kind::U64, &[value]),
                    false => self.sign_extended(value),
                }
            }
            (true, false) => self.w.value(Op::UConvert, Kind::U32, &[value]),
            _ => value,
        };
        self.cut(to, value)
    }

    /// A signed word in 64 bits, from two halves: Mesa's compiler knows what `OpSConvert` of a word is, and
    /// then compares it wrongly.
    pub(super) fn sign_extended(&mut self, word: Id) -> Id {
        let (places, half) = (self.w.u32(31), self.w.u64(32));
        let operands = [word, places];
        let signs = (self.w).value(Op::ShiftRightArithmetic, Kind::U32, &operands);
        let [low, high] = [word, signs].map(|half| self.w.value(Op::UConvert, Kind::U64, &[half]));
        let high = self.w.value(Op::ShiftLeftLogical, Kind::U64, &[high, half]);
        self.w.value(Op::BitwiseOr, Kind::U64, &[low, high])
    }

    /// The low bits of a word that the type keeps.
    fn cut(&mut self, to: Scalar, value: Id) -> Id {
        let mask = match to {
            Scalar::I8 => return self.extended(value, 24),
            Scalar::I16 => return self.extended(value, 16),
            Scalar::U8 => self.w.u32(0xff),
            Scalar::U16 => self.w.u32(0xffff),
            _ => return value,
        };
        self.w.value(Op::BitwiseAnd, Kind::U32, &[value, mask])
    }

    /// A float as a whole number: towards zero, at the ends of the range where it lies beyond, NaN as 0.
    fn whole(&mut self, k: Kind, to: Scalar, value: Id) -> Id {
        match to {
            Scalar::Bool => {
                let zero = self.constant_of(k, 0.0);
                let truth = self.ordered(Op::FUnordNotEqual, k, value, zero);
                self.number(truth)
            }
            Scalar::I8 | Scalar::I16 | Scalar::I32 => {
                let word = self.saturated(k, Kind::U32, value);
                self.cut(to, word)
            }
            Scalar::U8 | Scalar::U16 | Scalar::U32 => {
                let wide = self.saturated(k, Kind::U64, value);
                let word = self.w.value(Op::UConvert, Kind::U32, &[wide]);
                self.cut(to, word)
            }
            Scalar::U64 => self.modular(k, value),
            _ => self.saturated(k, Kind::U64, value),
        }
    }

    fn saturated(&mut self, k: Kind, to: Kind, value: Id) -> Id {
        let (end, largest) = match to {
            Kind::U32 => (2_147_483_648.0, i32::MAX as u64),
            _ => (9_223_372_036_854_775_808.0, i64::MAX as u64),
        };
        let (high, low) = (self.constant_of(k, end), self.constant_of(k, -end));
        let above = self
            .w
            .value(Op::FOrdGreaterThanEqual, Kind::Bool, &[value, high]);
        let below = self.w.value(Op::FOrdLessThan, Kind::Bool, &[value, low]);
        let from = self
            .w
            .value(Op::FOrdGreaterThanEqual, Kind::Bool, &[value, low]);
        let upto = self.w.value(Op::FOrdLessThan, Kind::Bool, &[value, high]);
        let inside = self.w.value(Op::LogicalAnd, Kind::Bool, &[from, upto]);
        let zero = self.constant_of(k, 0.0);
        let safe = self.select(k, inside, value, zero);
        let whole = self.w.value(Op::ConvertFToS, to, &[safe]);
        let most = self.w.constant(to, largest);
        let least = self.w.constant(to, largest + 1);
        let whole = self.select(to, above, most, whole);
        self.select(to, below, least, whole)
    }

    /// A float's whole part modulo 2^64: what a conversion through 128 bits leaves.
    fn modular(&mut self, k: Kind, value: Id) -> Id {
        let wide = if k == Kind::F32 {
            self.widened(value)
        } else {
            value
        };
        let whole = self.w.extended(glsl::TRUNC, Kind::F64, wide);
        let [turn, back, half] = [
            1.0 / 18_446_744_073_709_551_616.0,
            18_446_744_073_709_551_616.0,
            9_223_372_036_854_775_808.0,
        ]
        .map(|number| self.w.f64(number));
        let turns = self.w.value(Op::FMul, Kind::F64, &[whole, turn]);
        let turns = self.w.extended(glsl::FLOOR, Kind::F64, turns);
        let full = self.w.value(Op::FMul, Kind::F64, &[turns, back]);
        let rest = self.w.value(Op::FSub, Kind::F64, &[whole, full]);
        let upper = self
            .w
            .value(Op::FOrdGreaterThanEqual, Kind::Bool, &[rest, half]);
        let lowered = self.w.value(Op::FSub, Kind::F64, &[rest, half]);
        let lower = self.select(Kind::F64, upper, lowered, rest);
        let bits = self.saturated(Kind::F64, Kind::U64, lower);
        let (top, zero) = (self.w.u64(1 << 63), self.w.u64(0));
        let top = self.select(Kind::U64, upper, top, zero);
        let bits = self.w.value(Op::BitwiseOr, Kind::U64, &[bits, top]);
        // A negative number that is small: its turn is not exact above 53 bits, the other way is.
        let near = self.saturated(Kind::F64, Kind::U64, whole);
        let minus = self.w.f64(-9_223_372_036_854_775_808.0);
        let from = self
            .w
            .value(Op::FOrdGreaterThanEqual, Kind::Bool, &[whole, minus]);
        let upto = self.w.value(Op::FOrdLessThan, Kind::Bool, &[whole, half]);
        let is_near = self.w.value(Op::LogicalAnd, Kind::Bool, &[from, upto]);
        let bits = self.select(Kind::U64, is_near, near, bits);
        let ends = 2.0_f64.powi(127);
        let (most, least) = (self.w.f64(ends), self.w.f64(-ends));
        let above = self
            .w
            .value(Op::FOrdGreaterThanEqual, Kind::Bool, &[wide, most]);
        let below = self
            .w
            .value(Op::FOrdLessThanEqual, Kind::Bool, &[wide, least]);
        let ones = self.w.u64(u64::MAX);
        let bits = self.select(Kind::U64, above, ones, bits);
        let bits = self.select(Kind::U64, below, zero, bits);
        let number = self.w.value(Op::FOrdEqual, Kind::Bool, &[wide, wide]);
        self.select(Kind::U64, number, bits, zero)
    }

    /// A float in the precision of its type.
    pub(super) fn rounded(&mut self, ty: Scalar, value: Id) -> Id {
        match ty {
            Scalar::F16 => {
                let half = self.half_bits(value);
                self.half_value(half)
            }
            Scalar::BF16 => {
                let upper = self.bfloat_bits(value);
                self.bfloat_value(upper)
            }
            _ => value,
        }
    }

    fn words(&mut self, op: Op, a: Id, b: u32) -> Id {
        let b = self.w.u32(b);
        self.w.value(op, Kind::U32, &[a, b])
    }

    fn asks(&mut self, op: Op, a: Id, b: u32) -> Id {
        let b = self.w.u32(b);
        self.w.value(op, Kind::Bool, &[a, b])
    }

    /// The nearest half's bits, in the steps of [`warpsmith_interpreter::f32_to_half`].
    pub(super) fn half_bits(&mut self, value: Id) -> Id {
        let bits = self.bits(Kind::F32, value);
        let high = self.words(Op::ShiftRightLogical, bits, 16);
        let sign = self.words(Op::BitwiseAnd, high, 0x8000);
        let magnitude = self.words(Op::BitwiseAnd, bits, 0x7fff_ffff);
        let float = self.w.value(Op::Bitcast, Kind::F32, &[magnitude]);
        let half = self.w.f32(0.5);
        let shifted = self.w.value(Op::FAdd, Kind::F32, &[float, half]);
        let shifted = self.bits(Kind::F32, shifted);
        let small = self.words(Op::ISub, shifted, 0x3f00_0000);
        let place = self.words(Op::ShiftRightLogical, magnitude, 13);
        let odd = self.words(Op::BitwiseAnd, place, 1);
        let up = self.words(Op::IAdd, odd, 0xfff);
        let sum = self.w.value(Op::IAdd, Kind::U32, &[magnitude, up]);
        let normal = self.words(Op::ISub, sum, 0x3800_0000);
        let normal = self.words(Op::ShiftRightLogical, normal, 13);
        let is_small = self.asks(Op::ULessThan, magnitude, 0x3880_0000);
        let finite = self.select(Kind::U32, is_small, small, normal);
        let beyond = self.asks(Op::UGreaterThanEqual, magnitude, 0x477f_f000);
        let infinity = self.w.u32(0x7c00);
        let number = self.select(Kind::U32, beyond, infinity, finite);
        let none = self.asks(Op::UGreaterThan, magnitude, 0x7f80_0000);
        let nan = self.w.u32(0x7e00);
        let half = self.select(Kind::U32, none, nan, number);
        self.w.value(Op::BitwiseOr, Kind::U32, &[sign, half])
    }

    pub(super) fn half_value(&mut self, half: Id) -> Id {
        let sign = self.words(Op::BitwiseAnd, half, 0x8000);
        let sign = self.words(Op::ShiftLeftLogical, sign, 16);
        let exponent = self.words(Op::ShiftRightLogical, half, 10);
        let exponent = self.words(Op::BitwiseAnd, exponent, 31);
        let mantissa = self.words(Op::BitwiseAnd, half, 0x3ff);
        let small = self.w.value(Op::ConvertUToF, Kind::F32, &[mantissa]);
        let place = self.w.f32(5.960_464_5e-8);
        let small = self.w.value(Op::FMul, Kind::F32, &[small, place]);
        let small = self.bits(Kind::F32, small);
        let fraction = self.words(Op::ShiftLeftLogical, mantissa, 13);
        let endless = self.words(Op::BitwiseOr, fraction, 0x7f80_0000);
        let biased = self.words(Op::IAdd, exponent, 112);
        let biased = self.words(Op::ShiftLeftLogical, biased, 23);
        let normal = self.w.value(Op::BitwiseOr, Kind::U32, &[biased, fraction]);
        let is_small = self.asks(Op::IEqual, exponent, 0);
        let is_endless = self.asks(Op::IEqual, exponent, 31);
        let magnitude = self.select(Kind::U32, is_endless, endless, normal);
        let magnitude = self.select(Kind::U32, is_small, small, magnitude);
        let bits = self.w.value(Op::BitwiseOr, Kind::U32, &[sign, magnitude]);
        self.w.value(Op::Bitcast, Kind::F32, &[bits])
    }

    pub(super) fn bfloat_bits(&mut self, value: Id) -> Id {
        let bits = self.bits(Kind::F32, value);
        let magnitude = self.words(Op::BitwiseAnd, bits, 0x7fff_ffff);
        let upper = self.words(Op::ShiftRightLogical, bits, 16);
        let odd = self.words(Op::BitwiseAnd, upper, 1);
        let up = self.words(Op::IAdd, odd, 0x7fff);
        let sum = self.w.value(Op::IAdd, Kind::U32, &[bits, up]);
        let rounded = self.words(Op::ShiftRightLogical, sum, 16);
        let none = self.asks(Op::UGreaterThan, magnitude, 0x7f80_0000);
        let nan = self.w.u32(0x7fff);
        self.select(Kind::U32, none, nan, rounded)
    }

    pub(super) fn bfloat_value(&mut self, upper: Id) -> Id {
        let bits = self.words(Op::ShiftLeftLogical, upper, 16);
        self.w.value(Op::Bitcast, Kind::F32, &[bits])
    }
}
