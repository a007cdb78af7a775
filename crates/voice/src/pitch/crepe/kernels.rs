//! The kernels of CREPE's layers, and which GPU runs which.

use warpsmith_core::{Element, KernelImage, Parameter, kernel, ptx};

// SAFETY: `crepe_frames` in `crepe.cu` takes these in this order; a frame's number is checked against starts and
// result, its samples against the signal.
pub(super) static FRAMES: KernelImage =
    unsafe { kernel!("voice/crepe", crepe_frames(in f32, in u64, out u16, u64, u32)) };

// SAFETY: `crepe_pitches` in `crepe.sm80.cu` takes these in this order; it checks that all of them hold as many
// frames, features and pitches as it goes through, and that its stages fit its shared memory.
pub(super) static PITCHES: KernelImage = unsafe {
    kernel!("voice/crepe.sm80", crepe_pitches(in u16, in u16, in f32, out f32, u64, u32, u32))
};

/// Those of the kernel of a layer, which reads frames and weights from buffers or by tiles.
const fn layer_parameters(by_tiles: bool) -> [Parameter; 11] {
    let value = Parameter::Value(Element::U32);
    let (frames, weights) = if by_tiles {
        (
            Parameter::Tiled(Element::U16, FRAME_TILE),
            Parameter::Tiled(Element::U16, WEIGHT_TILE),
        )
    } else {
        (Parameter::In(Element::U16), Parameter::In(Element::U16))
    };
    let (affine, out) = (Parameter::In(Element::F32), Parameter::Out(Element::U16));
    [
        frames, weights, affine, out, value, value, value, value, value, value, value,
    ]
}
pub(super) const FRAME_TILE: [u32; 2] = [128, 64];
pub(super) const WEIGHT_TILE: [u32; 2] = [64, 64];

/// The kernel of a layer.
pub(super) struct Way {
    pub(super) kernel: KernelImage,
    pub(super) threads: u32,
    pub(super) shared_bytes: u32,
    pub(super) by_tiles: bool,
}

/// From Ampere on: a block to 128 frames and half a tile.
static SM80: Way = Way {
    // SAFETY: `crepe_layer` in `crepe.sm80.cu` takes these in this order; it checks that frames, weights, table
    // and result lie inside their buffers and its stages in its shared memory.
    kernel: unsafe {
        KernelImage::trusted(
            "voice/crepe.sm80",
            "crepe_layer",
            &layer_parameters(false),
            ptx!("voice/crepe.sm80"),
        )
    },
    threads: 128,
    shared_bytes: 3 * 2 * 64 * (128 + 128),
    by_tiles: false,
};

/// For Hopper alone: pairs of blocks that take tile after tile of 256 frames.
static SM90: Way = Way {
    // SAFETY: `crepe_layer` in `crepe.sm90a.cu` takes these in this order; it reads frames and weights by tiles,
    // and checks that table and result lie inside their buffers and its stages in its shared memory.
    kernel: unsafe {
        KernelImage::trusted(
            "voice/crepe.sm90a",
            "crepe_layer",
            &layer_parameters(true),
            ptx!("voice/crepe.sm90a"),
        )
    },
    threads: 384,
    // Stages begin at multiples of 1024.
    shared_bytes: 4 * 2 * 64 * (128 + 256) + 1024,
    by_tiles: true,
};

impl Way {
    /// That for an architecture; tensor cores before Ampere take other tiles.
    pub(super) fn of(sm: u32) -> Option<&'static Self> {
        match sm {
            90 => Some(&SM90),
            80.. => Some(&SM80),
            _ => None,
        }
    }

    pub(super) fn blocks(&self, frames: usize, tiles: usize, multiprocessors: u32) -> usize {
        if self.by_tiles {
            2 * (frames.div_ceil(256) * tiles).min((multiprocessors as usize / 2).max(1))
        } else {
            frames.div_ceil(128) * 2 * tiles
        }
    }
}
