//! The moments at which the vocal folds close, one to a period: from a first strong peak a search
//! steps both ways by the period that the pitch track names, to where the sound is most alike.
//!
//! The steps are those that Praat's manual gives for *Sound & Pitch: To PointProcess (cc)*. What the manual
//! leaves open (ends of a search, faint periods) follows from what Praat answers.

use warpsmith_signal::{InMemory, Kept, Recording, Result};
use warpsmith_voice::{PraatLook, PraatTrack};

/// Shortest and longest step, over the period of the track.
const STEPS: (f64, f64) = (0.8, 1.25);
/// Periods around a stretch that its search may look at.
const AROUND: f64 = 4.0;
/// Neighbouring periods that are less alike have no pulse.
const LEAST_LIKENESS: f64 = 0.3;
/// The same for one pulse beyond either end of a voiced stretch.
const LEAST_LIKENESS_BEYOND: f64 = 0.7;
/// Periods whose loudest sample is below this share of the signal's have no pulse.
const FAINTEST: f64 = 0.01;
/// The same beyond the ends of a stretch.
const FAINTEST_BEYOND: f64 = 0.023_333;

/// Times of the pulses in the voiced stretches of `track`, seconds.
pub fn find_pulses(signal: &[f32], sample_rate: u32, track: &PraatTrack) -> Result<Vec<f64>> {
    let recording = InMemory {
        signal,
        sample_rate,
    };
    find_pulses_of(&recording, PraatLook::of(signal), track)
}

/// Times of the pulses of a recording of which a first look said this. A voiced stretch is searched from its middle:
/// the longest one is kept as a whole.
pub fn find_pulses_of(
    recording: &dyn Recording,
    look: PraatLook,
    track: &PraatTrack,
) -> Result<Vec<f64>> {
    let mut voice = Voice {
        kept: Kept::default(),
        samples: look.samples(),
        rate: f64::from(recording.sample_rate()),
        loudest: look.peak().into(),
        track,
    };
    let lowest = track.frequency.iter().filter(|hz| **hz > 0.0);
    let lowest = lowest.copied().fold(f32::INFINITY, f32::min);
    // A step looks less than three periods away, and the last one leaves the stretch.
    let reach = AROUND / f64::from(lowest);
    let mut stretches = voice.stretches().into_iter().peekable();
    let mut pulses = Vec::new();
    // The last pulse that was found going to the right: what goes left from the next stretch ends there.
    let mut last = f64::NEG_INFINITY;
    recording.hear(&mut |piece| {
        voice.kept.push(piece);
        let end = voice.kept.end();
        let complete = |(_, to): &(f64, f64)| {
            end >= voice.samples || end as f64 > voice.place(to + reach) + 2.0
        };
        let mut ready = Vec::new();
        while let Some(stretch) = stretches.next_if(complete) {
            ready.push(stretch);
        }
        for (from, to) in ready {
            voice.search(from, to, &mut last, &mut pulses);
        }
        let needed = stretches
            .peek()
            .map_or(f64::INFINITY, |(from, _)| voice.place(from - reach) - 2.0);
        voice.kept.forget(needed.max(0.0) as usize);
        Ok(())
    })?;
    pulses.sort_unstable_by(f64::total_cmp);
    Ok(pulses)
}

/// A signal and its pitch.
struct Voice<'a> {
    /// What is there of the signal.
    kept: Kept<f32>,
    /// Samples of the whole.
    samples: usize,
    rate: f64,
    /// The largest magnitude.
    loudest: f64,
    track: &'a PraatTrack,
}

/// The next place of a walk.
struct Step {
    /// Seconds.
    place: f64,
    /// The period that was expected, seconds.
    period: f64,
    /// How much the sound there is like that of the place before; −1 where it is nowhere alike.
    likeness: f64,
    /// The largest magnitude around it.
    loudest: f64,
}

impl Step {
    /// Whether a pulse is there, inside a voiced stretch or beyond its end.
    fn counts(&self, beyond: bool, voice: &Voice<'_>) -> bool {
        if beyond {
            self.likeness > LEAST_LIKENESS_BEYOND && self.loudest > FAINTEST_BEYOND * voice.loudest
        } else {
            self.likeness > LEAST_LIKENESS
                && (self.loudest == 0.0 || self.loudest > FAINTEST * voice.loudest)
        }
    }
}

