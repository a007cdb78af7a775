//! Mel features on a GPU: the fastest kernel that fits, and what follows on the host.

use warpsmith_device::{CudaDevice, DeviceBuffer};
use warpsmith_signal::Conditioning;
use warpsmith_workload::{Prepared, WorkloadError};

use super::cpu::finish_frames;
use super::cuda_512::CudaMel512;
use super::cuda_any::CudaMel;
use super::settings::{FeatureSettings, Layout};
use crate::batch::{Batch, each_on_cuda};

pub(super) const ID: &str = "voice/mel";

/// A kernel that makes mel features.
pub(crate) trait MelKernel: Prepared {
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
    let unsupported = |reason: String| WorkloadError::Unsupported {
        workload: ID,
        reason,
    };
    let settings = settings
        .checked()
        .map_err(|error| unsupported(error.to_string()))?;
    let spectrum = settings.spectrum;
    let full = spectrum.framing.length == spectrum.transform;
    if !full || spectrum.conditioning != Conditioning::default() || settings.gain != 1.0 {
        return Err(unsupported(
            "the kernels take whole frames as they are: presets librosa, torchaudio and htk".into(),
        ));
    }
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
