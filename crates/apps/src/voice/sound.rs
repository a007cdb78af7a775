//! Where sounds go: WAV files of 32-bit floats.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use clap::Args;
use warpsmith_formats::{OutputFile, check_vacant};
use warpsmith_voice::Audio;

use super::batch::Batch;
use super::input::{Input, of_file};
use super::places::{Place, left_to_do, places};
use warpsmith_console::exit::Outcome;
use warpsmith_console::global::Global;

/// Where sounds go.
#[derive(Args)]
pub(super) struct SoundOutput {
    /// A WAV file for one input, a directory for several; `-` is standard output.
    ///
    /// Of a folder or a pattern the results are a tree like that of the inputs.
    #[arg(short, long, value_name = "PATH")]
    output: PathBuf,
    /// Replace files that exist.
    #[arg(long)]
    force: bool,
    /// Skip inputs whose result exists and is not older.
    #[arg(long)]
    resume: bool,
}

impl SoundOutput {
    /// Changes each input and writes what became of it.
    pub(super) fn each(
        &self,
        global: &Global,
        input: &Input,
        mut change: impl FnMut(Audio) -> Result<Audio>,
    ) -> Result<Outcome> {
        let places = self.places(global, input)?;
        let mut batch = Batch::new(global, places.len(), input);
        for place in &places {
            batch.begin(&place.input);
            let done = input
                .read(&place.input)
                .and_then(|audio| change(audio).map_err(|error| of_file(&place.input, error)))
                .and_then(|audio| write(place, &audio));
            batch.end(done)?;
        }
        batch.finish()
    }

    /// The file that each input becomes; checked before any work.
    fn places(&self, global: &Global, input: &Input) -> Result<Vec<Place>> {
        let rename = |name: &Path| {
            // Not `with_extension`, which would take `.2` off `take.2`.
            let mut wav = name.file_stem().unwrap_or_default().to_owned();
            wav.push(".wav");
            name.with_file_name(wav)
        };
        let mut places = places(input, Some(&self.output), rename)?;
        for Place { input, output } in &places {
            if output.as_ref() == Some(input) {
                bail!(
                    "`{}` would be overwritten with its own result; choose another `--output`",
                    input.display()
                );
            }
        }
        if self.resume {
            places = left_to_do(global, places);
        }
        if !self.force {
            let mut outputs = places.iter().filter_map(|place| place.output.as_deref());
            outputs.try_for_each(check_vacant)?;
        }
        Ok(places)
    }
}

fn write(place: &Place, audio: &Audio) -> Result<()> {
    place.make_folder()?;
    let output = place.output.as_deref().unwrap_or(Path::new("-"));
    let mut file = OutputFile::create(output)?;
    audio
        .write_wav(&mut file)
        .with_context(|| format!("cannot write `{}`", output.display()))?;
    Ok(file.finish()?)
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
