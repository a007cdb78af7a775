//! What a library file says about itself: ELF sections and dependencies, GPU code by architecture,
//! and wheels.

mod elf;
mod fatbin;
mod wheel;

pub use elf::ElfFile;
pub(crate) use fatbin::FatbinStream;
pub use fatbin::{coverage_of_elf, coverage_of_section};
pub use wheel::{WheelError, coverage_of_wheel};

/// Bytes that can be read at an offset, so that a library of gigabytes costs a few kilobytes.
pub trait ByteSource {
    /// Fills as much of `buffer` as there are bytes at `offset`; returns how many.
    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> std::io::Result<usize>;
}

impl ByteSource for std::fs::File {
    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> std::io::Result<usize> {
        std::os::unix::fs::FileExt::read_at(self, buffer, offset)
    }
}

impl ByteSource for Vec<u8> {
    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> std::io::Result<usize> {
        let start = usize::try_from(offset)
            .unwrap_or(usize::MAX)
            .min(self.len());
        let n = buffer.len().min(self.len() - start);
        buffer[..n].copy_from_slice(&self[start..start + n]);
        Ok(n)
    }
}

/// Little-endian numbers at fixed places; zero where the slice is too short.
pub fn le<const N: usize>(bytes: &[u8], at: usize) -> u64 {
    let mut wide = [0u8; 8];
    if let Some(field) = bytes.get(at..at.saturating_add(N)) {
        wide[..N].copy_from_slice(field);
    }
    u64::from_le_bytes(wide)
}
