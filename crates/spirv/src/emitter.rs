//! The state of an emission: cells as variables of the function, what is known of them, and faults.
//!
//! Invariants: a value that is `known` dominates the place where code is written; closing a branch or a
//! loop forgets all of them. A thread with a fault goes on without touching memory: its loads give zero,
//! its stores and atomic updates are left out.

use std::collections::HashMap;
use std::rc::Rc;

use super::cells::Cells;
use super::control::Open;
use super::opcode::{Op, built_in, storage};
use super::writer::{Id, Kind, WORKGROUP, Writer};
use super::{CUT, Prints, SpirvTarget};
use warpsmith_interpreter::scalar_form::Instruction;
use warpsmith_interpreter::scalar_form::Layout;
use warpsmith_interpreter::scalar_form::Program;
use warpsmith_interpreter::scalar_form::{Cell, is_wide};
use warpsmith_ir::Module;
use warpsmith_ir::types::{Scalar, TypeId};

/// Words at the beginning of the launch block, before the values of the parameters.
pub(super) const HEADER_WORDS: usize = 12;
/// The first of two words that are always zero: what loads from nowhere give, vectors too.
pub(super) const ZERO_WORD: usize = 0;
/// Which word holds the address of the two words in which faults are noted.
pub(super) const STATUS_WORD: usize = 2;
pub(super) const THREADS_WORD: usize = 3;
/// The first of four words with the launch grid.
pub(super) const DIM_WORD: usize = 4;
/// Two words that are always one, which no compiler can know.
pub(super) const ONE_WORDS: [usize; 2] = [8, 9];
/// Which word holds the number of the first buffer that is not an argument's but the threads' own.
pub(super) const FIRST_OWN_WORD: usize = 10;
/// Which word holds the address of the buffer in which threads print.
pub(super) const PRINT_WORD: usize = 11;

/// What Vulkan kernels do not support.
pub(super) struct Refusal {
    pub(super) what: String,
    pub(super) at: usize,
}

pub(super) type Emitted<T = ()> = Result<T, Refusal>;

pub(super) struct Emitter<'p> {
    pub(super) module: &'p Module,
    pub(super) program: &'p Program,
    pub(super) w: Writer,
    /// Position of the instruction being written.
    pub(super) at: usize,
    /// The program's instructions, each at its position, without those that change nothing.
    pub(super) code: &'p [Option<Instruction>],
    pub(super) cells: Cells,
    /// Whether a constant turned out to be written to after it had been taken for one.
    pub(super) found_a_changed_constant: bool,
    layouts: HashMap<TypeId, Rc<Layout>>,
    /// The address of the launch block.
    pub(super) block: Id,
    pub(super) thread: Id,
    dims: [Id; 4],
    /// The block's word of zero, which no compiler knows; 0 while it was not loaded.
    zero_word: Id,
    /// The first slot of each parameter in the block.
    first_slots: Vec<u32>,
    /// The words of the block that were loaded in front of all other code, by slot; 0 where not.
    slot_values: Vec<Id>,
    /// The addresses of values and gradients of array parameters, likewise.
    bases: Vec<[Id; 2]>,
    /// Where the buffers' addresses begin in the block.
    pub(super) table: usize,
    /// Zero, or why the thread waits: see `control`.
    pub(super) gone: Id,
    faulted: Id,
    noted: Id,
    pub(super) iterations: Id,
    /// Words of zero, one and one that no compiler knows, where loops may be cut.
    pub(super) unknown: Option<[Id; 3]>,
    pub(super) target: SpirvTarget,
    pub(super) marks: Vec<Id>,
    pub(super) opened: Vec<Open>,
    /// Reasons for which the thread may wait here.
    pub(super) pending: std::collections::BTreeSet<u32>,
    pub(super) loops: u32,
    pub(super) functions: u32,
}

/// The type that a scalar has in a lane.
pub(super) fn kind(scalar: Scalar) -> Kind {
    match scalar {
        Scalar::F32 | Scalar::F16 | Scalar::BF16 => Kind::F32,
        Scalar::F64 => Kind::F64,
        _ if is_wide(scalar) => Kind::U64,
        _ => Kind::U32,
    }
}

