//! The program as a library: arguments → settings → one call → report → exit code.
//!
//! `main` of the executable is one caller of [`run`]; a process of another kind may be one too, and
//! says so in its [`Host`].

use std::ffi::OsString;
use std::io::{ErrorKind, Write, stderr, stdout};
use std::process::ExitCode;
use std::sync::Once;

use clap::FromArgMatches;

mod apps;
mod arguments;
mod background_calibration;
mod catalogue;
mod codes;
mod exit;
mod global;
mod help;
mod host;
mod interruption;
mod kernel;
mod machine;
mod measured;
mod numbers;
mod output;
mod placement;
mod project;
mod setup;
mod table;

pub use host::Host;

use arguments::Arguments;
use exit::Outcome;

/// Machine code that this build carries; empty unless `cargo xtask kernels --cubins` ran before it.
const CUBINS: &[warpsmith_device::EmbeddedCubin] = include!(concat!(env!("OUT_DIR"), "/cubins.rs"));

/// Runs the program with a command line, its own name first, and returns the exit code.
///
/// Results go to stdout, everything else to stderr; help, version and usage errors are printed too.
/// It can be called again: nothing of a call stays but what the driver keeps open, and
/// the signal handlers of verbs that wait for Ctrl-C.
pub fn run(host: Host, command_line: impl IntoIterator<Item = OsString>) -> u8 {
    static CUBINS_EMBEDDED: Once = Once::new();
    CUBINS_EMBEDDED.call_once(|| warpsmith_device::embed_cubins(CUBINS));
    let command_line: Vec<OsString> = command_line.into_iter().collect();
    let code = obey(host, command_line);
    // A caller that is no `main` goes on, and what is buffered would wait for the next call.
    match stdout().flush() {
        Err(error) if code == 0 && error.kind() != ErrorKind::BrokenPipe => {
            exit::code(Err(error.into()))
        }
        _ => code,
    }
}

/// Parses a command line and does what it says.
fn obey(host: Host, command_line: Vec<OsString>) -> u8 {
    let words: Vec<OsString> = command_line.iter().skip(1).cloned().collect();
    if words.is_empty() {
        let written = stdout().write_all(help::first_steps().as_bytes());
        return exit::code(written.map(|()| Outcome::Fine).map_err(Into::into));
    }
    let readable = words.iter().map(|word| word.to_string_lossy().into_owned());
    let readable: Vec<String> = readable.collect();
    let program = help::program().color(help::color_of(&readable));
    let parsed = program.clone().try_get_matches_from(command_line);
    match parsed.and_then(|matches| Arguments::from_arg_matches(&matches)) {
        Ok(mut arguments) => {
            arguments.global.host = host;
            arguments.global.words = words;
            exit::code(arguments.command.run(&arguments.global))
        }
        Err(answer) => {
            // Nothing can be done about a stream that is closed.
            let _ = match help::refusal(&answer, &program, &readable) {
                Some(line) => stderr().write_all(line.as_bytes()),
                None => answer.print(),
            };
            u8::try_from(answer.exit_code()).unwrap_or(2)
        }
    }
}

/// Ends the process with a code that [`run`] returned; for the last line of a `main`.
pub fn end(code: u8) -> ExitCode {
    if warpsmith_device::any_context_given_up() {
        // A kernel still runs: the driver's clean-up at exit would wait for it without end.
        let _ = stdout().flush();
        signal_hook::low_level::exit(code.into());
    }
    ExitCode::from(code)
}
