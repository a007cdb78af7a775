//! Arguments that a caller cannot mean: the errors that operations on buffers of numbers share.

use std::error::Error;
use std::fmt::{self, Display};

/// Why an operation cannot begin with what it was given.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ArgumentError {
    /// A parameter, or a combination of parameters, has no meaning.
    Parameter {
        /// The parameter as the documentation spells it.
        name: &'static str,
        /// What it was.
        value: String,
        /// Why not, with the numbers that would do.
        reason: String,
    },
    /// A caller's buffer does not have the size that the plan asks for.
    BufferSize {
        /// Which buffer.
        what: &'static str,
        /// Its length.
        found: usize,
        /// The length that fits.
        expected: usize,
    },
}

impl ArgumentError {
    /// A parameter that cannot be used.
    pub fn parameter(name: &'static str, value: impl ToString, reason: impl Into<String>) -> Self {
        Self::Parameter {
            name,
            value: value.to_string(),
            reason: reason.into(),
        }
    }

    /// Checks that a caller's buffer has the planned size.
    pub fn expect_size(what: &'static str, found: usize, expected: usize) -> Result<(), Self> {
        if found == expected {
            Ok(())
        } else {
            Err(Self::BufferSize {
                what,
                found,
                expected,
            })
        }
    }
}

impl Display for ArgumentError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Parameter {
                name,
                value,
                reason,
            } => write!(f, "{name} = {value} cannot be used: {reason}"),
            Self::BufferSize {
                what,
                found,
                expected,
            } => write!(f, "{what} holds {found} values, expected {expected}"),
        }
    }
}

impl Error for ArgumentError {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_says_what_was_given_and_what_would_do() {
        let hop = ArgumentError::parameter("hop", 0, "frames must move");
        assert_eq!(hop.to_string(), "hop = 0 cannot be used: frames must move");
        let size = ArgumentError::expect_size("the track", 3, 4).unwrap_err();
        assert_eq!(size.to_string(), "the track holds 3 values, expected 4");
        assert_eq!(ArgumentError::expect_size("the track", 4, 4), Ok(()));
    }
}
