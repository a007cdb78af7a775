//! `warpsmith completions SHELL`: what a shell needs to complete our command lines.

use std::io::{Write, stdout};

use anyhow::Result;
use clap::{Args, Command};
use clap_complete::Shell;

use warpsmith_console::exit::Outcome;

/// Print a completion script for a shell.
#[derive(Args)]
#[command(
    after_long_help = "Examples:\n  warpsmith completions bash > ~/.local/share/bash-completion/completions/warpsmith\n  \
                  warpsmith completions zsh > ~/.zfunc/_warpsmith\n  \
                  warpsmith completions fish > ~/.config/fish/completions/warpsmith.fish"
)]
pub(crate) struct Completions {
    /// The shell.
    shell: Shell,
}

impl Completions {
    pub(crate) fn run(&self, mut program: Command) -> Result<Outcome> {
        let mut script = Vec::new();
        clap_complete::generate(self.shell, &mut program, "warpsmith", &mut script);
        stdout().lock().write_all(&script)?;
        Ok(Outcome::Fine)
    }
}
