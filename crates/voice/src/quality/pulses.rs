//! The moments at which the vocal folds close, one to a period: from a first strong peak a search
//! steps both ways by the period that the pitch track names, to where the sound is most alike.

use crate::pitch::PraatTrack;

/// Shortest and longest step, over the period of the track.
const STEPS: (f64, f64) = (0.8, 1.25);
/// Least likeness of neighbouring periods.
const LEAST_LIKENESS: f64 = 0.3;

/// Times of the pulses in the voiced stretches of `track`, seconds.
pub fn find_pulses(signal: &[f32], sample_rate: u32, track: &PraatTrack) -> Vec<f64> {
    let rate = f64::from(sample_rate);
    let mut pulses = Vec::new();
    for (start, end) in voiced_stretches(track) {
        let period = |seconds: f64| rate / f64::from(frequency_at(track, start..end, seconds));
        let (from, to) = (track.seconds[start] * rate, track.seconds[end - 1] * rate);
        let middle = f64::midpoint(from, to);
        let Some(first) = strongest(signal, middle, period(middle / rate)) else {
            continue;
        };
        let mut stretch = vec![first];
        for direction in [-1.0, 1.0] {
            let mut at = first;
            while let Some(next) = alike(signal, at, period(at / rate), direction) {
                if next < from - period(from / rate) / 2.0 || next > to + period(to / rate) / 2.0 {
                    break;
                }
                stretch.push(next);
                at = next;
            }
        }
        stretch.sort_unstable_by(f64::total_cmp);
        pulses.extend(stretch.iter().map(|sample| (sample + 0.5) / rate));
    }
    pulses
}

/// First frame and one past the last of each voiced stretch.
fn voiced_stretches(track: &PraatTrack) -> Vec<(usize, usize)> {
    let mut stretches = Vec::new();
    let mut start = None;
    for (frame, hz) in track.frequency.iter().chain(&[0.0]).enumerate() {
        match (start, *hz > 0.0) {
            (None, true) => start = Some(frame),
            (Some(from), false) => {
                stretches.push((from, frame));
                start = None;
            }
            _ => {}
        }
    }
    stretches
}

/// The track's frequency at a time, between its frames.
fn frequency_at(track: &PraatTrack, frames: std::ops::Range<usize>, seconds: f64) -> f32 {
    let times = &track.seconds[frames.clone()];
    let hertz = &track.frequency[frames];
    let after = times.partition_point(|time| *time < seconds);
    if after == 0 {
        return hertz[0];
    }
    if after == times.len() {
        return hertz[after - 1];
    }
    let share = (seconds - times[after - 1]) / (times[after] - times[after - 1]);
    hertz[after - 1] + (hertz[after] - hertz[after - 1]) * share as f32
}

/// The sample of the largest magnitude within half a period of `near`.
fn strongest(signal: &[f32], near: f64, period: f64) -> Option<f64> {
    let low = (near - period / 2.0).max(0.0) as usize;
    let high = ((near + period / 2.0).max(0.0) as usize).min(signal.len());
    (low..high)
        .max_by(|a, b| signal[*a].abs().total_cmp(&signal[*b].abs()))
        .map(|sample| sample as f64)
}

/// Where, about a period away, one period of the sound is most like the one around `at`.
fn alike(signal: &[f32], at: f64, period: f64, direction: f64) -> Option<f64> {
    let half = (period / 2.0).ceil() as i64;
    let around = |centre: i64| -> Option<&[f32]> {
        let low = usize::try_from(centre - half).ok()?;
        let high = usize::try_from(centre + half + 1).ok()?;
        signal.get(low..high)
    };
    let centre = at.round() as i64;
    let here = around(centre)?;
    let likeness = |there: &[f32]| {
        let (mut cross, mut a, mut b) = (0.0f64, 0.0f64, 0.0f64);
        for (x, y) in here.iter().zip(there) {
            let (x, y) = (f64::from(*x), f64::from(*y));
            cross += x * y;
            a += x * x;
            b += y * y;
        }
        if a > 0.0 && b > 0.0 {
            cross / (a * b).sqrt()
        } else {
            0.0
        }
    };
    let (low, high) = (
        (STEPS.0 * period).floor() as i64,
        (STEPS.1 * period).ceil() as i64,
    );
    let at_step = |step: i64| around(centre + direction as i64 * step).map(&likeness);
    let mut best = (f64::NEG_INFINITY, 0);
    for step in low..=high {
        match at_step(step) {
            Some(value) if value > best.0 => best = (value, step),
            Some(_) => {}
            None => break,
        }
    }
    if best.0 < LEAST_LIKENESS {
        return None;
    }
    // The top of the parabola through the best and its neighbours, and the fraction that rounding
    // took from the start.
    let step = match (at_step(best.1 - 1), at_step(best.1 + 1)) {
        (Some(before), Some(after)) => {
            let curvature = before + after - 2.0 * best.0;
            let shift = if curvature < 0.0 {
                (0.5 * (before - after) / curvature).clamp(-0.5, 0.5)
            } else {
                0.0
            };
            best.1 as f64 + shift
        }
        _ => best.1 as f64,
    };
    Some(at + direction * step)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pitch::{PitchRange, PraatPitch, PraatSettings};

    #[test]
    fn a_steady_voice_has_a_pulse_to_every_period() {
        let rate = 16_000;
        let f0 = 123.4;
        let signal: Vec<f32> = (0..16_000)
            .map(|n| {
                let phase = std::f64::consts::TAU * f0 * f64::from(n) / 16_000.0;
                (1..15)
                    .map(|k| 0.2 * (f64::from(k) * phase).cos() / f64::from(k))
                    .sum::<f64>() as f32
            })
            .collect();
        let track = PraatPitch::new(rate, 160, PitchRange::VOICE, PraatSettings::default())
            .unwrap()
            .track(&signal);
        let pulses = find_pulses(&signal, rate, &track);
        assert!(pulses.len() > 110, "{}", pulses.len());
        for pair in pulses.windows(2) {
            assert!(((pair[1] - pair[0]) * f0 - 1.0).abs() < 0.01, "{pair:?}");
        }
    }
}
