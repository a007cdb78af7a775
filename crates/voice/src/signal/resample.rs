//! Any sample rate to any other: a polyphase filter, a Kaiser-windowed sinc, in f32.
//!
//! Output sample `m` lies at input position `m·down/up`; the rates are reduced to `up/down` first.
//! Positions repeat after `up` outputs, so there are `up` filters; each is normalised to a sum of
//! one, so that a constant stays exactly what it was.

use std::marker::PhantomData;

use super::windowed_sinc::{Prototype, TAPS};
use crate::error::{Result, VoiceError};
#[cfg(target_arch = "aarch64")]
use crate::lanes::EightFused;
#[cfg(target_arch = "x86_64")]
use crate::lanes::{Avx2, Avx512};
use crate::lanes::{Eight, Lanes, Level, Task};
use crate::tile::transpose_into;

/// How sharp the filter is. All stop at the lower of the two Nyquist frequencies.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Quality {
    /// 24 zero crossings a side: 80 dB, passband to 79 % of the lower Nyquist frequency.
    Fast,
    /// 80 zero crossings a side: 120 dB, passband to 90 %.
    #[default]
    High,
    /// 160 zero crossings a side: 135 dB before rounding, passband to 94 %.
    Highest,
}

impl Quality {
    /// Zero crossings of the sinc on either side, and the Kaiser window's shape.
    fn shape(self) -> (usize, f64) {
        match self {
            Self::Fast => (24, 8.0),
            Self::High => (80, 12.3),
            Self::Highest => (160, 14.0),
        }
    }

    /// Where the sinc is cut off, as a share of the lower of the two Nyquist frequencies: half of the
    /// window's transition below it, so that the stop band begins there.
    fn cutoff(self) -> f64 {
        let (zeros, beta) = self.shape();
        // Kaiser's formulas: shape to attenuation, attenuation and length to transition.
        let attenuation = beta / 0.1102 + 8.7;
        1.0 - (attenuation - 8.0) / (2.285 * 2.0 * std::f64::consts::TAU * zeros as f64)
    }
}

/// The longest table of filters, values; beyond it the rates have no useful common divisor.
const LARGEST_TABLE: usize = 1 << 26;

/// A planned conversion between two rates.
#[derive(Clone, Debug)]
pub struct Resampler {
    up: usize,
    down: usize,
    /// Taps of each filter, a multiple of [`TAPS`].
    taps: usize,
    /// Inputs before the position that the first tap looks at.
    before: usize,
    /// `[phase, tap]`.
    filters: Vec<f32>,
}

impl Resampler {
    /// Tables for signals at `from_hz` that are wanted at `to_hz`.
    pub fn new(from_hz: u32, to_hz: u32, quality: Quality) -> Result<Self> {
        Self::design(from_hz, to_hz, quality.shape(), quality.cutoff(), 0.0)
    }

    /// Nearly all of the band up to the lower Nyquist frequency, at the price of what aliases within
    /// 1 % of it: for analyses that a missing upper edge would mislead. Sample `m` of the result
    /// lies at `(m + ½)/to_hz`, as sample `n` of the signal lies at `(n + ½)/from_hz`.
    pub(crate) fn full_band(from_hz: u32, to_hz: u32) -> Result<Self> {
        let shift = (f64::from(from_hz) / f64::from(to_hz.max(1)) - 1.0) / 2.0;
        Self::design(from_hz, to_hz, (276, 3.0), 1.0, shift)
    }

    /// A sinc of so many zero crossings a side under a Kaiser window, cut off at a share of the lower
    /// Nyquist frequency; outputs lie `shift` inputs later.
    fn design(
        from_hz: u32,
        to_hz: u32,
        (zeros, beta): (usize, f64),
        cutoff: f64,
        shift: f64,
    ) -> Result<Self> {
        if from_hz == 0 || to_hz == 0 {
            return Err(VoiceError::parameter(
                "sample rate",
                format!("{from_hz} to {to_hz} Hz"),
                "both rates must be above 0",
            ));
        }
        let divisor = greatest_common_divisor(from_hz, to_hz);
        let (up, down) = ((to_hz / divisor) as usize, (from_hz / divisor) as usize);
        // Below the lower rate's Nyquist frequency, in units of the input's.
        let band = (to_hz as f64 / from_hz as f64).min(1.0);
        let cutoff = band * cutoff;
        let half = zeros as f64 / band;
        let before = (half + shift.abs()).ceil() as usize;
        let taps = (2 * before + 2).next_multiple_of(TAPS);
        let size = up.checked_mul(taps).filter(|size| *size <= LARGEST_TABLE);
        if size.is_none() {
            return Err(VoiceError::parameter(
                "sample rate",
                format!("{from_hz} to {to_hz} Hz"),
                "the rates have too small a common divisor; go by way of a rate near one of them",
            ));
        }
        let filters = Prototype::new(taps, before, half, cutoff, beta).filters(up, shift);
        Ok(Self {
            up,
            down,
            taps,
            before,
            filters,
        })
    }

