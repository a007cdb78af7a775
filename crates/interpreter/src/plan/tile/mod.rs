//! Lays out statements on tiles, forwards and backwards.
//!
//! A tile is an array of the thread's own. What goes through elements one by one becomes a loop of scalar
//! operations (`each`, `map`, `reduce`), so that its adjoint follows from them; what moves or factors whole
//! tiles is one instruction for each lane (`whole`).

mod each;
mod element;
mod map;
mod query;
mod random;
mod reduce;
mod scatter;
mod stack;
mod whole;

use super::builder::{Builder, LaidOut, Planned};
use super::frame::Frame;
use super::program::OwnArray;
use super::statement::{Arg, Statement};
use crate::instruction::Instruction;
use crate::lanes::Cell;
use crate::layout::{ARRAY_LEAVES, Layout};
use crate::tile::{Tile, TileCall, TileKind};

use warpsmith_ir::VarId;
use warpsmith_ir::types::{CPU_BLOCK, Extent, Scalar, TypeId};

pub(super) use map::{Application, Mapped};

/// Elements of a tile.
const LARGEST_TILE: usize = 1 << 16;

impl<'m> Builder<'m> {
    /// The tile that a type is, lying where the cells of `var` say.
    fn tile_of_type(&mut self, ty: TypeId, var: VarId, frame: &Frame<'m>) -> Option<Tile> {
        let tile = self.module.types.tile_of(ty)?;
        let number = |extent: &Extent| extent.value(CPU_BLOCK);
        let scalars = self.layout(tile.element);
        Some(Tile {
            cells: frame.cell(var),
            shape: tile.shape.iter().map(|e| number(e) as usize).collect(),
            strides: tile.strides.iter().map(|e| number(e) as isize).collect(),
            scalars: scalars.leaves.iter().map(|leaf| leaf.scalar).collect(),
            element: tile.element,
            owner: tile.owner,
        })
    }

    /// The tile that a variable is.
    pub(super) fn tile(&mut self, frame: &Frame<'m>, var: VarId) -> Option<Tile> {
        self.tile_of_type(frame.value_type(self, var), var, frame)
    }

    /// Gives the tiles of a function their memory.
    pub(super) fn take_tiles(&mut self, frame: &Frame<'m>) -> Planned<()> {
        for (var, variable) in frame.function.locals() {
            let Some(tile) = self.module.types.tile_of(variable.ty) else {
                continue;
            };
            if !tile.owner {
                continue;
            }
            let layout = Layout::clone(&self.layout(tile.element));
            let count = self.tile(frame, var).map_or(0, |tile| tile.count());
            if layout.holds_array || count * layout.leaves.len() > LARGEST_TILE {
                return self.unknown("a tile of more than 65536 numbers");
            }
            let entry = self.own_arrays.len() as u32;
            self.own_arrays.push(OwnArray {
                layout,
                rank: 1,
                dims: [count as u32, 0, 0, 0],
            });
            // Blocks of threads use the same memory one after the other.
            self.ordered = true;
            let array = frame.cell(var);
            self.emit(Instruction::Allocate { entry, array });
        }
        Ok(())
    }

    fn tile_call(&mut self, kind: TileKind, tiles: Vec<Tile>) {
        let room = self.room_for(&kind, &tiles);
        let entry = self.tiles.len() as u32;
        self.tiles.push(TileCall { kind, tiles, room });
        self.emit(Instruction::Tile { entry });
    }

    /// Memory of the thread's own for what an operation keeps while it works.
    fn room_for(&mut self, kind: &TileKind, tiles: &[Tile]) -> Option<Cell> {
        let (scalars, count) = match (kind, tiles) {
            // Whole elements, and whether each is one: a network sorts as many as a power of two.
            (TileKind::Sort, [keys, values]) => {
                let mut scalars = keys.scalars.clone();
                scalars.extend(&values.scalars);
                scalars.push(Scalar::I32);
                (scalars, keys.count().next_power_of_two())
            }
            // A part of a tile may be copied to another that lies over it.
            (TileKind::Copy(_), [to, from]) if !(to.owner && from.owner) => {
                (from.scalars.clone(), from.count())
            }
            (TileKind::CholeskyAdjoint { .. }, [a, _]) => (vec![Scalar::F64], a.count()),
            (TileKind::LowerSolveAdjoint, [_, y, _]) => (vec![Scalar::F64], y.count()),
            _ => return None,
        };
        let array = self.cells_for(ARRAY_LEAVES);
        let entry = self.own_arrays.len() as u32;
        self.own_arrays.push(OwnArray {
            layout: Layout::sequence(&scalars),
            rank: 1,
            dims: [count as u32, 0, 0, 0],
        });
        self.emit(Instruction::Allocate { entry, array });
        Some(array)
    }

    /// Zeroes a tile's gradients.
    pub(super) fn zero_tile_gradient(&mut self, frame: &Frame<'m>, var: VarId) {
        // A view's gradients are those of the tile that it shows.
        let owner = |ty| self.module.types.tile_of(ty).is_some_and(|tile| tile.owner);
        if owner(frame.value_type(self, var))
            && let Some(tile) = self.tile(frame, var)
        {
            self.tile_call(TileKind::ZeroGradient, vec![tile]);
        }
    }

    fn needed_tile(
        &mut self,
        frame: &Frame<'m>,
        name: &str,
        arg: Option<&Arg<'m>>,
    ) -> Planned<Tile> {
        let var = arg.and_then(|arg| arg.var());
        match var.and_then(|var| self.tile(frame, var)) {
            Some(tile) => Ok(tile),
            None => self.unknown(format!("`{name}` without a tile")),
        }
    }

    fn out_tile(&mut self, frame: &Frame<'m>, statement: &Statement<'m>) -> Planned<Tile> {
        let out = statement.out.map(Arg::Var);
        self.needed_tile(frame, statement.name, out.as_ref())
    }

    fn needed_var(&self, name: &str, arg: Option<&Arg<'m>>) -> Planned<VarId> {
        match arg.and_then(|arg| arg.var()) {
            Some(var) => Ok(var),
            None => self.unknown(format!("`{name}` with these arguments")),
        }
    }

    /// Lays out a statement on tiles; false if it is none.
    pub(super) fn tile_statement(
        &mut self,
        frame: &Frame<'m>,
        statement: &Statement<'m>,
    ) -> LaidOut {
        Ok(self.tile_element(frame, statement)?
            || self.tile_map(frame, statement)?
            || self.tile_reduce(frame, statement)?
            || self.tile_stack(frame, statement)?
            || self.tile_query(frame, statement)?
            || self.tile_scatter(frame, statement)?
            || self.tile_random(frame, statement)?
            || self.tile_whole(frame, statement)?)
    }

    /// Lays out its adjoint; false if it is none.
    pub(super) fn tile_statement_adjoint(
        &mut self,
        frame: &Frame<'m>,
        statement: &Statement<'m>,
    ) -> LaidOut {
        Ok(self.tile_element_adjoint(frame, statement)?
            || self.tile_map_adjoint(frame, statement)?
            || self.tile_reduce_adjoint(frame, statement)?
            || self.tile_scatter_adjoint(frame, statement)?
            || self.tile_whole_adjoint(frame, statement)?)
    }
}
