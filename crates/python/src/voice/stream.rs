//! Analyses of sound that is still arriving, block by block.

use std::path::PathBuf;
use std::sync::{Mutex, TryLockError};

use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use warpsmith_voice::signal::{
    Cascade, ResampleStream, Resampler, Reverb, ReverbSettings, deemphasise, preemphasise,
};
use warpsmith_voice::{
    ChromaStream, EnergyVad, FeatureSettings, FrameMillis, Layout, LevelStream, Levels, MelStream,
    NetPitch, NetVad, NeuralSettings, NeuralStream, OnsetStream, PITCH_CLASSES, Preset,
    PyinSettings, PyinStream, SignalError, SileroNetwork, Sizes, SpectralStatistics, Stage,
    StatisticsStream, StftStream, Swipe, SwipeStream, WebrtcStream, WebrtcVad, Weights, YinStream,
    check_room,
};

use super::array::Values;
use super::effect::section;
use super::file::quality_of;
use super::pitch::range_of;
use super::settings::mel_settings;
use super::shape::statistic;
use super::speech::webrtc_mode;
use super::{Array, Bank, Frames, Samples, framing, refused, work};

type Result<T> = std::result::Result<T, SignalError>;

/// What the next block, or the end, adds: values in rows of the stream's width.
type Step = Box<dyn FnMut(Option<&[f32]>) -> Result<Vec<Values>> + Send>;

/// An analysis with what it remembers.
#[pyclass(frozen)]
pub(crate) struct SoundStream {
    /// Gone once the stream has ended.
    step: Mutex<Option<Step>>,
    /// Values to a frame; 0 for streams of samples or decisions, which have no rows.
    width: usize,
}

impl SoundStream {
    fn of(width: usize, step: Step) -> Self {
        Self {
            step: Mutex::new(Some(step)),
            width,
        }
    }

    /// A stream with a process and an end, which both append to a result.
    fn appending<S: Send + 'static, O: Default + 'static>(
        width: usize,
        stream: S,
        process: impl Fn(&mut S, &[f32], &mut O) -> Result<()> + Send + 'static,
        finish: impl Fn(S, &mut O) -> Result<()> + Send + 'static,
        values: impl Fn(O) -> Vec<Values> + Send + 'static,
    ) -> Self {
        let mut stream = Some(stream);
        let step = move |block: Option<&[f32]>| {
            let mut out = O::default();
            match (block, stream.as_mut()) {
                (Some(block), Some(stream)) => process(stream, block, &mut out)?,
                _ => {
                    if let Some(stream) = stream.take() {
                        finish(stream, &mut out)?;
                    }
                }
            }
            Ok(values(out))
        };
        Self::of(width, Box::new(step))
    }

    /// As [`Self::appending`], of a process and an end that cannot fail.
    fn certain<S: Send + 'static, O: Default + 'static>(
        stream: S,
        process: fn(&mut S, &[f32], &mut O),
        finish: fn(S, &mut O),
        values: impl Fn(O) -> Vec<Values> + Send + 'static,
    ) -> Self {
        Self::appending(
            0,
            stream,
            move |stream, block, out| {
                process(stream, block, out);
                Ok(())
            },
            move |stream, out| {
                finish(stream, out);
                Ok(())
            },
            values,
        )
    }

    /// A stream that changes samples in place and holds none back.
    fn changing(mut change: impl FnMut(&mut [f32]) + Send + 'static) -> Self {
        let step = move |block: Option<&[f32]>| {
            let mut samples = block.unwrap_or_default().to_vec();
            change(&mut samples);
            Ok(vec![Values::from(samples)])
        };
        Self::of(0, Box::new(step))
    }

