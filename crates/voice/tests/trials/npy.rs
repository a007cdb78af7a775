//! Reads the `.npy` files that the peers write: little-endian, C order, f32 or i16.

use std::path::Path;

/// The values as f32 and the shape.
pub(crate) fn read(path: &Path) -> (Vec<f32>, Vec<usize>) {
    let bytes = std::fs::read(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    assert_eq!(&bytes[..6], b"\x93NUMPY", "{}", path.display());
    let header_length = usize::from(u16::from_le_bytes([bytes[8], bytes[9]]));
    let header = std::str::from_utf8(&bytes[10..10 + header_length]).unwrap();
    assert!(header.contains("'fortran_order': False"), "{header}");
    let shape = header
        .split("'shape': (")
        .nth(1)
        .unwrap()
        .split(')')
        .next()
        .unwrap();
    let shape = shape
        .split(',')
        .filter_map(|number| number.trim().parse().ok())
        .collect();
    let data = &bytes[10 + header_length..];
    let values = if header.contains("'<f4'") {
        data.as_chunks::<4>()
            .0
            .iter()
            .map(|b| f32::from_le_bytes(*b))
            .collect()
    } else {
        assert!(header.contains("'<i2'"), "{header}");
        data.as_chunks::<2>()
            .0
            .iter()
            .map(|b| f32::from(i16::from_le_bytes(*b)))
            .collect()
    };
    (values, shape)
}
