//! Where facts about a machine come from: this machine, or a directory that holds another one.

mod directory;
mod real;
mod recording;

use std::collections::BTreeMap;
use std::time::Duration;

pub use directory::DirectoryHost;
pub use real::RealHost;
pub use recording::RecordingHost;
use serde::{Deserialize, Serialize};

/// What `stat` says, as far as rules need it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stat {
    /// `crw-rw-rw-`, as `ls -l` writes it.
    pub mode: String,
    /// Owner.
    pub uid: u32,
    /// Group.
    pub gid: u32,
    /// Size in bytes.
    #[serde(default)]
    pub size: u64,
}

/// What a command printed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CommandOutput {
    /// Exit code.
    pub rc: i32,
    /// Standard output.
    pub stdout: String,
    /// Standard error.
    #[serde(default)]
    pub stderr: String,
}

/// Who runs, and on what.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Session {
    /// Environment variables; only names that matter to GPUs are kept.
    pub env: BTreeMap<String, String>,
    /// Effective user.
    pub euid: u32,
    /// Groups of the user.
    #[serde(default)]
    pub groups: Vec<u32>,
    /// `x86_64`.
    pub arch: String,
    /// `uname -r`.
    pub kernel: String,
}

/// A machine that can be read. All paths are absolute.
pub trait Host: Sync {
    /// A whole file of at most [`READ_LIMIT`] bytes; `None` where it cannot be read.
    fn read(&self, path: &str) -> Option<Vec<u8>>;
    /// Names in a directory, sorted; `None` where it cannot be listed.
    fn list(&self, path: &str) -> Option<Vec<String>>;
    /// What `stat` says, following links.
    fn stat(&self, path: &str) -> Option<Stat>;
    /// Where a symbolic link points.
    fn link(&self, path: &str) -> Option<String>;
    /// Opens a file for reads at offsets.
    fn open(&self, path: &str) -> Option<Box<dyn warpsmith_compatibility::ByteSource + '_>>;
    /// Runs a command; `None` where it does not exist or does not end in time.
    fn run(&self, argv: &[&str], limit: Duration) -> Option<CommandOutput>;
    /// Who runs, and on what.
    fn session(&self) -> &Session;

    /// A file as text.
    fn text(&self, path: &str) -> Option<String> {
        self.read(path)
            .map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
    }
    /// Whether a path exists.
    fn exists(&self, path: &str) -> bool {
        self.stat(path).is_some()
    }
    /// The first directory of `PATH` and the usual places that holds a program.
    fn which(&self, program: &str) -> Option<String> {
        let path = self.session().env.get("PATH").cloned().unwrap_or_default();
        path.split(':')
            .chain(["/usr/local/bin", "/usr/bin", "/bin", "/usr/sbin", "/sbin"])
            .filter(|dir| dir.starts_with('/'))
            .map(|dir| format!("{}/{program}", dir.trim_end_matches('/')))
            .find(|path| self.exists(path))
    }
}

/// Configuration files are small; a larger file is not one.
pub(crate) const READ_LIMIT: u64 = 16 << 20;

/// Names of environment variables that facts keep; everything else may be a secret.
pub(crate) fn keeps(name: &str) -> bool {
    const PREFIXES: [&str; 14] = [
        "CUDA",
        "NV",
        "TORCH",
        "TRITON",
        "XLA",
        "CONDA",
        "VIRTUAL_ENV",
        "PYTHON",
        "NCCL",
        "LD_",
        "PATH",
        "CUPY",
        "NUMBA",
        "JAX",
    ];
    let secret = ["TOKEN", "KEY", "SECRET", "PASSW"]
        .iter()
        .any(|word| name.to_ascii_uppercase().contains(word));
    !secret
        && (PREFIXES.iter().any(|p| name.starts_with(p))
            || matches!(name, "HOME" | "TMPDIR" | "WSL_DISTRO_NAME" | "CC" | "CXX"))
}
