//! The network of CREPE: how likely each of 360 pitches, 20 cents apart, is in frames of 1024 samples at 16 kHz.
//!
//! Six convolutions, each with rectification, a scale and a shift to a channel, and the larger of two neighbours;
//! then a dense layer. The first convolution goes in steps of four samples: four inputs, one to a phase, in steps
//! of one.

use std::sync::Arc;

use warpsmith_lanes::exp;
use warpsmith_lanes::{Blocks, Lanes, Task, engine_for_this_machine};
use warpsmith_neural::{Dense, LayerShape, SpectralLayer, Weights};
use warpsmith_signal::Result;

/// Samples of a frame.
pub(crate) const FRAME: usize = 1024;
/// Pitches.
pub(crate) const BINS: usize = 360;

/// What the first convolution sees: taps, the samples between its outputs, and zeros before a frame.
const TAPS: usize = 512;
const STRIDE: usize = 4;
const PADDING: usize = 254;
/// Samples of a phase; the zeros before a frame are no multiple of the phases, so that a phase has one more than a
/// quarter of the frame.
const PHASE: usize = FRAME / STRIDE + 1;
/// Taps and zeros before the signal of the other convolutions.
const INNER_TAPS: usize = 64;
const INNER_LEFT: usize = 31;
/// What is added to a variance before the root.
const EPSILON: f64 = 0.001_000_000_047_497_451_3;

/// The network, with scratch memory.
pub(super) trait PitchNetwork: Send + Sync {
    /// Frames that go together.
    fn width(&self) -> usize;
    /// Takes up to so many normalised frames; appends their probabilities, [`BINS`] to a frame.
    fn process(&mut self, frames: &[[f32; FRAME]], out: &mut Vec<f32>);
    /// The same network with scratch memory of its own.
    fn another(&self) -> Box<dyn PitchNetwork>;
}

/// The network for this machine; the weights say whether it is the tiny or the full one, or one between.
pub(super) fn network(weights: &Weights) -> Result<Box<dyn PitchNetwork>> {
    let layers = CrepeLayers::new(weights)?;
    Ok(engine_for_this_machine!(Blocks::Wide, Engine::new(&layers)))
}

/// A convolution with what follows it.
pub(crate) struct CrepeLayer {
    pub(crate) shape: LayerShape,
    /// Inputs of the first position that lie before the frame.
    pub(crate) missing: usize,
    /// As the packages have them: `[output, input, tap]`.
    weights: Vec<f32>,
    pub(crate) bias: Vec<f32>,
    pub(crate) scale: Vec<f32>,
    pub(crate) shift: Vec<f32>,
}

impl CrepeLayer {
    pub(crate) fn weight(&self, output: usize, input: usize, tap: usize) -> f32 {
        let LayerShape { inputs, taps, .. } = self.shape;
        // A phase's taps lie a stride apart.
        let at = if self.missing > 0 {
            tap * inputs + input
        } else {
            input * taps + tap
        };
        self.weights[output * inputs * taps + at]
    }
}

/// All layers of a network.
pub(crate) struct CrepeLayers {
    pub(crate) convolutions: Vec<CrepeLayer>,
    /// Inputs of the dense layer, positions of channels.
    pub(crate) features: usize,
    channels: usize,
    /// As the packages have them: `[pitch, position, channel]`.
    pub(crate) weights: Vec<f32>,
    pub(crate) bias: Vec<f32>,
}

impl CrepeLayers {
    pub(crate) fn new(weights: &Weights) -> Result<Self> {
        let mut convolutions = Vec::new();
        let mut channels = 1;
        let mut positions = FRAME / STRIDE;
        for number in 1..=6 {
            let name = |part: &str| format!("conv{number}{part}");
            let taps = if number == 1 { TAPS } else { INNER_TAPS };
            // Outputs are computed by fours; a file without the tensor fails below.
            let outputs = weights.rows(&name(".weight")).next_multiple_of(4);
            let parameter = |part: &str| weights.take(&name(part), &[outputs]);
            let kernel = weights.take(&name(".weight"), &[outputs, channels, taps, 1])?;
            let (mean, variance) = (
                parameter("_BN.running_mean")?,
                parameter("_BN.running_var")?,
            );
            let scale: Vec<f32> = parameter("_BN.weight")?
                .iter()
                .zip(variance)
                .map(|(gain, variance)| {
                    (f64::from(*gain) / (f64::from(*variance) + EPSILON).sqrt()) as f32
                })
                .collect();
            let shift = parameter("_BN.bias")?.iter().zip(mean).zip(&scale);
            let shift = shift
                .map(|((offset, mean), scale)| offset - mean * scale)
                .collect();
            convolutions.push(CrepeLayer {
                shape: if number == 1 {
                    LayerShape {
                        inputs: STRIDE,
                        outputs,
                        length: PHASE,
                        positions,
                        taps: TAPS / STRIDE,
                        left: PADDING / STRIDE,
                    }
                } else {
                    LayerShape {
                        inputs: channels,
                        outputs,
                        length: positions,
                        positions,
                        taps,
                        left: INNER_LEFT,
                    }
                },
                missing: if number == 1 { PADDING % STRIDE } else { 0 },
                weights: kernel.to_vec(),
                bias: parameter(".bias")?.to_vec(),
                scale,
                shift,
            });
            channels = outputs;
            positions /= 2;
        }
        let features = channels * positions;
        Ok(Self {
            convolutions,
            features,
            channels,
            weights: weights
                .take("classifier.weight", &[BINS, features])?
                .to_vec(),
            bias: weights.take("classifier.bias", &[BINS])?.to_vec(),
        })
    }

