//! From the bytes of a file or a pipe to pieces of sound, by the readers of symphonia and the
//! decoders of symphonia and `opus-pure`.

use std::io::{self, Read, SeekFrom};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use symphonia::core::errors::Error;
use symphonia::core::formats::probe::Hint;
use symphonia::core::formats::{FormatOptions, FormatReader, TrackType};
use symphonia::core::io::MediaSourceStream;
use symphonia::core::meta::MetadataOptions;

use super::file::Audio;
use super::gapless::recorded_part;
use super::header::plain_samples;
use super::link::Link;
use super::ogg::ends_early;
use super::plain::decode_plain;
use super::source::{Counted, Remembered, Source};
use crate::error::{IMPOSSIBLE, NOT_KNOWN, Result, SignalError};

/// Whether a signal may end before its header says.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ending {
    AsDeclared,
    AnyTime,
    /// Damaged parts are left out, too.
    Salvaged,
}

/// Why an Ogg file without its last page is not decoded.
const ENDS_EARLY: &str = "the file ends before the last page of its stream";

/// Why no reader takes a file of a length.
fn unknown(length: Option<u64>, begins_as_mp4: bool, error: &Error) -> String {
    match error {
        _ if length == Some(0) => format!("{NOT_KNOWN}: it is empty"),
        Error::Unsupported(_) if begins_as_mp4 => format!(
            "{NOT_KNOWN}: it begins as MP4, and the index is missing that lies at the end of many; \
             it may be cut off: copy it again"
        ),
        Error::Unsupported(_) => format!("{NOT_KNOWN}: no format that is read here begins like it"),
        Error::IoError(error) if error.kind() == io::ErrorKind::UnexpectedEof => {
            format!("{NOT_KNOWN}: it ends inside its header")
        }
        other => format!("{NOT_KNOWN} ({other})"),
    }
}

/// Whether the first bytes are those of MP4 and M4A; they can be read again then.
fn begins_as_mp4(source: &mut dyn Source) -> io::Result<bool> {
    let mut first = Vec::with_capacity(8);
    (&mut *source).take(8).read_to_end(&mut first)?;
    source.seek(SeekFrom::Start(0))?;
    Ok(first.ends_with(b"ftyp") && first.len() == 8)
}

/// Samples per second of the fastest recordings (radio, ultrasound); headers that say more are damaged.
pub(super) const HIGHEST_RATE: u32 = 100_000_000;

/// Shows `see` every piece of what `source` has, at least an empty one.
pub(crate) fn decode(
    path: &Path,
    source: Box<dyn Source>,
    ending: Ending,
    see: &mut dyn FnMut(&Audio) -> Result<()>,
) -> Result<()> {
    let position = Arc::new(AtomicU64::new(0));
    // Format readers are other people's code, and some of their arithmetic trusts headers. What they
    // held when they gave up is dropped with them; the counter alone is looked at again.
    let read = AssertUnwindSafe(|| decode_all(path, source, ending, &position, see));
    catch_unwind(read).unwrap_or_else(|_| {
        Err(SignalError::Decode {
            path: path.to_owned(),
            place: format!("near byte {}", position.load(Ordering::Relaxed)),
            reason: "its header contradicts itself".into(),
        })
    })
}

