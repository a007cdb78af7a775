//! `wp.static(expression)`: worked out while the kernel is compiled, as module-level code is, with the numbers
//! of unrolled loops and other locals that are constants.

use super::body::Body;
use super::value::{Binding, Res, Value, fail, hinted, placed};
use crate::globals::{Global, Known, Tables, evaluate};
use crate::syntax::{Expr, ExprId, ExprKind, List, StmtKind};
use warpsmith_ir::builtin::BUILTINS;
use warpsmith_ir::names::Name;
use warpsmith_ir::types::Type;
use warpsmith_ir::{Constant, Number};

const NO_RESULT: &str = "`wp.static` gives a number, a boolean, a vector, a matrix or a function";

impl Body<'_, '_> {
    /// What is called and its arguments, where an expression is a call.
    pub(super) fn call_parts(&self, expr: ExprId) -> Option<(ExprId, List, List)> {
        match self.shared.tree.expr(expr).kind {
            ExprKind::Call {
                func,
                args,
                keywords,
            } => Some((func, args, keywords)),
            _ => None,
        }
    }

    /// The arguments of `wp.static`, where an expression calls it.
    pub(super) fn static_call(&mut self, expr: ExprId) -> Option<(List, List)> {
        let (func, args, keywords) = self.call_parts(expr)?;
        let last = self.last_name(func)?;
        if self.shared.names.get(last) != "static" {
            return None;
        }
        let callee = self.static_path(func);
        matches!(callee, Some(Global::Builtin(index)) if BUILTINS[usize::from(index)].name == "static")
            .then_some((args, keywords))
    }

    /// Whether an expression is a call of `wp.static` that needs nothing of the kernel, which stands for a literal.
    pub(super) fn is_static_literal(&mut self, expr: ExprId) -> bool {
        self.static_call(expr).is_some() && !self.is_deferred(expr)
    }

    /// Whether Warp works a call of `wp.static` out where the kernel is built, not where it is defined: it names the
    /// variable of a loop around it, or something that the module does not have.
    fn is_deferred(&self, call: ExprId) -> bool {
        let tree = &*self.shared.tree;
        let node = tree.expr(call);
        let within = |part: &Expr| node.start <= part.start && part.end <= node.end;
        let parts = || tree.exprs.iter().filter(|part| within(part));
        // Functions of Python are called by their names.
        let is_called = |name: &Expr| {
            parts().any(|part| {
                matches!(part.kind, ExprKind::Call { func, .. } if tree.expr(func).start == name.start)
            })
        };
        let mut comprehended = Vec::new();
        for part in parts() {
            if let ExprKind::Comprehension { parts, .. } = part.kind {
                for clause in tree.exprs_in(parts)[1..].chunks_exact(3) {
                    tree.names_in(clause[0], &mut comprehended);
                }
            }
        }
        // The length of a parameter is known where the kernel is defined.
        let is_length = |name: &Expr, text: Name| {
            let params = self.vars.iter().take(self.params as usize);
            params.into_iter().any(|var| var.name == Some(text))
                && parts().any(|part| match part.kind {
                    ExprKind::Call { func, args, .. } => {
                        let is_len = matches!(tree.expr(func).kind, ExprKind::Name(len)
                            if self.shared.names.get(len) == "len");
                        let mut args = tree.exprs_in(args).iter();
                        is_len && args.any(|arg| tree.expr(*arg).start == name.start)
                    }
                    _ => false,
                })
        };
        let is_of_loop = |name: Name| {
            tree.stmts.iter().any(|stmt| match stmt.kind {
                StmtKind::For { target, .. } => {
                    stmt.start <= node.start
                        && node.end <= stmt.end
                        && tree.expr(target).kind == ExprKind::Name(name)
                }
                _ => false,
            })
        };
        parts().any(|part| match part.kind {
            ExprKind::Name(name) if is_of_loop(name) => true,
            ExprKind::Name(name) if comprehended.contains(&name) => false,
            ExprKind::Name(name) if is_length(part, name) => false,
            ExprKind::Name(name) => match self.shared.scope.get(name) {
                Some(_) => self.is_local(name),
                None => !is_called(part),
            },
            _ => false,
        })
    }

    /// Whether a name stands for something else in the kernel than in the module, whose constants the kernel
    /// binds as it meets them.
    fn is_local(&self, name: Name) -> bool {
        let constant = match self.symbols.get(name) {
            Some(Binding::Var(var)) => self.constant(var),
            Some(_) => None,
            None => return false,
        };
        constant.is_none() || constant.map(Global::Value) != self.shared.scope.get(name)
    }

