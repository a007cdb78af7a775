//! Resampling on the CPU: the specification.

use warpsmith_lanes::{Blocks, InstructionSet, Lanes, LanesTask};

use super::polyphase::Polyphase;
use super::windowed_sinc::{Prototype, TAPS, raised_cosine_filters};
use crate::error::{Result, SignalError};

/// How sharp the filter is. All stop at the lower of the two Nyquist frequencies.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Quality {
    /// 24 zero crossings a side: 80 dB, passband to 79 % of the lower Nyquist frequency.
    Fast,
    /// 80 zero crossings a side: 120 dB, passband to 90 %.
    #[default]
    High,
    /// 160 zero crossings a side: 135 dB before rounding, passband to 94 %.
    Highest,
}

impl Quality {
    /// Zero crossings of the sinc on either side, and the Kaiser window's shape.
    fn shape(self) -> (f64, f64) {
        match self {
            Self::Fast => (24.0, 8.0),
            Self::High => (80.0, 12.3),
            Self::Highest => (160.0, 14.0),
        }
    }

    /// Where the sinc is cut off, as a share of the lower of the two Nyquist frequencies: half of the
    /// window's transition below it, so that the stop band begins there.
    fn cutoff(self) -> f64 {
        let (zeros, beta) = self.shape();
        // Kaiser's formulas: shape to attenuation, attenuation and length to transition.
        let attenuation = beta / 0.1102 + 8.7;
        1.0 - (attenuation - 8.0) / (2.285 * 2.0 * std::f64::consts::TAU * zeros)
    }
}

/// The longest table of filters, values; beyond it the rates have no useful common divisor.
const LARGEST_TABLE: usize = 1 << 25;

/// A planned conversion between two rates.
#[derive(Clone, Debug)]
pub struct Resampler {
    up: usize,
    down: usize,
    /// Taps of each filter, a multiple of [`TAPS`].
    taps: usize,
    /// Inputs before the position that the first tap looks at.
    before: usize,
    /// `[phase, tap]`.
    filters: Vec<f32>,
    /// The same filters as the loops of a CPU read them.
    groups: Polyphase,
}

impl Resampler {
    /// Tables for signals at `from_hz` that are wanted at `to_hz`.
    pub fn new(from_hz: u32, to_hz: u32, quality: Quality) -> Result<Self> {
        Self::design(from_hz, to_hz, quality.shape(), quality.cutoff(), 0.0)
    }

    /// Every `factor`th sample, with the filter that libsoxr has for that at its quality HQ: other analyses halve
    /// rates with it, and what lies near the ends of a signal depends on its length. Measured from its impulse
    /// response, for powers of two up to 128; other factors have the filter of [`Quality::High`].
    pub fn decimation(factor: u32) -> Result<Self> {
        const CUTOFF: f64 = 0.956_872;
        let shape = match factor {
            2 => (97.25, 13.04),
            4 => (102.25, 13.7113),
            8 => (105.25, 14.1042),
            16 => (107.25, 14.3833),
            32 => (108.25, 14.5999),
            64 => (110.25, 14.7768),
            128 => (111.25, 14.9264),
            _ => return Self::new(factor, 1, Quality::High),
        };
        Self::design(factor, 1, shape, CUTOFF, 0.0)
    }

    /// Nearly all of the band up to the lower Nyquist frequency, at the price of what aliases within
    /// 1 % of it: for analyses that a missing upper edge would mislead. Sample `m` of the result
    /// lies at `(m + ½)/to_hz`, as sample `n` of the signal lies at `(n + ½)/from_hz`.
    pub fn full_band(from_hz: u32, to_hz: u32) -> Result<Self> {
        let shift = (f64::from(from_hz) / f64::from(to_hz.max(1)) - 1.0) / 2.0;
        let zeros = if to_hz > from_hz { 51.0 } else { 276.0 };
        let mut resampler = Self::design(from_hz, to_hz, (zeros, 3.0), 1.0, shift)?;
        if to_hz > from_hz {
            // Above the signal's band nothing is to be kept, and the images that are left are Praat's: an
            // analysis of the whole range sees them.
            let Self {
                up, taps, before, ..
            } = resampler;
            let filters = raised_cosine_filters(up, taps, before, shift);
            resampler.groups = Polyphase::new(up, resampler.down, &filters);
            resampler.filters = filters;
        }
        Ok(resampler)
    }

