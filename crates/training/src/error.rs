//! What can go wrong between a caller's buffers and a result.

pub use warpsmith_core::ArgumentError;

/// The result of an operation.
pub type Result<T, E = ArgumentError> = std::result::Result<T, E>;
