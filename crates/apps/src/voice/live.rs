//! Sound that is heard piece by piece, from a pipe or a long file: rows are written as soon as they are
//! decided, and hours of it take no more memory than seconds.

use std::io::{Write, stdout};
use std::path::Path;

use anyhow::Result;
use warpsmith_formats::table::{TableForm, TableWriter};
use warpsmith_voice::SignalError;

use super::input::Input;
use super::sheet::columns;
use warpsmith_console::exit::Outcome;

/// Bytes on disk from which on a file is heard piece by piece where that says the same.
pub(super) const LONG_FILE_BYTES: u64 = 4 << 20;

/// Samples of a file that are heard at a time.
const FILE_PIECE: usize = 1 << 16;

/// What makes rows of the pieces of a signal.
pub(super) trait Listener {
    /// Names of the columns.
    fn columns(&self) -> Vec<String>;
    /// Takes the next samples; appends the rows that they decide. NaN is an absent value.
    fn hear(&mut self, piece: &[f32], rows: &mut Vec<f64>) -> Result<()>;
    /// Ends the signal; appends the rows that are left.
    fn finish(self: Box<Self>, rows: &mut Vec<f64>) -> Result<()>;
}

/// Makes the listener for a sample rate.
pub(super) type Listening<'a> = &'a dyn Fn(u32) -> Result<Box<dyn Listener>>;

/// Writes what a listener says of standard input, on standard output.
pub(super) fn listen(input: &Input, listener: Listening<'_>, form: TableForm) -> Result<Outcome> {
    let mut out = stdout().lock();
    let mut rows = Rows::new(listener, 0, form, &mut out);
    hear_pieces(input, Path::new("-"), |piece, rate| rows.hear(piece, rate))?;
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
    let mut rows = Rows::new(listener, FILE_PIECE, form, out);
    hear_pieces(input, path, |piece, rate| rows.hear(piece, rate))?;
    rows.finish()
}

/// Checks and mixes the pieces of a file or of standard input, and hands them to `take` with the rate.
fn hear_pieces(
    input: &Input,
    name: &Path,
    mut take: impl FnMut(&[f32], u32) -> Result<()>,
) -> Result<()> {
    let mut heard = 0;
    // What went wrong with a piece is kept whole; the reader sees only that it has to stop.
    let mut failure: Option<anyhow::Error> = None;
    let done = input.each_piece(name, &mut |piece| {
        let mut checked = || -> Result<()> {
            let mut piece = piece.clone();
            input.check(name, &mut piece, heard)?;
            heard += piece.frames();
            take(&piece.signal(input.channels)?, piece.sample_rate)
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
        piece: usize,
        form: TableForm,
        out: &'o mut dyn Write,
    ) -> Self {
        Self {
            listening,
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
                let listener = (self.listening)(rate)?;
                let table = TableWriter::begin(self.form, columns(&listener.columns()), out)?;
                State::Listening(listener, table)
            }
            other => other,
        };
        self.waiting.extend_from_slice(piece);
        if self.waiting.len() >= self.piece {
            self.pass_on()?;
        }
        Ok(())
    }

    fn pass_on(&mut self) -> Result<()> {
        if let State::Listening(listener, table) = &mut self.state {
            listener.hear(&self.waiting, &mut self.rows)?;
            self.waiting.clear();
            table.rows(&self.rows)?;
            self.rows.clear();
            // Somebody may be waiting for these rows, and the next piece may take a while.
            table.flush()?;
        }
        Ok(())
    }

    fn finish(mut self) -> Result<()> {
        self.pass_on()?;
        if let State::Listening(listener, mut table) = self.state {
            listener.finish(&mut self.rows)?;
            table.rows(&self.rows)?;
            table.finish()?;
        }
        Ok(())
    }
}
