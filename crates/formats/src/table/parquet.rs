//! Parquet with what a table of numbers needs: optional columns of floats, plain and uncompressed, in groups of
//! rows. The crate `parquet` holds a group's pages and statistics in memory and takes a minute to build.
//!
//! The layout is that of the format's specification: pages behind headers, then a description of them, both in
//! Thrift's compact protocol.

use std::io::{self, Write};

use super::Column;

const MAGIC: &[u8; 4] = b"PAR1";

/// Values of a group of rows, over all columns.
const GROUP_VALUES: usize = 1 << 20;

/// A file on its way out.
pub(super) struct Parquet {
    columns: Vec<Column>,
    /// Rows of a whole group, and the values that wait for it.
    group_rows: usize,
    waiting: Vec<f64>,
    rows: u64,
    groups: Vec<Group>,
    offset: u64,
}

/// Where a group of rows lies.
struct Group {
    rows: u64,
    /// Offset and bytes of each column.
    chunks: Vec<(u64, u64)>,
}

impl Parquet {
    pub(super) fn begin(columns: &[Column], out: &mut impl Write) -> io::Result<Self> {
        out.write_all(MAGIC)?;
        Ok(Self {
            columns: columns.to_vec(),
            group_rows: (GROUP_VALUES / columns.len()).max(1),
            waiting: Vec::new(),
            rows: 0,
            groups: Vec::new(),
            offset: MAGIC.len() as u64,
        })
    }

    pub(super) fn append(&mut self, values: &[f64], out: &mut impl Write) -> io::Result<()> {
        let whole = self.group_rows * self.columns.len();
        let mut values = values;
        while self.waiting.len() + values.len() >= whole {
            let (now, later) = values.split_at(whole - self.waiting.len());
            self.waiting.extend_from_slice(now);
            self.write_group(out)?;
            values = later;
        }
        self.waiting.extend_from_slice(values);
        Ok(())
    }

    fn write_group(&mut self, out: &mut impl Write) -> io::Result<()> {
        let count = self.columns.len();
        let rows = self.waiting.len() / count;
        let mut chunks = Vec::with_capacity(count);
        let mut page = Vec::new();
        for (index, column) in self.columns.iter().enumerate() {
            let values = self.waiting.iter().skip(index).step_by(count).copied();
            page.clear();
            fill_page(&mut page, column.wide, rows, values);
            let head = page_head(page.len(), rows);
            out.write_all(&head)?;
            out.write_all(&page)?;
            let bytes = (head.len() + page.len()) as u64;
            chunks.push((self.offset, bytes));
            self.offset += bytes;
        }
        let rows = rows as u64;
        self.groups.push(Group { rows, chunks });
        self.rows += rows;
        self.waiting.clear();
        Ok(())
    }

    pub(super) fn finish(mut self, out: &mut impl Write) -> io::Result<()> {
        if !self.waiting.is_empty() {
            self.write_group(out)?;
        }
        let description = self.description();
        out.write_all(&description)?;
        out.write_all(&(description.len() as u32).to_le_bytes())?;
        out.write_all(MAGIC)
    }

    fn description(&self) -> Vec<u8> {
        let mut file = Thrift::default();
        file.number(1, 1); // the format's version
        file.list(2, STRUCT, self.columns.len() + 1);
        let mut root = Thrift::default();
        root.text(4, "schema");
        root.number(5, self.columns.len() as i64);
        file.append(root);
        for column in &self.columns {
            let mut element = Thrift::default();
            element.number(1, kind(column));
            element.number(3, 1); // optional
            element.text(4, &column.name);
            file.append(element);
        }
        file.long(3, self.rows);
        file.list(4, STRUCT, self.groups.len());
        for group in &self.groups {
            file.append(self.describe(group));
        }
        file.text(6, "warpsmith");
        file.end()
    }

    fn describe(&self, group: &Group) -> Thrift {
        let mut described = Thrift::default();
        described.list(1, STRUCT, self.columns.len());
        for (column, (offset, bytes)) in self.columns.iter().zip(&group.chunks) {
            let mut facts = Thrift::default();
            facts.number(1, kind(column));
            facts.list(2, NUMBER, 2);
            facts.items(&[PLAIN, RUNS]);
            facts.list(3, TEXT, 1);
            facts.word(&column.name);
            facts.number(4, 0); // uncompressed
            facts.long(5, group.rows);
            facts.long(6, *bytes);
            facts.long(7, *bytes);
            facts.long(9, *offset);
            let mut chunk = Thrift::default();
            chunk.long(2, *offset);
            chunk.inside(3, facts);
            described.append(chunk);
        }
        described.long(2, group.chunks.iter().map(|(_, bytes)| bytes).sum());
        described.long(3, group.rows);
        described
    }
}

/// The type of a column's values.
fn kind(column: &Column) -> i64 {
    if column.wide { 5 } else { 4 }
}

/// Values as they are, and runs of them.
const PLAIN: i64 = 0;
const RUNS: i64 = 3;

