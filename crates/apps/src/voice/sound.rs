//! Where sounds go: WAV files of 32-bit floats.

use std::io;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use clap::Args;
use warpsmith_formats::{OutputFile, check_vacant};
use warpsmith_voice::Audio;

use super::batch::Batch;
use super::input::{Input, of_file};
use super::live::{each_checked_piece, is_long};
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
        change: impl FnMut(Audio) -> Result<Audio>,
    ) -> Result<Outcome> {
        self.each_or_in_pieces(global, input, None, change)
    }

    /// As [`SoundOutput::each`]; long files are changed piece by piece where that is known.
    pub(super) fn each_or_in_pieces(
        &self,
        global: &Global,
        input: &Input,
        in_pieces: Option<Changing<'_>>,
        mut change: impl FnMut(Audio) -> Result<Audio>,
    ) -> Result<Outcome> {
        let places = self.places(global, input)?;
        let mut batch = Batch::new(global, places.len(), input);
        for place in &places {
            let path = &place.input;
            batch.begin(path);
            let done = match in_pieces.filter(|_| is_long(input, path)) {
                Some(begin) => write_in_pieces(place, input, begin),
                None => input
                    .read(path)
                    .and_then(|audio| change(audio).map_err(|error| of_file(path, error)))
                    .and_then(|audio| write(place, &audio)),
            };
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
    let (mut file, output) = create(place)?;
    audio
        .write_wav(&mut file)
        .with_context(|| format!("cannot write `{}`", output.display()))?;
    Ok(file.finish()?)
}

fn create(place: &Place) -> Result<(OutputFile, &Path)> {
    place.make_folder()?;
    let output = place.output.as_deref().unwrap_or(Path::new("-"));
    Ok((OutputFile::create(output)?, output))
}

/// What becomes of a sound, piece by piece.
pub(super) trait PieceChange {
    /// Samples to a channel of what becomes of so many.
    fn length(&self, samples: usize) -> usize;
    /// What becomes of the next piece.
    fn piece(&mut self, piece: &Audio) -> Result<Audio>;
    /// What is left when all is heard.
    fn finish(self: Box<Self>) -> Result<Audio>;
}

/// Makes the change for a sound like the one that is shown.
pub(super) type Changing<'a> = &'a dyn Fn(&Audio) -> Result<Box<dyn PieceChange>>;

/// Hears a file twice, because the head of a WAV file says how long it is.
fn write_in_pieces(place: &Place, input: &Input, begin: Changing<'_>) -> Result<()> {
    let path = &place.input;
    let mut samples = 0;
    each_checked_piece(input, path, |piece| {
        samples += piece.frames();
        Ok(())
    })?;
    let (mut file, output) = create(place)?;
    let write = |written: io::Result<()>| {
        written.with_context(|| format!("cannot write `{}`", output.display()))
    };
    let mut change = None;
    each_checked_piece(input, path, |piece| {
        let begun = change.is_some();
        let mut current = match change.take() {
            Some(current) => current,
            None => begin(piece)?,
        };
        let changed = current.piece(piece)?;
        if !begun {
            let length = current.length(samples) as u64;
            write(changed.write_wav_head(length, &mut file))?;
        }
        change = Some(current);
        write(changed.write_wav_samples(&mut file))
    })
    .map_err(|error| of_file(path, error))?;
    let rest = change.context("there is no sound")?.finish()?;
    write(rest.write_wav_samples(&mut file))?;
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
