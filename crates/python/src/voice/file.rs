//! Audio from files, and at another rate.

use std::error::Error;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use pyo3::exceptions::{PyOSError, PyValueError};
use pyo3::prelude::*;
use warpsmith_formats::wav::SampleFormat;
use warpsmith_formats::{OutputError, OutputFile};
use warpsmith_voice::signal::{Quality, Resampler};
use warpsmith_voice::{Audio, ChannelChoice, GrowingRoom, SignalError, check_room};

use super::effect::audio_of;
use super::{Array, Samples, refused, work};

/// What does not fit, in errors.
const SOUND: &str = "the sound";

/// The samples of a part of a file, `[channel, sample]`, and their rate; of `contents` that bear its name where they
/// are in memory.
#[pyfunction]
#[pyo3(signature = (path, mono, offset, duration, contents=None))]
pub(crate) fn read_audio(
    py: Python<'_>,
    path: PathBuf,
    mono: bool,
    offset: f64,
    duration: Option<f64>,
    contents: Option<Vec<u8>>,
) -> PyResult<(Array, u32)> {
    let duration = duration.unwrap_or(f64::INFINITY);
    let audio = work(py, || part_of(&path, contents, offset, duration))?;
    let sample_rate = audio.sample_rate;
    let channels = match mono {
        true => vec![audio.into_signal(ChannelChoice::Mix).map_err(refused)?],
        false => audio.channels,
    };
    let shape = [channels.len(), channels.first().map_or(0, Vec::len)];
    let mut channels = channels;
    let samples = match &mut channels[..] {
        [one] => std::mem::take(one),
        several => several.concat(),
    };
    Ok((Array::of(samples, &shape), sample_rate))
}

/// Samples to a channel of a file's sound, and their rate.
#[pyfunction]
pub(crate) fn audio_length(py: Python<'_>, path: PathBuf) -> PyResult<(usize, u32)> {
    work(py, || {
        let (mut samples, mut rate) = (0, 0);
        Audio::each_piece_of(&path, &mut |piece| {
            samples += piece.frames();
            rate = piece.sample_rate;
            Ok(())
        })?;
        Ok((samples, rate))
    })
}

/// Writes `(channels, samples)` as a WAV file; whole numbers are cut off at full scale.
#[pyfunction]
pub(crate) fn write_wav(
    py: Python<'_>,
    path: PathBuf,
    channels: Samples<'_>,
    rate: u32,
    coding: &str,
) -> PyResult<()> {
    let audio = audio_of(&channels, rate)?;
    let samples = match coding {
        "s16" => SampleFormat::Integer16,
        "s24" => SampleFormat::Integer24,
        "f32" => SampleFormat::Float32,
        other => {
            return Err(PyValueError::new_err(format!(
                "there is no coding `{other}`: s16, s24 and f32 are known"
            )));
        }
    };
    let frames = audio.frames() as u64;
    let write = |file: &mut OutputFile| {
        audio.write_wav_head(samples, frames, file)?;
        audio.write_wav_samples(samples, file)?;
        audio.write_wav_end(samples, frames, file)
    };
    py.detach(|| {
        let mut file = OutputFile::create(&path).map_err(unwritten)?;
        write(&mut file).map_err(|error| format!("cannot write `{}`: {error}", path.display()))?;
        file.finish().map_err(unwritten)
    })
    .map_err(PyOSError::new_err)
}

/// Why a file was not written, with what the system said.
fn unwritten(error: OutputError) -> String {
    match error.source() {
        Some(cause) => format!("{error}: {cause}"),
        None => error.to_string(),
    }
}

/// The `duration` seconds from `offset` on; decodes no more than it must.
fn part_of(
    path: &Path,
    contents: Option<Vec<u8>>,
    offset: f64,
    duration: f64,
) -> Result<Audio, SignalError> {
    let mut part = Audio::empty();
    let mut before = 0usize;
    let mut complete = false;
    let mut room = GrowingRoom::new(SOUND);
    let mut full = None;
    // The reader sees that it has to stop.
    let stop = || SignalError::Io {
        path: path.to_owned(),
        source: ErrorKind::Interrupted.into(),
    };
    if duration.is_infinite()
        && contents.is_none()
        && let Some((frames, channels)) = Audio::plain_size(path)
    {
        // The rate is not known yet, and an offset only makes less of it.
        let values = if offset > 0.0 { 0 } else { frames };
        let values = usize::try_from(values).unwrap_or(usize::MAX);
        check_room(SOUND, values.saturating_mul(channels), size_of::<f32>())?;
        part = Audio::with_room((values as u64, channels));
    }
    let mut see = |piece: &Audio| {
        let rate = f64::from(piece.sample_rate);
        // As librosa counts: both are whole samples, cut off.
        let first = (offset * rate) as usize;
        let end = first.saturating_add((duration * rate) as usize);
        part.sample_rate = piece.sample_rate;
        part.channels.resize(piece.channels.len(), Vec::new());
        let here = |at: usize| at.saturating_sub(before).min(piece.frames());
        let kept = (here(end) - here(first)) * piece.channels.len();
        if let Err(error) = room.grow(kept) {
            full = Some(error);
            return Err(stop());
        }
        for (whole, piece) in part.channels.iter_mut().zip(&piece.channels) {
            whole.extend_from_slice(&piece[here(first)..here(end)]);
        }
        before += piece.frames();
        complete = before >= end;
        if complete {
            return Err(stop());
        }
        Ok(())
    };
    let read = match contents {
        Some(bytes) => Audio::each_piece_in(path, bytes, &mut see),
        None => Audio::each_piece_of(path, &mut see),
    };
    if let Some(error) = full {
        return Err(error);
    }
    if !complete {
        read?;
    }
    Ok(part)
}

/// A signal at another rate.
#[pyfunction]
pub(crate) fn resample(
    py: Python<'_>,
    signal: Samples<'_>,
    from: u32,
    to: u32,
    quality: &str,
) -> PyResult<Array> {
    let signal = signal.finite()?;
    let quality = quality_of(quality)?;
    let resampled = work(py, || {
        let resampler = Resampler::new(from, to, quality)?;
        let count = resampler.output_length(signal.len());
        check_room("the resampled signal", count, size_of::<f32>())?;
        Ok(resampler.process(signal))
    });
    resampled.map(Array::line)
}

/// How sharp a filter is, by its name.
pub(super) fn quality_of(name: &str) -> PyResult<Quality> {
    match name {
        "fast" => Ok(Quality::Fast),
        "high" => Ok(Quality::High),
        "highest" => Ok(Quality::Highest),
        other => Err(PyValueError::new_err(format!(
            "res_type = `{other}` cannot be used: `fast`, `high` and `highest` are known"
        ))),
    }
}
