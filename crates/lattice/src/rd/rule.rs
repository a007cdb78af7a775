//! The rule of one cell: the specification of everything else.

use serde::Serialize;

use crate::error::LatticeError;
use crate::shape::Shape;

/// Coefficients of the reaction-diffusion rule.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Rule {
    /// −2d, the weight of the cell itself in the Laplacian.
    pub(crate) centre: f32,
    /// D.
    pub(crate) diffusion: f32,
    /// R.
    pub(crate) reaction: f32,
    /// R where the memory is above one half.
    pub(crate) damped: f32,
    /// a, above which the medium grows.
    pub(crate) threshold: f32,
}

/// The values around a cell, zero outside the lattice.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Around {
    pub(crate) x: [f32; 2],
    pub(crate) y: [f32; 2],
    pub(crate) z: [f32; 2],
}

/// By how much a reaction is slowed down where the memory is above one half.
const DAMPING: f32 = 0.8;

impl Rule {
    /// D of the usual problem.
    pub const DIFFUSION: f32 = 0.1;
    /// R of the usual problem.
    pub const REACTION: f32 = 0.05;
    /// a of the usual problem.
    pub const THRESHOLD: f32 = 0.3;

    /// The usual coefficients on a lattice.
    pub fn usual(shape: Shape) -> Self {
        Self::unchecked(shape, Self::DIFFUSION, Self::REACTION, Self::THRESHOLD)
    }

    /// Coefficients that keep the scheme stable; others are refused.
    pub fn new(
        shape: Shape,
        diffusion: f32,
        reaction: f32,
        threshold: f32,
    ) -> Result<Self, LatticeError> {
        // Beyond 1/2d the explicit step overshoots its neighbours' mean and oscillates.
        let most = 1.0 / (2.0 * shape.dimensions() as f32);
        let checks = [
            ("the diffusion", diffusion, most),
            ("the reaction", reaction, 1.0),
            ("the threshold", threshold, 1.0),
        ];
        for (name, value, most) in checks {
            if !(value > 0.0 && value <= most) {
                return Err(LatticeError::Parameter {
                    name,
                    value: f64::from(value),
                    problem: format!("it must be above 0 and at most {most:.4}"),
                });
            }
        }
        Ok(Self::unchecked(shape, diffusion, reaction, threshold))
    }

    fn unchecked(shape: Shape, diffusion: f32, reaction: f32, threshold: f32) -> Self {
        Self {
            centre: -2.0 * shape.dimensions() as f32,
            diffusion,
            reaction,
            damped: DAMPING * reaction,
            threshold,
        }
    }

    /// The cell's next `u` and `e`. `mul_add` rounds once, here as in `fmaf` on a GPU.
    #[inline(always)]
    pub(crate) fn cell(&self, u: f32, e: f32, around: Around) -> (f32, f32) {
        let Around { x, y, z } = around;
        let neighbours = ((x[0] + x[1]) + (y[0] + y[1])) + (z[0] + z[1]);
        let laplacian = self.centre.mul_add(u, neighbours);
        let rate = if e > 0.5 { self.damped } else { self.reaction };
        let growth = (rate * u) * (1.0 - u);
        let moved = self.diffusion.mul_add(laplacian, u);
        let next = growth.mul_add(u - self.threshold, moved);
        // Comparisons instead of `clamp`: they also say what becomes of −0 and NaN, namely 0.
        let next = if next > 0.0 { next } else { 0.0 };
        let next = if next < 1.0 { next } else { 1.0 };
        (next, 0.9f32.mul_add(e, 0.1 * laplacian.abs()))
    }
}
