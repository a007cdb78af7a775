//! The network on the CPU: blocks of atoms through all layers, in vectors.

use warpsmith_lanes::{Float, InstructionSet, Masked, VectorTask, WIDEST};

use super::weights::{ForceNetwork, SPECIES};

/// Atoms of a block, and vectors of outputs: twelve sums in registers hide the latency of a
/// multiply-add, and leave room for their factors even where there are sixteen registers.
const ROWS: usize = 6;
const COLUMNS: usize = 2;

/// Memory that a call needs.
#[derive(Clone, Debug)]
pub struct NetworkScratch {
    /// Activations of a block, before and after a layer.
    values: [Vec<f32>; 2],
}

impl NetworkScratch {
    /// Bytes that it holds.
    pub fn memory_bytes(&self) -> u64 {
        4 * self.values.iter().map(Vec::len).sum::<usize>() as u64
    }
}

impl ForceNetwork {
    /// Memory for calls of this network.
    pub fn scratch(&self) -> NetworkScratch {
        // Narrow layers are padded to whole pairs of vectors.
        let length = ROWS * self.hidden.next_multiple_of(COLUMNS * WIDEST);
        NetworkScratch {
            values: [vec![0.0; length], vec![0.0; length]],
        }
    }

    /// Writes the force on each atom and returns the energy. Species beyond the tenth count as the
    /// tenth; `species`, `positions` and `forces` have one entry to an atom.
    pub fn evaluate(
        &self,
        species: &[u8],
        positions: &[[f32; 3]],
        scratch: &mut NetworkScratch,
        forces: &mut [[f32; 3]],
        instructions: InstructionSet,
    ) -> f64 {
        f32::with_vectors(
            instructions,
            Evaluation {
                network: self,
                species,
                positions,
                scratch,
                forces,
            },
        )
    }
}

struct Evaluation<'a> {
    network: &'a ForceNetwork,
    species: &'a [u8],
    positions: &'a [[f32; 3]],
    scratch: &'a mut NetworkScratch,
    forces: &'a mut [[f32; 3]],
}

impl VectorTask<f32> for Evaluation<'_> {
    type Output = f64;

    #[inline(always)]
    fn run<L: Masked<Scalar = f32>>(self) -> f64 {
        let network = self.network;
        let hidden = network.hidden;
        let coordinates = network.coordinate_rows();
        let mut energy = 0.0;
        let blocks = self.species.chunks(ROWS).zip(self.positions.chunks(ROWS));
        for ((species, positions), forces) in blocks.zip(self.forces.chunks_mut(ROWS)) {
            let [values, next] = &mut self.scratch.values;
            for (row, (&kind, position)) in species.iter().zip(positions).enumerate() {
                let table = usize::from(kind).min(SPECIES - 1) * hidden;
                let constant = &network.by_species[table..table + hidden];
                let (x, y, z) = (
                    &coordinates[..hidden],
                    &coordinates[hidden..2 * hidden],
                    &coordinates[2 * hidden..3 * hidden],
                );
                let out = &mut values[row * hidden..(row + 1) * hidden];
                for column in 0..hidden {
                    let sum = constant[column]
                        + position[0] * x[column]
                        + position[1] * y[column]
                        + position[2] * z[column];
                    out[column] = silu(sum);
                }
            }
            for (matrix, bias) in network.inner.iter().zip(&network.inner_bias) {
                layer::<L>(
                    &values[..ROWS * hidden],
                    matrix,
                    bias,
                    &mut next[..ROWS * hidden],
                );
                std::mem::swap(values, next);
            }
            for (row, force) in forces.iter_mut().enumerate() {
                let mut heads = network.heads_bias;
                let row = &values[row * hidden..(row + 1) * hidden];
                for (value, weights) in row.iter().zip(network.heads.chunks_exact(4)) {
                    for (sum, weight) in heads.iter_mut().zip(weights) {
                        *sum += value * weight;
                    }
                }
                energy += f64::from(heads[0]);
                *force = [heads[1], heads[2], heads[3]];
            }
        }
        energy
    }
}

/// One layer of a block: a row of `values` to an atom, a row of `matrix` to an input.
#[inline(always)]
fn layer<L: Masked<Scalar = f32>>(values: &[f32], matrix: &[f32], bias: &[f32], out: &mut [f32]) {
    let hidden = bias.len();
    let mut column = 0;
    while column < hidden {
        // The last vectors of a layer that is no whole number of pairs are taken one at a time.
        if column + COLUMNS * L::WIDTH <= hidden {
            strip::<L, COLUMNS>(values, matrix, bias, out, column);
            column += COLUMNS * L::WIDTH;
        } else {
            strip::<L, 1>(values, matrix, bias, out, column);
            column += L::WIDTH;
        }
    }
    for value in &mut *out {
        *value = silu(*value);
    }
}

