//! Second-order filter sections after Bristow-Johnson's cookbook, run in f64.

use std::f64::consts::TAU;

use warpsmith_lanes::{Task, with_widest};

use crate::error::{Result, SignalError};

/// One section: `y = b₀x + b₁x₋₁ + b₂x₋₂ − a₁y₋₁ − a₂y₋₂`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Biquad {
    /// Forward coefficients.
    pub b: [f64; 3],
    /// Feedback coefficients, without the leading 1.
    pub a: [f64; 2],
}

/// What every design starts from.
struct Prototype {
    cos: f64,
    alpha: f64,
}

impl Prototype {
    fn new(sample_rate: u32, hertz: f64, q: f64) -> Result<Self> {
        let nyquist = f64::from(sample_rate) / 2.0;
        if !(hertz > 0.0 && hertz < nyquist) {
            return Err(SignalError::parameter(
                "filter frequency",
                format!("{hertz} Hz"),
                format!("it must lie between 0 and {nyquist} Hz, half the sample rate"),
            ));
        }
        if !(q > 0.0 && q.is_finite()) {
            return Err(SignalError::parameter("q", q, "it must be above 0"));
        }
        let omega = TAU * hertz / f64::from(sample_rate);
        Ok(Self {
            cos: omega.cos(),
            alpha: omega.sin() / (2.0 * q),
        })
    }
}

impl Biquad {
    fn normalised(b: [f64; 3], a: [f64; 3]) -> Self {
        Self {
            b: b.map(|x| x / a[0]),
            a: [a[1] / a[0], a[2] / a[0]],
        }
    }

    /// Passes what lies below `hertz`; `q` of 0.7071 is Butterworth's.
    pub fn low_pass(sample_rate: u32, hertz: f64, q: f64) -> Result<Self> {
        let Prototype { cos, alpha } = Prototype::new(sample_rate, hertz, q)?;
        let half = (1.0 - cos) / 2.0;
        let a = [1.0 + alpha, -2.0 * cos, 1.0 - alpha];
        Ok(Self::normalised([half, 2.0 * half, half], a))
    }

    /// Passes what lies above `hertz`.
    pub fn high_pass(sample_rate: u32, hertz: f64, q: f64) -> Result<Self> {
        let Prototype { cos, alpha } = Prototype::new(sample_rate, hertz, q)?;
        let half = f64::midpoint(1.0, cos);
        let a = [1.0 + alpha, -2.0 * cos, 1.0 - alpha];
        Ok(Self::normalised([half, -2.0 * half, half], a))
    }

    /// Passes a band around `hertz`, its peak at 0 dB.
    pub fn band_pass(sample_rate: u32, hertz: f64, q: f64) -> Result<Self> {
        let Prototype { cos, alpha } = Prototype::new(sample_rate, hertz, q)?;
        let a = [1.0 + alpha, -2.0 * cos, 1.0 - alpha];
        Ok(Self::normalised([alpha, 0.0, -alpha], a))
    }

    /// Removes `hertz`.
    pub fn notch(sample_rate: u32, hertz: f64, q: f64) -> Result<Self> {
        let Prototype { cos, alpha } = Prototype::new(sample_rate, hertz, q)?;
        let a = [1.0 + alpha, -2.0 * cos, 1.0 - alpha];
        Ok(Self::normalised([1.0, -2.0 * cos, 1.0], a))
    }

    /// Turns phases around `hertz` and leaves levels alone.
    pub fn all_pass(sample_rate: u32, hertz: f64, q: f64) -> Result<Self> {
        let Prototype { cos, alpha } = Prototype::new(sample_rate, hertz, q)?;
        let a = [1.0 + alpha, -2.0 * cos, 1.0 - alpha];
        Ok(Self::normalised([a[2], a[1], a[0]], a))
    }

    /// Raises or lowers a band around `hertz` by `gain_db`.
    pub fn peaking(sample_rate: u32, hertz: f64, q: f64, gain_db: f64) -> Result<Self> {
        let Prototype { cos, alpha } = Prototype::new(sample_rate, hertz, q)?;
        let gain = 10f64.powf(gain_db / 40.0);
        Ok(Self::normalised(
            [1.0 + alpha * gain, -2.0 * cos, 1.0 - alpha * gain],
            [1.0 + alpha / gain, -2.0 * cos, 1.0 - alpha / gain],
        ))
    }

