//! A Python file as it is: its own text, and the project whose modules it imports.

use std::io::{Write, stderr};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use clap::Args;
use warpsmith_compiler::ir::Module;
use warpsmith_compiler::{Binding, Compiler, EachKernel, Folder, Options, Roots, render};
use warpsmith_console::exit::Outcome;
use warpsmith_console::global::{Format, Global};
use warpsmith_console::output;
use warpsmith_core::Finding;

/// Where a file's project is.
#[derive(Args, Clone, Default)]
pub(crate) struct ProjectRoot {
    /// The folder from which the project's modules are imported.
    ///
    /// Modules are read, never run. Default: the first folder above the file that is no package.
    #[arg(long, value_name = "FOLDER", hide_short_help = true)]
    root: Option<PathBuf>,
    /// Call the functions around kernels with this value, e.g. `--bind make.size=16`.
    ///
    /// `PARAMETER=VALUE` for every function with such a parameter, `FUNCTION.PARAMETER=VALUE` for one,
    /// `PARAMETER.ATTRIBUTE=VALUE` for an attribute; `CONSTANT=VALUE` or `MODULE.CONSTANT=VALUE` for what only Python
    /// can work out. VALUE is an expression of Python.
    /// Without a binding a function is read once for each value of parameters annotated `bool` or with an
    /// `IntEnum`, and others have their defaults.
    #[arg(long, value_name = "NAME=VALUE", value_parser = parse_binding, hide_short_help = true)]
    bind: Vec<Binding>,
}

fn parse_binding(text: &str) -> Result<Binding, String> {
    let is_name = |part: &str| {
        !part.starts_with(|c: char| c.is_ascii_digit())
            && !part.is_empty()
            && part.chars().all(|c| c.is_alphanumeric() || c == '_')
    };
    match text.split_once('=') {
        Some((name, value)) if name.split('.').all(is_name) && !value.trim().is_empty() => {
            Ok(Binding {
                name: name.to_owned(),
                value: value.trim().to_owned(),
            })
        }
        _ => Err("expected `NAME=VALUE`, e.g. `make.size=16`".to_owned()),
    }
}

impl ProjectRoot {
    /// What functions around kernels are called with.
    pub(crate) fn bindings(&self) -> Vec<Binding> {
        self.bind.clone()
    }

    /// The folder that the user named.
    pub(crate) fn folder_named(&self) -> Option<&Path> {
        self.root.as_deref()
    }

    /// The modules of a file's project, where other files share them.
    fn folder_within(&self, shared: &Roots, path: &Path) -> Folder {
        Folder::within(shared, path, self.root.as_deref())
    }
}

/// A file that has been read.
pub(crate) struct PythonFile {
    shown: String,
    text: String,
    folder: Folder,
}

impl PythonFile {
    pub(crate) fn read(path: &Path, root: &ProjectRoot) -> Result<Self> {
        Self::read_within(&Roots::default(), path, root)
    }

    /// The same, of one of several files that import modules of one project.
    pub(crate) fn read_within(shared: &Roots, path: &Path, root: &ProjectRoot) -> Result<Self> {
        let bytes =
            std::fs::read(path).with_context(|| format!("cannot read `{}`", path.display()))?;
        let text = decoded(bytes).with_context(|| format!("cannot read `{}`", path.display()))?;
        Ok(Self {
            shown: path.display().to_string(),
            text,
            folder: root.folder_within(shared, path),
        })
    }

    /// The file's own text.
    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// The file's name as it is shown.
    pub(crate) fn shown(&self) -> &str {
        &self.shown
    }

    /// Whether a word stands anywhere in the file.
    pub(crate) fn mentions(&self, word: &str) -> bool {
        self.text.contains(word)
    }

    /// Compiles a kernel of the file.
    pub(crate) fn compile(
        &self,
        compiler: &mut Compiler,
        options: &Options,
    ) -> Result<Module, Vec<Finding>> {
        compiler.compile_in(&self.text, options, Some(&self.folder.place()))
    }

    /// The names of the file's kernels.
    pub(crate) fn kernels(&self, options: &Options) -> Result<Vec<String>, Vec<Finding>> {
        Compiler::new().kernels_in(&self.text, options, Some(&self.folder.place()))
    }

    /// Compiles every kernel of the file.
    pub(crate) fn compile_each(
        &self,
        compiler: &mut Compiler,
        options: &Options,
        done: &mut EachKernel<'_>,
    ) -> Result<(), Vec<Finding>> {
        compiler.compile_each(&self.text, options, Some(&self.folder.place()), done)
    }

    /// Ends an operation whose file or kernel does not compile: says why, with its lines.
    pub(crate) fn refuse(
        &self,
        global: &Global,
        operation: &'static str,
        findings: Vec<Finding>,
    ) -> Result<Outcome> {
        if global.format == Format::Json {
            let mut report = output::report(operation, ());
            report.findings = findings;
            output::print(global, &report, |()| String::new())?;
        } else {
            for finding in &findings {
                write!(stderr(), "{}", self.render(finding))?;
            }
        }
        Ok(Outcome::NotFine)
    }

    /// A finding with its line, which may be a module's that the file imports.
    pub(crate) fn render(&self, finding: &Finding) -> String {
        let other = finding
            .span
            .as_ref()
            .map(|span| span.file.as_str())
            .filter(|file| *file != self.shown);
        match other.and_then(|file| std::fs::read_to_string(file).ok()) {
            Some(text) => render(finding, &text),
            None => render(finding, &self.text),
        }
    }
}

/// A file's text: UTF-8, or what its first two lines call Latin-1, as Python reads it.
fn decoded(bytes: Vec<u8>) -> Result<String> {
    let error = match String::from_utf8(bytes) {
        Ok(text) => return Ok(text),
        Err(error) => error,
    };
    let first = error.as_bytes().split(|byte| *byte == b'\n').take(2);
    let is_latin = first.filter(|line| line.starts_with(b"#")).any(|line| {
        let line = String::from_utf8_lossy(line).to_lowercase();
        let coding = line.split_once("coding").map_or("", |(_, rest)| rest);
        let name = coding.trim_start_matches([':', '=']).trim_start();
        ["latin-1", "latin1", "iso-8859-1", "iso8859-1"]
            .iter()
            .any(|known| {
                name.starts_with(known) && !name[known.len()..].starts_with(char::is_numeric)
            })
    });
    match is_latin {
        true => Ok(error.as_bytes().iter().copied().map(char::from).collect()),
        false => {
            let line = 1 + error.as_bytes()[..error.utf8_error().valid_up_to()]
                .iter()
                .filter(|byte| **byte == b'\n')
                .count();
            bail!("line {line} is not UTF-8, and no `# -*- coding: latin-1 -*-` says what it is")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn python_says_how_its_file_is_coded() {
        let latin = b"#!/usr/bin/python\n# -*- coding: latin-1 -*-\nname = '\xe9'\n";
        assert!(decoded(latin.to_vec()).unwrap().contains("'\u{e9}'"));
        assert_eq!(decoded("é\n".into()).unwrap(), "é\n");
        for other in [
            &b"# a\n# b\n# coding: latin-1\n\xe9"[..],
            b"x = 1\ny = '\xe9'",
            b"# coding=iso-8859-15\n\xe9",
        ] {
            assert!(decoded(other.to_vec()).is_err());
        }
        let error = decoded(b"x = 1\ny = '\xe9'".to_vec()).unwrap_err();
        assert!(error.to_string().starts_with("line 2"), "{error}");
    }
}
