//! Features of many signals of any lengths in one pass over a GPU, as the CPU computes them.

use rayon::prelude::*;
use warpsmith_device::CudaDevice;
use warpsmith_workload::{Output, Prepared, WorkloadError};

use super::batch::Batch;
use super::cpu_files::failed;
use super::formants;
use super::formants_cuda::CudaFormants;
use super::griffin_lim_cuda::CudaGriffinLim;
use super::hq_cuda::CudaHq;
use super::inverse::{frames_first, istft};
use super::mel::on_cuda;
use super::periodicity::CudaPeriodicity;
use super::praat_cuda::CudaPraat;
use super::pyin_cuda::CudaPyin;
use super::resample_cuda::CudaResample;
use super::spectrogram_cuda::{CudaSpectrogram, Kind};
use super::swipe_cuda::CudaSwipe;
use super::yin::CudaYin;
use crate::effect::GriffinLim;
use crate::error::VoiceError;
use crate::feature::{FeatureSettings, Layout};
use crate::frame_spectrum::{Conditioning, SpectrumSettings};
use crate::framing::Framing;
use crate::mel::finish_frames;
use crate::pitch::{
    HqPlan, HqTrack, PitchRange, Placement, PraatSettings, PraatTrack, PyinPlan, PyinSettings,
    PyinTrack, SwipePlan, SwipeTrack,
};
use crate::quality::{Formant, FormantSettings, FormantTracker};
use crate::signal::{Quality, Resampler};
use crate::spectrum::Density;
use crate::vad::PeriodicityVad;

