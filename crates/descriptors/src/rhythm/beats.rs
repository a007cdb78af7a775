//! Beats: the path through a recording's rises that hits the most of them while it keeps the tempo
//! (dynamic programming after Ellis, 2007, with librosa 0.11's numbers).

use std::ops::RangeInclusive;

use warpsmith_signal::{InMemory, Recording};
use warpsmith_voice::{Result, SignalError};

use super::envelope::{Over, envelope_of};
use super::settings::RhythmSettings;
use super::tempo::tempo_of;

/// Beats per minute that can be tracked.
const TEMPOS: RangeInclusive<f64> = 1.0..=1000.0;

/// Beats of a recording.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Beats {
    /// The tempo that they keep, beats per minute; `None` where nothing rises.
    pub bpm: Option<f64>,
    /// Their frames.
    pub frames: Vec<usize>,
}

impl Beats {
    /// Beats per minute by the straight line through the beats: finer than the tempo, whose periods are
    /// whole frames. `None` below two beats.
    pub fn line_bpm(&self, sample_rate: u32, hop: usize) -> Option<f64> {
        let count = self.frames.len() as f64;
        let middle = (count - 1.0) / 2.0;
        let (mut slope, mut squares) = (0.0, 0.0);
        for (n, frame) in self.frames.iter().enumerate() {
            slope += (n as f64 - middle) * *frame as f64;
            squares += (n as f64 - middle).powi(2);
        }
        let period = slope / squares * hop as f64 / f64::from(sample_rate);
        (count >= 2.0).then(|| 60.0 / period)
    }
}

/// The beats of a signal, at the tempo `bpm` or at the one that is found.
pub fn find_beats(
    signal: &[f32],
    sample_rate: u32,
    settings: &RhythmSettings,
    bpm: Option<f64>,
) -> Result<Beats> {
    let recording = InMemory {
        signal,
        sample_rate,
    };
    find_beats_of(&recording, settings, bpm)
}

/// The beats of a recording, which is heard twice; of every frame the rise is kept.
pub fn find_beats_of(
    recording: &dyn Recording,
    settings: &RhythmSettings,
    bpm: Option<f64>,
) -> Result<Beats> {
    let sample_rate = recording.sample_rate();
    settings.window_frames(sample_rate)?;
    let strength = envelope_of(recording, settings, Over::Median)?;
    let bpm = match bpm {
        Some(bpm) => Some(bpm),
        None => tempo_of(&strength, sample_rate, settings)?,
    };
    let frames = match bpm {
        Some(bpm) => beats_at(&strength, bpm, sample_rate, settings)?,
        None => Vec::new(),
    };
    Ok(Beats { bpm, frames })
}

/// The frames of the beats in the rises of all frames, at a known tempo.
pub fn beats_at(
    strength: &[f32],
    bpm: f64,
    sample_rate: u32,
    settings: &RhythmSettings,
) -> Result<Vec<usize>> {
    settings.window_frames(sample_rate)?;
    let period = f64::from(sample_rate) / settings.hop as f64 * 60.0 / bpm;
    let period = period.round_ties_even();
    // The search looks two periods back from every frame: a slower tempo would take hours.
    if !(TEMPOS.contains(&bpm) && period >= 1.0) {
        return Err(SignalError::parameter(
            "tempo",
            bpm,
            "1 to 1000 beats per minute are possible, and at least one frame to a beat",
        ));
    }
    if strength.iter().all(|rise| *rise == 0.0) {
        return Ok(Vec::new());
    }
    let score = local_score(&normalised(strength), period as usize);
    let (links, totals) = best_paths(&score, period as usize, settings.tightness);
    let mut beats = Vec::new();
    let mut at = last_beat(&totals);
    while let Some(frame) = at {
        beats.push(frame);
        at = links[frame];
    }
    beats.reverse();
    Ok(trimmed(&score, beats, settings.trim))
}

/// The rises in units of their deviation.
fn normalised(strength: &[f32]) -> Vec<f64> {
    let count = strength.len() as f64;
    let mean = strength.iter().map(|x| f64::from(*x)).sum::<f64>() / count;
    let squares = strength.iter().map(|x| (f64::from(*x) - mean).powi(2));
    let deviation = (squares.sum::<f64>() / (count - 1.0)).sqrt();
    let unit = deviation + f64::from(f32::MIN_POSITIVE);
    strength.iter().map(|x| f64::from(*x) / unit).collect()
}

/// The rises smoothed by a bell of a 32nd of the period. Like librosa's, frames nearer to the start
/// than the bell's half do not see the first frame.
fn local_score(strength: &[f64], period: usize) -> Vec<f64> {
    // Further out the bell is below 1e-22 of its top; the period may be longer than any signal.
    let reach = period.min(period.div_ceil(32) * 11);
    let bell: Vec<f64> = (0..=reach)
        .map(|n| (-0.5 * (n as f64 * 32.0 / period as f64).powi(2)).exp())
        .collect();
    let count = strength.len();
    (0..count)
        .map(|here| {
            let first = here.saturating_sub(reach).max(usize::from(here <= period));
            let last = (here + reach).min(count - 1);
            (first..=last)
                .map(|at| bell[here.abs_diff(at)] * strength[at])
                .sum()
        })
        .collect()
}

