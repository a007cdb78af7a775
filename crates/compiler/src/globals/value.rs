//! Module-level values and the scope that holds them.

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

use super::host_call::{FactoryCall, HostFunction, Progress};
use super::nested::Uncalled;
use super::project::ProjectModule;
use super::variants::Bind;
use super::written::Outline;
use super::{FunctionDef, FunctionSet, KernelDef, ModuleOptions, warp_names};
use crate::diagnostic::Problem;
use crate::syntax::{ExprId, ExprKind, SourceText, Tree};
use warpsmith_ir::names::{Name, Names};
use warpsmith_ir::small_keys::Map;
use warpsmith_ir::types::{TypeId, TypeTable};
use warpsmith_ir::{Constant, Number};

/// A Python module that kernels refer to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PythonModule {
    Warp,
    WarpTypes,
    /// `wp.Volume`, for its constants.
    Volume,
    /// Where the library keeps its own modules.
    WarpSource,
    Math,
    Numpy,
    Typing,
    /// A module of the project, by position.
    Project(u16),
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
    /// `typing.Tuple`.
    Tuple,
    /// A class that holds constants; each is a module-level value under its dotted name.
    Class(Name),
    /// A member of an enumeration of compiled code: an integer to Python, nothing to a kernel.
    Member(i64),
    /// An instance of a struct, which a kernel has by `wp.static` alone: the numbers of its fields.
    Instance(Constant),
    /// `None`.
    Nothing,
    /// A member of `wp.DeterministicMode`: whether it promises anything.
    Determinism(bool),
    /// A kernel, by position.
    Kernel(u32),
    /// Not worked out; says what it is.
    Opaque(&'static str),
}

/// Everything that is defined at module level.
#[derive(Debug, Default)]
pub(crate) struct Scope {
    /// The names of the module that is being read or built.
    table: Table,
    /// The other modules' names, by position; the one at hand has left an empty table here.
    others: Vec<Table>,
    /// The position of the module at hand.
    module: u16,
    /// Attributes of classes, by a name that holds the class's.
    attributes: HashMap<Name, Global>,
    /// Which modules of the project have been entered.
    pub(super) entered: Vec<bool>,
    /// Whether an import may have hidden any name that the source does not define itself.
    pub(super) hides_names: bool,
    /// What follows a struct's key in its native name.
    pub(super) struct_suffix: String,
    /// A setting that changes the text in a way that is not known.
    pub(crate) setting: Option<Problem>,
    pub(crate) functions: Vec<FunctionDef>,
    pub(crate) sets: Vec<FunctionSet>,
    /// The overloads of builtins that the library defines in Python, by builtin.
    pub(super) library: Vec<(u16, u32)>,
    pub(crate) kernels: Vec<KernelDef>,
    pub(crate) options: ModuleOptions,
    /// What `wp.config` says.
    pub(crate) config: ModuleOptions,
    pub(crate) elements: Vec<Number>,
    /// Lists, tuples, sets and dictionaries of other modules, by the module and the name that they have here.
    foreign_displays: HashMap<(u16, Name), (u16, Name)>,
    /// Names that stood for something else before, each with the module that binds it.
    rebound: Vec<(u16, Name)>,
    /// Lists, tuples, sets and dictionaries by the module and the name that they were first given.
    displays: HashMap<(u16, Name), ExprId>,
    /// How often the module sets a field of an instance, by the module and the instance's name.
    pub(super) fields_set: HashMap<(u16, Name), u32>,
    /// Functions that can be called while the module is read.
    host_functions: HashMap<(u16, Name), HostFunction>,
    /// How far such calls have gone.
    pub(super) progress: Progress,
    /// The names of the functions around the one at hand, with what the module says of them.
    pub(super) enclosing: Vec<Slot>,
    /// What comes before the names of definitions in their keys: those of the functions and classes around.
    pub(super) qualifier: String,
    /// Functions in which kernels may stand, to be looked into once the module has been read.
    pub(super) uncalled: Vec<Uncalled>,
    /// Calls of such functions that the module makes.
    pub(super) calls: Vec<FactoryCall>,
    /// Whether functions that are called may define others: only while a module's own statements are read.
    pub(super) may_define: bool,
    /// Dictionaries of the function that is run, by their names, with their keys and values so far.
    pub(super) dictionaries: Vec<(Name, Vec<(Name, Global)>)>,
    /// What the user says of factories' parameters.
    pub(crate) binds: Vec<Bind>,
    /// The members of integer enumerations, by class.
    enumerations: HashMap<Name, Vec<(Name, Global)>>,
    /// The reading of a factory that is under way, counted from 1, and how many there were.
    pub(super) reading: u32,
    pub(super) readings: u32,
    /// The arguments of the factories around.
    pub(super) label: String,
    /// What names of the `warp` module have been found to be.
    warp_names: RefCell<Map<Name, Option<Global>>>,
    /// Expressions that are worked out already: items that comprehensions have made or factories given.
    worked_out: Map<ExprId, Global>,
    /// The same in the order in which they were.
    worked_out_order: Vec<ExprId>,
    /// The statements of the source, once somebody has asked.
    pub(super) outline: Option<Rc<Outline>>,
}

