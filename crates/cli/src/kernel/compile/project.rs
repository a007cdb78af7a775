//! `warpsmith compile FOLDER`: every kernel of a project, and why some are refused.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use rayon::prelude::*;
use serde::Serialize;
use warpsmith_compiler::ir::Module;
use warpsmith_compiler::{Compiler, Options};
use warpsmith_core::Finding;
use warpsmith_formats::OutputFile;

use super::python::PythonOptions;
use super::texts::Texts;
use crate::kernel::python_file::PythonFile;
use warpsmith_console::exit::Outcome;
use warpsmith_console::global::Global;
use warpsmith_console::output;

/// Most files of one project, and how deep folders are looked into.
const MAX_FILES: usize = 100_000;
const MAX_DEPTH: usize = 64;

/// What became of one kernel; a line of `--output`.
#[derive(Serialize)]
struct Kernel {
    file: String,
    kernel: String,
    #[serde(flatten)]
    texts: Texts,
}

/// The report's body.
#[derive(Serialize)]
struct Summary {
    folder: String,
    files: usize,
    kernels: usize,
    compiled: usize,
    /// How often each reason refused a kernel, the most frequent first.
    refused: Vec<Reason>,
}

#[derive(Serialize)]
struct Reason {
    code: String,
    message: String,
    kernels: usize,
    /// Where it was met first.
    example: String,
}

/// Compiles a folder on all cores.
pub(super) fn run(
    global: &Global,
    folder: &Path,
    out: Option<&Path>,
    options: &PythonOptions,
) -> Result<Outcome> {
    options.check_many("a folder")?;
    let mut files = Vec::new();
    python_files(folder, 0, &mut files)?;
    files.sort();
    let settings = Options {
        library: options.library.text()?,
        bind: options.root.bindings(),
        ..Options::default()
    };
    let kernels: Vec<Vec<Kernel>> = files
        .par_iter()
        .map_init(Compiler::new, |compiler, file| {
            compile_file(compiler, file, options, &settings)
        })
        .collect::<Result<_>>()?;
    let with_kernels = kernels.iter().filter(|file| !file.is_empty()).count();
    let kernels: Vec<Kernel> = kernels.into_iter().flatten().collect();
    if let Some(out) = out {
        let mut file = OutputFile::create(out)?;
        for kernel in &kernels {
            serde_json::to_writer(&mut file, kernel)?;
            file.write_all(b"\n")
                .with_context(|| format!("cannot write `{}`", out.display()))?;
        }
        file.finish()?;
    }
    let summary = summarise(folder, with_kernels, &kernels);
    let fine = summary.compiled == summary.kernels;
    let report = output::report("compile project", summary);
    output::print(global, &report, describe)?;
    Ok(Outcome::fine_if(fine))
}

/// The Python files below a folder, without hidden folders and links.
fn python_files(folder: &Path, depth: usize, found: &mut Vec<PathBuf>) -> Result<()> {
    let entries = std::fs::read_dir(folder)
        .with_context(|| format!("cannot read the folder `{}`", folder.display()))?;
    for entry in entries {
        let entry = entry?;
        let hidden = entry.file_name().to_string_lossy().starts_with('.');
        let kind = entry.file_type()?;
        let path = entry.path();
        if kind.is_dir() && !hidden && depth < MAX_DEPTH {
            python_files(&path, depth + 1, found)?;
        } else if kind.is_file() && path.extension().is_some_and(|ending| ending == "py") {
            if found.len() >= MAX_FILES {
                bail!(
                    "`{}` has more than {MAX_FILES} Python files; name a folder in it",
                    folder.display()
                );
            }
            found.push(path);
        }
    }
    Ok(())
}

/// Every kernel of a file; none where the file does not name Warp's decorator at all.
fn compile_file(
    compiler: &mut Compiler,
    path: &Path,
    options: &PythonOptions,
    settings: &Options,
) -> Result<Vec<Kernel>> {
    let file = PythonFile::read(path, &options.root)?;
    if !file.mentions("kernel") {
        return Ok(Vec::new());
    }
    let shown = path.display().to_string();
    let settings = Options {
        file: shown.clone(),
        ..settings.clone()
    };
    let mut kernels = Vec::new();
    let mut add = |name: &str, compiled: Result<&Module, Vec<Finding>>| {
        kernels.push(Kernel {
            file: shown.clone(),
            kernel: name.to_owned(),
            texts: Texts::of(compiled),
        });
    };
    if let Err(findings) = file.compile_each(compiler, &settings, &mut add) {
        add("", Err(findings));
    }
    Ok(kernels)
}

fn summarise(folder: &Path, files: usize, kernels: &[Kernel]) -> Summary {
    let mut reasons: BTreeMap<(String, String), (usize, String)> = BTreeMap::new();
    for finding in kernels
        .iter()
        .flat_map(|kernel| kernel.texts.findings.first())
    {
        let key = (finding.code.to_string(), finding.message.clone());
        let example = finding.span.as_ref().map(ToString::to_string);
        let entry = reasons
            .entry(key)
            .or_insert_with(|| (0, example.unwrap_or_default()));
        entry.0 += 1;
    }
    let mut refused: Vec<Reason> = reasons
        .into_iter()
        .map(|((code, message), (kernels, example))| Reason {
            code,
            message,
            kernels,
            example,
        })
        .collect();
    refused.sort_by_key(|reason| std::cmp::Reverse(reason.kernels));
    Summary {
        folder: folder.display().to_string(),
        files,
        kernels: kernels.len(),
        compiled: kernels
            .iter()
            .filter(|kernel| kernel.texts.cuda.is_some())
            .count(),
        refused,
    }
}

fn describe(summary: &Summary) -> String {
    let mut text = format!(
        "{} of {} kernels compiled, in {} {} below {}\n",
        summary.compiled,
        summary.kernels,
        summary.files,
        if summary.files == 1 { "file" } else { "files" },
        summary.folder
    );
    if !summary.refused.is_empty() {
        text.push_str("\nrefused  reason\n");
    }
    for reason in &summary.refused {
        let _ = writeln!(
            text,
            "{:>7}  {} {}  ({})",
            reason.kernels, reason.code, reason.message, reason.example
        );
    }
    text
}