/// For every frame the beat before it, and the score of the best path that ends there.
fn best_paths(score: &[f64], period: usize, tightness: f64) -> (Vec<Option<usize>>, Vec<f64>) {
    let faint = 0.01 * score.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let nearest = ((period as f64 / 2.0).round_ties_even() as usize).max(1);
    let farthest = 2 * period;
    let unlikely = |distance: usize| {
        let away = (distance as f64).ln() - (period as f64).ln();
        tightness * away * away
    };
    let costs: Vec<f64> = (0..=farthest.min(score.len())).map(unlikely).collect();
    let mut links = vec![None; score.len()];
    let mut totals = vec![0.0f64; score.len()];
    let mut begun = false;
    for here in 0..score.len() {
        let mut best = (f64::NEG_INFINITY, None);
        for distance in nearest..=farthest.min(here) {
            let total = totals[here - distance] - costs[distance];
            if total > best.0 {
                best = (total, Some(here - distance));
            }
        }
        totals[here] = score[here] + if best.1.is_some() { best.0 } else { 0.0 };
        begun |= score[here] >= faint;
        if begun {
            links[here] = best.1;
        }
    }
    (links, totals)
}

/// The last frame where a path ends well: a local top of at least half the median of such tops.
fn last_beat(totals: &[f64]) -> Option<usize> {
    let last = totals.len().checked_sub(1)?;
    let is_top = |at: usize| {
        at > 0 && totals[at] > totals[at - 1] && (at == last || totals[at] >= totals[at + 1])
    };
    let mut tops: Vec<f64> = (0..=last)
        .filter(|at| is_top(*at))
        .map(|at| totals[at])
        .collect();
    if tops.is_empty() {
        return Some(last);
    }
    tops.sort_unstable_by(f64::total_cmp);
    let middle = tops.len() / 2;
    let median = f64::midpoint(tops[(tops.len() - 1) / 2], tops[middle]);
    let good = (0..=last)
        .rev()
        .find(|at| is_top(*at) && totals[*at] >= 0.5 * median);
    Some(good.unwrap_or(last))
}

/// The beats without those before the first and after the last frame whose score exceeds half the
/// root mean square of the beats' own; without `trim`, exceeds zero.
fn trimmed(score: &[f64], mut beats: Vec<usize>, trim: bool) -> Vec<usize> {
    let threshold = if trim {
        // A Hann window of five, whose ends are zero, over the beats; librosa's cut leaves two
        // values of the far end in.
        let at = |n: Option<usize>| {
            n.and_then(|n| beats.get(n))
                .map_or(0.0, |beat| score[*beat])
        };
        let smooth = (0..beats.len() + 2)
            .map(|n| at(Some(n)) + 0.5 * (at(n.checked_sub(1)) + at(Some(n + 1))));
        let squares: f64 = smooth.map(|value| value * value).sum();
        0.5 * (squares / (beats.len() + 2) as f64).sqrt()
    } else {
        0.0
    };
    let above = |value: &f64| *value > threshold;
    let first = score.iter().position(above).unwrap_or(score.len());
    let last = score.iter().rposition(above).unwrap_or(0);
    beats.retain(|beat| (first..=last).contains(beat));
    beats
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// Short decaying tones, one to a beat.
    pub(in crate::rhythm) fn clicks(bpm: f64, seconds: f64, rate: u32) -> Vec<f32> {
        let mut signal = vec![0.0f32; (seconds * f64::from(rate)) as usize];
        let mut beat = 0.3;
        while beat < seconds - 0.1 {
            let start = (beat * f64::from(rate)) as usize;
            for (n, x) in signal[start..].iter_mut().take(2000).enumerate() {
                *x += 0.6 * (-(n as f32) / 300.0).exp() * (n as f32 * 0.7).sin();
            }
            beat += 60.0 / bpm;
        }
        signal
    }

    #[test]
    fn beats_lie_on_the_clicks_and_know_their_tempo() {
        let rate = 22_050;
        let settings = RhythmSettings::default();
        for bpm in [75.0, 100.0, 128.0] {
            let signal = clicks(bpm, 15.0, rate);
            let found = find_beats(&signal, rate, &settings, None).unwrap();
            let period = 60.0 / bpm;
            for frame in &found.frames {
                let seconds = (frame * settings.hop) as f64 / f64::from(rate);
                let away = ((seconds - 0.3) / period).fract();
                let away = away.min(1.0 - away) * period;
                assert!(away < 0.05, "{bpm}: a beat at {seconds} s");
            }
            assert!(found.frames.len() >= (14.0 / period) as usize - 1, "{bpm}");
            let line = found.line_bpm(rate, settings.hop).unwrap();
            assert!((line / bpm - 1.0).abs() < 0.01, "{bpm}: {line}");
        }
    }

    #[test]
    fn a_tempo_can_be_given_and_a_wrong_one_is_refused() {
        let rate = 22_050;
        let settings = RhythmSettings::default();
        let signal = clicks(120.0, 8.0, rate);
        let half = find_beats(&signal, rate, &settings, Some(60.0)).unwrap();
        let line = half.line_bpm(rate, settings.hop).unwrap();
        assert!((line - 60.0).abs() < 3.0, "{line}");
        for bpm in [0.0, -3.0, f64::NAN, 0.9, 1e9] {
            assert!(
                find_beats(&signal, rate, &settings, Some(bpm)).is_err(),
                "{bpm}"
            );
        }
        // A period longer than the signal has at most one beat.
        let rare = find_beats(&signal, rate, &settings, Some(1.0)).unwrap();
        assert!(rare.frames.len() <= 1);
        assert_eq!(rare.line_bpm(rate, settings.hop), None);
        let silent = find_beats(&[0.0; 20_000], rate, &settings, None).unwrap();
        assert_eq!(silent, Beats::default());
    }
}
