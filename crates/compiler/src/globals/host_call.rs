//! Calls of the module's own functions while it is read: those whose statements only compute from constants.
//!
//! Warp runs such a call in Python, `@wp.func` or not. Here a body may assign to its own names, choose with
//! `if`, define kernels and their functions, and return a value; whatever else it does, only Python can run.

use std::ops::Range;

use super::bindings::of_function;
use super::evaluate::{TEXT, evaluate, path};
use super::nested::{LOCAL, defines};
use super::value::Tables;
use super::{Global, Scope};
use crate::diagnostic::Problem;
use crate::syntax::{ExprId, ExprKind, FunctionNode, List, StmtKind};
use warpsmith_ir::names::Name;

/// Calls inside calls, and statements of all calls of an expression: bounds on what a module can make us do.
const DEEPEST: u32 = 16;
const MOST_STATEMENTS: u32 = 10_000;

/// A function that can be called while the module is read.
#[derive(Clone, Copy, Debug)]
pub(super) struct HostFunction {
    /// Position among the tree's functions.
    pub(super) node: u32,
    /// The module that defines it.
    pub(super) module: u16,
    /// The `@wp.func` of a factory that it is, which sees what the factory's call gave it.
    pub(super) made: Option<u32>,
}

/// How far calls have gone.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Progress {
    depth: u32,
    statements: u32,
}

/// What a statement of a function leads to.
enum Flow {
    Next,
    Returned(Global),
    /// Only Python can run it.
    Unknown,
}

/// A call of a function that defines others.
#[derive(Debug)]
pub(super) struct FactoryCall {
    pub(super) node: u32,
    /// Where it is called.
    site: ExprId,
    values: Vec<(Name, Global)>,
    result: Option<Global>,
    /// The functions that it has made.
    functions: Range<usize>,
}

/// What a call is given: values by position, then by name.
pub(super) struct Given<'a> {
    pub(super) values: &'a [Global],
    pub(super) named: &'a [(Name, Global)],
    pub(super) site: ExprId,
}

/// The result of a call with these values; nothing where only Python can run it.
pub(super) fn call_function(
    scope: &mut Scope,
    tables: &mut Tables<'_>,
    function: HostFunction,
    given: &Given<'_>,
) -> Option<Global> {
    let node = tables.tree.functions[function.node as usize];
    let list = node.parameters;
    let parameters = tables.tree.parameters[list.start as usize..][..list.len as usize].to_vec();
    let known = |name: &Name| parameters.iter().any(|parameter| parameter.name == *name);
    if !node.plain
        || node.is_async
        || given.values.len() > parameters.len()
        || !given.named.iter().all(|(name, _)| known(name))
    {
        return None;
    }
    let is_factory = defines(tables, node.body);
    if scope.progress.depth == DEEPEST || (is_factory && !scope.may_define) {
        return None;
    }
    // Defaults are worked out where the function is defined; they see the module's names as well.
    let closure = match function.made {
        Some(made) => scope.functions[made as usize].closure.clone(),
        None => Vec::new(),
    };
    let outer = scope.enter_closure(function.module, &closure);
    let mut arguments = Vec::new();
    for (at, parameter) in parameters.iter().enumerate() {
        let named = given.named.iter().find(|(name, _)| *name == parameter.name);
        let value = match (given.values.get(at), named, parameter.default) {
            (Some(value), None, _) | (None, Some((_, value)), _) => *value,
            (None, None, Some(default)) => evaluate(scope, tables, default),
            _ => Global::Opaque("an argument that is missing or given twice"),
        };
        arguments.push((parameter.name, value));
    }
    let mut result = None;
    if arguments.iter().all(|(_, value)| is_plain(*value)) {
        result = match is_factory {
            true => call_factory(scope, tables, function.node, &arguments, given.site),
            false => match run_body(scope, tables, &node, &arguments) {
                Flow::Returned(value) if is_plain(value) || is_instance(value) => Some(value),
                // Without a value the result is `None`, which is no constant.
                _ => None,
            },
        };
    }
    scope.leave_closure(outer);
    result
}

