//! Delays at every access to shared memory, so that a missing barrier shows in the result.
//!
//! Warps of a block run nearly in step on an idle GPU, and a kernel that lacks a barrier is right by luck. A
//! delay never changes what a right kernel computes. So the kernel runs once more with some of its warps
//! held back for microseconds before some of their accesses: what is wrong then depends on the order in
//! which warps run. Which warps wait follows from the clock, and differs from access to access.

/// Nanoseconds that a warp waits: long beside the tens of nanoseconds between two accesses.
const NANOSECONDS: u32 = 4000;

/// The PTX with a delay before every access to shared memory; `None` where it has none.
pub(super) fn with_delays(ptx: &str) -> Option<String> {
    let mut text = String::with_capacity(2 * ptx.len());
    let mut sites = 0u32;
    for line in ptx.lines() {
        if is_access(line) {
            sites += 1;
            // Odd numbers spread the clock's low bits, which count cycles in steps of two, and the warps.
            let site = sites.wrapping_mul(0x9E37_79B1);
            text.push_str(&format!(
                "{{\n.reg .pred %ws_late; .reg .u32 %ws_a, %ws_b;\n\
                 mov.u32 %ws_a, %warpid; mov.u32 %ws_b, %clock; shr.u32 %ws_b, %ws_b, 4;\n\
                 mad.lo.u32 %ws_a, %ws_a, 0x85EBCA6B, {site}; add.u32 %ws_a, %ws_a, %ws_b;\n\
                 mul.lo.u32 %ws_a, %ws_a, 0xC2B2AE35; shr.u32 %ws_a, %ws_a, 29;\n\
                 setp.eq.u32 %ws_late, %ws_a, 0; @%ws_late nanosleep.u32 {NANOSECONDS};\n}}\n"
            ));
        }
        text.push_str(line);
        text.push('\n');
    }
    (sites > 0).then_some(text)
}

/// Whether a line is an instruction that reads or writes shared memory.
fn is_access(line: &str) -> bool {
    let mut words = line.split_whitespace();
    let mut word = words.next().unwrap_or_default();
    if word.starts_with('@') {
        word = words.next().unwrap_or_default();
    }
    let opcode = ["ld.", "st.", "atom.", "red.", "ldmatrix.", "stmatrix."];
    opcode.iter().any(|start| word.starts_with(start)) && word.contains(".shared")
}

#[cfg(test)]
mod tests {
    use super::*;

    const PTX: &str = ".shared .align 4 .b8 part[1024];\n.visible .entry f(.param .u64 a)\n{\n\
        \tmov.u32 \t%r1, part;\n\tst.shared.f32 \t[%r1], %f1;\n\tbar.sync \t0;\n\
        @%p1 ld.volatile.shared.f32 %f2, [%r1];\n\tatom.shared.add.u32 %r2, [%r1], 1;\n\
        \tst.global.f32 [%rd1], %f2;\n\tret;\n}\n";

    #[test]
    fn every_access_to_shared_memory_gets_a_delay_and_nothing_else_changes() {
        let delayed = with_delays(PTX).unwrap();
        assert_eq!(delayed.matches("nanosleep").count(), 3);
        let mut rest = delayed.clone();
        while let Some(start) = rest.find("{\n.reg .pred %ws_late") {
            let end = start + rest[start..].find("\n}\n").unwrap() + 3;
            rest.replace_range(start..end, "");
        }
        assert_eq!(rest, PTX);
        assert_eq!(
            with_delays("ld.global.f32 %f1, [%rd1];\n.shared .b8 x[4];"),
            None
        );
    }

    #[test]
    #[ignore = "needs ptxas from the wheel that `cargo xtask kernels` unpacks in target/wheels"]
    fn the_assembler_takes_it() {
        let wheel = std::path::Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("../../target/wheels/nvidia-cuda-nvcc-cu12-12.9.86/nvidia/cuda_nvcc/bin/ptxas");
        let text = format!(
            ".version 8.0\n.target sm_70\n.address_size 64\n{}",
            PTX.replace(
                "{\n\tmov",
                "{\n.reg .pred %p<2>; .reg .f32 %f<3>; .reg .b32 %r<3>; .reg .b64 %rd<2>;\n\tmov"
            )
        );
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("a.ptx");
        std::fs::write(&file, with_delays(&text).unwrap()).unwrap();
        let done = std::process::Command::new(wheel)
            .args(["-arch=sm_90", "-o", "/dev/null"])
            .arg(&file)
            .output()
            .unwrap();
        assert!(
            done.status.success(),
            "{}",
            String::from_utf8_lossy(&done.stderr)
        );
    }
}
