//! Arrays of other libraries on a GPU, analysed where they lie by this library's kernels.

use std::sync::Arc;

use pyo3::exceptions::{PyBufferError, PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};
use warpsmith_device::{CudaDevice, DeviceBuffer, DeviceError};
use warpsmith_voice::signal::Resampler;
use warpsmith_voice::{
    ConstantQ, Density, DeviceSignals, FeatureSettings, Layout, PITCH_CLASSES, PyinSettings,
    SignalError, chroma_in_place, constant_q_in_place, mel_in_place, onset_strength_in_place,
    pyin_in_place, resample_in_place, spectrogram_in_place, statistics_in_place, yin_in_place,
};
use warpsmith_workload::WorkloadError;

use super::file::quality_of;
use super::pitch::range_of;
use super::settings::{constant_q_settings, mel_settings};
use super::{Bank, Frames, framing, refused};
use crate::foreign::{CUDA, OnGpu, dlpack_capsule};

/// Statistics of a frame's spectrum, in the kernel's order.
const STATISTICS: [&str; 7] = [
    "centroid",
    "bandwidth",
    "rolloff",
    "flatness",
    "entropy",
    "flux",
    "slope",
];

/// Values in the memory of a GPU, of which several results may be parts.
#[derive(Clone)]
enum Memory {
    Floats(Arc<DeviceBuffer<f32>>),
    Complex(Arc<DeviceBuffer<f32>>),
    Truths(Arc<DeviceBuffer<u8>>),
}

impl Memory {
    fn pointer(&self) -> u64 {
        match self {
            Self::Floats(values) | Self::Complex(values) => values.pointer(),
            Self::Truths(values) => values.pointer(),
        }
    }

    /// Bytes of a value.
    fn size(&self) -> usize {
        match self {
            Self::Floats(_) => 4,
            Self::Complex(_) => 8,
            Self::Truths(_) => 1,
        }
    }
}

/// A result in the memory of a GPU, which libraries take as it lies.
#[pyclass(frozen)]
pub(crate) struct GpuValues {
    values: Memory,
    gpu: usize,
    /// Values before the first one.
    offset: usize,
    shape: Vec<usize>,
    /// Values between neighbours of each dimension.
    strides: Vec<usize>,
}

#[pymethods]
impl GpuValues {
    /// The CUDA array interface, version 3; all work on the values is done.
    #[getter]
    fn __cuda_array_interface__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let about = PyDict::new(py);
        let kind = match self.values {
            Memory::Floats(_) => "<f4",
            Memory::Complex(_) => "<c8",
            Memory::Truths(_) => "|b1",
        };
        let strides: Vec<usize> = self
            .strides
            .iter()
            .map(|n| n * self.values.size())
            .collect();
        about.set_item("version", 3)?;
        about.set_item("typestr", kind)?;
        about.set_item("shape", PyTuple::new(py, &self.shape)?)?;
        about.set_item("strides", PyTuple::new(py, strides)?)?;
        about.set_item("data", (self.address(), false))?;
        about.set_item("stream", py.None())?;
        Ok(about)
    }

    /// The values as a DLPack capsule; all work on them is done, so that any stream may read them.
    #[pyo3(signature = (*, stream = None, max_version = None, dl_device = None, copy = None))]
    fn __dlpack__(
        &self,
        py: Python<'_>,
        stream: Option<Py<PyAny>>,
        max_version: Option<Py<PyAny>>,
        dl_device: Option<(i32, usize)>,
        copy: Option<bool>,
    ) -> PyResult<Py<PyAny>> {
        // A capsule of the first version is one that every consumer takes.
        let _ = (stream, max_version);
        if copy == Some(true) || dl_device.is_some_and(|device| device != (CUDA, self.gpu)) {
            return Err(PyBufferError::new_err(
                "the values are shown where they lie: neither a copy nor another device is possible",
            ));
        }
        let values = OnGpu {
            address: self.address(),
            gpu: self.gpu,
            kind: match self.values {
                Memory::Floats(_) => (2, 32),
                Memory::Complex(_) => (5, 64),
                Memory::Truths(_) => (6, 8),
            },
            shape: &self.shape,
            strides: &self.strides,
        };
        dlpack_capsule(py, &values, Box::new(self.values.clone()))
    }

    /// CUDA memory, and which GPU's.
    fn __dlpack_device__(&self) -> (i32, usize) {
        (CUDA, self.gpu)
    }
}

