//! Calls on matrices in arrays, and their adjoints.

use super::builder::{Builder, Planned};
use super::frame::Frame;
use crate::instruction::{BufferAt, Instruction, Location, Space};
use crate::lanes::Cell;
use crate::machine::{DenseCall, DenseKind};
use warpsmith_ir::{Call, VarId};

/// How a call uses an array.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Use {
    Reads,
    Writes,
}

impl<'m> Builder<'m> {
    pub(super) fn dense_call(
        &mut self,
        frame: &Frame<'m>,
        name: &str,
        args: &[VarId],
    ) -> Planned<()> {
        use Use::{Reads, Writes};
        let value = Space::Value;
        match (name, args) {
            ("dense_gemm", [sizes @ .., a, b, c]) => {
                let arrays = [(*a, value, Reads), (*b, value, Reads), (*c, value, Writes)];
                self.dense(frame, DenseKind::Product, sizes, None, &arrays)
            }
            ("dense_chol", [n, a, number, l]) => {
                let number = Some(frame.cell(*number));
                let arrays = [(*a, value, Reads), (*l, value, Writes)];
                self.dense(frame, DenseKind::Cholesky, &[*n], number, &arrays)
            }
            ("dense_subs", [n, l, b, x]) | ("dense_solve", [n, _, l, b, x]) => {
                let arrays = [(*l, value, Reads), (*b, value, Reads), (*x, value, Writes)];
                self.dense(frame, DenseKind::Substitution, &[*n], None, &arrays)
            }
            _ => self.unknown(format!("`{name}` with these arguments")),
        }
    }

    pub(super) fn dense_adjoint(
        &mut self,
        frame: &Frame<'m>,
        call: &Call,
        name: &str,
    ) -> Planned<()> {
        use Space::{Gradient, Value};
        use Use::{Reads, Writes};
        match (name, call.operands.args(&frame.function.pool)) {
            ("dense_gemm", [sizes @ .., a, b, c]) => {
                let arrays = [
                    (*a, Value, Reads),
                    (*b, Value, Reads),
                    (*c, Value, Reads),
                    (*a, Gradient, Writes),
                    (*b, Gradient, Writes),
                    (*c, Gradient, Reads),
                ];
                self.dense(frame, DenseKind::ProductAdjoint, sizes, None, &arrays)
            }
            ("dense_solve", [n, a, l, b, x]) => {
                let arrays = [
                    (*l, Value, Reads),
                    (*x, Value, Reads),
                    (*a, Gradient, Writes),
                    (*b, Gradient, Writes),
                    (*x, Gradient, Reads),
                ];
                self.dense(frame, DenseKind::SolutionAdjoint, &[*n], None, &arrays)
            }
            _ => Ok(()),
        }
    }

    fn dense(
        &mut self,
        frame: &Frame<'m>,
        kind: DenseKind,
        sizes: &[VarId],
        number: Option<Cell>,
        arrays: &[(VarId, Space, Use)],
    ) -> Planned<()> {
        let mut operands = Vec::with_capacity(arrays.len());
        for &(array, space, usage) in arrays {
            let cells = self.array_cells(frame, array)?;
            let buffer = match frame.arrays.get(&array) {
                Some(param) => BufferAt::Param(*param),
                None => BufferAt::Cell(cells),
            };
            let at = Location {
                buffer,
                space,
                column: 0,
                offset: None,
                element: cells,
                element_type: frame.value_type(self, array),
            };
            self.note_read(at, false);
            if usage == Use::Writes {
                self.note_write(at, false);
            }
            operands.push((cells, space));
        }
        let entry = self.dense.len() as u32;
        self.dense.push(DenseCall {
            kind,
            sizes: sizes.iter().map(|size| frame.cell(*size)).collect(),
            number,
            arrays: operands,
        });
        self.emit(Instruction::Dense { entry });
        Ok(())
    }
}
