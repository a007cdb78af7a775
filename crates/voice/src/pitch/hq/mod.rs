//! The `hq` tracker: accurate where the sound is clean, steady where it is not.
//!
//! The first look averages the normalised autocorrelation of neighbouring frames, which noise does
//! not survive and a voice does, and takes the best path through its tops, and through those of the
//! frame alone where they are high: a quick glide does not survive the average. Pauses of a few
//! frames between voiced stretches are bridged. The second look, `repetition`, asks of
//! each voiced frame which period the sound repeats itself with at that instant: steep glides keep
//! their shape. The third measures a clean frame in a window of a few of its own periods: short
//! enough for vibrato, and exact between samples. A frame too noisy for that keeps the answer before,
//! and `contour` draws a line through its neighbourhood.
//!
//! Frames lie at multiples of the hop, and sample `n` is heard at `n/rate`.

mod contour;
mod cpu;
mod cuda;
mod kernels;
mod looks;
mod repetition;
mod workload;

pub use cpu::{HqPitch, HqTrack};
pub use cuda::hq_on_cuda;
pub use looks::{HqFirstLook, HqLook, HqSecondLook, HqThirdLook};
pub(crate) use workload::HQ;
