//! Statements that the compiler keeps as text: tiles, and calls of adjoints.

use super::builder::{Builder, LaidOut, Planned};
use super::frame::Frame;
use super::statement;
use warpsmith_ir::{Piece, Text};

impl<'m> Builder<'m> {
    /// Lays out a statement.
    pub(super) fn text(&mut self, frame: &mut Frame<'m>, text: &'m Text) -> Planned<()> {
        if let [Piece::Var(out), Piece::Text(value)] = *text.forward.as_slice() {
            let value = self.module.names.get(value);
            return match self.gradient_start(frame, out, value)? {
                true => Ok(()),
                false => self.unknown("an assignment to a gradient"),
            };
        }
        if self.assignment(frame, &text.forward)? {
            return Ok(());
        }
        let Some(statement) = statement::read(&self.module.names, text) else {
            return self.unknown("an address, or an assignment to a gradient");
        };
        if self.gradient_call(frame, &statement)?
            || self.tuple_of_gradients(frame, &statement)?
            || self.texture_statement(frame, &statement)?
            || self.tile_statement(frame, &statement)?
        {
            return Ok(());
        }
        self.unknown(format!("`wp.{}`", statement.name))
    }

    /// Lays out the adjoint of a statement.
    pub(super) fn text_adjoint(&mut self, frame: &mut Frame<'m>, text: &'m Text) -> Planned<()> {
        let Some(statement) = statement::read(&self.module.names, text) else {
            return Ok(());
        };
        if statement.adjoints.is_none() || self.tile_statement_adjoint(frame, &statement)? {
            return Ok(());
        }
        self.unknown(format!("`wp.{}`", statement.name))
    }

    /// Lays out `*reference = value` and `gradient = value`; false if it is neither.
    fn assignment(&mut self, frame: &Frame<'m>, pieces: &[Piece]) -> LaidOut {
        let is = |name, text: &str| self.module.names.get(name) == text;
        match *pieces {
            [
                Piece::Text(star),
                Piece::Var(target),
                Piece::Text(equals),
                Piece::Var(value),
            ] if is(star, "*") && is(equals, " = ") => {
                self.store_through(frame, target, value)?;
            }
            [Piece::Dual(target), Piece::Text(equals), Piece::Var(value)] if is(equals, " = ") => {
                let ty = frame.value_type(self, value);
                let Some(dual) = frame.dual(target) else {
                    return Ok(true);
                };
                for (n, leaf) in self.layout(ty).leaves.iter().enumerate() {
                    self.copy(leaf.scalar, dual.at(n), frame.cell(value).at(n));
                }
            }
            _ => return Ok(false),
        }
        Ok(true)
    }
}
