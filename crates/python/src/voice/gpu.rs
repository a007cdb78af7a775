//! Arrays of other libraries on a GPU, analysed where they lie by this library's kernels.

use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};
use warpsmith_device::{CudaDevice, DeviceBuffer, DeviceError};
use warpsmith_voice::signal::Resampler;
use warpsmith_voice::{
    Compression, Density, DeviceSignals, FeatureSettings, Layout, PITCH_CLASSES, SignalError,
    chroma_in_place, mel_in_place, onset_strength_in_place, resample_in_place,
    spectrogram_in_place, statistics_in_place, yin_in_place,
};
use warpsmith_workload::WorkloadError;

use super::file::quality_of;
use super::pitch::range_of;
use super::{Bank, Frames, framing, refused};

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

/// A result in the memory of a GPU, which libraries take as it lies.
#[pyclass(frozen)]
pub(crate) struct GpuValues {
    values: DeviceBuffer<f32>,
    /// Bytes before the first value.
    offset: usize,
    shape: Vec<usize>,
    /// Bytes between neighbours of each dimension.
    strides: Vec<usize>,
    kind: &'static str,
}

#[pymethods]
impl GpuValues {
    /// The CUDA array interface, version 3; all work on the values is done.
    #[getter]
    fn __cuda_array_interface__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let about = PyDict::new(py);
        let address = self.values.pointer() + self.offset as u64;
        about.set_item("version", 3)?;
        about.set_item("typestr", self.kind)?;
        about.set_item("shape", PyTuple::new(py, &self.shape)?)?;
        about.set_item("strides", PyTuple::new(py, &self.strides)?)?;
        about.set_item("data", (address, false))?;
        about.set_item("stream", py.None())?;
        Ok(about)
    }
}

/// Where signals lie: the GPU, the stream that their library works on, address, and shape with samples last.
#[derive(FromPyObject)]
pub(crate) struct Place(usize, usize, u64, Vec<usize>);

impl Place {
    fn samples(&self) -> usize {
        self.3.last().copied().unwrap_or(0)
    }

    /// What `task` makes of the signals once their library has written them; it returns when all is done.
    fn work(
        &self,
        py: Python<'_>,
        task: impl FnOnce(&CudaDevice, DeviceSignals) -> Result<DeviceBuffer<f32>, WorkloadError> + Send,
    ) -> PyResult<DeviceBuffer<f32>> {
        let Self(gpu, stream, address, _) = *self;
        let count = self.3[..self.3.len().saturating_sub(1)].iter().product();
        py.detach(|| {
            let device = CudaDevice::open(gpu).map_err(no_gpu)?;
            // SAFETY: the handle is the current stream of the library that owns the array, which lives as
            // long as the library; null is the default stream.
            let theirs =
                unsafe { device.borrow_stream(std::ptr::with_exposed_provenance_mut(stream)) };
            theirs.synchronize().map_err(no_gpu)?;
            // SAFETY: place and size are those that the array itself gave, of 32-bit floats, as the caller
            // checked; it is held by the caller until this returns, and documented not to be written.
            let signals = unsafe { DeviceSignals::new(address, count, self.samples()) };
            task(&device, signals).map_err(|error| match error {
                WorkloadError::Unsupported { reason, .. } => {
                    PyValueError::new_err(format!("not possible with device=\"cuda\": {reason}"))
                }
                other => PyRuntimeError::new_err(other.to_string()),
            })
        })
    }

    /// `[signal, frame, value]` as `(…, value, frame)`.
    fn matrix(&self, values: DeviceBuffer<f32>, frames: usize, parts: Parts) -> GpuValues {
        let Parts {
            width,
            at,
            shown,
            floats,
        } = parts;
        let value = size_of::<f32>() * floats;
        let leading = &self.3[..self.3.len() - 1];
        let mut strides = vec![0; leading.len()];
        let mut step = frames * width * value;
        for (stride, size) in strides.iter_mut().zip(leading).rev() {
            *stride = step;
            step *= size;
        }
        let mut shape = leading.to_vec();
        if let Some(shown) = shown {
            shape.push(shown);
            strides.push(value);
        }
        shape.push(frames);
        strides.push(width * value);
        GpuValues {
            values,
            offset: at * value,
            shape,
            strides,
            kind: if floats == 2 { "<c8" } else { "<f4" },
        }
    }
}

/// Which of a frame's values are shown.
struct Parts {
    width: usize,
    at: usize,
    /// None where the result has no dimension of values.
    shown: Option<usize>,
    floats: usize,
}

