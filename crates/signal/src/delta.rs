//! How features move: local polynomial derivatives along the frames.

use super::error::{Result, SignalError};

/// Which derivative.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Derivative {
    /// Slope of a straight line.
    First,
    /// Second derivative of a parabola.
    Second,
}

/// The derivative of each row of `[row, frame]` features over windows of `width` frames, as
/// `librosa.feature.delta` computes it: a least-squares polynomial of the derivative's degree, the
/// first and last full window standing for the frames before and after them.
pub fn delta(features: &[f32], frames: usize, width: usize, order: Derivative) -> Result<Vec<f32>> {
    let weights = weights(width, order)?;
    check_frames(width, frames)?;
    let half = width / 2;
    let mut out = Vec::with_capacity(features.len());
    for row in features.chunks_exact(frames) {
        for frame in 0..frames {
            let centre = frame.clamp(half, frames - 1 - half);
            out.push(weighted(
                row[centre - half..=centre + half].iter(),
                &weights,
            ));
        }
    }
    Ok(out)
}

/// The weights of the frames in a window.
fn weights(width: usize, order: Derivative) -> Result<Vec<f64>> {
    if width < 3 || width.is_multiple_of(2) {
        return Err(SignalError::parameter(
            "delta width",
            width,
            "an odd number from 3 on is needed",
        ));
    }
    let half = (width / 2) as i64;
    let squares: f64 = (-half..=half).map(|n| (n * n) as f64).sum();
    let mean = squares / width as f64;
    Ok(match order {
        Derivative::First => (-half..=half).map(|n| n as f64 / squares).collect(),
        Derivative::Second => {
            let norm: f64 = (-half..=half)
                .map(|n| ((n * n) as f64 - mean).powi(2))
                .sum();
            (-half..=half)
                .map(|n| 2.0 * ((n * n) as f64 - mean) / norm)
                .collect()
        }
    })
}

fn check_frames(width: usize, frames: usize) -> Result<()> {
    if width > frames {
        return Err(SignalError::parameter(
            "delta width",
            width,
            format!("the sound has {frames} frames, and a window no more"),
        ));
    }
    Ok(())
}

fn weighted<'a>(window: impl Iterator<Item = &'a f32>, weights: &[f64]) -> f32 {
    let sum: f64 = window
        .zip(weights)
        .map(|(x, weight)| f64::from(*x) * weight)
        .sum();
    sum as f32
}

/// Features with derivatives behind each frame's own numbers, frame by frame: any cutting gives the bits of the whole.
///
/// A frame waits for the half window after it.
#[derive(Clone, Debug)]
pub struct DeltaStream {
    columns: usize,
    width: usize,
    /// The weights of each derivative.
    orders: Vec<Vec<f64>>,
    /// The last frames, a window at most.
    window: Vec<f32>,
    heard: usize,
}

impl DeltaStream {
    /// For frames of so many columns.
    pub fn new(columns: usize, width: usize, orders: &[Derivative]) -> Result<Self> {
        let orders = orders.iter().map(|order| weights(width, *order));
        Ok(Self {
            columns,
            width,
            orders: orders.collect::<Result<_>>()?,
            window: Vec::new(),
            heard: 0,
        })
    }

    /// Takes the next frames, `[frame, column]`; appends those whose derivatives are known, with them.
    pub fn process(&mut self, frames: &[f32], out: &mut Vec<f32>) {
        for frame in frames.chunks_exact(self.columns) {
            if self.heard >= self.width {
                self.window.drain(..self.columns);
            }
            self.window.extend_from_slice(frame);
            self.heard += 1;
            let half = self.width / 2;
            if self.heard == self.width {
                // The first full window stands for the frames before its middle.
                (0..=half).for_each(|at| self.emit(at, out));
            } else if self.heard > self.width {
                self.emit(half, out);
            }
        }
    }

    /// Ends the signal; appends the frames that are left. A signal without frames has none.
    pub fn finish(self, out: &mut Vec<f32>) -> Result<()> {
        if self.heard > 0 {
            check_frames(self.width, self.heard)?;
            (self.width / 2 + 1..self.width).for_each(|at| self.emit(at, out));
        }
        Ok(())
    }

    /// Appends a frame of the window with the window's derivatives.
    fn emit(&self, at: usize, out: &mut Vec<f32>) {
        let columns = self.columns;
        out.extend_from_slice(&self.window[at * columns..(at + 1) * columns]);
        for weights in &self.orders {
            for column in 0..columns {
                let values = self.window[column..].iter().step_by(columns);
                out.push(weighted(values, weights));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_has_its_slope_and_a_parabola_its_curvature() {
        let line: Vec<f32> = (0..20).map(|n| 3.0 * n as f32 - 7.0).collect();
        for slope in delta(&line, 20, 9, Derivative::First).unwrap() {
            assert!((slope - 3.0).abs() < 1e-6);
        }
        let parabola: Vec<f32> = (0..20).map(|n| 0.5 * (n * n) as f32).collect();
        for curvature in delta(&parabola, 20, 9, Derivative::Second).unwrap() {
            assert!((curvature - 1.0).abs() < 1e-5);
        }
    }

    #[test]
    fn a_window_wider_than_the_signal_is_an_error() {
        assert!(delta(&[1.0; 5], 5, 9, Derivative::First).is_err());
        assert!(delta(&[1.0; 5], 5, 4, Derivative::First).is_err());
    }

    #[test]
    fn any_cutting_gives_the_bits_of_the_whole() {
        let orders = [Derivative::First, Derivative::Second];
        for (frames, width) in [(5, 5), (6, 5), (40, 9), (41, 3)] {
            // Two columns that are no multiples of each other.
            let rows: Vec<f32> = (0..2 * frames)
                .map(|n| (n as f32 * if n < frames { 0.7 } else { 1.3 }).sin())
                .collect();
            let row = |frame: usize| [rows[frame], rows[frames + frame]];
            let signal: Vec<f32> = (0..frames).flat_map(row).collect();
            let moved = orders.map(|order| delta(&rows, frames, width, order).unwrap());
            let expected: Vec<f32> = (0..frames)
                .flat_map(|at| {
                    let moved = moved.iter().flat_map(move |m| [m[at], m[frames + at]]);
                    row(at).into_iter().chain(moved).collect::<Vec<f32>>()
                })
                .collect();
            for size in [1, 3, frames] {
                let mut stream = DeltaStream::new(2, width, &orders).unwrap();
                let mut out = Vec::new();
                for chunk in signal.chunks(2 * size) {
                    stream.process(chunk, &mut out);
                }
                stream.finish(&mut out).unwrap();
                assert_eq!(out, expected, "{frames} frames, window {width}");
            }
        }
        let mut short = DeltaStream::new(1, 9, &orders).unwrap();
        short.process(&[1.0; 8], &mut Vec::new());
        assert!(short.finish(&mut Vec::new()).is_err());
    }
}
