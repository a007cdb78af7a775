//! References: where the value behind a pointer lies, in a variable or in an array's memory.

use super::builder::{Builder, Planned};
use super::frame::Frame;
use crate::instruction::{Binary, BufferAt, Instruction, Location, Space};
use crate::lanes::Cell;
use crate::layout::{ARRAY_LEAVES, ARRAY_SHAPE, Layout, MAPPED_LISTS};
use crate::object::MeshArray;
use warpsmith_ir::types::{Query, Scalar, Type, TypeId};
use warpsmith_ir::{Slot, SlotStep, VarId};

/// Where a reference points.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reference {
    /// Into an array.
    Memory(Location),
    /// At a variable or a part of one.
    Local(Cell),
    /// At a part of a variable whose place only the lane knows: of `len` cells from `first`, the one
    /// at `offset`.
    Part { first: Cell, len: u32, offset: Cell },
    /// At an array of the mesh whose number lies in the cell.
    OfMesh(Cell, MeshArray),
}

impl<'m> Builder<'m> {
    /// The scalar and cell of an index, as a 32-bit integer.
    pub(super) fn index_of(&mut self, frame: &Frame<'m>, var: VarId) -> Planned<Cell> {
        match frame.kind(self, var) {
            Type::Scalar(scalar) if scalar.is_int() => Ok(self.index(scalar, frame.cell(var))),
            _ => self.unknown("an index that is not an integer"),
        }
    }

    /// Replaces indices by what the lists of an indexed array say; gives the array that those point into.
    pub(super) fn through_lists(&mut self, ty: TypeId, array: Cell, indices: &mut [Cell]) -> Cell {
        let lists = match self.module.types.get(ty) {
            Type::MappedArray { mapping, rank, .. } => mapping.index_lists(rank),
            _ => 0,
        };
        if lists == 0 {
            return array;
        }
        for (n, index) in indices.iter_mut().take(lists).enumerate() {
            let [element, buffer, found] = [0; 3].map(|_| self.cells_for(1));
            self.emit(Instruction::Address {
                array: array.at((MAPPED_LISTS + n) * ARRAY_LEAVES),
                rank: 1,
                indices: [*index; 4],
                dst: element,
                buffer,
            });
            let from = Location::of_element(buffer, element, TypeId::I32);
            self.note_read(from, false);
            let ty = Scalar::I32;
            let dst = found;
            self.emit(Instruction::Load { ty, dst, from });
            *index = found;
        }
        array.at(ARRAY_LEAVES)
    }

    /// The place of an array's element; an index out of range stops the lane.
    pub(super) fn element(
        &mut self,
        frame: &Frame<'m>,
        array: VarId,
        indices: &[VarId],
        own: &mut bool,
    ) -> Planned<Location> {
        let mut cells = [Cell(0); 4];
        if indices.len() > cells.len() || indices.is_empty() {
            return self.unknown("an array access with no index or more than four");
        }
        for (cell, index) in cells.iter_mut().zip(indices) {
            *cell = self.index_of(frame, *index)?;
        }
        *own = !frame.coordinates.is_empty() && frame.coordinates == indices;
        self.element_at(frame, array, &mut cells[..indices.len()])
    }

    /// The element that indices in cells name.
    pub(super) fn element_at(
        &mut self,
        frame: &Frame<'m>,
        array: VarId,
        indices: &mut [Cell],
    ) -> Planned<Location> {
        let array_type = frame.value_type(self, array);
        let element_type =
            (self.module.types.array_parts(array_type)).map_or(array_type, |(element, _)| element);
        let rank = indices.len() as u8;
        let mut cells = [Cell(0); 4];
        cells[..indices.len()].copy_from_slice(indices);
        let dst = self.cells_for(1);
        let buffer = if let Some(param) = frame.arrays.get(&array) {
            self.emit(Instruction::AddressParam {
                param: *param,
                rank,
                indices: cells,
                dst,
            });
            BufferAt::Param(*param)
        } else {
            let source = self.array_cells(frame, array)?;
            let source = self.through_lists(array_type, source, &mut cells[..usize::from(rank)]);
            let buffer = self.cells_for(1);
            self.emit(Instruction::Address {
                array: source,
                rank,
                indices: cells,
                dst,
                buffer,
            });
            BufferAt::Cell(buffer)
        };
        // The gradients of an array, by name.
        let space = match array.alias() {
            Some(_) => Space::Gradient,
            None => Space::Value,
        };
        Ok(Location {
            buffer,
            element: dst,
            column: 0,
            offset: None,
            space,
            element_type,
        })
    }

