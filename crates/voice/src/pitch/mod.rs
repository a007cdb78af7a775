//! Fundamental frequency: how many times a second the voice repeats itself.

mod autocorrelation;
mod candidates;
mod contour;
mod difference;
pub(crate) mod hq;
mod lag_difference;
mod periodicity;
mod praat;
mod pyin;
mod pyin_margin;
mod pyin_plan;
mod pyin_stream;
mod range;
mod repetition;
mod running_correlation;
mod sinc_peak;
mod transitions;
mod viterbi;
mod yin;

pub use autocorrelation::CorrelationWindow;
pub(crate) use autocorrelation::Placement;
pub(crate) use candidates::PathCosts;
pub(crate) use hq::HqPlan;
pub use hq::{HqPitch, HqTrack};
pub(crate) use periodicity::Periodicity;
pub use praat::{PraatPitch, PraatSettings, PraatTrack};
pub use pyin::{Pyin, PyinSettings, PyinTrack};
pub(crate) use pyin_margin::closest_decision;
pub use pyin_margin::{CloseDecision, Decision};
pub(crate) use pyin_plan::PyinPlan;
pub use pyin_stream::PyinStream;
pub use range::PitchRange;
pub(crate) use transitions::{IMPOSSIBLE, Transitions};
pub use yin::Yin;
