//! Every view at three sizes, as text: `tests/frames/VIEW-COLUMNSxLINES.txt`. A changed frame is
//! reviewed like code; `WARPSMITH_BLESS=1` writes what is drawn now.

use std::path::PathBuf;
use std::time::Duration;

use crate::support::tree::{Tree, open_card};
use crate::support::{Fake, proc_folder};
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use warpsmith_telemetry::screen::{Focus, Page, ProcessKey, Question, SortBy, ViewState, draw};
use warpsmith_telemetry::{Board, Presence, ProcessIdentity, Vendor};

const SIZES: [(u16, u16); 3] = [(60, 15), (80, 24), (200, 50)];

/// One of everything: at work, hot, idle, held without use, lost, hung, cut into instances.
const MACHINE: &str = r#"{"gpus": [
    {"busy": {"points": [[0, 0], [12, 97]]}, "power_w": {"points": [[0, 76], [15, 690]]},
     "temperature_c": {"points": [[0, 34], [30, 62]]}, "sm_clock_mhz": 1496, "reasons": 4,
     "memory_used_mb": {"points": [[0, 0], [10, 60000]]}, "sm_active": 88, "dram_active": 41,
     "processes": [{"pid": 4711, "memory_mb": 50000, "busy": 80},
                   {"pid": 4712, "memory_mb": 10000, "busy": 17}]},
    {"busy": 100, "power_w": 700, "temperature_c": 88, "sm_clock_mhz": 1200, "reasons": 64,
     "memory_used_mb": 140000, "processes": [{"pid": 4713, "memory_mb": 139000}]},
    {},
    {"memory_used_mb": 900, "processes": [{"pid": 600, "memory_mb": 900, "graphics": true}]},
    {"power_w": 555}, {"power_w": 555},
    {"memory_used_mb": 9000, "mig": [
        {"name": "NVIDIA H200 MIG 3g.71gb", "memory_total_mb": 71000, "memory_used_mb": 9000},
        {"name": "NVIDIA H200 MIG 1g.18gb", "memory_total_mb": 16384, "memory_used_mb": 0}],
     "processes": [{"pid": 4714, "memory_mb": 9000, "mig": 0}]},
    {"xids": [[3, 79]]}]}"#;

fn machine() -> Board {
    let fake = Fake::new(MACHINE);
    let names = [
        (4711, "python3"),
        (4712, "python3"),
        (4713, "gmx"),
        (4714, "jupyter"),
        (600, "Xorg"),
    ];
    let proc_root = proc_folder(&names);
    let (inventory, events) = fake
        .sample(&fake.settings(proc_root.path()), Duration::from_secs(31))
        .expect("it opens");
    let mut board = Board::new(inventory);
    events.into_iter().for_each(|event| board.apply(event));
    // Who runs the test must not show.
    board.inventory.cores = 16;
    for identity in board.identities.values_mut() {
        identity.user = Some("alice".to_owned());
        identity.parent = None;
    }
    board.gpus[4].presence = Presence::Lost;
    board.gpus[5].presence = Presence::Stale;
    board.gpus[5].hangs_in = Some("nvmlDeviceGetClockInfo");
    // Two workers of one launcher, in a shell.
    let above = [(4700, "torchrun", Some(4600)), (4600, "bash", None)];
    for (pid, name, parent) in above {
        let identity = ProcessIdentity {
            pid,
            name: Some(name.to_owned()),
            user: Some("alice".to_owned()),
            parent,
            started_unix: Some(1_699_000_000),
            ..ProcessIdentity::default()
        };
        board.identities.insert(pid, identity);
    }
    let of = |board: &mut Board, pid: u32, change: &dyn Fn(&mut ProcessIdentity)| {
        change(board.identities.get_mut(&pid).expect("it is known"));
    };
    of(&mut board, 4711, &|known| known.parent = Some(4700));
    of(&mut board, 4712, &|known| known.parent = Some(4700));
    of(&mut board, 4713, &|known| {
        known.user = Some("bob".to_owned());
        known.container = None;
    });
    of(&mut board, 4714, &|known| {
        known.pod = Some("0f1e2d3c-4b5a-6978-8796-a5b4c3d2e1f0".to_owned());
    });
    of(&mut board, 600, &|known| {
        known.user = Some("root".to_owned());
        known.container = None;
    });
    board
}

/// A frame as text, without blanks at the ends of lines.
pub(crate) fn frame(board: &Board, view: &ViewState, width: u16, height: u16) -> String {
    let mut terminal = Terminal::new(TestBackend::new(width, height)).expect("a terminal");
    terminal
        .draw(|frame| draw(frame, board, view))
        .expect("drawn");
    let buffer = terminal.backend().buffer();
    let line = |y: u16| {
        let cells = (0..width).map(|x| buffer[(x, y)].symbol());
        cells.collect::<String>().trim_end().to_owned() + "\n"
    };
    (0..height).map(line).collect()
}

