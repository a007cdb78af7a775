//! Audio from files, and at another rate.

use std::io::ErrorKind;
use std::path::PathBuf;

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use warpsmith_voice::signal::{Quality, Resampler};
use warpsmith_voice::{Audio, ChannelChoice, SignalError, check_room};

use super::{Array, Samples, refused, work};

/// The samples of a part of a file, `[channel, sample]`, and their rate.
#[pyfunction]
pub(crate) fn read_audio(
    py: Python<'_>,
    path: PathBuf,
    mono: bool,
    offset: f64,
    duration: Option<f64>,
) -> PyResult<(Array, u32)> {
    let audio = work(py, || {
        part_of(&path, offset, duration.unwrap_or(f64::INFINITY))
    })?;
    let channels = match mono {
        true => vec![audio.signal(ChannelChoice::Mix).map_err(refused)?],
        false => audio.channels,
    };
    let shape = [channels.len(), channels.first().map_or(0, Vec::len)];
    let mut channels = channels;
    let samples = match &mut channels[..] {
        [one] => std::mem::take(one),
        several => several.concat(),
    };
    Ok((Array::of(samples, &shape), audio.sample_rate))
}

/// The `duration` seconds from `offset` on; decodes no more than it must.
fn part_of(path: &std::path::Path, offset: f64, duration: f64) -> Result<Audio, SignalError> {
    let mut part = Audio {
        sample_rate: 0,
        channels: Vec::new(),
    };
    let mut before = 0usize;
    let mut complete = false;
    let read = Audio::each_piece_of(path, &mut |piece| {
        let rate = f64::from(piece.sample_rate);
        // As librosa counts: both are whole samples, cut off.
        let first = (offset * rate) as usize;
        let end = first.saturating_add((duration * rate) as usize);
        part.sample_rate = piece.sample_rate;
        part.channels.resize(piece.channels.len(), Vec::new());
        let here = |at: usize| at.saturating_sub(before).min(piece.frames());
        for (whole, piece) in part.channels.iter_mut().zip(&piece.channels) {
            whole.extend_from_slice(&piece[here(first)..here(end)]);
        }
        before += piece.frames();
        complete = before >= end;
        if complete {
            // The reader sees that it has to stop.
            return Err(SignalError::Io {
                path: path.to_owned(),
                source: ErrorKind::Interrupted.into(),
            });
        }
        Ok(())
    });
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
