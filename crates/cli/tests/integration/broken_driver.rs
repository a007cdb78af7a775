//! A driver that is there and broken: an error everywhere, never a silent run on the CPU.

use std::fs;
use std::process::{Command, Output};

fn warpsmith(arguments: &[&str]) -> Output {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("libcuda.so.1"), "not a library").unwrap();
    Command::new(env!("CARGO_BIN_EXE_warpsmith"))
        .args(arguments)
        .env("LD_LIBRARY_PATH", folder.path())
        .output()
        .unwrap()
}

#[test]
fn the_list_of_devices_says_what_is_wrong() {
    let output = warpsmith(&["devices"]);
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert_eq!(output.status.code(), Some(1), "{text}");
    assert!(
        text.contains("error D002: cannot initialise the CUDA driver"),
        "{text}"
    );
    assert!(text.contains("hint:"), "{text}");
}

#[test]
fn a_run_does_not_fall_back_to_the_cpu() {
    let output = warpsmith(&["bench", "machine/saxpy", "--set", "n=10"]);
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(2), "{text}");
    assert!(text.contains("cannot initialise the CUDA driver"), "{text}");
}