/// Which values are there, one bit to each, and those that are.
fn fill_page(
    page: &mut Vec<u8>,
    wide: bool,
    rows: usize,
    values: impl Iterator<Item = f64> + Clone,
) {
    let mut present = Vec::new();
    if values.clone().any(f64::is_nan) {
        varint(&mut present, (rows.div_ceil(8) as u64) << 1 | 1);
        let at = present.len();
        present.resize(at + rows.div_ceil(8), 0);
        for (row, _) in values.clone().enumerate().filter(|(_, x)| !x.is_nan()) {
            present[at + row / 8] |= 1 << (row % 8);
        }
    } else {
        varint(&mut present, (rows as u64) << 1);
        present.push(1);
    }
    page.extend((present.len() as u32).to_le_bytes());
    page.extend(present);
    let there = values.filter(|value| !value.is_nan());
    if wide {
        page.extend(there.flat_map(f64::to_le_bytes));
    } else {
        page.extend(there.flat_map(|value| (value as f32).to_le_bytes()));
    }
}

fn page_head(bytes: usize, rows: usize) -> Vec<u8> {
    let mut head = Thrift::default();
    head.number(1, 0); // a page of data
    head.number(2, bytes as i64);
    head.number(3, bytes as i64);
    let mut data = Thrift::default();
    data.number(1, rows as i64);
    data.number(2, PLAIN);
    data.number(3, RUNS);
    data.number(4, RUNS);
    head.inside(5, data);
    head.end()
}

/// Types of Thrift's compact protocol.
const NUMBER: u8 = 5;
const LONG: u8 = 6;
const TEXT: u8 = 8;
const LIST: u8 = 9;
const STRUCT: u8 = 12;

/// A structure in Thrift's compact protocol; fields in ascending order.
#[derive(Default)]
struct Thrift {
    bytes: Vec<u8>,
    last: u8,
}

impl Thrift {
    fn field(&mut self, id: u8, kind: u8) {
        self.bytes.push((id - self.last) << 4 | kind);
        self.last = id;
    }

    fn signed(&mut self, value: i64) {
        varint(&mut self.bytes, (value << 1 ^ value >> 63) as u64);
    }

    fn number(&mut self, id: u8, value: i64) {
        self.field(id, NUMBER);
        self.signed(value);
    }

    fn long(&mut self, id: u8, value: u64) {
        self.field(id, LONG);
        self.signed(value as i64);
    }

    fn word(&mut self, text: &str) {
        varint(&mut self.bytes, text.len() as u64);
        self.bytes.extend(text.as_bytes());
    }

    fn text(&mut self, id: u8, text: &str) {
        self.field(id, TEXT);
        self.word(text);
    }

    /// A list whose elements follow.
    fn list(&mut self, id: u8, kind: u8, length: usize) {
        self.field(id, LIST);
        if length < 15 {
            self.bytes.push((length as u8) << 4 | kind);
        } else {
            self.bytes.push(0xF0 | kind);
            varint(&mut self.bytes, length as u64);
        }
    }

    fn items(&mut self, items: &[i64]) {
        items.iter().for_each(|item| self.signed(*item));
    }

    /// An element of a list.
    fn append(&mut self, element: Self) {
        self.bytes.extend(element.end());
    }

    fn inside(&mut self, id: u8, element: Self) {
        self.field(id, STRUCT);
        self.append(element);
    }

    fn end(mut self) -> Vec<u8> {
        self.bytes.push(0);
        self.bytes
    }
}

fn varint(bytes: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        bytes.push(value as u8 | 0x80);
        value >>= 7;
    }
    bytes.push(value as u8);
}

#[cfg(test)]
mod tests {
    use super::super::tests::columns;
    use super::*;

    #[test]
    fn groups_follow_each_other_and_the_description_comes_last() {
        let mut bytes = Vec::new();
        let mut file = Parquet::begin(&columns(), &mut bytes).unwrap();
        file.group_rows = 3;
        for rows in [1, 4, 3] {
            file.append(&vec![0.5; rows * 2], &mut bytes).unwrap();
        }
        assert_eq!(file.groups.len(), 2);
        let (offset, length) = file.groups[1].chunks[1];
        assert_eq!((offset + length) as usize, bytes.len());
        file.finish(&mut bytes).unwrap();
        assert!(bytes.starts_with(MAGIC) && bytes.ends_with(MAGIC));
        let tail = bytes.len() - 8;
        let length = u32::from_le_bytes(bytes[tail..tail + 4].try_into().unwrap()) as usize;
        // Version 1, and a schema of a root with two columns.
        assert_eq!(bytes[tail - length..][..4], [0x15, 2, 0x19, 0x3C]);
    }

    #[test]
    fn what_is_absent_is_a_bit_and_no_value() {
        let mut page = Vec::new();
        let values = [1.0, f64::NAN, 2.0];
        fill_page(&mut page, false, 3, values.into_iter());
        let expected = [
            &[2, 0, 0, 0, 3, 0b101][..],
            &1f32.to_le_bytes(),
            &2f32.to_le_bytes(),
        ];
        assert_eq!(page, expected.concat());
        page.clear();
        fill_page(&mut page, true, 1, [1.0].into_iter());
        assert_eq!(
            page,
            [&[2, 0, 0, 0, 2, 1][..], &1f64.to_le_bytes()].concat()
        );
    }
}
