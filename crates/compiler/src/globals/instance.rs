//! Instances of structs that the module makes and fills before its kernels are defined, for `wp.static`.
//!
//! Invariant: an instance is known only if every mention of its name reads a field, sets one at module level, or is
//! `wp.static` of it; and if all fields are set before the kernel that asks.

use super::evaluate::evaluate;
use super::value::Tables;
use super::{Global, Scope};
use crate::syntax::{ExprId, ExprKind, List, StmtKind};
use warpsmith_ir::names::Name;
use warpsmith_ir::types::{Scalar, StructId, Type, TypeId, TypeTable};
use warpsmith_ir::{Constant, Number};

/// How many numbers a value of a field has; nothing where it has others than these.
fn numbers(types: &TypeTable, ty: TypeId) -> Option<u32> {
    Some(match types.get(ty) {
        Type::Scalar(scalar) if !scalar.is_placeholder() => 1,
        Type::Vector { length, .. } => length,
        Type::Matrix { rows, cols, .. } => rows * cols,
        Type::Quat(_) => 4,
        _ => return None,
    })
}

/// The place and the type of a field among a struct's numbers.
fn place(types: &TypeTable, id: StructId, field: Name) -> Option<(u32, TypeId)> {
    let mut before = 0;
    for known in &types.struct_def(id).fields {
        if known.name == field {
            return Some((before, known.ty));
        }
        before += numbers(types, known.ty)?;
    }
    None
}

/// A field of an instance, as a constant of the field's type.
pub(crate) fn field_of(
    instance: Constant,
    field: Name,
    elements: &[Number],
    types: &TypeTable,
) -> Option<(TypeId, Constant)> {
    let Constant::Compound { ty, start, .. } = instance else {
        return None;
    };
    let Type::Struct(id) = types.get(ty) else {
        return None;
    };
    let (at, ty) = place(types, id, field)?;
    let start = start + at;
    let constant = match types.get(ty) {
        Type::Scalar(Scalar::Bool) => Constant::Bool(elements[start as usize] != Number::Int(0)),
        Type::Scalar(Scalar::F32 | Scalar::I32) => Constant::Number(elements[start as usize]),
        Type::Scalar(scalar) => Constant::Typed(scalar, elements[start as usize]),
        _ => Constant::Compound {
            ty,
            start,
            len: numbers(types, ty)?,
        },
    };
    Some((ty, constant))
}

impl Scope {
    /// An instance of a struct as Python makes it: zeros.
    pub(super) fn new_instance(&mut self, types: &TypeTable, ty: TypeId) -> Option<Constant> {
        let Type::Struct(id) = types.get(ty) else {
            return None;
        };
        let mut zeros = Vec::new();
        for field in &types.struct_def(id).fields {
            let count = numbers(types, field.ty)? as usize;
            // A scalar is Python's whole zero until it is set.
            let zero = match types.get(field.ty) {
                Type::Scalar(_) => Number::Int(0),
                _ if types.scalar_of(field.ty).is_some_and(Scalar::is_float) => Number::Float(0.0),
                _ => Number::Int(0),
            };
            zeros.extend(std::iter::repeat_n(zero, count));
        }
        let start = self.elements.len() as u32;
        let len = zeros.len() as u32;
        self.elements.extend(zeros);
        Some(Constant::Compound { ty, start, len })
    }

    /// Sets a field of an instance that a name of the module at hand stands for; false if it is none.
    pub(super) fn set_field(
        &mut self,
        tables: &Tables<'_>,
        target: ExprId,
        result: Global,
    ) -> bool {
        let ExprKind::Attribute(base, field) = tables.tree.expr(target).kind else {
            return false;
        };
        let ExprKind::Name(name) = tables.tree.expr(base).kind else {
            return false;
        };
        let Some(Global::Instance(instance)) = self.get(name) else {
            return false;
        };
        let changed = self.with_field(tables.types, instance, field, result);
        let value = match changed {
            Some(instance) => Global::Instance(instance),
            None => Global::Opaque("an instance of a struct with a field that only Python knows"),
        };
        self.replace(name, Some(value));
        *self.fields_set.entry((self.module(), name)).or_default() += 1;
        true
    }

