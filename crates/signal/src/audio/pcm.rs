//! Samples without compression, as they stand in a file: how they are coded, and what they mean.

use std::str::FromStr;

use warpsmith_core::ArgumentError;

/// How a sample is coded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PcmCoding {
    /// Unsigned, 128 is silence.
    Unsigned8,
    /// Signed whole numbers of so many bytes (1 to 8).
    Signed(u8),
    /// Floats of so many bytes (4 or 8).
    Float(u8),
    /// Logarithmic, North America and Japan (G.711).
    MuLaw,
    /// Logarithmic, elsewhere (G.711).
    ALaw,
}

/// What must be known about samples that no header describes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PcmFormat {
    /// How a sample is coded.
    pub coding: PcmCoding,
    /// Whether the most significant byte comes first.
    pub big_endian: bool,
    /// Samples per second.
    pub sample_rate: u32,
    /// Channels, whose samples take turns.
    pub channels: usize,
}

impl PcmFormat {
    /// Bytes of a sample.
    pub(crate) fn sample_bytes(&self) -> usize {
        match self.coding {
            PcmCoding::Unsigned8 | PcmCoding::MuLaw | PcmCoding::ALaw => 1,
            PcmCoding::Signed(bytes) | PcmCoding::Float(bytes) => usize::from(bytes),
        }
    }

    /// Bytes of one sample of each channel.
    pub fn frame_bytes(&self) -> usize {
        self.sample_bytes() * self.channels
    }

    /// Appends the samples of one channel of whole frames, full scale at 1.
    pub(crate) fn append_channel(&self, frames: &[u8], channel: usize, to: &mut Vec<f32>) {
        let own = Own {
            frames,
            channel,
            of: self.channels,
        };
        // One loop to a coding, so that what happens to a sample is decided once and not for every sample.
        match (self.coding, self.big_endian) {
            (PcmCoding::Unsigned8, _) => {
                own.append(to, |[x]| (f32::from(x) - 128.0) / 128.0);
            }
            (PcmCoding::MuLaw, _) => own.append(to, |[x]| f32::from(mu_law(x)) / 32_768.0),
            (PcmCoding::ALaw, _) => own.append(to, |[x]| f32::from(a_law(x)) / 32_768.0),
            (PcmCoding::Signed(1), _) => own.append(to, |[x]| f32::from(x as i8) / 128.0),
            (PcmCoding::Signed(2), false) => own.append(to, |x| short(i16::from_le_bytes(x))),
            (PcmCoding::Signed(2), true) => own.append(to, |x| short(i16::from_be_bytes(x))),
            // At the top of 32 bits: the sign comes along, and the scale is that of 32 bits.
            (PcmCoding::Signed(3), false) => {
                own.append(to, |[a, b, c]| long(i32::from_le_bytes([0, a, b, c])));
            }
            (PcmCoding::Signed(3), true) => {
                own.append(to, |[a, b, c]| long(i32::from_be_bytes([a, b, c, 0])));
            }
            (PcmCoding::Signed(4), false) => own.append(to, |x| long(i32::from_le_bytes(x))),
            (PcmCoding::Signed(4), true) => own.append(to, |x| long(i32::from_be_bytes(x))),
            (PcmCoding::Signed(5), big) => own.append(to, wide::<5>(big)),
            (PcmCoding::Signed(6), big) => own.append(to, wide::<6>(big)),
            (PcmCoding::Signed(7), big) => own.append(to, wide::<7>(big)),
            (PcmCoding::Signed(_), big) => own.append(to, wide::<8>(big)),
            (PcmCoding::Float(4), false) => own.append(to, f32::from_le_bytes),
            (PcmCoding::Float(4), true) => own.append(to, f32::from_be_bytes),
            (PcmCoding::Float(_), false) => own.append(to, |x| f64::from_le_bytes(x) as f32),
            (PcmCoding::Float(_), true) => own.append(to, |x| f64::from_be_bytes(x) as f32),
        }
    }
}

fn short(value: i16) -> f32 {
    f32::from(value) / 32_768.0
}

fn long(value: i32) -> f32 {
    value as f32 / 2_147_483_648.0
}

/// What a sample of more than 32 bits is worth: at the top of 64 bits.
fn wide<const N: usize>(big_endian: bool) -> impl Fn([u8; N]) -> f32 {
    move |bytes| {
        let mut all = [0; 8];
        let value = if big_endian {
            all[..N].copy_from_slice(&bytes);
            i64::from_be_bytes(all)
        } else {
            all[8 - N..].copy_from_slice(&bytes);
            i64::from_le_bytes(all)
        };
        value as f32 / 2f32.powi(63)
    }
}

/// The samples of one channel of `of`.
struct Own<'a> {
    frames: &'a [u8],
    channel: usize,
    of: usize,
}

impl Own<'_> {
    /// Appends the value of each, of `N` bytes.
    fn append<const N: usize>(&self, to: &mut Vec<f32>, value: impl Fn([u8; N]) -> f32) {
        let samples = self.frames.as_chunks::<N>().0;
        // Without a step the loop works on many samples at a time.
        if self.of == 1 {
            to.extend(samples.iter().map(|sample| value(*sample)));
        } else {
            let own = samples.chunks_exact(self.of);
            to.extend(own.map(|frame| value(frame[self.channel])));
        }
    }
}

