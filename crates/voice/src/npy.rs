//! Matrices as NumPy's `.npy` files, version 1.0: little-endian f32, C order.

use std::io::{self, Write};

/// Writes `values` with `shape` to `out`.
pub fn write_npy(out: &mut impl Write, shape: &[usize], values: &[f32]) -> io::Result<()> {
    let sizes: String = shape.iter().map(|size| format!("{size}, ")).collect();
    let header = format!("{{'descr': '<f4', 'fortran_order': False, 'shape': ({sizes}), }}");
    // Magic, version, length and header end on a multiple of 64, the last byte a newline.
    let padded = (10 + header.len() + 1).next_multiple_of(64) - 10;
    let length = u16::try_from(padded).map_err(io::Error::other)?;
    out.write_all(b"\x93NUMPY\x01\0")?;
    out.write_all(&length.to_le_bytes())?;
    writeln!(out, "{header:width$}", width = padded - 1)?;
    for block in values.chunks(4096) {
        let bytes: Vec<u8> = block.iter().flat_map(|value| value.to_le_bytes()).collect();
        out.write_all(&bytes)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_header_is_aligned_and_the_data_follows() {
        let mut bytes = Vec::new();
        write_npy(&mut bytes, &[2, 3], &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]).unwrap();
        let header = 10 + usize::from(u16::from_le_bytes([bytes[8], bytes[9]]));
        assert!(header.is_multiple_of(64) && bytes[header - 1] == b'\n');
        assert_eq!(bytes.len(), header + 24);
        assert!(String::from_utf8_lossy(&bytes[10..header]).contains("(2, 3, )"));
        assert_eq!(&bytes[header + 20..], &6f32.to_le_bytes());
    }
}
