//! A ragged batch of signals: one flat buffer and the files' places, no padding to the longest.

use std::ops::Range;

use super::in_place::DeviceSignals;
use warpsmith_device::{CudaDevice, DeviceBuffer, DeviceError};
use warpsmith_workload::random::Random;
use warpsmith_workload::{ParameterKind, ParameterSpec, Parameters};

/// How many files of which length and rate.
pub(crate) const PARAMETERS: &[ParameterSpec] = &[
    ParameterSpec {
        name: "files",
        meaning: "signals in the batch",
        kind: ParameterKind::Integer {
            default: 1,
            min: 1,
            max: 100_000,
        },
    },
    ParameterSpec {
        name: "seconds",
        meaning: "length of each signal; every third is a third shorter",
        kind: ParameterKind::Integer {
            default: 60,
            min: 1,
            max: 36_000,
        },
    },
    ParameterSpec {
        name: "rate",
        meaning: "samples per second",
        kind: ParameterKind::Choice(&["16000", "44100"]),
    },
];

/// The sample rate that the parameters name.
pub(crate) fn sample_rate(parameters: &Parameters) -> u32 {
    if parameters.choice("rate") == "44100" {
        44_100
    } else {
        16_000
    }
}

/// Lengths of the batch's signals, samples.
pub(crate) fn lengths(parameters: &Parameters) -> Vec<usize> {
    let full = parameters.size("seconds") * sample_rate(parameters) as usize;
    (0..parameters.size("files"))
        .map(|file| if file % 3 == 2 { full - full / 3 } else { full })
        .collect()
}

/// Signals with their places.
pub(crate) struct Batch {
    pub(crate) samples: Vec<f32>,
    /// Where each file's samples begin and end, in pairs.
    pub(crate) file_samples: Vec<u64>,
    /// Running totals of frames, one more than there are files.
    pub(crate) file_frames: Vec<u64>,
    /// The samples where they lie on a GPU already; there are none on the host then.
    lent: Option<DeviceSignals>,
}

/// Files begin at multiples of this many samples, so that loads of several at once stay whole.
const ALIGNMENT: usize = 32;

impl Batch {
    /// Voices over noise, with as many frames as `count` says of a length: every frame has a pitch, and no band is so empty that rounding decides it.
    pub(crate) fn voices(
        parameters: &Parameters,
        count: impl Fn(usize) -> usize,
        seed: u64,
    ) -> Self {
        let rate = f64::from(sample_rate(parameters));
        let mut random = Random::seeded(seed);
        let mut batch = Self {
            samples: Vec::new(),
            file_samples: Vec::new(),
            file_frames: vec![0],
            lent: None,
        };
        for length in lengths(parameters) {
            let begin = batch.samples.len();
            let base = 90.0 + 200.0 * random.unit();
            let mut phase = 0.0f64;
            for n in 0..length {
                let t = n as f64 / rate;
                phase += base * (1.0 + 0.15 * (2.1 * t).sin()) / rate;
                phase -= phase.floor();
                let angle = std::f64::consts::TAU * phase;
                let tone: f64 = (1..7)
                    .map(|k| (f64::from(k) * angle).sin() / f64::from(k))
                    .sum();
                let noise = random.unit() - 0.5;
                batch.samples.push((0.2 * tone + 0.02 * noise) as f32);
            }
            batch.end_file(begin, count(length));
        }
        batch
    }

    /// Signals that somebody has.
    pub(crate) fn of(signals: &[&[f32]], count: impl Fn(usize) -> usize) -> Self {
        let mut batch = Self {
            samples: Vec::with_capacity(
                signals
                    .iter()
                    .map(|signal| signal.len().next_multiple_of(ALIGNMENT))
                    .sum(),
            ),
            file_samples: Vec::new(),
            file_frames: vec![0],
            lent: None,
        };
        for signal in signals {
            let begin = batch.samples.len();
            batch.samples.extend_from_slice(signal);
            batch.end_file(begin, count(signal.len()));
        }
        batch
    }

    /// Signals that lie on a GPU.
    pub(crate) fn lent(signals: DeviceSignals, count: impl Fn(usize) -> usize) -> Self {
        // Where they lie one after the other they stay so; else they are put together with the usual gaps.
        let gaps = match signals.one_block() {
            Some(_) => 1,
            None => ALIGNMENT,
        };
        let (mut file_samples, mut file_frames) = (Vec::new(), vec![0]);
        let (mut begin, mut frames) = (0, 0);
        for (_, samples) in &signals.places {
            file_samples.extend([begin as u64, (begin + samples) as u64]);
            begin = (begin + samples).next_multiple_of(gaps);
            frames += count(*samples);
            file_frames.push(frames as u64);
        }
        Self {
            samples: Vec::new(),
            file_samples,
            file_frames,
            lent: Some(signals),
        }
    }

