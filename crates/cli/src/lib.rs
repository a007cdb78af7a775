//! The program as a library: arguments → settings → one call → report → exit code.
//!
//! `main` of the executable is one caller of [`run`]; a process of another kind may be one too, and
//! says so in its [`Host`].

use std::ffi::OsString;
use std::io::{ErrorKind, Write, stdout};
use std::process::ExitCode;
use std::sync::Once;

use clap::Parser;

mod apps;
mod arguments;
mod background_calibration;
mod catalogue;
mod codes;
mod exit;
mod global;
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
    let words = command_line.iter().skip(1).cloned().collect();
    let code = match Arguments::try_parse_from(command_line) {
        Ok(mut arguments) => {
            arguments.global.host = host;
            arguments.global.words = words;
            exit::code(arguments.command.run(&arguments.global))
        }
        Err(answer) => {
            // Nothing can be done about a stream that is closed.
            let _ = answer.print();
            u8::try_from(answer.exit_code()).unwrap_or(2)
        }
    };
    // A caller that is no `main` goes on, and what is buffered would wait for the next call.
    match stdout().flush() {
        Err(error) if code == 0 && error.kind() != ErrorKind::BrokenPipe => {
            exit::code(Err(error.into()))
        }
        _ => code,
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
