//! Statements, `if`, and joining what the branches bound.

use super::body::Body;
use super::value::{Binding, Res, Value, fail, placed};
use crate::syntax::{ExprId, ExprKind, List, StmtId, StmtKind};
use warpsmith_ir::names::Name;
use warpsmith_ir::types::Type;
use warpsmith_ir::{Op, VarId};

impl Body<'_, '_> {
    /// Lowers a statement.
    pub(super) fn statement(&mut self, id: StmtId) -> Res<()> {
        let stmt = self.shared.tree.stmt(id);
        self.enter_line(stmt.line);
        self.statement_kind(stmt.kind, (stmt.start, stmt.end))
            .map_err(|problem| placed(problem, stmt.start, stmt.end))
    }

    pub(super) fn statements(&mut self, list: List) -> Res<()> {
        for at in list.start..list.start + list.len {
            let id = self.shared.tree.stmt_lists[at as usize];
            self.statement(id)?;
        }
        Ok(())
    }

    fn statement_kind(&mut self, kind: StmtKind, span: (u32, u32)) -> Res<()> {
        match kind {
            StmtKind::Expr(value) => {
                if let Some((func, args, keywords)) = self.call_parts(value) {
                    self.call_expression(func, args, keywords, None)?;
                } else {
                    self.eval(value)?;
                }
                Ok(())
            }
            StmtKind::Assign { targets, value } => self.assign(targets, value),
            StmtKind::AugAssign { target, op, value } => self.aug_assign(target, op, value, span),
            StmtKind::If { test, body, orelse } => self.if_statement(test, body, orelse),
            StmtKind::For { target, iter, body } => self.for_statement(target, iter, body),
            StmtKind::While { test, body } => self.while_statement(test, body),
            StmtKind::Return(value) => self.return_statement(value),
            StmtKind::Assert(test) => self.assert_statement(test, span),
            StmtKind::Break => self.leave_loop(true),
            StmtKind::Continue => self.leave_loop(false),
            StmtKind::Pass => Ok(()),
            StmtKind::AnnAssign { .. } => {
                fail("K005", "an annotated assignment has no place in a kernel")
            }
            StmtKind::Import(_) | StmtKind::ImportFrom { .. } => {
                fail("K005", "`import` has no place in a kernel")
            }
            StmtKind::Block { what, .. } => {
                fail("K005", format!("{what} has no place in a kernel"))
            }
            StmtKind::Delete(_) => fail("K005", "`del` has no place in a kernel"),
            StmtKind::Global(_) => fail("K005", "`global` has no place in a kernel"),
            StmtKind::Function(_) => fail("K005", "a nested function has no place in a kernel"),
            StmtKind::Class(_) => fail("K005", "a nested class has no place in a kernel"),
            StmtKind::Unsupported(what) => fail("K005", format!("{what} has no place in a kernel")),
        }
    }

    /// Refuses a condition that C++ would refuse.
    pub(super) fn check_condition(&self, cond: VarId) -> Res<()> {
        match self.kind(cond) {
            Type::Scalar(_) | Type::Array { .. } | Type::FixedArray { .. } => Ok(()),
            _ => fail(
                "K027",
                format!("{} is not a condition", self.describe(cond)),
            ),
        }
    }

    /// The value of a condition that is a constant. Refuses what is no condition.
    pub(super) fn known_condition(&self, cond: VarId) -> Res<Option<bool>> {
        let Some(constant) = self.constant(cond) else {
            self.check_condition(cond)?;
            return Ok(None);
        };
        match constant.truth() {
            Some(truth) => Ok(Some(truth)),
            None => fail("K027", "this constant is not a condition"),
        }
    }

    /// Opens a branch on a loaded condition.
    pub(super) fn begin_branch(&mut self, cond: VarId, negated: bool) -> u32 {
        self.ops.push(Op::If {
            cond,
            negated,
            end: 0,
        });
        self.ops.len() as u32 - 1
    }

    /// Closes a branch.
    pub(super) fn end_branch(&mut self, begin: u32, cond: VarId, negated: bool) {
        let here = self.ops.len() as u32;
        if let Op::If { end, .. } = &mut self.ops[begin as usize] {
            *end = here;
        }
        self.ops.push(Op::EndIf {
            cond,
            negated,
            begin,
        });
    }

    /// Opens a branch, loading the condition if it is a reference.
    pub(super) fn begin_if(&mut self, cond: VarId, negated: bool) -> u32 {
        let cond = self.load(cond);
        self.begin_branch(cond, negated)
    }

