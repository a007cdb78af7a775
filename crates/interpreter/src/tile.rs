//! Tiles as the lanes see them, and what is done with whole ones.
//!
//! On a CPU a block is one thread: a tile is memory of the thread's own, and a view is another shape of it.
#![expect(missing_docs, reason = "the variants say what their fields are")]

use super::instruction::Space;
use super::lanes::Cell;
use super::layout::ARRAY_LEAVES;
use warpsmith_ir::types::{Scalar, TypeId};

/// A tile: where its cells say that it lies, and its shape.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tile {
    /// Its buffer and, in the next cell, its first element.
    pub cells: Cell,
    pub shape: Vec<usize>,
    /// Elements between neighbours, per dimension.
    pub strides: Vec<isize>,
    /// The scalars of an element.
    pub scalars: Vec<Scalar>,
    /// What an element is.
    pub element: TypeId,
    /// Whether the memory is its own; else it is a view of another tile's.
    pub owner: bool,
}

impl Tile {
    /// Elements.
    pub fn count(&self) -> usize {
        self.shape.iter().product()
    }

    /// Whether its elements lie one after the other.
    pub fn is_dense(&self) -> bool {
        let mut stride = 1;
        for (size, own) in self.shape.iter().zip(&self.strides).rev() {
            if *size > 1 && *own != stride {
                return false;
            }
            stride *= *size as isize;
        }
        true
    }

    /// How far each element lies from the first, in the order of the last index.
    pub fn offsets(&self) -> Vec<isize> {
        let mut offsets = vec![0];
        for (size, stride) in self.shape.iter().zip(&self.strides) {
            let before = std::mem::take(&mut offsets);
            let steps = |first: isize| (0..*size as isize).map(move |n| first + n * stride);
            offsets = before.into_iter().flat_map(steps).collect();
        }
        offsets
    }
}

/// An array that a tile is loaded from or stored to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TileArray {
    /// The cells of the array value.
    pub cells: Cell,
    /// The first element of the tile, per dimension.
    pub offsets: Vec<Cell>,
    /// Whether elements outside the array are left out; else they are a fault.
    pub checked: bool,
    /// A tile of indices that replaces those along an axis.
    pub indices: Option<(Tile, usize)>,
}

/// What is done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TileKind {
    /// The tile's elements are the array's, or zero outside of it.
    Load(TileArray),
    /// The array's elements are the tile's.
    Store(TileArray),
    /// The array's elements receive the tile's; the second tile has what they were before.
    AtomicAdd {
        /// The elements.
        array: TileArray,
        /// Whether something looks at what they were.
        observed: bool,
    },
    /// The array's gradients receive the tile's.
    AddGradient(TileArray),
    /// The tile's gradients receive the array's, which are zeroed if `zeroes`.
    TakeGradient { array: TileArray, zeroes: bool },
    /// The first tile is a view of the second, from these indices on.
    View(Vec<Cell>),
    /// The second tile is copied into the first, from these indices on.
    Copy(Vec<Cell>),
    /// The second tile's gradients receive those of the first from these indices on, which are zeroed.
    TakeCopied(Vec<Cell>),
    /// The gradients become zero.
    ZeroGradient,
    /// The third tile becomes `alpha` times the product of the first two plus `beta` times itself.
    Product {
        alpha: (Scalar, Cell),
        beta: (Scalar, Cell),
    },
    /// The first two tiles' gradients receive their shares of the third's, which is then scaled by `beta`
    /// if `scales`.
    ProductAdjoint {
        alpha: (Scalar, Cell),
        beta: (Scalar, Cell),
        scales: bool,
    },
    /// The second tile is the Cholesky factor of the first.
    Cholesky { upper: bool },
    /// The first tile's gradients receive what those of the second, its factor, come from: in one triangle.
    CholeskyAdjoint { upper: bool },
    /// The third tile solves an equation of the first with the second on the right.
    Solve(Solve),
    /// The first two tiles' gradients receive their shares of the third's, which solves L x = b.
    LowerSolveAdjoint,
    /// The third tile is the first with the second added to its diagonal.
    DiagonalAdd,
    /// Each row becomes its Fourier transform; with `gradients` the gradients' rows instead.
    Fourier { inverse: bool, gradients: bool },
    /// The first tile is sorted, and the second along with it.
    Sort,
}

/// Which equation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Solve {
    /// L x = b.
    Lower,
    /// U x = b.
    Upper,
    /// L Lᵀ x = b, or Uᵀ U x = b.
    Cholesky { upper: bool },
}

/// A call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TileCall {
    pub kind: TileKind,
    pub tiles: Vec<Tile>,
    /// An array of the thread's own for what lies between, where the operation needs one on a device.
    pub room: Option<Cell>,
}

impl TileCall {
    /// Shows the runs of cells that it reads, then those that it writes.
    pub fn cells(&self, mut shows: impl FnMut(Cell, usize, bool)) {
        let mut read = |cell: Cell, count: usize| shows(cell, count, false);
        let (written, sources) = match &self.kind {
            TileKind::View(_) => self.tiles.split_at(1),
            _ => self.tiles.split_at(0),
        };
        sources.iter().for_each(|tile| read(tile.cells, 2));
        self.room.iter().for_each(|room| read(*room, 2));
        match &self.kind {
            TileKind::Load(array)
            | TileKind::Store(array)
            | TileKind::AtomicAdd { array, .. }
            | TileKind::AddGradient(array)
            | TileKind::TakeGradient { array, .. } => {
                read(array.cells, ARRAY_LEAVES);
                array.offsets.iter().for_each(|cell| read(*cell, 1));
                if let Some((indices, _)) = &array.indices {
                    read(indices.cells, 2);
                }
            }
            TileKind::View(cells) | TileKind::Copy(cells) | TileKind::TakeCopied(cells) => {
                cells.iter().for_each(|cell| read(*cell, 1));
            }
            TileKind::Product { alpha, beta } | TileKind::ProductAdjoint { alpha, beta, .. } => {
                read(alpha.1, 1);
                read(beta.1, 1);
            }
            _ => {}
        }
        written.iter().for_each(|tile| shows(tile.cells, 2, true));
    }
}

/// A tile and which of its memories is meant.
pub(super) type TileSpace<'t> = (&'t Tile, Space);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn offsets_follow_the_strides() {
        let tile = |shape: &[usize], strides: &[isize]| Tile {
            cells: Cell(0),
            shape: shape.to_vec(),
            strides: strides.to_vec(),
            scalars: vec![Scalar::F32],
            element: TypeId::F32,
            owner: true,
        };
        assert!(tile(&[2, 3], &[3, 1]).is_dense());
        assert_eq!(tile(&[2, 3], &[3, 1]).offsets(), [0, 1, 2, 3, 4, 5]);
        let transposed = tile(&[3, 2], &[1, 3]);
        assert!(!transposed.is_dense());
        assert_eq!(transposed.offsets(), [0, 3, 1, 4, 2, 5]);
        assert_eq!(tile(&[2, 2], &[0, -1]).offsets(), [0, -1, 0, -1]);
    }
}
