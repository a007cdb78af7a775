//! The native part of the Python wheel.
//!
//! Every function takes and returns plain values: numbers, bytes of samples, JSON text. Names, types
//! and documentation for people live in `python/warpsmith`, which is the only caller.
#![allow(
    missing_docs,
    reason = "the wheel's stub file documents what Python sees"
)]

mod data_set;
mod device_memory;
mod foreign;
mod gpu_timer;
mod kernels;
mod machine;
mod music;
mod objects;
mod program;
mod statistics;
mod user_kernel;
mod voice;

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
    module.add_function(wrap_pyfunction!(program::run_program, module)?)?;
    module.add_class::<statistics::Stop>()?;
    module.add_class::<gpu_timer::GpuTimer>()?;
    module.add_class::<user_kernel::Search>()?;
    module.add_function(wrap_pyfunction!(user_kernel::compare_output, module)?)?;
    module.add_function(wrap_pyfunction!(user_kernel::race, module)?)?;
    module.add_function(wrap_pyfunction!(statistics::summarise, module)?)?;
    module.add_function(wrap_pyfunction!(statistics::round_log_ratio, module)?)?;
    module.add_function(wrap_pyfunction!(statistics::evaluate_rounds, module)?)?;
    module.add_function(wrap_pyfunction!(statistics::evaluate_pairs, module)?)?;
    module.add_function(wrap_pyfunction!(statistics::estimate_pairs, module)?)?;
    module.add_function(wrap_pyfunction!(statistics::compare_relative, module)?)?;
    module.add_function(wrap_pyfunction!(statistics::compare_stored, module)?)?;
    module.add_function(wrap_pyfunction!(statistics::judge_leak, module)?)?;
    module.add_function(wrap_pyfunction!(statistics::histogram, module)?)?;
    module.add_function(wrap_pyfunction!(statistics::forest, module)?)?;
    module.add_function(wrap_pyfunction!(statistics::trace, module)?)?;
    module.add_function(wrap_pyfunction!(machine::check, module)?)?;
    module.add_function(wrap_pyfunction!(machine::audit, module)?)?;
    module.add_function(wrap_pyfunction!(machine::baseline, module)?)?;
    module.add_function(wrap_pyfunction!(kernels::compile, module)?)?;
    module.add_class::<kernels::Program>()?;
    module.add_class::<kernels::DeviceArray>()?;
    module.add_function(wrap_pyfunction!(kernels::builtin_names, module)?)?;
    module.add_class::<objects::HostObject>()?;
    module.add_function(wrap_pyfunction!(objects::hash_grid, module)?)?;
    module.add_function(wrap_pyfunction!(objects::bvh, module)?)?;
    module.add_function(wrap_pyfunction!(objects::mesh, module)?)?;
    module.add_function(wrap_pyfunction!(objects::texture, module)?)?;
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
    module.add_function(wrap_pyfunction!(music::render_music, module)?)?;
    module.add_function(wrap_pyfunction!(music::compose_midi, module)?)?;
    module.add_function(wrap_pyfunction!(data_set::corpus_generate, module)?)?;
    module.add_function(wrap_pyfunction!(data_set::corpus_statistics, module)?)?;
    voice::add_to(module)
}
