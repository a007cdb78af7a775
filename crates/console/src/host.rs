//! The process that the program runs in: its own executable, or another that calls the library.

use std::env;
use std::ffi::OsString;
use std::io;
use std::process::Command;

/// What the program cannot know of the process that calls it. The default is right for the program's
/// own executable.
#[derive(Clone, Debug, Default)]
pub struct Host {
    /// The words that start the program again, without a verb: some verbs work in a second process.
    /// Where there are none, it is this process's executable.
    pub program: Vec<OsString>,
    /// Allocations that the calling thread has made so far, where the process counts them.
    pub allocations: Option<fn() -> u64>,
}

impl Host {
    /// A command that starts the program again; the verb is still to be added.
    pub fn command(&self) -> io::Result<Command> {
        let [program, first_words @ ..] = self.program.as_slice() else {
            return Ok(Command::new(env::current_exe()?));
        };
        let mut command = Command::new(program);
        command.args(first_words);
        Ok(command)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_host_starts_the_program_with_its_own_words() {
        let host = Host {
            program: ["python3", "-m", "warpsmith"].map(OsString::from).into(),
            allocations: None,
        };
        let command = host.command().unwrap();
        assert_eq!(command.get_program(), "python3");
        assert!(command.get_args().eq(["-m", "warpsmith"]));
        let own = Host::default().command().unwrap();
        assert_eq!(own.get_program(), env::current_exe().unwrap());
    }
}