/// Runs a function that defines others, and notes the call.
fn call_factory(
    scope: &mut Scope,
    tables: &mut Tables<'_>,
    index: u32,
    values: &[(Name, Global)],
    site: ExprId,
) -> Option<Global> {
    let call = |result, functions| FactoryCall {
        node: index,
        site,
        values: values.to_vec(),
        result,
        functions,
    };
    let mut earlier = scope.calls.iter();
    // Functions have numbers of their own in every call; kernels do not.
    let same = earlier.find(|call| {
        let mut made = scope.functions[call.functions.clone()].iter();
        call.node == index && call.values == values && !made.any(|def| def.numbered)
    });
    if let Some(same) = same {
        let (result, functions) = (same.result, same.functions.clone());
        scope.calls.push(call(result, functions));
        return result;
    }
    let node = tables.tree.functions[index as usize];
    let first = scope.functions.len();
    let qualifier = format!("{}__locals__", tables.names.get(node.name));
    let qualifier = std::mem::replace(&mut scope.qualifier, qualifier);
    let uncalled = scope.uncalled.len();
    let flow = try_body(scope, tables, &node, values);
    scope.qualifier = qualifier;
    scope.uncalled.truncate(uncalled);
    let flow = flow?;
    let result = match flow {
        Flow::Returned(value) if is_plain(value) => Some(value),
        _ => None,
    };
    let functions = first..scope.functions.len();
    scope.calls.push(call(result, functions));
    result
}

/// Runs the body of a function that defines others; what it has made is forgotten where only Python can run it.
fn try_body(
    scope: &mut Scope,
    tables: &mut Tables<'_>,
    node: &FunctionNode,
    values: &[(Name, Global)],
) -> Option<Flow> {
    let before = (
        scope.functions.len(),
        scope.sets.len(),
        scope.kernels.len(),
        scope.uncalled.len(),
        scope.calls.len(),
    );
    match run_body(scope, tables, node, values) {
        Flow::Unknown => {
            scope.functions.truncate(before.0);
            scope.sets.truncate(before.1);
            scope.kernels.truncate(before.2);
            scope.uncalled.truncate(before.3);
            scope.calls.truncate(before.4);
            None
        }
        known => Some(known),
    }
}

/// Runs a function's body with these arguments; parameters without one have a value that nobody knows.
fn run_body(
    scope: &mut Scope,
    tables: &mut Tables<'_>,
    node: &FunctionNode,
    arguments: &[(Name, Global)],
) -> Flow {
    let known = std::mem::take(&mut tables.known);
    scope.progress.depth += 1;
    let bound = of_function(tables, node);
    let outer = scope.enter_locals(node, tables, &bound);
    for (name, value) in arguments {
        scope.set(*name, *value);
    }
    let first = scope.functions.len();
    let dictionaries = std::mem::take(&mut scope.dictionaries);
    let flow = run(scope, tables, node.body, first);
    scope.dictionaries = dictionaries;
    scope.capture(tables, first);
    scope.leave_closure(outer);
    scope.progress.depth -= 1;
    if scope.progress.depth == 0 {
        scope.progress.statements = 0;
    }
    tables.known = known;
    flow
}

/// Values that a function can take and give: those that no name can change.
pub(super) fn is_plain(value: Global) -> bool {
    matches!(
        value,
        Global::Value(_)
            | Global::Nothing
            | Global::Determinism(_)
            | Global::Member(_)
            | Global::Function(_)
            | Global::Builtin(_)
            | Global::Kernel(_)
            | Global::Type(_)
            | Global::PythonType(_)
    )
}

/// An instance of a struct may be returned, but not given: whoever is given it may change it.
fn is_instance(value: Global) -> bool {
    matches!(value, Global::Instance(_))
}

impl Scope {
    /// Whether a function was made by a call of a factory that has ended, so that all its closure is known.
    pub(super) fn is_made(&self, index: u32) -> bool {
        let mut calls = self.calls.iter();
        calls.any(|call| call.functions.contains(&(index as usize)))
    }

    /// Runs a function that nobody is seen to call with some arguments; says whether all its steps are known.
    pub(super) fn follow(
        &mut self,
        tables: &mut Tables<'_>,
        node: &FunctionNode,
        values: &[(Name, Global)],
    ) -> bool {
        let may_define = std::mem::replace(&mut self.may_define, true);
        let flow = try_body(self, tables, node, values);
        self.may_define = may_define;
        flow.is_some()
    }

