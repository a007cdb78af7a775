//! The state of a reaction-diffusion run.

use sha2::{Digest, Sha256};
use warpsmith_device::ensure_host_room;
use warpsmith_workload::random::Random;

use crate::error::LatticeError;
use crate::shape::Shape;

/// Medium and memory of every cell, row-major.
#[derive(Clone, Debug, PartialEq)]
pub struct Field {
    /// Where it lies.
    pub shape: Shape,
    /// The medium.
    pub u: Vec<f32>,
    /// The memory.
    pub e: Vec<f32>,
}

impl Field {
    /// Uniform noise in the medium, no memory: the usual start.
    pub fn noise(shape: Shape, seed: u64) -> Result<Self, LatticeError> {
        // The field and the second medium that a step writes to.
        ensure_host_room(12 * shape.cells() as u64)?;
        let mut random = Random::seeded(seed);
        Ok(Self {
            shape,
            u: (0..shape.cells())
                .map(|_| (random.bits() >> 40) as f32 / (1u64 << 24) as f32)
                .collect(),
            e: vec![0.0; shape.cells()],
        })
    }

    /// One grown ball in an empty medium: a front that travels.
    pub fn ball(shape: Shape) -> Result<Self, LatticeError> {
        ensure_host_room(12 * shape.cells() as u64)?;
        let extents = shape.extents();
        let radius = extents.iter().filter(|&&extent| extent > 1).min();
        let radius = *radius.unwrap_or(&1) as f64 / 6.0;
        let inside = |index: usize| {
            let cell = shape.cell(index).0;
            let distance: f64 = cell
                .iter()
                .zip(extents)
                .map(|(&at, extent)| (at as f64 - (extent - 1) as f64 / 2.0).powi(2))
                .sum();
            distance <= radius * radius
        };
        Ok(Self {
            shape,
            u: (0..shape.cells())
                .map(|index| f32::from(u8::from(inside(index))))
                .collect(),
            e: vec![0.0; shape.cells()],
        })
    }

    /// SHA-256 of both fields' bits: equal for every form of the same run.
    pub fn digest(&self) -> String {
        let mut hash = Sha256::new();
        for values in [&self.u, &self.e] {
            for chunk in values.chunks(4096) {
                let bytes: Vec<u8> = chunk
                    .iter()
                    .flat_map(|value| value.to_bits().to_le_bytes())
                    .collect();
                hash.update(&bytes);
            }
        }
        hash.finalize()
            .iter()
            .map(|byte| format!("{byte:02x}"))
            .collect()
    }
}
