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
    /// Where the library keeps its own modules.
    WarpSource,
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
    /// A 64-bit number by another name, which only annotations may give it.
    Handle,
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
    /// A class that holds constants; each is a module-level value under its dotted name.
    Class(Name),
    /// A kernel, by position.
    Kernel(u32),
    /// Not worked out; says what it is.
    Opaque(&'static str),
}

/// Everything that is defined at module level.
#[derive(Debug, Default)]
pub(crate) struct Scope {
    values: Vec<Option<Global>>,
    /// The names that have a value, so that forgetting them costs no more than they are.
    known: Vec<Name>,
    pub(crate) functions: Vec<FunctionDef>,
    pub(crate) sets: Vec<FunctionSet>,
    /// The overloads of builtins that the library defines in Python, by builtin.
    pub(super) library: Vec<(u16, u32)>,
    pub(crate) kernels: Vec<KernelDef>,
    pub(crate) options: ModuleOptions,
    pub(crate) elements: Vec<Number>,
}

impl Scope {
    /// Forgets everything.
    pub(crate) fn clear(&mut self) {
        for name in self.known.drain(..) {
            self.values[name.index()] = None;
        }
        self.functions.clear();
        self.sets.clear();
        self.library.clear();
        self.kernels.clear();
        self.options = ModuleOptions::default();
        self.elements.clear();
    }

    pub(crate) fn set(&mut self, name: Name, value: Global) {
        if self.values.len() <= name.index() {
            self.values.resize(name.index() + 1, None);
        }
        let slot = &mut self.values[name.index()];
        if slot.is_none() {
            self.known.push(name);
        }
        *slot = Some(value);
    }

    /// Gives a name back what it stood for.
    pub(crate) fn restore(&mut self, name: Name, value: Option<Global>) {
        if let Some(slot) = self.values.get_mut(name.index()) {
            *slot = value;
        }
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

/// What a dotted path stands for at module level: its root by `root`, then attribute by attribute. `None`
/// if the expression is no path, or leads nowhere.
pub(crate) fn resolve_path(
    expr: ExprId,
    tree: &Tree,
    scope: &Scope,
    names: &Names,
    types: &mut TypeTable,
    root: &mut dyn FnMut(Name, &mut TypeTable) -> Option<Global>,
) -> Option<Global> {
    match tree.expr(expr).kind {
        ExprKind::Name(name) => root(name, types),
        ExprKind::Attribute(base, attr) => {
            let value = resolve_path(base, tree, scope, names, types, root)?;
            attribute(value, attr, scope, names, types)
        }
        _ => None,
    }
}

/// An attribute of a module-level value; `None` if there is no such attribute.
pub(crate) fn attribute(
    value: Global,
    attr: Name,
    scope: &Scope,
    names: &Names,
    types: &mut TypeTable,
) -> Option<Global> {
    match value {
        Global::Class(class) => {
            let dotted = format!("{}.{}", names.get(class), names.get(attr));
            names
                .find(&dotted)
                .and_then(|name| scope.get(name))
                .or(Some(Global::Opaque("an attribute of a class")))
        }
        Global::Module(PythonModule::Warp) => warp_names::warp_attribute(attr, names, types),
        Global::Module(PythonModule::WarpSource) => {
            (names.get(attr) == "types").then_some(Global::Module(PythonModule::WarpTypes))
        }
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
        text if warp_names::needs_module(text) => None,
        text => warp_names::warp_attribute(name, names, types)
            .or_else(|| warp_names::python_builtin(text)),
    }
}
