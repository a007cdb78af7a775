//! How the tables are laid out, as the kernel's `kgd_pp_interface.h` declares them: the order of fields,
//! their widths, and C's natural alignment.
//!
//! Fields whose unit depends on the GPU or is not published are skipped: temperatures, power and use of
//! the APUs' versions 2.0 to 2.3, energy before 1.4, throttle bits before 1.3.

use super::{HEADER, Raw};

/// What a field is, with its unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum What {
    Skip,
    /// Degrees.
    Edge,
    Hotspot,
    Memory,
    /// Hundredths of degrees.
    EdgeCenti,
    /// Percent.
    Gfx,
    Umc,
    Media,
    /// Hundredths of percent.
    GfxCenti,
    MediaCenti,
    /// Power, averaged.
    Watts,
    Milliwatts,
    /// Power now.
    WattsNow,
    /// 2^-16 J.
    Energy,
    /// Nanoseconds.
    Time,
    /// Megahertz.
    GfxClock,
    GfxClockMean,
    MemClock,
    MemClockMean,
    /// Bits that mean the same on every GPU.
    Throttled,
    ThrottledInstinct,
    /// Rounds of the firmware.
    Rounds,
    Prochot,
    Ppt,
    SocketHeat,
    RegulatorHeat,
    MemoryHeat,
    /// Turns a minute.
    Fan,
    LinkWidth,
    /// Tenths of gigatransfers a second.
    LinkSpeed,
    Replays,
    /// Kilobytes.
    XgmiRead,
    XgmiWritten,
    ClockLock,
}

impl What {
    pub(super) const COUNT: usize = Self::ClockLock as usize + 1;

    /// Whether several of a kind are one sum; otherwise the highest counts.
    pub(super) fn adds_up(self) -> bool {
        use What::*;
        matches!(
            self,
            XgmiRead | XgmiWritten | Ppt | SocketHeat | RegulatorHeat | Prochot | MemoryHeat
        )
    }
}

/// Bytes of a field's type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Width {
    U8 = 1,
    U16 = 2,
    U32 = 4,
    U64 = 8,
}

/// A field or an array of them. A count of 0 only aligns what follows: it begins a structure.
type Field = (What, Width, usize);
/// A version's fields, in parts that versions share.
type Layout = &'static [&'static [Field]];

use What::*;
use Width::{U8, U16, U32, U64};

/// Edge, hotspot, memory and three regulators; use; power.
const RADEON_VALUES: &[Field] = &[
    (Edge, U16, 1),
    (Hotspot, U16, 1),
    (Memory, U16, 1),
    (Skip, U16, 3),
    (Gfx, U16, 1),
    (Umc, U16, 1),
    (Media, U16, 1),
    (Watts, U16, 1),
];
/// Averages and current values of seven clocks each; throttle bits of the GPU's own.
const RADEON_CLOCKS: &[Field] = &[
    (GfxClockMean, U16, 1),
    (Skip, U16, 1),
    (MemClockMean, U16, 1),
    (Skip, U16, 4),
    (GfxClock, U16, 1),
    (Skip, U16, 1),
    (MemClock, U16, 1),
    (Skip, U16, 4),
    (Skip, U32, 1),
    (Fan, U16, 1),
];
const TIME: &[Field] = &[(Time, U64, 1)];
/// Energy of no published unit, then the time.
const RADEON_ENERGY: &[Field] = &[(Skip, U64, 1), (Time, U64, 1)];
const LINK_BYTES: &[Field] = &[(LinkWidth, U8, 1), (LinkSpeed, U8, 1)];
/// Link, padding, activity sums, four stacks of memory.
const RADEON_TAIL: &[Field] = &[
    (LinkWidth, U16, 1),
    (LinkSpeed, U16, 1),
    (Skip, U16, 1),
    (Skip, U32, 2),
    (Skip, U16, 4),
];
const FIRMWARE_TIME: &[Field] = &[(Skip, U64, 1)];
/// Three voltages and padding.
const VOLTAGES: &[Field] = &[(Skip, U16, 4)];
const THROTTLED: &[Field] = &[(Throttled, U64, 1)];

