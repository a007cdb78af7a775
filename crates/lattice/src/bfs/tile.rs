//! Bits of a 4×4×4 tile: bit `16·z + 4·y + x`.

use crate::shape::{Cell, Shape};

/// Cells with x = 0, x = 3, y = 0, y = 3.
const X0: u64 = 0x1111_1111_1111_1111;
const X3: u64 = X0 << 3;
const Y0: u64 = 0x000f_000f_000f_000f;
const Y3: u64 = Y0 << 12;

/// The neighbours of `bits` inside their own tile.
#[inline(always)]
pub(super) fn spread(bits: u64) -> u64 {
    ((bits & !X3) << 1)
        | ((bits & !X0) >> 1)
        | ((bits & !Y3) << 4)
        | ((bits & !Y0) >> 4)
        | (bits << 16)
        | (bits >> 16)
}

/// The neighbours of `bits` in the six tiles beside: x−1, x+1, y−1, y+1, z−1, z+1.
#[inline(always)]
pub(super) fn leave(bits: u64) -> [u64; 6] {
    [
        (bits & X0) << 3,
        (bits & X3) >> 3,
        (bits & Y0) << 12,
        (bits & Y3) >> 12,
        bits << 48,
        bits >> 48,
    ]
}

/// How a lattice is covered with tiles.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Tiling {
    /// Tiles along z, y, x.
    pub(super) extents: [usize; 3],
}

impl Tiling {
    pub(super) fn of(shape: Shape) -> Self {
        Self {
            extents: shape.extents().map(|extent| extent.div_ceil(4)),
        }
    }

    pub(super) fn tiles(&self) -> usize {
        self.extents.iter().product()
    }

    /// Tile and bit of a cell.
    pub(super) fn place(&self, cell: Cell) -> (usize, u64) {
        let [z, y, x] = cell.0;
        let [_, ty, tx] = self.extents;
        let tile = ((z / 4) * ty + y / 4) * tx + x / 4;
        (tile, 1 << (16 * (z % 4) + 4 * (y % 4) + x % 4))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_bit_goes_to_its_six_neighbours_and_nowhere_else() {
        let shape = Shape::cube(12).unwrap();
        let tiling = Tiling::of(shape);
        for z in 4..8 {
            for y in 4..8 {
                for x in 4..8 {
                    let cell = Cell([z, y, x]);
                    let (tile, bit) = tiling.place(cell);
                    let mut seen = vec![(tile, spread(bit))];
                    let steps: [isize; 6] = [-1, 1, -3, 3, -9, 9];
                    for (step, bits) in steps.into_iter().zip(leave(bit)) {
                        seen.push((tile.wrapping_add_signed(step), bits));
                    }
                    let mut expected = vec![0u64; tiling.tiles()];
                    for neighbour in shape.neighbours(cell) {
                        let (tile, bit) = tiling.place(neighbour);
                        expected[tile] |= bit;
                    }
                    for (tile, bits) in seen {
                        assert_eq!(bits, std::mem::take(&mut expected[tile]), "{cell}");
                    }
                    assert!(expected.iter().all(|&bits| bits == 0));
                }
            }
        }
    }
}