    /// Whether a loop has a call of `wp.static` that is worked out where the kernel is built, be it in its range.
    pub(super) fn has_deferred_static(&mut self, iter: ExprId, body: List) -> bool {
        let tree = &*self.shared.tree;
        let statements = tree.stmts_in(body).iter().map(|id| tree.stmt(*id));
        let start = tree.expr(iter).start;
        let end = statements.fold(tree.expr(iter).end, |end, stmt| end.max(stmt.end));
        let text = self.shared.text.get(start as usize..end as usize);
        if !text.is_some_and(|text| text.contains("static(")) {
            return false;
        }
        let calls: Vec<ExprId> = (0..tree.exprs.len() as u32)
            .map(ExprId)
            .filter(|id| {
                let expr = tree.expr(*id);
                let is_inside = start <= expr.start && expr.end <= end;
                is_inside && matches!(expr.kind, ExprKind::Call { .. })
            })
            .collect();
        let mut calls = calls.into_iter();
        calls.any(|call| self.static_call(call).is_some() && self.is_deferred(call))
    }

    /// What a call of `wp.static` stands for in the kernel: a constant of its own, or a function.
    pub(super) fn static_value(&mut self, args: List, keywords: List) -> Res<Value> {
        Ok(match self.static_result(args, keywords)? {
            Global::Value(constant) => Value::Var(self.add_constant(constant)),
            Global::Function(set) => Value::Function(set),
            Global::Builtin(index) => Value::Builtin(index),
            Global::Instance(constant) => {
                if let Constant::Compound { ty, .. } = constant
                    && let Type::Struct(id) = self.shared.types.get(ty)
                {
                    self.shared.static_structs.push(id);
                }
                Value::Var(self.add_constant(constant))
            }
            _ => return fail("K023", NO_RESULT),
        })
    }

    /// The number that `wp.static` gives as a bound of a loop.
    pub(super) fn static_bound(&mut self, call: ExprId, args: List, keywords: List) -> Res<i128> {
        let is_deferred = self.is_deferred(call);
        let Global::Value(constant) = self.static_result(args, keywords)? else {
            return fail("K007", "the arguments of `range` are integers");
        };
        let value = match constant {
            Constant::Number(Number::Int(value)) => value,
            Constant::Bool(value) => i128::from(value),
            _ => return fail("K007", "the arguments of `range` are integers"),
        };
        if is_deferred {
            // It is written as a constant that nothing uses.
            self.add_constant(constant);
        }
        Ok(value)
    }

    fn static_result(&mut self, args: List, keywords: List) -> Res<Global> {
        if args.len != 1 || keywords.len != 0 {
            return fail("K007", "`wp.static` takes one expression");
        }
        let expr = self.shared.tree.expr_lists[args.start as usize];
        let mut known = Known::default();
        let node = self.shared.tree.expr(expr);
        let found = self.work_out_locals(expr, &mut known, &[]);
        found.map_err(|problem| placed(problem, node.start, node.end))?;
        let defined = self.statics.iter().find(|(known, _)| *known == expr);
        if let Some((_, value @ (Global::Function(_) | Global::Value(_) | Global::Builtin(_)))) =
            defined
        {
            return Ok(*value);
        }
        let shared = &mut self.shared;
        let mut tables = Tables {
            names: shared.names,
            types: shared.types,
            tree: shared.tree,
            source: shared.source,
            text: shared.text,
            modules: shared.modules,
            known,
        };
        match evaluate(shared.scope, &mut tables, expr) {
            Global::Opaque(what @ "a call that only Python can run") => Err(hinted(
                "K023",
                format!("`wp.static` of {what}"),
                "call it above the kernel, once, and name its result: `f = factory(2.0)`",
            )),
            Global::Opaque(what) => {
                let captured = shared.scope.captured_in(shared.tree, shared.names, expr);
                fail(
                    "K023",
                    captured.unwrap_or_else(|| format!("`wp.static` of {what}")),
                )
            }
            Global::Value(Constant::Str(_)) => fail("K023", NO_RESULT),
            Global::Instance(_) => match shared.scope.known_instance(&mut tables, expr, node.start)
            {
                Some(instance) => Ok(Global::Instance(instance)),
                None => fail(
                    "K023",
                    "`wp.static` of an instance of a struct that something else may change",
                ),
            },
            result => Ok(result),
        }
    }