fn decode_all(
    path: &Path,
    mut source: Box<dyn Source>,
    ending: Ending,
    position: &Arc<AtomicU64>,
    see: &mut dyn FnMut(&Audio) -> Result<()>,
) -> Result<()> {
    // A terminal or a device cannot seek; it is read forwards only.
    let length = source.seek(SeekFrom::End(0)).ok();
    if length.is_some() {
        source
            .seek(SeekFrom::Start(0))
            .map_err(|source| SignalError::Io {
                path: path.to_owned(),
                source,
            })?;
    }
    let place = || format!("near byte {}", position.load(Ordering::Relaxed));
    let fail = |reason: String| SignalError::Decode {
        path: path.to_owned(),
        place: place(),
        reason,
    };
    if length.is_none() {
        source = Box::new(Remembered::new(source));
    }
    let samples = plain_samples(&mut *source).map_err(|reason| SignalError::Decode {
        path: path.to_owned(),
        place: "in its header".into(),
        reason,
    })?;
    if let Some(samples) = samples {
        return decode_plain(path, &mut *source, samples, ending, see);
    }
    let part = match length {
        Some(_) => recorded_part(&mut *source).map_err(|error| fail(error.to_string()))?,
        None => None,
    };
    let mp4 = begins_as_mp4(&mut *source).map_err(|error| fail(error.to_string()))?;
    // The readers take the last page that is there for the last of the stream.
    let early = length.is_some()
        && ending == Ending::AsDeclared
        && ends_early(&mut *source).map_err(|error| fail(error.to_string()))?;
    let counted = Counted {
        inner: source,
        position: position.clone(),
        length,
    };
    let stream = MediaSourceStream::new(Box::new(counted), Default::default());
    let mut hint = Hint::new();
    if let Some(extension) = path.extension().and_then(|extension| extension.to_str()) {
        hint.with_extension(extension);
    }
    let mut format = symphonia::default::get_probe()
        .probe(
            &hint,
            stream,
            FormatOptions::default(),
            MetadataOptions::default(),
        )
        .map_err(|error| SignalError::Decode {
            path: path.to_owned(),
            // A kind that is not known was looked for until the end.
            place: match error {
                Error::Unsupported(_) => "at its first byte".to_owned(),
                _ => place(),
            },
            reason: unknown(length, mp4, &error),
        })?;
    let open = |format: &dyn FormatReader| {
        let track = format
            .default_track(TrackType::Audio)
            .ok_or_else(|| fail(format!("{NOT_KNOWN}: there is no audio track")))?;
        Link::new(track, part).map_err(&fail)
    };
    let check_end = |link: &Link| match link.declared {
        Some(declared) if ending == Ending::AsDeclared && link.found < declared => {
            Err(SignalError::CutShort {
                path: path.to_owned(),
                place: place(),
                declared,
                found: link.found,
            })
        }
        _ => Ok(()),
    };
    let mut link = open(&*format)?;
    let mut piece = Audio {
        sample_rate: link.rate.unwrap_or(0),
        channels: Vec::new(),
    };
    let mut shown = None;
    loop {
        let packet = match format.next_packet() {
            Ok(Some(packet)) => packet,
            Ok(None) => break,
            Err(Error::IoError(error)) if error.kind() == io::ErrorKind::UnexpectedEof => break,
            // The next stream of a chain.
            Err(Error::ResetRequired) => {
                check_end(&link)?;
                link = open(&*format)?;
                continue;
            }
            // What a reader says after it lost its place cannot be trusted.
            Err(_) if ending == Ending::Salvaged && shown.is_some() => break,
            Err(error) => return Err(fail(error.to_string())),
        };
        if packet.track_id != link.track {
            continue;
        }
        let rate = match link.decode(&packet, &mut piece.channels) {
            Ok(rate) => rate,
            Err(Error::IoError(error)) if error.kind() == io::ErrorKind::UnexpectedEof => break,
            // One packet is lost, and the next may be sound.
            Err(Error::DecodeError(_)) if ending == Ending::Salvaged => continue,
            Err(error) => return Err(fail(error.to_string())),
        };
        let planes = piece.channels.len();
        if planes == 0 || rate == 0 || rate > HIGHEST_RATE {
            return Err(fail(format!(
                "{IMPOSSIBLE} {planes} channels at {rate} Hz; rates go from 1 to {HIGHEST_RATE} Hz"
            )));
        }
        match shown {
            Some(before) if before != (planes, rate) => {
                let (channels, hertz) = before;
                return Err(fail(format!(
                    "{planes} channels at {rate} Hz follow {channels} at {hertz} Hz"
                )));
            }
            _ => shown = Some((planes, rate)),
        }
        piece.sample_rate = rate;
        see(&piece)?;
    }
    check_end(&link)?;
    if early {
        return Err(fail(ENDS_EARLY.into()));
    }
    if shown.is_none() {
        if piece.sample_rate == 0 {
            return Err(fail("there are no samples and no sample rate".into()));
        }
        piece.channels = vec![Vec::new(); link.channels];
        see(&piece)?;
    }
    Ok(())
}
