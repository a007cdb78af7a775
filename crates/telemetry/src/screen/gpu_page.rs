//! One GPU: what it is, what it does, and plots of its last minutes.

use ratatui::buffer::Buffer;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Color, Style};
use warpsmith_core::BytesPerSecond;

use super::cells::{Pen, bold, coloured};
use super::figures;
use super::plot::Plot;
use super::view::ViewState;
use super::{gpu_table, process_table};
use crate::Micros;
use crate::board::{Board, GpuBoard};
use crate::event::{GpuIdentity, Presence, Vendor};

/// Lines of plots below which processes are left out.
const PLOTS: u16 = 10;
const GIB: f64 = (1u64 << 30) as f64;

/// Draws the page of the chosen GPU.
pub(super) fn draw(buffer: &mut Buffer, area: Rect, board: &Board, view: &ViewState, now: Micros) {
    let identity = &board.inventory.gpus[view.selected];
    let gpu = &*figures::present(&board.gpus[view.selected]);
    let facts = facts(identity, gpu);
    // The first two say what is wrong; the others need room.
    let most = if area.height >= 20 { facts.len() } else { 2 };
    let shown = facts.len().min(most);
    for (line, fact) in (0..).zip(&facts[..shown]) {
        let alarming = line == 0 && (gpu.presence != Presence::Live || !gpu.xids.is_empty());
        let style = match (line, alarming) {
            (0, true) => coloured(view.colour, Color::Red).patch(bold()),
            (0, false) => bold(),
            _ => Style::new(),
        };
        Pen::at(buffer, area, line).rest(fact, style);
    }
    let top = u16::try_from(shown).unwrap_or(0);
    let rest = Rect {
        y: area.y + top,
        height: area.height - top,
        ..area
    };
    let processes = match rest.height.saturating_sub(PLOTS) {
        0..4 => 0,
        spare => (rest.height / 3).max(4).min(spare),
    };
    let [plots, list] =
        Layout::vertical([Constraint::Fill(1), Constraint::Length(processes)]).areas(rest);
    let [upper, lower] = Layout::vertical([Constraint::Fill(1); 2]).areas(plots);
    let halves = Layout::horizontal([Constraint::Fill(1); 2]).spacing(1);
    let [use_area, memory_area] = halves.areas(upper);
    let [power_area, temperature_area] = halves.areas(lower);
    for (area, plot) in [use_area, memory_area, power_area, temperature_area]
        .into_iter()
        .zip(plots_of(identity, gpu, view, now))
    {
        plot.draw(buffer, area);
    }
    process_table::draw(buffer, list, board, view, now);
}

/// The plots of a GPU: use, memory, power, temperature.
pub(super) fn plots_of<'a>(
    identity: &GpuIdentity,
    gpu: &'a GpuBoard,
    view: &ViewState,
    now: Micros,
) -> [Plot<'a>; 4] {
    let plot = |name: &'a str, unit: &'a str, value, most, colour| Plot {
        name,
        unit,
        history: &gpu.history,
        value,
        most,
        now,
        live: gpu.presence == Presence::Live,
        speed: view.speed,
        style: coloured(view.colour, colour),
    };
    let watts = |milliwatts: i64| milliwatts as f64 / 1e3;
    [
        plot(
            "use",
            "%",
            |point| point.busy_percent.map(|percent| percent as f64),
            Some(100.0),
            Color::Cyan,
        ),
        plot(
            "memory",
            "GiB",
            |point| point.memory_used_bytes.map(|bytes| bytes as f64 / GIB),
            identity.memory_total_bytes.map(|bytes| bytes as f64 / GIB),
            Color::Green,
        ),
        plot(
            "power",
            "W",
            |point| point.power_mw.map(|power| (power as f64 / 1e3).round()),
            // A GPU that does not answer has no limit now, and its past the same scale.
            gpu.slow
                .power_limit_mw
                .or(identity.power_limit_default_mw)
                .map(watts),
            Color::Yellow,
        ),
        plot(
            "temperature",
            "°C",
            |point| point.temperature_c.map(|degrees| degrees as f64),
            gpu_table::slowdown_c(identity, gpu).map(|degrees| degrees as f64),
            Color::Red,
        ),
    ]
}

/// What is known beside the plots, a line each.
fn facts(identity: &GpuIdentity, gpu: &GpuBoard) -> Vec<String> {
    let mut lines = vec![
        format!(
            " GPU {}  {}  state: {}  {}",
            identity.index,
            figures::harmless(&identity.name),
            figures::condition(gpu),
            figures::harmless(&identity.uuid),
        ),
        format!(
            " {}, {} {} of {}, memory {}{}, fan {}",
            figures::temperature(gpu),
            identity.vendor.core_clock(),
            figures::number(gpu.state.sm_clock_mhz, ""),
            figures::number(identity.sm_clock_max_mhz, " MHz"),
            figures::number(gpu.state.memory_clock_mhz, " MHz"),
            match identity.vendor {
                Vendor::Nvidia =>
                    format!(", P{}", figures::number(gpu.steady.performance_state, "")),
                // Only NVIDIA's GPUs have performance states.
                Vendor::Amd | Vendor::Intel => String::new(),
            },
            figures::fan(gpu),
        ),
    ];
    let extras = figures::extras(identity, gpu);
    if !extras.is_empty() {
        lines.push(format!(" {}", extras.join(", ")));
    }
    let unknown = figures::not_known(identity, gpu).into_iter();
    lines.extend(unknown.map(|unknown| format!(" {unknown}")));
    if let Some(activity) = figures::activity(gpu) {
        lines.push(format!(" {activity}"));
    }
    let rate = |bytes: Option<i64>| {
        bytes.map_or_else(
            || figures::ABSENT.to_owned(),
            |bytes| BytesPerSecond(bytes as f64).to_string(),
        )
    };
    lines.push(format!(
        " PCIe {} ×{}, sent {}, received {}, replays {}, at {}",
        figures::number(gpu.slow.pcie_generation, ""),
        figures::number(gpu.slow.pcie_width, ""),
        rate(gpu.steady.pcie_sent_bytes_s),
        rate(gpu.steady.pcie_received_bytes_s),
        figures::number(gpu.slow.pcie_replays, ""),
        identity.pci_bus_id.as_deref().unwrap_or(figures::ABSENT),
    ));
    // Most cards of other makers have no such counters.
    if identity.vendor == Vendor::Nvidia || gpu.slow.ecc_corrected.is_some() {
        lines.push(format!(
            " ECC errors: {} corrected, {} uncorrected",
            figures::number(gpu.slow.ecc_corrected, ""),
            figures::number(gpu.slow.ecc_uncorrected, ""),
        ));
    }
    lines.extend(figures::xids(gpu).map(|xids| format!(" {xids}")));
    lines.extend(gpu.mig.iter().map(|instance| {
        format!(
            " MIG {}  {}  memory {}",
            instance.index,
            figures::harmless(&instance.name),
            figures::memory(instance.memory_used_bytes, instance.memory_total_bytes),
        )
    }));
    lines
}
