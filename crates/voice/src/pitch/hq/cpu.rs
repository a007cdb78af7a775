//! The `hq` tracker on the CPU: the specification.

use warpsmith_signal::Result;

use super::contour::Heard;
use super::looks::{HqFirstLook, HqLook};
use super::repetition::Repetition;
use crate::pitch::autocorrelation::{
    Alignment, Autocorrelation, Frame, Placement, Stretch, sinc_peak,
};
use crate::pitch::path::{Candidate, PathCosts, candidate, tops};
use crate::pitch::range::PitchRange;

/// Frames on either side of a frame that are averaged with it.
const AROUND: usize = 3;
/// Candidates of a frame beside the unvoiced one.
const CANDIDATES: usize = 10;
/// Least averaged autocorrelation of a candidate.
pub(crate) const LEAST: f64 = 0.15;
/// Least autocorrelation of a candidate of the frame alone: noise as loud as the voice stays below.
pub(crate) const LEAST_ALONE: f64 = 0.5;
/// Candidates nearer than this, octaves, are one.
pub(crate) const SAME: f64 = 1.0 / 24.0;
/// Strength of the unvoiced candidate, and what it gains in silence.
pub(crate) const UNVOICED: f64 = 0.25;
/// Frames below this share of the loudest are silent.
pub(crate) const SILENCE: f64 = 0.003;
/// Costs of 10 ms.
pub(crate) const OCTAVE: f64 = 0.02;
const OCTAVE_JUMP: f64 = 0.5;
const VOICING_CHANGE: f64 = 0.2;
/// The longest pause that is bridged, seconds, and the widest interval over it, octaves.
const PAUSE: f64 = 0.05;
pub(crate) const PAUSE_INTERVAL: f64 = 0.6;
/// Cost of an octave's jump in 10 ms in the second look.
const GLIDE: f64 = 1.0;
/// Periods in the third look's window.
pub(crate) const OWN_PERIODS: f64 = 4.0;
/// Least autocorrelation at which the third look is trusted, and at which it needs no neighbours.
const CLEAN: f64 = 0.95;
const SURE: f64 = 0.99;
/// Lags on either side of a period that the third look computes.
pub(crate) const REACH: usize = 34;

/// A track with its confidence.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct HqTrack {
    /// Seconds of each frame's centre.
    pub seconds: Vec<f64>,
    /// Frequency, Hz; 0 in unvoiced frames.
    pub frequency: Vec<f32>,
    /// How periodic the sound is around the frame, 0 to 1; in unvoiced frames too.
    pub confidence: Vec<f32>,
}

/// Where frames lie, what is looked for, and what paths through it pay.
#[derive(Clone, Copy, Debug)]
pub(crate) struct HqPlan {
    pub(crate) placement: Placement,
    pub(crate) range: PitchRange,
}

impl HqPlan {
    pub(crate) fn new(sample_rate: u32, hop: usize, range: PitchRange) -> Result<Self> {
        let placement = Placement::new(sample_rate, hop, range, 3.0)?.aligned(Alignment::Grid);
        Ok(Self { placement, range })
    }

    /// Costs of the first look's path.
    pub(crate) fn costs(&self) -> PathCosts {
        PathCosts {
            ceiling_hz: self.range.high_hz,
            octave: OCTAVE,
            octave_jump: OCTAVE_JUMP * self.correction(),
            voicing_change: VOICING_CHANGE * self.correction(),
        }
    }

    /// Costs of the second look's path.
    pub(crate) fn glide_costs(&self) -> PathCosts {
        PathCosts {
            ceiling_hz: self.range.high_hz,
            octave: 0.0,
            octave_jump: GLIDE * self.correction(),
            voicing_change: 0.0,
        }
    }

    /// The sample at a frame's time.
    pub(super) fn centre(&self, seconds: f64) -> usize {
        (seconds * self.placement.rate).round() as usize
    }

    /// Samples on either side of a frame's centre that the second and the third look see at most: periods may be a
    /// little longer than the longest that is looked for.
    pub(super) fn reach(&self) -> usize {
        (OWN_PERIODS * self.placement.rate / self.range.low_hz) as usize + 4 * REACH
    }