    /// Notes what the parts of an expression that only the kernel knows stand for; names that comprehensions around
    /// it bind are `hidden`.
    fn work_out_locals(&mut self, expr: ExprId, known: &mut Known, hidden: &[Name]) -> Res<()> {
        if hidden.is_empty() {
            if let Some((args, keywords)) = self.static_call(expr) {
                let value = self.static_result(args, keywords)?;
                known.push((expr, value));
                return Ok(());
            }
            if let Some(value) = self.member_value(expr) {
                known.push((expr, value));
                return Ok(());
            }
        }
        let tree = &*self.shared.tree;
        let parts: Vec<ExprId> = match tree.expr(expr).kind {
            ExprKind::Name(name) if hidden.contains(&name) => return Ok(()),
            ExprKind::Comprehension { parts, .. } => {
                let parts = tree.exprs_in(parts).to_vec();
                let mut names = hidden.to_vec();
                for clause in parts[1..].chunks_exact(3) {
                    // What the first clause goes over is outside of all.
                    self.work_out_locals(clause[1], known, &names)?;
                    self.shared.tree.names_in(clause[0], &mut names);
                    self.work_out_locals(clause[2], known, &names)?;
                }
                return self.work_out_locals(parts[0], known, &names);
            }
            ExprKind::Name(name) => {
                let text = self.shared.names.get(name);
                match self.symbols.get(name) {
                    None if self.shared.scope.is_rebound(name) => {
                        let text = format!(
                            "`{text}` is bound more than once, so that its value where the kernel is defined is not known"
                        );
                        return fail("K023", text);
                    }
                    None => return Ok(()),
                    // Warp takes the module's where the kernel is defined; loops are looked at later.
                    Some(_)
                        if self.shared.scope.get(name).is_some()
                            && self.is_local(name)
                            && !self.unrolled.contains(&name) =>
                    {
                        let text = format!("`{text}` is a name of the module and of the kernel");
                        return fail("K023", text);
                    }
                    Some(Binding::Function(set)) => known.push((expr, Global::Function(set))),
                    Some(Binding::Builtin(index)) => known.push((expr, Global::Builtin(index))),
                    Some(Binding::Gradient(_)) => {
                        let text = format!("`{text}` is a gradient, which has no value");
                        return fail("K023", text);
                    }
                    Some(Binding::Var(var)) => match self.constant(var) {
                        Some(constant) => known.push((expr, Global::Value(constant))),
                        None => {
                            let text = format!(
                                "the value of `{text}` is not known while the kernel is compiled"
                            );
                            return fail("K023", text);
                        }
                    },
                }
                return Ok(());
            }
            ExprKind::Call { func, args, .. }
                if args.len == 1
                    && matches!(tree.expr(func).kind, ExprKind::Name(name) if self.shared.names.get(name) == "len") =>
            {
                let arg = tree.expr_lists[args.start as usize];
                if let ExprKind::Name(name) = tree.expr(arg).kind
                    && !hidden.contains(&name)
                    && let Some(Binding::Var(var)) = self.symbols.get(name)
                {
                    let of_tile = self.tile_of(var).and_then(|tile| tile.shape[0].number());
                    let of_type = self.shared.types.fixed_length(self.value_ty(var));
                    let Some(length) = of_tile.or(of_type.map(i64::from)) else {
                        return fail(
                            "K023",
                            "`len` of this is not known while the kernel is compiled",
                        );
                    };
                    let length = Constant::Number(Number::Int(i128::from(length)));
                    known.push((expr, Global::Value(length)));
                    return Ok(());
                }
                vec![arg]
            }
            ExprKind::Call {
                func,
                args,
                keywords,
            } => {
                let values = tree
                    .keywords_in(keywords)
                    .iter()
                    .map(|keyword| keyword.value);
                let args = tree.exprs_in(args).iter().copied();
                [func].into_iter().chain(args).chain(values).collect()
            }
            ExprKind::Attribute(base, _) => vec![base],
            ExprKind::Subscript(base, index) => vec![base, index],
            ExprKind::Unary(_, operand) => vec![operand],
            ExprKind::Binary(_, left, right) => vec![left, right],
            ExprKind::Compare(list, _)
            | ExprKind::BoolOp { values: list, .. }
            | ExprKind::Tuple(list)
            | ExprKind::SetDisplay(list)
            | ExprKind::Dict(list)
            | ExprKind::Formatted(list)
            | ExprKind::ListDisplay(list) => tree.exprs_in(list).to_vec(),
            ExprKind::IfElse { test, body, orelse } => vec![test, body, orelse],
            _ => Vec::new(),
        };
        for part in parts {
            self.work_out_locals(part, known, hidden)?;
        }
        Ok(())
    }
}
