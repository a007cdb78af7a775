//! `warpsmith explain CODE`: the story behind a finding's code.

use std::io::{Write, stdout};

use anyhow::{Result, bail};
use clap::Args;
use warpsmith_core::CodeDoc;

use crate::arguments::{Format, Global};
use crate::exit::Outcome;

/// Tables of every crate that makes findings.
#[rustfmt::skip] // one to a line
pub(crate) const TABLES: &[&[CodeDoc]] = &[
    super::devices::CODES,
    warpsmith_compiler::CODES,
    warpsmith_corpus::CODES,
    warpsmith_doctor::CODE_DOCS,
    warpsmith_md::CODES,
    warpsmith_measure::findings::CODES,
    warpsmith_server::CODES,
    warpsmith_synth::CODES,
    warpsmith_telemetry::baseline::CODES,
    warpsmith_telemetry::baseline::COMPARISON_CODES,
];

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_code_names_one_conclusion() {
        let mut codes: Vec<_> = TABLES
            .iter()
            .copied()
            .flatten()
            .map(|doc| doc.code)
            .collect();
        codes.sort_unstable();
        let twice: Vec<_> = codes.windows(2).filter(|pair| pair[0] == pair[1]).collect();
        assert!(twice.is_empty(), "{twice:?}");
    }

    #[test]
    fn every_code_has_a_story_and_a_mend() {
        for doc in TABLES.iter().copied().flatten() {
            let told = !doc.title.is_empty() && !doc.explanation.is_empty() && !doc.fix.is_empty();
            assert!(told, "{}", doc.code);
        }
    }
}
