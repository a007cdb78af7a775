//! Kernels with one mistake: its kind, why it is one, and the repair as a diff.
//!
//! A mistake is made in the text of a right kernel, on one line. Whether it shows on some input is not
//! known here; whoever runs the kernel finds out.

use std::fmt::Write;

use serde::Serialize;

use crate::expression::Language;
use crate::specification::Specification;

/// The kind of a mistake.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum FaultKind {
    /// A thread beyond the end works, too.
    GuardTooWide,
    /// The last element has no thread.
    GuardTooNarrow,
    /// A loop leaves out its last turn.
    LoopEndsEarly,
    /// A sum, maximum or minimum begins with the wrong number.
    WrongStart,
    /// One operation is another.
    WrongOperation,
    /// A row is as long as the wrong dimension says.
    WrongStride,
    /// Threads read what others have not written yet.
    MissingBarrier,
    /// Threads overwrite each other's additions.
    NotAtomic,
    /// Half of a warp is left out.
    ShortShuffle,
    /// The border is in the wrong place.
    WrongEdge,
}

/// A wrong kernel.
#[derive(Clone, Debug, Serialize)]
pub struct Fault {
    /// The kind of its mistake.
    pub kind: FaultKind,
    /// `cuda` or `warp`.
    pub language: &'static str,
    /// The kernel that the mistake was made in: `naive`, `shared_tile`, …, or `warp`.
    pub variant: &'static str,
    /// Its line, counted from 1.
    pub line: usize,
    /// Why it is wrong.
    pub because: &'static str,
    /// The wrong kernel: a whole file.
    pub source: String,
    /// From the wrong kernel to the right one, as a unified diff.
    pub repair: String,
}

/// What is written instead of what.
struct Mistake {
    kind: FaultKind,
    from: &'static str,
    to: &'static str,
    because: &'static str,
}

const fn mistake(
    kind: FaultKind,
    from: &'static str,
    to: &'static str,
    because: &'static str,
) -> Mistake {
    Mistake {
        kind,
        from,
        to,
        because,
    }
}

const WIDE: &str = "the thread whose index is the size itself reads and writes beyond the end";
const NARROW: &str = "the last element is never written";
const EARLY: &str = "the last turn of the loop is missing";
const START: &str = "the accumulator does not begin with the neutral element";
const OPERATION: &str = "the formula has another operation here";
const STRIDE: &str = "rows have as many elements as there are columns, not rows";
const BARRIER: &str = "nothing keeps threads from using shared memory before all of it is written";
const ATOMIC: &str = "two threads that add to one place at a time lose one of the additions";
const SHUFFLE: &str =
    "the first step of the reduction is missing, so that half of the lanes do not count";
const EDGE: &str = "the last index inside is one less than the size";

use FaultKind::{
    GuardTooNarrow, GuardTooWide, LoopEndsEarly, MissingBarrier, NotAtomic, ShortShuffle,
    WrongEdge, WrongOperation, WrongStart, WrongStride,
};

/// The first of a kind that fits is made.
const CUDA: &[Mistake] = &[
    mistake(GuardTooWide, ">= n) return;", "> n) return;", WIDE),
    mistake(
        GuardTooWide,
        "row >= rows) return;",
        "row > rows) return;",
        WIDE,
    ),
    mistake(GuardTooNarrow, ">= n) return;", ">= n - 1) return;", NARROW),
    mistake(
        GuardTooNarrow,
        "row >= rows) return;",
        "row >= rows - 1) return;",
        NARROW,
    ),
    mistake(LoopEndsEarly, "< cols; ", "< cols - 1; ", EARLY),
    mistake(LoopEndsEarly, "row < rows; ", "row < rows - 1; ", EARLY),
    mistake(LoopEndsEarly, "i < k; ", "i < k - 1; ", EARLY),
    mistake(LoopEndsEarly, "k < 16; ", "k < 15; ", EARLY),
    mistake(WrongStart, " = 0.0f;", " = 1.0f;", START),
    mistake(WrongStart, " = -3.402823466e+38f;", " = 0.0f;", START),
    mistake(WrongStart, " = 3.402823466e+38f;", " = 0.0f;", START),
    mistake(WrongOperation, "v = fmaxf(", "v = fminf(", OPERATION),
    mistake(WrongOperation, "sum = sum + ", "sum = sum - ", OPERATION),
    mistake(
        WrongOperation,
        "total = total + ",
        "total = total - ",
        OPERATION,
    ),
    mistake(WrongOperation, "v = 1.0f / ", "v = 2.0f / ", OPERATION),
    mistake(WrongOperation, " * (", " + (", OPERATION),
    mistake(
        WrongStride,
        "row * cols + col]",
        "row * rows + col]",
        STRIDE,
    ),
    mistake(MissingBarrier, "__syncthreads();", "", BARRIER),
    mistake(NotAtomic, "atomicAdd(&out[", "out[", ATOMIC),
    mistake(NotAtomic, "atomicAdd(&counts[", "counts[", ATOMIC),
    mistake(NotAtomic, "atomicAdd(&sums[", "sums[", ATOMIC),
    mistake(ShortShuffle, "offset = 16;", "offset = 8;", SHUFFLE),
    mistake(WrongEdge, "max(i, 0), n - 1)", "max(i, 0), n - 2)", EDGE),
    mistake(WrongEdge, "i >= 0 && i < n ", "i >= 0 && i < n - 1 ", EDGE),
];