    /// The cells of an array value, behind a reference or not.
    pub(super) fn array_cells(&mut self, frame: &Frame<'m>, array: VarId) -> Planned<Cell> {
        if !self.module.types.is_reference(frame.function.var(array).ty) {
            return Ok(frame.cell(array));
        }
        match frame.references.get(&array) {
            Some(Reference::Local(first)) => Ok(*first),
            _ => self.unknown("an array that lies in the memory of another array"),
        }
    }

    /// A component index: known now, or checked in each lane.
    pub(super) fn component(
        &mut self,
        frame: &Frame<'m>,
        var: VarId,
        len: u32,
    ) -> Planned<Component> {
        if let Some(value) = frame.constant_int(var) {
            let wrapped = if value < 0 {
                value + i64::from(len)
            } else {
                value
            };
            return match u32::try_from(wrapped) {
                Ok(index) if index < len => Ok(Component::Known(index)),
                _ => self.unknown(format!("component {value} of {len}")),
            };
        }
        let index = self.index_of(frame, var)?;
        let dst = self.temporary();
        self.emit(Instruction::Component { dst, index, len });
        Ok(Component::Lane(dst))
    }

    /// `first * scale + second`, of component indices.
    pub(super) fn combine(&mut self, first: Component, scale: u32, second: Component) -> Component {
        match (first, second) {
            (Component::Known(a), Component::Known(b)) => Component::Known(a * scale + b),
            (a, b) => {
                let (a, b) = (self.component_cell(a), self.component_cell(b));
                let scale = self.integer(i64::from(scale));
                let scaled = self.binary(Binary::Mul, Scalar::I32, a, scale);
                Component::Lane(self.binary(Binary::Add, Scalar::I32, scaled, b))
            }
        }
    }

    pub(super) fn component_cell(&mut self, component: Component) -> Cell {
        match component {
            Component::Known(index) => self.integer(i64::from(index)),
            Component::Lane(cell) => cell,
        }
    }

    /// The place of a slot: a component, row or field of an array's element.
    pub(super) fn slot(
        &mut self,
        frame: &Frame<'m>,
        slot: &Slot,
        own: &mut bool,
    ) -> Planned<Location> {
        let mut at = self.element(frame, slot.array, &slot.indices, own)?;
        let array_ty = frame.value_type(self, slot.array);
        let Some((mut ty, _)) = self.module.types.array_parts(array_ty) else {
            return self.unknown("an element of something that is not an array");
        };
        for step in &slot.steps {
            let (offset, next) = self.slot_step(frame, ty, step)?;
            match offset {
                Component::Known(columns) => at.column += columns,
                Component::Lane(cell) => {
                    let sum = match at.offset {
                        Some(offset) => self.binary(Binary::Add, Scalar::I32, offset, cell),
                        None => cell,
                    };
                    // The reference may outlive the operation that makes it.
                    let kept = self.cells_for(1);
                    self.copy(Scalar::I32, kept, sum);
                    at.offset = Some(kept);
                }
            }
            ty = next;
        }
        Ok(at)
    }

    fn slot_step(
        &mut self,
        frame: &Frame<'m>,
        ty: TypeId,
        step: &SlotStep,
    ) -> Planned<(Component, TypeId)> {
        let types = &self.module.types;
        let kind = types.get(ty);
        let scalar = types.scalar_of(ty).map_or(ty, TypeId::scalar);
        match (*step, kind) {
            (SlotStep::Component(index), Type::Vector { length, .. }) => {
                Ok((self.component(frame, index, length)?, scalar))
            }
            // After a row of the matrix.
            (SlotStep::Component(index), Type::Matrix { cols, .. }) => {
                Ok((self.component(frame, index, cols)?, scalar))
            }
            (SlotStep::Component(index), Type::Quat(_)) => {
                Ok((self.component(frame, index, 4)?, scalar))
            }
            (SlotStep::Component(index), Type::Transform(_)) => {
                Ok((self.component(frame, index, 7)?, scalar))
            }
            (SlotStep::Element(row, col), Type::Matrix { rows, cols, .. }) => {
                let row = self.component(frame, row, rows)?;
                let col = self.component(frame, col, cols)?;
                Ok((self.combine(row, cols, col), scalar))
            }
            (SlotStep::Row(row), Type::Matrix { rows, cols, .. }) => {
                let row = self.component(frame, row, rows)?;
                let start = self.combine(row, cols, Component::Known(0));
                Ok((start, ty))
            }
            (SlotStep::Field(name), Type::Struct(_)) => {
                match Layout::field(self.module, ty, name) {
                    Some((start, next)) => Ok((Component::Known(start as u32), next)),
                    None => self.unknown("a field that the struct does not have"),
                }
            }
            (SlotStep::Field(name), Type::Transform(_)) => {
                let start = if self.module.names.get(name) == "q" {
                    3
                } else {
                    0
                };
                Ok((Component::Known(start), ty))
            }
            _ => self.unknown("this way into an array's element"),
        }
    }

