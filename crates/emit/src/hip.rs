//! CUDA text with HIP's spelling, for AMD's GPUs.
//!
//! HIP takes CUDA's own words for almost everything. What is left: the name of the compiler's macro, pieces
//! of PTX, which give way to the header's C++ of the same, and 16-bit exchanges. No HIP compiler has read
//! the text; it says so itself.

use crate::runtime_header;

const PREAMBLE: &str = "\
// UNVERIFIED: no HIP compiler has read this text. Made for `hipcc -ffp-contract=off`.
#include <hip/hip_runtime.h>
";

/// What HIP lacks: an exchange of 16 bits, made in the 32 bits around them.
const HALF_EXCHANGE: &str = "\
static __device__ __forceinline__ unsigned short atomicCAS(unsigned short* p, unsigned short expected, unsigned short value) {
    const unsigned long long address = reinterpret_cast<unsigned long long>(p);
    unsigned* word = reinterpret_cast<unsigned*>(address & ~3ull);
    const unsigned shift = (address & 2ull) ? 16u : 0u;
    unsigned seen = *reinterpret_cast<volatile unsigned*>(word);
    for (;;) {
        const unsigned short now = static_cast<unsigned short>(seen >> shift);
        if (now != expected) return now;
        const unsigned next = (seen & ~(0xffffu << shift)) | (static_cast<unsigned>(value) << shift);
        const unsigned found = ::atomicCAS(word, seen, next);
        if (found == seen) return expected;
        seen = found;
    }
}
";

/// A self-contained text for HIP from the CUDA text of a kernel.
///
/// ```
/// let text = warpsmith_emit::hip_text("extern \"C\" __global__ void k_cuda_kernel_forward() {}");
/// assert!(text.contains("#include <hip/hip_runtime.h>") && text.contains("k_hip_kernel_forward"));
/// ```
pub fn hip_text(cuda: &str) -> String {
    let mut text = PREAMBLE.to_owned();
    let header = runtime_header::prologue(cuda);
    if header.contains("atomicCAS(reinterpret_cast<unsigned short*>") {
        text.push_str(HALF_EXCHANGE);
    }
    text.push_str(&without_ptx(&header));
    text.push_str(&cuda.replace("_cuda_kernel_", "_hip_kernel_"));
    text
}

/// The header with HIP's macro. Branches that hold PTX, or constants that HIP's own headers define, are never
/// taken.
fn without_ptx(header: &str) -> String {
    let lines: Vec<&str> = header.lines().collect();
    let mut text = String::with_capacity(header.len());
    for (n, line) in lines.iter().enumerate() {
        if *line == "#ifdef __CUDACC__" && cannot_be_taken(&lines[n + 1..]) {
            text.push_str("#if 0");
        } else {
            text.push_str(&line.replace("__CUDACC__", "__HIPCC__"));
        }
        text.push('\n');
    }
    text
}

/// Whether the branch that begins here has words of CUDA's alone.
fn cannot_be_taken(lines: &[&str]) -> bool {
    let branch = lines
        .iter()
        .take_while(|line| !line.starts_with("#else") && !line.starts_with("#endif"));
    let words = ["asm(", "asm volatile(", "#define INFINITY", "#define NAN"];
    branch
        .into_iter()
        .any(|line| words.iter().any(|word| line.contains(word)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_ptx_can_be_reached_and_cudas_macro_is_gone() {
        // Mentions that bring in every piece that has a branch for CUDA.
        let every = "float16 atomic_add atomic_sub half_to_float INFINITY NAN erfinv erfcinv atomic_min \
                     builtin_tid1d builtin_tid4d approx_div add_grad WP_ENABLE_SMEM_SPILLING";
        let text = hip_text(every);
        assert!(!text.contains("__CUDACC__"));
        let mut skipped = false;
        for line in text.lines() {
            match line {
                "#if 0" => skipped = true,
                _ if line.starts_with("#else") || line.starts_with("#endif") => skipped = false,
                // Behind a version of CUDA's compiler, which HIP's does not have.
                _ if line.starts_with("#define WP_ENABLE_SMEM_SPILLING") => {}
                _ => assert!(skipped || !line.contains("asm"), "{line}"),
            }
        }
        assert!(text.contains("UNVERIFIED"));
    }
}
