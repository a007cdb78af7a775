//! From the bytes of a file or a pipe to pieces of sound, by the readers and decoders of symphonia.

use std::io::{self, Read, Seek, SeekFrom};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use symphonia::core::codecs::audio::AudioDecoderOptions;
use symphonia::core::errors::Error;
use symphonia::core::formats::probe::Hint;
use symphonia::core::formats::{FormatOptions, TrackType};
use symphonia::core::io::{MediaSource, MediaSourceStream};
use symphonia::core::meta::MetadataOptions;

use super::file::Audio;
use super::header::{PlainSamples, plain_samples};
use crate::error::{Result, SignalError};

/// Whether a signal may end before its header says.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ending {
    AsDeclared,
    AnyTime,
    /// Damaged parts are left out, too.
    Salvaged,
}

/// Samples per second of the fastest recordings (radio, ultrasound); headers that say more are damaged.
pub(super) const HIGHEST_RATE: u32 = 100_000_000;

/// A source that says how far it has been read.
struct Counted<R> {
    inner: R,
    position: Arc<AtomicU64>,
    length: Option<u64>,
}

impl<R: Read> Read for Counted<R> {
    fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        let count = self.inner.read(to)?;
        self.position.fetch_add(count as u64, Ordering::Relaxed);
        Ok(count)
    }
}

impl<R: Seek> Seek for Counted<R> {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        let position = self.inner.seek(to)?;
        self.position.store(position, Ordering::Relaxed);
        Ok(position)
    }
}

impl<R: Read + Seek + Send + Sync> MediaSource for Counted<R> {
    fn is_seekable(&self) -> bool {
        self.length.is_some()
    }

    fn byte_len(&self) -> Option<u64> {
        self.length
    }
}

/// What audio is read from.
pub(crate) trait Source: Read + Seek + Send + Sync {}
impl<T: Read + Seek + Send + Sync> Source for T {}

/// A source that cannot go back.
pub(crate) struct Forward<R>(pub(crate) R);

impl<R: Read> Read for Forward<R> {
    fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        self.0.read(to)
    }
}

impl<R> Seek for Forward<R> {
    fn seek(&mut self, _: SeekFrom) -> io::Result<u64> {
        Err(io::Error::from(io::ErrorKind::Unsupported))
    }
}

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

/// Frames of plain samples that are shown at a time.
const PLAIN_PIECE: usize = 1 << 14;

