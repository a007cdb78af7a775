//! Spectral statistics on the CPU: the specification.

use serde::Serialize;
use warpsmith_lanes::{Blocks, Lanes, engine_for_this_machine, ln, vectorize_method};
use warpsmith_signal::{FrameSpectrum, Result, SignalError, SpectrumSettings};

/// The share of the magnitudes that lies below the roll-off frequency, unless another is chosen.
pub(crate) const ROLLOFF: f32 = 0.85;
/// Bins that are summed up before they are added to the sum of all.
const PART: usize = 32;
/// Powers below count as this in the flatness.
pub(crate) const FLATNESS_FLOOR: f32 = 1e-10;

/// Statistics of a frame.
pub(crate) const ROWS: usize = 7;

/// Per-frame statistics.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct SpectralStatistics {
    /// Mean frequency, Hz.
    pub centroid: Vec<f32>,
    /// Root mean square distance from the centroid, Hz.
    pub bandwidth: Vec<f32>,
    /// Frequency below which 85 % of the magnitudes lie, or another share, Hz.
    pub rolloff: Vec<f32>,
    /// Geometric over arithmetic mean of the powers: 1 for white noise, towards 0 for tones.
    pub flatness: Vec<f32>,
    /// Entropy of the magnitudes' shares over its maximum: 1 for white noise.
    pub entropy: Vec<f32>,
    /// Slope of the line that fits the magnitudes' shares best, per Hz (Peeters 2004).
    pub slope: Vec<f32>,
    /// Root of the summed squares of rises in magnitude since the frame before; 0 in the first.
    pub flux: Vec<f32>,
}

/// A planned analysis.
pub struct SpectralShape {
    settings: SpectrumSettings,
    engine: Box<dyn ShapeEngine>,
}

impl SpectralShape {
    /// Tables for spectra of a signal at `sample_rate`.
    pub fn new(settings: SpectrumSettings, sample_rate: u32) -> Result<Self> {
        Self::with_blocks(settings, sample_rate, Blocks::Wide)
    }

    /// Tables for one frame at a time, for streams, or for many.
    pub(crate) fn with_blocks(
        settings: SpectrumSettings,
        sample_rate: u32,
        blocks: Blocks,
    ) -> Result<Self> {
        let settings = settings.checked()?;
        let bin_hz = sample_rate as f32 / settings.transform as f32;
        Ok(Self {
            settings,
            engine: engine_for_this_machine!(blocks, Engine::new(settings, bin_hz)),
        })
    }

    /// With another share of the magnitudes below the roll-off frequency.
    pub fn with_rolloff(mut self, share: f32) -> Result<Self> {
        if !(share > 0.0 && share < 1.0) {
            return Err(SignalError::parameter(
                "roll-off share",
                share,
                "it lies between 0 and 1",
            ));
        }
        self.engine.set_rolloff(share);
        Ok(self)
    }

    /// The statistics of every frame of `signal`.
    pub fn measure(&mut self, signal: &[f32]) -> SpectralStatistics {
        let frames = self.settings.framing.count(signal.len());
        let mut statistics = SpectralStatistics::default();
        for row in statistics.rows() {
            row.resize(frames, 0.0);
        }
        self.engine.measure(signal, &mut statistics);
        statistics
    }
}

impl SpectralStatistics {
    /// Of frames one after the other, each with its numbers in the order of [`Self::rows`].
    pub(crate) fn of_frames(values: &[f32]) -> Self {
        let mut statistics = Self::default();
        for (row, place) in statistics.rows().into_iter().zip(0..) {
            row.extend(values.iter().skip(place).step_by(ROWS));
        }
        statistics
    }

    /// The frames one after the other, into `values`.
    pub(crate) fn write_frames(&mut self, values: &mut [f32]) {
        for (row, place) in self.rows().into_iter().zip(0..) {
            for (slot, value) in values.iter_mut().skip(place).step_by(ROWS).zip(row) {
                *slot = *value;
            }
        }
    }

    /// Adds the frames of `other` from its frame `first` on.
    pub(crate) fn append(&mut self, mut other: Self, first: usize) {
        for (row, from) in self.rows().into_iter().zip(other.rows()) {
            row.extend(&from[first..]);
        }
    }

    fn rows(&mut self) -> [&mut Vec<f32>; ROWS] {
        [
            &mut self.centroid,
            &mut self.bandwidth,
            &mut self.rolloff,
            &mut self.flatness,
            &mut self.entropy,
            &mut self.flux,
            &mut self.slope,
        ]
    }
}

