//! The typed intermediate representation: what a kernel does, between Python and C++.
//!
//! A [`Module`] is one kernel with the functions and structs that it reaches. A [`Function`] is a list
//! of typed variables (parameters first) and a flat list of operations; branches and loops are pairs of
//! begin and end operations that point at each other, so the list is walked forwards for the forward
//! pass and backwards for the adjoint, with nothing else to consult.
//!
//! Values are single-assignment but for four documented exceptions, each an operation of its own:
//! [`Op::Call`] of `assign` carries a value round a loop, [`Op::Set`] and [`Op::Accumulate`] build the
//! result of `and`/`or`, in-place builtins (`assign_inplace`, `add_inplace`, …) and [`Op::FieldStore`]
//! change a part of a compound, and a loop's counter counts.
//!
//! # The adjoint
//! Every variable has a dual of its value type, zero at the start. The adjoint of a function replays the
//! forward operations (see [`Op::is_replayed`]), then walks them backwards; each operation's own
//! documentation says what it does to the duals. A call's adjoint is its builtin's adjoint applied to
//! the operands, with [`Operands::adjoints`] naming the dual that each operand feeds: for an operand
//! that was loaded through a reference that is the dual of the reference. Loops are not replayed on the
//! outside: walking backwards, a loop runs its iterations in reverse order, and each iteration zeroes
//! the duals in [`Loop::zeroed`], replays the body, then walks the body backwards.

pub mod algebra;
pub mod builtin;
mod constant;
mod function;
pub mod half;
mod lexer;
pub mod names;
mod op;
mod parse;
mod parse_op;
mod print;
pub mod small_keys;
pub mod types;
mod verify;

pub use constant::{Constant, Number};
pub use function::{
    Alias, CountedRange, Custom, Function, FunctionKind, KernelOptions, Line, Loop, LoopKind,
    Module, Origin, Piece, Place, Slot, SlotStep, Step, Template, Text, VarId, Variable,
};
pub use op::{Call, Callee, Chain, Comparison, Op, Operands, SlotUpdate};
pub use parse::{ParseError, parse};
pub use print::print;
pub use verify::{Violation, verify};
