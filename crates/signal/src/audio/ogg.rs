//! Whether an Ogg file is whole: the last page of a stream is marked as such, and nothing of it is missing.

use std::io::{self, Read, Seek, SeekFrom};

/// Bytes of the longest page.
const LONGEST_PAGE: u64 = 27 + 255 + 255 * 255;

/// Whether this is an Ogg file that ends before its last page does. The source stands at its start afterwards.
pub(super) fn ends_early<R: Read + Seek + ?Sized>(source: &mut R) -> io::Result<bool> {
    let mut first = Vec::new();
    source.take(4).read_to_end(&mut first)?;
    if first != b"OggS" {
        source.seek(SeekFrom::Start(0))?;
        return Ok(false);
    }
    let length = source.seek(SeekFrom::End(0))?;
    // A page that was cut, and the page before it.
    source.seek(SeekFrom::Start(length.saturating_sub(2 * LONGEST_PAGE)))?;
    let mut end = Vec::new();
    source.take(2 * LONGEST_PAGE).read_to_end(&mut end)?;
    source.seek(SeekFrom::Start(0))?;
    Ok(!has_end(&end))
}

/// Whether a whole last page is there, with no page after it.
fn has_end(bytes: &[u8]) -> bool {
    let is_start = |at: &usize| bytes[*at..].starts_with(b"OggS");
    let starts = (0..bytes.len().saturating_sub(3)).filter(is_start);
    starts.into_iter().any(|start| {
        let page = &bytes[start..];
        // Version, kind of page; after position, serial number, count and sum the lengths of its segments.
        let (Some([0, kind]), Some(count)) = (page.get(4..6), page.get(26)) else {
            return false;
        };
        let Some(lengths) = page.get(27..27 + usize::from(*count)) else {
            return false;
        };
        let content: usize = lengths.iter().map(|length| usize::from(*length)).sum();
        let rest = page.get(27 + lengths.len() + content..);
        let is_last = kind & 4 != 0;
        is_last && rest.is_some_and(|rest| !rest.windows(4).any(|four| four == b"OggS"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(kind: u8, content: &[u8]) -> Vec<u8> {
        let mut page = b"OggS\0".to_vec();
        page.push(kind);
        page.extend([0; 20]);
        page.extend([1, content.len() as u8]);
        page.extend(content);
        page
    }

    #[test]
    fn a_file_ends_with_a_whole_last_page() {
        let ends_early = |bytes: &[u8]| ends_early(&mut io::Cursor::new(bytes)).unwrap();
        let whole = [page(2, b"start"), page(0, b"some OggS"), page(4, b"end")].concat();
        assert!(!ends_early(&whole));
        for length in 4..whole.len() {
            assert!(ends_early(&whole[..length]), "{length}");
        }
        // A chain whose second stream is cut.
        assert!(ends_early(&[&whole[..], &whole[..40]].concat()));
        assert!(!ends_early(b"RIFF"));
    }
}
