//! A file as shared memory: what is written survives the death of the process.

use std::fs::{File, OpenOptions};
use std::path::Path;
use std::sync::atomic::AtomicU64;

use crate::error::LatticeError;

/// A whole file, mapped for reading and writing and locked against other runs.
#[derive(Debug)]
pub(super) struct MappedFile {
    /// Held open: the lock ends with it.
    _lock: File,
    address: *mut u8,
    bytes: usize,
}

// SAFETY: the mapping is memory that this value owns; nothing in it is tied to a thread.
unsafe impl Send for MappedFile {}

impl MappedFile {
    /// Maps and locks a file; `attempted` completes "cannot …".
    pub(super) fn open(path: &Path, attempted: &'static str) -> Result<Self, LatticeError> {
        let failed = |source| LatticeError::File {
            attempted,
            path: path.to_owned(),
            source,
        };
        let file = OpenOptions::new()
            .read(true)
            .write(true)
            .open(path)
            .map_err(failed)?;
        file.try_lock().map_err(|error| LatticeError::Content {
            path: path.to_owned(),
            problem: format!("another run has it: {error}"),
        })?;
        let length = file.metadata().map_err(failed)?.len();
        let bytes = usize::try_from(length)
            .ok()
            .filter(|&bytes| bytes > 0)
            .ok_or_else(|| LatticeError::Content {
                path: path.to_owned(),
                problem: format!("{length} bytes cannot be mapped"),
            })?;
        use std::os::fd::AsRawFd;
        // SAFETY: a fresh shared mapping of an open file, of its own length.
        let address = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                bytes,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_SHARED,
                file.as_raw_fd(),
                0,
            )
        };
        if address == libc::MAP_FAILED {
            return Err(failed(std::io::Error::last_os_error()));
        }
        Ok(Self {
            _lock: file,
            address: address.cast(),
            bytes,
        })
    }

    pub(super) fn bytes(&self) -> &[u8] {
        // SAFETY: the mapping holds `bytes` bytes and lives as long as `self`; other runs are kept
        // out by the lock, and writes through `&mut self` end this borrow.
        unsafe { std::slice::from_raw_parts(self.address, self.bytes) }
    }

    /// `words` words from byte `first`, which must be inside and aligned.
    pub(super) fn words(&self, first: usize, words: usize) -> &[u32] {
        assert!(first.is_multiple_of(4) && first + 4 * words <= self.bytes);
        // SAFETY: inside the mapping and aligned, by the line above and because mappings start at
        // a page; borrows as in `bytes`.
        unsafe { std::slice::from_raw_parts(self.address.add(first).cast(), words) }
    }

    /// As [`MappedFile::words`], to be changed.
    pub(super) fn words_mut(&mut self, first: usize, words: usize) -> &mut [u32] {
        assert!(first.is_multiple_of(4) && first + 4 * words <= self.bytes);
        // SAFETY: as in `words`, and `&mut self` makes it the only borrow.
        unsafe { std::slice::from_raw_parts_mut(self.address.add(first).cast(), words) }
    }

    /// One word of state at byte `at`.
    pub(super) fn word(&self, at: usize) -> &AtomicU64 {
        assert!(at.is_multiple_of(8) && at + 8 <= self.bytes);
        // SAFETY: inside the mapping and aligned; the state's words are not part of any slice that
        // is handed out for writing.
        unsafe { AtomicU64::from_ptr(self.address.add(at).cast()) }
    }
}

impl Drop for MappedFile {
    fn drop(&mut self) {
        // SAFETY: address and length are those of our mapping, and this is its last use.
        unsafe { libc::munmap(self.address.cast(), self.bytes) };
    }
}
