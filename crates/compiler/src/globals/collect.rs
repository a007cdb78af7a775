//! Walking a module's statements.

use super::annotation::type_of;
use super::comprehension::{comprehended_in, comprehended_once};
use super::evaluate::{binary, evaluate, path};
use super::value::Tables;
use super::{Global, PythonModule, Scope};
use crate::diagnostic::Problem;
use crate::syntax::{ComprehensionKind, ExprId, ExprKind, List, StmtId, StmtKind};
use warpsmith_ir::Constant;
use warpsmith_ir::types::{Scalar, Type, TypeId, TypeTable};

const OTHER_NAME: &str = "another name of an instance of a struct";

fn is_name(tables: &Tables<'_>, expr: ExprId) -> bool {
    matches!(
        tables.tree.expr(expr).kind,
        ExprKind::Name(_) | ExprKind::Attribute(..)
    )
}

impl Scope {
    /// Enters everything that the project's first module defines, with what it imports; statements of `library`
    /// are Warp's own.
    pub(crate) fn collect(
        &mut self,
        tables: &mut Tables<'_>,
        struct_suffix: &str,
        library: List,
    ) -> Result<(), Problem> {
        struct_suffix.clone_into(&mut self.struct_suffix);
        // Python runs the packages that a module lies in first.
        if let Some(module) = tables.modules.first() {
            self.enter_path(tables, &module.name)?;
        }
        self.launched_overloads(tables);
        self.split_overloads();
        let mut factories = Vec::new();
        for at in library.start..library.start + library.len {
            let stmt = tables.tree.stmt(tables.tree.stmt_lists[at as usize]);
            self.library_statement(tables, stmt, &mut factories)?;
        }
        Ok(())
    }

    /// Makes a kernel of each overload of a generic kernel; the label has its number, counted from 1.
    fn split_overloads(&mut self) {
        for at in 0..self.kernels.len() {
            let kernel = &mut self.kernels[at];
            let mut overloads: Vec<Vec<TypeId>> = Vec::new();
            for overload in std::mem::take(&mut kernel.overloads) {
                if !overloads.contains(&overload) {
                    overloads.push(overload);
                }
            }
            if overloads.len() < 2 {
                kernel.overloads = overloads;
                continue;
            }
            let whole = kernel.clone();
            for (number, overload) in (1..).zip(overloads) {
                let mut kernel = whole.clone();
                let comma = if whole.label.is_empty() { "" } else { ", " };
                kernel.label += &format!("{comma}overload={number}");
                kernel.overloads = vec![overload];
                match number {
                    1 => self.kernels[at] = kernel,
                    _ => self.kernels.push(kernel),
                }
            }
        }
    }

    /// Enters what the statements of the module at hand define.
    pub(super) fn module_body(
        &mut self,
        tables: &mut Tables<'_>,
        body: List,
    ) -> Result<(), Problem> {
        // What the reference evaluation environment provides without an import.
        for (name, module) in [
            ("wp", PythonModule::Warp),
            ("warp", PythonModule::Warp),
            ("np", PythonModule::Numpy),
            ("math", PythonModule::Math),
        ] {
            let name = tables.names.intern(name);
            self.set(name, Global::Module(module));
        }
        let any = tables.names.intern("Any");
        self.set(any, Global::Type(TypeId::scalar(Scalar::Any)));
        let others = std::mem::take(&mut self.uncalled);
        self.may_define = true;
        let read = self.statements(tables, body);
        self.may_define = false;
        if self.module() == 0 && read.is_ok() {
            self.check_factories(tables);
            self.read_uncalled(tables, 0)?;
        }
        self.uncalled = others;
        read
    }

    fn statements(&mut self, tables: &mut Tables<'_>, body: List) -> Result<(), Problem> {
        for at in body.start..body.start + body.len {
            let stmt = tables.tree.stmt_lists[at as usize];
            self.statement(tables, stmt)?;
        }
        Ok(())
    }

    fn statement(&mut self, tables: &mut Tables<'_>, stmt: StmtId) -> Result<(), Problem> {
        let stmt = tables.tree.stmt(stmt);
        match stmt.kind {
            StmtKind::Import(aliases) => self.import(tables, aliases)?,
            StmtKind::ImportFrom {
                module,
                level,
                aliases,
            } => self.import_from(tables, module, level, aliases)?,
            StmtKind::Assign { targets, value } => {
                let result = match self.overload(tables, value) {
                    Some(kernel) => Global::Kernel(kernel),
                    None => evaluate(self, tables, value),
                };
                for at in targets.start..targets.start + targets.len {
                    let target = tables.tree.expr_lists[at as usize];
                    self.bind(tables, target, value, result);
                }
            }
            StmtKind::AnnAssign {
                target,
                value: Some(value),
                ..
            } => {
                let result = evaluate(self, tables, value);
                self.bind(tables, target, value, result);
            }
            StmtKind::AugAssign { target, op, value } => {
                let before = evaluate(self, tables, target);
                let by = evaluate(self, tables, value);
                let result = binary(self, tables, op, before, by);
                self.bind(tables, target, value, result);
            }
            StmtKind::Function(index) => self.function(tables, index)?,
            StmtKind::Class(index) => self.class(tables, index)?,
            StmtKind::Expr(value) => self.expression(tables, value),
            StmtKind::If { test, body, orelse } => {
                let truth = match evaluate(self, tables, test) {
                    Global::Value(constant) => constant.truth(),
                    _ => None,
                };
                match truth {
                    Some(true) => self.statements(tables, body)?,
                    Some(false) => self.statements(tables, orelse)?,
                    None => {
                        // The part for scripts is not run by an import.
                        if !is_main_test(tables, test) {
                            self.forget(tables, body, true);
                        }
                        self.forget(tables, orelse, true);
                    }
                }
            }
            _ => {
                let one = tables.tree.push_stmt(stmt);
                let one = tables.tree.push_stmts(&[one]);
                self.forget(tables, one, true);
            }
        }
        Ok(())
    }

