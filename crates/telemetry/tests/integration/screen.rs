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
fn at_80_by_24_gpus_plots_processes_and_keys_are_all_there() {
    let view = ViewState {
        selected: 8,
        ..ViewState::default()
    };
    let (text, _) = frame(&board(LOAD), &view, 80, 24);
    for part in [
        "driver 580.159.04",
        ">8   H200",
        "97 %",
        "690 W",
        "62 °C (25 left)",
        "power cap",
        "58.6 GiB",
        "busy 97 %",
        "train.py",
        "host  CPU",
        "q quit",
    ] {
        assert!(text.contains(part), "`{part}` is not in\n{text}");
    }
    assert!(text.contains('█'), "the plots are drawn\n{text}");
}

#[test]
fn without_colour_nothing_is_coloured_and_alarms_are_still_words() {
    let hot = board(r#"{"gpus": [{"reasons": 64, "temperature_c": 90}]}"#);
    let (text, colours) = frame(&hot, &ViewState::default(), 80, 24);
    assert!(
        text.contains("HEAT") && text.contains("(-3 left)"),
        "{text}"
    );
    assert!(colours.iter().all(|colour| *colour == Color::Reset));
    let coloured = ViewState {
        colour: true,
        ..ViewState::default()
    };
    assert!(frame(&hot, &coloured, 80, 24).1.contains(&Color::Red));
}

#[test]
fn any_size_of_terminal_and_any_board_can_be_drawn() {
    let boards = [board(LOAD), board(r#"{"gpus": []}"#), board("{}")];
    for board in &boards {
        for (width, height) in [(1, 1), (10, 3), (40, 10), (80, 24), (300, 100)] {
            for help in [false, true] {
                let view = ViewState {
                    selected: 99,
                    help,
                    ..ViewState::default()
                };
                frame(board, &view, width, height);
            }
        }
    }
}

#[test]
fn help_opens_over_the_picture() {
    let view = ViewState {
        help: true,
        ..ViewState::default()
    };
    assert!(
        frame(&board("{}"), &view, 80, 24)
            .0
            .contains("share of time with a kernel running")
    );
}

#[test]
fn a_snapshot_is_plain_text_with_every_gpu() {
    let text = snapshot_text(&board(LOAD));
    assert_eq!(
        text.lines().filter(|line| line.starts_with("GPU ")).count(),
        9
    );
    assert!(
        text.contains("process 4711  root  58.6 GiB  train.py (container 8d7ac2a3b1c9)"),
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
        let (text, _) = frame(&sick, &ViewState::default(), 120, 24);
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
