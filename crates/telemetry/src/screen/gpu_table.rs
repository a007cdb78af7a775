//! The GPUs as rows: bars of use, memory, power and temperature, and what holds the clocks back; below
//! each its MIG instances, above all of them their totals.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::{Color, Style};

use super::cells::{Pen, bold, coloured, level};
use super::figures::{self, ABSENT};
use super::view::{Focus, Page, ViewState};
use crate::board::{Board, GpuBoard};
use crate::event::{GpuIdentity, Presence};

/// Width of `100 %`, with a gap before it.
const USE: u16 = 6;

/// Widths of the columns, by the width of the terminal. A bar of 0 is left out.
struct Columns {
    name: u16,
    bar: u16,
    memory: u16,
    power_bar: u16,
    power: u16,
    temperature_bar: u16,
    /// Room for the margin too from 14 on.
    temperature: u16,
    clock: u16,
}

impl Columns {
    fn of(width: u16) -> Self {
        let from = |least: u16, value: u16| if width >= least { value } else { 0 };
        let bar = match width {
            200.. => 20,
            160.. => 16,
            120.. => 12,
            100.. => 10,
            80.. => 8,
            72.. => 6,
            _ => 4,
        };
        Self {
            name: from(72, 8)
                .max(from(100, 10))
                .max(from(120, 12))
                .max(from(150, 20)),
            bar,
            memory: 13 + from(80, 1),
            power_bar: from(120, bar),
            power: 10 + from(120, 1),
            temperature_bar: from(150, bar),
            temperature: 5 + from(110, 10) + from(150, 1),
            clock: from(100, 5),
        }
    }
}

/// A row of the table.
enum Row<'a> {
    Gpu(usize),
    Instance(usize, usize),
    Unreachable(&'a crate::event::Unreachable),
}

fn rows(board: &Board) -> Vec<Row<'_>> {
    let gpus = board.gpus.iter().enumerate().flat_map(|(position, gpu)| {
        let instances = if gpu.presence == Presence::Live {
            gpu.mig.len()
        } else {
            0
        };
        let instances = (0..instances).map(move |nth| Row::Instance(position, nth));
        std::iter::once(Row::Gpu(position)).chain(instances)
    });
    let unreachable = board.inventory.unreachable.iter().map(Row::Unreachable);
    gpus.chain(unreachable).collect()
}

/// How many lines the table takes where there is room: head, totals of several GPUs, rows.
pub(super) fn lines(board: &Board) -> u16 {
    let totals = usize::from(board.gpus.len() > 1);
    u16::try_from(1 + totals + rows(board).len()).unwrap_or(u16::MAX)
}

/// Draws the table; the window of rows moves with the chosen GPU.
pub(super) fn draw(buffer: &mut Buffer, area: Rect, board: &Board, view: &ViewState) {
    let columns = Columns::of(area.width);
    let rows = rows(board);
    let several = board.gpus.len() > 1;
    let room = usize::from(area.height.saturating_sub(1 + u16::from(several)));
    let chosen = rows
        .iter()
        .position(|row| matches!(row, Row::Gpu(position) if *position == view.selected))
        .unwrap_or(0);
    let first = chosen.saturating_sub(room.saturating_sub(1) / 2);
    let first = first.min(rows.len().saturating_sub(room));
    let hidden = match (first > 0, first + room < rows.len()) {
        (true, true) => "GPU↕",
        (true, false) => "GPU↑",
        (false, true) => "GPU↓",
        (false, false) => "GPU",
    };
    draw_head(&mut Pen::at(buffer, area, 0), &columns, hidden);
    if several {
        draw_totals(&mut Pen::at(buffer, area, 1), &columns, board, view.colour);
    }
    let top = 1 + u16::from(several);
    for (line, row) in (top..).zip(rows.iter().skip(first).take(room)) {
        let pen = &mut Pen::at(buffer, area, line);
        match row {
            Row::Gpu(position) => draw_gpu(pen, &columns, board, *position, view),
            Row::Instance(position, nth) => {
                draw_instance(pen, &columns, board, *position, *nth, view.colour);
            }
            Row::Unreachable(one) => {
                let style = coloured(view.colour, Color::Red).patch(bold());
                pen.rest(&figures::harmless(&format!(" {one}")), style);
            }
        }
    }
}

