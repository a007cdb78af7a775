//! Sound as a WAV file, whole or piece by piece.

use std::io::{self, Write};

use warpsmith_formats::wav::{SampleFormat, WavFormat};

use super::file::Audio;

/// Bytes that are gathered before they are written.
const BLOCK: usize = 1 << 16;

impl Audio {
    /// Writes a WAV file of 32-bit floats; beyond 4 GiB it is RF64.
    pub fn write_wav(&self, out: &mut impl Write) -> io::Result<()> {
        let samples = SampleFormat::Float32;
        self.write_wav_head(samples, self.frames() as u64, out)?;
        self.write_wav_samples(samples, out)?;
        Ok(())
    }

    /// Writes the head of a WAV file of so many samples like these to a channel.
    pub fn write_wav_head(
        &self,
        samples: SampleFormat,
        frames: u64,
        out: &mut impl Write,
    ) -> io::Result<()> {
        out.write_all(&self.wav_format(samples)?.head(frames))
    }

    /// Writes the samples as they follow a head, or the samples before. Integers are rounded to the nearest, without
    /// dither, and cut off at full scale; says how many were.
    pub fn write_wav_samples(
        &self,
        samples: SampleFormat,
        out: &mut impl Write,
    ) -> io::Result<usize> {
        let mut bytes = Vec::with_capacity(BLOCK + 4 * self.channels.len());
        let mut clipped = 0;
        for frame in 0..self.frames() {
            for channel in &self.channels {
                let x = channel[frame];
                match samples {
                    SampleFormat::Float32 => bytes.extend(x.to_le_bytes()),
                    SampleFormat::Integer16 => {
                        let value = integer(x, 15, &mut clipped);
                        bytes.extend_from_slice(&value.to_le_bytes()[..2]);
                    }
                    SampleFormat::Integer24 => {
                        let value = integer(x, 23, &mut clipped);
                        bytes.extend_from_slice(&value.to_le_bytes()[..3]);
                    }
                }
            }
            if bytes.len() >= BLOCK {
                out.write_all(&bytes)?;
                bytes.clear();
            }
        }
        out.write_all(&bytes)?;
        Ok(clipped)
    }

    /// Ends a WAV file of so many samples like these to a channel.
    pub fn write_wav_end(
        &self,
        samples: SampleFormat,
        frames: u64,
        out: &mut impl Write,
    ) -> io::Result<()> {
        let padding = self.wav_format(samples)?.padding(frames);
        out.write_all(&[0][..padding as usize])
    }

    fn wav_format(&self, samples: SampleFormat) -> io::Result<WavFormat> {
        Ok(WavFormat {
            sample_rate: self.sample_rate,
            channels: u8::try_from(self.channels.len())
                .map_err(|_| io::Error::other("a WAV file holds at most 255 channels"))?,
            samples,
        })
    }
}

/// A sample as a whole number below `2^bits`; full scale is that of the readers, so that integers keep their bits.
fn integer(x: f32, bits: u32, clipped: &mut usize) -> i32 {
    let scale = f64::from(1u32 << bits);
    let value = (f64::from(x) * scale).round_ties_even();
    let kept = value.clamp(-scale, scale - 1.0);
    // Full scale itself has no positive integer; that is no clipping that anybody hears.
    *clipped += usize::from(value > scale || value < -scale);
    kept as i32
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::audio::ChannelChoice;

    #[test]
    fn integers_come_back_with_their_bits_and_others_within_half_a_step() {
        let exact: Vec<f32> = [-32_768, -32_767, -1, 0, 1, 77, 32_767]
            .map(|n| n as f32 / 32_768.0)
            .to_vec();
        let odd: Vec<f32> = (0..999).map(|n| 0.99 * (n as f32 * 0.37).sin()).collect();
        for (samples, step) in [
            (SampleFormat::Integer16, 1.0 / 32_768.0),
            (SampleFormat::Integer24, 1.0 / 8_388_608.0),
            (SampleFormat::Float32, 0.0),
        ] {
            for (signal, bound) in [(&exact, 0.0), (&odd, 0.5 * step)] {
                let audio = Audio {
                    sample_rate: 8000,
                    channels: vec![signal.clone()],
                };
                let frames = signal.len() as u64;
                let mut bytes = Vec::new();
                audio.write_wav_head(samples, frames, &mut bytes).unwrap();
                let clipped = audio.write_wav_samples(samples, &mut bytes).unwrap();
                audio.write_wav_end(samples, frames, &mut bytes).unwrap();
                assert_eq!((clipped, bytes.len() % 2), (0, 0));
                let size = u32::from_le_bytes(bytes[4..8].try_into().unwrap());
                assert_eq!(size as usize + 8, bytes.len());
                let name = std::path::Path::new("x.wav");
                let back = Audio::read_stream(name, &mut &bytes[..]).unwrap();
                let back = back.signal(ChannelChoice::Mix).unwrap();
                assert_eq!(back.len(), signal.len());
                for (one, other) in back.iter().zip(signal) {
                    assert!((one - other).abs() <= bound, "{samples:?}: {one} {other}");
                }
            }
        }
        let loud = Audio {
            sample_rate: 8000,
            channels: vec![vec![2.0, -1.5, 1.0, f32::MAX]],
        };
        let mut bytes = Vec::new();
        let clipped = loud.write_wav_samples(SampleFormat::Integer16, &mut bytes);
        assert_eq!(clipped.unwrap(), 3);
        assert_eq!(bytes, [255, 127, 0, 128, 255, 127, 255, 127]);
    }
}
