//! How many blocks of a kernel a multiprocessor holds, what limits that, and what would lift it.
//!
//! The limits are those of the CUDA programming guide's table of compute capabilities and of the
//! toolkit's occupancy header; named barriers and clusters are left out.

use serde::Serialize;

/// What a multiprocessor of an architecture has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Multiprocessor {
    /// 90 for `sm_90`.
    sm: u32,
    warps: u32,
    blocks: u32,
    shared_kib: u32,
    /// Bytes that shared memory is given in.
    shared_unit: u32,
    /// Bytes of shared memory that the system keeps for each block.
    reserved: u32,
}

const TABLE: &[Multiprocessor] = &[
    row(70, 64, 32, 96, 256, 0),
    row(75, 32, 16, 64, 256, 0),
    row(80, 64, 32, 164, 128, 1024),
    row(86, 48, 16, 100, 128, 1024),
    row(87, 48, 16, 164, 128, 1024),
    row(89, 48, 24, 100, 128, 1024),
    row(90, 64, 32, 228, 128, 1024),
    row(100, 64, 32, 228, 128, 1024),
    row(103, 64, 32, 228, 128, 1024),
    row(110, 48, 24, 228, 128, 1024),
    row(120, 48, 24, 100, 128, 1024),
    row(121, 48, 24, 100, 128, 1024),
];

const fn row(
    sm: u32,
    warps: u32,
    blocks: u32,
    shared_kib: u32,
    shared_unit: u32,
    reserved: u32,
) -> Multiprocessor {
    Multiprocessor {
        sm,
        warps,
        blocks,
        shared_kib,
        shared_unit,
        reserved,
    }
}

/// Registers of a multiprocessor, and the unit in which a warp gets them: the same on every one.
const REGISTERS: u32 = 65_536;
const REGISTER_UNIT: u32 = 256;

/// What keeps more blocks from a multiprocessor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Limiter {
    /// Threads.
    Warps,
    /// The number of blocks itself.
    Blocks,
    /// Registers.
    Registers,
    /// Shared memory.
    SharedMemory,
}

/// How full a multiprocessor can be.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Occupancy {
    /// Blocks on a multiprocessor at once; 0 where a launch is impossible.
    pub blocks: u32,
    /// Warps at once, of how many.
    pub warps: u32,
    /// Warps that a multiprocessor can have.
    pub most_warps: u32,
    /// Everything that allows no more blocks.
    pub limiters: Vec<Limiter>,
    /// Registers per thread with which one block more would fit, where registers are the limit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub registers_for_one_more: Option<u32>,
}

impl Occupancy {
    /// Share of the warps that a multiprocessor can have.
    pub fn share(&self) -> f64 {
        f64::from(self.warps) / f64::from(self.most_warps.max(1))
    }
}

/// The architectures that are known: 90 for `sm_90`.
pub fn known_architectures() -> impl Iterator<Item = u32> {
    TABLE.iter().map(|row| row.sm)
}

/// The occupancy of a kernel with blocks of `threads`; `None` for an architecture that is not known.
pub fn occupancy(sm: u32, threads: u32, registers: u32, shared_bytes: u32) -> Option<Occupancy> {
    let sm = TABLE.iter().find(|row| row.sm == sm)?;
    let warps = threads.div_ceil(32).max(1);
    let per_warp = |registers: u32| (registers.max(1) * 32).next_multiple_of(REGISTER_UNIT);
    let by_registers = |registers: u32| {
        // Each of the four parts gives its quarter of the registers to whole warps.
        (REGISTERS / 4 / per_warp(registers)) * 4 / warps
    };
    let shared = (shared_bytes + sm.reserved).next_multiple_of(sm.shared_unit);
    let limits = [
        (Limiter::Warps, sm.warps / warps),
        (Limiter::Blocks, sm.blocks),
        (Limiter::Registers, by_registers(registers)),
        (
            Limiter::SharedMemory,
            (sm.shared_kib * 1024)
                .checked_div(shared)
                .unwrap_or(u32::MAX),
        ),
    ];
    let blocks = limits.iter().map(|(_, limit)| *limit).min().unwrap_or(0);
    let limiters: Vec<Limiter> = limits
        .iter()
        .filter(|(_, limit)| *limit == blocks)
        .map(|(limiter, _)| *limiter)
        .collect();
    let registers_for_one_more = (limiters == [Limiter::Registers])
        .then(|| {
            (16..registers)
                .rev()
                .find(|fewer| by_registers(*fewer) > blocks)
        })
        .flatten();
    Some(Occupancy {
        blocks,
        warps: blocks * warps,
        most_warps: sm.warps,
        limiters,
        registers_for_one_more,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_and_what_would_lift_them() {
        // 256 threads of 32 registers fill a Hopper multiprocessor.
        let full = occupancy(90, 256, 32, 0).unwrap();
        assert_eq!((full.blocks, full.warps, full.most_warps), (8, 64, 64));
        assert_eq!(full.limiters, [Limiter::Warps, Limiter::Registers]);
        // 72 registers: 7 warps to each quarter, 28 in all, 3 blocks of 8.
        let some = occupancy(90, 256, 72, 0).unwrap();
        assert_eq!(
            (some.blocks, some.limiters.as_slice()),
            (3, &[Limiter::Registers][..])
        );
        assert_eq!(some.registers_for_one_more, Some(64));
        // 100 KiB with the reserved KiB fit twice into 228.
        let shared = occupancy(90, 128, 32, 100 << 10).unwrap();
        assert_eq!(
            (shared.blocks, shared.limiters.as_slice()),
            (2, &[Limiter::SharedMemory][..])
        );
        assert_eq!(
            occupancy(86, 32, 16, 0).unwrap().limiters,
            [Limiter::Blocks]
        );
        assert_eq!(occupancy(90, 1024, 255, 0).unwrap().blocks, 0);
        assert_eq!(occupancy(61, 32, 16, 0), None);
        assert!((occupancy(75, 256, 64, 0).unwrap().share() - 1.0).abs() < 1e-9);
    }
}
