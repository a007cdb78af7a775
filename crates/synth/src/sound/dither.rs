//! Triangular noise, two steps wide, before a sample becomes 16 bits: what rounding leaves behind is
//! then noise that never changes, not a distortion that follows the music.
//!
//! Invariant: a function of position and channel alone, so that every engine and every block size
//! gives the same bits.

use super::QUANTUM;

/// The noise of one quantum. Its positions differ in their low bits alone, because a quantum begins
/// at a multiple of its length: 32 bits are counted, so that a vector holds sixteen.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Dither {
    near: u32,
    far: u32,
}

impl Dither {
    /// From `position` to the end of its quantum.
    pub(crate) fn from(position: u64) -> Self {
        const { assert!(QUANTUM.is_power_of_two()) };
        Self {
            near: (position as u32) << 1,
            far: ((position >> 31) as u32).wrapping_mul(0x9e37_79b9),
        }
    }

    /// Noise in steps of 16 bits, −1 to 1, so many frames further.
    #[inline(always)]
    pub(crate) fn at(self, frame: u32, channel: u32) -> f32 {
        noise((self.near.wrapping_add(2 * frame) | channel) ^ self.far)
    }
}

#[inline(always)]
fn noise(mut x: u32) -> f32 {
    // Avalanche of 32 bits (C. Wellons, "hash prospector").
    x ^= x >> 16;
    x = x.wrapping_mul(0x7feb_352d);
    x ^= x >> 15;
    x = x.wrapping_mul(0x846c_a68b);
    x ^= x >> 16;
    let (a, b) = ((x & 0xffff) as i32, (x >> 16) as i32);
    (a - b) as f32 * (1.0 / 65_536.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn dither(position: u64, channel: u32) -> f32 {
        Dither::from(position).at(0, channel)
    }

    #[test]
    fn the_noise_of_a_quantum_is_that_of_its_positions() {
        let quantum = QUANTUM as u64;
        for first in [
            0,
            1 << 31,
            (1 << 31) - quantum,
            (1 << 32) - quantum,
            1 << 40,
        ] {
            for from in [0, 1, quantum - 1] {
                let noise = Dither::from(first + from);
                for position in first + from..first + quantum {
                    let frame = (position - first - from) as u32;
                    for channel in [0, 1] {
                        assert_eq!(noise.at(frame, channel), dither(position, channel));
                    }
                }
            }
        }
    }

    #[test]
    fn the_noise_is_triangular_and_its_channels_are_strangers() {
        let count = 200_000;
        let noise = |channel| (0..count).map(move |n| f64::from(dither(n, channel)));
        let power: f64 = noise(0).map(|v| v * v).sum::<f64>() / count as f64;
        let mean: f64 = noise(0).sum::<f64>() / count as f64;
        let both: f64 = noise(0).zip(noise(1)).map(|(a, b)| a * b).sum::<f64>() / count as f64;
        let next: f64 = noise(0)
            .zip(noise(0).skip(1))
            .map(|(a, b)| a * b)
            .sum::<f64>();
        // A triangle from −1 to 1 has variance 1/6.
        assert!((power - 1.0 / 6.0).abs() < 0.003, "{power}");
        assert!(mean.abs() < 0.004 && both.abs() < 0.002, "{mean} {both}");
        assert!((next / count as f64).abs() < 0.002);
    }

    #[test]
    fn days_do_not_repeat() {
        let day = 86_400 * 48_000;
        let same = (0..1_000)
            .filter(|n| dither(*n, 0) == dither(n + day, 0))
            .count();
        assert!(same < 20, "{same}");
    }
}
