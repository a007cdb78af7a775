//! Voice activity by a network that was trained on speech of many languages, Silero VAD 6, with its own weights.
//!
//! Speech starts where the probability reaches one bound and ends where it falls below a lower one. Chunks below
//! −90 dBFS, the last of 16 bits, are never speech, whatever the network says of them.

use std::borrow::Cow;

use super::silero::{self, CHUNK, CONTEXT, SpeechNetwork};
use crate::error::Result;
use crate::level::energy;
use crate::neural::Weights;
use crate::signal::{Quality, Resampler};

/// What the network was trained at.
const RATE: u32 = 16_000;
/// Samples to a decision: 10 ms.
const HOP: usize = 160;
/// The mean square of silence: −90 dBFS. Speech of a meeting, far from the microphone, is at −75.
const SILENCE: f32 = 1e-9;

/// Bounds of the probability.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct NeuralSettings {
    /// Speech starts where it is at least this.
    pub start: f32,
    /// Speech ends where it is less.
    pub end: f32,
}

impl Default for NeuralSettings {
    fn default() -> Self {
        Self::from_threshold(0.15)
    }
}

impl NeuralSettings {
    /// Speech that starts at this probability, and ends at a third of it. Silero's own scripts take 0.5, which misses
    /// much of what labellers of meetings call speech, the more so in noise; the default lies just above what the
    /// network says of noise alone.
    pub fn from_threshold(start: f32) -> Self {
        let end = start / 3.0;
        Self { start, end }
    }
}

/// A detector of a sound that is still arriving, at 16 kHz: any cutting into pieces gives the bits of the whole.
pub struct NeuralStream {
    network: Box<dyn SpeechNetwork>,
    settings: NeuralSettings,
    /// What the next chunks are heard with, and their samples so far.
    waiting: Vec<f32>,
    received: usize,
    chunks: usize,
    speaking: bool,
    /// Decisions that were handed out, and those about 10 ms whose end has not arrived.
    decided: usize,
    pending: Vec<bool>,
}

impl NeuralStream {
    /// A detector with the weights of the package `silero-vad`, its `silero_vad.jit`.
    pub fn new(weights: &Weights, settings: NeuralSettings) -> Result<Self> {
        Ok(Self {
            network: silero::network(weights)?,
            settings,
            waiting: vec![0.0; CONTEXT],
            received: 0,
            chunks: 0,
            speaking: false,
            decided: 0,
            pending: Vec::new(),
        })
    }

    /// Takes the next samples; appends a decision to each 10 ms that are heard to the end.
    pub fn process(&mut self, piece: &[f32], out: &mut Vec<bool>) {
        self.received += piece.len();
        self.waiting.extend_from_slice(piece);
        let mut probabilities = Vec::new();
        self.network.process(&self.waiting, &mut probabilities);
        self.decide(&probabilities, out);
    }

    /// Ends the sound; appends the decisions that are left. Its last chunk is heard with zeros behind it; 10 ms that
    /// are not full are not decided.
    pub fn finish(mut self, out: &mut Vec<bool>) {
        self.close(out);
    }

    fn close(&mut self, out: &mut Vec<bool>) {
        fill_up(&mut self.waiting);
        let mut probabilities = Vec::new();
        self.network.process(&self.waiting, &mut probabilities);
        self.decide(&probabilities, out);
    }

    fn restart(&mut self) {
        self.network.reset();
        self.waiting.clear();
        self.waiting.resize(CONTEXT, 0.0);
        (self.received, self.chunks, self.decided) = (0, 0, 0);
        self.speaking = false;
        self.pending.clear();
    }

    /// Decides about the chunks with these probabilities, which are the first of those that wait.
    fn decide(&mut self, probabilities: &[f32], out: &mut Vec<bool>) {
        for (chunk, probability) in self.waiting[CONTEXT..].chunks(CHUNK).zip(probabilities) {
            let bound = if self.speaking {
                self.settings.end
            } else {
                self.settings.start
            };
            self.speaking = *probability >= bound && energy(chunk) > SILENCE * CHUNK as f32;
            self.chunks += 1;
            // A decision is that of the chunk with the middle of its 10 ms.
            while (self.decided + self.pending.len()) * HOP + HOP / 2 < self.chunks * CHUNK {
                self.pending.push(self.speaking);
            }
        }
        let full = self.received / HOP - self.decided;
        let ready = full.min(self.pending.len());
        out.extend(self.pending.drain(..ready));
        self.decided += ready;
        self.waiting.drain(..probabilities.len() * CHUNK);
    }
}

/// A planned detector for whole signals.
pub struct NeuralVad {
    stream: NeuralStream,
    resampler: Option<Resampler>,
}

impl NeuralVad {
    /// A detector for signals at `sample_rate`, with the weights of the package `silero-vad`.
    pub fn new(weights: &Weights, sample_rate: u32, settings: NeuralSettings) -> Result<Self> {
        let resampler = (sample_rate != RATE)
            .then(|| Resampler::new(sample_rate, RATE, Quality::High))
            .transpose()?;
        Ok(Self {
            stream: NeuralStream::new(weights, settings)?,
            resampler,
        })
    }

    /// A detector of a sound that is still arriving, at 16 kHz, with the same bounds.
    pub fn into_stream(mut self) -> NeuralStream {
        self.stream.restart();
        self.stream
    }

    /// The probability of speech in each 32 ms, the network's own number; the last are filled up with zeros.
    pub fn probabilities(&mut self, signal: &[f32]) -> Vec<f32> {
        let mut samples = vec![0.0; CONTEXT];
        samples.extend_from_slice(&self.at_rate(signal));
        fill_up(&mut samples);
        let mut out = Vec::with_capacity(samples.len() / CHUNK);
        self.stream.network.reset();
        self.stream.network.process(&samples, &mut out);
        out
    }

