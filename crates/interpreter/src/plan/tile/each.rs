//! Loops over the elements of tiles.

use super::super::builder::{Builder, Planned};
use crate::instruction::{Binary, Instruction, Location, Space, Update};
use crate::lanes::Cell;
use crate::tile::Tile;
use warpsmith_ir::Comparison;
use warpsmith_ir::types::Scalar;

impl Builder<'_> {
    /// Lays out `body` for each number from `first` up to `end`, which it is given in a cell.
    pub(super) fn each(
        &mut self,
        first: usize,
        end: usize,
        body: impl FnOnce(&mut Self, Cell) -> Planned<()>,
    ) -> Planned<()> {
        let start = self.integer(first as i64);
        if first + 1 == end {
            return body(self, start);
        }
        let counter = self.cells_for(1);
        self.copy(Scalar::I32, counter, start);
        self.emit(Instruction::Loop);
        let head = self.code.len() as u32;
        let test = self.counted_test(counter, Comparison::Less, end as i64);
        body(self, counter)?;
        let one = self.integer(1);
        self.step(counter, one);
        self.emit(Instruction::LoopNext { head });
        let past = self.code.len() as u32;
        if let Some(Instruction::LoopTest { exit, .. }) = self.code.get_mut(test) {
            *exit = past;
        }
        self.emit(Instruction::LoopExit);
        Ok(())
    }

    /// The place of a tile's element, by its number in the order of the last index.
    pub(super) fn tile_place(&mut self, tile: &Tile, number: Cell) -> Location {
        let ints = Scalar::I32;
        let mut at = tile.cells.at(1);
        if tile.is_dense() {
            at = self.binary(Binary::Add, ints, at, number);
        } else {
            let mut inner = 1_usize;
            for (size, stride) in tile.shape.iter().zip(&tile.strides).rev() {
                let (per, size_cell) = (self.integer(inner as i64), self.integer(*size as i64));
                let outer = self.binary(Binary::Div, ints, number, per);
                let index = self.binary(Binary::Mod, ints, outer, size_cell);
                let stride = self.integer(*stride as i64);
                let step = self.binary(Binary::Mul, ints, index, stride);
                at = self.binary(Binary::Add, ints, at, step);
                inner *= size;
            }
        }
        // What the body of a loop calls may use up the temporaries.
        let element = self.cells_for(1);
        self.copy(ints, element, at);
        Location::of_element(tile.cells, element, tile.element)
    }

    /// Loads an element, or its gradients, into new cells.
    pub(super) fn load_element(&mut self, tile: &Tile, at: Location, space: Space) -> Cell {
        let first = self.cells_for(tile.scalars.len());
        for (n, ty) in tile.scalars.iter().enumerate() {
            let column = n as u32;
            let from = Location {
                column,
                space,
                ..at
            };
            let dst = first.at(n);
            self.emit(Instruction::Load { ty: *ty, dst, from });
        }
        first
    }

    /// Stores an element.
    pub(super) fn store_element(&mut self, tile: &Tile, at: Location, values: &[Cell]) {
        for (n, (ty, src)) in tile.scalars.iter().zip(values).enumerate() {
            let column = n as u32;
            let to = Location { column, ..at };
            self.emit(Instruction::Store {
                ty: *ty,
                src: *src,
                to,
            });
        }
    }

    /// Adds to the gradients of an element.
    pub(super) fn add_to_element(&mut self, tile: &Tile, at: Location, values: &[Cell]) {
        for (n, (ty, src)) in tile.scalars.iter().zip(values).enumerate() {
            if !ty.is_float() {
                continue;
            }
            let (column, space) = (n as u32, Space::Gradient);
            let at = Location {
                column,
                space,
                ..at
            };
            let dst = self.temporary();
            self.emit(Instruction::Atomic {
                update: Update::Binary(Binary::Add),
                ty: *ty,
                dst,
                src: *src,
                at,
                observed: false,
            });
        }
    }
}
