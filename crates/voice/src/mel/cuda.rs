//! Mel features on a GPU: the fastest kernel that fits, and what follows on the host.

use warpsmith_device::{CudaDevice, DeviceBuffer};
use warpsmith_signal::Conditioning;
use warpsmith_workload::WorkloadError;

use super::cepstrum_cuda::CudaCepstrum;
use super::cpu::finish_frames;
use super::cuda_512::CudaMel512;
use super::cuda_any::CudaMel;
use super::settings::{FeatureSettings, Layout};
use crate::batch::{Batch, DeviceResult, DeviceSignals, each_on_cuda, in_place};

pub(super) const ID: &str = "voice/mel";

/// A kernel that makes mel features.
pub(crate) trait MelKernel: DeviceResult {
    /// The features in device memory, `[frame, filter]`, once they have been computed.
    fn levels(&self) -> &DeviceBuffer<f32>;
}

/// The kernel for a batch: the one for frames of 512 samples where it fits.
pub(crate) fn on_cuda(
    gpu: &CudaDevice,
    settings: &FeatureSettings,
    batch: &Batch,
) -> Result<Box<dyn MelKernel>, WorkloadError> {
    Ok(match CudaMel512::new(gpu, settings, batch)? {
        Some(fast) => Box::new(fast),
        None => Box::new(CudaMel::new(gpu, settings, batch)?),
    })
}

/// The feature of each signal, in the layout of `settings`. Logarithms of mel powers come from one
/// kernel; a limit of the dynamic range, cepstra and scales, which look at few numbers, follow on the
/// host. Frames must fill their transform, a power of two up to 2048, without conditioning.
pub fn mel_on_cuda(
    gpu: &CudaDevice,
    settings: &FeatureSettings,
    signals: &[&[f32]],
) -> Result<Vec<Vec<f32>>, WorkloadError> {
    let settings = supported(settings)?;
    let spectrum = settings.spectrum;
    let plain = FeatureSettings {
        dynamic_range: None,
        cepstrum: None,
        scale: (1.0, 0.0),
        drop_last_frame: false,
        layout: Layout::FramesFirst,
        ..settings
    };
    let (count, width) = (
        |samples| spectrum.framing.count(samples),
        settings.mel.filters,
    );
    let mels = each_on_cuda(signals, count, width, |batch| on_cuda(gpu, &plain, batch))?;
    Ok(mels
        .into_iter()
        .zip(signals)
        .map(|(mut mel, signal)| {
            mel.truncate(settings.frames(signal.len()) * width);
            finish_frames(&settings, mel)
        })
        .collect())
}

fn unsupported(reason: impl Into<String>) -> WorkloadError {
    WorkloadError::Unsupported {
        workload: ID,
        reason: reason.into(),
    }
}

/// Settings that the kernels can use.
fn supported(settings: &FeatureSettings) -> Result<FeatureSettings, WorkloadError> {
    let settings = settings
        .checked()
        .map_err(|error| unsupported(error.to_string()))?;
    let spectrum = settings.spectrum;
    let full = spectrum.framing.length == spectrum.transform;
    if !full || spectrum.conditioning != Conditioning::default() || settings.gain != 1.0 {
        return Err(unsupported(
            "the kernels take whole frames as they are: presets librosa, torchaudio and htk",
        ));
    }
    Ok(settings)
}

/// Mel powers, their logarithms or cepstra, `[signal, frame, value]`, of signals on the GPU. A dynamic range of levels
/// that are not made into cepstra, and scales, are refused: they are computed on the host.
pub fn mel_in_place(
    gpu: &CudaDevice,
    settings: &FeatureSettings,
    signals: DeviceSignals,
) -> Result<DeviceBuffer<f32>, WorkloadError> {
    let settings = supported(settings)?;
    let ranged = settings.dynamic_range.is_some() && settings.cepstrum.is_none();
    if ranged || settings.scale != (1.0, 0.0) || settings.drop_last_frame {
        return Err(unsupported(
            "dynamic ranges and scales are computed on the host: take mel powers, their logarithms or cepstra",
        ));
    }
    let count = |samples| settings.spectrum.framing.count(samples);
    in_place(gpu, signals, count, |batch| {
        Ok(if settings.cepstrum.is_some() {
            Box::new(CudaCepstrum::new(gpu, &settings, batch)?)
        } else {
            let kernel: Box<dyn DeviceResult> = on_cuda(gpu, &settings, batch)?;
            kernel
        })
    })
}
