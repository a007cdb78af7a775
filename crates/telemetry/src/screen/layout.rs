//! One frame of the live view, drawn from the board alone: GPUs, plots, processes, keys.
//!
//! Invariants: everything is readable without colour; 80 columns by 24 lines are enough; a smaller
//! terminal shows what fits.

use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::Line;
use ratatui::widgets::{Block, Clear, Paragraph, Row, Sparkline, Table};

use super::figures;
use crate::board::{Board, GpuBoard, HistoryPoint};
use crate::event::Presence;

/// What the user has chosen.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ViewState {
    /// The GPU whose plots and processes are shown.
    pub selected: usize,
    /// Whether the help is open.
    pub help: bool,
    /// Whether the picture stands still.
    pub paused: bool,
    /// Whether colour may be used.
    pub colour: bool,
    /// What is shown beside the title: the source of a replay.
    pub title: String,
    /// Whether the keys that move a replay do something.
    pub replay: bool,
}

const KEYS: &str = " q quit  ↑↓ GPU  space pause  ? help";
const REPLAY_KEYS: &str = "  ←→ 10 s  PgUp PgDn a tenth  Home start  +- speed";
const HELP: &str = "busy     share of time with a kernel running, not how full the GPU is\n\
                    left     degrees before the GPU slows itself down\n\
                    clocks   what holds them back now: idle, power cap, HEAT, …\n\
                    \n\
                    q, Esc   quit\n\
                    ↑ ↓      another GPU\n\
                    space    hold the picture\n\
                    ← →      in a replay: ten seconds back and on; PgUp, PgDn a tenth of it\n\
                    + -      in a replay: faster and slower; Home begins again\n\
                    ?        close this help";

/// Draws a frame.
pub fn draw(frame: &mut Frame<'_>, board: &Board, view: &ViewState) {
    let gpus = board.inventory.gpus.len();
    // Title, table head, GPUs (as many as leave room for the rest), plots, processes, host, keys.
    let rows = u16::try_from(gpus).unwrap_or(u16::MAX).clamp(1, 8);
    let [title, table, plots, processes, host, keys] = Layout::vertical([
        Constraint::Length(1),
        Constraint::Length(rows + 1),
        Constraint::Length(7),
        Constraint::Min(3),
        Constraint::Length(1),
        Constraint::Length(1),
    ])
    .areas(frame.area());
    let bold = Style::new().add_modifier(Modifier::BOLD);
    let driver = board.inventory.driver.as_deref().unwrap_or("no driver");
    let held = if view.paused { "  held" } else { "" };
    let text = format!(" warpsmith watch  driver {driver}  {}{held}", view.title);
    frame.render_widget(Paragraph::new(Line::styled(text, bold)), title);
    if gpus == 0 {
        let reason = board
            .inventory
            .nvml_absent
            .clone()
            .or_else(|| board.inventory.unreachable.first().map(ToString::to_string))
            .unwrap_or_else(|| "the driver counts none".to_owned());
        frame.render_widget(Paragraph::new(format!(" no GPU: {reason}")), table);
    } else {
        let selected = view.selected.min(gpus - 1);
        draw_table(
            frame,
            table,
            board,
            selected,
            usize::from(rows),
            view.colour,
        );
        let gpu = figures::present(&board.gpus[selected]);
        draw_plots(frame, plots, &gpu, view.colour);
        draw_processes(frame, processes, board, selected);
    }
    let down: Vec<String> = board
        .inventory
        .unreachable
        .iter()
        .map(|one| format!("  {one}"))
        .collect();
    let text = format!(" {}{}", figures::host(board), down.concat());
    frame.render_widget(Paragraph::new(text), host);
    let moves = if view.replay { REPLAY_KEYS } else { "" };
    frame.render_widget(Paragraph::new(format!("{KEYS}{moves}")), keys);
    if view.help {
        draw_help(frame);
    }
}

fn draw_table(
    frame: &mut Frame<'_>,
    area: Rect,
    board: &Board,
    selected: usize,
    rows: usize,
    colour: bool,
) {
    let bold = Style::new().add_modifier(Modifier::BOLD);
    // The window of GPUs moves with the selection.
    let first = selected.saturating_sub(rows - 1);
    let lines = board
        .inventory
        .gpus
        .iter()
        .zip(&board.gpus)
        .enumerate()
        .skip(first)
        .take(rows)
        .map(|(position, (identity, gpu))| {
            let gpu = &*figures::present(gpu);
            let mark = if position == selected { ">" } else { " " };
            let condition = figures::condition(gpu);
            let mut style = Style::new();
            if gpu.presence != Presence::Live || condition.contains("HEAT") || !gpu.xids.is_empty()
            {
                style = style.add_modifier(Modifier::BOLD);
                if colour {
                    style = style.fg(Color::Red);
                }
            }
            Row::new([
                format!("{mark}{}", identity.index),
                identity.name.trim_start_matches("NVIDIA ").to_owned(),
                figures::number(gpu.state.busy_percent, " %"),
                figures::bytes(gpu.state.memory_used_bytes),
                figures::watts(gpu.state.power_mw),
                figures::temperature(gpu),
                figures::number(gpu.state.sm_clock_mhz, ""),
                condition,
            ])
            .style(style)
        });
    let widths = [
        Constraint::Length(4),
        Constraint::Length(12),
        Constraint::Length(6),
        Constraint::Length(9),
        Constraint::Length(6),
        Constraint::Length(15),
        Constraint::Length(5),
        Constraint::Min(12),
    ];
    let head = Row::new([
        "GPU",
        "name",
        "busy",
        "memory",
        "power",
        "temperature",
        "MHz",
        "clocks",
    ]);
    frame.render_widget(Table::new(lines, widths).header(head.style(bold)), area);
}

