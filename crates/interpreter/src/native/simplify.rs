//! Takes out of a program what changes no result.
//!
//! An adjoint begins by zeroing every variable, copies what it might need and returns to labels that
//! follow at once; the interpreter does all of that as it is written. Here copies are read where they come
//! from, zeroes that are overwritten are not written, results that nobody reads are not computed.
//!
//! Invariant: instructions keep their positions, so that findings name the same lines.

use super::cells::{Use, cells, is_control, is_pure};
use super::reuse::reuse;
use crate::instruction::{Binary, Instruction};
use crate::lanes::Cell;
use crate::plan::Program;
use warpsmith_ir::types::Scalar;

/// Copies that are remembered at a time, and passes that look for what nobody reads: bounds on the work
/// that a long program makes.
const MOST_COPIES: usize = 64;
const MOST_PASSES: usize = 8;
/// In longer programs zeroes are written as they stand.
const LONGEST_FOLLOWED: usize = 1 << 14;

/// The instructions that are left, each at its old position.
pub type Code = Vec<Option<Instruction>>;

/// Simplifies a program.
pub fn simplify(program: &Program) -> Code {
    simplify_and(program, |_, _| {})
}

/// As [`simplify`], for code that nobody simplifies after us.
pub(super) fn simplify_fully(program: &Program) -> Code {
    simplify_and(program, |code, zeroes| reuse(code, program, zeroes))
}

fn simplify_and(program: &Program, further: impl Fn(&mut Code, &Zeroes)) -> Code {
    let mut code: Code = program.code.iter().copied().map(Some).collect();
    drop_empty_jumps(&mut code);
    forward_copies(&mut code, program);
    let zeroes = Zeroes::of(program);
    drop_overwritten_zeroes(&mut code, program, &zeroes);
    further(&mut code, &zeroes);
    drop_unread(&mut code, program);
    code
}

/// The runs of cells that a zeroing instruction at this position of simplified code is needed for: the
/// others are overwritten before anything reads them.
pub(super) fn needed_zeroes(
    code: &Code,
    program: &Program,
    at: usize,
    (first, count): (Cell, u32),
) -> Vec<(Cell, u32)> {
    if !can_follow(code) {
        return vec![(first, count)];
    }
    let mut fates: Vec<Option<Fate>> = (0..count).map(|_| None).collect();
    follow(code, program, at, first, &mut fates);
    let mut runs: Vec<(Cell, u32)> = Vec::new();
    for (n, fate) in fates.iter().enumerate() {
        if matches!(fate, Some(Fate::Needed | Fate::AddedTo(_))) {
            match runs.last_mut() {
                Some((start, length)) if start.0 + *length == first.at(n).0 => *length += 1,
                _ => runs.push((first.at(n), 1)),
            }
        }
    }
    runs
}

/// Whether zeroes can be followed: lanes that wait for a label skip what stands before it.
fn can_follow(code: &Code) -> bool {
    let mut left = code.iter().flatten();
    code.len() <= LONGEST_FOLLOWED && !left.any(|it| matches!(it, Instruction::Label { .. }))
}

/// Functions that return at their end alone, and returns to a label that follows at once.
fn drop_empty_jumps(code: &mut Code) {
    // For each open function: where it begins, and where it returns (if once).
    let mut open: Vec<(usize, Vec<usize>)> = Vec::new();
    for at in 0..code.len() {
        match code[at] {
            Some(Instruction::Enter) => open.push((at, Vec::new())),
            Some(Instruction::Return) => {
                if let Some((_, returns)) = open.last_mut() {
                    returns.push(at);
                }
            }
            Some(Instruction::Leave) => {
                let Some((enter, returns)) = open.pop() else {
                    continue;
                };
                let empty = match *returns {
                    [] => true,
                    [only] => only + 1 == at,
                    _ => false,
                };
                if empty {
                    returns
                        .into_iter()
                        .chain([enter, at])
                        .for_each(|n| code[n] = None);
                }
            }
            Some(Instruction::ReturnTo { label }) => {
                let next = code.get(at + 1).copied().flatten();
                if matches!(next, Some(Instruction::Label { label: other }) if other == label) {
                    code[at] = None;
                    code[at + 1] = None;
                }
            }
            _ => {}
        }
    }
}