    /// Closes a branch, loading the condition again if it is a reference.
    pub(super) fn end_if(&mut self, begin: u32, cond: VarId, negated: bool) {
        let here = self.ops.len();
        self.end_branch(begin, cond, negated);
        let loaded = self.load(cond);
        if let Op::EndIf { cond, .. } = &mut self.ops[here] {
            *cond = loaded;
        }
    }

    fn if_statement(&mut self, test: ExprId, body: List, orelse: List) -> Res<()> {
        let cond = self.eval_var(test)?;
        if let Some(truth) = self.known_condition(cond)? {
            return self.statements(if truth { body } else { orelse });
        }
        let before = self.symbols.clone();
        let begin = self.begin_if(cond, false);
        self.statements(body)?;
        self.end_if(begin, cond, false);
        let after_if = std::mem::replace(&mut self.symbols, before.clone());
        if orelse.len > 0 {
            let begin = self.begin_if(cond, true);
            self.statements(orelse)?;
            self.end_if(begin, cond, true);
        }
        let after_else = std::mem::replace(&mut self.symbols, before);
        let entries: Vec<Name> = after_if
            .entries()
            .iter()
            .chain(
                after_else
                    .entries()
                    .iter()
                    .filter(|entry| !after_if.contains(entry.0)),
            )
            .map(|entry| entry.0)
            .collect();
        // The joins are made while the table still shows the state before the branches.
        let mut merged = self.symbols.clone();
        for name in entries {
            let before = self.symbols.get(name);
            let a = after_if.get(name).or(before);
            let b = after_else.get(name).or(before);
            match (a, b) {
                (Some(a), Some(b)) if a == b => merged.set(name, a),
                (Some(a), None) => merged.set(name, a),
                (None, Some(b)) => merged.set(name, b),
                (Some(Binding::Var(a)), Some(Binding::Var(b))) => {
                    let joined = self.select(cond, a, b).map_err(|mut problem| {
                        let name = self.shared.names.get(name);
                        problem.message =
                            format!("`{name}` after the branches: {}", problem.message);
                        problem
                    })?;
                    merged.set(name, Binding::Var(joined));
                }
                (None, None) => {}
                _ => {
                    return fail("K016", "a name is bound to a function in one branch only");
                }
            }
        }
        self.symbols = merged;
        Ok(())
    }

    fn assert_statement(&mut self, test: ExprId, span: (u32, u32)) -> Res<()> {
        let cond = self.eval_var(test)?;
        self.check_condition(cond)?;
        let cond = self.load(cond);
        let text = self
            .shared
            .text
            .get(span.0 as usize..span.1 as usize)
            .unwrap_or("")
            .replace('"', "\\\"");
        if text.contains('\n') {
            return fail("K005", "an `assert` over several lines is not supported");
        }
        let text = self.shared.names.intern(&text);
        self.ops.push(Op::Assert { cond, text });
        Ok(())
    }

    fn return_statement(&mut self, value: Option<ExprId>) -> Res<()> {
        let values: Option<Vec<VarId>> = match value {
            None => None,
            Some(value) => Some(match self.shared.tree.expr(value).kind {
                ExprKind::Tuple(list) => {
                    let exprs = self.shared.tree.exprs_in(list).to_vec();
                    let mut vars = Vec::with_capacity(exprs.len());
                    for expr in exprs {
                        vars.push(self.eval_var(expr)?);
                    }
                    vars
                }
                _ => match self.eval(value)? {
                    Value::Many { start, len } => {
                        self.many[start as usize..][..len as usize].to_vec()
                    }
                    other => vec![self.single(other)?],
                },
            }),
        };
        if self.is_kernel && values.is_some() {
            return fail("K013", "a kernel returns a value");
        }
        if let Some(old) = &self.returned {
            let same = values.as_ref().is_some_and(|new| {
                old.len() == new.len()
                    && old.iter().zip(new).all(|(a, b)| {
                        let types = &self.shared.types;
                        types.spelling(types.value_of(self.ty(*a)))
                            == types.spelling(types.value_of(self.ty(*b)))
                    })
            });
            if !same {
                return fail(
                    "K015",
                    "this `return` gives other types than the ones before it",
                );
            }
        }
        let mut returned = Vec::new();
        if let Some(values) = values {
            for value in values {
                returned.push(if self.is_reference(value) {
                    self.copy(value)?
                } else {
                    value
                });
            }
            self.returned = Some(returned.clone());
        }
        let label = self.labels;
        self.labels += 1;
        let at = self.pool.len() as u32;
        self.pool.extend_from_slice(&returned);
        self.ops.push(Op::Return {
            values: at,
            count: returned.len() as u32,
            label,
        });
        Ok(())
    }
}
