//! Reading a recording: by the index of a complete file, by the blocks' own heads otherwise.
//!
//! Invariants: a block that is damaged is passed over and counted, and costs no other block; what is
//! given out has passed its checksum.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use flate2::read::DeflateDecoder;

use super::block;
use super::error::RecordingError;
use super::layout::{
    BLOCK_HEAD_BYTES, BLOCK_LIMIT, BLOCK_MAGIC, BlockPlace, END_MAGIC, FOOTER_BYTES, HEADER_LIMIT,
    INDEX_ENTRY_BYTES, INDEX_MAGIC, MAGIC, PREFIX_BYTES, VERSION, checksum, u32_at, u64_at,
};
use crate::Micros;
use crate::event::{Event, Inventory};

/// A recording that was opened: its inventory and where its blocks are.
#[derive(Debug)]
pub struct Recording {
    path: PathBuf,
    inventory: Inventory,
    places: Vec<BlockPlace>,
    complete: bool,
    /// Damaged places that were passed over while the blocks were found.
    passed_over: usize,
}

/// Reads from a file with errors that name it.
struct Source {
    path: PathBuf,
    file: File,
    length: u64,
}

impl Source {
    fn open(path: &Path) -> Result<Self, RecordingError> {
        let refused = |source| RecordingError::File {
            doing: "open",
            path: path.to_owned(),
            source,
        };
        let file = File::open(path).map_err(refused)?;
        let length = file.metadata().map_err(refused)?.len();
        Ok(Self {
            path: path.to_owned(),
            file,
            length,
        })
    }

    fn damaged(&self, offset: u64, what: impl Into<String>) -> RecordingError {
        RecordingError::Damaged {
            path: self.path.clone(),
            offset,
            what: what.into(),
        }
    }

    /// `length` bytes at `offset`; refused before memory is taken where the file is too short.
    fn read(&mut self, offset: u64, length: u64) -> Result<Vec<u8>, RecordingError> {
        let fits = offset
            .checked_add(length)
            .is_some_and(|end| end <= self.length);
        if !fits {
            return Err(self.damaged(offset, "the file ends here"));
        }
        let mut read = || -> io::Result<Vec<u8>> {
            self.file.seek(SeekFrom::Start(offset))?;
            let mut bytes = vec![0; usize::try_from(length).map_err(io::Error::other)?];
            self.file.read_exact(&mut bytes)?;
            Ok(bytes)
        };
        read().map_err(|source| RecordingError::File {
            doing: "read",
            path: self.path.clone(),
            source,
        })
    }

    /// The inventory and where the first block begins.
    fn header(&mut self) -> Result<(Inventory, u64), RecordingError> {
        let not_a_recording = RecordingError::NotARecording {
            path: self.path.clone(),
        };
        if self.length < PREFIX_BYTES {
            return Err(not_a_recording);
        }
        let prefix = self.read(0, PREFIX_BYTES)?;
        if &prefix[..8] != MAGIC {
            return Err(not_a_recording);
        }
        let found = u16::from_le_bytes([prefix[8], prefix[9]]);
        if found > VERSION {
            return Err(RecordingError::Newer {
                path: self.path.clone(),
                found,
                supported: VERSION,
            });
        }
        let length = u32_at(&prefix, 12);
        if length > HEADER_LIMIT {
            return Err(self.damaged(12, format!("a header of {length} bytes")));
        }
        let bytes = self.read(PREFIX_BYTES, u64::from(length) + 4)?;
        let (header, sum) = bytes.split_at(length as usize);
        if checksum(header) != u32_at(sum, 0) {
            return Err(self.damaged(PREFIX_BYTES, "the header's checksum differs"));
        }
        let inventory = serde_json::from_slice(header)
            .map_err(|error| self.damaged(PREFIX_BYTES, error.to_string()))?;
        Ok((inventory, PREFIX_BYTES + u64::from(length) + 4))
    }

    /// The index of a complete file.
    fn index(&mut self) -> Option<Vec<BlockPlace>> {
        let footer_at = self.length.checked_sub(FOOTER_BYTES)?;
        let footer = self.read(footer_at, FOOTER_BYTES).ok()?;
        if &footer[8..] != END_MAGIC {
            return None;
        }
        let start = u64_at(&footer, 0);
        let bytes = self.read(start, footer_at.checked_sub(start)?).ok()?;
        if bytes.len() < 12 || &bytes[..4] != INDEX_MAGIC {
            return None;
        }
        let entries = &bytes[8..bytes.len() - 4];
        let count = u64::from(u32_at(&bytes, 4));
        if entries.len() as u64 != count * INDEX_ENTRY_BYTES
            || checksum(entries) != u32_at(&bytes, bytes.len() - 4)
        {
            return None;
        }
        let places = entries.chunks_exact(INDEX_ENTRY_BYTES as usize);
        Some(
            places
                .map(|entry| BlockPlace {
                    offset: u64_at(entry, 0),
                    first: u64_at(entry, 8),
                    last: u64_at(entry, 16),
                })
                .collect(),
        )
    }

    /// The head of the block at `offset`: packed length, plain length, checksum, times.
    fn block_head(&mut self, offset: u64) -> Result<(u32, u32, u32, BlockPlace), RecordingError> {
        let head = self.read(offset, BLOCK_HEAD_BYTES)?;
        if &head[..4] != BLOCK_MAGIC {
            return Err(self.damaged(offset, "no block begins here"));
        }
        let (packed, plain) = (u32_at(&head, 4), u32_at(&head, 8));
        if packed > BLOCK_LIMIT || plain > BLOCK_LIMIT {
            return Err(self.damaged(offset, format!("a block of {plain} bytes")));
        }
        let place = BlockPlace {
            offset,
            first: u64_at(&head, 12),
            last: u64_at(&head, 20),
        };
        Ok((packed, plain, u32_at(&head, 28), place))
    }