    /// A sinc of so many zero crossings a side under a Kaiser window, cut off at a share of the lower
    /// Nyquist frequency; outputs lie `shift` inputs later.
    fn design(
        from_hz: u32,
        to_hz: u32,
        (zeros, beta): (f64, f64),
        cutoff: f64,
        shift: f64,
    ) -> Result<Self> {
        if from_hz == 0 || to_hz == 0 {
            return Err(SignalError::parameter(
                "sample rate",
                format!("{from_hz} to {to_hz} Hz"),
                "both rates must be above 0",
            ));
        }
        let divisor = greatest_common_divisor(from_hz, to_hz);
        let (up, down) = ((to_hz / divisor) as usize, (from_hz / divisor) as usize);
        // Below the lower rate's Nyquist frequency, in units of the input's.
        let band = (to_hz as f64 / from_hz as f64).min(1.0);
        let cutoff = band * cutoff;
        let half = zeros / band;
        let before = (half + shift.abs()).ceil() as usize;
        let taps = (2 * before + 2).next_multiple_of(TAPS);
        let size = up.checked_mul(taps).filter(|size| *size <= LARGEST_TABLE);
        if size.is_none() {
            return Err(SignalError::parameter(
                "sample rate",
                format!("{from_hz} to {to_hz} Hz"),
                "the rates have too small a common divisor; go by way of a rate near one of them",
            ));
        }
        let filters = Prototype::new(taps, before, half, cutoff, beta).filters(up, shift);
        Ok(Self {
            up,
            down,
            taps,
            before,
            groups: Polyphase::new(up, down, &filters),
            filters,
        })
    }

    /// The filters and how outputs follow inputs: outputs and inputs of a period, taps of a filter, taps
    /// before an output's place, and the filters, `[phase, tap]`.
    #[inline]
    pub fn polyphase(&self) -> (usize, usize, usize, usize, &[f32]) {
        (self.up, self.down, self.taps, self.before, &self.filters)
    }

    /// Taps before an output's place.
    pub(super) fn before(&self) -> usize {
        self.before
    }

    /// Whether both rates are the same.
    pub(super) fn is_identity(&self) -> bool {
        self.up == self.down
    }

    /// Samples of the result of `samples` samples: as long, in seconds, rounded up.
    #[inline]
    pub fn output_length(&self, samples: usize) -> usize {
        (samples * self.up).div_ceil(self.down)
    }

    /// The signal at the other rate, silence beyond its ends.
    pub fn process(&self, signal: &[f32]) -> Vec<f32> {
        if self.is_identity() {
            return signal.to_vec();
        }
        let mut out = vec![0.0; self.output_length(signal.len())];
        let task = Filtering {
            resampler: self,
            signal,
            start: -(self.before as i64),
            out: &mut out,
        };
        InstructionSet::widest().with_lanes(Blocks::Wide, task);
        out
    }
}

/// Outputs, the first of which begins to look at the input at `start`.
pub(super) struct Filtering<'a> {
    pub(super) resampler: &'a Resampler,
    pub(super) signal: &'a [f32],
    pub(super) start: i64,
    pub(super) out: &'a mut [f32],
}

impl LanesTask for Filtering<'_> {
    type Output = ();

    fn run<V: Lanes>(self) {
        let groups = &self.resampler.groups;
        groups.run::<V>(self.signal, self.start, self.out);
    }
}

