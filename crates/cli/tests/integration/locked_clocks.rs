//! GPU clocks that `--lock-clocks` locked are free again however the program ends, and the memory
//! of a watched tree on GPUs; both on the fake driver.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

fn on_fake_driver(folder: &Path, scenario: &str) -> Command {
    let program = std::env::current_exe().expect("a test program has a path");
    let library = program.with_file_name("libwarpsmith_fake_nvml.so");
    let path = folder.join("scenario.json");
    fs::write(&path, scenario).expect("written");
    let mut command = Command::new(env!("CARGO_BIN_EXE_warpsmith"));
    command
        .env("WARPSMITH_NVML_LIBRARY", library)
        .env("FAKE_NVML_SCENARIO", path)
        .env("FAKE_NVML_JOURNAL", journal_of(folder))
        .current_dir(folder);
    command
}

fn journal_of(folder: &Path) -> PathBuf {
    folder.join("journal")
}

/// Waits until the journal has this many lines; what it has.
fn journal(folder: &Path, lines: usize) -> Vec<String> {
    let begun = Instant::now();
    loop {
        let text = fs::read_to_string(journal_of(folder)).unwrap_or_default();
        let found: Vec<String> = text.lines().map(str::to_owned).collect();
        // Long, because a busy machine may take its time; a test that passes does not wait for it.
        if found.len() >= lines || begun.elapsed() > Duration::from_secs(60) {
            return found;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
}

fn signal(child: &Child, name: &str) {
    let sent = Command::new("kill")
        .args([name, &child.id().to_string()])
        .status()
        .expect("kill runs");
    assert!(sent.success());
}

#[test]
fn clocks_are_free_after_a_run_that_ends() {
    let folder = tempfile::tempdir().expect("a folder");
    let output = on_fake_driver(folder.path(), "{}")
        .args(["run", "--lock-clocks", "1500", "--runs", "2", "--", "true"])
        .output()
        .expect("it runs");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    assert!(said.contains("locked at 1500 MHz"), "{said}");
    assert_eq!(journal(folder.path(), 2), ["lock 0 1500 1500", "unlock 0"]);
}

#[test]
fn clocks_are_free_after_signals_and_after_a_command_that_dies() {
    for name in ["-INT", "-TERM", "-KILL"] {
        let folder = tempfile::tempdir().expect("a folder");
        let mut child = on_fake_driver(folder.path(), "{}")
            .args(["run", "--lock-clocks=1500", "--", "sleep", "1000"])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("it starts");
        assert_eq!(journal(folder.path(), 1), ["lock 0 1500 1500"]);
        signal(&child, name);
        child.wait().expect("it ends");
        let seen = journal(folder.path(), 2);
        assert_eq!(seen, ["lock 0 1500 1500", "unlock 0"], "{name}");
    }
    let folder = tempfile::tempdir().expect("a folder");
    let output = on_fake_driver(folder.path(), "{}")
        .args(["run", "--lock-clocks=1500", "--", "sh", "-c", "kill -9 $$"])
        .output()
        .expect("it runs");
    assert_eq!(output.status.code(), Some(2));
    assert_eq!(journal(folder.path(), 2).len(), 2);
}

#[test]
fn a_driver_that_does_not_permit_it_is_told_and_nothing_runs() {
    let folder = tempfile::tempdir().expect("a folder");
    let denied = r#"{"faults": [{"call": "nvmlDeviceSetGpuLockedClocks", "code": 4}]}"#;
    let output = on_fake_driver(folder.path(), denied)
        .args(["run", "--lock-clocks", "--", "touch", "ran"])
        .output()
        .expect("it runs");
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.contains("does not permit"), "{said}");
    assert!(!folder.path().join("ran").exists());
    let output = on_fake_driver(folder.path(), "{}")
        .args(["run", "--lock-clocks", "9000", "--", "touch", "ran"])
        .output()
        .expect("it runs");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("no clock of 9000 MHz"), "{said}");
    assert!(!folder.path().join("ran").exists());
}

