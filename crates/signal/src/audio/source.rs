//! What audio is read from, and how far it has been read.

use std::io::{self, Read, Seek, SeekFrom};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use symphonia::core::io::MediaSource;

/// What audio is read from.
pub(crate) trait Source: Read + Seek + Send + Sync {}
impl<T: Read + Seek + Send + Sync> Source for T {}

/// A source that says how far it has been read.
pub(super) struct Counted<R> {
    pub(super) inner: R,
    pub(super) position: Arc<AtomicU64>,
    /// Where it can seek, its bytes.
    pub(super) length: Option<u64>,
}

impl<R: Read> Read for Counted<R> {
    fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        let count = self.inner.read(to)?;
        self.position.fetch_add(count as u64, Ordering::Relaxed);
        Ok(count)
    }
}

impl<R: Seek> Seek for Counted<R> {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        let position = self.inner.seek(to)?;
        self.position.store(position, Ordering::Relaxed);
        Ok(position)
    }
}

impl<R: Read + Seek + Send + Sync> MediaSource for Counted<R> {
    fn is_seekable(&self) -> bool {
        self.length.is_some()
    }

    fn byte_len(&self) -> Option<u64> {
        self.length
    }
}

/// Bytes of a header that is read from a source that cannot go back.
const REMEMBERED: usize = 1 << 20;

/// A source that can go back, and over what is not yet read, among its first bytes; later it only goes forwards.
pub(super) struct Remembered<R> {
    inner: R,
    /// The first bytes, until there are more.
    first: Vec<u8>,
    position: u64,
}

impl<R: Read> Remembered<R> {
    pub(super) fn new(inner: R) -> Self {
        Self {
            inner,
            first: Vec::new(),
            position: 0,
        }
    }

    /// Bytes from here on that were read before.
    fn known(&self) -> &[u8] {
        let from = usize::try_from(self.position).unwrap_or(usize::MAX);
        self.first.get(from..).unwrap_or_default()
    }
}

impl<R: Read> Read for Remembered<R> {
    fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        let known = self.known();
        let count = if known.is_empty() {
            let count = self.inner.read(to)?;
            if self.position == self.first.len() as u64 && self.first.len() + count <= REMEMBERED {
                self.first.extend_from_slice(&to[..count]);
            } else {
                self.first = Vec::new();
            }
            count
        } else {
            let count = known.len().min(to.len());
            to[..count].copy_from_slice(&known[..count]);
            count
        };
        self.position += count as u64;
        Ok(count)
    }
}

impl<R: Read> Seek for Remembered<R> {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        let target = match to {
            SeekFrom::Start(target) => Some(target),
            SeekFrom::Current(by) => self.position.checked_add_signed(by),
            SeekFrom::End(_) => None,
        };
        let seen = self.first.len() as u64;
        match target {
            Some(target) if target <= seen && self.position <= seen => {
                self.position = target;
                Ok(target)
            }
            Some(target) if target >= self.position => {
                let skipped = target - self.position;
                if io::copy(&mut self.by_ref().take(skipped), &mut io::sink())? < skipped {
                    return Err(io::ErrorKind::UnexpectedEof.into());
                }
                Ok(target)
            }
            _ => Err(io::ErrorKind::Unsupported.into()),
        }
    }
}

/// A source that cannot go back.
pub(crate) struct Forward<R>(pub(crate) R);

impl<R: Read> Read for Forward<R> {
    fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        self.0.read(to)
    }
}

impl<R> Seek for Forward<R> {
    fn seek(&mut self, _: SeekFrom) -> io::Result<u64> {
        Err(io::Error::from(io::ErrorKind::Unsupported))
    }
}
