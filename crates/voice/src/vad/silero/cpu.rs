//! The network of Silero VAD 6 for 16 kHz: the probability of speech in chunks of 512 samples, each heard
//! with the 64 samples before it.
//!
//! Spectra, four convolutions and a chunk's share of the LSTM's gates know nothing of other chunks: they are
//! computed with chunks in the lanes. The LSTM goes from chunk to chunk, with its gates in the lanes.

use std::f64::consts::TAU;
use std::sync::Arc;

use warpsmith_lanes::exp;
use warpsmith_lanes::{Blocks, Lanes, Task, engine_for_this_machine};
use warpsmith_neural::{Dense, Weights};
use warpsmith_signal::{RealBlock, Result};

use crate::frame::window_task::WindowTask;

/// Samples that a probability is about.
pub(crate) const CHUNK: usize = 512;
/// Samples before them that are heard, too.
pub(super) const CONTEXT: usize = 64;
/// Samples after them, which mirror the last.
const MIRRORED: usize = 64;
/// Windows of a chunk's spectra.
pub(crate) const WINDOW: usize = 256;
const HOP: usize = 128;
const SPECTRA: usize = 4;
pub(crate) const BINS: usize = 129;
/// Numbers that the LSTM remembers.
pub(crate) const UNITS: usize = 128;
pub(crate) const GATES: usize = 4 * UNITS;

/// Silero's network, planned once for any number of detectors.
#[derive(Clone)]
pub struct SileroNetwork(Arc<Layers>);

impl SileroNetwork {
    /// The network with the weights of the package `silero-vad`, its `silero_vad.jit`.
    pub fn new(weights: &Weights) -> Result<Self> {
        Ok(Self(Arc::new(Layers::new(weights)?)))
    }

    /// The network for this machine, which has heard nothing.
    pub(super) fn listener(&self) -> Box<dyn SpeechNetwork> {
        engine_for_this_machine!(Blocks::Wide, Engine::new(Arc::clone(&self.0)))
    }

    pub(crate) fn layers(&self) -> &Layers {
        &self.0
    }
}

/// The network with what it remembers of a signal.
pub(super) trait SpeechNetwork: Send {
    /// Takes whole chunks, and before them the [`CONTEXT`]; appends their probabilities.
    fn process(&mut self, samples: &[f32], out: &mut Vec<f32>);
    /// Forgets the signal.
    fn reset(&mut self);
}

pub(crate) struct Layers {
    /// Of the spectra.
    pub(crate) window: Vec<f32>,
    /// Of three taps, inputs `[tap, channel]`.
    pub(crate) convolutions: [Dense; 4],
    pub(crate) gates: Dense,
    /// From what is remembered to the gates, `[unit, gate]`.
    pub(crate) recurrent: Vec<f32>,
    pub(crate) head: Vec<f32>,
    pub(crate) head_bias: f32,
}

/// Strides and channels of the convolutions' results.
const CONVOLUTIONS: [(usize, usize); 4] = [(1, 128), (2, 64), (2, 64), (1, UNITS)];

