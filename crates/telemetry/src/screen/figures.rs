//! Readings as short texts, the same on the live view and in a snapshot.

use std::borrow::Cow;

use warpsmith_core::{Bytes, BytesPerSecond};

use super::cells::cells_of;
use crate::Micros;
use crate::baseline::ThrottleReason;
use crate::board::{Board, GpuBoard};
use crate::event::{GpuIdentity, Presence, ProcessIdentity, ProcessUse, Vendor};

/// A value that is not known.
pub(super) const ABSENT: &str = "–";

pub(super) fn number(value: Option<i64>, unit: &str) -> String {
    value.map_or_else(|| ABSENT.to_owned(), |value| format!("{value}{unit}"))
}

pub(super) fn watts(milliwatts: Option<i64>) -> String {
    number(milliwatts.map(|mw| mw.saturating_add(500) / 1000), " W")
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
    if gpu.state.asleep == Some(1) {
        return "asleep".into();
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

/// Fan speed in whatever the driver says.
pub(super) fn fan(gpu: &GpuBoard) -> String {
    let (percent, rpm) = (gpu.steady.fan_percent, gpu.steady.fan_rpm);
    match (percent, rpm) {
        (Some(percent), Some(rpm)) => format!("{percent} % ({rpm}/min)"),
        (None, Some(rpm)) => format!("{rpm}/min"),
        (percent, None) => number(percent, " %"),
    }
}

/// What only some drivers say, each only where it is said: hotspot and memory temperature, memory shared
/// with the host, video engines, time awake, links between GPUs.
pub(super) fn extras(identity: &GpuIdentity, gpu: &GpuBoard) -> Vec<String> {
    let (state, steady) = (&gpu.state, &gpu.steady);
    let degrees = |name: &str, value: Option<i64>| value.map(|c| format!("{name} {c} °C"));
    let percent = |name: &str, value: Option<i64>| value.map(|share| format!("{name} {share} %"));
    let rate = |name: &str, value: Option<i64>| {
        value.map(|bytes| format!("{name} {}", BytesPerSecond(bytes as f64)))
    };
    let shared = state.shared_memory_used_bytes.map(|used| {
        let total = identity.shared_memory_total_bytes;
        format!("shared memory {}", memory(Some(used), total))
    });
    [
        degrees("hotspot", state.hotspot_temperature_c),
        // NVIDIA's own page has no place for it either.
        degrees("memory", state.memory_temperature_c).filter(|_| identity.vendor != Vendor::Nvidia),
        shared,
        percent("video", steady.media_percent),
        percent("awake", steady.awake_percent),
        rate("XGMI read", steady.xgmi_read_bytes_s),
        rate("XGMI written", steady.xgmi_written_bytes_s),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// What is not known of this GPU, and why.
pub(super) fn not_known(identity: &GpuIdentity, gpu: &GpuBoard) -> Vec<String> {
    let hidden = gpu.steady.hidden_processes.filter(|hidden| *hidden > 0);
    let hidden = hidden.map(|hidden| {
        format!("{hidden} processes of other users are not visible (hint: run as root)")
    });
    let unread = identity.unread.iter();
    let unread = unread.map(|text| format!("not read: {}", harmless(text)));
    unread.chain(hidden).collect()
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

/// A text of somebody else's (a process may call itself anything) that does to a terminal what it says
/// and nothing more: no control characters, no turned writing directions, nothing without a width.
pub(super) fn harmless(text: &str) -> Cow<'_, str> {
    let plain = |letter: char| matches!(letter, ' '..='~');
    if text.chars().all(plain) {
        return Cow::Borrowed(text);
    }
    let letters = text.chars().filter_map(|letter| match letter {
        letter if plain(letter) => Some(letter),
        letter if letter.is_control() || is_direction(letter) => Some('?'),
        // Marks that join others and those of no width are drawn differently by every terminal.
        letter => (cells_of(letter.encode_utf8(&mut [0; 4])) > 0).then_some(letter),
    });
    Cow::Owned(letters.collect())
}

/// Characters that turn the direction of writing, or begin another line.
fn is_direction(letter: char) -> bool {
    matches!(letter, '\u{61C}' | '\u{200E}' | '\u{200F}' | '\u{2028}'..='\u{202E}' | '\u{2066}'..='\u{2069}')
}

/// The program of a process: its command line where that is kept.
pub(super) fn program(identity: Option<&ProcessIdentity>) -> Cow<'_, str> {
    let text = identity.and_then(|known| known.command_line.as_deref().or(known.name.as_deref()));
    text.map_or(Cow::Borrowed("name not visible"), harmless)
}

/// The owner of a process.
pub(super) fn user(identity: Option<&ProcessIdentity>) -> Cow<'_, str> {
    let text = identity.and_then(|known| known.user.as_deref());
    text.map_or(Cow::Borrowed(ABSENT), harmless)
}

/// Container and pod of a process, as short as their tools show them. Where there is room for one
/// only, it is the pod.
pub(super) fn place(identity: Option<&ProcessIdentity>, both: bool) -> String {
    let short = |id: &str, most: usize| harmless(id).chars().take(most).collect::<String>();
    let container = identity.and_then(|known| known.container.as_deref());
    let pod = identity.and_then(|known| known.pod.as_deref());
    let container = container.map(|id| short(id, 12));
    let pod = pod.map(|uid| format!("pod {}", short(uid, 8)));
    match (container, pod) {
        (Some(container), Some(pod)) if both => format!("{container} {pod}"),
        (_, Some(pod)) => pod,
        (Some(container), None) => container,
        (None, None) => ABSENT.to_owned(),
    }
}

/// How long ago `started_unix` was, in one unit.
pub(super) fn age(started_unix: Option<u64>, now: Micros) -> String {
    let seconds = started_unix.and_then(|started| (now.0 / 1_000_000).checked_sub(started));
    match seconds {
        None => ABSENT.to_owned(),
        Some(seconds @ 0..100) => format!("{seconds} s"),
        Some(seconds @ 100..6_000) => format!("{} min", seconds / 60),
        Some(seconds @ 6_000..172_800) => format!("{} h", seconds / 3_600),
        Some(seconds) => format!("{} d", seconds / 86_400),
    }
}

/// A process in a line of text.
pub(super) fn process(board: &Board, process: &ProcessUse) -> String {
    let known = board.identities.get(&process.pid);
    let share = process
        .busy_percent
        .map_or_else(String::new, |share| format!("  use {share} %"));
    let container = known.and_then(|known| known.container.as_deref());
    let container = container.map_or_else(String::new, |container| {
        format!(" (container {})", harmless(container))
    });
    let pod = known.and_then(|known| known.pod.as_deref());
    let pod = pod.map_or_else(String::new, |pod| format!(" (pod {})", harmless(pod)));
    format!(
        "{}  {}  {}{share}  {}{container}{pod}",
        process.pid,
        user(known),
        bytes(process.memory_bytes),
        program(known),
    )
}

/// `part` of `whole`, where both are known.
pub(super) fn share(part: Option<i64>, whole: Option<i64>) -> Option<f64> {
    let (part, whole) = part.zip(whole.filter(|whole| *whole > 0))?;
    Some(part as f64 / whole as f64)
}

/// Memory in use of all there is, in one unit.
pub(super) fn memory(used: Option<i64>, total: Option<i64>) -> String {
    const UNITS: [(i64, &str); 2] = [(1 << 30, "GiB"), (1 << 20, "MiB")];
    let Some(total) = total.filter(|total| *total > 0) else {
        return bytes(used);
    };
    let (unit, name) = UNITS[usize::from(total < UNITS[0].0)];
    let short = |value: i64| {
        let value = value as f64 / unit as f64;
        if value < 99.95 {
            format!("{value:.1}")
        } else {
            format!("{value:.0}")
        }
    };
    let used = used.map_or_else(|| ABSENT.to_owned(), short);
    let total = total as f64 / unit as f64;
    format!("{used}/{total:.0} {name}")
}

/// Power of its limit, in at most ten letters.
pub(super) fn power(milliwatts: Option<i64>, limit: Option<i64>) -> String {
    let (Some(now), Some(limit)) = (milliwatts, limit) else {
        return watts(milliwatts);
    };
    if limit < 1_000_000 {
        let watts = |milliwatts: i64| milliwatts.saturating_add(500) / 1000;
        return format!("{}/{} W", watts(now), watts(limit));
    }
    let digits = usize::from(limit < 9_950_000);
    let kilowatts = |milliwatts: i64| format!("{:.digits$}", milliwatts as f64 / 1e6);
    format!("{}/{} kW", kilowatts(now), kilowatts(limit))
}

/// The host in a line.
pub(super) fn host(board: &Board) -> String {
    let host = &board.host;
    let used = host
        .memory_total_bytes
        .zip(host.memory_available_bytes)
        .map(|(total, free)| total.saturating_sub(free));
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_would_move_the_cursor_are_harmless() {
        assert_eq!(harmless("train.py --lr 1e-3"), "train.py --lr 1e-3");
        assert_eq!(harmless("a\x1b[2Jb\rc\u{9b}d"), "a?[2Jb?c?d");
        assert_eq!(harmless("x\u{202E}gpj.exe"), "x?gpj.exe");
        assert_eq!(harmless("日本e\u{301}\u{200D}\u{FEFF}"), "日本e");
    }

    #[test]
    fn quantities_are_short_and_have_one_unit() {
        assert_eq!(memory(Some(60 << 30), Some(140 << 30)), "60.0/140 GiB");
        assert_eq!(memory(Some(140 << 30), Some(140 << 30)), "140/140 GiB");
        assert_eq!(memory(None, Some(512 << 20)), "–/512 MiB");
        assert_eq!(memory(Some(1 << 20), None), "1.00 MiB");
        assert_eq!(power(Some(690_400), Some(700_000)), "690/700 W");
        assert_eq!(power(Some(1_000_000), Some(1_400_000)), "1.0/1.4 kW");
        assert_eq!(power(Some(9_800_000), Some(11_200_000)), "10/11 kW");
        assert_eq!(power(None, Some(700_000)), "–");
        let now = Micros(1_000_000_000_000);
        assert_eq!(age(Some(1_000_000 - 99), now), "99 s");
        assert_eq!(age(Some(1_000_000 - 7_200), now), "2 h");
        assert_eq!(age(Some(2_000_000), now), "–");
    }
}
