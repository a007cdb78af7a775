//! Static paths and the arguments of calls.

use super::body::Body;
use super::value::{Few, Res, Value, fail};
use crate::globals::{Global, fallback, resolve_path};
use crate::syntax::{ExprId, ExprKind};
use warpsmith_ir::VarId;
use warpsmith_ir::builtin::BUILTINS;
use warpsmith_ir::names::Name;
use warpsmith_ir::types::{Type, TypeId};

impl Body<'_, '_> {
    /// What a dotted path stands for outside the body; `None` if its root is a local or unknown, or if
    /// the expression is no path.
    pub(super) fn static_path(&mut self, expr: ExprId) -> Option<Global> {
        let names = &*self.shared.names;
        let scope = &*self.shared.scope;
        let symbols = &self.symbols;
        resolve_path(
            expr,
            self.shared.tree,
            scope,
            names,
            self.shared.types,
            &mut |root, types| {
                if symbols.contains(root) {
                    return None;
                }
                scope
                    .get(root)
                    .or_else(|| fallback(root, scope, names, types))
            },
        )
    }

    /// The number behind `Enumeration.MEMBER.value`. The member alone is a number already, of which no
    /// path reads an attribute.
    pub(super) fn member_value(&mut self, expr: ExprId) -> Option<Global> {
        let tree = &*self.shared.tree;
        let ExprKind::Attribute(member, attr) = tree.expr(expr).kind else {
            return None;
        };
        let ExprKind::Attribute(class, member) = tree.expr(member).kind else {
            return None;
        };
        let Global::Class(class) = self.static_path(class)? else {
            return None;
        };
        let names = &*self.shared.names;
        let [class, member, attr] = [class, member, attr].map(|name| names.get(name));
        let dotted = names.find(&format!("{class}.{member}.{attr}"))?;
        self.shared.scope.attribute(dotted)
    }

    /// The last name of a dotted path, whatever its root.
    pub(super) fn last_name(&self, expr: ExprId) -> Option<Name> {
        match self.shared.tree.expr(expr).kind {
            ExprKind::Name(name) | ExprKind::Attribute(_, name) => Some(name),
            _ => None,
        }
    }

    /// The operand and the attributes of `type(x).a.b`, if the expression is one.
    fn type_operator(&self, expr: ExprId) -> Option<(ExprId, Vec<Name>)> {
        let tree = &self.shared.tree;
        let mut attributes = Vec::new();
        let mut at = expr;
        while let ExprKind::Attribute(value, attr) = tree.expr(at).kind {
            attributes.push(attr);
            at = value;
        }
        let ExprKind::Call { func, args, .. } = tree.expr(at).kind else {
            return None;
        };
        let ExprKind::Name(name) = tree.expr(func).kind else {
            return None;
        };
        let [operand] = *tree.exprs_in(args) else {
            return None;
        };
        (self.shared.names.get(name) == "type").then(|| {
            attributes.reverse();
            (operand, attributes)
        })
    }

    /// The type that `type(x)` and its attributes give, if the expression is one.
    pub(super) fn type_expression(&mut self, expr: ExprId) -> Res<Option<TypeId>> {
        let Some((operand, attributes)) = self.type_operator(expr) else {
            return Ok(None);
        };
        let var = self.eval_var(operand)?;
        let mut ty = self.value_ty(var);
        for attr in attributes {
            match self.type_attribute(ty, attr) {
                Some(next) => ty = next,
                None => {
                    let attr = self.shared.names.get(attr);
                    return fail("K012", format!("types have no attribute `{attr}` here"));
                }
            }
        }
        Ok(Some(ty))
    }

    /// `dtype` of a type.
    pub(super) fn type_attribute(&self, ty: TypeId, attr: Name) -> Option<TypeId> {
        if self.shared.names.get(attr) != "dtype" {
            return None;
        }
        match self.shared.types.get(ty) {
            Type::Array { element, .. }
            | Type::FixedArray { element, .. }
            | Type::MappedArray { element, .. } => Some(element),
            _ => self.shared.types.scalar_of(ty).map(TypeId::scalar),
        }
    }

    /// An attribute of a value that belongs to its type: `dtype`, `length`, `ndim`.
    pub(super) fn type_number(&self, ty: TypeId, attr: Name) -> Option<Value> {
        if let Some(ty) = self.type_attribute(ty, attr) {
            return Some(Value::Type(ty));
        }
        match (self.shared.names.get(attr), self.shared.types.get(ty)) {
            ("length", Type::Vector { length, .. }) => Some(Value::Int(i64::from(length))),
            ("length", Type::Quat(_)) => Some(Value::Int(4)),
            ("length", Type::Transform(_)) => Some(Value::Int(7)),
            ("length", Type::Matrix { rows, cols, .. }) => {
                Some(Value::Int(i64::from(rows) * i64::from(cols)))
            }
            (
                "ndim",
                Type::Array { rank, .. }
                | Type::FixedArray { rank, .. }
                | Type::MappedArray { rank, .. },
            ) => Some(Value::Int(i64::from(rank))),
            _ => None,
        }
    }