    /// One decision to a full 10 ms of `signal`.
    pub fn decide(&mut self, signal: &[f32]) -> Vec<bool> {
        let mut out = Vec::new();
        self.stream.restart();
        let signal = self.at_rate(signal);
        self.stream.process(&signal, &mut out);
        self.stream.close(&mut out);
        out
    }

    fn at_rate<'a>(&self, signal: &'a [f32]) -> Cow<'a, [f32]> {
        match &self.resampler {
            Some(resampler) => Cow::Owned(resampler.process(signal)),
            None => Cow::Borrowed(signal),
        }
    }
}

/// Zeros up to the end of a chunk.
fn fill_up(samples: &mut Vec<f32>) {
    let filled = (samples.len() - CONTEXT).next_multiple_of(CHUNK);
    samples.resize(CONTEXT + filled, 0.0);
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Weights of the right shapes, made up.
    fn weights() -> Weights {
        let shapes: [(&str, &[usize]); 15] = [
            ("stft.forward_basis_buffer", &[258, 1, 256]),
            ("encoder.0.reparam_conv.weight", &[128, 129, 3]),
            ("encoder.0.reparam_conv.bias", &[128]),
            ("encoder.1.reparam_conv.weight", &[64, 128, 3]),
            ("encoder.1.reparam_conv.bias", &[64]),
            ("encoder.2.reparam_conv.weight", &[64, 64, 3]),
            ("encoder.2.reparam_conv.bias", &[64]),
            ("encoder.3.reparam_conv.weight", &[128, 64, 3]),
            ("encoder.3.reparam_conv.bias", &[128]),
            ("decoder.rnn.weight_ih", &[512, 128]),
            ("decoder.rnn.weight_hh", &[512, 128]),
            ("decoder.rnn.bias_ih", &[512]),
            ("decoder.rnn.bias_hh", &[512]),
            ("decoder.decoder.2.weight", &[1, 128, 1]),
            ("decoder.decoder.2.bias", &[1]),
        ];
        let mut weights = Weights::made_up(
            shapes.map(|(name, shape)| (format!("_model.{name}"), shape.to_vec())),
        );
        for (at, value) in weights
            .change("_model.stft.forward_basis_buffer")
            .iter_mut()
            .enumerate()
        {
            let (row, n) = (at / 256, at % 256);
            let angle = std::f64::consts::TAU * (row % 129 * n % 256) as f64 / 256.0;
            *value = if row < 129 { angle.cos() } else { -angle.sin() } as f32;
        }
        weights
    }

    const SETTINGS: NeuralSettings = NeuralSettings {
        start: 0.5,
        end: 0.45,
    };

    fn signal(samples: usize) -> Vec<f32> {
        let noise = |n: usize| (n as u32).wrapping_mul(2_654_435_761) >> 8;
        let loud = |n: usize| {
            if (n / 3000).is_multiple_of(2) {
                0.3
            } else {
                0.003
            }
        };
        (0..samples)
            .map(|n| loud(n) * (noise(n) as f32 / 8_388_608.0 - 1.0))
            .collect()
    }

    #[test]
    fn silence_is_never_speech_whatever_the_network_says() {
        let always = NeuralSettings {
            start: 0.0,
            end: 0.0,
        };
        let mut vad = NeuralVad::new(&weights(), 16_000, always).unwrap();
        let mut sound = signal(16_000);
        sound.resize(48_000, 0.0);
        let decisions = vad.decide(&sound);
        assert_eq!(decisions.len(), 300);
        assert!(decisions[..98].iter().all(|speech| *speech));
        assert!(decisions[103..].iter().all(|speech| !speech));
        assert!(vad.decide(&[]).is_empty());
        assert!(vad.probabilities(&[]).is_empty());
    }

    #[test]
    fn probabilities_differ_and_another_rate_gives_as_many_decisions() {
        let mut vad = NeuralVad::new(&weights(), 16_000, SETTINGS).unwrap();
        let found = vad.probabilities(&signal(20_000));
        assert_eq!(found.len(), 40);
        let extremes = |all: &[f32]| {
            let low = all.iter().copied().fold(1.0, f32::min);
            (low, all.iter().copied().fold(0.0, f32::max))
        };
        let (low, high) = extremes(&found);
        assert!(low > 0.0 && high < 1.0 && high - low > 1e-3, "{low} {high}");
        let mut other = NeuralVad::new(&weights(), 44_100, SETTINGS).unwrap();
        assert_eq!(other.decide(&signal(44_100)).len(), 100);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(8))]

        #[test]
        fn any_cutting_decides_as_the_whole(
            samples in 0usize..20_000,
            pieces in proptest::collection::vec(1usize..4000, 1..9),
        ) {
            let signal = signal(samples);
            let weights = weights();
            let whole = NeuralVad::new(&weights, 16_000, SETTINGS).unwrap().decide(&signal);
            let mut stream = NeuralStream::new(&weights, SETTINGS).unwrap();
            let (mut rest, mut decided) = (&signal[..], Vec::new());
            for length in pieces.iter().cycle() {
                if rest.is_empty() {
                    break;
                }
                let (piece, after) = rest.split_at((*length).min(rest.len()));
                stream.process(piece, &mut decided);
                rest = after;
            }
            stream.finish(&mut decided);
            prop_assert_eq!(whole.len(), samples / HOP);
            prop_assert_eq!(decided, whole);
        }
    }
}
