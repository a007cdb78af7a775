//! Sound that is heard piece by piece, from a pipe or a long file: rows are written as soon as they are
//! decided, and hours of it take no more memory than seconds.

use std::io::{Write, stdout};
use std::path::Path;
use std::sync::mpsc::{channel, sync_channel};

use anyhow::{Context, Result, anyhow};
use warpsmith_formats::table::{TableForm, TableWriter};
use warpsmith_voice::signal::{FrameQueue, Quality, ResampleStream, Resampler};
use warpsmith_voice::{Audio, ChannelChoice, Framing, SignalError};

use super::input::{Input, of_file};
use super::sheet::{RESAMPLED, Sheet, columns};
use warpsmith_console::exit::Outcome;
use warpsmith_console::global::Global;
use warpsmith_console::output::note;

/// Bytes on disk from which on a file is heard piece by piece where that says the same: of plain samples, and of
/// coded ones, of which an hour may take no more than 3 MB.
const LONG_PLAIN_BYTES: u64 = 4 << 20;
const LONG_CODED_BYTES: u64 = 1 << 18;

/// Samples of a file that are heard at a time.
const FILE_PIECE: usize = 1 << 16;

/// Pieces that are decoded before they are heard.
const PIECES_AHEAD: usize = 4;

/// Whether a file is heard piece by piece where that says the same. What is said of damage is said once: such files
/// are not heard twice.
pub(super) fn is_long(input: &Input, path: &Path) -> bool {
    if input.is_salvaged() {
        return false;
    }
    let bytes = std::fs::metadata(path).map_or(0, |facts| facts.len());
    let is_plain = || input.is_raw(path) || Audio::plain_size(path).is_some();
    bytes >= LONG_PLAIN_BYTES || bytes >= LONG_CODED_BYTES && !is_plain()
}

/// What makes rows of the pieces of a signal.
pub(super) trait Listener {
    /// Names of the columns.
    fn columns(&self) -> Vec<String>;
    /// Takes the next samples; appends the rows that they decide. NaN is an absent value.
    fn hear(&mut self, piece: &[f32], rows: &mut Vec<f64>) -> Result<()>;
    /// Ends the signal; appends the rows that are left.
    fn finish(self: Box<Self>, rows: &mut Vec<f64>) -> Result<()>;
    /// The rate that the sound has in its file, Hz, where it is heard at another.
    fn resampled_from(&self) -> Option<u32> {
        None
    }
}

/// Makes the listener for a file of a sample rate.
pub(super) type Listening<'a> = &'a dyn Fn(&Path, u32) -> Result<Box<dyn Listener>>;

/// What hears sound at the one rate that its analysis is defined at.
pub(super) struct Resampled {
    from: u32,
    stream: ResampleStream,
    heard: Vec<f32>,
    listener: Box<dyn Listener>,
}

impl Resampled {
    /// The listener for a file; at `wanted`, where that is another rate than its own.
    pub(super) fn listener(
        global: &Global,
        path: &Path,
        rate: u32,
        wanted: Option<u32>,
        listening: Listening<'_>,
    ) -> Result<Box<dyn Listener>> {
        let Some(resampler) = resampler(path, rate, wanted)? else {
            return listening(path, rate);
        };
        let wanted = wanted.unwrap_or(rate);
        say_resampled(global, path, rate, wanted);
        Ok(Box::new(Self {
            from: rate,
            stream: ResampleStream::new(resampler),
            heard: Vec::new(),
            listener: listening(path, wanted)?,
        }))
    }
}

impl Listener for Resampled {
    fn columns(&self) -> Vec<String> {
        self.listener.columns()
    }

    fn hear(&mut self, piece: &[f32], rows: &mut Vec<f64>) -> Result<()> {
        self.heard.clear();
        self.stream.process(piece, &mut self.heard);
        self.listener.hear(&self.heard, rows)
    }

    fn finish(mut self: Box<Self>, rows: &mut Vec<f64>) -> Result<()> {
        self.heard.clear();
        self.stream.finish(&mut self.heard);
        self.listener.hear(&self.heard, rows)?;
        self.listener.finish(rows)
    }

    fn resampled_from(&self) -> Option<u32> {
        Some(self.from)
    }
}

/// What brings sound of a file to the rate that is wanted, where it has another.
pub(super) fn resampler(path: &Path, rate: u32, wanted: Option<u32>) -> Result<Option<Resampler>> {
    let Some(wanted) = wanted.filter(|wanted| *wanted != rate) else {
        return Ok(None);
    };
    let resampler = Resampler::new(rate, wanted, Quality::High);
    Ok(Some(
        resampler.map_err(|error| of_file(path, error.into()))?,
    ))
}

pub(super) fn say_resampled(global: &Global, path: &Path, from: u32, to: u32) {
    let path = path.display();
    note(
        global,
        &format!("note: `{path}` is resampled from {from} Hz to {to} Hz"),
    );
}

/// A listener for an analysis whose frames know nothing of each other: `analyse` appends rows of as many frames
/// as there are, in samples without padding.
pub(super) struct Framewise<F> {
    queue: FrameQueue,
    columns: Vec<String>,
    analyse: F,
}

