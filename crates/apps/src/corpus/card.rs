//! `warpsmith corpus card`: the data set's `README.md`, as Hugging Face reads it.

use std::path::PathBuf;

use anyhow::Result;
use clap::Args;
use serde::Serialize;
use warpsmith_corpus::{card, statistics};
use warpsmith_formats::write_output;

use warpsmith_console::exit::Outcome;
use warpsmith_console::global::Global;
use warpsmith_console::inputs;
use warpsmith_console::output;

/// Write a data set's card, with its splits in the front matter that `datasets` reads.
#[derive(Args)]
#[command(after_long_help = "Examples:
  warpsmith corpus card pairs
  warpsmith corpus card pairs --print")]
pub(crate) struct Card {
    /// The data set's folder.
    folder: PathBuf,
    /// Print the card instead of writing `README.md`.
    #[arg(long)]
    print: bool,
}

#[derive(Serialize)]
struct Body {
    path: String,
    card: String,
}

impl Card {
    pub(crate) fn run(&self, global: &Global) -> Result<Outcome> {
        inputs::check_folder(&self.folder)?;
        let path = self.folder.join("README.md");
        let body = Body {
            path: path.display().to_string(),
            card: card(&statistics(&self.folder)?),
        };
        if !self.print {
            write_output(&path, body.card.as_bytes())?;
        }
        let report = output::report("corpus card", body);
        output::print(global, &report, |body| match self.print {
            true => body.card.clone(),
            false => format!("wrote `{}`\n", body.path),
        })?;
        Ok(Outcome::Fine)
    }
}
