//! The two precisions: what a simulation needs of a number.

use std::fmt::{Debug, Display};
use std::ops::AddAssign;

use bytemuck::Pod;

use warpsmith_lanes::Float;

/// `f32` or `f64`.
pub trait Real: Float + Pod + Debug + Display + AddAssign {
    /// What the type is called, in tables and files.
    const NAME: &'static str;
    /// Its smallest step at one.
    const EPSILON: f64;

    /// The nearest value of this type.
    fn of(value: f64) -> Self;
    /// The value, exactly.
    fn wide(self) -> f64;
    /// Bits that rise with a non-negative value; those of NaN lie above all others.
    fn rising_bits(self) -> u64;
    /// The largest whole number that is not above the value.
    fn below(self) -> Self;
}

macro_rules! real {
    ($float:ty) => {
        impl Real for $float {
            const NAME: &'static str = stringify!($float);
            const EPSILON: f64 = <$float>::EPSILON as f64;

            #[inline(always)]
            fn of(value: f64) -> Self {
                value as $float
            }
            #[inline(always)]
            fn wide(self) -> f64 {
                f64::from(self)
            }
            #[inline(always)]
            fn rising_bits(self) -> u64 {
                u64::from(self.to_bits())
            }
            #[inline(always)]
            fn below(self) -> Self {
                self.floor()
            }
        }
    };
}
real!(f32);
real!(f64);