/// Reads of a copy become reads of what was copied, up to where either changes or control divides.
fn forward_copies(code: &mut Code, program: &Program) {
    let mut copies = Copies::default();
    for instruction in code.iter_mut().flatten() {
        copies.replace_in(instruction);
        copies.note(instruction, program);
    }
}

/// Pairs of a copy and its source that hold in straight code; few do at a time.
#[derive(Default)]
pub(super) struct Copies(Vec<(Cell, Cell)>);

impl Copies {
    /// Lets an instruction read sources instead of copies.
    pub(super) fn replace_in(&self, instruction: &mut Instruction) {
        replace_reads(instruction, &self.0);
    }

    /// Takes note of what an instruction copies and changes.
    pub(super) fn note(&mut self, instruction: &Instruction, program: &Program) {
        let copies = &mut self.0;
        if is_control(instruction) {
            copies.clear();
            return;
        }
        cells(instruction, program, |cell, how| {
            if how != Use::Read {
                copies.retain(|(copy, source)| *copy != cell && *source != cell);
            }
        });
        if let Instruction::Move { dst, src, .. } = *instruction
            && dst != src
        {
            if copies.len() == MOST_COPIES {
                copies.remove(0);
            }
            copies.push((dst, src));
        }
    }
}

/// Replaces operands of the instructions that become steps; the machine executes others as they stand.
fn replace_reads(instruction: &mut Instruction, copies: &[(Cell, Cell)]) {
    if copies.is_empty() {
        return;
    }
    let through = |cell: &mut Cell| {
        if let Some((_, source)) = copies.iter().find(|(copy, _)| copy == cell) {
            *cell = *source;
        }
    };
    match instruction {
        Instruction::Binary { a, b, .. } | Instruction::Compare { a, b, .. } => {
            through(a);
            through(b);
        }
        Instruction::Unary { a, .. }
        | Instruction::Classify { a, .. }
        | Instruction::Move { src: a, .. }
        | Instruction::Cast { src: a, .. } => through(a),
        Instruction::Load { from, .. } => through(&mut from.element),
        Instruction::Store { src: a, to: at, .. } | Instruction::Atomic { src: a, at, .. } => {
            through(a);
            through(&mut at.element);
        }
        Instruction::Select { cond, a, b, .. } => [cond, a, b].into_iter().for_each(through),
        Instruction::MulAdd { a, b, c, .. } => [a, b, c].into_iter().for_each(through),
        Instruction::AddressParam { rank, indices, .. } => {
            indices[..usize::from(*rank)].iter_mut().for_each(through);
        }
        _ => {}
    }
}

/// Cells that are zero throughout, by type.
pub(super) struct Zeroes(Vec<(Scalar, Cell)>);

impl Zeroes {
    fn of(program: &Program) -> Self {
        let constants = program.constants.iter();
        let zeroes = constants.filter(|(_, _, bits)| *bits == 0);
        Self(zeroes.map(|(cell, ty, _)| (*ty, *cell)).collect())
    }

    fn cell(&self, ty: Scalar) -> Option<Cell> {
        self.0
            .iter()
            .find(|(other, _)| *other == ty)
            .map(|(_, cell)| *cell)
    }

    /// Whether a cell is the zero of a type.
    pub(super) fn is_zero(&self, ty: Scalar, cell: Cell) -> bool {
        self.cell(ty) == Some(cell)
    }
}

/// What becomes of a cell after it is zeroed.
enum Fate {
    /// Overwritten before anything reads it.
    Overwritten,
    /// The first use adds to it, at this position.
    AddedTo(usize),
    Needed,
}

fn drop_overwritten_zeroes(code: &mut Code, program: &Program, zeroes: &Zeroes) {
    if !can_follow(code) {
        return;
    }
    for at in 0..code.len() {
        let Some(Instruction::Zero { first, count }) = code[at] else {
            continue;
        };
        let mut fates: Vec<Option<Fate>> = (0..count).map(|_| None).collect();
        follow(code, program, at, first, &mut fates);
        let mut kept = Vec::new();
        for (n, fate) in fates.into_iter().enumerate() {
            match fate {
                Some(Fate::Overwritten) => {}
                Some(Fate::AddedTo(position)) => {
                    let replaced = match &mut code[position] {
                        Some(Instruction::Binary { ty, a, .. }) => {
                            zeroes.cell(*ty).is_some_and(|zero| {
                                *a = zero;
                                true
                            })
                        }
                        _ => false,
                    };
                    if !replaced {
                        kept.push(n);
                    }
                }
                Some(Fate::Needed) => kept.push(n),
                // Nothing uses it.
                None => {}
            }
        }
        code[at] = contiguous(first, &kept);
    }
}

