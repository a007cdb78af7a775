//! The live view on a terminal of memory: what a user sees at 80 by 24, and what happens on less.

use std::time::Duration;

use crate::support::{Fake, proc_folder};
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::style::Color;
use warpsmith_telemetry::exporter::{ProcessSeries, metrics_text};
use warpsmith_telemetry::screen::{ViewState, draw, snapshot_text};
use warpsmith_telemetry::{Board, Clock, Presence};

fn board(scenario: &str) -> Board {
    let fake = Fake::new(scenario);
    let proc_root = proc_folder(&[(4711, "train.py")]);
    let settings = fake.settings(proc_root.path());
    let (inventory, events) = fake
        .sample(&settings, Duration::from_secs(30))
        .expect("it opens");
    let mut board = Board::new(inventory);
    events.into_iter().for_each(|event| board.apply(event));
    board
}

fn frame(board: &Board, view: &ViewState, width: u16, height: u16) -> (String, Vec<Color>) {
    let mut terminal = Terminal::new(TestBackend::new(width, height)).expect("a terminal");
    terminal
        .draw(|frame| draw(frame, board, view))
        .expect("drawn");
    let buffer = terminal.backend().buffer();
    let text = (0..height)
        .map(|y| {
            let line: String = (0..width)
                .map(|x| buffer[(x, y)].symbol().to_owned())
                .collect();
            line.trim_end().to_owned() + "\n"
        })
        .collect();
    (text, buffer.content().iter().map(|cell| cell.fg).collect())
}

const LOAD: &str = r#"{"gpus": [{"count": 8}, {"busy": 97, "power_w": 690, "temperature_c": 62,
    "sm_clock_mhz": 1496, "reasons": 4, "memory_used_mb": 60000,
    "processes": [{"pid": 4711, "memory_mb": 60000}]}]}"#;

#[test]
fn at_80_by_24_gpus_totals_processes_and_keys_are_all_there() {
    let view = ViewState {
        selected: 8,
        ..ViewState::default()
    };
    let (text, _) = frame(&board(LOAD), &view, 80, 24);
    for part in [
        "driver 580.159.04",
        " all",
        "9 GPUs",
        "58.6/1264 GiB",
        ">8   H200",
        "97 %",
        "690/700 W",
        "62 °C",
        "power cap",
        "58.6/140 GiB",
        "8d7ac2a3b1c9",
        "train.py",
        "host  CPU",
        "q quit",
    ] {
        assert!(text.contains(part), "`{part}` is not in\n{text}");
    }
    assert!(text.contains('█'), "the bars are drawn\n{text}");
}

#[test]
fn the_use_of_a_process_is_read_and_shown() {
    let scenario = LOAD.replace(
        "\"memory_mb\": 60000}",
        "\"memory_mb\": 60000, \"busy\": 31}",
    );
    let board = board(&scenario);
    let process = board.gpus[8].processes.as_deref().expect("a list")[0];
    assert_eq!(process.busy_percent, Some(31));
    assert!(snapshot_text(&board).contains("58.6 GiB  use 31 %  train.py"));
    assert!(
        frame(&board, &ViewState::default(), 80, 24)
            .0
            .contains("31 %")
    );
}

#[test]
fn a_process_of_a_mig_instance_stands_beside_it() {
    let board = board(
        r#"{"gpus": [{"mig": [{"name": "3g.71gb", "memory_total_mb": 71000, "memory_used_mb": 9000},
            {"name": "1g.18gb", "memory_total_mb": 16384, "memory_used_mb": 100}],
            "processes": [{"pid": 4711, "memory_mb": 9000, "mig": 1}]}]}"#,
    );
    let (text, _) = frame(&board, &ViewState::default(), 80, 24);
    for part in [" 0:0", "8.8/69 GiB", " 0:1", "MIG 1g.18gb"] {
        assert!(text.contains(part), "`{part}` is not in\n{text}");
    }
    let row = text
        .lines()
        .find(|line| line.contains("4711"))
        .expect("a row");
    assert!(row.contains("0:1"), "{row}");
}

#[test]
fn without_colour_nothing_is_coloured_and_alarms_are_still_words() {
    let hot = board(r#"{"gpus": [{"reasons": 64, "temperature_c": 90}]}"#);
    let (text, colours) = frame(&hot, &ViewState::default(), 80, 24);
    assert!(text.contains("HEAT"), "{text}");
    assert!(
        frame(&hot, &ViewState::default(), 110, 24)
            .0
            .contains("(-3 left)")
    );
    assert!(colours.iter().all(|colour| *colour == Color::Reset));
    let coloured = ViewState {
        colour: true,
        ..ViewState::default()
    };
    assert!(frame(&hot, &coloured, 80, 24).1.contains(&Color::Red));
}

#[test]
fn a_snapshot_is_plain_text_with_every_gpu() {
    let text = snapshot_text(&board(LOAD));
    assert_eq!(
        text.lines().filter(|line| line.starts_with("GPU ")).count(),
        9
    );
    assert!(
        text.contains("58.6 GiB  use 97 %  train.py (container 8d7ac2a3b1c9)"),
        "{text}"
    );
    assert!(text.contains("clocks: power cap") && text.contains("clocks: idle"));
}

#[test]
fn a_gpu_that_does_not_answer_shows_its_state_and_no_readings_of_the_past() {
    let mut sick = board(r#"{"gpus": [{"power_w": 555}]}"#);
    for (presence, hangs_in, word) in [
        (Presence::Lost, None, "LOST"),
        (
            Presence::Stale,
            Some("nvmlDeviceGetClockInfo"),
            "HUNG in nvml",
        ),
    ] {
        sick.gpus[0].presence = presence;
        sick.gpus[0].hangs_in = hangs_in;
        let (text, _) = frame(&sick, &ViewState::default(), 160, 24);
        assert!(text.contains(word) && !text.contains("555 W"), "{text}");
        let text = snapshot_text(&sick);
        assert!(text.contains(word) && !text.contains("555 W"), "{text}");
        let mut page = String::new();
        let now = Clock::System.now();
        metrics_text(&sick, now, ProcessSeries::On, &mut page);
        assert!(!page.contains("warpsmith_gpu_power_watts"), "{page}");
        assert!(page.contains("warpsmith_gpu_down_info"), "{page}");
    }
}
