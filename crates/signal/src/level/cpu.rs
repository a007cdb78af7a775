//! Levels of frames on the CPU.

use std::marker::PhantomData;

use serde::Serialize;
use warpsmith_lanes::{Blocks, InstructionSet, Lanes, LanesTask, Task};

use crate::error::Result;
use crate::frame::Framing;

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
        let frames = framing.count(signal.len());
        for values in [
            &mut levels.rms,
            &mut levels.peak,
            &mut levels.zero_crossing_rate,
        ] {
            values.reserve_exact(frames);
        }
        levels.clipped.reserve_exact(frames);
        Measurement {
            signal,
            framing,
            left: framing.left(),
            frames,
        }
        .add_to(&mut levels, &mut Vec::new());
        Ok(levels)
    }

    /// Adds a frame of which `samples` lie inside the signal, `before` samples after the frame's start.
    pub(crate) fn push(
        &mut self,
        samples: &[f32],
        before: usize,
        framing: Framing,
        hops: &mut Vec<HopLevels>,
    ) {
        Measurement {
            signal: samples,
            framing,
            left: before,
            frames: 1,
        }
        .add_to(self, hops);
    }
}

/// The first frames of a signal, the first of them starting `left` samples before it.
#[derive(Clone, Copy)]
struct Measurement<'a> {
    signal: &'a [f32],
    framing: Framing,
    left: usize,
    frames: usize,
}

/// What can be put together of parts, so that a sample is looked at once, whatever the overlap of frames.
#[derive(Clone, Copy, Debug, Default)]
struct Stretch {
    /// Sum of squares.
    energy: f32,
    peak: f32,
    /// Crossings into its samples, from the sample before each.
    crossings: u32,
    clipped: u32,
}

impl Stretch {
    #[inline(always)]
    fn and(self, other: Self) -> Self {
        Self {
            energy: self.energy + other.energy,
            peak: self.peak.max(other.peak),
            crossings: self.crossings + other.crossings,
            clipped: self.clipped + other.clipped,
        }
    }
}

/// What a hop adds to the frames that it belongs to.
#[derive(Clone, Copy, Debug)]
pub(crate) struct HopLevels {
    whole: Stretch,
    /// As many first samples as a frame's last, incomplete hop has.
    part: Stretch,
    /// Crossings into its first sample alone.
    entered: u32,
}

impl Measurement<'_> {
    /// Adds the frames; `hops` is memory to work in.
    fn add_to(self, levels: &mut Levels, hops: &mut Vec<HopLevels>) {
        let task = Adding {
            measurement: self,
            levels,
            hops,
        };
        InstructionSet::widest().with_lanes(Blocks::Wide, task);
    }

    #[inline(always)]
    fn hop<V: Lanes>(&self, number: usize) -> HopLevels {
        let Self {
            signal, framing, ..
        } = *self;
        let start = number * framing.hop;
        let at = |n: usize| (start + n).saturating_sub(self.left).min(signal.len());
        let middle = at(framing.length % framing.hop);
        let mut meter = Meter::<V>::new();
        let mut part = Stretch::default();
        if at(0) < middle {
            meter.take(signal, at(0), middle);
            part = meter.read();
        }
        meter.take(signal, middle, at(framing.hop));
        // From before the signal nothing crosses.
        let entered = match at(0).checked_sub(1).and_then(|before| signal.get(before..)) {
            Some([before, here, ..]) => u32::from(is_negative(*before) != is_negative(*here)),
            _ => 0,
        };
        HopLevels {
            whole: meter.read(),
            part,
            entered,
        }
    }
}

struct Adding<'a> {
    measurement: Measurement<'a>,
    levels: &'a mut Levels,
    hops: &'a mut Vec<HopLevels>,
}

impl LanesTask for Adding<'_> {
    type Output = ();

    fn run<V: Lanes>(self) {
        V::vectorize(MeasurementTask::<V> {
            adding: self,
            lanes: PhantomData,
        });
    }
}

struct MeasurementTask<'a, V> {
    adding: Adding<'a>,
    lanes: PhantomData<V>,
}

impl<V: Lanes> Task for MeasurementTask<'_, V> {
    #[inline(always)]
    fn run(self) {
        let Adding {
            measurement,
            levels,
            hops,
        } = self.adding;
        let Framing { length, hop, .. } = measurement.framing;
        let (frames, whole) = (measurement.frames, length / hop);
        let samples = length as f32;
        hops.clear();
        hops.reserve(frames + whole);
        hops.extend((0..frames + whole).map(|number| measurement.hop::<V>(number)));
        for frame in 0..frames {
            let hops = &hops[frame..=frame + whole];
            let mut sum = Stretch::default();
            for hop in &hops[..whole] {
                sum = sum.and(hop.whole);
            }
            let sum = sum.and(hops[whole].part);
            levels.rms.push((sum.energy / samples).sqrt());
            levels.peak.push(sum.peak);
            levels.clipped.push(sum.clipped);
            let inside = sum.crossings.saturating_sub(hops[0].entered);
            levels.zero_crossing_rate.push(inside as f32 / samples);
        }
    }
}

