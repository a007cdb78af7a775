//! The state of an emission: cells as variables of the function, what is known of them, and faults.
//!
//! Invariants: a value that is `known` dominates the place where code is written; closing a branch or a
//! loop forgets all of them. A thread with a fault goes on without touching memory: its loads give zero,
//! its stores and atomic updates are left out.

use std::collections::{HashMap, HashSet};
use std::rc::Rc;

use super::SpirvTarget;
use super::control::Open;
use super::opcode::{Op, built_in, storage};
use super::writer::{Id, Kind, WORKGROUP, Writer};
use crate::instruction::Instruction;
use crate::lanes::{Cell, is_wide};
use crate::layout::Layout;
use crate::plan::Program;
use warpsmith_ir::Module;
use warpsmith_ir::types::{Scalar, TypeId};

/// Words at the beginning of the launch block, before the values of the parameters.
pub(super) const HEADER_WORDS: usize = 10;
/// Which word is always zero: what loads from nowhere give.
pub(super) const ZERO_WORD: usize = 0;
/// Which word holds the address of the two words in which faults are noted.
pub(super) const STATUS_WORD: usize = 1;
pub(super) const THREADS_WORD: usize = 2;
/// The first of four words with the launch grid.
pub(super) const DIM_WORD: usize = 3;
/// Two words that are always one, which no compiler can know.
pub(super) const ONE_WORDS: [usize; 2] = [7, 8];
/// Which word holds the number of the first buffer that is not an argument's but the threads' own.
pub(super) const FIRST_OWN_WORD: usize = 9;

/// What Vulkan kernels do not support.
pub(super) struct Refusal {
    pub(super) what: String,
    pub(super) at: usize,
}

pub(super) type Emitted<T = ()> = Result<T, Refusal>;

/// What a first pass over the program finds out.
#[derive(Default)]
pub(super) struct Survey {
    /// Cells that are used, as 64-bit ones or not.
    pub(super) used: HashSet<(u32, bool)>,
    /// Constants that something is written to.
    pub(super) overwritten: HashSet<u32>,
}

pub(super) struct Emitter<'p> {
    pub(super) module: &'p Module,
    pub(super) program: &'p Program,
    pub(super) w: Writer,
    /// Position of the instruction being written.
    pub(super) at: usize,
    constants: HashMap<u32, (Scalar, u64)>,
    variables: HashMap<(u32, bool), Id>,
    known: HashMap<(u32, Kind), Id>,
    before: &'p Survey,
    pub(super) survey: Survey,
    layouts: HashMap<TypeId, Rc<Layout>>,
    /// The address of the launch block.
    pub(super) block: Id,
    pub(super) thread: Id,
    dims: [Id; 4],
    /// The words of each array parameter: buffer, first element, sizes, strides.
    pub(super) arrays: HashMap<u16, Vec<Id>>,
    /// The addresses of values and gradients of array parameters.
    pub(super) bases: HashMap<u16, [Id; 2]>,
    /// Where the buffers' addresses begin in the block.
    pub(super) table: usize,
    /// Zero, or why the thread waits: see `control`.
    pub(super) gone: Id,
    faulted: Id,
    noted: Id,
    pub(super) iterations: Id,
    /// Words of zero, one and one that no compiler knows, where loops may be cut.
    pub(super) unknown: Option<[Id; 3]>,
    target: SpirvTarget,
    marks: Vec<Id>,
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

fn bits_of(kind: Kind) -> Kind {
    match kind {
        Kind::F64 | Kind::U64 => Kind::U64,
        _ => Kind::U32,
    }
}

/// The cells that a launch fills, in the order of the block.
pub(super) fn slots(module: &Module, program: &Program) -> Vec<(Cell, Scalar)> {
    let mut slots = Vec::new();
    for parameter in &program.parameters {
        let layout = Layout::of(module, parameter.ty);
        let leaves = layout.leaves.iter().enumerate();
        slots.extend(leaves.map(|(n, leaf)| (parameter.first.at(n), leaf.scalar)));
    }
    slots.extend(program.block_dim.map(|cell| (cell, Scalar::I32)));
    slots
}

