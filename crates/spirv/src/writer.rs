//! Writes a SPIR-V module of one function: numbers, types, constants and sections in the order that the
//! format wants.
//!
//! Invariants: a type and a constant stand once; every sum, difference, product and quotient of floats is
//! marked `NoContraction`, so that no driver fuses or reorders what the interpreter rounds one by one.

use std::collections::{BTreeSet, HashMap};
use std::hash::{BuildHasherDefault, Hasher};

use super::opcode::{Op, capability, decoration, execution_mode, storage};

/// A result's number.
pub(super) type Id = u32;

/// The types that values have. Integers carry no sign: operations do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Kind {
    Bool,
    U8,
    U16,
    U32,
    U64,
    F32,
    F64,
}

impl Kind {
    pub(super) fn bytes(self) -> u32 {
        match self {
            Self::U8 => 1,
            Self::U16 => 2,
            Self::Bool | Self::U32 | Self::F32 => 4,
            Self::U64 | Self::F64 => 8,
        }
    }
}

/// How many kinds there are.
const KINDS: usize = 7;

/// A quick hash of a few words, which nobody attacks.
#[derive(Clone, Copy, Default)]
pub(super) struct FastHasher(u64);

type FastHash = BuildHasherDefault<FastHasher>;

impl Hasher for FastHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.write_u64(u64::from(*byte));
        }
    }

    fn write_u64(&mut self, word: u64) {
        self.0 = (self.0.rotate_left(5) ^ word).wrapping_mul(0x517c_c1b7_2722_0a95);
    }

    fn write_isize(&mut self, word: isize) {
        self.write_u64(word as u64);
    }
}

/// SPIR-V 1.5, which every Vulkan 1.2 driver takes.
const VERSION: u32 = 0x0001_0500;
const MAGIC: u32 = 0x0723_0203;
/// Threads of a workgroup.
pub(super) const WORKGROUP: u32 = 256;

/// A module under construction.
pub(super) struct Writer {
    next: Id,
    capabilities: BTreeSet<u32>,
    modes: Vec<u32>,
    decorations: Vec<u32>,
    globals: Vec<u32>,
    variables: Vec<u32>,
    /// The function's instructions, and those in front of them; one of the two is being written.
    code: Vec<u32>,
    in_front: Vec<u32>,
    is_in_front: bool,
    interface: Vec<Id>,
    types: [Id; KINDS],
    /// Pointers to each kind in functions, in memory and in the push constant.
    pointers: [[Id; KINDS]; 3],
    /// Vectors of two and of four words, each with a pointer to one in memory; 0 while there is none.
    vectors: [(Id, Id); 2],
    constants: HashMap<(Kind, u64), Id, FastHash>,
    /// The constants that are `float32`, with their bits.
    floats: HashMap<Id, u32, FastHash>,
    nulls: [Id; KINDS],
    functions: Id,
    void: Id,
    entry: Id,
    /// Float types whose rounding the module has fixed.
    controlled: BTreeSet<u32>,
}

impl Writer {
    /// A module for a program of so many instructions.
    pub(super) fn new(instructions: usize) -> Self {
        let mut writer = Self {
            next: 1,
            capabilities: BTreeSet::from([
                capability::SHADER,
                capability::INT64,
                capability::PHYSICAL_STORAGE_BUFFER_ADDRESSES,
            ]),
            modes: Vec::new(),
            decorations: Vec::with_capacity(8 * instructions),
            globals: Vec::with_capacity(512),
            variables: Vec::with_capacity(8 * instructions),
            code: Vec::with_capacity(64 * instructions),
            in_front: Vec::with_capacity(512),
            is_in_front: false,
            interface: Vec::new(),
            types: [0; KINDS],
            pointers: [[0; KINDS]; 3],
            vectors: [(0, 0); 2],
            constants: HashMap::default(),
            floats: HashMap::default(),
            nulls: [0; KINDS],
            functions: 0,
            void: 0,
            entry: 0,
            controlled: BTreeSet::new(),
        };
        writer.functions = writer.id();
        writer.void = writer.id();
        writer.entry = writer.id();
        put(&mut writer.globals, Op::TypeVoid, &[writer.void]);
        writer
    }

