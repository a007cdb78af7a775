//! What `voice analyze` sums up, and how a long file is heard for it: twice, piece by piece, with the numbers of the
//! whole, loudness to a last digit. The detector of speech keeps 12 powers to 10 ms.

use std::path::Path;

use anyhow::{Context, Result};
use warpsmith_voice::signal::LoudnessMeter;
use warpsmith_voice::{
    PyinSettings, PyinStream, PyinTrack, StatisticalSettings, StatisticalStream,
};

use super::analysis::{framing, range};
use super::input::Input;
use super::live::{each_checked_piece, hear_ahead};

/// What was heard in a file.
pub(super) struct Heard {
    pub(super) seconds: f64,
    pub(super) sample_rate: u32,
    pub(super) channels: usize,
    pub(super) peak: f32,
    pub(super) clipped: usize,
    pub(super) loudness: Option<f64>,
    pub(super) speech: Vec<bool>,
    /// Frames of pitch, and the frequencies of those that are voiced.
    pub(super) frames: usize,
    pub(super) voiced: Vec<f32>,
}

impl Heard {
    /// Hears a long file.
    pub(super) fn in_pieces(input: &Input, path: &Path) -> Result<Self> {
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
            framing(sample_rate),
            range(sample_rate),
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
        Ok(Self {
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
}
