//! What SWIPE' compares with what: candidates of pitch, channels of loudness, the kernel between each two,
//! and the windows that hear each candidate best (Camacho 2007).
//!
//! The numbers are those of SPTK's `swipe`, its steps as it rounds them, so that tracks are its tracks.

use std::f64::consts::TAU;
use std::ops::Range;

use warpsmith_signal::{Result, SignalError};

use crate::pitch::range::PitchRange;

/// Octaves between candidates: 1/96, as SPTK writes it.
const STEP: f64 = 0.0104167;
/// Octaves between the frequencies that are tried around the best candidate: 1/768, as SPTK writes it.
const FINE_STEP: f64 = 0.0013028;
/// How many of them there are, from the candidate below to the one above.
const FINE_STEPS: usize = 17;
/// Channels to an equivalent rectangular bandwidth.
const CHANNELS_PER_ERB: f64 = 10.0;
/// The slope that SPTK's splines have at their ends, per Hz.
const END_SLOPE: f64 = 2.0;

/// Everything that does not depend on the signal.
pub(crate) struct SwipePlan {
    pub(crate) sample_rate: u32,
    pub(crate) hop: usize,
    /// Frequencies of the candidates, Hz.
    pub(crate) candidates: Vec<f64>,
    /// Frequencies of the channels, Hz.
    channels: Vec<f64>,
    /// The longest first; each is half as long as the one before.
    pub(crate) windows: Vec<SwipeWindow>,
}

/// A window and what it is good for.
pub(crate) struct SwipeWindow {
    /// Samples under the window; windows follow each other by half of that.
    pub(crate) length: usize,
    /// The candidates that it hears.
    pub(crate) candidates: Range<usize>,
    /// How much it counts for each of them.
    pub(crate) weights: Vec<f32>,
    /// Where each channel lies between the bins.
    pub(crate) taps: Vec<Tap>,
    /// The slope of the spline at its ends, per bin.
    pub(crate) end_slope: f32,
}

/// A channel between bin `below` and the next: `share[0]` and `share[1]` of their magnitudes, and `bend` times
/// the product of their curvatures.
///
/// A cubic spline would add the curvatures, each with a factor of its own. SPTK multiplies them, and what users
/// know as its `swipe` is this.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Tap {
    pub(crate) below: u32,
    pub(crate) share: [f32; 2],
    pub(crate) bend: f32,
}

fn erbs(hertz: f64) -> f64 {
    21.4 * (1.0 + hertz / 229.0).log10()
}

fn hertz(erbs: f64) -> f64 {
    (10f64.powf(erbs / 21.4) - 1.0) * 229.0
}

impl SwipePlan {
    pub(crate) fn new(sample_rate: u32, hop: usize, range: PitchRange) -> Result<Self> {
        let rate = f64::from(sample_rate);
        let PitchRange { low_hz, high_hz } = range;
        if !(low_hz >= 1.0 && low_hz < high_hz && high_hz <= rate / 2.0) {
            return Err(SignalError::parameter(
                "pitch range",
                format!("{low_hz} to {high_hz} Hz"),
                format!(
                    "1 ≤ low < high ≤ {} Hz, half the sample rate, must hold",
                    rate / 2.0
                ),
            ));
        }
        range.check(sample_rate)?;
        if hop == 0 {
            return Err(SignalError::parameter("hop", 0, "frames must move"));
        }
        let octaves = high_hz.log2() - low_hz.log2();
        let candidates: Vec<f64> = (0..(octaves / STEP).ceil() as usize)
            .map(|n| (low_hz.log2() + n as f64 * STEP).exp2())
            .collect();
        let lowest = erbs(low_hz / 4.0);
        let channels: Vec<f64> = (0..((erbs(rate / 2.0) - lowest) * CHANNELS_PER_ERB).ceil()
            as usize)
            .map(|n| hertz(lowest + n as f64 / CHANNELS_PER_ERB))
            .collect();
        // Eight periods of the lowest frequency, to the nearest power of two.
        let longest = (8.0 * rate / low_hz).log2().round() as u32;
        let count = (octaves.round() as u32 + 1).max(2);
        let windows = (0..count)
            .map(|n| {
                let length = 1usize << (longest - n);
                // Octaves from the frequency of which the longest window holds sixteen half periods.
                let place =
                    |hz: &f64| 1.0 + (hz * f64::from(1u32 << longest) / (8.0 * rate)).log2();
                let places: Vec<f64> = candidates.iter().map(place).collect();
                let best = f64::from(n + 1);
                let start = if n == 0 {
                    0
                } else {
                    first_above(&places, best - 1.0)
                };
                let end = if n + 1 == count {
                    places.len()
                } else {
                    first_above(&places, best + 1.0)
                };
                let heard = start..end.max(start);
                SwipeWindow {
                    length,
                    weights: places[heard.clone()]
                        .iter()
                        .map(|place| (1.0 - (place - best).abs()) as f32)
                        .collect(),
                    candidates: heard,
                    taps: taps(&channels, length, rate),
                    end_slope: (END_SLOPE * rate / length as f64) as f32,
                }
            })
            .collect();
        Ok(Self {
            sample_rate,
            hop,
            candidates,
            channels,
            windows,
        })
    }

