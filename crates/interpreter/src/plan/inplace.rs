//! Parts of values: reading a component, row or slice, and changing one in place.

use super::builder::{Builder, LaidOut, Planned};
use super::frame::Frame;
use super::reference::{Component, Reference};
use crate::instruction::{Binary, Instruction};
use crate::lanes::Cell;
use warpsmith_ir::types::{Scalar, Type};
use warpsmith_ir::{Call, Template, VarId};

/// What an in-place builtin does to the part.
fn inplace_op(name: &str) -> Option<Option<Binary>> {
    Some(match name {
        "assign_inplace" => None,
        "add_inplace" => Some(Binary::Add),
        "sub_inplace" => Some(Binary::Sub),
        "bit_and_inplace" => Some(Binary::And),
        "bit_or_inplace" => Some(Binary::Or),
        "bit_xor_inplace" => Some(Binary::Xor),
        _ => return None,
    })
}

/// The leaves that a whole-half builtin on transforms touches, and what it does to them.
pub(super) fn transform_half(name: &str) -> Option<(std::ops::Range<usize>, Option<Binary>)> {
    Some(match name {
        "transform_set_translation" => (0..3, None),
        "transform_set_rotation" => (3..7, None),
        "transform_add_inplace" => (0..3, Some(Binary::Add)),
        "transform_sub_inplace" => (0..3, Some(Binary::Sub)),
        _ => return None,
    })
}

/// The positions `start:stop:step` of `len`, as Python counts.
fn slice_positions([start, stop, step]: [i64; 3], len: u32) -> Vec<u32> {
    let len = i64::from(len);
    let (low, high) = if step < 0 { (-1, len - 1) } else { (0, len) };
    let bound = |bound: i64| {
        let bound = if bound < -len && bound < 0 {
            low
        } else if bound < 0 {
            bound + len
        } else {
            bound
        };
        bound.clamp(low, high)
    };
    let (mut at, end) = (bound(start), bound(stop));
    let mut positions = Vec::new();
    while step != 0 && ((step > 0 && at < end) || (step < 0 && at > end)) {
        positions.push(at as u32);
        at += step;
    }
    positions
}

impl<'m> Builder<'m> {
    /// The positions that one index names.
    fn axis(&mut self, frame: &Frame<'m>, index: VarId, len: u32) -> Planned<Vec<Component>> {
        if matches!(frame.kind(self, index), Type::Slice) {
            let Some(slice) = frame.slices.get(&index) else {
                return self.unknown("a slice of a value whose bounds are not constants");
            };
            return Ok(slice_positions(*slice, len)
                .into_iter()
                .map(Component::Known)
                .collect());
        }
        Ok(vec![self.component(frame, index, len)?])
    }

    /// Where among the leaves of `value` the indices point, in order.
    pub(super) fn parts(
        &mut self,
        frame: &Frame<'m>,
        value: VarId,
        indices: &[VarId],
    ) -> Planned<Vec<Component>> {
        let len = match frame.kind(self, value) {
            Type::Matrix { rows, cols, .. } => {
                let row_parts = match indices.first() {
                    Some(index) => self.axis(frame, *index, rows)?,
                    None => return self.unknown("a matrix without an index"),
                };
                let col_parts = match indices.get(1) {
                    Some(index) => self.axis(frame, *index, cols)?,
                    None => (0..cols).map(Component::Known).collect(),
                };
                let mut parts = Vec::new();
                for row in &row_parts {
                    for col in &col_parts {
                        parts.push(self.combine(*row, cols, *col));
                    }
                }
                return Ok(parts);
            }
            Type::Vector { length, .. } => length,
            Type::Quat(_) | Type::Shape => 4,
            Type::Transform(_) => 7,
            _ => return self.unknown("a part of a value of this type"),
        };
        match indices {
            [index] => self.axis(frame, *index, len),
            _ => self.unknown("a vector with several indices"),
        }
    }

