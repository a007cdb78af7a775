//! A `libnvidia-ml.so.1` for tests: the same functions and structs as NVIDIA's, GPUs out of a
//! scenario file or a recording. Nothing of this is in the shipped program.
//!
//! The scenario is named by `FAKE_NVML_SCENARIO` (a JSON file, see [`scenario::Scenario`]) or
//! handed in by `fake_nvml_load`; `fake_nvml_set_clock` replaces the system's clock, so that a
//! minute of sampling takes milliseconds. Without a scenario there is one idle GPU.

pub mod device;
mod exports;
mod machine;
pub mod scenario;
mod wave;

pub use wave::Wave;
