//! Whether a patched source still compiles: asked of the compiler that is here.
//!
//! The text goes through the compiler's standard input, before and after the fix; nothing is linked and
//! nothing is kept. Headers are searched where the project has them. A file that did not compile before,
//! because its headers are elsewhere, proves nothing: its fix stays what somebody must look at.

use std::io::{Read, Write};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use super::Patch;
use super::headers::folders_of_headers;
use crate::project::facts::ProjectFacts;
use crate::project::walk::{self, Kind};

/// A file that takes longer is not compiled.
const FILE_LIMIT: Duration = Duration::from_secs(30);
/// All files of a plan together.
const PLAN_LIMIT: Duration = Duration::from_secs(60);
/// What is read of a compiler's messages.
const MESSAGE_LIMIT: u64 = 64 << 10;
/// Standards to try, as libraries ask for one or the other.
const STANDARDS: [&str; 2] = ["-std=c++17", "-std=c++20"];

/// What a compiler says about a fix.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Compiled {
    /// It compiles as before.
    Yes,
    /// It compiled before, and no more: the first error.
    Broken(String),
    /// Nothing is known: why.
    Unknown(String),
}

/// A compiler and the arguments with which it only checks.
struct Compiler {
    program: PathBuf,
    arguments: Vec<String>,
}

/// Asks about every patched source, in their order. Others are not asked about.
pub(super) fn ask(root: &Path, facts: &ProjectFacts, patches: &[Patch]) -> Vec<Option<Compiled>> {
    use rayon::prelude::*;
    let end = Instant::now() + PLAN_LIMIT;
    let scratch = std::env::temp_dir().join(format!("warpsmith-fix-{}", std::process::id()));
    let answers = patches.par_iter().enumerate().map(|(n, patch)| {
        let kind = walk::kind(&patch.file);
        let before = patch.before.as_deref()?;
        if !matches!(kind, Kind::Cuda | Kind::Cxx) {
            return None;
        }
        let output = scratch.with_extension(n.to_string());
        let folders = folders_of_headers(root, facts, &patch.file, before);
        let answer = match compiler(kind == Kind::Cuda, &folders, &output) {
            Some(compiler) => compare(&compiler, before, &patch.after, end),
            None => Compiled::Unknown("no compiler for it is here".into()),
        };
        // What a compiler may have written; most write nothing.
        let _ = std::fs::remove_file(&output);
        Some(answer)
    });
    answers.collect()
}

/// The compiler of CUDA or of C++ that this machine has.
fn compiler(cuda: bool, headers: &[PathBuf], output: &Path) -> Option<Compiler> {
    let toolkit = std::env::var_os("CUDA_HOME").map(PathBuf::from);
    let toolkits = toolkit
        .into_iter()
        .chain([PathBuf::from("/usr/local/cuda")]);
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders: Vec<PathBuf> = std::env::split_paths(&path).collect();
    let find = |name: &str| folders.iter().map(|f| f.join(name)).find(|p| p.is_file());
    let text = |path: &Path| path.to_string_lossy().into_owned();
    let mut arguments: Vec<String> = headers
        .iter()
        .flat_map(|folder| ["-I".to_owned(), text(folder)])
        .collect();
    let mut with = |program: PathBuf, own: &[&str]| {
        arguments.extend(own.iter().map(|&one| one.to_owned()));
        let arguments = std::mem::take(&mut arguments);
        Some(Compiler { program, arguments })
    };
    if !cuda {
        let program = find("c++")
            .or_else(|| find("g++"))
            .or_else(|| find("clang++"))?;
        return with(program, &["-fsyntax-only", "-w", "-x", "c++", "-"]);
    }
    let nvcc = toolkits.map(|t| t.join("bin/nvcc")).find(|p| p.is_file());
    if let Some(nvcc) = nvcc.or_else(|| find("nvcc")) {
        return with(nvcc, &["-cuda", "-w", "-o", &text(output), "-x", "cu", "-"]);
    }
    let host = [
        "-fsyntax-only",
        "-w",
        "--cuda-host-only",
        "-nocudalib",
        "-x",
        "cuda",
        "-",
    ];
    with(find("clang++")?, &host)
}

