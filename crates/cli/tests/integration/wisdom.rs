//! Measuring a machine for choices: in the background, one at a time, and what kernels teach.

use std::fs::{self, File};
use std::path::Path;
use std::process::{Command, Output};
use std::time::{Duration, Instant};

use serde_json::Value;

/// Runs the program with state of its own.
fn warpsmith(state: &Path, background: &str, arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_warpsmith"))
        .args(arguments)
        .env("WARPSMITH_STATE_DIR", state)
        .env("WARPSMITH_BACKGROUND", background)
        .output()
        .expect("the program runs")
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// What is known, by operation and backend.
fn known(state: &Path) -> Vec<(String, String)> {
    let shown = warpsmith(state, "off", &["wisdom", "show", "--format", "json"]);
    let report: Value = serde_json::from_slice(&shown.stdout).expect("one JSON document");
    let operations = report["body"]["wisdom"]["operations"].as_array();
    let text = |value: &Value| value.as_str().expect("text").to_owned();
    operations
        .into_iter()
        .flatten()
        .map(|one| (text(&one["operation"]), text(&one["backend"])))
        .collect()
}

#[test]
fn a_machine_is_measured_in_the_background_unless_that_is_forbidden() {
    let state = tempfile::tempdir().expect("a folder");
    let calibrate = [
        "wisdom",
        "calibrate",
        "--background",
        "--only",
        "lattice/xor",
    ];
    let refused = warpsmith(state.path(), "off", &calibrate);
    assert_eq!(refused.status.code(), Some(2), "{}", stderr(&refused));
    assert!(stderr(&refused).contains("`WARPSMITH_BACKGROUND=off` forbids"));

    let started = warpsmith(state.path(), "on", &calibrate);
    assert_eq!(started.status.code(), Some(0), "{}", stderr(&started));
    assert!(stderr(&started).contains("`lattice/xor` is being measured in the background"));
    // The caller is back; the wisdom comes when it is ready. A minute is a machine that is stuck.
    let patience = Instant::now() + Duration::from_secs(60);
    while known(state.path()).is_empty() {
        assert!(Instant::now() < patience, "nothing was measured");
        std::thread::sleep(Duration::from_millis(20));
    }
    let measured = known(state.path());
    assert!(
        measured.contains(&("lattice/xor".into(), "cpu".into())),
        "{measured:?}"
    );
    assert!(
        measured
            .iter()
            .all(|(operation, _)| operation == "lattice/xor")
    );
}

#[test]
fn one_process_measures_at_a_time_and_nothing_is_lost() {
    let state = tempfile::tempdir().expect("a folder");
    let quick = |only| {
        let arguments = ["wisdom", "calibrate", "--quick", "--only", only];
        warpsmith(state.path(), "off", &arguments)
    };
    assert_eq!(quick("lattice/xor").status.code(), Some(0));
    let lock = fs::read_dir(state.path().join("wisdom"))
        .expect("a folder")
        .flatten()
        .map(|entry| entry.path())
        .find(|path| {
            path.extension()
                .is_some_and(|extension| extension == "lock")
        })
        .expect("a lock beside the wisdom");
    let held = File::open(lock).expect("it opens");
    held.lock().expect("it is free");
    let second = quick("lattice/bfs");
    assert_eq!(second.status.code(), Some(2));
    assert!(
        stderr(&second).contains("another process is measuring"),
        "{}",
        stderr(&second)
    );
    drop(held);
    assert_eq!(quick("lattice/bfs").status.code(), Some(0));
    let names: Vec<_> = known(state.path())
        .into_iter()
        .map(|(operation, _)| operation)
        .collect();
    assert!(
        ["lattice/bfs", "lattice/xor"]
            .iter()
            .all(|name| names.iter().any(|n| n == name))
    );
}

const KERNEL: &str = "import warp as wp\n\n@wp.kernel\ndef scale(x: wp.array(dtype=wp.float32)):\n    i = wp.tid()\n    x[i] = x[i] * 2.0\n";

#[test]
fn a_kernel_is_placed_by_what_its_runs_taught() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("scale.py");
    fs::write(&file, KERNEL).expect("written");
    let file = file.to_str().expect("text");
    let run = || {
        let dim = "200000";
        let x = "x=ones:200000:f32";
        let arguments = [
            "exec",
            file,
            "--explain",
            "--device",
            "auto",
            "--dim",
            dim,
            "--arg",
            x,
            "--format",
            "json",
        ];
        let output = warpsmith(folder.path(), "off", &arguments);
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        serde_json::from_slice::<Value>(&output.stdout).expect("one JSON document")
    };
    let origin = |report: &Value| report["body"]["decision"]["candidates"][0]["origin"].clone();
    let first = run();
    assert_eq!(first["body"]["decision"]["device"], "cpu");
    assert_eq!(origin(&first), "modelled");
    let second = run();
    assert!(
        origin(&second)["measured"]["unix"].is_u64(),
        "{}",
        origin(&second)
    );
    // Another kernel learned nothing from it.
    fs::write(file, KERNEL.replace("2.0", "3.0")).expect("written");
    assert_eq!(origin(&run()), "modelled");
}
