//! The file of Warp's own Python functions, which the user may name: this program has no copy of it.

use std::path::PathBuf;
use std::sync::Arc;

use anyhow::{Context, Result};
use clap::Args;

/// Names the file for every run.
const VARIABLE: &str = "WARPSMITH_WARP_LIBRARY";

/// Where Warp's own Python functions are.
#[derive(Args, Default)]
pub(crate) struct WarpLibrary {
    /// `warp/_src/math.py` of an installed warp-lang 1.19.0.
    ///
    /// For kernels that call functions which Warp
    /// writes in Python (`wp.transform_compose`, `wp.quat_from_euler`…); default:
    /// `$WARPSMITH_WARP_LIBRARY`.
    #[arg(long, value_name = "FILE")]
    library: Option<PathBuf>,
}

impl WarpLibrary {
    /// The file's text, where one is named.
    pub(crate) fn text(&self) -> Result<Option<Arc<str>>> {
        let named = self.library.clone();
        let Some(path) = named.or_else(|| std::env::var_os(VARIABLE).map(PathBuf::from)) else {
            return Ok(None);
        };
        let text = std::fs::read_to_string(&path)
            .with_context(|| format!("cannot read Warp's library `{}`", path.display()))?;
        Ok(Some(text.into()))
    }
}