    fn advance(&self, py: Python<'_>, block: Option<&[f32]>) -> PyResult<Vec<Array>> {
        let mut slot = match self.step.try_lock() {
            Ok(slot) => slot,
            Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
            Err(TryLockError::WouldBlock) => {
                return Err(PyRuntimeError::new_err(
                    "the stream is in use by another thread: give each thread a stream of its own",
                ));
            }
        };
        // Left empty by an error or by Ctrl-C: what the stream remembers may be half of something.
        let mut step = slot.take().ok_or_else(|| {
            PyValueError::new_err("the stream has ended: make another one for another signal")
        })?;
        let (step, values) = work(py, move || {
            let values = step(block)?;
            Ok((step, values))
        })?;
        if block.is_some() {
            *slot = Some(step);
        }
        let arrays = values.into_iter().map(|values| match self.width {
            0 => Array::line(values),
            width => Array::rows(values, width),
        });
        Ok(arrays.collect())
    }
}

#[pymethods]
impl SoundStream {
    /// Takes the next samples; what they complete.
    fn process(&self, py: Python<'_>, block: Samples<'_>) -> PyResult<Vec<Array>> {
        self.advance(py, Some(block.finite()?))
    }

    /// Ends the signal; what is left.
    fn finish(&self, py: Python<'_>) -> PyResult<Vec<Array>> {
        self.advance(py, None)
    }

    #[staticmethod]
    fn stft(frames: Frames) -> PyResult<Self> {
        let settings = frames.spectrum()?;
        let stream = StftStream::new(settings).map_err(refused)?;
        let width = settings.bins();
        Ok(Self::appending(
            width,
            stream,
            StftStream::process,
            StftStream::finish,
            |out| vec![out.into()],
        ))
    }

    #[staticmethod]
    fn mel(
        rate: u32,
        frames: Frames,
        bank: Bank,
        decibels: bool,
        coefficients: Option<usize>,
        lifter: f64,
    ) -> PyResult<Self> {
        let settings = mel_settings(rate, &frames, &bank, decibels, None, coefficients, lifter)?;
        Self::feature(FeatureSettings {
            layout: Layout::FramesFirst,
            ..settings
        })
    }

    #[staticmethod]
    fn preset(
        rate: u32,
        preset: &str,
        stage: &str,
        coefficients: usize,
        transform: Option<usize>,
        hop: Option<usize>,
        filters: Option<usize>,
    ) -> PyResult<Self> {
        let preset: Preset = preset.parse().map_err(refused)?;
        let own = preset.sizes(rate);
        let sizes = Sizes {
            transform: transform.unwrap_or(own.transform),
            hop: hop.unwrap_or(own.hop),
            filters: filters.unwrap_or(own.filters),
        };
        let stage = match stage {
            "mel" => Stage::Mel,
            "log-mel" => Stage::LogMel,
            _ => Stage::Cepstrum { coefficients },
        };
        Self::feature(preset.feature(rate, sizes, stage))
    }

    #[staticmethod]
    fn yin(
        rate: u32,
        range: (f64, f64),
        frame: usize,
        hop: usize,
        beyond: &str,
        threshold: f32,
    ) -> PyResult<Self> {
        let framing = framing(frame, hop, beyond)?;
        let stream = YinStream::new(rate, framing, range_of(range), threshold).map_err(refused)?;
        Ok(Self::appending(
            0,
            stream,
            YinStream::process,
            YinStream::finish,
            |out| vec![out.into()],
        ))
    }

    #[staticmethod]
    fn pyin(
        rate: u32,
        range: (f64, f64),
        frame: usize,
        hop: usize,
        beyond: &str,
    ) -> PyResult<Self> {
        let framing = framing(frame, hop, beyond)?;
        let settings = PyinSettings::default();
        let stream = PyinStream::new(rate, framing, range_of(range), settings).map_err(refused)?;
        Ok(Self::certain(
            stream,
            PyinStream::process,
            PyinStream::finish,
            |track| {
                vec![
                    track.frequency.into(),
                    track.voiced.into(),
                    track.probability.into(),
                ]
            },
        ))
    }

