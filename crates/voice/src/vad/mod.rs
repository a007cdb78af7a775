//! Voice activity: which frames hold speech, and where it starts and ends.

mod energy;
mod neural;
mod periodicity;
mod segments;
mod silero;
mod silero_made_up;
mod statistical;
mod webrtc;

pub use energy::EnergyVad;
pub(crate) use neural::RATE as SILERO_RATE;
pub use neural::{NeuralSettings, NeuralStream, NeuralVad};
pub use periodicity::PeriodicityVad;
pub use segments::{Bridging, Segment, segments};
pub use silero::SileroNetwork;
pub(crate) use silero::{BINS, CHUNK, GATES, Layers, UNITS, WINDOW};
pub use statistical::{StatisticalSettings, StatisticalVad};
pub use webrtc::{FrameMillis, WebrtcMode, WebrtcVad};
