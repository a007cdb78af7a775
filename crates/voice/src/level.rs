//! What can be said of a frame without a transform: level, peak, zero crossings, clipping.

use serde::Serialize;

use crate::error::Result;
use crate::framing::Framing;
use crate::lanes::{Task, with_widest};

/// Per-frame measures of level.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Levels {
    /// Root of the mean square.
    pub rms: Vec<f32>,
    /// Largest magnitude.
    pub peak: Vec<f32>,
    /// Share of neighbouring samples whose signs differ; magnitudes up to 1e-10 count as zero.
    pub zero_crossing_rate: Vec<f32>,
    /// Samples at or beyond full scale.
    pub clipped: Vec<u32>,
}

impl Levels {
    /// Measures every frame; beyond the ends there is silence (RMS) or nothing (crossings).
    pub fn measure(signal: &[f32], framing: Framing) -> Result<Self> {
        let framing = framing.checked()?;
        let mut levels = Self::default();
        with_widest(Measurement {
            levels: &mut levels,
            signal,
            framing,
        });
        Ok(levels)
    }

    /// Adds a frame of `length` samples, of which these lie inside the signal.
    #[inline(always)]
    pub(crate) fn push(&mut self, samples: &[f32], length: usize) {
        self.add(samples, length, peak(samples), crossings(samples));
    }

    #[inline(always)]
    fn add(&mut self, samples: &[f32], length: usize, peak: f32, crossings: usize) {
        self.rms.push((energy(samples) / length as f32).sqrt());
        self.peak.push(peak);
        let clipped = if peak >= 1.0 {
            samples.iter().filter(|x| x.abs() >= 1.0).count()
        } else {
            0
        };
        self.clipped.push(clipped as u32);
        self.zero_crossing_rate
            .push(crossings as f32 / length as f32);
    }
}

struct Measurement<'a> {
    levels: &'a mut Levels,
    signal: &'a [f32],
    framing: Framing,
}

/// What a hop adds to the frames that it belongs to. Largest values and counts are the same however they are
/// put together, so that a sample is looked at once, whatever the overlap.
#[derive(Clone, Copy, Default)]
struct Hop {
    peak: f32,
    /// Crossings into its samples, from the sample before each.
    crossings: usize,
    /// Crossings into its first sample alone.
    entered: usize,
    /// Peak and crossings of as many first samples as a frame's last, incomplete hop has.
    part: (f32, usize),
}

impl Hop {
    #[inline(always)]
    fn of(signal: &[f32], start: i64, hop: usize, part: usize) -> Self {
        let inside = |end: usize| {
            let at = |n: i64| n.clamp(0, signal.len() as i64) as usize;
            at(start)..at(start + end as i64)
        };
        // Together with the sample before there is a crossing into each.
        let into = |end: usize| {
            let range = inside(end);
            if range.is_empty() {
                0
            } else {
                crossings(&signal[range.start.saturating_sub(1)..range.end])
            }
        };
        let part = match part {
            0 => (0.0, 0),
            _ => (peak(&signal[inside(part)]), into(part)),
        };
        Self {
            peak: peak(&signal[inside(hop)]),
            crossings: into(hop),
            entered: into(1),
            part,
        }
    }
}

impl Task for Measurement<'_> {
    #[inline(always)]
    fn run(self) {
        let Self {
            levels,
            signal,
            framing,
        } = self;
        let left = framing.left() as i64;
        let frames = framing.count(signal.len());
        let (whole, part) = (framing.length / framing.hop, framing.length % framing.hop);
        let first = |hop: usize| (hop * framing.hop) as i64 - left;
        let hops: Vec<Hop> = (0..frames + whole)
            .map(|hop| Hop::of(signal, first(hop), framing.hop, part))
            .collect();
        for frame in 0..frames {
            let start = first(frame);
            let end = (start + framing.length as i64).clamp(0, signal.len() as i64) as usize;
            let samples = &signal[(start.max(0) as usize).min(end)..end];
            let (mut peak, mut crossings) = hops[frame + whole].part;
            for hop in &hops[frame..frame + whole] {
                peak = peak.max(hop.peak);
                crossings += hop.crossings;
            }
            let entered = match whole {
                0 => crossings.min(hops[frame].entered),
                _ => hops[frame].entered,
            };
            levels.add(samples, framing.length, peak, crossings - entered);
        }
    }
}