fn draw_head(pen: &mut Pen<'_>, columns: &Columns, first: &str) {
    pen.left(4, first, bold());
    if columns.name > 0 {
        pen.left(columns.name, "name", bold());
    }
    pen.left(columns.bar + USE, "use", bold());
    pen.left(columns.bar + columns.memory, "memory", bold());
    pen.left(columns.power_bar + columns.power, "power", bold());
    pen.left(
        columns.temperature_bar + columns.temperature,
        "temp",
        bold(),
    );
    if columns.clock > 0 {
        pen.left(columns.clock, "MHz", bold());
    }
    pen.rest("state", bold());
}

/// What a row shows; absent where it is not known.
#[derive(Default)]
struct Values {
    busy_percent: Option<i64>,
    memory_used: Option<i64>,
    memory_total: Option<i64>,
    power_mw: Option<i64>,
    power_limit_mw: Option<i64>,
    temperature: String,
    /// Share of the way to slowing down.
    heat: Option<f64>,
    clock: String,
}

fn draw_values(pen: &mut Pen<'_>, columns: &Columns, values: &Values, style: Style, colour: bool) {
    let busy = values.busy_percent.map(|percent| percent as f64 / 100.0);
    pen.bar(columns.bar, busy, coloured(colour, Color::Cyan));
    pen.right(USE, &figures::number(values.busy_percent, " %"), style);
    let memory = figures::share(values.memory_used, values.memory_total);
    pen.bar(columns.bar, memory, level(colour, memory));
    let text = figures::memory(values.memory_used, values.memory_total);
    pen.right(columns.memory, &text, style);
    let power = figures::share(values.power_mw, values.power_limit_mw);
    pen.bar(columns.power_bar, power, level(colour, power));
    let text = figures::power(values.power_mw, values.power_limit_mw);
    pen.right(columns.power, &text, style);
    pen.bar(
        columns.temperature_bar,
        values.heat,
        level(colour, values.heat),
    );
    pen.right(columns.temperature, &values.temperature, style);
    if columns.clock > 0 {
        pen.right(columns.clock, &values.clock, style);
    }
}

/// Where the GPU slows itself down: newer ones say how far it is, older ones where.
pub(super) fn slowdown_c(identity: &GpuIdentity, gpu: &GpuBoard) -> Option<i64> {
    match (gpu.steady.margin_c, gpu.state.temperature_c) {
        (Some(margin), Some(now)) => Some(now.saturating_add(margin)),
        _ => identity.slowdown_temperature_c,
    }
}

fn values(identity: &GpuIdentity, gpu: &GpuBoard, margin: bool) -> Values {
    let temperature = gpu.state.temperature_c;
    // A GPU without memory of its own uses the host's.
    let own = identity.memory_total_bytes.is_some();
    let shared = gpu.state.shared_memory_used_bytes.filter(|_| !own);
    Values {
        busy_percent: gpu.state.busy_percent,
        memory_used: gpu.state.memory_used_bytes.or(shared),
        memory_total: identity.memory_total_bytes,
        power_mw: gpu.state.power_mw,
        power_limit_mw: gpu.slow.power_limit_mw,
        temperature: if margin {
            figures::temperature(gpu)
        } else {
            figures::number(temperature, " °C")
        },
        heat: figures::share(temperature, slowdown_c(identity, gpu)),
        clock: figures::number(gpu.state.sm_clock_mhz, ""),
    }
}

