//! Builtins on arrays: elements, views, stores, atomics, and what they do to gradients.

use super::builder::{Builder, LaidOut, Planned};
use super::frame::Frame;
use super::reference::Reference;
use crate::instruction::{Binary, BufferAt, Instruction, Location, Space, Update};
use crate::lanes::Cell;
use crate::layout::{ARRAY_LEAVES, ARRAY_SHAPE};
use warpsmith_ir::types::{Mapping, Scalar, Type};
use warpsmith_ir::{Call, SlotUpdate, VarId};

/// The operation of an update of a slot.
pub(super) fn slot_update(update: SlotUpdate) -> Binary {
    match update {
        SlotUpdate::Add => Binary::Add,
        SlotUpdate::Sub => Binary::Sub,
        SlotUpdate::And => Binary::And,
        SlotUpdate::Or => Binary::Or,
        SlotUpdate::Xor => Binary::Xor,
    }
}

/// The update that an atomic builtin makes.
pub(super) fn update_of(name: &str) -> Option<Update> {
    Some(match name {
        "atomic_add" => Update::Binary(Binary::Add),
        "atomic_sub" => Update::Binary(Binary::Sub),
        "atomic_min" => Update::Binary(Binary::Min),
        "atomic_max" => Update::Binary(Binary::Max),
        "atomic_and" => Update::Binary(Binary::And),
        "atomic_or" => Update::Binary(Binary::Or),
        "atomic_xor" => Update::Binary(Binary::Xor),
        "atomic_exch" => Update::Exchange,
        _ => return None,
    })
}

impl<'m> Builder<'m> {
    /// Lays out a builtin on arrays; false if it is none.
    pub(super) fn array_call(&mut self, frame: &mut Frame<'m>, call: &Call, name: &str) -> LaidOut {
        let function = frame.function;
        let args = call.operands.args(&function.pool);
        let outs = call.operands.outs(&function.pool);
        if let Some(array) = args
            .first()
            .and_then(|array| self.array_of_mesh(frame, *array))
        {
            return self.mesh_array_call(frame, call, name, array);
        }
        match name {
            "address" | "index" => {
                let [array, ref indices @ ..] = *args else {
                    return Ok(false);
                };
                let mut own = false;
                let at = self.element(frame, array, indices, &mut own)?;
                self.note_read(at, own);
                if let [out] = *outs {
                    frame.references.insert(out, Reference::Memory(at));
                }
            }
            "array_store" => {
                let [array, ref indices @ .., value] = *args else {
                    return Ok(false);
                };
                let mut own = false;
                let at = self.element(frame, array, indices, &mut own)?;
                self.store_value(frame, at, value, own)?;
            }
            "view" => self.view(frame, args, outs)?,
            "len" => {
                let [array] = *args else { return Ok(false) };
                if !matches!(
                    frame.kind(self, array),
                    Type::Array { .. } | Type::MappedArray { .. }
                ) {
                    return Ok(false);
                }
                let size = self.array_cells(frame, array)?.at(ARRAY_SHAPE);
                if let [out] = *outs {
                    self.copy(Scalar::I32, frame.cell(out), size);
                }
            }
            "atomic_cas" => {
                let [array, ref indices @ .., expected, value] = *args else {
                    return Ok(false);
                };
                let at = self.element(frame, array, indices, &mut false)?;
                self.note_write(at, false);
                let ty = self.scalar_type(frame, value)?;
                let dst = match *outs {
                    [out] => frame.cell(out),
                    _ => self.temporary(),
                };
                let (expected, src) = (frame.cell(expected), frame.cell(value));
                self.emit(Instruction::CompareExchange {
                    ty,
                    dst,
                    expected,
                    src,
                    at,
                });
            }
            _ => {
                let Some(update) = update_of(name) else {
                    return Ok(false);
                };
                let [array, ref indices @ .., value] = *args else {
                    return Ok(false);
                };
                let mut own = false;
                let at = self.element(frame, array, indices, &mut own)?;
                self.atomic_value(frame, at, update, value, outs.first().copied(), own)?;
            }
        }
        Ok(true)
    }

