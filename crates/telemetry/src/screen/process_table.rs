//! The processes as rows: whose they are, what they use, where they run.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::{Color, Style};

use super::cells::{Pen, bold, coloured};
use super::figures::{self, ABSENT};
use super::process_list::{ProcessRow, rows};
use super::view::{Focus, Page, SortBy, ViewState};
use crate::Micros;
use crate::board::Board;
use crate::event::Presence;

/// Widths of the columns, by the width of the terminal. A column of 0 is left out.
struct Columns {
    user: u16,
    container: u16,
    age: u16,
}

impl Columns {
    fn of(width: u16) -> Self {
        let from = |least: u16, value: u16| if width >= least { value } else { 0 };
        Self {
            user: 8 + from(100, 4),
            container: from(76, 12).max(from(140, 25)),
            age: from(100, 7),
        }
    }
}

/// Draws a line about the list, its head, and the rows around the chosen one.
pub(super) fn draw(buffer: &mut Buffer, area: Rect, board: &Board, view: &ViewState, now: Micros) {
    if area.height < 2 {
        return;
    }
    let columns = Columns::of(area.width);
    let list = rows(board, view);
    let room = usize::from(area.height - 2);
    let chosen = list.iter().position(|row| Some(row.key()) == view.process);
    let first = chosen
        .unwrap_or(0)
        .saturating_sub(room.saturating_sub(1) / 2);
    let first = first.min(list.len().saturating_sub(room));
    let title = title(board, view, &list, first, room);
    Pen::at(buffer, area, 0).rest(&title, bold());
    draw_head(&mut Pen::at(buffer, area, 1), &columns, view);
    for (line, (nth, row)) in (2..).zip(list.iter().enumerate().skip(first).take(room)) {
        let is_chosen = chosen == Some(nth);
        let pen = &mut Pen::at(buffer, area, line);
        draw_row(pen, &columns, board, row, is_chosen, now, view);
    }
}

fn title(
    board: &Board,
    view: &ViewState,
    list: &[ProcessRow<'_>],
    first: usize,
    room: usize,
) -> String {
    let count = list.iter().filter(|row| row.gpu.is_some()).count();
    let mut text = match view.page {
        Page::Machine => format!("processes: {count}"),
        Page::Gpu => {
            let index = board.inventory.gpus.get(view.selected).map(|gpu| gpu.index);
            let index = index.unwrap_or_default();
            let gpu = board.gpus.get(view.selected);
            match gpu {
                Some(gpu) if gpu.presence != Presence::Live => {
                    format!("processes on GPU {index}: it does not answer")
                }
                Some(gpu) if gpu.processes.is_none() => {
                    format!("processes on GPU {index}: not listed by the driver")
                }
                _ => format!("processes on GPU {index}: {count}"),
            }
        }
    };
    let unlisted = board
        .gpus
        .iter()
        .filter(|gpu| gpu.presence == Presence::Live && gpu.processes.is_none())
        .count();
    if view.page == Page::Machine && unlisted > 0 && unlisted == board.gpus.len() {
        text = "processes: not listed by the driver".to_owned();
    }
    if list.len() > room {
        let last = (first + room).min(list.len());
        text += &format!(", rows {} to {last} of {}", first + 1, list.len());
    }
    if !view.filter.is_empty() || view.typing {
        let cursor = if view.typing { "▏" } else { "" };
        text += &format!("  filter: {}{cursor}", figures::harmless(&view.filter));
    }
    text
}

fn draw_head(pen: &mut Pen<'_>, columns: &Columns, view: &ViewState) {
    let head = |name: &str, by: Option<SortBy>| {
        let mark = match (by == Some(view.sort), view.reverse) {
            (false, _) => "",
            (true, false) => "↓",
            (true, true) => "↑",
        };
        format!("{name}{mark}")
    };
    pen.right(8, &head("pid", Some(SortBy::Pid)), bold());
    pen.left(columns.user, &head("user", Some(SortBy::User)), bold());
    pen.left(4, &head("GPU", Some(SortBy::Gpu)), bold());
    pen.right(5, &head("use", Some(SortBy::Use)), bold());
    pen.right(9, &head("memory", Some(SortBy::Memory)), bold());
    if columns.age > 0 {
        pen.right(columns.age, &head("age", Some(SortBy::Age)), bold());
    }
    if columns.container > 0 {
        let name = if columns.container > 12 {
            "container, pod"
        } else {
            "container"
        };
        pen.left(columns.container, &head(name, None), bold());
    }
    pen.rest(&head("command", Some(SortBy::Command)), bold());
}

fn draw_row(
    pen: &mut Pen<'_>,
    columns: &Columns,
    board: &Board,
    row: &ProcessRow<'_>,
    is_chosen: bool,
    now: Micros,
    view: &ViewState,
) {
    let has_focus = view.page == Page::Gpu || view.focus == Focus::Processes;
    let style = match (is_chosen, row.gpu) {
        (true, _) if has_focus => bold(),
        // Only here for those below it.
        (_, None) => coloured(view.colour, Color::DarkGray),
        _ => Style::new(),
    };
    let mark = if is_chosen && has_focus { ">" } else { " " };
    pen.text(mark, style);
    pen.right(7, &row.pid.to_string(), style);
    pen.left(columns.user, &figures::user(row.identity), style);
    pen.left(4, &gpu_of(board, row), style);
    let usage = row.usage.as_ref();
    let share = usage.map_or_else(String::new, |usage| {
        figures::number(usage.busy_percent, " %")
    });
    pen.right(5, &share, style);
    let memory = usage.map_or_else(String::new, |usage| figures::bytes(usage.memory_bytes));
    pen.right(9, &memory, style);
    if columns.age > 0 {
        let started = row.identity.and_then(|known| known.started_unix);
        pen.right(columns.age, &figures::age(started, now), style);
    }
    if columns.container > 0 {
        let place = figures::place(row.identity, columns.container > 12);
        pen.left(columns.container, &place, style);
    }
    pen.text(&row.branch, Style::new());
    let graphics = usage.is_some_and(|usage| !usage.compute);
    pen.text(&figures::program(row.identity), style);
    if graphics {
        pen.rest(" (graphics)", style);
    }
}

/// The GPU, and its instance where it is cut: `0:1`.
fn gpu_of(board: &Board, row: &ProcessRow<'_>) -> String {
    let Some((position, identity)) = row
        .gpu
        .and_then(|position| Some((position, board.inventory.gpus.get(position)?)))
    else {
        return ABSENT.to_owned();
    };
    let number = row.usage.as_ref().and_then(|usage| usage.gpu_instance);
    let instances = &board.gpus[position].mig;
    let instance = instances
        .iter()
        .find(|instance| number.is_some() && instance.gpu_instance == number);
    match instance {
        Some(instance) => format!("{}:{}", identity.index, instance.index),
        None => identity.index.to_string(),
    }
}
