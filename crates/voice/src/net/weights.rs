//! The trained numbers, in the order in which `train.py` writes them.

use std::sync::{Arc, OnceLock};

use warpsmith_neural::half_value;

use super::tables::{CHANNELS, MELS};

/// Channels of the layers over pitches, and of those that listen for speech.
pub(super) const WIDTH: usize = 32;
pub(super) const LISTENING: usize = 48;
/// Frames between those that a layer compares: over pitches, for voicing, for speech.
pub(super) const AROUND: [usize; 4] = [1, 2, 4, 8];
pub(super) const VOICING: [usize; 3] = [1, 2, 4];
pub(super) const BOTH_SIDES: [usize; 3] = [1, 2, 4];
pub(super) const BEFORE: [usize; 4] = [8, 16, 32, 64];

/// Weights `[output, input, tap]` and biases.
pub(super) struct Layer {
    pub(super) weights: Vec<f32>,
    pub(super) bias: Vec<f32>,
}

/// All layers.
pub(super) struct Weights {
    pub(super) enter: Layer,
    pub(super) around: Vec<Layer>,
    pub(super) pitch: Layer,
    pub(super) gather: Layer,
    pub(super) voicing: Vec<Layer>,
    pub(super) silence: Layer,
    pub(super) listen: Layer,
    pub(super) in_turn: Vec<Layer>,
    pub(super) speech: Layer,
}

static TRAINED: &[u8] = include_bytes!("weights.f16");

impl Weights {
    /// Those that are part of the program.
    pub(super) fn trained() -> Arc<Self> {
        static WEIGHTS: OnceLock<Arc<Weights>> = OnceLock::new();
        Arc::clone(WEIGHTS.get_or_init(|| Arc::new(Self::read(TRAINED))))
    }

    fn read(bytes: &[u8]) -> Self {
        let (halves, _) = bytes.as_chunks::<2>();
        let mut numbers = halves
            .iter()
            .map(|half| half_value(u16::from_le_bytes(*half)) as f32);
        let mut layer = |outputs: usize, inputs: usize| Layer {
            weights: numbers.by_ref().take(outputs * inputs).collect(),
            bias: numbers.by_ref().take(outputs).collect(),
        };
        let weights = Self {
            enter: layer(WIDTH, CHANNELS * 5),
            around: AROUND.map(|_| layer(WIDTH, WIDTH * 9)).into(),
            pitch: layer(1, WIDTH),
            gather: layer(WIDTH, 2 * WIDTH),
            voicing: VOICING.map(|_| layer(WIDTH, WIDTH * 3)).into(),
            silence: layer(1, WIDTH),
            listen: layer(LISTENING, 2 * WIDTH + MELS),
            in_turn: (0..BOTH_SIDES.len() + BEFORE.len())
                .map(|_| layer(LISTENING, LISTENING * 3))
                .collect(),
            speech: layer(1, LISTENING),
        };
        debug_assert!(numbers.next().is_none(), "numbers are left over");
        weights
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_number_of_the_file_has_its_place() {
        let weights = Weights::trained();
        let layers = [
            &weights.enter,
            &weights.pitch,
            &weights.gather,
            &weights.silence,
        ];
        let more = [&weights.listen, &weights.speech];
        let lists = [&weights.around, &weights.voicing, &weights.in_turn];
        let count: usize = layers
            .into_iter()
            .chain(more)
            .chain(lists.into_iter().flatten())
            .map(|layer| layer.weights.len() + layer.bias.len())
            .sum();
        assert_eq!(2 * count, TRAINED.len());
        assert!(TRAINED.len() <= 500_000, "{} bytes", TRAINED.len());
        assert_eq!(weights.speech.bias.len(), 1);
    }
}
