//! How a lattice is dealt out to a GPU's multiprocessors, so that they hold it for many steps.

use crate::shape::Shape;

/// Threads of a block of `rd_resident`.
pub(super) const THREADS: u32 = 1024;
/// Groups of four cells that a thread of it holds at most.
const GROUPS: u32 = 4;

/// Tiles of whole rows, one to a multiprocessor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Tiling {
    /// Rows of a tile.
    pub(super) rows: u32,
    /// Planes of a tile.
    pub(super) planes: u32,
    /// Tiles.
    pub(super) blocks: u32,
    /// Shared memory of a tile: the medium with its rim, twice, and where the rim comes from.
    pub(super) shared_bytes: u32,
}

impl Tiling {
    /// The tiling with the least work and exchange for so many multiprocessors and so much shared
    /// memory to a block; `None` where the lattice does not fit.
    pub(super) fn of(shape: Shape, multiprocessors: u32, shared: u64) -> Option<Self> {
        let [nz, ny, nx] = shape.extents().map(|extent| extent as u64);
        let blocks = u64::from(multiprocessors);
        let held = u64::from(THREADS * GROUPS) * blocks;
        // This also bounds the loop below.
        if nx % 4 != 0 || shape.cells() as u64 / 4 > held {
            return None;
        }
        let groups = nx / 4;
        let tilings = (1..=nz).filter_map(|planes| {
            let columns = blocks / nz.div_ceil(planes);
            let rows = ny.div_ceil(columns.max(1));
            let bytes = (2 * 16 * (rows + 2) * (planes + 2) + 2 * 8 * (rows + planes)) * groups;
            let fits = rows * planes * groups <= u64::from(THREADS * GROUPS) && bytes <= shared;
            (columns > 0 && fits).then_some((rows, planes, bytes))
        });
        // Rounds of the threads first, then what is computed and fetched.
        let (rows, planes, bytes) = tilings.min_by_key(|(rows, planes, _)| {
            let rounds = (rows * planes * groups).div_ceil(THREADS.into());
            (rounds, rows * planes + rows + planes)
        })?;
        Some(Self {
            rows: rows as u32,
            planes: planes as u32,
            blocks: (ny.div_ceil(rows) * nz.div_ceil(planes)) as u32,
            shared_bytes: bytes as u32,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SHARED: u64 = 227 << 10;

    #[test]
    fn every_cell_has_a_tile_and_every_tile_a_multiprocessor() {
        for extents in [
            [1, 1, 4],
            [3, 500, 8],
            [100, 100, 100],
            [128, 128, 128],
            [64, 64, 64],
            [1, 1, 2000],
            [1, 4000, 4],
        ] {
            let shape = Shape::new(&extents).unwrap();
            let tiling = Tiling::of(shape, 132, SHARED).unwrap();
            let [nz, ny, nx] = extents.map(|extent| extent as u32);
            let tiles = ny.div_ceil(tiling.rows) * nz.div_ceil(tiling.planes);
            assert_eq!(tiling.blocks, tiles, "{shape}");
            assert!(tiling.blocks <= 132, "{shape}");
            assert!(tiling.rows * tiling.planes * nx / 4 <= THREADS * GROUPS);
            assert!(u64::from(tiling.shared_bytes) <= SHARED);
        }
    }

    #[test]
    fn what_does_not_fit_or_is_not_in_groups_is_not_dealt_out() {
        for extents in [[256, 256, 256], [10, 10, 10], [1, 1, 100_000]] {
            let shape = Shape::new(&extents).unwrap();
            assert_eq!(Tiling::of(shape, 132, SHARED), None, "{shape}");
        }
    }
}
