//! Silero's network with weights that nobody trained, for tests and measurements: shapes, cost and the kind of
//! numbers are the true ones, what it says is not about speech.

use std::f64::consts::TAU;

use super::silero::{BINS, GATES, SileroNetwork, UNITS, WINDOW};
use crate::error::Result;
use crate::neural::Weights;

/// Spectra of sounds are larger than one, and the next layer's weights are made for numbers near one.
const QUIETER: f32 = 0.1;
/// Of the forget gates: as in trained networks, most of what is remembered stays for many chunks.
const REMEMBERING: f32 = 4.0;
/// Of the head, for probabilities that differ.
const DECIDED: f32 = 4.0;

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
        let name = |part: &str| format!("_model.{part}");
        let mut weights =
            Weights::made_up(shapes.map(|(part, shape)| (name(part), shape.to_vec())));
        let basis = weights.change(&name("stft.forward_basis_buffer"));
        for (at, value) in basis.iter_mut().enumerate() {
            let (row, n) = (at / WINDOW, at % WINDOW);
            let angle = TAU * (row % BINS * n % WINDOW) as f64 / WINDOW as f64;
            *value = QUIETER
                * if row < BINS {
                    angle.cos()
                } else {
                    -angle.sin()
                } as f32;
        }
        for bias in &mut weights.change(&name("decoder.rnn.bias_ih"))[UNITS..2 * UNITS] {
            *bias += REMEMBERING;
        }
        for weight in weights.change(&name("decoder.decoder.2.weight")) {
            *weight *= DECIDED;
        }
        Self::new(&weights)
    }
}
