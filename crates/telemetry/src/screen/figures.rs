//! Readings as short texts, the same on the live view and in a snapshot.

use std::borrow::Cow;

use warpsmith_core::Bytes;

use crate::baseline::ThrottleReason;
use crate::board::{Board, GpuBoard};
use crate::event::{Presence, ProcessUse};

/// A value that is not known.
pub(super) const ABSENT: &str = "–";

pub(super) fn number(value: Option<i64>, unit: &str) -> String {
    value.map_or_else(|| ABSENT.to_owned(), |value| format!("{value}{unit}"))
}

pub(super) fn watts(milliwatts: Option<i64>) -> String {
    number(milliwatts.map(|mw| (mw + 500) / 1000), " W")
}

pub(super) fn bytes(value: Option<i64>) -> String {
    value
        .and_then(|value| u64::try_from(value).ok())
        .map_or_else(|| ABSENT.to_owned(), |value| Bytes(value).to_string())
}

/// What a GPU says now: the readings of one that does not answer are those of the past, and not shown.
pub(super) fn present(gpu: &GpuBoard) -> Cow<'_, GpuBoard> {
    if gpu.presence == Presence::Live {
        return Cow::Borrowed(gpu);
    }
    Cow::Owned(GpuBoard {
        state_at: gpu.state_at,
        presence: gpu.presence,
        hangs_in: gpu.hangs_in,
        xids: gpu.xids.clone(),
        samples: gpu.samples,
        history: gpu.history.clone(),
        ..GpuBoard::default()
    })
}

/// Temperature, with the margin where there is one.
pub(super) fn temperature(gpu: &GpuBoard) -> String {
    match gpu.steady.margin_c {
        Some(margin) => format!("{} ({margin} left)", number(gpu.state.temperature_c, " °C")),
        None => number(gpu.state.temperature_c, " °C"),
    }
}

/// Presence, or what holds the clocks back right now.
pub(super) fn condition(gpu: &GpuBoard) -> String {
    match gpu.presence {
        Presence::Lost => return "LOST".into(),
        Presence::Stale => {
            return match gpu.hangs_in {
                Some(call) => format!("HUNG in {call}"),
                None => "HUNG".into(),
            };
        }
        Presence::Live => {}
    }
    // The latest says most about what is wrong now.
    if let Some((code, _)) = gpu.xids.iter().max_by_key(|(_, (_, last))| *last) {
        return format!("XID {code}");
    }
    let Some(bits) = gpu.state.event_reasons else {
        return ABSENT.into();
    };
    let mut reasons: Vec<&str> = ThrottleReason::ALL
        .into_iter()
        .filter(|reason| reason.bit().is_some_and(|bit| bits & bit != 0))
        .map(|reason| match reason {
            ThrottleReason::SoftwareThermal | ThrottleReason::HardwareThermal => "HEAT",
            ThrottleReason::PowerBrake => "POWER BRAKE",
            other => other.name(),
        })
        .collect();
    if bits & 0x8 != 0 {
        reasons.push("HW SLOWDOWN");
    }
    if bits & 0x2 != 0 {
        reasons.push("clocks set");
    }
    reasons.dedup();
    match (reasons.is_empty(), bits & 0x1 != 0) {
        (false, _) => reasons.join(", "),
        (true, true) => "idle".into(),
        (true, false) => "free".into(),
    }
}

/// How much of the GPU works, where it counts that.
pub(super) fn activity(gpu: &GpuBoard) -> Option<String> {
    let steady = &gpu.steady;
    let share = |permille: Option<i64>| {
        permille.map_or_else(
            || ABSENT.to_owned(),
            |permille| format!("{:.1} %", permille as f64 / 10.0),
        )
    };
    steady.sm_active_permille.or(steady.dram_active_permille)?;
    Some(format!(
        "SM active {}, tensor {}, DRAM {}, occupancy {}",
        share(steady.sm_active_permille),
        share(steady.tensor_active_permille),
        share(steady.dram_active_permille),
        share(steady.sm_occupancy_permille),
    ))
}

/// The driver's critical errors so far, where there were any.
pub(super) fn xids(gpu: &GpuBoard) -> Option<String> {
    let list: Vec<String> = gpu
        .xids
        .iter()
        .map(|(code, (count, _))| format!("{code} ({count} times)"))
        .collect();
    (!list.is_empty()).then(|| format!("Xid {}", list.join(", ")))
}

/// `(pid, user, memory, program)` of a process.
pub(super) fn process(board: &Board, process: &ProcessUse) -> [String; 4] {
    let known = board.identities.get(&process.pid);
    let user = known.and_then(|known| known.user.clone());
    let name = known.and_then(|known| {
        let program = known.command_line.clone().or_else(|| known.name.clone())?;
        Some(match &known.container {
            Some(container) => format!("{program} (container {container})"),
            None => program,
        })
    });
    [
        process.pid.to_string(),
        user.unwrap_or_else(|| ABSENT.into()),
        bytes(process.memory_bytes),
        name.unwrap_or_else(|| "name not visible".into()),
    ]
}

/// The host in a line.
pub(super) fn host(board: &Board) -> String {
    let host = &board.host;
    let used = host
        .memory_total_bytes
        .zip(host.memory_available_bytes)
        .map(|(total, free)| total - free);
    format!(
        "host  CPU {} of {} cores, memory {} of {}",
        host.cpu_busy_permille.map_or_else(
            || ABSENT.to_owned(),
            |busy| format!("{:.1} %", busy as f64 / 10.0)
        ),
        board.inventory.cores,
        bytes(used),
        bytes(host.memory_total_bytes),
    )
}
