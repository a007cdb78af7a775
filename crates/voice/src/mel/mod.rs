//! Mel spectrograms, log-mel and cepstra, fused: a block of frames goes from samples to features
//! without its spectrum ever leaving the cache.

mod bank;
mod cepstrum_cuda;
mod cpu;
pub(crate) mod cuda;
mod cuda_512;
mod cuda_any;
mod filter_lanes;
mod preset;
mod segments;
mod settings;
mod stream;
mod workload;

pub use bank::{MelBank, MelFilter, MelNorm, MelScale, MelSettings, MelSlope};
pub use cpu::MelFeature;
pub use cuda::{mel_in_place, mel_on_cuda};
pub use preset::{Preset, Sizes, Stage};
pub use settings::{CepstrumSettings, Compression, FeatureSettings, Layout, Lifter};
pub use stream::MelStream;
pub(crate) use workload::{MEL, MFCC};