#[test]
fn memory_of_a_tree_on_gpus_is_judged_beside_the_hosts() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut watched = Command::new("sleep").arg("1000").spawn().expect("sleep");
    let scenario = format!(
        r#"{{"gpus": [{{"processes": [{{"pid": {}, "memory_mb": 700}}, {{"pid": 1, "memory_mb": 9000}}]}}]}}"#,
        watched.id()
    );
    let output = on_fake_driver(folder.path(), &scenario)
        .args(["leak", "--pid", &watched.id().to_string(), "--steps", "80"])
        .args(["--interval", "0.005", "--format", "json"])
        .output()
        .expect("it runs");
    watched.kill().expect("ended");
    watched.wait().expect("ended");
    let report: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let memory = report["body"]["memory"].as_array().expect("series");
    let device = memory.iter().find(|series| series["kind"] == "device");
    let device = device.unwrap_or_else(|| panic!("{report}"));
    assert_eq!(
        device["bytes"][0].as_f64(),
        Some(700.0 * 1048576.0),
        "{device}"
    );
}

/// Runs `touch ran` with locked clocks on a driver whose `call` hangs about the second of two GPUs.
fn while_hanging(call: &str) -> (tempfile::TempDir, std::process::Output) {
    let folder = tempfile::tempdir().expect("a folder");
    let scenario = format!(
        r#"{{"gpus": [{{"count": 2}}], "faults": [{{"gpu": 1, "call": "{call}", "hang_s": 7}}]}}"#
    );
    let output = on_fake_driver(folder.path(), &scenario)
        .args(["run", "--lock-clocks", "1500", "--", "touch", "ran"])
        .output()
        .expect("it ends");
    (folder, output)
}

#[test]
fn a_driver_that_hangs_is_named_nothing_runs_and_no_clock_stays_locked() {
    let calls = [
        "nvmlInit_v2",
        "nvmlDeviceGetCount_v2",
        "nvmlDeviceGetHandleByIndex_v2",
        "nvmlDeviceGetMaxClockInfo",
        "nvmlDeviceSetGpuLockedClocks",
    ];
    let threads = calls.map(|call| std::thread::spawn(move || (call, while_hanging(call))));
    for thread in threads {
        let (call, (folder, output)) = thread.join().expect("no panic");
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{call}: {said}");
        assert!(said.contains("waiting for the driver"), "{call}: {said}");
        assert!(
            said.contains(&format!("{call} does not return")),
            "{call}: {said}"
        );
        assert!(!folder.path().join("ran").exists(), "{call}");
        // The call comes back after two more seconds; by then nobody wants the clocks any more.
        let locks = |lines: &[String]| -> (usize, usize) {
            let count = |word: &str| lines.iter().filter(|line| line.starts_with(word)).count();
            (count("lock"), count("unlock"))
        };
        let expected = match call {
            "nvmlInit_v2" | "nvmlDeviceGetCount_v2" => 0,
            // What hangs before it locks is not locked any more.
            "nvmlDeviceGetHandleByIndex_v2" => 1,
            _ => 2,
        };
        let seen = journal(folder.path(), 2 * expected);
        assert_eq!(locks(&seen), (expected, expected), "{call}: {seen:?}");
    }
}

#[test]
fn a_driver_that_does_not_take_clocks_back_is_told_and_the_run_counts() {
    let folder = tempfile::tempdir().expect("a folder");
    let scenario = r#"{"faults": [{"call": "nvmlDeviceResetGpuLockedClocks", "hang_s": 15}]}"#;
    let output = on_fake_driver(folder.path(), scenario)
        .args(["run", "--lock-clocks", "1500", "--runs", "2", "--", "true"])
        .output()
        .expect("it ends");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    assert!(said.contains("does not take the clocks back"), "{said}");
    // The process that holds them outlives the measurement, and goes on trying.
    assert_eq!(journal(folder.path(), 2), ["lock 0 1500 1500", "unlock 0"]);
}