/// Hotspot, memory, regulator; power; use.
const INSTINCT_VALUES: &[Field] = &[
    (Hotspot, U16, 1),
    (Memory, U16, 1),
    (Skip, U16, 1),
    (WattsNow, U16, 1),
    (Gfx, U16, 1),
    (Umc, U16, 1),
];
const VIDEO: &[Field] = &[(Media, U16, 4)];
const JPEG: &[Field] = &[(Skip, U16, 32)];
const BANDWIDTH_MAX: &[Field] = &[(Skip, U64, 1)];
const INSTINCT_ENERGY: &[Field] = &[(Energy, U64, 1), (Time, U64, 1)];
const RESIDENCIES: &[Field] = &[
    (Rounds, U32, 1),
    (Prochot, U32, 1),
    (Ppt, U32, 1),
    (SocketHeat, U32, 1),
    (RegulatorHeat, U32, 1),
    (MemoryHeat, U32, 1),
];
const INSTINCT_BITS: &[Field] = &[(ThrottledInstinct, U32, 1)];
/// Clock locks, PCIe link, XGMI link, activity sums, PCIe bandwidth, recoveries, replays, rollovers.
const INSTINCT_LINKS: &[Field] = &[
    (ClockLock, U32, 1),
    (LinkWidth, U16, 1),
    (LinkSpeed, U16, 1),
    (Skip, U16, 2),
    (Skip, U32, 2),
    (Skip, U64, 3),
    (Replays, U64, 1),
    (Skip, U64, 1),
];
const REFUSED_PACKETS: &[Field] = &[(Skip, U32, 2)];
const XGMI: &[Field] = &[(XgmiRead, U64, 8), (XgmiWritten, U64, 8)];
/// The state of eight links, and padding.
const XGMI_STATES: &[Field] = &[(Skip, U16, 9)];
/// Firmware time; graphics, three more kinds and memory clocks; padding or the number of partitions.
const INSTINCT_CLOCKS: &[Field] = &[
    (Skip, U64, 1),
    (GfxClock, U16, 8),
    (Skip, U16, 12),
    (MemClock, U16, 1),
    (Skip, U16, 1),
];
/// A partition: use of eight parts now, JPEG and video engines, sums of use.
const PARTITION: &[Field] = &[
    (Skip, U64, 0),
    (Skip, U32, 8),
    (Skip, U16, 32),
    (Media, U16, 4),
    (Skip, U64, 8),
];
/// And sums of time below the host's limit.
const PARTITION_1_1: &[Field] = &[
    (Skip, U64, 0),
    (Skip, U32, 8),
    (Skip, U16, 32),
    (Media, U16, 4),
    (Skip, U64, 16),
];
/// And those by reason, with more JPEG engines.
const PARTITION_1_2: &[Field] = &[
    (Skip, U64, 0),
    (Skip, U32, 8),
    (Skip, U16, 40),
    (Media, U16, 4),
    (Skip, U64, 40),
];
const OTHER_END_RECOVERY: &[Field] = &[(Skip, U32, 1)];

/// Twelve temperatures, two shares of use.
const APU_HEAT: &[Field] = &[(Skip, U16, 14)];
/// Power of socket, CPU, SoC, graphics and eight cores.
const APU_POWER: &[Field] = &[(Skip, U16, 12)];
/// Six averages; six current clocks, eight of cores, two of caches.
const APU_CLOCKS: &[Field] = &[
    (GfxClockMean, U16, 1),
    (Skip, U16, 1),
    (MemClockMean, U16, 1),
    (Skip, U16, 3),
    (GfxClock, U16, 1),
    (Skip, U16, 1),
    (MemClock, U16, 1),
    (Skip, U16, 13),
    (Skip, U32, 1),
];
/// The fan's duty, and padding.
const APU_FAN_2_0: &[Field] = &[(Skip, U16, 2)];
const APU_FAN: &[Field] = &[(Skip, U16, 4)];
const APU_MEAN_HEAT: &[Field] = &[(Skip, U16, 12)];
/// Version 2.4 says its units: hundredths of degrees and of percent, milliwatts.
const APU_HEAT_2_4: &[Field] = &[
    (EdgeCenti, U16, 1),
    (Skip, U16, 11),
    (GfxCenti, U16, 1),
    (MediaCenti, U16, 1),
];
const APU_POWER_2_4: &[Field] = &[(Milliwatts, U16, 1), (Skip, U16, 11)];
/// Three voltages and three currents.
const APU_SUPPLY: &[Field] = &[(Skip, U16, 6)];

