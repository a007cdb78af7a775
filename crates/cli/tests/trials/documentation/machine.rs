//! What this machine has for the sessions of a page, and the shell that they run in.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;

use libtest_mimic::Failed;
use serde_json::Value;

use super::PROGRAM;
use crate::session::page::Block;

/// The machine whose names the pages show; another one's are replaced by them before comparing.
const CPU: &str = "Intel(R) Xeon(R) Processor";
const GPU: &str = "NVIDIA H200";
/// What the pages show in place of the session's folder.
const HOME: &str = "/home/you";

/// Everything that a block can need.
const NEEDS: [&str; 10] = [
    "tests", "gpu", "nvrtc", "numpy", "torch", "dist", "install", "checkout", "long", "endless",
];

/// What is here for sessions to use.
pub(super) struct Machine {
    root: PathBuf,
    /// Where the build puts everything.
    target: PathBuf,
    cpu: String,
    gpu: Option<String>,
    /// The folder of an unpacked NVRTC wheel.
    nvrtc: Option<PathBuf>,
    /// A Python that has NumPy.
    numpy: Option<PathBuf>,
    /// A Python that has PyTorch.
    torch: Option<PathBuf>,
    /// What `cargo xtask dist` made.
    dist: Option<PathBuf>,
    /// Whether there is time for everything.
    full: bool,
    checkout: OnceLock<Result<PathBuf, String>>,
}

impl Machine {
    pub(super) fn look(root: &Path) -> Machine {
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
        // `cargo xtask test` makes these before it runs the tests; PyTorch is among the oracles.
        let nvrtc = target.join("wheels/nvidia-cuda-nvrtc-cu12-12.9.86/nvidia");
        let with = |python: PathBuf, module: &str| imports(&python, module).then_some(python);
        let dist = target.join(concat!("dist-", env!("CARGO_PKG_VERSION")));
        Machine {
            root: root.to_owned(),
            target: target.to_owned(),
            cpu: report["machine"]["cpu"].as_str().unwrap_or(CPU).to_owned(),
            gpu: report["machine"]["gpus"][0].as_str().map(str::to_owned),
            nvrtc: nvrtc.is_dir().then_some(nvrtc),
            numpy: with(target.join("python/bin/python"), "numpy"),
            torch: with(target.join("voice-oracle/bin/python"), "torch"),
            dist: dist.is_dir().then_some(dist),
            full: std::env::var_os("WARPSMITH_FULL").is_some_and(|value| value == "1"),
            checkout: OnceLock::new(),
        }
    }

