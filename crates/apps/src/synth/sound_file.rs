//! Samples into a WAV or a FLAC file, whichever its name ends in.

use std::io::Write;
use std::path::Path;

use anyhow::{Context, Result, bail};
use warpsmith_formats::OutputFile;
use warpsmith_formats::flac::{BLOCK, FlacEncoder};
use warpsmith_formats::wav::WavFormat;

/// A file that is being written.
pub(super) struct SoundFile {
    out: OutputFile,
    flac: Option<FlacEncoder>,
    /// Samples that wait for a whole block.
    waiting: Vec<i16>,
    bytes: Vec<u8>,
    doing: String,
}

/// Endings of what is not written: other programs would read the file by its name.
const OTHER_FORMATS: [&str; 11] = [
    "aac", "aif", "aiff", "au", "caf", "m4a", "mp3", "oga", "ogg", "opus", "wma",
];

impl SoundFile {
    /// Creates the file for so many stereo frames and writes its head.
    pub(super) fn create(path: &Path, sample_rate: u32, frames: u64) -> Result<Self> {
        let ending = path.extension().unwrap_or_default();
        let ending = ending.to_string_lossy().to_ascii_lowercase();
        if OTHER_FORMATS.contains(&ending.as_str()) {
            bail!(
                "`{}`: music is written as WAV or FLAC; end its name in `.wav` or `.flac`, and convert it then",
                path.display()
            );
        }
        let is_flac = ending == "flac";
        let flac = is_flac.then(|| FlacEncoder::new(sample_rate, frames));
        let head = match &flac {
            Some(encoder) => encoder.head(),
            None => WavFormat::pcm16(sample_rate, 2).head(frames),
        };
        let mut file = Self {
            out: OutputFile::create(path)?,
            flac,
            waiting: Vec::new(),
            bytes: Vec::new(),
            doing: format!("cannot write `{}`", path.display()),
        };
        file.write(&head)?;
        Ok(file)
    }

    fn write(&mut self, bytes: &[u8]) -> Result<()> {
        self.out
            .write_all(bytes)
            .with_context(|| self.doing.clone())
    }

    /// Adds samples, left and right alternating.
    pub(super) fn add(&mut self, samples: &[i16]) -> Result<()> {
        self.bytes.clear();
        if let Some(encoder) = &mut self.flac {
            self.waiting.extend_from_slice(samples);
            let blocks = self.waiting.chunks_exact(2 * BLOCK);
            let rest = blocks.remainder().to_vec();
            for block in blocks {
                self.bytes.extend(encoder.block(block));
            }
            self.waiting = rest;
        } else {
            for sample in samples {
                self.bytes.extend_from_slice(&sample.to_le_bytes());
            }
        }
        let bytes = std::mem::take(&mut self.bytes);
        self.write(&bytes)?;
        self.bytes = bytes;
        Ok(())
    }

    /// Writes what waits; the file is there when this returns.
    pub(super) fn finish(mut self) -> Result<()> {
        if let Some(encoder) = &mut self.flac {
            let last = encoder.block(&self.waiting);
            self.write(&last)?;
        }
        self.out.finish()?;
        Ok(())
    }
}
