//! Error functions and their inverses, in the steps of FreeBSD's `s_erf.c`, which the interpreter's library
//! takes too; exponentials are our own.

use super::emitter::Emitter;
use super::opcode::{Op, glsl};
use super::writer::{Id, Kind};
use warpsmith_interpreter::scalar_form::{Class, Unary};

const D: Kind = Kind::F64;

/// erf(1), rounded to 24 bits.
const AT_ONE: f64 = 8.450_629_115_104_675e-1;

// Numerators and denominators over an interval, the highest coefficient first.
const NEAR_ZERO: [&[f64]; 2] = [
    &[
        -2.376_301_665_665_016_3e-5,
        -5.770_270_296_489_442e-3,
        -2.848_174_957_559_851e-2,
        -3.250_421_072_470_015e-1,
        1.283_791_670_955_125_6e-1,
    ],
    &[
        -3.960_228_278_775_368e-6,
        1.324_947_380_043_216_4e-4,
        5.081_306_281_875_766e-3,
        6.502_224_998_876_73e-2,
        3.979_172_239_591_553_5e-1,
        1.0,
    ],
];
const NEAR_ONE: [&[f64]; 2] = [
    &[
        -2.166_375_594_868_791e-3,
        3.547_830_432_561_823_6e-2,
        -1.108_946_942_823_966_8e-1,
        3.183_466_199_011_617_5e-1,
        -3.722_078_760_357_013e-1,
        4.148_561_186_837_483e-1,
        -2.362_118_560_752_659_4e-3,
    ],
    &[
        1.198_449_984_679_910_7e-2,
        1.363_708_391_202_905e-2,
        1.261_712_198_087_616_4e-1,
        7.182_865_441_419_627e-2,
        5.403_979_177_021_71e-1,
        1.064_208_804_008_442_3e-1,
        1.0,
    ],
];
const MIDDLE: [&[f64]; 2] = [
    &[
        -9.814_329_344_169_145,
        -8.128_743_550_630_66e1,
        -1.846_050_929_067_110_4e2,
        -1.623_966_694_625_734_7e2,
        -6.237_533_245_032_601e1,
        -1.055_862_622_532_329_1e1,
        -6.938_585_727_071_818e-1,
        -9.864_944_034_847_148e-3,
    ],
    &[
        -6.042_441_521_485_81e-2,
        6.570_249_770_319_282,
        1.086_350_055_417_794_4e2,
        4.290_081_400_275_678e2,
        6.453_872_717_332_679e2,
        4.345_658_774_752_292_3e2,
        1.376_577_541_435_190_4e2,
        1.965_127_166_743_925_7e1,
        1.0,
    ],
];
const FAR: [&[f64]; 2] = [
    &[
        -4.835_191_916_086_514e2,
        -1.025_095_131_611_077_2e3,
        -6.375_664_433_683_896e2,
        -1.606_363_848_558_219_2e2,
        -1.775_795_491_775_475e1,
        -7.992_832_376_805_23e-1,
        -9.864_942_924_700_1e-3,
    ],
    &[
        -2.244_095_244_658_582e1,
        4.745_285_412_069_554e2,
        2.553_050_406_433_164e3,
        3.199_858_219_508_595_5e3,
        1.536_729_586_084_437e3,
        3.257_925_129_965_739e2,
        3.033_806_074_348_246e1,
        1.0,
    ],
];

