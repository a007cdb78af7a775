//! The board as plain text, for `--once` and for readers of screens.

use std::fmt::Write;

use super::figures;
use crate::board::Board;
use crate::event::Presence;

/// A few lines per GPU, one fact beside the other, no drawing.
pub fn snapshot_text(board: &Board) -> String {
    let mut out = String::new();
    let inventory = &board.inventory;
    match (&inventory.nvml_absent, &inventory.driver) {
        (Some(reason), _) => {
            let _ = writeln!(out, "no GPU: {}", figures::harmless(reason));
        }
        (None, Some(driver)) => {
            let _ = writeln!(out, "driver {driver}, {} GPUs", inventory.gpus.len());
        }
        (None, None) => {}
    }
    for (identity, gpu) in inventory.gpus.iter().zip(&board.gpus) {
        let state = &gpu.state;
        let _ = writeln!(
            out,
            "GPU {}  {}  {}",
            identity.index,
            figures::harmless(&identity.name),
            figures::harmless(&identity.uuid)
        );
        if gpu.presence != Presence::Live {
            let _ = writeln!(out, "  {}: no readings", figures::condition(gpu));
            continue;
        }
        if state.asleep == Some(1) {
            out.push_str("  asleep: to read it would wake it\n");
            continue;
        }
        let _ = writeln!(
            out,
            "  busy {}, memory busy {}, power {} of {}, {}",
            figures::number(state.busy_percent, " %"),
            figures::number(state.memory_busy_percent, " %"),
            figures::watts(state.power_mw),
            figures::watts(gpu.slow.power_limit_mw),
            figures::temperature(gpu),
        );
        let _ = writeln!(
            out,
            "  memory {} of {}, {} {}, clocks: {}",
            figures::bytes(state.memory_used_bytes),
            figures::bytes(identity.memory_total_bytes),
            identity.vendor.core_clock(),
            figures::number(state.sm_clock_mhz, " MHz"),
            figures::condition(gpu),
        );
        if let Some(activity) = figures::activity(gpu) {
            let _ = writeln!(out, "  {activity}");
        }
        let mut extras = figures::extras(identity, gpu);
        if gpu.steady.fan_rpm.is_some() {
            extras.push(format!("fan {}", figures::fan(gpu)));
        }
        if !extras.is_empty() {
            let _ = writeln!(out, "  {}", extras.join(", "));
        }
        for unknown in figures::not_known(identity, gpu) {
            let _ = writeln!(out, "  {unknown}");
        }
        if let Some(errors) = figures::xids(gpu) {
            let _ = writeln!(out, "  {errors}");
        }
        for instance in &gpu.mig {
            let _ = writeln!(
                out,
                "  MIG {}  {}  memory {} of {}",
                instance.index,
                figures::harmless(&instance.name),
                figures::bytes(instance.memory_used_bytes),
                figures::bytes(instance.memory_total_bytes),
            );
        }
        match &gpu.processes {
            None => out.push_str("  processes: not listed by the driver\n"),
            Some(list) if list.is_empty() => out.push_str("  processes: none\n"),
            Some(list) => {
                for process in list {
                    let _ = writeln!(out, "  process {}", figures::process(board, process));
                }
            }
        }
    }
    for gpu in &inventory.unreachable {
        let _ = writeln!(out, "{}", figures::harmless(&gpu.to_string()));
    }
    let _ = writeln!(out, "{}", figures::host(board));
    out
}
