//! The register file: each cell holds one scalar for each of [`LANES`] threads that run together.
//!
//! Invariants: every cell has room for 64-bit lanes, and a 32-bit kind packs its lanes into the first
//! half, so a row is always one contiguous slice. Which kind a cell holds is fixed by the program that
//! uses it, not recorded here.

use bytemuck::Pod;

use crate::types::Scalar;

/// Threads that run together.
pub(super) const LANES: usize = 64;

/// One bit per lane.
pub(super) type Mask = u64;

/// Every lane.
pub(super) const ALL: Mask = !0;

/// A register: one scalar per lane.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct Cell(pub(super) u32);

impl Cell {
    /// The cell `n` places on, of a value that takes several.
    pub(super) fn at(self, n: usize) -> Self {
        Self(self.0 + n as u32)
    }
}

/// The machine type that lanes of a scalar type are held in: 16-bit floats in `f32`, small integers
/// and `bool` in 32 bits, rounded or wrapped to their own width after each operation.
pub(super) trait Word: Pod + PartialOrd {}
impl Word for f32 {}
impl Word for f64 {}
impl Word for i32 {}
impl Word for u32 {}
impl Word for i64 {}
impl Word for u64 {}

/// Whether lanes of this scalar take 64 bits.
pub(super) fn is_wide(scalar: Scalar) -> bool {
    matches!(scalar, Scalar::F64 | Scalar::I64 | Scalar::U64)
}

/// All registers of one block of lanes.
pub(super) struct Registers {
    words: Vec<u64>,
}

impl Registers {
    /// `cells` registers, all zero.
    pub(super) fn new(cells: u32) -> Self {
        Self {
            words: vec![0; cells as usize * LANES],
        }
    }

    /// The lanes of a cell.
    #[inline]
    pub(super) fn row<T: Word>(&self, cell: Cell) -> &[T; LANES] {
        let start = cell.0 as usize * LANES;
        let row: &[T] = bytemuck::cast_slice(&self.words[start..start + LANES]);
        row.first_chunk().expect("a row has room for 64-bit lanes")
    }

    /// The lanes of a cell, to be changed.
    #[inline]
    pub(super) fn row_mut<T: Word>(&mut self, cell: Cell) -> &mut [T; LANES] {
        let start = cell.0 as usize * LANES;
        let row: &mut [T] = bytemuck::cast_slice_mut(&mut self.words[start..start + LANES]);
        row.first_chunk_mut()
            .expect("a row has room for 64-bit lanes")
    }

    /// Zeroes a run of cells in every lane: the cells of a function that is about to begin, whose
    /// inactive lanes nobody reads before they are written.
    pub(super) fn zero(&mut self, first: Cell, count: u32) {
        let start = first.0 as usize * LANES;
        self.words[start..start + count as usize * LANES].fill(0);
    }

    /// The lanes for which a truth value holds.
    #[inline]
    pub(super) fn truth(&self, cell: Cell) -> Mask {
        let row = self.row::<i32>(cell);
        let mut mask = 0;
        for (lane, value) in row.iter().enumerate() {
            mask |= u64::from(*value != 0) << lane;
        }
        mask
    }

    /// The same bits in every lane.
    pub(super) fn broadcast(&mut self, cell: Cell, scalar: Scalar, bits: u64) {
        if is_wide(scalar) {
            *self.row_mut::<u64>(cell) = [bits; LANES];
        } else {
            *self.row_mut::<u32>(cell) = [bits as u32; LANES];
        }
    }

    /// The bits of one lane.
    pub(super) fn bits(&self, cell: Cell, scalar: Scalar, lane: usize) -> u64 {
        if is_wide(scalar) {
            self.row::<u64>(cell)[lane]
        } else {
            u64::from(self.row::<u32>(cell)[lane])
        }
    }
}
