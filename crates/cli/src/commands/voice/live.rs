//! Sound that is still arriving through a pipe: rows are written as soon as they are decided, and hours
//! of it take no more memory than seconds.

use std::io::{Write, stdin, stdout};
use std::path::Path;

use anyhow::{Result, anyhow};
use warpsmith_voice::{Audio, VoiceError};

use super::input::Input;
use super::sheet::cell;
use crate::exit::Outcome;

/// What makes rows of the pieces of a signal.
pub(super) trait Listener {
    /// Names of the columns.
    fn columns(&self) -> &'static [&'static str];
    /// Takes the next samples; appends the rows that they decide. NaN is an absent value.
    fn hear(&mut self, piece: &[f32], rows: &mut Vec<f64>) -> Result<()>;
    /// Ends the signal; appends the rows that are left.
    fn finish(self: Box<Self>, rows: &mut Vec<f64>) -> Result<()>;
}

/// Writes what a listener says of standard input, as CSV on standard output.
pub(super) fn listen(
    input: &Input,
    listener: impl Fn(u32) -> Result<Box<dyn Listener>>,
) -> Result<Outcome> {
    let mut heard = 0;
    let mut current: Option<Box<dyn Listener>> = None;
    let mut rows = Vec::new();
    // What went wrong with a piece is kept whole; the reader sees only that it has to stop.
    let mut failure: Option<anyhow::Error> = None;
    let name = Path::new("-");
    let read = Audio::each_piece(name, stdin(), &mut |piece| {
        let mut take = || -> Result<()> {
            let mut piece = piece.clone();
            input.check(name, &mut piece, heard)?;
            heard += piece.frames();
            if current.is_none() {
                let fresh = listener(piece.sample_rate)?;
                writeln!(stdout().lock(), "{}", fresh.columns().join(","))?;
                current = Some(fresh);
            }
            if let Some(listener) = &mut current {
                listener.hear(&piece.signal(input.channels)?, &mut rows)?;
                write_rows(listener.columns().len(), &mut rows)?;
            }
            Ok(())
        };
        take().map_err(|error| {
            failure = Some(error);
            VoiceError::Io {
                path: name.to_owned(),
                source: std::io::ErrorKind::Interrupted.into(),
            }
        })
    });
    match (failure, read) {
        (Some(error), _) => return Err(error),
        (None, Err(error)) => return Err(anyhow!(error)),
        (None, Ok(())) => {}
    }
    if let Some(listener) = current {
        let columns = listener.columns().len();
        listener.finish(&mut rows)?;
        write_rows(columns, &mut rows)?;
    }
    Ok(Outcome::Fine)
}

fn write_rows(columns: usize, rows: &mut Vec<f64>) -> Result<()> {
    let mut out = stdout().lock();
    for row in rows.chunks_exact(columns) {
        let cells: Vec<String> = row.iter().map(|value| cell(*value)).collect();
        writeln!(out, "{}", cells.join(","))?;
    }
    // Somebody may be waiting for these rows, and the next piece may take a while.
    out.flush()?;
    rows.clear();
    Ok(())
}
