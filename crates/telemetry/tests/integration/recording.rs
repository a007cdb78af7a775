//! Recordings come back exactly, stay small, and survive every kind of damage with a clear word.

use std::fs;
use std::path::Path;
use std::time::Duration;

use crate::support::sampled;
use crossterm::event::KeyCode;
use proptest::prelude::*;
use warpsmith_telemetry::recording::{Recording, RecordingError, RecordingWriter};
use warpsmith_telemetry::screen::Source;
use warpsmith_telemetry::{Event, Inventory, Micros, Replay};

const LOAD: &str = r#"{"gpus": [{
    "busy": {"points": [[0, 95]], "noise": 5}, "memory_busy": {"points": [[0, 40]], "noise": 9},
    "power_w": {"points": [[0, 76], [5, 690]], "noise": 9},
    "temperature_c": {"points": [[0, 34], [60, 70]]}, "sm_clock_mhz": {"points": [[0, 1500]], "noise": 40},
    "memory_used_mb": {"points": [[0, 100], [30, 60000]]}, "throttle": {"power_cap": 0.9},
    "processes": [{"pid": 4711, "memory_mb": 60000}, {"pid": 5000, "count": 4, "memory_mb": 10}]}]}"#;

fn written(path: &Path, inventory: &Inventory, events: &[Event]) -> u64 {
    let mut writer = RecordingWriter::create(path, inventory).unwrap();
    for event in events {
        writer.push(event.clone()).unwrap();
    }
    writer.finish().unwrap()
}

fn read(path: &Path) -> Result<Vec<Event>, RecordingError> {
    Recording::open(path)?.events().collect()
}

#[test]
fn events_come_back_exactly_and_a_loaded_gpu_takes_less_than_2_kb_a_second() {
    let (inventory, events) = sampled(LOAD, 120);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.wsrec");
    let bytes = written(&path, &inventory, &events);
    let recording = Recording::open(&path).unwrap();
    assert!(recording.is_complete());
    assert_eq!(recording.inventory(), &inventory);
    assert_eq!(read(&path).unwrap(), events);
    assert!(bytes / 120 < 2000, "{} bytes a second", bytes / 120);
    assert_eq!(
        fs::read_dir(folder.path()).unwrap().count(),
        1,
        "nothing is left behind"
    );
}

#[test]
fn a_replay_is_moved_by_keys_and_stays_inside() {
    let (inventory, events) = sampled(LOAD, 60);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.wsrec");
    written(&path, &inventory, &events);
    let recording = Recording::open(&path).unwrap();
    let mut replay = Replay::start(recording, Duration::from_secs(20), 1.0).unwrap();
    let length = replay.length();
    assert!((59..=61).contains(&length.as_secs()), "{length:?}");
    let mut press = |key: KeyCode| Source::Replay(&mut replay).press(key).unwrap();
    assert!(press(KeyCode::Right) && !press(KeyCode::Char('x')) && !press(KeyCode::Up));
    assert!((30..32).contains(&replay.place().as_secs()));
    // What was known at that point is brought up at once, by the player's thread.
    let shown = (0..500).any(|_| {
        std::thread::sleep(Duration::from_millis(10));
        let board = replay.board().now();
        board.gpus[0].state.power_mw.is_some() && board.gpus[0].processes.is_some()
    });
    assert!(shown, "the board is empty after a jump");
    for (key, place) in [
        (KeyCode::Home, 0),
        (KeyCode::PageDown, 6),
        (KeyCode::PageUp, 0),
        (KeyCode::Left, 0),
    ] {
        assert!(Source::Replay(&mut replay).press(key).unwrap());
        assert_eq!(replay.place().as_secs(), place, "{key:?}");
    }
    for _ in 0..20 {
        Source::Replay(&mut replay).press(KeyCode::Right).unwrap();
    }
    assert_eq!(replay.place(), length);
    Source::Replay(&mut replay)
        .press(KeyCode::Char('+'))
        .unwrap();
    assert_eq!(replay.speed(), 2.0);
}

#[test]
fn seeking_gives_what_comes_after() {
    let (inventory, events) = sampled(LOAD, 60);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.wsrec");
    written(&path, &inventory, &events);
    let recording = Recording::open(&path).unwrap();
    let (first, last) = recording.span().unwrap();
    assert_eq!(
        (first, last),
        (
            events[0].at,
            events.iter().map(|event| event.at).max().unwrap()
        )
    );
    let from = first.plus(Duration::from_secs(35));
    let after: Vec<Event> = recording.events_from(from).map(Result::unwrap).collect();
    let expected: Vec<Event> = events
        .iter()
        .filter(|event| event.at >= from)
        .cloned()
        .collect();
    assert_eq!(after, expected);
    assert_eq!(recording.events_from(Micros(u64::MAX)).count(), 0);
}