    /// The longest pause that is bridged, frames.
    pub(crate) fn longest_pause(&self) -> usize {
        (PAUSE * self.placement.rate / self.placement.hop as f64).round() as usize
    }

    /// Costs are for 10 ms; shorter steps cost more, because they are taken more often.
    fn correction(&self) -> f64 {
        0.01 * self.placement.rate / self.placement.hop as f64
    }
}

/// A planned tracker.
pub struct HqPitch {
    plan: HqPlan,
    correlation: Autocorrelation,
}

impl HqPitch {
    /// A tracker for frames `hop` samples apart.
    pub fn new(sample_rate: u32, hop: usize, range: PitchRange) -> Result<Self> {
        let plan = HqPlan::new(sample_rate, hop, range)?;
        Ok(Self {
            correlation: Autocorrelation::new(plan.placement),
            plan,
        })
    }

    /// The track of `signal`; empty where it is shorter than a window.
    pub fn track(&mut self, signal: &[f32]) -> HqTrack {
        let mut look = HqLook::default();
        look.hear(signal);
        // Frames are looked at in blocks of the vector's width: pieces with so many of them that the last block of a
        // piece, which is mostly not full, does not matter.
        let pieces = || signal.chunks(1 << 18);
        let mut first = self.first_look(look);
        pieces().for_each(|piece| first.hear(piece));
        let mut second = first.finish();
        pieces().for_each(|piece| second.hear(piece));
        let (mut third, mut track) = (second.finish(), HqTrack::default());
        pieces().for_each(|piece| third.process(piece, &mut track));
        third.finish(&mut track);
        track
    }

    /// The first look at a signal that is heard in pieces, after one at its length and its peak.
    pub fn first_look(&mut self, look: HqLook) -> HqFirstLook<'_> {
        HqFirstLook::new(self.plan, &mut self.correlation, look)
    }
}

impl HqPlan {
    /// Fills short pauses between voiced frames of about the same pitch.
    pub(super) fn bridge_pauses(&self, frequency: &mut [f64]) {
        let longest = self.longest_pause();
        let mut before: Option<usize> = None;
        for here in 0..frequency.len() {
            if frequency[here] <= 0.0 {
                continue;
            }
            if let Some(before) = before {
                let octaves = (frequency[here] / frequency[before]).log2();
                let pause = here - before - 1;
                if (1..=longest).contains(&pause) && octaves.abs() < PAUSE_INTERVAL {
                    for step in 1..=pause {
                        let share = step as f64 / (pause + 1) as f64;
                        frequency[before + step] = frequency[before] * (share * octaves).exp2();
                    }
                }
            }
            before = Some(here);
        }
    }

    /// What is heard around a frame where the looks before chose a frequency.
    pub(super) fn hear(
        &self,
        signal: Stretch<'_>,
        repetition: &Repetition,
        seconds: f64,
        chosen: f64,
    ) -> Heard {
        if chosen <= 0.0 {
            return Heard {
                frequency: 0.0,
                late: 0.0,
                sure: true,
            };
        }
        let (frequency, sure) = match self.third_look(signal, seconds, chosen) {
            Some((frequency, height)) => (frequency, height >= SURE),
            None => (chosen, false),
        };
        let late = if sure {
            0.0
        } else {
            let centre = self.centre(seconds);
            repetition.late(signal, centre, frequency)
        };
        Heard {
            frequency,
            late,
            sure,
        }
    }

