//! CREPE's convolutions as products of matrices, as `crepe_layer.cuh` describes them.

use warpsmith_neural::{LayerShape, half_bits};

use super::network::{CrepeLayer, FRAME};

/// Columns of a tile, and outputs, of which each is the larger of two columns.
const COLUMNS: usize = 256;
pub(super) const PAIRS: usize = COLUMNS / 2;
/// Windows begin at multiples of as many numbers as are loaded at once, and are walked by so many.
const ALIGNMENT: usize = 8;
const DEPTH: usize = 64;

/// A layer's right side, and how its windows lie in a frame.
pub(super) struct Windows {
    /// Numbers of a frame, and of a window.
    pub(super) width: usize,
    pub(super) depth: usize,
    /// How far windows are apart, and how far the first reaches out in front of the frame.
    pub(super) step: usize,
    pub(super) before: usize,
    pub(super) channels: usize,
    /// Tiles of columns in all windows, and to a window.
    pub(super) tiles: usize,
    parts: usize,
    /// `[depth, parts * COLUMNS]`, in half precision.
    pub(super) matrix: Vec<u16>,
}

impl Windows {
    /// Those of a layer, if its channels fill tiles.
    pub(super) fn new(layer: &CrepeLayer) -> Option<Self> {
        let LayerShape {
            inputs,
            outputs,
            positions,
            taps,
            left,
            ..
        } = layer.shape;
        // Outputs of a position in a tile, and positions of a window.
        let together = outputs.min(PAIRS);
        if !together.is_multiple_of(ALIGNMENT)
            || !PAIRS.is_multiple_of(together)
            || !outputs.is_multiple_of(together)
        {
            return None;
        }
        let span = COLUMNS / together;
        if !positions.is_multiple_of(span) || !(span * inputs).is_multiple_of(ALIGNMENT) {
            return None;
        }
        let reach = left * inputs + layer.missing;
        let before = reach.next_multiple_of(ALIGNMENT);
        let parts = outputs / together;
        let depth = (before - reach + (taps + span - 1) * inputs).next_multiple_of(DEPTH);
        let mut matrix = vec![0; depth * parts * COLUMNS];
        for output in 0..outputs {
            let part = output / together * COLUMNS;
            for position in 0..span {
                let column = part + column(position, output % together, together);
                for tap in 0..taps {
                    for input in 0..inputs {
                        let row = before - reach + (position + tap) * inputs + input;
                        matrix[row * parts * COLUMNS + column] =
                            half_bits(layer.weight(output, input, tap));
                    }
                }
            }
        }
        Some(Self {
            width: if layer.missing > 0 {
                FRAME
            } else {
                positions * inputs
            },
            depth,
            step: span * inputs,
            before,
            channels: outputs,
            tiles: positions / span * parts,
            parts,
            matrix,
        })
    }

    /// Columns of the matrix.
    pub(super) fn columns(&self) -> usize {
        self.parts * COLUMNS
    }

    /// Numbers of a frame after the layer.
    pub(super) fn out_width(&self) -> usize {
        self.tiles * PAIRS
    }
}

/// The column of an output at a position of the window. Of eight neighbouring columns a thread has two, a pair that
/// is pooled; of 64 it has eight pairs, which are neighbouring outputs.
fn column(position: usize, output: usize, together: usize) -> usize {
    let pair = position / 2 * together + output;
    let (block, thread) = (8 * (pair / 32) + pair % 8, pair % 32 / 8);
    8 * block + 2 * thread + position % 2
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pitch::crepe::network::CrepeLayers;
    use warpsmith_neural::{Weights, half_value};

    /// What a kernel sums up for both positions of every output, from one frame.
    fn product(windows: &Windows, frame: &[f64]) -> Vec<[f64; 2]> {
        let mut sums = vec![[0.0; 2]; windows.out_width()];
        let columns = windows.columns();
        for tile in 0..windows.tiles {
            for column in 0..COLUMNS {
                let (block, thread) = (column / 8, column % 8 / 2);
                let place = tile * PAIRS + block / 8 * 32 + thread * 8 + block % 8;
                sums[place][column % 2] = (0..windows.depth)
                    .map(|row| {
                        let begin = tile / windows.parts * windows.step + row;
                        let number = begin.checked_sub(windows.before);
                        let number = number.and_then(|at| frame.get(at)).unwrap_or(&0.0);
                        let at = row * columns + tile % windows.parts * COLUMNS + column;
                        number * half_value(windows.matrix[at])
                    })
                    .sum();
            }
        }
        sums
    }

    /// Compares each layer of a network of these channels with the sums that make a convolution.
    fn check(channels: [usize; 6]) {
        let mut shapes = Vec::new();
        let mut inputs = 1;
        for (n, outputs) in channels.into_iter().enumerate() {
            let name = |part: &str| format!("conv{}{part}", n + 1);
            let taps = if n == 0 { 512 } else { 64 };
            shapes.push((name(".weight"), vec![outputs, inputs, taps, 1]));
            for part in [".bias", "_BN.weight", "_BN.bias", "_BN.running_mean"] {
                shapes.push((name(part), vec![outputs]));
            }
            shapes.push((name("_BN.running_var"), vec![outputs]));
            inputs = outputs;
        }
        shapes.push(("classifier.weight".into(), vec![360, 4 * inputs]));
        shapes.push(("classifier.bias".into(), vec![360]));
        let layers = CrepeLayers::new(&Weights::made_up(shapes)).unwrap();
        for layer in &layers.convolutions {
            let windows = Windows::new(layer).unwrap();
            let frame: Vec<f64> = (0..windows.width)
                .map(|n| ((n * 37 % 101) as f64 - 50.0) / 50.0)
                .collect();
            let LayerShape {
                inputs,
                outputs,
                taps,
                left,
                ..
            } = layer.shape;
            let sums = product(&windows, &frame);
            // Every output of the small layers, and some of the large ones.
            for place in (0..sums.len()).step_by(1 + sums.len() / 500) {
                for (parity, sum) in sums[place].iter().enumerate() {
                    let (position, output) = (place / outputs * 2 + parity, place % outputs);
                    let mut expected = 0.0;
                    for tap in 0..taps {
                        for input in 0..inputs {
                            let at = (position + tap) * inputs + input;
                            let number = at.checked_sub(left * inputs + layer.missing);
                            let number = number.and_then(|at| frame.get(at)).unwrap_or(&0.0);
                            let weight = half_bits(layer.weight(output, input, tap));
                            expected += number * half_value(weight);
                        }
                    }
                    assert!((sum - expected).abs() < 1e-9, "{place}: {sum} {expected}");
                }
            }
        }
    }

    #[test]
    fn windows_see_what_a_convolution_sees() {
        check([128, 16, 16, 16, 32, 64]);
    }

    #[test]
    fn several_tiles_to_a_window_do_too() {
        check([256, 16, 32, 64, 128, 256]);
    }
}