impl Parts {
    fn all(width: usize) -> Self {
        Self {
            width,
            at: 0,
            shown: Some(width),
            floats: 1,
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

/// Frames of the signals; none at all is an error, as a peer would raise it.
fn some(frames: usize) -> PyResult<usize> {
    if frames == 0 {
        return Err(PyValueError::new_err(
            "the signal is shorter than a frame; use center=True or a smaller n_fft",
        ));
    }
    Ok(frames)
}

#[pyfunction]
pub(crate) fn gpu_stft(
    py: Python<'_>,
    place: Place,
    frames: Frames,
    kind: &str,
) -> PyResult<GpuValues> {
    let settings = frames.spectrum()?;
    let density = match kind {
        "magnitude" => Some(Density::Magnitude),
        "power" => Some(Density::Power),
        _ => None,
    };
    let count = some(settings.framing.count(place.samples()))?;
    let values = place.work(py, |gpu, signals| {
        spectrogram_in_place(gpu, &settings, density, signals)
    })?;
    let parts = Parts {
        floats: if density.is_none() { 2 } else { 1 },
        ..Parts::all(settings.bins())
    };
    Ok(place.matrix(values, count, parts))
}

#[pyfunction]
pub(crate) fn gpu_mel(
    py: Python<'_>,
    place: Place,
    rate: u32,
    frames: Frames,
    bank: Bank,
    decibels: bool,
) -> PyResult<GpuValues> {
    let settings = FeatureSettings {
        sample_rate: rate,
        gain: 1.0,
        spectrum: frames.spectrum()?,
        mel: bank.settings(),
        compression: match decibels {
            true => Compression::Decibel { floor: 1e-10 },
            false => Compression::None,
        },
        dynamic_range: None,
        scale: (1.0, 0.0),
        cepstrum: None,
        drop_last_frame: false,
        layout: Layout::FramesFirst,
    };
    let count = some(settings.spectrum.framing.count(place.samples()))?;
    let values = place.work(py, |gpu, signals| mel_in_place(gpu, &settings, signals))?;
    Ok(place.matrix(values, count, Parts::all(settings.mel.filters)))
}

#[pyfunction]
pub(crate) fn gpu_chroma(
    py: Python<'_>,
    place: Place,
    rate: u32,
    frames: Frames,
    tuning: f64,
) -> PyResult<GpuValues> {
    let settings = frames.spectrum()?;
    let count = some(settings.framing.count(place.samples()))?;
    let values = place.work(py, |gpu, signals| {
        chroma_in_place(gpu, &settings, rate, tuning, signals)
    })?;
    Ok(place.matrix(values, count, Parts::all(PITCH_CLASSES)))
}

#[pyfunction]
pub(crate) fn gpu_spectral_shape(
    py: Python<'_>,
    place: Place,
    rate: u32,
    frames: Frames,
    name: &str,
) -> PyResult<GpuValues> {
    let settings = frames.spectrum()?;
    let at = STATISTICS.iter().position(|known| *known == name);
    let at = at.ok_or_else(|| PyValueError::new_err(format!("there is no statistic `{name}`")))?;
    let count = some(settings.framing.count(place.samples()))?;
    let values = place.work(py, |gpu, signals| {
        statistics_in_place(gpu, &settings, rate, signals)
    })?;
    let parts = Parts {
        at,
        shown: Some(1),
        ..Parts::all(STATISTICS.len())
    };
    Ok(place.matrix(values, count, parts))
}

#[pyfunction]
pub(crate) fn gpu_onset_strength(
    py: Python<'_>,
    place: Place,
    rate: u32,
    transform: usize,
    hop: usize,
) -> PyResult<GpuValues> {
    let count = framing(transform, hop, "constant")?.count(place.samples());
    let count = some(count)?;
    let values = place.work(py, |gpu, signals| {
        onset_strength_in_place(gpu, rate, transform, hop, signals)
    })?;
    Ok(place.matrix(values, count, Parts::alone()))
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
) -> PyResult<GpuValues> {
    let framing = framing(frame, hop, beyond)?;
    let range = range_of(range);
    let count = some(framing.count(place.samples()))?;
    let values = place.work(py, |gpu, signals| {
        yin_in_place(gpu, rate, framing, range, signals)
    })?;
    Ok(place.matrix(values, count, Parts::alone()))
}

#[pyfunction]
pub(crate) fn gpu_resample(
    py: Python<'_>,
    place: Place,
    from: u32,
    to: u32,
    quality: &str,
) -> PyResult<GpuValues> {
    let resampler = Resampler::new(from, to, quality_of(quality)?).map_err(refused)?;
    if from == to || place.samples() == 0 {
        let why = SignalError::parameter("target_sr", to, "the rate of the signal, or no samples");
        return Err(refused(why));
    }
    let count = resampler.output_length(place.samples());
    let values = place.work(py, |gpu, signals| {
        resample_in_place(gpu, &resampler, signals)
    })?;
    Ok(place.matrix(values, count, Parts::alone()))
}
