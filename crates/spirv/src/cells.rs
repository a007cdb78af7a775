//! The interpreter's cells as variables of the function, and what is known of them where code is written.
//!
//! A variable is made when a cell is first touched. What a parameter or a changed constant is at the beginning
//! is then stored in front of all other code; a cell that was cleared before its variable was there is
//! cleared where that happened when the code is finished.

use super::emitter::Emitter;
use super::opcode::Op;
use super::writer::{Id, Kind};
use warpsmith_interpreter::scalar_form::Program;
use warpsmith_interpreter::scalar_form::{Cell, is_wide};
use warpsmith_ir::types::Scalar;

/// Bits of a cell in one width.
#[derive(Clone, Copy, Default)]
struct Row {
    /// The variable; 0 while there is none.
    variable: Id,
    /// The value's bits, and the same as a float, where `age` says that they are known; 0 otherwise.
    bits: Id,
    float: Id,
    age: u32,
}

/// A cell that was cleared before it had a variable.
struct Cleared {
    /// Where in the code.
    at: usize,
    cell: u32,
}

pub(super) struct Cells {
    first: u32,
    rows: [Vec<Row>; 2],
    constants: Vec<Option<u64>>,
    /// Which word of the launch block a cell begins as, plus one, and whether that is a wide one.
    slots: Vec<(u32, bool)>,
    /// Values that were known when this was lower are known no longer.
    age: u32,
    cleared: Vec<Cleared>,
    /// Constants that something was written to after they had been taken for constants.
    pub(super) changed: Vec<u32>,
}

impl Cells {
    /// The cells of a program; `changed` are constants that it writes to.
    pub(super) fn new(program: &Program, slots: &[(Cell, Scalar)], changed: &[u32]) -> Self {
        let first = program.first_cell;
        let count = (program.cells.max(first) - first) as usize;
        let mut cells = Self {
            first,
            rows: [vec![Row::default(); count], vec![Row::default(); count]],
            constants: vec![None; count],
            slots: vec![(0, false); count],
            age: 1,
            cleared: Vec::new(),
            changed: changed.to_vec(),
        };
        for (cell, _, bits) in &program.constants {
            let at = cells.at(*cell);
            cells.constants[at] = Some(*bits);
        }
        for (n, (cell, scalar)) in slots.iter().enumerate() {
            let at = cells.at(*cell);
            cells.slots[at] = (n as u32 + 1, is_wide(*scalar));
        }
        cells
    }

    /// The bits of a cell that is a constant.
    pub(super) fn constant(&self, cell: Cell) -> Option<u64> {
        let is_changed = self.changed.contains(&cell.0);
        self.constants[self.at(cell)].filter(|_| !is_changed)
    }

    /// A cell's position: the program's cells are those that [`Cells::new`] made room for.
    fn at(&self, cell: Cell) -> usize {
        (cell.0 - self.first) as usize
    }
}

fn bits_of(kind: Kind) -> Kind {
    match kind {
        Kind::F64 | Kind::U64 => Kind::U64,
        _ => Kind::U32,
    }
}

