//! Why a driver did not give a value.

/// What a call answered instead of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// This GPU, or its mode (MIG), has no such value: it never will in this session.
    #[error("not supported on this GPU")]
    NotSupported,
    /// The loaded library has no such function: as final as not supported.
    #[error("the driver's NVML has no such function")]
    NoSuchFunction,
    /// Nothing new since the last time, or no such thing now.
    #[error("nothing found")]
    NotFound,
    /// This user may not ask.
    #[error("no permission")]
    NoPermission,
    /// The answer does not fit into the space that was offered.
    #[error("more to tell than there was room for")]
    InsufficientSize,
    /// The GPU is gone: it fell off the bus or was unplugged.
    #[error("the GPU is lost")]
    Lost,
    /// The value is outside of what its kind can be.
    #[error("the value is out of range")]
    OutOfRange,
    /// Anything else that NVML says, by its number.
    #[error("NVML error {0}")]
    Other(u32),
    /// A file of the kernel's does not read now, by the system's error number.
    #[error("the kernel answers: {}", std::io::Error::from_raw_os_error(*.0))]
    Unreadable(i32),
}

/// A value or why there is none.
pub(crate) type Reading<T> = Result<T, Refusal>;

impl Refusal {
    /// Whether asking again in this session is a waste.
    pub fn is_final(self) -> bool {
        matches!(self, Self::NotSupported | Self::NoSuchFunction)
    }
}
