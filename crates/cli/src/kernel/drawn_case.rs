//! A case that nobody wrote: what `warpsmith new` writes for a kernel of a Python file, from its signature.

use std::path::Path;

use anyhow::{Result, bail};
use warpsmith_case::{Case, case_of_warp};
use warpsmith_compiler::{Compiler, Options, RUNTIME_LIBRARY};
use warpsmith_console::global::Global;
use warpsmith_console::inputs;
use warpsmith_console::output;
use warpsmith_core::Finding;

use crate::kernel::python_file::{ProjectRoot, PythonFile};

/// Why a kernel has no case.
pub(crate) enum NoCase {
    /// It does not compile.
    Findings(Vec<Finding>),
    /// A case cannot describe one of its parameters.
    Undescribed(String),
}

/// The text of the case for a kernel of `file`, which the case calls `source`.
pub(crate) fn text_of(
    file: &PythonFile,
    options: &Options,
    kernel: &str,
    source: &str,
) -> Result<String, NoCase> {
    let options = Options {
        kernel: Some(kernel.to_owned()),
        ..options.clone()
    };
    let module = file
        .compile(&mut Compiler::new(), &options)
        .map_err(NoCase::Findings)?;
    case_of_warp(source, kernel, &module).map_err(NoCase::Undescribed)
}

/// A kernel with the case that was drawn for it.
pub(crate) struct DrawnCase {
    pub(crate) kernel: String,
    pub(crate) case: Case,
}

/// The cases of a file's kernels, or of one; says that they are guesses, and which kernels have none.
pub(crate) fn draw(global: &Global, path: &Path, kernel: Option<&str>) -> Result<Vec<DrawnCase>> {
    inputs::check_file(path)?;
    let shown = path.display();
    let file = PythonFile::read(path, &ProjectRoot::default())?;
    let options = Options {
        file: file.shown().to_owned(),
        library: Some(RUNTIME_LIBRARY.into()),
        ..Options::default()
    };
    let refused = |findings: Vec<Finding>| {
        let lines: String = findings
            .iter()
            .map(|finding| file.render(finding))
            .collect();
        anyhow::anyhow!("`{shown}` does not compile\n{}", lines.trim_end())
    };
    let mut names = file.kernels(&options).map_err(refused)?;
    if let Some(kernel) = kernel {
        if !names.iter().any(|name| name == kernel) {
            bail!(
                "`{shown}` has no kernel `{kernel}`; it has {}",
                names.join(", ")
            );
        }
        names.retain(|name| name == kernel);
    }
    if names.is_empty() {
        bail!("`{shown}` has no kernel (`@wp.kernel`)");
    }
    let source = path.file_name().unwrap_or_default().to_string_lossy();
    let mut drawn = Vec::new();
    for kernel in names {
        let problem = match text_of(&file, &options, &kernel, &source) {
            Ok(text) => {
                let case = Case::parse(path, &text)?;
                drawn.push(DrawnCase { kernel, case });
                continue;
            }
            Err(NoCase::Findings(findings)) => refused(findings).to_string(),
            Err(NoCase::Undescribed(problem)) => problem,
        };
        output::note(global, &format!("`{kernel}` is left out: {problem}"));
    }
    if drawn.is_empty() {
        bail!("no kernel of `{shown}` can be run by itself; the lines above say why");
    }
    output::note(
        global,
        &format!(
            "sizes and arguments of `{shown}` are guesses; `warpsmith new {shown}` writes them into a case \
             that you can change"
        ),
    );
    Ok(drawn)
}