impl Emitter<'_> {
    fn cell_variable(&mut self, at: usize, wide: bool) -> Id {
        let row = &self.cells.rows[usize::from(wide)][at];
        if row.variable != 0 {
            return row.variable;
        }
        let bits = if wide { Kind::U64 } else { Kind::U32 };
        let variable = self.w.variable(bits);
        self.cells.rows[usize::from(wide)][at].variable = variable;
        let start = match (self.cells.slots[at], self.cells.constants[at]) {
            ((0, _), None) => return variable,
            ((0, _), Some(constant)) => self.w.constant(bits, constant),
            ((slot, slot_is_wide), _) if slot_is_wide == wide => {
                let in_front = self.w.code_in_front();
                let value = self.slot_value(slot as usize - 1, wide);
                self.w.act(Op::Store, &[variable, value]);
                self.w.code_goes_on(in_front);
                return variable;
            }
            _ => return variable,
        };
        let in_front = self.w.code_in_front();
        self.w.act(Op::Store, &[variable, start]);
        self.w.code_goes_on(in_front);
        variable
    }

    /// A cell's value.
    pub(super) fn read(&mut self, cell: Cell, kind: Kind) -> Id {
        let at = self.cells.at(cell);
        if let Some(bits) = self.cells.constant(cell) {
            return self.w.constant(kind, bits);
        }
        let bits = bits_of(kind);
        let wide = bits == Kind::U64;
        let row = self.cells.rows[usize::from(wide)][at];
        let current = row.age == self.cells.age;
        let is_float = kind != bits;
        if current && is_float && row.float != 0 {
            return row.float;
        }
        let raw = if current && row.bits != 0 {
            row.bits
        } else {
            let variable = self.cell_variable(at, wide);
            self.w.value(Op::Load, bits, &[variable])
        };
        let mut float = if current { row.float } else { 0 };
        if is_float {
            float = if self.w.known_constant(bits, 0) == Some(raw) {
                self.w.constant(kind, 0)
            } else {
                self.w.value(Op::Bitcast, kind, &[raw])
            };
        }
        let age = self.cells.age;
        let row = &mut self.cells.rows[usize::from(wide)][at];
        (row.bits, row.float, row.age) = (raw, float, age);
        if is_float { float } else { raw }
    }

    pub(super) fn write(&mut self, cell: Cell, kind: Kind, value: Id) {
        let at = self.cells.at(cell);
        if self.cells.constant(cell).is_some() {
            self.cells.changed.push(cell.0);
            self.found_a_changed_constant = true;
        }
        let bits = bits_of(kind);
        let raw = self.bits(kind, value);
        let wide = bits == Kind::U64;
        let variable = self.cell_variable(at, wide);
        self.w.act(Op::Store, &[variable, raw]);
        let age = self.cells.age;
        let row = &mut self.cells.rows[usize::from(wide)][at];
        row.bits = raw;
        row.float = if kind == bits { 0 } else { value };
        row.age = age;
    }

    /// Clears cells in whichever width they are used.
    pub(super) fn zero(&mut self, first: Cell, count: u32) {
        for cell in first.0..first.0 + count {
            let at = self.cells.at(Cell(cell));
            let mut waits = false;
            for wide in [false, true] {
                let bits = if wide { Kind::U64 } else { Kind::U32 };
                if self.cells.rows[usize::from(wide)][at].variable != 0 {
                    let zero = self.w.constant(bits, 0);
                    self.write(Cell(cell), bits, zero);
                } else {
                    waits = true;
                    let zero = self.w.constant(bits, 0);
                    let age = self.cells.age;
                    let row = &mut self.cells.rows[usize::from(wide)][at];
                    (row.bits, row.float, row.age) = (zero, 0, age);
                }
            }
            // A variable begins as zero: outside of loops that is enough, unless it begins as something
            // else.
            let begins_as_zero = self.cells.slots[at].0 == 0 && self.cells.constants[at].is_none();
            if waits && !(begins_as_zero && self.is_outside_of_loops()) {
                let at = self.w.code_length();
                self.cells.cleared.push(Cleared { at, cell });
            }
        }
    }

    /// Stores the zeroes of cells that got a variable after they had been cleared.
    pub(super) fn clear_late(&mut self) {
        let cleared = std::mem::take(&mut self.cells.cleared);
        let mut stores: Vec<(usize, Id, Id)> = Vec::new();
        for Cleared { at, cell } in cleared {
            let row = self.cells.at(Cell(cell));
            for wide in [false, true] {
                let variable = self.cells.rows[usize::from(wide)][row].variable;
                if variable != 0 {
                    let bits = if wide { Kind::U64 } else { Kind::U32 };
                    stores.push((at, variable, self.w.constant(bits, 0)));
                }
            }
        }
        if !stores.is_empty() {
            self.w.insert_stores(&stores);
        }
    }

    /// A cell's value of a scalar type.
    pub(super) fn get(&mut self, cell: Cell, scalar: Scalar) -> Id {
        self.read(cell, super::emitter::kind(scalar))
    }

    pub(super) fn put(&mut self, cell: Cell, scalar: Scalar, value: Id) {
        self.write(cell, super::emitter::kind(scalar), value);
    }

    /// What was known no longer dominates what follows.
    pub(super) fn forget(&mut self) {
        self.cells.age += 1;
    }
}
