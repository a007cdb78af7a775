//! The head of a WAV file of 16-bit stereo: RIFF, or RF64 where 32 bits cannot count the bytes.

/// Bytes of a frame: two channels of 16 bits.
pub const FRAME_BYTES: u64 = 4;

/// Everything before the samples of a file of `frames` frames.
pub fn wav_head(sample_rate: u32, frames: u64) -> Vec<u8> {
    let data = frames * FRAME_BYTES;
    let mut head = Vec::with_capacity(80);
    let short = u32::try_from(data + 36).ok();
    let mut put = |bytes: &[u8]| head.extend_from_slice(bytes);
    match short {
        Some(rest) => {
            put(b"RIFF");
            put(&rest.to_le_bytes());
            put(b"WAVE");
        }
        None => {
            put(b"RF64");
            put(&u32::MAX.to_le_bytes());
            put(b"WAVEds64");
            put(&28u32.to_le_bytes());
            put(&(data + 72).to_le_bytes());
            put(&data.to_le_bytes());
            put(&frames.to_le_bytes());
            put(&0u32.to_le_bytes());
        }
    }
    put(b"fmt ");
    put(&16u32.to_le_bytes());
    put(&1u16.to_le_bytes());
    put(&2u16.to_le_bytes());
    put(&sample_rate.to_le_bytes());
    put(&(sample_rate * FRAME_BYTES as u32).to_le_bytes());
    put(&(FRAME_BYTES as u16).to_le_bytes());
    put(&16u16.to_le_bytes());
    put(b"data");
    put(&u32::try_from(data)
        .ok()
        .filter(|_| short.is_some())
        .unwrap_or(u32::MAX)
        .to_le_bytes());
    head
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn heads_are_44_bytes_or_80_and_count_right() {
        let head = wav_head(48_000, 1000);
        assert_eq!((head.len(), &head[..4]), (44, &b"RIFF"[..]));
        assert_eq!(u32::from_le_bytes(head[40..44].try_into().unwrap()), 4000);
        assert_eq!(u32::from_le_bytes(head[4..8].try_into().unwrap()), 4036);
        // Eight hours at 48 kHz are 5.5 GB.
        let frames = 48_000 * 3600 * 8;
        let head = wav_head(48_000, frames);
        assert_eq!((head.len(), &head[..4]), (80, &b"RF64"[..]));
        assert_eq!(
            u64::from_le_bytes(head[28..36].try_into().unwrap()),
            4 * frames
        );
    }
}
