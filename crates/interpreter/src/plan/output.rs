//! Printing, searching, and arrays of a thread's own.

use super::builder::{Builder, Planned};
use super::frame::Frame;
use super::program::OwnArray;
use crate::instruction::{Instruction, Location};
use crate::lanes::{Cell, LANES};
use crate::layout::{ARRAY_SHAPE, Layout};
use crate::text::{Conversion, Directive, Piece, directives};
use warpsmith_ir::types::{Scalar, Type};
use warpsmith_ir::{Constant, VarId};

/// Elements of a thread's own arrays, at most: they are registers on a GPU.
const LARGEST_OWN_ARRAY: usize = 1 << 16;

impl<'m> Builder<'m> {
    /// The text of a constant string.
    fn string(&self, frame: &Frame<'m>, var: VarId) -> Option<&'m str> {
        match frame.function.var(var).constant {
            Some(Constant::Str(name)) => Some(self.module.names.get(name)),
            _ => None,
        }
    }

    fn emit_print(&mut self, pieces: Vec<Piece>) {
        let entry = self.printed.len() as u32;
        self.printed.push(pieces);
        self.emit(Instruction::Print { entry });
    }

    pub(super) fn print(&mut self, frame: &Frame<'m>, args: &[VarId]) -> Planned<()> {
        for arg in args {
            if let Some(text) = self.string(frame, *arg) {
                self.emit_print(vec![Piece::Text(text.to_owned())]);
                continue;
            }
            let ty = frame.value_type(self, *arg);
            let layout = self.layout(ty);
            if layout.holds_array || matches!(frame.kind(self, *arg), Type::Str) {
                return self.unknown("`print` of a value of this type");
            }
            let mut pieces = Vec::new();
            for (n, leaf) in layout.leaves.iter().enumerate() {
                if n > 0 {
                    pieces.push(Piece::Text(" ".to_owned()));
                }
                let cell = frame.cell(*arg).at(n);
                pieces.push(Piece::Value(cell, leaf.scalar, Conversion::PLAIN));
            }
            self.emit_print(pieces);
        }
        Ok(())
    }

    pub(super) fn printf(&mut self, frame: &Frame<'m>, args: &[VarId]) -> Planned<()> {
        let Some((format, values)) = args.split_first() else {
            return Ok(());
        };
        let Some(format) = self.string(frame, *format) else {
            return self.unknown("`printf` with a format that is not a constant");
        };
        let mut values = values.iter();
        let mut pieces = Vec::new();
        for directive in directives(format) {
            match directive {
                Directive::Text(text) => pieces.push(Piece::Text(text)),
                Directive::Conversion(conversion) => {
                    let Some(value) = values.next() else {
                        return self.unknown("`printf` with fewer values than conversions");
                    };
                    if let Some(text) = self.string(frame, *value) {
                        pieces.push(Piece::Text(text.to_owned()));
                        continue;
                    }
                    let Type::Scalar(ty) = frame.kind(self, *value) else {
                        return self.unknown("`printf` of a value that is not a scalar");
                    };
                    pieces.push(Piece::Value(frame.cell(*value), ty, conversion));
                }
            }
        }
        self.emit_print(pieces);
        Ok(())
    }

    /// Gives every thread an array of zeroes.
    pub(super) fn own_array(&mut self, frame: &Frame<'m>, out: VarId) -> Planned<()> {
        let Type::FixedArray {
            element,
            rank,
            dims,
        } = frame.kind(self, out)
        else {
            return self.unknown("`zeros` of this type");
        };
        let own = OwnArray {
            layout: Layout::clone(&self.layout(element)),
            rank,
            dims,
        };
        if own.layout.holds_array || own.count().saturating_mul(LANES) > LARGEST_OWN_ARRAY * LANES {
            return self.unknown("an array of this size or type for every thread");
        }
        let entry = self.own_arrays.len() as u32;
        self.own_arrays.push(own);
        // Blocks of threads use the same memory one after the other.
        self.ordered = true;
        let array = frame.cell(out);
        self.emit(Instruction::Allocate { entry, array });
        Ok(())
    }

    pub(super) fn lower_bound(
        &mut self,
        frame: &Frame<'m>,
        args: &[VarId],
        outs: &[VarId],
    ) -> Planned<()> {
        let ([array, bounds @ .., value], [out]) = (args, outs) else {
            return self.unknown("`lower_bound` without a value");
        };
        let Type::Scalar(ty) = frame.kind(self, *value) else {
            return self.unknown("`lower_bound` of values that are not scalars");
        };
        let array = self.array_cells(frame, *array)?;
        let (begin, end) = match bounds {
            [begin, end] => (frame.cell(*begin), Some(frame.cell(*end))),
            _ => (self.integer(0), None),
        };
        self.search(ty, frame.cell(*out), array, begin, end, frame.cell(*value));
        Ok(())
    }

    /// A binary search, to the end of the array unless told.
    pub(super) fn search(
        &mut self,
        ty: Scalar,
        dst: Cell,
        array: Cell,
        begin: Cell,
        end: Option<Cell>,
        value: Cell,
    ) {
        self.note_read(
            Location::of_element(array, array, warpsmith_ir::types::TypeId::scalar(ty)),
            false,
        );
        let end = end.unwrap_or(array.at(ARRAY_SHAPE));
        self.emit(Instruction::LowerBound {
            ty,
            dst,
            array,
            begin,
            end,
            value,
        });
    }
}