    /// Root mean squares, then zero-crossing rates.
    #[staticmethod]
    fn levels(frame: usize, hop: usize, beyond: &str) -> PyResult<Self> {
        let stream = LevelStream::new(framing(frame, hop, beyond)?).map_err(refused)?;
        Ok(Self::appending(
            1,
            stream,
            |stream, block, out: &mut Levels| {
                stream.process(block, out);
                Ok(())
            },
            |stream, out| {
                stream.finish(out);
                Ok(())
            },
            |levels| vec![levels.rms.into(), levels.zero_crossing_rate.into()],
        ))
    }

    #[staticmethod]
    fn spectral_shape(rate: u32, frames: Frames, name: String) -> PyResult<Self> {
        statistic(SpectralStatistics::default(), &name)?;
        let stream = StatisticsStream::new(frames.spectrum()?, rate).map_err(refused)?;
        Ok(Self::appending(
            1,
            stream,
            |stream, block, out: &mut SpectralStatistics| {
                stream.process(block, out);
                Ok(())
            },
            |stream, out| {
                stream.finish(out);
                Ok(())
            },
            move |found| {
                let row = statistic(found, &name);
                vec![row.unwrap_or_default().into()]
            },
        ))
    }

    #[staticmethod]
    fn chroma(rate: u32, frames: Frames, tuning: f64) -> PyResult<Self> {
        let stream = ChromaStream::tuned(frames.spectrum()?, rate, tuning).map_err(refused)?;
        Ok(Self::appending(
            PITCH_CLASSES,
            stream,
            ChromaStream::process,
            ChromaStream::finish,
            |classes| vec![classes.into_flattened().into()],
        ))
    }

    #[staticmethod]
    fn onset_strength(rate: u32, transform: usize, hop: usize) -> PyResult<Self> {
        framing(transform, hop, "constant")?;
        let stream = OnsetStream::new(rate, transform, hop).map_err(refused)?;
        Ok(Self::appending(
            0,
            stream,
            OnsetStream::process,
            OnsetStream::finish,
            |out| vec![out.into()],
        ))
    }

    #[staticmethod]
    fn webrtc(rate: u32, aggressiveness: u8) -> PyResult<Self> {
        let mode = webrtc_mode(aggressiveness)?;
        let mut stream = WebrtcStream::new(rate, mode, FrameMillis::Ten).map_err(refused)?;
        let step = move |block: Option<&[f32]>| {
            let mut out = Vec::new();
            let samples = WebrtcVad::integers(block.unwrap_or_default());
            stream.process(&samples, &mut out)?;
            Ok(vec![out.into()])
        };
        Ok(Self::of(0, Box::new(step)))
    }

    #[staticmethod]
    fn energy(rate: u32, margin_db: f32) -> Self {
        let hop = (rate as usize / 100).max(1);
        let (mut vad, mut waiting) = (EnergyVad::new(margin_db), Vec::new());
        let step = move |block: Option<&[f32]>| {
            waiting.extend_from_slice(block.unwrap_or_default());
            let hops = waiting.chunks_exact(hop);
            let decisions: Vec<bool> = hops.map(|hop| vad.process(hop)).collect();
            waiting.drain(..decisions.len() * hop);
            Ok(vec![decisions.into()])
        };
        Self::of(0, Box::new(step))
    }

    /// Silero's network, at 16 kHz.
    #[staticmethod]
    fn neural(threshold: Option<f32>, weights: PathBuf) -> PyResult<Self> {
        let weights = Weights::read(&weights).map_err(refused)?;
        let network = SileroNetwork::new(&weights).map_err(refused)?;
        let settings =
            threshold.map_or_else(NeuralSettings::default, NeuralSettings::from_threshold);
        Ok(Self::certain(
            NeuralStream::new(&network, settings),
            NeuralStream::process,
            NeuralStream::finish,
            |decisions| vec![decisions.into()],
        ))
    }

