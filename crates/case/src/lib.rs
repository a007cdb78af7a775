//! A user's own kernel: what it is to do, whether it does it, how fast it is, and what makes it faster.
//!
//! A [`Case`] is one small TOML file that says which kernel, with which arguments, over which sizes,
//! compared with what. Every verb about a user's kernel reads it.

mod choice;
mod cuda_source;
mod description;
mod document;
mod element;
mod expression;
mod fill;
mod host_code;
mod inspect;
mod instance;
pub mod judge;
mod occupancy;
mod program;
mod read;
mod reference;
mod signature;
mod sizes;
mod template;
mod tune;
mod verify;
mod warp_element;
mod watched;

pub use choice::{Choice, choice_words};
pub use cuda_source::read_cuda_source;
pub use description::{
    Argument, ArgumentKind, Callable, Case, CostExpressions, Fill, Launch, Reference,
    ReferenceKind, Sizes, Source, StatedTolerance, Tunable, TunableValue, WorkloadReference,
};
pub use document::CaseError;
pub use expression::{Expression, ExpressionError, Scope};
pub use inspect::{
    Access, COUNTERS, CodeLine, Counters, MemorySpace, Mix, StaticCost, mix_of_ptx, mix_of_sass,
};
pub use instance::{BoundArgument, BoundValue, Contents, Instance, LaunchNumbers};
pub use occupancy::{Limiter, Occupancy, known_architectures, occupancy};
pub use program::{
    CompiledCuda, Fault, Program, Settings, SharedArrays, TimedFunction, check_binary_source,
    check_code, check_device, compile_cuda, compile_cuda_file, target,
};
pub use reference::{WorkerError, offer_workloads, timed_contents};
pub use signature::{BodyUse, KernelParameter, KernelSignature, kernel_signatures};
pub use sizes::{VerificationSizes, size_words};
pub use template::{case_of_cuda, case_of_warp};
pub use tune::{
    Attempt, BegunReference, CompileAhead, Contender, Lane, Point, Search, Space, Workbench, race,
};
pub use verify::{
    ArrayTruth, Check, FAMILY, OutputComparison, Plan, Verdict, Verification, Verifier,
    WrongElement, compare_arrays, judge,
};