#[test]
fn a_cut_recording_is_read_to_its_last_whole_block() {
    let (inventory, events) = sampled(LOAD, 60);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.wsrec");
    written(&path, &inventory, &events);
    let bytes = fs::read(&path).unwrap();
    let cut = folder.path().join("cut.wsrec");
    let mut lengths = Vec::new();
    for length in (0..bytes.len()).step_by(97) {
        fs::write(&cut, &bytes[..length]).unwrap();
        match Recording::open(&cut) {
            Ok(recording) => {
                assert!(!recording.is_complete());
                let read: Vec<Event> = recording.events().map(Result::unwrap).collect();
                assert_eq!(read, events[..read.len()]);
                lengths.push(read.len());
            }
            Err(RecordingError::NotARecording { .. } | RecordingError::Damaged { .. }) => {
                assert!(lengths.is_empty(), "a longer piece is refused");
            }
            Err(other) => panic!("{other}"),
        }
    }
    assert!(lengths.windows(2).all(|pair| pair[0] <= pair[1]));
    assert!(
        lengths.last().unwrap() * 10 > events.len() * 8,
        "most of it is still there"
    );
}

#[test]
fn a_running_recording_can_be_read_under_its_partial_name() {
    let (inventory, events) = sampled(LOAD, 60);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.wsrec");
    let mut writer = RecordingWriter::create(&path, &inventory).unwrap();
    for event in &events {
        writer.push(event.clone()).unwrap();
    }
    drop(writer);
    assert!(!path.exists());
    let partial = read(&folder.path().join("run.wsrec.partial")).unwrap();
    assert!(!partial.is_empty() && partial == events[..partial.len()]);
}

#[test]
fn other_files_and_later_versions_are_named_as_such() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x");
    let say = |bytes: &[u8]| {
        fs::write(&path, bytes).unwrap();
        Recording::open(&path).unwrap_err().to_string()
    };
    assert!(say(b"").contains("is not a recording"));
    assert!(say(&[0; 4096]).contains("is not a recording"));
    assert!(say(b"WSGPUREC\x09\x00\x00\x00\x00\x00\x00\x00").contains("format 9"));
    assert!(say(b"WSGPUREC\x01\x00\x00\x00\xff\xff\xff\xff").contains("damaged at byte 12"));
    let missing = Recording::open(Path::new("/nonexistent/x"))
        .unwrap_err()
        .to_string();
    assert!(
        missing.contains("cannot open `/nonexistent/x`"),
        "{missing}"
    );
}

#[test]
fn a_disk_that_is_full_is_an_error_that_names_the_file() {
    let (inventory, _) = sampled("{}", 1);
    let Err(error) = RecordingWriter::create(Path::new("/nonexistent/x.wsrec"), &inventory) else {
        panic!("created in a folder that does not exist");
    };
    assert!(
        error.to_string().contains("/nonexistent/x.wsrec.partial"),
        "{error}"
    );
    if Path::new("/dev/full").exists() {
        // `/dev/full.partial` cannot be made, so the device is reached through a link.
        let folder = tempfile::tempdir().unwrap();
        std::os::unix::fs::symlink("/dev/full", folder.path().join("x.wsrec.partial")).unwrap();
        let Err(error) = RecordingWriter::create(&folder.path().join("x.wsrec"), &inventory) else {
            panic!("written to a full device");
        };
        assert!(error.to_string().contains("cannot write"), "{error}");
    }
}

