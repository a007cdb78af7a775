//! The kernels of `training/matmul`, and which GPU runs which.

use std::sync::Arc;

use warpsmith_core::{Element, KernelImage, Parameter, kernel};
use warpsmith_device::{CudaDevice, DeviceBuffer, DeviceElement, Kernel, LaunchShape, Stream};
use warpsmith_workload::{Prepared, Ready, WorkloadError, result_on_stream};

use super::Matmul;
use super::sm90::sm90_way;
use super::tiled_operands::TiledOperands;

const fn parameters_of(element: Element) -> [Parameter; 6] {
    [
        Parameter::In(element),
        Parameter::In(element),
        Parameter::Out(Element::F32),
        Parameter::Value(Element::U32),
        Parameter::Value(Element::U32),
        Parameter::Value(Element::U32),
    ]
}
const OF_F32: &[Parameter] = &parameters_of(Element::F32);
const OF_BF16: &[Parameter] = &parameters_of(Element::U16);

/// A kernel, and how it cuts the result into tiles, one to a block.
pub(super) struct Way {
    pub(super) kernel: KernelImage,
    pub(super) tile: [usize; 2],
    pub(super) threads: u32,
    pub(super) shared_bytes: u32,
    /// For a kernel that reads by tiles.
    pub(super) reads: Option<Reads>,
}

pub(super) struct Reads {
    /// Those of the left and of the right matrix.
    pub(super) tiles: [[u32; 2]; 2],
    /// Blocks that share what they read. More than one have tiles one below the other, and take tile after
    /// tile.
    pub(super) together: usize,
}

impl Way {
    pub(super) fn together(&self) -> usize {
        self.reads.as_ref().map_or(1, |reads| reads.together)
    }

    /// Tiles of the result; those of blocks that work together count as one.
    pub(super) fn tiles(&self, shape: Matmul) -> usize {
        let [height, width] = self.tile;
        shape.rows.div_ceil(height * self.together()) * shape.columns.div_ceil(width)
    }

    fn blocks(&self, shape: Matmul, multiprocessors: u32) -> usize {
        match self.together() {
            1 => self.tiles(shape),
            n => n * self.tiles(shape).min((multiprocessors as usize / n).max(1)),
        }
    }
}

static F32: Way = Way {
    // SAFETY: `matmul` in `matmul.cu` takes these in this order; it checks that all three matrices lie
    // inside their buffers, and loads and stores below rows, columns and depth.
    kernel: unsafe { kernel!("training/matmul", matmul: OF_F32) },
    tile: [128, 128],
    threads: 256,
    shared_bytes: 0,
    reads: None,
};

/// For results of few tiles.
static F32_SMALL: Way = Way {
    // SAFETY: as for `matmul`, of which this is the form for smaller tiles.
    kernel: unsafe { kernel!("training/matmul", matmul_small: OF_F32) },
    tile: [64, 64],
    threads: 128,
    shared_bytes: 0,
    reads: None,
};

/// From Ampere on, by tensor cores.
static F32_SM80: Way = Way {
    // SAFETY: `matmul` in `matmul_f32.sm80.cu` takes these in this order and checks what the other
    // `matmul` checks, and that its stages fit its shared memory.
    kernel: unsafe { kernel!("training/matmul_f32.sm80", matmul: OF_F32) },
    tile: [64, 128],
    threads: 128,
    shared_bytes: 3 * 4 * 32 * (64 + 128 + 8),
    reads: None,
};

/// The same for results of few tiles.
static F32_SM80_SMALL: Way = Way {
    // SAFETY: as for `matmul`, of which this is the form for smaller tiles.
    kernel: unsafe { kernel!("training/matmul_f32.sm80", matmul_small: OF_F32) },
    tile: [64, 64],
    threads: 128,
    shared_bytes: 3 * 4 * 32 * (64 + 64 + 8),
    reads: None,
};

/// For GPUs whose tensor cores know no bf16.
static BF16: Way = Way {
    // SAFETY: as for `matmul`, of which this is the form for other numbers.
    kernel: unsafe { kernel!("training/matmul", matmul_bf16: OF_BF16) },
    tile: [128, 128],
    threads: 256,
    shared_bytes: 0,
    reads: None,
};