const APU_3_0: &[Field] = &[
    // Graphics, SoC, sixteen cores and skin, of no published unit.
    (Skip, U16, 19),
    (Gfx, U16, 1),
    (Media, U16, 1),
    // Neural engine, cores, memory traffic.
    (Skip, U16, 28),
    (Time, U64, 1),
    (Milliwatts, U32, 1),
    (Skip, U16, 1),
    (Skip, U32, 4),
    // Cores, the system, two limits.
    (Skip, U16, 19),
    (GfxClockMean, U16, 1),
    (Skip, U16, 5),
    (MemClockMean, U16, 1),
    (Skip, U16, 1),
    // Sixteen cores, two limits.
    (Skip, U16, 18),
    (Prochot, U32, 1),
    (Ppt, U32, 3),
    // The cores' heat holds the cores back.
    (Skip, U32, 1),
    (SocketHeat, U32, 2),
    (Skip, U32, 1),
];

/// The layouts that go by a version; none where it is not known.
pub(super) fn of_version(format: u8, content: u8) -> &'static [Layout] {
    match (format, content) {
        (1, 0) => &[&[
            TIME,
            RADEON_VALUES,
            &[(Skip, U32, 1)],
            RADEON_CLOCKS,
            LINK_BYTES,
        ]],
        (1, 1) => &[&[RADEON_VALUES, RADEON_ENERGY, RADEON_CLOCKS, RADEON_TAIL]],
        (1, 2) => &[&[
            RADEON_VALUES,
            RADEON_ENERGY,
            RADEON_CLOCKS,
            RADEON_TAIL,
            FIRMWARE_TIME,
        ]],
        (1, 3) => &[&[
            RADEON_VALUES,
            RADEON_ENERGY,
            RADEON_CLOCKS,
            RADEON_TAIL,
            FIRMWARE_TIME,
            VOLTAGES,
            THROTTLED,
        ]],
        (1, 4) => &[&[
            INSTINCT_VALUES,
            VIDEO,
            INSTINCT_ENERGY,
            INSTINCT_BITS,
            INSTINCT_LINKS,
            XGMI,
            INSTINCT_CLOCKS,
        ]],
        (1, 5) => &[&[
            INSTINCT_VALUES,
            VIDEO,
            JPEG,
            INSTINCT_ENERGY,
            INSTINCT_BITS,
            INSTINCT_LINKS,
            REFUSED_PACKETS,
            XGMI,
            INSTINCT_CLOCKS,
        ]],
        (1, 6) => &[
            &[
                INSTINCT_VALUES,
                INSTINCT_ENERGY,
                RESIDENCIES,
                INSTINCT_LINKS,
                REFUSED_PACKETS,
                XGMI,
                INSTINCT_CLOCKS,
                PARTITION,
                PARTITION,
                PARTITION,
                PARTITION,
                PARTITION,
                PARTITION,
                PARTITION,
                PARTITION,
                OTHER_END_RECOVERY,
            ],
            // As drivers had it before partitions.
            &[
                INSTINCT_VALUES,
                VIDEO,
                JPEG,
                INSTINCT_ENERGY,
                RESIDENCIES,
                INSTINCT_BITS,
                INSTINCT_LINKS,
                REFUSED_PACKETS,
                XGMI,
                INSTINCT_CLOCKS,
            ],
        ],
        (1, 7) => &[&[
            INSTINCT_VALUES,
            BANDWIDTH_MAX,
            INSTINCT_ENERGY,
            RESIDENCIES,
            INSTINCT_LINKS,
            REFUSED_PACKETS,
            XGMI,
            XGMI_STATES,
            INSTINCT_CLOCKS,
            PARTITION_1_1,
            PARTITION_1_1,
            PARTITION_1_1,
            PARTITION_1_1,
            PARTITION_1_1,
            PARTITION_1_1,
            PARTITION_1_1,
            PARTITION_1_1,
            OTHER_END_RECOVERY,
        ]],
        (1, 8) => &[&[
            INSTINCT_VALUES,
            BANDWIDTH_MAX,
            INSTINCT_ENERGY,
            RESIDENCIES,
            INSTINCT_LINKS,
            REFUSED_PACKETS,
            XGMI,
            XGMI_STATES,
            INSTINCT_CLOCKS,
            PARTITION_1_2,
            PARTITION_1_2,
            PARTITION_1_2,
            PARTITION_1_2,
            PARTITION_1_2,
            PARTITION_1_2,
            PARTITION_1_2,
            PARTITION_1_2,
            OTHER_END_RECOVERY,
        ]],
        (2, 0) => &[&[TIME, APU_HEAT, APU_POWER, APU_CLOCKS, APU_FAN_2_0]],
        (2, 1) => &[&[APU_HEAT, TIME, APU_POWER, APU_CLOCKS, APU_FAN]],
        (2, 2) => &[&[APU_HEAT, TIME, APU_POWER, APU_CLOCKS, APU_FAN, THROTTLED]],
        (2, 3) => &[&[
            APU_HEAT,
            TIME,
            APU_POWER,
            APU_CLOCKS,
            APU_FAN,
            THROTTLED,
            APU_MEAN_HEAT,
        ]],
        (2, 4) => &[&[
            APU_HEAT_2_4,
            TIME,
            APU_POWER_2_4,
            APU_CLOCKS,
            APU_FAN,
            THROTTLED,
            APU_MEAN_HEAT,
            APU_SUPPLY,
        ]],
        (3, 0) => &[&[APU_3_0]],
        _ => &[],
    }
}

