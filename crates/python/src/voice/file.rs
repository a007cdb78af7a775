//! Audio from files, and at another rate.

use std::io::ErrorKind;
use std::path::PathBuf;

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyByteArray;
use warpsmith_voice::signal::{Quality, Resampler};
use warpsmith_voice::{Audio, ChannelChoice, SignalError, check_room};

use super::{bytes, refused, samples};

/// The samples of a part of a file, one channel after the other, how many channels there are, and the rate.
#[pyfunction]
pub(crate) fn read_audio<'py>(
    py: Python<'py>,
    path: PathBuf,
    mono: bool,
    offset: f64,
    duration: Option<f64>,
) -> PyResult<(Bound<'py, PyByteArray>, usize, u32)> {
    let audio = py
        .detach(|| part_of(&path, offset, duration.unwrap_or(f64::INFINITY)))
        .map_err(refused)?;
    let channels = match mono {
        true => vec![audio.signal(ChannelChoice::Mix).map_err(refused)?],
        false => audio.channels,
    };
    let count = channels.len();
    Ok((bytes(py, &channels.concat()), count, audio.sample_rate))
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
pub(crate) fn resample<'py>(
    py: Python<'py>,
    signal: &[u8],
    from: u32,
    to: u32,
    quality: &str,
) -> PyResult<Bound<'py, PyByteArray>> {
    let signal = samples(signal)?;
    let quality = match quality {
        "fast" => Quality::Fast,
        "high" => Quality::High,
        "highest" => Quality::Highest,
        other => {
            return Err(PyValueError::new_err(format!(
                "res_type = `{other}` cannot be used: `fast`, `high` and `highest` are known"
            )));
        }
    };
    let resampled = py.detach(|| {
        let resampler = Resampler::new(from, to, quality)?;
        let count = resampler.output_length(signal.len());
        check_room("the resampled signal", count, size_of::<f32>())?;
        Ok(resampler.process(&signal))
    });
    Ok(bytes(py, &resampled.map_err(refused)?))
}
