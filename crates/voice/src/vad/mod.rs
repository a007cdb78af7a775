//! Voice activity: which frames hold speech, and where it starts and ends.

mod periodicity;
mod silero;
mod statistical;

pub(crate) use periodicity::PERIODICITY;
pub use periodicity::{PeriodicityVad, periodicity_vad_on_cuda};
pub(crate) use silero::SpeechProbabilities;
pub use silero::{
    NeuralSettings, NeuralStream, NeuralVad, SileroNetwork, neural_vad_on_cuda,
    speech_probabilities_on_cuda,
};
pub use statistical::{StatisticalSettings, StatisticalStream, StatisticalVad};
