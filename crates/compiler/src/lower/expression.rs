//! Expressions.

use super::body::Body;
use super::value::{Binding, Few, Res, Value, fail, placed};
use crate::globals::Global;
use crate::syntax::{BinaryOp, CompareOp, ExprId, ExprKind, List, UnaryOp};
use warpsmith_ir::names::Name;
use warpsmith_ir::types::TypeId;
use warpsmith_ir::{Chain, Constant, Number, Op, VarId};

impl Body<'_, '_> {
    /// Evaluates an expression.
    pub(super) fn eval(&mut self, expr: ExprId) -> Res<Value> {
        let node = self.shared.tree.expr(expr);
        self.enter_line(node.line);
        self.eval_kind(expr, node.kind).map_err(|problem| {
            if node.line == 0 {
                problem
            } else {
                placed(problem, node.start, node.end)
            }
        })
    }

    /// Evaluates an expression that must be a single value.
    pub(super) fn eval_var(&mut self, expr: ExprId) -> Res<VarId> {
        let value = self.eval(expr)?;
        let node = self.shared.tree.expr(expr);
        self.single(value)
            .map_err(|problem| placed(problem, node.start, node.end))
    }

    fn eval_kind(&mut self, expr: ExprId, kind: ExprKind) -> Res<Value> {
        match kind {
            ExprKind::Name(name) => self.name(name),
            ExprKind::Int(value) => Ok(Value::Var(
                self.add_constant(Constant::Number(Number::Int(value))),
            )),
            ExprKind::Float(value) => Ok(Value::Var(
                self.add_constant(Constant::Number(Number::Float(value))),
            )),
            ExprKind::Bool(value) => Ok(Value::Var(self.add_constant(Constant::Bool(value)))),
            ExprKind::Str(text) => Ok(Value::Var(self.add_constant(Constant::Str(text)))),
            ExprKind::None => fail("K005", "`None` has no place in a kernel"),
            ExprKind::Attribute(value, attr) => {
                let aggregate = self.eval(value)?;
                self.attribute(aggregate, attr)
            }
            ExprKind::Unary(op, operand) => self.unary(op, operand),
            ExprKind::Binary(op, left, right) => self.binary(op, left, right),
            ExprKind::Compare(operands, first) => self.compare(operands, first),
            ExprKind::BoolOp { and, values } => self.bool_op(and, values),
            ExprKind::IfElse { test, body, orelse } => self.if_else(test, body, orelse),
            ExprKind::Call {
                func,
                args,
                keywords,
            } => self.call_expression(func, args, keywords, None),
            ExprKind::Subscript(..) => self.subscript(expr).map(Value::Var),
            ExprKind::Slice(parts) => self.array_slice(parts).map(Value::Var),
            ExprKind::Tuple(list) => self.tuple(list).map(Value::Var),
            ExprKind::ListDisplay(_) => fail("K005", "a list has no place in a kernel"),
            ExprKind::SetDisplay(_) => fail("K005", "a set has no place in a kernel"),
            ExprKind::Dict(_) => fail("K005", "a dictionary has no place in a kernel"),
            ExprKind::Comprehension { .. } => {
                fail("K005", "a comprehension has no place in a kernel")
            }
            ExprKind::Formatted(_) => fail("K005", "an f-string has no place in a kernel"),
            ExprKind::Starred(_) => fail("K005", "`*` is only understood in a call's arguments"),
            ExprKind::Unsupported(what) => fail("K005", format!("{what} has no place in a kernel")),
        }
    }

    /// A name: a local, else a module-level constant (which becomes one), type or function.
    fn name(&mut self, name: Name) -> Res<Value> {
        match self.symbols.get(name) {
            Some(Binding::Var(var)) => return Ok(Value::Var(var)),
            Some(Binding::Function(set)) => return Ok(Value::Function(set)),
            Some(Binding::Builtin(index)) => return Ok(Value::Builtin(index)),
            Some(Binding::Gradient(of)) => return Ok(Value::Gradient(of)),
            None => {}
        }
        match self.shared.scope.get(name) {
            Some(Global::Value(Constant::Str(_))) => fail(
                "K023",
                format!(
                    "`{}` is a string, which has no place here",
                    self.shared.names.get(name)
                ),
            ),
            Some(Global::Value(constant)) => {
                let var = self.add_constant(constant);
                self.symbols.set(name, Binding::Var(var));
                Ok(Value::Var(var))
            }
            Some(global) => self.global(global, name),
            None => fail(
                "K006",
                format!("`{}` is not defined", self.shared.names.get(name)),
            ),
        }
    }

