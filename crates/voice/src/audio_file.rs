//! Audio in files and pipes: WAV, AIFF, FLAC, MP3, Ogg Vorbis, M4A (AAC and ALAC), CAF, in; WAV out.
//!
//! Invariants: a file that ends before its own header says is an error, never a shorter signal; an
//! error names the file and how far it was read; channels stay apart until the caller mixes them.

use std::fs::File;
use std::io::{self, Cursor, Read, Seek, SeekFrom, Write};
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

use crate::error::{Result, VoiceError};

/// Decoded audio.
#[derive(Clone, Debug, PartialEq)]
pub struct Audio {
    /// Samples per second.
    pub sample_rate: u32,
    /// One signal to a channel, all of one length, full scale at 1.
    pub channels: Vec<Vec<f32>>,
}

/// Which signal to analyse where there are several.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChannelChoice {
    /// The mean of all channels.
    Mix,
    /// One channel, counted from 0.
    One(usize),
}

impl Audio {
    /// Decodes the file at `path`.
    pub fn read(path: &Path) -> Result<Self> {
        let file = File::open(path).map_err(|source| VoiceError::Io {
            path: path.to_owned(),
            source,
        })?;
        decode(path, Box::new(file), Ending::AsDeclared)
    }

    /// Decodes everything that `source` has; `name` stands for it in errors. Pipes do not know their
    /// length when they write a header, so the declared length is not held against them.
    pub fn read_stream(name: &Path, source: &mut impl Read) -> Result<Self> {
        let mut bytes = Vec::new();
        source
            .read_to_end(&mut bytes)
            .map_err(|source| VoiceError::Io {
                path: name.to_owned(),
                source,
            })?;
        decode(name, Box::new(Cursor::new(bytes)), Ending::AnyTime)
    }

    /// Samples in a channel.
    pub fn frames(&self) -> usize {
        self.channels.first().map_or(0, Vec::len)
    }

    /// Length in seconds.
    pub fn seconds(&self) -> f64 {
        self.frames() as f64 / f64::from(self.sample_rate.max(1))
    }

    /// One signal out of the channels.
    pub fn signal(&self, choice: ChannelChoice) -> Result<Vec<f32>> {
        match choice {
            ChannelChoice::One(channel) => self.channels.get(channel).cloned().ok_or_else(|| {
                VoiceError::parameter(
                    "channel",
                    channel,
                    format!(
                        "the audio has {} channels, counted from 0",
                        self.channels.len()
                    ),
                )
            }),
            ChannelChoice::Mix => {
                let scale = 1.0 / self.channels.len().max(1) as f32;
                let mut mixed = self.channels.first().cloned().unwrap_or_default();
                for channel in self.channels.iter().skip(1) {
                    for (sum, x) in mixed.iter_mut().zip(channel) {
                        *sum += x;
                    }
                }
                if self.channels.len() > 1 {
                    mixed.iter_mut().for_each(|x| *x *= scale);
                }
                Ok(mixed)
            }
        }
    }

    /// Writes a WAV file of 32-bit floats.
    pub fn write_wav(&self, out: &mut impl Write) -> io::Result<()> {
        let channels = self.channels.len();
        let too_large = || io::Error::other("a WAV file holds at most 4 GiB");
        let data = u32::try_from(self.frames() * channels * 4).map_err(|_| too_large())?;
        let riff = data.checked_add(50).ok_or_else(too_large)?;
        let count = u16::try_from(channels).map_err(|_| too_large())?;
        out.write_all(b"RIFF")?;
        out.write_all(&riff.to_le_bytes())?;
        out.write_all(b"WAVEfmt \x12\0\0\0\x03\0")?;
        out.write_all(&count.to_le_bytes())?;
        out.write_all(&self.sample_rate.to_le_bytes())?;
        let block = u32::from(count) * 4;
        out.write_all(&(self.sample_rate.saturating_mul(block)).to_le_bytes())?;
        out.write_all(&(block as u16).to_le_bytes())?;
        out.write_all(b"\x20\0\0\0fact\x04\0\0\0")?;
        out.write_all(&(self.frames() as u32).to_le_bytes())?;
        out.write_all(b"data")?;
        out.write_all(&data.to_le_bytes())?;
        let mut bytes = Vec::with_capacity(channels * 4 * 4096);
        for frame in 0..self.frames() {
            for channel in &self.channels {
                bytes.extend_from_slice(&channel[frame].to_le_bytes());
            }
            if bytes.len() >= channels * 4 * 4096 {
                out.write_all(&bytes)?;
                bytes.clear();
            }
        }
        out.write_all(&bytes)
    }
}

