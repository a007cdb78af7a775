//! The 32 bytes before the samples. The position of the first sample is the truth about a frame;
//! sequence numbers only show whether a frame was skipped on the way.

use crate::error::ProtocolError;

/// Bytes of a head.
pub const HEAD_BYTES: usize = 32;
const MAGIC: [u8; 4] = *b"WSM1";

/// Bits of [`FrameHead::flags`].
pub mod flags {
    /// What comes does not continue what went before.
    pub const DISCONTINUITY: u8 = 1;
}

/// What a binary frame is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Kind {
    /// Samples.
    Audio = 0,
    /// Samples that were not sent: the listener was too slow for a broadcast.
    Gap = 1,
    /// New parameters hold from here on; no samples.
    Boundary = 2,
}

/// How samples are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Codec {
    /// 16-bit little-endian, left and right alternating.
    Pcm16 = 0,
    /// 32-bit floats, the same way.
    F32 = 1,
    /// A packet of Opus, as long as it happens to be; only in builds that have it.
    Opus = 2,
    /// As `Pcm16`, but each frame holds its own position: see [`tagged`].
    Tag = 3,
}

impl Codec {
    /// What it is called in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Self::Pcm16 => "pcm16",
            Self::F32 => "f32",
            Self::Opus => "opus",
            Self::Tag => "tag",
        }
    }

    /// All of them.
    const ALL: [Self; 4] = [Self::Pcm16, Self::F32, Self::Opus, Self::Tag];

    /// What this build writes.
    pub fn offered() -> impl Iterator<Item = Self> {
        let opus = cfg!(feature = "opus");
        Self::ALL
            .into_iter()
            .filter(move |codec| opus || *codec != Self::Opus)
    }

    /// The codec of that name, where this build writes it for this rate and length of frames.
    pub fn named(name: &str, rate: u32, frame_ms: u32) -> Option<Self> {
        Self::offered()
            .find(|codec| codec.name() == name)
            .filter(|codec| {
                *codec != Self::Opus
                    || matches!(rate, 8_000 | 12_000 | 16_000 | 24_000 | 48_000)
                        && matches!(frame_ms, 5 | 10 | 20 | 40 | 60)
            })
    }

    /// Bytes of a stereo frame; packets have no such thing.
    pub fn frame_bytes(self) -> Option<usize> {
        match self {
            Self::Pcm16 | Self::Tag => Some(4),
            Self::F32 => Some(8),
            Self::Opus => None,
        }
    }
}

/// The sample pair that stands for `position` in a tag stream: 31 bits, the low 16 to the left.
pub fn tagged(position: u64) -> [i16; 2] {
    let counter = (position & 0x7fff_ffff) as u32;
    [counter as u16 as i16, (counter >> 16) as i16]
}

/// The counter in a pair of a tag stream.
pub fn tag_of(pair: [i16; 2]) -> u32 {
    u32::from(pair[0] as u16) | u32::from(pair[1] as u16) << 16
}

/// What stands before the samples.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FrameHead {
    /// What the frame is.
    pub kind: Kind,
    /// How samples are written.
    pub codec: Codec,
    /// Channels; always 2.
    pub channels: u8,
    /// See [`flags`].
    pub flags: u8,
    /// The listener's stream.
    pub stream: u32,
    /// Counts the binary frames of a connection.
    pub sequence: u32,
    /// Position of the first sample since the stream began.
    pub first: u64,
    /// Stereo frames.
    pub frames: u32,
    /// How long rendering took, in microseconds.
    pub render_us: u32,
}

impl FrameHead {
    /// As it stands on the wire.
    pub fn encode(&self) -> [u8; HEAD_BYTES] {
        let mut bytes = [0; HEAD_BYTES];
        bytes[..4].copy_from_slice(&MAGIC);
        bytes[4..8].copy_from_slice(&[
            self.kind as u8,
            self.codec as u8,
            self.channels,
            self.flags,
        ]);
        bytes[8..12].copy_from_slice(&self.stream.to_le_bytes());
        bytes[12..16].copy_from_slice(&self.sequence.to_le_bytes());
        bytes[16..24].copy_from_slice(&self.first.to_le_bytes());
        bytes[24..28].copy_from_slice(&self.frames.to_le_bytes());
        bytes[28..32].copy_from_slice(&self.render_us.to_le_bytes());
        bytes
    }

