//! The compatibility database: which driver, toolkit, GPU and package go together, and how each
//! cell is known. Data in `data/compat.json`, compiled in.

mod lifecycle;
mod lookup;
mod rows;

pub use lifecycle::{DriverBranch, Release, lifecycle};
pub use lookup::Database;
pub use rows::TorchRelease;

/// The database that this program was built with.
pub fn database() -> &'static Database {
    static DATABASE: std::sync::LazyLock<Database> =
        std::sync::LazyLock::new(|| Database::from_json(DATA).unwrap_or_default());
    &DATABASE
}

pub(crate) const DATA: &str = include_str!("../../data/compat.json");