fn compare(compiler: &Compiler, before: &str, after: &str, end: Instant) -> Compiled {
    let mut why = "its time is up".to_owned();
    for standard in STANDARDS {
        match check(compiler, standard, before, end) {
            Ok(()) => {
                return match check(compiler, standard, after, end) {
                    Ok(()) => Compiled::Yes,
                    Err(Some(error)) => Compiled::Broken(error),
                    Err(None) => Compiled::Unknown(why),
                };
            }
            Err(Some(error)) => why = format!("it did not compile before: {error}"),
            Err(None) => break,
        }
    }
    Compiled::Unknown(why)
}

/// Whether a text compiles; otherwise the first error, or none where there was no time.
fn check(
    compiler: &Compiler,
    standard: &str,
    text: &str,
    end: Instant,
) -> Result<(), Option<String>> {
    let limit = end.min(Instant::now() + FILE_LIMIT);
    let started = Command::new(&compiler.program)
        .args(&compiler.arguments)
        .arg(standard)
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .process_group(0)
        .spawn();
    let mut child = started.map_err(|error| Some(error.to_string()))?;
    // The pipes have their own threads: a compiler that fills one would never end.
    let (input, text) = (child.stdin.take(), text.to_owned());
    std::thread::spawn(move || input.map(|mut pipe| pipe.write_all(text.as_bytes())));
    let messages = child.stderr.take();
    let reader = std::thread::spawn(move || {
        let mut said = Vec::new();
        if let Some(mut pipe) = messages {
            let _ = pipe.by_ref().take(MESSAGE_LIMIT).read_to_end(&mut said);
            let _ = std::io::copy(&mut pipe, &mut std::io::sink());
        }
        said
    });
    let status = loop {
        match child.try_wait() {
            Ok(Some(status)) => break status,
            Ok(None) if Instant::now() < limit => std::thread::sleep(Duration::from_millis(10)),
            _ => {
                // The whole group: nvcc starts others, and they would go on.
                let group = format!("-{}", child.id());
                let _ = Command::new("kill").args(["-KILL", "--", &group]).status();
                let _ = child.kill();
                let _ = child.wait();
                return Err(None);
            }
        }
    };
    if status.success() {
        return Ok(());
    }
    let said = reader.join().unwrap_or_default();
    let said = String::from_utf8_lossy(&said);
    let error = said.lines().find(|line| line.contains("error"));
    let text = error.map_or_else(|| status.to_string(), |line| line.trim().to_owned());
    Err(Some(text.chars().take(200).collect()))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A program that fails where the text has the word `broken`, and hangs where it has `endless`.
    fn judge() -> Compiler {
        let script = "text=$(cat); case $text in *endless*) exec sleep 600;; \
                      *broken*) echo 'a.cu:1: error: it is broken' >&2; exit 1;; esac";
        Compiler {
            program: "/bin/sh".into(),
            arguments: vec!["-c".into(), script.into()],
        }
    }

    fn answer(before: &str, after: &str) -> Compiled {
        let soon = Instant::now() + Duration::from_secs(5);
        compare(&judge(), before, after, soon)
    }

    #[test]
    fn a_fix_is_broken_only_where_the_file_compiled_before() {
        assert_eq!(answer("fine", "better"), Compiled::Yes);
        let error = "a.cu:1: error: it is broken";
        assert_eq!(answer("fine", "broken"), Compiled::Broken(error.into()));
        let unknown = answer("broken", "broken");
        assert!(matches!(unknown, Compiled::Unknown(why) if why.contains("before")));
    }

    #[test]
    fn a_compiler_that_does_not_end_is_stopped() {
        let began = Instant::now();
        let unknown = compare(
            &judge(),
            "endless",
            "fine",
            began + Duration::from_millis(200),
        );
        assert!(matches!(unknown, Compiled::Unknown(why) if why.contains("time")));
    }
}
