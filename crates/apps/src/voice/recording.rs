//! Files as recordings, which an analysis hears as often as it needs: long ones piece by piece.

use std::cell::RefCell;
use std::io;
use std::path::Path;

use anyhow::{Error, Result, anyhow};
use warpsmith_voice::SignalError;
use warpsmith_voice::signal::{InMemory, Recording};

use super::input::Input;
use super::live::{hear_ahead, hear_pieces, is_long};

/// Analyses a file: a long one piece by piece, any other as a whole.
pub(super) fn analyse<T>(
    input: &Input,
    path: &Path,
    analysis: impl FnOnce(&dyn Recording) -> Result<T, SignalError>,
) -> Result<T> {
    if is_long(input, path) {
        let file = FileRecording::open(input, path)?;
        return analysis(&file).map_err(|error| file.reason(error));
    }
    let (signal, sample_rate) = input.signal(path)?;
    Ok(analysis(&InMemory {
        signal: &signal,
        sample_rate,
    })?)
}

/// A file that is decoded each time it is heard.
pub(super) struct FileRecording<'a> {
    input: &'a Input,
    path: &'a Path,
    sample_rate: u32,
    /// Why it could not be heard, in full: an analysis is told only that it has to stop.
    failure: RefCell<Option<Error>>,
}

impl<'a> FileRecording<'a> {
    /// Finds out the rate of a file.
    pub(super) fn open(input: &'a Input, path: &'a Path) -> Result<Self> {
        input.check_kept(path)?;
        let mut known = None;
        let heard = hear_pieces(input, path, |_, rate| {
            known = Some(rate);
            // One piece is enough.
            Err(anyhow!("the rate is known"))
        });
        let sample_rate = match (known, heard) {
            (Some(rate), _) => rate,
            (None, heard) => return heard.and(Err(anyhow!("there is no sound"))),
        };
        Ok(Self {
            input,
            path,
            sample_rate,
            failure: RefCell::new(None),
        })
    }

    /// What really stopped an analysis.
    pub(super) fn reason(&self, error: SignalError) -> Error {
        self.failure.take().unwrap_or(error.into())
    }
}

impl Recording for FileRecording<'_> {
    fn sample_rate(&self) -> u32 {
        self.sample_rate
    }

    fn hear(
        &self,
        see: &mut dyn FnMut(&[f32]) -> Result<(), SignalError>,
    ) -> Result<(), SignalError> {
        let mut refused = None;
        let heard = hear_ahead(self.input, self.path, |piece, _| {
            see(piece).map_err(|error| {
                refused = Some(error);
                anyhow!("the analysis stopped")
            })
        });
        if let Some(error) = refused {
            return Err(error);
        }
        heard.map_err(|error| {
            self.failure.replace(Some(error));
            SignalError::Io {
                path: self.path.to_owned(),
                source: io::ErrorKind::Interrupted.into(),
            }
        })
    }
}