    /// Gives the names of a target a value.
    fn bind(&mut self, tables: &mut Tables<'_>, target: ExprId, value: ExprId, result: Global) {
        match tables.tree.expr(target).kind {
            ExprKind::Name(name) => {
                let result = match result {
                    Global::Opaque(_) => self.bound_name(tables, name).unwrap_or(result),
                    // Another name for it, by which it may be changed.
                    Global::Instance(_) if is_name(tables, value) => Global::Opaque(OTHER_NAME),
                    known => known,
                };
                self.set(name, result);
                match tables.tree.expr(value).kind {
                    ExprKind::Tuple(_)
                    | ExprKind::ListDisplay(_)
                    | ExprKind::SetDisplay(_)
                    | ExprKind::Dict(_) => {
                        self.work_out_items(tables, value);
                        self.set_display(name, value);
                    }
                    // What gives its items once is gone after that.
                    ExprKind::Comprehension { kind, .. }
                        if kind != ComprehensionKind::Generator =>
                    {
                        if let Some(made) = comprehended_once(self, tables, value) {
                            self.set_display(name, made);
                        }
                    }
                    ExprKind::Call { .. } => {
                        if let Some(made) = comprehended_in(self, tables, value) {
                            self.set_display(name, made);
                        }
                    }
                    _ => {}
                }
            }
            ExprKind::Tuple(names) | ExprKind::ListDisplay(names) => {
                let names = tables.tree.exprs_in(names).to_vec();
                let values = match tables.tree.expr(value).kind {
                    ExprKind::Tuple(values) | ExprKind::ListDisplay(values)
                        if values.len as usize == names.len() =>
                    {
                        tables.tree.exprs_in(values).to_vec()
                    }
                    _ => return self.forget_target(tables, target, true),
                };
                let results: Vec<Global> = values
                    .iter()
                    .map(|value| evaluate(self, tables, *value))
                    .collect();
                for ((name, value), result) in names.into_iter().zip(values).zip(results) {
                    self.bind(tables, name, value, result);
                }
            }
            ExprKind::Attribute(..) => {
                let result = match result {
                    // Only what is settled is known to be what is copied.
                    Global::Instance(_) if is_name(tables, value) => {
                        let at = tables.tree.expr(target).start;
                        let found = self.known_instance(tables, value, at);
                        found.map_or(Global::Opaque(OTHER_NAME), Global::Instance)
                    }
                    known => known,
                };
                let is_known = self.set_config(tables, target, result)
                    || self.set_field(tables, target, result);
                if !is_known {
                    self.forget_target(tables, target, true);
                }
            }
            _ => self.forget_target(tables, target, true),
        }
    }

    /// A bare expression: an overload, options of the module, or a call that changes nothing that is known.
    fn expression(&mut self, tables: &mut Tables<'_>, expr: ExprId) {
        if self.overload(tables, expr).is_some() {
            return;
        }
        if let ExprKind::Call {
            func,
            args,
            keywords,
        } = tables.tree.expr(expr).kind
            && let Global::WarpCallable(name) = path(self, tables, func)
            && tables.names.get(name) == "set_module_options"
        {
            let node = tables.tree.expr(expr);
            let unknown = || {
                Problem::at(
                    "K025",
                    node.start,
                    node.end,
                    "these options are not supported",
                )
            };
            let mut options = self.options;
            let read = match *tables.tree.exprs_in(args) {
                [dict] if keywords.len == 0 => self.module_options(tables, dict, &mut options),
                _ => Err(unknown()),
            };
            match read {
                // Other modules' options are no concern of the kernels that are compiled.
                _ if self.module() != 0 => {}
                Ok(()) => self.options = options,
                Err(problem) => self.setting = Some(problem),
            }
        }
    }

    /// `wp.overload(kernel, [types…])`: enters the overload and says which kernel. One that is not understood
    /// is its kernel's problem.
    pub(super) fn overload(&mut self, tables: &mut Tables<'_>, expr: ExprId) -> Option<u32> {
        match self.read_overload(tables, expr) {
            Ok(kernel) => kernel,
            Err((Some(kernel), problem)) => {
                self.kernels[kernel as usize].problem = Some(problem);
                Some(kernel)
            }
            Err((None, _)) => None,
        }
    }

