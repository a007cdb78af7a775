//! The pads' low-pass: a state-variable filter of second order, stable under any change of cutoff.

use crate::sound::Lane;

/// Damping of a Butterworth response.
const DAMPING: f64 = std::f64::consts::SQRT_2;

/// Coefficients of one cutoff.
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
    first: [f32; 2],
    second: [f32; 2],
}

impl LowPass {
    pub(crate) fn new(log2_hz: f64, sample_rate: u32) -> Self {
        Self {
            sample_rate,
            log2_hz,
            coefficients: Coefficients::new(log2_hz, sample_rate),
            first: [0.0; 2],
            second: [0.0; 2],
        }
    }

    /// Filters a quantum in place.
    #[inline(always)]
    pub(crate) fn run(&mut self, log2_hz: f64, [left, right]: &mut [Lane; 2]) {
        if log2_hz != self.log2_hz {
            self.coefficients = Coefficients::new(log2_hz, self.sample_rate);
            self.log2_hz = log2_hz;
        }
        let Coefficients { a1, a2, a3 } = self.coefficients;
        let (a1, a2, a3) = (a1 as f32, a2 as f32, a3 as f32);
        let (mut first, mut second) = (self.first, self.second);
        for (left, right) in left.iter_mut().zip(right) {
            for (channel, sample) in [left, right].into_iter().enumerate() {
                let v3 = *sample - second[channel];
                let v1 = a1 * first[channel] + a2 * v3;
                let v2 = second[channel] + (a2 * first[channel] + a3 * v3);
                first[channel] = 2.0 * v1 - first[channel];
                second[channel] = 2.0 * v2 - second[channel];
                *sample = v2;
            }
        }
        // What has decayed to nothing must not become denormal, which is slow.
        let settle = |value: f32| if value.abs() < 1e-20 { 0.0 } else { value };
        self.first = first.map(settle);
        self.second = second.map(settle);
    }
}
