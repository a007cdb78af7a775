//! Which audio is meant: files or a pipe, and which channel of them.

use std::fs::File;
use std::io::{Read, Write, stderr, stdin};
use std::path::Path;

use anyhow::{Context, Result, anyhow, bail};
use clap::{Args, ValueEnum};
use warpsmith_core::ArgumentError;
use warpsmith_voice::signal::{PcmFormat, with_room};
use warpsmith_voice::{Audio, ChannelChoice, GrowingRoom, SignalError, check_finite, check_room};

use super::endings::{Ending, remedy_for};
use super::left_out::{self, LeftOut};
use super::live::hear_pieces;
use super::sources::{SoundFile, Source, source};
use warpsmith_console::global::Global;
use warpsmith_console::output::note;

/// What does not fit, in errors.
const SOUND: &str = "the sound";

/// The audio to analyse.
#[derive(Args)]
pub(super) struct Input {
    /// Audio files, folders with all audio below them, or quoted patterns (`'takes/**/*.wav'`).
    ///
    /// `-` reads one file from standard input. A file that fails does not stop the others: it is listed
    /// at the end, and the exit code is 1.
    #[arg(required = true, value_name = "FILE", value_parser = source())]
    named: Vec<Source>,
    /// Which signal of several channels: `mix`, or a channel counted from 0.
    #[arg(long, default_value = "mix", value_parser = parse_channel)]
    pub(super) channels: ChannelChoice,
    /// What to do with samples that are not finite numbers.
    #[arg(long, value_enum, default_value_t = BadSamples::Error)]
    pub(super) nan: BadSamples,
    /// Read files that end early or are damaged, and say what is missing.
    #[arg(long, conflicts_with = "raw")]
    salvage: bool,
    /// Read samples without a header: coding, rate and channels, such as `s16le,16000,1`.
    ///
    /// Codings are u8, s8, s16, s24, s32, f32 and f64 with `le` or `be`, mulaw and alaw. In a folder, `.raw`, `.pcm`
    /// and the like are read this way, other files by their headers.
    #[arg(long, value_name = "FORMAT")]
    raw: Option<PcmFormat>,
}

/// What to do with samples that are not finite numbers.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum BadSamples {
    /// Stop and name the first.
    Error,
    /// Take zero instead.
    Zero,
}

fn parse_channel(text: &str) -> Result<ChannelChoice, String> {
    if text == "mix" {
        return Ok(ChannelChoice::Mix);
    }
    text.parse()
        .map(ChannelChoice::One)
        .map_err(|_| format!("`{text}` is neither `mix` nor a channel number"))
}

/// An error that says which file it is about: what cannot be done with a signal does not know where it came
/// from, what cannot be read does.
pub(super) fn of_file(path: &Path, error: anyhow::Error) -> anyhow::Error {
    match error.downcast_ref() {
        Some(
            SignalError::Argument(ArgumentError::Parameter { .. }) | SignalError::TooLarge { .. },
        ) => error.context(format!("cannot analyse `{}`", path.display())),
        _ => error,
    }
}

/// All that standard input has, as far as memory goes.
fn read_all(stdin: &mut impl Read) -> Result<Vec<u8>> {
    let mut room = GrowingRoom::new("what arrives");
    let mut bytes = Vec::new();
    let mut block = vec![0; 1 << 16];
    loop {
        let read = stdin.read(&mut block).context("cannot read `-`")?;
        if read == 0 {
            return Ok(bytes);
        }
        room.grow(read.div_ceil(size_of::<f32>()))?;
        bytes.extend_from_slice(&block[..read]);
    }
}

impl Input {
    /// All files, in the order of the arguments.
    pub(super) fn files(&self) -> Vec<SoundFile> {
        let mut files = Vec::new();
        for source in &self.named {
            let begin = files.len();
            files.extend_from_slice(&source.files);
            let others = source.others.iter();
            files.extend(others.filter(|file| !self.leaves_out(file)).cloned());
            files[begin..].sort_unstable();
        }
        files
    }

