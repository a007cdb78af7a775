//! Which part of the decoded samples of an MP4 file is the recording. An encoder of AAC puts silence before
//! it, and the last block is filled up; an edit list or the tag `iTunSMPB` says how much.

use std::io::{Read, Seek, SeekFrom};

/// The part that is the recording, in samples.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Part {
    /// Samples before it.
    pub(super) skip: u64,
    /// Its samples; up to the end where they are not known.
    pub(super) frames: Option<u64>,
}

/// A description of a file (`moov`) that is longer than this is not looked at: hours of sound have less.
const LONGEST_DESCRIPTION: u64 = 64 << 20;

/// Boxes of a file that are looked at before giving up.
const MOST_BOXES: usize = 10_000;

/// What an MP4 file says; nothing of a file of another kind, or where its description is damaged. The source
/// stands at its start afterwards.
pub(super) fn recorded_part<R: Read + Seek + ?Sized>(
    source: &mut R,
) -> std::io::Result<Option<Part>> {
    let description = description(source);
    source.seek(SeekFrom::Start(0))?;
    Ok(description.and_then(|bytes| part(&bytes)))
}

/// The bytes of the box `moov`.
fn description<R: Read + Seek + ?Sized>(source: &mut R) -> Option<Vec<u8>> {
    let mut at = 0u64;
    for number in 0..MOST_BOXES {
        source.seek(SeekFrom::Start(at)).ok()?;
        let mut head = [0u8; 16];
        source.read_exact(&mut head[..8]).ok()?;
        let name = [head[4], head[5], head[6], head[7]];
        if number == 0 && &name != b"ftyp" {
            return None;
        }
        let (size, head_bytes) = match u32::from_be_bytes([head[0], head[1], head[2], head[3]]) {
            1 => {
                source.read_exact(&mut head[8..]).ok()?;
                (word(&head, 8)?, 16)
            }
            size => (u64::from(size), 8),
        };
        let inside = size.checked_sub(head_bytes)?;
        if &name == b"moov" {
            if inside > LONGEST_DESCRIPTION {
                return None;
            }
            let mut bytes = Vec::new();
            source.take(inside).read_to_end(&mut bytes).ok()?;
            return Some(bytes);
        }
        at = at.checked_add(size)?;
    }
    None
}

/// The boxes in `bytes`: name and content.
fn boxes(bytes: &[u8]) -> impl Iterator<Item = (&[u8], &[u8])> {
    let mut rest = bytes;
    std::iter::from_fn(move || {
        let (head, after) = rest.split_at_checked(8)?;
        let size = u32::from_be_bytes([head[0], head[1], head[2], head[3]]) as usize;
        let (content, next) = after.split_at_checked(size.checked_sub(8)?)?;
        rest = next;
        Some((&head[4..], content))
    })
}

/// The first box with this path.
fn find<'a>(bytes: &'a [u8], path: &[&[u8; 4]]) -> Option<&'a [u8]> {
    path.iter().try_fold(bytes, |inside, wanted| {
        boxes(inside)
            .find(|(name, _)| name == wanted)
            .map(|(_, content)| content)
    })
}

fn half(bytes: &[u8], at: usize) -> Option<u64> {
    let four = bytes.get(at..at + 4)?;
    Some(u64::from(u32::from_be_bytes(four.try_into().ok()?)))
}

fn word(bytes: &[u8], at: usize) -> Option<u64> {
    let eight = bytes.get(at..at + 8)?;
    Some(u64::from_be_bytes(eight.try_into().ok()?))
}

fn part(description: &[u8]) -> Option<Part> {
    tagged(description).or_else(|| edited(description))
}

/// What iTunes' tag says: samples before, samples after, and those of the recording, as hexadecimal numbers.
fn tagged(description: &[u8]) -> Option<Part> {
    // `meta` has a version before its boxes.
    let list = find(description, &[b"udta", b"meta"])?.get(4..)?;
    let list = find(list, &[b"ilst"])?;
    let own = boxes(list).filter(|(name, _)| *name == b"----");
    let tag = own
        .map(|(_, content)| content)
        .find(|tag| find(tag, &[b"name"]).is_some_and(|name| name.ends_with(b"iTunSMPB")))?;
    let text = std::str::from_utf8(find(tag, &[b"data"])?.get(8..)?).ok()?;
    let mut numbers = text.split_whitespace().skip(1);
    let mut number = || u64::from_str_radix(numbers.next()?, 16).ok();
    let (skip, _, frames) = (number()?, number()?, number()?);
    Some(Part {
        skip,
        frames: (frames > 0).then_some(frames),
    })
}

