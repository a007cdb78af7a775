//! The columns of a data set, in order: where a record has each value, and where a row keeps it.

use bytes::Bytes;

use super::row::Row;
use crate::record::{GENERATOR_VERSION, Record, WARP_VERSION};
use crate::verify::Check;

/// How a column's values are reached: in a record to be written, and in a row that was read.
pub(super) enum Column {
    /// A whole text, compressed in pages of its own.
    Long(fn(&Record) -> &str, fn(&mut Row) -> &mut String),
    /// A name or a word.
    Short(fn(&Record) -> Bytes, fn(&mut Row) -> &mut String),
    Number(fn(&Record) -> u32, fn(&mut Row) -> &mut u32),
    Wide(fn(&Record) -> u64, fn(&mut Row) -> &mut u64),
    Names(
        fn(&Record) -> &[&'static str],
        fn(&mut Row) -> &mut Vec<String>,
    ),
    Numbers(fn(&Record) -> &[u32], fn(&mut Row) -> &mut Vec<u32>),
}

fn word(text: &'static str) -> Bytes {
    Bytes::from_static(text.as_bytes())
}

fn check(check: &Check) -> Bytes {
    match check {
        Check::NotRun => word("not run"),
        Check::Passed => word("passed"),
        other => Bytes::from(other.to_string()),
    }
}

macro_rules! columns {
    ($($name:ident: $kind:ident $get:expr;)*) => {
        /// Every column: its name and its values.
        pub(super) const COLUMNS: &[(&str, Column)] = &[
            $((stringify!($name), Column::$kind($get, |row| &mut row.$name)),)*
        ];
    };
}

columns! {
    id: Short |r| Bytes::from(r.id());
    seed: Wide |r| r.origin.seed;
    index: Wide |r| r.origin.index;
    attempt: Number |r| r.origin.attempt;
    split: Short |r| word(r.split.name());
    category: Short |r| word(r.draft.category.name());
    difficulty: Number |r| u32::from(r.draft.difficulty);
    featured: Short |r| word(r.draft.featured);
    kernel_name: Short |r| Bytes::copy_from_slice(r.draft.kernel.as_bytes());
    python: Long |r| &r.draft.source;
    cuda_forward: Long |r| r.cuda_forward();
    cuda_backward: Long |r| r.cuda_backward();
    cpu_forward: Long |r| r.cpu_forward();
    cpu_backward: Long |r| r.cpu_backward();
    builtins: Names |r| &r.features.builtins;
    constructs: Names |r| &r.features.constructs;
    variables: Number |r| r.features.variables;
    operations: Number |r| r.features.operations;
    adjoints: Number |r| r.features.adjoints;
    branches: Number |r| r.features.branches;
    loops: Number |r| r.features.loops;
    nesting: Number |r| r.features.nesting;
    functions: Number |r| r.features.functions;
    parameters: Number |r| r.features.parameters;
    launch_rank: Number |r| r.features.rank;
    python_tokens: Number |r| r.fingerprint.tokens;
    cuda_tokens: Number |r| r.cuda_tokens;
    hash_exact: Wide |r| r.fingerprint.exact;
    hash_modulo_names: Wide |r| r.fingerprint.modulo_names;
    hash_shape: Wide |r| r.fingerprint.shape;
    minhash: Numbers |r| &r.fingerprint.minhash;
    executed: Short |r| check(&r.verification.executed);
    gradient: Short |r| check(&r.verification.gradient);
    compiled: Short |r| check(&r.verification.compiled);
    gpu: Short |r| check(&r.verification.gpu);
    vulkan: Short |r| check(&r.verification.vulkan);
    warp: Short |r| check(&r.verification.warp);
    expected: Long |r| &r.extra.expected;
    inputs: Long |r| &r.extra.inputs;
    gradients: Long |r| &r.extra.gradients;
    ptx: Long |r| &r.extra.ptx;
    sass: Long |r| &r.extra.sass;
    generator_version: Short |_| word(GENERATOR_VERSION);
    compiler_version: Short |_| word(env!("CARGO_PKG_VERSION"));
    warp_version: Short |_| word(WARP_VERSION);
}
