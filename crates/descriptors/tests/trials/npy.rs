//! Reads the `.npy` files that the peers write: little-endian, C order, f32 or i16.

use std::path::Path;

use libtest_mimic::Failed;

/// The values as f32.
pub(crate) fn read(path: &Path) -> Result<Vec<f32>, Failed> {
    let bytes = std::fs::read(path).map_err(|error| format!("{}: {error}", path.display()))?;
    assert_eq!(&bytes[..6], b"\x93NUMPY", "{}", path.display());
    let header_length = usize::from(u16::from_le_bytes([bytes[8], bytes[9]]));
    let header = std::str::from_utf8(&bytes[10..10 + header_length])?;
    assert!(header.contains("'fortran_order': False"), "{header}");
    let data = &bytes[10 + header_length..];
    Ok(if header.contains("'<f4'") {
        let words = data.as_chunks::<4>().0.iter();
        words.map(|word| f32::from_le_bytes(*word)).collect()
    } else {
        assert!(header.contains("'<i2'"), "{header}");
        let words = data.as_chunks::<2>().0.iter();
        words
            .map(|word| f32::from(i16::from_le_bytes(*word)))
            .collect()
    })
}
