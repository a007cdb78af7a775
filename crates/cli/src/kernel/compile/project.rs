//! `warpsmith compile FOLDER`: every kernel of a project, and why some are refused.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

use anyhow::{Context, Result, bail};
use rayon::prelude::*;
use serde::Serialize;
use warpsmith_compiler::ir::Module;
use warpsmith_compiler::{Compiler, Options, Roots};
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
    /// Files that cannot be read.
    #[serde(skip_serializing_if = "is_zero")]
    files_left_out: usize,
    /// A kernel that a function makes in several ways counts once, as compiled if one of the ways is.
    kernels: usize,
    compiled: usize,
    /// All ways.
    ways: usize,
    ways_compiled: usize,
    /// What `--bind` gives and no file has a use for.
    unused_bindings: Vec<String>,
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
        library: options
            .library
            .text(options.root.folder_named().unwrap_or(folder))?,
        bind: options.root.bindings(),
        ..Options::default()
    };
    let modules = Roots::default();
    let done = AtomicUsize::new(0);
    let read: Vec<Result<Compiled>> = files
        .par_iter()
        .map_init(Compiler::new, |compiler, file| {
            let compiled = compile_file(compiler, &modules, file, options, &settings);
            let done = 1 + done.fetch_add(1, Ordering::Relaxed);
            output::progress(global, &format!("{done} of {} files", files.len()));
            compiled
        })
        .collect();
    output::progress(global, "");
    // One file that cannot be read leaves the others as they are.
    let mut unread = 0;
    let keep = |file: Result<Compiled>| {
        file.map_err(|error| {
            unread += 1;
            output::note(global, &format!("left out: {error:#}"));
        })
        .ok()
    };
    let read: Vec<Compiled> = read.into_iter().filter_map(keep).collect();
    let with_kernels = read.iter().filter(|file| !file.kernels.is_empty());
    let with_kernels = with_kernels.count();
    let mut unused: BTreeSet<String> = settings.bind.iter().map(|bind| bind.name.clone()).collect();
    for file in &read {
        unused.retain(|name| !file.used_bindings.contains(name));
    }
    let kernels: Vec<Kernel> = read.into_iter().flat_map(|file| file.kernels).collect();
    if let Some(out) = out {
        let mut file = OutputFile::create(out)?;
        for kernel in &kernels {
            serde_json::to_writer(&mut file, kernel)?;
            file.write_all(b"\n")
                .with_context(|| format!("cannot write `{}`", out.display()))?;
        }
        file.finish()?;
    }
    let mut summary = summarise(folder, with_kernels, &kernels);
    summary.unused_bindings.extend(unused);
    summary.files_left_out = unread;
    let fine =
        summary.ways_compiled == summary.ways && summary.unused_bindings.is_empty() && unread == 0;
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

/// A file's kernels.
#[derive(Default)]
struct Compiled {
    kernels: Vec<Kernel>,
    used_bindings: Vec<String>,
}

/// Every kernel of a file; none where the file does not name Warp's decorator at all.
fn compile_file(
    compiler: &mut Compiler,
    modules: &Roots,
    path: &Path,
    options: &PythonOptions,
    settings: &Options,
) -> Result<Compiled> {
    let file = PythonFile::read_within(modules, path, &options.root)?;
    if !file.mentions("kernel") {
        return Ok(Compiled::default());
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
    let mut used_bindings = Vec::new();
    match file.compile_each(compiler, &settings, &mut add) {
        Ok(()) => {
            let unused: Vec<String> = compiler.unused_bindings().collect();
            let names = settings.bind.iter().map(|bind| bind.name.clone());
            used_bindings.extend(names.filter(|name| !unused.contains(name)));
        }
        Err(findings) => add("", Err(findings)),
    }
    Ok(Compiled {
        kernels,
        used_bindings,
    })
}

fn is_zero(count: &usize) -> bool {
    *count == 0
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
    // What makes a kernel stands in brackets behind its name.
    let mut by_name: BTreeMap<(&str, &str), bool> = BTreeMap::new();
    for kernel in kernels {
        let name = kernel.kernel.split('[').next().unwrap_or("");
        let compiled = by_name.entry((&kernel.file, name)).or_default();
        *compiled |= kernel.texts.cuda.is_some();
    }
    let ways_compiled = kernels
        .iter()
        .filter(|kernel| kernel.texts.cuda.is_some())
        .count();
    Summary {
        folder: folder.display().to_string(),
        files,
        files_left_out: 0,
        kernels: by_name.len(),
        compiled: by_name.values().filter(|compiled| **compiled).count(),
        ways: kernels.len(),
        ways_compiled,
        unused_bindings: Vec::new(),
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
    if summary.ways > summary.kernels {
        let _ = writeln!(
            text,
            "{} of {} variants made by factories",
            summary.ways_compiled, summary.ways
        );
    }
    for name in &summary.unused_bindings {
        let _ = writeln!(
            text,
            "--bind {name}: no function around a kernel has such a parameter, and no module such a name without a value"
        );
    }
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
