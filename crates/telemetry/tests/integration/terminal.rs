//! The live view on a real terminal: keys typed into a pty, the screen read back from it.
//!
//! The view runs in a process of its own: this test program again, with the terminal as its own.

use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use crate::support::terminal::View;
use crate::support::{Fake, proc_folder};
use warpsmith_telemetry::recording::{Recording, RecordingWriter};
use warpsmith_telemetry::screen::{ScreenOptions, Source, run};
use warpsmith_telemetry::{LiveMachine, Replay};

/// The scenario or the recording that the view shows, and its processes.
const SHOW: &str = "SCREEN_TEST_SHOWN";
const PROC: &str = "SCREEN_TEST_PROC";

#[test]
#[ignore = "not a test of its own: what the others run on their terminal"]
fn the_view_itself() {
    let Ok(shown) = std::env::var(SHOW) else {
        return;
    };
    let proc_root = std::path::PathBuf::from(std::env::var(PROC).expect("a folder"));
    let options = ScreenOptions {
        ended: Default::default(),
        colour: true,
        title: "a test".to_owned(),
        frame: Duration::from_millis(100),
        proc_root: proc_root.clone(),
    };
    if shown.ends_with(".wsrec") {
        let recording = Recording::open(Path::new(&shown)).expect("it opens");
        let mut replay = Replay::start(recording, Duration::ZERO, 1.0).expect("it starts");
        run(Source::Replay(&mut replay), &options).expect("drawn");
        return;
    }
    let fake = Fake::in_real_time(&shown);
    let machine = LiveMachine::start(&fake.settings(&proc_root));
    run(Source::Live(machine.board()), &options).expect("drawn");
    machine.stop();
}

/// The view of a scenario or a recording on a terminal of this size.
fn open(shown: &str, proc_root: &Path, size: (u16, u16)) -> View {
    let mut command = Command::new(std::env::current_exe().expect("a path"));
    command
        .args([
            "--ignored",
            "--exact",
            "terminal::the_view_itself",
            "--nocapture",
            "--quiet",
        ])
        .env(SHOW, shown)
        .env(PROC, proc_root);
    View::open(command, size)
}

const TWO: &str = r#"{"gpus": [{"busy": 40, "power_w": 300, "memory_used_mb": 3000, "processes":
    [{"pid": 4711, "memory_mb": 1000, "busy": 30}, {"pid": 4712, "memory_mb": 2000, "busy": 10}]},
    {"power_w": 76}]}"#;

#[test]
fn keys_open_close_order_and_filter() {
    let proc_root = proc_folder(&[(4711, "train.py"), (4712, "serve.py")]);
    let mut view = open(TWO, proc_root.path(), (80, 24));
    let before = |text: &str, first: &str, then: &str| {
        let place = |part: &str| text.find(part);
        matches!((place(first), place(then)), (Some(a), Some(b)) if a < b)
    };
    view.until("most memory first", |text| before(text, "4712", "4711"));
    view.press("U");
    view.until("most use first", |text| {
        before(text, "4711", "4712") && text.contains("use↓")
    });
    view.press("r");
    view.until("turned round", |text| {
        before(text, "4712", "4711") && text.contains("use↑")
    });
    view.press("/TRAIN");
    view.until("filtered", |text| {
        text.contains("filter: TRAIN") && !text.contains("serve.py")
    });
    // Enter keeps the filter, Esc gives it up.
    view.press("\r");
    view.until("kept", |text| {
        text.contains("filter: TRAIN") && text.contains("q quit")
    });
    view.press("\x1b");
    view.shows("serve.py");
    view.press("?");
    view.shows("close this help");
    view.press("?");
    view.until("closed", |text| !text.contains("close this help"));
    view.press("\x1b[B\r");
    view.until("the second GPU", |text| {
        text.contains(" GPU 1 ") && text.contains("now")
    });
    view.press("\t");
    view.until("the first", |text| {
        text.contains(" GPU 0 ") && text.contains("4711")
    });
    view.press("\x1b");
    view.shows(">0");
    view.press(" ");
    view.shows("HELD");
    view.press(" ");
    view.until("let go", |text| !text.contains("HELD"));
    view.quit();
}

#[test]
fn sizes_change_without_a_broken_frame() {
    let proc_root = proc_folder(&[(4711, "train.py"), (4712, "serve.py")]);
    let mut view = open(TWO, proc_root.path(), (80, 24));
    view.shows("train.py");
    for size in [(60, 15), (200, 50), (100, 30), (61, 16)] {
        view.resize(size);
        let (columns, lines) = (usize::from(size.0), usize::from(size.1));
        view.until(&format!("{size:?}"), |text| {
            let rows: Vec<&str> = text.lines().collect();
            let last = rows.get(lines - 1).copied().unwrap_or_default();
            let fits = rows.iter().all(|row| row.chars().count() == columns);
            let place = rows[0].contains("warpsmith watch") && last.contains("? help");
            fits && place && text.contains("train.py") && rows[lines - 2].contains("host")
        });
    }
    view.resize((40, 10));
    view.until("too small", |text| {
        let mut rows = text.lines();
        let said = rows
            .next()
            .is_some_and(|row| row.contains("40×10 is too small"));
        said && rows.all(|row| row.trim().is_empty())
    });
    view.resize((80, 24));
    view.shows("train.py");
    view.quit();
}

