//! Cells at least as wide as cut-off and skin, so that an atom's neighbours are in its own cell and
//! the 26 around it.
//!
//! Invariants: cells are numbered with the last axis fastest, so that the three cells of a row along
//! that axis are neighbours in memory once atoms are in cell order; the order of atoms within a cell
//! is their order before, so ordering twice changes nothing.

use crate::periodic_box::PeriodicBox;

/// Ranges of slots that hold an atom's candidates. Nine rows, each in two parts where it crosses a
/// side of the box.
pub(crate) const MOST_RUNS: usize = 18;

/// How the box is cut into cells.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct CellGrid {
    /// Cells along each axis; one cell in all where the box is too small for three along each.
    pub(crate) cells: [usize; 3],
    scale: [f64; 3],
}

impl CellGrid {
    /// Finer grids than this would spend more on empty cells than on atoms.
    const MOST: usize = 512;

    pub(crate) fn new(cell: &PeriodicBox, reach: f64) -> Self {
        let mut cells = cell
            .sides
            .map(|side| ((side / reach) as usize).min(Self::MOST));
        if cells.iter().any(|&count| count < 3) {
            cells = [1; 3];
        }
        Self {
            cells,
            scale: std::array::from_fn(|axis| cells[axis] as f64 / cell.sides[axis]),
        }
    }

    /// How many cells there are.
    pub(crate) fn len(&self) -> usize {
        self.cells.iter().product()
    }

    /// The cell of a position inside the box.
    pub(crate) fn cell_of(&self, position: [f64; 3]) -> usize {
        let [x, y, z] = std::array::from_fn(|axis| {
            ((position[axis] * self.scale[axis]) as usize).min(self.cells[axis] - 1)
        });
        (x * self.cells[1] + y) * self.cells[2] + z
    }

    /// The slots of the cell `index` and of the cells around it: `starts[c]..starts[c + 1]` are the
    /// slots of cell `c`. Writes the ranges into `runs` and returns how many there are.
    pub(crate) fn runs_around(
        &self,
        index: usize,
        starts: &[u32],
        runs: &mut [(u32, u32); MOST_RUNS],
    ) -> usize {
        let [nx, ny, nz] = self.cells;
        if nx == 1 {
            runs[0] = (0, starts[self.len()]);
            return 1;
        }
        let (x, y, z) = (index / (ny * nz), index / nz % ny, index % nz);
        let mut count = 0;
        let mut add = |row: usize, low: usize, high: usize| {
            let run = (starts[row + low], starts[row + high + 1]);
            if run.0 < run.1 {
                runs[count] = run;
                count += 1;
            }
        };
        for x in [x + nx - 1, x, x + 1].map(|x| x % nx) {
            for y in [y + ny - 1, y, y + 1].map(|y| y % ny) {
                let row = (x * ny + y) * nz;
                match z {
                    0 => {
                        add(row, 0, 1);
                        add(row, nz - 1, nz - 1);
                    }
                    z if z == nz - 1 => {
                        add(row, 0, 0);
                        add(row, nz - 2, nz - 1);
                    }
                    z => add(row, z - 1, z + 1),
                }
            }
        }
        count
    }
}

/// Which slot each atom gets when atoms are put in the order of their cells.
#[derive(Debug, Default)]
pub(crate) struct CellOrder {
    /// `starts[c]..starts[c + 1]` are the slots of cell `c`.
    pub(crate) starts: Vec<u32>,
    /// The atom in each slot.
    pub(crate) atoms: Vec<u32>,
}

impl CellOrder {
    /// Orders atoms by `cells`, the cell of each; a counting sort, which keeps the order within a
    /// cell.
    pub(crate) fn fill(&mut self, cells: &[u32], cell_count: usize) {
        self.starts.clear();
        self.starts.resize(cell_count + 2, 0);
        // Counted two places up, so that one pass of running sums and one of placing leave
        // `starts` as it must be.
        for &cell in cells {
            self.starts[cell as usize + 2] += 1;
        }
        for index in 2..self.starts.len() {
            self.starts[index] += self.starts[index - 1];
        }
        self.atoms.resize(cells.len(), 0);
        for (atom, &cell) in cells.iter().enumerate() {
            let slot = &mut self.starts[cell as usize + 1];
            self.atoms[*slot as usize] = atom as u32;
            *slot += 1;
        }
        self.starts.pop();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ordering_twice_changes_nothing() {
        let cells = [2u32, 0, 1, 0, 2, 2, 0];
        let mut order = CellOrder::default();
        order.fill(&cells, 4);
        assert_eq!(order.atoms, [1, 3, 6, 2, 0, 4, 5]);
        assert_eq!(order.starts, [0, 3, 4, 7, 7]);
        let ordered: Vec<u32> = order
            .atoms
            .iter()
            .map(|&atom| cells[atom as usize])
            .collect();
        order.fill(&ordered, 4);
        assert_eq!(order.atoms, [0, 1, 2, 3, 4, 5, 6]);
    }

    #[test]
    fn the_runs_around_a_cell_are_its_27_cells_once_each() {
        let grid = CellGrid::new(&PeriodicBox::new([9.0, 12.0, 15.0]).unwrap(), 3.0);
        assert_eq!(grid.cells, [3, 4, 5]);
        // One slot to a cell, so that slots are cells.
        let starts: Vec<u32> = (0..=60).collect();
        for index in 0..60 {
            let mut runs = [(0, 0); MOST_RUNS];
            let count = grid.runs_around(index, &starts, &mut runs);
            let mut seen: Vec<u32> = runs[..count].iter().flat_map(|&(a, b)| a..b).collect();
            seen.sort_unstable();
            seen.dedup();
            assert_eq!(seen.len(), 27, "{index}");
            assert!(seen.contains(&(index as u32)));
        }
    }

    #[test]
    fn a_small_box_is_one_cell() {
        let grid = CellGrid::new(&PeriodicBox::new([8.0, 8.0, 30.0]).unwrap(), 3.0);
        assert_eq!(grid.len(), 1);
        let mut runs = [(0, 0); MOST_RUNS];
        assert_eq!(grid.runs_around(0, &[0, 17], &mut runs), 1);
        assert_eq!(runs[0], (0, 17));
    }
}
