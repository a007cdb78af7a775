//! What `voice analyze` sums up, and how a long file is heard for it: twice, piece by piece, with the numbers of the
//! whole, loudness to a last digit. The detector of speech keeps 12 powers to 10 ms.

use std::path::Path;

use anyhow::{Context, Result};
use warpsmith_descriptors::overview::{Heard, voice_framing, voice_range};
use warpsmith_voice::signal::LoudnessMeter;
use warpsmith_voice::{
    PyinSettings, PyinStream, PyinTrack, StatisticalSettings, StatisticalStream,
};

use super::input::Input;
use super::live::{each_checked_piece, hear_ahead};

/// Hears a long file.
pub(super) fn in_pieces(input: &Input, path: &Path) -> Result<Heard> {
    let (mut samples, mut peak, mut clipped) = (0, 0.0f32, 0);
    let mut meter: Option<(LoudnessMeter, u32, usize)> = None;
    each_checked_piece(input, path, |piece| {
        let channels: Vec<&[f32]> = piece.channels.iter().map(|c| &c[..]).collect();
        for x in channels.iter().copied().flatten() {
            peak = peak.max(x.abs());
            clipped += usize::from(x.abs() >= 1.0);
        }
        samples += piece.frames();
        let current = match meter.take() {
            Some(current) => current,
            None => (
                LoudnessMeter::new(piece.sample_rate, channels.len())?,
                piece.sample_rate,
                channels.len(),
            ),
        };
        meter.insert(current).0.push(&channels);
        Ok(())
    })?;
    let (meter, sample_rate, channels) = meter.context("there is no sound")?;
    let settings = PyinSettings::default();
    let mut pitch = PyinStream::in_bulk(
        sample_rate,
        voice_framing(sample_rate),
        voice_range(sample_rate),
        settings,
    )?;
    let settings = StatisticalSettings::default();
    let mut detector = StatisticalStream::new(sample_rate, settings, samples)?;
    let (mut frames, mut voiced) = (0, Vec::new());
    let mut keep = |track: PyinTrack| {
        frames += track.voiced.len();
        voiced.extend(track.voiced_hertz());
    };
    hear_ahead(input, path, |piece, _| {
        let mut track = PyinTrack::default();
        pitch.process(piece, &mut track);
        keep(track);
        Ok(detector.process(piece)?)
    })?;
    let mut track = PyinTrack::default();
    pitch.finish(&mut track);
    keep(track);
    Ok(Heard {
        seconds: samples as f64 / f64::from(sample_rate.max(1)),
        sample_rate,
        channels,
        peak,
        clipped,
        loudness: meter.finish().ok().map(|measured| measured.integrated),
        speech: detector.finish()?,
        frames,
        voiced,
    })
}
