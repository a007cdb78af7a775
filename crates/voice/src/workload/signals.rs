//! Features of many signals of any lengths in one pass over a GPU, as the CPU computes them.

use warpsmith_device::CudaDevice;
use warpsmith_measure::{Output, Prepared, WorkloadError};

use super::batch::Batch;
use super::mel::on_cuda;
use super::yin::CudaYin;
use crate::feature::{FeatureSettings, Layout};
use crate::frame_spectrum::Conditioning;
use crate::framing::Framing;
use crate::mel::finish_frames;
use crate::pitch::PitchRange;

/// What a batch gives, cut where the signals end: `width` values to a frame.
fn cut(
    prepared: &mut dyn Prepared,
    signals: &[&[f32]],
    framing: Framing,
    width: usize,
) -> Result<Vec<Vec<f32>>, WorkloadError> {
    prepared.run_once()?;
    let Output::F32(values) = prepared.output()? else {
        return Err(WorkloadError::Failed {
            workload: "voice",
            reason: "the kernel's result is not f32".into(),
        });
    };
    let mut rest = &values[..];
    let mut results = Vec::with_capacity(signals.len());
    for signal in signals {
        let Some((here, after)) = rest.split_at_checked(framing.count(signal.len()) * width) else {
            return Err(WorkloadError::Failed {
                workload: "voice",
                reason: "the kernel's result is too short".into(),
            });
        };
        results.push(here.to_vec());
        rest = after;
    }
    Ok(results)
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
        workload: "voice/mel",
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
    let batch = Batch::of(signals, spectrum.framing);
    if batch.frames() == 0 {
        return Ok(vec![Vec::new(); signals.len()]);
    }
    let mut prepared = on_cuda(gpu, &plain, &batch)?;
    let width = settings.mel.filters;
    let mels = cut(&mut *prepared, signals, spectrum.framing, width)?;
    Ok(mels
        .into_iter()
        .zip(signals)
        .map(|(mut mel, signal)| {
            mel.truncate(settings.frames(signal.len()) * width);
            finish_frames(&settings, mel)
        })
        .collect())
}

/// The frequency of each frame of each signal by YIN; a threshold of 0.1.
pub fn yin_on_cuda(
    gpu: &CudaDevice,
    sample_rate: u32,
    framing: Framing,
    range: PitchRange,
    signals: &[&[f32]],
) -> Result<Vec<Vec<f32>>, WorkloadError> {
    let batch = Batch::of(signals, framing);
    if batch.frames() == 0 {
        return Ok(vec![Vec::new(); signals.len()]);
    }
    let mut prepared = CudaYin::new(gpu, sample_rate, framing, range, &batch)?;
    cut(&mut prepared, signals, framing, 1)
}
