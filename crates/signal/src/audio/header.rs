//! Headers of files with plain samples: WAV, RIFX (WAV with the most significant byte first), RF64 (EBU Tech
//! 3306, the WAV of more than 4 GiB), Wave64 (Sony) and AU (Sun, NeXT).

use std::io::{self, Read, Seek, SeekFrom};

use super::pcm::{PcmCoding, PcmFormat};
use crate::error::NO_DECODER;

/// Where samples lie in a file. The source stands at the first of them.
pub(crate) struct PlainSamples {
    pub(crate) format: PcmFormat,
    /// The byte of the file that they start at.
    pub(crate) start: u64,
    /// Their bytes, where the header knows.
    pub(crate) bytes: Option<u64>,
}

/// Why a header leads to no plain samples.
enum Refusal {
    /// It contradicts itself, or ends.
    Damaged(String),
    /// The samples are coded otherwise.
    Coded(String),
    /// The samples are plain, and lie in a way that is not read.
    Layout(String),
}

impl From<&str> for Refusal {
    fn from(reason: &str) -> Self {
        Self::Damaged(reason.to_owned())
    }
}

impl From<io::Error> for Refusal {
    fn from(error: io::Error) -> Self {
        Self::Damaged(error.to_string())
    }
}

impl Refusal {
    fn reason(self) -> String {
        match self {
            Self::Damaged(reason) => reason,
            Self::Coded(reason) | Self::Layout(reason) => format!("{NO_DECODER}: {reason}"),
        }
    }
}

/// What a header says, or why it says nothing.
type Parsed<T> = Result<T, Refusal>;

/// The byte order of a header and of the samples behind it.
#[derive(Clone, Copy, PartialEq)]
enum Order {
    Little,
    Big,
}

impl Order {
    fn short(self, [a, b]: [u8; 2]) -> u16 {
        match self {
            Self::Little => u16::from_le_bytes([a, b]),
            Self::Big => u16::from_be_bytes([a, b]),
        }
    }

    fn word(self, [a, b, c, d]: [u8; 4]) -> u32 {
        match self {
            Self::Little => u32::from_le_bytes([a, b, c, d]),
            Self::Big => u32::from_be_bytes([a, b, c, d]),
        }
    }
}

/// How the names of the chunks of Wave64 go on after four letters; that of the file itself goes on otherwise.
const W64_RIFF: [u8; 12] = [
    0x2E, 0x91, 0xCF, 0x11, 0xA5, 0xD6, 0x28, 0xDB, 0x04, 0xC1, 0, 0,
];
const W64_CHUNK: [u8; 12] = [
    0xF3, 0xAC, 0xD3, 0x11, 0x8C, 0xD1, 0, 0xC0, 0x4F, 0x8E, 0xDB, 0x8A,
];

/// More chunks before the samples than any program writes.
const MOST_CHUNKS: usize = 10_000;

/// Reads the header of a file of these kinds; of another kind there is none, and the source stands where it did.
pub(crate) fn plain_samples<R: Read + Seek + ?Sized>(
    source: &mut R,
) -> Result<Option<PlainSamples>, String> {
    let start = source
        .stream_position()
        .map_err(|error| error.to_string())?;
    let mut first = [0u8; 16];
    let seen = read_up_to(source, &mut first).map_err(|error| error.to_string())?;
    let (kind, form) = (&first[..4], &first[8..12]);
    let found = match kind {
        _ if seen < 16 => None,
        b".snd" => Some(au(source, &first[4..])),
        b"riff" if first[4..] == W64_RIFF => Some(wave64(source)),
        _ if form != b"WAVE" => None,
        b"RF64" | b"BW64" => Some(riff(source, start + 12, Order::Little)),
        b"RIFX" => Some(riff(source, start + 12, Order::Big)),
        // Other codings are symphonia's, and so is a header that ends early.
        b"RIFF" => match riff(source, start + 12, Order::Little) {
            Err(Refusal::Damaged(_) | Refusal::Coded(_)) => None,
            found => Some(found),
        },
        _ => None,
    };
    match found {
        Some(found) => found.map(Some).map_err(Refusal::reason),
        None => {
            to(source, start).map_err(Refusal::reason)?;
            Ok(None)
        }
    }
}

fn read_up_to<R: Read + ?Sized>(source: &mut R, to: &mut [u8]) -> io::Result<usize> {
    let mut seen = 0;
    while seen < to.len() {
        match source.read(&mut to[seen..])? {
            0 => break,
            count => seen += count,
        }
    }
    Ok(seen)
}

fn to<R: Seek + ?Sized>(source: &mut R, position: u64) -> Parsed<()> {
    source.seek(SeekFrom::Start(position))?;
    Ok(())
}

fn exactly<const N: usize, R: Read + ?Sized>(source: &mut R) -> Parsed<[u8; N]> {
    let mut bytes = [0u8; N];
    let read = source.read_exact(&mut bytes);
    read.map_err(|_| "the file ends in its header")?;
    Ok(bytes)
}

fn au<R: Read + Seek + ?Sized>(source: &mut R, after_magic: &[u8]) -> Parsed<PlainSamples> {
    let word = |bytes: &[u8]| u32::from_be_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]);
    let [offset, bytes, coding] = [0, 4, 8].map(|at| word(&after_magic[at..]));
    let more: [u8; 8] = exactly(source)?;
    let coding = match coding {
        1 => PcmCoding::MuLaw,
        2 => PcmCoding::Signed(1),
        3 => PcmCoding::Signed(2),
        4 => PcmCoding::Signed(3),
        5 => PcmCoding::Signed(4),
        6 => PcmCoding::Float(4),
        7 => PcmCoding::Float(8),
        27 => PcmCoding::ALaw,
        other => return Err(Refusal::Coded(format!("AU, coding {other}"))),
    };
    let start = u64::from(offset.max(24));
    to(source, start)?;
    Ok(PlainSamples {
        start,
        format: checked(PcmFormat {
            coding,
            big_endian: true,
            sample_rate: word(&more),
            channels: word(&more[4..]) as usize,
        })?,
        bytes: (bytes != u32::MAX).then_some(u64::from(bytes)),
    })
}

