//! Numbers from the spectra of many signals of any lengths in one pass over a GPU, as the CPU computes them.

use warpsmith_device::CudaDevice;
use warpsmith_workload::WorkloadError;

use super::batch::Batch;
use super::chroma_cuda::CudaChroma;
use super::constant_q_cuda::CudaConstantQ;
use super::contrast_cuda::CudaContrast;
use super::cpu_files::failed;
use super::onset_cuda::CudaOnset;
use super::signals::cut;
use super::statistics_cuda::CudaStatistics;
use super::{chroma, constant_q, contrast, onset, statistics};
use crate::chroma::PITCH_CLASSES;
use crate::constant_q::{ConstantQ, ConstantQSettings};
use crate::contrast::{CONTRAST_BANDS, bands};
use crate::error::Result as VoiceResult;
use crate::frame_spectrum::SpectrumSettings;
use crate::onset::levels;
use crate::statistics::{ROWS, SpectralStatistics};

/// Settings that a workload can use.
fn checked<T>(workload: &'static str, settings: VoiceResult<T>) -> Result<T, WorkloadError> {
    settings.map_err(|error| failed(workload, &error))
}

/// Spectral contrast of each signal, `[frame, band]`, dB.
pub fn contrast_on_cuda(
    gpu: &CudaDevice,
    settings: &SpectrumSettings,
    sample_rate: u32,
    signals: &[&[f32]],
) -> Result<Vec<Vec<f32>>, WorkloadError> {
    let settings = checked(contrast::ID, settings.checked())?;
    let bands = checked(contrast::ID, bands(settings, sample_rate))?;
    let count = |samples: usize| settings.framing.count(samples);
    let batch = Batch::of(signals, count);
    if batch.frames() == 0 {
        return Ok(vec![Vec::new(); signals.len()]);
    }
    let mut prepared = CudaContrast::new(gpu, &settings, &bands, &batch)?;
    cut(&mut prepared, signals, count, CONTRAST_BANDS)
}

/// Spectral statistics of each signal.
pub fn statistics_on_cuda(
    gpu: &CudaDevice,
    settings: &SpectrumSettings,
    sample_rate: u32,
    signals: &[&[f32]],
) -> Result<Vec<SpectralStatistics>, WorkloadError> {
    let settings = checked(statistics::ID, settings.checked())?;
    let count = |samples: usize| settings.framing.count(samples);
    let batch = Batch::of(signals, count);
    if batch.frames() == 0 {
        return Ok(vec![SpectralStatistics::default(); signals.len()]);
    }
    let mut prepared = CudaStatistics::new(gpu, &settings, sample_rate, &batch)?;
    let frames = cut(&mut prepared, signals, count, ROWS)?;
    Ok(frames
        .iter()
        .map(|values| SpectralStatistics::of_frames(values))
        .collect())
}

/// Chroma of each signal, `[frame, class]`.
pub fn chroma_on_cuda(
    gpu: &CudaDevice,
    settings: &SpectrumSettings,
    sample_rate: u32,
    signals: &[&[f32]],
) -> Result<Vec<Vec<f32>>, WorkloadError> {
    let settings = checked(chroma::ID, settings.checked())?;
    let count = |samples: usize| settings.framing.count(samples);
    let batch = Batch::of(signals, count);
    if batch.frames() == 0 {
        return Ok(vec![Vec::new(); signals.len()]);
    }
    let mut prepared = CudaChroma::new(gpu, &settings, sample_rate, &batch)?;
    cut(&mut prepared, signals, count, PITCH_CLASSES)
}

/// Onset strength of each signal, as [`OnsetDetector`](crate::OnsetDetector) has it.
pub fn onset_strength_on_cuda(
    gpu: &CudaDevice,
    sample_rate: u32,
    transform: usize,
    hop: usize,
    signals: &[&[f32]],
) -> Result<Vec<Vec<f32>>, WorkloadError> {
    let settings = checked(onset::ID, levels(sample_rate, transform, hop).checked())?;
    let framing = settings.spectrum.framing;
    let count = |samples: usize| framing.count(samples);
    let batch = Batch::of(signals, count);
    if batch.frames() == 0 {
        return Ok(vec![Vec::new(); signals.len()]);
    }
    let mut prepared = CudaOnset::new(gpu, &settings, &batch)?;
    cut(&mut prepared, signals, count, 1)
}

/// Constant-Q spectra of each signal, `[frame, bin]`.
pub fn constant_q_on_cuda(
    gpu: &CudaDevice,
    sample_rate: u32,
    settings: ConstantQSettings,
    signals: &[&[f32]],
) -> Result<Vec<Vec<[f32; 2]>>, WorkloadError> {
    let plan = checked(constant_q::ID, ConstantQ::new(sample_rate, settings))?;
    let count = |samples: usize| plan.frames(samples);
    let batch = Batch::of(signals, count);
    if batch.frames() == 0 {
        return Ok(vec![Vec::new(); signals.len()]);
    }
    let mut prepared = CudaConstantQ::new(gpu, &plan, &batch)?;
    let spectra = cut(&mut prepared, signals, count, 2 * settings.bins)?;
    Ok(spectra
        .iter()
        .map(|values| values.as_chunks().0.to_vec())
        .collect())
}