    /// The weight of a feature, `[channel, position]`, for a pitch.
    fn dense_weight(&self, pitch: usize, feature: usize) -> f32 {
        let positions = self.features / self.channels;
        let place = feature % positions * self.channels + feature / positions;
        self.weights[pitch * self.features + place]
    }
}

#[derive(Clone)]
struct Engine<V> {
    convolutions: Vec<(SpectralLayer<V>, Vec<[f32; 3]>)>,
    dense: Arc<Dense>,
    /// Inputs and outputs of a layer, `[channel, position]`.
    values: [Vec<V>; 2],
    out: Vec<V>,
}

impl<V: Lanes> Engine<V> {
    fn new(layers: &CrepeLayers) -> Self {
        let mut largest = STRIDE * PHASE;
        let convolutions = layers.convolutions.iter().map(|layer| {
            let LayerShape {
                outputs, positions, ..
            } = layer.shape;
            largest = largest.max(outputs * positions / 2);
            let spectral = SpectralLayer::new(layer.shape, &|output, input, tap| {
                layer.weight(output, input, tap)
            });
            let affine = layer.bias.iter().zip(&layer.scale).zip(&layer.shift);
            let affine = affine.map(|((bias, scale), shift)| [*bias, *scale, *shift]);
            (spectral, affine.collect())
        });
        let convolutions = convolutions.collect();
        let zeros = |length: usize| vec![V::splat(0.0); length];
        Self {
            convolutions,
            dense: Arc::new(Dense::new(
                layers.features,
                &layers.bias,
                &|pitch, feature| layers.dense_weight(pitch, feature),
            )),
            values: [zeros(largest), zeros(largest)],
            out: zeros(BINS),
        }
    }
}

impl<V: Lanes> PitchNetwork for Engine<V> {
    fn another(&self) -> Box<dyn PitchNetwork> {
        Box::new(self.clone())
    }

    fn width(&self) -> usize {
        V::WIDTH
    }

    fn process(&mut self, frames: &[[f32; FRAME]], out: &mut Vec<f32>) {
        let [from, to] = &mut self.values;
        let lanes = V::floats_mut(from);
        lanes.fill(0.0);
        for (lane, frame) in frames.iter().enumerate() {
            for (n, sample) in frame.iter().enumerate() {
                // Phases start with the sample that the first output's first taps see, but for whole steps.
                let at = n + PADDING % STRIDE;
                let place = at % STRIDE * PHASE + at / STRIDE;
                lanes[place * V::WIDTH + lane] = *sample;
            }
        }
        let (mut from, mut to, mut length) = (from, to, STRIDE * PHASE);
        for (layer, affine) in &mut self.convolutions {
            let mut written = 0;
            layer.apply(&from[..length], |channel, x| {
                let pooled = x.len() / 2;
                let out = &mut to[channel * pooled..][..pooled];
                V::vectorize(PoolTask {
                    affine: affine[channel],
                    x,
                    out,
                });
                written += pooled;
            });
            length = written;
            std::mem::swap(&mut from, &mut to);
        }
        self.dense
            .apply(0, &from[..length], f32::MIN, &mut self.out);
        let lanes = V::floats(&self.out);
        for lane in 0..frames.len() {
            let logits = lanes[lane..].iter().step_by(V::WIDTH);
            out.extend(logits.map(|x| 1.0 / (1.0 + exp(-x))));
        }
    }
}

/// Bias, rectification, scale and shift, and the larger of two.
struct PoolTask<'a, V> {
    affine: [f32; 3],
    x: &'a [V],
    out: &'a mut [V],
}

impl<V: Lanes> Task for PoolTask<'_, V> {
    #[inline(always)]
    fn run(self) {
        let [bias, scale, shift] = self.affine.map(V::splat);
        for (out, pair) in self.out.iter_mut().zip(self.x.as_chunks::<2>().0) {
            let [a, b] = pair.map(|x| x.add(bias).max(V::splat(0.0)).mul_add(scale, shift));
            *out = a.max(b);
        }
    }
}