/// The mean of the bins' frequencies and the sum of their squared distances from it. Bins lie evenly, so
/// that the slope of the shares is that of their mean: the centroid's distance from the first over the second.
pub(crate) fn line(bins: usize, bin_hz: f32) -> (f64, f64) {
    let (bins, bin_hz) = (bins as f64, f64::from(bin_hz));
    let scatter = bins * (bins * bins - 1.0) / 12.0 * bin_hz.powi(2);
    ((bins - 1.0) / 2.0 * bin_hz, scatter)
}

trait ShapeEngine: Send {
    fn measure(&mut self, signal: &[f32], statistics: &mut SpectralStatistics);
    fn set_rolloff(&mut self, share: f32);
}

struct Engine<V> {
    spectrum: FrameSpectrum<V>,
    bin_hz: f32,
    rolloff: f32,
    magnitudes: Vec<V>,
    /// The last frame's magnitudes of the block before, for the flux.
    last: Vec<f32>,
}

impl<V: Lanes> Engine<V> {
    fn new(settings: SpectrumSettings, bin_hz: f32) -> Self {
        Self {
            spectrum: FrameSpectrum::new(settings),
            bin_hz,
            rolloff: ROLLOFF,
            magnitudes: vec![V::splat(0.0); settings.bins()],
            last: vec![0.0; settings.bins()],
        }
    }

    #[inline(always)]
    fn measure_blocks(&mut self, signal: &[f32], statistics: &mut SpectralStatistics) {
        let frames = statistics.centroid.len();
        let mut lanes = [[0.0f32; 16]; ROWS];
        let mut first = 0;
        while first < frames {
            let here = V::WIDTH.min(frames - first);
            self.block(signal, first, &mut lanes);
            for (row, lanes) in statistics.rows().into_iter().zip(&lanes) {
                row[first..first + here].copy_from_slice(&lanes[..here]);
            }
            first += V::WIDTH;
        }
    }

    #[inline(always)]
    fn block(&mut self, signal: &[f32], first: usize, out: &mut [[f32; 16]; ROWS]) {
        let zero = V::splat(0.0);
        let tiny = V::splat(f32::MIN_POSITIVE);
        let floor = V::splat(FLATNESS_FLOOR);
        // The bins of a flat spectrum are all the same, and single precision rounds every sum of them the same way:
        // parts are summed first, and what the larger sum of logarithms loses is added later.
        let (mut sum, mut moment, mut power_sum) = (zero, zero, zero);
        let (mut log_sum, mut lost) = (zero, zero);
        let bins = self.spectrum.block(signal, first);
        let count = V::splat(bins.len() as f32);
        let parts = bins.chunks(PART).zip(self.magnitudes.chunks_mut(PART));
        for (part, (bins, magnitudes)) in parts.enumerate() {
            let (mut part_sum, mut part_moment, mut part_power) = (zero, zero, zero);
            for (k, ([re, im], slot)) in bins.iter().zip(magnitudes).enumerate() {
                let power = im.mul_add(*im, re.mul(*re));
                let magnitude = power.sqrt();
                *slot = magnitude;
                part_sum = part_sum.add(magnitude);
                let hertz = V::splat((part * PART + k) as f32 * self.bin_hz);
                part_moment = magnitude.mul_add(hertz, part_moment);
                let bounded = power.max(floor);
                part_power = part_power.add(bounded);
                let log = ln(bounded).add(lost);
                let next = log_sum.add(log);
                lost = log.sub(next.sub(log_sum));
                log_sum = next;
            }
            sum = sum.add(part_sum);
            moment = moment.add(part_moment);
            power_sum = power_sum.add(part_power);
        }
        let divisor = sum.max(tiny);
        let centroid = moment.div(divisor);
        let threshold = sum.mul(V::splat(self.rolloff));
        let (mut spread, mut below, mut surprise) = (zero, zero, zero);
        let all = u32::MAX >> (32 - V::WIDTH);
        let mut reached = 0u32;
        let mut rolloff = [0.0f32; 16];
        for (k, magnitude) in self.magnitudes.iter().enumerate() {
            let distance = V::splat(k as f32 * self.bin_hz).sub(centroid);
            spread = distance.mul(distance).mul_add(*magnitude, spread);
            below = below.add(*magnitude);
            let share = magnitude.div(divisor).max(tiny);
            surprise = share.neg_mul_add(ln(share), surprise);
            let mut fresh = threshold.less_or_equal(below) & !reached & all;
            reached |= fresh;
            while fresh != 0 {
                rolloff[fresh.trailing_zeros() as usize] = k as f32 * self.bin_hz;
                fresh &= fresh - 1;
            }
        }
        centroid.store(&mut out[0]);
        spread.div(divisor).sqrt().store(&mut out[1]);
        out[2] = rolloff;
        log_sum.div(count).store(&mut out[3]);
        let mut means = [0.0f32; 16];
        power_sum.div(count).store(&mut means);
        for (flatness, mean) in out[3][..V::WIDTH].iter_mut().zip(means) {
            *flatness = flatness.exp() / mean;
        }
        surprise.div(ln(count)).store(&mut out[4]);
        let mut silent = [0.0f32; 16];
        sum.store(&mut silent);
        let (middle, scatter) = line(self.magnitudes.len(), self.bin_hz);
        for lane in 0..V::WIDTH {
            out[6][lane] = ((f64::from(out[0][lane]) - middle) / scatter) as f32;
            if silent[lane] == 0.0 {
                out[4][lane] = 0.0;
                out[6][lane] = 0.0;
            }
        }
        out[5] = self.flux(first);
    }

