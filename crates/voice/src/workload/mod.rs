//! The operations as workloads: measured, and held against each other on CPU and GPU.

mod batch;
mod chroma;
mod chroma_cuda;
mod constant_q;
mod constant_q_cuda;
mod contrast;
mod contrast_cuda;
mod cpu_files;
mod crepe;
mod crepe_cuda;
mod crepe_kernels;
mod crepe_path;
mod crepe_path_cuda;
mod crepe_windows;
mod decimate_cuda;
mod formants;
mod formants_cuda;
mod frame_feature;
mod frame_source;
mod griffin_lim_cuda;
mod host;
mod host_operation;
mod hq;
mod hq_cuda;
mod hq_kernels;
mod inverse;
mod istft_cuda;
mod levels_cuda;
mod mel;
mod mel512;
mod mel_cuda;
mod mel_segments;
mod onset;
mod onset_cuda;
mod periodicity;
mod pieces;
mod praat;
mod praat_cuda;
mod praat_path_cuda;
mod pyin;
mod pyin_audit;
mod pyin_cuda;
mod pyin_path_cuda;
mod resample;
mod resample_cuda;
mod signals;
mod silero;
mod silero_cuda;
mod spectral_signals;
mod spectrogram;
mod spectrogram_cuda;
mod statistics;
mod statistics_cuda;
mod swipe;
mod swipe_cuda;
mod warp_memory;
mod windowed_frames;
mod yin;

pub use crepe::crepe_on_cuda;
pub use pyin_audit::{PyinAudit, UndecidedFrame, audit_pyin_on_cuda};
pub use signals::{
    formants_on_cuda, griffin_lim_on_cuda, hq_on_cuda, istft_on_cuda, mel_on_cuda,
    periodicity_vad_on_cuda, praat_on_cuda, pyin_on_cuda, resample_on_cuda, spectrogram_on_cuda,
    swipe_on_cuda, yin_on_cuda,
};
pub use silero::{neural_vad_on_cuda, speech_probabilities_on_cuda};
pub use spectral_signals::{
    chroma_on_cuda, constant_q_on_cuda, contrast_on_cuda, onset_strength_on_cuda,
    statistics_on_cuda,
};
use warpsmith_workload::Workload;

/// The workloads of this crate.
pub fn workloads() -> Vec<Box<dyn Workload>> {
    vec![
        Box::new(mel::Mel),
        Box::new(spectrogram::Spectrogram),
        Box::new(inverse::IstftWorkload),
        Box::new(inverse::GriffinLimWorkload),
        Box::new(resample::Resample),
        Box::new(yin::YinPitch),
        Box::new(pyin::PyinPitch),
        Box::new(praat::Praat),
        Box::new(hq::Hq),
        Box::new(periodicity::PeriodicityTops),
        Box::new(silero::SpeechProbabilities),
        Box::new(swipe::SwipePitch),
        Box::new(crepe::CrepeProbabilities),
        Box::new(crepe_path::CrepePath),
        Box::new(formants::Formants),
        Box::new(contrast::CONTRAST),
        Box::new(constant_q::ConstantQWorkload),
        Box::new(statistics::STATISTICS),
        Box::new(chroma::CHROMA),
        Box::new(onset::ONSET),
        Box::new(host::Host),
    ]
}
