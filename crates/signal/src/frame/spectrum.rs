//! From samples to the spectra of a block of frames: framing, conditioning, window, transform.

use std::marker::PhantomData;

use serde::{Deserialize, Serialize};
use warpsmith_lanes::{Lanes, Task};

use super::framing::{Framing, check_frame_length};
use super::tile::Tile;
use super::window::{Symmetry, Window};
use crate::error::{Result, SignalError};
use crate::fourier::{Inlet, Outlet, RealBlock};

/// What is done to a frame before its window, as Kaldi does it: per frame, so that a frame's result
/// does not depend on its predecessors.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Conditioning {
    /// Subtract the frame's mean.
    pub remove_dc: bool,
    /// `x[n] − c·x[n−1]`, the first sample standing in for its own predecessor; 0 for none.
    pub preemphasis: f32,
}

/// How the spectra of frames are made.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct SpectrumSettings {
    /// Where the frames lie.
    pub framing: Framing,
    /// Points of the transform, at least the frame's length; the rest is zeros.
    pub transform: usize,
    /// The window's shape.
    pub window: Window,
    /// Samples under the window, centred in the frame.
    pub window_length: usize,
    /// Periodic or symmetric.
    pub symmetry: Symmetry,
    /// What is done before the window.
    pub conditioning: Conditioning,
}

impl SpectrumSettings {
    /// Number of bins from zero to half the sample rate.
    #[inline]
    pub fn bins(&self) -> usize {
        self.transform / 2 + 1
    }

    /// Checks the sizes against each other.
    pub fn checked(self) -> Result<Self> {
        self.framing.checked()?;
        check_frame_length("transform length", self.transform)?;
        if self.transform < self.framing.length {
            return Err(SignalError::parameter(
                "transform length",
                self.transform,
                format!("the frame has {} samples", self.framing.length),
            ));
        }
        if self.window_length == 0 || self.window_length > self.framing.length {
            return Err(SignalError::parameter(
                "window length",
                self.window_length,
                format!(
                    "it must be between 1 and the frame's {}",
                    self.framing.length
                ),
            ));
        }
        Ok(self)
    }
}

/// Tables and scratch memory for the spectra of `V::WIDTH` frames at a time.
#[derive(Clone)]
pub struct FrameSpectrum<V> {
    settings: SpectrumSettings,
    window: Vec<f32>,
    tile: Tile,
    transform: RealBlock<V>,
    bins: Vec<[V; 2]>,
}

impl<V: Lanes> FrameSpectrum<V> {
    /// Tables for checked settings.
    pub fn new(settings: SpectrumSettings) -> Self {
        let length = settings.framing.length;
        Self {
            settings,
            window: settings
                .window
                .centred(settings.window_length, length, settings.symmetry),
            tile: Tile::new(settings.framing, V::WIDTH),
            transform: RealBlock::new(settings.transform),
            bins: vec![[V::splat(0.0); 2]; settings.bins()],
        }
    }

    /// The spectra of the frames from `first` on, every bin to `outlet`.
    pub fn block_to(&mut self, signal: &[f32], first: usize, mut outlet: impl Outlet<[V; 2]>) {
        if const { V::WIDTH == 1 } {
            for (k, bin) in self.block(signal, first).iter().enumerate() {
                outlet.put(k, *bin);
            }
            return;
        }
        if self.plain() {
            V::vectorize(FillTask {
                tile: &mut self.tile,
                signal,
                first,
                lanes: PhantomData::<V>,
            });
            let (tile, window) = (&self.tile, &self.window[..]);
            self.transform
                .forward_from(Windowed { tile, window }, outlet);
            return;
        }
        V::vectorize(WindowTask {
            spectrum: self,
            signal,
            first,
        });
        self.transform.forward_to(outlet);
    }

    /// Whether nothing but the window comes between the samples and a transform of several frames.
    fn plain(&self) -> bool {
        let transform = self.settings.transform;
        V::WIDTH > 1
            && self.settings.conditioning == Conditioning::default()
            && self.window.len() == transform
            && transform.is_multiple_of(2)
    }

