//! `warpsmith record` on the fake driver, killed with `kill -9` at moments that nobody chose.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use warpsmith_telemetry::recording::Recording;
use warpsmith_telemetry::{Clock, Event};

/// Two busy GPUs: power from the driver's ring, processes, counters.
const SCENARIO: &str = r#"{"gpus": [{"count": 2, "busy": 97, "power_w": {"points": [[0, 300], [60, 690]], "noise": 4},
    "processes": [{"pid": 1, "memory_mb": 9000}]}]}"#;

/// Starts a recording, lets it run for this long, kills it and reads what it left: the time between
/// the kill and the last event in the file, or between the start and the kill where there is none.
fn lost_after(folder: &Path, nth: usize, life: Duration) -> Duration {
    let program = std::env::current_exe().expect("a test program has a path");
    let scenario = folder.join("scenario.json");
    let file = folder.join(format!("{nth}.wsrec"));
    let partial = folder.join(format!("{nth}.wsrec.partial"));
    let mut child = Command::new(env!("CARGO_BIN_EXE_warpsmith"))
        .arg("record")
        .arg(&file)
        .env(
            "WARPSMITH_NVML_LIBRARY",
            program.with_file_name("libwarpsmith_fake_nvml.so"),
        )
        .env("FAKE_NVML_SCENARIO", scenario)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("it starts");
    let begun = Instant::now();
    // What is not begun cannot be lost.
    while !partial.exists() {
        assert!(begun.elapsed() < Duration::from_secs(60), "no recording");
        std::thread::sleep(Duration::from_millis(2));
    }
    let begun = Clock::System.now();
    std::thread::sleep(life);
    child.kill().expect("kill -9");
    let killed = Clock::System.now();
    child.wait().expect("it ends");
    assert!(!file.exists(), "complete though it was killed");
    let Ok(recording) = Recording::open(&partial) else {
        // The very first bytes: there is no header yet, and nothing behind it.
        let bytes = std::fs::metadata(&partial).expect("a file").len();
        assert!(
            killed.since(begun) < Duration::from_secs(2) && bytes < 1000,
            "{bytes} bytes after {life:?} cannot be read"
        );
        return killed.since(begun);
    };
    assert!(!recording.is_complete());
    let mut reading = recording.events();
    let events: Vec<Event> = reading
        .by_ref()
        .map(|event| event.expect("every event can be read"))
        .collect();
    assert_eq!(reading.damaged(), 0, "after {life:?}");
    let last = events.iter().map(|event| event.at).max();
    killed.since(last.unwrap_or(begun))
}

/// Kills as many recordings, a few at a time; the losses, least first.
fn losses(count: usize, longest: Duration) -> Vec<Duration> {
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::write(folder.path().join("scenario.json"), SCENARIO).expect("written");
    // Spread over the whole time, and over the phases of every period in it.
    let life = |nth: usize| longest.mul_f64((nth as f64 * 0.618_033_988_75).fract());
    let mut losses = Vec::new();
    for wave in (0..count).collect::<Vec<_>>().chunks(8) {
        std::thread::scope(|scope| {
            let kills: Vec<_> = wave
                .iter()
                .map(|&nth| {
                    scope.spawn({
                        let folder = folder.path();
                        move || lost_after(folder, nth, life(nth))
                    })
                })
                .collect();
            losses.extend(kills.into_iter().map(|kill| kill.join().expect("readable")));
        });
    }
    losses.sort_unstable();
    losses
}

#[test]
fn what_a_killed_recording_left_can_be_read() {
    let losses = losses(8, Duration::from_secs(4));
    assert_eq!(losses.len(), 8);
}

#[test]
#[ignore = "slow: 200 recordings are killed, over two minutes"]
fn two_hundred_killed_recordings_lose_two_seconds_at_most() {
    let losses = losses(200, Duration::from_secs(8));
    let worst = losses[losses.len() - 1];
    println!(
        "200 recordings killed: median loss {:?}, worst {worst:?}",
        losses[losses.len() / 2]
    );
    assert!(worst <= Duration::from_secs(2), "{worst:?}");
}
