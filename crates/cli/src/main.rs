//! The program: arguments → settings → one call → report → exit code.

use std::process::ExitCode;

mod arguments;
mod catalogue;
mod commands;
mod exit;
mod output;
mod table;

fn main() -> ExitCode {
    exit::run(arguments::parse())
}