    /// The filters and how outputs follow inputs: outputs and inputs of a period, taps of a filter, taps
    /// before an output's place, and the filters, `[phase, tap]`.
    pub(crate) fn polyphase(&self) -> (usize, usize, usize, usize, &[f32]) {
        (self.up, self.down, self.taps, self.before, &self.filters)
    }

    /// Samples of the result of `samples` samples: as long, in seconds, rounded up.
    pub fn output_length(&self, samples: usize) -> usize {
        (samples * self.up).div_ceil(self.down)
    }

    /// The signal at the other rate, silence beyond its ends.
    pub fn process(&self, signal: &[f32]) -> Vec<f32> {
        if self.up == self.down {
            return signal.to_vec();
        }
        let mut out = vec![0.0; self.output_length(signal.len())];
        match Level::detect() {
            #[cfg(target_arch = "x86_64")]
            Level::Avx512 => self.filter::<Avx512>(signal, &mut out),
            #[cfg(target_arch = "x86_64")]
            Level::Avx2 => self.filter::<Avx2>(signal, &mut out),
            #[cfg(target_arch = "aarch64")]
            Level::Neon => self.filter::<EightFused>(signal, &mut out),
            Level::Portable => self.filter::<Eight>(signal, &mut out),
        }
        out
    }

    fn filter<V: Lanes>(&self, signal: &[f32], out: &mut [f32]) {
        V::vectorize(FilterTask {
            resampler: self,
            signal,
            out,
            lanes: PhantomData::<V>,
        });
    }
}

struct FilterTask<'a, V> {
    resampler: &'a Resampler,
    signal: &'a [f32],
    out: &'a mut [f32],
    lanes: PhantomData<V>,
}

impl<V: Lanes> Task for FilterTask<'_, V> {
    #[inline(always)]
    fn run(self) {
        let Resampler {
            up,
            down,
            taps,
            before,
            ref filters,
        } = *self.resampler;
        // Few phases are gone through several times, so that there are enough to go together, and that a
        // tile, which is the taps longer than its inputs, is not mostly what the last one held.
        let turns = taps
            .div_ceil(down)
            .max(if up < 4 * TOGETHER { TOGETHER } else { 1 });
        let (outputs, inputs) = (turns * up, turns * down);
        let mut tiles = [(); TILES].map(|()| tile_of(inputs + taps));
        // Where each output's first tap and its filter are; of those after the last, those of the last.
        let place = |output: usize| output.min(outputs - 1) * down;
        let places: Vec<(usize, usize)> = (0..outputs.next_multiple_of(TRANSPOSED))
            .map(|output| (place(output) / up, place(output) % up * taps))
            .collect();
        let half = V::WIDTH * outputs;
        for (number, out) in self.out.chunks_mut(TILES * half).enumerate() {
            for (n, tile) in tiles.iter_mut().enumerate() {
                let start = (TILES * number + n) * V::WIDTH * inputs;
                fill(tile, self.signal, start as i64 - before as i64, inputs);
            }
            let rows: [&[V]; TILES] = [&tiles[0], &tiles[1]];
            for first in (0..outputs).step_by(TRANSPOSED) {
                let mut sums = [[V::splat(0.0); TRANSPOSED]; TILES];
                for group in (0..TRANSPOSED).step_by(TOGETHER) {
                    let places = &places[first + group..][..TOGETHER];
                    let at = std::array::from_fn(|k| places[k].0);
                    let filters = std::array::from_fn(|k| &filters[places[k].1..][..taps]);
                    let products = dots(rows, at, filters);
                    for (sums, products) in sums.iter_mut().zip(&products) {
                        sums[group..group + TOGETHER].copy_from_slice(products);
                    }
                }
                for (out, sums) in out.chunks_mut(half).zip(&sums) {
                    put_out(sums, first, outputs, out);
                }
            }
        }
    }
}

