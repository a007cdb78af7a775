//! Voice activity: which frames hold speech, and where it starts and ends.

mod energy;
mod neural;
mod periodicity;
mod segments;
mod silero;
mod statistical;
mod webrtc;

pub use energy::EnergyVad;
pub use neural::{NeuralSettings, NeuralStream, NeuralVad};
pub use periodicity::PeriodicityVad;
pub use segments::{Bridging, Segment, segments};
pub use statistical::{StatisticalSettings, StatisticalVad};
pub use webrtc::{FrameMillis, WebrtcMode, WebrtcVad};