    fn scalar_type(&mut self, frame: &Frame<'m>, var: VarId) -> Planned<Scalar> {
        match frame.kind(self, var) {
            Type::Scalar(scalar) => Ok(scalar),
            _ => self.unknown("an exchange of values that are not scalars"),
        }
    }

    fn view(&mut self, frame: &mut Frame<'m>, args: &[VarId], outs: &[VarId]) -> Planned<()> {
        let ([array, indices @ ..], [out]) = (args, outs) else {
            return self.unknown("a view without an array");
        };
        let mut source = self.array_cells(frame, *array)?;
        let view = frame.cell(*out);
        let ty = frame.value_type(self, *array);
        let mut listed = None;
        match self.module.types.get(ty) {
            Type::MappedArray {
                mapping: Mapping::Indexed,
                ..
            } => return self.unknown("a view of an indexed array"),
            Type::MappedArray {
                mapping: Mapping::IndexedFabric,
                ..
            } => {
                let Some(first) = indices
                    .first()
                    .filter(|first| !matches!(frame.kind(self, **first), Type::Slice))
                else {
                    return self.unknown("a slice of an indexed Fabric array");
                };
                let mut index = [self.index_of(frame, *first)?];
                source = self.through_lists(ty, source, &mut index);
                listed = Some(index[0]);
            }
            _ => {}
        }
        for n in 0..ARRAY_LEAVES {
            self.copy(Scalar::I32, view.at(n), source.at(n));
        }
        let mut axis = 0;
        for index in indices {
            if matches!(frame.kind(self, *index), Type::Slice) {
                let slice = frame.cell(*index);
                self.emit(Instruction::ViewSlice {
                    array: view,
                    axis,
                    slice,
                });
                axis += 1;
            } else {
                let index = match listed.take() {
                    Some(index) => index,
                    None => self.index_of(frame, *index)?,
                };
                self.emit(Instruction::ViewIndex {
                    array: view,
                    axis,
                    index,
                });
            }
        }
        Ok(())
    }

    /// Notes that an element is read.
    pub(super) fn note_read(&mut self, at: Location, own: bool) {
        match at.buffer {
            BufferAt::Param(param) => {
                let access = &mut self.access[usize::from(param)];
                match (at.space, own) {
                    (Space::Value, true) => access.own_reads = true,
                    (Space::Value, false) => access.reads = true,
                    (Space::Gradient, true) => access.own_gradient = true,
                    (Space::Gradient, false) => access.gradient_reads = true,
                }
            }
            // Which parameter it is only shows when the kernel runs: any may be read.
            BufferAt::Cell(_) => self.access.iter_mut().for_each(|access| match at.space {
                Space::Value => access.reads = true,
                Space::Gradient => access.gradient_reads = true,
            }),
        }
    }

    /// Notes that an element is written.
    pub(super) fn note_write(&mut self, at: Location, own: bool) {
        match at.buffer {
            BufferAt::Param(param) => {
                let access = &mut self.access[usize::from(param)];
                match (at.space, own) {
                    (Space::Value, true) => access.own_writes = true,
                    (Space::Value, false) => access.writes = true,
                    (Space::Gradient, true) => access.own_gradient = true,
                    (Space::Gradient, false) => access.gradient_writes = true,
                }
            }
            BufferAt::Cell(_) => self.ordered = true,
        }
    }

    /// Stores a variable's value.
    pub(super) fn store_value(
        &mut self,
        frame: &Frame<'m>,
        at: Location,
        value: VarId,
        own: bool,
    ) -> Planned<()> {
        self.note_write(at, own);
        let ty = frame.value_type(self, value);
        let layout = self.layout(ty);
        if layout.holds_array {
            return self.unknown("an array stored in the memory of another array");
        }
        for (n, leaf) in layout.leaves.iter().enumerate() {
            let to = Location {
                column: at.column + n as u32,
                ..at
            };
            self.emit(Instruction::Store {
                ty: leaf.scalar,
                src: frame.cell(value).at(n),
                to,
            });
        }
        Ok(())
    }

