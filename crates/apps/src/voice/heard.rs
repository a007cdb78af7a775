//! What `voice analyze` says of a long file, which is heard piece by piece: twice for the numbers of the whole, three
//! times where those of every 10 ms are written too. They are those of a file that is kept, loudness to a last digit.
//! The detector of speech keeps 12 powers to 10 ms.

use std::path::Path;

use anyhow::{Context, Result};
use warpsmith_descriptors::overview::{Heard, voice_framing, voice_range};
use warpsmith_voice::formants::{FormantSettings, FormantStream, FormantTracker};
use warpsmith_voice::signal::LoudnessMeter;
use warpsmith_voice::{
    ChannelChoice, LevelStream, Levels, MelStream, PyinSettings, PyinStream, PyinTrack,
    StatisticalSettings, StatisticalStream,
};

use super::analysis::{Column, FrameRows, mel_settings};
use super::input::Input;
use super::live::{each_checked_piece, hear_ahead};

/// Hears a long file for its summary.
pub(super) fn in_pieces(input: &Input, path: &Path) -> Result<Heard> {
    let look = Look::of(input, path, false)?;
    let mut detector = look.detector()?;
    let mut pitch = look.pitch()?;
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
    Ok(look.heard(detector.finish()?, frames, voiced))
}

/// Where rows go as they are known.
pub(super) type Rows<'a> = &'a mut dyn FnMut(&[f64]) -> Result<()>;

