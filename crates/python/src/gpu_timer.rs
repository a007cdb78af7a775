//! The GPU timer of `measure` for work that Python queues: cold or warm, behind a held stream.

use pyo3::prelude::*;
use warpsmith_device::{CudaDevice, DeviceError};
use warpsmith_measure::gpu::device_timer::{CacheState, DeviceTimer};

use crate::failed;

/// Times calls by what they queue on a stream.
#[pyclass(unsendable)]
pub(crate) struct GpuTimer {
    device: CudaDevice,
    timer: DeviceTimer,
}

/// What goes wrong between two events.
enum CallError {
    Device(DeviceError),
    Python(PyErr),
}

impl From<DeviceError> for CallError {
    fn from(error: DeviceError) -> Self {
        Self::Device(error)
    }
}

#[pymethods]
impl GpuTimer {
    #[new]
    fn new(gpu: usize, cold: bool) -> PyResult<Self> {
        let device = CudaDevice::open(gpu).map_err(failed)?;
        let caches = match cold {
            true => CacheState::Cold,
            false => CacheState::Warm,
        };
        let timer = DeviceTimer::new(&device, caches).map_err(failed)?;
        Ok(Self { device, timer })
    }

    /// Begins with another call: what was learnt about the one before is forgotten.
    fn renew(&mut self) {
        self.timer.renew();
    }

    /// The GPU.
    #[getter]
    fn name(&self) -> String {
        self.device.facts().name.clone()
    }

    /// Seconds that are taken off every sample.
    #[getter]
    fn overhead(&self) -> f64 {
        self.timer.overhead().0
    }

    /// Samples whose work could not be queued while the stream was held.
    #[getter]
    fn unheld(&self) -> usize {
        self.timer.unheld()
    }

    /// Seconds on the device of `count` calls, each with what it queues on `stream`; the driver's
    /// handle, 0 for the default stream.
    fn time_many(
        &mut self,
        py: Python<'_>,
        stream: usize,
        count: usize,
        call: &Bound<'_, PyAny>,
    ) -> PyResult<Vec<f64>> {
        // SAFETY: the handle is the current stream of the library whose calls are timed, which lives as
        // long as the library; null is the default stream.
        let stream = unsafe {
            self.device
                .borrow_stream(std::ptr::with_exposed_provenance_mut(stream))
        };
        let mut samples = Vec::with_capacity(count);
        while samples.len() < count {
            let missing = count - samples.len();
            self.timer
                .time_many::<CallError>(&stream, missing, &mut samples, &mut || {
                    call.call0().map_err(CallError::Python)?;
                    Ok(())
                })
                .map_err(|error| match error {
                    CallError::Device(error) => failed(error),
                    CallError::Python(error) => error,
                })?;
            py.check_signals()?;
        }
        Ok(samples.iter().map(|sample| sample.seconds).collect())
    }
}