#[inline(always)]
fn strip<L: Masked<Scalar = f32>, const VECTORS: usize>(
    values: &[f32],
    matrix: &[f32],
    bias: &[f32],
    out: &mut [f32],
    column: usize,
) {
    let hidden = bias.len();
    let rows: [&[f32]; ROWS] = std::array::from_fn(|row| &values[row * hidden..(row + 1) * hidden]);
    let start: [L; VECTORS] = std::array::from_fn(|v| L::load(&bias[column + v * L::WIDTH..]));
    let mut sums = [start; ROWS];
    for k in 0..hidden {
        let weights = &matrix[k * hidden + column..][..VECTORS * L::WIDTH];
        let mut factors = [L::splat(0.0); VECTORS];
        for (factor, weights) in factors.iter_mut().zip(weights.chunks_exact(L::WIDTH)) {
            *factor = L::load(weights);
        }
        for (row, sums) in rows.iter().zip(&mut sums) {
            let value = L::splat(row[k]);
            for (sum, factor) in sums.iter_mut().zip(factors) {
                *sum = value.mul_add(factor, *sum);
            }
        }
    }
    for (row, sums) in sums.iter().enumerate() {
        for (v, sum) in sums.iter().enumerate() {
            sum.store(&mut out[row * hidden + column + v * L::WIDTH..]);
        }
    }
}

/// `x / (1 + e^−x)`, in operations that compilers turn into vectors.
#[inline(always)]
fn silu(x: f32) -> f32 {
    x / (1.0 + exponential(-x))
}

/// `e^x` within 2 units in the last place; beyond ±87 as at ±87, where SiLU no longer sees it.
#[inline(always)]
fn exponential(x: f32) -> f32 {
    // Adding this leaves no room for a fraction: the low bits become the whole number.
    const WHOLE: f32 = 12_582_912.0;
    // ln 2 in two parts: the first has so few bits that its product with a whole number is exact.
    const LN2_HIGH: f32 = 0.693_359_4;
    const LN2_LOW: f32 = -2.121_944_4e-4;
    let x = x.clamp(-87.0, 87.0);
    let shifted = x * std::f32::consts::LOG2_E + WHOLE;
    let whole = shifted - WHOLE;
    let rest = (x - whole * LN2_HIGH) - whole * LN2_LOW;
    // Taylor's series to the sixth power: at |rest| ≤ 0.347 the next term is 1.2e-7.
    let series = 1.0
        + rest
            * (1.0
                + rest
                    * (0.5
                        + rest
                            * (1.0 / 6.0
                                + rest
                                    * (1.0 / 24.0 + rest * (1.0 / 120.0 + rest * (1.0 / 720.0))))));
    let power = f32::from_bits((shifted.to_bits() << 23).wrapping_add(127 << 23));
    series * power
}

#[cfg(test)]
mod tests {
    use warpsmith_workload::random::Random;

    use super::*;

    #[test]
    fn the_exponential_is_one() {
        for step in -8700..=8700 {
            let x = step as f32 * 0.01;
            let expected = f64::from(x).exp();
            let error = (f64::from(exponential(x)) / expected - 1.0).abs();
            assert!(error < 4e-7, "{x}: {error:e}");
        }
    }

    #[test]
    fn vectors_agree_with_the_specification() {
        for (hidden, atoms) in [(16, 5), (48, 7), (64, 13), (128, 100), (256, 31)] {
            let network = ForceNetwork::random(hidden, hidden as u64).unwrap();
            let mut random = Random::seeded(atoms as u64);
            let species: Vec<u8> = (0..atoms).map(|_| random.below(SPECIES) as u8).collect();
            let positions: Vec<[f32; 3]> = (0..atoms)
                .map(|_| std::array::from_fn(|_| random.normal() as f32))
                .collect();
            let (energy, expected) = network.reference(&species, &positions);
            for instructions in InstructionSet::present() {
                let mut forces = vec![[f32::NAN; 3]; atoms];
                let found = network.evaluate(
                    &species,
                    &positions,
                    &mut network.scratch(),
                    &mut forces,
                    instructions,
                );
                // Sums of `hidden` products of order one, in f32, through three layers.
                let bound = 3.0 * 1e-6 * (hidden as f64).sqrt();
                assert!(
                    (found - energy).abs() < bound * atoms as f64,
                    "{found} {energy}"
                );
                for (force, expected) in forces.iter().flatten().zip(expected.iter().flatten()) {
                    assert!(
                        (f64::from(*force) - expected).abs() < bound,
                        "{force} {expected}"
                    );
                }
            }
        }
    }

    #[test]
    fn odd_widths_are_refused() {
        for hidden in [0, 15, 100, 1024] {
            assert!(ForceNetwork::random(hidden, 1).is_err());
        }
    }
}