    /// Places for signals of these lengths that are still to come.
    pub(crate) fn empty(lengths: &[usize], count: impl Fn(usize) -> usize) -> Self {
        let mut batch = Self {
            samples: Vec::new(),
            file_samples: Vec::new(),
            file_frames: vec![0],
            lent: None,
        };
        for length in lengths {
            let begin = batch.samples.len();
            batch.samples.resize(begin + length, 0.0);
            batch.end_file(begin, count(*length));
        }
        batch
    }

    /// Notes the file whose samples are the last ones from `begin` on, and pads behind it.
    fn end_file(&mut self, begin: usize, frames: usize) {
        let end = self.samples.len();
        self.file_samples.extend([begin as u64, end as u64]);
        self.file_frames.push((self.frames() + frames) as u64);
        self.samples.resize(end.next_multiple_of(ALIGNMENT), 0.0);
    }

    /// Frames of all files.
    pub(crate) fn frames(&self) -> usize {
        self.file_frames[self.file_frames.len() - 1] as usize
    }

    /// Frames of each file.
    pub(crate) fn frames_of_files(&self) -> impl Iterator<Item = Range<usize>> {
        let ends = self.file_frames.windows(2);
        ends.map(|ends| ends[0] as usize..ends[1] as usize)
    }

    /// Samples of each file.
    pub(crate) fn lengths(&self) -> impl Iterator<Item = usize> {
        let ends = self.file_samples.chunks_exact(2);
        ends.map(|ends| (ends[1] - ends[0]) as usize)
    }

    /// Each signal.
    pub(crate) fn signals(&self) -> impl Iterator<Item = &[f32]> {
        self.file_samples
            .chunks_exact(2)
            .map(|ends| &self.samples[ends[0] as usize..ends[1] as usize])
    }

    /// The samples on the device.
    pub(crate) fn samples_on(&self, gpu: &CudaDevice) -> Result<DeviceBuffer<f32>, DeviceError> {
        let Some(signals) = &self.lent else {
            return gpu.upload(&self.samples);
        };
        let end = self.file_samples.last().map_or(0, |end| *end as usize);
        if let Some(address) = signals.one_block() {
            // SAFETY: this is what whoever made the signals has promised; kernels take samples as their input.
            return unsafe { gpu.borrow_memory(address, end) };
        }
        let mut all = gpu.alloc(end)?;
        // What lies in the gaps is not read by anybody's definition, but may be fetched along.
        all.fill_bytes(gpu.stream(), 0)?;
        for ((address, samples), begin) in signals.places.iter().zip(self.file_samples.chunks(2)) {
            if *samples == 0 {
                continue;
            }
            // SAFETY: as above.
            let from = unsafe { gpu.borrow_memory::<f32>(*address, *samples)? };
            let at = all.pointer() + size_of::<f32>() as u64 * begin[0];
            // SAFETY: the place of this signal in `all`, which is ours alone and lives longer.
            let mut to = unsafe { gpu.borrow_memory::<f32>(at, *samples)? };
            gpu.stream().copy(&from, &mut to)?;
        }
        Ok(all)
    }

    /// The batch on the device.
    pub(crate) fn upload(&self, gpu: &CudaDevice) -> Result<DeviceBatch, DeviceError> {
        Ok(DeviceBatch {
            samples: self.samples_on(gpu)?,
            file_samples: gpu.upload(&self.file_samples)?,
            file_frames: gpu.upload(&self.file_frames)?,
        })
    }
}

/// A batch in device memory.
pub(crate) struct DeviceBatch {
    pub(crate) samples: DeviceBuffer<f32>,
    pub(crate) file_samples: DeviceBuffer<u64>,
    pub(crate) file_frames: DeviceBuffer<u64>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lent_signals_keep_their_places_or_get_gaps() {
        // SAFETY: nothing is read.
        let lent = |arrays: &[(u64, usize, usize)]| unsafe {
            Batch::lent(DeviceSignals::new(arrays.iter().copied()), |samples| {
                samples / 10
            })
        };
        let block = lent(&[(4096, 3, 25)]);
        assert_eq!(block.file_samples, [0, 25, 25, 50, 50, 75]);
        assert_eq!(block.file_frames, [0, 2, 4, 6]);
        let list = lent(&[(4096, 1, 25), (8192, 1, 40), (512, 1, 7)]);
        assert_eq!(list.file_samples, [0, 25, 32, 72, 96, 103]);
        assert_eq!(list.file_frames, [0, 2, 6, 6]);
        // A list whose parts happen to follow each other is a block.
        let follows = lent(&[(4096, 1, 25), (4196, 1, 40)]);
        assert_eq!(follows.file_samples, [0, 25, 25, 65]);
        assert_eq!(lent(&[]).file_frames, [0]);
    }
}