    /// Evaluates an argument of a call. A path that resolves outside the body is evaluated a second
    /// time, which leaves a second constant.
    pub(super) fn argument(&mut self, expr: ExprId) -> Res<Value> {
        match self.shared.tree.expr(expr).kind {
            ExprKind::Name(name) => {
                if !self.symbols.contains(name) && self.shared.scope.get(name).is_none() {
                    self.enter_line(self.shared.tree.expr(expr).line);
                    if let Some(global) = fallback(
                        name,
                        self.shared.scope,
                        self.shared.names,
                        self.shared.types,
                    ) {
                        return self.global(global, name);
                    }
                }
                self.eval(expr)
            }
            ExprKind::Attribute(..) | ExprKind::Call { .. } => {
                if self.type_operator(expr).is_some() {
                    let node = self.shared.tree.expr(expr);
                    self.enter_line(node.line);
                    if let Some(ty) = self.type_expression(expr)? {
                        return Ok(Value::Type(ty));
                    }
                }
                let value = self.eval(expr)?;
                if !matches!(self.shared.tree.expr(expr).kind, ExprKind::Attribute(..)) {
                    return Ok(value);
                }
                match self.member_value(expr).or_else(|| self.static_path(expr)) {
                    None => Ok(value),
                    Some(Global::Value(constant)) => Ok(Value::Var(self.add_constant(constant))),
                    Some(_) => Ok(value),
                }
            }
            _ => self.eval(expr),
        }
    }

    /// Spreads `*vector` or `*array[a:b]` over several arguments.
    pub(super) fn starred(&mut self, expr: ExprId, args: &mut Few<Value>) -> Res<()> {
        let (target, bounds) = match self.shared.tree.expr(expr).kind {
            ExprKind::Subscript(base, slice)
                if matches!(self.shared.tree.expr(slice).kind, ExprKind::Slice(_)) =>
            {
                let ExprKind::Slice(parts) = self.shared.tree.expr(slice).kind else {
                    return fail("K005", "a slice is expected");
                };
                let target = self.eval_var(base)?;
                match self.kind(target) {
                    Type::Array { .. } | Type::FixedArray { .. } => {
                        let bounds = self.open_bounds(parts)?;
                        (target, bounds)
                    }
                    _ => match self.leading_length(target) {
                        Some(length) => (target, self.constant_bounds(parts, length)?),
                        None => return fail("K005", "this value cannot be spread"),
                    },
                }
            }
            _ => {
                let target = self.eval_var(expr)?;
                match self.leading_length(target) {
                    Some(length) => (target, (0, length, 1)),
                    None => return fail("K005", "this value cannot be spread"),
                }
            }
        };
        let is_array = matches!(
            self.kind(target),
            Type::Array { .. } | Type::FixedArray { .. }
        );
        let builtin = if is_array {
            self.shared.operators.address
        } else {
            self.shared.operators.extract
        };
        let (mut at, stop, step) = bounds;
        let mut any = false;
        while (step > 0 && at < stop) || (step < 0 && at > stop) {
            let index = self.add_int(at);
            let element = self.index_call(builtin, target, &[index])?;
            args.push(Value::Var(element));
            any = true;
            at += step;
        }
        if any {
            Ok(())
        } else {
            fail("K005", "nothing is left of the value that is spread")
        }
    }

    /// Constant bounds of a slice of an array that is spread: both must be given.
    fn open_bounds(&mut self, parts: [Option<ExprId>; 3]) -> Res<(i64, i64, i64)> {
        let step = match parts[2] {
            Some(step) => self.constant_index(step)?,
            None => 1,
        };
        let start = match parts[0] {
            Some(start) => self.constant_index(start)?,
            None => 0,
        };
        let Some(stop) = parts[1] else {
            return fail("K020", "an array that is spread needs an upper bound");
        };
        let stop = self.constant_index(stop)?;
        if start < 0 || stop < 0 || step <= 0 {
            return fail(
                "K020",
                "the bounds of an array that is spread are not negative",
            );
        }
        Ok((start, stop, step))
    }

    /// The first dimension of a vector, matrix, quaternion or transform.
    pub(super) fn leading_length(&self, var: VarId) -> Option<i64> {
        Some(match self.kind(var) {
            Type::Vector { length, .. } => i64::from(length),
            Type::Matrix { rows, .. } => i64::from(rows),
            Type::Quat(_) => 4,
            Type::Transform(_) => 7,
            _ => return None,
        })
    }

    /// The builtin of a name, if there is one.
    pub(super) fn builtin_named(&self, name: &str) -> Res<u16> {
        match self
            .shared
            .names
            .find(name)
            .filter(|name| name.index() < BUILTINS.len())
        {
            Some(name) => Ok(name.index() as u16),
            None => fail("K006", format!("there is no builtin `{name}`")),
        }
    }
}
