//! Whether the texts of a data set are compressed.

use serde::{Deserialize, Serialize};

use crate::by_name::{display_by_name, parse_by_name};

/// How whole texts, and small columns that gain by it, are stored in Parquet files.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Compression {
    /// As they are: seven times the bytes, half the time.
    None,
    /// zstd, at the level that costs least for each byte that it saves.
    #[default]
    Zstd,
}

impl Compression {
    /// All of them.
    pub const ALL: [Self; 2] = [Self::None, Self::Zstd];

    /// The name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Zstd => "zstd",
        }
    }
}

display_by_name!(Compression);

/// A compression that does not exist.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("there is no compression `{0}`; known are {known}", known = Compression::ALL.map(Compression::name).join(", "))]
pub struct UnknownCompression(pub String);

parse_by_name!(Compression, UnknownCompression);