    /// Reads a whole binary frame: the head, and the samples that it announces.
    pub fn parse(frame: &[u8]) -> Result<(Self, &[u8]), ProtocolError> {
        let wrong = |what: &str| ProtocolError::Frame { what: what.into() };
        let (head, payload) = frame
            .split_first_chunk::<HEAD_BYTES>()
            .ok_or_else(|| wrong("shorter than its head"))?;
        if head[..4] != MAGIC {
            return Err(wrong("does not begin with WSM1"));
        }
        let word =
            |at: usize| u32::from_le_bytes([head[at], head[at + 1], head[at + 2], head[at + 3]]);
        let parsed = Self {
            kind: match head[4] {
                0 => Kind::Audio,
                1 => Kind::Gap,
                2 => Kind::Boundary,
                _ => return Err(wrong("of an unknown kind")),
            },
            codec: match head[5] {
                0 => Codec::Pcm16,
                1 => Codec::F32,
                2 => Codec::Opus,
                3 => Codec::Tag,
                _ => return Err(wrong("in an unknown codec")),
            },
            channels: head[6],
            flags: head[7],
            stream: word(8),
            sequence: word(12),
            first: u64::from(word(16)) | u64::from(word(20)) << 32,
            frames: word(24),
            render_us: word(28),
        };
        if parsed.channels != 2 {
            return Err(wrong("not stereo"));
        }
        let announced = match (parsed.kind, parsed.codec.frame_bytes()) {
            (Kind::Audio, Some(bytes)) => Some(parsed.frames as usize * bytes),
            (Kind::Audio, None) => None,
            (Kind::Gap | Kind::Boundary, _) => Some(0),
        };
        if announced.is_some_and(|announced| announced != payload.len()) {
            return Err(wrong("not as long as its head says"));
        }
        Ok((parsed, payload))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn heads_survive_the_wire(stream: u32, sequence: u32, first: u64, render_us: u32, flags: u8,
                                  kind in 0u8..3, codec in prop::sample::select(Codec::ALL.to_vec()), frames in 0u32..64) {
            let kind = [Kind::Audio, Kind::Gap, Kind::Boundary][usize::from(kind)];
            let head = FrameHead { kind, codec, channels: 2, flags, stream, sequence, first, frames, render_us };
            let mut bytes = head.encode().to_vec();
            if kind == Kind::Audio {
                bytes.resize(HEAD_BYTES + frames as usize * codec.frame_bytes().unwrap_or(3), 7);
            }
            prop_assert_eq!(FrameHead::parse(&bytes).unwrap().0, head);
            bytes.push(0);
            let any_length = kind == Kind::Audio && codec == Codec::Opus;
            prop_assert_eq!(FrameHead::parse(&bytes).is_ok(), any_length);
        }

        #[test]
        fn arbitrary_bytes_are_refused_or_read_but_never_a_panic(mut bytes in prop::collection::vec(any::<u8>(), 0..80), magic: bool) {
            if magic && bytes.len() >= 4 {
                bytes[..4].copy_from_slice(b"WSM1");
            }
            if let Ok((head, payload)) = FrameHead::parse(&bytes) {
                let announced = head.codec.frame_bytes().map(|bytes| bytes * head.frames as usize);
                prop_assert!(head.kind != Kind::Audio || announced.is_none_or(|bytes| bytes == payload.len()));
            }
        }

        #[test]
        fn tags_hold_31_bits(position: u64) {
            prop_assert_eq!(u64::from(tag_of(tagged(position))), position & 0x7fff_ffff);
        }
    }
}
