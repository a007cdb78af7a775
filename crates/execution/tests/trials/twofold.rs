//! Numbers of about 100 bits, as the sum of two `f64`, and functions of them: what measured functions are
//! compared with. Where the lower of the two is below 2⁻¹⁰²², digits are lost.

use std::ops::{Add, Div, Mul, Neg, Sub};

/// `high + low`, of which `low` is at most half a unit in the last place of `high`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Twofold {
    high: f64,
    low: f64,
}

const fn twofold(high: f64, low: f64) -> Twofold {
    Twofold { high, low }
}

const LN_2: Twofold = twofold(std::f64::consts::LN_2, 2.319_046_813_846_299_6e-17);
const HALF_PI: Twofold = twofold(std::f64::consts::FRAC_PI_2, 6.123_233_995_736_766e-17);
const TWO_BY_ROOT_PI: Twofold =
    twofold(std::f64::consts::FRAC_2_SQRT_PI, 1.533_545_961_316_588e-17);

impl From<f64> for Twofold {
    fn from(value: f64) -> Self {
        twofold(value, 0.0)
    }
}

/// The sum of two numbers and what its rounding lost.
fn sum(a: f64, b: f64) -> Twofold {
    let high = a + b;
    let of_b = high - a;
    twofold(high, (a - (high - of_b)) + (b - of_b))
}

impl Add for Twofold {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        let (high, low) = (sum(self.high, other.high), sum(self.low, other.low));
        let carried = sum(high.high, high.low + low.high);
        sum(carried.high, carried.low + low.low)
    }
}

impl Neg for Twofold {
    type Output = Self;

    fn neg(self) -> Self {
        twofold(-self.high, -self.low)
    }
}

impl Sub for Twofold {
    type Output = Self;

    fn sub(self, other: Self) -> Self {
        self + -other
    }
}

impl Mul for Twofold {
    type Output = Self;

    fn mul(self, other: Self) -> Self {
        let high = self.high * other.high;
        let lost = self.high.mul_add(other.high, -high);
        sum(high, lost + (self.high * other.low + self.low * other.high))
    }
}

impl Div for Twofold {
    type Output = Self;

    fn div(self, other: Self) -> Self {
        let first = Self::from(self.high / other.high);
        let rest = self - first * other;
        let second = Self::from(rest.high / other.high);
        let rest = rest - second * other;
        first + second + Self::from(rest.high / other.high)
    }
}

impl Twofold {
    pub(crate) fn rounded(self) -> f64 {
        self.high + self.low
    }

    fn scaled(self, power: i32) -> Self {
        // In two steps, so that neither factor is infinite or zero.
        let half = power / 2;
        let [a, b] = [half, power - half].map(|n| 2.0_f64.powi(n));
        twofold(self.high * a * b, self.low * a * b)
    }

    pub(crate) fn exp(self) -> Self {
        let power = (self.high / LN_2.high).round();
        let rest = (self - LN_2 * power.into()).scaled(-10);
        // e^r − 1, and the same of twice r ten times, so that small numbers keep their places.
        let (mut term, mut less_one) = (rest, rest);
        for n in 2..12 {
            term = term * rest / f64::from(n).into();
            less_one = less_one + term;
        }
        for _ in 0..10 {
            less_one = less_one * less_one + less_one + less_one;
        }
        (less_one + 1.0.into()).scaled(power as i32)
    }

    /// The natural logarithm: one step of Newton's from the nearest `f64`.
    pub(crate) fn ln(self) -> Self {
        let near = Self::from(self.high.ln());
        near + self * (-near).exp() - 1.0.into()
    }

    /// Sine and cosine.
    pub(crate) fn sin_cos(self) -> (Self, Self) {
        let quarters = (self.high / HALF_PI.high).round();
        let rest = self - HALF_PI * quarters.into();
        let square = -(rest * rest);
        let series = |first: Self, from: u32| {
            let (mut term, mut sum) = (first, first);
            for n in (from..from + 30).step_by(2) {
                term = term * square / f64::from((n + 1) * (n + 2)).into();
                sum = sum + term;
            }
            sum
        };
        let (sin, cos) = (series(rest, 1), series(1.0.into(), 0));
        match quarters.rem_euclid(4.0) as i32 {
            0 => (sin, cos),
            1 => (cos, -sin),
            2 => (-sin, -cos),
            _ => (-cos, sin),
        }
    }

    /// The derivative of the error function.
    pub(crate) fn erf_slope(self) -> Self {
        TWO_BY_ROOT_PI * (-(self * self)).exp()
    }

    /// The error function, by a series whose terms have one sign.
    pub(crate) fn erf(self) -> Self {
        let square = self * self;
        let (mut term, mut sum) = (self, self);
        let mut n = 1.0;
        while term.high.abs() > sum.high.abs() * 1e-33 {
            n += 2.0;
            term = term * (square + square) / n.into();
            sum = sum + term;
        }
        self.erf_slope() * sum
    }

    /// One less the error function: far out by a continued fraction, from its end.
    pub(crate) fn erfc(self) -> Self {
        if self.high < 2.0 {
            return Self::from(1.0) - self.erf();
        }
        let mut below = self;
        for n in (1..400).rev() {
            below = self + Self::from(f64::from(n) / 2.0) / below;
        }
        let half = self.erf_slope() / below;
        half / 2.0.into()
    }
}

/// What is known to 30 digits, and what functions undo.
pub(crate) fn check() {
    let near = |a: Twofold, b: Twofold| {
        let off = (a - b).high.abs();
        assert!(off <= b.high.abs() * 1e-27, "{a:?} {b:?}");
    };
    let of = Twofold::from;
    // e, sin 1, erf 1, erfc 3 from tables, in two parts.
    near(
        of(1.0).exp(),
        twofold(std::f64::consts::E, 1.445_646_891_729_250_2e-16),
    );
    near(of(300.0).exp().ln(), of(300.0));
    let (sin, cos) = of(1e9).sin_cos();
    near(sin * sin + cos * cos, of(1.0));
    near(of(2.0).erf() + of(2.0).erfc(), of(1.0));
    near(of(1.5).erf() + of(1.5).erfc(), of(1.0));
    assert_eq!(of(1.0).erf().rounded(), 0.842_700_792_949_714_9);
    assert_eq!(of(3.0).erfc().rounded(), 2.209_049_699_858_544e-5);
    assert_eq!(of(1.0).sin_cos().0.rounded(), 1.0_f64.sin());
}