/// What a batch gives, cut where the signals end: `width` values to a frame.
pub(super) fn cut(
    prepared: &mut dyn Prepared,
    signals: &[&[f32]],
    count: impl Fn(usize) -> usize,
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
        let Some((here, after)) = rest.split_at_checked(count(signal.len()) * width) else {
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
    let batch = Batch::of(signals, |samples| spectrum.framing.count(samples));
    if batch.frames() == 0 {
        return Ok(vec![Vec::new(); signals.len()]);
    }
    let mut prepared = on_cuda(gpu, &plain, &batch)?;
    let width = settings.mel.filters;
    let mels = cut(
        &mut *prepared,
        signals,
        |samples| spectrum.framing.count(samples),
        width,
    )?;
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
    let batch = Batch::of(signals, |samples| framing.count(samples));
    if batch.frames() == 0 {
        return Ok(vec![Vec::new(); signals.len()]);
    }
    let mut prepared = CudaYin::new(gpu, sample_rate, framing, range, &batch)?;
    cut(&mut prepared, signals, |samples| framing.count(samples), 1)
}

/// Powers or magnitudes of each signal, `[frame, bin]`.
pub fn spectrogram_on_cuda(
    gpu: &CudaDevice,
    settings: &SpectrumSettings,
    density: Density,
    signals: &[&[f32]],
) -> Result<Vec<Vec<f32>>, WorkloadError> {
    let settings = settings
        .checked()
        .map_err(|error| failed("voice/spectrogram", &error))?;
    let count = |samples: usize| settings.framing.count(samples);
    let batch = Batch::of(signals, count);
    if batch.frames() == 0 {
        return Ok(vec![Vec::new(); signals.len()]);
    }
    let mut prepared = CudaSpectrogram::new(gpu, &settings, Kind::Density(density), &batch)?;
    cut(&mut prepared, signals, count, settings.bins())
}

/// Pitch and voicing of each signal by probabilistic YIN.
pub fn pyin_on_cuda(
    gpu: &CudaDevice,
    sample_rate: u32,
    framing: Framing,
    range: PitchRange,
    settings: PyinSettings,
    signals: &[&[f32]],
) -> Result<Vec<PyinTrack>, WorkloadError> {
    let plan = PyinPlan::new(sample_rate, framing, range, settings)
        .map_err(|error| failed("voice/pyin", &error))?;
    let batch = Batch::of(signals, |samples| framing.count(samples));
    if batch.frames() == 0 {
        return Ok(vec![PyinTrack::default(); signals.len()]);
    }
    let mut prepared = CudaPyin::new(gpu, plan, &batch)?;
    prepared.run_once()?;
    let whole = prepared.track()?;
    let files = batch.file_frames.windows(2);
    Ok(files
        .map(|ends| {
            let frames = ends[0] as usize..ends[1] as usize;
            PyinTrack {
                frequency: whole.frequency[frames.clone()].to_vec(),
                voiced: whole.voiced[frames.clone()].to_vec(),
                probability: whole.probability[frames].to_vec(),
            }
        })
        .collect())
}

/// Pitch and voicing of each signal as Praat finds them, in frames `hop` samples apart.
pub fn praat_on_cuda(
    gpu: &CudaDevice,
    sample_rate: u32,
    hop: usize,
    range: PitchRange,
    settings: PraatSettings,
    signals: &[&[f32]],
) -> Result<Vec<PraatTrack>, WorkloadError> {
    let placement = Placement::under(settings.window, sample_rate, hop, range, settings.periods)
        .map_err(|error| failed("voice/praat", &error))?;
    let batch = Batch::of(signals, |samples| placement.frames(samples));
    if batch.frames() == 0 {
        return Ok(vec![PraatTrack::default(); signals.len()]);
    }
    let mut prepared = CudaPraat::new(gpu, placement, range, settings, &batch)?;
    prepared.run_once()?;
    let pairs = prepared.track()?;
    let files = batch.file_frames.windows(2).zip(signals);
    Ok(files
        .map(|(ends, signal)| {
            let pairs = &pairs[2 * ends[0] as usize..2 * ends[1] as usize];
            let frames = pairs.len() / 2;
            PraatTrack {
                seconds: (0..frames)
                    .map(|frame| placement.time(frame, signal.len()))
                    .collect(),
                frequency: pairs.chunks_exact(2).map(|pair| pair[0]).collect(),
                strength: pairs.chunks_exact(2).map(|pair| pair[1]).collect(),
            }
        })
        .collect())
}

/// Pitch and voicing of each signal by the most accurate tracker, in frames `hop` samples apart.
pub fn hq_on_cuda(
    gpu: &CudaDevice,
    sample_rate: u32,
    hop: usize,
    range: PitchRange,
    signals: &[&[f32]],
) -> Result<Vec<HqTrack>, WorkloadError> {
    let plan = HqPlan::new(sample_rate, hop, range).map_err(|error| failed("voice/hq", &error))?;
    let placement = plan.placement;
    let batch = Batch::of(signals, |samples| placement.frames(samples));
    if batch.frames() == 0 {
        return Ok(vec![HqTrack::default(); signals.len()]);
    }
    let mut prepared = CudaHq::new(gpu, plan, &batch)?;
    prepared.run_once()?;
    let (frequency, confidence) = prepared.track()?;
    let files = batch.file_frames.windows(2).zip(signals);
    Ok(files
        .map(|(ends, signal)| {
            let frames = ends[0] as usize..ends[1] as usize;
            HqTrack {
                seconds: (0..frames.len())
                    .map(|frame| placement.time(frame, signal.len()))
                    .collect(),
                frequency: frequency[frames.clone()].to_vec(),
                confidence: confidence[frames].to_vec(),
            }
        })
        .collect())
}

/// Pitch and voicing of each signal by SWIPE', in frames `hop` samples apart; see [`crate::Swipe`].
pub fn swipe_on_cuda(
    gpu: &CudaDevice,
    sample_rate: u32,
    hop: usize,
    range: PitchRange,
    threshold: f32,
    signals: &[&[f32]],
) -> Result<Vec<SwipeTrack>, WorkloadError> {
    let plan =
        SwipePlan::new(sample_rate, hop, range).map_err(|error| failed("voice/swipe", &error))?;
    let batch = Batch::of(signals, |samples| plan.frames(samples));
    if batch.frames() == 0 {
        return Ok(vec![SwipeTrack::default(); signals.len()]);
    }
    let mut prepared = CudaSwipe::new(gpu, &plan, threshold, &batch)?;
    let tracks = cut(&mut prepared, signals, |samples| plan.frames(samples), 2)?;
    Ok(tracks
        .iter()
        .map(|pairs| SwipeTrack {
            seconds: plan.seconds(pairs.len() / 2),
            frequency: pairs.chunks_exact(2).map(|pair| pair[0]).collect(),
            strength: pairs.chunks_exact(2).map(|pair| pair[1]).collect(),
        })
        .collect())
}

/// Voice activity of each signal by periodicity, one decision to 10 ms. Tops come from one kernel; what follows
/// from them looks at few numbers, on the host, files side by side.
pub fn periodicity_vad_on_cuda(
    gpu: &CudaDevice,
    sample_rate: u32,
    signals: &[&[f32]],
) -> Result<Vec<Vec<bool>>, WorkloadError> {
    let mut vad =
        PeriodicityVad::new(sample_rate).map_err(|error| failed("voice/periodicity", &error))?;
    let periodicity = vad.periodicity();
    let placement = periodicity.placement();
    let count = |samples: usize| placement.frames(samples);
    let batch = Batch::of(signals, count);
    let tops = if batch.frames() == 0 {
        vec![Vec::new(); signals.len()]
    } else {
        let mut prepared = CudaPeriodicity::new(gpu, periodicity, &batch)?;
        cut(&mut prepared, signals, count, 1)?
    };
    let signals = signals.par_iter().map(|signal| signal.len());
    Ok(signals
        .zip(&tops)
        .map(|(samples, tops)| PeriodicityVad::judge(placement, samples, tops))
        .collect())
}

/// The signals whose short-time spectra are `[bin, frame]` matrices, each with its number of samples.
pub fn istft_on_cuda(
    gpu: &CudaDevice,
    settings: &SpectrumSettings,
    spectra: &[(&[[f32; 2]], usize)],
) -> Result<Vec<Vec<f32>>, WorkloadError> {
    let settings = settings
        .checked()
        .map_err(|error| failed("voice/istft", &error))?;
    let sizes = spectra
        .iter()
        .map(|(matrix, samples)| (matrix.len(), *samples));
    let Some(batch) = places("voice/istft", &settings, sizes)? else {
        return Ok(silences(spectra.iter().map(|(_, samples)| *samples)));
    };
    let matrices = spectra.iter().map(|(matrix, _)| *matrix);
    let flat = matrices.flat_map(|matrix| frames_first(matrix, settings.bins()));
    let mut prepared = istft(gpu, settings, &batch, flat)?;
    prepared.run_once()?;
    prepared.signals()
}

/// Signals whose magnitudes are near `[bin, frame]` matrices, each with its number of samples.
pub fn griffin_lim_on_cuda(
    gpu: &CudaDevice,
    choices: GriffinLim,
    settings: &SpectrumSettings,
    magnitudes: &[(&[f32], usize)],
) -> Result<Vec<Vec<f32>>, WorkloadError> {
    let settings = settings
        .checked()
        .map_err(|error| failed("voice/griffin-lim", &error))?;
    let sizes = magnitudes
        .iter()
        .map(|(matrix, samples)| (matrix.len(), *samples));
    let Some(batch) = places("voice/griffin-lim", &settings, sizes)? else {
        return Ok(silences(magnitudes.iter().map(|(_, samples)| *samples)));
    };
    let matrices = magnitudes.iter().map(|(matrix, _)| *matrix);
    let flat = matrices.flat_map(|matrix| frames_first(matrix, settings.bins()));
    let flat: Vec<f32> = flat.collect();
    let mut prepared = CudaGriffinLim::new(gpu, choices, &settings, &batch, &flat)?;
    prepared.run_once()?;
    prepared.signals()
}

/// Where signals of so many samples go whose matrices have so many values; `None` where there are no frames.
fn places(
    workload: &'static str,
    settings: &SpectrumSettings,
    sizes: impl Iterator<Item = (usize, usize)>,
) -> Result<Option<Batch>, WorkloadError> {
    let count = |samples: usize| settings.framing.count(samples);
    let mut lengths = Vec::new();
    for (values, samples) in sizes {
        let expected = settings.bins() * count(samples);
        VoiceError::expect_size("the spectrogram", values, expected)
            .map_err(|error| failed(workload, &error))?;
        lengths.push(samples);
    }
    let batch = Batch::empty(&lengths, count);
    Ok((batch.frames() > 0).then_some(batch))
}

/// What signals without a frame are.
fn silences(lengths: impl Iterator<Item = usize>) -> Vec<Vec<f32>> {
    lengths.map(|samples| vec![0.0; samples]).collect()
}

/// Each signal at another sample rate, silence beyond its ends.
pub fn resample_on_cuda(
    gpu: &CudaDevice,
    from_hz: u32,
    to_hz: u32,
    quality: Quality,
    signals: &[&[f32]],
) -> Result<Vec<Vec<f32>>, WorkloadError> {
    let resampler = Resampler::new(from_hz, to_hz, quality)
        .map_err(|error| failed("voice/resample", &error))?;
    if from_hz == to_hz || signals.iter().all(|signal| signal.is_empty()) {
        return Ok(signals.iter().map(|signal| signal.to_vec()).collect());
    }
    let batch = Batch::of(signals, |_| 0);
    let mut prepared = CudaResample::new(gpu, &resampler, &batch)?;
    prepared.run_once()?;
    let results = prepared.results()?;
    let mut rest = &results[..];
    Ok(signals
        .iter()
        .map(|signal| {
            let (here, after) = rest.split_at(resampler.output_length(signal.len()));
            rest = after;
            here.to_vec()
        })
        .collect())
}

/// The formants of each frame of each signal, lowest first.
pub fn formants_on_cuda(
    gpu: &CudaDevice,
    sample_rate: u32,
    settings: FormantSettings,
    signals: &[&[f32]],
) -> Result<Vec<Vec<Vec<Formant>>>, WorkloadError> {
    let tracker = FormantTracker::new(sample_rate, settings)
        .map_err(|error| failed("voice/formants", &error))?;
    let batch = Batch::of(signals, |samples| tracker.frames(samples));
    if batch.frames() == 0 {
        return Ok(vec![Vec::new(); signals.len()]);
    }
    let mut prepared = CudaFormants::new(gpu, &tracker, settings.count, &batch)?;
    let width = 2 * settings.count;
    let values = cut(
        &mut prepared,
        signals,
        |samples| tracker.frames(samples),
        width,
    )?;
    Ok(values
        .iter()
        .map(|values| values.chunks_exact(width).map(formants::read).collect())
        .collect())
}
