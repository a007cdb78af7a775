//! What a search leaves behind: for every cell its distance modulo 3, or that it was not reached.

use serde::Serialize;

use super::tile::Tiling;
use crate::error::LatticeError;
use crate::shape::{Cell, Shape};

/// How far a search came.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Reach {
    /// Cells reached, the source included.
    pub cells: u64,
    /// Distance of the farthest of them.
    pub eccentricity: u32,
}

/// Labels of all cells: 0 where not reached, else 1 + distance mod 3, in two planes of bits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Labels {
    pub(super) shape: Shape,
    pub(super) tiling: Tiling,
    pub(super) low: Vec<u64>,
    pub(super) high: Vec<u64>,
}

/// The words that a cell of this distance sets in the low and in the high plane.
#[inline(always)]
pub(super) fn planes_of(distance: u32) -> [u64; 2] {
    match distance % 3 {
        0 => [u64::MAX, 0],
        1 => [0, u64::MAX],
        _ => [u64::MAX, u64::MAX],
    }
}

impl Labels {
    /// Distance modulo 3, where the cell was reached.
    pub fn get(&self, cell: Cell) -> Option<u8> {
        let (tile, bit) = self.tiling.place(cell);
        let low = u8::from(self.low[tile] & bit != 0);
        let high = u8::from(self.high[tile] & bit != 0);
        (low + 2 * high).checked_sub(1)
    }

    /// A shortest path from the source to `target`, both included, walked back along the labels.
    pub fn path(&self, target: Cell) -> Result<Vec<Cell>, LatticeError> {
        let mut label = self
            .get(target)
            .ok_or(LatticeError::Unreachable { target })?;
        let mut path = vec![target];
        let mut here = target;
        loop {
            let nearer = (label + 2) % 3;
            let Some(next) = self
                .shape
                .neighbours(here)
                .find(|&cell| self.get(cell) == Some(nearer))
            else {
                // Only the source has no nearer neighbour.
                path.reverse();
                return Ok(path);
            };
            // A walk longer than the lattice would be going in circles.
            if path.len() > self.shape.cells() {
                return Err(LatticeError::Unreachable { target });
            }
            path.push(next);
            (here, label) = (next, nearer);
        }
    }

    /// Where it lies.
    pub fn shape(&self) -> Shape {
        self.shape
    }
}
