//! The program: arguments → settings → one call → report → exit code.

use std::process::ExitCode;

mod arguments;
mod commands;
mod exit;

fn main() -> ExitCode {
    exit::run(arguments::parse())
}
