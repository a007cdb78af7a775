//! Silero's network with weights that nobody trained, for tests and measurements: shapes, cost and the kind of
//! numbers are the true ones, what it says is not about speech.

use std::f64::consts::TAU;

use warpsmith_neural::Weights;
use warpsmith_signal::Result;
use warpsmith_workload::random::Random;

use super::cpu::{BINS, GATES, SileroNetwork, UNITS, WINDOW};

/// Of the window: spectra of voices are of some tens, and the next layer's weights are made for numbers near one.
const QUIETER: f64 = 0.05;
/// Of the forget gates: as in trained networks, most of what is remembered stays for many chunks.
const REMEMBERING: f64 = 3.0;
/// Of what is remembered in the gates: not so much that the network is chaotic, where rounding would decide.
const FED_BACK: f64 = 0.35;
/// Of the head, for probabilities that differ.
const DECIDED: f64 = 3.0;

impl SileroNetwork {
    /// The network with made-up weights.
    pub(crate) fn made_up() -> Result<Self> {
        let shapes: [(&str, &[usize]); 15] = [
            ("stft.forward_basis_buffer", &[2 * BINS, 1, WINDOW]),
            ("encoder.0.reparam_conv.weight", &[128, BINS, 3]),
            ("encoder.0.reparam_conv.bias", &[128]),
            ("encoder.1.reparam_conv.weight", &[64, 128, 3]),
            ("encoder.1.reparam_conv.bias", &[64]),
            ("encoder.2.reparam_conv.weight", &[64, 64, 3]),
            ("encoder.2.reparam_conv.bias", &[64]),
            ("encoder.3.reparam_conv.weight", &[UNITS, 64, 3]),
            ("encoder.3.reparam_conv.bias", &[UNITS]),
            ("decoder.rnn.weight_ih", &[GATES, UNITS]),
            ("decoder.rnn.weight_hh", &[GATES, UNITS]),
            ("decoder.rnn.bias_ih", &[GATES]),
            ("decoder.rnn.bias_hh", &[GATES]),
            ("decoder.decoder.2.weight", &[1, UNITS, 1]),
            ("decoder.decoder.2.bias", &[1]),
        ];
        let mut random = Random::seeded(1);
        let tensors = shapes.map(|(part, shape)| {
            let (count, outputs) = (shape.iter().product::<usize>(), shape[0]);
            // As wide as a sum of so many may be for its result to be near one.
            let width = (2.0 * outputs as f64 / count as f64).sqrt();
            let value = |at: usize| match part {
                "stft.forward_basis_buffer" => QUIETER * wave(at / WINDOW, at % WINDOW),
                "decoder.rnn.bias_ih" if at / UNITS == 1 => REMEMBERING,
                "decoder.rnn.weight_hh" => FED_BACK * width * random.normal(),
                "decoder.decoder.2.weight" => DECIDED * width * random.normal(),
                _ if shape.len() == 1 => 0.1 * random.normal(),
                _ => width * random.normal(),
            };
            let values = (0..count).map(value).map(|value| value as f32);
            (format!("_model.{part}"), shape.to_vec(), values.collect())
        });
        Self::new(&Weights::made_of(tensors))
    }
}

/// A row of the transform at a sample: cosines, then sines.
fn wave(row: usize, sample: usize) -> f64 {
    let angle = TAU * (row % BINS * sample % WINDOW) as f64 / WINDOW as f64;
    if row < BINS {
        angle.cos()
    } else {
        -angle.sin()
    }
}