    /// The frequency near `chosen` in a window of the frame's own periods and the height of the
    /// autocorrelation there, where the frame is clean.
    fn third_look(&self, signal: Stretch<'_>, seconds: f64, chosen: f64) -> Option<(f64, f64)> {
        let period = self.placement.rate / chosen;
        // At least so long that the interpolation finds well-founded lags around a short period; odd,
        // so that a sample lies in the middle.
        let length = (OWN_PERIODS * period)
            .max(2.0 * (period + REACH as f64))
            .ceil() as usize
            | 1;
        let centre = self.centre(seconds);
        let start = centre.checked_sub(length / 2)?;
        let frame = signal.get(start..start + length)?;
        let mean = frame.iter().map(|x| f64::from(*x)).sum::<f64>() / length as f64;
        let span = (length + 1) as f64;
        let turn = std::f64::consts::TAU / span;
        // cos((n+1)θ) = 2·cos θ·cos(nθ) − cos((n−1)θ).
        let (mut before, mut cosine) = (1.0, turn.cos());
        let twice = 2.0 * cosine;
        let windowed: Vec<f64> = frame
            .iter()
            .map(|x| {
                let weight = 0.5 - 0.5 * cosine;
                (before, cosine) = (cosine, twice * cosine - before);
                (f64::from(*x) - mean) * weight
            })
            .collect();
        let at = |lag: usize| -> f64 {
            // A Hann window's own autocorrelation (Boersma 1993).
            let share = lag as f64 / span;
            let turn = std::f64::consts::TAU * share;
            let window =
                (1.0 - share) * (2.0 + turn.cos()) / 3.0 + turn.sin() / std::f64::consts::TAU;
            dot(&windowed[lag.min(length)..], &windowed) / window.max(1e-3)
        };
        let energy = at(0);
        if energy <= 0.0 {
            return None;
        }
        let middle = period.round() as usize;
        let low = middle.saturating_sub(REACH);
        let high = (middle + REACH).min(length - 1);
        let mut r = vec![0.0f32; high + 1];
        for (lag, slot) in r.iter_mut().enumerate().skip(low) {
            *slot = (at(lag) / energy) as f32;
        }
        let near = (middle.saturating_sub(middle / 16 + 1).max(1)
            ..=(middle + middle / 16 + 1).min(high))
            .max_by(|a, b| r[*a].total_cmp(&r[*b]))
            .unwrap_or(middle);
        let (place, height) = sinc_peak(&r, near as f64);
        let moved = (place / period).log2().abs();
        let trusted = height >= CLEAN && place > 1.0 && moved < 1.0 / 12.0;
        trusted.then(|| (self.placement.rate / place, height))
    }
}

/// The sum of products of `a` with the start of `b`, in eight partial sums that a machine adds side by
/// side.
fn dot(a: &[f64], b: &[f64]) -> f64 {
    let (pairs, rest) = a.as_chunks::<8>();
    let (others, _) = b.as_chunks::<8>();
    let mut sums = [0.0f64; 8];
    for (a, b) in pairs.iter().zip(others) {
        for (sum, (a, b)) in sums.iter_mut().zip(a.iter().zip(b)) {
            *sum += a * b;
        }
    }
    let tail = rest.iter().zip(&b[8 * pairs.len()..]);
    sums.iter().sum::<f64>() + tail.map(|(a, b)| a * b).sum::<f64>()
}

/// The frames around the one that is judged.
pub(super) struct Looks {
    placement: Placement,
    range: PitchRange,
    loudest: f64,
    /// The frame of the oldest of the recent ones.
    first: usize,
    recent: Vec<Vec<f32>>,
    peaks: Vec<f32>,
    mean: Vec<f32>,
    /// The candidates of frames that were judged, for somebody to take.
    pub(super) candidates: Vec<Vec<Candidate>>,
    pub(super) confidence: Vec<f32>,
}

impl Looks {
    pub(super) fn new(plan: &HqPlan, reach: usize, loudest: f32) -> Self {
        Self {
            placement: plan.placement,
            range: plan.range,
            loudest: f64::from(loudest),
            first: 0,
            recent: Vec::new(),
            peaks: Vec::new(),
            mean: vec![0.0; reach],
            candidates: Vec::new(),
            confidence: Vec::new(),
        }
    }

    /// Takes the next frame; one is judged when those after it are known.
    pub(super) fn see(&mut self, frame: usize, seen: &Frame<'_>) {
        self.peaks.push(seen.peak);
        self.recent.push(seen.correlation.to_vec());
        if frame >= AROUND {
            self.judge(frame - AROUND);
        }
    }

    /// Judges the last of so many frames, which have none after them.
    pub(super) fn finish(&mut self, frames: usize) {
        for frame in frames.saturating_sub(AROUND)..frames {
            self.judge(frame);
        }
    }

