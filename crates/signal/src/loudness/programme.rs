//! Programme loudness: integrated (ITU-R BS.1770-4), momentary and short-term (EBU Tech 3341), and
//! the loudness range (EBU Tech 3342).

use serde::Serialize;

use super::k_weighting::{StepSums, for_pieces, lufs, step};
use super::true_peak::TruePeak;
use crate::audio::Audio;
use crate::error::{Result, SignalError};

/// What silence measures: the absolute gate.
pub const SILENCE_LUFS: f64 = -70.0;

/// Steps of 100 ms in a momentary and in a short-term window.
const MOMENTARY_STEPS: usize = 4;
const SHORT_TERM_STEPS: usize = 30;

/// Everything that is measured of a programme.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Loudness {
    /// Integrated loudness, LUFS; [`SILENCE_LUFS`] where nothing passes the gates.
    pub integrated: f64,
    /// Loudness of 0.4 s, every 100 ms, LUFS; not below the gate.
    pub momentary: Vec<f64>,
    /// Loudness of 3 s, every 100 ms, LUFS; empty for shorter signals.
    pub short_term: Vec<f64>,
    /// From the 10th to the 95th percentile of the gated short-term loudness, LU; absent where
    /// nothing passes the gates.
    pub range: Option<f64>,
    /// Largest magnitude between the samples too, dBTP.
    pub true_peak: f64,
}

impl Loudness {
    /// Measures all channels together.
    pub fn measure(audio: &Audio) -> Result<Self> {
        let mut meter = LoudnessMeter::new(audio.sample_rate, audio.channels.len())?;
        for_pieces(audio, |channels| meter.push(channels));
        meter.finish()
    }
}

/// Measures a programme that arrives in pieces; memory does not grow with its samples.
pub struct LoudnessMeter {
    sample_rate: u32,
    frames: usize,
    sums: StepSums,
    true_peak: TruePeak,
}

impl LoudnessMeter {
    /// A meter for all channels together.
    pub fn new(sample_rate: u32, channels: usize) -> Result<Self> {
        Ok(Self {
            sample_rate,
            frames: 0,
            sums: StepSums::new(sample_rate, channels),
            true_peak: TruePeak::new(sample_rate, channels)?,
        })
    }

    /// Takes the next samples of each channel.
    pub fn push(&mut self, channels: &[&[f32]]) {
        self.frames += channels.first().map_or(0, |channel| channel.len());
        self.sums.push(channels);
        self.true_peak.push(channels);
    }

    /// What was measured.
    pub fn finish(self) -> Result<Loudness> {
        check_length(self.frames, self.sample_rate)?;
        let sums = self.sums.finish();
        let step = step(self.sample_rate);
        let momentary = window_powers(&sums, MOMENTARY_STEPS, step);
        let short_term = window_powers(&sums, SHORT_TERM_STEPS, step);
        let bounded = |powers: &[f64]| -> Vec<f64> {
            powers
                .iter()
                .map(|power| lufs(*power).max(SILENCE_LUFS))
                .collect()
        };
        Ok(Loudness {
            integrated: gated_loudness(&momentary),
            momentary: bounded(&momentary),
            short_term: bounded(&short_term),
            range: loudness_range(&short_term),
            true_peak: self.true_peak.finish(),
        })
    }
}

/// Integrated loudness of all channels together, LUFS; [`SILENCE_LUFS`] where nothing passes the
/// gates. The fourth channel of six and more is low-frequency effects and does not count; the
/// surround channels after it count 1.5 dB more.
pub fn integrated_loudness(audio: &Audio) -> Result<f64> {
    let mut meter = IntegratedMeter::new(audio.sample_rate, audio.channels.len());
    for_pieces(audio, |channels| meter.push(channels));
    meter.finish()
}

/// Measures the integrated loudness alone of a programme that arrives in pieces; any cutting gives the same bits.
pub(crate) struct IntegratedMeter {
    sample_rate: u32,
    frames: usize,
    sums: StepSums,
}

impl IntegratedMeter {
    pub(crate) fn new(sample_rate: u32, channels: usize) -> Self {
        Self {
            sample_rate,
            frames: 0,
            sums: StepSums::new(sample_rate, channels),
        }
    }

    /// Takes the next samples of each channel.
    pub(crate) fn push(&mut self, channels: &[&[f32]]) {
        self.frames += channels.first().map_or(0, |channel| channel.len());
        self.sums.push(channels);
    }

    pub(crate) fn finish(self) -> Result<f64> {
        check_length(self.frames, self.sample_rate)?;
        let sums = self.sums.finish();
        let blocks = window_powers(&sums, MOMENTARY_STEPS, step(self.sample_rate));
        Ok(gated_loudness(&blocks))
    }
}

fn check_length(frames: usize, sample_rate: u32) -> Result<()> {
    let block = sample_rate as usize * 4 / 10;
    if frames < block || block == 0 {
        let seconds = frames as f64 / f64::from(sample_rate.max(1));
        return Err(SignalError::parameter(
            "signal length",
            format!("{seconds:.3} s"),
            "loudness is defined over blocks of 0.4 s",
        ));
    }
    Ok(())
}

/// Mean powers of overlapping windows of `steps` steps.
fn window_powers(sums: &[f64], steps: usize, step: usize) -> Vec<f64> {
    sums.windows(steps)
        .map(|window| window.iter().sum::<f64>() / (steps * step) as f64)
        .collect()
}

