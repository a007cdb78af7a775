//! Headers of files with plain samples: WAV, RF64 (EBU Tech 3306, the WAV of more than 4 GiB), Wave64 (Sony)
//! and AU (Sun, NeXT).

use std::io::{self, Read, Seek, SeekFrom};

use super::pcm::{PcmCoding, PcmFormat};

/// Where samples lie in a file. The source stands at the first of them.
pub(crate) struct PlainSamples {
    pub(crate) format: PcmFormat,
    /// The byte of the file that they start at.
    pub(crate) start: u64,
    /// Their bytes, where the header knows.
    pub(crate) bytes: Option<u64>,
}

/// What a header says, or why it says nothing.
type Parsed<T> = Result<T, String>;

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
    let found = match &first {
        _ if seen < 16 => None,
        [b'.', b's', b'n', b'd', rest @ ..] => Some(au(source, rest)),
        [b'r', b'i', b'f', b'f', rest @ ..] if *rest == W64_RIFF => Some(wave64(source)),
        [
            b'R',
            b'F',
            b'6',
            b'4',
            _,
            _,
            _,
            _,
            b'W',
            b'A',
            b'V',
            b'E',
            ..,
        ]
        | [
            b'B',
            b'W',
            b'6',
            b'4',
            _,
            _,
            _,
            _,
            b'W',
            b'A',
            b'V',
            b'E',
            ..,
        ] => to(source, start + 12).and_then(|()| riff(source)).into(),
        // What is coded otherwise is symphonia's, and so is an error.
        [
            b'R',
            b'I',
            b'F',
            b'F',
            _,
            _,
            _,
            _,
            b'W',
            b'A',
            b'V',
            b'E',
            ..,
        ] => {
            let found = to(source, start + 12).and_then(|()| riff(source));
            found.ok().map(Ok)
        }
        _ => None,
    };
    match found {
        Some(found) => found.map(Some),
        None => {
            to(source, start)?;
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
    match source.seek(SeekFrom::Start(position)) {
        Ok(_) => Ok(()),
        Err(error) => Err(error.to_string()),
    }
}

fn exactly<const N: usize, R: Read + ?Sized>(source: &mut R) -> Parsed<[u8; N]> {
    let mut bytes = [0u8; N];
    let read = source.read_exact(&mut bytes);
    read.map_err(|_| "the file ends in its header".to_owned())?;
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
        other => return Err(format!("coding {other} of AU is not supported")),
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

fn riff<R: Read + Seek + ?Sized>(source: &mut R) -> Parsed<PlainSamples> {
    let (mut format, mut whole) = (None, None);
    for _ in 0..MOST_CHUNKS {
        let [a, b, c, d, size @ ..]: [u8; 8] = exactly(source)?;
        let size = u32::from_le_bytes(size);
        let begin = position(source)?;
        match &[a, b, c, d] {
            b"ds64" => {
                let [.., e, f, g, h, i, j, k, l]: [u8; 16] = exactly(source)?;
                whole = Some(u64::from_le_bytes([e, f, g, h, i, j, k, l]));
            }
            b"fmt " => format = Some(wave_format(source, u64::from(size))?),
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
        let begin = position(source)?;
        let [a, b, c, d, rest @ ..]: [u8; 16] = exactly(source)?;
        let size = u64::from_le_bytes(exactly(source)?);
        let inside = size
            .checked_sub(24)
            .ok_or("a chunk is shorter than its head")?;
        match &[a, b, c, d] {
            b"fmt " if rest == W64_CHUNK => format = Some(wave_format(source, inside)?),
            b"data" if rest == W64_CHUNK => {
                let format = format.ok_or("the samples come before their format")?;
                return Ok(PlainSamples {
                    format,
                    start: position(source)?,
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

fn position<R: Seek + ?Sized>(source: &mut R) -> Parsed<u64> {
    source.stream_position().map_err(|error| error.to_string())
}

/// The format chunk of WAV and its kin.
fn wave_format<R: Read + ?Sized>(source: &mut R, size: u64) -> Parsed<PcmFormat> {
    let head: [u8; 16] = exactly(source)?;
    let short = |at: usize| u16::from_le_bytes([head[at], head[at + 1]]);
    let (mut tag, bits) = (short(0), short(14));
    // Extensible: the tag is the beginning of a name that follows.
    if tag == 0xFFFE && size >= 40 {
        let more: [u8; 24] = exactly(source)?;
        tag = u16::from_le_bytes([more[8], more[9]]);
    }
    let coding = match (tag, bits) {
        (1, 8) => PcmCoding::Unsigned8,
        (1, 16 | 24 | 32) => PcmCoding::Signed((bits / 8) as u8),
        (3, 32 | 64) => PcmCoding::Float((bits / 8) as u8),
        (6, 8) => PcmCoding::ALaw,
        (7, 8) => PcmCoding::MuLaw,
        _ => return Err(format!("coding {tag} of {bits} bits is not supported")),
    };
    let format = checked(PcmFormat {
        coding,
        big_endian: false,
        sample_rate: u32::from_le_bytes([head[4], head[5], head[6], head[7]]),
        channels: usize::from(short(2)),
    })?;
    // Samples may lie in more bytes than their bits need.
    match usize::from(short(12)) {
        0 => Ok(format),
        bytes if bytes == format.frame_bytes() => Ok(format),
        bytes => Err(format!("frames of {bytes} bytes are not supported")),
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
        return Err(format!(
            "the header says {channels} channels at {sample_rate} Hz"
        ));
    }
    Ok(format)
}
