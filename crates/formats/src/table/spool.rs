//! Values on disk until their number is known, which stands before them in NumPy's files.

use std::fs::File;
use std::io::{self, BufWriter, Seek, Write};

use flate2::Crc;

use crate::npy;

/// Rows of f32 in a file without a name.
pub(super) struct Spool {
    file: BufWriter<File>,
    columns: usize,
    values: usize,
    /// The checksum of the values.
    pub(super) sum: Crc,
    bytes: Vec<u8>,
}

impl Spool {
    pub(super) fn new(columns: usize) -> io::Result<Self> {
        Ok(Self {
            file: BufWriter::new(tempfile::tempfile()?),
            columns,
            values: 0,
            sum: Crc::new(),
            bytes: Vec::new(),
        })
    }

    pub(super) fn append(&mut self, values: &[f64]) -> io::Result<()> {
        self.bytes.resize(size_of::<f32>() * values.len(), 0);
        let (slots, _) = self.bytes.as_chunks_mut();
        for (slot, value) in slots.iter_mut().zip(values) {
            *slot = (*value as f32).to_le_bytes();
        }
        self.sum.update(&self.bytes);
        self.values += values.len();
        self.file.write_all(&self.bytes)
    }

    /// The header of the matrix.
    pub(super) fn head(&self) -> io::Result<Vec<u8>> {
        let mut head = Vec::new();
        let shape = [self.values / self.columns, self.columns];
        npy::write_header(&mut head, "<f4", &shape)?;
        Ok(head)
    }

    /// Bytes of the values.
    pub(super) fn length(&self) -> u64 {
        4 * self.values as u64
    }

    /// Writes the values.
    pub(super) fn write_values(self, out: &mut impl Write) -> io::Result<()> {
        let mut file = self.file.into_inner().map_err(|error| error.into_error())?;
        file.rewind()?;
        io::copy(&mut file, out)?;
        Ok(())
    }

    /// Writes the matrix as a file.
    pub(super) fn write_npy(self, out: &mut impl Write) -> io::Result<()> {
        out.write_all(&self.head()?)?;
        self.write_values(out)
    }
}