/// Sum of squares in sixteen partial sums: fast, and more exact than one running sum.
#[inline(always)]
pub(crate) fn energy(samples: &[f32]) -> f32 {
    let mut partial = [0.0f32; 16];
    let (chunks, rest) = samples.as_chunks::<16>();
    for chunk in chunks {
        for (sum, x) in partial.iter_mut().zip(chunk) {
            *sum += x * x;
        }
    }
    for (sum, x) in partial.iter_mut().zip(rest) {
        *sum += x * x;
    }
    partial.iter().sum()
}

/// The largest magnitude, in sixteen partial answers; NaN does not count.
#[inline(always)]
fn peak(samples: &[f32]) -> f32 {
    let mut partial = [0.0f32; 16];
    let (chunks, rest) = samples.as_chunks::<16>();
    for chunk in chunks {
        for (peak, x) in partial.iter_mut().zip(chunk) {
            let x = x.abs();
            *peak = if x > *peak { x } else { *peak };
        }
    }
    rest.iter()
        .map(|x| x.abs())
        .chain(partial)
        .fold(0.0, f32::max)
}

/// Neighbours with different signs, in sixteen partial counts.
#[inline(always)]
fn crossings(samples: &[f32]) -> usize {
    let negative = |x: f32| x < -1e-10;
    let Some(after) = samples.get(1..) else {
        return 0;
    };
    let mut partial = [0u32; 16];
    let ((here, _), (next, rest)) = (samples.as_chunks::<16>(), after.as_chunks::<16>());
    for (here, next) in here.iter().zip(next) {
        for (count, (a, b)) in partial.iter_mut().zip(here.iter().zip(next)) {
            *count += u32::from(negative(*a) != negative(*b));
        }
    }
    let tail = &samples[samples.len() - rest.len() - 1..];
    let tail = tail
        .windows(2)
        .filter(|pair| negative(pair[0]) != negative(pair[1]))
        .count();
    partial.iter().sum::<u32>() as usize + tail
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::framing::Padding;

    #[test]
    fn a_full_scale_square_wave_is_loud_clipped_and_crosses_every_sample() {
        let signal: Vec<f32> = (0..64)
            .map(|n| if n % 2 == 0 { 1.0 } else { -1.0 })
            .collect();
        let framing = Framing {
            length: 32,
            hop: 32,
            padding: Padding::Inside,
        };
        let levels = Levels::measure(&signal, framing).unwrap();
        assert_eq!(levels.rms, [1.0, 1.0]);
        assert_eq!(levels.clipped, [32, 32]);
        assert_eq!(levels.zero_crossing_rate, [31.0 / 32.0; 2]);
    }

    #[test]
    fn frames_put_together_of_hops_are_those_that_were_looked_at_whole() {
        let signal: Vec<f32> = (0..3000)
            .map(|n| (n as f32 * 0.9).sin() * (n as f32 * 0.0031).cos() * 1.1)
            .collect();
        for (length, hop) in [
            (512, 160),
            (160, 160),
            (100, 160),
            (480, 160),
            (33, 1),
            (1, 1),
        ] {
            for padding in [Padding::Inside, Padding::CentredZero] {
                let framing = Framing {
                    length,
                    hop,
                    padding,
                };
                let measured = Levels::measure(&signal, framing).unwrap();
                let mut whole = Levels::default();
                for frame in 0..framing.count(signal.len()) {
                    let start = (frame * hop) as i64 - framing.left() as i64;
                    let inside = |at: i64| at.clamp(0, signal.len() as i64) as usize;
                    let samples = &signal[inside(start)..inside(start + length as i64)];
                    whole.push(samples, length);
                }
                assert_eq!(measured, whole, "{framing:?}");
            }
        }
    }

    #[test]
    fn silence_is_silent() {
        let framing = Framing {
            length: 512,
            hop: 160,
            padding: Padding::CentredZero,
        };
        let levels = Levels::measure(&[0.0; 1000], framing).unwrap();
        assert!(
            levels
                .rms
                .iter()
                .chain(&levels.zero_crossing_rate)
                .all(|x| *x == 0.0)
        );
        assert!(Levels::measure(&[], framing).unwrap().rms.is_empty());
    }
}