impl Voice<'_> {
    /// Finds the pulses of a voiced stretch.
    fn search(&self, from: f64, to: f64, last: &mut f64, pulses: &mut Vec<f64>) {
        let middle = f64::midpoint(from, to);
        let Some(period) = self.period(middle) else {
            return;
        };
        let first = self.strongest(middle - period / 2.0, middle + period / 2.0);
        pulses.push(first);
        self.walk(first, -1.0, |step| {
            let beyond = step.place < from;
            if step.counts(beyond, self) && step.place - *last > STEPS.0 * step.period {
                pulses.push(step.place);
            }
            beyond
        });
        self.walk(first, 1.0, |step| {
            let beyond = step.place >= to;
            if step.counts(beyond, self) {
                pulses.push(step.place);
                *last = step.place;
            }
            beyond
        });
    }

    /// Start and end of each voiced stretch, seconds: half a step around its frames.
    fn stretches(&self) -> Vec<(f64, f64)> {
        let (track, seconds) = (self.track, self.samples as f64 / self.rate);
        let mut stretches = Vec::new();
        let mut start = None;
        for (frame, hz) in track.frequency.iter().chain(&[0.0]).enumerate() {
            match (start, *hz > 0.0) {
                (None, true) => start = Some(frame),
                (Some(first), false) => {
                    stretches.push((
                        (track.seconds[first] - track.step / 2.0).max(0.0),
                        (track.seconds[frame - 1] + track.step / 2.0).min(seconds),
                    ));
                    start = None;
                }
                _ => {}
            }
        }
        stretches
    }

    /// The period at a time: between two voiced frames, else of the nearest one.
    fn period(&self, seconds: f64) -> Option<f64> {
        let place = (seconds - self.track.seconds.first()?) / self.track.step;
        let at = |frame: f64| {
            let known = (frame >= 0.0).then(|| self.track.frequency.get(frame as usize));
            f64::from(known.flatten().copied().unwrap_or(0.0))
        };
        let floor = place.floor();
        let (before, after) = (at(floor), at(floor + 1.0));
        let hertz = if before > 0.0 && after > 0.0 {
            before + (after - before) * (place - floor)
        } else {
            at((place + 0.5).floor())
        };
        (hertz > 0.0).then(|| 1.0 / hertz)
    }

    /// The time of sample `n`, seconds.
    fn time(&self, n: f64) -> f64 {
        (n + 0.5) / self.rate
    }

    /// The sample at a time, between samples.
    fn place(&self, seconds: f64) -> f64 {
        seconds * self.rate - 0.5
    }

    /// Where between two times the magnitude is largest, between samples unless at an end.
    fn strongest(&self, from: f64, to: f64) -> f64 {
        let last = self.samples.saturating_sub(1);
        let signal = |n: usize| self.kept.get(n).unwrap_or(0.0);
        let low = (self.place(from).floor().max(0.0) as usize).min(last);
        let high = (self.place(to).ceil().max(0.0) as usize).min(last);
        let (mut top, mut bottom) = (low, low);
        for n in low..=high {
            if signal(n) > signal(top) {
                top = n;
            }
            if signal(n) < signal(bottom) {
                bottom = n;
            }
        }
        let (best, sign) = if -signal(bottom) > signal(top) {
            (bottom, -1.0)
        } else {
            (top, 1.0)
        };
        let mut place = best as f64;
        if low < best && best < high {
            let [before, here, after] =
                [best - 1, best, best + 1].map(|n| sign * f64::from(signal(n)));
            if here >= before && here >= after {
                place += vertex(before, here, after).0;
            }
        }
        self.time(place)
    }

    /// Steps from period to period until `see` says that it is enough or the voice ends.
    fn walk(&self, from: f64, direction: f64, mut see: impl FnMut(&Step) -> bool) {
        let mut at = from;
        while let Some(period) = self.period(at) {
            let step = self.alike(at, period, direction);
            let onwards = (step.place - at) * direction > 0.0;
            if see(&step) || !onwards {
                break;
            }
            at = step.place;
        }
    }

    /// Where, about a period away, one period of the sound is most like the one around `at`.
    fn alike(&self, at: f64, period: f64, direction: f64) -> Step {
        let round = |place: f64| (place + 0.5).floor() as i64;
        let left = round(self.place(at - period / 2.0));
        let length = (round(self.place(at + period / 2.0)) - left + 1).max(1);
        let here: Vec<f64> = (left..left + length).map(|n| self.sample(n)).collect();
        let power: f64 = here.iter().map(|x| x * x).sum();
        let (near, far) = (STEPS.0 * period, STEPS.1 * period);
        let (low, high) = if direction > 0.0 {
            (at + near, at + far)
        } else {
            (at - far, at - near)
        };
        let first = self.place(low - period / 2.0).floor() as i64;
        let last = self.place(high - period / 2.0).ceil() as i64;
        let mut best = Step {
            place: at + direction * period,
            period,
            likeness: -1.0,
            loudest: 0.0,
        };
        let around: Vec<f64> = (first..last + length).map(|n| self.sample(n)).collect();
        // Before the first place nothing is alike; the last one is a neighbour alone.
        let (mut before, mut middle, mut highest) = (0.0, 0.0, -1.0);
        for (start, there) in (first..).zip(around.windows(here.len())) {
            let (mut cross, mut squares, mut loudest) = (0.0f64, 0.0f64, 0.0f64);
            for (x, y) in here.iter().zip(there) {
                cross += x * y;
                squares += y * y;
                loudest = loudest.max(y.abs());
            }
            let after = if cross == 0.0 {
                0.0
            } else {
                cross / (power * squares).sqrt()
            };
            if middle > highest && middle >= before && middle >= after {
                let (shift, height) = vertex(before, middle, after);
                highest = middle;
                best = Step {
                    place: at + ((start - 1 - left) as f64 + shift) / self.rate,
                    period,
                    likeness: height,
                    loudest,
                };
            }
            (before, middle) = (middle, after);
        }
        best
    }

    fn sample(&self, n: i64) -> f64 {
        let known = usize::try_from(n).ok().and_then(|n| self.kept.get(n));
        f64::from(known.unwrap_or(0.0))
    }
}