/// A name with what it stands for elsewhere.
pub(super) type Slot = (Name, Option<Global>);

/// How much a scope held at some time.
#[derive(Debug)]
pub(crate) struct Mark {
    functions: usize,
    worked_out: usize,
    overloads: Vec<usize>,
}

/// The names of one module.
#[derive(Debug, Default)]
struct Table {
    /// Each takes the memory of its own names, however many other modules have.
    values: Map<Name, Option<Global>>,
    /// The names that have a value, in the order in which they got one.
    known: Vec<Name>,
}

impl Table {
    fn clear(&mut self) {
        self.values.clear();
        self.known.clear();
    }

    fn get(&self, name: Name) -> Option<Global> {
        self.values.get(&name).copied().flatten()
    }
}

impl Scope {
    /// Forgets everything.
    pub(crate) fn clear(&mut self) {
        self.enter_module(0);
        self.others.clear();
        self.entered.clear();
        self.attributes.clear();
        self.setting = None;
        self.hides_names = false;
        self.table.clear();
        self.functions.clear();
        self.sets.clear();
        self.library.clear();
        self.kernels.clear();
        self.options = ModuleOptions::default();
        self.config = ModuleOptions::default();
        self.elements.clear();
        self.rebound.clear();
        self.displays.clear();
        self.foreign_displays.clear();
        self.fields_set.clear();
        self.host_functions.clear();
        self.enclosing.clear();
        self.qualifier.clear();
        self.uncalled.clear();
        self.calls.clear();
        self.may_define = false;
        self.dictionaries.clear();
        self.binds.clear();
        self.enumerations.clear();
        self.reading = 0;
        self.readings = 0;
        self.label.clear();
        self.outline = None;
        self.worked_out.clear();
        self.worked_out_order.clear();
        self.warp_names.get_mut().clear();
    }

    /// Notes the members of an integer enumeration.
    pub(super) fn set_enumeration(&mut self, class: Name, members: Vec<(Name, Global)>) {
        self.enumerations.insert(class, members);
    }

    /// The members of an integer enumeration, if all are known.
    pub(super) fn enumeration(&self, class: Name) -> Option<&[(Name, Global)]> {
        self.enumerations.get(&class).map(Vec::as_slice)
    }

    /// Notes what an expression gives, whatever its names stand for later.
    pub(super) fn work_out(&mut self, expr: ExprId, value: Global) {
        self.worked_out.insert(expr, value);
        self.worked_out_order.push(expr);
    }

    /// What an expression gives that is worked out already.
    pub(super) fn known_value(&self, expr: ExprId) -> Option<Global> {
        self.worked_out.get(&expr).copied()
    }

    /// Notes the display that a name of the module at hand is given.
    pub(super) fn set_display(&mut self, name: Name, display: ExprId) {
        self.displays.insert((self.module, name), display);
    }

    /// The display that a name of the module at hand was given.
    pub(super) fn display(&self, name: Name) -> Option<ExprId> {
        let found = self.displays.get(&(self.module, name)).copied();
        found.filter(|_| !self.is_enclosing(name))
    }

    /// Notes that a name of the module at hand was imported, if it is a display where it comes from.
    pub(super) fn import_display(&mut self, name: Name, module: u16, original: Name) {
        let from = (module, original);
        if self.displays.contains_key(&from) {
            self.foreign_displays.insert((self.module, name), from);
        } else if let Some(first) = self.foreign_displays.get(&from).copied()
            && first.1 == original
        {
            // That module has imported it by the same name.
            self.foreign_displays.insert((self.module, name), first);
        }
    }