impl Emitter<'_> {
    pub(super) fn error_function(&mut self, op: Unary, x: Id) -> Id {
        match op {
            Unary::Erf | Unary::Erfc => self.error(op == Unary::Erfc, x),
            Unary::ErfInv => self.inverse_error(x),
            _ => self.inverse_complement(x),
        }
    }

    fn ratio(&mut self, x: Id, [numerator, denominator]: [&[f64]; 2]) -> Id {
        let (up, down) = (
            self.polynomial(x, numerator),
            self.polynomial(x, denominator),
        );
        self.over(up, down)
    }

    /// The error function, or its complement to 1.
    fn error(&mut self, complement: bool, x: Id) -> Id {
        let (one, zero) = (self.w.f64(1.0), self.w.f64(0.0));
        let size = self.absolute(D, x);
        let square = self.times(x, x);
        let ratio = self.ratio(square, NEAR_ZERO);
        let part = self.times(x, ratio);
        let near = self.sum(x, part);
        // From 0.84375 on, the complement of the magnitude.
        let around_one = self.raised(size, -1.0);
        let beside = self.ratio(around_one, NEAR_ONE);
        let rest = self.w.f64(1.0 - AT_ONE);
        let beside = self.less(rest, beside);
        let tail = self.tail(size);
        let close = self.ask(Op::FOrdLessThan, size, 1.25);
        let outer = self.choose(close, beside, tail);
        // Beyond 28 nothing is left of it.
        let gone = self.ask(Op::FOrdGreaterThanEqual, size, 28.0);
        let outer = self.choose(gone, zero, outer);
        let bits = self.bits(D, x);
        let none = self.w.u64(0);
        let negative = self.w.value(Op::SLessThan, Kind::Bool, &[bits, none]);
        let (near, far) = if complement {
            let two = self.w.f64(2.0);
            let other = self.less(two, outer);
            let far = self.choose(negative, other, outer);
            // In two ways, so that neither loses places.
            let small = self.less(one, near);
            let shifted = self.raised(x, -0.5);
            let shifted = self.sum(shifted, part);
            let half = self.w.f64(0.5);
            let large = self.less(half, shifted);
            let quarter = self.ask(Op::FOrdLessThan, x, 0.25);
            (self.choose(quarter, small, large), far)
        } else {
            let far = self.less(one, outer);
            (near, self.copy_sign(D, far, x))
        };
        let inside = self.ask(Op::FOrdLessThan, size, 0.84375);
        let value = self.choose(inside, near, far);
        let lost = self.classify(Class::Nan, D, x);
        self.choose(lost, x, value)
    }

    /// The complement of the error function from 1.25 on.
    fn tail(&mut self, size: Id) -> Id {
        let one = self.w.f64(1.0);
        let square = self.times(size, size);
        let inverse = self.over(one, square);
        let (middle, far) = (self.ratio(inverse, MIDDLE), self.ratio(inverse, FAR));
        let inside = self.ask(Op::FOrdLessThan, size, 1.0 / 0.35);
        let ratio = self.choose(inside, middle, far);
        // The upper half of the number, whose square is exact.
        let bits = self.bits(D, size);
        let mask = self.w.u64(0xffff_ffff_0000_0000);
        let upper = self.w.value(Op::BitwiseAnd, Kind::U64, &[bits, mask]);
        let upper = self.w.value(Op::Bitcast, D, &[upper]);
        let product = self.times(upper, upper);
        let product = self.negated(D, product);
        let product = self.raised(product, -0.5625);
        let (below, above) = (self.less(upper, size), self.sum(upper, size));
        let rest = self.times(below, above);
        let rest = self.sum(rest, ratio);
        let (first, second) = (self.exponential(product), self.exponential(rest));
        let value = self.times(first, second);
        self.over(value, size)
    }

    /// Newton's step `(f(x) - wanted) / f'(x)` for `f` the error function or its complement.
    fn newton(&mut self, complement: bool, x: Id, wanted: Id) -> Id {
        let value = self.error(complement, x);
        let distance = self.less(value, wanted);
        let minus = self.negated(D, x);
        let square = self.times(minus, x);
        let slope = self.exponential(square);
        let slope = self.scaled(slope, std::f64::consts::FRAC_2_SQRT_PI);
        self.over(distance, slope)
    }

    fn inverse_error(&mut self, p: Id) -> Id {
        let size = self.absolute(D, p);
        let slope = self.w.f64(std::f64::consts::FRAC_2_SQRT_PI);
        let start = self.over(p, slope);
        let found = self.w.variable(D);
        self.w.act(Op::Store, &[found, start]);
        let steps = self.w.u32(8);
        self.repeat_times(steps, |e| {
            let x = e.w.value(Op::Load, D, &[found]);
            let step = e.newton(false, x, p);
            let next = e.less(x, step);
            e.w.act(Op::Store, &[found, next]);
        });
        let near = self.w.value(Op::Load, D, &[found]);
        let one = self.w.f64(1.0);
        let rest = self.less(one, p);
        let far = self.inverse_complement(rest);
        let outer = self.ask(Op::FOrdGreaterThan, size, 0.5);
        self.choose(outer, far, near)
    }

    fn inverse_complement(&mut self, q: Id) -> Id {
        // The other half is its mirror image.
        let upper = self.ask(Op::FOrdGreaterThan, q, 1.0);
        let two = self.w.f64(2.0);
        let mirrored = self.less(two, q);
        let inner = self.choose(upper, mirrored, q);
        let half = self.scaled(inner, 0.5);
        let logarithm = self.logarithm(Unary::Log, half);
        let square = self.scaled(logarithm, -2.0);
        let t = self.w.extended(glsl::SQRT, D, square);
        let numerator = self.polynomial(t, &[0.010_328, 0.802_853, 2.515_517]);
        let denominator = self.polynomial(t, &[0.001_308, 0.189_269, 1.432_788, 1.0]);
        let ratio = self.over(numerator, denominator);
        let start = self.less(t, ratio);
        let start = self.scaled(start, std::f64::consts::FRAC_1_SQRT_2);
        let found = self.w.variable(D);
        self.w.act(Op::Store, &[found, start]);
        let steps = self.w.u32(6);
        self.repeat_times(steps, |e| {
            let x = e.w.value(Op::Load, D, &[found]);
            let step = e.newton(true, x, inner);
            let next = e.sum(x, step);
            e.w.act(Op::Store, &[found, next]);
        });
        let value = self.w.value(Op::Load, D, &[found]);
        let endless = self.w.f64(f64::INFINITY);
        let none = self.ask(Op::FOrdEqual, inner, 0.0);
        let value = self.choose(none, endless, value);
        let minus = self.negated(D, value);
        let value = self.choose(upper, minus, value);
        let nan = self.w.f64(f64::NAN);
        let from = self.ask(Op::FOrdGreaterThanEqual, q, 0.0);
        let upto = self.ask(Op::FOrdLessThanEqual, q, 2.0);
        let inside = self.w.value(Op::LogicalAnd, Kind::Bool, &[from, upto]);
        self.choose(inside, value, nan)
    }
}
