//! What a profiler saw the device do.

use serde::{Deserialize, Serialize};

/// Something that the device did.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DeviceSpan {
    /// Kernel name, or `copy` or `set` with its direction.
    pub name: String,
    /// Device it ran on.
    pub device: i64,
    /// Stream it ran in.
    pub stream: i64,
    /// Nanoseconds since the session began.
    pub start_ns: i64,
    /// Nanoseconds since the session began.
    pub end_ns: i64,
    /// Bytes moved; zero for kernels.
    pub bytes: i64,
}

impl DeviceSpan {
    /// How long it took.
    pub fn seconds(&self) -> f64 {
        (self.end_ns - self.start_ns) as f64 * 1e-9
    }
}
