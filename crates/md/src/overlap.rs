//! Whether two atoms are so close that their forces mean nothing.

use crate::cell_grid::{CellGrid, CellOrder, MOST_RUNS};
use crate::error::{MdError, Result};
use crate::start::Atoms;

/// At this distance a pair's energy is 16,128 ε: no start that was meant has one.
pub(crate) const CLOSEST: f64 = 0.5;
/// Cells of a σ hold about one atom of a fluid.
const CELL: f64 = 1.0;

/// Names the closest pair where it is too close.
pub(crate) fn check_overlap(atoms: &Atoms) -> Result<()> {
    let grid = CellGrid::new(&atoms.cell, CELL);
    let inside: Vec<[f64; 3]> = atoms
        .positions
        .iter()
        .map(|position| atoms.cell.wrap(*position))
        .collect();
    let cells: Vec<u32> = inside
        .iter()
        .map(|position| grid.cell_of(*position) as u32)
        .collect();
    let mut order = CellOrder::default();
    order.fill(&cells, grid.len());
    let mut closest = (CLOSEST * CLOSEST, 0, 0);
    let mut runs = [(0, 0); MOST_RUNS];
    for (first, here) in inside.iter().enumerate() {
        let count = grid.runs_around(cells[first] as usize, &order.starts, &mut runs);
        for &(low, high) in &runs[..count] {
            for &second in &order.atoms[low as usize..high as usize] {
                let second = second as usize;
                if second <= first {
                    continue;
                }
                let apart = atoms.cell.shortest_vector(*here, inside[second]);
                let square = apart.iter().map(|x| x * x).sum::<f64>();
                if square < closest.0 {
                    closest = (square, first as u32, second as u32);
                }
            }
        }
    }
    let (square, first, second) = closest;
    if first == second {
        return Ok(());
    }
    Err(MdError::Overlap {
        first,
        second,
        distance: square.sqrt(),
        limit: CLOSEST,
    })
}
