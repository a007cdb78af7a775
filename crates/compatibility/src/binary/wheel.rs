//! GPU code inside a wheel (a ZIP archive), without unpacking it to disk.
//!
//! Invariants: members are inflated as a stream with a fixed buffer, so memory does not grow with
//! the wheel; the central directory is bounded; a damaged archive is an error with its place.

use std::io::{self, Read};
use std::path::Path;

use thiserror::Error;

use super::{ByteSource, FatbinStream, le};
use crate::architecture::Coverage;
use crate::binary::fatbin::Hop;

/// Why a wheel could not be read.
#[derive(Debug, Error)]
pub enum WheelError {
    /// The file cannot be opened or read.
    #[error("cannot read `{path}`")]
    Read {
        /// The file.
        path: String,
        /// The cause.
        source: io::Error,
    },
    /// Not a ZIP archive, or a damaged one.
    #[error("`{path}` is not a wheel: {what}")]
    Format {
        /// The file.
        path: String,
        /// What was seen.
        what: &'static str,
    },
}

/// The coverage of each shared library in a wheel that holds GPU code.
pub fn coverage_of_wheel(path: &Path) -> Result<Vec<(String, Coverage)>, WheelError> {
    let name = path.display().to_string();
    let read_error = |source| WheelError::Read {
        path: name.clone(),
        source,
    };
    let bad = |what| WheelError::Format {
        path: name.clone(),
        what,
    };
    let file = std::fs::File::open(path).map_err(read_error)?;
    let size = file.metadata().map_err(read_error)?.len();
    let tail_size = size.min(66_000);
    let tail = exact(&file, size - tail_size, tail_size).map_err(read_error)?;
    let end = memchr::memmem::rfind(&tail, b"PK\x05\x06").ok_or_else(|| bad("no ZIP directory"))?;
    let (mut start, mut length) = (le::<4>(&tail, end + 16), le::<4>(&tail, end + 12));
    if start == 0xffff_ffff || length == 0xffff_ffff {
        let wide = memchr::memmem::rfind(&tail, b"PK\x06\x06")
            .ok_or_else(|| bad("a ZIP64 directory is announced and missing"))?;
        (start, length) = (le::<8>(&tail, wide + 48), le::<8>(&tail, wide + 40));
    }
    if length > 256 << 20 {
        return Err(bad("its directory is larger than 256 MiB"));
    }
    let directory = exact(&file, start, length).map_err(read_error)?;
    let mut found = Vec::new();
    let mut at = 0usize;
    while directory.get(at..at + 4) == Some(b"PK\x01\x02") {
        let member = Member::read(&directory, at);
        at = member.next;
        if !member.name.contains(".so") {
            continue;
        }
        let local = exact(&file, member.offset, 30).map_err(read_error)?;
        let data_at = member.offset + 30 + le::<2>(&local, 26) + le::<2>(&local, 28);
        let raw = Slice {
            file: &file,
            at: data_at,
            left: member.packed,
        };
        let coverage = match member.method {
            0 => scan(raw),
            8 => scan(flate2::read::DeflateDecoder::new(raw)),
            _ => return Err(bad("a member is packed in a way other than deflate")),
        }
        .map_err(read_error)?;
        if let Some(coverage) = coverage {
            found.push((member.name, coverage));
        }
    }
    Ok(found)
}

struct Member {
    name: String,
    method: u64,
    packed: u64,
    offset: u64,
    next: usize,
}

impl Member {
    fn read(directory: &[u8], at: usize) -> Self {
        let (name, extra, comment) = (
            le::<2>(directory, at + 28) as usize,
            le::<2>(directory, at + 30) as usize,
            le::<2>(directory, at + 32) as usize,
        );
        let name_at = at + 46;
        let extra_bytes = directory
            .get(name_at + name..name_at + name + extra)
            .unwrap_or_default();
        let (mut packed, size, mut offset) = (
            le::<4>(directory, at + 20),
            le::<4>(directory, at + 24),
            le::<4>(directory, at + 42),
        );
        // ZIP64: the fields that did not fit follow in this order.
        let mut field = 4;
        if extra_bytes.get(..2) == Some(&[1, 0]) {
            if size == 0xffff_ffff {
                field += 8;
            }
            if packed == 0xffff_ffff {
                packed = le::<8>(extra_bytes, field);
                field += 8;
            }
            if offset == 0xffff_ffff {
                offset = le::<8>(extra_bytes, field);
            }
        }
        Self {
            name: String::from_utf8_lossy(
                directory.get(name_at..name_at + name).unwrap_or_default(),
            )
            .into_owned(),
            method: le::<2>(directory, at + 10),
            packed,
            offset,
            next: name_at + name + extra + comment,
        }
    }
}

struct Slice<'a> {
    file: &'a std::fs::File,
    at: u64,
    left: u64,
}

impl Read for Slice<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let take = buffer
            .len()
            .min(usize::try_from(self.left).unwrap_or(usize::MAX));
        let n = ByteSource::read_at(self.file, self.at, &mut buffer[..take])?;
        self.at += n as u64;
        self.left -= n as u64;
        Ok(n)
    }
}

fn exact(file: &std::fs::File, at: u64, size: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    Slice {
        file,
        at,
        left: size,
    }
    .read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Finds fat-binary containers in a stream and walks them. Containers start at multiples of eight.
fn scan(mut stream: impl Read) -> io::Result<Option<Coverage>> {
    const CHUNK: usize = 1 << 16;
    let mut coverage = Coverage::default();
    let mut found = false;
    let mut held: Vec<u8> = Vec::with_capacity(2 * CHUNK);
    let (mut base, mut next) = (0u64, 0u64);
    let mut walk: Option<FatbinStream> = None;
    loop {
        let before = held.len();
        held.resize(before + CHUNK, 0);
        let n = stream.read(&mut held[before..])?;
        held.truncate(before + n);
        let end = base + held.len() as u64;
        if before == 0 && base == 0 && held.get(..4).is_some_and(|magic| magic != b"\x7fELF") {
            return Ok(None);
        }
        // A header needs 64 bytes to be there, except at the end of the stream.
        while next + 64 <= end || (n == 0 && next + 16 <= end) {
            let at = usize::try_from(next - base).unwrap_or(0);
            let header = &held[at..(at + 64).min(held.len())];
            match &mut walk {
                None if FatbinStream::is_container(header) => {
                    found = true;
                    walk = Some(FatbinStream::default());
                }
                None => {
                    let from = &held[at..];
                    let magic = 0xBA55_ED50u32.to_le_bytes();
                    let skip =
                        memchr::memmem::find(from, &magic).unwrap_or(from.len().saturating_sub(3));
                    next += (skip as u64).max(8) & !7;
                }
                Some(state) => match state.step(next, header, &mut coverage) {
                    Hop::Skip(hop) => next = next.saturating_add(hop.max(8)),
                    Hop::Lost => walk = None,
                },
            }
        }
        if n == 0 {
            return Ok(found.then_some(coverage));
        }
        let drop = usize::try_from(next.saturating_sub(base)).unwrap_or(usize::MAX);
        let drop = drop.min(held.len());
        held.drain(..drop);
        base += drop as u64;
    }
}