/// The cells that a launch fills, in the order of the block; `begins` hears where each parameter does.
pub(super) fn slots(
    module: &Module,
    program: &Program,
    mut begins: impl FnMut(u32),
) -> Vec<(Cell, Scalar)> {
    let mut slots = Vec::new();
    for parameter in &program.parameters {
        begins(slots.len() as u32);
        let layout = Layout::of(module, parameter.ty);
        let leaves = layout.leaves.iter().enumerate();
        slots.extend(leaves.map(|(n, leaf)| (parameter.first.at(n), leaf.scalar)));
    }
    slots.extend(program.block_dim.map(|cell| (cell, Scalar::I32)));
    slots
}

impl<'p> Emitter<'p> {
    /// An emission of `code`, which is `program`'s; `changed` are constants that it writes to.
    pub(super) fn new(
        module: &'p Module,
        program: &'p Program,
        code: &'p [Option<Instruction>],
        changed: &[u32],
        target: SpirvTarget,
    ) -> Self {
        let mut w = Writer::new(code.len());
        let gone = w.variable(Kind::U32);
        let faulted = w.variable(Kind::U32);
        let noted = w.variable(Kind::U32);
        let iterations = w.variable(Kind::U32);
        let marks = (program.marks.iter())
            .map(|_| w.variable(Kind::U32))
            .collect();
        let mut first_slots = Vec::with_capacity(program.parameters.len());
        let slots = slots(module, program, |first| first_slots.push(first));
        Self {
            module,
            program,
            w,
            at: 0,
            code,
            cells: Cells::new(program, &slots, changed),
            found_a_changed_constant: false,
            layouts: HashMap::new(),
            block: 0,
            thread: 0,
            dims: [0; 4],
            zero_word: 0,
            first_slots,
            slot_values: vec![0; slots.len()],
            bases: vec![[0; 2]; program.parameters.len()],
            table: 8 * (HEADER_WORDS + slots.len()),
            gone,
            faulted,
            noted,
            iterations,
            unknown: None,
            target,
            marks,
            opened: Vec::new(),
            pending: std::collections::BTreeSet::new(),
            loops: 0,
            functions: 0,
        }
    }

    pub(super) fn refuse<T>(&self, what: impl Into<String>) -> Emitted<T> {
        Err(Refusal {
            what: what.into(),
            at: self.at,
        })
    }

    /// Writes the whole program.
    pub(super) fn emit(&mut self) -> Emitted {
        self.begin();
        let code = self.code;
        let mut at = 0;
        while at < code.len() {
            self.at = at;
            if let Some(last) = self.side_by_side(at) {
                at = last;
            } else if let Some(instruction) = &code[at] {
                self.instruction(instruction)?;
            }
            at += 1;
        }
        self.note_faults();
        self.close_branch();
        self.clear_late();
        Ok(())
    }

    /// The thread's number, and a branch around all threads that exist.
    fn begin(&mut self) {
        let in_front = self.w.code_in_front();
        let push = self.w.push_constant();
        let word = self.w.pointer(storage::PUSH_CONSTANT, Kind::U64);
        let zero = self.w.u32(0);
        let member = self.w.typed(Op::AccessChain, word, &[push, zero]);
        self.block = self.w.value(Op::Load, Kind::U64, &[member]);
        self.thread = self.thread_number();
        if self.target.cuts_loops {
            let words = [ZERO_WORD, ONE_WORDS[0], ONE_WORDS[1]].map(|n| self.word(n));
            self.unknown = Some(words.map(|word| self.w.value(Op::UConvert, Kind::U32, &[word])));
        }
        self.w.code_goes_on(in_front);
        let threads = self.word(THREADS_WORD);
        let threads = self.w.value(Op::UConvert, Kind::U32, &[threads]);
        let exists = self
            .w
            .value(Op::ULessThan, Kind::Bool, &[self.thread, threads]);
        self.open_branch(exists);
    }

    /// What a slot of the block holds, loaded in front of all other code.
    pub(super) fn slot_value(&mut self, slot: usize, wide: bool) -> Id {
        if self.slot_values[slot] != 0 {
            return self.slot_values[slot];
        }
        let in_front = self.w.code_in_front();
        let mut value = self.word(HEADER_WORDS + slot);
        if !wide {
            value = self.w.value(Op::UConvert, Kind::U32, &[value]);
        }
        self.w.code_goes_on(in_front);
        self.slot_values[slot] = value;
        value
    }

