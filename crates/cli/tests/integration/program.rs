//! The program, run in a folder, and what it said.

use std::path::Path;
use std::process::{Command, Output};

use serde_json::Value;

/// Runs the program in `folder`.
pub(crate) fn warpsmith(folder: &Path, arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_warpsmith"))
        .args(arguments)
        .current_dir(folder)
        .output()
        .expect("the program starts")
}

/// Both of its streams.
pub(crate) fn text(output: &Output) -> String {
    format!(
        "{}{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    )
}

/// Its report.
pub(crate) fn json(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{}", text(output)))
}
