//! `warpsmith voice picture`: a spectrogram with pitch and speech, as PNG, SVG or HTML.

use std::io::Write;
use std::path::PathBuf;

use anyhow::{Context, Result, bail};
use clap::Args;
use warpsmith_formats::{OutputFile, is_stdout};
use warpsmith_voice::SpectrogramPicture;

use super::input::Input;
use super::sources::SoundFile;
use warpsmith_console::exit::Outcome;
use warpsmith_console::global::Global;

/// Draw a spectrogram with the pitch over it and speech marked under it.
#[derive(Args)]
#[command(after_long_help = "Examples:
  warpsmith voice picture talk.wav --output talk.png
  warpsmith voice picture song.flac --output song.html")]
pub(crate) struct Picture {
    #[command(flatten)]
    input: Input,
    /// The picture; its name ends in `.png`, `.svg` or `.html`, or is `-`: a PNG on standard output.
    #[arg(short, long, value_name = "PATH")]
    output: PathBuf,
}

impl Picture {
    pub(crate) fn run(&self, _: &Global) -> Result<Outcome> {
        let files = self.input.files();
        let [SoundFile { path, .. }] = &files[..] else {
            bail!("a picture is drawn of one file at a time");
        };
        let extension = self.output.extension();
        let kind = match extension.and_then(|extension| extension.to_str()) {
            None if is_stdout(&self.output) => "png".to_owned(),
            extension => extension.unwrap_or_default().to_ascii_lowercase(),
        };
        if !["png", "svg", "html"].contains(&kind.as_str()) {
            bail!(
                "`{}` does not end in `.png`, `.svg` or `.html`",
                self.output.display()
            );
        }
        let (signal, rate) = self.input.signal(path)?;
        let picture = SpectrogramPicture::new(&signal, rate)?;
        let mut file = OutputFile::create(&self.output)?;
        let written = match kind.as_str() {
            "png" => picture.write_png(&mut file),
            "svg" => file.write_all(picture.svg()?.as_bytes()),
            _ => file.write_all(picture.html(&path.display().to_string())?.as_bytes()),
        };
        written.with_context(|| format!("cannot write `{}`", self.output.display()))?;
        file.finish()?;
        Ok(Outcome::Fine)
    }
}
