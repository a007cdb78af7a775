//! Which cells an instruction reads and writes.

use crate::instruction::{BufferAt, Instruction, Location};
use crate::lanes::Cell;
use crate::layout::ARRAY_LEAVES;
use crate::plan::Program;
use crate::text::Piece;

/// How an instruction uses cells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Use {
    Read,
    /// Every active lane of the cell gets a value.
    Write,
    /// Some do, or the old value counts.
    Change,
}

/// Calls `see` with every cell that the instruction uses, those that it reads first.
pub(super) fn cells(instruction: &Instruction, program: &Program, mut see: impl FnMut(Cell, Use)) {
    let mut run = |first: Cell, count: usize, how: Use| {
        (0..count).for_each(|n| see(first.at(n), how));
    };
    let location = |at: &Location, run: &mut dyn FnMut(Cell, usize, Use)| {
        run(at.element, 1, Use::Read);
        if let BufferAt::Cell(cell) = at.buffer {
            run(cell, 1, Use::Read);
        }
        if let Some(cell) = at.offset {
            run(cell, 1, Use::Read);
        }
    };
    match *instruction {
        Instruction::Binary { dst, a, b, .. } | Instruction::Compare { dst, a, b, .. } => {
            run(a, 1, Use::Read);
            run(b, 1, Use::Read);
            run(dst, 1, Use::Write);
        }
        Instruction::Unary { dst, a, .. }
        | Instruction::Classify { dst, a, .. }
        | Instruction::Move { dst, src: a, .. }
        | Instruction::Cast { dst, src: a, .. }
        | Instruction::Component { dst, index: a, .. } => {
            run(a, 1, Use::Read);
            run(dst, 1, Use::Write);
        }
        Instruction::Select {
            dst, cond, a, b, ..
        } => {
            [cond, a, b]
                .iter()
                .for_each(|cell| run(*cell, 1, Use::Read));
            run(dst, 1, Use::Write);
        }
        Instruction::MulAdd { dst, a, b, c, .. } => {
            [a, b, c].iter().for_each(|cell| run(*cell, 1, Use::Read));
            run(dst, 1, Use::Write);
        }
        Instruction::Zero { first, count } => run(first, count as usize, Use::Write),
        Instruction::Tid { dst, .. } => run(dst, 1, Use::Write),
        Instruction::Gather {
            dst,
            first,
            len,
            index,
            ..
        } => {
            run(index, 1, Use::Read);
            run(first, len as usize, Use::Read);
            run(dst, 1, Use::Write);
        }
        Instruction::Scatter {
            first,
            len,
            index,
            src,
            ..
        } => {
            run(index, 1, Use::Read);
            run(src, 1, Use::Read);
            run(first, len as usize, Use::Change);
        }
        Instruction::AddressParam {
            rank, indices, dst, ..
        } => {
            let indices = &indices[..usize::from(rank)];
            indices.iter().for_each(|cell| run(*cell, 1, Use::Read));
            run(dst, 1, Use::Write);
        }
        Instruction::Address {
            array,
            rank,
            indices,
            dst,
            buffer,
        } => {
            let indices = &indices[..usize::from(rank)];
            indices.iter().for_each(|cell| run(*cell, 1, Use::Read));
            run(array, ARRAY_LEAVES, Use::Read);
            run(dst, 1, Use::Write);
            run(buffer, 1, Use::Write);
        }
        Instruction::ViewIndex { array, index, .. } => {
            run(index, 1, Use::Read);
            run(array, ARRAY_LEAVES, Use::Change);
        }
        Instruction::ViewSlice { array, slice, .. } => {
            run(slice, 3, Use::Read);
            run(array, ARRAY_LEAVES, Use::Change);
        }
        Instruction::Load { dst, from, .. } => {
            location(&from, &mut run);
            run(dst, 1, Use::Write);
        }
        Instruction::Store { src, to, .. } => {
            location(&to, &mut run);
            run(src, 1, Use::Read);
        }
        Instruction::Atomic {
            dst,
            src,
            at,
            observed,
            ..
        } => {
            location(&at, &mut run);
            run(src, 1, Use::Read);
            if observed {
                run(dst, 1, Use::Write);
            }
        }
        Instruction::CompareExchange {
            dst,
            expected,
            src,
            at,
            ..
        } => {
            location(&at, &mut run);
            run(expected, 1, Use::Read);
            run(src, 1, Use::Read);
            run(dst, 1, Use::Write);
        }
        Instruction::ReverseRange { range } => run(range, 3, Use::Change),
        Instruction::RangeTest { dst, range } => {
            run(range, 3, Use::Read);
            run(dst, 1, Use::Write);
        }
        Instruction::MarkChosen { cond, .. }
        | Instruction::Expect { cond, .. }
        | Instruction::If { cond, .. }
        | Instruction::LoopTest { cond, .. } => run(cond, 1, Use::Read),
        Instruction::Print { entry } => {
            for piece in &program.printed[entry as usize] {
                if let Piece::Value(cell, ..) = piece {
                    run(*cell, 1, Use::Read);
                }
            }
        }
        Instruction::Factor {
            kind,
            dst,
            src,
            backward,
            ..
        } => {
            let (inputs, outputs) = if backward {
                (2 * kind.outputs(), kind.inputs())
            } else {
                (kind.inputs(), kind.outputs())
            };
            run(src, inputs, Use::Read);
            run(dst, outputs, Use::Write);
        }
        Instruction::Noise {
            noise,
            dst,
            src,
            backward,
        } => {
            let (inputs, outputs) = if backward {
                (noise.inputs() + noise.outputs(), noise.axes())
            } else {
                (noise.inputs(), noise.outputs())
            };
            run(src, inputs, Use::Read);
            run(dst, outputs, Use::Write);
        }
        Instruction::Ask { question, dst, src } => {
            let inputs = question.inputs().len();
            if question.moves_on() {
                run(src, inputs, Use::Change);
                run(dst, 1, Use::Write);
            } else {
                run(src, inputs, Use::Read);
                run(dst, question.outputs().len(), Use::Write);
            }
        }
        Instruction::Poisson { dst, state, rate } => {
            run(rate, 1, Use::Read);
            run(state, 1, Use::Change);
            run(dst, 1, Use::Write);
        }
        Instruction::Reinterpret { entry, dst, src } => {
            let (from, to) = &program.reinterpreted[entry as usize];
            run(src, from.leaves.len(), Use::Read);
            run(dst, to.leaves.len(), Use::Write);
        }
        Instruction::LowerBound {
            dst,
            array,
            begin,
            end,
            value,
            ..
        } => {
            run(array, ARRAY_LEAVES, Use::Read);
            [begin, end, value]
                .iter()
                .for_each(|cell| run(*cell, 1, Use::Read));
            run(dst, 1, Use::Write);
        }
        Instruction::Allocate { array, .. } => run(array, ARRAY_LEAVES, Use::Write),
        Instruction::Dense { entry } => {
            let call = &program.dense[entry as usize];
            call.sizes.iter().for_each(|cell| run(*cell, 1, Use::Read));
            if let Some(cell) = call.number {
                run(cell, 1, Use::Read);
            }
            let arrays = call.arrays.iter();
            arrays.for_each(|(cell, _)| run(*cell, ARRAY_LEAVES, Use::Read));
        }
        Instruction::Tile { entry } => {
            let call = &program.tiles[entry as usize];
            call.cells(|cell, count, writes| {
                run(cell, count, if writes { Use::Write } else { Use::Read });
            });
        }
        Instruction::Mark { .. }
        | Instruction::CheckMarked { .. }
        | Instruction::EndIf
        | Instruction::Loop
        | Instruction::LoopNext { .. }
        | Instruction::LoopExit
        | Instruction::Break { .. }
        | Instruction::Continue { .. }
        | Instruction::Enter
        | Instruction::Leave
        | Instruction::Return
        | Instruction::ReturnTo { .. }
        | Instruction::Label { .. } => {}
    }
}