    /// A module-level value that is not a constant.
    pub(super) fn global(&mut self, global: Global, name: Name) -> Res<Value> {
        Ok(match global {
            Global::Type(ty) => {
                if let warpsmith_ir::types::Type::Struct(id) = self.shared.types.get(ty) {
                    self.use_struct(id);
                }
                Value::Type(ty)
            }
            Global::PythonType(ty) => Value::PythonType(ty),
            Global::Value(constant) => Value::Var(self.add_constant(constant)),
            Global::Function(set) => Value::Function(set),
            Global::Builtin(index) => Value::Builtin(index),
            Global::Module(module) => Value::Module(module),
            Global::Class(class) => Value::Class(class),
            Global::WarpCallable(_) | Global::Callable => Value::Callable,
            Global::Handle => {
                return fail("K021", "a handle's type is only understood in annotations");
            }
            Global::Tuple => {
                return fail("K016", "a tuple's type is only understood in annotations");
            }
            Global::Kernel(_) => return fail("K016", "a kernel cannot be used in a kernel"),
            Global::Instance(_) => {
                return fail(
                    "K023",
                    "an instance of a struct is Python's; `wp.static` makes a constant of it",
                );
            }
            Global::Determinism(_) => {
                return fail("K005", "a mode of determinism has no place in a kernel");
            }
            Global::Nothing => return fail("K005", "`None` has no place in a kernel"),
            Global::Member(_) => {
                return fail(
                    "K023",
                    "a member of an enumeration of compiled code is not a Warp value; convert it with `wp.static(int(…))`",
                );
            }
            Global::Opaque(what) => {
                return fail(
                    "K023",
                    format!("`{}` is {what}", self.shared.names.get(name)),
                );
            }
        })
    }

    fn unary(&mut self, op: UnaryOp, operand: ExprId) -> Res<Value> {
        let arg = self.eval_var(operand)?;
        if op == UnaryOp::Minus {
            let negated = match self.constant(arg) {
                Some(Constant::Number(Number::Int(value))) => Some(Number::Int(-value)),
                Some(Constant::Number(Number::Float(value))) => Some(Number::Float(-value)),
                Some(Constant::Bool(_)) => return fail("K005", "`-` of a boolean constant"),
                _ => None,
            };
            if let Some(number) = negated {
                let literal = match self.shared.tree.expr(operand).kind {
                    ExprKind::Int(_) | ExprKind::Float(_) => true,
                    ExprKind::Call { .. } => self.is_static_literal(operand),
                    _ => false,
                };
                let constant = Constant::Number(number);
                if literal {
                    self.vars[arg.index()].constant = Some(constant);
                    return Ok(Value::Var(arg));
                }
                return Ok(Value::Var(self.add_constant(constant)));
            }
        }
        let index = self.shared.operators.unary[op as usize];
        self.call_builtin_vars(index, &[arg])
    }

    fn binary(&mut self, op: BinaryOp, left: ExprId, right: ExprId) -> Res<Value> {
        let left = self.eval_var(left)?;
        let right = self.eval_var(right)?;
        self.operator(op, left, right)
    }

    /// Applies an operator: a function of the module by the operator's name wins where it fits.
    pub(super) fn operator(&mut self, op: BinaryOp, left: VarId, right: VarId) -> Res<Value> {
        if let Some(set) = self.user_operator(op) {
            let args = [Value::Var(left), Value::Var(right)];
            if let Some(index) = self.find_overload(set, &args, &[])? {
                return self.call_function(index, &args, &[]);
            }
        }
        self.call_operator(op, &[left, right])
    }

    /// Calls the builtin that stands for an operator.
    pub(super) fn call_operator(&mut self, op: BinaryOp, operands: &[VarId]) -> Res<Value> {
        let index = self.shared.operators.binary[op as usize];
        self.call_builtin_vars(index, operands)
    }

    /// The function of the module that bears an operator's name.
    pub(super) fn user_operator(&self, op: BinaryOp) -> Option<u32> {
        let name = Name::of_builtin(self.shared.operators.binary[op as usize]);
        match self.shared.scope.get(name) {
            Some(Global::Function(set)) => Some(set),
            _ => None,
        }
    }