/// From Ampere on.
static BF16_SM80: Way = Way {
    // SAFETY: `matmul_bf16` in `matmul.sm80.cu` takes these in this order and checks what `matmul`
    // checks, and that its stages fit its shared memory.
    kernel: unsafe { kernel!("training/matmul.sm80", matmul_bf16: OF_BF16) },
    tile: [128, 128],
    threads: 128,
    shared_bytes: 3 * 2 * 64 * (128 + 128),
    reads: None,
};

/// The f32 kernel for a GPU and a shape.
pub(super) fn f32_way(sm: u32, multiprocessors: u32, shape: Matmul) -> &'static Way {
    let [large, small] = match sm {
        80.. => [&F32_SM80, &F32_SM80_SMALL],
        _ => [&F32, &F32_SMALL],
    };
    // With fewer large tiles than these, multiprocessors would stand still.
    if 2 * large.blocks(shape, multiprocessors) < 3 * multiprocessors as usize {
        small
    } else {
        large
    }
}

/// The bf16 kernel for an architecture with so many multiprocessors and a shape.
pub(super) fn bf16_way(sm: u32, multiprocessors: u32, shape: Matmul) -> &'static Way {
    match sm {
        90 => sm90_way(multiprocessors, shape),
        80.. => &BF16_SM80,
        _ => &BF16,
    }
}

pub(super) fn on_cuda<T: DeviceElement>(
    gpu: &CudaDevice,
    way: &Way,
    shape: Matmul,
    a: &[T],
    b: &[T],
) -> Ready {
    let kernel = gpu.kernel(&way.kernel)?;
    if way.shared_bytes > 48 * 1024 {
        kernel.allow_shared_bytes(way.shared_bytes)?;
    }
    let blocks = way.blocks(shape, gpu.facts().multiprocessors);
    let (a, b) = (gpu.upload(a)?, gpu.upload(b)?);
    let operands = match &way.reads {
        None => Operands::Buffers([a, b]),
        Some(Reads { tiles, .. }) => {
            Operands::Tiled(Box::new(TiledOperands::new(gpu, shape, [a, b], *tiles)?))
        }
    };
    Ok(Box::new(OnCuda {
        kernel,
        launch: LaunchShape {
            grid: [u32::try_from(blocks).unwrap_or(u32::MAX), 1, 1],
            block: [way.threads, 1, 1],
            shared_bytes: way.shared_bytes,
        },
        sizes: [shape.rows, shape.columns, shape.depth].map(|size| size as u32),
        operands,
        out: gpu.alloc(shape.rows * shape.columns)?,
        stream: gpu.stream().clone(),
    }))
}

/// The left and the right matrix.
enum Operands<T> {
    Buffers([DeviceBuffer<T>; 2]),
    Tiled(Box<TiledOperands<T>>),
}

struct OnCuda<T: DeviceElement> {
    kernel: Arc<Kernel>,
    launch: LaunchShape,
    sizes: [u32; 3],
    operands: Operands<T>,
    out: DeviceBuffer<f32>,
    stream: Stream,
}

impl<T: DeviceElement> Prepared for OnCuda<T> {
    fn run_once(&mut self) -> Result<(), WorkloadError> {
        let [a, b] = match &mut self.operands {
            Operands::Buffers([a, b]) => [a.read(), b.read()],
            Operands::Tiled(matrices) => matrices.read(&self.stream)?,
        };
        let [rows, columns, depth] = self.sizes;
        Ok(self.stream.launch(
            &self.kernel,
            self.launch,
            &[
                a,
                b,
                self.out.write(),
                rows.into(),
                columns.into(),
                depth.into(),
            ],
        )?)
    }

    result_on_stream!(out: F32);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tensor_cores_multiply_f32_from_ampere_on_and_few_tiles_are_small() {
        let square = |side| Matmul {
            rows: side,
            columns: side,
            depth: 100,
        };
        let chosen = |sm, side| f32_way(sm, 132, square(side));
        assert!(std::ptr::eq(chosen(75, 4096), &F32));
        assert!(std::ptr::eq(chosen(75, 512), &F32_SMALL));
        assert!(std::ptr::eq(chosen(80, 4096), &F32_SM80));
        assert!(std::ptr::eq(chosen(120, 512), &F32_SM80_SMALL));
    }
}