/// What the edit list of the first track of sound says.
fn edited(description: &[u8]) -> Option<Part> {
    let is_sound = |track: &[u8]| {
        find(track, &[b"mdia", b"hdlr"]).is_some_and(|kind| kind.get(8..12) == Some(b"soun"))
    };
    let tracks = boxes(description).filter(|(name, _)| *name == b"trak");
    let track = tracks
        .map(|(_, track)| track)
        .find(|track| is_sound(track))?;
    // Version, flags, two times of 4 or 8 bytes, units to a second, length.
    let timed = |head: &[u8]| match head.first()? {
        0 => Some((half(head, 12)?, half(head, 16)?)),
        _ => Some((half(head, 20)?, word(head, 24)?)),
    };
    let (file_units, _) = timed(find(description, &[b"mvhd"])?)?;
    let (units, whole) = timed(find(track, &[b"mdia", b"mdhd"])?)?;
    let list = find(track, &[b"edts", b"elst"])?;
    let (wide, count) = (*list.first()? != 0, half(list, 4)?);
    let bytes = if wide { 20 } else { 12 };
    let mut entries = list.get(8..)?.chunks_exact(bytes).take(count as usize);
    // A pause before the sound has no place in the samples.
    let (length, skip) = entries.find_map(|entry| {
        let (length, start) = if wide {
            (word(entry, 0)?, word(entry, 8)? as i64)
        } else {
            (half(entry, 0)?, i64::from(half(entry, 4)? as u32 as i32))
        };
        Some((length, u64::try_from(start).ok()?))
    })?;
    let scaled = u128::from(length) * u128::from(units);
    let length = scaled.div_ceil(u128::from(file_units.max(1))) as u64;
    // The list counts in coarse units, rounded up; the track knows its last sample.
    let left = whole.saturating_sub(skip);
    Some(Part {
        skip,
        frames: (length > 0).then(|| length.min(left)),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn boxed(name: &[u8; 4], content: &[u8]) -> Vec<u8> {
        let size = (content.len() as u32 + 8).to_be_bytes();
        [&size[..], name, content].concat()
    }

    fn timed(units: u32, length: u32) -> Vec<u8> {
        [&[0; 12][..], &units.to_be_bytes(), &length.to_be_bytes()].concat()
    }

    fn file(extra: &[u8], edits: &[[u32; 3]]) -> Vec<u8> {
        let mut list = vec![0; 4];
        list.extend((edits.len() as u32).to_be_bytes());
        list.extend(edits.iter().flatten().flat_map(|x| x.to_be_bytes()));
        let media = [
            boxed(b"mdhd", &timed(44_100, 45_124)),
            boxed(b"hdlr", b"\0\0\0\0\0\0\0\0soun"),
        ]
        .concat();
        let track = [
            boxed(b"edts", &boxed(b"elst", &list)),
            boxed(b"mdia", &media),
        ]
        .concat();
        let moov = [
            boxed(b"mvhd", &timed(1000, 1001)),
            boxed(b"trak", &track),
            extra.to_vec(),
        ]
        .concat();
        [boxed(b"ftyp", b"M4A "), boxed(b"moov", &moov)].concat()
    }

    fn read(bytes: Vec<u8>) -> Option<Part> {
        recorded_part(&mut std::io::Cursor::new(bytes)).unwrap()
    }

    #[test]
    fn an_edit_list_says_where_the_recording_starts_and_the_track_where_it_ends() {
        let edits = [[500, u32::MAX, 0x1_0000], [1001, 1024, 0x1_0000]];
        let expected = Part {
            skip: 1024,
            frames: Some(44_100),
        };
        assert_eq!(read(file(&[], &edits)), Some(expected));
        assert_eq!(read(file(&[], &[])), None);
        // A list that ends earlier cuts.
        let shorter = read(file(&[], &[[500, 1024, 0]])).unwrap();
        assert_eq!(shorter.frames, Some(22_050));
    }

    #[test]
    fn the_tag_of_itunes_comes_first() {
        let data = [
            &[0; 8][..],
            b" 00000000 00000840 000001C4 0000000000ABCDEF 0",
        ]
        .concat();
        let tag = [boxed(b"name", b"\0\0\0\0iTunSMPB"), boxed(b"data", &data)].concat();
        let list = boxed(b"ilst", &boxed(b"----", &tag));
        let meta = boxed(b"meta", &[&[0; 4][..], &list].concat());
        let expected = Part {
            skip: 0x840,
            frames: Some(0xAB_CDEF),
        };
        let bytes = file(&boxed(b"udta", &meta), &[[1001, 1024, 0]]);
        assert_eq!(read(bytes.clone()), Some(expected));
        // Cut anywhere, it says something or nothing.
        for end in 0..bytes.len() {
            let _ = read(bytes[..end].to_vec());
        }
    }
}
