//! Who is near whom: for each atom all others within cut-off and skin, made with vectors from atoms
//! in cell order.
//!
//! Invariants: entries are indices of atoms times four, the stride of positions; the entries of an
//! atom are padded to whole vectors with the index of a position that is not a number, which no
//! comparison accepts; an entry is always inside the positions of the simulation that made the list.

use warpsmith_lanes::{Masked, VectorTask, WIDEST};

use crate::cell_grid::{CellGrid, CellOrder, MOST_RUNS};
use crate::real::Real;

/// Atoms of a block: the unit that threads share out. 256 lists of 80 entries are 80 KiB.
pub(crate) const BLOCK: usize = 256;

/// The lists of one block of atoms.
#[derive(Debug, Default)]
pub(crate) struct ListBlock {
    /// Entries of all atoms of the block, one after the other.
    pub(crate) entries: Vec<u32>,
    /// Where the entries of each atom end.
    pub(crate) ends: Vec<u32>,
    /// Whether all neighbours of an atom are inside the box as they are, without an image.
    pub(crate) inside: Vec<bool>,
    /// Neighbours within reach, without padding.
    pub(crate) pairs: usize,
}

/// Positions in cell order, one array to an axis, with what is needed to read vectors of them.
#[derive(Debug, Default)]
pub(crate) struct Columns<R> {
    /// Coordinates by axis, padded by a vector.
    pub(crate) axes: [Vec<R>; 3],
    /// The cell of each atom.
    pub(crate) cells: Vec<u32>,
    /// Slots by cell.
    pub(crate) order: CellOrder,
}

/// What the lists of a block are made from.
pub(crate) struct ListTask<'a, R> {
    pub(crate) block: &'a mut ListBlock,
    /// The block's first atom, and the one after its last.
    pub(crate) atoms: (usize, usize),
    pub(crate) columns: &'a Columns<R>,
    pub(crate) grid: &'a CellGrid,
    /// The slot of each atom; `None` where atoms lie in cell order themselves.
    pub(crate) slots: Option<&'a [u32]>,
    pub(crate) sides: [R; 3],
    pub(crate) reach: R,
    /// The entry that pads.
    pub(crate) nobody: u32,
}

impl<R: Real> VectorTask<R> for ListTask<'_, R> {
    type Output = ();

    #[inline(always)]
    fn run<L: Masked<Scalar = R>>(self) {
        let Self {
            block,
            atoms,
            columns,
            grid,
            slots,
            sides,
            reach,
            nobody,
        } = self;
        let (axes, order) = (&columns.axes, &columns.order);
        let limit = L::splat(reach * reach);
        let side = sides.map(L::splat);
        let inverse = sides.map(|side| L::splat(side.reciprocal()));
        block.ends.clear();
        block.inside.clear();
        block.pairs = 0;
        let (mut runs, mut run_count, mut last_cell) = ([(0, 0); MOST_RUNS], 0, usize::MAX);
        let mut used = 0;
        for atom in atoms.0..atoms.1 {
            let slot = slots.map_or(atom, |slots| slots[atom] as usize);
            let cell = columns.cells[atom] as usize;
            if cell != last_cell {
                run_count = grid.runs_around(cell, &order.starts, &mut runs);
                last_cell = cell;
            }
            let home: [R; 3] = std::array::from_fn(|axis| axes[axis][slot]);
            let inside = (0..3).all(|axis| reach < home[axis] && home[axis] < sides[axis] - reach);
            let here = home.map(L::splat);
            let begin = used;
            for &(low, high) in &runs[..run_count] {
                let (mut at, high) = (low as usize, high as usize);
                while at < high {
                    // Room for a vector at the end, whatever is appended to it.
                    if block.entries.len() < used + 2 * WIDEST {
                        block.entries.resize(2 * used + 64 * WIDEST, 0);
                    }
                    let mut square = L::splat(R::default());
                    for axis in 0..3 {
                        let mut apart = here[axis].sub(L::load(&axes[axis][at..]));
                        if !inside {
                            let images = apart.mul(inverse[axis]).nearest();
                            apart = images.neg_mul_add(side[axis], apart);
                        }
                        square = apart.mul_add(apart, square);
                    }
                    let mut bits = L::bits(square.where_less(limit));
                    let left = high - at;
                    if left < L::WIDTH {
                        bits &= (1 << left) - 1;
                    }
                    // An atom is not its own neighbour; two atoms at one place are.
                    if at <= slot && slot < at + L::WIDTH {
                        bits &= !(1 << (slot - at));
                    }
                    used += L::append(bits, 4 * at as u32, &mut block.entries[used..]);
                    at += L::WIDTH;
                }
            }
            block.pairs += used - begin;
            if slots.is_some() {
                for entry in &mut block.entries[begin..used] {
                    *entry = 4 * order.atoms[*entry as usize / 4];
                }
            }
            while !used.is_multiple_of(L::WIDTH) {
                block.entries[used] = nobody;
                used += 1;
            }
            block.ends.push(used as u32);
            block.inside.push(inside);
        }
    }
}