    /// Rises since the frame before; the block's first lane looks back to the block before.
    #[inline(always)]
    fn flux(&mut self, first: usize) -> [f32; 16] {
        let mut flux = [0.0f32; 16];
        let mut lanes = [0.0f32; 17];
        for (magnitude, last) in self.magnitudes.iter().zip(&mut self.last) {
            lanes[0] = *last;
            magnitude.store(&mut lanes[1..]);
            for lane in 0..V::WIDTH {
                let rise = (lanes[lane + 1] - lanes[lane]).max(0.0);
                flux[lane] += rise * rise;
            }
            *last = lanes[V::WIDTH];
        }
        for value in &mut flux {
            *value = value.sqrt();
        }
        if first == 0 {
            flux[0] = 0.0;
        }
        flux
    }
}

impl<V: Lanes> ShapeEngine for Engine<V> {
    fn measure(&mut self, signal: &[f32], statistics: &mut SpectralStatistics) {
        vectorize_method!(V: self => Engine::measure_blocks(
            signal: &'a [f32],
            statistics: &'a mut SpectralStatistics,
        ));
    }

    fn set_rolloff(&mut self, share: f32) {
        self.rolloff = share;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_are_read_as_they_were_written() {
        let numbers: Vec<f32> = (0..5 * ROWS).map(|n| n as f32).collect();
        let mut statistics = SpectralStatistics::of_frames(&numbers);
        assert_eq!(statistics.centroid, [0.0, 7.0, 14.0, 21.0, 28.0]);
        assert_eq!(statistics.slope[1], 13.0);
        let mut written = vec![f32::NAN; numbers.len()];
        statistics.write_frames(&mut written);
        assert_eq!(written, numbers);
    }

    #[test]
    fn a_click_is_flat_however_quiet() {
        for rate in [16_000, 44_100] {
            let spectrum = crate::Preset::Librosa
                .feature(rate, crate::Sizes::for_speech(rate), crate::Stage::Mel)
                .spectrum;
            for amplitude in [1.0, 0.3, 0.123, 0.01, 1.5e-4, 3e-5] {
                let mut shape = SpectralShape::new(spectrum, rate).unwrap();
                let click = shape.measure(&[amplitude]);
                let (flatness, centroid) = (click.flatness[0], click.centroid[0]);
                let middle = rate as f32 / 4.0;
                assert!((flatness - 1.0).abs() < 1e-5, "{amplitude}: {flatness}");
                assert!(
                    (centroid / middle - 1.0).abs() < 1e-5,
                    "{amplitude}: {centroid} Hz"
                );
            }
        }
    }

    #[test]
    fn the_slope_is_that_of_the_line_with_the_least_squares() {
        let (bins, bin_hz) = (9, 31.25f32);
        let shares = [0.2, 0.25, 0.15, 0.1, 0.1, 0.05, 0.05, 0.06, 0.04f64];
        let hertz = |bin: usize| bin as f64 * f64::from(bin_hz);
        let centroid: f64 = shares.iter().enumerate().map(|(k, x)| x * hertz(k)).sum();
        let (middle, scatter) = line(bins, bin_hz);
        let (mut above, mut below) = (0.0, 0.0);
        for (bin, share) in shares.iter().enumerate() {
            above += (hertz(bin) - middle) * (share - 1.0 / bins as f64);
            below += (hertz(bin) - middle).powi(2);
        }
        let difference = (centroid - middle) / scatter - above / below;
        assert!(difference.abs() < 1e-12, "{difference}");
    }
}