/// Phases that are computed together: each sample that is loaded is used by all of them.
const TOGETHER: usize = 4;
/// Tiles that go together: each weight that is loaded is used by both.
const TILES: usize = 2;
/// Outputs that change places with the lanes at a time.
const TRANSPOSED: usize = 8;

/// Room for so many rows, in whole eights.
fn tile_of<V: Lanes>(rows: usize) -> Vec<V> {
    vec![V::splat(0.0); rows.next_multiple_of(8)]
}

/// Writes the outputs from `first` on of every lane, `outputs` of which follow each other in `out`, as far
/// as it goes.
#[inline(always)]
fn put_out<V: Lanes>(sums: &[V; TRANSPOSED], first: usize, outputs: usize, out: &mut [f32]) {
    let sums = V::floats(sums);
    if first + TRANSPOSED <= outputs && out.len() == V::WIDTH * outputs {
        let shape = (V::WIDTH, TRANSPOSED);
        transpose_into::<V::Points>(sums, V::WIDTH, shape, &mut out[first..], outputs);
        return;
    }
    for (lane, out) in out.chunks_mut(outputs).enumerate() {
        let slots = out.iter_mut().skip(first);
        for (slot, sum) in slots.zip(sums.iter().skip(lane).step_by(V::WIDTH)) {
            *slot = *sum;
        }
    }
}

/// Lane `l` of row `n` is the sample at `start + n + l·apart`, silence beyond the signal's ends. The number of
/// rows is a multiple of eight.
#[inline(always)]
fn fill<V: Lanes>(tile: &mut [V], signal: &[f32], start: i64, apart: usize) {
    let rows = tile.len();
    let reach = start + (rows + (V::WIDTH - 1) * apart) as i64;
    let tile = V::floats_mut(tile);
    if start >= 0 && reach <= signal.len() as i64 {
        let inside = &signal[start as usize..reach as usize];
        transpose_into::<V::Points>(inside, apart, (rows, V::WIDTH), tile, V::WIDTH);
        return;
    }
    for (n, row) in tile.chunks_exact_mut(V::WIDTH).enumerate() {
        for (l, lane) in row.iter_mut().enumerate() {
            let sample = usize::try_from(start + (n + l * apart) as i64);
            *lane = sample
                .ok()
                .and_then(|at| signal.get(at))
                .copied()
                .unwrap_or(0.0);
        }
    }
}

/// The products of filters with the rows from `at` on, which never fall; each in two partial sums, which
/// are more exact than one, one after the other, so that they fit the registers.
#[inline(always)]
fn dots<V: Lanes>(
    tiles: [&[V]; TILES],
    at: [usize; TOGETHER],
    filters: [&[f32]; TOGETHER],
) -> [[V; TOGETHER]; TILES] {
    let taps = filters[0].len();
    let last = at[TOGETHER - 1];
    // Rows before the last filter begins, rows of all, rows after the first filter has ended.
    let begun = at.map(|at| (last - at).min(taps));
    let shared = taps - begun[0];
    let rows = tiles.map(|tile| &tile[last..][..shared]);
    let weights: [&[f32]; TOGETHER] = std::array::from_fn(|k| &filters[k][begun[k]..][..shared]);
    let mut parts = [[[V::splat(0.0); TOGETHER]; TILES]; 2];
    for k in 0..TOGETHER {
        for tap in (0..begun[k]).chain(begun[k] + shared..taps) {
            let weight = V::splat(filters[k][tap]);
            for (sums, tile) in parts[tap % 2].iter_mut().zip(tiles) {
                sums[k] = tile[at[k] + tap].mul_add(weight, sums[k]);
            }
        }
    }
    if shared % 2 == 1 {
        for k in 0..TOGETHER {
            let weight = V::splat(weights[k][shared - 1]);
            for (sums, rows) in parts[0].iter_mut().zip(rows) {
                sums[k] = rows[shared - 1].mul_add(weight, sums[k]);
            }
        }
    }
    for (half, part) in parts.iter_mut().enumerate() {
        // A copy, or the sums stay in memory.
        let mut sums = *part;
        let [a, b, c, d] = weights.map(|weights| weights.as_chunks::<2>().0.iter());
        let [first, second] = rows.map(|rows| rows.as_chunks::<2>().0.iter());
        let pairs = first.zip(second).zip(a).zip(b).zip(c).zip(d);
        for (((((first, second), a), b), c), d) in pairs {
            for (k, weights) in [a, b, c, d].into_iter().enumerate() {
                let weight = V::splat(weights[half]);
                sums[0][k] = first[half].mul_add(weight, sums[0][k]);
                sums[1][k] = second[half].mul_add(weight, sums[1][k]);
            }
        }
        *part = sums;
    }
    let [mut total, odd] = parts;
    for (total, odd) in total.iter_mut().zip(&odd) {
        for (total, odd) in total.iter_mut().zip(odd) {
            *total = total.add(*odd);
        }
    }
    total
}

