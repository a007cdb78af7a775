//! Stacks of a block. A block is one thread on a CPU: a stack is an array of its own and a number of values.

use super::super::builder::{Builder, LaidOut, Planned};
use super::super::frame::Frame;
use super::super::program::OwnArray;
use super::super::statement::{Arg, Statement};
use crate::instruction::{Binary, Instruction, Location};
use crate::lanes::Cell;
use crate::layout::{ARRAY_LEAVES, Layout};
use warpsmith_ir::types::{Scalar, Type, TypeId};
use warpsmith_ir::{Comparison, VarId};

const INTS: Scalar = Scalar::I32;

/// A stack: its array, how many values there are, what they are, and how many there may be.
struct Stack {
    array: Cell,
    count: Cell,
    element: TypeId,
    capacity: u32,
}

impl<'m> Builder<'m> {
    fn stack(&mut self, frame: &Frame<'m>, var: VarId) -> Planned<Stack> {
        let Type::TileStack { element, capacity } = frame.kind(self, var) else {
            return self.unknown("a stack of this type");
        };
        let array = frame.cell(var);
        Ok(Stack {
            array,
            count: array.at(ARRAY_LEAVES),
            element,
            capacity,
        })
    }

    /// Lays out a statement on a stack; false if it is none.
    pub(super) fn tile_stack(&mut self, frame: &Frame<'m>, statement: &Statement<'m>) -> LaidOut {
        match (statement.name, statement.args.as_slice(), statement.out) {
            ("tile_stack_init", [], Some(out)) => self.stack_init(frame, out)?,
            ("tile_stack_push", [Arg::Var(stack), Arg::Var(value), Arg::Var(has)], out) => {
                let stack = self.stack(frame, *stack)?;
                self.stack_push(frame, &stack, (*value, *has), out);
            }
            ("tile_stack_pop", [Arg::Var(stack), Arg::Var(value), Arg::Var(slot)], None) => {
                let stack = self.stack(frame, *stack)?;
                self.stack_pop(frame, &stack, *value, *slot);
            }
            ("tile_stack_clear", [Arg::Var(stack)], None) => {
                let (stack, zero) = (self.stack(frame, *stack)?, self.integer(0));
                self.copy(INTS, stack.count, zero);
            }
            ("tile_stack_count", [Arg::Var(stack)], Some(out)) => {
                let stack = self.stack(frame, *stack)?;
                self.copy(INTS, frame.cell(out), stack.count);
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    fn stack_init(&mut self, frame: &Frame<'m>, out: VarId) -> Planned<()> {
        let stack = self.stack(frame, out)?;
        let layout = Layout::clone(&self.layout(stack.element));
        if layout.holds_array || stack.capacity as usize * layout.leaves.len() > super::LARGEST_TILE
        {
            return self.unknown("a stack of more than 65536 numbers");
        }
        let entry = self.own_arrays.len() as u32;
        self.own_arrays.push(OwnArray {
            layout,
            rank: 1,
            dims: [stack.capacity, 0, 0, 0],
        });
        // Blocks of threads use the same memory one after the other.
        self.ordered = true;
        let (array, zero) = (stack.array, self.integer(0));
        self.emit(Instruction::Allocate { entry, array });
        self.copy(INTS, stack.count, zero);
        Ok(())
    }

    /// The place of a value, by its number.
    fn stack_place(&mut self, stack: &Stack, number: Cell) -> Location {
        let at = self.binary(Binary::Add, INTS, stack.array.at(1), number);
        let element = self.cells_for(1);
        self.copy(INTS, element, at);
        Location::of_element(stack.array, element, stack.element)
    }

    fn stack_push(
        &mut self,
        frame: &Frame<'m>,
        stack: &Stack,
        (value, has): (VarId, VarId),
        out: Option<VarId>,
    ) {
        let [slot, fits, has_value] = [0; 3].map(|_| self.cells_for(1));
        let (one, none) = (self.integer(1), self.integer(-1));
        let capacity = self.integer(i64::from(stack.capacity));
        self.copy(INTS, slot, stack.count);
        self.copy(Scalar::Bool, has_value, frame.cell(has));
        let room = self.compare(Comparison::Less, INTS, slot, capacity);
        let both = self.binary(Binary::And, Scalar::Bool, has_value, room);
        self.copy(Scalar::Bool, fits, both);
        let opened = self.code.len();
        self.emit(Instruction::If {
            cond: fits,
            negated: false,
            end: 0,
            skips: true,
        });
        let at = self.stack_place(stack, slot);
        let layout = self.layout(stack.element);
        for (n, leaf) in layout.leaves.iter().enumerate() {
            let column = n as u32;
            self.emit(Instruction::Store {
                ty: leaf.scalar,
                src: frame.cell(value).at(n),
                to: Location { column, ..at },
            });
        }
        let more = self.binary(Binary::Add, INTS, slot, one);
        self.copy(INTS, stack.count, more);
        self.close_branch(Some(opened));
        if let Some(out) = out {
            let found = self.select(INTS, fits, slot, none);
            self.copy(INTS, frame.cell(out), found);
        }
    }

    fn stack_pop(&mut self, frame: &Frame<'m>, stack: &Stack, value: VarId, slot: VarId) {
        let [last, found, place] = [0; 3].map(|_| self.cells_for(1));
        let (zero, one, none) = (self.integer(0), self.integer(1), self.integer(-1));
        let before = self.binary(Binary::Sub, INTS, stack.count, one);
        self.copy(INTS, last, before);
        let some = self.compare(Comparison::GreaterEqual, INTS, last, zero);
        self.copy(Scalar::Bool, found, some);
        let inside = self.binary(Binary::Max, INTS, last, zero);
        self.copy(INTS, place, inside);
        let at = self.stack_place(stack, place);
        let layout = self.layout(stack.element);
        for (n, leaf) in layout.leaves.iter().enumerate() {
            let (ty, column) = (leaf.scalar, n as u32);
            let dst = self.temporary();
            let from = Location { column, ..at };
            self.emit(Instruction::Load { ty, dst, from });
            let nothing = self.bits(ty, 0);
            let taken = self.select(ty, found, dst, nothing);
            self.copy(ty, frame.cell(value).at(n), taken);
        }
        let number = self.select(INTS, found, last, none);
        self.copy(INTS, frame.cell(slot), number);
        self.copy(INTS, stack.count, place);
    }
}
