//! What a source defines at module level, worked out without running Python: imports, constants, type
//! aliases, structs, functions and kernels.
//!
//! What cannot be worked out is kept as [`Global::Opaque`] and refused only if a kernel uses it;
//! statements that could change anything (loops, assignments to attributes, unknown calls) are refused
//! where they stand.

mod annotation;
mod arithmetic;
mod callables;
mod classes;
mod collect;
mod definition;
mod evaluate;
mod library;
mod options;
mod rounding;
mod value;
mod warp_names;

pub(crate) use definition::{
    FunctionDef, FunctionSet, KernelDef, ModuleOptions, ParamDef, Returns,
};
pub(crate) use rounding::round_to;
pub(crate) use value::{Global, PythonModule, Scope, Tables, attribute, fallback, resolve_path};
