//! NumPy's archive: a ZIP file whose members are arrays, not compressed, as `numpy.savez` writes it.

use std::io::{self, Write};

use flate2::Crc;

use super::Column;
use super::spool::Spool;
use crate::npy;

/// A member of the archive.
struct Member {
    name: &'static str,
    sum: u32,
    length: u32,
    offset: u32,
}

impl Member {
    /// What its header and its entry in the directory have in common.
    fn facts(&self) -> Vec<u8> {
        // Version 2.0, no flags, stored; the first minute that ZIP knows, so that equal tables are equal files.
        let mut bytes = [20u16, 0, 0, 0, 0x21].map(u16::to_le_bytes).concat();
        for number in [self.sum, self.length, self.length] {
            bytes.extend(number.to_le_bytes());
        }
        bytes.extend((self.name.len() as u16).to_le_bytes());
        bytes.extend(0u16.to_le_bytes());
        bytes
    }

    fn head(&self) -> Vec<u8> {
        [b"PK\x03\x04", &self.facts()[..], self.name.as_bytes()].concat()
    }

    fn entry(&self) -> Vec<u8> {
        // No comment, one disk, no attributes.
        let rest = [0u8; 10];
        let made_by = 20u16.to_le_bytes();
        let offset = self.offset.to_le_bytes();
        [
            &b"PK\x01\x02"[..],
            &made_by,
            &self.facts(),
            &rest,
            &offset,
            self.name.as_bytes(),
        ]
        .concat()
    }
}

fn short(length: u64) -> io::Result<u32> {
    u32::try_from(length).map_err(|_| {
        io::Error::other("an archive holds at most 4 GiB; write `npy` or `parquet` instead")
    })
}

/// Writes the archive of `values` and the names of its columns.
pub(super) fn write(values: Spool, columns: &[Column], out: &mut impl Write) -> io::Result<()> {
    let names = names(columns)?;
    let mut sum = Crc::new();
    sum.update(&names);
    let first = Member {
        name: "columns.npy",
        sum: sum.sum(),
        length: short(names.len() as u64)?,
        offset: 0,
    };
    let head = values.head()?;
    let mut sum = Crc::new();
    sum.update(&head);
    sum.combine(&values.sum);
    let second = Member {
        name: "values.npy",
        sum: sum.sum(),
        length: short(head.len() as u64 + values.length())?,
        offset: short((first.head().len() + names.len()) as u64)?,
    };
    let end = u64::from(second.offset) + second.head().len() as u64 + u64::from(second.length);
    let directory = [first.entry(), second.entry()].concat();
    // Where the directory is; two members, on one disk.
    let mut tail = b"PK\x05\x06\0\0\0\0\x02\0\x02\0".to_vec();
    tail.extend((directory.len() as u32).to_le_bytes());
    tail.extend(short(end)?.to_le_bytes());
    tail.extend([0, 0]);
    out.write_all(&first.head())?;
    out.write_all(&names)?;
    out.write_all(&second.head())?;
    out.write_all(&head)?;
    values.write_values(out)?;
    out.write_all(&directory)?;
    out.write_all(&tail)
}

/// The names as an array of strings, all as long as the longest.
fn names(columns: &[Column]) -> io::Result<Vec<u8>> {
    let longest = columns.iter().map(|column| column.name.chars().count());
    let longest = longest.max().unwrap_or(0).max(1);
    let mut bytes = Vec::new();
    npy::write_header(&mut bytes, &format!("<U{longest}"), &[columns.len()])?;
    for column in columns {
        let letters = column.name.chars().map(u32::from);
        let padded = letters.chain(std::iter::repeat(0)).take(longest);
        bytes.extend(padded.flat_map(u32::to_le_bytes));
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::super::tests::columns;
    use super::*;
    use crate::npy::NpyArray;

    #[test]
    fn members_lie_where_the_directory_says_and_have_its_sums() {
        let mut spool = Spool::new(2).unwrap();
        spool.append(&[0.0, 1.0, 2.0, 3.0]).unwrap();
        let mut bytes = Vec::new();
        write(spool, &columns(), &mut bytes).unwrap();
        let word = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap()) as usize;
        let tail = bytes.len() - 22;
        let mut at = word(tail + 16);
        let mut contents = Vec::new();
        for _ in 0..2 {
            assert_eq!(&bytes[at..at + 4], b"PK\x01\x02");
            let (sum, length, start) = (word(at + 16), word(at + 24), word(at + 42));
            let name = usize::from(bytes[at + 28]);
            let content = &bytes[start + 30 + name..][..length];
            let mut found = Crc::new();
            found.update(content);
            assert_eq!(found.sum() as usize, sum);
            contents.push(content);
            at += 46 + name;
        }
        assert_eq!(at, tail);
        // Letters of four bytes, the shorter name filled up.
        let names = &contents[0][128..];
        assert_eq!(
            (names.len(), names[0], names[7 * 4]),
            (2 * 7 * 4, b's', b'h')
        );
        assert_eq!(NpyArray::parse(contents[1]).unwrap().shape, [2, 2]);
    }
}
