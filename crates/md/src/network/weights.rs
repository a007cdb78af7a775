//! The network's numbers, and what it computes, written down as plainly as it can be.

use warpsmith_workload::random::Random;

use crate::error::{MdError, Result};

/// Species that the embedding knows.
pub(crate) const SPECIES: usize = 10;
/// Layers after the first.
pub(crate) const INNER_LAYERS: usize = 2;

/// The weights of a network; matrices have a row to an input.
#[derive(Clone, Debug)]
pub struct ForceNetwork {
    /// Width of every layer.
    pub(crate) hidden: usize,
    /// Species to embedding.
    pub(crate) embedding: Vec<f32>,
    /// Embedding and coordinates to the first layer, `hidden + 3` rows; and its biases.
    pub(crate) first: Vec<f32>,
    pub(crate) first_bias: Vec<f32>,
    /// Layer to layer, and biases.
    pub(crate) inner: [Vec<f32>; INNER_LAYERS],
    pub(crate) inner_bias: [Vec<f32>; INNER_LAYERS],
    /// Last layer to energy and force, four numbers to a row; and their biases.
    pub(crate) heads: Vec<f32>,
    pub(crate) heads_bias: [f32; 4],
    /// What the first layer makes of each species, coordinates apart: embedding times its rows,
    /// plus the bias. Saves a third of the work, and only sums change their order.
    pub(crate) by_species: Vec<f32>,
}

impl ForceNetwork {
    /// A network of this width with random weights, scaled so that activations neither die nor grow.
    /// The width is a multiple of 16.
    pub fn random(hidden: usize, seed: u64) -> Result<Self> {
        if hidden == 0 || hidden > 512 || !hidden.is_multiple_of(16) {
            return Err(MdError::setting(
                "hidden",
                hidden,
                "a multiple of 16 up to 512",
            ));
        }
        let mut random = Random::seeded(seed);
        let mut matrix = |rows: usize, columns: usize| -> Vec<f32> {
            let scale = 1.0 / (rows as f64).sqrt();
            (0..rows * columns)
                .map(|_| (scale * random.normal()) as f32)
                .collect()
        };
        let embedding: Vec<f32> = matrix(SPECIES, hidden);
        let first = matrix(hidden + 3, hidden);
        let inner = std::array::from_fn(|_| matrix(hidden, hidden));
        let heads = matrix(hidden, 4);
        let mut bias = |length: usize| matrix(1, length).iter().map(|b| 0.1 * b).collect();
        let first_bias: Vec<f32> = bias(hidden);
        let inner_bias = std::array::from_fn(|_| bias(hidden));
        let heads_bias: Vec<f32> = bias(4);
        let mut by_species = Vec::with_capacity(SPECIES * hidden);
        for row in embedding.chunks_exact(hidden) {
            for column in 0..hidden {
                let sum: f64 = (0..hidden)
                    .map(|k| f64::from(row[k]) * f64::from(first[k * hidden + column]))
                    .sum();
                by_species.push((sum + f64::from(first_bias[column])) as f32);
            }
        }
        Ok(Self {
            hidden,
            embedding,
            first,
            first_bias,
            inner,
            inner_bias,
            heads,
            heads_bias: [heads_bias[0], heads_bias[1], heads_bias[2], heads_bias[3]],
            by_species,
        })
    }

    /// Width of every layer.
    pub fn hidden(&self) -> usize {
        self.hidden
    }

    /// Multiplications and additions of one atom, as the network is written.
    pub fn flops_per_atom(hidden: u64) -> u64 {
        2 * (hidden * (hidden + 3) + INNER_LAYERS as u64 * hidden * hidden + 4 * hidden)
    }

    /// Bytes of the weights that a call needs, as the network is written.
    pub fn weight_bytes(hidden: u64) -> u64 {
        let embedding = SPECIES as u64 * hidden;
        4 * (embedding + hidden * (hidden + 3) + INNER_LAYERS as u64 * hidden * hidden + 4 * hidden)
    }

    /// Bytes that the weights hold here.
    pub fn memory_bytes(&self) -> u64 {
        let inner = self.inner.iter().chain(&self.inner_bias);
        let matrices = [
            &self.embedding,
            &self.first,
            &self.first_bias,
            &self.heads,
            &self.by_species,
        ];
        let numbers: usize = inner.chain(matrices).map(Vec::len).sum();
        4 * (numbers + self.heads_bias.len()) as u64
    }

    /// The last rows of the first matrix: what it makes of coordinates.
    pub(crate) fn coordinate_rows(&self) -> &[f32] {
        &self.first[self.hidden * self.hidden..]
    }

    /// Energy and forces in f64, layer by layer, nothing folded: the specification.
    pub fn reference(&self, species: &[u8], positions: &[[f32; 3]]) -> (f64, Vec<[f64; 3]>) {
        let hidden = self.hidden;
        let layer = |input: &[f64], matrix: &[f32], bias: &[f32]| -> Vec<f64> {
            (0..hidden)
                .map(|column| {
                    let rows = input.iter().enumerate();
                    let sum: f64 = rows
                        .map(|(k, x)| x * f64::from(matrix[k * hidden + column]))
                        .sum();
                    let x = sum + f64::from(bias[column]);
                    x / (1.0 + (-x).exp())
                })
                .collect()
        };
        let (mut energy, mut forces) = (0.0, Vec::with_capacity(positions.len()));
        for (&kind, position) in species.iter().zip(positions) {
            let row = usize::from(kind).min(SPECIES - 1) * hidden;
            let input: Vec<f64> = self.embedding[row..row + hidden]
                .iter()
                .chain(position)
                .map(|&x| f64::from(x))
                .collect();
            let mut values = layer(&input, &self.first, &self.first_bias);
            for (matrix, bias) in self.inner.iter().zip(&self.inner_bias) {
                values = layer(&values, matrix, bias);
            }
            let heads: [f64; 4] = std::array::from_fn(|column| {
                let rows = values.iter().enumerate();
                rows.map(|(k, x)| x * f64::from(self.heads[4 * k + column]))
                    .sum::<f64>()
                    + f64::from(self.heads_bias[column])
            });
            energy += heads[0];
            forces.push([heads[1], heads[2], heads[3]]);
        }
        (energy, forces)
    }
}
