//! Where sounds go: WAV files.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use clap::Args;
use warpsmith_formats::wav::SampleFormat;
use warpsmith_formats::{OutputFile, check_vacant};
use warpsmith_voice::Audio;

use super::batch::{Batch, of_one_file};
use super::input::{Input, of_file};
use super::live::{each_checked_piece, is_long};
use super::places::{Place, left_to_do, places};
use warpsmith_console::exit::Outcome;
use warpsmith_console::global::Global;
use warpsmith_console::output::note;

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
    /// Changes each input, long files piece by piece.
    pub(super) fn each_in_pieces(
        &self,
        global: &Global,
        input: &Input,
        samples: SampleFormat,
        begin: Beginning<'_>,
    ) -> Result<Outcome> {
        self.write(global, input, |place| {
            let path = &place.input;
            let clipped = if is_long(input, path) {
                // All that is heard of it is the same each time.
                change(place, samples, begin, &|see| {
                    each_checked_piece(input, path, see)
                })
            } else {
                let audio = input.read(path)?;
                change(place, samples, begin, &|see| by_pieces(&audio, see))
            };
            match clipped.map_err(|error| of_file(path, error))? {
                0 => {}
                clipped => {
                    let name = place.output.as_deref().unwrap_or(Path::new("-"));
                    let name = name.display();
                    note(
                        global,
                        &format!("note: `{name}`: {clipped} samples were cut off at full scale"),
                    );
                }
            }
            Ok(())
        })
    }

    fn write(
        &self,
        global: &Global,
        input: &Input,
        mut one: impl FnMut(&Place) -> Result<()>,
    ) -> Result<Outcome> {
        let places = self.places(global, input)?;
        let mut batch = Batch::new(global, places.len(), input)?;
        for place in &places {
            batch.begin(&place.input);
            batch.end(of_one_file(&place.input, || one(place)))?;
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

fn create(place: &Place) -> Result<(OutputFile, &Path)> {
    place.make_folder()?;
    let output = place.output.as_deref().unwrap_or(Path::new("-"));
    Ok((OutputFile::create(output)?, output))
}

/// Prepares the change of a sound.
pub(super) type Beginning<'a> = &'a dyn Fn(&Whole<'_>) -> Result<Box<dyn Change>>;

/// A sound as it is before it is changed.
pub(super) struct Whole<'a> {
    pub(super) sample_rate: u32,
    pub(super) channels: usize,
    /// Samples to a channel.
    pub(super) samples: usize,
    /// Plays the sound from its start, for first looks.
    pub(super) again: Again<'a>,
}

/// Hears the same sound again from its start.
pub(super) type Again<'a> = &'a dyn Fn(&mut dyn FnMut(&Audio) -> Result<()>) -> Result<()>;

/// A sound on its way to another.
pub(super) trait Change {
    /// Samples to a channel of the result.
    fn length(&self) -> usize;
    /// What becomes of the next piece.
    fn piece(&mut self, piece: &Audio) -> Result<Audio>;
    /// What is left when all is heard.
    fn finish(self: Box<Self>) -> Result<Audio>;
}

/// Hears a sound once to count it, because the head of a WAV file says how long it is, and once to write it; says how
/// many samples were cut off.
fn change(
    place: &Place,
    samples: SampleFormat,
    begin: Beginning<'_>,
    again: Again<'_>,
) -> Result<usize> {
    let mut whole = Whole {
        sample_rate: 0,
        channels: 0,
        samples: 0,
        again,
    };
    again(&mut |piece| {
        whole.sample_rate = piece.sample_rate;
        whole.channels = piece.channels.len();
        whole.samples += piece.frames();
        Ok(())
    })?;
    if whole.channels == 0 {
        bail!("there is no sound");
    }
    let mut change = begin(&whole)?;
    let length = change.length() as u64;
    let (mut file, output) = create(place)?;
    let written = || format!("cannot write `{}`", output.display());
    let mut begun = false;
    let mut clipped = 0;
    let mut write = |sound: &Audio| -> Result<()> {
        if !begun {
            begun = true;
            let head = sound.write_wav_head(samples, length, &mut file);
            head.with_context(written)?;
        }
        let done = sound.write_wav_samples(samples, &mut file);
        clipped += done.with_context(written)?;
        Ok(())
    };
    again(&mut |piece| write(&change.piece(piece)?))?;
    let rest = change.finish()?;
    write(&rest)?;
    rest.write_wav_end(samples, length, &mut file)
        .with_context(written)?;
    file.finish()?;
    Ok(clipped)
}

/// Frames of a sound in memory that are changed at a time.
const PIECE: usize = 1 << 16;

/// Shows a sound in memory piece by piece, so that what becomes of it is never there at once.
fn by_pieces(audio: &Audio, see: &mut dyn FnMut(&Audio) -> Result<()>) -> Result<()> {
    for start in (0..audio.frames().max(1)).step_by(PIECE) {
        let end = (start + PIECE).min(audio.frames());
        let channels = audio.channels.iter();
        see(&Audio {
            sample_rate: audio.sample_rate,
            channels: channels
                .map(|channel| channel[start..end].to_vec())
                .collect(),
        })?;
    }
    Ok(())
}

/// Changes each channel by itself.
pub(super) struct ByChannel<C> {
    pub(super) sample_rate: u32,
    /// Samples to a channel of the result.
    pub(super) length: usize,
    pub(super) channels: Vec<C>,
}

/// What changes one channel.
pub(super) trait ChannelChange {
    /// Takes the next samples; appends what becomes of them.
    fn process(&mut self, samples: &[f32], out: &mut Vec<f32>) -> Result<()>;
    /// Appends what is left when all is heard.
    fn finish(self, out: &mut Vec<f32>) -> Result<()>;
}

impl<C: ChannelChange> Change for ByChannel<C> {
    fn length(&self) -> usize {
        self.length
    }

    fn piece(&mut self, piece: &Audio) -> Result<Audio> {
        let both = self.channels.iter_mut().zip(&piece.channels);
        let channels = both.map(|(change, samples)| {
            let mut out = Vec::new();
            change.process(samples, &mut out)?;
            Ok(out)
        });
        Ok(Audio {
            sample_rate: self.sample_rate,
            channels: channels.collect::<Result<_>>()?,
        })
    }

    fn finish(self: Box<Self>) -> Result<Audio> {
        let channels = self.channels.into_iter().map(|change| {
            let mut out = Vec::new();
            change.finish(&mut out)?;
            Ok(out)
        });
        Ok(Audio {
            sample_rate: self.sample_rate,
            channels: channels.collect::<Result<_>>()?,
        })
    }
}
