//! One frame of the live view, drawn from the board alone: title, GPUs, plots, processes, keys.
//!
//! Invariants: everything is readable without colour; 60 columns by 15 lines are enough, and a smaller
//! terminal is told so in one line; nothing is drawn outside of the terminal.

use ratatui::Frame;
use ratatui::buffer::Buffer;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Color, Style};

use super::cells::{Pen, bold, cells_of, coloured};
use super::view::{Page, ViewState};
use super::{dialogs, figures, gpu_page, gpu_table, process_table};
use crate::Micros;
use crate::board::Board;

/// Columns and lines below which nothing is drawn.
pub const SMALLEST: (u16, u16) = (60, 15);
/// Lines of the plots below the GPUs, and those that processes keep.
const PLOTS: u16 = 7;
const PROCESSES: u16 = 6;

/// Draws a frame.
pub fn draw(frame: &mut Frame<'_>, board: &Board, view: &ViewState) {
    let area = frame.area();
    let buffer = frame.buffer_mut();
    let (columns, lines) = SMALLEST;
    if area.width < columns || area.height < lines {
        let text = format!(
            "{}×{} is too small: needs {columns}×{lines}",
            area.width, area.height
        );
        Pen::at(buffer, area, 0).rest(&text, Style::new());
        return;
    }
    let [title, picture, status, keys] = Layout::vertical([
        Constraint::Length(1),
        Constraint::Fill(1),
        Constraint::Length(1),
        Constraint::Length(1),
    ])
    .areas(area);
    draw_title(&mut Pen::at(buffer, title, 0), board, view);
    let gpus = board.gpus.len();
    // A GPU that went away leaves the choice at the last one.
    let mut inside = view.clone();
    inside.selected = view.selected.min(gpus.saturating_sub(1));
    let view = &inside;
    let latest = board.gpus.iter().filter_map(|gpu| gpu.state_at).max();
    let now = view.now.or(latest).unwrap_or_default();
    match view.page {
        _ if gpus == 0 => draw_nothing(buffer, picture, board, view.colour),
        Page::Machine => draw_machine(buffer, picture, board, view, now),
        Page::Gpu => gpu_page::draw(buffer, picture, board, view, now),
    }
    draw_status(&mut Pen::at(buffer, status, 0), board, view);
    draw_keys(&mut Pen::at(buffer, keys, 0), view);
    if view.help {
        dialogs::draw_help(buffer, area);
    }
    if let Some(question) = &view.question {
        dialogs::draw_question(buffer, area, question);
    }
}

fn draw_title(pen: &mut Pen<'_>, board: &Board, view: &ViewState) {
    let driver = board.inventory.driver.as_deref().unwrap_or("no driver");
    let verb = if view.replay { "replay" } else { "watch" };
    let held = if view.paused { "  HELD" } else { "" };
    let title = figures::harmless(&view.title);
    let text = format!(" warpsmith {verb}{held}  driver {driver}  {title}");
    pen.rest(&text, bold());
}

fn draw_nothing(buffer: &mut Buffer, area: Rect, board: &Board, colour: bool) {
    let inventory = &board.inventory;
    let unreachable = inventory.unreachable.first().map(ToString::to_string);
    let reason = inventory.nvml_absent.clone().or(unreachable);
    let reason = reason.unwrap_or_else(|| "the driver counts none".to_owned());
    // A reason is a sentence: it takes as many lines as it needs.
    let style = coloured(colour, Color::Red).patch(bold());
    let width = usize::from(area.width).saturating_sub(2).max(1);
    let letters: Vec<char> = format!("no GPU: {}", figures::harmless(&reason))
        .chars()
        .collect();
    for (line, part) in (0..area.height).zip(letters.chunks(width)) {
        let mut pen = Pen::at(buffer, area, line);
        pen.skip(1);
        pen.rest(&part.iter().collect::<String>(), style);
    }
}

fn draw_machine(buffer: &mut Buffer, area: Rect, board: &Board, view: &ViewState, now: Micros) {
    // Processes keep half of a small terminal at most.
    let kept = PROCESSES.min(area.height / 2 - 1);
    let table = gpu_table::lines(board).min(area.height - kept);
    let spare = area.height - table - kept;
    let plots = if spare >= PLOTS { PLOTS } else { 0 };
    let [table, plots, list] = Layout::vertical([
        Constraint::Length(table),
        Constraint::Length(plots),
        Constraint::Fill(1),
    ])
    .areas(area);
    gpu_table::draw(buffer, table, board, view);
    if plots.height > 0 {
        let gpu = figures::present(&board.gpus[view.selected]);
        let identity = &board.inventory.gpus[view.selected];
        let [used, memory, power, temperature] = gpu_page::plots_of(identity, &gpu, view, now);
        // As many as have room for a minute.
        let all = [used, power, memory, temperature];
        let count = usize::from(plots.width / 40).clamp(1, all.len());
        let areas = Layout::horizontal(vec![Constraint::Fill(1); count])
            .spacing(1)
            .split(plots);
        for (plot, area) in all.iter().zip(areas.iter()) {
            plot.draw(buffer, *area);
        }
    }
    process_table::draw(buffer, list, board, view, now);
}

fn draw_status(pen: &mut Pen<'_>, board: &Board, view: &ViewState) {
    match &view.message {
        Some(message) => pen.rest(&format!(" {}", figures::harmless(message)), bold()),
        None => pen.rest(&format!(" {}", figures::host(board)), Style::new()),
    }
}

/// The keys that do something now, as many as have room, the most wanted first.
fn draw_keys(pen: &mut Pen<'_>, view: &ViewState) {
    let keys: &[&str] = match view {
        ViewState { typing: true, .. } => &["type a text", "Enter keeps it", "Esc clears it"],
        ViewState {
            question: Some(_), ..
        } => &["t SIGTERM", "k SIGKILL", "Esc no"],
        ViewState { replay: true, .. } => &[
            "? help",
            "q quit",
            "←→ 10 s",
            "PgUp PgDn a tenth",
            "+- speed",
            "Enter GPU",
            "↑↓ Tab choose",
            "s sort",
            "/ filter",
            "t tree",
        ],
        ViewState {
            page: Page::Gpu, ..
        } => &[
            "? help",
            "Esc back",
            "Tab next GPU",
            "s sort",
            "/ filter",
            "t tree",
            "x end",
            "↑↓ choose",
        ],
        _ => &[
            "? help",
            "q quit",
            "x end",
            "s sort",
            "/ filter",
            "t tree",
            "Enter GPU",
            "↑↓ Tab choose",
            "space hold",
        ],
    };
    pen.skip(1);
    for key in keys {
        if cells_of(key) > pen.room() {
            break;
        }
        pen.text(key, Style::new());
        pen.skip(2);
    }
}
