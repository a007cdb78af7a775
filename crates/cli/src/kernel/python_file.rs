//! A Python file as it is: its own text, and the project whose modules it imports.

use std::io::{Write, stderr};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
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
        let text = std::fs::read_to_string(path)
            .with_context(|| format!("cannot read `{}`", path.display()))?;
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