    /// The place of a field of a struct, or the shape of an array.
    pub(super) fn field_reference(
        &mut self,
        frame: &Frame<'m>,
        aggregate: VarId,
        field: warpsmith_ir::names::Name,
    ) -> Planned<Reference> {
        let ty = frame.value_type(self, aggregate);
        let is_reference = self
            .module
            .types
            .is_reference(frame.function.var(aggregate).ty);
        if self.module.types.array_parts(ty).is_some() {
            if let Some(array) = self.array_of_mesh(frame, aggregate) {
                let first = self.shape_of_mesh_array(array);
                return Ok(Reference::Local(first));
            }
            return Ok(Reference::Local(
                self.array_cells(frame, aggregate)?.at(ARRAY_SHAPE),
            ));
        }
        if let (Type::Query(Query::Mesh), false) = (self.module.types.get(ty), is_reference) {
            let part = match self.module.names.get(field) {
                "points" => MeshArray::Points,
                "velocities" => MeshArray::Velocities,
                _ => MeshArray::Indices,
            };
            return Ok(Reference::OfMesh(frame.cell(aggregate), part));
        }
        let Some((start, _)) = Layout::field(self.module, ty, field) else {
            return self.unknown(format!("the attribute `{}`", self.module.names.get(field)));
        };
        if !is_reference {
            return Ok(Reference::Local(frame.cell(aggregate).at(start)));
        }
        match frame.references.get(&aggregate) {
            Some(Reference::Local(first)) => Ok(Reference::Local(first.at(start))),
            Some(Reference::Memory(at)) => Ok(Reference::Memory(Location {
                column: at.column + start as u32,
                ..*at
            })),
            _ => self.unknown("a field behind this reference"),
        }
    }

    /// Where a dotted path of fields begins among the leaves of a struct, and its type.
    pub(super) fn field_path(
        &self,
        frame: &Frame<'m>,
        root: VarId,
        path: warpsmith_ir::names::Name,
    ) -> Planned<(usize, TypeId)> {
        let mut ty = frame.value_type(self, root);
        let mut start = 0;
        for part in self.module.names.get(path).split('.') {
            let name = self.module.names.find(part);
            let Some((offset, next)) = name.and_then(|name| Layout::field(self.module, ty, name))
            else {
                return self.unknown(format!("the field `{part}`"));
            };
            start += offset;
            ty = next;
        }
        Ok((start, ty))
    }

    /// Copies the value behind a reference into cells.
    pub(super) fn load(&mut self, frame: &Frame<'m>, dst: VarId, src: VarId) -> Planned<()> {
        let ty = frame.value_type(self, dst);
        let layout = self.layout(ty);
        let to = frame.cell(dst);
        let Some(reference) = frame.references.get(&src).copied() else {
            return self.unknown("a reference that nothing made");
        };
        if let Reference::OfMesh(..) = reference {
            return self.unknown("a copy of a mesh's array");
        }
        if layout.holds_array && !matches!(reference, Reference::Local(_)) {
            return self.unknown("an array that lies in the memory of another array");
        }
        for (n, leaf) in layout.leaves.iter().enumerate() {
            let (ty, dst) = (leaf.scalar, to.at(n));
            match reference {
                Reference::Local(first) => self.copy(ty, dst, first.at(n)),
                Reference::Memory(at) => {
                    let from = Location {
                        column: at.column + n as u32,
                        ..at
                    };
                    self.emit(Instruction::Load { ty, dst, from });
                }
                Reference::Part { first, len, offset } => {
                    let index = self.shifted(offset, n);
                    self.emit(Instruction::Gather {
                        ty,
                        dst,
                        first,
                        len,
                        index,
                    });
                }
                Reference::OfMesh(..) => {}
            }
        }
        Ok(())
    }

    /// An offset plus a constant.
    pub(super) fn shifted(&mut self, offset: Cell, n: usize) -> Cell {
        if n == 0 {
            return offset;
        }
        let n = self.integer(n as i64);
        self.binary(Binary::Add, Scalar::I32, offset, n)
    }
}

/// A component's index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Component {
    /// The same in every lane.
    Known(u32),
    /// Each lane's own.
    Lane(Cell),
}
