//! Any board, any choice, any size of terminal, any keys: a frame is drawn, and it stays inside.

use std::collections::BTreeMap;

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use proptest::prelude::*;
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use warpsmith_telemetry::screen::{Action, SMALLEST, ViewState, draw, press, snapshot_text};
use warpsmith_telemetry::{
    Board, Event, GpuIdentity, Happening, Inventory, Micros, MigInstance, Presence,
    ProcessIdentity, ProcessUse, Readings, Slow, State, Steady, Unreachable, Xid,
};

/// Small ones are the likely ones; the others come from a damaged or made-up recording.
fn number() -> impl Strategy<Value = Option<i64>> {
    prop_oneof![
        2 => Just(None),
        6 => (-5i64..2_000).prop_map(Some),
        2 => (0i64..1 << 40).prop_map(Some),
        1 => any::<i64>().prop_map(Some),
    ]
}

/// Texts as processes call themselves: control characters, wide and joined letters included.
fn text() -> impl Strategy<Value = String> {
    prop_oneof![
        "[a-z]{0,12}",
        any::<String>(),
        Just("\u{1b}[2J\u{1b}]0;x\u{7}\r\n\t日本語 e\u{301} 👩‍🚀 \u{202e}abc".to_owned()),
    ]
}

fn readings<R: Readings + std::fmt::Debug>() -> impl Strategy<Value = R> {
    prop::collection::vec(number(), R::NAMES.len()).prop_map(|values| {
        let mut readings = R::default();
        for (position, value) in values.into_iter().enumerate() {
            readings.set(position, value);
        }
        readings
    })
}

fn process() -> impl Strategy<Value = ProcessUse> {
    (0u32..40, number(), any::<bool>(), number(), 0u32..4).prop_map(
        |(pid, memory_bytes, compute, busy_percent, instance)| ProcessUse {
            pid,
            memory_bytes,
            compute,
            busy_percent,
            gpu_instance: (instance > 0).then_some(instance),
        },
    )
}

fn identity() -> impl Strategy<Value = ProcessIdentity> {
    let texts = prop::collection::vec(prop::option::of(text()), 5);
    (
        0u32..40,
        texts,
        any::<Option<u64>>(),
        prop::option::of(0u32..40),
    )
        .prop_map(|(pid, mut texts, started_unix, parent)| ProcessIdentity {
            pid,
            name: texts.pop().flatten(),
            user: texts.pop().flatten(),
            container: texts.pop().flatten(),
            pod: texts.pop().flatten(),
            command_line: texts.pop().flatten(),
            started_unix,
            start_ticks: started_unix,
            parent,
        })
}

fn happening() -> impl Strategy<Value = Happening> {
    let instance =
        (0u32..3, text(), number(), number()).prop_map(|(index, name, used, total)| MigInstance {
            index,
            uuid: "MIG-1".to_owned(),
            name,
            memory_used_bytes: used,
            memory_total_bytes: total,
            gpu_instance: Some(index + 1),
        });
    prop_oneof![
        4 => readings::<State>().prop_map(Happening::State),
        1 => readings::<Steady>().prop_map(Happening::Steady),
        1 => readings::<Slow>().prop_map(Happening::Slow),
        1 => readings::<Xid>().prop_map(Happening::Xid),
        1 => readings().prop_map(Happening::Host),
        2 => prop::collection::vec(process(), 0..30).prop_map(Happening::Processes),
        4 => identity().prop_map(Happening::Process),
        1 => prop::collection::vec(instance, 0..4).prop_map(Happening::Mig),
        1 => prop_oneof![Just(Presence::Live), Just(Presence::Stale), Just(Presence::Lost)]
            .prop_map(Happening::Presence),
    ]
}

fn board() -> impl Strategy<Value = Board> {
    let gpu = (text(), number(), number()).prop_map(|(name, total, slowdown)| GpuIdentity {
        name,
        memory_total_bytes: total,
        slowdown_temperature_c: slowdown,
        ..GpuIdentity::default()
    });
    let events = prop::collection::vec((0u16..12, 0u64..600_000_000, happening()), 0..60);
    let gpus = prop::collection::vec(gpu, 0..12);
    (gpus, events, prop::option::of(text())).prop_map(|(gpus, events, reason)| {
        let unreachable = reason.clone().map(|reason| Unreachable {
            gpu: Some(12),
            reason,
        });
        let mut board = Board::new(Inventory {
            gpus,
            nvml_absent: reason,
            unreachable: unreachable.into_iter().collect(),
            ..Inventory::default()
        });
        for (gpu, at, what) in events {
            let at = Micros(at);
            board.apply(Event { at, gpu, what });
        }
        board
    })
}

fn keys() -> impl Strategy<Value = Vec<KeyCode>> {
    let key = prop_oneof![
        4 => prop::sample::select("sMUPGNACr/tx?hjk q日".chars().collect::<Vec<_>>())
            .prop_map(KeyCode::Char),
        4 => prop::sample::select(vec![
            KeyCode::Up, KeyCode::Down, KeyCode::Tab, KeyCode::Enter, KeyCode::Esc,
            KeyCode::Backspace, KeyCode::Home, KeyCode::F(5),
        ]),
        1 => any::<char>().prop_map(KeyCode::Char),
    ];
    prop::collection::vec(key, 0..12)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn every_frame_stays_inside_and_holds_no_control_characters(
        board in board(),
        keys in keys(),
        (width, height) in (1u16..220, 1u16..60),
        (colour, replay, speed) in (any::<bool>(), any::<bool>(), 1e-3..1e6f64),
        title in text(),
    ) {
        let mut view = ViewState { colour, replay, speed, title, ..ViewState::default() };
        let mut terminal = Terminal::new(TestBackend::new(width, height)).expect("a terminal");
        for key in keys {
            let action = press(&mut view, &board, KeyEvent::new(key, KeyModifiers::NONE));
            prop_assert!(!matches!(action, Action::Send(_)), "nothing was asked");
            terminal.draw(|frame| draw(frame, &board, &view)).expect("drawn");
        }
        terminal.draw(|frame| draw(frame, &board, &view)).expect("drawn");
        let buffer = terminal.backend().buffer();
        let mut lines: BTreeMap<u16, usize> = BTreeMap::new();
        for y in 0..height {
            let mut x = 0;
            while x < width {
                let symbol = buffer[(x, y)].symbol();
                prop_assert!(!symbol.chars().any(char::is_control), "{symbol:?} at {x}, {y}");
                let cells = ratatui::text::Span::raw(symbol).width().max(1);
                *lines.entry(y).or_default() += cells;
                x += u16::try_from(cells).expect("a letter is small");
            }
        }
        for (y, cells) in lines {
            prop_assert!(cells <= usize::from(width), "line {y} has {cells} cells of {width}");
        }
        if width < SMALLEST.0 || height < SMALLEST.1 {
            let rest = buffer.content()[usize::from(width)..].iter();
            prop_assert!(rest.into_iter().all(|cell| cell.symbol() == " "), "one line says it");
        }
        let text = snapshot_text(&board);
        prop_assert!(!text.chars().any(|letter| letter.is_control() && letter != '\n'), "{text:?}");
    }
}