/// Whether a sample is on the lower side of zero; tiny ones are not.
#[inline(always)]
fn is_negative(x: f32) -> bool {
    x < BELOW_ZERO
}

const BELOW_ZERO: f32 = -1e-10;

/// Samples of a stretch so far, as many partial answers as a vector has lanes: fast, and of the energy more
/// exact than one running sum.
struct Meter<V> {
    energy: V,
    peak: V,
    crossings: u32,
    clipped: u32,
}

impl<V: Lanes> Meter<V> {
    #[inline(always)]
    fn new() -> Self {
        Self {
            energy: V::splat(0.0),
            peak: V::splat(0.0),
            crossings: 0,
            clipped: 0,
        }
    }

    /// Takes the samples from `start` to `end`.
    #[inline(always)]
    fn take(&mut self, signal: &[f32], start: usize, end: usize) {
        let samples = &signal[start.min(end)..end];
        let before = start.checked_sub(1).unwrap_or(start);
        let mut negative = u32::from(signal.get(before).is_some_and(|x| is_negative(*x)));
        let vectors = samples.chunks_exact(V::WIDTH);
        let rest = vectors.remainder();
        for values in vectors {
            negative = self.take_vector(V::load(values), V::WIDTH, negative);
        }
        if !rest.is_empty() {
            let mut lanes = [0.0f32; 16];
            lanes[..rest.len()].copy_from_slice(rest);
            self.take_vector(V::load(&lanes), rest.len(), negative);
        }
    }

    /// Takes the first `count` lanes, others being 0, after a sample that was negative, 1, or not; returns
    /// whether the last is.
    #[inline(always)]
    fn take_vector(&mut self, values: V, count: usize, before: u32) -> u32 {
        self.energy = values.mul_add(values, self.energy);
        let magnitudes = values.max(V::splat(0.0).sub(values));
        // In this order what is not a number does not count.
        self.peak = magnitudes.max(self.peak);
        self.clipped += V::splat(1.0).less_or_equal(magnitudes).count_ones();
        let negative = values.less(V::splat(BELOW_ZERO));
        let all = u32::MAX >> (32 - count);
        let crossed = (negative ^ (negative << 1 | before)) & all;
        self.crossings += crossed.count_ones();
        (negative >> (count - 1)) & 1
    }

    #[inline(always)]
    fn read(&self) -> Stretch {
        let (mut energies, mut peaks) = ([0.0f32; 16], [0.0f32; 16]);
        self.energy.store(&mut energies);
        self.peak.store(&mut peaks);
        // Halves are added to each other, so that nothing waits for a long row of additions.
        for half in [8, 4, 2, 1] {
            for lane in 0..half {
                energies[lane] += energies[lane + half];
                peaks[lane] = peaks[lane].max(peaks[lane + half]);
            }
        }
        Stretch {
            energy: energies[0],
            peak: peaks[0],
            crossings: self.crossings,
            clipped: self.clipped,
        }
    }
}

/// Sum of squares in sixteen partial sums: fast, and more exact than one running sum.
#[inline(always)]
pub fn energy(samples: &[f32]) -> f32 {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frame::Padding;

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
                let (mut alone, mut hops) = (Levels::default(), Vec::new());
                for frame in 0..framing.count(signal.len()) {
                    let start = (frame * hop) as i64 - framing.left() as i64;
                    let inside = |at: i64| at.clamp(0, signal.len() as i64) as usize;
                    let samples = &signal[inside(start)..inside(start + length as i64)];
                    let before = (-start).max(0) as usize;
                    alone.push(samples, before, framing, &mut hops);
                    let squares: f64 = samples.iter().map(|x| f64::from(*x).powi(2)).sum();
                    let rms = (squares / length as f64).sqrt();
                    assert!((f64::from(measured.rms[frame]) - rms).abs() <= 1e-6 * rms);
                    let peak = samples.iter().fold(0.0f32, |peak, x| peak.max(x.abs()));
                    assert_eq!(measured.peak[frame], peak);
                    let crossed = |pair: &&[f32]| (pair[0] < -1e-10) != (pair[1] < -1e-10);
                    let crossings = samples.windows(2).filter(crossed).count();
                    assert_eq!(
                        measured.zero_crossing_rate[frame],
                        crossings as f32 / length as f32
                    );
                    let clipped = samples.iter().filter(|x| x.abs() >= 1.0).count();
                    assert_eq!(measured.clipped[frame] as usize, clipped);
                }
                assert_eq!(measured, alone, "{framing:?}");
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