fn riff<R: Read + Seek + ?Sized>(
    source: &mut R,
    chunks: u64,
    order: Order,
) -> Parsed<PlainSamples> {
    to(source, chunks)?;
    let (mut format, mut whole) = (None, None);
    for _ in 0..MOST_CHUNKS {
        let [a, b, c, d, size @ ..]: [u8; 8] = exactly(source)?;
        let size = order.word(size);
        let begin = source.stream_position()?;
        match &[a, b, c, d] {
            b"ds64" => {
                let [.., e, f, g, h, i, j, k, l]: [u8; 16] = exactly(source)?;
                whole = Some(u64::from_le_bytes([e, f, g, h, i, j, k, l]));
            }
            b"fmt " => format = Some(wave_format(source, u64::from(size), order)?),
            b"data" => {
                let format = format.ok_or("the samples come before their format")?;
                let bytes = match size {
                    u32::MAX => whole,
                    size => Some(u64::from(size)),
                };
                return Ok(PlainSamples {
                    format,
                    start: begin,
                    bytes,
                });
            }
            _ => {}
        }
        to(source, begin + u64::from(size) + u64::from(size % 2))?;
    }
    Err("there are no samples among its first chunks".into())
}

fn wave64<R: Read + Seek + ?Sized>(source: &mut R) -> Parsed<PlainSamples> {
    // The size of the file, and that it is a wave.
    let _: [u8; 24] = exactly(source)?;
    let mut format = None;
    for _ in 0..MOST_CHUNKS {
        let begin = source.stream_position()?;
        let [a, b, c, d, rest @ ..]: [u8; 16] = exactly(source)?;
        let size = u64::from_le_bytes(exactly(source)?);
        let inside = size
            .checked_sub(24)
            .ok_or("a chunk is shorter than its head")?;
        match &[a, b, c, d] {
            b"fmt " if rest == W64_CHUNK => {
                format = Some(wave_format(source, inside, Order::Little)?)
            }
            b"data" if rest == W64_CHUNK => {
                let format = format.ok_or("the samples come before their format")?;
                return Ok(PlainSamples {
                    format,
                    start: source.stream_position()?,
                    bytes: Some(inside),
                });
            }
            _ => {}
        }
        let next = begin
            .checked_add(size)
            .and_then(|end| end.checked_next_multiple_of(8));
        to(source, next.ok_or("a chunk is longer than any file")?)?;
    }
    Err("there are no samples among its first chunks".into())
}

/// The format chunk of WAV and its kin.
fn wave_format<R: Read + ?Sized>(source: &mut R, size: u64, order: Order) -> Parsed<PcmFormat> {
    let head: [u8; 16] = exactly(source)?;
    let short = |at: usize| order.short([head[at], head[at + 1]]);
    let word = |at: usize| order.word([head[at], head[at + 1], head[at + 2], head[at + 3]]);
    let (mut tag, bits) = (short(0), short(14));
    // Extensible: the tag is the first number of a name that follows.
    if tag == 0xFFFE && size >= 40 {
        let more: [u8; 24] = exactly(source)?;
        tag = order.word([more[8], more[9], more[10], more[11]]) as u16;
    }
    let coding = match (tag, bits) {
        // The bits of a sample are the highest of its bytes; the others are zeros.
        (1, 1..=8) => PcmCoding::Unsigned8,
        (1, 9..=64) => PcmCoding::Signed(bits.div_ceil(8) as u8),
        (3, 32 | 64) => PcmCoding::Float((bits / 8) as u8),
        (6, 8) => PcmCoding::ALaw,
        (7, 8) => PcmCoding::MuLaw,
        (1 | 3 | 6 | 7, _) => {
            let what =
                ["whole numbers", "", "floats", "", "", "A-law", "μ-law"][usize::from(tag) - 1];
            return Err(Refusal::Layout(format!("WAV, {what} of {bits} bits")));
        }
        _ => return Err(Refusal::Coded(format!("WAV, coding {tag} of {bits} bits"))),
    };
    let format = checked(PcmFormat {
        coding,
        big_endian: order == Order::Big,
        sample_rate: word(4),
        channels: usize::from(short(2)),
    })?;
    // Samples may lie in more bytes than their bits need. A size of frames that is wrong is told by the bytes
    // of a second.
    let (own, second) = (format.frame_bytes(), u64::from(word(8)));
    match usize::from(short(12)) {
        0 => Ok(format),
        bytes if bytes == own || second == own as u64 * u64::from(format.sample_rate) => Ok(format),
        bytes => Err(Refusal::Layout(format!(
            "WAV, {bits} bits on {} channels in frames of {bytes} bytes instead of {own}",
            format.channels
        ))),
    }
}

fn checked(format: PcmFormat) -> Parsed<PcmFormat> {
    let PcmFormat {
        sample_rate,
        channels,
        ..
    } = format;
    if !(1..=super::decoder::HIGHEST_RATE).contains(&sample_rate) || !(1..=255).contains(&channels)
    {
        return Err(Refusal::Damaged(format!(
            "the header says {channels} channels at {sample_rate} Hz"
        )));
    }
    Ok(format)
}