    /// The cells of the parts of a run of `len` cells.
    pub(super) fn read_parts(
        &mut self,
        ty: Scalar,
        first: Cell,
        len: usize,
        parts: &[Component],
    ) -> Vec<Cell> {
        let mut cells = Vec::new();
        for part in parts {
            cells.push(match *part {
                Component::Known(n) => first.at(n as usize),
                Component::Lane(index) => {
                    let dst = self.temporary();
                    self.emit(Instruction::Gather {
                        ty,
                        dst,
                        first,
                        len: len as u32,
                        index,
                    });
                    dst
                }
            });
        }
        cells
    }

    fn write_part(&mut self, ty: Scalar, first: Cell, len: usize, part: Component, src: Cell) {
        match part {
            Component::Known(n) => self.copy(ty, first.at(n as usize), src),
            Component::Lane(index) => {
                self.emit(Instruction::Scatter {
                    ty,
                    first,
                    len: len as u32,
                    index,
                    src,
                });
            }
        }
    }

    /// A part of a value, or of a tuple.
    pub(super) fn extract(&mut self, frame: &Frame<'m>, call: &Call) -> Planned<Vec<Cell>> {
        let function = frame.function;
        let [value, ref indices @ ..] = *call.operands.args(&function.pool) else {
            return self.unknown("`extract` of nothing");
        };
        if let Type::Tuple(tuple) = frame.kind(self, value) {
            let template = call
                .template
                .map(|at| function.templates[at as usize].as_slice());
            let Some([Template::Int(index), ..]) = template else {
                return self.unknown("a tuple whose index is not a constant");
            };
            let index = usize::try_from(*index).unwrap_or_default();
            let parts = self.module.types.tuple_parts(tuple);
            let mut start = 0;
            for part in &parts[..index.min(parts.len())] {
                start += self.layout(*part).leaves.len();
            }
            let len = parts
                .get(index)
                .map_or(0, |part| self.layout(*part).leaves.len());
            return Ok((start..start + len)
                .map(|n| frame.cell(value).at(n))
                .collect());
        }
        let operand = self.operand(frame, value);
        let ty = if operand.scalar == Scalar::Any {
            Scalar::I32
        } else {
            operand.scalar
        };
        let parts = self.parts(frame, value, indices)?;
        Ok(self.read_parts(ty, operand.first, operand.len, &parts))
    }