/// One instruction that zeroes the cells that are left: those between are zeroed with them.
fn contiguous(first: Cell, kept: &[usize]) -> Option<Instruction> {
    let (low, high) = (*kept.first()?, *kept.last()?);
    Some(Instruction::Zero {
        first: first.at(low),
        count: (high - low + 1) as u32,
    })
}

/// Finds the first use of each zeroed cell that every lane comes to.
fn follow(code: &Code, program: &Program, at: usize, first: Cell, fates: &mut [Option<Fate>]) {
    let mut depth = 0_usize;
    let mut left = fates.len();
    for (position, instruction) in code.iter().enumerate().skip(at + 1) {
        let Some(instruction) = instruction else {
            continue;
        };
        match instruction {
            Instruction::If { .. } | Instruction::Loop => depth += 1,
            Instruction::EndIf | Instruction::LoopExit => match depth.checked_sub(1) {
                Some(outer) => depth = outer,
                None => return need_the_rest(fates),
            },
            Instruction::Break { .. }
            | Instruction::Continue { .. }
            | Instruction::Return
            | Instruction::ReturnTo { .. } => return need_the_rest(fates),
            _ => {}
        }
        let adds = match *instruction {
            Instruction::Binary {
                op: Binary::Add,
                dst,
                a,
                b,
                ..
            } if dst == a && a != b => Some(a),
            _ => None,
        };
        let place = |cell: Cell| {
            let n = cell.0.checked_sub(first.0)? as usize;
            (n < fates.len()).then_some(n)
        };
        let mut seen: Vec<(usize, Use, bool)> = Vec::new();
        cells(instruction, program, |cell, how| {
            if let Some(n) = place(cell) {
                seen.push((n, how, adds == Some(cell)));
            }
        });
        for (n, how, added) in seen {
            if fates[n].is_none() {
                fates[n] = Some(match (how, depth, added) {
                    (Use::Write, 0, _) => Fate::Overwritten,
                    (Use::Read, 0, true) => Fate::AddedTo(position),
                    _ => Fate::Needed,
                });
                left -= 1;
            }
        }
        if left == 0 {
            return;
        }
    }
}

/// Where the walk ends early, whatever follows may read the zero.
fn need_the_rest(fates: &mut [Option<Fate>]) {
    for fate in fates.iter_mut().filter(|fate| fate.is_none()) {
        *fate = Some(Fate::Needed);
    }
}

/// Results that no instruction reads, and what only they needed.
fn drop_unread(code: &mut Code, program: &Program) {
    let base = program.first_cell;
    let mut readers = vec![0_u32; (program.cells - base) as usize];
    let place = |cell: Cell| (cell.0 - base) as usize;
    for instruction in code.iter().flatten() {
        others_read(instruction, program, |cell| readers[place(cell)] += 1);
    }
    for _ in 0..MOST_PASSES {
        let mut dropped = false;
        for slot in code.iter_mut().rev() {
            let Some(instruction) = slot else { continue };
            if let Instruction::Zero { first, count } = instruction {
                let used = (0..*count as usize).filter(|n| readers[place(first.at(*n))] > 0);
                *slot = contiguous(*first, &used.collect::<Vec<_>>());
                continue;
            }
            if !is_pure(instruction) {
                continue;
            }
            let mut read = false;
            cells(instruction, program, |cell, how| {
                read |= how != Use::Read && readers[place(cell)] > 0;
            });
            if !read {
                others_read(instruction, program, |cell| readers[place(cell)] -= 1);
                *slot = None;
                dropped = true;
            }
        }
        if !dropped {
            return;
        }
    }
}

/// The cells that an instruction reads; not the one that it only adds to.
fn others_read(instruction: &Instruction, program: &Program, mut see: impl FnMut(Cell)) {
    let own = match *instruction {
        Instruction::Binary { dst, .. } if is_pure(instruction) => Some(dst),
        _ => None,
    };
    cells(instruction, program, |cell, how| {
        if how != Use::Write && own != Some(cell) {
            see(cell);
        }
    });
}
