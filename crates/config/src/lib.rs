//! The configuration files: `.warpsmith.toml` of a project and `config.toml` of a user.
//!
//! Invariants: a key is the default of an option, under the option's own rules; the command line wins
//! over the environment, that over the project, that over the user; what is misspelt is an error with
//! its line, never silently without effect; a project cannot name programs or folders of the machine.

mod audit;
mod document;
mod error;
mod force;
mod keys;
mod places;
mod quantity;

pub use audit::{Audit, Entry};
pub use document::{Document, Owner};
pub use error::ConfigError;
pub use force::{Configuration, Origin, Setting};
pub use keys::{KEYS, Key, Kind};
pub use places::{PROJECT_FILE, project_file, user_file};
pub use quantity::{percent, time};