    /// The whole blocks of a file without an index, and how many damaged places lie between them. Each
    /// block is read, because its head has no checksum of its own and says where the next begins.
    fn scan(&mut self, mut offset: u64) -> (Vec<BlockPlace>, usize) {
        let (mut places, mut passed_over) = (Vec::new(), 0);
        let mut damage = false;
        while let Some(found) = self.find_block(offset) {
            damage |= found > offset;
            let read = self.block_head(found).and_then(|(packed, ..)| {
                let events = self.block(found)?;
                Ok((packed, events))
            });
            let Ok((packed, events)) = read else {
                damage = true;
                offset = found + 1;
                continue;
            };
            // Damage at the very end is an end that is missing.
            passed_over += usize::from(std::mem::take(&mut damage));
            offset = found + BLOCK_HEAD_BYTES + u64::from(packed);
            let times = events.iter().map(|event| event.at.0);
            if let Some((first, last)) = times.clone().min().zip(times.max()) {
                places.push(BlockPlace {
                    offset: found,
                    first,
                    last,
                });
            }
        }
        (places, passed_over)
    }

    /// Where the next block may begin, from `offset` on.
    fn find_block(&mut self, mut offset: u64) -> Option<u64> {
        const WINDOW: u64 = 1 << 20;
        let mark = BLOCK_MAGIC.len() as u64;
        while offset + mark <= self.length {
            let window = WINDOW.min(self.length - offset);
            let bytes = self.read(offset, window).ok()?;
            let found = bytes
                .windows(BLOCK_MAGIC.len())
                .position(|bytes| bytes == BLOCK_MAGIC);
            if let Some(found) = found {
                return Some(offset + found as u64);
            }
            // A mark may lie across two windows.
            offset += window - (mark - 1);
        }
        None
    }

    fn block(&mut self, offset: u64) -> Result<Vec<Event>, RecordingError> {
        let (packed_length, plain_length, sum, _) = self.block_head(offset)?;
        let packed = self.read(offset + BLOCK_HEAD_BYTES, packed_length.into())?;
        if checksum(&packed) != sum {
            return Err(self.damaged(offset, "the block's checksum differs"));
        }
        let mut plain = Vec::new();
        let limit = u64::from(plain_length) + 1;
        DeflateDecoder::new(packed.as_slice())
            .take(limit)
            .read_to_end(&mut plain)
            .map_err(|error| self.damaged(offset, error.to_string()))?;
        if plain.len() as u64 != u64::from(plain_length) {
            return Err(self.damaged(offset, "the block has another length than it says"));
        }
        block::decode(&plain).map_err(|what| self.damaged(offset, what))
    }
}

impl Recording {
    /// Opens a recording: reads its header and finds its blocks, without reading them.
    pub fn open(path: &Path) -> Result<Self, RecordingError> {
        let mut source = Source::open(path)?;
        let (inventory, start) = source.header()?;
        let index = source.index();
        let complete = index.is_some();
        let (places, passed_over) = match index {
            Some(places) => (places, 0),
            None => source.scan(start),
        };
        Ok(Self {
            passed_over,
            path: path.to_owned(),
            inventory,
            places,
            complete,
        })
    }

    /// What was recorded.
    pub fn inventory(&self) -> &Inventory {
        &self.inventory
    }

    /// Whether the file ends as it should; what is there of an incomplete one can be read.
    pub fn is_complete(&self) -> bool {
        self.complete
    }

    /// The first and the last moment; `None` where nothing was recorded.
    pub fn span(&self) -> Option<(Micros, Micros)> {
        let first = self.places.iter().map(|place| place.first).min()?;
        let last = self.places.iter().map(|place| place.last).max()?;
        Some((Micros(first), Micros(last)))
    }

    /// All events, in order.
    pub fn events(&self) -> Events {
        self.events_from(Micros(0))
    }

    /// The events from a moment on; blocks that end before it are not read.
    pub fn events_from(&self, from: Micros) -> Events {
        Events {
            path: self.path.clone(),
            source: None,
            places: self
                .places
                .iter()
                .copied()
                .filter(|place| place.last >= from.0)
                .collect(),
            next_place: 0,
            from,
            ready: Vec::new().into_iter(),
            damaged: self.passed_over,
        }
    }
}

/// The events of a recording. Damaged blocks are passed over; ends after a file that cannot be read.
pub struct Events {
    path: PathBuf,
    source: Option<Source>,
    places: Vec<BlockPlace>,
    next_place: usize,
    from: Micros,
    ready: std::vec::IntoIter<Event>,
    damaged: usize,
}

impl Events {
    /// Damaged blocks that were passed over so far.
    pub fn damaged(&self) -> usize {
        self.damaged
    }

    fn next_block(&mut self) -> Result<bool, RecordingError> {
        let Some(place) = self.places.get(self.next_place).copied() else {
            return Ok(false);
        };
        self.next_place += 1;
        let source = match self.source.take() {
            Some(source) => self.source.insert(source),
            None => self.source.insert(Source::open(&self.path)?),
        };
        match source.block(place.offset) {
            Ok(events) => self.ready = events.into_iter(),
            Err(RecordingError::Damaged { .. }) => self.damaged += 1,
            Err(error) => return Err(error),
        }
        Ok(true)
    }
}

impl Iterator for Events {
    type Item = Result<Event, RecordingError>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if let Some(event) = self.ready.find(|event| event.at >= self.from) {
                return Some(Ok(event));
            }
            match self.next_block() {
                Ok(true) => {}
                Ok(false) => return None,
                Err(error) => {
                    self.next_place = self.places.len();
                    return Some(Err(error));
                }
            }
        }
    }
}