    #[staticmethod]
    fn net_speech(rate: u32, threshold: Option<f32>) -> PyResult<Self> {
        let threshold = threshold.unwrap_or(NetVad::THRESHOLD);
        Ok(Self::certain(
            NetVad::new(rate, threshold).map_err(refused)?,
            NetVad::process,
            NetVad::finish,
            |decisions| vec![decisions.into()],
        ))
    }

    /// Seconds, frequencies and how sure they are.
    #[staticmethod]
    fn net_pitch(
        rate: u32,
        range: (f64, f64),
        hop: usize,
        threshold: Option<f32>,
    ) -> PyResult<Self> {
        let threshold = threshold.unwrap_or(NetPitch::THRESHOLD);
        let stream = NetPitch::new(rate, hop, range_of(range), threshold).map_err(refused)?;
        Ok(Self::certain(
            stream,
            NetPitch::process,
            NetPitch::finish,
            |track| {
                vec![
                    track.seconds.into(),
                    track.frequency.into(),
                    track.voiced.into(),
                ]
            },
        ))
    }

    #[staticmethod]
    fn swipe(rate: u32, range: (f64, f64), hop: usize) -> PyResult<Self> {
        let swipe = Swipe::new(rate, hop, range_of(range), Swipe::THRESHOLD).map_err(refused)?;
        Ok(Self::certain(
            SwipeStream::new(swipe),
            SwipeStream::process,
            SwipeStream::finish,
            |track| {
                vec![
                    track.seconds.into(),
                    track.frequency.into(),
                    track.strength.into(),
                ]
            },
        ))
    }

    #[staticmethod]
    fn resample(from: u32, to: u32, quality: &str) -> PyResult<Self> {
        let resampler = Resampler::new(from, to, quality_of(quality)?).map_err(refused)?;
        let step = |stream: &mut ResampleStream, block: &[f32], out: &mut Vec<f32>| {
            let most = (block.len() as f64 * stream.ratio()) as usize;
            check_room("the resampled block", most, size_of::<f32>())?;
            stream.process(block, out);
            Ok(())
        };
        Ok(Self::appending(
            0,
            ResampleStream::new(resampler),
            step,
            |stream, out| {
                stream.finish(out);
                Ok(())
            },
            |out| vec![out.into()],
        ))
    }

    #[staticmethod]
    fn biquad(kind: &str, rate: u32, hertz: f64, q: f64, gain_db: f64) -> PyResult<Self> {
        let mut cascade = Cascade::new(vec![section(kind, rate, hertz, q, gain_db)?]);
        Ok(Self::changing(move |samples| cascade.process(samples)))
    }

    /// `x[n] − coefficient·x[n−1]`, or the sum that undoes it; silence before the first sample.
    #[staticmethod]
    fn emphasis(coefficient: f32, undo: bool) -> Self {
        let mut before = 0.0;
        Self::changing(move |samples| {
            let filter = match undo {
                true => deemphasise,
                false => preemphasise,
            };
            before = filter(samples, coefficient, before);
        })
    }

    /// A room; the end brings what is still heard of it.
    #[staticmethod]
    fn reverb(rate: u32, decay_seconds: f64, size: f64, damping: f64, wet: f64) -> PyResult<Self> {
        let settings = ReverbSettings {
            decay_seconds,
            size,
            damping,
            wet,
        };
        let mut room = Reverb::new(rate, settings).map_err(refused)?;
        let step = move |block: Option<&[f32]>| {
            let mut samples = match block {
                Some(block) => block.to_vec(),
                None => vec![0.0; room.tail()],
            };
            room.process(&mut samples);
            Ok(vec![samples.into()])
        };
        Ok(Self::of(0, Box::new(step)))
    }
}

impl SoundStream {
    fn feature(settings: FeatureSettings) -> PyResult<Self> {
        let width = settings.rows();
        let stream = MelStream::new(settings).map_err(refused)?;
        Ok(Self::appending(
            width,
            stream,
            MelStream::process,
            MelStream::finish,
            |out| vec![out.into()],
        ))
    }
}
