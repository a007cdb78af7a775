//! `warpsmith corpus mistakes`: programs that are rejected, and CUDA text that is wrong.

use std::io::Write;
use std::path::PathBuf;

use anyhow::{Context, Result};
use clap::Args;
use rayon::prelude::*;
use serde::Serialize;
use warpsmith_compiler::Compiler;
use warpsmith_corpus::{Wanted, WarpOracle, rejected, wrong_code};
use warpsmith_formats::{check_vacant, write_output};

use super::origin::Origin;
use warpsmith_console::exit::Outcome;
use warpsmith_console::global::Global;
use warpsmith_console::inputs;
use warpsmith_console::output;

/// Write data about mistakes: `rejected.jsonl` has programs that do not compile, with the diagnostic and
/// the repaired program; `wrong_code.jsonl` has CUDA text that compiles and computes something else.
///
/// With `--python`, Warp is asked about every rejected program: its message is written too, and programs
/// that it accepts are left out.
#[derive(Args)]
#[command(after_long_help = "Examples:
  warpsmith corpus mistakes --count 10000 --output mistakes
  warpsmith corpus mistakes --count 500 --output mistakes --python venv/bin/python
  warpsmith corpus mistakes --count 500 --seed 3 --output mistakes --format json")]
pub(crate) struct Mistakes {
    /// How many pairs to make mistakes from; a few of them give none.
    #[arg(long, value_name = "N")]
    count: u64,
    #[command(flatten)]
    origin: Origin,
    /// Replace files that are there already.
    #[arg(long)]
    force: bool,
    /// A Python with warp-lang 1.19.0, whose diagnostics are written too.
    #[arg(long, value_name = "FILE")]
    python: Option<PathBuf>,
}

const REJECTED: &str = "rejected.jsonl";
const WRONG_CODE: &str = "wrong_code.jsonl";

#[derive(Serialize)]
struct Body {
    folder: String,
    rejected: usize,
    wrong_code: usize,
}

impl Mistakes {
    pub(crate) fn run(&self, global: &Global) -> Result<Outcome> {
        inputs::check_output_folder("--output", &self.origin.output)?;
        std::fs::create_dir_all(&self.origin.output)
            .with_context(|| format!("cannot make `{}`", self.origin.output.display()))?;
        if !self.force {
            for name in [REJECTED, WRONG_CODE] {
                check_vacant(&self.origin.output.join(name))?;
            }
        }
        let wanted = Wanted::default();
        let mut programs =
            self.make(|compiler, index| rejected(compiler, &wanted, self.origin.seed, index));
        if let Some(python) = &self.python {
            let mut oracle = WarpOracle::start(python).map_err(anyhow::Error::msg)?;
            let asked = programs.into_iter().map(|one| one.asking(&mut oracle));
            let asked: Result<Vec<_>, String> = asked.collect();
            programs = asked
                .map_err(anyhow::Error::msg)?
                .into_iter()
                .flatten()
                .collect();
        }
        let texts =
            self.make(|compiler, index| wrong_code(compiler, &wanted, self.origin.seed, index));
        let rejected = self.write(REJECTED, &programs)?;
        let wrong_code = self.write(WRONG_CODE, &texts)?;
        let folder = self.origin.output.display().to_string();
        let body = Body {
            folder,
            rejected,
            wrong_code,
        };
        let report = output::report("corpus mistakes", body);
        output::print(global, &report, |body| {
            format!(
                "`{}`: {} rejected programs, {} wrong CUDA texts\n",
                body.folder, body.rejected, body.wrong_code
            )
        })?;
        Ok(Outcome::Fine)
    }

    /// What the pairs give, in their order.
    fn make<T: Send>(&self, make: impl Fn(&mut Compiler, u64) -> Option<T> + Sync) -> Vec<T> {
        (0..self.count)
            .collect::<Vec<u64>>()
            .into_par_iter()
            .map_init(Compiler::new, |compiler, index| make(compiler, index))
            .flatten_iter()
            .collect()
    }

    /// Writes a line for each row.
    fn write<T: Serialize>(&self, name: &str, rows: &[T]) -> Result<usize> {
        let mut text = Vec::new();
        for row in rows {
            serde_json::to_writer(&mut text, row)?;
            text.write_all(b"\n")?;
        }
        write_output(&self.origin.output.join(name), &text)?;
        Ok(rows.len())
    }
}
