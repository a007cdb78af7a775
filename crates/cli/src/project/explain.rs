//! `warpsmith explain CODE`: the story behind a finding's code.

use std::io::{Write, stdout};

use anyhow::{Result, bail};
use clap::Args;
use warpsmith_core::CodeDoc;

use crate::codes::TABLES;
use crate::exit::Outcome;
use crate::global::{Format, Global};

/// Explain a finding's code: what it means, how it is established, what mends it.
#[derive(Args)]
#[command(after_help = "Examples:\n  warpsmith explain M004\n  warpsmith explain --list")]
pub(crate) struct Explain {
    /// The code, e.g. `M004`; upper or lower case.
    #[arg(required_unless_present = "list")]
    code: Option<String>,
    /// List every code with its title.
    #[arg(long, conflicts_with = "code")]
    list: bool,
}

impl Explain {
    pub(crate) fn run(&self, global: &Global) -> Result<Outcome> {
        let mut out = stdout().lock();
        let mut chosen: Vec<&CodeDoc> = TABLES.iter().copied().flatten().collect();
        if let Some(code) = &self.code {
            chosen.retain(|doc| doc.code.eq_ignore_ascii_case(code));
            if chosen.is_empty() {
                bail!(
                    "no finding has the code `{code}`; `warpsmith explain --list` names them all"
                );
            }
        }
        chosen.sort_by_key(|doc| doc.code);
        if global.format == Format::Json {
            serde_json::to_writer_pretty(&mut out, &chosen)?;
            writeln!(out)?;
            return Ok(Outcome::Fine);
        }
        for doc in chosen {
            if self.list {
                writeln!(out, "{}  {}", doc.code, doc.title)?;
            } else {
                writeln!(
                    out,
                    "{}: {}\n\n{}\n\nfix: {}",
                    doc.code, doc.title, doc.explanation, doc.fix
                )?;
            }
        }
        Ok(Outcome::Fine)
    }
}
