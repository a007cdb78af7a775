//! Statements that the compiler keeps as text: tiles, and calls of adjoints.

use super::builder::{Builder, LaidOut, Planned};
use super::frame::Frame;
use super::statement::{self, Arg, Statement};
use super::tile::{Application, Mapped};
use warpsmith_ir::{Piece, Text, VarId};

impl<'m> Builder<'m> {
    /// Lays out a statement.
    pub(super) fn text(&mut self, frame: &mut Frame<'m>, text: &'m Text) -> Planned<()> {
        if let [Piece::Var(out), Piece::Text(value)] = *text.forward.as_slice() {
            return self.set(frame, out, self.module.names.get(value));
        }
        if self.assignment(frame, &text.forward)? {
            return Ok(());
        }
        let Some(statement) = statement::read(&self.module.names, text) else {
            return self.unknown("an address, or an assignment to a gradient");
        };
        if self.gradient_call(frame, &statement)?
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

    /// Makes a variable zero or one, before an adjoint is called with it.
    fn set(&mut self, frame: &Frame<'m>, out: VarId, value: &str) -> Planned<()> {
        let number = match value {
            " = {}" => 0.0,
            _ if value.starts_with(" = wp::float") && value.ends_with("(1)") => 1.0,
            _ => return self.unknown("an assignment to a gradient"),
        };
        let ty = frame.value_type(self, out);
        for (n, leaf) in self.layout(ty).leaves.iter().enumerate() {
            let value = self.number(leaf.scalar, number);
            self.copy(leaf.scalar, frame.cell(out).at(n), value);
        }
        Ok(())
    }

    /// `adj_f(x, adj_x, adj_ret)`: the gradient of a function, as a value.
    fn gradient_call(&mut self, frame: &Frame<'m>, statement: &Statement<'m>) -> LaidOut {
        let Some(native) = statement.name.strip_prefix("adj_") else {
            return Ok(false);
        };
        let [Arg::Var(argument), Arg::Var(gradient), Arg::Var(seed)] = *statement.args else {
            return Ok(false);
        };
        let mapped = self.mapped(native)?;
        if !matches!(mapped, Mapped::Function(_)) {
            return Ok(false);
        }
        let args = vec![self.operand(frame, argument)];
        let ty = frame.value_type(self, seed);
        let layout = self.layout(ty);
        let scalars = layout.leaves.iter().map(|leaf| leaf.scalar);
        let out = (frame.kind(self, seed), scalars.collect());
        let application = Application { mapped, args, out };
        self.apply_adjoint(&application, &[frame.cell(gradient)], frame.cell(seed))?;
        Ok(true)
    }
}
