//! Writing a recording, block by block.
//!
//! While it grows the file is called `NAME.partial`; it gets its name when it is complete. What
//! has been written stays readable under the first name whatever happens.

use std::io::{self, Write};
use std::path::Path;
use std::time::Duration;

use flate2::Compression;
use flate2::write::DeflateEncoder;
use warpsmith_formats::OutputFile;

use super::block;
use super::error::RecordingError;
use super::layout::{BLOCK_MAGIC, BlockPlace, END_MAGIC, INDEX_MAGIC, MAGIC, VERSION, checksum};
use crate::event::{Event, Inventory};

/// How much time a block covers: what a process that is killed loses, beside what it had not yet
/// handed over.
const BLOCK_SPAN: Duration = Duration::from_secs(1);
/// How many events a block holds at most.
const BLOCK_EVENTS: usize = 100_000;

/// A recording being made.
pub struct RecordingWriter {
    file: OutputFile,
    position: u64,
    places: Vec<BlockPlace>,
    events: Vec<Event>,
}

impl RecordingWriter {
    /// Begins a recording that will be called `path`.
    pub fn create(path: &Path, inventory: &Inventory) -> Result<Self, RecordingError> {
        let file = OutputFile::create_partial(path).map_err(|error| RecordingError::File {
            doing: "create",
            path: error.path().to_owned(),
            source: error.into(),
        })?;
        let mut writer = Self {
            file,
            position: 0,
            places: Vec::new(),
            events: Vec::new(),
        };
        // An inventory of strings and numbers always has a JSON form.
        let header = serde_json::to_vec(inventory).unwrap_or_default();
        let mut bytes = Vec::with_capacity(header.len() + 20);
        bytes.extend_from_slice(MAGIC);
        bytes.extend_from_slice(&VERSION.to_le_bytes());
        bytes.extend_from_slice(&0u16.to_le_bytes());
        bytes.extend_from_slice(&(header.len() as u32).to_le_bytes());
        bytes.extend_from_slice(&header);
        bytes.extend_from_slice(&checksum(&header).to_le_bytes());
        writer.append(&bytes)?;
        Ok(writer)
    }

    fn append(&mut self, bytes: &[u8]) -> Result<(), RecordingError> {
        // Each block is in the file before the next begins: it may be read, or the machine may stop.
        self.file
            .write_all(bytes)
            .and_then(|()| self.file.flush())
            .map_err(|source| self.refused("write", source))?;
        self.position += bytes.len() as u64;
        Ok(())
    }

    fn refused(&self, doing: &'static str, source: io::Error) -> RecordingError {
        RecordingError::File {
            doing,
            path: self.file.path().to_owned(),
            source,
        }
    }

    /// Adds an event; every second or so of them go to the file.
    pub fn push(&mut self, event: Event) -> Result<(), RecordingError> {
        let full = self
            .events
            .first()
            .is_some_and(|first| event.at.since(first.at) >= BLOCK_SPAN)
            || self.events.len() >= BLOCK_EVENTS;
        if full {
            self.flush()?;
        }
        self.events.push(event);
        Ok(())
    }

    /// Bytes written so far.
    pub fn bytes(&self) -> u64 {
        self.position
    }

    fn flush(&mut self) -> Result<(), RecordingError> {
        if self.events.is_empty() {
            return Ok(());
        }
        let plain = block::encode(&self.events);
        let mut encoder = DeflateEncoder::new(Vec::new(), Compression::new(7));
        let packed = encoder
            .write_all(&plain)
            .and_then(|()| encoder.finish())
            .map_err(|source| self.refused("compress", source))?;
        let times = self.events.iter().map(|event| event.at.0);
        let place = BlockPlace {
            offset: self.position,
            first: times.clone().min().unwrap_or(0),
            last: times.max().unwrap_or(0),
        };
        let mut bytes = Vec::with_capacity(packed.len() + 32);
        bytes.extend_from_slice(BLOCK_MAGIC);
        bytes.extend_from_slice(&(packed.len() as u32).to_le_bytes());
        bytes.extend_from_slice(&(plain.len() as u32).to_le_bytes());
        bytes.extend_from_slice(&place.first.to_le_bytes());
        bytes.extend_from_slice(&place.last.to_le_bytes());
        bytes.extend_from_slice(&checksum(&packed).to_le_bytes());
        bytes.extend_from_slice(&packed);
        self.append(&bytes)?;
        self.places.push(place);
        self.events.clear();
        Ok(())
    }

    /// Writes what is left and the index, and gives the file its name.
    pub fn finish(mut self) -> Result<u64, RecordingError> {
        self.flush()?;
        let mut entries = Vec::with_capacity(self.places.len() * 24);
        for place in &self.places {
            entries.extend_from_slice(&place.offset.to_le_bytes());
            entries.extend_from_slice(&place.first.to_le_bytes());
            entries.extend_from_slice(&place.last.to_le_bytes());
        }
        let start = self.position;
        let mut bytes = Vec::with_capacity(entries.len() + 32);
        bytes.extend_from_slice(INDEX_MAGIC);
        bytes.extend_from_slice(&(self.places.len() as u32).to_le_bytes());
        bytes.extend_from_slice(&entries);
        bytes.extend_from_slice(&checksum(&entries).to_le_bytes());
        bytes.extend_from_slice(&start.to_le_bytes());
        bytes.extend_from_slice(END_MAGIC);
        self.append(&bytes)?;
        self.file
            .finish_durably()
            .map_err(|error| RecordingError::File {
                doing: "finish",
                path: error.path().to_owned(),
                source: error.into(),
            })?;
        Ok(self.position)
    }
}