    /// What is written next goes in front of all code, where it is known everywhere. Gives whether it did
    /// not already, for [`Writer::code_goes_on`].
    pub(super) fn code_in_front(&mut self) -> bool {
        if self.is_in_front {
            return false;
        }
        std::mem::swap(&mut self.code, &mut self.in_front);
        self.is_in_front = true;
        true
    }

    pub(super) fn code_goes_on(&mut self, was_switched: bool) {
        if was_switched {
            std::mem::swap(&mut self.code, &mut self.in_front);
            self.is_in_front = false;
        }
    }

    /// Words of code so far.
    pub(super) fn code_length(&self) -> usize {
        self.code.len()
    }

    /// Puts stores of values to variables at positions in the code, which rise.
    pub(super) fn insert_stores(&mut self, stores: &[(usize, Id, Id)]) {
        let mut code = Vec::with_capacity(self.code.len() + 3 * stores.len());
        let mut from = 0;
        for (at, variable, value) in stores {
            code.extend_from_slice(&self.code[from..*at]);
            put(&mut code, Op::Store, &[*variable, *value]);
            from = *at;
        }
        code.extend_from_slice(&self.code[from..]);
        self.code = code;
    }

    pub(super) fn id(&mut self) -> Id {
        self.next += 1;
        self.next - 1
    }

    pub(super) fn require(&mut self, capability: u32) {
        self.capabilities.insert(capability);
    }

    pub(super) fn requires(&self, capability: u32) -> bool {
        self.capabilities.contains(&capability)
    }

    pub(super) fn ty(&mut self, kind: Kind) -> Id {
        let known = self.types[kind as usize];
        if known != 0 {
            return known;
        }
        let id = self.id();
        match kind {
            Kind::Bool => put(&mut self.globals, Op::TypeBool, &[id]),
            Kind::U8 | Kind::U16 | Kind::U32 | Kind::U64 => {
                put(&mut self.globals, Op::TypeInt, &[id, 8 * kind.bytes(), 0]);
            }
            Kind::F32 | Kind::F64 => {
                put(&mut self.globals, Op::TypeFloat, &[id, 8 * kind.bytes()]);
            }
        }
        match kind {
            Kind::U8 => self.require(capability::STORAGE_BUFFER_8BIT_ACCESS),
            Kind::U16 => self.require(capability::STORAGE_BUFFER_16BIT_ACCESS),
            Kind::F64 => self.require(capability::FLOAT64),
            _ => {}
        }
        if matches!(kind, Kind::F32 | Kind::F64) {
            self.controlled.insert(8 * kind.bytes());
        }
        self.types[kind as usize] = id;
        id
    }

    pub(super) fn pointer(&mut self, class: u32, kind: Kind) -> Id {
        let place = match class {
            storage::FUNCTION => 0,
            storage::PHYSICAL_STORAGE_BUFFER => 1,
            _ => 2,
        };
        let known = self.pointers[place][kind as usize];
        if known != 0 {
            return known;
        }
        let ty = self.ty(kind);
        let id = self.id();
        put(&mut self.globals, Op::TypePointer, &[id, class, ty]);
        self.pointers[place][kind as usize] = id;
        id
    }

    /// A constant of the type with these bits; of `Bool`, whether there are any.
    pub(super) fn constant(&mut self, kind: Kind, bits: u64) -> Id {
        if let Some(id) = self.constants.get(&(kind, bits)) {
            return *id;
        }
        let ty = self.ty(kind);
        let id = self.id();
        let low = bits as u32;
        match kind {
            Kind::Bool if bits != 0 => put(&mut self.globals, Op::ConstantTrue, &[ty, id]),
            Kind::Bool => put(&mut self.globals, Op::ConstantFalse, &[ty, id]),
            _ if kind.bytes() == 8 => {
                let high = (bits >> 32) as u32;
                put(&mut self.globals, Op::Constant, &[ty, id, low, high]);
            }
            _ => put(&mut self.globals, Op::Constant, &[ty, id, low]),
        }
        self.constants.insert((kind, bits), id);
        if kind == Kind::F32 {
            self.floats.insert(id, low);
        }
        id
    }