fn check(name: &str, board: &Board, view: &ViewState) {
    let mut wrong = Vec::new();
    for (width, height) in SIZES {
        let drawn = frame(board, view, width, height);
        let file = format!("tests/frames/{name}-{width}x{height}.txt");
        let file = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(file);
        if std::env::var_os("WARPSMITH_BLESS").is_some() {
            std::fs::create_dir_all(file.parent().expect("a folder")).expect("made");
            std::fs::write(&file, &drawn).expect("written");
        }
        let expected = std::fs::read_to_string(&file).unwrap_or_default();
        if drawn != expected {
            wrong.push(format!(
                "{}:\n{drawn}\nexpected:\n{expected}",
                file.display()
            ));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn the_whole_machine() {
    check("machine", &machine(), &ViewState::default());
}

#[test]
fn the_last_gpu_is_chosen_and_the_rows_follow() {
    let view = ViewState {
        selected: 6,
        ..ViewState::default()
    };
    check("machine-end", &machine(), &view);
}

#[test]
fn one_gpu_with_its_plots() {
    let view = ViewState {
        page: Page::Gpu,
        ..ViewState::default()
    };
    check("gpu", &machine(), &view);
    let lost = ViewState {
        selected: 4,
        ..view.clone()
    };
    check("gpu-lost", &machine(), &lost);
    let mig = ViewState {
        selected: 6,
        ..view
    };
    check("gpu-mig", &machine(), &mig);
}

#[test]
fn processes_as_a_tree() {
    let view = ViewState {
        tree: true,
        focus: Focus::Processes,
        process: Some(ProcessKey {
            gpu: Some(0),
            pid: 4712,
        }),
        ..ViewState::default()
    };
    check("tree", &machine(), &view);
}

#[test]
fn processes_in_another_order_and_filtered() {
    let view = ViewState {
        sort: SortBy::Use,
        reverse: true,
        filter: "alice".to_owned(),
        typing: true,
        ..ViewState::default()
    };
    check("filter", &machine(), &view);
}

#[test]
fn the_help() {
    let view = ViewState {
        help: true,
        ..ViewState::default()
    };
    check("help", &machine(), &view);
}

#[test]
fn the_question() {
    let view = ViewState {
        question: Some(Question {
            pid: 4711,
            who: "python3, user alice".to_owned(),
        }),
        ..ViewState::default()
    };
    check("question", &machine(), &view);
}

#[test]
fn a_replay_that_is_held() {
    let view = ViewState {
        replay: true,
        paused: true,
        speed: 60.0,
        title: "12.0 of 30.0 s, ×60  night.wsrec".to_owned(),
        message: Some("`replay` shows the past: no signal can be sent".to_owned()),
        ..ViewState::default()
    };
    let mut board = machine();
    board.gpus.truncate(1);
    board.inventory.gpus.truncate(1);
    check("replay", &board, &view);
}

#[test]
fn a_machine_without_gpus() {
    let fake = Fake::new(r#"{"gpus": []}"#);
    let proc_root = proc_folder(&[]);
    let (mut inventory, _) = fake
        .sample(&fake.settings(proc_root.path()), Duration::from_secs(1))
        .expect("it opens");
    inventory.cores = 16;
    check("no-gpu", &Board::new(inventory), &ViewState::default());
}

/// A tree of the kernel's files with one process on its first GPU, whoever runs the test.
fn cards(name: &str, device: &str, memory: &str) -> Board {
    let (tree, proc_root) = (Tree::of(name), proc_folder(&[(77, "python3")]));
    let settings = tree.settings(proc_root.path());
    let (inventory, events) = tree.sample(&settings, Duration::from_secs(31), |_, at| {
        let text = format!(
            "drm-client-id: 5\ndrm-pdev: {device}\n{memory}: 6291456 KiB\n\
             drm-engine-compute: {} ns\n",
            at.as_nanos() / 2
        );
        open_card(proc_root.path(), 77, 3, &text);
    });
    let mut board = Board::new(inventory);
    events.into_iter().for_each(|event| board.apply(event));
    board.inventory.cores = 16;
    for identity in &mut board.inventory.gpus {
        // Lists of names differ between distributions.
        if identity.vendor == Vendor::Intel {
            identity.name = "Intel Iris Xe Graphics".to_owned();
        } else if identity.name.contains("66") || identity.name.contains("73ff") {
            identity.name = "AMD Radeon RX 6600M".to_owned();
        }
    }
    for identity in board.identities.values_mut() {
        identity.user = Some("alice".to_owned());
        identity.parent = None;
    }
    board
}

#[test]
fn a_radeon_and_a_laptop() {
    let page = ViewState {
        page: Page::Gpu,
        ..ViewState::default()
    };
    check(
        "radeon",
        &cards("rx7900xtx", "0000:03:00.0", "drm-memory-vram"),
        &page,
    );
    let laptop = cards("laptop", "0000:00:02.0", "drm-resident-system0");
    check("laptop", &laptop, &ViewState::default());
}

#[test]
fn a_smaller_terminal_is_told_so_in_one_line() {
    let board = machine();
    for (width, height) in [(59, 15), (60, 14), (1, 1), (40, 3)] {
        let text = frame(&board, &ViewState::default(), width, height);
        let said = format!("{width}×{height} is too small: needs 60×15");
        let said: String = said.chars().take(usize::from(width)).collect();
        assert_eq!(text.trim_end(), said.trim_end());
    }
}
