//! Runs a page from top to bottom in a folder of its own.

use std::fs;
use std::path::Path;
use std::process::Command;

use libtest_mimic::Failed;

use super::machine::Machine;
use super::{endless, output};
use crate::session::page::{Block, Step, blocks, files, steady, steps, trim};
use crate::transcripts::copy;

/// Runs the blocks that can be run here; with `WARPSMITH_BLESS` the page shows what they printed.
pub(super) fn run_page(path: &Path, machine: &Machine) -> Result<(), Failed> {
    let page = fs::read_to_string(path)?;
    let folder = tempfile::tempdir()?;
    let home = folder.path().canonicalize()?;
    machine.set_up(&home)?;
    for given in files(&page) {
        let from = Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("../..")
            .join(given);
        copy(
            &from,
            &home.join(from.file_name().ok_or("a file has a name")?),
        )?;
    }
    let bless = std::env::var_os("WARPSMITH_BLESS").is_some();
    let mut blessed = String::new();
    let mut copied = 0;
    for block in blocks(&page) {
        if let Some(file) = block.file() {
            let file = home.join(file);
            fs::create_dir_all(file.parent().ok_or("a file has a folder")?)?;
            fs::write(file, block.text)?;
        }
        if !block.is_console() || machine.lacks(&block).is_some() {
            continue;
        }
        let session = run_block(&block, &home, machine, bless).map_err(|failed| {
            let message = failed.message().unwrap_or_default();
            format!("line {}: {message}", block.line(&page))
        })?;
        blessed.push_str(&page[copied..block.place.start]);
        blessed.push_str(&session);
        copied = block.place.end;
    }
    blessed.push_str(&page[copied..]);
    if bless && blessed != page {
        fs::write(path, blessed)?;
    }
    Ok(())
}

/// Runs a session; what it should show.
fn run_block(
    block: &Block<'_>,
    home: &Path,
    machine: &Machine,
    bless: bool,
) -> Result<String, Failed> {
    let steps = steps(block.text).ok_or("a console block begins with `$ `")?;
    if block.has("endless") {
        endless::run(&steps, machine.shell(block, home)?)?;
        return Ok(block.text.to_owned());
    }
    let mut text = String::new();
    let mut code = 0;
    for (
        number,
        Step {
            command,
            output: shown,
        },
    ) in steps.iter().enumerate()
    {
        let (seen, status) = run(command, code, machine.shell(block, home)?)?;
        let seen = machine.as_shown(&seen, home);
        code = status;
        let asks = steps
            .get(number + 1)
            .is_some_and(|next| next.command == "echo $?");
        if block.has("yours") && matches!(code, 0 | 1) {
            // What is found on a machine is its own matter; that it can be asked is ours.
            text.push_str(&format!("$ {command}\n"));
            continue;
        }
        if code != 0 && !asks {
            let fault =
                format!("$ {command}\nexit code {code}; `$ echo $?` below it shows one\n{seen}");
            return Err(fault.into());
        }
        let mut lines: Vec<&str> = seen.lines().collect();
        trim(&mut lines);
        let measured = block.has("measured");
        let agrees = output::agrees(shown, &lines, measured);
        if !agrees && !bless {
            let shown = shown.join("\n");
            return Err(format!("$ {command}\n--- shown\n{shown}\n--- seen\n{seen}").into());
        }
        if measured {
            lines = steady(&lines);
        }
        text.push_str(&format!("$ {command}\n"));
        for line in if agrees { shown } else { &lines } {
            text.push_str(line.trim_end());
            text.push('\n');
        }
    }
    Ok(text)
}

/// Everything that a command prints, in the order of a terminal, and its exit code.
fn run(command: &str, last: i32, mut shell: Command) -> Result<(String, i32), Failed> {
    let script = format!("exec 2>&1\n(exit {last})\n{command}");
    let output = shell.args(["-c", &script]).output()?;
    let seen = String::from_utf8_lossy(&output.stdout).into_owned();
    Ok((seen, output.status.code().unwrap_or(-1)))
}
