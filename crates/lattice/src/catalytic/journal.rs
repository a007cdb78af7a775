//! The journal beside a borrowed file: what is needed to put every bit back after the process was
//! killed in the middle.
//!
//! A run is a sequence of moves, each of which changes one block of rows (or one word). Before a
//! move, the old contents of what it will change are copied into one of two slots, and then one
//! word says which move is about to happen and which slot holds its past. A kill at any instant
//! leaves a word that names a move whose slot is whole: copying the slot back gives the state
//! before that move, from which the rest is undone.
//!
//! Invariants: the slot named by the word is never written; the word is written after the slot and
//! before the block. This survives the death of the process, not that of the machine: nothing
//! waits for the disk.

use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering, fence};

use sha2::{Digest, Sha256};
use warpsmith_formats::write_new_private;

use super::mapped_file::MappedFile;
use crate::error::LatticeError;
use crate::shape::Shape;

const MAGIC: &[u8; 8] = b"WSMJRN01";
/// Magic, twelve words, checksum.
const HEADER_BYTES: usize = 8 + 12 * 8 + 8;
const STATE_OFFSET: usize = 128;
const SLOTS_OFFSET: usize = 256;

/// What a journal says about its run; enough to undo it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Header {
    pub(super) shape: Shape,
    pub(super) steps: u32,
    pub(super) source: usize,
    pub(super) tap: usize,
    /// Share of blocked cells and seed; `None` where all cells are open.
    pub(super) obstacles: Option<(f64, u64)>,
    pub(super) rows_per_block: usize,
    /// Length of the borrowed file.
    pub(super) borrowed_bytes: u64,
}

/// A move that is about to be made, and the state before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Armed {
    pub(super) kind: MoveKind,
    /// Blocks done, over all steps.
    pub(super) position: u64,
    /// Whether the source's word has been raised.
    pub(super) poked: bool,
    /// Which slot holds the past.
    pub(super) slot: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum MoveKind {
    /// From `position` to the next.
    Forward,
    /// From `position` to the one before.
    Back,
    /// Raises the source's word.
    Poke,
    /// Lowers it again.
    Unpoke,
}

impl Armed {
    pub(super) fn to_word(self) -> u64 {
        let kind = match self.kind {
            MoveKind::Forward => 1,
            MoveKind::Back => 2,
            MoveKind::Poke => 3,
            MoveKind::Unpoke => 4,
        };
        self.position << 8 | (self.slot as u64) << 4 | u64::from(self.poked) << 3 | kind
    }

    /// `Ok(None)` where nothing was begun.
    pub(super) fn from_word(word: u64) -> Result<Option<Self>, String> {
        let kind = match word & 7 {
            0 if word == 0 => return Ok(None),
            1 => MoveKind::Forward,
            2 => MoveKind::Back,
            3 => MoveKind::Poke,
            4 => MoveKind::Unpoke,
            _ => return Err(format!("its state {word:#x} is none that a run leaves")),
        };
        if word & 0xe0 != 0 {
            return Err(format!("its state {word:#x} is none that a run leaves"));
        }
        Ok(Some(Self {
            kind,
            position: word >> 8,
            poked: word >> 3 & 1 == 1,
            slot: (word >> 4 & 1) as usize,
        }))
    }
}

impl Header {
    pub(super) fn block_words(&self) -> usize {
        self.rows_per_block * self.shape.row()
    }

    pub(super) fn blocks(&self) -> usize {
        self.shape.rows().div_ceil(self.rows_per_block)
    }

    fn file_bytes(&self) -> usize {
        SLOTS_OFFSET + 2 * 4 * self.block_words()
    }

    fn encode(&self) -> Vec<u8> {
        let [nz, ny, nx] = self.shape.extents();
        let (share, seed) = self.obstacles.unwrap_or((0.0, 0));
        let words = [
            self.shape.dimensions() as u64,
            nz as u64,
            ny as u64,
            nx as u64,
            u64::from(self.steps),
            self.source as u64,
            self.tap as u64,
            u64::from(self.obstacles.is_some()),
            share.to_bits(),
            seed,
            self.rows_per_block as u64,
            self.borrowed_bytes,
        ];
        let mut bytes = MAGIC.to_vec();
        bytes.extend(words.iter().flat_map(|word| word.to_le_bytes()));
        let checksum = checksum(&bytes);
        bytes.extend(checksum);
        bytes
    }

