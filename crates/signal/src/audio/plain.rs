//! Samples without compression, piece by piece.

use std::io::Read;
use std::path::Path;

use super::decoder::Ending;
use super::file::Audio;
use super::header::PlainSamples;
use crate::error::{Result, SignalError};

/// Frames that are shown at a time.
const PIECE: usize = 1 << 14;

/// Shows `see` every piece of the plain samples that `source` has from here on, as many as `samples` says.
pub(crate) fn decode_plain(
    path: &Path,
    source: &mut dyn Read,
    samples: PlainSamples,
    ending: Ending,
    see: &mut dyn FnMut(&Audio) -> Result<()>,
) -> Result<()> {
    let PlainSamples {
        format,
        start,
        bytes,
    } = samples;
    let frame_bytes = format.frame_bytes();
    let mut source = source.take(bytes.unwrap_or(u64::MAX));
    let mut block = Vec::with_capacity(PIECE * frame_bytes);
    let mut piece = Audio {
        sample_rate: format.sample_rate,
        channels: vec![Vec::new(); format.channels],
    };
    let mut found = 0u64;
    loop {
        block.clear();
        let wanted = (PIECE * frame_bytes) as u64;
        let read = source.by_ref().take(wanted).read_to_end(&mut block);
        read.map_err(|source| SignalError::Io {
            path: path.to_owned(),
            source,
        })?;
        let (last, rest) = (block.len() < wanted as usize, block.len() % frame_bytes);
        let frames = &block[..block.len() - rest];
        for (number, channel) in piece.channels.iter_mut().enumerate() {
            channel.clear();
            format.append_channel(frames, number, channel);
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
                place: format!("near byte {}", start + found),
                declared: samples(bytes.unwrap_or(found)),
                found: found / frame_bytes as u64,
            });
        }
        if last {
            return Ok(());
        }
    }
}
