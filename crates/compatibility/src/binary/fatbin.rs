//! Which GPU architectures a binary contains, read from its fat-binary sections.
//!
//! A section is a row of containers (magic `0xBA55ED50`, header 16 bytes, body size), each a row of
//! entries (kind, header size, payload size, architecture). Only headers are read: from one to the
//! next by the sizes they state, so the cost is the number of entries, not of bytes.
//!
//! Invariants: bounded reads (at most [`ENTRY_LIMIT`] headers a section); sizes that lead nowhere
//! end the walk; what was found up to there is kept.

use super::{ByteSource, ElfFile, le};
use crate::architecture::{Capability, Coverage, Target};

const MAGIC: u64 = 0xBA55_ED50;
const KIND_PTX: u64 = 1;
const KIND_CUBIN: u64 = 2;
/// Bits of an entry's flags: the code is for exactly its part (`sm_90a`), or for its family (`sm_100f`).
const FLAG_PART_ONLY: u64 = 0x10_0000;
const FLAG_FAMILY: u64 = 0x20_0000;
/// libtorch_cuda has about 3,000; a file that claims a thousand times that is not a library.
const ENTRY_LIMIT: usize = 1 << 20;

/// The coverage of an ELF file; `None` where it is not ELF or holds no GPU code.
pub fn coverage_of_elf(source: &dyn ByteSource) -> Option<Coverage> {
    coverage_of_section(&ElfFile::open(source)?)
}

/// The coverage of an opened file; `None` where it holds no GPU code section.
pub fn coverage_of_section(elf: &ElfFile<'_>) -> Option<Coverage> {
    let mut coverage = Coverage::default();
    let mut seen = false;
    for name in [".nv_fatbin", "__nv_relfatbin"] {
        for section in elf.sections(name) {
            // Type 8 occupies no bytes in the file: the code was stripped away.
            if section.kind == 8 {
                continue;
            }
            seen = true;
            let mut walk = FatbinStream::default();
            let window = Window::new(elf.source(), section.offset, section.size);
            walk.run(window, &mut coverage);
        }
    }
    seen.then_some(coverage)
}

/// A section seen through one buffer that is refilled only when a hop leaves it.
struct Window<'a> {
    source: &'a dyn ByteSource,
    start: u64,
    size: u64,
    buffer: Vec<u8>,
    filled_from: u64,
}

impl<'a> Window<'a> {
    /// Entries lie kilobytes apart: one page per hop is what the kernel reads anyway.
    const PAGE: usize = 4096;

    fn new(source: &'a dyn ByteSource, start: u64, size: u64) -> Self {
        Self {
            source,
            start,
            size,
            buffer: Vec::new(),
            filled_from: 0,
        }
    }

    /// The header at `at`, 64 bytes or fewer at the end.
    fn header(&mut self, at: u64) -> &[u8] {
        let left = self.size.saturating_sub(at);
        let wanted = usize::try_from(left.min(64)).unwrap_or(64);
        let held = at
            .checked_sub(self.filled_from)
            .and_then(|skip| usize::try_from(skip).ok())
            .filter(|skip| skip + wanted <= self.buffer.len());
        let skip = match held {
            Some(skip) => skip,
            None => {
                let take = usize::try_from(left.min(Self::PAGE as u64)).unwrap_or(Self::PAGE);
                self.buffer.resize(take, 0);
                let read = self
                    .start
                    .checked_add(at)
                    .and_then(|offset| self.source.read_at(offset, &mut self.buffer).ok())
                    .unwrap_or(0);
                self.buffer.truncate(read);
                self.filled_from = at;
                0
            }
        };
        let end = (skip + wanted).min(self.buffer.len());
        &self.buffer[skip.min(end)..end]
    }
}

/// The walk from header to header; also usable on bytes that arrive in order.
#[derive(Default)]
pub(crate) struct FatbinStream {
    /// End of the container that the walk is inside of, relative to the start.
    container_end: u64,
}

/// What a header says about where the next one is.
pub(crate) enum Hop {
    /// The next header starts this many bytes after this one.
    Skip(u64),
    /// Not a header of this format.
    Lost,
}

impl FatbinStream {
    fn run(&mut self, mut window: Window<'_>, coverage: &mut Coverage) {
        let mut at = 0u64;
        for _ in 0..ENTRY_LIMIT {
            if at.saturating_add(16) > window.size {
                return;
            }
            let header = window.header(at);
            if header.len() < 16 {
                return;
            }
            match self.step(at, header, coverage) {
                Hop::Skip(n) => match at.checked_add(n) {
                    Some(next) => at = next,
                    None => return,
                },
                Hop::Lost => match self.container_end {
                    // A damaged entry: go on behind its container.
                    end if end > at => {
                        at = end;
                        self.container_end = 0;
                    }
                    _ => return,
                },
            }
        }
    }

    /// Reads one header at `at` and says how far the next one is.
    pub(crate) fn step(&mut self, at: u64, header: &[u8], coverage: &mut Coverage) -> Hop {
        if at >= self.container_end {
            if le::<4>(header, 0) == MAGIC && le::<2>(header, 6) == 16 {
                self.container_end = at.saturating_add(16).saturating_add(le::<8>(header, 8));
                return Hop::Skip(16);
            }
            // Containers are padded to eight bytes with zeros.
            return if header[..8] == [0; 8] {
                Hop::Skip(8)
            } else {
                Hop::Lost
            };
        }
        let (kind, header_size) = (le::<2>(header, 0), le::<4>(header, 4));
        let payload = le::<8>(header, 8);
        if !(kind == KIND_PTX || kind == KIND_CUBIN) || !(32..=4096).contains(&header_size) {
            return Hop::Lost;
        }
        let number = le::<4>(header, 28);
        if (20..1000).contains(&number) {
            let flags = le::<8>(header, 40);
            let target = Target {
                capability: Capability::from_sm(number as u32),
                suffix: match flags {
                    _ if flags & FLAG_PART_ONLY != 0 => Some('a'),
                    _ if flags & FLAG_FAMILY != 0 => Some('f'),
                    _ => None,
                },
            };
            if kind == KIND_PTX {
                coverage.ptx.insert(target);
            } else {
                coverage.cubins.insert(target);
            }
        }
        Hop::Skip(header_size.saturating_add(payload))
    }

    /// Whether the bytes at a container boundary begin a container.
    pub(crate) fn is_container(header: &[u8]) -> bool {
        le::<4>(header, 0) == MAGIC && le::<2>(header, 4) == 1 && le::<2>(header, 6) == 16
    }
}
