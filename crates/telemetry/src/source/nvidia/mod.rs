//! NVIDIA's GPUs through NVML: the library, its devices, and the calls that the schedule makes.

mod activity;
mod answer;
mod calls;
mod device;
mod library;
mod xid_events;

pub(crate) use device::GpuHandle;
pub(crate) use library::{Library, LibraryError};
