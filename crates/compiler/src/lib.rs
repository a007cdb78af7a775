//! Warp-style Python kernels to typed IR, and from there to CUDA and CPU C++ text.
//!
//! Text in, text out: no device, and no files but a project's modules ([`Folder`]). [`Compiler::compile`]
//! gives a [`ir::Module`] or findings; [`emit_cuda`] and [`emit_cpu`] write a module's text; [`ir`] documents the representation between, which
//! the crate `warpsmith-interpreter` executes.
//!
//! ```
//! let source = "
//! import warp as wp
//!
//! @wp.kernel
//! def saxpy(x: wp.array(dtype=float), y: wp.array(dtype=float), a: float):
//!     i = wp.tid()
//!     y[i] = a * x[i] + y[i]
//! ";
//! let module = warpsmith_compiler::compile(source, &Default::default()).unwrap();
//! assert!(warpsmith_compiler::emit_cuda(&module).contains("var_2 = wp::mul(var_a, var_3);"));
//! ```
//!
//! Invariant: for an accepted kernel the text after the prologue is, byte for byte, what warp-lang
//! 1.19.0 generates for it; everything else is refused with a finding that names the construct and its
//! line.

mod compile;
mod diagnostic;
mod folder;
mod globals;
mod headers;
mod lower;
mod overload;
mod refused_text;
mod syntax;

pub use compile::{Binding, Compiler, EachKernel, Options, RUNTIME_LIBRARY, compile, kernels};
pub use diagnostic::{FAMILY, render};
pub use folder::{Folder, Roots};
pub use globals::{ModuleText, Modules, Place};
pub use refused_text::refused_text;
pub use warpsmith_emit::{
    Target, emit, emit_both, emit_cpu, emit_cuda, hip_text, launch_abi, runtime_header,
};
pub use warpsmith_ir as ir;
pub use warpsmith_ir::builtin::{
    BUILTINS, Braces, Builtin, Default, Dispatch, Param, Pattern, Row, Rule, builtin,
};
pub use warpsmith_ir::names::{Name, Names};
pub use warpsmith_ir::types::{
    Extent, FieldDef, Mapping, Query, Scalar, StructDef, StructId, Tile, Type, TypeId, TypeTable,
};
