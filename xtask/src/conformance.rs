//! `cargo xtask conformance`: the compiler's text against the reference text of a suite of kernels.
//!
//! A suite is lines of JSON with `id`, `tier`, `source`, `cuda_module` and `cpu_module`, plain or
//! gzipped. Identity is judged on everything after the module's prologue. A refusal is a valid answer;
//! a wrong byte is not, and makes the command fail.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use anyhow::{Context, Result};
use clap::Args;
use serde_json::Value;
use warpsmith_compiler::{Compiler, Options, Target, emit};

use crate::workspace;

/// The release whose text is the reference.
const ORACLE: &str = "warp-lang==1.19.0";

/// Compares the compiler's text with a suite of reference texts.
#[derive(Args)]
pub(crate) struct Conformance {
    /// The suite; default: `$WARPSMITH_CONFORMANCE`, else the development suite beside the workspace.
    #[arg(long)]
    suite: Option<PathBuf>,
    /// `warp/_src/math.py` of an installed warp-lang 1.19.0, for kernels that call Warp's own Python
    /// functions; default: `$WARPSMITH_WARP_LIBRARY`, else `target/oracle/warp`, else what `python3` has.
    #[arg(long)]
    library: Option<PathBuf>,
    /// Install warp-lang 1.19.0 from PyPI into `target/oracle/warp` first, if it is not there.
    #[arg(long)]
    oracle: bool,
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
    /// The text of Warp's Python functions, where there is one.
    fn library(&self) -> Result<Option<Arc<str>>> {
        let named = self.library.clone();
        let named = named.or_else(|| std::env::var_os("WARPSMITH_WARP_LIBRARY").map(PathBuf::from));
        let Some(path) = named.or_else(installed_library) else {
            return Ok(None);
        };
        let text = std::fs::read_to_string(&path)
            .with_context(|| format!("cannot read the library `{}`", path.display()))?;
        println!("library: {}", path.display());
        Ok(Some(text.into()))
    }

    /// Prints a line per tier; fails if any accepted kernel's text differs.
    pub(crate) fn run(&self) -> Result<()> {
        if self.oracle {
            install_oracle()?;
        }
        let path = self.suite.clone().unwrap_or_else(default_suite);
        if !path.exists() {
            println!("skipped: there is no suite at {}", path.display());
            return Ok(());
        }
        let mut tiers: BTreeMap<(usize, String), Tally> = BTreeMap::new();
        let mut compiler = Compiler::new();
        let options = Options {
            library: self.library()?,
            ..Options::default()
        };
        let mut shown = 0;
        let mut quoting = 0;
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
        if quoting > 0 && options.library.is_none() {
            println!(
                "{quoting} of the refused call functions that Warp's library writes in Python (K029): their text quotes the library's lines, which are in Warp's own file alone; name it with `--library`"
            );
        }
        anyhow::ensure!(wrong == 0, "{wrong} kernels have a text that differs");
        Ok(())
    }
}

/// Installs Warp from PyPI where tests and this command look for it.
fn install_oracle() -> Result<()> {
    let environment = workspace::target().join("oracle/warp");
    let text = environment
        .to_str()
        .context("the checkout's path is not UTF-8")?;
    if installed_library().is_none() {
        workspace::run("python3", &["-m", "venv", text])?;
        let python = format!("{text}/bin/python");
        let install = ["-m", "pip", "install", "--quiet", ORACLE, "numpy"];
        workspace::run(&python, &install)?;
    }
    Ok(())
}

/// Warp's own file of Python functions: in `target/oracle/warp`, or where `python3` finds Warp.
fn installed_library() -> Option<PathBuf> {
    let oracle = workspace::target().join("oracle/warp/bin/python");
    let pythons = [oracle.as_path(), Path::new("python3")];
    pythons.into_iter().find_map(|python| {
        let finds = "import importlib.metadata, importlib.util, sys\n\
                     sys.exit(importlib.metadata.version('warp-lang') != '1.19.0')\n";
        let tells = "import importlib.util\n\
                     print(importlib.util.find_spec('warp').submodule_search_locations[0])";
        let says = |program: &str| Command::new(python).args(["-c", program]).output().ok();
        says(finds).filter(|output| output.status.success())?;
        let output = says(tells)?;
        let folder = String::from_utf8(output.stdout).ok()?;
        let path = Path::new(folder.trim()).join("_src/math.py");
        path.is_file().then_some(path)
    })
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