/// Shows `see` every piece of the plain samples that `source` has from here on, `declared` bytes of them.
pub(crate) fn decode_plain(
    path: &Path,
    source: &mut dyn Read,
    PlainSamples { format, bytes }: PlainSamples,
    ending: Ending,
    see: &mut dyn FnMut(&Audio) -> Result<()>,
) -> Result<()> {
    let frame_bytes = format.frame_bytes();
    let mut source = source.take(bytes.unwrap_or(u64::MAX));
    let mut block = Vec::with_capacity(PLAIN_PIECE * frame_bytes);
    let mut piece = Audio {
        sample_rate: format.sample_rate,
        channels: vec![Vec::new(); format.channels],
    };
    let mut found = 0u64;
    loop {
        block.clear();
        let wanted = (PLAIN_PIECE * frame_bytes) as u64;
        let read = source.by_ref().take(wanted).read_to_end(&mut block);
        read.map_err(|source| SignalError::Io {
            path: path.to_owned(),
            source,
        })?;
        let (last, rest) = (block.len() < wanted as usize, block.len() % frame_bytes);
        let frames = &block[..block.len() - rest];
        for (number, channel) in piece.channels.iter_mut().enumerate() {
            channel.clear();
            let samples = frames
                .chunks_exact(format.sample_bytes())
                .skip(number)
                .step_by(format.channels);
            channel.extend(samples.map(|sample| format.value(sample)));
        }
        if found == 0 || !frames.is_empty() {
            see(&piece)?;
        }
        found += block.len() as u64;
        let missing = bytes.is_some_and(|bytes| found < bytes) || rest > 0;
        if last && missing && ending == Ending::AsDeclared {
            let samples = |bytes: u64| bytes.div_ceil(frame_bytes as u64);
            return Err(SignalError::CutShort {
                path: path.to_owned(),
                place: format!("near byte {found} of its samples"),
                declared: samples(bytes.unwrap_or(found)),
                found: found / frame_bytes as u64,
            });
        }
        if last {
            return Ok(());
        }
    }
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
    let fail = |reason: String| SignalError::Decode {
        path: path.to_owned(),
        place: format!("near byte {}", position.load(Ordering::Relaxed)),
        reason,
    };
    // Only where one can go back is it known what comes before it is read.
    if length.is_some()
        && let Some(samples) = plain_samples(&mut *source).map_err(&fail)?
    {
        return decode_plain(path, &mut *source, samples, ending, see);
    }
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
        .map_err(|error| fail(format!("not a known audio file ({error})")))?;
    let track = format
        .default_track(TrackType::Audio)
        .ok_or_else(|| fail("there is no audio track".into()))?;
    let (track_id, declared) = (track.id, track.num_frames);
    let parameters = track
        .codec_params
        .as_ref()
        .and_then(|parameters| parameters.audio())
        .ok_or_else(|| fail("the audio track does not say how it is coded".into()))?;
    let mut decoder = symphonia::default::get_codecs()
        .make_audio_decoder(parameters, &AudioDecoderOptions::default())
        .map_err(|error| fail(format!("no decoder for this coding ({error})")))?;
    let declared_channels = parameters
        .channels
        .as_ref()
        .map_or(1, |all| all.count().max(1));
    let mut piece = Audio {
        sample_rate: parameters.sample_rate.unwrap_or(0),
        channels: Vec::new(),
    };
    let mut found = 0u64;
    let mut interleaved: Vec<f32> = Vec::new();
    loop {
        let packet = match format.next_packet() {
            Ok(Some(packet)) => packet,
            Ok(None) => break,
            Err(Error::IoError(error)) if error.kind() == io::ErrorKind::UnexpectedEof => break,
            // What a reader says after it lost its place cannot be trusted.
            Err(_) if ending == Ending::Salvaged && found > 0 => break,
            Err(error) => return Err(fail(error.to_string())),
        };
        if packet.track_id != track_id {
            continue;
        }
        let decoded = match decoder.decode(&packet) {
            Ok(decoded) => decoded,
            Err(Error::IoError(error)) if error.kind() == io::ErrorKind::UnexpectedEof => break,
            // One packet is lost, and the next may be sound.
            Err(Error::DecodeError(_)) if ending == Ending::Salvaged => continue,
            Err(error) => return Err(fail(error.to_string())),
        };
        let rate = decoded.spec().rate();
        let planes = decoded.num_planes();
        if planes == 0 || rate == 0 || rate > HIGHEST_RATE {
            return Err(fail(format!(
                "the header says {planes} channels at {rate} Hz; rates go from 1 to {HIGHEST_RATE} Hz"
            )));
        }
        if piece.channels.is_empty() {
            piece.sample_rate = rate;
            piece.channels.resize(planes, Vec::new());
        }
        if piece.channels.len() != planes || piece.sample_rate != rate {
            return Err(fail(format!(
                "{planes} channels at {rate} Hz follow {} at {} Hz",
                piece.channels.len(),
                piece.sample_rate
            )));
        }
        decoded.copy_to_vec_interleaved(&mut interleaved);
        for (number, channel) in piece.channels.iter_mut().enumerate() {
            channel.clear();
            channel.extend(interleaved.iter().skip(number).step_by(planes));
        }
        found += piece.frames() as u64;
        see(&piece)?;
    }
    if ending == Ending::AsDeclared
        && let Some(declared) = declared
        && found < declared
    {
        return Err(SignalError::CutShort {
            path: path.to_owned(),
            place: format!("near byte {}", position.load(Ordering::Relaxed)),
            declared,
            found,
        });
    }
    if piece.channels.is_empty() {
        if piece.sample_rate == 0 {
            return Err(fail("there are no samples and no sample rate".into()));
        }
        piece.channels.resize(declared_channels, Vec::new());
        see(&piece)?;
    }
    Ok(())
}
