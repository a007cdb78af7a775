//! Fundamental frequency: how many times a second the voice repeats itself.

mod autocorrelation;
mod crepe;
mod hq;
mod path;
mod praat;
mod pyin;
mod range;
mod swipe;
mod yin;

pub use autocorrelation::CorrelationWindow;
pub(crate) use autocorrelation::{
    ArrivingFrames, Autocorrelation, Placement, Stretch, WarpMemory, WindowedFrames,
};
pub use crepe::{CrepeNetwork, CrepePitch, CrepeTrack, crepe_on_cuda};
pub(crate) use crepe::{CrepePath, CrepeProbabilities};
pub(crate) use hq::HQ;
pub use hq::{HqFirstLook, HqLook, HqPitch, HqSecondLook, HqThirdLook, HqTrack, hq_on_cuda};
pub(crate) use praat::PRAAT;
pub use praat::{
    PraatLook, PraatPitch, PraatSettings, PraatStream, PraatTrack, PrecisePraat, praat_on_cuda,
};
pub(crate) use pyin::PYIN;
pub use pyin::{
    CloseDecision, Decision, DevicePyinTrack, Pyin, PyinAudit, PyinSettings, PyinStream, PyinTrack,
    UndecidedFrame, audit_pyin_on_cuda, pyin_in_place, pyin_on_cuda,
};
pub use range::PitchRange;
pub(crate) use swipe::SWIPE;
pub use swipe::{Swipe, SwipeStream, SwipeTrack, swipe_on_cuda};
pub(crate) use yin::YIN;
pub use yin::{Yin, YinStream, yin_in_place, yin_on_cuda};
