//! Which driver, toolkit, GPU and package go together, and which GPUs a library was built for.
//!
//! Versions and architectures are values that can be compared; the [`Database`] holds what goes with
//! what, and how each cell is known; library files and wheels say which GPUs they have code for.

mod architecture;
mod binary;
mod database;
mod version;

pub use architecture::{
    Capability, Coverage, Runs, Target, TorchArchList, cmake_architectures, gencode_flags,
};
pub use binary::{
    ByteSource, ElfFile, WheelError, coverage_of_elf, coverage_of_section, coverage_of_wheel, le,
};
pub use database::{Database, DriverBranch, Release, TorchRelease, database, lifecycle};
pub use version::{Version, VersionRange};