    /// Whether a file of a folder is not read: with `--raw` samples without a header are.
    fn leaves_out(&self, file: &SoundFile) -> bool {
        self.raw.is_none() || Ending::of(&file.name) != Ending::Raw
    }

    fn left_out(&self) -> Vec<&SoundFile> {
        let others = self.named.iter().flat_map(|source| &source.others);
        others.filter(|file| self.leaves_out(file)).collect()
    }

    /// What is left out of folders, and why.
    pub(super) fn list_left_out(&self) -> Vec<LeftOut> {
        left_out::listed(&self.left_out())
    }

    /// Says what is left out of folders; an error where nothing else is there.
    pub(super) fn announce(&self, global: &Global) -> Result<()> {
        let lines = left_out::lines(&self.left_out());
        if self.files().is_empty() {
            bail!("there is no file to read: {}", lines.join("; "));
        }
        for line in lines {
            note(global, &format!("note: {line}"));
        }
        Ok(())
    }

    /// Whether more than one file is meant, or any number.
    pub(super) fn is_several(&self) -> bool {
        self.named.len() > 1 || self.named.iter().any(|source| source.is_tree())
    }

    /// Whether damaged files are taken as far as they go.
    pub(super) fn is_salvaged(&self) -> bool {
        self.salvage
    }

    /// Whether the samples of a file have no header.
    pub(super) fn is_raw(&self, path: &Path) -> bool {
        self.raw_format(path).is_some()
    }

    /// How the samples of a file without a header are written.
    fn raw_format(&self, path: &Path) -> Option<PcmFormat> {
        let has_header = |source: &Source| source.promises_header(path);
        self.raw.filter(|_| !self.named.iter().any(has_header))
    }

    /// Whether standard input is among the files.
    pub(super) fn is_piped(&self) -> bool {
        self.files().iter().any(|file| file.path == Path::new("-"))
    }

    /// Decodes one of the files and checks its samples.
    pub(super) fn read(&self, path: &Path) -> Result<Audio> {
        let mut audio = self.gather(path)?;
        self.clean(&mut audio);
        self.check(path, &audio, 0)?;
        Ok(audio)
    }

    fn gather(&self, path: &Path) -> Result<Audio> {
        self.check_size(path, None)?;
        let mut room = GrowingRoom::new(SOUND);
        let mut audio = Audio::with_room(self.plain_size(path).unwrap_or_default());
        let mut gather = |piece: &Audio| -> Result<(), SignalError> {
            room.grow(piece.frames() * piece.channels.len())?;
            audio.append(piece);
            Ok(())
        };
        // Some headers of a pipe are read only where one can go back, as in memory.
        if path == Path::new("-") && self.raw.is_none() {
            let bytes = read_all(&mut stdin().lock())?;
            Audio::each_piece_in(path, bytes, &mut gather)?;
        } else {
            self.each_piece(path, &mut gather)?;
        }
        Ok(audio)
    }

    /// Fails where the sound of a file would not fit into memory, as far as its size is known before it is read;
    /// `channels` where fewer are kept than there are.
    fn check_size(&self, path: &Path, channels: Option<usize>) -> Result<()> {
        if let Some((frames, all)) = self.plain_size(path) {
            let values = usize::try_from(frames).unwrap_or(usize::MAX);
            let values = values.saturating_mul(channels.unwrap_or(all));
            check_room(SOUND, values, size_of::<f32>())?;
        }
        Ok(())
    }

    /// Fails where what an analysis keeps of a long file would not fit into memory: less than a byte to a sample.
    pub(super) fn check_kept(&self, path: &Path) -> Result<()> {
        if let Some((frames, _)) = self.plain_size(path) {
            let kept = usize::try_from(frames).unwrap_or(usize::MAX);
            check_room("what is kept of the sound", kept, 1)?;
        }
        Ok(())
    }

    /// Samples to a channel, and channels, as far as they are known before a file is read.
    fn plain_size(&self, path: &Path) -> Option<(u64, usize)> {
        match self.raw_format(path) {
            Some(format) => {
                let facts = std::fs::metadata(path).ok();
                facts.map(|facts| (facts.len() / format.frame_bytes() as u64, format.channels))
            }
            None => Audio::plain_size(path),
        }
    }

