//! `cargo xtask conformance`: the compiler's text against the reference text of a suite of kernels.
//!
//! The suite is made from the tests and examples inside the warp-lang wheel, and kept in `target/oracle`.
//! A suite is lines of JSON with `id`, `tier`, `source`, `cuda_module` and `cpu_module`, plain or
//! gzipped; with `--root`, `id` is a file below it, compiled as it is, and `kernel` one of its kernels. Identity is judged on everything after the module's prologue. A refusal is a valid answer;
//! a wrong byte is not, and makes the command fail.

mod suite;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, Result};
use clap::Args;
use warpsmith_compiler::ir::Module;
use warpsmith_compiler::{Compiler, Folder, Options, Target, emit};
use warpsmith_core::Finding;

pub(crate) use suite::make;

/// Compares the compiler's text with a suite of reference texts.
#[derive(Args)]
pub(crate) struct Conformance {
    /// The suite; default: `$WARPSMITH_CONFORMANCE`, else the one made from the warp-lang 1.19.0 wheel,
    /// which is kept in `target/oracle`.
    #[arg(long)]
    suite: Option<PathBuf>,
    /// `warp/_src/math.py` of an installed warp-lang 1.19.0, for kernels that call Warp's own Python
    /// functions; default: `$WARPSMITH_WARP_LIBRARY`, else `target/oracle/warp`, else what `python3` has.
    #[arg(long)]
    library: Option<PathBuf>,
    /// Show why each kernel of these tiers was refused, e.g. `S0,S1`.
    #[arg(long, value_delimiter = ',')]
    refused: Vec<String>,
    /// Look at this one kernel only, and print its text.
    #[arg(long)]
    id: Option<String>,
    /// The suite's kernels are those of real files below this folder.
    #[arg(long)]
    root: Option<PathBuf>,
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

impl Tally {
    fn add(&mut self, other: &Self) {
        self.total += other.total;
        self.identical += other.identical;
        self.refused += other.refused;
        self.wrong += other.wrong;
    }

    fn print(&self, tier: &str) {
        println!(
            "{tier:<6} {:7} {:8} {:9} {:7} {:5}  {:6.2} % identical",
            self.total,
            self.total - self.refused,
            self.identical,
            self.refused,
            self.wrong,
            100.0 * self.identical as f64 / self.total as f64
        );
    }
}

impl Conformance {
    /// The text of Warp's Python functions, where there is one.
    fn library(&self) -> Result<Option<Arc<str>>> {
        let named = self.library.clone();
        let named = named.or_else(|| std::env::var_os("WARPSMITH_WARP_LIBRARY").map(PathBuf::from));
        let Some(path) = named.or_else(suite::installed_library) else {
            return Ok(None);
        };
        let text = std::fs::read_to_string(&path)
            .with_context(|| format!("cannot read the library `{}`", path.display()))?;
        println!("library: {}", path.display());
        Ok(Some(text.into()))
    }

    /// Prints a line per tier; fails if any accepted kernel's text differs.
    pub(crate) fn run(&self) -> Result<()> {
        let path = match &self.suite {
            Some(path) => path.clone(),
            None => make()?,
        };
        println!("suite: {}", path.display());
        let mut tiers: BTreeMap<(usize, String), Tally> = BTreeMap::new();
        let mut compiler = Compiler::new();
        let options = Options {
            library: self.library()?,
            ..Options::default()
        };
        let mut shown = 0;
        let mut quoting = 0;
        let mut reasons: BTreeMap<String, usize> = BTreeMap::new();
        for row in suite::rows(&path)? {
            let row = row?;
            let text = |key: &str| row[key].as_str().unwrap_or("");
            if self.id.as_ref().is_some_and(|id| id != text("id")) || !row["error"].is_null() {
                continue;
            }
            let tier = text("tier").to_owned();
            let rank = tier.trim_start_matches('S').parse().unwrap_or(99);
            let tally = tiers.entry((rank, tier.clone())).or_default();
            tally.total += 1;
            let compiled = match &self.root {
                None => compiler.compile(text("source"), &options),
                Some(root) => compile_file(&mut compiler, &options, root, &row)?,
            };
            let module = match compiled {
                Ok(module) => module,
                Err(findings) => {
                    tally.refused += 1;
                    quoting += usize::from(findings.iter().any(|finding| finding.code == "K029"));
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
                if let Some(root) = &self.root {
                    ours = ours.replace(&format!("// {}/", root.display()), "// ");
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
        let mut all = Tally::default();
        for ((_, tier), tally) in &tiers {
            all.add(tally);
            tally.print(tier);
        }
        all.print("all");
        if quoting > 0 && options.library.is_none() {
            println!(
                "{quoting} of the refused call functions that Warp's library writes in Python (K029): their text quotes the library's lines, which are in Warp's own file alone; name it with `--library`"
            );
        }
        let wrong = all.wrong;
        anyhow::ensure!(wrong == 0, "{wrong} kernels have a text that differs");
        Ok(())
    }
}

/// Compiles a kernel of a file as it is, with what it imports.
fn compile_file(
    compiler: &mut Compiler,
    options: &Options,
    root: &Path,
    row: &serde_json::Value,
) -> Result<Result<Module, Vec<Finding>>> {
    let file = row["id"].as_str().context("a row without `id`")?;
    let path = root.join(file);
    let source = std::fs::read_to_string(&path)
        .with_context(|| format!("cannot read `{}`", path.display()))?;
    let options = Options {
        kernel: row["kernel"].as_str().map(str::to_owned),
        file: file.to_owned(),
        ..options.clone()
    };
    let folder = Folder::of(&path, Some(root));
    Ok(compiler.compile_in(&source, &options, Some(&folder.place())))
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
