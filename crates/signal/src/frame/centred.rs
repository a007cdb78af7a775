//! Frames that lie in the middle of a signal, as Praat places them.

/// Seconds to the centre of the first of `frames` frames that lie in the middle of a signal. Centres often lie
/// at samples, and the order of these operations, which is Praat's, decides on which side.
pub fn first_centre(samples: usize, rate: f64, frames: usize, step: f64) -> f64 {
    0.5 * (samples as f64 * (1.0 / rate)) - 0.5 * (frames as f64 * step) + 0.5 * step
}

/// The last sample that is heard by `seconds`; sample n is heard at (n + ½)/rate. As above the order matters.
pub fn sample_before(seconds: f64, rate: f64) -> i64 {
    let period = 1.0 / rate;
    ((seconds - 0.5 * period) / period).floor() as i64
}