    /// The module and the name there of a display that the module at hand has imported.
    pub(super) fn foreign_display(&self, name: Name) -> Option<(u16, Name)> {
        let found = self.foreign_displays.get(&(self.module, name)).copied();
        found.filter(|_| !self.is_enclosing(name) && !self.is_rebound(name))
    }

    /// Notes the Python function that a name of the module at hand stands for.
    pub(super) fn set_host_function(&mut self, name: Name, node: u32) {
        let module = self.module;
        let function = HostFunction {
            node,
            module,
            made: None,
        };
        self.host_functions.insert((module, name), function);
    }

    /// Notes that a name of the module at hand was imported by the same name, if it is a Python function there.
    pub(super) fn import_host_function(&mut self, name: Name, module: u16) {
        if let Some(function) = self.host_function_in(module, name) {
            self.host_functions.insert((self.module, name), function);
        }
    }

    /// The Python function that a name of a module stands for, if it has never stood for anything else.
    pub(super) fn host_function_in(&self, module: u16, name: Name) -> Option<HostFunction> {
        let found = self.host_functions.get(&(module, name)).copied();
        found.filter(|_| !self.rebound.contains(&(module, name)))
    }

    /// The Python function that a name stands for, if it has never stood for anything else.
    pub(super) fn host_function(&self, name: Name) -> Option<HostFunction> {
        let found = self.host_functions.get(&(self.module, name)).copied();
        found.filter(|_| !self.is_enclosing(name) && !self.is_rebound(name))
    }

    /// Whether a function around the one at hand gives the name what it stands for.
    fn is_enclosing(&self, name: Name) -> bool {
        self.enclosing.iter().any(|(known, _)| *known == name)
    }

    /// Lets a name stand for something else; gives what it stood for.
    pub(super) fn replace(&mut self, name: Name, value: Option<Global>) -> Option<Global> {
        self.table.values.insert(name, value).flatten()
    }

    /// Whether a name has stood for different things.
    pub(crate) fn is_rebound(&self, name: Name) -> bool {
        self.rebound.contains(&(self.module, name)) && !self.is_enclosing(name)
    }

    pub(crate) fn set(&mut self, name: Name, value: Global) {
        if self.is_enclosing(name) {
            self.replace(name, Some(value));
            return;
        }
        let table = &mut self.table;
        let slot = table.values.entry(name).or_default();
        match slot {
            None => table.known.push(name),
            Some(before) if *before != value => self.rebound.push((self.module, name)),
            Some(_) => {}
        }
        *slot = Some(value);
    }

    /// Gives a name back what it stood for.
    pub(crate) fn restore(&mut self, name: Name, value: Option<Global>) {
        if let Some(slot) = self.table.values.get_mut(&name) {
            *slot = value;
        }
    }

    /// A module-level name.
    pub(crate) fn get(&self, name: Name) -> Option<Global> {
        self.table.get(name)
    }

    /// A name of a certain module.
    pub(super) fn get_in(&self, module: u16, name: Name) -> Option<Global> {
        match self.others.get(usize::from(module)) {
            Some(table) if module != self.module => table.get(name),
            _ if module == self.module => self.table.get(name),
            _ => None,
        }
    }

    /// What there is before a kernel is built.
    pub(crate) fn mark(&self) -> Mark {
        Mark {
            functions: self.functions.len(),
            worked_out: self.worked_out_order.len(),
            overloads: self.sets.iter().map(|set| set.overloads.len()).collect(),
        }
    }

    /// Forgets what building a kernel has added.
    pub(crate) fn cut(&mut self, mark: &Mark) {
        self.functions.truncate(mark.functions);
        for expr in self.worked_out_order.drain(mark.worked_out..) {
            self.worked_out.remove(&expr);
        }
        for def in &mut self.functions {
            def.built = None;
            def.building = false;
        }
        self.sets.truncate(mark.overloads.len());
        for (set, overloads) in self.sets.iter_mut().zip(&mark.overloads) {
            set.overloads.truncate(*overloads);
        }
    }

