//! What the machine code of a pair's kernels costs, from ptxas's words and from the code itself.

use std::fmt::Write;

use warpsmith_device::{KernelResources, kernel_resources};

/// Registers, spills and size of one kernel.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct KernelCost {
    /// Registers per thread.
    pub(super) registers: u32,
    /// Bytes of stack per thread.
    pub(super) stack_bytes: u32,
    /// Bytes of registers that are spilled, stored and loaded.
    pub(super) spills: (u32, u32),
    /// Instructions by name, most frequent first; padding left out.
    pub(super) instructions: Vec<(&'static str, u64)>,
}

/// The kernels of a cubin, by name.
#[derive(Debug)]
pub(super) struct MachineCode {
    kernels: Vec<KernelResources>,
    histograms: Vec<(String, Vec<(&'static str, u64)>)>,
    said: String,
}

impl MachineCode {
    /// Reads a cubin and what ptxas said about it.
    pub(super) fn of(cubin: &[u8], said: String) -> Option<Self> {
        let histograms = warpsmith_device::kernel_code(cubin)?
            .into_iter()
            .map(|(name, code)| (name.to_owned(), histogram(code)))
            .collect();
        Some(Self {
            kernels: kernel_resources(cubin)?,
            histograms,
            said,
        })
    }

    /// What a kernel costs.
    pub(super) fn cost(&self, kernel: &str) -> Option<KernelCost> {
        let resources = self.kernels.iter().find(|known| known.name == kernel)?;
        let histogram = self.histograms.iter().find(|(name, _)| name == kernel);
        Some(KernelCost {
            registers: resources.registers,
            stack_bytes: resources.stack_bytes,
            spills: spills(&self.said, kernel).unwrap_or_default(),
            instructions: histogram
                .map(|(_, counts)| counts.clone())
                .unwrap_or_default(),
        })
    }
}

/// The costs of a pair's kernels as JSON.
pub(super) fn costs_text(architecture: u32, costs: &[(&str, KernelCost)]) -> String {
    let mut text = format!("{{\"architecture\":\"sm_{architecture}\"");
    for (name, cost) in costs {
        let total: u64 = cost.instructions.iter().map(|(_, count)| count).sum();
        let _ = write!(
            text,
            ",\"{name}\":{{\"registers\":{},\"stack_bytes\":{},\"spill_store_bytes\":{},\"spill_load_bytes\":{},\"instructions\":{total},\"histogram\":{{",
            cost.registers, cost.stack_bytes, cost.spills.0, cost.spills.1
        );
        for (n, (instruction, count)) in cost.instructions.iter().enumerate() {
            let comma = if n > 0 { "," } else { "" };
            let _ = write!(text, "{comma}\"{instruction}\":{count}");
        }
        text.push_str("}}");
    }
    text.push('}');
    text
}

/// What ptxas says about a kernel's spills: stored and loaded bytes.
fn spills(said: &str, kernel: &str) -> Option<(u32, u32)> {
    let after = &said[said.find(&format!("Function properties for {kernel}\n"))?..];
    let line = after.lines().nth(1)?;
    let number = |unit: &str| {
        let before = line.split(unit).next()?;
        before.trim_end().rsplit(' ').next()?.parse().ok()
    };
    Some((
        number(" bytes spill stores")?,
        number(" bytes spill loads")?,
    ))
}

/// Instructions of a kernel by name, most frequent first.
///
/// From Volta on an instruction is 16 bytes. Its lowest nine bits say what it does and the next three
/// where its operands come from.
fn histogram(code: &[u8]) -> Vec<(&'static str, u64)> {
    let mut counts = std::collections::BTreeMap::new();
    for word in code.as_chunks::<16>().0 {
        let operation = u16::from_le_bytes([word[0], word[1]]) & 0x1ff;
        let name = OPERATIONS
            .iter()
            .find(|(known, _)| *known == operation)
            .map_or("other", |(_, name)| name);
        if name != "NOP" {
            *counts.entry(name).or_insert(0) += 1;
        }
    }
    let mut counts: Vec<(&'static str, u64)> = counts.into_iter().collect();
    counts.sort_by(|a, b| b.1.cmp(&a.1).then(a.0.cmp(b.0)));
    counts
}

/// Operations by number, as `nvdisasm` names them: those that it found in this program's own kernels and
/// in generated ones, for sm_80 and sm_90.
const OPERATIONS: &[(u16, &str)] = &[
    (0x002, "MOV"),
    (0x003, "P2R"),
    (0x004, "R2P"),
    (0x005, "CS2R"),
    (0x006, "VOTE"),
    (0x007, "SEL"),
    (0x008, "FSEL"),
    (0x009, "FMNMX"),
    (0x00a, "FSET"),
    (0x00b, "FSETP"),
    (0x00c, "ISETP"),
    (0x010, "IADD3"),
    (0x011, "LEA"),
    (0x012, "LOP3"),
    (0x013, "IABS"),
    (0x016, "PRMT"),
    (0x017, "IMNMX"),
    (0x019, "SHF"),
    (0x01c, "PLOP3"),
    (0x020, "FMUL"),
    (0x021, "FADD"),
    (0x023, "FFMA"),
    (0x024, "IMAD"),
    (0x025, "IMAD"),
    (0x027, "IMAD"),
    (0x028, "DMUL"),
    (0x029, "DADD"),
    (0x02a, "DSETP"),
    (0x02b, "DFMA"),
    (0x030, "HADD2"),
    (0x035, "HFMA2"),
    (0x036, "VIADD"),
    (0x03e, "F2FP"),
    (0x045, "I2FP"),
    (0x046, "VIADDMNMX"),
    (0x048, "VIMNMX"),
    (0x082, "UMOV"),
    (0x086, "VOTEU"),
    (0x087, "USEL"),
    (0x08c, "UISETP"),
    (0x090, "UIADD3"),
    (0x091, "ULEA"),
    (0x092, "ULOP3"),
    (0x099, "USHF"),
    (0x09c, "UPLOP3"),
    (0x0a4, "UIMAD"),
    (0x0a5, "UIMAD"),
    (0x0b9, "ULDC"),
    (0x0bd, "UFLO"),
    (0x0ca, "R2UR"),
    (0x100, "FLO"),
    (0x101, "BREV"),
    (0x102, "FCHK"),
    (0x104, "F2F"),
    (0x105, "F2I"),
    (0x106, "I2F"),
    (0x107, "FRND"),
    (0x108, "MUFU"),
    (0x109, "POPC"),
    (0x110, "F2F"),
    (0x111, "F2I"),
    (0x112, "I2F"),
    (0x113, "FRND"),
    (0x118, "NOP"),
    (0x119, "S2R"),
    (0x11b, "ENDCOLLECTIVE"),
    (0x11d, "BAR"),
    (0x141, "BSYNC"),
    (0x142, "BREAK"),
    (0x144, "CALL"),
    (0x145, "BSSY"),
    (0x146, "YIELD"),
    (0x147, "BRA"),
    (0x148, "WARPSYNC"),
    (0x14d, "EXIT"),
    (0x150, "RET"),
    (0x181, "LDG"),
    (0x182, "LDC"),
    (0x183, "LDL"),
    (0x184, "LDS"),
    (0x186, "STG"),
    (0x187, "STL"),
    (0x188, "STS"),
    (0x189, "SHFL"),
    (0x18c, "ATOMS"),
    (0x18e, "RED"),
    (0x18f, "CCTL"),
    (0x192, "MEMBAR"),
    (0x1a6, "RED"),
    (0x1a8, "ATOMG"),
    (0x1a9, "ATOMG"),
    (0x1ab, "ERRBAR"),
    (0x1c2, "R2UR"),
    (0x1c3, "S2UR"),
    (0x1c4, "REDUX"),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spills_are_read_from_what_ptxas_says() {
        let said = "ptxas info    : Compiling entry function 'scale_p3' for 'sm_90'\n\
                    ptxas info    : Function properties for scale_p3\n\
                    \x20   16 bytes stack frame, 12 bytes spill stores, 8 bytes spill loads\n\
                    ptxas info    : Used 22 registers, used 0 barriers\n";
        assert_eq!(spills(said, "scale_p3"), Some((12, 8)));
        assert_eq!(spills(said, "other"), None);
    }
}
