//! Memory of a GPU for `warpsmith.warp`, and what is done to it.
//!
//! Everything goes to the legacy default stream, which is also PyTorch's unless its user makes another:
//! whatever two libraries queue for one array happens in the order of the calls. That stream cannot be
//! recorded: what a graph is made of is queued on a stream of its own meanwhile.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use pyo3::prelude::*;
use warpsmith_device::{
    BufferPool, CudaDevice, DeviceBuffer, DeviceError, Graph, PoolStats, Stream, cuda_devices,
};

use crate::failed;

thread_local! {
    /// The stream that this thread records.
    static RECORDED: RefCell<Option<Stream>> = const { RefCell::new(None) };
}

/// The stream that all work goes to.
pub(crate) fn stream(device: &CudaDevice) -> Stream {
    if let Some(stream) = RECORDED.with_borrow(Clone::clone) {
        return stream;
    }
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

/// Work that was recorded on a GPU and is queued by one call.
#[pyclass(frozen)]
pub(crate) struct CudaGraph {
    graph: Graph,
    device: CudaDevice,
}

#[pymethods]
impl CudaGraph {
    /// Queues the work. Whoever recorded it keeps the memory that it uses.
    fn launch(&self, py: Python<'_>) -> PyResult<()> {
        py.detach(|| self.graph.launch(&stream(&self.device)))
            .map_err(failed)
    }

    fn __len__(&self) -> PyResult<usize> {
        self.graph.len().map_err(failed)
    }
}

/// Records what `work` queues on a GPU, without running it.
#[pyfunction]
pub(crate) fn cuda_capture(
    py: Python<'_>,
    gpu: usize,
    work: &Bound<'_, PyAny>,
) -> PyResult<CudaGraph> {
    let device = py.detach(|| CudaDevice::open(gpu)).map_err(failed)?;
    let mut worked = Ok(());
    let graph = device.new_stream().map_err(failed)?.capture(|stream| {
        RECORDED.set(Some(stream.clone()));
        worked = work.call0().map(drop);
        RECORDED.set(None);
        Ok(())
    });
    worked?;
    let graph = graph.map_err(failed)?;
    Ok(CudaGraph { graph, device })
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

/// Queues setting memory to a pattern, over and over.
#[pyfunction]
pub(crate) fn cuda_fill(
    py: Python<'_>,
    gpu: usize,
    at: u64,
    bytes: usize,
    pattern: Vec<u8>,
) -> PyResult<()> {
    py.detach(|| {
        let device = CudaDevice::open(gpu)?;
        // SAFETY: as for `cuda_upload`.
        let mut memory = unsafe { device.borrow_memory::<u8>(at, bytes)? };
        memory.fill_pattern(&stream(&device), &pattern)
    })
    .map_err(failed)
}