    /// The spectra of the frames from `first` on, bins lowest first, for the caller to do with as it likes.
    pub fn block(&mut self, signal: &[f32], first: usize) -> &mut [[V; 2]] {
        if const { V::WIDTH == 1 } {
            V::vectorize(WindowTask {
                spectrum: self,
                signal,
                first,
            });
            self.transform.forward(&mut self.bins);
        } else {
            let mut bins = std::mem::take(&mut self.bins);
            self.block_to(signal, first, &mut bins[..]);
            self.bins = bins;
        }
        &mut self.bins
    }

    /// The frames from `first` on, conditioned and windowed, to where the transform wants them.
    #[inline(always)]
    fn window(&mut self, signal: &[f32], first: usize) {
        self.tile.fill::<V>(signal, first);
        let conditioning = self.settings.conditioning;
        let samples = self.transform.samples_mut();
        let (inside, beyond) = samples.split_at_mut(self.window.len());
        if conditioning == Conditioning::default() && const { V::WIDTH == 1 } {
            let slots = V::floats_mut(inside).iter_mut();
            for ((slot, x), weight) in slots.zip(self.tile.alone()).zip(&self.window) {
                *slot = x * weight;
            }
        } else if conditioning == Conditioning::default() {
            for (n, (slot, weight)) in inside.iter_mut().zip(&self.window).enumerate() {
                *slot = self.tile.sample::<V>(n).mul(V::splat(*weight));
            }
        } else {
            condition(conditioning, &self.tile, inside);
            for (slot, weight) in inside.iter_mut().zip(&self.window) {
                *slot = slot.mul(V::splat(*weight));
            }
        }
        for slot in beyond {
            *slot = V::splat(0.0);
        }
    }
}

/// The windowed samples of a block's frames, two neighbours at a time.
struct Windowed<'a> {
    tile: &'a Tile,
    window: &'a [f32],
}

impl<V: Lanes> Inlet<[V; 2]> for Windowed<'_> {
    #[inline(always)]
    fn get(&self, pair: usize) -> [V; 2] {
        let [even, odd]: [V; 2] = [self.tile.sample(2 * pair), self.tile.sample(2 * pair + 1)];
        let [first, second] = [self.window[2 * pair], self.window[2 * pair + 1]];
        [even.mul(V::splat(first)), odd.mul(V::splat(second))]
    }
}

struct FillTask<'a, V> {
    tile: &'a mut Tile,
    signal: &'a [f32],
    first: usize,
    lanes: PhantomData<V>,
}

impl<V: Lanes> Task for FillTask<'_, V> {
    #[inline(always)]
    fn run(self) {
        self.tile.fill::<V>(self.signal, self.first);
    }
}

struct WindowTask<'a, V> {
    spectrum: &'a mut FrameSpectrum<V>,
    signal: &'a [f32],
    first: usize,
}

impl<V: Lanes> Task for WindowTask<'_, V> {
    #[inline(always)]
    fn run(self) {
        self.spectrum.window(self.signal, self.first);
    }
}

/// Removes the mean and emphasises high frequencies, frame by frame.
#[inline(always)]
fn condition<V: Lanes>(conditioning: Conditioning, tile: &Tile, out: &mut [V]) {
    let mut sum = V::splat(0.0);
    for (n, slot) in out.iter_mut().enumerate() {
        *slot = tile.sample(n);
        sum = sum.add(*slot);
    }
    if conditioning.remove_dc {
        let mean = sum.mul(V::splat(1.0 / out.len() as f32));
        for slot in out.iter_mut() {
            *slot = slot.sub(mean);
        }
    }
    let coefficient = V::splat(conditioning.preemphasis);
    let mut previous = out[0];
    for slot in out.iter_mut() {
        let current = *slot;
        *slot = previous.neg_mul_add(coefficient, current);
        previous = current;
    }
}
