//! K-weighting after ITU-R BS.1770-4: a shelf for the head and a high-pass, and the weighted power of
//! all channels in steps of 100 ms.
//!
//! Filters are designed for the signal's own rate by the bilinear transform of the analogue
//! prototypes behind the recommendation's 48 kHz table, and run in f64.

use std::f64::consts::PI;

use crate::audio_file::Audio;
use crate::signal::{Biquad, Cascade};

/// The head's shelf: +4 dB above about 1.7 kHz.
fn shelf(sample_rate: f64) -> Biquad {
    let k = (PI * 1_681.974_450_955_533 / sample_rate).tan();
    let (q, high) = (
        0.707_175_236_955_419_6,
        10f64.powf(3.999_843_853_973_347 / 20.0),
    );
    let band = high.powf(0.499_666_774_154_541_6);
    let norm = 1.0 + k / q + k * k;
    Biquad {
        b: [
            (high + band * k / q + k * k) / norm,
            2.0 * (k * k - high) / norm,
            (high - band * k / q + k * k) / norm,
        ],
        a: [2.0 * (k * k - 1.0) / norm, (1.0 - k / q + k * k) / norm],
    }
}

/// The revised low-frequency B curve: a high-pass at 38 Hz.
fn high_pass(sample_rate: f64) -> Biquad {
    let k = (PI * 38.135_470_876_024_44 / sample_rate).tan();
    let q = 0.500_327_037_323_877_3;
    let norm = 1.0 + k / q + k * k;
    Biquad {
        b: [1.0, -2.0, 1.0],
        a: [2.0 * (k * k - 1.0) / norm, (1.0 - k / q + k * k) / norm],
    }
}

/// Samples of a step.
pub(super) fn step(sample_rate: u32) -> usize {
    sample_rate as usize / 10
}

/// Summed weighted squares of every whole step, all channels together.
pub(super) fn step_sums(audio: &Audio) -> Vec<f64> {
    let step = step(audio.sample_rate).max(1);
    let rate = f64::from(audio.sample_rate);
    let mut sums = vec![0.0f64; audio.frames() / step];
    for (index, channel) in audio.channels.iter().enumerate() {
        let weight = channel_weight(index, audio.channels.len());
        if weight == 0.0 {
            continue;
        }
        let mut filter = Cascade::new(vec![shelf(rate), high_pass(rate)]);
        for (samples, sum) in channel.chunks_exact(step).zip(&mut sums) {
            let squares = samples.iter().map(|x| filter.sample(f64::from(*x)).powi(2));
            *sum += weight * squares.sum::<f64>();
        }
    }
    sums
}

/// The fourth channel of six and more is low-frequency effects and does not count; the surround
/// channels after it count 1.5 dB more.
fn channel_weight(index: usize, channels: usize) -> f64 {
    match (index, channels) {
        (3, 6..) => 0.0,
        (4.., 6..) | (3.., 5) => 1.41,
        _ => 1.0,
    }
}

/// LUFS of a mean weighted power.
pub(super) fn lufs(power: f64) -> f64 {
    -0.691 + 10.0 * power.log10()
}