    /// The names of a module, each with its value.
    pub(super) fn names_of(&self, module: u16) -> Vec<(Name, Global)> {
        let table = match self.others.get(usize::from(module)) {
            Some(table) if module != self.module => table,
            _ => &self.table,
        };
        let names = table.known.iter();
        names
            .filter_map(|name| Some((*name, table.get(*name)?)))
            .collect()
    }

    /// The position of the module at hand.
    pub(crate) fn module(&self) -> u16 {
        self.module
    }

    /// Makes another module the one at hand, and says which was.
    pub(crate) fn enter_module(&mut self, module: u16) -> u16 {
        let before = self.module;
        if module == before {
            return before;
        }
        let least = usize::from(module.max(before)) + 1;
        if self.others.len() < least {
            self.others.resize_with(least, Table::default);
        }
        std::mem::swap(&mut self.table, &mut self.others[usize::from(before)]);
        std::mem::swap(&mut self.table, &mut self.others[usize::from(module)]);
        self.module = module;
        before
    }

    /// Gives a class an attribute; `name` is the class's with the attribute's behind a dot.
    pub(super) fn set_attribute(&mut self, name: Name, value: Global) {
        self.attributes.insert(name, value);
    }

    /// An attribute of a class, by the class's name with the attribute's behind a dot.
    pub(crate) fn attribute(&self, name: Name) -> Option<Global> {
        self.attributes.get(&name).copied()
    }
}

/// The tables that module-level evaluation reads and extends.
pub(crate) struct Tables<'a> {
    pub(crate) names: &'a mut Names,
    pub(crate) types: &'a mut TypeTable,
    pub(crate) tree: &'a mut Tree,
    pub(crate) source: &'a SourceText,
    pub(crate) text: &'a str,
    /// The project's modules; the first is the one that is compiled.
    pub(crate) modules: &'a [ProjectModule],
    /// What parts of the expression at hand stand for, where only the kernel around it knows.
    pub(crate) known: Known,
}

/// Expressions that are worked out already.
pub(crate) type Known = Vec<(ExprId, Global)>;

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
                .and_then(|name| scope.attribute(name))
                .or(Some(Global::Opaque("an attribute of a class")))
        }
        Global::Module(PythonModule::Warp) => {
            let mut known = scope.warp_names.borrow_mut();
            let found = known.entry(attr);
            *found.or_insert_with(|| warp_names::warp_attribute(attr, names, types))
        }
        Global::Module(PythonModule::WarpSource) => {
            (names.get(attr) == "types").then_some(Global::Module(PythonModule::WarpTypes))
        }
        Global::Module(PythonModule::WarpTypes) => {
            warp_names::warp_types_attribute(attr, names, types)
        }
        Global::Module(PythonModule::Volume) => Some(warp_names::volume_attribute(names.get(attr))),
        Global::WarpCallable(name) if names.get(name) == "DeterministicMode" => {
            Some(warp_names::determinism(names.get(attr)))
        }
        Global::Module(PythonModule::Math) => Some(warp_names::math_attribute(names.get(attr))),
        Global::Module(PythonModule::Numpy) => Some(warp_names::numpy_attribute(names.get(attr))),
        Global::Module(PythonModule::Project(module)) => scope.get_in(module, attr).or(Some(
            Global::Opaque("a name that its module does not define"),
        )),
        Global::Module(PythonModule::Typing) => Some(warp_names::typing_attribute(names.get(attr))),
        _ => Some(Global::Opaque("an attribute of a module-level value")),
    }
}

/// A bare name that is not defined in the source: the `warp` module's own names, then Python's.
pub(crate) fn fallback(
    name: Name,
    scope: &Scope,
    names: &Names,
    types: &mut TypeTable,
) -> Option<Global> {
    // Nobody hides Python's own names.
    if scope.hides_names && warp_names::python_builtin(names.get(name)).is_none() {
        return Some(Global::Opaque("a name that `import *` may have defined"));
    }
    // `float` and `int` name builtins too, which the module does not export.
    match names.get(name) {
        text @ ("float" | "int") => warp_names::python_builtin(text),
        text if warp_names::needs_module(text) => None,
        text => warp_names::warp_attribute(name, names, types)
            .or_else(|| warp_names::python_builtin(text)),
    }
}