impl GpuValues {
    fn address(&self) -> u64 {
        self.values.pointer() + (self.offset * self.values.size()) as u64
    }
}

/// The result for an array of signals, or those for a list of them.
#[derive(IntoPyObject)]
pub(crate) enum GpuResult {
    One(GpuValues),
    Many(Vec<GpuValues>),
}

/// Where signals lie: the GPU, the stream that their library works on, address and shape of each array with
/// samples last, and whether the arrays are a list, however many there are.
#[derive(FromPyObject)]
pub(crate) struct Place(usize, usize, Vec<(u64, Vec<usize>)>, bool);

/// Signals of an array, and samples of each.
fn sizes(shape: &[usize]) -> (usize, usize) {
    match shape.split_last() {
        Some((samples, leading)) => (leading.iter().product(), *samples),
        None => (0, 0),
    }
}

impl Place {
    /// What `task` makes of the signals once their library has written them; it returns when all is done.
    fn work<T: Send>(
        &self,
        py: Python<'_>,
        task: impl FnOnce(&CudaDevice, DeviceSignals) -> Result<T, WorkloadError> + Send,
    ) -> PyResult<T> {
        let Self(gpu, stream, arrays, _) = self;
        py.detach(|| {
            let device = CudaDevice::open(*gpu).map_err(no_gpu)?;
            // SAFETY: the handle is the current stream of the library that owns the arrays, which lives as
            // long as the library; null is the default stream.
            let theirs =
                unsafe { device.borrow_stream(std::ptr::with_exposed_provenance_mut(*stream)) };
            theirs.synchronize().map_err(no_gpu)?;
            let arrays = arrays.iter().map(|(address, shape)| {
                let (count, samples) = sizes(shape);
                (*address, count, samples)
            });
            // SAFETY: places and sizes are those that the arrays themselves gave, of 32-bit floats, as the
            // caller checked; they are held by the caller until this returns, and documented not to be written.
            let signals = unsafe { DeviceSignals::new(arrays) };
            task(&device, signals).map_err(|error| match error {
                WorkloadError::Unsupported { reason, .. } => {
                    PyValueError::new_err(format!("not possible with device=\"cuda\": {reason}"))
                }
                other => PyRuntimeError::new_err(other.to_string()),
            })
        })
    }

    /// Frames of every array's signals by their samples; none at all is an error, as a peer would raise it.
    fn frames(&self, count: impl Fn(usize) -> usize) -> PyResult<Vec<usize>> {
        let frames = self.2.iter().map(|(_, shape)| count(sizes(shape).1));
        frames
            .map(|frames| match frames {
                0 => Err(PyValueError::new_err(
                    "the signal is shorter than a frame; use center=True or a smaller n_fft",
                )),
                frames => Ok(frames),
            })
            .collect()
    }

    /// `[signal, frame, value]` of all arrays as `(…, value, frame)` of each.
    fn results(&self, values: Memory, frames: &[usize], parts: Parts) -> GpuResult {
        let mut begin = 0;
        let arrays = self.2.iter().zip(frames);
        let mut results = arrays.map(|((_, shape), frames)| {
            let leading = &shape[..shape.len().saturating_sub(1)];
            let mut strides = vec![0; leading.len()];
            let mut step = frames * parts.width;
            for (stride, size) in strides.iter_mut().zip(leading).rev() {
                *stride = step;
                step *= size;
            }
            let mut shape = leading.to_vec();
            if let Some(shown) = parts.shown {
                shape.push(shown);
                strides.push(1);
            }
            shape.push(*frames);
            strides.push(parts.width);
            let offset = begin + parts.at;
            begin += step;
            GpuValues {
                values: values.clone(),
                gpu: self.0,
                offset,
                shape,
                strides,
            }
        });
        match (self.3, results.next()) {
            (false, Some(one)) => GpuResult::One(one),
            (_, first) => GpuResult::Many(first.into_iter().chain(results).collect()),
        }
    }

