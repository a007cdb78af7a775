//! ZIP archives, as wheels and PyTorch's files are: their directory, and files that are stored or deflated.

use std::borrow::Cow;

use crate::weights::{Malformed, number, part};

/// The longest file that is taken out of an archive, bytes.
const LONGEST: usize = 1 << 30;

/// A file in an archive.
pub(crate) struct Entry<'a> {
    pub(crate) name: &'a str,
    method: usize,
    packed: usize,
    size: usize,
    header: usize,
}

/// An archive with its directory.
pub(crate) struct Archive<'a> {
    bytes: &'a [u8],
    entries: Vec<Entry<'a>>,
}

impl<'a> Archive<'a> {
    pub(crate) fn open(bytes: &'a [u8]) -> Result<Self, Malformed> {
        // The end of the directory is the last thing in the file, but for a comment.
        let from = bytes.len().saturating_sub(22 + usize::from(u16::MAX));
        let end = bytes[from..]
            .windows(4)
            .rposition(|four| four == b"PK\x05\x06")
            .ok_or_else(|| Malformed::new(bytes.len(), "the archive has no directory"))?
            + from;
        let count = number(bytes, end + 10, 2)?;
        let mut at = number(bytes, end + 16, 4)?;
        let mut entries = Vec::new();
        for _ in 0..count {
            let head = part(bytes, at, 46)?;
            if !head.starts_with(b"PK\x01\x02") {
                return Err(Malformed::new(at, "the directory has no entry here"));
            }
            let lengths = [28, 30, 32].map(|field| number(head, field, 2));
            let [name, extra, comment] = lengths.map(|length| length.unwrap_or(0));
            let text = std::str::from_utf8(part(bytes, at + 46, name)?);
            entries.push(Entry {
                name: text.map_err(|_| Malformed::new(at + 46, "a name is not UTF-8"))?,
                method: number(head, 10, 2)?,
                packed: number(head, 20, 4)?,
                size: number(head, 24, 4)?,
                header: number(head, 42, 4)?,
            });
            at += 46 + name + extra + comment;
        }
        Ok(Self { bytes, entries })
    }

    /// The first file of which this holds.
    pub(crate) fn find(&self, which: impl Fn(&str) -> bool) -> Option<&Entry<'a>> {
        self.entries.iter().find(|entry| which(entry.name))
    }

    /// The smallest file with one of these endings.
    pub(crate) fn smallest(&self, endings: &[&str]) -> Option<&Entry<'a>> {
        let of_kind = |entry: &&Entry<'_>| endings.iter().any(|end| entry.name.ends_with(end));
        let entries = self.entries.iter().filter(of_kind);
        entries.min_by_key(|entry| entry.size)
    }

    /// Where a stored file starts and what is in a file.
    pub(crate) fn content(&self, entry: &Entry<'_>) -> Result<Cow<'a, [u8]>, Malformed> {
        let name = number(self.bytes, entry.header.saturating_add(26), 2)?;
        let extra = number(self.bytes, entry.header.saturating_add(28), 2)?;
        let start = entry.header + 30 + name + extra;
        let packed = part(self.bytes, start, entry.packed)?;
        let wrong = |reason: String| Malformed::new(start, format!("`{}` {reason}", entry.name));
        if entry.size > LONGEST {
            return Err(wrong(format!("has {} bytes", entry.size)));
        }
        match entry.method {
            0 => Ok(Cow::Borrowed(packed)),
            8 => miniz_oxide::inflate::decompress_to_vec_with_limit(packed, entry.size)
                .map(Cow::Owned)
                .map_err(|error| wrong(format!("cannot be unpacked: {error}"))),
            method => Err(wrong(format!("is packed by method {method}"))),
        }
    }
}
