//! The pads' low-pass: a state-variable filter of second order, stable under any change of cutoff.

use crate::sound::Lane;

/// Damping of a Butterworth response.
const DAMPING: f64 = std::f64::consts::SQRT_2;

/// Coefficients of one cutoff: with states `s` and `t`, `v = x − t`, the output is
/// `t + a2·s + a3·v`, and both states move by twice what their integrators saw.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Coefficients {
    pub(crate) a1: f64,
    pub(crate) a2: f64,
    pub(crate) a3: f64,
}

impl Coefficients {
    pub(crate) fn new(log2_hz: f64, sample_rate: u32) -> Self {
        let rate = f64::from(sample_rate);
        let hz = log2_hz.exp2().min(0.45 * rate);
        let g = (std::f64::consts::PI * hz / rate).tan();
        let a1 = 1.0 / (1.0 + g * (g + DAMPING));
        Self {
            a1,
            a2: g * a1,
            a3: g * g * a1,
        }
    }
}

/// Two channels of the filter.
#[derive(Clone, Debug)]
pub(crate) struct LowPass {
    sample_rate: u32,
    log2_hz: f64,
    coefficients: Coefficients,
    /// Both states of both channels.
    states: [[f64; 2]; 2],
}

impl LowPass {
    pub(crate) fn new(log2_hz: f64, sample_rate: u32) -> Self {
        Self {
            sample_rate,
            log2_hz,
            coefficients: Coefficients::new(log2_hz, sample_rate),
            states: [[0.0; 2]; 2],
        }
    }

    /// Filters a quantum in place.
    #[inline(always)]
    pub(crate) fn run(&mut self, log2_hz: f64, [left, right]: &mut [Lane; 2]) {
        if log2_hz != self.log2_hz {
            self.coefficients = Coefficients::new(log2_hz, self.sample_rate);
            self.log2_hz = log2_hz;
        }
        // The filter as a matrix: half as many steps wait for each other as in the usual form. In
        // single precision its coefficients would be too coarse for low cutoffs.
        let Coefficients { a1, a2, a3 } = self.coefficients;
        let (to_first, to_second) = ([2.0 * a1 - 1.0, -2.0 * a2], [2.0 * a2, 1.0 - 2.0 * a3]);
        let ([mut s1, mut s2], [mut t1, mut t2]) = (self.states[0], self.states[1]);
        let step = |x: f64, s1: &mut f64, s2: &mut f64| {
            let out = (a3 * x + a2 * *s1) + (1.0 - a3) * *s2;
            let first = (2.0 * a2 * x + to_first[0] * *s1) + to_first[1] * *s2;
            *s2 = (2.0 * a3 * x + to_second[0] * *s1) + to_second[1] * *s2;
            *s1 = first;
            out as f32
        };
        for (left, right) in left.iter_mut().zip(right) {
            *left = step(f64::from(*left), &mut s1, &mut s2);
            *right = step(f64::from(*right), &mut t1, &mut t2);
        }
        // What has decayed to nothing must not become denormal, which is slow.
        let settle = |value: f64| if value.abs() < 1e-20 { 0.0 } else { value };
        self.states = [[s1, s2].map(settle), [t1, t2].map(settle)];
    }
}
