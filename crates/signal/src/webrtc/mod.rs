//! The voice activity detector of the WebRTC project, decision for decision: six bands of an 8 kHz
//! signal, two Gaussians to a band for noise and two for speech, all in integers (see `NOTICE`).

mod bands;
mod decimation;
mod detector;
mod minimum;
mod mixture;
mod stream;
mod tables;

pub use detector::{FrameMillis, WebrtcMode, WebrtcVad};
pub use stream::WebrtcStream;