    /// Shows the pieces of a file, or of standard input while it is still arriving.
    pub(super) fn each_piece(
        &self,
        path: &Path,
        see: &mut dyn FnMut(&Audio) -> Result<(), SignalError>,
    ) -> Result<()> {
        let piped = path == Path::new("-");
        if let Some(format) = self.raw_format(path) {
            let mut source: Box<dyn Read> = if piped {
                Box::new(stdin())
            } else {
                let file = File::open(path);
                Box::new(file.with_context(|| format!("cannot read `{}`", path.display()))?)
            };
            return Ok(Audio::each_piece_of_raw(path, &mut *source, format, see)?);
        }
        if piped {
            return Ok(Audio::each_piece(path, stdin(), see)?);
        }
        if !self.salvage {
            let read = Audio::each_piece_of(path, see);
            return match read {
                Err(error) if error.is_of_damage() => Err(anyhow!(
                    "{error}; `--salvage` takes what is there of such a file"
                )),
                Err(error) => match remedy_for(path, &error) {
                    Some(remedy) => Err(anyhow!("{error}; {remedy}")),
                    None => Err(error.into()),
                },
                Ok(()) => Ok(()),
            };
        }
        let damage = Audio::each_piece_of(path, &mut |_| Ok(())).err();
        let mut seconds = 0.0;
        Audio::each_piece_salvaged(path, &mut |piece| {
            seconds += piece.seconds();
            see(piece)
        })?;
        if let Some(damage) = damage {
            if seconds <= 0.0 {
                return Err(anyhow!("{damage}; nothing of it could be salvaged"));
            }
            // Nothing can be done about a standard error that is closed.
            let _ = writeln!(stderr(), "salvaged {seconds:.3} s: {damage}");
        }
        Ok(())
    }

    /// Checks the samples of audio that has `before` samples before it.
    pub(super) fn check(&self, path: &Path, audio: &Audio, before: usize) -> Result<()> {
        for channel in &audio.channels {
            if let Err(error) = check_finite(channel) {
                let error = match error {
                    SignalError::BadSample { index, value } => SignalError::BadSample {
                        index: before + index,
                        value,
                    },
                    other => other,
                };
                bail!(
                    "cannot analyse `{}`: {error} (`--nan zero`)",
                    path.display()
                );
            }
        }
        Ok(())
    }

    /// Audio with zeros instead of samples that are not finite, where the user chose that.
    pub(super) fn cleaned(&self, audio: &Audio) -> Option<Audio> {
        (self.nan == BadSamples::Zero).then(|| {
            let mut audio = audio.clone();
            self.clean(&mut audio);
            audio
        })
    }

    fn clean(&self, audio: &mut Audio) {
        if self.nan == BadSamples::Zero {
            let samples = audio.channels.iter_mut().flatten();
            samples.filter(|x| !x.is_finite()).for_each(|x| *x = 0.0);
        }
    }

    /// The signal to analyse, with its sample rate.
    pub(super) fn signal(&self, path: &Path) -> Result<(Vec<f32>, u32)> {
        if path == Path::new("-") {
            let audio = self.read(path)?;
            let sample_rate = audio.sample_rate;
            return Ok((audio.into_signal(self.channels)?, sample_rate));
        }
        // Channels are mixed as they come: all of them are never there at once.
        self.check_size(path, Some(1))?;
        let mut room = GrowingRoom::new(SOUND);
        let (frames, _) = self.plain_size(path).unwrap_or_default();
        let mut signal = with_room(usize::try_from(frames).unwrap_or(usize::MAX));
        let mut sample_rate = 0;
        hear_pieces(self, path, |piece, rate| {
            room.grow(piece.len())?;
            signal.extend_from_slice(piece);
            sample_rate = rate;
            Ok(())
        })?;
        Ok((signal, sample_rate))
    }
}