    fn with_field(
        &mut self,
        types: &TypeTable,
        instance: Constant,
        field: Name,
        value: Global,
    ) -> Option<Constant> {
        let (Constant::Compound { ty, start, len }, Global::Value(value)) = (instance, value)
        else {
            return None;
        };
        let Type::Struct(id) = types.get(ty) else {
            return None;
        };
        let (at, field) = place(types, id, field)?;
        let given = match (types.get(field), value) {
            (Type::Scalar(Scalar::Bool), Constant::Bool(value)) => {
                vec![Number::Int(i128::from(value))]
            }
            (Type::Scalar(scalar), Constant::Number(number)) => {
                // Python's number stays as it is, but no fraction goes into an integer.
                let fits = scalar.is_float() || matches!(number, Number::Int(_));
                vec![fits.then_some(number)?]
            }
            (Type::Scalar(scalar), Constant::Typed(other, number)) if scalar == other => {
                vec![number]
            }
            (_, Constant::Compound { ty, start, len }) if ty == field => {
                self.elements[start as usize..][..len as usize].to_vec()
            }
            _ => return None,
        };
        let new = self.elements.len() as u32;
        self.elements
            .extend_from_within(start as usize..(start + len) as usize);
        let first = (new + at) as usize;
        self.elements[first..first + given.len()].copy_from_slice(&given);
        Some(Constant::Compound {
            ty,
            start: new,
            len,
        })
    }

    /// The instance that an expression gives, as it is before `at` in the text.
    pub(crate) fn known_instance(
        &mut self,
        tables: &mut Tables<'_>,
        expr: ExprId,
        at: u32,
    ) -> Option<Constant> {
        match tables.tree.expr(expr).kind {
            ExprKind::Name(name) => match self.get(name)? {
                Global::Instance(instance) if self.is_settled(tables, name, at) => Some(instance),
                _ => None,
            },
            ExprKind::Call { .. } => match evaluate(self, tables, expr) {
                Global::Instance(instance) => Some(instance),
                _ => None,
            },
            _ => None,
        }
    }

    /// Whether nothing but the module's own statements before `at` sets a field of what a name stands for.
    fn is_settled(&self, tables: &Tables<'_>, name: Name, at: u32) -> bool {
        let tree = &*tables.tree;
        let is = |expr: ExprId| tree.expr(expr).kind == ExprKind::Name(name);
        let is_field =
            |expr: ExprId| matches!(tree.expr(expr).kind, ExprKind::Attribute(base, _) if is(base));
        // `p.v[0] = …` and `p.v.x = …`, which change a part of a field.
        let is_within = |mut expr: ExprId| {
            let mut depth = 0;
            while let ExprKind::Attribute(base, _) | ExprKind::Subscript(base, _) =
                tree.expr(expr).kind
            {
                expr = base;
                depth += 1;
            }
            depth > 1 && is(expr)
        };
        let is_static = |func: ExprId| {
            matches!(tree.expr(func).kind, ExprKind::Attribute(_, callee) | ExprKind::Name(callee)
                if tables.names.get(callee) == "static")
        };
        let has = |list: List| tree.exprs_in(list).iter().copied().any(is);
        let is_given = tree.exprs.iter().any(|expr| match expr.kind {
            ExprKind::Call {
                func,
                args,
                keywords,
            } => {
                let mut named = tree.keywords_in(keywords).iter();
                !is_static(func) && (has(args) || named.any(|keyword| is(keyword.value)))
            }
            ExprKind::Tuple(list)
            | ExprKind::ListDisplay(list)
            | ExprKind::SetDisplay(list)
            | ExprKind::Dict(list)
            | ExprKind::BoolOp { values: list, .. } => has(list),
            ExprKind::IfElse { body, orelse, .. } => is(body) || is(orelse),
            ExprKind::Starred(value) => is(value),
            ExprKind::Unsupported(_) => {
                let text = tables.text.get(expr.start as usize..expr.end as usize);
                text.is_none_or(|text| text.contains(tables.names.get(name)))
            }
            _ => false,
        });
        let mut defaults = tree.parameters.iter().filter_map(|given| given.default);
        let mut set = 0;
        let mut settled = !is_given && !defaults.any(is);
        for stmt in &tree.stmts {
            let targets = match stmt.kind {
                StmtKind::Assign { targets, value } => {
                    settled &= !is(value);
                    tree.exprs_in(targets).to_vec()
                }
                StmtKind::AnnAssign { target, value, .. } => {
                    settled &= !value.is_some_and(is);
                    vec![target]
                }
                StmtKind::AugAssign { target, .. } => vec![target],
                StmtKind::Return(Some(value)) => {
                    settled &= !is(value);
                    Vec::new()
                }
                _ => Vec::new(),
            };
            for target in targets {
                settled &= !is_within(target);
                if is_field(target) {
                    set += 1;
                    settled &= stmt.start < at;
                }
            }
        }
        let known = self.fields_set.get(&(self.module(), name));
        settled && set == known.copied().unwrap_or(0) && !self.is_rebound(name)
    }
}