    /// Reads a header back; every way in which it can be wrong has words.
    pub(super) fn decode(bytes: &[u8]) -> Result<Self, String> {
        let header = bytes
            .get(..HEADER_BYTES)
            .ok_or_else(|| format!("{} bytes are not a journal", bytes.len()))?;
        let (body, sum) = header.split_at(HEADER_BYTES - 8);
        if !body.starts_with(MAGIC) {
            return Err("it is not a journal of a borrowed-memory run".to_owned());
        }
        if sum != checksum(body) {
            return Err("its header is damaged: the checksum does not fit".to_owned());
        }
        let mut words = [0u64; 12];
        for (word, bytes) in words.iter_mut().zip(body[8..].chunks_exact(8)) {
            *word = bytes
                .iter()
                .rev()
                .fold(0, |word, &byte| word << 8 | u64::from(byte));
        }
        let size = |word: u64| usize::try_from(word).map_err(|_| "a size is too large".to_owned());
        let extents = [size(words[1])?, size(words[2])?, size(words[3])?];
        let dimensions = size(words[0])?;
        if !(1..=3).contains(&dimensions) {
            return Err(format!("a lattice of {dimensions} dimensions"));
        }
        let shape = Shape::new(&extents[3 - dimensions..]).map_err(|error| error.to_string())?;
        let header = Self {
            shape,
            steps: u32::try_from(words[4]).map_err(|_| "too many steps".to_owned())?,
            source: size(words[5])?,
            tap: size(words[6])?,
            obstacles: (words[7] != 0).then_some((f64::from_bits(words[8]), words[9])),
            rows_per_block: size(words[10])?,
            borrowed_bytes: words[11],
        };
        let fits = shape.extents() == extents
            && header.source < shape.cells()
            && header.tap < shape.cells()
            && (1..=shape.rows()).contains(&header.rows_per_block)
            && header.borrowed_bytes >= 8 * shape.cells() as u64
            && header
                .obstacles
                .is_none_or(|(share, _)| (0.0..=100.0).contains(&share));
        if fits {
            Ok(header)
        } else {
            Err("its header contradicts itself".to_owned())
        }
    }
}

fn checksum(bytes: &[u8]) -> [u8; 8] {
    let mut sum = [0; 8];
    sum.copy_from_slice(&Sha256::digest(bytes)[..8]);
    sum
}

/// An open journal.
#[derive(Debug)]
pub(super) struct Journal {
    map: MappedFile,
    pub(super) header: Header,
    next_slot: usize,
}

impl Journal {
    /// Writes a journal for a run that has not begun. The file appears whole or not at all.
    pub(super) fn create(path: &Path, header: Header) -> Result<Self, LatticeError> {
        let file = |source| LatticeError::File {
            attempted: "write the journal",
            path: path.to_owned(),
            source,
        };
        let mut bytes = header.encode();
        bytes.resize(header.file_bytes(), 0);
        // It will hold what was in the file, which may be private. One that is there already is the
        // only way back for somebody's memory.
        write_new_private(path, &bytes).map_err(|error| {
            let error = std::io::Error::from(error);
            match error.kind() {
                std::io::ErrorKind::AlreadyExists => LatticeError::Content {
                    path: path.to_owned(),
                    problem: "an earlier run was interrupted; put its memory back first with \
                              `warpsmith lattice catalytic --restore`"
                        .to_owned(),
                },
                _ => file(error),
            }
        })?;
        Self::open(path)
    }

