//! NumPy's `.npy` files: one array each, in the layout that `numpy.save` writes.
//!
//! Versions 1 to 3 are read, version 1 is written. Little-endian, C order; anything else is refused by
//! name. Ours, because crates for it bring an array type of their own or a derive for element types.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

const MAGIC: &[u8] = b"\x93NUMPY";

/// An array as it stands in a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NpyArray {
    /// NumPy's name of the element type, such as `<f4`.
    pub descr: String,
    /// Its size along each axis, the slowest first.
    pub shape: Vec<usize>,
    /// Its elements.
    pub data: Vec<u8>,
}

/// Why a file is not an array that we read.
#[derive(Debug, thiserror::Error)]
pub enum NpyError {
    /// The file could not be read at all.
    #[error("cannot read `{}`", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// It is no array, or one of a kind that we do not read.
    #[error("cannot read `{}` as .npy", path.display())]
    Content {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        source: Refused,
    },
}

/// What is wrong with the bytes of an array.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct Refused(String);

impl NpyArray {
    /// Reads the array in the file at `path`.
    ///
    /// # Errors
    /// Where the file cannot be read, or holds no array that we read.
    pub fn read(path: &Path) -> Result<Self, NpyError> {
        let bytes = fs::read(path).map_err(|source| NpyError::File {
            path: path.to_owned(),
            source,
        })?;
        Self::parse(&bytes).map_err(|source| NpyError::Content {
            path: path.to_owned(),
            source,
        })
    }

    /// The array that `bytes` are a file of.
    ///
    /// # Errors
    /// Where they are none, or one of a kind that we do not read; in words that name the repair.
    pub fn parse(bytes: &[u8]) -> Result<Self, Refused> {
        let refused = |problem: String| Err(Refused(problem));
        let Some(rest) = bytes.strip_prefix(MAGIC) else {
            return refused(
                "it does not begin with NumPy's magic bytes; write it with `numpy.save`".to_owned(),
            );
        };
        let (length, rest) = match rest {
            [1, _, a, b, rest @ ..] => (usize::from(u16::from_le_bytes([*a, *b])), rest),
            [2 | 3, _, a, b, c, d, rest @ ..] => {
                (u32::from_le_bytes([*a, *b, *c, *d]) as usize, rest)
            }
            [version, ..] => {
                return refused(format!(
                    "its format version is {version}, versions 1 to 3 are known"
                ));
            }
            [] => return refused("it ends after the magic bytes".to_owned()),
        };
        let Some((header, data)) = rest.split_at_checked(length) else {
            return refused(format!(
                "its header says {length} bytes, {} follow",
                rest.len()
            ));
        };
        let Ok(header) = std::str::from_utf8(header) else {
            return refused("its header is not text".to_owned());
        };
        let Some(descr) = entry(header, "descr").and_then(|text| text.trim().strip_prefix('\''))
        else {
            return refused(format!(
                "its header names no plain dtype: `{}`",
                header.trim()
            ));
        };
        let descr = descr.split('\'').next().unwrap_or_default().to_owned();
        if descr.starts_with('>') {
            return refused(format!(
                "its numbers are big-endian (`{descr}`); save `array.astype(array.dtype.newbyteorder('<'))`"
            ));
        }
        if entry(header, "fortran_order").is_some_and(|text| text.trim().starts_with("True")) {
            return refused(
                "its elements are in Fortran order; save `numpy.ascontiguousarray(array)`"
                    .to_owned(),
            );
        }
        let shape = entry(header, "shape").and_then(|text| {
            let inside = text.split_once('(')?.1.split_once(')')?.0;
            let sizes = inside
                .split(',')
                .map(str::trim)
                .filter(|size| !size.is_empty());
            sizes
                .map(|size| size.parse().ok())
                .collect::<Option<Vec<usize>>>()
        });
        let Some(shape) = shape else {
            return refused(format!("its header gives no shape: `{}`", header.trim()));
        };
        let width: usize = descr
            .get(2..)
            .and_then(|digits| digits.parse().ok())
            .unwrap_or(0);
        let expected = shape.iter().try_fold(width, |size, n| size.checked_mul(*n));
        if expected != Some(data.len()) {
            return refused(format!(
                "shape {shape:?} of `{descr}` does not fit {} bytes of data",
                data.len()
            ));
        }
        Ok(Self {
            descr,
            shape,
            data: data.to_vec(),
        })
    }

    /// Writes the array as a file's bytes.
    ///
    /// # Errors
    /// What `out` says, and a shape that is too long for a header.
    pub fn write_to(&self, out: &mut impl Write) -> io::Result<()> {
        write_header(out, &self.descr, &self.shape)?;
        out.write_all(&self.data)
    }
}