/// The first sample that is not a finite number, as an error.
pub fn check_finite(signal: &[f32]) -> Result<()> {
    // A product with zero is zero for every finite number, so blocks are checked with one sum.
    for (block, samples) in signal.chunks(4096).enumerate() {
        if samples.iter().map(|x| x * 0.0).sum::<f32>() != 0.0
            && let Some(at) = samples.iter().position(|x| !x.is_finite())
        {
            return Err(VoiceError::BadSample {
                index: block * 4096 + at,
                value: samples[at],
            });
        }
    }
    Ok(())
}

/// Whether a signal may end before its header says.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Ending {
    AsDeclared,
    AnyTime,
}

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

trait Source: Read + Seek + Send + Sync {}
impl<T: Read + Seek + Send + Sync> Source for T {}

fn decode(path: &Path, source: Box<dyn Source>, ending: Ending) -> Result<Audio> {
    let position = Arc::new(AtomicU64::new(0));
    // Format readers are other people's code, and some of their arithmetic trusts headers. What they
    // held when they gave up is dropped with them; the counter alone is looked at again.
    let read = AssertUnwindSafe(|| decode_all(path, source, ending, &position));
    catch_unwind(read).unwrap_or_else(|_| {
        Err(VoiceError::Decode {
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
) -> Result<Audio> {
    // A terminal or a device cannot seek; it is read forwards only.
    let length = source.seek(SeekFrom::End(0)).ok();
    if length.is_some() {
        source
            .seek(SeekFrom::Start(0))
            .map_err(|source| VoiceError::Io {
                path: path.to_owned(),
                source,
            })?;
    }
    let fail = |reason: String| VoiceError::Decode {
        path: path.to_owned(),
        place: format!("near byte {}", position.load(Ordering::Relaxed)),
        reason,
    };
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
    let mut sample_rate = parameters.sample_rate.unwrap_or(0);
    let mut channels: Vec<Vec<f32>> = Vec::new();
    let mut interleaved: Vec<f32> = Vec::new();
    loop {
        let packet = match format.next_packet() {
            Ok(Some(packet)) => packet,
            Ok(None) => break,
            Err(Error::IoError(error)) if error.kind() == io::ErrorKind::UnexpectedEof => break,
            Err(error) => return Err(fail(error.to_string())),
        };
        if packet.track_id != track_id {
            continue;
        }
        let decoded = match decoder.decode(&packet) {
            Ok(decoded) => decoded,
            Err(Error::IoError(error)) if error.kind() == io::ErrorKind::UnexpectedEof => break,
            Err(error) => return Err(fail(error.to_string())),
        };
        let rate = decoded.spec().rate();
        let planes = decoded.num_planes();
        if planes == 0 || rate == 0 {
            return Err(fail(format!("{planes} channels at {rate} Hz")));
        }
        if channels.is_empty() {
            sample_rate = rate;
            channels.resize(planes, Vec::new());
        }
        if channels.len() != planes || sample_rate != rate {
            return Err(fail(format!(
                "{planes} channels at {rate} Hz follow {} at {sample_rate} Hz",
                channels.len()
            )));
        }
        decoded.copy_to_vec_interleaved(&mut interleaved);
        for frame in interleaved.chunks_exact(planes) {
            for (channel, x) in channels.iter_mut().zip(frame) {
                channel.push(*x);
            }
        }
    }
    let found = channels.first().map_or(0, Vec::len) as u64;
    if ending == Ending::AsDeclared
        && let Some(declared) = declared
        && found < declared
    {
        return Err(fail(format!(
            "the header promises {declared} samples and the file ends after {found}"
        )));
    }
    if channels.is_empty() && sample_rate == 0 {
        return Err(fail("there are no samples and no sample rate".into()));
    }
    Ok(Audio {
        sample_rate,
        channels,
    })
}
