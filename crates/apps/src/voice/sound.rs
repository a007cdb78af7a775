//! Where sounds go: WAV files of 32-bit floats.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use clap::Args;
use warpsmith_formats::{OutputFile, check_distinct, check_vacant, is_stdout};
use warpsmith_voice::Audio;

use super::input::Input;
use warpsmith_console::global::Global;
use warpsmith_console::output::progress;

/// Where sounds go.
#[derive(Args)]
pub(super) struct SoundOutput {
    /// A WAV file for one input, a directory for several; `-` is standard output.
    #[arg(short, long, value_name = "PATH")]
    output: PathBuf,
    /// Replace files that exist.
    #[arg(long)]
    force: bool,
}

impl SoundOutput {
    /// Changes each input and writes what became of it.
    pub(super) fn each(
        &self,
        global: &Global,
        input: &Input,
        mut change: impl FnMut(Audio) -> Result<Audio>,
    ) -> Result<()> {
        let places = self.places(input)?;
        let count = places.len();
        for (index, (path, place)) in input.files.iter().zip(&places).enumerate() {
            if count > 1 {
                progress(global, &format!("{}/{count} {}", index + 1, path.display()));
            }
            let changed = change(input.read(path)?)?;
            if let Some(folder) = place.parent().filter(|_| *place != self.output) {
                std::fs::create_dir_all(folder)
                    .with_context(|| format!("cannot create `{}`", folder.display()))?;
            }
            let mut file = OutputFile::create(place)?;
            changed
                .write_wav(&mut file)
                .with_context(|| format!("cannot write `{}`", place.display()))?;
            file.finish()?;
        }
        if count > 1 {
            progress(global, "");
        }
        Ok(())
    }

    /// The file that each input becomes; checked before any work.
    fn places(&self, input: &Input) -> Result<Vec<PathBuf>> {
        let several = input.files.len() > 1;
        if several && is_stdout(&self.output) {
            bail!("several files need `--output DIRECTORY`, one result to a file");
        }
        let folder = several || self.output.is_dir();
        let place = |path: &PathBuf| {
            if folder {
                // Not `with_extension`, which would take `.2` off `take.2`.
                let mut name = path.file_stem().unwrap_or_default().to_owned();
                name.push(".wav");
                self.output.join(name)
            } else {
                self.output.clone()
            }
        };
        let places: Vec<PathBuf> = input.files.iter().map(place).collect();
        for (path, place) in input.files.iter().zip(&places) {
            if place == path && !is_stdout(place) {
                bail!(
                    "`{}` would be overwritten with its own result; choose another `--output`",
                    path.display()
                );
            }
            if !self.force {
                check_vacant(place)?;
            }
        }
        let names: Vec<String> = input
            .files
            .iter()
            .map(|path| path.display().to_string())
            .collect();
        let named: Vec<(&str, &Path)> = names
            .iter()
            .map(String::as_str)
            .zip(places.iter().map(PathBuf::as_path))
            .collect();
        check_distinct(&named)?;
        Ok(places)
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