fn draw_plots(frame: &mut Frame<'_>, area: Rect, gpu: &GpuBoard, colour: bool) {
    let [left, right] = Layout::horizontal([Constraint::Fill(1), Constraint::Fill(1)]).areas(area);
    let limit = gpu
        .slow
        .power_limit_mw
        .and_then(|mw| u64::try_from(mw).ok());
    let busy = |point: &HistoryPoint| point.busy_percent;
    let power = |point: &HistoryPoint| point.power_mw;
    let title = |name: &str, now: String| format!(" {name} {now} ");
    // Where the GPU counts it, how much of it is busy stands beside how long it is.
    let now_busy = match gpu
        .steady
        .sm_active_permille
        .zip(gpu.steady.dram_active_permille)
    {
        Some((sm, dram)) => format!(
            "{}  SM {} %  DRAM {} %",
            figures::number(gpu.state.busy_percent, " %"),
            sm / 10,
            dram / 10
        ),
        None => figures::number(gpu.state.busy_percent, " %"),
    };
    plot(
        frame,
        left,
        title("busy", now_busy),
        gpu,
        busy,
        Some(100),
        colour.then_some(Color::Green),
    );
    let now_power = figures::watts(gpu.state.power_mw);
    plot(
        frame,
        right,
        title("power", now_power),
        gpu,
        power,
        limit,
        colour.then_some(Color::Yellow),
    );
}

fn plot(
    frame: &mut Frame<'_>,
    area: Rect,
    title: String,
    gpu: &GpuBoard,
    value: fn(&HistoryPoint) -> Option<i64>,
    most: Option<u64>,
    colour: Option<Color>,
) {
    let block = Block::bordered().title(title);
    let width = usize::from(block.inner(area).width);
    let skipped = gpu.history.len().saturating_sub(width);
    let points: Vec<u64> = gpu
        .history
        .iter()
        .skip(skipped)
        .map(|point| {
            value(point)
                .and_then(|value| u64::try_from(value).ok())
                .unwrap_or(0)
        })
        .collect();
    let mut line = Sparkline::default().block(block).data(&points);
    if let Some(most) = most {
        line = line.max(most);
    }
    if let Some(colour) = colour {
        line = line.style(Style::new().fg(colour));
    }
    frame.render_widget(line, area);
}

fn draw_processes(frame: &mut Frame<'_>, area: Rect, board: &Board, selected: usize) {
    let gpu = &*figures::present(&board.gpus[selected]);
    let index = board.inventory.gpus[selected].index;
    let mut list: Vec<_> = gpu.processes.iter().flatten().collect();
    list.sort_by_key(|process| (std::cmp::Reverse(process.memory_bytes), process.pid));
    let title = match (&gpu.processes, gpu.mig.len()) {
        (None, _) if gpu.presence != Presence::Live => {
            format!(" processes on GPU {index}: it does not answer ")
        }
        (None, _) => format!(" processes on GPU {index}: not listed by the driver "),
        (Some(_), 0) => format!(" processes on GPU {index}: {} ", list.len()),
        (Some(_), instances) => {
            format!(
                " processes on GPU {index}: {}, {instances} MIG instances ",
                list.len()
            )
        }
    };
    let widths = [
        Constraint::Length(8),
        Constraint::Length(10),
        Constraint::Length(9),
        Constraint::Min(10),
    ];
    let rows = list
        .into_iter()
        .map(|process| Row::new(figures::process(board, process)));
    frame.render_widget(
        Table::new(rows, widths).block(Block::bordered().title(title)),
        area,
    );
}

fn draw_help(frame: &mut Frame<'_>) {
    let whole = frame.area();
    let (width, height) = (74.min(whole.width), 10.min(whole.height));
    let area = Rect {
        x: (whole.width - width) / 2,
        y: (whole.height - height) / 2,
        width,
        height,
    };
    frame.render_widget(Clear, area);
    let help = Paragraph::new(HELP).block(Block::bordered().title(" help "));
    frame.render_widget(help, area);
}