    fn read_overload(
        &mut self,
        tables: &mut Tables<'_>,
        expr: ExprId,
    ) -> Result<Option<u32>, (Option<u32>, Problem)> {
        let node = tables.tree.expr(expr);
        let ExprKind::Call {
            func,
            args,
            keywords,
        } = node.kind
        else {
            return Ok(None);
        };
        let Global::WarpCallable(name) = path(self, tables, func) else {
            return Ok(None);
        };
        if tables.names.get(name) != "overload" {
            return Ok(None);
        }
        let at = |what: &str| Problem::at("K003", node.start, node.end, what);
        let &[kernel, ref arg_types @ ..] = tables.tree.exprs_in(args) else {
            return Err((
                None,
                at("an overload names a kernel and its argument types"),
            ));
        };
        let arg_types = arg_types.to_vec();
        let Global::Kernel(kernel) = evaluate(self, tables, kernel) else {
            return Err((None, at("an overload must name a kernel of this source")));
        };
        let problem = |what: &str| (Some(kernel), at(what));
        let (&[arg_types], 0) = (arg_types.as_slice(), keywords.len) else {
            return Err(problem("an overload names a kernel and its argument types"));
        };
        let mut params: Vec<TypeId> = {
            let def = &self.functions[self.kernels[kernel as usize].function as usize];
            match &def.params {
                Ok(params) => params.iter().map(|param| param.ty).collect(),
                Err(_) => return Err(problem("the kernel's own signature is not understood")),
            }
        };
        let given = tables.tree.expr(arg_types).kind;
        match given {
            ExprKind::ListDisplay(list) => {
                let items = tables.tree.exprs_in(list).to_vec();
                if items.len() != params.len() {
                    return Err(problem("an overload gives a type for every argument"));
                }
                for (param, item) in params.iter_mut().zip(items) {
                    let given =
                        type_of(self, tables, item).map_err(|found| (Some(kernel), found))?;
                    if !takes(tables.types, *param, given) {
                        return Err(problem("an overload's type does not fit its argument"));
                    }
                    *param = of_overload(tables.types, given);
                }
            }
            ExprKind::Dict(list) => {
                let items = tables.tree.exprs_in(list).to_vec();
                for pair in items.chunks_exact(2) {
                    let Global::Value(Constant::Str(key)) = evaluate(self, tables, pair[0]) else {
                        return Err(problem("an overload's keys are argument names"));
                    };
                    let function = self.kernels[kernel as usize].function;
                    let at = match &self.functions[function as usize].params {
                        Ok(defs) => defs.iter().position(|def| def.name == key),
                        Err(_) => None,
                    };
                    let Some(at) = at else {
                        return Err(problem("an overload's keys are argument names"));
                    };
                    let given =
                        type_of(self, tables, pair[1]).map_err(|found| (Some(kernel), found))?;
                    if !takes(tables.types, params[at], given) {
                        return Err(problem("an overload's type does not fit its argument"));
                    }
                    params[at] = of_overload(tables.types, given);
                }
            }
            _ => return Err(problem("an overload's types are a list or a dictionary")),
        }
        self.kernels[kernel as usize].overloads.push(params);
        Ok(Some(kernel))
    }
}

/// The type that an overload gives: of Fabric arrays the elements are Warp's, however they are written.
fn of_overload(types: &TypeTable, given: TypeId) -> TypeId {
    match types.get(given) {
        Type::MappedArray { .. } => types.plain(given),
        _ => given,
    }
}

/// Whether an argument with this annotation can have a type: generic ones take any, but arrays keep their
/// rank.
fn takes(types: &TypeTable, annotation: TypeId, given: TypeId) -> bool {
    match (types.get(annotation), types.get(given)) {
        (Type::Array { rank: want, .. }, Type::Array { rank, .. }) if want != rank => false,
        (
            Type::MappedArray {
                mapping,
                rank: want,
                ..
            },
            Type::MappedArray {
                mapping: other,
                rank,
                ..
            },
        ) if want != rank || mapping != other => false,
        (Type::Array { .. }, Type::MappedArray { .. })
        | (Type::MappedArray { .. }, Type::Array { .. }) => false,
        (want, have) => types.is_generic(annotation) || want == have,
    }
}

/// `__name__ == "__main__"`.
fn is_main_test(tables: &Tables<'_>, test: ExprId) -> bool {
    let ExprKind::Compare(operands, _) = tables.tree.expr(test).kind else {
        return false;
    };
    let is = |at: &ExprId, text: &str| match tables.tree.expr(*at).kind {
        ExprKind::Name(name) | ExprKind::Str(name) => tables.names.get(name) == text,
        _ => false,
    };
    match tables.tree.exprs_in(operands) {
        [left, right] => {
            (is(left, "__name__") && is(right, "__main__"))
                || (is(right, "__name__") && is(left, "__main__"))
        }
        _ => false,
    }
}
