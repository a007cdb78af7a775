//! A case from the command line, for a kernel that is checked once.
//!
//! The options become the text of a case in a temporary file, so that one reader checks them all.

use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use clap::Args;
use tempfile::TempDir;

/// What a case would say.
#[derive(Args)]
#[command(next_help_heading = "A kernel without a case")]
pub(super) struct OneOff {
    /// The kernel, if the file has several.
    #[arg(long, value_name = "NAME")]
    kernel: Option<String>,
    /// A dimension with its sizes, `rows=64,1000`.
    #[arg(long = "size", value_name = "NAME=N,…")]
    sizes: Vec<String>,
    /// The arguments in their order: `x:in:f32:rows,cols`, `y:out:f32:rows`, `n:i32=rows`, `a:f32=2.5`.
    #[arg(long = "arg", value_name = "ARG")]
    arguments: Vec<String>,
    /// Blocks: expressions of the dimensions, `ceil_div(n,256)` or `cols/32;rows/32`.
    #[arg(long, value_name = "X;Y;Z")]
    grid: Option<String>,
    /// Threads of a block, `256` or `32;8`.
    #[arg(long, value_name = "X;Y;Z")]
    block: Option<String>,
    /// Bytes of dynamic shared memory, an expression.
    #[arg(long, value_name = "BYTES")]
    shared: Option<String>,
    /// The right answer: a Python function, `file.py:function`.
    #[arg(long, value_name = "FILE:FUNCTION")]
    reference: Option<String>,
    /// Pass an option on to NVRTC, e.g. `--flag=-DBLOCK=256`.
    #[arg(long = "flag", value_name = "FLAG", allow_hyphen_values = true)]
    flags: Vec<String>,
}

impl OneOff {
    /// The kernel's name.
    pub(super) fn kernel(&self) -> Option<&str> {
        self.kernel.as_deref()
    }

    /// Whether nothing but its name was said.
    pub(super) fn only_kernel_given(&self) -> bool {
        self.kernel.is_some() && !self.launch_given()
    }

    /// Whether anything about a kernel was said.
    pub(super) fn any_given(&self) -> bool {
        self.kernel.is_some() || self.launch_given()
    }

    fn launch_given(&self) -> bool {
        self.grid.is_some()
            || self.block.is_some()
            || self.reference.is_some()
            || !(self.sizes.is_empty() && self.arguments.is_empty() && self.flags.is_empty())
    }

    /// Writes the case; the folder goes with the result.
    pub(super) fn case(&self, source: &Path) -> Result<(TempDir, PathBuf)> {
        let folder = tempfile::tempdir().context("cannot make a folder for the case")?;
        let stem = source.file_stem().unwrap_or_default().to_string_lossy();
        let path = folder.path().join(format!("{stem}.toml"));
        // A temporary file of ours, no user's.
        fs::write(&path, self.text(source)?)?;
        Ok((folder, path))
    }

    fn text(&self, source: &Path) -> Result<String> {
        let quoted = |text: &str| serde_json::Value::from(text).to_string();
        let absolute = |text: &str| -> Result<String> {
            let path = std::path::absolute(text)?;
            Ok(quoted(&path.display().to_string()))
        };
        let mut text = format!("source = {}\n", absolute(&source.display().to_string())?);
        if let Some(kernel) = &self.kernel {
            writeln!(text, "kernel = {}", quoted(kernel))?;
        }
        if let Some(reference) = &self.reference {
            writeln!(text, "reference = {}", absolute(reference)?)?;
        }
        text.push_str("[sizes]\n");
        for size in &self.sizes {
            let Some((name, values)) = size.split_once('=') else {
                bail!("`--size {size}` is not `name=N,N`");
            };
            let values: Vec<String> = values.split(',').map(quoted).collect();
            writeln!(text, "{name} = [{}]", values.join(", "))?;
        }
        for argument in &self.arguments {
            text.push_str(&one_argument(argument)?);
        }
        let (Some(grid), Some(block)) = (&self.grid, &self.block) else {
            bail!(
                "`{}` needs `--grid` and `--block`, or a case (`warpsmith new`)",
                source.display()
            );
        };
        let list = |parts: &str| parts.split(';').map(quoted).collect::<Vec<_>>().join(", ");
        writeln!(
            text,
            "[launch]\ngrid = [{}]\nblock = [{}]",
            list(grid),
            list(block)
        )?;
        if let Some(shared) = &self.shared {
            writeln!(text, "shared = {}", quoted(shared))?;
        }
        let flags: Vec<String> = self.flags.iter().map(|flag| quoted(flag)).collect();
        writeln!(text, "[compile]\nflags = [{}]", flags.join(", "))?;
        Ok(text)
    }
}

fn one_argument(argument: &str) -> Result<String> {
    const FORMS: &str =
        "write `x:in:f32:rows,cols`, with a fill behind another `:`, or `n:i32=rows`";
    let quoted = |text: &str| serde_json::Value::from(text).to_string();
    if let Some((left, value)) = argument.split_once('=') {
        let Some((name, ty)) = left.split_once(':') else {
            bail!("`--arg {argument}` is no argument: {FORMS}");
        };
        // A number that is no expression is written as one.
        let value = match value.parse::<f64>() {
            Ok(number) => format!("{number:?}"),
            Err(_) => quoted(value),
        };
        let value = if ty.starts_with(['i', 'u']) {
            value.trim_end_matches(".0").to_owned()
        } else {
            value
        };
        return Ok(format!(
            "[[arguments]]\nname = {}\ntype = {}\nvalue = {value}\n",
            quoted(name),
            quoted(ty)
        ));
    }
    let words: Vec<&str> = argument.split(':').collect();
    let [name, direction, ty, shape, fill @ ..] = &words[..] else {
        bail!("`--arg {argument}` is no argument: {FORMS}");
    };
    let shape: Vec<String> = shape.split(',').map(quoted).collect();
    let mut text = format!(
        "[[arguments]]\nname = {}\ndirection = {}\ntype = {}\nshape = [{}]\n",
        quoted(name),
        quoted(direction),
        quoted(ty),
        shape.join(", ")
    );
    if let [fill] = fill {
        text.push_str(&format!("fill = {}\n", quoted(fill)));
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use warpsmith_case::Case;

    use super::*;

    #[test]
    fn a_command_line_is_a_case() {
        let options = OneOff {
            kernel: Some("softmax".into()),
            sizes: vec!["rows=4,64".into(), "cols=1K".into()],
            arguments: [
                "x:in:f32:rows,cols:ones",
                "y:out:f32:rows,cols",
                "n:i32=cols",
                "a:f32=2",
                "k:i32=3",
            ]
            .map(str::to_owned)
            .into(),
            grid: Some("rows".into()),
            block: Some("32;8".into()),
            shared: None,
            reference: Some("reference.py:softmax".into()),
            flags: vec!["-DBLOCK=256".into()],
        };
        let text = options.text(Path::new("softmax.cu")).unwrap();
        let case = Case::parse(Path::new("softmax.toml"), &text)
            .unwrap_or_else(|error| panic!("{error}\n{text}"));
        assert_eq!((case.sizes.listed.len(), case.arguments.len()), (2, 5));
        assert!(case.source.path().is_absolute() && case.reference.is_some());
        let bad = OneOff {
            arguments: vec!["x:f32".into()],
            ..options
        };
        assert!(
            bad.text(Path::new("a.cu"))
                .unwrap_err()
                .to_string()
                .contains("is no argument")
        );
    }
}