    /// Raises or lowers what lies below `hertz` by `gain_db`.
    pub fn low_shelf(sample_rate: u32, hertz: f64, q: f64, gain_db: f64) -> Result<Self> {
        let Prototype { cos, alpha } = Prototype::new(sample_rate, hertz, q)?;
        Ok(Self::shelf(cos, alpha, gain_db, 1.0))
    }

    /// Raises or lowers what lies above `hertz` by `gain_db`.
    pub fn high_shelf(sample_rate: u32, hertz: f64, q: f64, gain_db: f64) -> Result<Self> {
        let Prototype { cos, alpha } = Prototype::new(sample_rate, hertz, q)?;
        Ok(Self::shelf(cos, alpha, gain_db, -1.0))
    }

    /// The two shelves are mirror images: the sign of the cosine and of the odd terms changes.
    fn shelf(cos: f64, alpha: f64, gain_db: f64, side: f64) -> Self {
        let gain = 10f64.powf(gain_db / 40.0);
        let root = 2.0 * gain.sqrt() * alpha;
        let (up, down, cos) = (gain + 1.0, gain - 1.0, side * cos);
        Self::normalised(
            [
                gain * (up - down * cos + root),
                side * 2.0 * gain * (down - up * cos),
                gain * (up - down * cos - root),
            ],
            [
                up + down * cos + root,
                side * -2.0 * (down + up * cos),
                up + down * cos - root,
            ],
        )
    }

    /// The next sample; what waits for the one before is two fused steps, and they are the same on a
    /// machine that has to do without the instruction.
    #[inline(always)]
    fn step(&self, x: f64, state: &mut [f64; 2]) -> f64 {
        let out = self.b[0].mul_add(x, state[0]);
        state[0] = (-self.a[0]).mul_add(out, self.b[1].mul_add(x, state[1]));
        state[1] = (-self.a[1]).mul_add(out, self.b[2] * x);
        out
    }

    /// How much the section raises a tone of `hertz`, as a factor.
    pub fn response(&self, sample_rate: u32, hertz: f64) -> f64 {
        let omega = TAU * hertz / f64::from(sample_rate);
        let at = |c: [f64; 3]| {
            let re = c[0] + c[1] * omega.cos() + c[2] * (2.0 * omega).cos();
            let im = c[1] * omega.sin() + c[2] * (2.0 * omega).sin();
            re.hypot(im)
        };
        at(self.b) / at([1.0, self.a[0], self.a[1]])
    }
}

/// Sections in a row, with their state: chunks of a signal give the same bits as the whole.
#[derive(Clone, Debug, PartialEq)]
pub struct Cascade {
    sections: Vec<Biquad>,
    states: Vec<[f64; 2]>,
}

impl Cascade {
    /// A filter of `sections`, in their order, at rest.
    pub fn new(sections: Vec<Biquad>) -> Self {
        let states = vec![[0.0; 2]; sections.len()];
        Self { sections, states }
    }

    /// Filters one sample.
    #[inline]
    pub fn sample(&mut self, x: f64) -> f64 {
        let mut value = x;
        for (section, state) in self.sections.iter().zip(&mut self.states) {
            value = section.step(value, state);
        }
        value
    }

    /// Filters the next samples in place.
    pub fn process(&mut self, signal: &mut [f32]) {
        with_widest(Filtering {
            cascade: self,
            signal,
        });
    }

    /// Forgets everything that was filtered.
    pub fn reset(&mut self) {
        self.states.fill([0.0; 2]);
    }
}

/// Samples that go through a section after the other together.
const TOGETHER: usize = 512;

/// The next samples on their way through a cascade.
struct Filtering<'a> {
    cascade: &'a mut Cascade,
    signal: &'a mut [f32],
}

