//! `cargo xtask conformance`: the compiler's text against the reference text of a suite of kernels.
//!
//! A suite is lines of JSON with `id`, `tier`, `source`, `cuda_module` and `cpu_module`, plain or
//! gzipped. Identity is judged on everything after the module's prologue. A refusal is a valid answer;
//! a wrong byte is not, and makes the command fail.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use clap::Args;
use serde_json::Value;
use warpsmith_compiler::{Compiler, Options, Target, emit};

/// Compares the compiler's text with a suite of reference texts.
#[derive(Args)]
pub(crate) struct Conformance {
    /// The suite; default: `$WARPSMITH_CONFORMANCE`, else the development suite beside the workspace.
    #[arg(long)]
    suite: Option<PathBuf>,
    /// Show why each kernel of these tiers was refused, e.g. `S0,S1`.
    #[arg(long, value_delimiter = ',')]
    refused: Vec<String>,
    /// Look at this one kernel only, and print its text.
    #[arg(long)]
    id: Option<String>,
    /// Print at most so many wrong kernels.
    #[arg(long, default_value_t = 20)]
    show: usize,
}

/// What became of the kernels of a tier.
#[derive(Default)]
struct Tally {
    total: usize,
    identical: usize,
    refused: usize,
    wrong: usize,
}

impl Conformance {
    /// Prints a line per tier; fails if any accepted kernel's text differs.
    pub(crate) fn run(&self) -> Result<()> {
        let path = self.suite.clone().unwrap_or_else(default_suite);
        if !path.exists() {
            println!("skipped: there is no suite at {}", path.display());
            return Ok(());
        }
        let mut tiers: BTreeMap<(usize, String), Tally> = BTreeMap::new();
        let mut compiler = Compiler::new();
        let options = Options::default();
        let mut shown = 0;
        let mut reasons: BTreeMap<String, usize> = BTreeMap::new();
        for row in rows(&path)? {
            let row = row?;
            let text = |key: &str| row[key].as_str().unwrap_or("");
            if self.id.as_ref().is_some_and(|id| id != text("id")) {
                continue;
            }
            let tier = text("tier").to_owned();
            let rank = tier.trim_start_matches('S').parse().unwrap_or(99);
            let tally = tiers.entry((rank, tier.clone())).or_default();
            tally.total += 1;
            let module = match compiler.compile(text("source"), &options) {
                Ok(module) => module,
                Err(findings) => {
                    tally.refused += 1;
                    if self.refused.contains(&tier) || self.id.is_some() {
                        for finding in findings {
                            println!(
                                "{tier} {} {}",
                                text("id"),
                                warpsmith_compiler::render(&finding, text("source"))
                            );
                            *reasons
                                .entry(format!("{} {}", finding.code, finding.message))
                                .or_default() += 1;
                        }
                    }
                    continue;
                }
            };
            let mut difference = None;
            for (target, key) in [(Target::Cuda, "cuda_module"), (Target::Cpu, "cpu_module")] {
                let mut ours = String::new();
                emit(&module, target, &mut ours);
                if self.id.is_some() && target == Target::Cuda {
                    println!("{ours}");
                }
                let theirs = after_prologue(text(key));
                if difference.is_none()
                    && let Some(found) = first_difference(&ours, theirs)
                {
                    difference = Some(format!("{key} {found}"));
                }
            }
            compiler.recycle(module);
            match difference {
                None => tally.identical += 1,
                Some(difference) => {
                    tally.wrong += 1;
                    if shown < self.show {
                        shown += 1;
                        println!(
                            "wrong: {tier} {} {}\n{difference}",
                            text("id"),
                            text("kernel")
                        );
                    }
                }
            }
        }
        for (reason, count) in reasons {
            println!("{count:5}  {reason}");
        }
        println!("tier     total accepted identical refused wrong");
        let mut wrong = 0;
        for ((_, tier), tally) in &tiers {
            wrong += tally.wrong;
            println!(
                "{tier:<6} {:7} {:8} {:9} {:7} {:5}  {:6.2} % identical",
                tally.total,
                tally.total - tally.refused,
                tally.identical,
                tally.refused,
                tally.wrong,
                100.0 * tally.identical as f64 / tally.total as f64
            );
        }
        anyhow::ensure!(wrong == 0, "{wrong} kernels have a text that differs");
        Ok(())
    }
}

/// Where the development suite lies: beside the workspace, or where the environment says.
pub(crate) fn default_suite() -> PathBuf {
    std::env::var_os("WARPSMITH_CONFORMANCE").map_or_else(
        || {
            Path::new(env!("CARGO_MANIFEST_DIR"))
                .join("../../shared/tools/warp/conformance-dev.jsonl.gz")
        },
        PathBuf::from,
    )
}

/// The rows of a suite, one at a time.
fn rows(path: &Path) -> Result<impl Iterator<Item = Result<Value>> + use<>> {
    let file = File::open(path).with_context(|| format!("cannot open `{}`", path.display()))?;
    let reader: Box<dyn Read> = if path.extension().is_some_and(|ext| ext == "gz") {
        Box::new(flate2::read::GzDecoder::new(file))
    } else {
        Box::new(file)
    };
    Ok(BufReader::with_capacity(1 << 20, reader)
        .lines()
        .filter(|line| line.as_ref().map_or(true, |line| !line.trim().is_empty()))
        .map(|line| {
            let line = line.context("cannot read the suite")?;
            serde_json::from_str(&line).context("the suite holds a line that is not JSON")
        }))
}

/// What follows the fixed beginning of a module.
fn after_prologue(text: &str) -> &str {
    const LAST: &str = "#define adj_int(x, adj_x, adj_ret) adj_cast_int(x, adj_x, adj_ret)\n\n";
    text.find(LAST).map_or(text, |at| &text[at + LAST.len()..])
}

/// The first line in which two texts differ, as both have it.
fn first_difference(ours: &str, theirs: &str) -> Option<String> {
    if ours == theirs {
        return None;
    }
    let (mut a, mut b) = (ours.lines(), theirs.lines());
    let mut number = 1;
    loop {
        match (a.next(), b.next()) {
            (None, None) => return Some("only the ends of lines differ".to_owned()),
            (x, y) if x == y => number += 1,
            (x, y) => {
                return Some(format!(
                    "line {number}\n  ours:   {}\n  theirs: {}",
                    x.unwrap_or("(end)"),
                    y.unwrap_or("(end)")
                ));
            }
        }
    }
}
