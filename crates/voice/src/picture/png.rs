//! PNG files of 8-bit colour, stored without compression: a picture is small, and a decoder of this is
//! every decoder.

use std::io::{self, Write};

/// Writes `pixels`, rows of RGB from the top, `width` to a row.
pub(super) fn write_png(out: &mut impl Write, width: usize, pixels: &[[u8; 3]]) -> io::Result<()> {
    let height = pixels.len() / width.max(1);
    let size = |n: usize| u32::try_from(n).map_err(io::Error::other);
    out.write_all(b"\x89PNG\r\n\x1a\n")?;
    let mut header = Vec::with_capacity(13);
    header.extend(size(width)?.to_be_bytes());
    header.extend(size(height)?.to_be_bytes());
    // Eight bits to a channel, three channels, the one compression, filter and order there is.
    header.extend([8, 2, 0, 0, 0]);
    chunk(out, b"IHDR", &header)?;
    let mut raw = Vec::with_capacity(pixels.len() * 3 + height);
    for row in pixels.chunks_exact(width.max(1)) {
        raw.push(0);
        raw.extend(row.as_flattened());
    }
    chunk(out, b"IDAT", &stored(&raw))?;
    chunk(out, b"IEND", &[])
}

/// A zlib stream of stored blocks.
fn stored(data: &[u8]) -> Vec<u8> {
    const BLOCK: usize = 65_535;
    let mut stream = vec![0x78, 0x01];
    let blocks = data.len().div_ceil(BLOCK).max(1);
    for index in 0..blocks {
        let block = &data[index * BLOCK..((index + 1) * BLOCK).min(data.len())];
        let length = block.len() as u16;
        stream.push(u8::from(index + 1 == blocks));
        stream.extend(length.to_le_bytes());
        stream.extend((!length).to_le_bytes());
        stream.extend_from_slice(block);
    }
    let (mut a, mut b) = (1u32, 0u32);
    for byte in data {
        a = (a + u32::from(*byte)) % 65_521;
        b = (b + a) % 65_521;
    }
    stream.extend(((b << 16) | a).to_be_bytes());
    stream
}

fn chunk(out: &mut impl Write, kind: &[u8; 4], data: &[u8]) -> io::Result<()> {
    let length = u32::try_from(data.len()).map_err(io::Error::other)?;
    out.write_all(&length.to_be_bytes())?;
    out.write_all(kind)?;
    out.write_all(data)?;
    let mut sum = u32::MAX;
    for byte in kind.iter().chain(data) {
        sum ^= u32::from(*byte);
        for _ in 0..8 {
            sum = (sum >> 1) ^ (0xedb8_8320 & (sum & 1).wrapping_neg());
        }
    }
    out.write_all(&(!sum).to_be_bytes())
}

/// Base 64, for pictures inside text.
pub(super) fn base64(data: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::with_capacity(data.len().div_ceil(3) * 4);
    for group in data.chunks(3) {
        let byte = |n: usize| u32::from(group.get(n).copied().unwrap_or(0));
        let bits = (byte(0) << 16) | (byte(1) << 8) | byte(2);
        for digit in 0..4 {
            if digit <= group.len() {
                text.push(char::from(
                    DIGITS[((bits >> (18 - 6 * digit)) & 63) as usize],
                ));
            } else {
                text.push('=');
            }
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn checksums_and_digits_are_the_standards() {
        let mut bytes = Vec::new();
        chunk(&mut bytes, b"IEND", &[]).unwrap();
        // The last twelve bytes of every PNG file.
        assert_eq!(
            bytes,
            [0, 0, 0, 0, b'I', b'E', b'N', b'D', 0xae, 0x42, 0x60, 0x82]
        );
        // Adler-32 of "Wikipedia" is 0x11E60398.
        assert!(stored(b"Wikipedia").ends_with(&[0x11, 0xe6, 0x03, 0x98]));
        assert_eq!(base64(b"Man"), "TWFu");
        assert_eq!(base64(b"Ma"), "TWE=");
        assert_eq!(base64(b"M"), "TQ==");
    }

    #[test]
    fn a_picture_has_its_size_in_its_header() {
        let mut bytes = Vec::new();
        write_png(&mut bytes, 300, &[[1, 2, 3]; 300 * 100]).unwrap();
        assert_eq!(&bytes[16..24], &[0, 0, 1, 44, 0, 0, 0, 100]);
        assert!(bytes.len() > 300 * 100 * 3);
    }
}
