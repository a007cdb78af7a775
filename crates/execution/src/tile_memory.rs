//! How much shared memory a block needs for the tiles of a kernel.

use warpsmith_compiler::ir::Module;
use warpsmith_compiler::ir::types::Tile;

use crate::gpu_kernel::RunError;
use crate::parameter::parameter_type;

/// What each allocation is rounded up to; as in the runtime header's `tile_arena.h`.
const UNIT: usize = 16;
/// Tiles that one step of the runtime header copies at most: two factors and a gradient.
const STAGED: usize = 3;

/// Bytes for a block of `threads`, with gradients where `backward` is set; 0 where there are no tiles. Never more
/// than `most`: a step that then finds no room stops the kernel with an error.
pub(crate) fn tile_memory(
    module: &Module,
    threads: u32,
    backward: bool,
    most: usize,
) -> Result<u32, RunError> {
    let (mut own, mut largest, mut widest) = (0_usize, 0_usize, 0_usize);
    let functions = module.functions.iter().chain([&module.kernel]);
    for variable in functions.flat_map(|function| &function.vars) {
        let Some(tile) = module.types.tile_of(variable.ty) else {
            continue;
        };
        let element = parameter_type(module, tile.element).map_err(RunError::Unsupported)?;
        let bytes =
            elements(tile, threads, module.types.gpu_block())?.saturating_mul(element.bytes());
        largest = largest.max(bytes);
        widest = widest.max(element.bytes());
        if tile.shared && tile.owner {
            let copies = if backward { 2 } else { 1 };
            own = own.saturating_add(bytes.next_multiple_of(UNIT).saturating_mul(copies));
        }
    }
    // The stack's height in each thread lies in shared memory, too.
    let most = most.saturating_sub(4 * threads as usize);
    if own > most {
        return Err(RunError::Unsupported(format!(
            "tiles of {own} B in shared memory; a block of this GPU has {most} B"
        )));
    }
    let room = (STAGED * largest.next_multiple_of(UNIT)).max(widest * threads as usize + UNIT);
    let bytes = own.saturating_add(room).min(most);
    Ok(if largest == 0 {
        0
    } else {
        u32::try_from(bytes).unwrap_or(u32::MAX)
    })
}

fn elements(tile: &Tile, threads: u32, emitted: i64) -> Result<usize, RunError> {
    let depends = tile.shape.iter().any(|extent| extent.number().is_none());
    // The text was emitted for blocks of this size.
    if depends && i64::from(threads) != emitted {
        return Err(RunError::Unsupported(format!(
            "tiles as long as a block of {threads} threads; the kernel was compiled for blocks of {emitted}"
        )));
    }
    let lengths = tile.shape.iter().map(|extent| extent.value(threads.into()));
    let count = lengths.fold(1_i64, i64::saturating_mul);
    Ok(usize::try_from(count).unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use warpsmith_compiler::{Options, compile};

    use super::*;

    const PRODUCT: &str = "import warp as wp\n\n@wp.kernel\ndef f(a: wp.array2d(dtype=float), out: wp.array2d(dtype=float)):\n    \
                           t = wp.tile_load(a, shape=(8, 8), storage=\"shared\")\n    \
                           wp.tile_store(out, wp.tile_matmul(t, t))\n";
    const PLAIN: &str = "import warp as wp\n\n@wp.kernel\ndef f(a: wp.array(dtype=float)):\n    a[wp.tid()] = 1.0\n";

    #[test]
    fn tiles_and_the_room_for_a_step_are_counted() {
        let module = compile(PRODUCT, &Options::default()).unwrap();
        let forward = tile_memory(&module, 64, false, 1 << 16).unwrap();
        let backward = tile_memory(&module, 64, true, 1 << 16).unwrap();
        // Each tile has 256 B; at least the loaded one is in shared memory.
        assert!(forward >= 256 + 3 * 256, "{forward}");
        assert!(backward >= forward + 256, "{backward}");
        assert!(tile_memory(&module, 64, true, 300).is_err());
        let plain = compile(PLAIN, &Options::default()).unwrap();
        assert_eq!(tile_memory(&plain, 64, true, 1 << 16).unwrap(), 0);
    }
}