    /// A word of an array parameter: buffer, first element, sizes, strides.
    pub(super) fn array_word(&mut self, param: u16, n: usize) -> Id {
        let first = self.first_slots[usize::from(param)] as usize;
        self.slot_value(first + n, false)
    }

    /// The address of an array parameter's values (space 0) or gradients (1).
    pub(super) fn base(&mut self, param: u16, space: usize) -> Id {
        let known = self.bases[usize::from(param)][space];
        if known != 0 {
            return known;
        }
        let in_front = self.w.code_in_front();
        let buffer = self.array_word(param, 0);
        // An array that was not given has the buffer -1; its accesses are faults.
        let zero = self.w.u32(0);
        let operands = [buffer, zero];
        let given = (self.w).value(Op::SGreaterThanEqual, Kind::Bool, &operands);
        let buffer = self.select(Kind::U32, given, buffer, zero);
        let base = self.buffer_address(buffer, space as u64);
        self.w.code_goes_on(in_front);
        self.bases[usize::from(param)][space] = base;
        base
    }

    fn thread_number(&mut self) -> Id {
        let vector = self.w.vector3();
        let part = |emitter: &mut Self, which: u32, n: u32| {
            let variable = emitter.w.built_in(which, vector);
            let value = emitter.w.typed(Op::Load, vector, &[variable]);
            [n, n + 1].map(|n| (emitter.w).value(Op::CompositeExtract, Kind::U32, &[value, n]))
        };
        let [x, y] = part(self, built_in::WORKGROUP_ID, 0);
        let [width, _] = part(self, built_in::NUM_WORKGROUPS, 0);
        let word = self.w.ty(Kind::U32);
        let local = self.w.built_in(built_in::LOCAL_INVOCATION_INDEX, word);
        let local = self.w.value(Op::Load, Kind::U32, &[local]);
        let row = self.w.value(Op::IMul, Kind::U32, &[y, width]);
        let group = self.w.value(Op::IAdd, Kind::U32, &[row, x]);
        let size = self.w.u32(WORKGROUP);
        let first = self.w.value(Op::IMul, Kind::U32, &[group, size]);
        self.w.value(Op::IAdd, Kind::U32, &[first, local])
    }

    /// A word of the launch block.
    pub(super) fn word(&mut self, n: usize) -> Id {
        let offset = self.w.u64(8 * n as u64);
        let address = self.w.value(Op::IAdd, Kind::U64, &[self.block, offset]);
        self.load_at(Kind::U64, address)
    }

    /// If the thread has a fault, its place goes to the status words: the first in the program wins.
    fn note_faults(&mut self) {
        self.close_guards();
        for (variable, offset) in [(self.faulted, 0), (self.noted, 4)] {
            let place = self.w.value(Op::Load, Kind::U32, &[variable]);
            let zero = self.w.u32(0);
            let any = self.w.value(Op::INotEqual, Kind::Bool, &[place, zero]);
            let merge = self.open_plain(any);
            let status = self.word(STATUS_WORD);
            let offset = self.w.u64(offset);
            let address = self.w.value(Op::IAdd, Kind::U64, &[status, offset]);
            let pointer = self.pointer_to(Kind::U32, address);
            // Scope 1 is the device; 0 is no ordering.
            let (scope, order) = (self.w.u32(1), self.w.u32(0));
            let operands = [pointer, scope, order, place];
            self.w.value(Op::AtomicUMin, Kind::U32, &operands);
            self.close_plain(merge);
        }
    }

    pub(super) fn layout(&mut self, ty: TypeId) -> Rc<Layout> {
        let module = self.module;
        let made = || Rc::new(Layout::of(module, ty));
        Rc::clone(self.layouts.entry(ty).or_insert_with(made))
    }

    /// The launch grid's size along an axis.
    pub(super) fn dim(&mut self, axis: usize) -> Id {
        if self.dims[axis] == 0 {
            let in_front = self.w.code_in_front();
            let size = self.word(DIM_WORD + axis);
            self.dims[axis] = self.w.value(Op::UConvert, Kind::U32, &[size]);
            self.w.code_goes_on(in_front);
        }
        self.dims[axis]
    }