/// Whether the instruction decides which lanes run next.
pub(super) fn is_control(instruction: &Instruction) -> bool {
    matches!(
        instruction,
        Instruction::If { .. }
            | Instruction::EndIf
            | Instruction::Loop
            | Instruction::LoopTest { .. }
            | Instruction::LoopNext { .. }
            | Instruction::LoopExit
            | Instruction::Break { .. }
            | Instruction::Continue { .. }
            | Instruction::Enter
            | Instruction::Leave
            | Instruction::Return
            | Instruction::ReturnTo { .. }
            | Instruction::Label { .. }
    )
}

/// Whether the instruction does nothing but write its results: no lane stops at it.
pub(super) fn is_pure(instruction: &Instruction) -> bool {
    use crate::instruction::Binary;
    match instruction {
        Instruction::Binary { op, ty, .. } => {
            ty.is_float() || !matches!(op, Binary::Div | Binary::Mod | Binary::FloorDiv)
        }
        Instruction::Unary { .. }
        | Instruction::Classify { .. }
        | Instruction::Compare { .. }
        | Instruction::Select { .. }
        | Instruction::MulAdd { .. }
        | Instruction::Move { .. }
        | Instruction::Cast { .. }
        | Instruction::Gather { .. }
        | Instruction::Tid { .. }
        | Instruction::Load { .. }
        | Instruction::RangeTest { .. }
        | Instruction::Factor { .. }
        | Instruction::Noise { .. }
        | Instruction::Reinterpret { .. } => true,
        _ => false,
    }
}