/// Hears a long file for its summary and for the numbers of every 10 ms: `write` is told the names of the columns,
/// and what it is given puts all rows.
pub(super) fn in_pieces_with_frames(
    input: &Input,
    path: &Path,
    columns: &[Column],
    write: impl FnOnce(&[String], &mut dyn FnMut(Rows<'_>) -> Result<()>) -> Result<()>,
) -> Result<Heard> {
    let look = Look::of(input, path, columns.contains(&Column::Mel))?;
    let mut detector = look.detector()?;
    hear_ahead(input, path, |piece, _| Ok(detector.process(piece)?))?;
    let speech = detector.finish()?;
    let rate = look.sample_rate;
    let mut rows = FrameRows::new(columns, rate, look.samples)?;
    let (mut frames, mut voiced) = (0, Vec::new());
    write(&rows.names(), &mut |put| {
        let mut streams = Streams::new(&look, &rows)?;
        let mut values = Vec::new();
        let mut pass_on = |rows: &mut FrameRows, track: PyinTrack, is_end| {
            frames += track.voiced.len();
            voiced.extend(track.voiced_hertz());
            rows.add_pitch(track);
            rows.pass_on(&speech, is_end, &mut values)?;
            put(&values)?;
            values.clear();
            Ok(())
        };
        hear_ahead(input, path, |piece, _| {
            let track = streams.process(piece, &mut rows)?;
            pass_on(&mut rows, track, false)
        })?;
        let track = streams.finish(&mut rows)?;
        pass_on(&mut rows, track, true)
    })?;
    Ok(look.heard(speech, frames, voiced))
}

/// What a first look finds.
struct Look {
    sample_rate: u32,
    channels: usize,
    samples: usize,
    peak: f32,
    clipped: usize,
    loudness: Option<f64>,
    /// The largest mel level, where it was wanted.
    largest: f32,
}

impl Look {
    fn of(input: &Input, path: &Path, with_mel: bool) -> Result<Self> {
        let (mut samples, mut peak, mut clipped) = (0, 0.0f32, 0);
        let (mut levels, mut largest) = (Vec::new(), f32::NEG_INFINITY);
        let mut begun: Option<Begun> = None;
        each_checked_piece(input, path, |piece| {
            let channels: Vec<&[f32]> = piece.channels.iter().map(|c| &c[..]).collect();
            for x in channels.iter().copied().flatten() {
                peak = peak.max(x.abs());
                clipped += usize::from(x.abs() >= 1.0);
            }
            samples += piece.frames();
            let begun = match &mut begun {
                Some(begun) => begun,
                None => begun.insert(Begun::new(piece.sample_rate, channels.len(), with_mel)?),
            };
            begun.meter.push(&channels);
            if let Some(mel) = &mut begun.mel {
                match (&piece.channels[..], input.channels) {
                    ([only], ChannelChoice::Mix) => mel.process(only, &mut levels)?,
                    _ => mel.process(&piece.signal(input.channels)?, &mut levels)?,
                }
                largest = levels.drain(..).fold(largest, f32::max);
            }
            Ok(())
        })?;
        let begun = begun.context("there is no sound")?;
        if let Some(mel) = begun.mel {
            mel.finish(&mut levels)?;
            largest = levels.drain(..).fold(largest, f32::max);
        }
        Ok(Self {
            sample_rate: begun.sample_rate,
            channels: begun.channels,
            samples,
            peak,
            clipped,
            loudness: begun.meter.finish().ok().map(|found| found.integrated),
            largest,
        })
    }

    fn detector(&self) -> Result<StatisticalStream> {
        let settings = StatisticalSettings::default();
        let (rate, samples) = (self.sample_rate, self.samples);
        Ok(StatisticalStream::new(rate, settings, samples)?)
    }

    fn pitch(&self) -> Result<PyinStream> {
        let rate = self.sample_rate;
        let (framing, range) = (voice_framing(rate), voice_range(rate));
        Ok(PyinStream::in_bulk(
            rate,
            framing,
            range,
            PyinSettings::default(),
        )?)
    }

    fn heard(self, speech: Vec<bool>, frames: usize, voiced: Vec<f32>) -> Heard {
        Heard {
            seconds: self.samples as f64 / f64::from(self.sample_rate.max(1)),
            sample_rate: self.sample_rate,
            channels: self.channels,
            peak: self.peak,
            clipped: self.clipped,
            loudness: self.loudness,
            speech,
            frames,
            voiced,
        }
    }
}

/// What listens from the first piece on.
struct Begun {
    sample_rate: u32,
    channels: usize,
    meter: LoudnessMeter,
    mel: Option<MelStream>,
}

impl Begun {
    fn new(sample_rate: u32, channels: usize, with_mel: bool) -> Result<Self> {
        let mel = with_mel.then(|| MelStream::first_look(mel_settings(sample_rate)));
        Ok(Self {
            sample_rate,
            channels,
            meter: LoudnessMeter::new(sample_rate, channels)?,
            mel: mel.transpose()?,
        })
    }
}

/// What finds the numbers of frames.
struct Streams {
    pitch: PyinStream,
    levels: Option<LevelStream>,
    formants: Option<FormantStream>,
    mel: Option<MelStream>,
}

impl Streams {
    fn new(look: &Look, rows: &FrameRows) -> Result<Self> {
        let rate = look.sample_rate;
        let levels = || LevelStream::new(voice_framing(rate));
        let mel = || MelStream::second_look(mel_settings(rate), look.largest);
        let formants = || -> Result<_> {
            let tracker = FormantTracker::new(rate, FormantSettings::default())?;
            Ok(FormantStream::new(tracker, look.samples))
        };
        Ok(Self {
            pitch: look.pitch()?,
            levels: rows.wants(Column::Level).then(levels).transpose()?,
            formants: rows.wants(Column::Formants).then(formants).transpose()?,
            mel: rows.wants(Column::Mel).then(mel).transpose()?,
        })
    }

    /// Takes the next samples; returns the pitches that they decide.
    fn process(&mut self, piece: &[f32], rows: &mut FrameRows) -> Result<PyinTrack> {
        let mut track = PyinTrack::default();
        self.pitch.process(piece, &mut track);
        if let Some(stream) = &mut self.levels {
            let mut levels = Levels::default();
            stream.process(piece, &mut levels);
            rows.levels.append(&mut levels.rms);
        }
        if let Some(stream) = &mut self.formants {
            stream.process(piece, &mut rows.formants);
        }
        if let Some(stream) = &mut self.mel {
            stream.process(piece, &mut rows.mel)?;
        }
        Ok(track)
    }

    fn finish(self, rows: &mut FrameRows) -> Result<PyinTrack> {
        let mut track = PyinTrack::default();
        self.pitch.finish(&mut track);
        if let Some(stream) = self.levels {
            let mut levels = Levels::default();
            stream.finish(&mut levels);
            rows.levels.append(&mut levels.rms);
        }
        if let Some(stream) = self.formants {
            stream.finish(&mut rows.formants);
        }
        if let Some(stream) = self.mel {
            stream.finish(&mut rows.mel)?;
        }
        Ok(track)
    }
}
