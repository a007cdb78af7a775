//! The program as a library: arguments → settings → one call → report → exit code.
//!
//! `main` of the executable is one caller of [`run`]; a process of another kind may be one too, and
//! says so in its [`Host`].

use std::ffi::OsString;
use std::io::{ErrorKind, Write, stderr, stdout};
use std::process::ExitCode;
use std::sync::Once;

use clap::FromArgMatches;

mod arguments;
mod codes;
mod configuration;
mod help;
mod kernel;
mod machine;
mod project;
mod setup;

pub use warpsmith_console::host::Host;

use arguments::Arguments;
use warpsmith_console::exit::{self, Outcome};

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
    warpsmith_case::offer_workloads(warpsmith_console::catalogue::workloads);
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
    // Scripts ask for it before anything else; the tree of all commands would be built for nothing.
    if words == ["--version"] || words == ["-V"] {
        let written = writeln!(stdout(), "warpsmith {}", env!("CARGO_PKG_VERSION"));
        return exit::code(written.map(|()| Outcome::Fine).map_err(Into::into));
    }
    if words.is_empty() {
        let written = stdout().write_all(help::first_steps().as_bytes());
        return exit::code(written.map(|()| Outcome::Fine).map_err(Into::into));
    }
    let readable = words.iter().map(|word| word.to_string_lossy().into_owned());
    let readable: Vec<String> = readable.collect();
    let in_force = configuration::read();
    let (color, defaults) = match &in_force {
        Ok(in_force) => (in_force.set("color"), in_force.settings.as_slice()),
        Err(_) => (None, [].as_slice()),
    };
    let color = help::color_of(&readable, color.map(|setting| setting.value.as_str()));
    let program = configuration::with_defaults(help::program().color(color), defaults);
    let parsed = program.clone().try_get_matches_from(command_line);
    let parsed = parsed.and_then(|matches| Ok((Arguments::from_arg_matches(&matches)?, matches)));
    match parsed {
        // Help and mistakes in the command line come first: they need no configuration.
        Ok((mut arguments, matches)) => {
            let in_force = match in_force {
                Ok(in_force) => configuration::with_command_line(in_force, &matches),
                Err(error) => return exit::code(Err(error.into())),
            };
            configuration::take_effect(&in_force);
            arguments.global.host = host;
            arguments.global.words = words;
            arguments.global.in_force = in_force.settings;
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
