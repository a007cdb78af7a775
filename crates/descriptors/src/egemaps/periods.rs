//! How much neighbouring periods of a voice differ in length and in strength: from where the last frame ended, one
//! period after the other is found where the sound is most like the period before.

use std::ops::Range;

use warpsmith_signal::Kept;

use super::RATE;
use super::spectral::HOP;
use super::voiced::FRAME;

/// How far a period may be from that of the pitch, as a share.
const SLACK: f64 = 0.1;
/// Periods less alike than this do not count.
const LEAST_LIKENESS: f64 = 0.5;
/// Periods that are looked at at least.
const LEAST_PERIODS: usize = 2;

/// A search that goes from frame to frame.
#[derive(Default)]
pub(super) struct Periods {
    /// Where the next period begins, and how many samples before the end of its frame's hop that is.
    at: usize,
    behind: usize,
    /// The last period that counted, seconds, since the voice began.
    last: Option<f64>,
    jitter: f64,
    shimmer: f64,
}

/// What the periods of a frame add up to.
#[derive(Default)]
struct Sums {
    periods: f64,
    period: f64,
    pairs: f64,
    change: f64,
    strength: f64,
    strength_change: f64,
}

impl Periods {
    /// The first sample that later frames look at.
    pub(super) fn needs(&self) -> usize {
        self.at
    }

    /// Jitter, and shimmer in dB, of frame `frame`, whose samples are there; zeros where it has no pitch.
    pub(super) fn of(&mut self, signal: &Kept<f32>, frame: usize, hertz: f64) -> [f64; 2] {
        let start = frame * HOP;
        let hop = HOP + self.behind;
        if hertz <= 0.0 {
            *self = Self {
                at: if start == self.at + self.behind {
                    self.at + hop
                } else {
                    start + hop
                },
                ..Self::default()
            };
            return [0.0; 2];
        }
        let expected = Expected::of(hertz);
        let mut wanted = hop
            .max(LEAST_PERIODS * expected.range.end + LEAST_PERIODS)
            .min(FRAME + self.behind);
        if start != self.at + self.behind {
            self.at = start;
            wanted = wanted.min(FRAME);
        }
        let samples = signal.slice(self.at..self.at + wanted);
        let (sums, end) = self.walk(samples, &expected, hop);
        self.behind = hop - end;
        self.at += end;
        if sums.pairs > 0.0 {
            self.jitter = (sums.change / sums.pairs / (sums.period / sums.periods)).min(1.0);
        }
        if sums.periods > 0.0 {
            let change = sums.strength_change / sums.strength;
            self.shimmer = if sums.strength > 0.0 {
                change.min(1.0)
            } else {
                0.0
            };
        }
        let jitter = if sums.pairs > 0.0 || sums.periods == 0.0 {
            self.jitter
        } else {
            0.0
        };
        [jitter, 20.0 * (self.shimmer + 1.0).log10()]
    }

    /// Goes from period to period; says what they add up to, and where the last one inside the hop ends.
    fn walk(&mut self, samples: &[f32], expected: &Expected, hop: usize) -> (Sums, usize) {
        let (mut sums, mut at, mut end) = (Sums::default(), 0, 0);
        while at + 2 * expected.range.end + 1 < samples.len() {
            match expected.find(&samples[at..]) {
                None => at += expected.length,
                Some((length, between, likeness)) => {
                    let [here, next] =
                        [at, at + length].map(|from| swing(&samples[from..from + length]));
                    if likeness > LEAST_LIKENESS {
                        let period = between / f64::from(RATE);
                        sums.period += period;
                        sums.periods += 1.0;
                        if let Some(last) = self.last.replace(period) {
                            sums.change += (last - period).abs();
                            sums.pairs += 1.0;
                        }
                        sums.strength += f64::midpoint(here, next);
                        sums.strength_change += (here - next).abs();
                    }
                    at += length;
                }
            }
            if at + 1 < hop {
                end = at;
            }
        }
        (sums, end)
    }
}

/// The lengths that a period may have, samples.
struct Expected {
    length: usize,
    /// The end is the longest.
    range: Range<usize>,
}

