//! `warpsmith new`: a case from a kernel's own signature.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use clap::Args;
use serde::Serialize;
use warpsmith_case::{case_of_cuda, kernel_signatures, read_cuda_source};
use warpsmith_compiler::Options;
use warpsmith_core::Finding;
use warpsmith_formats::{check_inputs_kept, is_stdout, write_output};

use crate::kernel::drawn_case::{self, NoCase};
use crate::kernel::python_file::{ProjectRoot, PythonFile};
use crate::kernel::warp_library::WarpLibrary;
use warpsmith_console::exit::Outcome;
use warpsmith_console::global::Global;
use warpsmith_console::inputs;
use warpsmith_console::output;

/// Write a case for your own kernel: arguments, sizes, reference.
///
/// The kernel's signature gives names, types and directions. What it cannot tell (shapes, blocks, the
/// reference) is a guess that the file marks with `check`. `verify`, `bench`, `compare` and `tune` read
/// the file.
#[derive(Args)]
#[command(
    after_long_help = "Examples:\n  warpsmith new softmax.cu\n  warpsmith new kernels.cu --kernel transpose -o transpose.toml\n  \
                  warpsmith new saxpy.py -o -   # a Warp-style kernel, the case on standard output"
)]
pub(crate) struct New {
    /// A `.cu` file, or a `.py` file of Warp-style kernels.
    file: PathBuf,
    /// The kernel, if the file has several.
    #[arg(long, value_name = "NAME")]
    kernel: Option<String>,
    /// Where to write the case; `-` is standard output. Default: the kernel file with the ending `.toml`.
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Replace a case that exists.
    #[arg(long)]
    force: bool,
    #[command(flatten)]
    library: WarpLibrary,
}

#[derive(Serialize)]
struct Body {
    case: PathBuf,
    kernel: String,
    /// Lines that the user should look at.
    to_check: usize,
}

impl New {
    pub(crate) fn run(&self, global: &Global) -> Result<Outcome> {
        let default = self.file.with_extension("toml");
        let path = self.output.as_deref().unwrap_or(&default);
        let global = &output::check_outputs(global, &[("--output", Some(path))])?;
        inputs::check_file(&self.file)?;
        check_inputs_kept(&[&self.file], &[("--output", path)])?;
        // The case names the source by its path from the case's own folder.
        let source = relative(&self.file, path);
        let ending = self.file.extension().and_then(|ending| ending.to_str());
        let unreadable = || format!("cannot read `{}`", self.file.display());
        let (kernel, case) = match ending {
            Some("cu" | "cuh") => {
                let text = read_cuda_source(&self.file).with_context(unreadable)?;
                self.cuda(&text, &source)?
            }
            Some("py") => {
                let file = PythonFile::read(&self.file, &ProjectRoot::default())?;
                match self.warp(&file, &source)? {
                    Ok(written) => written,
                    Err(findings) => return file.refuse(global, "new", findings),
                }
            }
            _ => bail!(
                "cannot tell what `{}` is: the ending must be `.cu` or `.py`",
                self.file.display()
            ),
        };
        if !self.force && !is_stdout(path) && path.exists() {
            bail!("`{}` exists; `--force` replaces it", path.display());
        }
        write_output(path, case.as_bytes())?;
        let to_check = case.lines().filter(|line| line.contains("# check")).count();
        let body = Body {
            case: path.to_owned(),
            kernel,
            to_check,
        };
        output::print(global, &output::report("new", body), |body| {
            let place = match is_stdout(&body.case) {
                true => "the case".to_owned(),
                false => body.case.display().to_string(),
            };
            format!(
                "wrote {place} for kernel `{}`; {} lines are marked `check`\n",
                body.kernel, body.to_check
            )
        })?;
        Ok(Outcome::Fine)
    }

    fn cuda(&self, text: &str, source: &str) -> Result<(String, String)> {
        let found = kernel_signatures(text);
        let names: Vec<String> = found.iter().map(|kernel| kernel.path()).collect();
        // Where one kernel has the name, its namespace need not be given.
        let mut called = (found.iter()).filter(|kernel| Some(&kernel.name) == self.kernel.as_ref());
        let name = match (called.next(), called.next()) {
            (Some(only), None) => only.path(),
            _ => self.choose(&names)?,
        };
        let signature = found.iter().find(|kernel| kernel.path() == name);
        let case = signature.map(|kernel| case_of_cuda(source, kernel));
        Ok((name, case.unwrap_or_default()))
    }

    fn warp(
        &self,
        file: &PythonFile,
        source: &str,
    ) -> Result<Result<(String, String), Vec<Finding>>> {
        let options = Options {
            file: file.shown().to_owned(),
            library: self.library.text(&self.file)?,
            ..Options::default()
        };
        let names = match file.kernels(&options) {
            Ok(names) => names,
            Err(findings) => return Ok(Err(findings)),
        };
        let name = self.choose(&names)?;
        match drawn_case::text_of(file, &options, &name, source) {
            Ok(case) => Ok(Ok((name, case))),
            Err(NoCase::Findings(findings)) => Ok(Err(findings)),
            Err(NoCase::Undescribed(problem)) => {
                bail!("cannot write a case for `{name}`: {problem}")
            }
        }
    }

    fn choose(&self, names: &[String]) -> Result<String> {
        let file = self.file.display();
        match (&self.kernel, names) {
            (_, []) => bail!("`{file}` has no kernel (`__global__`, or `@wp.kernel` in Python)"),
            (Some(name), names) if names.contains(name) => Ok(name.clone()),
            (Some(name), names) => {
                bail!(
                    "`{file}` has no kernel `{name}`; it has {}",
                    names.join(", ")
                )
            }
            (None, [name]) => Ok(name.clone()),
            (None, names) => bail!(
                "`{file}` has {} kernels: say which with `--kernel` ({})",
                names.len(),
                names.join(", ")
            ),
        }
    }
}

/// `file` as the folder of `case` sees it, where that is simple: below it, or absolute.
fn relative(file: &Path, case: &Path) -> String {
    let folder = case
        .parent()
        .filter(|_| !is_stdout(case))
        .unwrap_or(Path::new(""));
    let seen = match file.strip_prefix(folder) {
        Ok(rest) => rest.to_owned(),
        Err(_) => fs::canonicalize(file).unwrap_or_else(|_| file.to_owned()),
    };
    seen.display().to_string()
}
