//! A reader for 64-bit little-endian ELF files: section table, needed libraries, version needs.
//!
//! Invariants: reads a bounded number of bytes whatever the file claims (at most 4,096 sections and
//! 1 MiB for any one table); a malformed file gives `None` or empty lists, never a panic.

use super::{ByteSource, le};

const TABLE_LIMIT: u64 = 1 << 20;

/// One section of a file.
#[derive(Clone, Debug)]
pub(crate) struct Section {
    pub(crate) name: String,
    pub(crate) kind: u32,
    pub(crate) offset: u64,
    pub(crate) size: u64,
    link: u32,
}

/// An opened ELF file.
pub struct ElfFile<'a> {
    source: &'a dyn ByteSource,
    sections: Vec<Section>,
}

impl<'a> ElfFile<'a> {
    /// Reads the headers; `None` where this is not a 64-bit little-endian ELF file.
    pub fn open(source: &'a dyn ByteSource) -> Option<Self> {
        let header = bytes(source, 0, 64)?;
        if header.len() < 64 || header[..4] != *b"\x7fELF" || header[4] != 2 || header[5] != 1 {
            return None;
        }
        let (table, entry) = (le::<8>(&header, 40), le::<2>(&header, 58));
        let (count, names) = (le::<2>(&header, 60).min(4096), le::<2>(&header, 62));
        if entry < 64 {
            return None;
        }
        let raw = bytes(source, table, entry * count)?;
        let mut sections: Vec<Section> = raw
            .chunks_exact(usize::try_from(entry).ok()?)
            .map(|row| Section {
                name: format!("\0{}", le::<4>(row, 0)),
                kind: le::<4>(row, 4) as u32,
                offset: le::<8>(row, 24),
                size: le::<8>(row, 32),
                link: le::<4>(row, 40) as u32,
            })
            .collect();
        let strings = sections
            .get(usize::try_from(names).ok()?)
            .and_then(|s| bytes(source, s.offset, s.size))
            .unwrap_or_default();
        for section in &mut sections {
            let at = section.name[1..].parse().unwrap_or(usize::MAX);
            section.name = text_at(&strings, at);
        }
        Some(Self { source, sections })
    }

    /// The sections called `name`.
    pub(crate) fn sections<'s>(&'s self, name: &'s str) -> impl Iterator<Item = &'s Section> {
        self.sections.iter().filter(move |s| s.name == name)
    }

    /// Where the bytes come from.
    pub(crate) fn source(&self) -> &dyn ByteSource {
        self.source
    }

    /// DT_NEEDED: the libraries that the loader will look for.
    pub fn needed(&self) -> Vec<String> {
        const DYNAMIC: u32 = 6;
        const DT_NEEDED: u64 = 1;
        let Some(dynamic) = self.sections.iter().find(|s| s.kind == DYNAMIC) else {
            return Vec::new();
        };
        let strings = self.linked_strings(dynamic);
        bytes(self.source, dynamic.offset, dynamic.size)
            .unwrap_or_default()
            .chunks_exact(16)
            .take_while(|row| le::<8>(row, 0) != 0)
            .filter(|row| le::<8>(row, 0) == DT_NEEDED)
            .map(|row| {
                text_at(
                    &strings,
                    usize::try_from(le::<8>(row, 8)).unwrap_or(usize::MAX),
                )
            })
            .filter(|name| !name.is_empty())
            .collect()
    }

    /// Version needs such as `GLIBC_2.28` and `GLIBCXX_3.4.29`.
    pub fn version_needs(&self) -> Vec<String> {
        const VERNEED: u32 = 0x6fff_fffe;
        let Some(section) = self.sections.iter().find(|s| s.kind == VERNEED) else {
            return Vec::new();
        };
        let strings = self.linked_strings(section);
        let table = bytes(self.source, section.offset, section.size).unwrap_or_default();
        let mut needs = Vec::new();
        let mut file_at = 0usize;
        // Both lists are chains of relative offsets; the bound stops one that points at itself.
        for _ in 0..256 {
            let mut name_at =
                file_at.saturating_add(le::<4>(&table, file_at.saturating_add(8)) as usize);
            for _ in 0..256 {
                let name = text_at(
                    &strings,
                    le::<4>(&table, name_at.saturating_add(8)) as usize,
                );
                if !name.is_empty() {
                    needs.push(name);
                }
                match le::<4>(&table, name_at.saturating_add(12)) as usize {
                    0 => break,
                    next => name_at = name_at.saturating_add(next),
                }
            }
            match le::<4>(&table, file_at.saturating_add(12)) as usize {
                0 => break,
                next => file_at = file_at.saturating_add(next),
            }
        }
        needs.sort();
        needs.dedup();
        needs
    }

    fn linked_strings(&self, section: &Section) -> Vec<u8> {
        self.sections
            .get(section.link as usize)
            .and_then(|s| bytes(self.source, s.offset, s.size))
            .unwrap_or_default()
    }
}

/// Up to `TABLE_LIMIT` bytes at `offset`; shorter at the end of the file.
fn bytes(source: &dyn ByteSource, offset: u64, size: u64) -> Option<Vec<u8>> {
    let mut buffer = vec![0; usize::try_from(size.min(TABLE_LIMIT)).ok()?];
    let mut filled = 0;
    while filled < buffer.len() {
        match source.read_at(offset.checked_add(filled as u64)?, &mut buffer[filled..]) {
            Ok(0) => break,
            Ok(n) => filled += n,
            Err(_) => return None,
        }
    }
    buffer.truncate(filled);
    Some(buffer)
}

fn text_at(strings: &[u8], at: usize) -> String {
    let tail = strings.get(at..).unwrap_or_default();
    let end = tail.iter().take(512).position(|b| *b == 0).unwrap_or(0);
    String::from_utf8_lossy(&tail[..end]).into_owned()
}
