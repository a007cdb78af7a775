//! Probabilistic YIN as `librosa.pyin` 0.11 computes it.
//!
//! Every trough of the normalised difference gets the probability that a threshold, drawn from a
//! beta distribution, would choose it; a Viterbi search over pitch bins and voicing finds the track.

mod audit;
mod cpu;
mod cuda;
mod margin;
mod path_cuda;
mod plan;
mod stream;
mod transitions;
mod viterbi;
mod workload;

pub use audit::{PyinAudit, UndecidedFrame, audit_pyin_on_cuda};
pub use cpu::{Pyin, PyinSettings, PyinTrack};
pub use cuda::{DevicePyinTrack, pyin_in_place, pyin_on_cuda};
pub use margin::{CloseDecision, Decision};
pub use stream::PyinStream;
pub(crate) use workload::PYIN;
