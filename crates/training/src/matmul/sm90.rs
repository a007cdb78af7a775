//! The bf16 kernels of Hopper for `training/matmul`, which differ in their tiles.

use warpsmith_core::{Element, KernelImage, Parameter, kernel};

use super::Matmul;
use super::cuda::{Reads, Way};

const fn reading(left_rows: u32) -> [Parameter; 6] {
    [
        Parameter::Tiled(Element::U16, [left_rows, 64]),
        Parameter::Tiled(Element::U16, [64, 64]),
        Parameter::Out(Element::F32),
        Parameter::Value(Element::U32),
        Parameter::Value(Element::U32),
        Parameter::Value(Element::U32),
    ]
}
const BY_64_ROWS: &[Parameter] = &reading(64);
const BY_128_ROWS: &[Parameter] = &reading(128);

/// Depth of a stage.
const DEPTH: usize = 64;

const fn way(
    kernel: KernelImage,
    tile: [usize; 2],
    threads: u32,
    stages: usize,
    together: usize,
) -> Way {
    let [height, width] = tile;
    Way {
        kernel,
        tile,
        threads,
        // Stages begin at multiples of 1024.
        shared_bytes: (stages * 2 * DEPTH * (height + width) + 1024) as u32,
        reads: Some(Reads {
            tiles: [[height as u32, DEPTH as u32], [DEPTH as u32, 64]],
            together,
        }),
    }
}

// SAFETY: the kernels in `matmul_tile.sm90a.cu` take these in this order; they read the matrices by
// tiles, write below rows and columns, and check that the result lies inside its buffer and their stages fit
// their shared memory.
const SMALL: KernelImage =
    unsafe { kernel!("training/matmul_tile.sm90a", matmul_bf16_64x128: BY_64_ROWS) };

// SAFETY: as for the smaller tiles.
const SQUARE: KernelImage =
    unsafe { kernel!("training/matmul_tile.sm90a", matmul_bf16_128x128: BY_128_ROWS) };

// SAFETY: as for the smaller tiles.
const WIDE: KernelImage =
    unsafe { kernel!("training/matmul_tile.sm90a", matmul_bf16_128x192: BY_128_ROWS) };

// SAFETY: `matmul_bf16` in `matmul.sm90a.cu` takes the same and checks the same.
const LARGE: KernelImage = unsafe { kernel!("training/matmul.sm90a", matmul_bf16: BY_128_ROWS) };

/// Kernels, and the nanoseconds that an H200 takes for a stage of a tile: the larger the tile, the less for
/// each of its elements.
static WAYS: [(Way, usize); 4] = [
    (way(SMALL, [64, 128], 160, 8, 1), 250),
    (way(SQUARE, [128, 128], 288, 6, 1), 400),
    (way(WIDE, [128, 192], 288, 5, 1), 560),
    (way(LARGE, [128, 256], 384, 4, 2), 720),
];

/// The kernel whose tiles keep so many multiprocessors busy for the shortest time.
pub(super) fn sm90_way(multiprocessors: u32, shape: Matmul) -> &'static Way {
    let time = |(way, nanoseconds): &(Way, usize)| {
        let at_a_time = (multiprocessors as usize / way.together()).max(1);
        way.tiles(shape).div_ceil(at_a_time) * nanoseconds
    };
    let [first, others @ ..] = &WAYS;
    let best = others.iter().fold(
        first,
        |best, way| if time(way) < time(best) { way } else { best },
    );
    &best.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tiles_fit_the_result() {
        let tile = |rows, columns| {
            let shape = Matmul {
                rows,
                columns,
                depth: 64,
            };
            sm90_way(132, shape).tile
        };
        assert_eq!(tile(1, 1), [64, 128]);
        assert_eq!(tile(1024, 1024), [64, 128]);
        assert_eq!(tile(1280, 1280), [128, 128]);
        assert_eq!(tile(3072, 3072), [128, 192]);
        assert_eq!(tile(2048, 2048), [128, 256]);
        assert_eq!(tile(8192, 8192), [128, 256]);
    }
}