#[test]
fn only_what_changed_is_written() {
    let proc_root = proc_folder(&[]);
    // Nothing changes on this machine but the plots, by a column or two.
    let still = r#"{"gpus": [{"power_w": 76, "temperature_c": 34}]}"#;
    let view = open(still, proc_root.path(), (80, 24));
    view.shows("76/700 W");
    // The host's first reading, and the first process list.
    std::thread::sleep(Duration::from_secs(3));
    let (before, begun) = (view.written(), Instant::now());
    std::thread::sleep(Duration::from_secs(3));
    let frames = begun.elapsed().as_secs_f64() * 10.0;
    let each = (view.written() - before) as f64 / frames;
    // A whole frame is above two thousand bytes.
    assert!(each < 200.0, "{each:.0} bytes a frame");
    view.quit();
}

/// A `/proc` in which the given real processes are beside a quiet host.
fn with_real(pids: &[u32]) -> tempfile::TempDir {
    let folder = proc_folder(&[]);
    for pid in pids {
        let link = folder.path().join(pid.to_string());
        std::os::unix::fs::symlink(format!("/proc/{pid}"), link).expect("a link");
    }
    folder
}

#[test]
fn a_process_is_ended_after_a_question_and_by_the_signal_chosen() {
    for (key, name, number) in [("t", "SIGTERM", 15), ("k", "SIGKILL", 9)] {
        let mut victim = Command::new("sleep").arg("600").spawn().expect("it starts");
        let pid = victim.id();
        let proc_root = with_real(&[pid]);
        let scenario =
            format!(r#"{{"gpus": [{{"processes": [{{"pid": {pid}, "memory_mb": 10}}]}}]}}"#);
        let mut view = open(&scenario, proc_root.path(), (80, 24));
        view.shows("sleep");
        view.press("x");
        view.shows("choose a process first");
        view.press("\tx");
        view.shows(&format!("end process {pid}?"));
        // Neither a wrong key nor Esc ends anything.
        view.press("y\x1b");
        view.until("closed", |text| !text.contains("end process"));
        assert!(victim.try_wait().expect("asked").is_none(), "it lives");
        view.press("x");
        view.shows(&format!("end process {pid}?"));
        view.press(key);
        view.until(name, |text| {
            text.contains(&format!("{name} sent")) || text.contains("has ended")
        });
        assert_eq!(victim.wait().expect("it ends").signal(), Some(number));
        view.shows(&format!("process {pid} has ended"));
        view.quit();
    }
}

#[test]
fn a_number_that_belongs_to_another_process_by_now_is_left_alone() {
    let mut victim = Command::new("sleep").arg("600").spawn().expect("it starts");
    let pid = victim.id();
    // Listed with the start time of another process: as if the number had been given away since.
    let proc_root = proc_folder(&[(pid, "train.py")]);
    let scenario = format!(r#"{{"gpus": [{{"processes": [{{"pid": {pid}, "memory_mb": 10}}]}}]}}"#);
    let mut view = open(&scenario, proc_root.path(), (80, 24));
    view.shows("train.py");
    let real = std::fs::read(format!("/proc/{pid}/stat")).expect("its stat");
    std::fs::write(proc_root.path().join(pid.to_string()).join("stat"), real).expect("written");
    view.press("\tx");
    view.shows("another process has its number");
    assert!(victim.try_wait().expect("asked").is_none(), "it lives");
    view.quit();
    victim.kill().expect("ours");
    victim.wait().expect("it ends");
}

#[test]
fn a_recording_is_shown_like_a_machine_and_refuses_signals() {
    let fake = Fake::new(TWO);
    let proc_root = proc_folder(&[(4711, "train.py"), (4712, "serve.py")]);
    let (inventory, events) = fake
        .sample(&fake.settings(proc_root.path()), Duration::from_secs(40))
        .expect("it opens");
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("run.wsrec");
    let mut writer = RecordingWriter::create(&file, &inventory).expect("created");
    for event in events {
        writer.push(event).expect("written");
    }
    writer.finish().expect("finished");
    let shown = file.to_str().expect("a text");
    let mut view = open(shown, proc_root.path(), (80, 24));
    let text = view.shows("train.py");
    assert!(
        text.contains("warpsmith replay") && text.contains("of 40.0 s"),
        "{text}"
    );
    view.press("\x1b[C\x1b[C");
    view.until("later", |text| text.contains(" 2") && text.contains("30 %"));
    view.press("\tx");
    view.shows("`replay` shows the past: no signal can be sent");
    // In a filter, the keys of a replay are letters.
    view.press("/+-");
    view.shows("filter: +-");
    view.press("\x1b");
    view.until("no filter", |text| !text.contains("filter:"));
    view.press("\r");
    view.until("plots", |text| {
        text.contains("temperature") && text.contains("now")
    });
    view.press("+");
    view.shows("×2");
    view.quit();
}
