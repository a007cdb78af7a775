#![allow(dead_code, unused_imports, missing_docs)]

#[path = "../../python/src/device_memory.rs"]
mod device_memory;
#[path = "../../python/src/foreign.rs"]
mod foreign;
#[path = "../../python/src/kernels.rs"]
mod kernels;
#[path = "../../python/src/objects.rs"]
mod objects;

use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use serde::Serialize;

/// A failure that Python's user reads: what was attempted, and what was seen.
fn failed(error: impl std::fmt::Display) -> PyErr {
    PyRuntimeError::new_err(error.to_string())
}

fn json(value: &impl Serialize) -> PyResult<String> {
    serde_json::to_string(value).map_err(failed)
}

#[pymodule]
fn _native(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add_function(wrap_pyfunction!(kernels::compile, module)?)?;
    module.add_class::<kernels::Program>()?;
    module.add_class::<kernels::DeviceArray>()?;
    module.add_function(wrap_pyfunction!(kernels::builtin_names, module)?)?;
    module.add_class::<objects::HostObject>()?;
    module.add_function(wrap_pyfunction!(objects::hash_grid, module)?)?;
    module.add_function(wrap_pyfunction!(objects::bvh, module)?)?;
    module.add_function(wrap_pyfunction!(objects::mesh, module)?)?;
    module.add_function(wrap_pyfunction!(objects::volume, module)?)?;
    module.add_function(wrap_pyfunction!(foreign::dlpack_facts, module)?)?;
    module.add_class::<device_memory::DeviceMemory>()?;
    module.add_function(wrap_pyfunction!(device_memory::cuda_gpus, module)?)?;
    module.add_function(wrap_pyfunction!(device_memory::cuda_memory, module)?)?;
    module.add_function(wrap_pyfunction!(device_memory::cuda_synchronize, module)?)?;
    module.add_function(wrap_pyfunction!(device_memory::cuda_upload, module)?)?;
    module.add_function(wrap_pyfunction!(device_memory::cuda_download, module)?)?;
    module.add_function(wrap_pyfunction!(device_memory::cuda_copy, module)?)?;
    module.add_function(wrap_pyfunction!(device_memory::cuda_clear, module)?)?;
    module.add_function(wrap_pyfunction!(device_memory::cuda_fill, module)?)?;
    module.add_class::<device_memory::CudaGraph>()?;
    module.add_function(wrap_pyfunction!(device_memory::cuda_capture, module)?)?;
    Ok(())
}