fn greatest_common_divisor(mut a: u32, mut b: u32) -> u32 {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::f64::consts::TAU;

    fn tone(rate: u32, hertz: f64, seconds: f64) -> Vec<f32> {
        let count = (f64::from(rate) * seconds) as usize;
        (0..count)
            .map(|n| (TAU * hertz * n as f64 / f64::from(rate)).sin() as f32)
            .collect()
    }

    /// Largest distance from the same tone at the new rate, away from the ends.
    fn error(from: u32, to: u32, hertz: f64, quality: Quality) -> f64 {
        let out = Resampler::new(from, to, quality)
            .unwrap()
            .process(&tone(from, hertz, 0.4));
        let wanted = tone(to, hertz, 0.4);
        let edge = out.len() / 5;
        (edge..out.len() - edge)
            .map(|n| f64::from(out[n] - wanted[n]).abs())
            .fold(0.0, f64::max)
    }

    #[test]
    fn decimation_keeps_what_the_lower_rate_holds_and_nothing_else() {
        for factor in [2, 4, 16, 128, 3] {
            let resampler = Resampler::decimation(factor).unwrap();
            let rate = 1000 * factor;
            for (hertz, kept) in [(200.0, true), (440.0, true), (510.0, false), (740.0, false)] {
                let out = resampler.process(&tone(rate, hertz, 2.0));
                let wanted = tone(1000, hertz, 2.0);
                let error = (500..1500).map(|n| {
                    let wanted = if kept { wanted[n] } else { 0.0 };
                    f64::from(out[n] - wanted).abs()
                });
                let worst = error.fold(0.0, f64::max);
                // Sums of up to 28,000 products in single precision.
                assert!(worst < 1e-5, "{factor}: {hertz} Hz: {worst}");
            }
        }
    }

    #[test]
    fn tones_in_the_passband_are_those_of_the_new_rate() {
        for (from, to) in [
            (44_100, 16_000),
            (16_000, 44_100),
            (48_000, 44_100),
            (8_000, 48_000),
            (22_050, 16_000),
            (11_025, 16_000),
        ] {
            let nyquist = f64::from(from.min(to)) / 2.0;
            for share in [0.01, 0.3, 0.7, 0.88] {
                // 0.01 dB is 1.2e-3; f32 coefficients and sums leave some 1e-6.
                let error = error(from, to, share * nyquist, Quality::High);
                assert!(error < 2e-5, "{from} to {to}, {share}: {error}");
            }
            assert!(error(from, to, 0.5 * nyquist, Quality::Fast) < 2e-4);
            assert!(error(from, to, 0.93 * nyquist, Quality::Highest) < 2e-5);
        }
    }

    #[test]
    fn what_the_new_rate_cannot_hold_disappears() {
        // A stop band of 120 dB is 1e-6 of the tone; f32 sums of 450 products round to as much.
        for hertz in [8_100.0, 9_000.0, 12_345.0, 20_000.0] {
            let out = Resampler::new(44_100, 16_000, Quality::High)
                .unwrap()
                .process(&tone(44_100, hertz, 0.3));
            let loudest = out[1000..out.len() - 1000]
                .iter()
                .fold(0.0f32, |peak, x| peak.max(x.abs()));
            assert!(loudest < 2e-6, "{hertz}: {loudest}");
        }
    }

    #[test]
    fn lengths_constants_and_bad_rates() {
        let resampler = Resampler::new(44_100, 16_000, Quality::High).unwrap();
        assert_eq!(resampler.output_length(44_100), 16_000);
        let out = resampler.process(&[0.5; 4410]);
        assert_eq!(out.len(), 1600);
        assert!(out[200..1400].iter().all(|x| (x - 0.5).abs() < 1e-6));
        assert!(resampler.process(&[]).is_empty());
        let same = Resampler::new(8000, 8000, Quality::Fast).unwrap();
        assert_eq!(same.process(&[1.0, -2.0]), [1.0, -2.0]);
        assert!(Resampler::new(0, 8000, Quality::Fast).is_err());
        assert!(Resampler::new(3_999_999_979, 2_999_999_929, Quality::High).is_err());
    }
}
