//! The corpus: kernels written at random, compiled, verified, deduplicated, split, and written down.
//!
//! [`draft`] writes the program of one pair; [`RecordBuilder`] compiles it; [`generate`] makes a whole
//! data set, which
//! [`inspect`] checks and [`statistics`] describes.
//!
//! Invariant: pair *i* of seed *s* is the same bytes whatever the number of threads, the shard that it
//! falls in, and however often the run was stopped.

mod block;
mod by_name;
mod card;
mod category;
mod contamination;
mod coverage;
mod distinct;
mod features;
mod findings;
mod fingerprint;
mod generate;
mod inspect;
mod mistakes;
mod output;
mod page;
mod pipeline;
mod queue;
mod random;
mod record;
mod run;
mod selection;
mod shape_set;
mod shard;
mod split;
mod statistics;
mod verify;

pub use card::card;
pub use category::{Category, UnknownCategory};
pub use contamination::{OtherTexts, Overlap, TooMuchText, WINDOW};
pub use coverage::{CORE_BUILTINS, unused_builtins};
pub use distinct::Distinct;
pub use features::Features;
pub use findings::FAMILY;
pub use fingerprint::{Fingerprint, MINHASH_BUCKETS, token_count};
pub use generate::{Draft, Wanted, draft};
pub use inspect::{Inspection, find_row, inspect, manifest_findings};
pub use mistakes::{Rejected, WrongCode, rejected, wrong_code};
pub use output::{
    Compression, FileEntry, LevelCounts, Manifest, ManifestError, ReadError, Row, Settings, Tally,
    UnknownCompression, read_rows,
};
pub use page::page;
pub use record::{
    Extra, GENERATOR_VERSION, Origin, Record, RecordBuilder, SCHEMA_VERSION, WARP_VERSION,
};
pub use run::{Progress, RunError, discard_other, generate};
pub use selection::{MOST_ATTEMPTS, Selected, Selection, write_draft};
pub use shape_set::ShapeSet;
pub use split::{Split, SplitRule};
pub use statistics::{Distribution, Statistics, StatisticsError, statistics};
pub use verify::{
    Check, CompileReport, Execution, Executor, Keep, Level, PrepareError, Toolchain, Tools,
    UnknownColumn, UnknownLevel, Verification, Verifier, WarpOracle, WarpText, compile_batch,
    launch_shape,
};
