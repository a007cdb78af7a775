//! What a thread puts into one element of a tile, if it has something to put there.

use super::super::builder::{Builder, LaidOut, Planned};
use super::super::frame::Frame;
use super::super::statement::{Arg, Statement};
use crate::instruction::{Binary, Instruction, Space};
use crate::lanes::Cell;
use warpsmith_ir::VarId;
use warpsmith_ir::types::{Scalar, Type};

/// The parts of a scatter: whether it adds, the tile, the indices, the value, whether there is one.
struct Scatter<'a, 'm> {
    adds: bool,
    tile: VarId,
    indices: &'a [Arg<'m>],
    value: VarId,
    has_value: VarId,
}

impl<'a, 'm> Scatter<'a, 'm> {
    fn of(statement: &'a Statement<'m>) -> Option<Self> {
        let adds = match statement.name {
            "tile_scatter_add" => true,
            "tile_scatter_masked" => false,
            _ => return None,
        };
        match statement.args.as_slice() {
            [
                Arg::Var(tile),
                indices @ ..,
                Arg::Var(value),
                Arg::Var(has_value),
            ] => Some(Self {
                adds,
                tile: *tile,
                indices,
                value: *value,
                has_value: *has_value,
            }),
            _ => None,
        }
    }
}

/// Whether a number of this type in a struct is added to: of narrow integers and booleans nothing becomes.
fn accumulates(ty: Scalar) -> bool {
    !matches!(
        ty,
        Scalar::Bool | Scalar::I8 | Scalar::I16 | Scalar::U8 | Scalar::U16
    )
}

impl<'m> Builder<'m> {
    /// Lays out `body` for the threads for which `cond` holds.
    pub(in super::super) fn only_where(
        &mut self,
        cond: Cell,
        body: impl FnOnce(&mut Self) -> Planned<()>,
    ) -> Planned<()> {
        let holds = self.cells_for(1);
        self.copy(Scalar::Bool, holds, cond);
        let opened = self.code.len();
        self.emit(Instruction::If {
            cond: holds,
            negated: false,
            end: 0,
            skips: true,
        });
        body(self)?;
        self.close_branch(Some(opened));
        Ok(())
    }

    /// Lays out a scatter; false if it is none.
    pub(super) fn tile_scatter(&mut self, frame: &Frame<'m>, statement: &Statement<'m>) -> LaidOut {
        let Some(scatter) = Scatter::of(statement) else {
            return Ok(false);
        };
        let tile = self.needed_tile(frame, statement.name, statement.args.first())?;
        let is_struct = matches!(self.element_type(frame, scatter.tile), Type::Struct(_));
        self.only_where(frame.cell(scatter.has_value), |this| {
            let part = this.tile_part(frame, scatter.tile, &tile, scatter.indices)?;
            for (n, ty, at) in Self::part_columns(&part, Space::Value) {
                let mut src = frame.cell(scatter.value).at(n);
                if scatter.adds {
                    if is_struct && !accumulates(ty) {
                        continue;
                    }
                    let old = this.temporary();
                    this.emit(Instruction::Load {
                        ty,
                        dst: old,
                        from: at,
                    });
                    src = this.binary(Binary::Add, ty, old, src);
                }
                this.emit(Instruction::Store { ty, src, to: at });
            }
            Ok(())
        })?;
        Ok(true)
    }

    /// Lays out its adjoint: the value receives the element's gradient, which is gone where it was stored.
    pub(super) fn tile_scatter_adjoint(
        &mut self,
        frame: &Frame<'m>,
        statement: &Statement<'m>,
    ) -> LaidOut {
        let Some(scatter) = Scatter::of(statement) else {
            return Ok(false);
        };
        let mut adjoints = statement.adjoints.iter().flatten().rev();
        let dual = adjoints.nth(1).copied().flatten();
        let Some(dual) = dual.and_then(|var| frame.dual(var)) else {
            return Ok(true);
        };
        let tile = self.needed_tile(frame, statement.name, statement.args.first())?;
        self.only_where(frame.cell(scatter.has_value), |this| {
            let part = this.tile_part(frame, scatter.tile, &tile, scatter.indices)?;
            this.take_gradient(part.at, &part.scalars, dual, false, !scatter.adds, true);
            Ok(())
        })?;
        Ok(true)
    }
}
