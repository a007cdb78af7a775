//! The options that say where a computation on a lattice runs.

use clap::Args;

/// What every lattice verb takes about where it runs.
#[derive(Args)]
pub(super) struct Where {
    /// Only forms whose bits equal those of the scalar specification.
    #[arg(long)]
    pub(super) exact: bool,
    /// Print what each device was predicted to take, in parts, and where the numbers come from.
    #[arg(long)]
    pub(super) explain: bool,
}
