//! Computes nothing twice in straight code: an operation on the same cells as one before it copies that
//! one's result, and so does the sum of 0 and what is itself the sum of 0 and something.
//!
//! A kernel that says `p[i]` three times looks an element up and loads it three times. Copies are then read
//! where they come from, and dropped when nobody reads them ([`super::simplify`]).
//!
//! Invariant: a lane that is active at the second operation was active at the first, because straight code
//! only ever stops lanes; so the second neither finds another value nor stops another lane.

use super::cells::{Use, cells, is_control, is_pure};
use super::simplify::{Code, Copies, Zeroes};
use crate::instruction::{Binary, Instruction, Unary};
use crate::lanes::{Cell, is_wide};
use crate::plan::Program;
use warpsmith_ir::types::Scalar;

/// Operations that are remembered at a time: a bound on the work that a long program makes.
const MOST_KNOWN: usize = 64;

/// An operation that was seen, with no destination, and where its result lies.
struct Known {
    operation: Instruction,
    result: Cell,
}

/// Replaces operations by copies.
pub(super) fn reuse(code: &mut Code, program: &Program, zeroes: &Zeroes) {
    let mut known: Vec<Known> = Vec::new();
    let mut copies = Copies::default();
    for slot in code.iter_mut() {
        let Some(instruction) = slot else { continue };
        if is_control(instruction) {
            known.clear();
            copies.note(instruction, program);
            continue;
        }
        copies.replace_in(instruction);
        if let Some(copy) = second_sum(instruction, &known, zeroes) {
            *instruction = copy;
        }
        let found = without_destination(instruction);
        if let Some((operation, result, ty)) = found
            && let Some(same) = known.iter().find(|known| known.operation == operation)
        {
            // Its own result, still there: the copy of a cell to itself, which nothing has to do.
            *slot = (same.result != result).then_some(Instruction::Move {
                ty,
                dst: result,
                src: same.result,
            });
        }
        let Some(instruction) = slot else { continue };
        copies.note(instruction, program);
        if changes_memory(instruction) {
            known.retain(|known| !matches!(known.operation, Instruction::Load { .. }));
        }
        cells(instruction, program, |cell, how| {
            if how != Use::Read {
                known.retain(|known| known.result != cell && !reads(known, program, cell));
            }
        });
        if let Some((operation, result, _)) = without_destination(instruction)
            && !operation_reads(&operation, program, result)
        {
            if known.len() == MOST_KNOWN {
                known.remove(0);
            }
            known.push(Known { operation, result });
        }
    }
}

/// The copy that a sum of 0 and a sum of 0 is: the first of the two can only have turned -0 into 0.
fn second_sum(sum: &Instruction, known: &[Known], zeroes: &Zeroes) -> Option<Instruction> {
    let of_zero = |sum: &Instruction| match *sum {
        Instruction::Binary {
            op: Binary::Add,
            ty,
            dst,
            a,
            b,
        } if ty.is_float() && zeroes.is_zero(ty, a) => Some((ty, dst, b)),
        _ => None,
    };
    let (ty, dst, value) = of_zero(sum)?;
    let mut first = known.iter().filter(|known| known.result == value);
    let is_sum = first.any(|known| of_zero(&known.operation).is_some_and(|(of, ..)| of == ty));
    let ty = if is_wide(ty) {
        Scalar::U64
    } else {
        Scalar::U32
    };
    (is_sum && dst != value).then_some(Instruction::Move {
        ty,
        dst,
        src: value,
    })
}

/// The operation with a destination that all have in common, its own, and what a copy of the result is.
fn without_destination(instruction: &Instruction) -> Option<(Instruction, Cell, Scalar)> {
    let mut operation = *instruction;
    let (dst, wide) = match &mut operation {
        Instruction::Binary { ty, dst, .. } if is_pure(instruction) => (dst, is_wide(*ty)),
        // A count of bits has 32 of them, whatever it counts in.
        Instruction::Unary { op, ty, dst, .. } => (dst, is_wide(*ty) && *op != Unary::BitCount),
        Instruction::Select { ty, dst, .. }
        | Instruction::MulAdd { ty, dst, .. }
        | Instruction::Cast { to: ty, dst, .. }
        | Instruction::Load { ty, dst, .. } => (dst, is_wide(*ty)),
        Instruction::Compare { dst, .. }
        | Instruction::Classify { dst, .. }
        | Instruction::Tid { dst, .. }
        | Instruction::AddressParam { dst, .. } => (dst, false),
        _ => return None,
    };
    let own = std::mem::replace(dst, Cell(u32::MAX));
    let copied = if wide { Scalar::U64 } else { Scalar::U32 };
    Some((operation, own, copied))
}

fn changes_memory(instruction: &Instruction) -> bool {
    matches!(
        instruction,
        Instruction::Store { .. }
            | Instruction::Atomic { .. }
            | Instruction::CompareExchange { .. }
            | Instruction::Dense { .. }
            | Instruction::Tile { .. }
            | Instruction::Allocate { .. }
    )
}

fn reads(known: &Known, program: &Program, cell: Cell) -> bool {
    operation_reads(&known.operation, program, cell)
}

fn operation_reads(operation: &Instruction, program: &Program, cell: Cell) -> bool {
    let mut read = false;
    cells(operation, program, |other, how| {
        read |= other == cell && how == Use::Read;
    });
    read
}
