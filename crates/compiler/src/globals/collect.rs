//! Walking a module's statements.

use super::annotation::type_of;
use super::evaluate::{evaluate, path};
use super::value::Tables;
use super::{Global, PythonModule, Scope};
use crate::diagnostic::Problem;
use crate::ir::Constant;
use crate::names::Name;
use crate::syntax::{ExprId, ExprKind, List, Stmt, StmtId, StmtKind};
use crate::types::{Scalar, Type, TypeId, TypeTable};

impl Scope {
    /// Enters everything that `body` defines; statements from the byte `library_start` on are the
    /// library's.
    pub(crate) fn collect(
        &mut self,
        tables: &mut Tables<'_>,
        body: List,
        struct_suffix: &str,
        library_start: usize,
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
        let mut factories = Vec::new();
        for at in body.start..body.start + body.len {
            let stmt = tables.tree.stmt_lists[at as usize];
            let node = tables.tree.stmt(stmt);
            if node.start as usize >= library_start {
                self.library_statement(tables, node, &mut factories)?;
            } else {
                self.statement(tables, stmt, struct_suffix)?;
            }
        }
        Ok(())
    }

    fn statement(
        &mut self,
        tables: &mut Tables<'_>,
        stmt: StmtId,
        struct_suffix: &str,
    ) -> Result<(), Problem> {
        let stmt = tables.tree.stmt(stmt);
        match stmt.kind {
            StmtKind::Import(aliases) => self.import(tables, aliases),
            StmtKind::ImportFrom { module, aliases } => self.import_from(tables, module, aliases),
            StmtKind::Assign { targets, value } => {
                let overload = self.overload(tables, value)?;
                let result = match overload {
                    Some(kernel) => Global::Kernel(kernel),
                    None => evaluate(self, tables, value),
                };
                for at in targets.start..targets.start + targets.len {
                    let target = tables.tree.expr_lists[at as usize];
                    let ExprKind::Name(name) = tables.tree.expr(target).kind else {
                        return Err(unsupported(stmt, "an assignment to something but a name"));
                    };
                    self.set(name, result);
                }
            }
            StmtKind::AnnAssign {
                target,
                value: Some(value),
                ..
            } => {
                if let ExprKind::Name(name) = tables.tree.expr(target).kind {
                    let value = evaluate(self, tables, value);
                    self.set(name, value);
                }
            }
            StmtKind::AnnAssign { .. } | StmtKind::Pass => {}
            StmtKind::Function(index) => self.function(tables, index)?,
            StmtKind::Class(index) => self.class(tables, index, struct_suffix)?,
            StmtKind::Expr(value) => self.expression(tables, stmt, value)?,
            _ => return Err(unsupported(stmt, "this statement")),
        }
        Ok(())
    }

    fn import(&mut self, tables: &mut Tables<'_>, aliases: List) {
        for at in aliases.start..aliases.start + aliases.len {
            let alias = tables.tree.aliases[at as usize];
            let module = tables.names.get(alias.name);
            let value = match module {
                "warp" => Global::Module(PythonModule::Warp),
                "math" => Global::Module(PythonModule::Math),
                "numpy" => Global::Module(PythonModule::Numpy),
                "typing" => Global::Module(PythonModule::Typing),
                _ if module.starts_with("warp.") && alias.bound.is_none() => {
                    Global::Module(PythonModule::Warp)
                }
                _ => Global::Opaque("a module that is not known"),
            };
            let bound = match (alias.bound, module.split_once('.')) {
                (Some(name), _) => name,
                (None, None) => alias.name,
                (None, Some((first, _))) => {
                    let first = first.to_owned();
                    tables.names.intern(&first)
                }
            };
            self.set(bound, value);
        }
    }

    fn import_from(&mut self, tables: &mut Tables<'_>, module: Option<Name>, aliases: List) {
        let module = module.map_or("", |name| tables.names.get(name));
        let module = match module {
            "warp" => Some(PythonModule::Warp),
            "warp.types" => Some(PythonModule::WarpTypes),
            "math" => Some(PythonModule::Math),
            "typing" => Some(PythonModule::Typing),
            "numpy" => Some(PythonModule::Numpy),
            _ => None,
        };
        for at in aliases.start..aliases.start + aliases.len {
            let alias = tables.tree.aliases[at as usize];
            let value = module
                .and_then(|module| {
                    super::value::attribute(
                        Global::Module(module),
                        alias.name,
                        self,
                        tables.names,
                        tables.types,
                    )
                })
                .unwrap_or(Global::Opaque("something imported from another module"));
            self.set(alias.bound.unwrap_or(alias.name), value);
        }
    }

    fn expression(
        &mut self,
        tables: &mut Tables<'_>,
        stmt: Stmt,
        expr: ExprId,
    ) -> Result<(), Problem> {
        if let ExprKind::Str(_) = tables.tree.expr(expr).kind {
            return Ok(());
        }
        if self.overload(tables, expr)?.is_some() {
            return Ok(());
        }
        if let ExprKind::Call {
            func,
            args,
            keywords,
        } = tables.tree.expr(expr).kind
            && let Global::WarpCallable(name) = path(self, tables, func)
        {
            match tables.names.get(name) {
                "init" if args.len == 0 && keywords.len == 0 => return Ok(()),
                "set_module_options" if args.len == 1 && keywords.len == 0 => {
                    let dict = tables.tree.exprs_in(args)[0];
                    let mut options = self.options;
                    self.module_options(tables, dict, &mut options)?;
                    self.options = options;
                    return Ok(());
                }
                _ => {}
            }
        }
        Err(unsupported(stmt, "this expression"))
    }

    /// `wp.overload(kernel, [types…])`: enters the overload and says which kernel.
    fn overload(&mut self, tables: &mut Tables<'_>, expr: ExprId) -> Result<Option<u32>, Problem> {
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
        let problem = |what: &str| Problem::at("K003", node.start, node.end, what);
        let [kernel, arg_types] = *tables.tree.exprs_in(args) else {
            return Err(problem("an overload names a kernel and its argument types"));
        };
        if keywords.len != 0 {
            return Err(problem("an overload names a kernel and its argument types"));
        }
        let Global::Kernel(kernel) = evaluate(self, tables, kernel) else {
            return Err(problem("an overload must name a kernel of this source"));
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
                    let given = type_of(self, tables, item)?;
                    if !takes(tables.types, *param, given) {
                        return Err(problem("an overload's type does not fit its argument"));
                    }
                    *param = given;
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
                    let given = type_of(self, tables, pair[1])?;
                    if !takes(tables.types, params[at], given) {
                        return Err(problem("an overload's type does not fit its argument"));
                    }
                    params[at] = given;
                }
            }
            _ => return Err(problem("an overload's types are a list or a dictionary")),
        }
        self.kernels[kernel as usize].overloads.push(params);
        Ok(Some(kernel))
    }
}

/// Whether an argument with this annotation can have a type: generic ones take any, but arrays keep their
/// rank.
fn takes(types: &TypeTable, annotation: TypeId, given: TypeId) -> bool {
    match (types.get(annotation), types.get(given)) {
        (Type::Array { rank: want, .. }, Type::Array { rank, .. }) if want != rank => false,
        (want, have) => types.is_generic(annotation) || want == have,
    }
}

pub(super) fn unsupported(stmt: Stmt, what: &str) -> Problem {
    Problem::at(
        "K002",
        stmt.start,
        stmt.end,
        format!("{what} is not understood at module level"),
    )
    .hint("keep to imports, constants, type aliases, structs, functions and kernels")
}