impl Layers {
    fn new(weights: &Weights) -> Result<Self> {
        let basis = weights.take("_model.stft.forward_basis_buffer", &[2 * BINS, 1, WINDOW])?;
        let window = &basis[..WINDOW];
        // Weights that were trained, too, would be no transform of a windowed signal.
        let is_transform = basis.iter().enumerate().all(|(at, value)| {
            let (row, n) = (at / WINDOW, at % WINDOW);
            let angle = TAU * (row % BINS * n % WINDOW) as f64 / WINDOW as f64;
            let wave = if row < BINS {
                angle.cos()
            } else {
                -angle.sin()
            };
            (f64::from(*value) - f64::from(window[n]) * wave).abs() < 1e-6
        });
        if !is_transform {
            return Err(weights.unlike("its spectra are not those of version 6"));
        }
        let convolution = |number: usize, inputs: usize, outputs: usize| -> Result<Dense> {
            let name = |part: &str| format!("_model.encoder.{number}.reparam_conv.{part}");
            let taps = weights.take(&name("weight"), &[outputs, inputs, 3])?;
            let bias = weights.take(&name("bias"), &[outputs])?;
            Ok(Dense::new(3 * inputs, bias, &|output, input| {
                taps[(output * inputs + input % inputs) * 3 + input / inputs]
            }))
        };
        let decoder =
            |part: &str, shape: &[usize]| weights.take(&format!("_model.decoder.{part}"), shape);
        let from_input = decoder("rnn.weight_ih", &[GATES, UNITS])?;
        let from_memory = decoder("rnn.weight_hh", &[GATES, UNITS])?;
        let biases = [
            decoder("rnn.bias_ih", &[GATES])?,
            decoder("rnn.bias_hh", &[GATES])?,
        ];
        let bias: Vec<f32> = biases[0]
            .iter()
            .zip(biases[1])
            .map(|(a, b)| a + b)
            .collect();
        Ok(Self {
            window: window.to_vec(),
            convolutions: [
                convolution(0, BINS, CONVOLUTIONS[0].1)?,
                convolution(1, CONVOLUTIONS[0].1, CONVOLUTIONS[1].1)?,
                convolution(2, CONVOLUTIONS[1].1, CONVOLUTIONS[2].1)?,
                convolution(3, CONVOLUTIONS[2].1, CONVOLUTIONS[3].1)?,
            ],
            gates: Dense::new(UNITS, &bias, &|gate, unit| from_input[gate * UNITS + unit]),
            recurrent: (0..UNITS * GATES)
                .map(|n| from_memory[n % GATES * UNITS + n / GATES])
                .collect(),
            head: decoder("decoder.2.weight", &[1, UNITS, 1])?.to_vec(),
            head_bias: decoder("decoder.2.bias", &[1])?[0],
        })
    }
}

struct Engine<V> {
    layers: Arc<Layers>,
    /// Of chunks: samples, spectra, then results of one layer after another.
    samples: Vec<V>,
    transform: RealBlock<V>,
    bins: Vec<[V; 2]>,
    values: [Vec<V>; 2],
    gates: Vec<V>,
    memory: Memory,
}

/// What the LSTM remembers.
#[derive(Clone)]
struct Memory {
    hidden: [f32; UNITS],
    cell: [f32; UNITS],
}

impl Memory {
    const NOTHING: Self = Self {
        hidden: [0.0; UNITS],
        cell: [0.0; UNITS],
    };
}

impl<V: Lanes> Engine<V> {
    fn new(layers: Arc<Layers>) -> Self {
        let zeros = |length: usize| vec![V::splat(0.0); length];
        Self {
            layers,
            samples: zeros(CONTEXT + CHUNK + MIRRORED),
            transform: RealBlock::new(WINDOW),
            bins: vec![[V::splat(0.0); 2]; BINS],
            values: [zeros(SPECTRA * BINS), zeros(SPECTRA * BINS)],
            gates: zeros(GATES),
            memory: Memory::NOTHING,
        }
    }

    /// The chunks' share of the gates, chunks in the lanes; lanes after the last chunk are silent.
    fn hear(&mut self, samples: &[f32]) {
        let lanes = V::floats_mut(&mut self.samples);
        lanes.fill(0.0);
        let chunks = samples.windows(CONTEXT + CHUNK).step_by(CHUNK);
        for (lane, chunk) in chunks.enumerate() {
            for (slot, sample) in lanes[lane..].iter_mut().step_by(V::WIDTH).zip(chunk) {
                *slot = *sample;
            }
        }
        let (heard, mirrored) = self.samples.split_at_mut(CONTEXT + CHUNK);
        for (slot, sample) in mirrored.iter_mut().zip(heard.iter().rev().skip(1)) {
            *slot = *sample;
        }
        let layers = &*self.layers;
        let [x, y] = &mut self.values;
        let windows = self.samples.windows(WINDOW).step_by(HOP);
        for (samples, magnitudes) in windows.zip(x.chunks_exact_mut(BINS)) {
            V::vectorize(WindowTask {
                window: &layers.window,
                samples,
                out: self.transform.samples_mut(),
            });
            self.transform.forward(&mut self.bins);
            let bins = &self.bins;
            V::vectorize(MagnitudeTask { bins, magnitudes });
        }
        let (mut from, mut to, mut length) = (x, y, SPECTRA * BINS);
        let mut positions = SPECTRA;
        for (layer, (stride, channels)) in layers.convolutions.iter().zip(CONVOLUTIONS) {
            positions = positions.div_ceil(stride);
            layer.convolve3(stride, &from[..length], &mut to[..positions * channels]);
            length = positions * channels;
            std::mem::swap(&mut from, &mut to);
        }
        layers
            .gates
            .apply(0, &from[..length], f32::MIN, &mut self.gates);
    }
}

