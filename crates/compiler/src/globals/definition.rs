//! Functions and kernels as they are defined.

use super::Global;
use crate::diagnostic::Problem;
use crate::syntax::{ExprId, List};
use warpsmith_ir::names::Name;
use warpsmith_ir::types::TypeId;
use warpsmith_ir::{KernelOptions, Origin};

/// A parameter.
#[derive(Clone, Debug)]
pub(crate) struct ParamDef {
    pub(crate) name: Name,
    pub(crate) ty: TypeId,
    pub(crate) default: Option<Global>,
    /// Whether it is a `wp.Function`, which no type of C++ stands for.
    pub(crate) takes_function: bool,
    /// Whether its type is written as one of Python's own.
    pub(crate) is_python: bool,
}

/// What a function's return annotation says.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Returns {
    /// There is none, or it is `None`.
    Inferred,
    /// The types, with a bit for each that is written as one of Python's own.
    Types(Vec<TypeId>, u64),
}

/// A function or kernel body with its signature. A signature that cannot be worked out is a problem of
/// whoever uses the function.
#[derive(Debug)]
pub(crate) struct FunctionDef {
    pub(crate) key: Name,
    pub(crate) native: Name,
    pub(crate) params: Result<Vec<ParamDef>, Problem>,
    pub(crate) returns: Result<Returns, Problem>,
    pub(crate) body: List,
    /// The line of the first decorator.
    pub(crate) decorator_line: u32,
    pub(crate) def_line: u32,
    /// Where the name stands.
    pub(crate) span: (u32, u32),
    pub(crate) inline_hint: &'static str,
    /// Whether this is a `@wp.func`, whose native name carries a number.
    pub(crate) numbered: bool,
    /// Whether this is an instance of a generic function: its lines are then counted from its own
    /// first line.
    pub(crate) instance: bool,
    /// Whether it stands in the library's text, behind the source's own.
    pub(crate) library: bool,
    /// The module of the project that defines it.
    pub(crate) module: u16,
    /// What the names of the function around it stand for.
    pub(crate) closure: Vec<(Name, Global)>,
    /// Expressions of `wp.static` that have defined functions, with what they give.
    pub(crate) statics: Vec<(ExprId, Global)>,
    /// What its author wrote in C++, or that it belongs to another function.
    pub(crate) origin: Origin,
    /// The function that is its adjoint.
    pub(crate) gradient: Option<u32>,
    /// The function that stands in for it when a forward pass is repeated.
    pub(crate) replay: Option<u32>,
    /// The reading of a factory that made it, counted from 1; 0 where there is but one.
    pub(crate) reading: u32,
    /// Position among the built functions.
    pub(crate) built: Option<u32>,
    pub(crate) building: bool,
}

/// All overloads of one function name.
#[derive(Debug, Default)]
pub(crate) struct FunctionSet {
    /// Concrete overloads in order of definition, then instances in order of creation.
    pub(crate) overloads: Vec<u32>,
    /// Generic ones.
    pub(crate) templates: Vec<u32>,
}

/// A kernel.
#[derive(Clone, Debug)]
pub(crate) struct KernelDef {
    pub(crate) function: u32,
    pub(crate) options: KernelOptions,
    /// `enable_backward` where the decorator says so.
    pub(crate) backward: Option<bool>,
    pub(crate) grid_stride: Option<bool>,
    /// Options of a module of its own, where the decorator asks for one.
    pub(crate) own_module: Option<ModuleOptions>,
    /// The arguments of the factory around it, as Python writes them.
    pub(crate) label: String,
    /// Whether another reading of its factory has made the same kernel.
    pub(crate) is_repeated: bool,
    /// Argument types of each `wp.overload`.
    pub(crate) overloads: Vec<Vec<TypeId>>,
    /// An option that cannot be reproduced, found when the decorator was read.
    pub(crate) problem: Option<Problem>,
}

/// Options of a module that change the text; what is not given is as `wp.config` has it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct ModuleOptions {
    pub(crate) backward: Option<bool>,
    pub(crate) max_unroll: Option<i64>,
    pub(crate) grid_stride: Option<bool>,
    /// Threads in a block.
    pub(crate) block: Option<i64>,
}
