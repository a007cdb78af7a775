//! Spectral contrast on a GPU: the levels of each band's ends, then what is between them.

use std::sync::Arc;

use warpsmith_core::{KernelImage, kernel};
use warpsmith_device::{CudaDevice, DeviceBuffer, Kernel, LaunchShape, Stream};
use warpsmith_signal::SpectrumSettings;
use warpsmith_workload::{Prepared, WorkloadError, result_on_stream};

use super::cpu::{Band, CONTRAST_BANDS, ContrastSettings, FLOOR, RANGE_DB, bands};
use super::workload::ID;
use crate::batch::{Batch, checked, each_on_cuda};
use crate::frame::source::{FrameSource, THREADS};

// SAFETY: `contrast` in `contrast.cu` takes these in this order. Samples are read between a file's two
// places, which are checked against their length; window, roots, levels and loudest are checked before the
// first frame; bins and runs of a band against the frame's before they are touched.
static LEVELS: KernelImage = unsafe {
    kernel!("voice/contrast", contrast(
        in f32, in u64, in u64, in f32, in f32, in u32, in u32, out f32, out u32, u32, u32,
        u32, u32, f32
    ))
};

// SAFETY: `contrast_between` in `contrast.cu` takes these in this order, and checks levels, loudest and
// the result against the frames of all files before it reads or writes one.
static BETWEEN: KernelImage = unsafe {
    kernel!("voice/contrast", contrast_between(in f32, in u32, in u64, out f32, u32, f32))
};

/// Bins that a warp sorts, and bins at an end that it can keep.
const RUN: usize = 32;

/// The bands as the kernel reads them.
struct Tables {
    /// First bin, bins, how many count at either end, and where the sorted runs lie.
    bands: Vec<u32>,
    /// First bin, bins, and where they go, of bands of whose ends more than one bin counts.
    runs: Vec<u32>,
}

impl Tables {
    fn new(bands: &[Band]) -> Self {
        let mut tables = Self {
            bands: Vec::new(),
            runs: Vec::new(),
        };
        let mut place = 0;
        for band in bands {
            let (first, count) = (band.bins.start, band.bins.len());
            let numbers = [first, count, band.ends.min(count), place];
            tables.bands.extend(numbers.map(|n| n as u32));
            if band.ends > 1 {
                for from in (0..count).step_by(RUN) {
                    let numbers = [first + from, RUN.min(count - from), place + from];
                    tables.runs.extend(numbers.map(|n| n as u32));
                }
                place += count;
            }
        }
        tables
    }
}

pub(super) struct CudaContrast {
    of_bands: Arc<Kernel>,
    between: Arc<Kernel>,
    source: FrameSource,
    bands: DeviceBuffer<u32>,
    runs: DeviceBuffer<u32>,
    levels: DeviceBuffer<f32>,
    loudest: DeviceBuffer<u32>,
    out: DeviceBuffer<f32>,
    band_count: usize,
    stream: Stream,
}

impl CudaContrast {
    pub(super) fn new(
        gpu: &CudaDevice,
        settings: &SpectrumSettings,
        bands: &[Band],
        batch: &Batch,
    ) -> Result<Self, WorkloadError> {
        let tables = Tables::new(bands);
        let values = batch.frames() * bands.len();
        Ok(Self {
            of_bands: gpu.kernel(&LEVELS)?,
            between: gpu.kernel(&BETWEEN)?,
            source: FrameSource::new(gpu, ID, settings, batch)?,
            bands: gpu.upload(&tables.bands)?,
            runs: gpu.upload(&tables.runs)?,
            levels: gpu.alloc(2 * values)?,
            loudest: gpu.alloc(batch.file_samples.len())?,
            out: gpu.alloc(values)?,
            band_count: bands.len(),
            stream: gpu.stream().clone(),
        })
    }
}

impl Prepared for CudaContrast {
    fn run_once(&mut self) -> Result<(), WorkloadError> {
        // Below every level.
        self.loudest.fill_bytes(&self.stream, 0)?;
        let buffers = [
            self.bands.read(),
            self.runs.read(),
            self.levels.write(),
            self.loudest.write(),
        ];
        let shape = self.source.shape(self.source.together());
        self.source.launch(
            &self.stream,
            &self.of_bands,
            shape,
            &buffers,
            &[FLOOR.into()],
        )?;
        let shape = LaunchShape::linear(self.out.len(), THREADS);
        let arguments = [
            self.levels.read(),
            self.loudest.read(),
            self.source.file_frames().read(),
            self.out.write(),
            (self.band_count as u32).into(),
            RANGE_DB.into(),
        ];
        Ok(self.stream.launch(&self.between, shape, &arguments)?)
    }

    result_on_stream!(out: F32, levels, loudest);
}

/// Spectral contrast of each signal, `[frame, band]`, dB.
pub fn contrast_on_cuda(
    gpu: &CudaDevice,
    settings: &SpectrumSettings,
    sample_rate: u32,
    signals: &[&[f32]],
) -> Result<Vec<Vec<f32>>, WorkloadError> {
    let settings = checked(ID, settings.checked())?;
    let own = ContrastSettings::default();
    let bands = checked(ID, bands(settings, sample_rate, own))?;
    let count = |samples| settings.framing.count(samples);
    each_on_cuda(signals, count, CONTRAST_BANDS, |batch| {
        CudaContrast::new(gpu, &settings, &bands, batch)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contrast::cpu::bands;
    use crate::mel::{Preset, Sizes, Stage};

    #[test]
    fn runs_cover_the_wide_bands_once_and_fit_their_room() {
        for (rate, transform) in [(16_000, 512), (44_100, 2048), (25_600, 512), (48_000, 2048)] {
            let sizes = Sizes {
                transform,
                ..Sizes::for_speech(rate)
            };
            let spectrum = Preset::Librosa.feature(rate, sizes, Stage::Mel).spectrum;
            let bands = bands(spectrum, rate, ContrastSettings::default()).unwrap();
            let tables = Tables::new(&bands);
            let mut room = vec![0; transform];
            for run in tables.runs.chunks_exact(3) {
                let [first, count, place] = [run[0], run[1], run[2]].map(|n| n as usize);
                assert!(count <= RUN && first + count <= spectrum.bins());
                for n in 0..count {
                    assert_eq!(room[place + n], 0, "a place is used twice");
                    room[place + n] = first + n;
                }
            }
            for (numbers, band) in tables.bands.chunks_exact(4).zip(&bands) {
                assert!(band.ends <= RUN, "{rate} Hz: {band:?}");
                if band.ends > 1 {
                    let place = numbers[3] as usize;
                    let seen = room[place..place + band.bins.len()].iter().copied();
                    assert!(seen.eq(band.bins.clone()), "{rate} Hz: {band:?}");
                }
            }
        }
    }
}
