//! Sounds inside the page.

use warpsmith_formats::wav::WavFormat;

/// 16-bit mono samples as a WAV file.
pub(super) fn wav(signal: &[f32], rate: u32) -> Vec<u8> {
    let mut file = WavFormat::pcm16(rate, 1).head(signal.len() as u64);
    file.reserve(2 * signal.len());
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
