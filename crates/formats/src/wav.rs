//! The head of a WAV file: RIFF, or RF64 (EBU Tech 3306) where 32 bits cannot count the bytes.
//!
//! Ours, because samples come from a stream whose length is known before its first sample: all that
//! is needed is the head, and crates that write WAV want to seek back to it and have no RF64.

/// How a sample is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SampleFormat {
    /// Signed 16-bit integers.
    Integer16,
    /// Signed 24-bit integers.
    Integer24,
    /// 32-bit floats, full scale at 1.
    Float32,
}

/// What the samples of a file are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WavFormat {
    /// Frames per second.
    pub sample_rate: u32,
    /// Samples of a frame.
    pub channels: u8,
    /// How each is stored.
    pub samples: SampleFormat,
}

impl WavFormat {
    /// 16-bit integers, which every player knows.
    pub const fn pcm16(sample_rate: u32, channels: u8) -> Self {
        Self {
            sample_rate,
            channels,
            samples: SampleFormat::Integer16,
        }
    }

    /// Bytes of a frame: one sample of each channel.
    pub const fn frame_bytes(&self) -> u16 {
        self.channels as u16 * self.sample_bytes()
    }

    const fn sample_bytes(&self) -> u16 {
        match self.samples {
            SampleFormat::Integer16 => 2,
            SampleFormat::Integer24 => 3,
            SampleFormat::Float32 => 4,
        }
    }

    /// Zeros after the samples of `frames` frames, so that the file's chunks have even lengths: 1 or 0.
    pub const fn padding(&self, frames: u64) -> u64 {
        frames.wrapping_mul(self.frame_bytes() as u64) % 2
    }

    /// Everything before the samples of a file of `frames` frames.
    pub fn head(&self, frames: u64) -> Vec<u8> {
        let data = frames.saturating_mul(self.frame_bytes().into());
        let chunks = self.chunks(frames);
        // What the size of a RIFF file does not count is its first eight bytes.
        let rest = data
            .saturating_add(self.padding(frames))
            .saturating_add(chunks.len() as u64)
            .saturating_add(4 + 8);
        let mut head = Vec::with_capacity(96);
        let data_size = match u32::try_from(rest) {
            Ok(rest) => {
                head.extend(b"RIFF");
                head.extend(rest.to_le_bytes());
                head.extend(b"WAVE");
                // Smaller than `rest`.
                data as u32
            }
            Err(_) => {
                head.extend(b"RF64");
                head.extend(u32::MAX.to_le_bytes());
                head.extend(b"WAVEds64");
                head.extend(28u32.to_le_bytes());
                head.extend(rest.saturating_add(36).to_le_bytes());
                head.extend(data.to_le_bytes());
                head.extend(frames.to_le_bytes());
                head.extend(0u32.to_le_bytes());
                u32::MAX
            }
        };
        head.extend(chunks);
        head.extend(b"data");
        head.extend(data_size.to_le_bytes());
        head
    }

    /// The chunks between the head and the data.
    fn chunks(&self, frames: u64) -> Vec<u8> {
        let (size, kind) = match self.samples {
            SampleFormat::Integer16 | SampleFormat::Integer24 => (16u32, 1u16),
            // Whatever is not integers says how long its extension is, and how many frames follow.
            SampleFormat::Float32 => (18, 3),
        };
        let block = self.frame_bytes();
        let mut chunks = b"fmt ".to_vec();
        chunks.extend(size.to_le_bytes());
        chunks.extend(kind.to_le_bytes());
        chunks.extend(u16::from(self.channels).to_le_bytes());
        chunks.extend(self.sample_rate.to_le_bytes());
        chunks.extend(self.sample_rate.saturating_mul(block.into()).to_le_bytes());
        chunks.extend(block.to_le_bytes());
        chunks.extend((8 * self.sample_bytes()).to_le_bytes());
        if self.samples == SampleFormat::Float32 {
            chunks.extend(0u16.to_le_bytes());
            chunks.extend(b"fact");
            chunks.extend(4u32.to_le_bytes());
            let counted = u32::try_from(frames).unwrap_or(u32::MAX);
            chunks.extend(counted.to_le_bytes());
        }
        chunks
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const STEREO: WavFormat = WavFormat::pcm16(48_000, 2);
    const FLOATS: WavFormat = WavFormat {
        samples: SampleFormat::Float32,
        ..STEREO
    };

    fn u32_at(head: &[u8], at: usize) -> u32 {
        u32::from_le_bytes(head[at..at + 4].try_into().unwrap())
    }

    fn u64_at(head: &[u8], at: usize) -> u64 {
        u64::from_le_bytes(head[at..at + 8].try_into().unwrap())
    }

    #[test]
    fn heads_of_integers_are_44_bytes_or_80_and_count_right() {
        let head = STEREO.head(1000);
        assert_eq!((head.len(), &head[..4]), (44, &b"RIFF"[..]));
        assert_eq!((u32_at(&head, 40), u32_at(&head, 4)), (4000, 4036));
        // Eight hours at 48 kHz are 5.5 GB.
        let frames = 48_000 * 3600 * 8;
        let head = STEREO.head(frames);
        assert_eq!((head.len(), &head[..4]), (80, &b"RF64"[..]));
        assert_eq!((u32_at(&head, 4), u32_at(&head, 76)), (u32::MAX, u32::MAX));
        assert_eq!(u64_at(&head, 20), 72 + 4 * frames);
        assert_eq!((u64_at(&head, 28), u64_at(&head, 36)), (4 * frames, frames));
    }

    #[test]
    fn an_odd_number_of_bytes_is_padded_and_the_file_counts_that() {
        let narrow = WavFormat {
            samples: SampleFormat::Integer24,
            ..WavFormat::pcm16(8000, 1)
        };
        let head = narrow.head(3);
        assert_eq!((narrow.padding(3), narrow.padding(4)), (1, 0));
        assert_eq!((u32_at(&head, 40), u32_at(&head, 4)), (9, 36 + 9 + 1));
        assert_eq!(head[32..36], [3, 0, 24, 0]);
    }

    #[test]
    fn heads_of_floats_count_their_frames_too() {
        let head = FLOATS.head(1000);
        assert_eq!((head.len(), u32_at(&head, 4)), (58, 8050));
        assert_eq!((u32_at(&head, 46), u32_at(&head, 54)), (1000, 8000));
        let frames = 1 << 33;
        let head = FLOATS.head(frames);
        assert_eq!((head.len(), &head[..4]), (94, &b"RF64"[..]));
        assert_eq!(u64_at(&head, 20), 86 + 8 * frames);
        assert_eq!((u64_at(&head, 28), u64_at(&head, 36)), (8 * frames, frames));
        assert_eq!(u32_at(&head, 82), u32::MAX);
    }

    #[test]
    fn rf64_begins_where_32_bits_end() {
        let most = (u64::from(u32::MAX) - 36) / 4;
        assert!(STEREO.head(most).starts_with(b"RIFF"));
        assert!(STEREO.head(most + 1).starts_with(b"RF64"));
        assert!(STEREO.head(u64::MAX).starts_with(b"RF64"));
    }
}
