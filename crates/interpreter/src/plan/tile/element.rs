//! Single elements of tiles: read, changed, made of what the thread has.

use super::super::builder::{Builder, LaidOut, Planned};
use super::super::frame::Frame;
use super::super::reference::Component;
use super::super::statement::{Arg, Statement};
use crate::instruction::{Binary, Instruction, Location, Space};
use crate::lanes::Cell;
use crate::tile::Tile;
use warpsmith_ir::VarId;
use warpsmith_ir::types::{Scalar, Type};

/// What an update of one element does.
fn update_of(name: &str) -> Option<Binary> {
    Some(match name {
        "tile_add_inplace" => Binary::Add,
        "tile_sub_inplace" => Binary::Sub,
        "tile_bit_and_inplace" => Binary::And,
        "tile_bit_or_inplace" => Binary::Or,
        "tile_bit_xor_inplace" => Binary::Xor,
        _ => return None,
    })
}

/// Part of an element: where it lies, and the types of its scalars.
pub(super) struct Part {
    pub(super) at: Location,
    pub(super) scalars: Vec<Scalar>,
}

impl<'m> Builder<'m> {
    /// The place that indices name, those behind the last dimension a component.
    pub(super) fn tile_part(
        &mut self,
        frame: &Frame<'m>,
        var: VarId,
        tile: &Tile,
        indices: &[Arg<'m>],
    ) -> Planned<Part> {
        let ints = Scalar::I32;
        let rank = tile.shape.len();
        let mut at = tile.cells.at(1);
        for (dim, index) in indices.iter().take(rank).enumerate() {
            let index = self.needed_var("tile_extract", Some(index))?;
            let index = self.component(frame, index, tile.shape[dim] as u32)?;
            let index = self.component_cell(index);
            let stride = self.integer(tile.strides[dim] as i64);
            let step = self.binary(Binary::Mul, ints, index, stride);
            at = self.binary(Binary::Add, ints, at, step);
        }
        let element = self.cells_for(1);
        self.copy(ints, element, at);
        let mut at = Location::of_element(tile.cells, element, tile.element);
        let mut scalars = tile.scalars.clone();
        let inner = &indices[rank.min(indices.len())..];
        let ty = self.module.types.tile_of(frame.value_type(self, var));
        let kind = ty.map_or(Type::Str, |tile| self.module.types.get(tile.element));
        let place = match (inner, kind) {
            ([], _) => None,
            ([index], Type::Vector { length, .. }) => {
                let index = self.needed_var("tile_extract", Some(index))?;
                scalars.truncate(1);
                Some(self.component(frame, index, length)?)
            }
            ([row], Type::Matrix { rows, cols, .. }) => {
                let row = self.needed_var("tile_extract", Some(row))?;
                let row = self.component(frame, row, rows)?;
                scalars.truncate(cols as usize);
                Some(self.combine(row, cols, Component::Known(0)))
            }
            ([row, col], Type::Matrix { rows, cols, .. }) => {
                let row = self.needed_var("tile_extract", Some(row))?;
                let col = self.needed_var("tile_extract", Some(col))?;
                let (row, col) = (
                    self.component(frame, row, rows)?,
                    self.component(frame, col, cols)?,
                );
                scalars.truncate(1);
                Some(self.combine(row, cols, col))
            }
            _ => return self.unknown("these indices of a tile"),
        };
        match place {
            Some(Component::Known(column)) => at.column = column,
            Some(Component::Lane(cell)) => at.offset = Some(cell),
            None => {}
        }
        Ok(Part { at, scalars })
    }

    pub(super) fn part_columns(
        part: &Part,
        space: Space,
    ) -> impl Iterator<Item = (usize, Scalar, Location)> {
        let at = part.at;
        part.scalars.iter().enumerate().map(move |(n, ty)| {
            let column = at.column + n as u32;
            (
                n,
                *ty,
                Location {
                    column,
                    space,
                    ..at
                },
            )
        })
    }

    /// Lays out a statement on one element; false if it is none.
    pub(super) fn tile_element(&mut self, frame: &Frame<'m>, statement: &Statement<'m>) -> LaidOut {
        let args = statement.args.as_slice();
        match (statement.name, args) {
            ("tile_extract", [Arg::Var(var), indices @ ..]) => {
                let tile = self.needed_tile(frame, "tile_extract", args.first())?;
                let part = self.tile_part(frame, *var, &tile, indices)?;
                let Some(out) = statement.out else {
                    return Ok(true);
                };
                for (n, ty, from) in Self::part_columns(&part, Space::Value) {
                    let dst = frame.cell(out).at(n);
                    self.emit(Instruction::Load { ty, dst, from });
                }
            }
            ("assign", [Arg::Var(var), indices @ .., Arg::Var(value)]) if !indices.is_empty() => {
                let tile = self.needed_tile(frame, "assign", args.first())?;
                let part = self.tile_part(frame, *var, &tile, indices)?;
                for (n, ty, to) in Self::part_columns(&part, Space::Value) {
                    let src = frame.cell(*value).at(n);
                    self.emit(Instruction::Store { ty, src, to });
                }
            }
            (name, [Arg::Var(var), indices @ .., Arg::Var(value)]) if !indices.is_empty() => {
                let Some(op) = update_of(name) else {
                    return Ok(false);
                };
                let tile = self.needed_tile(frame, name, args.first())?;
                let part = self.tile_part(frame, *var, &tile, indices)?;
                for (n, ty, at) in Self::part_columns(&part, Space::Value) {
                    let old = self.temporary();
                    self.emit(Instruction::Load {
                        ty,
                        dst: old,
                        from: at,
                    });
                    let src = self.binary(op, ty, old, frame.cell(*value).at(n));
                    self.emit(Instruction::Store { ty, src, to: at });
                }
            }
            ("tile", [Arg::Var(value)]) => {
                let tile = self.out_tile(frame, statement)?;
                let cells = self.operand(frame, *value).cells();
                self.spread(&tile, &cells);
            }
            ("untile", [_]) => {
                let tile = self.needed_tile(frame, "untile", args.first())?;
                if let Some(out) = statement.out {
                    let to = frame.cell(out);
                    self.gather_spread(&tile, to);
                }
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// The components of a value as the elements of a tile, or its one element.
    pub(super) fn spread(&mut self, tile: &Tile, cells: &[Cell]) {
        for (n, cells) in cells.chunks(tile.scalars.len()).enumerate() {
            let number = self.integer(n as i64);
            let at = self.tile_place(tile, number);
            self.store_element(tile, at, cells);
        }
    }

    fn gather_spread(&mut self, tile: &Tile, to: Cell) {
        for n in 0..tile.count() {
            let number = self.integer(n as i64);
            let at = self.tile_place(tile, number);
            let value = self.load_element(tile, at, Space::Value);
            for (k, ty) in tile.scalars.iter().enumerate() {
                let dst = to.at(n * tile.scalars.len() + k);
                self.copy(*ty, dst, value.at(k));
            }
        }
    }

    /// Lays out the adjoint of such a statement; false if it is none.
    pub(super) fn tile_element_adjoint(
        &mut self,
        frame: &Frame<'m>,
        statement: &Statement<'m>,
    ) -> LaidOut {
        let args = statement.args.as_slice();
        let last_dual = statement
            .adjoints
            .as_ref()
            .and_then(|adjoints| adjoints.last().copied().flatten())
            .and_then(|var| frame.dual(var));
        match (statement.name, args) {
            ("tile_extract", [Arg::Var(var), indices @ ..]) => {
                let Some(dual) = statement.out.and_then(|out| frame.dual(out)) else {
                    return Ok(true);
                };
                let tile = self.needed_tile(frame, "tile_extract", args.first())?;
                let part = self.tile_part(frame, *var, &tile, indices)?;
                let leaves = part.scalars.clone();
                self.add_gradient(part.at, &leaves, dual, true);
            }
            (name, [Arg::Var(var), indices @ .., Arg::Var(_)])
                if !indices.is_empty() && (name == "assign" || update_of(name).is_some()) =>
            {
                let Some(dual) = last_dual else {
                    return Ok(true);
                };
                let tile = self.needed_tile(frame, name, args.first())?;
                let part = self.tile_part(frame, *var, &tile, indices)?;
                let leaves = part.scalars.clone();
                let negative = name == "tile_sub_inplace";
                // What was there before has no part in what is there now.
                self.take_gradient(part.at, &leaves, dual, negative, name == "assign", true);
            }
            ("tile", [Arg::Var(_)]) => {
                let Some(dual) = last_dual else {
                    return Ok(true);
                };
                let tile = self.out_tile(frame, statement)?;
                for n in 0..tile.count() {
                    let number = self.integer(n as i64);
                    let at = self.tile_place(&tile, number);
                    let gradient = self.load_element(&tile, at, Space::Gradient);
                    for (k, ty) in tile.scalars.iter().enumerate() {
                        if ty.is_float() {
                            self.add_to(*ty, dual.at(n * tile.scalars.len() + k), gradient.at(k));
                        }
                    }
                }
            }
            ("untile", [_]) => {
                let Some(dual) = statement.out.and_then(|out| frame.dual(out)) else {
                    return Ok(true);
                };
                let tile = self.needed_tile(frame, "untile", args.first())?;
                let width = tile.scalars.len();
                for n in 0..tile.count() {
                    let number = self.integer(n as i64);
                    let at = self.tile_place(&tile, number);
                    let share: Vec<Cell> = (0..width).map(|k| dual.at(n * width + k)).collect();
                    self.add_to_element(&tile, at, &share);
                }
            }
            _ => return Ok(false),
        }
        Ok(true)
    }
}