    fn compare(&mut self, operands: List, first: u32) -> Res<Value> {
        let mut vars: Few<VarId> = Few::new();
        for at in operands.start..operands.start + operands.len {
            let expr = self.shared.tree.expr_lists[at as usize];
            vars.push(self.eval_var(expr)?);
        }
        let count = vars.len() - 1;
        let comparisons = self.comparisons.len() as u32;
        for at in 0..count {
            match self.shared.tree.compares[first as usize + at] {
                CompareOp::Known(comparison) => self.comparisons.push(comparison),
                CompareOp::Unsupported(what) => {
                    return fail("K005", format!("{what} has no place in a kernel"));
                }
            }
        }
        let dst = self.add_var(TypeId::BOOL);
        let mut loaded: Few<VarId> = Few::new();
        loaded.push(self.load(vars[0]));
        for at in 1..vars.len() {
            if at > 1 && self.ty(loaded[at - 1]) != self.ty(vars[at]) {
                return fail(
                    "K008",
                    format!(
                        "a chained comparison needs operands of one type, not {} and {}",
                        self.describe(loaded[at - 1]),
                        self.describe(vars[at])
                    ),
                );
            }
            loaded.push(self.load(vars[at]));
        }
        let operands = self.pool.len() as u32;
        self.pool.extend_from_slice(&loaded);
        let chain = Chain {
            operands,
            comparisons,
            count: count as u32,
        };
        self.ops.push(Op::Compare { dst, chain });
        Ok(Value::Var(dst))
    }

    fn bool_op(&mut self, and: bool, values: List) -> Res<Value> {
        let values: Few<ExprId> = Few::from_slice(self.shared.tree.exprs_in(values));
        let dst = self.add_var(TypeId::BOOL);
        let first = self.eval_var(values[0])?;
        self.check_condition(first)?;
        let first = self.load(first);
        self.ops.push(Op::Set { dst, src: first });
        for value in &values[1..] {
            let begin = self.begin_branch(dst, !and);
            let value = self.eval_var(*value)?;
            self.check_condition(value)?;
            let src = self.load(value);
            self.ops.push(Op::Accumulate { dst, src, or: !and });
            self.end_branch(begin, dst, !and);
        }
        Ok(Value::Var(dst))
    }

    fn if_else(&mut self, test: ExprId, body: ExprId, orelse: ExprId) -> Res<Value> {
        let cond = self.eval_var(test)?;
        if let Some(truth) = self.known_condition(cond)? {
            return self.eval(if truth { body } else { orelse });
        }
        let begin = self.begin_if(cond, false);
        let body = self.branch_value(body)?;
        self.end_if(begin, cond, false);
        let begin = self.begin_if(cond, true);
        let orelse = self.branch_value(orelse)?;
        self.end_if(begin, cond, true);
        self.select(cond, body, orelse).map(Value::Var)
    }

    fn branch_value(&mut self, expr: ExprId) -> Res<VarId> {
        let var = self.eval_var(expr)?;
        if self.is_reference(var) {
            self.copy(var)
        } else {
            Ok(var)
        }
    }

    /// `copy(var)`.
    pub(super) fn copy(&mut self, var: VarId) -> Res<VarId> {
        let index = self.shared.operators.copy;
        let value = self.call_builtin_vars(index, &[var])?;
        self.single(value)
    }

    /// `where(cond, a, b)`.
    pub(super) fn select(&mut self, cond: VarId, a: VarId, b: VarId) -> Res<VarId> {
        let index = self.shared.operators.select;
        let value = self.call_builtin_vars(index, &[cond, a, b])?;
        self.single(value)
    }

    fn tuple(&mut self, list: List) -> Res<VarId> {
        let exprs = self.shared.tree.exprs_in(list).to_vec();
        let mut vars = Vec::with_capacity(exprs.len());
        for expr in exprs {
            vars.push(self.eval_var(expr)?);
        }
        self.make_tuple(&vars)
    }

    pub(super) fn make_tuple(&mut self, vars: &[VarId]) -> Res<VarId> {
        let value = self.call_named("tuple", vars)?;
        let tuple = self.single(value)?;
        self.tuple_of.push((tuple, vars.to_vec()));
        Ok(tuple)
    }
}
