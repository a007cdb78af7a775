//! The bytes of a column chunk as they came about, page by page: what is long is never copied on its way
//! from a page to the file.

use std::io::Read;

use bytes::{Buf, Bytes};
use parquet::errors::Result;
use parquet::file::reader::{ChunkReader, Length};

/// Pieces of one chunk, in order.
#[derive(Clone, Debug, Default)]
pub(crate) struct Pages {
    pieces: Vec<Bytes>,
    length: usize,
}

impl Pages {
    /// How many bytes there are.
    pub(super) fn length(&self) -> usize {
        self.length
    }

    /// Puts bytes after those that are there.
    pub(super) fn push(&mut self, piece: Bytes) {
        self.length += piece.len();
        self.pieces.push(piece);
    }

    /// The pieces, in order.
    pub(super) fn into_pieces(self) -> Vec<Bytes> {
        self.pieces
    }

    /// Puts other pages after these.
    pub(super) fn append(&mut self, other: Self) {
        self.length += other.length;
        self.pieces.extend(other.pieces);
    }
}

impl From<Vec<u8>> for Pages {
    fn from(bytes: Vec<u8>) -> Self {
        let mut pages = Self::default();
        pages.push(Bytes::from(bytes));
        pages
    }
}

impl Length for Pages {
    fn len(&self) -> u64 {
        self.length as u64
    }
}

impl ChunkReader for Pages {
    type T = PagesReader;

    fn get_read(&self, start: u64) -> Result<PagesReader> {
        let mut skipped = usize::try_from(start).unwrap_or(usize::MAX);
        let mut pieces = Vec::with_capacity(self.pieces.len());
        for piece in &self.pieces {
            let skip = skipped.min(piece.len());
            skipped -= skip;
            pieces.push(piece.slice(skip..));
        }
        Ok(PagesReader {
            pieces: pieces.into_iter(),
            current: Bytes::new(),
        })
    }

    fn get_bytes(&self, start: u64, length: usize) -> Result<Bytes> {
        let mut bytes = vec![0; length];
        self.get_read(start)?.read_exact(&mut bytes)?;
        Ok(Bytes::from(bytes))
    }
}

/// Reads pages one after the other.
#[derive(Debug)]
pub(crate) struct PagesReader {
    pieces: std::vec::IntoIter<Bytes>,
    current: Bytes,
}

impl Read for PagesReader {
    fn read(&mut self, out: &mut [u8]) -> std::io::Result<usize> {
        while self.current.is_empty() {
            match self.pieces.next() {
                Some(piece) => self.current = piece,
                None => return Ok(0),
            }
        }
        let length = out.len().min(self.current.len());
        self.current.copy_to_slice(&mut out[..length]);
        Ok(length)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_read_as_one_text_from_any_place() {
        let mut pages = Pages::from(b"one ".to_vec());
        pages.push(Bytes::new());
        pages.append(Pages::from(b"two ".to_vec()));
        pages.push(Bytes::from_static(b"three"));
        assert_eq!(pages.len(), 13);
        for start in 0..=13 {
            let mut text = String::new();
            let mut reader = pages.get_read(start).unwrap();
            reader.read_to_string(&mut text).unwrap();
            assert_eq!(text, "one two three"[start as usize..]);
        }
        assert_eq!(pages.get_bytes(2, 5).unwrap(), "e two"[..].as_bytes());
        assert!(pages.get_bytes(10, 4).is_err());
    }
}