impl Task for Filtering<'_> {
    #[inline(always)]
    fn run(self) {
        let mut values = [0.0f64; TOGETHER];
        for signal in self.signal.chunks_mut(TOGETHER) {
            let values = &mut values[..signal.len()];
            for (value, x) in values.iter_mut().zip(&*signal) {
                *value = f64::from(*x);
            }
            for (section, kept) in self.cascade.sections.iter().zip(&mut self.cascade.states) {
                let mut state = *kept;
                for value in &mut *values {
                    *value = section.step(*value, &mut state);
                }
                *kept = state;
            }
            for (x, value) in signal.iter_mut().zip(values) {
                *x = *value as f32;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn designs_have_the_gains_that_their_names_promise() {
        let rate = 48_000;
        let db = |biquad: Biquad, hertz: f64| 20.0 * biquad.response(rate, hertz).log10();
        let butterworth = std::f64::consts::FRAC_1_SQRT_2;
        let low = Biquad::low_pass(rate, 1000.0, butterworth).unwrap();
        assert!(db(low, 1.0).abs() < 1e-4 && (db(low, 1000.0) + 3.0103).abs() < 1e-3);
        let high = Biquad::high_pass(rate, 1000.0, butterworth).unwrap();
        assert!(db(high, 20_000.0).abs() < 0.01 && (db(high, 1000.0) + 3.0103).abs() < 1e-3);
        // Two octaves away a second-order slope has fallen by 24 dB.
        assert!((db(high, 250.0) + 24.1).abs() < 0.1);
        let band = Biquad::band_pass(rate, 2000.0, 3.0).unwrap();
        assert!(db(band, 2000.0).abs() < 1e-9 && db(band, 200.0) < -25.0);
        assert!(db(Biquad::notch(rate, 50.0, 5.0).unwrap(), 50.0) < -200.0);
        let all = Biquad::all_pass(rate, 700.0, 1.0).unwrap();
        assert!(db(all, 100.0).abs() < 1e-9 && db(all, 9000.0).abs() < 1e-9);
        let peak = Biquad::peaking(rate, 3000.0, 2.0, -7.0).unwrap();
        assert!((db(peak, 3000.0) + 7.0).abs() < 1e-9 && db(peak, 30.0).abs() < 0.01);
        let shelf = Biquad::low_shelf(rate, 200.0, butterworth, 5.0).unwrap();
        assert!((db(shelf, 1.0) - 5.0).abs() < 0.01 && db(shelf, 10_000.0).abs() < 0.01);
        let shelf = Biquad::high_shelf(rate, 5000.0, butterworth, -4.0).unwrap();
        assert!((db(shelf, 23_900.0) + 4.0).abs() < 0.05 && db(shelf, 10.0).abs() < 0.01);
        assert!(Biquad::low_pass(rate, 24_000.0, 1.0).is_err());
        assert!(Biquad::low_pass(rate, 100.0, 0.0).is_err());
    }

    #[test]
    fn a_tone_leaves_with_the_level_of_the_response_and_chunks_do_not_matter() {
        let rate = 16_000;
        let section = Biquad::peaking(rate, 1000.0, 1.5, 6.0).unwrap();
        let signal: Vec<f32> = (0..16_000)
            .map(|n| (TAU * 1200.0 * f64::from(n) / 16_000.0).sin() as f32)
            .collect();
        let mut whole = signal.clone();
        Cascade::new(vec![section; 2]).process(&mut whole);
        let original = signal.clone();
        let mut chunked = signal;
        let mut cascade = Cascade::new(vec![section; 2]);
        for chunk in chunked.chunks_mut(77) {
            cascade.process(chunk);
        }
        assert_eq!(whole, chunked);
        let mut one_by_one = Cascade::new(vec![section; 2]);
        let alone = original
            .iter()
            .map(|x| one_by_one.sample(f64::from(*x)) as f32);
        assert!(alone.eq(whole.iter().copied()));
        // 8000 samples are whole periods: the mean square of a sine is half its peak's square.
        let squares: f64 = whole[8000..].iter().map(|x| f64::from(*x).powi(2)).sum();
        let peak = (squares / 4000.0).sqrt();
        let expected = section.response(rate, 1200.0).powi(2);
        assert!((peak / expected - 1.0).abs() < 1e-5, "{peak} {expected}");
    }
}
