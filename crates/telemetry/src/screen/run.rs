//! The loop of the live view: keys in, frames out, ten a second.

use std::io;
use std::time::Duration;

use crossterm::event::{self, Event as Input, KeyCode, KeyEventKind, KeyModifiers};

use super::layout::{ViewState, draw};
use crate::board::{Board, LiveBoard};

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
pub fn run(board: &LiveBoard, options: &ScreenOptions) -> io::Result<()> {
    let mut terminal = ratatui::try_init()?;
    let result = show(&mut terminal, board, options);
    ratatui::restore();
    result
}

fn show(
    terminal: &mut ratatui::DefaultTerminal,
    board: &LiveBoard,
    options: &ScreenOptions,
) -> io::Result<()> {
    let mut view = ViewState {
        colour: options.colour,
        title: options.title.clone(),
        ..ViewState::default()
    };
    let mut held: Option<Board> = None;
    loop {
        match &held {
            Some(board) => terminal.draw(|frame| draw(frame, board, &view))?,
            None => {
                let now = board.now();
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
        let gpus = board.now().gpus.len();
        match key.code {
            KeyCode::Char('q') => return Ok(()),
            KeyCode::Char('c') if key.modifiers.contains(KeyModifiers::CONTROL) => return Ok(()),
            KeyCode::Esc if view.help => view.help = false,
            KeyCode::Esc => return Ok(()),
            KeyCode::Char('?' | 'h') => view.help = !view.help,
            KeyCode::Char(' ') => {
                held = match held {
                    Some(_) => None,
                    None => Some(board.now().clone()),
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