    fn floats(&self, values: DeviceBuffer<f32>, frames: &[usize], parts: Parts) -> GpuResult {
        self.results(Memory::Floats(Arc::new(values)), frames, parts)
    }
}

/// Which of a frame's values are shown.
struct Parts {
    width: usize,
    at: usize,
    /// None where the result has no dimension of values.
    shown: Option<usize>,
}

impl Parts {
    fn all(width: usize) -> Self {
        Self {
            width,
            at: 0,
            shown: Some(width),
        }
    }

    fn alone() -> Self {
        Self {
            shown: None,
            ..Self::all(1)
        }
    }
}

fn no_gpu(error: DeviceError) -> PyErr {
    PyRuntimeError::new_err(format!("device=\"cuda\" cannot be used: {error}"))
}

/// Fails, and says why, where there is no such GPU.
#[pyfunction]
pub(crate) fn open_gpu(py: Python<'_>, gpu: usize) -> PyResult<()> {
    py.detach(|| CudaDevice::open(gpu)).map_err(no_gpu)?;
    Ok(())
}

#[pyfunction]
pub(crate) fn gpu_stft(
    py: Python<'_>,
    place: Place,
    frames: Frames,
    kind: &str,
) -> PyResult<GpuResult> {
    let settings = frames.spectrum()?;
    let density = match kind {
        "magnitude" => Some(Density::Magnitude),
        "power" => Some(Density::Power),
        _ => None,
    };
    let count = place.frames(|samples| settings.framing.count(samples))?;
    let values = place.work(py, |gpu, signals| {
        spectrogram_in_place(gpu, &settings, density, signals)
    })?;
    let values = Arc::new(values);
    let values = match density {
        None => Memory::Complex(values),
        Some(_) => Memory::Floats(values),
    };
    Ok(place.results(values, &count, Parts::all(settings.bins())))
}

#[pyfunction]
#[allow(clippy::too_many_arguments, reason = "Python names them")]
pub(crate) fn gpu_mel(
    py: Python<'_>,
    place: Place,
    rate: u32,
    frames: Frames,
    bank: Bank,
    decibels: bool,
    top_db: Option<f32>,
    coefficients: Option<usize>,
    lifter: f64,
) -> PyResult<GpuResult> {
    let settings = FeatureSettings {
        layout: Layout::FramesFirst,
        ..mel_settings(rate, &frames, &bank, decibels, top_db, coefficients, lifter)?
    };
    let count = place.frames(|samples| settings.frames(samples))?;
    let values = place.work(py, |gpu, signals| mel_in_place(gpu, &settings, signals))?;
    Ok(place.floats(values, &count, Parts::all(settings.rows())))
}

#[pyfunction]
#[allow(clippy::too_many_arguments, reason = "Python names them")]
pub(crate) fn gpu_constant_q(
    py: Python<'_>,
    place: Place,
    rate: u32,
    hop: usize,
    lowest_hz: Option<f64>,
    bins: usize,
    per_octave: usize,
    gamma_hz: f64,
) -> PyResult<GpuResult> {
    let settings = constant_q_settings(hop, lowest_hz, bins, per_octave, gamma_hz);
    let plan = ConstantQ::new(rate, settings).map_err(refused)?;
    let count = place.frames(|samples| plan.frames(samples))?;
    let values = place.work(py, move |gpu, signals| {
        constant_q_in_place(gpu, &plan, signals)
    })?;
    let values = Memory::Complex(Arc::new(values));
    Ok(place.results(values, &count, Parts::all(bins)))
}

