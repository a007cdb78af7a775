//! The last stage of a stream: peaks are kept below the ceiling, between the samples too, and
//! everything else is left exactly as it is.
//!
//! A quantum waits until the two after it are known. The gain runs in straight lines from border to
//! border of the quanta; at each border it is at most what the quanta on both sides need, so that
//! no peak passes, however it lies. Downwards it takes a quantum, upwards a fifth of a second.
//!
//! Invariant: where nothing near reaches the ceiling the gain is 1 and samples pass bit by bit.

use super::{Lane, QUANTUM};
use warpsmith_lanes::Task;

/// Highest true peak, −1.3 dBTP: four points to a sample read up to 0.2 dB too little, and the
/// promise is −1.
pub(crate) const CEILING: f32 = 0.861;
/// Quanta between what comes in and what goes out.
pub(crate) const DELAY_QUANTA: usize = 2;
/// Taps of each of the interpolator's phases, and how far a phase reaches back and ahead.
const TAPS: usize = 12;
const REACH: usize = TAPS / 2;
/// Points between two samples.
const PHASES: usize = 3;
/// Seconds in which two thirds of a reduction are given back.
const RELEASE_SECONDS: f64 = 0.2;
/// From here on the gain is 1.
const NEARLY_ONE: f32 = 0.9999;

/// Two channels of a quantum.
type Frames = [Lane; 2];

/// Holds both channels under the ceiling with one gain, so that the middle stays in the middle.
#[derive(Clone, Debug)]
pub(crate) struct Limiter {
    /// The two quanta before the one that comes in.
    waiting: [Frames; DELAY_QUANTA],
    /// Which of them is the older.
    older: usize,
    /// What the windows that ended with each of them allow.
    allowed: [f32; DELAY_QUANTA],
    /// The gain at the border that the next quantum begins with.
    gain: f32,
    release: f32,
    taps: [[f32; TAPS]; PHASES],
    /// Largest sum of magnitudes of a phase: quieter samples cannot reach the ceiling between them.
    most: f32,
}

/// A windowed sinc a quarter, a half and three quarters of a sample after the middle.
fn interpolator() -> [[f32; TAPS]; PHASES] {
    std::array::from_fn(|phase| {
        let middle = (REACH - 1) as f64 + (phase + 1) as f64 / (PHASES + 1) as f64;
        std::array::from_fn(|tap| {
            let x = tap as f64 - middle;
            let sinc = (std::f64::consts::PI * x).sin() / (std::f64::consts::PI * x);
            let window = (std::f64::consts::FRAC_PI_2 * x / REACH as f64).cos();
            (sinc * window * window) as f32
        })
    })
}

impl Limiter {
    pub(crate) fn new(sample_rate: u32) -> Self {
        let taps = interpolator();
        let sums = taps.map(|phase| phase.iter().map(|tap| tap.abs()).sum::<f32>());
        let quantum_seconds = QUANTUM as f64 / f64::from(sample_rate);
        Self {
            waiting: [[[0.0; QUANTUM]; 2]; DELAY_QUANTA],
            older: 0,
            allowed: [1.0; DELAY_QUANTA],
            gain: 1.0,
            release: (1.0 - (-quantum_seconds / RELEASE_SECONDS).exp()) as f32,
            most: sums.into_iter().fold(1.0, f32::max),
            taps,
        }
    }

    /// What the points up to [`REACH`] samples before the end of `input` allow, from as many before
    /// its beginning on.
    #[inline(always)]
    #[allow(clippy::needless_range_loop)] // as the other loops over whole quanta
    fn allowance(&self, input: &Frames) -> f32 {
        let mut peak = 0.0f32;
        for channel in 0..2 {
            let before = &self.waiting[1 - self.older][channel];
            let last = &before[QUANTUM - TAPS..];
            let highest = largest(&input[channel]).max(largest(last));
            if highest * self.most < CEILING {
                continue;
            }
            peak = peak.max(highest);
            let mut line = [0.0; QUANTUM + TAPS];
            line[..TAPS].copy_from_slice(last);
            line[TAPS..].copy_from_slice(&input[channel]);
            for taps in &self.taps {
                let mut sums = [0.0f32; QUANTUM];
                for (tap, weight) in taps.iter().enumerate() {
                    for j in 0..QUANTUM {
                        sums[j] += weight * line[j + tap + 1];
                    }
                }
                peak = peak.max(largest(&sums));
            }
        }
        if peak > CEILING { CEILING / peak } else { 1.0 }
    }
}

/// The largest magnitude. Magnitudes are in the order of their bits, and integers have a vector
/// maximum.
#[inline(always)]
fn largest(values: &[f32]) -> f32 {
    let mut most = 0;
    for value in values {
        most = most.max(value.to_bits() & 0x7fff_ffff);
    }
    f32::from_bits(most)
}

