//! What keys do to the view. What they do to the world (quit, signals, a replay's place) is returned.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use super::process_list::rows;
use super::view::{Focus, Page, SortBy, ViewState};
use crate::board::Board;
use crate::process_signal::Signal;

/// More is no text to look for.
const LONGEST_FILTER: usize = 64;

/// What is left to do after a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// Nothing but another frame.
    Draw,
    /// End.
    Quit,
    /// Hold the picture, or let it go on.
    Hold,
    /// Ask whether to end the chosen process.
    Ask,
    /// End the process that the user was asked about.
    Send(Signal),
}

/// Takes a key in.
pub fn press(view: &mut ViewState, board: &Board, key: KeyEvent) -> Action {
    if key.code == KeyCode::Char('c') && key.modifiers.contains(KeyModifiers::CONTROL) {
        return Action::Quit;
    }
    if view.typing {
        type_filter(view, key.code);
        return Action::Draw;
    }
    if view.question.is_some() {
        return answer(view, key.code);
    }
    if view.help {
        match key.code {
            KeyCode::Char('q') => return Action::Quit,
            KeyCode::Esc | KeyCode::Char('?' | 'h') | KeyCode::Enter => view.help = false,
            _ => {}
        }
        return Action::Draw;
    }
    view.message = None;
    match key.code {
        KeyCode::Char('q') => return Action::Quit,
        KeyCode::Esc if !view.filter.is_empty() => view.filter.clear(),
        KeyCode::Esc if view.page == Page::Gpu => view.page = Page::Machine,
        KeyCode::Esc => return Action::Quit,
        KeyCode::Char('?' | 'h') => view.help = true,
        KeyCode::Char(' ') => return Action::Hold,
        KeyCode::Char('x') => return Action::Ask,
        KeyCode::Char('/') => view.typing = true,
        KeyCode::Char('t') => view.tree = !view.tree,
        KeyCode::Char('r') => view.reverse = !view.reverse,
        KeyCode::Char('s') => view.sort = view.sort.next(),
        KeyCode::Char('M') => view.sort = SortBy::Memory,
        KeyCode::Char('U') => view.sort = SortBy::Use,
        KeyCode::Char('P') => view.sort = SortBy::Pid,
        KeyCode::Char('G') => view.sort = SortBy::Gpu,
        KeyCode::Char('N') => view.sort = SortBy::User,
        KeyCode::Char('A') => view.sort = SortBy::Age,
        KeyCode::Char('C') => view.sort = SortBy::Command,
        KeyCode::Tab => change_list(view, board),
        KeyCode::Enter => open_gpu(view, board),
        KeyCode::Up | KeyCode::Char('k') => choose(view, board, -1),
        KeyCode::Down | KeyCode::Char('j') => choose(view, board, 1),
        _ => {}
    }
    Action::Draw
}

fn type_filter(view: &mut ViewState, key: KeyCode) {
    match key {
        KeyCode::Enter => view.typing = false,
        KeyCode::Esc => {
            view.typing = false;
            view.filter.clear();
        }
        KeyCode::Backspace => drop(view.filter.pop()),
        KeyCode::Char(letter) if view.filter.chars().count() < LONGEST_FILTER => {
            view.filter.push(letter);
        }
        _ => {}
    }
}

fn answer(view: &mut ViewState, key: KeyCode) -> Action {
    let action = match key {
        KeyCode::Char('t') => Action::Send(Signal::Terminate),
        KeyCode::Char('k') => Action::Send(Signal::Kill),
        KeyCode::Esc | KeyCode::Char('n' | 'q') => Action::Draw,
        // A key that slips must not answer.
        _ => return Action::Draw,
    };
    view.question = None;
    action
}

fn change_list(view: &mut ViewState, board: &Board) {
    match (view.page, view.focus) {
        (Page::Gpu, _) => {
            view.selected = (view.selected + 1) % board.gpus.len().max(1);
            view.process = None;
        }
        (Page::Machine, Focus::Gpus) => {
            view.focus = Focus::Processes;
            choose(view, board, 0);
        }
        (Page::Machine, Focus::Processes) => view.focus = Focus::Gpus,
    }
}

/// Opens the chosen GPU, or the one of the chosen process; a second time, closes it.
fn open_gpu(view: &mut ViewState, board: &Board) {
    if view.page == Page::Gpu {
        view.page = Page::Machine;
        return;
    }
    if board.gpus.is_empty() {
        return;
    }
    let of_process = view.process.and_then(|process| process.gpu);
    if let (Focus::Processes, Some(gpu)) = (view.focus, of_process) {
        view.selected = gpu;
    }
    view.page = Page::Gpu;
}

/// Moves the choice by `step` rows; one that went away begins at the first again.
fn choose(view: &mut ViewState, board: &Board, step: isize) {
    let moved = |place: usize, count: usize| {
        place
            .saturating_add_signed(step)
            .min(count.saturating_sub(1))
    };
    if view.page == Page::Machine && view.focus == Focus::Gpus {
        view.selected = moved(view.selected, board.gpus.len());
        return;
    }
    let list = rows(board, view);
    let place = list.iter().position(|row| Some(row.key()) == view.process);
    let place = place.map_or(0, |place| moved(place, list.len()));
    view.process = list.get(place).map(|row| row.key());
}