    /// The bits of a constant that is a `float32`.
    pub(super) fn float_constant(&self, id: Id) -> Option<u32> {
        self.floats.get(&id).copied()
    }

    /// The constant of the type with these bits, where the module has it.
    pub(super) fn known_constant(&self, kind: Kind, bits: u64) -> Option<Id> {
        self.constants.get(&(kind, bits)).copied()
    }

    pub(super) fn u32(&mut self, value: u32) -> Id {
        self.constant(Kind::U32, u64::from(value))
    }

    pub(super) fn u64(&mut self, value: u64) -> Id {
        self.constant(Kind::U64, value)
    }

    pub(super) fn f32(&mut self, value: f32) -> Id {
        self.constant(Kind::F32, u64::from(value.to_bits()))
    }

    pub(super) fn f64(&mut self, value: f64) -> Id {
        self.constant(Kind::F64, value.to_bits())
    }

    /// A variable of the function, zero at its beginning.
    pub(super) fn variable(&mut self, kind: Kind) -> Id {
        let pointer = self.pointer(storage::FUNCTION, kind);
        let ty = self.ty(kind);
        if self.nulls[kind as usize] == 0 {
            let id = self.id();
            put(&mut self.globals, Op::ConstantNull, &[ty, id]);
            self.nulls[kind as usize] = id;
        }
        let null = self.nulls[kind as usize];
        let id = self.id();
        let operands = [pointer, id, storage::FUNCTION, null];
        put(&mut self.variables, Op::Variable, &operands);
        id
    }

    /// A variable that the launch gives a value.
    pub(super) fn built_in(&mut self, which: u32, ty: Id) -> Id {
        let pointer = self.id();
        let operands = [pointer, storage::INPUT, ty];
        put(&mut self.globals, Op::TypePointer, &operands);
        let id = self.id();
        let operands = [pointer, id, storage::INPUT];
        put(&mut self.globals, Op::Variable, &operands);
        let operands = [id, decoration::BUILT_IN, which];
        put(&mut self.decorations, Op::Decorate, &operands);
        self.interface.push(id);
        id
    }

    pub(super) fn vector3(&mut self) -> Id {
        let word = self.ty(Kind::U32);
        let id = self.id();
        put(&mut self.globals, Op::TypeVector, &[id, word, 3]);
        id
    }

    /// A vector of two or four 32-bit words, and a pointer to one in memory.
    pub(super) fn words_in_memory(&mut self, count: usize) -> (Id, Id) {
        let at = usize::from(count == 4);
        if self.vectors[at].0 == 0 {
            let word = self.ty(Kind::U32);
            let (vector, pointer) = (self.id(), self.id());
            let operands = [vector, word, count as u32];
            put(&mut self.globals, Op::TypeVector, &operands);
            let operands = [pointer, storage::PHYSICAL_STORAGE_BUFFER, vector];
            put(&mut self.globals, Op::TypePointer, &operands);
            self.vectors[at] = (vector, pointer);
        }
        self.vectors[at]
    }

    /// The push constant, one 64-bit word.
    pub(super) fn push_constant(&mut self) -> Id {
        let word = self.ty(Kind::U64);
        let (block, pointer, id) = (self.id(), self.id(), self.id());
        put(&mut self.globals, Op::TypeStruct, &[block, word]);
        let operands = [pointer, storage::PUSH_CONSTANT, block];
        put(&mut self.globals, Op::TypePointer, &operands);
        let operands = [pointer, id, storage::PUSH_CONSTANT];
        put(&mut self.globals, Op::Variable, &operands);
        put(
            &mut self.decorations,
            Op::Decorate,
            &[block, decoration::BLOCK],
        );
        let operands = [block, 0, decoration::OFFSET, 0];
        put(&mut self.decorations, Op::MemberDecorate, &operands);
        self.interface.push(id);
        id
    }

    /// An instruction without a result.
    pub(super) fn act(&mut self, op: Op, operands: &[u32]) {
        put(&mut self.code, op, operands);
    }

