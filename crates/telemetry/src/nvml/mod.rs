//! NVML: the library, its devices, and the calls that the schedule makes.

mod activity;
mod calls;
mod device;
mod library;
mod refusal;
mod xid_events;

pub use device::GpuHandle;
pub(crate) use device::{Depth, Ring};
pub use library::{Library, LibraryError};
pub use refusal::{Reading, Refusal};
