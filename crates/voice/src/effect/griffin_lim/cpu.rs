//! Griffin and Lim's alternation on the CPU: the specification.

use warpsmith_lanes::{Blocks, Lanes, Task, engine_for_this_machine, inverse_sqrt, with_widest};
use warpsmith_signal::{
    FrameSpectrum, Outlet, OverlapAdd, Result, SignalError, SpectrumSettings, invertible,
};

use crate::spectrum::Stft;

/// The choices of a reconstruction; the default is librosa's.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct GriffinLim {
    /// Rounds.
    pub iterations: usize,
    /// 0 is the plain alternation; below 1.
    pub momentum: f32,
    /// What the first phases follow from.
    pub seed: u64,
}

impl Default for GriffinLim {
    fn default() -> Self {
        Self {
            iterations: 32,
            momentum: 0.99,
            seed: 1,
        }
    }
}

impl GriffinLim {
    /// The signal of `samples` samples whose magnitudes are near the `[bin, frame]` matrix.
    pub fn reconstruct(
        &self,
        magnitudes: &[f32],
        settings: SpectrumSettings,
        samples: usize,
    ) -> Result<Vec<f32>> {
        let settings = invertible(settings)?;
        let (bins, frames) = (settings.bins(), settings.framing.count(samples));
        SignalError::expect_size("the spectrogram", magnitudes.len(), bins * frames)?;
        let mut signal = vec![0.0; samples];
        if frames == 0 {
            return Ok(signal);
        }
        let mut rounds: Box<dyn Rounds> =
            engine_for_this_machine!(Blocks::Wide, Engine::new(&settings, magnitudes, frames));
        rounds.begin(self.seed, &mut signal);
        // Where the last two rounds lead: spectra are linear, so that this is said of signals.
        let mut ahead = signal.clone();
        let mut next = signal.clone();
        let inertia = self.momentum / (1.0 + self.momentum);
        for _ in 0..self.iterations {
            rounds.round(&ahead, &mut next);
            with_widest(Ahead {
                next: &next,
                signal: &signal,
                inertia,
                ahead: &mut ahead,
            });
            std::mem::swap(&mut signal, &mut next);
        }
        Ok(signal)
    }
}

/// The signal of a round less some of the one before.
struct Ahead<'a> {
    next: &'a [f32],
    signal: &'a [f32],
    inertia: f32,
    ahead: &'a mut [f32],
}

impl Task for Ahead<'_> {
    #[inline(always)]
    fn run(self) {
        let signals = self.next.iter().zip(self.signal);
        for (slot, (next, signal)) in self.ahead.iter_mut().zip(signals) {
            *slot = next - self.inertia * signal;
        }
    }
}

trait Rounds {
    /// The signal of the magnitudes with phases that are drawn evenly, the same for the same seed.
    fn begin(&mut self, seed: u64, out: &mut [f32]);
    /// The signal of the magnitudes with the phases of `signal`.
    fn round(&mut self, signal: &[f32], out: &mut [f32]);
}

struct Engine<V: Lanes> {
    frames: usize,
    /// `[block, bin]`; none after the last frame.
    magnitudes: Vec<V>,
    analysis: FrameSpectrum<V>,
    bins: Vec<[V; 2]>,
    overlap: OverlapAdd<V>,
}

impl<V: Lanes> Engine<V> {
    fn new(settings: &SpectrumSettings, magnitudes: &[f32], frames: usize) -> Self {
        let bins = settings.bins();
        let mut in_lanes = vec![V::splat(0.0); bins * frames.div_ceil(V::WIDTH)];
        for (k, row) in magnitudes.chunks_exact(frames).enumerate() {
            for (block, row) in row.chunks(V::WIDTH).enumerate() {
                let mut lanes = [0.0; 16];
                lanes[..row.len()].copy_from_slice(row);
                in_lanes[block * bins + k] = V::load(&lanes);
            }
        }
        Self {
            frames,
            magnitudes: in_lanes,
            analysis: FrameSpectrum::new(*settings),
            bins: vec![[V::splat(0.0); 2]; bins],
            overlap: OverlapAdd::new(settings),
        }
    }
}

impl<V: Lanes> Rounds for Engine<V> {
    fn begin(&mut self, seed: u64, out: &mut [f32]) {
        let count = self.magnitudes.len() / self.frames.div_ceil(V::WIDTH);
        let blocks = self.magnitudes.chunks_exact(count);
        for (first, magnitudes) in (0..self.frames).step_by(V::WIDTH).zip(blocks) {
            for (k, (bin, magnitude)) in self.bins.iter_mut().zip(magnitudes).enumerate() {
                let (mut cosines, mut sines) = ([0.0f32; 16], [0.0f32; 16]);
                let lanes = cosines.iter_mut().zip(&mut sines).take(V::WIDTH);
                for (lane, (cos, sin)) in lanes.enumerate() {
                    let number = k * self.frames + first + lane;
                    (*cos, *sin) = direction(seed, number as u64);
                }
                *bin = [
                    magnitude.mul(V::load(&cosines)),
                    magnitude.mul(V::load(&sines)),
                ];
            }
            self.overlap.add(&self.bins, (first, self.frames), out);
        }
    }

