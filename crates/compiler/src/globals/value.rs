//! Module-level values and the scope that holds them.

use super::{FunctionDef, FunctionSet, KernelDef, ModuleOptions, warp_names};
use crate::ir::{Constant, Number};
use crate::names::{Name, Names};
use crate::syntax::{ExprId, ExprKind, SourceText, Tree};
use crate::types::{TypeId, TypeTable};

/// A Python module that kernels refer to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PythonModule {
    Warp,
    WarpTypes,
    Math,
    Numpy,
    Typing,
}

/// What a module-level name or a dotted path stands for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Global {
    /// A type of the language.
    Type(TypeId),
    /// One of Python's own `float`, `int`, `bool`, which are written differently in some calls.
    PythonType(TypeId),
    /// A constant.
    Value(Constant),
    /// A `@wp.func`, with all its overloads.
    Function(u32),
    /// A builtin.
    Builtin(u16),
    /// Something of the `warp` module that is neither type, constant nor builtin: a decorator, say.
    WarpCallable(Name),
    /// Any other callable; only its name matters.
    Callable,
    Module(PythonModule),
    /// A kernel, by position.
    Kernel(u32),
    /// Not worked out; says what it is.
    Opaque(&'static str),
}

/// Everything that is defined at module level.
#[derive(Debug, Default)]
pub(crate) struct Scope {
    values: Vec<Option<Global>>,
    pub(crate) functions: Vec<FunctionDef>,
    pub(crate) sets: Vec<FunctionSet>,
    pub(crate) kernels: Vec<KernelDef>,
    pub(crate) options: ModuleOptions,
    pub(crate) elements: Vec<Number>,
}

impl Scope {
    /// Forgets everything.
    pub(crate) fn clear(&mut self) {
        self.values.clear();
        self.functions.clear();
        self.sets.clear();
        self.kernels.clear();
        self.options = ModuleOptions::default();
        self.elements.clear();
    }

    pub(crate) fn set(&mut self, name: Name, value: Global) {
        if self.values.len() <= name.index() {
            self.values.resize(name.index() + 1, None);
        }
        self.values[name.index()] = Some(value);
    }

    /// A module-level name.
    pub(crate) fn get(&self, name: Name) -> Option<Global> {
        self.values.get(name.index()).copied().flatten()
    }
}

/// The tables that module-level evaluation reads and extends.
pub(crate) struct Tables<'a> {
    pub(crate) names: &'a mut Names,
    pub(crate) types: &'a mut TypeTable,
    pub(crate) tree: &'a mut Tree,
    pub(crate) source: &'a SourceText,
    pub(crate) text: &'a str,
}

/// The root name of a dotted path and its attributes in order, if the expression is one.
pub(crate) fn dotted_path(tree: &Tree, expr: ExprId, attributes: &mut Vec<Name>) -> Option<Name> {
    attributes.clear();
    let mut at = expr;
    loop {
        match tree.expr(at).kind {
            ExprKind::Attribute(value, attr) => {
                attributes.push(attr);
                at = value;
            }
            ExprKind::Name(name) => {
                attributes.reverse();
                return Some(name);
            }
            _ => return None,
        }
    }
}

/// An attribute of a module-level value; `None` if there is no such attribute.
pub(crate) fn attribute(
    value: Global,
    attr: Name,
    names: &Names,
    types: &mut TypeTable,
) -> Option<Global> {
    match value {
        Global::Module(PythonModule::Warp) => warp_names::warp_attribute(attr, names, types),
        Global::Module(PythonModule::WarpTypes) => {
            warp_names::warp_types_attribute(attr, names, types)
        }
        Global::Module(PythonModule::Math) => Some(warp_names::math_attribute(names.get(attr))),
        Global::Module(PythonModule::Numpy) => Some(warp_names::numpy_attribute(names.get(attr))),
        Global::Module(PythonModule::Typing) => Some(warp_names::typing_attribute(names.get(attr))),
        _ => Some(Global::Opaque("an attribute of a module-level value")),
    }
}

/// A bare name that is not defined in the source: the `warp` module's own names, then Python's.
pub(crate) fn fallback(name: Name, names: &Names, types: &mut TypeTable) -> Option<Global> {
    // `float` and `int` name builtins too, which the module does not export.
    match names.get(name) {
        text @ ("float" | "int") => warp_names::python_builtin(text),
        text => warp_names::warp_attribute(name, names, types)
            .or_else(|| warp_names::python_builtin(text)),
    }
}