impl<V: Lanes> SpeechNetwork for Engine<V> {
    fn process(&mut self, samples: &[f32], out: &mut Vec<f32>) {
        let chunks = samples.len().saturating_sub(CONTEXT) / CHUNK;
        for first in (0..chunks).step_by(V::WIDTH) {
            let count = V::WIDTH.min(chunks - first);
            self.hear(&samples[first * CHUNK..][..CONTEXT + count * CHUNK]);
            for lane in 0..count {
                let mut probability = 0.0;
                V::vectorize(StepTask {
                    layers: &self.layers,
                    gates: &self.gates,
                    lane,
                    memory: &mut self.memory,
                    probability: &mut probability,
                });
                out.push(probability);
            }
        }
    }

    fn reset(&mut self) {
        self.memory = Memory::NOTHING;
    }
}

struct MagnitudeTask<'a, V> {
    bins: &'a [[V; 2]],
    magnitudes: &'a mut [V],
}

impl<V: Lanes> Task for MagnitudeTask<'_, V> {
    #[inline(always)]
    fn run(self) {
        for (magnitude, [re, im]) in self.magnitudes.iter_mut().zip(self.bins) {
            *magnitude = re.mul_add(*re, im.mul(*im)).sqrt();
        }
    }
}

/// One chunk through the LSTM and the head.
struct StepTask<'a, V> {
    layers: &'a Layers,
    gates: &'a [V],
    lane: usize,
    memory: &'a mut Memory,
    probability: &'a mut f32,
}

/// Vectors of gates that are summed up together.
const TOGETHER: usize = 8;

impl<V: Lanes> Task for StepTask<'_, V> {
    #[inline(always)]
    fn run(self) {
        let mut gates = [0.0f32; GATES];
        let lanes = V::floats(self.gates)[self.lane..].iter();
        for (gate, value) in gates.iter_mut().zip(lanes.step_by(V::WIDTH)) {
            *gate = *value;
        }
        let Memory { hidden, cell } = self.memory;
        for (group, gates) in gates.chunks_exact_mut(TOGETHER * V::WIDTH).enumerate() {
            let mut sums: [V; TOGETHER] = std::array::from_fn(|n| V::load(&gates[n * V::WIDTH..]));
            for (row, hidden) in self.layers.recurrent.chunks_exact(GATES).zip(&*hidden) {
                let row = &row[group * TOGETHER * V::WIDTH..][..TOGETHER * V::WIDTH];
                for (n, sum) in sums.iter_mut().enumerate() {
                    *sum = V::splat(*hidden).mul_add(V::load(&row[n * V::WIDTH..]), *sum);
                }
            }
            for (n, sum) in sums.iter().enumerate() {
                sum.store(&mut gates[n * V::WIDTH..]);
            }
        }
        let (gates, _) = gates.as_chunks::<UNITS>();
        for unit in 0..UNITS {
            let [input, forget, new, output] = [0, 1, 2, 3].map(|gate| gates[gate][unit]);
            cell[unit] = sigmoid(forget) * cell[unit] + sigmoid(input) * tanh(new);
            hidden[unit] = sigmoid(output) * tanh(cell[unit]);
        }
        let sum: f32 = hidden
            .iter()
            .zip(&self.layers.head)
            .map(|(h, w)| h.max(0.0) * w)
            .sum();
        *self.probability = sigmoid(sum + self.layers.head_bias);
    }
}

#[inline(always)]
fn sigmoid(x: f32) -> f32 {
    1.0 / (1.0 + exp(-x))
}

#[inline(always)]
fn tanh(x: f32) -> f32 {
    1.0 - 2.0 / (1.0 + exp(2.0 * x))
}
