//! NumPy's `.npy` files: one array each, in the layout that `numpy.save` writes.
//!
//! Versions 1 to 3 are read, version 1 is written. Little-endian, C order; anything else is refused by name.

use std::io::Write;
use std::path::Path;

use anyhow::{Context, Result, bail};
use tempfile::NamedTempFile;
use warpsmith_compiler::Scalar;

const MAGIC: &[u8] = b"\x93NUMPY";

/// NumPy's name for a scalar type and its width in bytes; it has none for `bfloat16`.
pub(crate) fn dtype(scalar: Scalar) -> Option<(&'static str, usize)> {
    Some(match scalar {
        Scalar::Bool => ("|b1", 1),
        Scalar::I8 => ("|i1", 1),
        Scalar::U8 => ("|u1", 1),
        Scalar::I16 => ("<i2", 2),
        Scalar::U16 => ("<u2", 2),
        Scalar::I32 => ("<i4", 4),
        Scalar::U32 => ("<u4", 4),
        Scalar::I64 => ("<i8", 8),
        Scalar::U64 => ("<u8", 8),
        Scalar::F16 => ("<f2", 2),
        Scalar::F32 => ("<f4", 4),
        Scalar::F64 => ("<f8", 8),
        _ => return None,
    })
}

/// An array as it stands in a file.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct NpyArray {
    pub(crate) descr: String,
    pub(crate) shape: Vec<usize>,
    pub(crate) data: Vec<u8>,
}

impl NpyArray {
    pub(crate) fn read(path: &Path) -> Result<Self> {
        let bytes =
            std::fs::read(path).with_context(|| format!("cannot read `{}`", path.display()))?;
        Self::parse(&bytes).with_context(|| format!("cannot read `{}` as .npy", path.display()))
    }

    fn parse(bytes: &[u8]) -> Result<Self> {
        let Some(rest) = bytes.strip_prefix(MAGIC) else {
            bail!("it does not begin with NumPy's magic bytes; write it with `numpy.save`");
        };
        let (length, rest) = match rest {
            [1, _, a, b, rest @ ..] => (usize::from(u16::from_le_bytes([*a, *b])), rest),
            [2 | 3, _, a, b, c, d, rest @ ..] => {
                (u32::from_le_bytes([*a, *b, *c, *d]) as usize, rest)
            }
            [version, ..] => bail!("its format version is {version}, versions 1 to 3 are known"),
            [] => bail!("it ends after the magic bytes"),
        };
        let Some((header, data)) = rest.split_at_checked(length) else {
            bail!("its header says {length} bytes, {} follow", rest.len());
        };
        let header = std::str::from_utf8(header).context("its header is not text")?;
        let Some(descr) = entry(header, "descr").and_then(|text| text.trim().strip_prefix('\''))
        else {
            bail!("its header names no plain dtype: `{}`", header.trim());
        };
        let descr = descr.split('\'').next().unwrap_or_default().to_owned();
        if descr.starts_with('>') {
            bail!(
                "its numbers are big-endian (`{descr}`); save `array.astype(array.dtype.newbyteorder('<'))`"
            );
        }
        if entry(header, "fortran_order").is_some_and(|text| text.trim().starts_with("True")) {
            bail!("its elements are in Fortran order; save `numpy.ascontiguousarray(array)`");
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
            bail!("its header gives no shape: `{}`", header.trim())
        };
        let width: usize = descr
            .get(2..)
            .and_then(|digits| digits.parse().ok())
            .unwrap_or(0);
        let expected = shape.iter().try_fold(width, |size, n| size.checked_mul(*n));
        if expected != Some(data.len()) {
            bail!(
                "shape {shape:?} of `{descr}` does not fit {} bytes of data",
                data.len()
            );
        }
        Ok(Self {
            descr,
            shape,
            data: data.to_vec(),
        })
    }

    /// Writes the file under a temporary name, then renames it.
    pub(crate) fn write(&self, path: &Path) -> Result<()> {
        let sizes: String = self.shape.iter().map(|size| format!("{size}, ")).collect();
        let mut header = format!(
            "{{'descr': '{}', 'fortran_order': False, 'shape': ({}), }}",
            self.descr,
            sizes.trim_end()
        );
        // Data begin at a multiple of 64 bytes, the header ends with a newline.
        let end = (MAGIC.len() + 4 + header.len() + 1).next_multiple_of(64);
        while MAGIC.len() + 4 + header.len() + 1 < end {
            header.push(' ');
        }
        header.push('\n');
        let length = u16::try_from(header.len()).context("the shape is too long for a header")?;
        let folder = path
            .parent()
            .filter(|folder| !folder.as_os_str().is_empty())
            .unwrap_or(Path::new("."));
        let mut file = NamedTempFile::new_in(folder)
            .with_context(|| format!("cannot write in `{}`", folder.display()))?;
        for part in [
            MAGIC,
            &[1, 0],
            &length.to_le_bytes(),
            header.as_bytes(),
            &self.data,
        ] {
            file.write_all(part)?;
        }
        file.persist(path)
            .with_context(|| format!("cannot write `{}`", path.display()))?;
        Ok(())
    }
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
    fn an_array_survives_a_round_trip_through_a_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.npy");
        for shape in [vec![6], vec![2, 3], vec![1, 2, 3]] {
            let array = NpyArray {
                descr: "<f4".into(),
                shape,
                data: (0..24).collect(),
            };
            array.write(&path).unwrap();
            assert_eq!(NpyArray::read(&path).unwrap(), array);
            assert_eq!((std::fs::metadata(&path).unwrap().len() - 24) % 64, 0);
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
