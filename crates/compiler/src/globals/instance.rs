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

/// The place and the type of a field among a struct's numbers.
fn place(types: &TypeTable, id: StructId, field: Name) -> Option<(u32, TypeId)> {
    let mut before = 0;
    for known in &types.struct_def(id).fields {
        if known.name == field {
            return Some((before, known.ty));
        }
        before += types.numbers_of(known.ty)?;
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
            len: types.numbers_of(ty)?,
        },
    };
    Some((ty, constant))
}

/// The numbers of a struct that nothing has set.
fn zeros(types: &TypeTable, id: StructId, numbers: &mut Vec<Number>) -> Option<()> {
    for field in &types.struct_def(id).fields {
        // A scalar is Python's whole zero until it is set.
        let zero = match types.get(field.ty) {
            Type::Struct(inner) => {
                zeros(types, inner, numbers)?;
                continue;
            }
            Type::Scalar(_) => Number::Int(0),
            _ if types.scalar_of(field.ty).is_some_and(Scalar::is_float) => Number::Float(0.0),
            _ => Number::Int(0),
        };
        let count = types.numbers_of(field.ty)? as usize;
        numbers.extend(std::iter::repeat_n(zero, count));
    }
    Some(())
}

/// The name that a dotted path begins with, and what follows it.
fn chain(tables: &Tables<'_>, mut expr: ExprId) -> Option<(Name, Vec<Name>)> {
    let mut fields = Vec::new();
    while let ExprKind::Attribute(base, field) = tables.tree.expr(expr).kind {
        fields.push(field);
        expr = base;
    }
    fields.reverse();
    match tables.tree.expr(expr).kind {
        ExprKind::Name(name) => Some((name, fields)),
        _ => None,
    }
}

/// Whether fields of fields of a struct end in a struct.
fn leads_to_struct(tables: &Tables<'_>, ty: Option<TypeId>, fields: &[Name]) -> bool {
    let mut at = ty.map(|ty| tables.types.get(ty));
    for field in fields {
        at = match at {
            Some(Type::Struct(id)) => {
                let mut known = tables.types.struct_def(id).fields.iter();
                let found = known.find(|known| known.name == *field);
                found.map(|known| tables.types.get(known.ty))
            }
            _ => None,
        };
    }
    matches!(at, Some(Type::Struct(_)))
}

impl Scope {
    /// An instance of a struct as Python makes it: zeros.
    pub(super) fn new_instance(&mut self, types: &TypeTable, ty: TypeId) -> Option<Constant> {
        let Type::Struct(id) = types.get(ty) else {
            return None;
        };
        let mut numbers = Vec::new();
        zeros(types, id, &mut numbers)?;
        let start = self.elements.len() as u32;
        let len = numbers.len() as u32;
        self.elements.extend(numbers);
        Some(Constant::Compound { ty, start, len })
    }

    /// Sets a field of an instance that a name of the module at hand stands for, or a field of a struct in it; false
    /// if it is none.
    pub(super) fn set_field(
        &mut self,
        tables: &Tables<'_>,
        target: ExprId,
        result: Global,
    ) -> bool {
        let Some((name, fields)) = chain(tables, target) else {
            return false;
        };
        let Some(Global::Instance(instance)) = self.get(name) else {
            return false;
        };
        if fields.is_empty() {
            return false;
        }
        let changed = self.with_field(tables.types, instance, &fields, result);
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
        fields: &[Name],
        value: Global,
    ) -> Option<Constant> {
        // An instance is copied, field by field.
        let (Constant::Compound { ty, start, len }, Global::Value(value) | Global::Instance(value)) =
            (instance, value)
        else {
            return None;
        };
        let (mut at, mut field) = (0, ty);
        for name in fields {
            let Type::Struct(id) = types.get(field) else {
                return None;
            };
            let (offset, inner) = place(types, id, *name)?;
            (at, field) = (at + offset, inner);
        }
        let given = match (types.get(field), value) {
            (Type::Scalar(Scalar::Bool), Constant::Bool(value)) => {
                vec![Number::Int(i128::from(value))]
            }
            (Type::Scalar(scalar), Constant::Number(number)) => {
                // Python's number stays as it is, but no fraction goes into an integer.
                // In wide integers it is written in another way than Warp's own.
                let is_wide = matches!(scalar, Scalar::I64 | Scalar::U64 | Scalar::U32);
                let is_whole = matches!(number, Number::Int(_));
                let fits = scalar.is_float() || (is_whole && !is_wide);
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
            ExprKind::Attribute(base, field) => {
                let whole = self.known_instance(tables, base, at)?;
                let (ty, part) = field_of(whole, field, &self.elements, tables.types)?;
                matches!(tables.types.get(ty), Type::Struct(_)).then_some(part)
            }
            _ => None,
        }
    }

    /// Whether nothing but the module's own statements before `at` sets a field of what a name stands for.
    fn is_settled(&self, tables: &Tables<'_>, name: Name, at: u32) -> bool {
        let tree = &*tables.tree;
        let ty = match self.get(name) {
            Some(Global::Instance(Constant::Compound { ty, .. })) => Some(ty),
            _ => None,
        };
        // The instance itself, or a struct in it.
        let is = |expr: ExprId| {
            let fields = match tree.expr(expr).kind {
                ExprKind::Name(own) => return own == name,
                ExprKind::Attribute(..) => chain(tables, expr),
                _ => None,
            };
            fields.is_some_and(|(own, fields)| own == name && leads_to_struct(tables, ty, &fields))
        };
        // `p.f = …` and `p.inner.f = …`, which the module has run where the values are known.
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
        // `q.inner = p` copies.
        let is_copied = |targets: List| {
            let mut targets = tree.exprs_in(targets).iter();
            targets.all(|target| match chain(tables, *target) {
                Some((own, fields)) => {
                    !fields.is_empty() && matches!(self.get(own), Some(Global::Instance(_)))
                }
                None => false,
            })
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
            ExprKind::Comprehension { parts, .. } => has(parts),
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
                    settled &= !is(value) || is_copied(targets);
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
                settled &= is_field(target) || !is_within(target);
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