impl<F: FnMut(&[f32], &mut Vec<f64>) -> Result<()> + 'static> Framewise<F> {
    /// `analyse` is made for the framing inside a signal.
    pub(super) fn listener(
        framing: Framing,
        columns: Vec<String>,
        analyse: impl FnOnce(Framing) -> Result<F>,
    ) -> Result<Box<dyn Listener>> {
        let queue = FrameQueue::new(framing)?;
        let analyse = analyse(queue.inner_framing())?;
        Ok(Box::new(Self {
            queue,
            columns,
            analyse,
        }))
    }

    fn take(&mut self, frames: usize, rows: &mut Vec<f64>) -> Result<()> {
        if frames > 0 {
            (self.analyse)(self.queue.frames(frames), rows)?;
            self.queue.remove(frames);
        }
        Ok(())
    }
}

impl<F: FnMut(&[f32], &mut Vec<f64>) -> Result<()> + 'static> Listener for Framewise<F> {
    fn columns(&self) -> Vec<String> {
        self.columns.clone()
    }

    fn hear(&mut self, piece: &[f32], rows: &mut Vec<f64>) -> Result<()> {
        self.queue.push(piece);
        self.take(self.queue.ready(), rows)
    }

    fn finish(mut self: Box<Self>, rows: &mut Vec<f64>) -> Result<()> {
        let frames = self.queue.close();
        self.take(frames, rows)
    }
}

/// Writes what a listener says of standard input, on standard output.
pub(super) fn listen(input: &Input, listener: Listening<'_>, form: TableForm) -> Result<Outcome> {
    let mut out = stdout().lock();
    let name = Path::new("-");
    let mut rows = Rows::new(listener, name, 0, form, &mut out);
    hear_pieces(input, name, |piece, rate| rows.hear(piece, rate))?;
    rows.finish()?;
    Ok(Outcome::Fine)
}

/// Writes what a listener says of a file.
pub(super) fn listen_to_file(
    input: &Input,
    path: &Path,
    listener: Listening<'_>,
    form: TableForm,
    out: &mut dyn Write,
) -> Result<()> {
    let mut rows = Rows::new(listener, path, FILE_PIECE, form, out);
    hear_ahead(input, path, |piece, rate| rows.hear(piece, rate))?;
    rows.finish()
}

/// All that a listener says of a file, where that is little.
pub(super) fn sheet_of_file(input: &Input, path: &Path, listener: Listening<'_>) -> Result<Sheet> {
    let mut begun: Option<Box<dyn Listener>> = None;
    let mut values = Vec::new();
    hear_ahead(input, path, |piece, rate| {
        let mut current = match begun.take() {
            Some(current) => current,
            None => listener(path, rate)?,
        };
        current.hear(piece, &mut values)?;
        begun = Some(current);
        Ok(())
    })?;
    let listener = begun.context("there is no sound")?;
    let columns = listener.columns();
    let resampled_from = listener.resampled_from();
    listener.finish(&mut values)?;
    Ok(Sheet {
        columns,
        values,
        resampled_from,
    })
}

/// As [`hear_pieces`]; the next pieces are decoded while `take` is busy.
pub(super) fn hear_ahead(
    input: &Input,
    name: &Path,
    mut take: impl FnMut(&[f32], u32) -> Result<()>,
) -> Result<()> {
    std::thread::scope(|scope| {
        let (pieces, heard) = sync_channel::<(Vec<f32>, u32)>(PIECES_AHEAD);
        // Memory of pieces that were heard takes the next ones: to get new memory costs as much as to decode.
        let (empty, spare) = channel::<Vec<f32>>();
        let decoding = scope.spawn(move || {
            let mut together: (Vec<f32>, u32) = Default::default();
            // Who is not listened to any more stops; why, the listener knows.
            let send = |ready: (Vec<f32>, u32)| pieces.send(ready).context("nobody listens");
            hear_pieces(input, name, |piece, rate| {
                together.0.extend_from_slice(piece);
                together.1 = rate;
                if together.0.len() >= FILE_PIECE {
                    let next = spare.try_recv().unwrap_or_default();
                    send(std::mem::replace(&mut together, (next, rate)))?;
                }
                Ok(())
            })?;
            send(together)
        });
        let mut taken = Ok(());
        for (mut piece, rate) in heard {
            taken = take(&piece, rate);
            if taken.is_err() {
                break;
            }
            piece.clear();
            // Whoever has decoded everything takes none back.
            let _ = empty.send(piece);
        }
        let decoded = decoding
            .join()
            .map_err(|_| anyhow!("decoding `{}` stopped", name.display()))?;
        taken.and(decoded)
    })
}