    fn judge(&mut self, frame: usize) {
        if self.first + AROUND < frame {
            self.recent.remove(0);
            self.first += 1;
        }
        self.mean.fill(0.0);
        let share = 1.0 / self.recent.len() as f32;
        for correlation in &self.recent {
            for (mean, r) in self.mean.iter_mut().zip(correlation) {
                *mean += share * r;
            }
        }
        let (placement, range) = (self.placement, self.range);
        let rate = placement.rate;
        let among = |r: &[f32], least: f64| -> Vec<Candidate> {
            tops(r, placement, range, least, OCTAVE, CANDIDATES)
                .into_iter()
                .filter_map(|top| candidate(top, rate, range))
                .collect()
        };
        let mut found = among(&self.mean, LEAST);
        let alone = self
            .recent
            .get(frame - self.first)
            .map(|correlation| among(correlation, LEAST_ALONE));
        for candidate in alone.unwrap_or_default() {
            let same = |known: &&mut Candidate| {
                (known.frequency / candidate.frequency).log2().abs() < SAME
            };
            match found.iter_mut().find(same) {
                Some(known) => known.strength = known.strength.max(candidate.strength),
                None => found.push(candidate),
            }
        }
        let strongest = found.iter().map(|c| c.strength).fold(0.0, f64::max);
        self.confidence.push(strongest as f32);
        let level = f64::from(self.peaks[frame]) / self.loudest.max(f64::MIN_POSITIVE);
        let silence = (1.0 - level / SILENCE).max(0.0);
        found.insert(0, Candidate::unvoiced(UNVOICED + 2.0 * silence));
        self.candidates.push(found);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RATE: u32 = 16_000;

    struct Random(u64);

    impl Random {
        fn unit(&mut self) -> f64 {
            self.0 = self
                .0
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            (self.0 >> 11) as f64 / (1u64 << 53) as f64
        }
    }

    /// A contour of frequencies, sample by sample, sung with the harmonics of `range`; 0 is silence.
    fn sing(contour: &[f64], harmonics: std::ops::RangeInclusive<u32>) -> Vec<f32> {
        let mut phase = 0.0f64;
        contour
            .iter()
            .map(|hz| {
                phase += hz / f64::from(RATE);
                if *hz == 0.0 {
                    return 0.0;
                }
                let angle = std::f64::consts::TAU * phase;
                harmonics
                    .clone()
                    .filter(|k| f64::from(*k) * hz < 7600.0)
                    .map(|k| 0.2 * (f64::from(k) * angle + f64::from(k * k)).sin() / f64::from(k))
                    .sum::<f64>() as f32
            })
            .collect()
    }

    /// Share of the true voiced frames within 50 cents, and the mean distance of those, cents.
    /// Frames within 30 ms of a voicing edge do not count.
    fn score(signal: &[f32], contour: &[f64]) -> (f64, f64) {
        let track = HqPitch::new(RATE, 160, PitchRange::VOICE)
            .unwrap()
            .track(signal);
        let (mut hits, mut truths, mut sum) = (0usize, 0usize, 0.0);
        for (seconds, hz) in track.seconds.iter().zip(&track.frequency) {
            let at = (seconds * f64::from(RATE)) as usize;
            let near = &contour[at.saturating_sub(480)..(at + 480).min(contour.len())];
            if near.contains(&0.0) {
                continue;
            }
            truths += 1;
            let cents = 1200.0 * (f64::from(*hz).max(1.0) / contour[at]).log2().abs();
            if cents < 50.0 {
                hits += 1;
                sum += cents;
            }
        }
        assert!(truths > 50);
        (hits as f64 / truths as f64, sum / hits.max(1) as f64)
    }

    /// Half a second of each tone, a quarter of a second of silence after it.
    fn tones() -> Vec<f64> {
        let mut contour = Vec::new();
        for hz in [72.0, 98.0, 131.0, 175.0, 233.0, 311.0, 415.0, 554.0, 740.0] {
            contour.extend(std::iter::repeat_n(hz, 8000));
            contour.extend(std::iter::repeat_n(0.0, 4000));
        }
        contour
    }

    fn with_noise(clean: &[f32], snr_db: f64) -> Vec<f32> {
        let active: Vec<f64> = clean
            .iter()
            .filter(|x| **x != 0.0)
            .map(|x| f64::from(*x).powi(2))
            .collect();
        let power = active.iter().sum::<f64>() / active.len() as f64;
        let scale = (power * 10f64.powf(-snr_db / 10.0)).sqrt();
        let mut random = Random(11);
        clean
            .iter()
            .map(|x| {
                // Twelve evenly distributed numbers: normal, of variance 1.
                let sum: f64 = (0..12).map(|_| random.unit()).sum::<f64>() - 6.0;
                x + (scale * sum) as f32
            })
            .collect()
    }

    #[test]
    fn clean_tones_sweeps_and_vibrato_are_within_half_a_cent() {
        let contour = tones();
        let (share, mean) = score(&sing(&contour, 1..=12), &contour);
        assert!(share == 1.0 && mean < 0.5, "tones: {share} {mean}");
        let sweep: Vec<f64> = (0..64_000)
            .map(|n| 80.0 * (700f64 / 80.0).powf(f64::from(n) / 64_000.0))
            .collect();
        let (share, mean) = score(&sing(&sweep, 1..=12), &sweep);
        assert!(share > 0.999 && mean < 0.5, "sweep: {share} {mean}");
        let mut vibrato = Vec::new();
        for base in [150.0, 220.0, 330.0, 440.0, 520.0] {
            vibrato.extend((0..16_000).map(|n| {
                let t = f64::from(n) / f64::from(RATE);
                base * ((100.0 / 1200.0) * (std::f64::consts::TAU * 5.5 * t).sin()).exp2()
            }));
            vibrato.extend(std::iter::repeat_n(0.0, 4000));
        }
        let (share, mean) = score(&sing(&vibrato, 1..=12), &vibrato);
        assert!(share > 0.999 && mean < 0.5, "vibrato: {share} {mean}");
    }

    #[test]
    fn a_voice_without_its_fundamental_and_tones_as_loud_as_the_noise_are_tracked() {
        let contour: Vec<f64> = (0..64_000)
            .map(|n| {
                let t = f64::from(n) / f64::from(RATE);
                160.0 * (0.6 * (1.7 * t).sin() + 0.2 * (5.1 * t).sin()).exp2()
            })
            .collect();
        let (share, mean) = score(&sing(&contour, 3..=12), &contour);
        assert!(
            share == 1.0 && mean < 1.0,
            "missing fundamental: {share} {mean}"
        );
        // Glides of up to an octave in half a second, without a pause.
        let mut random = Random(3);
        let turns: Vec<f64> = (0..13).map(|_| 90.0 + 160.0 * random.unit()).collect();
        let contour: Vec<f64> = (0..96_000)
            .map(|n| {
                let (turn, share) = (n / 8000, (n % 8000) as f64 / 8000.0);
                turns[turn] + share * (turns[turn + 1] - turns[turn])
            })
            .collect();
        let (share, mean) = score(&sing(&contour, 3..=12), &contour);
        assert!(share > 0.99 && mean < 1.0, "glides: {share} {mean}");
        let contour = tones();
        let clean = sing(&contour, 1..=12);
        let (share, mean) = score(&with_noise(&clean, 10.0), &contour);
        assert!(share > 0.999, "10 dB: {share} {mean}");
        let (share, mean) = score(&with_noise(&clean, 0.0), &contour);
        assert!(share >= 0.95, "0 dB: {share} {mean}");
    }

    #[test]
    fn silence_and_noise_are_unvoiced_and_short_signals_have_no_frames() {
        let mut tracker = HqPitch::new(RATE, 160, PitchRange::VOICE).unwrap();
        assert!(
            tracker
                .track(&[0.0; 8000])
                .frequency
                .iter()
                .all(|hz| *hz == 0.0)
        );
        assert!(tracker.track(&[0.1; 100]).frequency.is_empty());
        let mut random = Random(5);
        let noise: Vec<f32> = (0..32_000).map(|_| (random.unit() - 0.5) as f32).collect();
        let track = tracker.track(&noise);
        let voiced = track.frequency.iter().filter(|hz| **hz > 0.0).count();
        assert!(voiced * 20 < track.frequency.len(), "{voiced}");
    }
}
