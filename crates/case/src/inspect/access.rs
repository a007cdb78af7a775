//! How a warp's loads and stores lie in memory: sectors of global memory, banks of shared memory.

use std::collections::BTreeSet;

use serde::Serialize;

use super::code_lines::{body_of, instruction, own_file, place};
use super::linear::{Known, Linear, Registers};
use crate::instance::{BoundValue, Instance, LaunchNumbers};

/// The memory of an access.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum MemorySpace {
    /// Global memory, in sectors of 32 bytes.
    Global,
    /// Shared memory, in 32 banks of 4 bytes.
    Shared,
}

/// A load or store whose addresses follow from the thread's index.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Access {
    /// The line of the source.
    pub line: u32,
    /// Which memory.
    pub space: MemorySpace,
    /// Whether it is a store.
    pub store: bool,
    /// Bytes of one thread.
    pub bytes: u32,
    /// Bytes from one thread to the next along x.
    pub stride: i64,
    /// Sectors that a warp touches, or the number of passes over the banks.
    pub transactions: u32,
    /// How many it would be with neighbours side by side.
    pub least: u32,
}

impl Access {
    /// In a sentence, where there is something to gain.
    pub fn words(&self) -> Option<String> {
        if self.transactions <= self.least {
            return None;
        }
        let what = if self.store { "store" } else { "load" };
        Some(match self.space {
            MemorySpace::Global => format!(
                "line {}: a warp's {what} touches {} sectors of 32 B instead of {}: neighbouring threads are {} B apart; let threadIdx.x run along the contiguous dimension, or stage a tile in shared memory",
                self.line, self.transactions, self.least, self.stride
            ),
            MemorySpace::Shared => {
                let ways = self.transactions / self.least.max(1);
                format!(
                    "line {}: {ways}-way bank conflict of a shared {what}: neighbouring threads are {} B apart; one word of padding per row removes it",
                    self.line, self.stride
                )
            }
        })
    }
}

/// Every load and store of an entry whose addresses are known; one of each kind for a line.
pub(super) fn accesses(ptx: &str, entry: &str, instance: &Instance) -> Vec<Access> {
    let LaunchNumbers::Grid(shape) = &instance.launch else {
        return Vec::new();
    };
    let parameters: Vec<Option<i64>> = instance
        .arguments
        .iter()
        .map(|argument| match argument.value {
            BoundValue::Number { value, .. } if value.fract() == 0.0 => Some(value as i64),
            _ => None,
        })
        .collect();
    let known = Known {
        block: shape.block,
        grid: shape.grid,
        parameters: &parameters,
    };
    let Some(body) = body_of(ptx, entry) else {
        return Vec::new();
    };
    let instructions: Vec<(&str, &str)> = body.lines().filter_map(instruction).collect();
    let registers = Registers::after(&instructions, &known);
    let mut found: Vec<Access> = Vec::new();
    let own = own_file(body);
    let mut line = 0;
    for text in body.lines() {
        if let Some(number) = place(text, own) {
            line = number;
            continue;
        }
        let Some((operation, operands)) = instruction(text) else {
            continue;
        };
        let Some((space, store, bytes)) = memory_operation(operation) else {
            continue;
        };
        let Some(address) =
            address(operands).and_then(|register| registers.operand(register, &known))
        else {
            continue;
        };
        let access = access(line, space, store, bytes, address, shape.block);
        if !found.iter().any(|one| {
            (one.line, one.space, one.store) == (line, space, store)
                && one.transactions >= access.transactions
        }) {
            found.push(access);
        }
    }
    found
}

/// The memory, whether it is a store, and the bytes of one thread.
fn memory_operation(operation: &str) -> Option<(MemorySpace, bool, u32)> {
    let mut parts = operation.split('.');
    let store = match parts.next()? {
        "ld" => false,
        "st" => true,
        _ => return None,
    };
    let has = |part: &str| operation.split('.').any(|one| one == part);
    let space = match (has("global"), has("shared")) {
        (true, _) => MemorySpace::Global,
        (_, true) => MemorySpace::Shared,
        _ => return None,
    };
    let bits: u32 = operation
        .rsplit('.')
        .next()?
        .trim_start_matches(|c: char| c.is_alphabetic())
        .parse()
        .ok()?;
    let count = match (has("v2"), has("v4"), has("v8")) {
        (true, ..) => 2,
        (_, true, _) => 4,
        (.., true) => 8,
        _ => 1,
    };
    Some((space, store, bits / 8 * count))
}

/// The register inside `[%rd1+16]`.
fn address(operands: &str) -> Option<&str> {
    let inside = operands.split_once('[')?.1.split(']').next()?;
    inside.split('+').next().map(str::trim)
}

fn access(
    line: u32,
    space: MemorySpace,
    store: bool,
    bytes: u32,
    address: Linear,
    block: [u32; 3],
) -> Access {
    let [across, down, _] = block.map(|extent| i64::from(extent.max(1)));
    let lanes = 32.min(across * down);
    let offsets: Vec<i64> = (0..lanes)
        .map(|lane| address.x * (lane % across) + address.y * (lane / across % down))
        .collect();
    let width = i64::from(bytes.max(1));
    let (transactions, least) = match space {
        MemorySpace::Global => {
            let touched = |offset: &i64| {
                let first = offset.div_euclid(32);
                first..=(offset + width - 1).div_euclid(32)
            };
            let sectors: BTreeSet<i64> = offsets.iter().flat_map(touched).collect();
            // What all threads read alike needs no more than one of them.
            let different: BTreeSet<&i64> = offsets.iter().collect();
            let least = (different.len() as i64 * width + 31) / 32;
            (sectors.len() as u32, least as u32)
        }
        MemorySpace::Shared => {
            // 64-bit accesses go in two halves of a warp, 128-bit ones in four quarters.
            let group = (128 / width.max(4)).clamp(1, 32) as usize;
            let passes = offsets.chunks(group).map(|lanes| passes(lanes, width));
            (passes.sum(), offsets.len().div_ceil(group) as u32)
        }
    };
    Access {
        line,
        space,
        store,
        bytes,
        stride: address.x,
        transactions,
        least,
    }
}

