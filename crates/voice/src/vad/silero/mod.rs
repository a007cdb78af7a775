//! Voice activity by a network that was trained on speech of many languages, Silero VAD 6, with its own weights.
//!
//! Speech starts where the probability reaches one bound and ends where it falls below a lower one. Chunks below
//! −90 dBFS, the last of 16 bits, are never speech, whatever the network says of them.

mod cpu;
mod cuda;
mod detector;
mod made_up;
mod workload;

pub use cpu::SileroNetwork;
pub use cuda::{neural_vad_on_cuda, speech_probabilities_on_cuda};
pub use detector::{NeuralSettings, NeuralStream, NeuralVad};
pub(crate) use workload::SpeechProbabilities;