/// Writes `values` with `shape` to `out`.
///
/// # Errors
/// What `out` says, and a shape that is too long for a header.
pub fn write_f32(out: &mut impl Write, shape: &[usize], values: &[f32]) -> io::Result<()> {
    write_header(out, "<f4", shape)?;
    for block in values.chunks(4096) {
        let bytes: Vec<u8> = block.iter().flat_map(|value| value.to_le_bytes()).collect();
        out.write_all(&bytes)?;
    }
    Ok(())
}

pub(crate) fn write_header(out: &mut impl Write, descr: &str, shape: &[usize]) -> io::Result<()> {
    // As Python writes a tuple: one size alone has a comma behind it.
    let sizes = match shape {
        [size] => format!("{size},"),
        sizes => {
            let sizes: Vec<String> = sizes.iter().map(usize::to_string).collect();
            sizes.join(", ")
        }
    };
    let header = format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': ({sizes}), }}");
    // Magic, version, length and header end on a multiple of 64, the last byte a newline.
    let before = MAGIC.len() + 4;
    let padded = (before + header.len() + 1).next_multiple_of(64) - before;
    let length = u16::try_from(padded).map_err(|_| {
        let problem = "the shape is too long for a header";
        io::Error::new(io::ErrorKind::InvalidInput, problem)
    })?;
    out.write_all(MAGIC)?;
    out.write_all(&[1, 0])?;
    out.write_all(&length.to_le_bytes())?;
    writeln!(out, "{header:width$}", width = padded - 1)
}

/// The text after a key of the header's dictionary.
fn entry<'h>(header: &'h str, key: &str) -> Option<&'h str> {
    let at = header.find(&format!("'{key}'"))?;
    header[at..].split_once(':').map(|(_, rest)| rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_array_survives_being_written_and_read() {
        for shape in [vec![6], vec![2, 3], vec![1, 2, 3]] {
            let array = NpyArray {
                descr: "<f4".into(),
                shape,
                data: (0..24).collect(),
            };
            let mut bytes = Vec::new();
            array.write_to(&mut bytes).unwrap();
            assert_eq!(NpyArray::parse(&bytes).unwrap(), array);
            assert_eq!((bytes.len() - 24) % 64, 0);
        }
    }

    #[test]
    fn the_header_is_aligned_and_the_data_follows() {
        let mut bytes = Vec::new();
        write_f32(&mut bytes, &[2, 3], &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]).unwrap();
        let header = 10 + usize::from(u16::from_le_bytes([bytes[8], bytes[9]]));
        assert!(header.is_multiple_of(64) && bytes[header - 1] == b'\n');
        assert_eq!(bytes.len(), header + 24);
        assert!(String::from_utf8_lossy(&bytes[10..header]).contains("'shape': (2, 3), }"));
        assert_eq!(&bytes[header + 20..], &6f32.to_le_bytes());
        assert_eq!(NpyArray::parse(&bytes).unwrap().shape, [2, 3]);
    }

    #[test]
    fn the_header_is_numpys_own() {
        // `numpy.save(file, numpy.zeros(shape, "float32"))` of NumPy 2.
        for (shape, header) in [
            (vec![], "()"),
            (vec![3], "(3,)"),
            (vec![2, 3], "(2, 3)"),
            (vec![0, 1, 4], "(0, 1, 4)"),
        ] {
            let mut bytes = Vec::new();
            let values = vec![0.0; shape.iter().product()];
            write_f32(&mut bytes, &shape, &values).unwrap();
            let expected = format!(
                "{:117}\n",
                format!("{{'descr': '<f4', 'fortran_order': False, 'shape': {header}, }}")
            );
            assert_eq!(&bytes[..10], b"\x93NUMPY\x01\0\x76\0");
            assert_eq!(String::from_utf8_lossy(&bytes[10..128]), expected);
            assert_eq!(NpyArray::parse(&bytes).unwrap().shape, shape);
        }
    }

    #[test]
    fn what_is_no_array_is_refused_in_words() {
        let refused = |bytes: &[u8]| NpyArray::parse(bytes).unwrap_err().to_string();
        assert!(refused(b"PK\x03\x04").contains("magic"));
        assert!(refused(b"\x93NUMPY\x09\x00").contains("version is 9"));
        assert!(refused(b"\x93NUMPY\x01\x00\xff\xff{}").contains("65535 bytes, 2 follow"));
        let big =
            b"\x93NUMPY\x01\x00\x37\x00{'descr': '>f4', 'fortran_order': False, 'shape': (1,)}";
        assert!(refused(big).contains("big-endian"));
    }
}