    /// Updates memory by a variable's value, leaf by leaf.
    pub(super) fn atomic_value(
        &mut self,
        frame: &Frame<'m>,
        at: Location,
        update: Update,
        value: VarId,
        out: Option<VarId>,
        own: bool,
    ) -> Planned<()> {
        let ty = frame.value_type(self, value);
        let layout = self.layout(ty);
        if layout.holds_array {
            return self.unknown("an atomic operation on arrays");
        }
        let used = out.is_some_and(|out| is_used(frame.function, out));
        let integers = layout.leaves.iter().all(|leaf| leaf.scalar.is_int());
        let commutes = integers && !used && update != Update::Exchange;
        match at.buffer {
            BufferAt::Param(param) if commutes && !own => {
                self.access[usize::from(param)].commutes = true;
            }
            _ => {
                self.note_read(at, own);
                self.note_write(at, own);
            }
        }
        for (n, leaf) in layout.leaves.iter().enumerate() {
            let dst = match out {
                Some(out) => frame.cell(out).at(n),
                None => self.temporary(),
            };
            let src = frame.cell(value).at(n);
            let at = Location {
                column: at.column + n as u32,
                ..at
            };
            self.emit(Instruction::Atomic {
                update,
                ty: leaf.scalar,
                dst,
                src,
                at,
                observed: used,
            });
        }
        Ok(())
    }

    /// `dual += gradient` of the memory at a place; `sign` may be -1, and `zeroes` ends the gradient.
    pub(super) fn take_gradient(
        &mut self,
        at: Location,
        leaves: &[Scalar],
        dual: Cell,
        negative: bool,
        zeroes: bool,
        own: bool,
    ) {
        let at = Location {
            space: Space::Gradient,
            ..at
        };
        self.note_read(at, own);
        if zeroes {
            self.note_write(at, own);
        }
        for (n, ty) in leaves.iter().enumerate().filter(|(_, ty)| ty.is_float()) {
            let from = Location {
                column: at.column + n as u32,
                ..at
            };
            let gradient = self.temporary();
            if zeroes {
                // Taken and zeroed in one step: of threads that stored to one element, one receives
                // its gradient, as in thread order.
                let (update, src) = (Update::Exchange, self.bits(*ty, 0));
                self.emit(Instruction::Atomic {
                    update,
                    ty: *ty,
                    dst: gradient,
                    src,
                    at: from,
                    observed: true,
                });
            } else {
                self.emit(Instruction::Load {
                    ty: *ty,
                    dst: gradient,
                    from,
                });
            }
            let op = if negative { Binary::Sub } else { Binary::Add };
            let dual = dual.at(n);
            self.emit(Instruction::Binary {
                op,
                ty: *ty,
                dst: dual,
                a: dual,
                b: gradient,
            });
        }
    }

    /// `gradient += dual`, in memory.
    pub(super) fn add_gradient(&mut self, at: Location, leaves: &[Scalar], dual: Cell, own: bool) {
        let at = Location {
            space: Space::Gradient,
            ..at
        };
        self.note_write(at, own);
        if !own {
            self.note_read(at, own);
        }
        for (n, ty) in leaves.iter().enumerate().filter(|(_, ty)| ty.is_float()) {
            let at = Location {
                column: at.column + n as u32,
                ..at
            };
            let (update, dst) = (Update::Binary(Binary::Add), self.temporary());
            self.emit(Instruction::Atomic {
                update,
                ty: *ty,
                dst,
                src: dual.at(n),
                at,
                observed: false,
            });
        }
    }
}

/// Whether anything reads a variable.
pub(super) fn is_used(function: &warpsmith_ir::Function, var: VarId) -> bool {
    use warpsmith_ir::Op;
    // Its own call names it once, as the result.
    let operands = function.pool.iter().filter(|other| **other == var).count();
    operands > 1
        || function.ops.iter().any(|op| match *op {
            Op::Load { src, .. } | Op::Set { src, .. } | Op::Accumulate { src, .. } => src == var,
            Op::If { cond, .. } | Op::EndIf { cond, .. } | Op::Test { cond, .. } => cond == var,
            Op::FieldAddress { aggregate, .. } => aggregate == var,
            Op::FieldStore { value, .. }
            | Op::SlotStore { value, .. }
            | Op::SlotAtomic { value, .. } => value == var,
            _ => false,
        })
        || function
            .slots
            .iter()
            .any(|slot| slot.indices.contains(&var) || slot.array == var)
}