/// G.711, table 2a: inverted bits; a segment of three bits, a place in it of four.
fn mu_law(code: u8) -> i16 {
    let bits = !code;
    let magnitude = ((i16::from(bits & 0x0F) << 3) + 0x84) << ((bits & 0x70) >> 4);
    if bits & 0x80 == 0 {
        magnitude - 0x84
    } else {
        0x84 - magnitude
    }
}

/// G.711, table 1a: every second bit is inverted.
fn a_law(code: u8) -> i16 {
    let bits = code ^ 0x55;
    let (place, segment) = (i16::from(bits & 0x0F) << 4, (bits & 0x70) >> 4);
    let magnitude = match segment {
        0 => place + 8,
        segment => (place + 0x108) << (segment - 1),
    };
    if bits & 0x80 == 0 {
        -magnitude
    } else {
        magnitude
    }
}

impl FromStr for PcmFormat {
    type Err = ArgumentError;

    /// `s16le,16000,2`: coding, rate, channels (1 where they are left out).
    fn from_str(text: &str) -> Result<Self, ArgumentError> {
        let wrong = |reason: &str| ArgumentError::parameter("raw format", text, reason);
        let mut parts = text.split(',').map(str::trim);
        let name = parts.next().unwrap_or_default();
        let (plain, big_endian) = match name.strip_suffix("be") {
            Some(plain) => (plain, true),
            None => (name.strip_suffix("le").unwrap_or(name), false),
        };
        let coding = match plain {
            "u8" => PcmCoding::Unsigned8,
            "s8" => PcmCoding::Signed(1),
            "s16" => PcmCoding::Signed(2),
            "s24" => PcmCoding::Signed(3),
            "s32" => PcmCoding::Signed(4),
            "f32" => PcmCoding::Float(4),
            "f64" => PcmCoding::Float(8),
            "mulaw" => PcmCoding::MuLaw,
            "alaw" => PcmCoding::ALaw,
            _ => {
                return Err(wrong(
                    "codings are u8, s8, s16le, s24le, s32le, f32le, f64le, mulaw and alaw; `be` instead of `le` \
                     is big-endian",
                ));
            }
        };
        let rate = parts.next().and_then(|rate| rate.parse().ok());
        let sample_rate = rate.filter(|rate| (1..=super::decoder::HIGHEST_RATE).contains(rate));
        let channels = parts.next().map_or(Some(1), |count| count.parse().ok());
        match (sample_rate, channels, parts.next()) {
            (Some(sample_rate), Some(channels @ 1..=255), None) => Ok(Self {
                coding,
                big_endian,
                sample_rate,
                channels,
            }),
            _ => Err(wrong(
                "coding, rate and channels are meant, such as `s16le,16000,1`",
            )),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_coding_has_its_full_scale_and_its_silence() {
        let value = |format: &str, bytes: &[u8]| {
            let format: PcmFormat = format.parse().unwrap();
            assert_eq!(format.frame_bytes(), bytes.len());
            let mut values = Vec::new();
            format.append_channel(bytes, 0, &mut values);
            assert_eq!(values.len(), 1);
            values[0]
        };
        assert_eq!(value("u8,8000", &[0]), -1.0);
        assert_eq!(value("s8,8000", &[0x40]), 0.5);
        assert_eq!(value("s16le,8000", &[0x00, 0x80]), -1.0);
        assert_eq!(value("s16be,8000", &[0x40, 0x00]), 0.5);
        assert_eq!(value("s24le,8000", &[0, 0, 0xC0]), -0.5);
        assert_eq!(value("s32be,8000", &[0x80, 0, 0, 0]), -1.0);
        assert_eq!(value("f32be,8000", &0.25f32.to_be_bytes()), 0.25);
        assert_eq!(value("f64le,8000", &(-0.75f64).to_le_bytes()), -0.75);
        // G.711: the codes of silence, and the largest values.
        assert_eq!(value("mulaw,8000", &[0xFF]), 0.0);
        assert_eq!(value("mulaw,8000", &[0x80]), 32_124.0 / 32_768.0);
        assert_eq!(value("mulaw,8000", &[0x00]), -32_124.0 / 32_768.0);
        assert_eq!(value("alaw,8000", &[0xD5]), 8.0 / 32_768.0);
        assert_eq!(value("alaw,8000", &[0xAA]), 32_256.0 / 32_768.0);
    }

    #[test]
    fn channels_take_turns() {
        let format: PcmFormat = "s16be,8000,3".parse().unwrap();
        let frames = [1i16, 2, 3, 4, 5, 6].map(i16::to_be_bytes).concat();
        let mut second = Vec::new();
        format.append_channel(&frames, 1, &mut second);
        assert_eq!(second, [2.0 / 32_768.0, 5.0 / 32_768.0]);
    }

    #[test]
    fn a_format_that_is_not_one_says_what_is() {
        for text in [
            "",
            "s16le",
            "s16le,0",
            "s16le,16000,0",
            "s17,16000",
            "u8,8000,1,1",
        ] {
            let error = text.parse::<PcmFormat>().unwrap_err().to_string();
            assert!(error.starts_with("raw format = "), "{error}");
        }
    }
}
