//! What opens over the picture: the help, and the question whether to end a process.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::widgets::{Block, Clear, Widget};

use super::cells::{Pen, bold, cells_of};
use super::view::Question;

/// Fits into the smallest terminal.
const HELP: [&str; 13] = [
    "use      share of time with a kernel running",
    "state    what limits the clocks: idle, power cap, HEAT",
    "q        quit               Esc    back, or quit",
    "↑ ↓      choose             Tab    other list, next GPU",
    "Enter    plots of one GPU   space  hold the picture",
    "s        next order         r      turn the order round",
    "M U P G  by memory, use, pid, GPU",
    "N A C    by user name, age, command",
    "/        filter by a text; Enter keeps it, Esc clears it",
    "t        tree               x      end a process (asks)",
    "← →      in a replay: 10 s; PgUp, PgDn a tenth of it",
    "+ -      in a replay: faster, slower; Home begins again",
    "?        close this help",
];

/// Draws the help.
pub(super) fn draw_help(buffer: &mut Buffer, whole: Rect) {
    draw_box(buffer, whole, " help ", &HELP);
}

/// Draws the question.
pub(super) fn draw_question(buffer: &mut Buffer, whole: Rect, question: &Question) {
    let title = format!(" end process {}? ", question.pid);
    let lines = [
        question.who.as_str(),
        "",
        "t    SIGTERM: ask it to end, it may clean up",
        "k    SIGKILL: end it at once, unsaved work is lost",
        "Esc  leave it alone",
    ];
    draw_box(buffer, whole, &title, &lines);
}

fn draw_box(buffer: &mut Buffer, whole: Rect, title: &str, lines: &[&str]) {
    let widest = lines.iter().map(|line| cells_of(line)).max().unwrap_or(0);
    let width = widest.saturating_add(4).min(whole.width);
    let height = u16::try_from(lines.len() + 2).unwrap_or(u16::MAX);
    let height = height.min(whole.height);
    let area = Rect {
        x: whole.x + (whole.width - width) / 2,
        y: whole.y + (whole.height - height) / 2,
        width,
        height,
    };
    Clear.render(area, buffer);
    let block = Block::bordered().title(title).title_style(bold());
    let inside = block.inner(area);
    block.render(area, buffer);
    for (nth, line) in (0..).zip(lines) {
        let mut pen = Pen::at(buffer, inside, nth);
        pen.skip(1);
        pen.rest(line, Style::new());
    }
}
