//! A lattice with blocked cells, one bit to a cell.

use warpsmith_device::ensure_host_room;
use warpsmith_workload::random::Random;

use super::tile::Tiling;
use crate::error::LatticeError;
use crate::shape::{Cell, Shape};

/// Which cells are free.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Maze {
    shape: Shape,
    tiling: Tiling,
    /// One word to a tile; cells of a tile that lie outside the lattice are not free.
    free: Vec<u64>,
}

impl Maze {
    /// A lattice where `is_free` says so. It is asked in row-major order.
    pub fn new(shape: Shape, mut is_free: impl FnMut(usize) -> bool) -> Result<Self, LatticeError> {
        let tiling = Tiling::of(shape);
        // The maze, and what a search keeps: some ten words to a tile.
        ensure_host_room(80 * tiling.tiles() as u64)?;
        let mut free = vec![0; tiling.tiles()];
        let [nz, ny, nx] = shape.extents();
        let mut index = 0;
        for z in 0..nz {
            for y in 0..ny {
                let (row, bit) = tiling.place(Cell([z, y, 0]));
                for x in 0..nx {
                    if is_free(index) {
                        free[row + x / 4] |= bit << (x % 4);
                    }
                    index += 1;
                }
            }
        }
        Ok(Self {
            shape,
            tiling,
            free,
        })
    }

    /// Every cell is free.
    pub fn open(shape: Shape) -> Result<Self, LatticeError> {
        Self::new(shape, |_| true)
    }

    /// A share of the cells is blocked at random; cell 0 is free.
    pub fn random(shape: Shape, blocked_percent: f64, seed: u64) -> Result<Self, LatticeError> {
        if !(0.0..=100.0).contains(&blocked_percent) {
            return Err(LatticeError::Parameter {
                name: "the share of blocked cells",
                value: blocked_percent,
                problem: "it must be from 0 to 100 percent".to_owned(),
            });
        }
        let mut random = Random::seeded(seed);
        Self::new(shape, |index| {
            let drawn = 100.0 * random.unit();
            index == 0 || drawn >= blocked_percent
        })
    }

    /// Where it lies.
    pub fn shape(&self) -> Shape {
        self.shape
    }

    /// Whether a cell inside the lattice is free.
    pub fn is_free(&self, cell: Cell) -> bool {
        let (tile, bit) = self.tiling.place(cell);
        self.free[tile] & bit != 0
    }

    /// Number of free cells.
    pub fn free_cells(&self) -> u64 {
        self.free
            .iter()
            .map(|bits| u64::from(bits.count_ones()))
            .sum()
    }

    /// The first free cell in row-major order.
    pub fn first_free(&self) -> Option<Cell> {
        (0..self.shape.cells())
            .map(|index| self.shape.cell(index))
            .find(|&cell| self.is_free(cell))
    }

    /// Refuses a cell that no path starts or ends at.
    pub fn ensure_free(&self, role: &'static str, cell: Cell) -> Result<(), LatticeError> {
        if !self.shape.contains(cell) {
            return Err(LatticeError::Cell {
                text: cell.to_string(),
                shape: self.shape.to_string(),
                problem: "it lies outside".to_owned(),
            });
        }
        if self.is_free(cell) {
            Ok(())
        } else {
            Err(LatticeError::Blocked { role, cell })
        }
    }

    pub(super) fn tiling(&self) -> Tiling {
        self.tiling
    }

    pub(super) fn words(&self) -> &[u64] {
        &self.free
    }
}
