//! Version 1.9: a list of attributes, each with a number that says what it is, of which type and how many.
//!
//! Packed: the header, a count, then for each attribute eight bytes of description and its values. An
//! attribute of a type that is not known ends the list, since nobody knows where it ends.

use super::layout::{What, number};
use super::{HEADER, MetricsError, Raw};

/// Behind the header: how many attributes there are.
const COUNT_BYTES: usize = 4;
const DESCRIPTION_BYTES: usize = 8;

/// What an attribute is, by the kernel's number.
fn what(id: u64) -> What {
    match id {
        0 => What::Hotspot,
        1 => What::Memory,
        3 => What::WattsNow,
        4 => What::Gfx,
        5 => What::Umc,
        7 => What::Energy,
        8 => What::Time,
        9 => What::Rounds,
        10 => What::Prochot,
        11 => What::Ppt,
        12 => What::SocketHeat,
        13 => What::RegulatorHeat,
        14 => What::MemoryHeat,
        15 => What::ClockLock,
        16 => What::LinkWidth,
        17 => What::LinkSpeed,
        25 => What::Replays,
        29 => What::XgmiRead,
        30 => What::XgmiWritten,
        33 => What::GfxClock,
        37 => What::MemClock,
        42 => What::Media,
        _ => What::Skip,
    }
}

/// Bytes of a value, by the kernel's number for types: unsigned and signed of 1, 2, 4 and 8 bytes.
fn width(kind: u64) -> Option<usize> {
    (kind < 8).then(|| 1 << (kind / 2))
}

/// Takes every attribute in.
pub(super) fn read(table: &[u8], raw: &mut Raw) -> Result<(), MetricsError> {
    let truncated = || MetricsError::Truncated(1, 9, HEADER + COUNT_BYTES, table.len());
    let rest = table.get(HEADER..).ok_or_else(truncated)?;
    let (count, mut rest) = rest.split_at_checked(COUNT_BYTES).ok_or_else(truncated)?;
    let (count, _) = number(count);
    for _ in 0..count {
        let Some((description, values)) = rest.split_at_checked(DESCRIPTION_BYTES) else {
            break;
        };
        let (description, _) = number(description);
        let (kind, id, instances) = (
            (description >> 20) & 0xf,
            (description >> 10) & 0x3ff,
            description & 0x3ff,
        );
        let Some(width) = width(kind) else { break };
        let bytes = width * usize::try_from(instances).unwrap_or(0);
        let Some((values, after)) = values.split_at_checked(bytes) else {
            break;
        };
        let what = what(id);
        if what != What::Skip {
            for value in values.chunks_exact(width) {
                let (value, all_ones) = number(value);
                raw.put(what, value, all_ones);
            }
        }
        rest = after;
    }
    Ok(())
}
