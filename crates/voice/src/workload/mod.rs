//! The operations as workloads: measured, and held against each other on CPU and GPU.

mod batch;
mod cpu_files;
mod formants;
mod formants_cuda;
mod griffin_lim_cuda;
mod host;
mod host_operation;
mod inverse;
mod istft_cuda;
mod mel;
mod mel512;
mod mel_cuda;
mod mel_segments;
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
mod spectrogram;
mod spectrogram_cuda;
mod swipe;
mod swipe_cuda;
mod training;
mod warp_room;
mod yin;

pub use pyin_audit::{PyinAudit, UndecidedFrame, audit_pyin_on_cuda};
pub use signals::{
    formants_on_cuda, griffin_lim_on_cuda, istft_on_cuda, mel_on_cuda, praat_on_cuda, pyin_on_cuda,
    resample_on_cuda, spectrogram_on_cuda, swipe_on_cuda, yin_on_cuda,
};
use warpsmith_measure::Workload;

/// The workloads of this crate.
pub fn workloads() -> Vec<Box<dyn Workload>> {
    let mut all: Vec<Box<dyn Workload>> = vec![
        Box::new(mel::Mel),
        Box::new(spectrogram::Spectrogram),
        Box::new(inverse::IstftWorkload),
        Box::new(inverse::GriffinLimWorkload),
        Box::new(resample::Resample),
        Box::new(yin::YinPitch),
        Box::new(pyin::PyinPitch),
        Box::new(praat::Praat),
        Box::new(swipe::SwipePitch),
        Box::new(formants::Formants),
        Box::new(host::Host),
    ];
    all.extend(training::workloads());
    all
}
