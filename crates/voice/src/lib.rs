//! Audio analysis: every operation once for the CPU, which is the specification, and once for the
//! GPU.
//!
//! Plans own tables and scratch memory, callers own results: plan once, process often. A frame's
//! bits depend on its samples alone, never on block size, chunking, batch or thread.

mod audio_decoder;
mod audio_file;
mod chroma;
mod constant_q;
mod contrast;
mod delta;
pub mod effect;
mod error;
mod feature;
mod filter_lanes;
mod fourier;
mod frame_queue;
mod frame_rows;
mod frame_spectrum;
mod frame_streams;
mod framing;
mod hop_weights;
mod inverse_spectrum;
mod level;
mod loudness;
mod mel;
mod mel_bank;
mod neural;
mod npy;
mod onset;
mod overlap_add;
mod picture;
mod pitch;
mod prefetch;
mod preset;
pub mod quality;
pub mod signal;
mod spectrum;
mod statistics;
mod stream;
mod tile;
mod vad;
mod window;
mod workload;

pub use audio_file::{Audio, ChannelChoice, check_finite};
pub use chroma::{Chroma, ChromaStream, PITCH_CLASSES};
pub use constant_q::{ConstantQ, ConstantQSettings};
pub use contrast::{CONTRAST_BANDS, SpectralContrast};
pub use delta::{Derivative, delta};
pub use error::{Result, VoiceError};
pub use feature::{CepstrumSettings, Compression, FeatureSettings, Layout, Lifter};
pub use frame_spectrum::{Conditioning, SpectrumSettings};
pub use frame_streams::{LevelStream, StatisticsStream, StftStream, WebrtcStream};
pub use framing::{Framing, Padding};
pub use inverse_spectrum::Istft;
pub use level::Levels;
pub use loudness::{Loudness, SILENCE_LUFS, integrated_loudness};
pub use mel::MelFeature;
pub use mel_bank::{MelBank, MelFilter, MelNorm, MelScale, MelSettings, MelSlope};
pub use neural::Weights;
pub use npy::write_npy;
pub use onset::{OnsetDetector, OnsetStream, onset_frames};
pub use picture::SpectrogramPicture;
pub use pitch::{
    CloseDecision, CorrelationWindow, CrepeNetwork, CrepePitch, CrepeTrack, Decision, HqPitch,
    HqTrack, PitchRange, PraatPitch, PraatSettings, PraatTrack, Pyin, PyinSettings, PyinStream,
    PyinTrack, Swipe, SwipeTrack, Yin,
};
pub use preset::{Preset, Sizes, Stage};
pub use spectrum::{Density, Stft};
pub use statistics::{SpectralShape, SpectralStatistics};
pub use stream::{MelStream, YinStream};
pub use vad::{
    Bridging, EnergyVad, FrameMillis, NeuralSettings, NeuralStream, NeuralVad, PeriodicityVad,
    Segment, SileroNetwork, StatisticalSettings, StatisticalVad, WebrtcMode, WebrtcVad, segments,
};
pub use window::{Symmetry, Window};
pub use workload::{
    PyinAudit, UndecidedFrame, audit_pyin_on_cuda, chroma_on_cuda, constant_q_on_cuda,
    contrast_on_cuda, crepe_on_cuda, formants_on_cuda, griffin_lim_on_cuda, hq_on_cuda,
    istft_on_cuda, mel_on_cuda, neural_vad_on_cuda, onset_strength_on_cuda,
    periodicity_vad_on_cuda, praat_on_cuda, pyin_on_cuda, resample_on_cuda, spectrogram_on_cuda,
    speech_probabilities_on_cuda, statistics_on_cuda, swipe_on_cuda, workloads, yin_on_cuda,
};
