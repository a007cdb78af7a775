//! Slots: a component, row or field of an array element, written in place.

use super::body::Body;
use super::value::{Res, fail};
use crate::syntax::{BinaryOp, ExprId, ExprKind};
use warpsmith_ir::names::Name;
use warpsmith_ir::types::{Scalar, Type, TypeId};
use warpsmith_ir::{Op, Slot, SlotStep, SlotUpdate, Step, VarId};

impl Body<'_, '_> {
    /// Resolves the place that is stored into, without reading what is there.
    pub(super) fn store_target(&mut self, expr: ExprId) -> Res<VarId> {
        match self.shared.tree.expr(expr).kind {
            ExprKind::Attribute(value, attr) => {
                let aggregate = self.store_target(value)?;
                if let Some(slot) = self.select_field_slot(aggregate, attr)? {
                    return Ok(self.slot_reference(slot));
                }
                let value = self.attribute(super::value::Value::Var(aggregate), attr)?;
                self.single(value)
            }
            ExprKind::Subscript(..) => {
                let (target, indices) = self.subscript_parts(expr, true)?;
                self.index(target, &indices, true)
            }
            _ => self.eval_var(expr),
        }
    }

    fn slot_behind(&self, var: VarId) -> Option<Slot> {
        let (_, slot) = self
            .slot_of
            .iter()
            .rev()
            .find(|(reference, _)| *reference == var)?;
        Some(self.slots[*slot as usize].clone())
    }

    /// The slot that indices select within the slot behind `target`.
    pub(super) fn select_slot(&mut self, target: VarId, indices: &[VarId]) -> Res<Option<Slot>> {
        let Some(mut slot) = self.slot_behind(target) else {
            return Ok(None);
        };
        let (rank, scalar) = match self.shared.types.get(slot.ty) {
            Type::Vector { scalar, .. } | Type::Quat(scalar) | Type::Transform(scalar) => {
                (1, scalar)
            }
            Type::Matrix { scalar, .. } => (2, scalar),
            _ => return Ok(None),
        };
        if indices.is_empty() || indices.len() > rank {
            return Ok(None);
        }
        let mut loaded = Vec::with_capacity(indices.len());
        for index in indices {
            loaded.push(self.load(*index));
        }
        if loaded
            .iter()
            .any(|index| !self.shared.types.is_int(self.value_ty(*index)))
        {
            return Ok(None);
        }
        let (step, ty) = match (loaded.as_slice(), self.shared.types.get(slot.ty)) {
            ([row], Type::Matrix { cols, scalar, .. }) => {
                let ty = self.shared.types.intern(Type::Vector {
                    length: cols,
                    scalar,
                });
                (SlotStep::Row(*row), ty)
            }
            ([row, col], _) => (SlotStep::Element(*row, *col), TypeId::scalar(scalar)),
            ([index], _) => (SlotStep::Component(*index), TypeId::scalar(scalar)),
            _ => return Ok(None),
        };
        slot.steps.push(step);
        slot.ty = ty;
        Ok(Some(slot))
    }

    /// The slot that an attribute selects within the slot behind `target`.
    pub(super) fn select_field_slot(&mut self, target: VarId, attr: Name) -> Res<Option<Slot>> {
        let Some(mut slot) = self.slot_behind(target) else {
            return Ok(None);
        };
        let (step, ty) = match self.shared.types.get(slot.ty) {
            Type::Vector { scalar, .. } | Type::Quat(scalar) => {
                let index = self.component_index(slot.ty, attr)?;
                (SlotStep::Component(index), TypeId::scalar(scalar))
            }
            Type::Transform(scalar) => {
                let ty = match self.shared.names.get(attr) {
                    "p" => Type::Vector { length: 3, scalar },
                    "q" => Type::Quat(scalar),
                    other => {
                        return fail(
                            "K012",
                            format!("a transform has `p` and `q`, not `{other}`"),
                        );
                    }
                };
                (SlotStep::Field(attr), self.shared.types.intern(ty))
            }
            Type::Struct(id) => match self.shared.types.struct_def(id).field(attr) {
                Some(ty) if self.shared.types.array_parts(ty).is_none() => {
                    (SlotStep::Field(attr), ty)
                }
                _ => return Ok(None),
            },
            _ => return Ok(None),
        };
        slot.steps.push(step);
        slot.ty = ty;
        Ok(Some(slot))
    }

    /// A reference to a slot.
    pub(super) fn slot_reference(&mut self, slot: Slot) -> VarId {
        let reference = self.shared.types.reference(slot.ty);
        let dst = self.add_var(reference);
        // Where the slot is, for arrays that are fields of the element.
        if let Some(mut place) = slot.place.clone() {
            place.steps.push(Step::Element(slot.indices.clone()));
            let fields_only = slot.steps.iter().all(|step| match step {
                SlotStep::Field(field) => {
                    place.steps.push(Step::Field(*field));
                    true
                }
                _ => false,
            });
            if fields_only && self.needs_place(slot.ty) {
                self.trace(dst, place);
            }
        }
        let index = self.add_slot(slot);
        self.slot_of.push((dst, index));
        self.ops.push(Op::SlotAddress { dst, slot: index });
        dst
    }

    fn add_slot(&mut self, slot: Slot) -> u32 {
        self.slots.push(slot);
        self.slots.len() as u32 - 1
    }

    /// Stores a value into a slot, or updates it.
    pub(super) fn write_slot(
        &mut self,
        slot: Slot,
        value: VarId,
        update: Option<SlotUpdate>,
    ) -> Res<()> {
        let value = if self.is_reference(value) {
            self.copy(value)?
        } else {
            value
        };
        if !self.shared.types.equal(self.value_ty(value), slot.ty) {
            return fail(
                "K019",
                format!(
                    "a value of type {} is stored where {} is",
                    self.describe(value),
                    self.shared.types.describe(slot.ty, self.shared.names)
                ),
            );
        }
        let slot = self.add_slot(slot);
        self.ops.push(match update {
            None => Op::SlotStore { slot, value },
            Some(update) => Op::SlotAtomic {
                slot,
                value,
                update,
            },
        });
        Ok(())
    }

    /// The atomic update that an operator is, if the slot's type has it.
    pub(super) fn slot_update(&self, op: BinaryOp, ty: TypeId) -> Option<SlotUpdate> {
        let scalar = self.shared.types.scalar_of(ty)?;
        let (update, fits): (SlotUpdate, fn(Scalar) -> bool) = match op {
            BinaryOp::Add => (SlotUpdate::Add, Scalar::adds_atomically),
            BinaryOp::Sub => (SlotUpdate::Sub, Scalar::adds_atomically),
            BinaryOp::BitAnd => (SlotUpdate::And, Scalar::has_bitwise_atomics),
            BinaryOp::BitOr => (SlotUpdate::Or, Scalar::has_bitwise_atomics),
            BinaryOp::BitXor => (SlotUpdate::Xor, Scalar::has_bitwise_atomics),
            _ => return None,
        };
        fits(scalar).then_some(update)
    }

    /// Whether the slot behind a target exists.
    pub(super) fn has_slot(&self, target: VarId) -> bool {
        self.slot_of
            .iter()
            .any(|(reference, _)| *reference == target)
    }
}
