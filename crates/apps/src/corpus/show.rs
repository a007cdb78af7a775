//! `warpsmith corpus show`: one pair, to be looked at.

use std::fmt::Write;
use std::path::PathBuf;

use anyhow::{Context, Result};
use clap::Args;
use warpsmith_corpus::{Row, find_row};

use warpsmith_console::exit::Outcome;
use warpsmith_console::global::Global;
use warpsmith_console::inputs;
use warpsmith_console::output;

/// Show a pair: what is known about it, its source, and its CUDA text.
#[derive(Args)]
#[command(after_long_help = "Examples:
  warpsmith corpus show pairs 17
  warpsmith corpus show pairs 17 --all
  warpsmith corpus show pairs 17 --format json")]
pub(crate) struct Show {
    /// The data set's folder.
    folder: PathBuf,
    /// The pair's number.
    index: u64,
    /// The backward and CPU texts too.
    #[arg(long)]
    all: bool,
}

impl Show {
    pub(crate) fn run(&self, global: &Global) -> Result<Outcome> {
        inputs::check_folder(&self.folder)?;
        let row = find_row(&self.folder, self.index)?
            .with_context(|| format!("`{}` has no pair {}", self.folder.display(), self.index))?;
        let report = output::report("corpus show", row);
        output::print(global, &report, |row| describe(row, self.all))?;
        Ok(Outcome::Fine)
    }
}

fn describe(row: &Row, all: bool) -> String {
    let mut text = format!(
        "pair {} of seed {}: {}, difficulty {}, split {}\nshape {:016x}, {} tokens of Python, {} of CUDA\n",
        row.index,
        row.seed,
        row.category,
        row.difficulty,
        row.split,
        row.hash_shape,
        row.python_tokens,
        row.cuda_tokens
    );
    let _ = writeln!(text, "builtins: {}", row.builtins.join(", "));
    for (level, outcome) in [
        ("executed", &row.executed),
        ("gradient", &row.gradient),
        ("compiled", &row.compiled),
        ("gpu", &row.gpu),
        ("vulkan", &row.vulkan),
        ("warp", &row.warp),
    ] {
        if outcome != "not run" {
            let _ = writeln!(text, "{level}: {outcome}");
        }
    }
    for (column, value) in [
        ("expected", &row.expected),
        ("inputs", &row.inputs),
        ("gradients", &row.gradients),
        ("machine code", &row.sass),
    ] {
        if !value.is_empty() {
            let _ = writeln!(text, "{column}: {}", shortened(value));
        }
    }
    let _ = write!(text, "\n{}\n{}", row.python, row.cuda_forward);
    if all {
        let _ = write!(
            text,
            "{}\n{}\n{}\n{}",
            row.cuda_backward, row.cpu_forward, row.cpu_backward, row.ptx
        );
    }
    text
}

/// The beginning of what would fill the screen; `--format json` has all of it.
fn shortened(text: &str) -> String {
    match text.char_indices().nth(300) {
        Some((end, _)) => format!("{}… ({} bytes)", &text[..end], text.len()),
        None => text.to_owned(),
    }
}