/// Mean of the powers above `gate`, LUFS.
fn mean_above(powers: &[f64], gate: f64) -> Option<f64> {
    let loud = || powers.iter().filter(|power| lufs(**power) > gate);
    let count = loud().count();
    (count > 0).then(|| loud().sum::<f64>() / count as f64)
}

fn gated_loudness(blocks: &[f64]) -> f64 {
    let Some(ungated) = mean_above(blocks, SILENCE_LUFS) else {
        return SILENCE_LUFS;
    };
    let relative = (lufs(ungated) - 10.0).max(SILENCE_LUFS);
    mean_above(blocks, relative).map_or(SILENCE_LUFS, lufs)
}

fn loudness_range(short_term: &[f64]) -> Option<f64> {
    let gate = (lufs(mean_above(short_term, SILENCE_LUFS)?) - 20.0).max(SILENCE_LUFS);
    let mut kept: Vec<f64> = short_term
        .iter()
        .map(|power| lufs(*power))
        .filter(|loudness| *loudness > gate)
        .collect();
    kept.sort_unstable_by(f64::total_cmp);
    let last = kept.len().checked_sub(1)? as f64;
    let percentile = |share: f64| kept[(last * share).round() as usize];
    Some(percentile(0.95) - percentile(0.10))
}

#[cfg(test)]
mod tests {
    use std::f64::consts::TAU;

    use super::*;

    fn tone(sample_rate: u32, dbfs: &[(f64, f64)], channels: usize) -> Audio {
        let mut signal = Vec::new();
        for (duration, level) in dbfs {
            let amplitude = 10f64.powf(level / 20.0);
            let frames = (duration * f64::from(sample_rate)) as usize;
            let start = signal.len();
            signal.extend((start..start + frames).map(|n| {
                let phase = TAU * 1000.0 * n as f64 / f64::from(sample_rate);
                (amplitude * phase.sin()) as f32
            }));
        }
        Audio {
            sample_rate,
            channels: vec![signal; channels],
        }
    }

    #[test]
    fn pieces_of_any_size_measure_what_the_whole_does() {
        let audio = tone(8_000, &[(70.0, -23.0), (60.0, -30.0), (5.03, -6.0)], 2);
        let whole = Loudness::measure(&audio).unwrap();
        for size in [777, 40_000, 1_000_000] {
            let mut meter = LoudnessMeter::new(8_000, 2).unwrap();
            for start in (0..audio.frames()).step_by(size) {
                let end = (start + size).min(audio.frames());
                meter.push(&[
                    &audio.channels[0][start..end],
                    &audio.channels[1][start..end],
                ]);
            }
            assert_eq!(meter.finish().unwrap(), whole);
        }
    }

    #[test]
    fn the_cases_of_ebu_tech_3341_hold_at_every_rate() {
        // Cases 1 to 4: level and expected loudness of stereo 1 kHz tones.
        let cases: [(&[(f64, f64)], f64); 4] = [
            (&[(20.0, -23.0)], -23.0),
            (&[(20.0, -33.0)], -33.0),
            (&[(10.0, -36.0), (60.0, -23.0), (10.0, -36.0)], -23.0),
            (
                &[
                    (10.0, -72.0),
                    (10.0, -36.0),
                    (60.0, -23.0),
                    (10.0, -36.0),
                    (10.0, -72.0),
                ],
                -23.0,
            ),
        ];
        for rate in [16_000, 44_100, 48_000] {
            for (levels, expected) in cases {
                let audio = tone(rate, levels, 2);
                let measured = integrated_loudness(&audio).unwrap();
                assert!(
                    (measured - expected).abs() < 0.1,
                    "{rate} Hz: {measured}, {expected}"
                );
            }
        }
    }

    #[test]
    fn silence_is_at_the_gate_and_too_short_is_an_error() {
        let silence = Audio {
            sample_rate: 48_000,
            channels: vec![vec![0.0; 48_000]],
        };
        assert_eq!(integrated_loudness(&silence).unwrap(), SILENCE_LUFS);
        let short = Audio {
            sample_rate: 48_000,
            channels: vec![vec![0.0; 100]],
        };
        assert!(integrated_loudness(&short).is_err());
    }

    #[test]
    fn the_cases_of_ebu_tech_3342_have_their_ranges() {
        let cases: [(&[f64], f64); 4] = [
            (&[-20.0, -30.0], 10.0),
            (&[-20.0, -15.0], 5.0),
            (&[-40.0, -20.0], 20.0),
            (&[-50.0, -35.0, -20.0, -35.0, -50.0], 15.0),
        ];
        for (levels, expected) in cases {
            let levels: Vec<(f64, f64)> = levels.iter().map(|level| (20.0, *level)).collect();
            let measured = Loudness::measure(&tone(16_000, &levels, 2)).unwrap();
            let range = measured.range.unwrap();
            assert!((range - expected).abs() < 1.0, "{levels:?}: {range}");
        }
    }

    #[test]
    fn short_windows_follow_the_level_and_silence_stays_at_the_gate() {
        let audio = tone(48_000, &[(4.0, -33.0), (4.0, -23.0), (4.0, -120.0)], 2);
        let measured = Loudness::measure(&audio).unwrap();
        assert_eq!(measured.momentary.len(), 117);
        assert_eq!(measured.short_term.len(), 91);
        assert!((measured.momentary[20] + 33.0).abs() < 0.1);
        assert!((measured.momentary[60] + 23.0).abs() < 0.1);
        assert_eq!(measured.momentary[110], SILENCE_LUFS);
        assert!((measured.short_term[45] + 23.0).abs() < 0.1);
        assert!((measured.true_peak + 23.0).abs() < 0.1);
    }
}
