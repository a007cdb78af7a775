//! Pitch of sound that is heard piece by piece: a frame is written once no later one can change it.

use std::path::Path;

use anyhow::Result;
use warpsmith_voice::{
    Framing, HqLook, HqPitch, HqThirdLook, HqTrack, NetPitch, NetTrack, PitchRange, PraatStream,
    PraatTrack, PyinSettings, PyinStream, PyinTrack, SwipeStream, SwipeTrack, YinStream,
};

use super::input::Input;
use super::live::{Listener, hear_ahead};
use super::pitch_rows::{hq_rows, net_rows, praat_rows, swipe_rows, voiced_columns};

/// A stream of tracks whose frames have times of their own.
struct LiveTrack<S, T> {
    stream: S,
    track: T,
    /// The name of the column that says how sure a frame is.
    sure: &'static str,
    process: fn(&mut S, &[f32], &mut T),
    finish: fn(S, &mut T),
    rows: fn(&T) -> Vec<f64>,
}

impl<S, T: Default> Listener for LiveTrack<S, T> {
    fn columns(&self) -> Vec<String> {
        voiced_columns(self.sure)
    }

    fn hear(&mut self, piece: &[f32], rows: &mut Vec<f64>) -> Result<()> {
        (self.process)(&mut self.stream, piece, &mut self.track);
        rows.extend((self.rows)(&std::mem::take(&mut self.track)));
        Ok(())
    }

    fn finish(self: Box<Self>, rows: &mut Vec<f64>) -> Result<()> {
        let Self {
            stream, mut track, ..
        } = *self;
        (self.finish)(stream, &mut track);
        rows.extend((self.rows)(&track));
        Ok(())
    }
}

/// Praat's pitch, at a second look.
pub(super) fn praat(stream: PraatStream) -> Box<dyn Listener> {
    Box::new(LiveTrack {
        stream,
        track: PraatTrack::default(),
        sure: "strength",
        process: PraatStream::process,
        finish: PraatStream::finish,
        rows: praat_rows,
    })
}

/// The network's pitch.
pub(super) fn net(stream: NetPitch) -> Box<dyn Listener> {
    Box::new(LiveTrack {
        stream,
        track: NetTrack::default(),
        sure: "probability",
        process: NetPitch::process,
        finish: NetPitch::finish,
        rows: net_rows,
    })
}

/// The pitch of SWIPE'.
pub(super) fn swipe(stream: SwipeStream) -> Box<dyn Listener> {
    Box::new(LiveTrack {
        stream,
        track: SwipeTrack::default(),
        sure: "strength",
        process: SwipeStream::process,
        finish: SwipeStream::finish,
        rows: swipe_rows,
    })
}

/// The pitch of `hq` of a file, at its last look.
pub(super) fn hq(input: &Input, path: &Path, mut pitch: HqPitch) -> Result<Box<dyn Listener>> {
    let mut look = HqLook::default();
    let all = |hear: &mut dyn FnMut(&[f32])| {
        hear_ahead(input, path, |piece, _| {
            hear(piece);
            Ok(())
        })
    };
    all(&mut |piece| look.hear(piece))?;
    let mut first = pitch.first_look(look);
    all(&mut |piece| first.hear(piece))?;
    let mut second = first.finish();
    all(&mut |piece| second.hear(piece))?;
    Ok(Box::new(LiveTrack {
        stream: second.finish(),
        track: HqTrack::default(),
        sure: "confidence",
        process: HqThirdLook::process,
        finish: HqThirdLook::finish,
        rows: hq_rows,
    }))
}

/// The times of frames.
#[derive(Clone, Copy)]
struct Times {
    hop: usize,
    rate: u32,
}

impl Times {
    fn of(self, frame: usize) -> f64 {
        (frame * self.hop) as f64 / f64::from(self.rate)
    }
}

/// YIN piece by piece.
pub(super) struct LiveYin {
    stream: YinStream,
    times: Times,
    written: usize,
    track: Vec<f32>,
}

impl LiveYin {
    pub(super) fn listener(
        rate: u32,
        framing: Framing,
        range: PitchRange,
        trough: f32,
    ) -> Result<Box<dyn Listener>> {
        Ok(Box::new(Self {
            stream: YinStream::in_bulk(rate, framing, range, trough)?,
            times: Times {
                hop: framing.hop,
                rate,
            },
            written: 0,
            track: Vec::new(),
        }))
    }

    fn report(&mut self, rows: &mut Vec<f64>) {
        for hertz in self.track.drain(..) {
            rows.extend([self.times.of(self.written), f64::from(hertz)]);
            self.written += 1;
        }
    }
}

impl Listener for LiveYin {
    fn columns(&self) -> Vec<String> {
        ["seconds", "hertz"].map(str::to_owned).to_vec()
    }

    fn hear(&mut self, piece: &[f32], rows: &mut Vec<f64>) -> Result<()> {
        self.stream.process(piece, &mut self.track)?;
        self.report(rows);
        Ok(())
    }

    fn finish(self: Box<Self>, rows: &mut Vec<f64>) -> Result<()> {
        let Self {
            stream,
            times,
            written,
            mut track,
        } = *self;
        stream.finish(&mut track)?;
        for (frame, hertz) in track.iter().enumerate() {
            rows.extend([times.of(written + frame), f64::from(*hertz)]);
        }
        Ok(())
    }
}

/// pYIN on a pipe: a frame is written once no later one can change it, mostly within a few frames.
pub(super) struct LivePitch {
    stream: PyinStream,
    times: Times,
    written: usize,
}

impl LivePitch {
    pub(super) fn listener(
        rate: u32,
        framing: Framing,
        range: PitchRange,
        settings: PyinSettings,
    ) -> Result<Box<dyn Listener>> {
        Ok(Box::new(Self {
            stream: PyinStream::in_bulk(rate, framing, range, settings)?,
            times: Times {
                hop: framing.hop,
                rate,
            },
            written: 0,
        }))
    }
}

/// Appends the frames of `track`, of which the first is number `written`.
fn append_rows(track: &PyinTrack, times: Times, written: usize, rows: &mut Vec<f64>) {
    for (frame, voiced) in track.voiced.iter().enumerate() {
        let hertz = f64::from(track.frequency[frame]);
        rows.extend([
            times.of(written + frame),
            if *voiced { hertz } else { f64::NAN },
            f64::from(u8::from(*voiced)),
            f64::from(track.probability[frame]),
        ]);
    }
}

impl Listener for LivePitch {
    fn columns(&self) -> Vec<String> {
        voiced_columns("probability")
    }

    fn hear(&mut self, piece: &[f32], rows: &mut Vec<f64>) -> Result<()> {
        let mut track = PyinTrack::default();
        self.stream.process(piece, &mut track);
        append_rows(&track, self.times, self.written, rows);
        self.written += track.voiced.len();
        Ok(())
    }

    fn finish(self: Box<Self>, rows: &mut Vec<f64>) -> Result<()> {
        let mut track = PyinTrack::default();
        self.stream.finish(&mut track);
        append_rows(&track, self.times, self.written, rows);
        Ok(())
    }
}
