//! The periodic box: where atoms live, and which image of an atom is the nearest.

use crate::error::{MdError, Result};

/// A rectangular box with periodic sides; one corner is the origin.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize)]
pub struct PeriodicBox {
    /// Lengths of the sides.
    pub sides: [f64; 3],
}

impl PeriodicBox {
    /// A box with these sides; they must be positive numbers.
    pub fn new(sides: [f64; 3]) -> Result<Self> {
        for side in sides {
            if !(side.is_finite() && side > 0.0) {
                let reason = "the sides of a box are positive numbers";
                return Err(MdError::setting("box side", side, reason));
            }
        }
        Ok(Self { sides })
    }

    /// The cube that holds `atoms` atoms at `density`.
    pub fn cube(atoms: usize, density: f64) -> Result<Self> {
        if !(density.is_finite() && density > 0.0) {
            let reason = "the density is a positive number of atoms in a cubic σ";
            return Err(MdError::setting("density", density, reason));
        }
        Self::new([(atoms as f64 / density).cbrt(); 3])
    }

    /// Its volume.
    pub fn volume(&self) -> f64 {
        self.sides.iter().product()
    }

    /// Its shortest side.
    pub fn shortest(&self) -> f64 {
        self.sides.iter().copied().fold(f64::INFINITY, f64::min)
    }

    /// The vector from the nearest image of `to` to `from`.
    pub fn shortest_vector(&self, from: [f64; 3], to: [f64; 3]) -> [f64; 3] {
        std::array::from_fn(|axis| {
            let (side, apart) = (self.sides[axis], from[axis] - to[axis]);
            apart - side * (apart / side).round_ties_even()
        })
    }

    /// The image of `position` inside the box, each coordinate in [0, side).
    pub fn wrap(&self, position: [f64; 3]) -> [f64; 3] {
        std::array::from_fn(|axis| {
            let side = self.sides[axis];
            let inside = position[axis] - side * (position[axis] / side).floor();
            // A tiny negative coordinate rounds up to the side itself, which is its own image at 0.
            if inside < side { inside } else { 0.0 }
        })
    }
}