impl Expected {
    fn of(hertz: f64) -> Self {
        let length = f64::from(RATE) / hertz;
        Self {
            length: length.round() as usize,
            range: ((1.0 - SLACK) * length).floor() as usize
                ..((1.0 + SLACK) * length).ceil() as usize,
        }
    }

    /// The length at which the first samples are most like those after them, the same between samples, and how much
    /// alike they are.
    fn find(&self, samples: &[f32]) -> Option<(usize, f64, f64)> {
        let alike: Vec<f64> = (self.range.start..=self.range.end)
            .map(|length| likeness(&samples[..length], &samples[length..2 * length]))
            .collect();
        let mut best: Option<usize> = None;
        for n in 1..(alike.len() - 1).saturating_sub(1) {
            let is_top = alike[n - 1] < alike[n] && alike[n] > alike[n + 1];
            if is_top && best.is_none_or(|best| alike[n] > alike[best]) {
                best = Some(n);
            }
        }
        let n = best?;
        let [before, here, after] = [alike[n - 1], alike[n], alike[n + 1]];
        let (slope, bend) = (0.5 * (after - before), 2.0 * here - before - after);
        let length = self.range.start + n;
        Some((
            length,
            length as f64 + slope / bend,
            here + 0.5 * slope * slope / bend,
        ))
    }
}

/// The correlation of two stretches of one length.
fn likeness(a: &[f32], b: &[f32]) -> f64 {
    let mean = |x: &[f32]| x.iter().map(|x| f64::from(*x)).sum::<f64>() / x.len() as f64;
    let (mean_a, mean_b) = (mean(a), mean(b));
    let (mut both, mut of_a, mut of_b) = (0.0, 0.0, 0.0);
    for (a, b) in a.iter().zip(b) {
        let (a, b) = (f64::from(*a) - mean_a, f64::from(*b) - mean_b);
        both += a * b;
        of_a += a * a;
        of_b += b * b;
    }
    both / (of_a.sqrt() * of_b.sqrt())
}

/// From the lowest to the highest sample, without the first and the last.
fn swing(samples: &[f32]) -> f64 {
    let inside = samples.get(1..samples.len().saturating_sub(1));
    let inside = inside.unwrap_or_default().iter().copied();
    let (low, high) = inside.fold((f32::INFINITY, f32::NEG_INFINITY), |(low, high), x| {
        (low.min(x), high.max(x))
    });
    f64::from((high - low).max(0.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(period: impl Fn(usize) -> usize, strength: impl Fn(usize) -> f32) -> Vec<[f64; 2]> {
        let mut signal = Vec::new();
        for n in 0..200 {
            let length = period(n);
            let ring = |k: usize| (-(k as f32) / 20.0).exp() * (k as f32 * 0.4).sin();
            signal.extend((0..length).map(|k| strength(n) * ring(k)));
        }
        let mut kept = Kept::default();
        kept.push(&signal);
        let mut periods = Periods::default();
        (0..(signal.len() - FRAME) / HOP)
            .map(|frame| periods.of(&kept, frame, 16_000.0 / 100.5))
            .collect()
    }

    #[test]
    fn periods_in_turn_longer_and_stronger_are_measured() {
        let steady = of(|_| 100, |_| 1.0);
        assert!(steady[10..].iter().all(|[j, s]| *j < 1e-6 && *s < 1e-6));
        // Neighbours differ by 1 of 100.5 samples, and by 0.1 of 1.05.
        let uneven = of(|n| 100 + n % 2, |n| if n % 2 == 0 { 1.0 } else { 1.1 });
        for [jitter, shimmer] in &uneven[10..] {
            assert!((jitter - 0.01).abs() < 0.002, "{jitter}");
            assert!((shimmer - 0.79).abs() < 0.05, "{shimmer}");
        }
    }

    #[test]
    fn frames_without_a_pitch_have_none_and_the_next_voice_starts_from_zero() {
        let mut kept = Kept::default();
        kept.push(&[0.1; 4000]);
        let mut periods = Periods::default();
        for frame in 0..10 {
            let hertz = if frame % 3 == 0 { 0.0 } else { 200.0 };
            let found = periods.of(&kept, frame, hertz);
            assert!(found.iter().all(|value| *value == 0.0), "{found:?}");
            assert!(periods.needs() >= frame * HOP);
        }
    }
}
