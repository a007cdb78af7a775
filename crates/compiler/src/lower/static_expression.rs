//! `wp.static(expression)`: worked out while the kernel is compiled, as module-level code is, with the numbers
//! of unrolled loops and other locals that are constants.

use super::body::Body;
use super::value::{Binding, Res, Value, fail, placed};
use crate::globals::{Global, Known, Tables, evaluate};
use crate::syntax::{Expr, ExprId, ExprKind, List};
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
        let node = self.shared.tree.expr(expr);
        let within = |part: &Expr| node.start <= part.start && part.end <= node.end;
        self.static_call(expr).is_some()
            && !self
                .shared
                .tree
                .exprs
                .iter()
                .filter(|part| within(part))
                .any(|part| matches!(part.kind, ExprKind::Name(name) if self.is_local(name)))
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

    /// Whether statements call `wp.static` with a name that a loop around them gives its numbers.
    pub(super) fn has_static_of(&mut self, body: List, name: Name) -> bool {
        let tree = &*self.shared.tree;
        let statements = tree.stmts_in(body).iter().map(|id| tree.stmt(*id));
        let (start, end) = statements.fold((u32::MAX, 0), |(start, end), stmt| {
            (start.min(stmt.start), end.max(stmt.end))
        });
        let text = self.shared.text.get(start as usize..end as usize);
        if !text.is_some_and(|text| text.contains("static(")) {
            return false;
        }
        let inside = |outer: (u32, u32), expr: &Expr| outer.0 <= expr.start && expr.end <= outer.1;
        let calls: Vec<ExprId> = (0..tree.exprs.len() as u32)
            .map(ExprId)
            .filter(|id| {
                let expr = tree.expr(*id);
                matches!(expr.kind, ExprKind::Call { .. }) && inside((start, end), &expr)
            })
            .collect();
        calls.into_iter().any(|call| {
            // Names are looked for in the few calls of `wp.static` alone.
            self.static_call(call).is_some() && {
                let tree = &*self.shared.tree;
                let call = tree.expr(call);
                let mut exprs = tree.exprs.iter();
                exprs.any(|part| {
                    part.kind == ExprKind::Name(name) && inside((call.start, call.end), part)
                })
            }
        })
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
    pub(super) fn static_bound(&mut self, args: List, keywords: List) -> Res<i128> {
        match self.static_result(args, keywords)? {
            Global::Value(Constant::Number(Number::Int(value))) => Ok(value),
            Global::Value(Constant::Bool(value)) => Ok(i128::from(value)),
            _ => fail("K007", "the arguments of `range` are integers"),
        }
    }

    fn static_result(&mut self, args: List, keywords: List) -> Res<Global> {
        if args.len != 1 || keywords.len != 0 {
            return fail("K007", "`wp.static` takes one expression");
        }
        let expr = self.shared.tree.expr_lists[args.start as usize];
        let mut known = Known::default();
        let node = self.shared.tree.expr(expr);
        let found = self.work_out_locals(expr, &mut known);
        found.map_err(|problem| placed(problem, node.start, node.end))?;
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

    /// Notes what the parts of an expression that only the kernel knows stand for.
    fn work_out_locals(&mut self, expr: ExprId, known: &mut Known) -> Res<()> {
        if let Some((args, keywords)) = self.static_call(expr) {
            let value = self.static_result(args, keywords)?;
            known.push((expr, value));
            return Ok(());
        }
        if let Some(value) = self.member_value(expr) {
            known.push((expr, value));
            return Ok(());
        }
        let tree = &*self.shared.tree;
        let parts: Vec<ExprId> = match tree.expr(expr).kind {
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
                    && let Some(Binding::Var(var)) = self.symbols.get(name)
                {
                    let Some(length) = self.shared.types.fixed_length(self.value_ty(var)) else {
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
            self.work_out_locals(part, known)?;
        }
        Ok(())
    }
}
