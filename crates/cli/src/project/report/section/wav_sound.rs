//! Sounds inside the page.

/// 16-bit mono samples as a WAV file.
pub(super) fn wav(signal: &[f32], rate: u32) -> Vec<u8> {
    let bytes = 2 * signal.len() as u32;
    let mut file = Vec::with_capacity(44 + bytes as usize);
    file.extend(b"RIFF");
    file.extend((36 + bytes).to_le_bytes());
    file.extend(b"WAVEfmt ");
    file.extend(16_u32.to_le_bytes());
    for field in [1_u16, 1] {
        file.extend(field.to_le_bytes());
    }
    file.extend(rate.to_le_bytes());
    file.extend((2 * rate).to_le_bytes());
    for field in [2_u16, 16] {
        file.extend(field.to_le_bytes());
    }
    file.extend(b"data");
    file.extend(bytes.to_le_bytes());
    for sample in signal {
        file.extend(((sample.clamp(-1.0, 1.0) * 32767.0).round() as i16).to_le_bytes());
    }
    file
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wav_file_says_how_long_it_is() {
        let file = wav(&[0.0, 1.0, -1.0], 8000);
        assert_eq!(file.len(), 50);
        assert_eq!(file[4..8], 42_u32.to_le_bytes());
        assert_eq!(file[46..50], [0xff, 0x7f, 0x01, 0x80]);
    }
}
