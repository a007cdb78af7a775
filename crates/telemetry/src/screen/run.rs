//! The loop of the live view: keys in, frames out, two a second.
//!
//! Invariants: what is shown is what is known when the frame is drawn; only cells that changed are
//! written; a replay is moved by keys and otherwise shown like a machine, but nothing is signalled
//! from it; a signal is only sent after an answer to a question about that very process.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use crossterm::event::{self, Event as Input, KeyCode, KeyEventKind};

use super::figures;
use super::keys::{Action, press};
use super::layout::draw;
use super::process_list::rows;
use super::view::{Question, ViewState};
use crate::board::{Board, LiveBoard};
use crate::player::Replay;
use crate::process_signal::{Signal, SignalError, SignalTarget};
use crate::recording::RecordingError;
use crate::{Clock, Micros};

/// Until every GPU has told something, or for this long, frames follow each other quickly.
const ARRIVING: Duration = Duration::from_secs(1);
const ARRIVING_FRAME: Duration = Duration::from_millis(5);

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
                "{:.1} of {:.1} s, ×{}  ",
                replay.place().as_secs_f64(),
                replay.length().as_secs_f64(),
                replay.speed()
            ),
        }
    }

    fn speed(&self) -> f64 {
        match self {
            Self::Live(_) => 1.0,
            Self::Replay(replay) => replay.speed(),
        }
    }

    fn now(&self) -> Micros {
        match self {
            Self::Live(_) => Clock::System.now(),
            Self::Replay(replay) => replay.now(),
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
    /// Where processes were looked up.
    pub proc_root: PathBuf,
    /// Becomes true when a signal asks for the end.
    pub ended: Arc<AtomicBool>,
}

/// Shows the board until the user quits, or a signal asks for the end. The terminal is given back as it was, also after an
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
    let mut ending = Ending::default();
    let begun = Instant::now();
    loop {
        ending.look(&mut view);
        let arriving = match &held {
            Some(board) => {
                terminal.draw(|frame| draw(frame, board, &view))?;
                false
            }
            None => {
                view.title = format!("{}{}", source.place(), options.title);
                view.speed = source.speed();
                view.now = Some(source.now());
                let now = source.board().now();
                terminal.draw(|frame| draw(frame, &now, &view))?;
                let silent = now.gpus.iter().any(|gpu| gpu.state_at.is_none());
                now.inventory.nvml_absent.is_none() && (now.gpus.is_empty() || silent)
            }
        };
        let quickly = arriving && begun.elapsed() < ARRIVING;
        let frame = if quickly {
            ARRIVING_FRAME
        } else {
            options.frame
        };
        let pressed = event::poll(frame)?;
        if options.ended.load(Ordering::Relaxed) {
            return Ok(());
        }
        if !pressed {
            continue;
        }
        let Input::Key(key) = event::read()? else {
            continue;
        };
        if key.kind != KeyEventKind::Press {
            continue;
        }
        if !view.is_modal() && source.press(key.code).map_err(io::Error::other)? {
            held = None;
            view.paused = false;
            continue;
        }
        let now = match &held {
            Some(board) => board.clone(),
            None => source.board().now().clone(),
        };
        match press(&mut view, &now, key) {
            Action::Draw => {}
            Action::Quit => return Ok(()),
            Action::Hold => {
                held = match held {
                    Some(_) => None,
                    None => Some(now),
                };
                view.paused = held.is_some();
            }
            Action::Ask => ending.ask(&mut view, &now, options),
            Action::Send(signal) => ending.send(&mut view, signal),
        }
    }
}

/// A process on its way to its end.
#[derive(Default)]
struct Ending {
    target: Option<SignalTarget>,
    sent: Option<Signal>,
}

impl Ending {
    /// Finds the chosen process and asks about it, or says why it cannot be ended.
    fn ask(&mut self, view: &mut ViewState, board: &Board, options: &ScreenOptions) {
        *self = Self::default();
        if view.replay {
            view.message = Some("`replay` shows the past: no signal can be sent".to_owned());
            return;
        }
        let listed = rows(board, view);
        let chosen = view.process;
        // One that is gone or filtered out is not what the user looks at.
        let chosen = chosen.filter(|chosen| listed.iter().any(|row| row.key() == *chosen));
        let Some(chosen) = chosen else {
            view.message = Some("choose a process first: Tab, then ↑ ↓".to_owned());
            return;
        };
        let known = board.identities.get(&chosen.pid);
        let unknown = crate::ProcessIdentity {
            pid: chosen.pid,
            ..crate::ProcessIdentity::default()
        };
        // Numbers that the driver took from another namespace are other processes here.
        let found = match board.inventory.host_pids {
            Some(false) => Err(SignalError::NotVisible(chosen.pid)),
            _ => SignalTarget::find(&options.proc_root, known.unwrap_or(&unknown)),
        };
        match found {
            Err(error) => view.message = Some(error.to_string()),
            Ok(target) => {
                let who = format!("{}, user {}", figures::program(known), figures::user(known));
                view.question = Some(Question {
                    pid: chosen.pid,
                    who,
                });
                self.target = Some(target);
            }
        }
    }

    fn send(&mut self, view: &mut ViewState, signal: Signal) {
        let Some(target) = &self.target else { return };
        view.message = Some(match target.send(signal) {
            Ok(()) => format!("{} sent to process {}", signal.name(), target.pid()),
            Err(error) => error.to_string(),
        });
        self.sent = Some(signal);
    }

    /// Says once that a process that was signalled has ended.
    fn look(&mut self, view: &mut ViewState) {
        if self.sent.is_some()
            && let Some(target) = self.target.take_if(|target| target.has_ended())
        {
            view.message = Some(format!("process {} has ended", target.pid()));
            self.sent = None;
        }
    }
}