fn greatest_common_divisor(mut a: u32, mut b: u32) -> u32 {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::f64::consts::TAU;

    fn tone(rate: u32, hertz: f64, seconds: f64) -> Vec<f32> {
        let count = (f64::from(rate) * seconds) as usize;
        (0..count)
            .map(|n| (TAU * hertz * n as f64 / f64::from(rate)).sin() as f32)
            .collect()
    }

    /// Largest distance from the same tone at the new rate, away from the ends.
    fn error(from: u32, to: u32, hertz: f64, quality: Quality) -> f64 {
        let out = Resampler::new(from, to, quality)
            .unwrap()
            .process(&tone(from, hertz, 0.4));
        let wanted = tone(to, hertz, 0.4);
        let edge = out.len() / 5;
        (edge..out.len() - edge)
            .map(|n| f64::from(out[n] - wanted[n]).abs())
            .fold(0.0, f64::max)
    }

    #[test]
    fn tones_in_the_passband_are_those_of_the_new_rate() {
        for (from, to) in [
            (44_100, 16_000),
            (16_000, 44_100),
            (48_000, 44_100),
            (8_000, 48_000),
            (22_050, 16_000),
            (11_025, 16_000),
        ] {
            let nyquist = f64::from(from.min(to)) / 2.0;
            for share in [0.01, 0.3, 0.7, 0.88] {
                // 0.01 dB is 1.2e-3; f32 coefficients and sums leave some 1e-6.
                let error = error(from, to, share * nyquist, Quality::High);
                assert!(error < 2e-5, "{from} to {to}, {share}: {error}");
            }
            assert!(error(from, to, 0.5 * nyquist, Quality::Fast) < 2e-4);
            assert!(error(from, to, 0.93 * nyquist, Quality::Highest) < 2e-5);
        }
    }

    #[test]
    fn what_the_new_rate_cannot_hold_disappears() {
        // A stop band of 120 dB is 1e-6 of the tone; f32 sums of 450 products round to as much.
        for hertz in [8_100.0, 9_000.0, 12_345.0, 20_000.0] {
            let out = Resampler::new(44_100, 16_000, Quality::High)
                .unwrap()
                .process(&tone(44_100, hertz, 0.3));
            let loudest = out[1000..out.len() - 1000]
                .iter()
                .fold(0.0f32, |peak, x| peak.max(x.abs()));
            assert!(loudest < 2e-6, "{hertz}: {loudest}");
        }
    }

    #[test]
    fn lengths_constants_and_bad_rates() {
        let resampler = Resampler::new(44_100, 16_000, Quality::High).unwrap();
        assert_eq!(resampler.output_length(44_100), 16_000);
        let out = resampler.process(&[0.5; 4410]);
        assert_eq!(out.len(), 1600);
        assert!(out[200..1400].iter().all(|x| (x - 0.5).abs() < 1e-6));
        assert!(resampler.process(&[]).is_empty());
        let same = Resampler::new(8000, 8000, Quality::Fast).unwrap();
        assert_eq!(same.process(&[1.0, -2.0]), [1.0, -2.0]);
        assert!(Resampler::new(0, 8000, Quality::Fast).is_err());
        assert!(Resampler::new(3_999_999_979, 2_999_999_929, Quality::High).is_err());
    }
}