/// A file with flipped bits gives every block but those that were hit, and counts these.
#[test]
fn flipped_bits_cost_the_blocks_that_they_hit() {
    let (inventory, events) = sampled(LOAD, 40);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.wsrec");
    written(&path, &inventory, &events);
    let bytes = fs::read(&path).unwrap();
    // Which second each event lies in stands for its block.
    let of = |event: &Event| event.at.since(events[0].at).as_secs();
    let seconds: std::collections::BTreeSet<u64> = events.iter().map(of).collect();
    let damaged_path = folder.path().join("damaged.wsrec");
    let mut random = 11u64;
    let mut below = |most: usize| {
        random = random
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (random >> 33) as usize % most
    };
    let (mut files, mut whole, mut possible, mut refused) = (0, 0, 0, 0);
    while files < 1000 {
        let flips = 1 + below(3);
        let mut damaged = bytes.clone();
        for _ in 0..flips {
            let at = below(bytes.len());
            damaged[at] ^= 1 << below(8);
        }
        files += 1;
        possible += seconds.len() - flips;
        fs::write(&damaged_path, &damaged).unwrap();
        let Ok(recording) = Recording::open(&damaged_path) else {
            refused += 1;
            continue;
        };
        let mut reading = recording.events();
        let read: Vec<Event> = reading.by_ref().map(Result::unwrap).collect();
        assert!(
            reading.damaged() <= flips,
            "{} of {flips}",
            reading.damaged()
        );
        if read.len() == events.len() {
            assert_eq!(reading.damaged(), 0);
        }
        let kept: std::collections::BTreeSet<u64> = read.iter().map(of).collect();
        whole += kept.len().min(seconds.len() - flips);
    }
    // A header that is hit says no longer what was recorded: such a file is refused.
    assert!(refused < 50, "{refused} of 1000 refused");
    let share = whole as f64 / possible as f64;
    assert!(share >= 0.95, "{share} of the other blocks");
}

/// Whatever a killed process had handed over a second ago is in its file.
#[test]
fn a_process_that_is_killed_loses_a_second_of_what_it_had() {
    let (inventory, events) = sampled(LOAD, 30);
    let folder = tempfile::tempdir().unwrap();
    for stop in (1..events.len()).step_by(events.len() / 40) {
        let path = folder.path().join(format!("{stop}.wsrec"));
        let mut writer = RecordingWriter::create(&path, &inventory).unwrap();
        for event in &events[..stop] {
            writer.push(event.clone()).unwrap();
        }
        // As after `kill -9`: nothing is finished.
        std::mem::forget(writer);
        let read = read(&folder.path().join(format!("{stop}.wsrec.partial"))).unwrap();
        assert_eq!(read, events[..read.len()]);
        let lost = events[stop - 1]
            .at
            .since(read.last().map_or(events[0].at, |event| event.at));
        assert!(
            lost <= Duration::from_millis(1100),
            "{lost:?} of {stop} events"
        );
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..Default::default() })]

    /// Any single change, and any tail, is read or refused: never a panic, never events that
    /// were not recorded before the damage.
    #[test]
    fn damaged_recordings_are_read_or_refused(
        position in any::<prop::sample::Index>(), bit in 0u8..8,
        tail in prop::collection::vec(any::<u8>(), 0..64)
    ) {
        static SAMPLE: std::sync::OnceLock<(Vec<u8>, Vec<Event>)> = std::sync::OnceLock::new();
        let (bytes, events) = SAMPLE.get_or_init(|| {
            let (inventory, events) = sampled(LOAD, 25);
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("run.wsrec");
            written(&path, &inventory, &events);
            (fs::read(&path).unwrap(), events)
        });
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("damaged.wsrec");
        let mut damaged = bytes.clone();
        damaged[position.index(bytes.len())] ^= 1 << bit;
        damaged.extend_from_slice(&tail);
        fs::write(&path, &damaged).unwrap();
        if let Ok(recording) = Recording::open(&path) {
            let read: Vec<Event> = recording.events().map_while(Result::ok).collect();
            prop_assert!(read.iter().all(|event| events.contains(event)));
        }
    }
}

/// Half a minute (the stencil eight seconds) each on an NVIDIA H200 (driver 580.159.04), made by `verify/h200.py`.
#[test]
fn recordings_of_a_real_gpu_still_open() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/recordings");
    for (load, seconds, least) in [
        ("idle", 20, 300),
        ("matmul", 20, 300),
        ("copy", 20, 300),
        ("stencil", 7, 80),
    ] {
        let recording = Recording::open(&folder.join(format!("h200-{load}.wsrec"))).unwrap();
        assert!(recording.is_complete(), "{load}");
        assert_eq!(recording.inventory().gpus[0].name, "NVIDIA H200");
        let (first, last) = recording.span().unwrap();
        assert!(last.0 - first.0 > seconds * 1_000_000, "{load}");
        let events: Result<Vec<Event>, _> = recording.events().collect();
        assert!(events.unwrap().len() > least, "{load}");
    }
}
