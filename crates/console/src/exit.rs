//! How the program ends: exit codes as an interface, and errors as one readable block.

use std::io::{ErrorKind, Write, stderr};

use anyhow::Result;
use warpsmith_device::DeviceError;
use warpsmith_lattice::LatticeError;
use warpsmith_measure::comparison::evaluation::Verdict;
use warpsmith_workload::WorkloadError;

/// How a command that did its work ended; failures travel as errors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Done, and what was found is fine.
    Fine,
    /// Done, and what was found is not fine.
    NotFine,
    /// Not possible on this machine (no GPU, say); nothing is wrong with the request.
    CannotHere,
    /// Stopped by Ctrl-C; what was there is written.
    Interrupted,
    /// Done, and what was seen does not decide the question.
    Undecided,
}

impl Outcome {
    /// Done; `fine` says how what was found is.
    pub fn fine_if(fine: bool) -> Self {
        if fine { Self::Fine } else { Self::NotFine }
    }

    /// What several verdicts end in: the same as the worst of them, slower before undecided.
    pub fn of_verdicts(verdicts: impl IntoIterator<Item = Verdict>) -> Self {
        verdicts
            .into_iter()
            .fold(Self::Fine, |worst, verdict| match (worst, verdict) {
                (_, Verdict::Slower) | (Self::NotFine, _) => Self::NotFine,
                (_, Verdict::Undecided) => Self::Undecided,
                (worst, Verdict::Same | Verdict::Faster) => worst,
            })
    }
}

/// The exit code of a command that ended like this; says on stderr what went wrong.
pub fn code(result: Result<Outcome>) -> u8 {
    match result {
        Ok(Outcome::Fine) => 0,
        Ok(Outcome::NotFine) => 1,
        Ok(Outcome::CannotHere) => 3,
        Ok(Outcome::Interrupted) => 130,
        Ok(Outcome::Undecided) => 4,
        Err(error) if is_broken_pipe(&error) => 0,
        Err(error) => {
            // Nothing can be done about a standard error that is closed.
            let _ = write!(stderr(), "{}", describe(&error));
            let cannot_here = device_error(&error).is_some_and(DeviceError::is_not_possible_here);
            if cannot_here { 3 } else { 2 }
        }
    }
}

/// `warpsmith … | head` closes our standard output: that is the reader's right, not an error.
fn is_broken_pipe(error: &anyhow::Error) -> bool {
    error.chain().any(|cause| {
        let file = cause
            .downcast_ref::<std::io::Error>()
            .map(std::io::Error::kind);
        // serde_json leaves the I/O error out of its chain.
        let json = cause
            .downcast_ref::<serde_json::Error>()
            .and_then(serde_json::Error::io_error_kind);
        file.or(json) == Some(ErrorKind::BrokenPipe)
    })
}

/// The device layer's error inside, wherever in the chain it is.
pub fn device_error(error: &anyhow::Error) -> Option<&DeviceError> {
    error.chain().find_map(|cause| {
        // Both of these speak with the device error's own words and leave it out of their chain.
        if let Some(WorkloadError::Device(error)) = cause.downcast_ref::<WorkloadError>() {
            return Some(error);
        }
        if let Some(LatticeError::Device(error)) = cause.downcast_ref::<LatticeError>() {
            return Some(error);
        }
        cause.downcast_ref::<DeviceError>()
    })
}

/// The error, its causes one to a line, and what to do about it.
fn describe(error: &anyhow::Error) -> String {
    let mut text = format!("error: {error}\n");
    for cause in error.chain().skip(1) {
        text.push_str(&format!("  caused by: {cause}\n"));
    }
    if let Some(hint) = device_error(error).and_then(DeviceError::hint) {
        text.push_str(&format!("\nhint: {hint}\n"));
    }
    text
}

#[cfg(test)]
mod tests {
    use anyhow::Context;

    use super::*;

    #[test]
    fn verdicts_have_one_set_of_exit_codes() {
        use Verdict::{Faster, Same, Slower, Undecided};
        let of = |verdicts: &[Verdict]| code(Ok(Outcome::of_verdicts(verdicts.to_vec())));
        assert_eq!(of(&[]), 0);
        assert_eq!(of(&[Same, Faster]), 0);
        assert_eq!(of(&[Same, Undecided, Faster]), 4);
        assert_eq!(of(&[Undecided, Slower]), 1);
        assert_eq!(of(&[Slower, Undecided]), 1);
    }

    #[test]
    fn causes_and_the_hint_stand_below_the_error() {
        let missing = WorkloadError::Device(DeviceError::NoSuchDevice { asked: 7, count: 1 });
        let error = Err::<(), _>(missing).context("cannot measure").unwrap_err();
        assert_eq!(
            describe(&error),
            "error: cannot measure\n  caused by: there is no device `cuda:7`: this machine has \
             one, `cuda:0`\n\nhint: `warpsmith devices` lists what is here\n"
        );
    }
}