    /// Number of channels.
    pub(crate) fn channels(&self) -> usize {
        self.channels.len()
    }

    /// When a frame is.
    pub(crate) fn seconds(&self, frame: usize) -> f64 {
        (frame * self.hop) as f64 / f64::from(self.sample_rate)
    }

    /// Frames of a signal of `samples` samples.
    pub(crate) fn frames(&self, samples: usize) -> usize {
        samples.div_ceil(self.hop)
    }

    /// What a candidate looks for in each channel: a cosine around its prime harmonics, half as deep between
    /// them, under an envelope of 1/√f, so scaled that what is positive has length one.
    pub(crate) fn kernel(&self, candidate: usize) -> Vec<f32> {
        let (first, last) = (self.candidates[0], self.channels[self.channels.len() - 1]);
        let harmonics = ((last / first - 0.75).floor() as usize).max(1);
        let pitch = self.candidates[candidate];
        let lobe = |harmonic: usize, ratio: f64| {
            let distance = (ratio - harmonic as f64).abs();
            if !(1..=harmonics).contains(&harmonic)
                || !is_prime_or_one(harmonic)
                || distance >= 0.75
            {
                0.0
            } else if distance < 0.25 {
                (TAU * ratio).cos()
            } else {
                0.5 * (TAU * ratio).cos()
            }
        };
        let values: Vec<f64> = self
            .channels
            .iter()
            .map(|hertz| {
                let ratio = hertz / pitch;
                let below = ratio.floor() as usize;
                (lobe(below, ratio) + lobe(below + 1, ratio)) / hertz.sqrt()
            })
            .collect();
        let positive = values.iter().map(|value| value.max(0.0).powi(2));
        let norm = positive.sum::<f64>().sqrt();
        values.iter().map(|value| (value / norm) as f32).collect()
    }

    /// The frequency at the top of a parabola through the strengths of three neighbours, of which the one in
    /// the middle is `candidate`.
    pub(crate) fn refined(&self, candidate: usize, strengths: [f32; 3]) -> f64 {
        let [before, here, after] = strengths.map(f64::from);
        let [left, right] = [period(STEP), period(-STEP)];
        let (rise, fall) = ((before - here) / left, (after - here) / right);
        let bend = (rise - fall) / (left - right);
        let slope = rise - bend * left;
        let height = |n: usize| {
            let x = period(STEP - n as f64 * FINE_STEP);
            x * (slope + bend * x)
        };
        let higher = |best: usize, n: usize| if height(n) > height(best) { n } else { best };
        let top = (0..FINE_STEPS).reduce(higher).unwrap_or(0);
        self.candidates[candidate - 1] * (top as f64 * FINE_STEP).exp2()
    }

    /// The numbers of [`SwipePlan::refined`] for a kernel: the outer places, those tried, and what they mean
    /// as factors of the candidate below.
    pub(crate) fn parabola() -> Vec<f64> {
        let fine = |n: usize| n as f64 * FINE_STEP;
        let outer = [period(STEP), period(-STEP)].into_iter();
        let places = (0..FINE_STEPS).map(|n| period(STEP - fine(n)));
        outer
            .chain(places)
            .chain((0..FINE_STEPS).map(|n| fine(n).exp2()))
            .collect()
    }
}

/// Where a pitch so many octaves below another lies on its parabola: a period's change, as an angle.
fn period(octaves: f64) -> f64 {
    (octaves.exp2() - 1.0) * TAU
}

/// The first value above `key`, of ascending ones; SPTK looks from the third on.
fn first_above(values: &[f64], key: f64) -> usize {
    let above = values.partition_point(|value| *value <= key);
    above.max(2).min(values.len())
}

/// Primes, and the fundamental.
fn is_prime_or_one(number: usize) -> bool {
    (2..)
        .take_while(|divisor| divisor * divisor <= number)
        .all(|divisor| !number.is_multiple_of(divisor))
}

