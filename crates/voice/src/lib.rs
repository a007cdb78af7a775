//! Audio analysis: every operation once for the CPU, which is the specification, and once for the
//! GPU.
//!
//! Plans own tables and scratch memory, callers own results: plan once, process often. A frame's
//! bits depend on its samples alone, never on block size, chunking, batch or thread.

mod batch;
mod chroma;
mod constant_q;
mod contrast;
pub mod effect;
pub mod formants;
mod frame;
mod host;
mod mel;
mod memory_room;
mod net;
mod onset;
mod pitch;
mod resample;
mod spectrum;
mod statistics;
#[cfg(test)]
mod test_noise;
mod vad;
mod workloads;

pub use batch::DeviceSignals;
pub use chroma::{
    Chroma, ChromaStream, PITCH_CLASSES, chroma_in_place, chroma_on_cuda, estimate_tuning,
    estimate_tuning_by, estimate_tuning_of,
};
pub use constant_q::{
    ConstantQ, ConstantQSettings, ConstantQStream, constant_q_in_place, constant_q_on_cuda,
};
pub use contrast::{
    CONTRAST_BANDS, ContrastSettings, ContrastStream, LoudestLevels, SpectralContrast,
    contrast_on_cuda,
};
pub use effect::griffin_lim::griffin_lim_on_cuda;
pub use formants::formants_on_cuda;
pub use mel::{
    CepstrumSettings, Compression, FeatureSettings, Layout, Lifter, MelBank, MelFeature, MelFilter,
    MelNorm, MelScale, MelSettings, MelSlope, MelStream, Preset, Sizes, Stage, mel_in_place,
    mel_on_cuda,
};
pub use memory_room::{GrowingRoom, check_room};
pub use net::{NetPitch, NetTrack, NetVad, net_on_cuda, net_vad_on_cuda};
pub use onset::{
    OnsetDetector, OnsetStream, onset_frames, onset_strength_in_place, onset_strength_on_cuda,
};
pub use pitch::{
    CloseDecision, CorrelationWindow, CrepeNetwork, CrepePitch, CrepeTrack, Decision,
    DevicePyinTrack, HqFirstLook, HqLook, HqPitch, HqSecondLook, HqThirdLook, HqTrack, PitchRange,
    PraatLook, PraatPitch, PraatSettings, PraatStream, PraatTrack, PrecisePraat, Pyin, PyinAudit,
    PyinSettings, PyinStream, PyinTrack, Swipe, SwipeStream, SwipeTrack, UndecidedFrame, Yin,
    YinStream, audit_pyin_on_cuda, crepe_on_cuda, hq_on_cuda, praat_on_cuda, pyin_in_place,
    pyin_on_cuda, swipe_on_cuda, yin_in_place, yin_on_cuda,
};
pub use resample::{resample_in_place, resample_on_cuda};
pub use spectrum::{
    Density, Istft, Stft, StftStream, istft_on_cuda, spectrogram_in_place, spectrogram_on_cuda,
};
pub use statistics::{
    SpectralShape, SpectralStatistics, StatisticsStream, statistics_in_place, statistics_on_cuda,
};
pub use vad::{
    NeuralSettings, NeuralStream, NeuralVad, PeriodicityVad, SileroNetwork, StatisticalSettings,
    StatisticalStream, StatisticalVad, neural_vad_on_cuda, periodicity_vad_on_cuda,
    speech_probabilities_on_cuda,
};
pub use warpsmith_neural::Weights;
pub use warpsmith_signal as signal;
pub use warpsmith_signal::{
    Audio, Bridging, ChannelChoice, Conditioning, DeltaStream, Derivative, EnergyVad, FrameMillis,
    Framing, LevelStream, Levels, Loudness, Padding, Result, SILENCE_LUFS, Segment, SignalError,
    SpectrumSettings, Symmetry, WebrtcMode, WebrtcStream, WebrtcVad, Window, check_finite, delta,
    integrated_loudness, segments,
};
pub use workloads::workloads;
