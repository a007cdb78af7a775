//! PNG files of 8-bit colour.
//!
//! Ours, because what we write is one pixel format in thirty lines over the deflate that is linked
//! already. The `png` crate brings a decoder for every kind of PNG and a second and a third deflate:
//! seven seconds of compiling under every crate of the workspace.

use std::io::{self, Write};

use flate2::write::ZlibEncoder;
use flate2::{Compression, Crc};

/// Bytes of a pixel.
const PIXEL: usize = 3;

/// A file of `pixels`, rows of red, green and blue from the top, `width` pixels to a row.
///
/// # Errors
/// Where there is no pixel, the last row is not whole, or a size does not fit 31 bits: PNG has no
/// such pictures.
pub fn encode_rgb(width: usize, pixels: &[[u8; PIXEL]]) -> io::Result<Vec<u8>> {
    let refused = |problem: String| io::Error::new(io::ErrorKind::InvalidInput, problem);
    if width == 0 || pixels.is_empty() || !pixels.len().is_multiple_of(width) {
        let problem = format!("{} pixels do not make rows of {width}", pixels.len());
        return Err(refused(problem));
    }
    let size = |pixels: usize| match i32::try_from(pixels) {
        Ok(pixels) => Ok(pixels.to_be_bytes()),
        Err(_) => Err(refused(format!("{pixels} pixels are too many for a PNG"))),
    };
    let mut header = Vec::with_capacity(13);
    header.extend(size(width)?);
    header.extend(size(pixels.len() / width)?);
    // Eight bits, true colour, deflate, a filter to each row, no interlace.
    header.extend([8, 2, 0, 0, 0]);
    let mut file = b"\x89PNG\r\n\x1a\n".to_vec();
    chunk(&mut file, b"IHDR", &header)?;
    chunk(&mut file, b"IDAT", &packed(width, pixels)?)?;
    chunk(&mut file, b"IEND", &[])?;
    Ok(file)
}

fn packed(width: usize, pixels: &[[u8; PIXEL]]) -> io::Result<Vec<u8>> {
    let mut zlib = ZlibEncoder::new(Vec::new(), Compression::new(6));
    let mut line = Vec::with_capacity(1 + PIXEL * width);
    for row in pixels.chunks_exact(width) {
        let row = row.as_flattened();
        line.clear();
        // Filter type 1: each byte less the one a pixel earlier, which smooth pictures make small.
        line.push(1);
        line.extend_from_slice(&row[..PIXEL]);
        line.extend(
            row[PIXEL..]
                .iter()
                .zip(row)
                .map(|(byte, before)| byte.wrapping_sub(*before)),
        );
        zlib.write_all(&line)?;
    }
    zlib.finish()
}

fn chunk(file: &mut Vec<u8>, kind: &[u8; 4], data: &[u8]) -> io::Result<()> {
    let length = u32::try_from(data.len()).map_err(io::Error::other)?;
    file.extend(length.to_be_bytes());
    let summed = file.len();
    file.extend(kind);
    file.extend(data);
    let mut sum = Crc::new();
    sum.update(&file[summed..]);
    file.extend(sum.sum().to_be_bytes());
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use super::*;

    /// What a decoder does: chunks with their checksums, inflate, unfilter.
    fn decoded(file: &[u8]) -> (usize, Vec<[u8; 3]>) {
        let mut rest = file.strip_prefix(b"\x89PNG\r\n\x1a\n").unwrap();
        let (mut width, mut data) = (0, Vec::new());
        while let Some((length, after)) = rest.split_first_chunk::<4>() {
            let length = u32::from_be_bytes(*length) as usize;
            let (summed, after) = after.split_at(4 + length);
            let (sum, after) = after.split_first_chunk::<4>().unwrap();
            let mut crc = Crc::new();
            crc.update(summed);
            assert_eq!(u32::from_be_bytes(*sum), crc.sum());
            match &summed[..4] {
                b"IHDR" => {
                    width = u32::from_be_bytes(summed[4..8].try_into().unwrap()) as usize;
                }
                b"IDAT" => data.extend_from_slice(&summed[4..]),
                _ => assert_eq!((summed, after.len()), (&b"IEND"[..], 0)),
            }
            rest = after;
        }
        let mut lines = Vec::new();
        let mut zlib = flate2::read::ZlibDecoder::new(&data[..]);
        zlib.read_to_end(&mut lines).unwrap();
        let mut bytes: Vec<u8> = Vec::new();
        for line in lines.chunks_exact(1 + 3 * width) {
            assert_eq!(line[0], 1);
            let start = bytes.len();
            for (index, byte) in line[1..].iter().enumerate() {
                let before = index.checked_sub(3).map_or(0, |at| bytes[start + at]);
                bytes.push(byte.wrapping_add(before));
            }
        }
        (width, bytes.as_chunks().0.to_vec())
    }

    #[test]
    fn a_picture_unpacks_to_its_pixels() {
        for (width, height) in [(1, 1), (1, 5), (7, 3), (300, 100)] {
            let pixels: Vec<[u8; 3]> = (0..width * height)
                .map(|n| [(n * 31) as u8, (n / width) as u8, (n * n) as u8])
                .collect();
            let file = encode_rgb(width, &pixels).unwrap();
            assert_eq!(file[20..24], (height as u32).to_be_bytes());
            assert_eq!(decoded(&file), (width, pixels));
        }
    }

    #[test]
    fn every_file_ends_in_the_same_twelve_bytes() {
        let file = encode_rgb(1, &[[1, 2, 3]]).unwrap();
        assert!(file.ends_with(&[0, 0, 0, 0, b'I', b'E', b'N', b'D', 0xae, 0x42, 0x60, 0x82]));
    }

    #[test]
    fn what_is_no_picture_is_refused() {
        assert!(encode_rgb(0, &[[0; 3]]).is_err());
        assert!(encode_rgb(1, &[]).is_err());
        assert!(encode_rgb(2, &[[0; 3]; 3]).is_err());
    }
}