/// How often the busiest bank is read: different words of one bank wait for each other.
fn passes(offsets: &[i64], width: i64) -> u32 {
    let mut words: BTreeSet<i64> = BTreeSet::new();
    for offset in offsets {
        words.extend(offset.div_euclid(4)..=(offset + width - 1).div_euclid(4));
    }
    let mut banks = [0u32; 32];
    for word in words {
        banks[word.rem_euclid(32) as usize] += 1;
    }
    banks.into_iter().max().unwrap_or(1).max(1)
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::description::Case;

    /// What NVRTC makes of the inner lines of a transpose without padding, and of a sum over rows.
    const PTX: &str = "\t// .globl k\n.visible .entry k(\n\t.param .u64 k_param_0,\n\t.param .u64 k_param_1,\n\t.param .u32 k_param_2\n)\n{\n\
        \t.loc\t1 4 5\n\tld.param.u64 \t%rd1, [k_param_0];\n\tld.param.u32 \t%r9, [k_param_2];\n\
        \tmov.u32 \t%r1, %tid.x;\n\tmov.u32 \t%r2, %tid.y;\n\tmov.u32 \t%r3, %ctaid.x;\n\
        \tshl.b32 \t%r4, %r3, 5;\n\tadd.s32 \t%r5, %r4, %r1;\n\
        \tmad.lo.s32 \t%r6, %r2, %r9, %r5;\n\tmul.wide.s32 \t%rd2, %r6, 4;\n\tadd.s64 \t%rd3, %rd1, %rd2;\n\
        \t.loc\t1 7 9\n\tld.global.f32 \t%f1, [%rd3];\n\
        \tmul.wide.u32 \t%rd8, %r1, 128;\n\tmov.u64 \t%rd9, tile;\n\tadd.s64 \t%rd10, %rd9, %rd8;\n\
        \t.loc\t1 9 9\n\tld.shared.f32 \t%f2, [%rd10+32];\n\
        \tmad.lo.s32 \t%r7, %r5, %r9, %r2;\n\tmul.wide.s32 \t%rd4, %r7, 4;\n\tadd.s64 \t%rd5, %rd1, %rd4;\n\
        \t.loc\t1 12 9\n\tst.global.f32 \t[%rd5], %f2;\n\tld.global.u32 \t%r8, [%rd5];\n\tmul.wide.s32 \t%rd6, %r8, 4;\n\
        \tadd.s64 \t%rd7, %rd1, %rd6;\n\tst.global.f32 \t[%rd7], %f2;\n\tret;\n}\n";

    fn found(block: &str) -> Vec<Access> {
        let text = format!(
            "source = \"a.cu\"\n[[arguments]]\nname = \"y\"\ndirection = \"out\"\ntype = \"f32\"\nshape = 64\n\
             [[arguments]]\nname = \"x\"\ndirection = \"in\"\ntype = \"f32\"\nshape = 64\n\
             [[arguments]]\nname = \"cols\"\ntype = \"i32\"\nvalue = 1000\n[launch]\ngrid = 2\nblock = {block}\n"
        );
        let case = Case::parse(Path::new("a.toml"), &text).unwrap();
        let instance = case.instance(&case.sizes.listed[0], &[]).unwrap();
        accesses(PTX, "k", &instance)
    }

    #[test]
    fn strides_become_sectors_and_conflicts() {
        let found = found("[32, 8]");
        let seen: Vec<(u32, u32, u32)> = found
            .iter()
            .map(|one| (one.line, one.transactions, one.least))
            .collect();
        // Coalesced; 32 words of one bank; a sector for every thread, stored and loaded. What follows
        // from data is left out.
        assert_eq!(seen, [(7, 4, 4), (9, 32, 1), (12, 32, 4), (12, 32, 4)]);
        assert_eq!(found[0].words(), None);
        assert!(found[1].words().unwrap().contains("32-way bank conflict"));
        assert!(found[2].words().unwrap().contains("4000 B apart"));
    }

    #[test]
    fn a_thin_block_folds_its_warps() {
        // Two rows of 16 threads: 64 contiguous bytes each.
        let found = found("[16, 16]");
        assert_eq!((found[0].transactions, found[0].least), (4, 4));
        assert_eq!(found[1].transactions, 16);
    }

    #[test]
    fn banks_are_counted_as_the_hardware_does() {
        let lanes = |stride: i64| (0..32).map(|lane| lane * stride).collect::<Vec<_>>();
        assert_eq!(passes(&lanes(4), 4), 1);
        assert_eq!(passes(&lanes(8), 4), 2);
        assert_eq!(passes(&lanes(132), 4), 1);
        assert_eq!(passes(&lanes(0), 4), 1);
        assert_eq!(passes(&lanes(128), 4), 32);
    }
}
