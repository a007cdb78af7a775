//! Memory of a GPU for `warpsmith.warp`, and what is done to it.
//!
//! Everything goes to the legacy default stream, which is also PyTorch's unless its user makes another:
//! whatever two libraries queue for one array happens in the order of the calls.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use pyo3::prelude::*;
use warpsmith_device::{
    BufferPool, CudaDevice, DeviceBuffer, DeviceError, PoolStats, Stream, cuda_devices,
};

use crate::failed;

/// The stream that all work goes to.
pub(crate) fn stream(device: &CudaDevice) -> Stream {
    // SAFETY: null is the default stream, which lives as long as the context.
    unsafe { device.borrow_stream(std::ptr::null_mut()) }
}

/// The pool of a GPU: arrays that are made in every step cost no driver call.
fn pool(gpu: usize) -> Result<BufferPool, DeviceError> {
    static POOLS: Mutex<BTreeMap<usize, BufferPool>> = Mutex::new(BTreeMap::new());
    let mut pools = POOLS.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(pool) = pools.get(&gpu) {
        return Ok(pool.clone());
    }
    let device = CudaDevice::open(gpu)?;
    let pool = device.pool(&stream(&device));
    pools.insert(gpu, pool.clone());
    Ok(pool)
}

/// Bytes on a GPU; they are given back with the last reference.
#[pyclass(frozen)]
pub(crate) struct DeviceMemory(DeviceBuffer<u8>);

#[pymethods]
impl DeviceMemory {
    #[new]
    fn new(py: Python<'_>, gpu: usize, bytes: usize) -> PyResult<Self> {
        py.detach(|| pool(gpu)?.take(bytes))
            .map(Self)
            .map_err(failed)
    }

    /// The address on the device.
    #[getter]
    fn address(&self) -> u64 {
        self.0.pointer()
    }
}

/// A GPU: its name, architecture, multiprocessors, bytes of memory, identity and place on the bus.
type Gpu = (String, u32, u32, u64, String, String);

/// The GPUs of this machine, in the driver's order; none where there is no driver or no GPU.
#[pyfunction]
pub(crate) fn cuda_gpus() -> PyResult<Vec<Gpu>> {
    let found = match cuda_devices() {
        Err(DeviceError::NoDriver { .. } | DeviceError::NoGpu) => Vec::new(),
        found => found.map_err(failed)?,
    };
    Ok(found
        .into_iter()
        .map(|gpu| {
            let sm = gpu.sm();
            let bytes = gpu.memory_bytes;
            (gpu.name, sm, gpu.multiprocessors, bytes, gpu.uuid, gpu.pci)
        })
        .collect())
}

/// Free bytes of a GPU, those that our arrays have now, and the most that they had.
#[pyfunction]
pub(crate) fn cuda_memory(py: Python<'_>, gpu: usize) -> PyResult<(u64, u64, u64)> {
    py.detach(|| {
        let PoolStats {
            in_use, high_water, ..
        } = pool(gpu)?.stats();
        let free = CudaDevice::open(gpu)?.memory()?.free;
        Ok::<_, DeviceError>((free, in_use, high_water))
    })
    .map_err(failed)
}

/// Waits for everything that was queued on a GPU.
#[pyfunction]
pub(crate) fn cuda_synchronize(py: Python<'_>, gpu: usize) -> PyResult<()> {
    py.detach(|| CudaDevice::open(gpu)?.synchronize())
        .map_err(failed)
}

/// Copies host memory to the device. The caller keeps both, as large as it says, until this returns.
#[pyfunction]
pub(crate) fn cuda_upload(
    py: Python<'_>,
    gpu: usize,
    to: u64,
    from: usize,
    bytes: usize,
) -> PyResult<()> {
    py.detach(|| {
        let device = CudaDevice::open(gpu)?;
        let from = std::ptr::with_exposed_provenance::<u8>(from);
        // SAFETY: both are the caller's arrays, as large as it says, which it keeps; like every function
        // that lets go of the lock, this relies on other threads to leave them alone.
        let (mut to, from) = unsafe {
            (
                device.borrow_memory::<u8>(to, bytes)?,
                std::slice::from_raw_parts(from, bytes),
            )
        };
        to.upload(&stream(&device), from)
    })
    .map_err(failed)
}

/// Copies device memory to the host, after everything that was queued. As for [`cuda_upload`].
#[pyfunction]
pub(crate) fn cuda_download(
    py: Python<'_>,
    gpu: usize,
    from: u64,
    to: usize,
    bytes: usize,
) -> PyResult<()> {
    py.detach(|| {
        let device = CudaDevice::open(gpu)?;
        let to = std::ptr::with_exposed_provenance_mut::<u8>(to);
        // SAFETY: as for `cuda_upload`.
        let (from, to) = unsafe {
            (
                device.borrow_memory::<u8>(from, bytes)?,
                std::slice::from_raw_parts_mut(to, bytes),
            )
        };
        from.download_into(&stream(&device), to)
    })
    .map_err(failed)
}

/// Queues a copy on the device. The caller keeps both until it is over: memory that is given back meanwhile
/// is only used by work behind the copy.
#[pyfunction]
pub(crate) fn cuda_copy(
    py: Python<'_>,
    gpu: usize,
    to: u64,
    from: u64,
    bytes: usize,
) -> PyResult<()> {
    py.detach(|| {
        let device = CudaDevice::open(gpu)?;
        // SAFETY: as for `cuda_upload`.
        let (mut to, from) = unsafe {
            (
                device.borrow_memory::<u8>(to, bytes)?,
                device.borrow_memory::<u8>(from, bytes)?,
            )
        };
        stream(&device).copy(&from, &mut to)
    })
    .map_err(failed)
}

/// Queues setting bytes to zero.
#[pyfunction]
pub(crate) fn cuda_clear(py: Python<'_>, gpu: usize, at: u64, bytes: usize) -> PyResult<()> {
    py.detach(|| {
        let device = CudaDevice::open(gpu)?;
        // SAFETY: as for `cuda_upload`.
        let mut memory = unsafe { device.borrow_memory::<u8>(at, bytes)? };
        memory.fill_bytes(&stream(&device), 0)
    })
    .map_err(failed)
}
