//! The textbook search, with a queue of cells and a table of distances: the specification, and the
//! peer that tiles are measured against.

use super::labels::{Labels, Reach, planes_of};
use super::maze::Maze;
use crate::error::LatticeError;
use crate::shape::Cell;

/// Marks a cell that was not reached.
const FAR: u32 = u32::MAX;

/// A queue search that can be repeated; it allocates once.
#[derive(Debug)]
pub struct QueueSearch {
    maze: Maze,
    distances: Vec<u32>,
    queue: Vec<u32>,
}

impl QueueSearch {
    /// Prepares searches in a maze of fewer than 2³² cells.
    pub fn new(maze: Maze) -> Result<Self, LatticeError> {
        let cells = maze.shape().cells();
        if u32::try_from(cells).is_err() {
            return Err(LatticeError::Shape {
                text: maze.shape().to_string(),
                problem: "a queue search takes fewer than 2³² cells".to_owned(),
            });
        }
        warpsmith_device::ensure_host_room(8 * cells as u64)?;
        Ok(Self {
            distances: vec![FAR; cells],
            queue: Vec::with_capacity(cells),
            maze,
        })
    }

    /// Searches everything that can be reached from `source`.
    pub fn run(&mut self, source: Cell) -> Result<(), LatticeError> {
        self.maze.ensure_free("source", source)?;
        let shape = self.maze.shape();
        self.distances.fill(FAR);
        self.queue.clear();
        let start = shape.index(source);
        self.distances[start] = 0;
        self.queue.push(start as u32);
        let mut head = 0;
        while let Some(&index) = self.queue.get(head) {
            head += 1;
            let distance = self.distances[index as usize] + 1;
            for cell in shape.neighbours(shape.cell(index as usize)) {
                let next = shape.index(cell);
                if self.distances[next] == FAR && self.maze.is_free(cell) {
                    self.distances[next] = distance;
                    self.queue.push(next as u32);
                }
            }
        }
        Ok(())
    }

    /// Distance of a cell from the last source, where it was reached.
    pub fn distance(&self, cell: Cell) -> Option<u32> {
        let distance = self.distances[self.maze.shape().index(cell)];
        (distance != FAR).then_some(distance)
    }

    /// How far the last search came.
    pub fn reach(&self) -> Reach {
        let last = self.queue.last();
        Reach {
            cells: self.queue.len() as u64,
            eccentricity: last.map_or(0, |&index| self.distances[index as usize]),
        }
    }

    /// The labels of the last search.
    pub fn labels(&self) -> Labels {
        let (shape, tiling) = (self.maze.shape(), self.maze.tiling());
        let mut labels = Labels {
            shape,
            tiling,
            low: vec![0; tiling.tiles()],
            high: vec![0; tiling.tiles()],
        };
        for (index, &distance) in self.distances.iter().enumerate() {
            if distance != FAR {
                let (tile, bit) = tiling.place(shape.cell(index));
                let [low, high] = planes_of(distance);
                labels.low[tile] |= bit & low;
                labels.high[tile] |= bit & high;
            }
        }
        labels
    }

    /// Fills what a search computes with what none leaves there.
    pub(super) fn poison(&mut self) {
        self.distances.fill(FAR - 1);
        self.queue.clear();
    }
}
