//! The suite of reference texts: made from the warp-lang wheel, cached by version, read row by row.

use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use crate::workspace;

/// The release whose text is the reference.
const VERSION: &str = "1.19.0";

/// The suite that tests and benches read: `$WARPSMITH_CONFORMANCE`, else `target/oracle/conformance-VERSION.jsonl.gz`.
///
/// The cached suite is made if it is missing, which installs Warp in `target/oracle/warp` first. Fails
/// where the wheel is not available.
pub(crate) fn make() -> Result<PathBuf> {
    if let Some(path) = std::env::var_os("WARPSMITH_CONFORMANCE") {
        return Ok(PathBuf::from(path));
    }
    let folder = workspace::target().join("oracle");
    let path = folder.join(format!("conformance-{VERSION}.jsonl.gz"));
    if path.is_file() {
        return Ok(path);
    }
    let python = environment(&folder)?;
    let script = workspace::root().join("crates/compiler/tools/conformance_suite.py");
    let arguments = [script.as_path(), path.as_path()].map(|path| path.display().to_string());
    workspace::run(&python, &[&arguments[0], &arguments[1]])?;
    ensure!(
        path.is_file(),
        "no suite was written to `{}`",
        path.display()
    );
    Ok(path)
}

/// The Python of the environment that has Warp, which is made if it is missing.
fn environment(oracles: &Path) -> Result<String> {
    let environment = oracles.join("warp");
    let folder = environment
        .to_str()
        .context("the checkout's path is not UTF-8")?;
    let python = format!("{folder}/bin/python");
    if library_of(Path::new(&python)).is_none() {
        let package = format!("warp-lang=={VERSION}");
        workspace::run("python3", &["-m", "venv", folder])?;
        let install = ["-m", "pip", "install", "--quiet", &package, "numpy"];
        workspace::run(&python, &install)
            .with_context(|| format!("the suite is made from the wheel of {package}"))?;
    }
    Ok(python)
}

/// Warp's own file of Python functions: in `target/oracle/warp`, or where `python3` finds Warp.
pub(crate) fn installed_library() -> Option<PathBuf> {
    let oracle = workspace::target().join("oracle/warp/bin/python");
    library_of(&oracle).or_else(|| library_of(Path::new("python3")))
}

/// Warp's own file of Python functions, if this Python has the release that is the reference.
fn library_of(python: &Path) -> Option<PathBuf> {
    let program = format!(
        "import importlib.metadata, importlib.util, sys\n\
         if importlib.metadata.version('warp-lang') != '{VERSION}': sys.exit(1)\n\
         print(importlib.util.find_spec('warp').submodule_search_locations[0])\n"
    );
    let output = Command::new(python).args(["-c", &program]).output().ok()?;
    let folder = String::from_utf8(output.stdout).ok()?;
    let path = Path::new(folder.trim()).join("_src/math.py");
    (output.status.success() && path.is_file()).then_some(path)
}

/// The rows of a suite, one at a time.
pub(super) fn rows(path: &Path) -> Result<impl Iterator<Item = Result<Value>> + use<>> {
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
