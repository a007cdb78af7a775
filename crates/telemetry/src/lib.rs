//! What the GPUs of this machine do: sampled through NVML or the kernel's files on a tiered schedule, judged as a
//! baseline, compared, recorded and replayed, shown on a terminal, exported as metrics text.
//!
//! Everything flows as [`Event`]s: the live sampler makes them, a recording keeps them, and the
//! board, the exporter, the screen and the statistics are fed by them without knowing which of the
//! two they came from.

pub mod baseline;
mod board;
mod clock;
mod clock_lock;
mod conditions;
mod endpoint;
mod event;
pub mod exporter;
pub mod fleet;
mod host;
mod live_machine;
mod load;
mod machine;
mod opening;
mod player;
mod probe;
mod process_identity;
mod process_memory;
mod process_signal;
mod pulse;
pub mod recording;
mod sampler;
mod schedule;
pub mod screen;
mod source;
mod trust;

pub use board::{Board, GpuBoard, HistoryPoint, LiveBoard};
pub use clock::{Clock, Micros};
pub use clock_lock::{ClockLock, LockError};
pub use conditions::{ConditionsSampler, GpuConditions, GpuMeanwhile, GpuReading};
pub use endpoint::Endpoint;
pub use event::{
    Energy, Event, GpuIdentity, Happening, HostState, Inventory, MigInstance, Presence,
    ProcessIdentity, ProcessUse, Readings, RingSample, Slow, State, Steady, Unreachable, Vendor,
    Xid,
};
pub use host::machine_identity;
pub use live_machine::{LiveMachine, open_telling, snapshot};
pub use load::GpuLoad;
pub use machine::{Machine, OpenError, Settings};
pub use opening::Opening;
pub use player::{Player, Replay};
pub use process_memory::ProcessMemory;
pub use process_signal::{Signal, SignalError, SignalTarget};
pub use sampler::{Sampler, SteppedSampler};
pub use schedule::{Schedule, Tier};
pub use source::amd::{GpuMetrics, MetricsError};
pub use source::{DrmClient, DrmEngine};
pub use trust::TrustError;
