//! What can go wrong between a user's atoms and a trajectory.

use std::path::PathBuf;

use warpsmith_device::DeviceError;

/// The result of anything here that can fail.
pub type Result<T, E = MdError> = std::result::Result<T, E>;

/// Why a simulation could not be started or continued.
#[derive(Debug, thiserror::Error)]
pub enum MdError {
    /// A setting, or a combination of settings, has no meaning.
    #[error("{name} = {value} cannot be used: {reason}")]
    Setting {
        /// The setting as the documentation spells it.
        name: &'static str,
        /// What it was.
        value: String,
        /// Why not, with the numbers that would do.
        reason: String,
    },
    /// Two atoms are so close that the forces mean nothing.
    #[error("atoms {first} and {second} are {distance:.4} σ apart, which is less than {limit} σ")]
    Overlap {
        /// One of them, counted from zero.
        first: u32,
        /// The other.
        second: u32,
        /// How far they are apart.
        distance: f64,
        /// The least distance that is accepted.
        limit: f64,
    },
    /// A coordinate or a velocity is not a number.
    #[error("the {what} of atom {atom} is {value}")]
    NotFinite {
        /// `position` or `velocity`.
        what: &'static str,
        /// Which atom, counted from zero.
        atom: usize,
        /// What it is.
        value: f64,
    },
    /// An atom moved further in a few steps than any atom can.
    #[error(
        "the simulation blew up at step {step}: an atom moved {moved:.3} σ since the neighbour list was made"
    )]
    BlowUp {
        /// The step that shows it.
        step: u64,
        /// How far; NaN where a coordinate is none.
        moved: f64,
    },
    /// More neighbours than the device's list has room for.
    #[error(
        "an atom has {found} neighbours within cut-off and skin; the list on the device has room for {room}"
    )]
    CrowdedList {
        /// The most that an atom has.
        found: u32,
        /// What fits.
        room: u32,
    },
    /// A file could not be read or written.
    #[error("cannot {attempted} `{path}`")]
    Io {
        /// `read` or `write`.
        attempted: &'static str,
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// A file is not what its name promises.
    #[error("`{path}` {place}: {problem}")]
    Format {
        /// The file.
        path: PathBuf,
        /// The line or the offset.
        place: String,
        /// What was seen there, and what was expected.
        problem: String,
    },
    /// The device failed.
    #[error(transparent)]
    Device(#[from] DeviceError),
}

impl MdError {
    /// A setting that cannot be used.
    pub(crate) fn setting(
        name: &'static str,
        value: impl ToString,
        reason: impl Into<String>,
    ) -> Self {
        Self::Setting {
            name,
            value: value.to_string(),
            reason: reason.into(),
        }
    }
}