/// Each field with its place.
fn places(layout: &[&'static [Field]]) -> impl Iterator<Item = (What, Width, usize, usize)> {
    let mut end = HEADER;
    layout
        .iter()
        .flat_map(|part| part.iter())
        .map(move |field| {
            let (what, width, count) = *field;
            let at = end.next_multiple_of(width as usize);
            end = at + width as usize * count;
            (what, width, count, at)
        })
}

/// Bytes of a table, rounded up to its widest field as C does.
pub(super) fn size(layout: &[&'static [Field]]) -> usize {
    let widest = places(layout).map(|(_, width, _, _)| width as usize).max();
    let end = places(layout)
        .last()
        .map_or(HEADER, |(_, width, count, at)| at + width as usize * count);
    end.next_multiple_of(widest.unwrap_or(1))
}

/// Takes every field of a table in; `table` is as long as [`size`] says.
pub(super) fn read(layout: &[&'static [Field]], table: &[u8], raw: &mut Raw) {
    for (what, width, count, at) in places(layout) {
        if what == Skip {
            continue;
        }
        let width = width as usize;
        let values = table.get(at..at + width * count).unwrap_or_default();
        for bytes in values.chunks_exact(width) {
            let (value, all_ones) = number(bytes);
            raw.put(what, value, all_ones);
        }
    }
}

/// A little-endian number of up to eight bytes, and the one that means absent.
pub(super) fn number(bytes: &[u8]) -> (u64, u64) {
    let mut whole = [0; 8];
    let length = bytes.len().min(8);
    whole[..length].copy_from_slice(&bytes[..length]);
    let all_ones = u64::MAX >> (64 - 8 * length.max(1));
    (u64::from_le_bytes(whole), all_ones)
}