    /// Refuses the functions of factories that may be called elsewhere, too: their numbers are not known.
    pub(super) fn check_factories(&mut self, tables: &Tables<'_>) {
        for at in 0..self.calls.len() {
            let call = &self.calls[at];
            let node = tables.tree.functions[call.node as usize];
            let mut sites: Vec<u32> = Vec::new();
            for other in self.calls.iter().filter(|other| other.node == call.node) {
                if !sites.contains(&other.site.0) {
                    sites.push(other.site.0);
                }
            }
            let named = tables.tree.exprs.iter().filter(|expr| {
                matches!(expr.kind, ExprKind::Name(name) | ExprKind::Attribute(_, name)
                    if name == node.name)
            });
            if named.count() == sites.len() {
                continue;
            }
            let (start, end) = node.name_span;
            let text = tables.names.get(node.name);
            let what = format!(
                "how often `{text}` is called before is not known, and with it this function's number"
            );
            for def in &mut self.functions[call.functions.clone()] {
                if def.numbered {
                    def.params = Err(Problem::at("K021", start, end, what.clone()));
                }
            }
        }
    }
}

fn run(scope: &mut Scope, tables: &mut Tables<'_>, body: List, first: usize) -> Flow {
    for at in body.start..body.start + body.len {
        scope.progress.statements += 1;
        if scope.progress.statements > MOST_STATEMENTS {
            return Flow::Unknown;
        }
        let stmt = tables.tree.stmt(tables.tree.stmt_lists[at as usize]);
        match stmt.kind {
            StmtKind::Pass => {}
            // A doc string.
            StmtKind::Expr(value) if matches!(tables.tree.expr(value).kind, ExprKind::Str(_)) => {}
            StmtKind::Assign { targets, value } => {
                let [target] = *tables.tree.exprs_in(targets) else {
                    return Flow::Unknown;
                };
                if scope.note_dictionary(tables, target, value) {
                    continue;
                }
                let given = evaluate(scope, tables, value);
                // Whoever is given an instance may change it.
                if matches!(given, Global::Opaque(_)) && mentions_instance(scope, tables, value) {
                    return Flow::Unknown;
                }
                if scope.set_field(tables, target, given) {
                    continue;
                }
                let ExprKind::Name(name) = tables.tree.expr(target).kind else {
                    return Flow::Unknown;
                };
                // Another name for an instance, by which it may be changed.
                if is_instance(given)
                    && !matches!(tables.tree.expr(value).kind, ExprKind::Call { .. })
                {
                    return Flow::Unknown;
                }
                let value = given;
                // Functions before see both values: `wp.static` the first, everything else the last.
                let is_seen = scope.functions.len() > first
                    && scope
                        .get(name)
                        .is_some_and(|before| before != LOCAL && before != value);
                if is_seen {
                    return Flow::Unknown;
                }
                let known = is_plain(value) || is_instance(value);
                let known = known || value == TEXT;
                scope.set(name, if known { value } else { LOCAL });
            }
            StmtKind::If { test, body, orelse } => {
                let truth = match evaluate(scope, tables, test) {
                    Global::Value(constant) => constant.truth(),
                    _ => None,
                };
                let Some(truth) = truth else {
                    return Flow::Unknown;
                };
                match run(scope, tables, if truth { body } else { orelse }, first) {
                    Flow::Next => {}
                    other => return other,
                }
            }
            StmtKind::Function(index) if is_definition(scope, tables, index) => {
                if scope.function(tables, index).is_err() {
                    return Flow::Unknown;
                }
            }
            StmtKind::Return(Some(value)) => return Flow::Returned(evaluate(scope, tables, value)),
            _ => return Flow::Unknown,
        }
    }
    Flow::Next
}

fn mentions_instance(scope: &Scope, tables: &Tables<'_>, expr: ExprId) -> bool {
    let mut names = Vec::new();
    tables.tree.names_in(expr, &mut names);
    let mut values = names.into_iter().filter_map(|name| scope.get(name));
    values.any(is_instance)
}

/// Whether a function is a kernel, or one that kernels call.
fn is_definition(scope: &Scope, tables: &mut Tables<'_>, index: u32) -> bool {
    let decorators = tables.tree.functions[index as usize].decorators;
    let &[decorator] = tables.tree.exprs_in(decorators) else {
        return false;
    };
    let callee = match tables.tree.expr(decorator).kind {
        ExprKind::Call { func, .. } => func,
        _ => decorator,
    };
    match path(scope, tables, callee) {
        Global::WarpCallable(name) => {
            matches!(tables.names.get(name), "func" | "kernel" | "func_native")
        }
        _ => false,
    }
}