    /// An instruction with a result.
    pub(super) fn value(&mut self, op: Op, kind: Kind, operands: &[u32]) -> Id {
        let ty = self.ty(kind);
        self.typed(op, ty, operands)
    }

    pub(super) fn typed(&mut self, op: Op, ty: Id, operands: &[u32]) -> Id {
        let id = self.id();
        self.code.push(header(op, operands.len() + 2));
        self.code.extend([ty, id]);
        self.code.extend(operands);
        if matches!(op, Op::FAdd | Op::FSub | Op::FMul | Op::FDiv) {
            let operands = [id, decoration::NO_CONTRACTION];
            put(&mut self.decorations, Op::Decorate, &operands);
        }
        id
    }

    /// A function of GLSL's extended set.
    pub(super) fn extended(&mut self, function: u32, kind: Kind, a: Id) -> Id {
        let set = self.functions;
        self.value(Op::ExtInst, kind, &[set, function, a])
    }

    /// As [`Writer::extended`], of three numbers.
    pub(super) fn extended_triple(&mut self, function: u32, kind: Kind, of: [Id; 3]) -> Id {
        let (set, [a, b, c]) = (self.functions, of);
        self.value(Op::ExtInst, kind, &[set, function, a, b, c])
    }

    /// As [`Writer::extended`], of two numbers.
    pub(super) fn extended_pair(&mut self, function: u32, kind: Kind, a: Id, b: Id) -> Id {
        let set = self.functions;
        self.value(Op::ExtInst, kind, &[set, function, a, b])
    }

    pub(super) fn label(&mut self, id: Id) {
        self.act(Op::Label, &[id]);
    }

    /// Where the function's instructions go on.
    pub(super) fn mode(&mut self, mode: u32, width: u32) {
        self.modes
            .extend([header(Op::ExecutionMode, 3), self.entry, mode, width]);
    }

    pub(super) fn float_widths(&self) -> Vec<u32> {
        self.controlled.iter().copied().collect()
    }

    /// The finished module.
    pub(super) fn finish(mut self) -> Vec<u32> {
        let function_type = self.id();
        let operands = [function_type, self.void];
        put(&mut self.globals, Op::TypeFunction, &operands);
        let first = self.id();
        let mut words = vec![MAGIC, VERSION, 0, self.next, 0];
        for capability in &self.capabilities {
            put(&mut words, Op::Capability, &[*capability]);
        }
        let mut operands = vec![self.functions];
        operands.extend(text("GLSL.std.450"));
        put(&mut words, Op::ExtInstImport, &operands);
        // 64-bit addresses, and GLSL's memory model.
        put(&mut words, Op::MemoryModel, &[5348, 1]);
        // 5 is a compute shader.
        let mut operands = vec![5, self.entry];
        operands.extend(text("main"));
        operands.extend(&self.interface);
        put(&mut words, Op::EntryPoint, &operands);
        let size = [self.entry, execution_mode::LOCAL_SIZE, WORKGROUP, 1, 1];
        put(&mut words, Op::ExecutionMode, &size);
        words.extend(&self.modes);
        words.extend(&self.decorations);
        words.extend(&self.globals);
        let operands = [self.void, self.entry, 0, function_type];
        put(&mut words, Op::Function, &operands);
        put(&mut words, Op::Label, &[first]);
        words.extend(&self.variables);
        words.extend(&self.in_front);
        words.extend(&self.code);
        put(&mut words, Op::Return, &[]);
        put(&mut words, Op::FunctionEnd, &[]);
        words
    }
}

fn header(op: Op, operands: usize) -> u32 {
    ((operands as u32 + 1) << 16) | op as u32
}

fn put(words: &mut Vec<u32>, op: Op, operands: &[u32]) {
    words.push(header(op, operands.len()));
    words.extend(operands);
}

/// A name as words: bytes with a zero at the end.
fn text(name: &str) -> Vec<u32> {
    let mut bytes = name.as_bytes().to_vec();
    bytes.resize(name.len() / 4 * 4 + 4, 0);
    let words = bytes.as_chunks::<4>().0.iter();
    words.map(|word| u32::from_le_bytes(*word)).collect()
}