    /// What a block needs and this machine does not have.
    pub(super) fn lacks(&self, block: &Block<'_>) -> Option<&'static str> {
        let has = |need: &str| match need {
            "gpu" => self.gpu.is_some(),
            "nvrtc" => self.nvrtc.is_some(),
            "numpy" => self.numpy.is_some(),
            "torch" => self.torch.is_some(),
            "dist" => self.full && self.dist.is_some(),
            "install" | "checkout" | "long" | "endless" => self.full,
            _ => false,
        };
        NEEDS.into_iter().find(|need| block.has(need) && !has(need))
    }

    /// The reader's machine: an empty home with what `pip install` has put there.
    pub(super) fn set_up(&self, home: &Path) -> std::io::Result<()> {
        if let Some(nvrtc) = &self.nvrtc {
            let packages = home.join(".local/lib/python3/site-packages");
            fs::create_dir_all(&packages)?;
            std::os::unix::fs::symlink(nvrtc, packages.join("nvidia"))?;
        }
        Ok(())
    }

    /// What was printed, by the names that the pages use.
    pub(super) fn as_shown(&self, text: &str, home: &Path) -> String {
        let text = text
            .replace(&*home.to_string_lossy(), HOME)
            .replace(&self.cpu, CPU);
        match &self.gpu {
            Some(gpu) => text.replace(gpu, GPU),
            None => text,
        }
    }

    /// A shell as the block's reader has it, without its script.
    pub(super) fn shell(&self, block: &Block<'_>, home: &Path) -> Result<Command, Failed> {
        let program = Path::new(PROGRAM);
        let bin = program.parent().ok_or("the program has a folder")?;
        let mut path = vec![bin.to_owned()];
        let old = std::env::var_os("PATH").unwrap_or_default();
        path.extend(std::env::split_paths(&old));
        let mut shell = Command::new("sh");
        shell
            .stdin(Stdio::null())
            .current_dir(home)
            .env("HOME", home)
            .env("COLUMNS", "100")
            .env("WARPSMITH_BACKGROUND", "off");
        for folder in ["CACHE", "CONFIG", "DATA", "STATE"] {
            shell.env_remove(format!("XDG_{folder}_HOME"));
        }
        if !block.has("gpu") {
            shell.env("CUDA_VISIBLE_DEVICES", "");
        }
        if let Some(python) = if block.has("torch") {
            &self.torch
        } else {
            &self.numpy
        } {
            shell.env("WARPSMITH_PYTHON", python);
        }
        if ["install", "checkout", "dist"]
            .iter()
            .any(|word| block.has(word))
        {
            path.insert(0, environment(home)?.join("bin"));
            // What is installed into it is found with it.
            shell.env_remove("WARPSMITH_PYTHON");
        }
        if block.has("checkout") {
            shell.current_dir(self.checkout()?);
            let user = PathBuf::from(std::env::var_os("HOME").ok_or("a user has a home")?);
            for (name, folder) in [("CARGO_HOME", ".cargo"), ("RUSTUP_HOME", ".rustup")] {
                if std::env::var_os(name).is_none() {
                    shell.env(name, user.join(folder));
                }
            }
            shell
                .env("CARGO_INSTALL_ROOT", home.join(".cargo"))
                .env("CARGO_TARGET_DIR", self.target.join("documentation/target"));
        }
        if block.has("dist") {
            let dist = self.dist.as_ref().ok_or("there is a release")?;
            let here = home.join("release");
            if !here.is_dir() {
                crate::transcripts::copy(dist, &here)?;
            }
            shell.current_dir(here);
        }
        shell.env("PATH", std::env::join_paths(path)?);
        Ok(shell)
    }

    /// A copy of the files that a clone would have, as they are now. One for all pages, at one place:
    /// what did not change since the last time is not built again.
    fn checkout(&self) -> Result<&Path, Failed> {
        let copied = self.checkout.get_or_init(|| {
            let copy = self.target.join("documentation/warpsmith");
            if copy.is_dir() {
                fs::remove_dir_all(&copy).map_err(|error| error.to_string())?;
            }
            fs::create_dir_all(&copy).map_err(|error| error.to_string())?;
            let script = "git ls-files -z --cached --others --exclude-standard \
                 | tar --null --ignore-failed-read -T - -cf - | tar -xf - -C \"$0\"";
            let status = Command::new("sh")
                .args(["-c", script])
                .arg(&copy)
                .current_dir(&self.root)
                .status();
            match status {
                Ok(status) if status.success() => Ok(copy),
                _ => Err("cannot copy the checkout".to_owned()),
            }
        });
        Ok(copied.as_ref()?)
    }
}

/// A new environment of Python in the session's home.
fn environment(home: &Path) -> Result<PathBuf, Failed> {
    let environment = home.join(".venv");
    if !environment.is_dir() {
        let made = Command::new("python3")
            .args(["-m", "venv"])
            .arg(&environment)
            .status()?;
        if !made.success() {
            return Err("`python3 -m venv` failed".into());
        }
    }
    Ok(environment)
}

fn imports(python: &Path, module: &str) -> bool {
    Command::new(python)
        .args(["-c", &format!("import {module}")])
        .output()
        .is_ok_and(|output| output.status.success())
}
