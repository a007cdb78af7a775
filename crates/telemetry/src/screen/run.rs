//! The loop of the live view: keys in, frames out, ten a second.
//!
//! Invariant: what is shown is what is known when the frame is drawn; a replay is moved by keys
//! and otherwise shown like a machine.

use std::io;
use std::time::Duration;

use crossterm::event::{self, Event as Input, KeyCode, KeyEventKind, KeyModifiers};

use super::layout::{ViewState, draw};
use crate::board::{Board, LiveBoard};
use crate::player::Replay;
use crate::recording::RecordingError;

/// Where the picture comes from.
pub enum Source<'a> {
    /// A machine.
    Live(&'a LiveBoard),
    /// A recording.
    Replay(&'a mut Replay),
}

impl Source<'_> {
    fn board(&self) -> &LiveBoard {
        match self {
            Self::Live(board) => board,
            Self::Replay(replay) => replay.board(),
        }
    }

    /// What stands beside the title.
    fn place(&self) -> String {
        match self {
            Self::Live(_) => String::new(),
            Self::Replay(replay) => format!(
                "  {:.1} of {:.1} s, ×{}",
                replay.place().as_secs_f64(),
                replay.length().as_secs_f64(),
                replay.speed()
            ),
        }
    }

    /// Moves a replay by a key; false where the key is none of these.
    pub fn press(&mut self, key: KeyCode) -> Result<bool, RecordingError> {
        let Self::Replay(replay) = self else {
            return Ok(false);
        };
        let (place, speed) = (replay.place(), replay.speed());
        let tenth = replay.length() / 10;
        let step = Duration::from_secs(10);
        let (place, speed) = match key {
            KeyCode::Left => (place.saturating_sub(step), speed),
            KeyCode::Right => (place + step, speed),
            KeyCode::PageUp => (place.saturating_sub(tenth), speed),
            KeyCode::PageDown => (place + tenth, speed),
            KeyCode::Home => (Duration::ZERO, speed),
            KeyCode::Char('+') => (place, speed * 2.0),
            KeyCode::Char('-') => (place, speed / 2.0),
            _ => return Ok(false),
        };
        replay.go_to(place, speed)?;
        Ok(true)
    }
}

/// How the view behaves.
#[derive(Clone, Debug)]
pub struct ScreenOptions {
    /// Whether colour may be used.
    pub colour: bool,
    /// Shown beside the title.
    pub title: String,
    /// Time between two frames.
    pub frame: Duration,
}

/// Shows the board until the user quits. The terminal is given back as it was, also after an
/// error or a panic.
pub fn run(mut source: Source<'_>, options: &ScreenOptions) -> io::Result<()> {
    let mut terminal = ratatui::try_init()?;
    let result = show(&mut terminal, &mut source, options);
    ratatui::restore();
    result
}

fn show(
    terminal: &mut ratatui::DefaultTerminal,
    source: &mut Source<'_>,
    options: &ScreenOptions,
) -> io::Result<()> {
    let mut view = ViewState {
        colour: options.colour,
        replay: matches!(source, Source::Replay(_)),
        ..ViewState::default()
    };
    let mut held: Option<Board> = None;
    loop {
        match &held {
            Some(board) => terminal.draw(|frame| draw(frame, board, &view))?,
            None => {
                view.title = format!("{}{}", options.title, source.place());
                let now = source.board().now();
                terminal.draw(|frame| draw(frame, &now, &view))?
            }
        };
        if !event::poll(options.frame)? {
            continue;
        }
        let Input::Key(key) = event::read()? else {
            continue;
        };
        if key.kind != KeyEventKind::Press {
            continue;
        }
        if source.press(key.code).map_err(io::Error::other)? {
            held = None;
            view.paused = false;
            continue;
        }
        let gpus = source.board().now().gpus.len();
        match key.code {
            KeyCode::Char('q') => return Ok(()),
            KeyCode::Char('c') if key.modifiers.contains(KeyModifiers::CONTROL) => return Ok(()),
            KeyCode::Esc if view.help => view.help = false,
            KeyCode::Esc => return Ok(()),
            KeyCode::Char('?' | 'h') => view.help = !view.help,
            KeyCode::Char(' ') => {
                held = match held {
                    Some(_) => None,
                    None => Some(source.board().now().clone()),
                };
                view.paused = held.is_some();
            }
            KeyCode::Up | KeyCode::Char('k') => view.selected = view.selected.saturating_sub(1),
            KeyCode::Down | KeyCode::Char('j') => {
                view.selected = (view.selected + 1).min(gpus.saturating_sub(1));
            }
            _ => {}
        }
    }
}
