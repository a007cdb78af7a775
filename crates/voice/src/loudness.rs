//! Programme loudness after ITU-R BS.1770-4: K-weighting, gated blocks, LUFS.
//!
//! Filters are designed for the signal's own rate by the bilinear transform of the analogue
//! prototypes behind the recommendation's 48 kHz table, and run in f64.

use std::f64::consts::TAU;

use crate::audio_file::Audio;
use crate::error::{Result, VoiceError};

/// What silence measures: the absolute gate.
pub const SILENCE_LUFS: f64 = -70.0;

/// A second-order filter section.
#[derive(Clone, Copy, Debug)]
struct Section {
    b: [f64; 3],
    a: [f64; 2],
}

impl Section {
    /// The head's shelf: +4 dB above about 1.7 kHz.
    fn shelf(sample_rate: f64) -> Self {
        let k = (TAU / 2.0 * 1_681.974_450_955_533 / sample_rate).tan();
        let (q, high) = (
            0.707_175_236_955_419_6,
            10f64.powf(3.999_843_853_973_347 / 20.0),
        );
        let band = high.powf(0.499_666_774_154_541_6);
        let norm = 1.0 + k / q + k * k;
        Self {
            b: [
                (high + band * k / q + k * k) / norm,
                2.0 * (k * k - high) / norm,
                (high - band * k / q + k * k) / norm,
            ],
            a: [2.0 * (k * k - 1.0) / norm, (1.0 - k / q + k * k) / norm],
        }
    }

    /// The revised low-frequency B curve: a high-pass at 38 Hz.
    fn high_pass(sample_rate: f64) -> Self {
        let k = (TAU / 2.0 * 38.135_470_876_024_44 / sample_rate).tan();
        let q = 0.500_327_037_323_877_3;
        let norm = 1.0 + k / q + k * k;
        Self {
            b: [1.0, -2.0, 1.0],
            a: [2.0 * (k * k - 1.0) / norm, (1.0 - k / q + k * k) / norm],
        }
    }
}

/// Integrated loudness of all channels together, LUFS; [`SILENCE_LUFS`] where nothing passes the
/// gates. The fourth channel of six and more is low-frequency effects and does not count; the
/// surround channels after it count 1.5 dB more.
pub fn integrated_loudness(audio: &Audio) -> Result<f64> {
    let block = audio.sample_rate as usize * 4 / 10;
    if audio.frames() < block || block == 0 {
        return Err(VoiceError::parameter(
            "signal length",
            format!("{:.3} s", audio.seconds()),
            "loudness is defined over blocks of 0.4 s",
        ));
    }
    // Blocks overlap by three quarters: sums over 100 ms, taken four at a time.
    let step = audio.sample_rate as usize / 10;
    let mut sums = vec![0.0f64; audio.frames() / step];
    for (index, channel) in audio.channels.iter().enumerate() {
        let weight = channel_weight(index, audio.channels.len());
        if weight > 0.0 {
            add_weighted_power(
                channel,
                f64::from(audio.sample_rate),
                step,
                weight,
                &mut sums,
            );
        }
    }
    let blocks: Vec<f64> = sums
        .windows(4)
        .map(|quarter| quarter.iter().sum::<f64>() / (4 * step) as f64)
        .collect();
    let mean_above = |gate: f64| {
        let loud = || blocks.iter().filter(|power| loudness(**power) > gate);
        let count = loud().count();
        (count > 0).then(|| loud().sum::<f64>() / count as f64)
    };
    let Some(ungated) = mean_above(SILENCE_LUFS) else {
        return Ok(SILENCE_LUFS);
    };
    let relative = (loudness(ungated) - 10.0).max(SILENCE_LUFS);
    Ok(mean_above(relative).map_or(SILENCE_LUFS, loudness))
}

fn loudness(power: f64) -> f64 {
    -0.691 + 10.0 * power.log10()
}

fn channel_weight(index: usize, channels: usize) -> f64 {
    match (index, channels) {
        (3, 6..) => 0.0,
        (4.., 6..) | (3.., 5) => 1.41,
        _ => 1.0,
    }
}

/// Adds the K-weighted power of `channel` to its 100 ms `sums`.
fn add_weighted_power(channel: &[f32], rate: f64, step: usize, weight: f64, sums: &mut [f64]) {
    let sections = [Section::shelf(rate), Section::high_pass(rate)];
    let mut states = [[0.0f64; 2]; 2];
    for (samples, sum) in channel.chunks_exact(step).zip(sums) {
        let mut power = 0.0;
        for x in samples {
            let mut value = f64::from(*x);
            for (section, state) in sections.iter().zip(&mut states) {
                let out = section.b[0].mul_add(value, state[0]);
                state[0] = section.b[1] * value - section.a[0] * out + state[1];
                state[1] = section.b[2] * value - section.a[1] * out;
                value = out;
            }
            power += value * value;
        }
        *sum += weight * power;
    }
}

#[cfg(test)]
mod tests {
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
}
