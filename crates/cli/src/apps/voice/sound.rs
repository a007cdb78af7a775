//! Where sounds go: WAV files of 32-bit floats, written under a temporary name and renamed.

use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use clap::Args;
use warpsmith_voice::Audio;

use super::input::Input;
use super::whole_file::write_whole;
use crate::global::Global;
use crate::output::progress;

/// Where sounds go.
#[derive(Args)]
pub(super) struct SoundOutput {
    /// A WAV file for one input, a directory for several; `-` is standard output.
    #[arg(short, long, value_name = "PATH")]
    output: PathBuf,
}

impl SoundOutput {
    /// Changes each input and writes what became of it.
    pub(super) fn each(
        &self,
        global: &Global,
        input: &Input,
        mut change: impl FnMut(Audio) -> Result<Audio>,
    ) -> Result<()> {
        let count = input.files.len();
        for (index, path) in input.files.iter().enumerate() {
            if count > 1 {
                progress(global, &format!("{}/{count} {}", index + 1, path.display()));
            }
            let changed = change(input.read(path)?)?;
            if count == 1 && self.output == Path::new("-") {
                let mut out = std::io::stdout().lock();
                changed.write_wav(&mut out)?;
                out.flush()?;
                return Ok(());
            }
            let place = if count > 1 || self.output.is_dir() {
                std::fs::create_dir_all(&self.output)
                    .with_context(|| format!("cannot create `{}`", self.output.display()))?;
                let stem = path.file_stem().unwrap_or_default();
                self.output.join(stem).with_extension("wav")
            } else {
                self.output.clone()
            };
            if place == *path {
                bail!(
                    "`{}` would be overwritten with its own result; choose another `--output`",
                    path.display()
                );
            }
            write_whole(&place, |out| Ok(changed.write_wav(out)?))?;
        }
        if count > 1 {
            progress(global, "");
        }
        Ok(())
    }
}

/// Changes each channel by itself.
pub(super) fn by_channel(
    audio: Audio,
    mut change: impl FnMut(&[f32]) -> Result<Vec<f32>>,
) -> Result<Audio> {
    Ok(Audio {
        sample_rate: audio.sample_rate,
        channels: audio
            .channels
            .iter()
            .map(|channel| change(channel))
            .collect::<Result<_>>()?,
    })
}
