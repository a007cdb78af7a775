//! `warpsmith voice picture`: a spectrogram with pitch and speech, as PNG, SVG or HTML.

use std::io::Write;
use std::path::PathBuf;

use anyhow::{Result, bail};
use clap::Args;
use warpsmith_voice::SpectrogramPicture;

use super::input::Input;
use super::whole_file::write_whole;
use crate::exit::Outcome;
use crate::global::Global;

/// Draw a spectrogram with the pitch over it and speech marked under it.
#[derive(Args)]
#[command(after_help = "Examples:
  warpsmith voice picture talk.wav --output talk.png
  warpsmith voice picture song.flac --output song.html")]
pub(crate) struct Picture {
    #[command(flatten)]
    input: Input,
    /// The picture; its name ends in `.png`, `.svg` or `.html`.
    #[arg(short, long, value_name = "PATH")]
    output: PathBuf,
}

impl Picture {
    pub(crate) fn run(&self, _: &Global) -> Result<Outcome> {
        let [path] = &self.input.files[..] else {
            bail!("a picture is drawn of one file at a time");
        };
        let kind = self
            .output
            .extension()
            .and_then(|extension| extension.to_str())
            .unwrap_or_default()
            .to_ascii_lowercase();
        if !["png", "svg", "html"].contains(&kind.as_str()) {
            bail!(
                "`{}` does not end in `.png`, `.svg` or `.html`",
                self.output.display()
            );
        }
        let (signal, rate) = self.input.signal(path)?;
        let picture = SpectrogramPicture::new(&signal, rate)?;
        write_whole(&self.output, |out| {
            match kind.as_str() {
                "png" => picture.write_png(out)?,
                "svg" => out.write_all(picture.svg().as_bytes())?,
                _ => out.write_all(picture.html(&path.display().to_string()).as_bytes())?,
            }
            Ok(())
        })?;
        Ok(Outcome::Fine)
    }
}
