//! One readable file per language feature, in `tests/kernels`. Comments at the top say what is expected:
//!
//! - `# emit: TEXT`: a line of the CUDA text, stripped, is TEXT;
//! - `# error: CODE line N`: the kernel is refused with this code at this line.

use std::fs;
use std::path::{Path, PathBuf};

use libtest_mimic::{Failed, Trial};
use warpsmith_compiler::{Options, compile, emit_cuda, ir};

pub(crate) fn trials() -> Vec<Trial> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/kernels");
    let mut files: Vec<PathBuf> = fs::read_dir(folder)
        .into_iter()
        .flatten()
        .filter_map(|entry| entry.ok().map(|entry| entry.path()))
        .filter(|path| path.extension().is_some_and(|ending| ending == "py"))
        .collect();
    files.sort();
    files
        .into_iter()
        .map(|path| {
            let name = path
                .file_stem()
                .unwrap_or_default()
                .to_string_lossy()
                .into_owned();
            Trial::test(name, move || check(&path))
        })
        .collect()
}

fn check(path: &Path) -> Result<(), Failed> {
    let source = fs::read_to_string(path)?;
    let directives = |word: &str| -> Vec<String> {
        let prefix = format!("# {word}: ");
        source
            .lines()
            .filter_map(|line| line.strip_prefix(&prefix))
            .map(str::to_owned)
            .collect()
    };
    let (emits, errors) = (directives("emit"), directives("error"));
    // `kernel_runs.rs` checks what these say.
    let runs = ["run", "finding", "prints"]
        .iter()
        .any(|word| !directives(word).is_empty());
    if emits.is_empty() && errors.is_empty() && !runs {
        return Err("the file expects nothing".into());
    }
    match compile(&source, &Options::default()) {
        Ok(module) => {
            if !errors.is_empty() {
                return Err("the kernel is accepted".into());
            }
            if let Some(violation) = ir::verify(&module).first() {
                return Err(violation.to_string().into());
            }
            let text = emit_cuda(&module);
            for expected in emits {
                if !text.lines().any(|line| line.trim() == expected) {
                    return Err(format!("no line is `{expected}` in\n{text}").into());
                }
            }
        }
        Err(findings) => {
            let seen: Vec<String> = findings
                .iter()
                .map(|finding| {
                    let line = finding.span.as_ref().map_or(0, |span| span.line);
                    format!("{} line {line}", finding.code)
                })
                .collect();
            if seen != errors {
                let shown: Vec<String> = findings
                    .iter()
                    .map(|f| warpsmith_compiler::render(f, &source))
                    .collect();
                return Err(format!("expected {errors:?}, found\n{}", shown.join("\n")).into());
            }
        }
    }
    Ok(())
}
