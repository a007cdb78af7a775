//! Runs a page from top to bottom in a folder of its own.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use libtest_mimic::Failed;
use serde_json::Value;

use super::{NEEDS, PROGRAM, output};
use crate::session::page::{Block, Step, blocks, files, steady, steps, trim};
use crate::transcripts::copy;

/// The machine whose names the pages show; another one's are replaced by them before comparing.
const CPU: &str = "Intel(R) Xeon(R) Processor";
const GPU: &str = "NVIDIA H200";
/// What the pages show in place of the session's folder.
const HOME: &str = "/home/you";

/// What is here for sessions to use.
pub(super) struct Machine {
    cpu: String,
    gpu: Option<String>,
    /// The folder of an unpacked NVRTC wheel.
    nvrtc: Option<PathBuf>,
    /// A Python that has NumPy.
    numpy: Option<PathBuf>,
}

impl Machine {
    pub(super) fn look() -> Machine {
        let output = Command::new(PROGRAM)
            .args(["devices", "--format", "json", "--quiet"])
            .output();
        let report: Value = output
            .ok()
            .and_then(|output| serde_json::from_slice(&output.stdout).ok())
            .unwrap_or_default();
        let target = Path::new(PROGRAM)
            .ancestors()
            .nth(2)
            .unwrap_or(Path::new("."));
        // `cargo xtask test` makes both before it runs the tests.
        let nvrtc = target.join("wheels/nvidia-cuda-nvrtc-cu12-12.9.86/nvidia");
        let python = target.join("python/bin/python");
        let numpy = Command::new(&python).args(["-c", "import numpy"]).output();
        Machine {
            cpu: report["machine"]["cpu"].as_str().unwrap_or(CPU).to_owned(),
            gpu: report["machine"]["gpus"][0].as_str().map(str::to_owned),
            nvrtc: nvrtc.is_dir().then_some(nvrtc),
            numpy: numpy
                .is_ok_and(|output| output.status.success())
                .then_some(python),
        }
    }

    /// What a block needs and this machine does not have.
    pub(super) fn lacks(&self, block: &Block<'_>) -> Option<&'static str> {
        let has = |need: &str| match need {
            "gpu" => self.gpu.is_some(),
            "nvrtc" => self.nvrtc.is_some(),
            "numpy" => self.numpy.is_some(),
            _ => false,
        };
        NEEDS.into_iter().find(|need| block.has(need) && !has(need))
    }

    /// The reader's machine: an empty home with what `pip install` has put there.
    fn set_up(&self, home: &Path) -> std::io::Result<()> {
        if let Some(nvrtc) = &self.nvrtc {
            let packages = home.join(".local/lib/python3/site-packages");
            fs::create_dir_all(&packages)?;
            std::os::unix::fs::symlink(nvrtc, packages.join("nvidia"))?;
        }
        Ok(())
    }

    /// What was printed, by the names that the pages use.
    fn as_shown(&self, text: &str, home: &Path) -> String {
        let text = text
            .replace(&*home.to_string_lossy(), HOME)
            .replace(&self.cpu, CPU);
        match &self.gpu {
            Some(gpu) => text.replace(gpu, GPU),
            None => text,
        }
    }
}

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
        let (seen, status) = run(command, code, home, machine, block.has("gpu"))?;
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
fn run(
    command: &str,
    last: i32,
    home: &Path,
    machine: &Machine,
    gpu: bool,
) -> Result<(String, i32), Failed> {
    let bin = Path::new(PROGRAM)
        .parent()
        .ok_or("the program has a folder")?;
    let path = std::env::var("PATH").unwrap_or_default();
    let mut shell = Command::new("sh");
    shell
        .arg("-c")
        .arg(format!("exec 2>&1\n(exit {last})\n{command}"))
        .current_dir(home)
        .env("HOME", home)
        .env("COLUMNS", "100")
        .env("WARPSMITH_BACKGROUND", "off")
        .env("PATH", format!("{}:{path}", bin.display()));
    for folder in ["CACHE", "CONFIG", "DATA", "STATE"] {
        shell.env_remove(format!("XDG_{folder}_HOME"));
    }
    if !gpu {
        shell.env("CUDA_VISIBLE_DEVICES", "");
    }
    if let Some(python) = &machine.numpy {
        shell.env("WARPSMITH_PYTHON", python);
    }
    let output = shell.output()?;
    let seen = machine.as_shown(&String::from_utf8_lossy(&output.stdout), home);
    Ok((seen, output.status.code().unwrap_or(-1)))
}
