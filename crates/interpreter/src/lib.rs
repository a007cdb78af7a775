//! Executes a module on the CPU, forward and adjoint: the reference that a GPU is compared with.
//!
//! [`Interpreter::forward`] and [`Interpreter::adjoint`] plan a module once: every builtin becomes a
//! sequence of scalar operations on registers, every function is laid into its callers, and the adjoint is
//! derived operation by operation along the backward walk that [`warpsmith_ir`] describes.
//! [`Interpreter::run`] then runs it over a launch grid, many threads (lanes) per instruction.
//!
//! Invariants:
//! * the same arguments give the same bytes, whatever the number of cores: kernels in which threads
//!   could see each other's writes run on one core, 64 threads at a time. Where such threads do race,
//!   [`Interpreter::checking_races`] says so and [`Interpreter::in_thread_order`] gives what a CPU does;
//! * an index out of range, a variable without a value, a zero divisor and a failed expectation are
//!   findings, and never touch memory;
//! * an operation that is not known is a finding that names it.

mod argument;
mod arithmetic;
mod binding;
mod factorisation;
mod findings;
mod instruction;
mod lanes;
mod launch;
mod layout;
mod machine;
mod memory;
mod native;
mod noise;
mod object;
mod operations;
mod plan;
mod races;
mod random;
mod random_objects;
pub mod scalar_form;
mod special;
mod text;
mod tile;

pub use argument::{Argument, ArgumentError, ArrayArgument, Borrowed, Bytes, OnDevice};
pub use launch::{Interpreter, Outcome, Plan};
pub use native::NativeDifference;
pub use object::{Object, Objects};
pub use random::{random_arguments, random_arguments_with_ones, random_arguments_without_zeros};
pub use random_objects::with_random_objects;
pub use warpsmith_ir::half::{bfloat16_to_f32, f32_to_bfloat16, f32_to_half, half_to_f32};
pub use warpsmith_spatial::{Address, Bvh, HashGrid, Mesh, Sampling, Texel, Texture, Volume};
