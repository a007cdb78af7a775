//! Audio in files and pipes: WAV, RF64, Wave64, AIFF, AU, FLAC, MP3, Ogg (Vorbis, Opus, FLAC), WebM and
//! Matroska, M4A (AAC and ALAC), CAF and plain samples, in; WAV out.
//!
//! Invariants: a file that ends before its own header says is an error unless the caller salvages; an
//! error names the file and how far it was read; channels stay apart until the caller mixes them.

use std::fs::File;
use std::io::{Cursor, Read};
use std::path::Path;

use super::decoder::{Ending, decode};
use super::header::{PlainSamples, plain_samples};
use super::pcm::PcmFormat;
use super::plain::decode_plain;
use super::source::{Forward, Source};
use crate::error::{Result, SignalError};
use crate::large::with_room;

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
        let whole = Self::with_room(Self::plain_size(path).unwrap_or_default());
        whole.gather(path, Box::new(open(path)?), Ending::AsDeclared)
    }

    /// Decodes everything that `source` has; `name` stands for it in errors. Pipes do not know their
    /// length when they write a header, so a wrong declared length is not an error.
    pub fn read_stream(name: &Path, source: &mut impl Read) -> Result<Self> {
        let mut bytes = Vec::new();
        source
            .read_to_end(&mut bytes)
            .map_err(|source| SignalError::Io {
                path: name.to_owned(),
                source,
            })?;
        Self::empty().gather(name, Box::new(Cursor::new(bytes)), Ending::AnyTime)
    }

    /// Shows `see` what arrives from `source`, piece by piece and as soon as it is decoded, so that hours
    /// of it take no more memory than a piece. An empty piece of a signal without samples is shown too.
    pub fn each_piece(
        name: &Path,
        source: impl Read + Send + Sync + 'static,
        see: &mut dyn FnMut(&Self) -> Result<()>,
    ) -> Result<()> {
        decode(name, Box::new(Forward(source)), Ending::AnyTime, see)
    }

    /// As [`Audio::each_piece`], of bytes in memory, in which a header can be read that lies behind the sound.
    pub fn each_piece_in(
        name: &Path,
        bytes: Vec<u8>,
        see: &mut dyn FnMut(&Self) -> Result<()>,
    ) -> Result<()> {
        decode(name, Box::new(Cursor::new(bytes)), Ending::AnyTime, see)
    }

    /// As [`Audio::each_piece`], of the file at `path`, which must be as long as its header says.
    pub fn each_piece_of(path: &Path, see: &mut dyn FnMut(&Self) -> Result<()>) -> Result<()> {
        decode(path, Box::new(open(path)?), Ending::AsDeclared, see)
    }

    /// As [`Audio::each_piece_of`], of a file that may end early; damaged packets are left out.
    pub fn each_piece_salvaged(
        path: &Path,
        see: &mut dyn FnMut(&Self) -> Result<()>,
    ) -> Result<()> {
        decode(path, Box::new(open(path)?), Ending::Salvaged, see)
    }

    /// As [`Audio::each_piece`], of samples without a header.
    pub fn each_piece_of_raw(
        name: &Path,
        source: &mut dyn Read,
        format: PcmFormat,
        see: &mut dyn FnMut(&Self) -> Result<()>,
    ) -> Result<()> {
        let samples = PlainSamples {
            format,
            start: 0,
            bytes: None,
        };
        decode_plain(name, source, samples, Ending::AsDeclared, see)
    }

    /// How much a file of plain samples holds, by its header and its own length: samples to a channel, and channels.
    /// `None` where only decoding tells, or the file cannot be read.
    pub fn plain_size(path: &Path) -> Option<(u64, usize)> {
        // A named pipe would lose what is read here.
        let facts = std::fs::metadata(path).ok().filter(|facts| facts.is_file());
        let length = facts?.len();
        let mut file = File::open(path).ok()?;
        let PlainSamples {
            format,
            start,
            bytes,
        } = plain_samples(&mut file).ok()??;
        let there = length.saturating_sub(start);
        let bytes = bytes.map_or(there, |bytes| bytes.min(there));
        Some((bytes / format.frame_bytes() as u64, format.channels))
    }

    /// No sound yet.
    pub fn empty() -> Self {
        Self {
            sample_rate: 0,
            channels: Vec::new(),
        }
    }

    /// No sound yet, with room for samples to each of some channels, as [`Audio::plain_size`] has them.
    pub fn with_room((frames, channels): (u64, usize)) -> Self {
        let frames = usize::try_from(frames).unwrap_or(usize::MAX);
        let channels = (0..channels).map(|_| with_room(frames));
        Self {
            channels: channels.collect(),
            ..Self::empty()
        }
    }

    /// Appends a piece.
    pub fn append(&mut self, piece: &Self) {
        self.sample_rate = piece.sample_rate;
        self.channels.resize(piece.channels.len(), Vec::new());
        for (whole, piece) in self.channels.iter_mut().zip(&piece.channels) {
            whole.extend_from_slice(piece);
        }
    }

    fn gather(mut self, path: &Path, source: Box<dyn Source>, ending: Ending) -> Result<Self> {
        decode(path, source, ending, &mut |piece| {
            self.append(piece);
            Ok(())
        })?;
        Ok(self)
    }

    /// Samples in a channel.
    pub fn frames(&self) -> usize {
        self.channels.first().map_or(0, Vec::len)
    }

    /// Length in seconds.
    pub fn seconds(&self) -> f64 {
        self.frames() as f64 / f64::from(self.sample_rate.max(1))
    }

    /// As [`Audio::signal`], in the memory of the channels.
    pub fn into_signal(mut self, choice: ChannelChoice) -> Result<Vec<f32>> {
        match choice {
            ChannelChoice::Mix if self.channels.len() == 1 => Ok(self.channels.remove(0)),
            ChannelChoice::One(channel) if channel < self.channels.len() => {
                Ok(self.channels.swap_remove(channel))
            }
            _ => self.signal(choice),
        }
    }

    /// One signal out of the channels.
    pub fn signal(&self, choice: ChannelChoice) -> Result<Vec<f32>> {
        match choice {
            ChannelChoice::One(channel) => self.channels.get(channel).cloned().ok_or_else(|| {
                SignalError::parameter(
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
}

fn open(path: &Path) -> Result<File> {
    File::open(path).map_err(|source| SignalError::Io {
        path: path.to_owned(),
        source,
    })
}

/// The first sample that is not a finite number, as an error.
pub fn check_finite(signal: &[f32]) -> Result<()> {
    // One more in the exponent carries into the sign where the exponent is full. Whole numbers may be joined in
    // any order, so that this is a vector loop, which a sum of floats is not.
    let carried = |x: &f32| (x.to_bits() & 0x7fff_ffff) + 0x0080_0000;
    for (block, samples) in signal.chunks(4096).enumerate() {
        if samples.iter().map(carried).fold(0, |all, bits| all | bits) >> 31 != 0
            && let Some(at) = samples.iter().position(|x| !x.is_finite())
        {
            return Err(SignalError::BadSample {
                index: block * 4096 + at,
                value: samples[at],
            });
        }
    }
    Ok(())
}
