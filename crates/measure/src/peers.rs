//! Other programs on the same problem, as far as a Python interpreter has them.

use std::io;
use std::path::Path;
use std::process::Command;

use serde::Deserialize;

/// One peer on one problem, or what it lacks.
#[derive(Clone, Debug, Deserialize)]
pub struct Peer {
    /// Which.
    pub name: String,
    /// Wall seconds of a step or a call.
    pub seconds: Option<f64>,
    /// CPU seconds of a step or a call.
    pub cpu_seconds: Option<f64>,
    /// Bytes that it holds, where that can be told.
    pub bytes: Option<u64>,
    /// Why it has no figures.
    pub missing: Option<String>,
}

/// Runs a script that prints one JSON line to a peer; other lines are what the peers say themselves.
pub fn time_peers(python: &Path, script: &str, arguments: &[&str]) -> io::Result<Vec<Peer>> {
    let output = Command::new(python)
        .args(["-c", script])
        .args(arguments)
        .output()?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        return Err(io::Error::other(said.trim().to_owned()));
    }
    read(&String::from_utf8_lossy(&output.stdout))
}

fn read(said: &str) -> io::Result<Vec<Peer>> {
    said.lines()
        .filter(|line| line.starts_with('{'))
        .map(|line| serde_json::from_str(line).map_err(io::Error::other))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_and_what_is_missing_are_read_and_chatter_is_not() {
        let said = "a library says hello\n\
            {\"name\": \"a\", \"seconds\": 0.5, \"cpu_seconds\": 0.25, \"bytes\": 7}\n\
            {\"name\": \"b\", \"missing\": \"not installed\"}\n";
        let peers = read(said).unwrap();
        assert_eq!(peers.len(), 2);
        assert_eq!(peers[0].seconds, Some(0.5));
        assert_eq!(peers[0].bytes, Some(7));
        assert_eq!(peers[1].missing.as_deref(), Some("not installed"));
        assert!(read("{\"seconds\": 1}").is_err());
    }
}
