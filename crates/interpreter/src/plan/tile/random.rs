//! Tiles of random numbers: a generator that begins where the thread's own state says, which stays as it is.

use super::super::builder::{Builder, LaidOut};
use super::super::frame::Frame;
use super::super::statement::{Arg, Statement};
use crate::lanes::Cell;
use warpsmith_ir::types::Scalar;

impl<'m> Builder<'m> {
    /// Lays out `tile_randi` and `tile_randf`; false if it is something else.
    pub(super) fn tile_random(&mut self, frame: &Frame<'m>, statement: &Statement<'m>) -> LaidOut {
        let ints = match statement.name {
            "tile_randi" => true,
            "tile_randf" => false,
            _ => return Ok(false),
        };
        let [Arg::Var(rng), bounds @ ..] = statement.args.as_slice() else {
            return self.unknown(format!("`{}` with these arguments", statement.name));
        };
        let bounds: Vec<Cell> = (bounds.iter())
            .filter_map(|bound| bound.var().map(|var| frame.cell(var)))
            .collect();
        let tile = self.out_tile(frame, statement)?;
        // The first word of the block's first and only thread.
        let state = self.cells_for(1);
        self.copy(Scalar::U32, state, frame.cell(*rng));
        self.next_word(state);
        self.each(0, tile.count(), |this, number| {
            let value = match (ints, bounds.as_slice()) {
                (true, []) => {
                    let word = this.next_word(state);
                    this.cast(Scalar::U32, Scalar::I32, word)
                }
                (true, &[low, high]) => this.next_integer_between(state, low, high),
                (false, []) => this.next_unit(state),
                (false, &[low, high]) => this.next_between(state, low, high),
                _ => return this.unknown("a tile of random numbers with these bounds"),
            };
            let at = this.tile_place(&tile, number);
            this.store_element(&tile, at, &[value]);
            Ok(())
        })?;
        Ok(true)
    }
}
