//! Floats, in the interpreter's bits.
//!
//! Vulkan lets a quotient or root of `float32` be wrong in its last places, and asks more of none of the
//! others: quotients and roots are therefore made in `float64` and rounded once more, which gives the
//! nearest `float32` (53 bits are more than twice 24 and two).

use super::emitter::{Emitted, Emitter, kind};
use super::opcode::{Op, glsl};
use super::writer::{Id, Kind};
use warpsmith_interpreter::scalar_form::{Binary, Cell, Class, Unary};
use warpsmith_ir::types::Scalar;

impl Emitter<'_> {
    pub(super) fn constant_of(&mut self, k: Kind, value: f64) -> Id {
        match k {
            Kind::F32 => self.w.f32(value as f32),
            _ => self.w.f64(value),
        }
    }

    pub(super) fn float_bits(k: Kind) -> (Kind, u64, u64) {
        match k {
            Kind::F32 => (Kind::U32, 0x7fff_ffff, 0x7f80_0000),
            _ => (Kind::U64, i64::MAX as u64, 0x7ff0_0000_0000_0000),
        }
    }

    /// A float without its sign, as bits.
    pub(super) fn magnitude(&mut self, k: Kind, a: Id) -> Id {
        let (ints, mask, _) = Self::float_bits(k);
        let bits = self.bits(k, a);
        let mask = self.w.constant(ints, mask);
        self.w.value(Op::BitwiseAnd, ints, &[bits, mask])
    }

    pub(super) fn classify(&mut self, class: Class, k: Kind, a: Id) -> Id {
        let (ints, _, infinity) = Self::float_bits(k);
        let magnitude = self.magnitude(k, a);
        let infinity = self.w.constant(ints, infinity);
        let op = match class {
            Class::Nan => Op::UGreaterThan,
            Class::Inf => Op::IEqual,
            Class::Finite => Op::ULessThan,
        };
        self.w.value(op, Kind::Bool, &[magnitude, infinity])
    }

    pub(super) fn absolute(&mut self, k: Kind, a: Id) -> Id {
        let magnitude = self.magnitude(k, a);
        self.w.value(Op::Bitcast, k, &[magnitude])
    }

    pub(super) fn negated(&mut self, k: Kind, a: Id) -> Id {
        let (ints, mask, _) = Self::float_bits(k);
        let bits = self.bits(k, a);
        let sign = self.w.constant(ints, mask + 1);
        let bits = self.w.value(Op::BitwiseXor, ints, &[bits, sign]);
        self.w.value(Op::Bitcast, k, &[bits])
    }

    /// The magnitude of `a` with the sign of `b`.
    pub(super) fn copy_sign(&mut self, k: Kind, a: Id, b: Id) -> Id {
        let (ints, mask, _) = Self::float_bits(k);
        let magnitude = self.magnitude(k, a);
        let (bits, sign) = (self.bits(k, b), self.w.constant(ints, mask + 1));
        let sign = self.w.value(Op::BitwiseAnd, ints, &[bits, sign]);
        let bits = self.w.value(Op::BitwiseOr, ints, &[magnitude, sign]);
        self.w.value(Op::Bitcast, k, &[bits])
    }

    /// A divisor. A zero that the driver knows of would let it leave the quotient undefined.
    pub(super) fn divisor(&mut self, cell: Cell, ty: Scalar) -> Id {
        let value = self.get(cell, ty);
        self.hidden_zero(kind(ty), value)
    }

    pub(super) fn quotient(&mut self, k: Kind, a: Id, b: Id) -> Id {
        let a = self.hidden_zero(k, a);
        if k == Kind::F64 || self.target.no_float64 {
            return self.w.value(Op::FDiv, k, &[a, b]);
        }
        let (a, b) = (self.widened(a), self.widened(b));
        let quotient = self.w.value(Op::FDiv, Kind::F64, &[a, b]);
        self.narrowed(quotient)
    }

    /// A number; zero as one that no compiler knows, because Mesa's takes 0 × x and 0 / x for 0, x + 0 for x
    /// and 0 − x for −x, whatever x is.
    pub(super) fn hidden_zero(&mut self, k: Kind, number: Id) -> Id {
        let (whole, magnitude, _) = Self::float_bits(k);
        let Some(bits) = [0, magnitude + 1]
            .into_iter()
            .find(|bits| self.w.known_constant(k, *bits) == Some(number))
        else {
            return number;
        };
        let mut zero = self.unknown_zero();
        if whole == Kind::U32 {
            zero = self.w.value(Op::UConvert, whole, &[zero]);
        }
        let sign = self.w.constant(whole, bits);
        let hidden = self.w.value(Op::BitwiseOr, whole, &[zero, sign]);
        self.w.value(Op::Bitcast, k, &[hidden])
    }

    pub(super) fn float_binary(&mut self, op: Binary, ty: Scalar, a: Id, b: Id) -> Emitted<Id> {
        let k = kind(ty);
        if self.target.no_float64 && k == Kind::F32 {
            match op {
                Binary::Mod => return Ok(self.w.value(Op::FRem, k, &[a, b])),
                Binary::Pow => return Ok(self.w.extended_pair(glsl::POW, k, a, b)),
                Binary::Atan2 => return Ok(self.w.extended_pair(glsl::ATAN2, k, a, b)),
                _ => {}
            }
        }
        Ok(match op {
            Binary::Add => {
                let (a, b) = (self.hidden_zero(k, a), self.hidden_zero(k, b));
                self.w.value(Op::FAdd, k, &[a, b])
            }
            Binary::Sub => {
                let a = self.hidden_zero(k, a);
                self.w.value(Op::FSub, k, &[a, b])
            }
            Binary::Mul => {
                let (a, b) = (self.hidden_zero(k, a), self.hidden_zero(k, b));
                self.w.value(Op::FMul, k, &[a, b])
            }
            Binary::Div => self.quotient(k, a, b),
            Binary::FloorDiv => {
                let quotient = self.quotient(k, a, b);
                self.floor(k, quotient)
            }
            Binary::Min | Binary::Max => self.extreme(op, k, a, b),
            Binary::CopySign => self.copy_sign(k, a, b),
            Binary::Mod if k == Kind::F32 => self.remainder(a, b),
            Binary::Mod => self.wide_remainder(a, b),
            Binary::Pow => self.in_double(k, &[a, b], |e, x| e.power(x[0], x[1])),
            Binary::Atan2 => self.in_double(k, &[a, b], |e, x| e.arc_tangent2(x[0], x[1])),
            Binary::And | Binary::Or | Binary::Xor | Binary::Shl | Binary::Shr => {
                return self.refuse("bits of floating-point numbers");
            }
        })
    }

    /// A function of doubles, of floats too.
    pub(super) fn in_double(
        &mut self,
        k: Kind,
        arguments: &[Id],
        function: impl FnOnce(&mut Self, &[Id]) -> Id,
    ) -> Id {
        if k == Kind::F64 {
            return function(self, arguments);
        }
        let wide: Vec<Id> = arguments.iter().map(|a| self.widened(*a)).collect();
        let value = function(self, &wide);
        self.narrowed(value)
    }

    pub(super) fn unary(&mut self, op: Unary, ty: Scalar, a: Id) -> Emitted<Id> {
        if !ty.is_float() {
            return self.integer_unary(op, ty, a);
        }
        let k = kind(ty);
        if self.target.no_float64
            && k == Kind::F32
            && let Some(value) = self.own_function(op, a)
        {
            return Ok(self.rounded(ty, value));
        }
        let zero = self.constant_of(k, 0.0);
        let one = self.constant_of(k, 1.0);
        let value = match op {
            Unary::Neg => return Ok(self.negated(k, a)),
            Unary::Abs => return Ok(self.absolute(k, a)),
            Unary::Sign | Unary::Step => {
                let negative = self.ordered(Op::FOrdLessThan, k, a, zero);
                let minus = self.constant_of(k, -1.0);
                let (yes, no) = if op == Unary::Sign {
                    (minus, one)
                } else {
                    (one, zero)
                };
                return Ok(self.select(k, negative, yes, no));
            }
            Unary::NonZero => {
                let none = self.ordered(Op::FOrdEqual, k, a, zero);
                return Ok(self.select(k, none, zero, one));
            }
            Unary::Floor => return Ok(self.floor(k, a)),
            Unary::Ceil => return Ok(self.ceiling(k, a)),
            Unary::Trunc => return Ok(self.w.extended(glsl::TRUNC, k, a)),
            Unary::Rint => return Ok(self.w.extended(glsl::ROUND_EVEN, k, a)),
            Unary::Frac => {
                let whole = self.w.extended(glsl::TRUNC, k, a);
                self.w.value(Op::FSub, k, &[a, whole])
            }
            Unary::Round => {
                let whole = self.w.extended(glsl::TRUNC, k, a);
                let rest = self.w.value(Op::FSub, k, &[a, whole]);
                let rest = self.absolute(k, rest);
                let half = self.constant_of(k, 0.5);
                let away = self
                    .w
                    .value(Op::FOrdGreaterThanEqual, Kind::Bool, &[rest, half]);
                let step = self.select(k, away, one, zero);
                let step = self.copy_sign(k, step, a);
                let sum = self.w.value(Op::FAdd, k, &[whole, step]);
                self.copy_sign(k, sum, a)
            }
            Unary::Sqrt | Unary::Length => {
                self.in_double(k, &[a], |e, x| e.w.extended(glsl::SQRT, Kind::F64, x[0]))
            }
            Unary::Sin | Unary::Cos | Unary::Tan => {
                self.in_double(k, &[a], |e, x| e.circular(op, x[0]))
            }
            Unary::Asin | Unary::Acos => self.in_double(k, &[a], |e, x| e.arc(op, x[0])),
            Unary::Atan => self.in_double(k, &[a], |e, x| e.arc_tangent(x[0])),
            Unary::Exp => self.in_double(k, &[a], |e, x| e.exponential(x[0])),
            Unary::Log | Unary::Log2 | Unary::Log10 => {
                self.in_double(k, &[a], |e, x| e.logarithm(op, x[0]))
            }
            Unary::Sinh | Unary::Cosh | Unary::Tanh => {
                self.in_double(k, &[a], |e, x| e.hyperbolic(op, x[0]))
            }
            Unary::Cbrt => self.in_double(k, &[a], |e, x| e.cube_root(x[0])),
            Unary::Erf | Unary::Erfc | Unary::ErfInv | Unary::ErfcInv => {
                self.in_double(k, &[a], |e, x| e.error_function(op, x[0]))
            }
            Unary::Invert | Unary::BitCount | Unary::Pcg => {
                return self.refuse("bits of floating-point numbers");
            }
        };
        Ok(self.rounded(ty, value))
    }

    /// The device's own function of a `float32`, where it has one.
    fn own_function(&mut self, op: Unary, a: Id) -> Option<Id> {
        let function = match op {
            Unary::Sqrt | Unary::Length => glsl::SQRT,
            Unary::Sin => glsl::SIN,
            Unary::Cos => glsl::COS,
            Unary::Tan => glsl::TAN,
            Unary::Atan => glsl::ATAN,
            Unary::Sinh => glsl::SINH,
            Unary::Cosh => glsl::COSH,
            Unary::Tanh => glsl::TANH,
            Unary::Exp => glsl::EXP,
            Unary::Log => glsl::LOG,
            Unary::Log2 => glsl::LOG2,
            Unary::Asin | Unary::Acos => {
                // Rounding noise beyond 1 is forgiven.
                let (high, low) = (self.w.f32(1.0), self.w.f32(-1.0));
                let a = self.extreme(Binary::Max, Kind::F32, a, low);
                let a = self.extreme(Binary::Min, Kind::F32, a, high);
                let function = if op == Unary::Asin {
                    glsl::ASIN
                } else {
                    glsl::ACOS
                };
                return Some(self.w.extended(function, Kind::F32, a));
            }
            Unary::Log10 => {
                let logarithm = self.w.extended(glsl::LOG2, Kind::F32, a);
                let scale = self.w.f32(std::f32::consts::LOG10_2);
                return Some(self.w.value(Op::FMul, Kind::F32, &[logarithm, scale]));
            }
            Unary::Cbrt => {
                let (size, third) = (self.absolute(Kind::F32, a), self.w.f32(1.0 / 3.0));
                let root = self.w.extended_pair(glsl::POW, Kind::F32, size, third);
                return Some(self.copy_sign(Kind::F32, root, a));
            }
            _ => return None,
        };
        Some(self.w.extended(function, Kind::F32, a))
    }
}