/// The channels between the bins of a window; below the second bin the spline goes on, above the last it is level.
fn taps(channels: &[f64], length: usize, rate: f64) -> Vec<Tap> {
    let apart = rate / length as f64;
    channels
        .iter()
        .map(|hertz| {
            let bin = (hertz / apart).min((length / 2 - 1) as f64);
            let below = (bin as usize).clamp(1, length / 2 - 2);
            let over = bin - below as f64;
            let under = 1.0 - over;
            let bend = (under.powi(3) - under) * (over.powi(3) - over) / (6.0 * apart * apart);
            Tap {
                below: below as u32,
                share: [under as f32, over as f32],
                bend: bend as f32,
            }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn plan(rate: u32, low_hz: f64, high_hz: f64) -> SwipePlan {
        SwipePlan::new(rate, rate as usize / 100, PitchRange { low_hz, high_hz }).unwrap()
    }

    proptest! {
        #[test]
        fn kernels_look_for_prime_harmonics_and_have_length_one(
            rate in 8_000u32..192_000,
            low in 40.0f64..200.0,
            octaves in 0.1f64..3.0,
            part in 0.0f64..1.0,
        ) {
            let plan = plan(rate, low, low * octaves.exp2());
            let candidate = (part * plan.candidates.len() as f64) as usize;
            let kernel = plan.kernel(candidate);
            let length: f32 = kernel.iter().map(|value| value.max(0.0).powi(2)).sum();
            prop_assert!((length - 1.0).abs() < 1e-5, "{length}");
            for (value, hertz) in kernel.iter().zip(&plan.channels) {
                let ratio = hertz / plan.candidates[candidate];
                let distance = ratio - ratio.round();
                // Away from where signs change.
                if distance.abs() < 0.2 && ratio.round() < 12.0 {
                    let prime = [1.0, 2.0, 3.0, 5.0, 7.0, 11.0].contains(&ratio.round());
                    prop_assert_eq!(*value > 0.0, prime, "at {} times the pitch", ratio);
                }
                if (0.3..0.45).contains(&distance.abs()) && (0.3..3.45).contains(&ratio) {
                    prop_assert!(*value < 0.0, "between harmonics, at {ratio}");
                }
            }
        }

        #[test]
        fn two_windows_share_a_candidate_between_their_best(
            rate in 8_000u32..192_000,
            low in 40.0f64..200.0,
            octaves in 1.6f64..4.0,
        ) {
            let plan = plan(rate, low, low * octaves.exp2());
            let best = |window: &SwipeWindow| 8.0 * f64::from(rate) / window.length as f64;
            let ends = [&plan.windows[0], &plan.windows[plan.windows.len() - 1]].map(best);
            // SPTK leaves the first two candidates to the first window.
            for (n, hertz) in plan.candidates.iter().enumerate().skip(2) {
                let shares = plan.windows.iter().filter(|window| window.candidates.contains(&n));
                let sum: f32 = shares.map(|window| window.weights[n - window.candidates.start]).sum();
                if (ends[0]..ends[1]).contains(hertz) {
                    prop_assert!((sum - 1.0).abs() < 1e-5, "{hertz} Hz: {sum}");
                } else {
                    prop_assert!(sum > -1e-5 && sum < 1.0, "{hertz} Hz: {sum}");
                }
            }
        }
    }

    #[test]
    fn a_line_goes_through_the_channels_as_a_line() {
        let plan = plan(16_000, 65.0, 800.0);
        for window in &plan.windows {
            let apart = 16_000.0 / window.length as f64;
            for (tap, hertz) in window.taps.iter().zip(&plan.channels) {
                let [under, over] = tap.share.map(f64::from);
                let found = apart * (f64::from(tap.below) + over);
                assert!((under + over - 1.0).abs() < 1e-6);
                let last = 8_000.0 - apart;
                assert!((found - hertz.min(last)).abs() < 1e-2, "{found}, {hertz}");
            }
        }
    }

    #[test]
    fn the_top_of_a_parabola_is_found_to_a_fine_step() {
        let plan = plan(16_000, 65.0, 800.0);
        for offset in [-0.45, -0.2, 0.0, 0.31, 0.5] {
            let strengths = [-1.0, 0.0, 1.0].map(|n: f64| 0.8 - 0.01 * (n - offset).powi(2));
            let found = plan.refined(100, strengths.map(|value| value as f32));
            let octaves = (found / plan.candidates[100]).log2();
            assert!(
                (octaves - offset * STEP).abs() < FINE_STEP,
                "{offset}: {octaves}"
            );
        }
    }

    #[test]
    fn what_has_no_meaning_is_an_error() {
        let of =
            |rate, hop, low_hz, high_hz| SwipePlan::new(rate, hop, PitchRange { low_hz, high_hz });
        assert!(of(16_000, 160, 65.0, 800.0).is_ok());
        assert!(of(16_000, 160, 7_999.0, 8_000.0).is_ok());
        assert!(of(16_000, 0, 65.0, 800.0).is_err());
        assert!(of(1_000, 10, 65.0, 800.0).is_err());
        assert!(of(16_000, 160, 800.0, 65.0).is_err());
        assert!(of(16_000, 160, 0.5, 65.0).is_err());
        assert!(of(16_000, 160, f64::NAN, 65.0).is_err());
    }
}
