//! What was measured is not lost: by Ctrl-C, and by a file that cannot be written in the end.

use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::Duration;

fn command(folder: &Path, line: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_warpsmith"));
    command
        .args(line.split_whitespace())
        .current_dir(folder)
        .env("WARPSMITH_STATE_DIR", folder.join(".state"))
        .env("WARPSMITH_BACKGROUND", "off")
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    command
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Runs a line, and interrupts it once it has begun to sample.
fn interrupted(folder: &Path, line: &str) -> Output {
    let child = command(folder, line).spawn().unwrap();
    let process = child.id().to_string();
    std::thread::sleep(Duration::from_secs(6));
    let sent = Command::new("kill").args(["-INT", &process]).status();
    assert!(sent.unwrap().success());
    child.wait_with_output().unwrap()
}

#[test]
fn an_interrupted_bench_tells_what_it_measured() {
    let folder = tempfile::tempdir().unwrap();
    let line =
        "bench machine/saxpy --device cpu --no-check --samples 1000000 --budget 600 --save b.json";
    let output = interrupted(folder.path(), line);
    let (out, err) = (text(&output.stdout), text(&output.stderr));
    assert!(out.contains("machine/saxpy"), "{out}{err}");
    assert!(
        err.contains("interrupted: this is what was measured until then"),
        "{err}"
    );
    assert_eq!(output.status.code(), Some(4), "{err}");
    let saved = std::fs::read_to_string(folder.path().join("b.json")).unwrap();
    assert!(saved.contains("\"interrupted\""), "it says why it ended");
}

#[test]
fn a_file_that_cannot_be_written_loses_no_result() {
    let folder = tempfile::tempdir().unwrap();
    let line = "bench machine/saxpy --device cpu --no-check --samples 3 --save /proc/self/b.json";
    let output = command(folder.path(), line).output().unwrap();
    let (out, err) = (text(&output.stdout), text(&output.stderr));
    assert!(out.contains("machine/saxpy"), "{out}{err}");
    assert!(err.contains("cannot write `/proc/self/b.json`"), "{err}");
    assert!(!output.status.success());
}
