//! From `float32` to `float64` and back, subnormal numbers too.
//!
//! NVIDIA's driver takes a `float32` below 2⁻¹²⁶ for 0 where `OpFConvert` widens it, and offers no mode in which
//! it would not. Such numbers are therefore converted as whole multiples of the smallest one.

use super::emitter::Emitter;
use super::opcode::Op;
use super::writer::{Id, Kind};

/// The smallest `float32` above 0, 2⁻¹⁴⁹, as a `float64`.
const SMALLEST: f64 = f64::from_bits((1023 - 149) << 52);
/// 2⁻⁹⁷, whose neighbours in `float64` are [`SMALLEST`] apart.
const ROUNDER: f64 = f64::from_bits((1023 - 97) << 52);

impl Emitter<'_> {
    /// A `float32` as a `float64`, exactly.
    pub(super) fn widened(&mut self, a: Id) -> Id {
        if let Some(bits) = self.w.float_constant(a) {
            return self.w.f64(f64::from(f32::from_bits(bits)));
        }
        let normal = self.w.value(Op::FConvert, Kind::F64, &[a]);
        let bits = self.bits(Kind::F32, a);
        let magnitude = self.magnitude(Kind::F32, a);
        // Zero keeps its sign in a conversion.
        let (is_small, none) = (self.is_small(a), self.w.u32(0));
        let count = self.w.value(Op::ConvertUToF, Kind::F64, &[magnitude]);
        let negative = self.w.value(Op::SLessThan, Kind::Bool, &[bits, none]);
        let (up, down) = (self.w.f64(SMALLEST), self.w.f64(-SMALLEST));
        let unit = self.select(Kind::F64, negative, down, up);
        let small = self.w.value(Op::FMul, Kind::F64, &[count, unit]);
        self.select(Kind::F64, is_small, small, normal)
    }

    /// Whether a `float32` is subnormal, which zero is not.
    pub(super) fn is_small(&mut self, a: Id) -> Id {
        let magnitude = self.magnitude(Kind::F32, a);
        let (one, below) = (self.w.u32(1), self.w.u32((1 << 23) - 1));
        let rest = self.w.value(Op::ISub, Kind::U32, &[magnitude, one]);
        self.w.value(Op::ULessThan, Kind::Bool, &[rest, below])
    }

    /// A `float64` as the nearest `float32`, ties to even.
    pub(super) fn narrowed(&mut self, a: Id) -> Id {
        let normal = self.w.value(Op::FConvert, Kind::F32, &[a]);
        let size = self.absolute(Kind::F64, a);
        let least = self.w.f64(f64::from(f32::MIN_POSITIVE));
        let is_small = (self.w).value(Op::FOrdLessThan, Kind::Bool, &[size, least]);
        // The sum is rounded to a multiple of the smallest `float32`; its last bits count them.
        let rounder = self.w.f64(ROUNDER);
        let sum = self.w.value(Op::FAdd, Kind::F64, &[size, rounder]);
        let sum = self.bits(Kind::F64, sum);
        let count = self.w.value(Op::UConvert, Kind::U32, &[sum]);
        let bits = self.bits(Kind::F64, a);
        let (half, top) = (self.w.u64(32), self.w.u32(1 << 31));
        let high = (self.w).value(Op::ShiftRightLogical, Kind::U64, &[bits, half]);
        let high = self.w.value(Op::UConvert, Kind::U32, &[high]);
        let sign = self.w.value(Op::BitwiseAnd, Kind::U32, &[high, top]);
        let small = self.w.value(Op::BitwiseOr, Kind::U32, &[count, sign]);
        let small = self.w.value(Op::Bitcast, Kind::F32, &[small]);
        self.select(Kind::F32, is_small, small, normal)
    }
}