/// Lets a quantum in and gives the one that came two before it, limited, in its place.
pub(crate) struct LimitPeaks<'a> {
    pub(crate) limiter: &'a mut Limiter,
    pub(crate) lanes: &'a mut Frames,
}

impl Task for LimitPeaks<'_> {
    #[inline(always)]
    fn run(self) {
        let Self { limiter, lanes } = self;
        let newest = limiter.allowance(lanes);
        let [oldest, middle] = limiter.allowed;
        // The points of a window lie in two quanta, so the border concerns three windows.
        let needed = oldest.min(middle).min(newest);
        let risen = limiter.gain + (1.0 - limiter.gain) * limiter.release;
        let risen = if risen > NEARLY_ONE { 1.0 } else { risen };
        let (from, to) = (limiter.gain, needed.min(risen));
        std::mem::swap(&mut limiter.waiting[limiter.older], lanes);
        limiter.older = 1 - limiter.older;
        if (from, to) != (1.0, 1.0) {
            let slope = (to - from) / QUANTUM as f32;
            for channel in lanes {
                for (j, value) in channel.iter_mut().enumerate() {
                    *value *= from + slope * j as f32;
                }
            }
        }
        limiter.gain = to;
        limiter.allowed = [middle, newest];
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn limited(signal: impl Fn(usize) -> f32, quanta: usize) -> Vec<f32> {
        let mut limiter = Limiter::new(48_000);
        let mut out = Vec::new();
        for quantum in 0..quanta + DELAY_QUANTA {
            let lane: Lane = std::array::from_fn(|j| signal(quantum * QUANTUM + j));
            let mut lanes = [lane, lane];
            LimitPeaks {
                limiter: &mut limiter,
                lanes: &mut lanes,
            }
            .run();
            if quantum >= DELAY_QUANTA {
                out.extend_from_slice(&lanes[1]);
            }
        }
        out
    }

    /// The largest magnitude sixteen times between the samples, by a long sinc.
    fn true_peak(signal: &[f32]) -> f64 {
        let at = |x: f64| -> f64 {
            let middle = x.floor() as i64;
            (middle - 31..=middle + 32)
                .filter_map(|n| {
                    let value = f64::from(*signal.get(usize::try_from(n).ok()?)?);
                    let d = std::f64::consts::PI * (x - n as f64);
                    let window = (d / 64.0).cos().powi(2);
                    Some(value * window * if d.abs() < 1e-9 { 1.0 } else { d.sin() / d })
                })
                .sum()
        };
        // At both ends the sinc would see a cut that no listener hears.
        let inside = 16 * 64..16 * (signal.len() - 64);
        inside
            .map(|k| at(k as f64 / 16.0).abs())
            .fold(0.0, f64::max)
    }

    #[test]
    fn what_stays_below_the_ceiling_passes_bit_by_bit() {
        let tone = |n: usize| 0.42 * (0.05 * n as f32).sin() + 0.4 * (0.131 * n as f32).sin();
        let heard = limited(tone, 200);
        assert!((0..heard.len()).all(|n| heard[n].to_bits() == tone(n).to_bits()));
    }

    #[test]
    fn no_true_peak_passes_whatever_comes() {
        let tau = std::f32::consts::TAU;
        let signals: [&dyn Fn(usize) -> f32; 5] = [
            // A quarter of the rate, between its samples 3 dB higher than on them.
            &|n| 1.2 * (tau * (0.25 * n as f32 + 0.125)).sin(),
            // A burst out of silence, across a border.
            &|n| {
                if (1_240..1_300).contains(&n) {
                    3.0 * (0.7 * n as f32).sin()
                } else {
                    0.0
                }
            },
            // One sample alone.
            &|n| if n == 1_279 { 2.0 } else { 0.0 },
            &|n| 0.002 * n as f32 * (0.21 * n as f32).sin(),
            &|n| 1.5 * (0.02 * n as f32).sin() + 0.5 * (2.4 * n as f32).sin(),
        ];
        for (index, signal) in signals.iter().enumerate() {
            let peak = true_peak(&limited(signal, 60));
            let db = 20.0 * peak.log10();
            assert!(db <= -1.0, "signal {index}: {db:.2} dBTP");
        }
    }

    #[test]
    fn the_gain_comes_back_and_is_one_again() {
        let quiet = |n: usize| 0.3 * (0.05 * n as f32).sin();
        let heard = limited(|n| if n < 1_000 { 5.0 * quiet(n) } else { quiet(n) }, 2_000);
        let (early, late) = (2_000, 120_000);
        assert!(heard[early].abs() < 0.9 * quiet(early).abs());
        assert_eq!(heard[late].to_bits(), quiet(late).to_bits());
    }
}