/// Place, from the middle one, and height of the top of a parabola through three values.
fn vertex(before: f64, here: f64, after: f64) -> (f64, f64) {
    let curvature = 2.0 * here - before - after;
    if curvature <= 0.0 {
        return (0.0, here);
    }
    let slope = 0.5 * (after - before);
    (slope / curvature, here + 0.5 * slope * slope / curvature)
}

#[cfg(test)]
mod tests {
    use super::*;
    use warpsmith_voice::{PitchRange, PraatSettings, PrecisePraat};

    fn pulses_of(signal: &[f32], rate: u32) -> Vec<f64> {
        let track = PrecisePraat::new(rate, 0.01, PitchRange::VOICE, PraatSettings::default())
            .unwrap()
            .track(signal);
        find_pulses(signal, rate, &track).unwrap()
    }

    #[test]
    fn a_steady_voice_has_a_pulse_to_every_period() {
        let f0 = 123.4;
        let signal: Vec<f32> = (0..16_000)
            .map(|n| {
                let phase = std::f64::consts::TAU * f0 * f64::from(n) / 16_000.0;
                (1..15)
                    .map(|k| 0.2 * (f64::from(k) * phase).cos() / f64::from(k))
                    .sum::<f64>() as f32
            })
            .collect();
        let pulses = pulses_of(&signal, 16_000);
        assert!(pulses.len() > 110, "{}", pulses.len());
        for pair in pulses.windows(2) {
            assert!(((pair[1] - pair[0]) * f0 - 1.0).abs() < 0.01, "{pair:?}");
        }
    }

    #[test]
    fn pulses_lie_where_they_are_uneven() {
        // A decaying ring to every pulse, at distances that differ by 2 %.
        let rate = 44_100;
        let mut truth = vec![0.05f64];
        while truth[truth.len() - 1] < 0.45 {
            let n = truth.len();
            truth.push(truth[n - 1] + if n % 2 == 0 { 0.0080 } else { 0.008_16 });
        }
        let signal: Vec<f32> = (0..22_050)
            .map(|n| {
                let seconds = (f64::from(n) + 0.5) / f64::from(rate);
                let ring = |since: f64| {
                    (-300.0 * since).exp() * (std::f64::consts::TAU * 700.0 * since).cos()
                };
                let heard = truth.iter().filter(|pulse| **pulse <= seconds);
                heard.map(|pulse| ring(seconds - pulse)).sum::<f64>() as f32 * 0.5
            })
            .collect();
        let pulses = pulses_of(&signal, rate);
        let distances: Vec<f64> = pulses.windows(2).map(|pair| pair[1] - pair[0]).collect();
        assert!(distances.len() > 40, "{}", distances.len());
        for pair in distances[2..distances.len() - 2].windows(2) {
            let difference = (pair[1] - pair[0]).abs();
            // A pulse begins between two samples, 23 µs apart.
            assert!((difference - 0.000_16).abs() < 2.3e-5, "{difference}");
        }
    }

    #[test]
    fn silence_and_nothing_have_no_pulses() {
        assert!(pulses_of(&[0.0; 8000], 16_000).is_empty());
        assert!(pulses_of(&[], 16_000).is_empty());
    }
}