    fn round(&mut self, signal: &[f32], out: &mut [f32]) {
        let count = self.magnitudes.len() / self.frames.div_ceil(V::WIDTH);
        let blocks = self.magnitudes.chunks_exact(count);
        for (first, magnitudes) in (0..self.frames).step_by(V::WIDTH).zip(blocks) {
            let bins = &mut self.bins[..];
            let outlet = Projection { bins, magnitudes };
            self.analysis.block_to(signal, first, outlet);
            self.overlap.add(&self.bins, (first, self.frames), out);
        }
    }
}

/// Bins with the magnitudes that are wanted and the directions that they come with.
struct Projection<'a, V> {
    bins: &'a mut [[V; 2]],
    magnitudes: &'a [V],
}

impl<V: Lanes> Outlet<[V; 2]> for Projection<'_, V> {
    #[inline(always)]
    fn put(&mut self, bin: usize, [re, im]: [V; 2]) {
        let power = im.mul_add(im, re.mul(re));
        let inverse = inverse_sqrt(power.max(V::splat(f32::MIN_POSITIVE)));
        let scale = self.magnitudes[bin].mul(inverse);
        self.bins[bin] = [re.mul(scale), im.mul(scale)];
    }
}

/// Cosine and sine of an angle that is drawn for value `number` of the matrix.
fn direction(seed: u64, number: u64) -> (f32, f32) {
    // SplitMix64: one multiplication chain to a number, every seed good.
    let mut z = seed.wrapping_add((number + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15));
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    let turn = ((z ^ (z >> 31)) >> 40) as f32 / (1u32 << 24) as f32;
    let (sin, cos) = (std::f32::consts::TAU * turn).sin_cos();
    (cos, sin)
}

/// How far the magnitudes of `signal` are from `magnitudes`: `20·log10(‖|X| − S‖/‖S‖)`.
pub fn spectral_convergence_db(
    signal: &[f32],
    magnitudes: &[f32],
    settings: SpectrumSettings,
) -> Result<f64> {
    let mut stft = Stft::new(settings)?;
    let (bins, frames) = stft.shape(signal.len());
    SignalError::expect_size("the spectrogram", magnitudes.len(), bins * frames)?;
    let mut found = vec![0.0f32; bins * frames];
    stft.density(signal, crate::spectrum::Density::Magnitude, &mut found)?;
    let (mut distance, mut total) = (0.0f64, 0.0f64);
    for (a, b) in found.iter().zip(magnitudes) {
        distance += f64::from(a - b).powi(2);
        total += f64::from(*b).powi(2);
    }
    Ok(10.0 * (distance / total.max(f64::MIN_POSITIVE)).log10())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::effect::StretchSettings;
    use crate::spectrum::Density;

    #[test]
    fn rounds_bring_the_magnitudes_closer() {
        let settings = StretchSettings {
            transform: 512,
            hop: 128,
        }
        .spectrum();
        let signal: Vec<f32> = (0..8000)
            .map(|n| {
                let t = n as f32 / 16_000.0;
                let sweep = 300.0 * t + 400.0 * t * t;
                (1..8)
                    .map(|k| (std::f32::consts::TAU * sweep * k as f32).sin() / k as f32)
                    .sum::<f32>()
                    * 0.2
            })
            .collect();
        let mut stft = Stft::new(settings).unwrap();
        let (bins, frames) = stft.shape(signal.len());
        let mut magnitudes = vec![0.0; bins * frames];
        stft.density(&signal, Density::Magnitude, &mut magnitudes)
            .unwrap();
        let after = |iterations: usize, momentum: f32| {
            let out = GriffinLim {
                iterations,
                momentum,
                seed: 7,
            }
            .reconstruct(&magnitudes, settings, signal.len())
            .unwrap();
            spectral_convergence_db(&out, &magnitudes, settings).unwrap()
        };
        let (start, plain, fast) = (after(0, 0.0), after(32, 0.0), after(32, 0.99));
        assert!(plain < start - 5.0, "{start} {plain}");
        assert!(fast < plain - 2.0, "{plain} {fast}");
        let nothing = GriffinLim::default()
            .reconstruct(&[0.0; 2 * 257], settings, 200)
            .unwrap();
        assert_eq!(nothing, [0.0; 200]);
    }
}
