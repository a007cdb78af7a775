//! Augmented assignments: `x += y` and its kin.

use super::assign::Aggregate;
use super::body::Body;
use super::value::{Binding, Few, Res, Value, fail};
use crate::syntax::{BinaryOp, ExprId, ExprKind};
use warpsmith_ir::names::Name;
use warpsmith_ir::types::{Scalar, Type};
use warpsmith_ir::{Op, VarId};

impl Body<'_, '_> {
    pub(super) fn aug_assign(
        &mut self,
        target: ExprId,
        op: BinaryOp,
        value: ExprId,
        span: (u32, u32),
    ) -> Res<()> {
        match self.shared.tree.expr(target).kind {
            ExprKind::Name(name) => self.aug_name(target, name, op, value),
            ExprKind::Subscript(base, slice) => {
                self.no_user_operator(op)?;
                if self.is_adjoint(base) {
                    self.enter_line(self.shared.tree.expr(target).line);
                    let gradient = self.gradient_of(slice)?;
                    let value = self.eval_var(value)?;
                    let result = self.call_operator(op, &[gradient, value])?;
                    let result = self.single(result)?;
                    // Warp evaluates the target again, and quotes its line again.
                    let gradient = self.gradient_of(slice)?;
                    return self.set_gradient(gradient, result);
                }
                self.aug_subscript(target, op, value, span)
            }
            ExprKind::Attribute(base, attr) => {
                self.no_user_operator(op)?;
                self.aug_attribute(base, attr, op, value, span)
            }
            _ => fail("K005", "this cannot be assigned to"),
        }
    }

    fn no_user_operator(&self, op: BinaryOp) -> Res<()> {
        match self.user_operator(op) {
            None => Ok(()),
            Some(_) => fail(
                "K021",
                "an operator of the module in an update of a component",
            ),
        }
    }

    fn aug_name(&mut self, target: ExprId, name: Name, op: BinaryOp, value: ExprId) -> Res<()> {
        let value = self.eval_var(value)?;
        let current = self.eval_var(target)?;
        if self.tile_update_all(current, op, value)? {
            return Ok(());
        }
        let user = match self.user_operator(op) {
            None => None,
            Some(set) => {
                let args = [Value::Var(current), Value::Var(value)];
                match self.find_overload(set, &args, &[])? {
                    None => None,
                    Some(index) => Some(self.call_function(index, &args, &[])?),
                }
            }
        };
        let checked = user.is_none();
        let result = match user {
            Some(result) => result,
            None => self.call_operator(op, &[current, value])?,
        };
        let result = self.single(result)?;
        if let Some(parameter) = self.reference_parameter(name) {
            return self.store_through(parameter, result);
        }
        if checked
            && let Some(Binding::Var(old)) = self.symbols.get(name)
            && !self.shared.types.equal(self.value_ty(result), self.ty(old))
        {
            return fail(
                "K009",
                format!(
                    "`{}` is of type {} and becomes {}",
                    self.shared.names.get(name),
                    self.describe(old),
                    self.describe(result)
                ),
            );
        }
        self.symbols.set(name, Binding::Var(result));
        Ok(())
    }

    fn aug_subscript(
        &mut self,
        target: ExprId,
        op: BinaryOp,
        value: ExprId,
        span: (u32, u32),
    ) -> Res<()> {
        let (target, indices) = self.subscript_parts(target, true)?;
        let indices = self.eval_indices(target, &indices)?;
        if self.tile_of(target).is_some() {
            return self.tile_update(target, &indices, op, value);
        }
        let suffix = match op {
            BinaryOp::Add => Some(("atomic_add", "add_inplace")),
            BinaryOp::Sub => Some(("atomic_sub", "sub_inplace")),
            BinaryOp::BitAnd => Some(("atomic_and", "bit_and_inplace")),
            BinaryOp::BitOr => Some(("atomic_or", "bit_or_inplace")),
            BinaryOp::BitXor => Some(("atomic_xor", "bit_xor_inplace")),
            _ => None,
        };
        let name = if let Some((element, _)) = self.shared.types.array_parts(self.value_ty(target))
        {
            let narrow = self.shared.types.scalar_of(element).is_some_and(|scalar| {
                matches!(scalar, Scalar::I8 | Scalar::U8 | Scalar::I16 | Scalar::U16)
            });
            suffix.filter(|_| !narrow).map(|names| names.0)
        } else if self.shared.types.is_compound(self.value_ty(target)) {
            suffix
                .filter(|_| !self.is_reference(target))
                .map(|names| names.1)
        } else {
            return fail(
                "K005",
                format!("{} cannot be indexed", self.describe(target)),
            );
        };
        let Some(name) = name else {
            return self.load_apply_store(target, indices, op, value, span);
        };
        let value = self.eval_var(value)?;
        let mut args: Few<VarId> = Few::new();
        args.push(target);
        args.extend(indices);
        args.push(value);
        self.call_named(name, &args)?;
        Ok(())
    }

