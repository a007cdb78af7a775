//! Where pairs go, and what they follow from.

use std::path::PathBuf;

use clap::Args;

/// The options that every verb that makes pairs takes.
#[derive(Args)]
pub(super) struct Origin {
    /// Output folder; created if missing.
    #[arg(short, long, alias = "out", value_name = "DIR")]
    pub(super) output: PathBuf,
    /// What the pairs follow from.
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(super) seed: u64,
}
