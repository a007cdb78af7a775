//! Samples without compression, piece by piece.

use std::io::{ErrorKind, Read};
use std::path::Path;

use super::decoder::Ending;
use super::file::Audio;
use super::header::PlainSamples;
use crate::error::{Result, SignalError};

/// The most frames that are shown at a time.
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
    // Who writes to a pipe, or is interrupted, has not yet filled in how much there is.
    let bytes = bytes.filter(|bytes| *bytes > 0 || ending == Ending::AsDeclared);
    let mut source = source.take(bytes.unwrap_or(u64::MAX));
    let mut block = vec![0; PIECE * frame_bytes];
    // Bytes of a frame whose others are still to come.
    let mut begun = 0;
    let mut piece = Audio {
        sample_rate: format.sample_rate,
        channels: vec![Vec::new(); format.channels],
    };
    let (mut found, mut shown) = (0u64, false);
    loop {
        // What has arrived is shown at once: somebody may be speaking.
        let count = match source.read(&mut block[begun..]) {
            Err(error) if error.kind() == ErrorKind::Interrupted => continue,
            read => read.map_err(|source| SignalError::Io {
                path: path.to_owned(),
                source,
            })?,
        };
        found += count as u64;
        let there = begun + count;
        begun = there % frame_bytes;
        let frames = &block[..there - begun];
        for (number, channel) in piece.channels.iter_mut().enumerate() {
            channel.clear();
            format.append_channel(frames, number, channel);
        }
        if !frames.is_empty() || (count == 0 && !shown) {
            see(&piece)?;
            shown = true;
        }
        block.copy_within(there - begun..there, 0);
        if count > 0 {
            continue;
        }
        // Part of a frame after the last whole one is nothing that a header promised: some programs count
        // the byte that makes the chunk even. Without a header it is a sign of a wrong format.
        let missing = match bytes {
            Some(bytes) => found < bytes,
            None => begun > 0,
        };
        if missing && ending == Ending::AsDeclared {
            let samples = |bytes: u64| bytes.div_ceil(frame_bytes as u64);
            return Err(SignalError::CutShort {
                path: path.to_owned(),
                place: format!("near byte {}", start + found),
                declared: samples(bytes.unwrap_or(found)),
                found: found / frame_bytes as u64,
            });
        }
        return Ok(());
    }
}
