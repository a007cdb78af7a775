//! The `warp` level: Warp itself writes the text of a pair, in a Python process of its own.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use serde::Deserialize;

use super::level::Check;
use crate::record::{Record, WARP_VERSION};

/// The program that asks Warp.
const SCRIPT: &str = include_str!("warp_oracle.py");

/// Warp in a Python process.
#[derive(Debug)]
pub struct WarpOracle {
    process: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
}

/// What Warp wrote.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct WarpText {
    /// CUDA C++ after the prologue.
    pub cuda: String,
    /// C++ for the CPU after the prologue.
    pub cpu: String,
    /// The message of the exception, where Warp refused the source.
    pub error: Option<String>,
}

#[derive(Deserialize)]
struct Greeting {
    version: String,
}

impl WarpOracle {
    /// Starts `python`, which must have the Warp release that the compiler reproduces.
    ///
    /// # Errors
    /// What is missing, in words.
    pub fn start(python: &Path) -> Result<Self, String> {
        let cannot =
            |what: String| format!("cannot ask Warp through `{}`: {what}", python.display());
        let mut process = Command::new(python)
            .args(["-c", SCRIPT])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .map_err(|error| cannot(error.to_string()))?;
        let (Some(input), Some(output)) = (process.stdin.take(), process.stdout.take()) else {
            return Err(cannot("it has no streams".to_owned()));
        };
        let mut oracle = Self {
            process,
            input: Some(input),
            output: BufReader::new(output),
        };
        let mut line = String::new();
        // Warp may greet on its own; our first line is the first that is JSON.
        loop {
            line.clear();
            match oracle.output.read_line(&mut line) {
                Ok(0) | Err(_) => {
                    return Err(cannot("it ended; is `warp-lang` installed?".to_owned()));
                }
                Ok(_) => {}
            }
            if let Ok(greeting) = serde_json::from_str::<Greeting>(&line) {
                return match greeting.version == WARP_VERSION {
                    true => Ok(oracle),
                    false => Err(cannot(format!(
                        "it has Warp {}, {WARP_VERSION} is needed",
                        greeting.version
                    ))),
                };
            }
        }
    }

    /// Warp's text for a source.
    ///
    /// # Errors
    /// Where the process is gone or answers nonsense.
    pub fn ask(&mut self, id: &str, source: &str) -> Result<WarpText, String> {
        let row = serde_json::json!({ "id": id, "source": source });
        let input = self.input.as_mut().ok_or("the input is closed")?;
        writeln!(input, "{row}")
            .and_then(|()| input.flush())
            .map_err(|error| format!("Warp's process is gone: {error}"))?;
        let mut line = String::new();
        loop {
            line.clear();
            let read = self.output.read_line(&mut line);
            if !matches!(read, Ok(length) if length > 0) {
                return Err("Warp's process ended".to_owned());
            }
            if line.starts_with('{') {
                return serde_json::from_str(&line).map_err(|error| error.to_string());
            }
        }
    }

    /// Whether Warp writes what a record holds, byte for byte.
    ///
    /// # Errors
    /// Where Warp could not be asked.
    pub fn check(&mut self, record: &Record) -> Result<Check, String> {
        let theirs = self.ask(&record.id(), &record.draft.source)?;
        if let Some(error) = theirs.error {
            let line = error.lines().last().unwrap_or_default().to_owned();
            return Ok(Check::Failed(format!("Warp refuses it: {line}")));
        }
        let parts = [
            ("CUDA", &record.cuda, theirs.cuda),
            ("CPU", &record.cpu, theirs.cpu),
        ];
        for (name, ours, theirs) in parts {
            if let Some(line) = first_difference(ours, &theirs) {
                return Ok(Check::Failed(format!("the {name} text differs: {line}")));
            }
        }
        Ok(Check::Passed)
    }
}

/// The first line that is not the same.
fn first_difference(ours: &str, theirs: &str) -> Option<String> {
    if ours == theirs {
        return None;
    }
    let position = ours.lines().zip(theirs.lines()).position(|(a, b)| a != b);
    Some(match position {
        Some(line) => format!(
            "line {}: `{}` is `{}` in Warp's",
            line + 1,
            ours.lines().nth(line).unwrap_or_default().trim(),
            theirs.lines().nth(line).unwrap_or_default().trim()
        ),
        None => "one is longer".to_owned(),
    })
}

impl Drop for WarpOracle {
    fn drop(&mut self) {
        // Closing its input ends the process.
        self.input = None;
        let _ = self.process.wait();
    }
}