    /// A 64-bit zero that no compiler knows.
    pub(super) fn unknown_zero(&mut self) -> Id {
        if self.zero_word == 0 {
            let in_front = self.w.code_in_front();
            self.zero_word = self.word(ZERO_WORD);
            self.w.code_goes_on(in_front);
        }
        self.zero_word
    }

    /// A value's bits.
    pub(super) fn bits(&mut self, kind: Kind, value: Id) -> Id {
        match kind {
            Kind::F32 => self.w.value(Op::Bitcast, Kind::U32, &[value]),
            Kind::F64 => self.w.value(Op::Bitcast, Kind::U64, &[value]),
            _ => value,
        }
    }

    pub(super) fn select(&mut self, kind: Kind, cond: Id, a: Id, b: Id) -> Id {
        self.w.value(Op::Select, kind, &[cond, a, b])
    }

    /// Whether a cell's truth value holds.
    pub(super) fn truth(&mut self, cell: Cell) -> Id {
        let value = self.read(cell, Kind::U32);
        let zero = self.w.u32(0);
        self.w.value(Op::INotEqual, Kind::Bool, &[value, zero])
    }

    /// A truth value as a lane holds it.
    pub(super) fn number(&mut self, truth: Id) -> Id {
        let (one, zero) = (self.w.u32(1), self.w.u32(0));
        self.select(Kind::U32, truth, one, zero)
    }

    /// Notes a fault of this instruction where `bad` holds, unless the thread has one already.
    pub(super) fn fault(&mut self, bad: Id) {
        let variable = self.faulted;
        self.note(variable, bad, self.at);
    }

    /// As [`Emitter::fault`], of a loop that the driver left before its end.
    pub(super) fn fault_by_cut(&mut self, bad: Id) {
        let variable = self.faulted;
        self.note(variable, bad, self.at | CUT);
    }

    fn note(&mut self, variable: Id, bad: Id, place: usize) {
        let old = self.w.value(Op::Load, Kind::U32, &[variable]);
        let zero = self.w.u32(0);
        let first = self.w.value(Op::IEqual, Kind::Bool, &[old, zero]);
        let is_new = self.w.value(Op::LogicalAnd, Kind::Bool, &[first, bad]);
        let place = self.w.u32(place as u32 + 1);
        let new = self.select(Kind::U32, is_new, place, old);
        self.w.act(Op::Store, &[variable, new]);
    }

    /// Whether the thread has no fault.
    pub(super) fn alive(&mut self) -> Id {
        let fault = self.w.value(Op::Load, Kind::U32, &[self.faulted]);
        let zero = self.w.u32(0);
        self.w.value(Op::IEqual, Kind::Bool, &[fault, zero])
    }

    pub(super) fn mark(&mut self, variable: u32) {
        let one = self.w.u32(1);
        let operands = [self.marks[variable as usize], one];
        self.w.act(Op::Store, &operands);
    }

    /// A fault where a variable has no value.
    pub(super) fn check_mark(&mut self, variable: u32) {
        let mark = self.marks[variable as usize];
        let value = self.w.value(Op::Load, Kind::U32, &[mark]);
        let zero = self.w.u32(0);
        let bad = self.w.value(Op::IEqual, Kind::Bool, &[value, zero]);
        self.fault(bad);
    }

    pub(super) fn expect(&mut self, cond: Cell, stops: bool) {
        let truth = self.truth(cond);
        let failed = self.w.value(Op::LogicalNot, Kind::Bool, &[truth]);
        let variable = if stops { self.faulted } else { self.noted };
        self.note(variable, failed, self.at);
    }

    fn instruction(&mut self, instruction: &Instruction) -> Emitted {
        if self.control(instruction)? {
            return Ok(());
        }
        self.ensure_active();
        if self.scalar(instruction)? || self.memory(instruction)? {
            return Ok(());
        }
        let what = match instruction {
            Instruction::Tile { entry } => return self.tile(*entry),
            Instruction::Dense { entry } => return self.dense(*entry),
            Instruction::Print { entry } => match self.target.prints {
                Prints::Kept => {
                    self.print(*entry);
                    return Ok(());
                }
                Prints::Silent => return Ok(()),
                Prints::Refused => "printing",
            },
            Instruction::Ask { .. } => "hash grids, trees of boxes, meshes and volumes",
            _ => "this operation",
        };
        self.refuse(what)
    }
}