/// As [`hear_ahead`], at the rate that is wanted.
pub(super) fn hear_at(
    input: &Input,
    name: &Path,
    wanted: u32,
    mut take: impl FnMut(&[f32]) -> Result<()>,
) -> Result<()> {
    let mut stream: Option<ResampleStream> = None;
    let mut heard = Vec::new();
    hear_ahead(input, name, |piece, rate| {
        if rate == wanted {
            return take(piece);
        }
        let current = match stream.take() {
            Some(current) => Some(current),
            None => resampler(name, rate, Some(wanted))?.map(ResampleStream::new),
        };
        if let Some(mut current) = current {
            current.process(piece, &mut heard);
            stream = Some(current);
        }
        take(&heard)?;
        heard.clear();
        Ok(())
    })?;
    match stream {
        Some(stream) => {
            stream.finish(&mut heard);
            take(&heard)
        }
        None => Ok(()),
    }
}

/// Samples of a file: a first look for those whose frames depend on the length of the whole.
pub(super) fn count_samples(input: &Input, path: &Path) -> Result<usize> {
    let mut samples = 0;
    hear_pieces(input, path, |piece, _| {
        samples += piece.len();
        Ok(())
    })?;
    Ok(samples)
}

/// Checks and mixes the pieces of a file or of standard input, and hands them to `take` with the rate.
pub(super) fn hear_pieces(
    input: &Input,
    name: &Path,
    mut take: impl FnMut(&[f32], u32) -> Result<()>,
) -> Result<()> {
    each_checked_piece(input, name, |piece| match &piece.channels[..] {
        [only] if input.channels == ChannelChoice::Mix => take(only, piece.sample_rate),
        _ => take(&piece.signal(input.channels)?, piece.sample_rate),
    })
}

/// Hands the pieces of a file or of standard input to `take`, all channels, checked.
pub(super) fn each_checked_piece(
    input: &Input,
    name: &Path,
    mut take: impl FnMut(&Audio) -> Result<()>,
) -> Result<()> {
    let mut heard = 0;
    // What went wrong with a piece is kept whole; the reader sees only that it has to stop.
    let mut failure: Option<anyhow::Error> = None;
    let done = input.each_piece(name, &mut |piece| {
        let mut checked = || -> Result<()> {
            let cleaned = input.cleaned(piece);
            let piece = cleaned.as_ref().unwrap_or(piece);
            input.check(name, piece, heard)?;
            heard += piece.frames();
            take(piece)
        };
        checked().map_err(|error| {
            failure = Some(error);
            SignalError::Io {
                path: name.to_owned(),
                source: std::io::ErrorKind::Interrupted.into(),
            }
        })
    });
    match (failure, done) {
        (Some(error), _) => Err(error),
        (None, done) => done,
    }
}

/// The rows of a listener, on their way out.
struct Rows<'a, 'o> {
    listening: Listening<'a>,
    name: &'a Path,
    form: TableForm,
    state: State<'o>,
    /// Samples that are waited for before they are heard.
    piece: usize,
    waiting: Vec<f32>,
    rows: Vec<f64>,
}

/// Before the first piece nobody knows the rate, and so no columns.
enum State<'o> {
    Waiting(&'o mut dyn Write),
    Listening(Box<dyn Listener>, TableWriter<&'o mut dyn Write>),
    Failed,
}

impl<'a, 'o> Rows<'a, 'o> {
    fn new(
        listening: Listening<'a>,
        name: &'a Path,
        piece: usize,
        form: TableForm,
        out: &'o mut dyn Write,
    ) -> Self {
        Self {
            listening,
            name,
            form,
            state: State::Waiting(out),
            piece,
            waiting: Vec::new(),
            rows: Vec::new(),
        }
    }

    fn hear(&mut self, piece: &[f32], rate: u32) -> Result<()> {
        self.state = match std::mem::replace(&mut self.state, State::Failed) {
            State::Waiting(out) => {
                let listener = (self.listening)(self.name, rate)?;
                let columns = columns(&listener.columns());
                let mut table = TableWriter::begin(self.form, columns, out)?;
                if let Some(hertz) = listener.resampled_from() {
                    table.remark(RESAMPLED, hertz.into());
                }
                State::Listening(listener, table)
            }
            other => other,
        };
        if self.waiting.is_empty() && piece.len() >= self.piece {
            return self.pass_on(piece);
        }
        self.waiting.extend_from_slice(piece);
        if self.waiting.len() >= self.piece {
            self.pass_on_waiting()?;
        }
        Ok(())
    }

    fn pass_on_waiting(&mut self) -> Result<()> {
        let mut waiting = std::mem::take(&mut self.waiting);
        let passed = self.pass_on(&waiting);
        waiting.clear();
        self.waiting = waiting;
        passed
    }

    fn pass_on(&mut self, piece: &[f32]) -> Result<()> {
        if let State::Listening(listener, table) = &mut self.state {
            listener.hear(piece, &mut self.rows)?;
            table.rows(&self.rows)?;
            self.rows.clear();
            // Somebody may be waiting for these rows, and the next piece may take a while.
            table.flush()?;
        }
        Ok(())
    }

    fn finish(mut self) -> Result<()> {
        self.pass_on_waiting()?;
        if let State::Listening(listener, mut table) = self.state {
            listener.finish(&mut self.rows)?;
            table.rows(&self.rows)?;
            table.finish()?;
        }
        Ok(())
    }
}