impl<'p> Emitter<'p> {
    pub(super) fn new(
        module: &'p Module,
        program: &'p Program,
        before: &'p Survey,
        target: SpirvTarget,
    ) -> Self {
        let mut w = Writer::new();
        let gone = w.variable(Kind::U32);
        let faulted = w.variable(Kind::U32);
        let noted = w.variable(Kind::U32);
        let iterations = w.variable(Kind::U32);
        let marks = (program.marks.iter())
            .map(|_| w.variable(Kind::U32))
            .collect();
        let constants = (program.constants.iter())
            .map(|(cell, scalar, bits)| (cell.0, (*scalar, *bits)))
            .collect();
        let slots = slots(module, program).len();
        Self {
            module,
            program,
            w,
            at: 0,
            constants,
            variables: HashMap::new(),
            known: HashMap::new(),
            before,
            survey: Survey::default(),
            layouts: HashMap::new(),
            block: 0,
            thread: 0,
            dims: [0; 4],
            arrays: HashMap::new(),
            bases: HashMap::new(),
            table: 8 * (HEADER_WORDS + slots),
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
        let program = self.program;
        for (at, instruction) in program.code.iter().enumerate() {
            self.at = at;
            self.instruction(instruction)?;
        }
        self.note_faults();
        self.close_branch();
        Ok(())
    }

    /// The thread's number, the launch's values, and a branch around all threads that exist.
    fn begin(&mut self) {
        let push = self.w.push_constant();
        let word = self.w.pointer(storage::PUSH_CONSTANT, Kind::U64);
        let zero = self.w.u32(0);
        let member = self.w.typed(Op::AccessChain, word, &[push, zero]);
        self.block = self.w.value(Op::Load, Kind::U64, &[member]);
        self.thread = self.thread_number();
        for axis in 0..4 {
            let size = self.word(DIM_WORD + axis);
            self.dims[axis] = self.w.value(Op::UConvert, Kind::U32, &[size]);
        }
        if self.target.cuts_loops {
            let words = [ZERO_WORD, ONE_WORDS[0], ONE_WORDS[1]].map(|n| self.word(n));
            self.unknown = Some(words.map(|word| self.w.value(Op::UConvert, Kind::U32, &[word])));
        }
        let program = self.program;
        for (cell, scalar, bits) in &program.constants {
            if self.before.overwritten.contains(&cell.0) {
                self.constants.remove(&cell.0);
                let value = self.w.constant(bits_of(kind(*scalar)), *bits);
                self.write(*cell, bits_of(kind(*scalar)), value);
            }
        }
        let slots = slots(self.module, program);
        let mut values = HashMap::new();
        for (n, (cell, scalar)) in slots.into_iter().enumerate() {
            let wide = self.word(HEADER_WORDS + n);
            let value = if is_wide(scalar) {
                wide
            } else {
                self.w.value(Op::UConvert, Kind::U32, &[wide])
            };
            values.insert(cell.0, value);
            if self.before.used.contains(&(cell.0, is_wide(scalar))) {
                self.write(cell, bits_of(kind(scalar)), value);
            }
        }
        for (n, parameter) in program.parameters.iter().enumerate() {
            if self.module.types.array_parts(parameter.ty).is_some() {
                self.bind_array(n as u16, parameter.first, &values);
            }
        }
        let threads = self.word(THREADS_WORD);
        let threads = self.w.value(Op::UConvert, Kind::U32, &[threads]);
        let exists = self
            .w
            .value(Op::ULessThan, Kind::Bool, &[self.thread, threads]);
        self.open_branch(exists);
    }

    fn bind_array(&mut self, param: u16, first: Cell, values: &HashMap<u32, Id>) {
        let words: Vec<Id> = (0..crate::layout::ARRAY_LEAVES)
            .map(|n| values[&first.at(n).0])
            .collect();
        // An array that was not given has the buffer -1; its accesses are faults.
        let zero = self.w.u32(0);
        let given = self
            .w
            .value(Op::SGreaterThanEqual, Kind::Bool, &[words[0], zero]);
        let buffer = self.select(Kind::U32, given, words[0], zero);
        let bases = [0, 1].map(|space| self.buffer_address(buffer, space));
        self.arrays.insert(param, words);
        self.bases.insert(param, bases);
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

    pub(super) fn dim(&self, axis: usize) -> Id {
        self.dims[axis]
    }

    fn variable(&mut self, cell: Cell, wide: bool) -> Id {
        self.survey.used.insert((cell.0, wide));
        if let Some(id) = self.variables.get(&(cell.0, wide)) {
            return *id;
        }
        let id = self.w.variable(if wide { Kind::U64 } else { Kind::U32 });
        self.variables.insert((cell.0, wide), id);
        id
    }

    /// A cell's value.
    pub(super) fn read(&mut self, cell: Cell, kind: Kind) -> Id {
        if let Some((_, bits)) = self.constants.get(&cell.0) {
            return self.w.constant(kind, *bits);
        }
        if let Some(id) = self.known.get(&(cell.0, kind)) {
            return *id;
        }
        let bits = bits_of(kind);
        let raw = match self.known.get(&(cell.0, bits)) {
            Some(id) => *id,
            None => {
                let variable = self.variable(cell, bits == Kind::U64);
                let id = self.w.value(Op::Load, bits, &[variable]);
                self.known.insert((cell.0, bits), id);
                id
            }
        };
        let id = self.convert_bits(kind, raw);
        self.known.insert((cell.0, kind), id);
        id
    }

    /// A cell's value of a scalar type.
    pub(super) fn get(&mut self, cell: Cell, scalar: Scalar) -> Id {
        self.read(cell, kind(scalar))
    }

    pub(super) fn write(&mut self, cell: Cell, kind: Kind, value: Id) {
        if self.constants.contains_key(&cell.0) {
            self.survey.overwritten.insert(cell.0);
        }
        let bits = bits_of(kind);
        let raw = self.bits(kind, value);
        let variable = self.variable(cell, bits == Kind::U64);
        self.w.act(Op::Store, &[variable, raw]);
        for other in [Kind::F32, Kind::F64] {
            if bits_of(other) == bits {
                self.known.remove(&(cell.0, other));
            }
        }
        self.known.insert((cell.0, bits), raw);
        self.known.insert((cell.0, kind), value);
    }

    pub(super) fn put(&mut self, cell: Cell, scalar: Scalar, value: Id) {
        self.write(cell, kind(scalar), value);
    }

    /// What was known no longer dominates what follows.
    pub(super) fn forget(&mut self) {
        self.known.clear();
    }

    fn convert_bits(&mut self, kind: Kind, raw: Id) -> Id {
        match kind {
            Kind::F32 | Kind::F64 => self.w.value(Op::Bitcast, kind, &[raw]),
            _ => raw,
        }
    }

    /// A value's bits.
    pub(super) fn bits(&mut self, kind: Kind, value: Id) -> Id {
        match kind {
            Kind::F32 => self.w.value(Op::Bitcast, Kind::U32, &[value]),
            Kind::F64 => self.w.value(Op::Bitcast, Kind::U64, &[value]),
            _ => value,
        }
    }

    pub(super) fn zero(&mut self, first: Cell, count: u32) {
        let before = self.before;
        for cell in first.0..first.0 + count {
            for wide in [false, true] {
                if before.used.contains(&(cell, wide)) {
                    let bits = if wide { Kind::U64 } else { Kind::U32 };
                    let zero = self.w.constant(bits, 0);
                    self.write(Cell(cell), bits, zero);
                }
            }
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
        self.note(variable, bad);
    }

    fn note(&mut self, variable: Id, bad: Id) {
        let old = self.w.value(Op::Load, Kind::U32, &[variable]);
        let zero = self.w.u32(0);
        let first = self.w.value(Op::IEqual, Kind::Bool, &[old, zero]);
        let is_new = self.w.value(Op::LogicalAnd, Kind::Bool, &[first, bad]);
        let place = self.w.u32(self.at as u32 + 1);
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

    /// A fault where a variable has no value and `chosen`, if given, holds.
    pub(super) fn check_mark(&mut self, variable: u32, chosen: Option<Id>) {
        let mark = self.marks[variable as usize];
        let value = self.w.value(Op::Load, Kind::U32, &[mark]);
        let zero = self.w.u32(0);
        let mut bad = self.w.value(Op::IEqual, Kind::Bool, &[value, zero]);
        if let Some(chosen) = chosen {
            bad = self.w.value(Op::LogicalAnd, Kind::Bool, &[bad, chosen]);
        }
        self.fault(bad);
    }

    pub(super) fn expect(&mut self, cond: Cell, stops: bool) {
        let truth = self.truth(cond);
        let failed = self.w.value(Op::LogicalNot, Kind::Bool, &[truth]);
        let variable = if stops { self.faulted } else { self.noted };
        self.note(variable, failed);
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
            Instruction::Print { .. } if self.target.silent => return Ok(()),
            Instruction::Print { .. } => "printing",
            Instruction::Factor { .. } => "factorisations of matrices (`svd3`, `qr3`, `eig3`)",
            Instruction::Noise { .. } => "noise",
            Instruction::Ask { .. } => "hash grids and meshes",
            Instruction::Poisson { .. } => "`poisson`",
            Instruction::Dense { .. } => "matrices in arrays (`dense_gemm` and its like)",
            _ => "this operation",
        };
        self.refuse(what)
    }
}