    /// Reads a subscript, applies the operator, and stores the result.
    fn load_apply_store(
        &mut self,
        target: VarId,
        indices: Few<VarId>,
        op: BinaryOp,
        value: ExprId,
        span: (u32, u32),
    ) -> Res<()> {
        let mut loaded = Vec::with_capacity(indices.len());
        for index in indices {
            loaded.push(self.load(index));
        }
        let slot = self.select_slot(target, &loaded)?;
        if let Some(slot) = &slot
            && let Some(update) = self.slot_update(op, slot.ty)
        {
            let slot = slot.clone();
            let value = self.eval_var(value)?;
            return self.write_slot(slot, value, Some(update));
        }
        let is_array = self
            .shared
            .types
            .array_parts(self.value_ty(target))
            .is_some();
        let builtin = if is_array && !self.is_reference(target) {
            self.shared.operators.address
        } else {
            self.shared.operators.extract
        };
        let current = self.index_call(builtin, target, &loaded)?;
        let value = self.eval_var(value)?;
        let result = self.call_operator(op, &[current, value])?;
        let result = self.single(result)?;
        self.note_unsupported_adjoint(target, result, span);
        match slot {
            Some(slot) => self.write_slot(slot, result, None),
            None => self.store_subscript(target, &loaded, result),
        }
    }

    /// Overwriting a float in a slot by anything but an atomic has no adjoint.
    fn note_unsupported_adjoint(&mut self, target: VarId, result: VarId, span: (u32, u32)) {
        if self.has_slot(target)
            && self
                .shared
                .types
                .is_differentiable_value(self.value_ty(result))
            && self.unsupported_adjoint.is_none()
        {
            self.unsupported_adjoint = Some(span);
        }
    }

    fn aug_attribute(
        &mut self,
        base: ExprId,
        attr: Name,
        op: BinaryOp,
        value: ExprId,
        span: (u32, u32),
    ) -> Res<()> {
        let aggregate = self.store_aggregate(base)?;
        let mut slot = None;
        if let Aggregate::Var(var) = aggregate {
            slot = self.select_field_slot(var, attr)?;
            if let Some(found) = &slot
                && let Some(update) = self.slot_update(op, found.ty)
            {
                let found = found.clone();
                let value = self.eval_var(value)?;
                return self.write_slot(found, value, Some(update));
            }
        }
        let current = match aggregate {
            Aggregate::Var(var) => {
                let value = self.attribute(Value::Var(var), attr)?;
                self.single(value)?
            }
            Aggregate::Member(root, path, ty) => {
                let field = match self.shared.types.get(ty) {
                    Type::Struct(id) => self.shared.types.struct_def(id).field(attr),
                    _ => None,
                };
                let Some(field) = field else {
                    let text = self.shared.names.get(attr);
                    return fail("K012", format!("the struct has no field `{text}`"));
                };
                let reference = self.shared.types.reference(field);
                let dst = self.add_var(reference);
                let path = self.dotted(Some(path), attr);
                let accumulates = self.shared.types.is_differentiable_value(field);
                self.ops.push(Op::FieldAddress {
                    dst,
                    aggregate: root,
                    field: path,
                    place: None,
                    accumulates,
                });
                dst
            }
        };
        let value = self.eval_var(value)?;
        let result = self.call_operator(op, &[current, value])?;
        let result = self.single(result)?;
        if let Aggregate::Var(var) = aggregate {
            self.note_unsupported_adjoint(var, result, span);
        }
        match slot {
            Some(slot) => self.write_slot(slot, result, None),
            None => self.store_attribute(aggregate, attr, result),
        }
    }
}
