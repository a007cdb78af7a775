//! Cells that receive nothing, as rows of bits: a row starts at a word, and bit x is set where cell
//! x is open.

use warpsmith_workload::random::Random;

use crate::error::LatticeError;
use crate::shape::{Cell, Shape};

/// Which cells are open.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Obstacles {
    words_per_row: usize,
    open: Vec<u32>,
}

impl Obstacles {
    /// A share of the cells is blocked at random, the cells in `kept` never.
    pub fn random(
        shape: Shape,
        blocked_percent: f64,
        seed: u64,
        kept: &[Cell],
    ) -> Result<Self, LatticeError> {
        if !(0.0..=100.0).contains(&blocked_percent) {
            return Err(LatticeError::Parameter {
                name: "the share of blocked cells",
                value: blocked_percent,
                problem: "it must be from 0 to 100 percent".to_owned(),
            });
        }
        let words_per_row = shape.row().div_ceil(32);
        let mut obstacles = Self {
            words_per_row,
            open: vec![0; words_per_row * shape.rows()],
        };
        let mut random = Random::seeded(seed);
        for row in 0..shape.rows() {
            for x in 0..shape.row() {
                if 100.0 * random.unit() >= blocked_percent {
                    obstacles.open[row * words_per_row + x / 32] |= 1 << (x % 32);
                }
            }
        }
        for cell in kept {
            let [z, y, x] = cell.0;
            let row = z * shape.extents()[1] + y;
            obstacles.open[row * words_per_row + x / 32] |= 1 << (x % 32);
        }
        Ok(obstacles)
    }

    /// The bits of one row.
    pub(super) fn row(&self, row: usize) -> &[u32] {
        &self.open[row * self.words_per_row..(row + 1) * self.words_per_row]
    }

    /// All rows.
    pub(super) fn words(&self) -> &[u32] {
        &self.open
    }
}
