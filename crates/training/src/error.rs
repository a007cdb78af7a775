//! What can go wrong between a caller's buffers and a result.

/// Why an operation could not be done.
#[derive(Debug, thiserror::Error)]
pub enum TrainingError {
    /// A parameter, or a combination of parameters, has no meaning.
    #[error("{name} = {value} cannot be used: {reason}")]
    Parameter {
        /// The parameter as the documentation spells it.
        name: &'static str,
        /// What it was.
        value: String,
        /// Why not, with the numbers that would do.
        reason: String,
    },
    /// A caller's buffer does not have the size that the plan asks for.
    #[error("{what} holds {found} values, expected {expected}")]
    BufferSize {
        /// Which buffer.
        what: &'static str,
        /// Its length.
        found: usize,
        /// The length that fits.
        expected: usize,
    },
}

impl TrainingError {
    /// A parameter that cannot be used.
    pub(crate) fn parameter(
        name: &'static str,
        value: impl ToString,
        reason: impl Into<String>,
    ) -> Self {
        Self::Parameter {
            name,
            value: value.to_string(),
            reason: reason.into(),
        }
    }

    /// Checks that a caller's buffer has the planned size.
    pub(crate) fn expect_size(
        what: &'static str,
        found: usize,
        expected: usize,
    ) -> Result<(), Self> {
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

/// The result of an operation.
pub type Result<T, E = TrainingError> = std::result::Result<T, E>;