fn draw_gpu(
    pen: &mut Pen<'_>,
    columns: &Columns,
    board: &Board,
    position: usize,
    view: &ViewState,
) {
    let identity = &board.inventory.gpus[position];
    let gpu = &*figures::present(&board.gpus[position]);
    let condition = figures::condition(gpu);
    let alarming =
        gpu.presence != Presence::Live || condition.contains("HEAT") || !gpu.xids.is_empty();
    let mut style = Style::new();
    let is_chosen = view.page == Page::Machine && position == view.selected;
    let mark = match (is_chosen, view.focus) {
        (true, Focus::Gpus) => '>',
        // The arrows are elsewhere; the plots are of this one.
        (true, Focus::Processes) => '·',
        (false, _) => ' ',
    };
    if is_chosen {
        style = bold();
    }
    if alarming {
        style = coloured(view.colour, Color::Red).patch(bold());
    }
    pen.left(4, &format!("{mark}{}", identity.index), style);
    if columns.name > 0 {
        let name = identity.name.trim_start_matches("NVIDIA ");
        let name = name.trim_start_matches("AMD ").trim_start_matches("Intel ");
        pen.left(columns.name, &figures::harmless(name), style);
    }
    let values = values(identity, gpu, columns.temperature >= 14);
    draw_values(pen, columns, &values, style, view.colour);
    pen.rest(&condition, style);
}

fn draw_instance(
    pen: &mut Pen<'_>,
    columns: &Columns,
    board: &Board,
    position: usize,
    nth: usize,
    colour: bool,
) {
    let instance = &board.gpus[position].mig[nth];
    let index = board.inventory.gpus[position].index;
    pen.left(4, &format!(" {index}:{}", instance.index), Style::new());
    let name = figures::harmless(instance.name.trim_start_matches("NVIDIA ")).into_owned();
    // The slice stands at the end of the name: `H200 MIG 1g.18gb`.
    let slice = name.rsplit(' ').next().unwrap_or_default().to_owned();
    if columns.name > 0 {
        let fits = name.chars().count() <= usize::from(columns.name);
        let shown = if fits { &name } else { &slice };
        pen.left(columns.name, shown, Style::new());
    }
    let values = Values {
        memory_used: instance.memory_used_bytes,
        memory_total: instance.memory_total_bytes,
        temperature: ABSENT.to_owned(),
        clock: ABSENT.to_owned(),
        ..Values::default()
    };
    draw_values(pen, columns, &values, Style::new(), colour);
    pen.rest(&format!("MIG {slice}"), Style::new());
}

/// Sums of memory and power, the mean use, the highest temperature; of the GPUs that answer.
fn draw_totals(pen: &mut Pen<'_>, columns: &Columns, board: &Board, colour: bool) {
    let live: Vec<(&GpuIdentity, &GpuBoard)> = board
        .inventory
        .gpus
        .iter()
        .zip(&board.gpus)
        .filter(|(_, gpu)| gpu.presence == Presence::Live)
        .collect();
    let sum = |value: fn(&GpuIdentity, &GpuBoard) -> Option<i64>| {
        let known = live
            .iter()
            .filter_map(|(identity, gpu)| value(identity, gpu));
        known.reduce(i64::saturating_add)
    };
    let busy: Vec<i64> = live
        .iter()
        .filter_map(|(_, gpu)| gpu.state.busy_percent)
        .collect();
    let count = i64::try_from(busy.len()).unwrap_or(1).max(1);
    let busy = busy.into_iter().reduce(i64::saturating_add);
    let hottest = live.iter().max_by_key(|(_, gpu)| gpu.state.temperature_c);
    let single = hottest.map(|(identity, gpu)| values(identity, gpu, false));
    let single = single.unwrap_or_default();
    let values = Values {
        busy_percent: busy.map(|busy| busy.saturating_add(count / 2) / count),
        memory_used: sum(|_, gpu| gpu.state.memory_used_bytes),
        memory_total: sum(|identity, _| identity.memory_total_bytes),
        power_mw: sum(|_, gpu| gpu.state.power_mw),
        power_limit_mw: sum(|_, gpu| gpu.slow.power_limit_mw),
        temperature: single.temperature,
        heat: single.heat,
        clock: String::new(),
    };
    pen.left(4, " all", bold());
    if columns.name > 0 {
        pen.left(columns.name, "", bold());
    }
    draw_values(pen, columns, &values, bold(), colour);
    let all = board.gpus.len()
        + board
            .inventory
            .unreachable
            .iter()
            .filter(|one| one.gpu.is_some())
            .count();
    let text = if live.len() == all {
        format!("{all} GPUs")
    } else {
        format!("{} of {all}", live.len())
    };
    pen.rest(&text, bold());
}
