//! Sound that is heard piece by piece, from a pipe or a long file: rows are written as soon as they are
//! decided, and hours of it take no more memory than seconds.

use std::io::{Write, stdout};
use std::path::Path;

use anyhow::Result;
use warpsmith_voice::SignalError;

use super::csv_line::csv_line;
use super::input::Input;
use warpsmith_console::exit::Outcome;

/// Bytes on disk from which on a file is heard piece by piece where that says the same.
pub(super) const LONG_FILE_BYTES: u64 = 64 << 20;

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

/// Writes what a listener says of standard input, as CSV on standard output.
pub(super) fn listen(input: &Input, listener: Listening<'_>) -> Result<Outcome> {
    let name = Path::new("-");
    let mut rows = Rows::new(listener, 0);
    hear_pieces(input, name, |piece, rate| {
        rows.hear(&mut stdout().lock(), piece, rate)
    })?;
    rows.finish(&mut stdout().lock())?;
    Ok(Outcome::Fine)
}

/// Writes what a listener says of a file, as CSV.
pub(super) fn listen_to_file(
    input: &Input,
    path: &Path,
    listener: Listening<'_>,
    out: &mut dyn Write,
) -> Result<()> {
    let mut rows = Rows::new(listener, FILE_PIECE);
    hear_pieces(input, path, |piece, rate| rows.hear(out, piece, rate))?;
    rows.finish(out)
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
struct Rows<'a> {
    listening: Listening<'a>,
    current: Option<Box<dyn Listener>>,
    columns: usize,
    /// Samples that are waited for before they are heard.
    piece: usize,
    waiting: Vec<f32>,
    rows: Vec<f64>,
}

impl<'a> Rows<'a> {
    fn new(listening: Listening<'a>, piece: usize) -> Self {
        Self {
            listening,
            current: None,
            columns: 0,
            piece,
            waiting: Vec::new(),
            rows: Vec::new(),
        }
    }

    fn hear(&mut self, out: &mut dyn Write, piece: &[f32], rate: u32) -> Result<()> {
        if self.current.is_none() {
            let fresh = (self.listening)(rate)?;
            let columns = fresh.columns();
            writeln!(out, "{}", columns.join(","))?;
            self.columns = columns.len();
            self.current = Some(fresh);
        }
        self.waiting.extend_from_slice(piece);
        if self.waiting.len() >= self.piece {
            self.pass_on(out)?;
        }
        Ok(())
    }

    fn pass_on(&mut self, out: &mut dyn Write) -> Result<()> {
        if let Some(listener) = &mut self.current {
            listener.hear(&self.waiting, &mut self.rows)?;
            self.waiting.clear();
            self.write(out)?;
        }
        Ok(())
    }

    fn finish(mut self, out: &mut dyn Write) -> Result<()> {
        self.pass_on(out)?;
        if let Some(listener) = self.current.take() {
            listener.finish(&mut self.rows)?;
            self.write(out)?;
        }
        Ok(())
    }

    fn write(&mut self, out: &mut dyn Write) -> Result<()> {
        for row in self.rows.chunks_exact(self.columns) {
            writeln!(out, "{}", csv_line(row))?;
        }
        // Somebody may be waiting for these rows, and the next piece may take a while.
        out.flush()?;
        self.rows.clear();
        Ok(())
    }
}
