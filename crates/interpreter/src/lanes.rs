//! The register file: each cell holds one scalar for each of [`LANES`] threads that run together.
//!
//! Invariants: a cell has one row of 32-bit lanes and, once a program uses any, one of 64-bit lanes; a
//! row is contiguous. Which of the two a cell uses is fixed by the program, not recorded here.

use bytemuck::Pod;

use warpsmith_ir::types::Scalar;

/// Threads that run together.
pub(super) const LANES: usize = 64;

/// One bit per lane.
pub(super) type Mask = u64;

/// Every lane.
pub(super) const ALL: Mask = !0;

/// What is in 64-bit rows that nothing was written to.
static ZEROES: [u64; LANES] = [0; LANES];

/// A register: one scalar per lane.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Cell(pub u32);

impl Cell {
    /// The cell `n` places on, of a value that takes several.
    pub fn at(self, n: usize) -> Self {
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

/// All ones for the lanes of a mask, all zeroes for the others.
#[inline(always)]
pub(super) fn spread(mask: Mask) -> [u32; LANES] {
    let mut lanes = [0; LANES];
    for (n, eight) in lanes.as_chunks_mut::<8>().0.iter_mut().enumerate() {
        let bits = (mask >> (8 * n)) as u32 & 0xff;
        for (lane, word) in eight.iter_mut().enumerate() {
            *word = if bits & 1 << lane != 0 { u32::MAX } else { 0 };
        }
    }
    lanes
}

/// The lanes of a mask.
#[inline(always)]
pub(super) fn each(mut lanes: Mask) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        (lanes != 0).then(|| {
            let lane = lanes.trailing_zeros() as usize;
            lanes &= lanes - 1;
            lane
        })
    })
}

/// Whether lanes of this scalar take 64 bits.
pub fn is_wide(scalar: Scalar) -> bool {
    matches!(scalar, Scalar::F64 | Scalar::I64 | Scalar::U64)
}

/// A row, on lines of the cache of its own.
#[derive(Clone, Copy)]
#[repr(C, align(64))]
struct Row<T>([T; LANES]);

/// All registers of one block of lanes.
pub(super) struct Registers {
    /// The first cell that the program uses.
    first: usize,
    narrow: Vec<Row<u32>>,
    /// Empty until a 64-bit value is written, which few kernels do.
    wide: Vec<Row<u64>>,
}

impl Registers {
    /// Registers for the cells `first..end`, all zero.
    pub(super) fn new(first: u32, end: u32) -> Self {
        Self {
            first: first as usize,
            narrow: vec![Row([0; LANES]); (end - first) as usize],
            wide: Vec::new(),
        }
    }

    /// The lanes of a cell.
    #[inline]
    pub(super) fn row<T: Word>(&self, cell: Cell) -> &[T; LANES] {
        let at = cell.0 as usize - self.first;
        if size_of::<T>() == 8 {
            bytemuck::cast_ref(self.wide.get(at).map_or(&ZEROES, |row| &row.0))
        } else {
            bytemuck::cast_ref(&self.narrow[at].0)
        }
    }

    /// The lanes of a cell, to be changed.
    #[inline]
    pub(super) fn row_mut<T: Word>(&mut self, cell: Cell) -> &mut [T; LANES] {
        let at = cell.0 as usize - self.first;
        if size_of::<T>() == 8 {
            self.need_wide();
            bytemuck::cast_mut(&mut self.wide[at].0)
        } else {
            bytemuck::cast_mut(&mut self.narrow[at].0)
        }
    }

    /// The 32-bit lanes of a cell, to be changed, beside those of two others; `None` where it is one of
    /// them.
    #[inline]
    pub(super) fn beside<T: Word, U: Word>(
        &mut self,
        dst: Cell,
        a: Cell,
        b: Cell,
    ) -> Option<(&mut [U; LANES], &[T; LANES], &[T; LANES])> {
        if size_of::<T>() != 4 || size_of::<U>() != 4 {
            return None;
        }
        let at = dst.0 as usize - self.first;
        let (low, rest) = self.narrow.split_at_mut(at);
        let (out, high) = rest.split_first_mut()?;
        let [a, b] = [a, b].map(|cell| {
            let other = cell.0 as usize - self.first;
            match other.checked_sub(at) {
                None => low.get(other),
                Some(beyond) => high.get(beyond.checked_sub(1)?),
            }
        });
        Some((
            bytemuck::cast_mut(&mut out.0),
            bytemuck::cast_ref(&a?.0),
            bytemuck::cast_ref(&b?.0),
        ))
    }

    /// Makes the 64-bit rows, if there are none yet.
    pub(super) fn need_wide(&mut self) {
        if self.wide.is_empty() {
            self.wide = vec![Row([0; LANES]); self.narrow.len()];
        }
    }

    /// Where the first rows lie; valid until the registers are used otherwise.
    #[inline]
    pub(super) fn pointers(&mut self) -> (*mut [u32; LANES], *mut [u64; LANES]) {
        (
            self.narrow.as_mut_ptr().cast(),
            self.wide.as_mut_ptr().cast(),
        )
    }

    /// Zeroes a run of cells in every lane: the cells of a function that is about to begin, whose
    /// inactive lanes nobody reads before they are written.
    pub(super) fn zero(&mut self, first: Cell, count: u32) {
        let at = first.0 as usize - self.first;
        let run = at..at + count as usize;
        self.narrow[run.clone()].fill(Row([0; LANES]));
        if !self.wide.is_empty() {
            self.wide[run].fill(Row([0; LANES]));
        }
    }

    /// The lanes for which a truth value holds.
    #[inline]
    pub(super) fn truth(&self, cell: Cell) -> Mask {
        let row = self.row::<u32>(cell);
        let mut bytes = [0_u8; LANES];
        for (byte, value) in bytes.iter_mut().zip(row) {
            *byte = u8::from(*value != 0);
        }
        // The product moves the low bits of eight bytes side by side into the highest byte.
        bytes
            .as_chunks::<8>()
            .0
            .iter()
            .rev()
            .fold(0, |mask, eight| {
                let bits = u64::from_le_bytes(*eight).wrapping_mul(0x0102_0408_1020_4080) >> 56;
                mask << 8 | bits
            })
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn truth_and_spread_are_inverse() {
        let mut registers = Registers::new(7, 9);
        for mask in [0, ALL, 1, 1 << 63, 0xdead_beef_0123_4567] {
            *registers.row_mut::<u32>(Cell(8)) = spread(mask);
            assert_eq!(registers.truth(Cell(8)), mask);
        }
    }
}