    /// Lays out a builtin that changes its first argument; false if it is none.
    pub(super) fn inplace(&mut self, frame: &mut Frame<'m>, call: &Call, name: &str) -> LaidOut {
        let function = frame.function;
        let args = call.operands.args(&function.pool);
        if let Some(op) = inplace_op(name) {
            let [target, ref indices @ .., value] = *args else {
                return Ok(false);
            };
            let run = self.operand(frame, target);
            let parts = self.parts(frame, target, indices)?;
            let values = self.operand(frame, value).cells();
            if values.len() != parts.len() {
                return self.unknown(format!("`{name}` with these arguments"));
            }
            for (part, value) in parts.iter().zip(values) {
                let result = match op {
                    None => value,
                    Some(op) => {
                        let old = self.read_parts(run.scalar, run.first, run.len, &[*part])[0];
                        self.binary(op, run.scalar, old, value)
                    }
                };
                self.write_part(run.scalar, run.first, run.len, *part, result);
            }
            return Ok(true);
        }
        if let Some((leaves, op)) = transform_half(name) {
            let [target, value] = *args else {
                return Ok(false);
            };
            let (run, value) = (self.operand(frame, target), self.operand(frame, value));
            for (part, value) in leaves.zip(value.cells()) {
                let (ty, dst) = (run.scalar, run.first.at(part));
                match op {
                    None => self.copy(ty, dst, value),
                    Some(op) => self.emit(Instruction::Binary {
                        op,
                        ty,
                        dst,
                        a: dst,
                        b: value,
                    }),
                }
            }
            return Ok(true);
        }
        match name {
            "assign" => {
                let [target, value] = *args else {
                    return Ok(false);
                };
                if matches!(frame.kind(self, target), Type::Tile(_)) {
                    self.assign_tile(frame, target, value)?;
                    return Ok(true);
                }
                let ty = frame.value_type(self, target);
                for (n, leaf) in self.layout(ty).leaves.iter().enumerate() {
                    self.copy(
                        leaf.scalar,
                        frame.cell(target).at(n),
                        frame.cell(value).at(n),
                    );
                }
                // The target may now lie elsewhere than where it began.
                frame.arrays.remove(&target);
            }
            "indexref" => self.index_reference(frame, call)?,
            "store" => {
                let [target, value] = *args else {
                    return Ok(false);
                };
                self.store_through(frame, target, value)?;
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    fn index_reference(&mut self, frame: &mut Frame<'m>, call: &Call) -> Planned<()> {
        let function = frame.function;
        let ([base, indices @ ..], [out]) = (
            call.operands.args(&function.pool),
            call.operands.outs(&function.pool),
        ) else {
            return self.unknown("a reference to no part");
        };
        let Some(Reference::Local(first)) = frame.references.get(base).copied() else {
            return self.unknown("a part behind this reference");
        };
        let ty = frame.value_type(self, *base);
        let len = self.layout(ty).leaves.len() as u32;
        let parts = self.parts(frame, *base, indices)?;
        let reference = match parts.first() {
            Some(Component::Known(n)) => Reference::Local(first.at(*n as usize)),
            Some(Component::Lane(cell)) => {
                let offset = self.cells_for(1);
                self.copy(Scalar::I32, offset, *cell);
                Reference::Part { first, len, offset }
            }
            None => return self.unknown("a reference to no part"),
        };
        frame.references.insert(*out, reference);
        Ok(())
    }

    pub(super) fn store_through(
        &mut self,
        frame: &Frame<'m>,
        target: VarId,
        value: VarId,
    ) -> Planned<()> {
        let ty = frame.value_type(self, value);
        let layout = self.layout(ty);
        match frame.references.get(&target).copied() {
            Some(Reference::Memory(at)) => self.store_value(frame, at, value, false)?,
            Some(Reference::Local(first)) => {
                for (n, leaf) in layout.leaves.iter().enumerate() {
                    self.copy(leaf.scalar, first.at(n), frame.cell(value).at(n));
                }
            }
            Some(Reference::Part { first, len, offset }) => {
                for (n, leaf) in layout.leaves.iter().enumerate() {
                    let index = self.shifted(offset, n);
                    let (ty, src) = (leaf.scalar, frame.cell(value).at(n));
                    self.emit(Instruction::Scatter {
                        ty,
                        first,
                        len,
                        index,
                        src,
                    });
                }
            }
            Some(Reference::OfMesh(..)) | None => {
                return self.unknown("a store through a reference that nothing made");
            }
        }
        Ok(())
    }

    /// The adjoint of an in-place builtin: the value receives what the part's dual holds.
    pub(super) fn inplace_adjoint(
        &mut self,
        frame: &Frame<'m>,
        call: &Call,
        name: &str,
    ) -> LaidOut {
        let function = frame.function;
        let args = call.operands.args(&function.pool);
        let adjoints = call.operands.adjoints(&function.pool);
        let (parts, op) = if let Some(op) = inplace_op(name) {
            let [target, ref indices @ .., _] = *args else {
                return Ok(false);
            };
            (self.parts(frame, target, indices)?, op)
        } else if let Some((leaves, op)) = transform_half(name) {
            (leaves.map(|n| Component::Known(n as u32)).collect(), op)
        } else {
            return Ok(false);
        };
        let (Some(target), Some(value)) = (adjoints.first(), adjoints.last()) else {
            return Ok(false);
        };
        let (Some(target_dual), Some(value_dual)) = (frame.dual(*target), frame.dual(*value))
        else {
            return Ok(true);
        };
        let run = self.operand(frame, args[0]);
        let gradients = self.read_parts(run.scalar, target_dual, run.len, &parts);
        let op = if op == Some(Binary::Sub) {
            Binary::Sub
        } else {
            Binary::Add
        };
        for (n, gradient) in gradients.into_iter().enumerate() {
            let dual = value_dual.at(n);
            self.emit(Instruction::Binary {
                op,
                ty: run.scalar,
                dst: dual,
                a: dual,
                b: gradient,
            });
        }
        Ok(true)
    }
}
