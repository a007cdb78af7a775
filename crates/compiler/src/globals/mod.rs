//! What a source and the modules that it imports define, worked out without running Python: imports,
//! constants, type aliases, structs, functions and kernels.
//!
//! What cannot be worked out is kept as [`Global::Opaque`] and refused only if a kernel uses it. What a
//! statement sets that only Python can run (a loop, a condition that is not known) is such a thing.

mod annotation;
mod arithmetic;
mod bindings;
mod callables;
mod classes;
mod closure;
mod collect;
mod comprehension;
mod construct;
mod definition;
mod display;
mod evaluate;
mod host_call;
mod imports;
mod instance;
mod library;
mod nested;
mod options;
mod project;
mod python_function;
mod rounding;
mod skipped;
mod statics;
mod value;
mod variants;
mod warp_names;
mod warp_value;
mod written;

pub(crate) use definition::{
    FunctionDef, FunctionSet, KernelDef, ModuleOptions, ParamDef, Returns,
};
pub(crate) use evaluate::{evaluate, member_value};
pub(crate) use instance::field_of;
pub use project::{ModuleText, Modules, Place};
pub(crate) use project::{ProjectModule, imported, package};
pub(crate) use rounding::round_to;
pub(crate) use value::{
    Global, Known, PythonModule, Scope, Tables, attribute, fallback, resolve_path,
};
pub(crate) use variants::Bind;
