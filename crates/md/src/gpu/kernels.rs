//! The kernels of `lennard_jones.cu`, with the promise that makes launching them safe.

use std::sync::Arc;

use warpsmith_core::{KernelImage, kernel, ptx};
use warpsmith_device::{CudaDevice, DeviceError, Kernel};

const PTX: &[u8] = ptx!("md/lennard_jones");

// SAFETY: each kernel of `lennard_jones.cu` takes these parameters in this order; every index into
// a buffer is compared with that buffer's length before it is used.
static DRIFT: KernelImage = unsafe {
    kernel!("md/lennard_jones", PTX, drift(
        out f32, out f32, out f32, in f32, in f32, in u32, out u32, f32, f32, f32, u32, f32, f32,
        u32, u32
    ))
};

// SAFETY: as above.
static BIN: KernelImage = unsafe {
    kernel!("md/lennard_jones", PTX, bin(
        out f32, out u32, out u32, out u32, in u32, f32, f32, f32, u32, u32, u32
    ))
};

// SAFETY: as above.
static SCAN: KernelImage =
    unsafe { kernel!("md/lennard_jones", PTX, scan(out u32, out u32, out u32)) };

// SAFETY: as above.
static PLACE: KernelImage =
    unsafe { kernel!("md/lennard_jones", PTX, place(in u32, in u32, in u32, out u32, in u32)) };

// SAFETY: as above.
static ARRANGE: KernelImage = unsafe {
    kernel!("md/lennard_jones", PTX, arrange(
        in u32, in u32, in u32, in f32, in f32, in f32, in u32, out f32, out f32, out f32,
        out u32, in u32
    ))
};

// SAFETY: as above.
static LIST: KernelImage = unsafe {
    kernel!("md/lennard_jones", PTX, list(
        in f32, in f32, in f32, in u32, in u32, out f32, out f32, out f32, out u32, out f32,
        out u32, out u32, out u32, f32, f32, f32, f32, u32, u32, u32, u32, u32
    ))
};

// SAFETY: as above.
static FORCE: KernelImage = unsafe {
    kernel!("md/lennard_jones", PTX, force(
        in f32, in u32, in u32, out f32, out f32, out f32, out u32, f32, f32, f32, f32, f32, f32,
        f32, u32, u32, u32
    ))
};

// SAFETY: as above.
static TOTALS: KernelImage =
    unsafe { kernel!("md/lennard_jones", PTX, totals(in f32, in f32, in f32, out f64)) };

/// All of them, loaded.
pub(super) struct Kernels {
    pub(super) drift: Arc<Kernel>,
    pub(super) bin: Arc<Kernel>,
    pub(super) scan: Arc<Kernel>,
    pub(super) place: Arc<Kernel>,
    pub(super) arrange: Arc<Kernel>,
    pub(super) list: Arc<Kernel>,
    pub(super) force: Arc<Kernel>,
    pub(super) totals: Arc<Kernel>,
}

impl Kernels {
    pub(super) fn load(gpu: &CudaDevice) -> Result<Self, DeviceError> {
        Ok(Self {
            drift: gpu.kernel(&DRIFT)?,
            bin: gpu.kernel(&BIN)?,
            scan: gpu.kernel(&SCAN)?,
            place: gpu.kernel(&PLACE)?,
            arrange: gpu.kernel(&ARRANGE)?,
            list: gpu.kernel(&LIST)?,
            force: gpu.kernel(&FORCE)?,
            totals: gpu.kernel(&TOTALS)?,
        })
    }
}
