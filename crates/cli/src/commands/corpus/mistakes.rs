//! `warpsmith corpus mistakes`: programs that are rejected, and CUDA text that is wrong.

use std::io::Write;
use std::path::PathBuf;

use anyhow::{Context, Result};
use clap::Args;
use rayon::prelude::*;
use serde::Serialize;
use warpsmith_compiler::Compiler;
use warpsmith_corpus::{Wanted, rejected, wrong_code};

use crate::arguments::Global;
use crate::exit::Outcome;
use crate::output;

/// Write data about mistakes: `rejected.jsonl` has programs that do not compile, with the diagnostic and
/// the repaired program; `wrong_code.jsonl` has CUDA text that compiles and computes something else.
#[derive(Args)]
#[command(after_help = "Examples:
  warpsmith corpus mistakes --count 10000 --out mistakes
  warpsmith corpus mistakes --count 500 --seed 3 --out mistakes --format json")]
pub(crate) struct Mistakes {
    /// How many pairs to make mistakes from; a few of them give none.
    #[arg(long)]
    count: u64,
    /// The folder.
    #[arg(long)]
    out: PathBuf,
    /// What the pairs follow from.
    #[arg(long, default_value_t = 0)]
    seed: u64,
}

#[derive(Serialize)]
struct Body {
    folder: String,
    rejected: usize,
    wrong_code: usize,
}

impl Mistakes {
    pub(crate) fn run(&self, global: &Global) -> Result<Outcome> {
        std::fs::create_dir_all(&self.out)
            .with_context(|| format!("cannot make `{}`", self.out.display()))?;
        let wanted = Wanted::default();
        let rejected = self.write("rejected.jsonl", |compiler, index| {
            rejected(compiler, &wanted, self.seed, index)
        })?;
        let wrong_code = self.write("wrong_code.jsonl", |compiler, index| {
            wrong_code(compiler, &wanted, self.seed, index)
        })?;
        let folder = self.out.display().to_string();
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

    /// Writes a line for every pair that gives one, in the order of the pairs.
    fn write<T: Serialize + Send>(
        &self,
        name: &str,
        make: impl Fn(&mut Compiler, u64) -> Option<T> + Sync,
    ) -> Result<usize> {
        let made: Vec<Option<T>> = (0..self.count)
            .collect::<Vec<u64>>()
            .into_par_iter()
            .map_init(Compiler::new, |compiler, index| make(compiler, index))
            .collect();
        let mut text = Vec::new();
        let mut count = 0;
        for row in made.into_iter().flatten() {
            serde_json::to_writer(&mut text, &row)?;
            text.write_all(b"\n")?;
            count += 1;
        }
        output::write_file(&self.out.join(name), &text)?;
        Ok(count)
    }
}