const WARP: &[Mistake] = &[
    mistake(
        LoopEndsEarly,
        "in range(cols):",
        "in range(cols - 1):",
        EARLY,
    ),
    mistake(
        LoopEndsEarly,
        "in range(a.shape[1]):",
        "in range(a.shape[1] - 1):",
        EARLY,
    ),
    mistake(
        LoopEndsEarly,
        "in range(x.shape[0]):",
        "in range(x.shape[0] - 1):",
        EARLY,
    ),
    mistake(LoopEndsEarly, "in range(16):", "in range(15):", EARLY),
    mistake(WrongStart, "= float(0.0)", "= float(1.0)", START),
    mistake(
        WrongStart,
        "= float(-3.402823466e+38)",
        "= float(0.0)",
        START,
    ),
    mistake(
        WrongStart,
        "= float(3.402823466e+38)",
        "= float(0.0)",
        START,
    ),
    mistake(WrongOperation, "v = wp.max(", "v = wp.min(", OPERATION),
    mistake(WrongOperation, "sum = sum + ", "sum = sum - ", OPERATION),
    mistake(
        WrongOperation,
        "total = total + ",
        "total = total - ",
        OPERATION,
    ),
    mistake(WrongOperation, "v = 1.0 / ", "v = 2.0 / ", OPERATION),
    mistake(WrongOperation, " * (", " + (", OPERATION),
    mistake(WrongOperation, " + ", " - ", OPERATION),
    mistake(
        WrongEdge,
        "wp.clamp(i, 0, n - 1)",
        "wp.clamp(i, 0, n - 2)",
        EDGE,
    ),
    mistake(
        WrongEdge,
        "wp.clamp(i, 0, rows - 1)",
        "wp.clamp(i, 1, rows - 1)",
        EDGE,
    ),
];

/// Wrong kernels for a specification: of each kernel, at most one of each kind.
pub fn faults(specification: &Specification) -> Vec<Fault> {
    let mut found = Vec::new();
    let warp = specification.warp();
    add(&mut found, &warp, Language::Warp, "warp");
    for kernel in specification.cuda() {
        add(&mut found, &kernel.source, Language::Cuda, kernel.variant);
    }
    found
}

fn add(found: &mut Vec<Fault>, right: &str, language: Language, variant: &'static str) {
    let cuda = language == Language::Cuda;
    let mut made: Vec<FaultKind> = Vec::new();
    for mistake in if cuda { CUDA } else { WARP } {
        if made.contains(&mistake.kind) {
            continue;
        }
        let lines: Vec<&str> = right.lines().collect();
        // Neither declarations nor a thread's own place are formulas.
        let elsewhere = |line: &str| line.contains("__global__") || line.contains("blockIdx");
        let fits = |line: &&str| {
            line.contains(mistake.from) && (mistake.kind != WrongOperation || !elsewhere(line))
        };
        let Some(at) = lines.iter().position(fits) else {
            continue;
        };
        let mut wrong = lines[at].replacen(mistake.from, mistake.to, 1);
        if mistake.kind == NotAtomic {
            // `atomicAdd(&out[i], v);` becomes `out[i] += v;`.
            wrong = match wrong.rsplit_once("], ") {
                Some((place, value)) => match value.strip_suffix(");") {
                    Some(value) => format!("{place}] += {value};"),
                    None => continue,
                },
                None => continue,
            };
        }
        made.push(mistake.kind);
        let mut source: Vec<&str> = lines.clone();
        match wrong.trim().is_empty() {
            true => {
                source.remove(at);
            }
            false => source[at] = &wrong,
        }
        let file = match cuda {
            true => format!("{variant}.cu"),
            false => "kernel.py".to_owned(),
        };
        found.push(Fault {
            kind: mistake.kind,
            language: if cuda { "cuda" } else { "warp" },
            variant,
            line: at + 1,
            because: mistake.because,
            repair: diff(&file, &source, &lines, at),
            source: source.join("\n") + "\n",
        });
    }
}

/// A unified diff of two texts that differ in one line, or by one line, at a place.
fn diff(file: &str, wrong: &[&str], right: &[&str], at: usize) -> String {
    let removed = usize::from(wrong.len() == right.len());
    let first = at.saturating_sub(3);
    let behind = right.len().min(at + 4) - (at + 1);
    let (before, after) = (at - first + removed + behind, at - first + 1 + behind);
    let mut text = format!(
        "--- a/{file}\n+++ b/{file}\n@@ -{},{before} +{},{after} @@\n",
        first + 1,
        first + 1
    );
    for line in &right[first..at] {
        let _ = writeln!(text, " {line}");
    }
    if removed == 1 {
        let _ = writeln!(text, "-{}", wrong[at]);
    }
    let _ = writeln!(text, "+{}", right[at]);
    for line in &right[at + 1..at + 1 + behind] {
        let _ = writeln!(text, " {line}");
    }
    text
}