    /// Opens a journal that a run left.
    pub(super) fn open(path: &Path) -> Result<Self, LatticeError> {
        let map = MappedFile::open(path, "open the journal")?;
        let bad = |problem: String| LatticeError::Content {
            path: path.to_owned(),
            problem,
        };
        let header = Header::decode(map.bytes()).map_err(bad)?;
        if map.bytes().len() != header.file_bytes() {
            return Err(bad(format!(
                "{} bytes, its header asks for {}",
                map.bytes().len(),
                header.file_bytes()
            )));
        }
        let journal = Self {
            map,
            header,
            next_slot: 0,
        };
        journal.armed().map_err(bad)?;
        Ok(journal)
    }

    fn state(&self) -> &AtomicU64 {
        self.map.word(STATE_OFFSET)
    }

    /// The move that was about to happen.
    pub(super) fn armed(&self) -> Result<Option<Armed>, String> {
        let armed = Armed::from_word(self.state().load(Ordering::SeqCst))?;
        let last = u64::from(self.header.steps) * self.header.blocks() as u64;
        match armed {
            Some(armed)
                if armed.position > last
                    || (armed.kind == MoveKind::Forward && armed.position == last)
                    || (armed.kind == MoveKind::Back && armed.position == 0) =>
            {
                Err(format!("its position {} is beyond its run", armed.position))
            }
            armed => Ok(armed),
        }
    }

    /// The past of a move that a run left behind.
    pub(super) fn past(&self, slot: usize) -> &[u32] {
        let words = self.header.block_words();
        let first = SLOTS_OFFSET + slot * 4 * words;
        self.map.words(first, words)
    }

    /// Keeps `past`, then says that a move is about to happen.
    pub(super) fn arm(&mut self, kind: MoveKind, position: u64, poked: bool, past: &[u32]) {
        let slot = self.next_slot;
        self.next_slot = 1 - slot;
        let words = self.header.block_words();
        let first = SLOTS_OFFSET + slot * 4 * words;
        self.map.words_mut(first, words)[..past.len()].copy_from_slice(past);
        let word = Armed {
            kind,
            position,
            poked,
            slot,
        }
        .to_word();
        // Neither the slot may come after the word nor the block before it.
        fence(Ordering::SeqCst);
        self.state().store(word, Ordering::SeqCst);
        fence(Ordering::SeqCst);
    }

    /// The slot named by the journal must not be the next one written.
    pub(super) fn spare(&mut self, slot: usize) {
        self.next_slot = 1 - slot;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn header() -> Header {
        Header {
            shape: Shape::new(&[4, 5, 6]).unwrap(),
            steps: 9,
            source: 3,
            tap: 100,
            obstacles: Some((25.0, 7)),
            rows_per_block: 3,
            borrowed_bytes: 8 * 120,
        }
    }

    #[test]
    fn headers_come_back() {
        assert_eq!(Header::decode(&header().encode()), Ok(header()));
    }

    proptest! {
        #[test]
        fn any_damage_to_a_header_is_seen(at in 0usize..HEADER_BYTES, flip in 1u8..=255) {
            let mut bytes = header().encode();
            bytes[at] ^= flip;
            prop_assert!(Header::decode(&bytes).is_err());
        }

        #[test]
        fn any_bytes_are_a_header_or_an_error(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
            prop_assert!(Header::decode(&bytes).is_err());
        }

        #[test]
        fn a_header_with_a_good_checksum_is_sound_or_refused(
            words in prop::collection::vec(prop_oneof![0u64..8, any::<u64>()], 12),
        ) {
            let mut bytes = MAGIC.to_vec();
            bytes.extend(words.iter().flat_map(|word| word.to_le_bytes()));
            bytes.extend(checksum(&bytes.clone()));
            if let Ok(header) = Header::decode(&bytes) {
                prop_assert!(header.blocks() * header.rows_per_block >= header.shape.rows());
                prop_assert!(header.source < header.shape.cells());
            }
        }

        #[test]
        fn states_come_back_and_others_are_refused(word in any::<u64>()) {
            if let Ok(Some(armed)) = Armed::from_word(word) {
                prop_assert_eq!(armed.to_word(), word);
            }
        }
    }
}
