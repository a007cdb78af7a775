//! Results that are written where they belong, instead of to a temporary cell and from there.
//!
//! Invariant: a program does the same with and without: an instruction gets another destination only if
//! nothing between it and the end of its operation looks at either cell.

use super::builder::Builder;
use crate::instruction::{Instruction, Unary};
use crate::lanes::{Cell, is_wide};
use warpsmith_ir::types::Scalar;

/// Operations of more instructions are left alone: the search is quadratic in the results.
const LONGEST: usize = 512;

impl Builder<'_> {
    /// Lets the instruction since `start` that made `result`, a value of type `ty`, write to `dst`
    /// straight away; false where it may not. `results` are all results of the operation.
    pub(super) fn write_straight(
        &mut self,
        start: usize,
        results: &[Cell],
        (result, ty, dst): (Cell, Scalar, Cell),
    ) -> bool {
        let once = results.iter().filter(|other| **other == result).count() == 1;
        if !Self::is_temporary(result) || !once || results.contains(&dst) {
            return false;
        }
        let code = &mut self.code[start..];
        if code.len() > LONGEST {
            return false;
        }
        for instruction in code.iter_mut().rev() {
            let Some((written, wide)) = destination(instruction) else {
                return false;
            };
            if *written == result {
                let fits = wide == is_wide(ty);
                if fits {
                    *written = dst;
                }
                return fits;
            }
            if *written == dst || reads(instruction, result) || reads(instruction, dst) {
                return false;
            }
        }
        false
    }
}

/// Where an operation that does nothing else writes its result, and whether that takes 64 bits.
fn destination(instruction: &mut Instruction) -> Option<(&mut Cell, bool)> {
    Some(match instruction {
        Instruction::Unary {
            op: Unary::BitCount,
            dst,
            ..
        }
        | Instruction::Compare { dst, .. }
        | Instruction::Classify { dst, .. } => (dst, false),
        Instruction::Binary { ty, dst, .. }
        | Instruction::Unary { ty, dst, .. }
        | Instruction::MulAdd { ty, dst, .. }
        | Instruction::Select { ty, dst, .. }
        | Instruction::Move { ty, dst, .. }
        | Instruction::Cast { to: ty, dst, .. }
        | Instruction::Gather { ty, dst, .. } => (dst, is_wide(*ty)),
        _ => return None,
    })
}

/// Whether such an operation reads a cell.
fn reads(instruction: &Instruction, cell: Cell) -> bool {
    match *instruction {
        Instruction::Binary { a, b, .. } | Instruction::Compare { a, b, .. } => {
            a == cell || b == cell
        }
        Instruction::Unary { a, .. } | Instruction::Classify { a, .. } => a == cell,
        Instruction::Select { cond, a, b, .. } => cond == cell || a == cell || b == cell,
        Instruction::MulAdd { a, b, c, .. } => a == cell || b == cell || c == cell,
        Instruction::Move { src, .. } | Instruction::Cast { src, .. } => src == cell,
        Instruction::Gather {
            first, len, index, ..
        } => index == cell || (first.0..first.0 + len).contains(&cell.0),
        _ => true,
    }
}