#[pyfunction]
pub(crate) fn gpu_chroma(
    py: Python<'_>,
    place: Place,
    rate: u32,
    frames: Frames,
    tuning: f64,
) -> PyResult<GpuResult> {
    let settings = frames.spectrum()?;
    let count = place.frames(|samples| settings.framing.count(samples))?;
    let values = place.work(py, |gpu, signals| {
        chroma_in_place(gpu, &settings, rate, tuning, signals)
    })?;
    Ok(place.floats(values, &count, Parts::all(PITCH_CLASSES)))
}

#[pyfunction]
pub(crate) fn gpu_spectral_shape(
    py: Python<'_>,
    place: Place,
    rate: u32,
    frames: Frames,
    name: &str,
) -> PyResult<GpuResult> {
    let settings = frames.spectrum()?;
    let at = STATISTICS.iter().position(|known| *known == name);
    let at = at.ok_or_else(|| PyValueError::new_err(format!("there is no statistic `{name}`")))?;
    let count = place.frames(|samples| settings.framing.count(samples))?;
    let values = place.work(py, |gpu, signals| {
        statistics_in_place(gpu, &settings, rate, signals)
    })?;
    let parts = Parts {
        at,
        shown: Some(1),
        ..Parts::all(STATISTICS.len())
    };
    Ok(place.floats(values, &count, parts))
}

#[pyfunction]
pub(crate) fn gpu_onset_strength(
    py: Python<'_>,
    place: Place,
    rate: u32,
    transform: usize,
    hop: usize,
) -> PyResult<GpuResult> {
    let framing = framing(transform, hop, "constant")?;
    let count = place.frames(|samples| framing.count(samples))?;
    let values = place.work(py, |gpu, signals| {
        onset_strength_in_place(gpu, rate, transform, hop, signals)
    })?;
    Ok(place.floats(values, &count, Parts::alone()))
}

#[pyfunction]
pub(crate) fn gpu_yin(
    py: Python<'_>,
    place: Place,
    rate: u32,
    range: (f64, f64),
    frame: usize,
    hop: usize,
    beyond: &str,
) -> PyResult<GpuResult> {
    let framing = framing(frame, hop, beyond)?;
    let range = range_of(range);
    let count = place.frames(|samples| framing.count(samples))?;
    let values = place.work(py, |gpu, signals| {
        yin_in_place(gpu, rate, framing, range, signals)
    })?;
    Ok(place.floats(values, &count, Parts::alone()))
}

/// Frequency, voicing and its probability of every frame; unvoiced frames have the frequency `fill`, if one is given.
#[pyfunction]
#[allow(clippy::too_many_arguments, reason = "Python names them")]
pub(crate) fn gpu_pyin(
    py: Python<'_>,
    place: Place,
    rate: u32,
    range: (f64, f64),
    frame: usize,
    hop: usize,
    beyond: &str,
    fill: Option<f32>,
) -> PyResult<(GpuResult, GpuResult, GpuResult)> {
    let framing = framing(frame, hop, beyond)?;
    let (range, settings) = (range_of(range), PyinSettings::default());
    let count = place.frames(|samples| framing.count(samples))?;
    let track = place.work(py, |gpu, signals| {
        pyin_in_place(gpu, rate, framing, range, settings, fill, signals)
    })?;
    let voiced = Memory::Truths(Arc::new(track.voiced));
    Ok((
        place.floats(track.frequency, &count, Parts::alone()),
        place.results(voiced, &count, Parts::alone()),
        place.floats(track.probability, &count, Parts::alone()),
    ))
}

#[pyfunction]
pub(crate) fn gpu_resample(
    py: Python<'_>,
    place: Place,
    from: u32,
    to: u32,
    quality: &str,
) -> PyResult<GpuResult> {
    let resampler = Resampler::new(from, to, quality_of(quality)?).map_err(refused)?;
    if from == to || place.2.iter().any(|(_, shape)| sizes(shape).1 == 0) {
        let why = SignalError::parameter("target_sr", to, "the rate of the signal, or no samples");
        return Err(refused(why));
    }
    let count = place.frames(|samples| resampler.output_length(samples))?;
    let values = place.work(py, |gpu, signals| {
        resample_in_place(gpu, &resampler, signals)
    })?;
    Ok(place.floats(values, &count, Parts::alone()))
}
