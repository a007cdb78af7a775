//! How a verb that runs commands ends, once what it measured is printed and saved.

use anyhow::Result;
use warpsmith_console::exit::Outcome;
use warpsmith_console::global::Global;
use warpsmith_console::output;
use warpsmith_measure::command::CommandError;

/// The outcome of what was measured, unless something ended it before its time.
pub(super) fn ended(
    global: &Global,
    outcome: Outcome,
    failure: Option<CommandError>,
) -> Result<Outcome> {
    match failure {
        None => Ok(outcome),
        Some(CommandError::Interrupted) => {
            output::note(global, "interrupted: this is what was measured until then");
            Ok(match outcome {
                Outcome::Fine => Outcome::Undecided,
                outcome => outcome,
            })
        }
        Some(error) => Err(error.into()),
    }
}
