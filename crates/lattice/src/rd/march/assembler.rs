//! SPIR-V word by word: just what a kernel of `float32` with memory of a workgroup needs.
//!
//! Invariant: no sum or product is contracted; what the device offers of IEEE 754 is requested.

use std::collections::HashMap;

use warpsmith_device::VulkanFloats;

/// A result's number.
pub(super) type Id = u32;

/// Instructions, by their number in the specification.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub(super) enum Op {
    AccessChain = 65,
    CompositeConstruct = 80,
    CompositeExtract = 81,
    UConvert = 113,
    FConvert = 115,
    ConvertUToPtr = 120,
    Bitcast = 124,
    IAdd = 128,
    FAdd = 129,
    ISub = 130,
    FSub = 131,
    IMul = 132,
    FMul = 133,
    UDiv = 134,
    UMod = 137,
    LogicalOr = 166,
    LogicalAnd = 167,
    Select = 169,
    IEqual = 170,
    SGreaterThanEqual = 175,
    ULessThan = 176,
    SLessThan = 177,
    FOrdLessThan = 184,
    FOrdGreaterThan = 186,
    ShiftRightLogical = 194,
    BitwiseAnd = 199,
}

/// GLSL's extended functions.
pub(super) const ABSOLUTE: u32 = 4;
pub(super) const CLAMPED: u32 = 81;
pub(super) const FUSED: u32 = 50;
const LEAST: u32 = 38;

const PUSH_CONSTANT: u32 = 9;
const FUNCTION: u32 = 7;
const WORKGROUP: u32 = 4;
const INPUT: u32 = 1;
const PHYSICAL: u32 = 5349;

/// A module with one entry point, `main`, and one push constant: a 64-bit address.
pub(super) struct Assembler {
    next: Id,
    capabilities: Vec<u32>,
    decorations: Vec<u32>,
    globals: Vec<u32>,
    variables: Vec<u32>,
    code: Vec<u32>,
    interface: Vec<Id>,
    constants: HashMap<(Id, u64), Id>,
    functions: Id,
    entry: Id,
    pub(super) truth: Id,
    pub(super) word: Id,
    pub(super) wide: Id,
    pub(super) float: Id,
    pub(super) floats4: Id,
    double: Option<Id>,
    local: Id,
    in_memory: [Id; 4],
    float_zero: Id,
}

fn put(words: &mut Vec<u32>, op: u32, operands: &[u32]) {
    words.push(((operands.len() as u32 + 1) << 16) | op);
    words.extend(operands);
}

impl Assembler {
    pub(super) fn new() -> Self {
        let mut a = Self {
            // The first 13 are given out here.
            next: 14,
            // Shader, 64-bit integers, memory by address.
            capabilities: vec![1, 11, 5347],
            decorations: Vec::new(),
            globals: Vec::new(),
            variables: Vec::new(),
            code: Vec::new(),
            interface: Vec::new(),
            constants: HashMap::new(),
            functions: 1,
            entry: 2,
            truth: 3,
            word: 4,
            wide: 5,
            float: 6,
            floats4: 7,
            double: None,
            local: 8,
            in_memory: [9, 10, 11, 12],
            float_zero: 13,
        };
        put(&mut a.globals, 20, &[a.truth]);
        put(&mut a.globals, 21, &[a.word, 32, 0]);
        put(&mut a.globals, 21, &[a.wide, 64, 0]);
        put(&mut a.globals, 22, &[a.float, 32]);
        put(&mut a.globals, 23, &[a.floats4, a.float, 4]);
        put(&mut a.globals, 32, &[a.local, FUNCTION, a.float]);
        let kinds = [a.word, a.wide, a.float, a.floats4];
        for (pointer, kind) in a.in_memory.into_iter().zip(kinds) {
            put(&mut a.globals, 32, &[pointer, PHYSICAL, kind]);
        }
        put(&mut a.globals, 46, &[a.float, a.float_zero]);
        a
    }

    fn id(&mut self) -> Id {
        self.next += 1;
        self.next - 1
    }

    pub(super) fn double(&mut self) -> Id {
        if let Some(double) = self.double {
            return double;
        }
        self.capabilities.push(10);
        let double = self.id();
        put(&mut self.globals, 22, &[double, 64]);
        self.double = Some(double);
        double
    }

    fn constant(&mut self, ty: Id, bits: u64) -> Id {
        if let Some(id) = self.constants.get(&(ty, bits)) {
            return *id;
        }
        let id = self.id();
        let halves = [bits as u32, (bits >> 32) as u32];
        if ty == self.wide || Some(ty) == self.double {
            put(&mut self.globals, 43, &[ty, id, halves[0], halves[1]]);
        } else {
            put(&mut self.globals, 43, &[ty, id, halves[0]]);
        }
        self.constants.insert((ty, bits), id);
        id
    }

    pub(super) fn u32(&mut self, value: u32) -> Id {
        self.constant(self.word, value.into())
    }

    pub(super) fn u64(&mut self, value: u64) -> Id {
        self.constant(self.wide, value)
    }

    pub(super) fn f32(&mut self, value: f32) -> Id {
        self.constant(self.float, value.to_bits().into())
    }

    pub(super) fn f64(&mut self, value: f64) -> Id {
        let double = self.double();
        self.constant(double, value.to_bits())
    }

    /// An instruction with a result.
    pub(super) fn value(&mut self, op: Op, ty: Id, operands: &[u32]) -> Id {
        let id = self.id();
        put(&mut self.code, op as u32, &[&[ty, id], operands].concat());
        if matches!(op, Op::FAdd | Op::FSub | Op::FMul) {
            // 42: no contraction.
            put(&mut self.decorations, 71, &[id, 42]);
        }
        id
    }

    /// A function of GLSL's extended set.
    pub(super) fn extended(&mut self, function: u32, operands: &[Id]) -> Id {
        let (id, set) = (self.id(), [self.float, self.functions, function]);
        let words = [&[set[0], id, set[1], set[2]], operands].concat();
        put(&mut self.code, 12, &words);
        // Without it a multiply-add may be made in two operations.
        put(&mut self.decorations, 71, &[id, 42]);
        id
    }

    pub(super) fn select(&mut self, ty: Id, cond: Id, a: Id, b: Id) -> Id {
        self.value(Op::Select, ty, &[cond, a, b])
    }

    /// A variable of the function, zero at its beginning: a `float32`.
    pub(super) fn variable(&mut self) -> Id {
        let id = self.id();
        let operands = [self.local, id, FUNCTION, self.float_zero];
        put(&mut self.variables, 59, &operands);
        id
    }

    pub(super) fn load(&mut self, ty: Id, pointer: Id) -> Id {
        let id = self.id();
        put(&mut self.code, 61, &[ty, id, pointer]);
        id
    }

    pub(super) fn store(&mut self, pointer: Id, value: Id) {
        put(&mut self.code, 62, &[pointer, value]);
    }

    fn pointer(&mut self, ty: Id, address: Id) -> (Id, u32) {
        let sizes = [4, 8, 4, 16];
        let kinds = [self.word, self.wide, self.float, self.floats4];
        let kind = kinds.iter().position(|kind| *kind == ty).unwrap_or(0);
        let pointer = self.value(Op::ConvertUToPtr, self.in_memory[kind], &[address]);
        (pointer, sizes[kind])
    }

    /// The lesser of two words without a sign.
    pub(super) fn least(&mut self, x: Id, y: Id) -> Id {
        let id = self.id();
        put(
            &mut self.code,
            12,
            &[self.word, id, self.functions, LEAST, x, y],
        );
        id
    }

    /// A variable of the function that holds a word.
    pub(super) fn word_variable(&mut self, initial: Id) -> Id {
        let (pointer, id) = (self.id(), self.id());
        put(&mut self.globals, 32, &[pointer, FUNCTION, self.word]);
        put(&mut self.variables, 59, &[pointer, id, FUNCTION]);
        self.store(id, initial);
        id
    }

    /// What lies at an address, aligned to its own size.
    pub(super) fn load_at(&mut self, ty: Id, address: Id) -> Id {
        let (pointer, size) = self.pointer(ty, address);
        let id = self.id();
        put(&mut self.code, 61, &[ty, id, pointer, 2, size]);
        id
    }

    pub(super) fn store_at(&mut self, ty: Id, address: Id, value: Id) {
        let (pointer, size) = self.pointer(ty, address);
        put(&mut self.code, 62, &[pointer, value, 2, size]);
    }

    fn global(&mut self, ty: Id, class: u32) -> Id {
        let (pointer, id) = (self.id(), self.id());
        put(&mut self.globals, 32, &[pointer, class, ty]);
        put(&mut self.globals, 59, &[pointer, id, class]);
        self.interface.push(id);
        id
    }

    /// The address in the push constant.
    pub(super) fn block(&mut self) -> Id {
        let (block, pointer) = (self.id(), self.id());
        put(&mut self.globals, 30, &[block, self.wide]);
        put(&mut self.globals, 32, &[pointer, PUSH_CONSTANT, self.wide]);
        // 2: a block; 35: its member begins at byte 0.
        put(&mut self.decorations, 71, &[block, 2]);
        put(&mut self.decorations, 72, &[block, 0, 35, 0]);
        let variable = self.global(block, PUSH_CONSTANT);
        let first = self.u32(0);
        let place = self.value(Op::AccessChain, pointer, &[variable, first]);
        self.load(self.wide, place)
    }

    fn built_in(&mut self, which: u32) -> Id {
        let variable = self.global(self.word, INPUT);
        // 11: built in.
        put(&mut self.decorations, 71, &[variable, 11, which]);
        self.load(self.word, variable)
    }

    /// A thread's number in its workgroup.
    pub(super) fn thread(&mut self) -> Id {
        self.built_in(29)
    }

    /// A thread's number in its subgroup, and the subgroup's in its workgroup.
    pub(super) fn in_subgroup(&mut self) -> [Id; 2] {
        // Operations of subgroups, and that their threads pass numbers to those beside them.
        self.capabilities.extend([61, 66]);
        [41, 40].map(|which| self.built_in(which))
    }

    /// What the thread before this one in its subgroup has.
    pub(super) fn of_thread_before(&mut self, value: Id) -> Id {
        self.passed(347, value)
    }

    /// What the thread behind this one in its subgroup has.
    pub(super) fn of_thread_behind(&mut self, value: Id) -> Id {
        self.passed(348, value)
    }

    fn passed(&mut self, op: u32, value: Id) -> Id {
        // Scope 3 is the subgroup.
        let (scope, one, id) = (self.u32(3), self.u32(1), self.id());
        put(&mut self.code, op, &[self.float, id, scope, value, one]);
        id
    }

    /// A workgroup's number, of a grid of rows.
    pub(super) fn group(&mut self) -> Id {
        let vector = self.id();
        put(&mut self.globals, 23, &[vector, self.word, 3]);
        // 26: the workgroup's coordinates; 24: how many there are.
        let [at, of] = [26, 24].map(|which| {
            let variable = self.global(vector, INPUT);
            put(&mut self.decorations, 71, &[variable, 11, which]);
            self.load(vector, variable)
        });
        let [x, y] = [0, 1].map(|n| self.value(Op::CompositeExtract, self.word, &[at, n]));
        let width = self.value(Op::CompositeExtract, self.word, &[of, 0]);
        let row = self.value(Op::IMul, self.word, &[y, width]);
        self.value(Op::IAdd, self.word, &[row, x])
    }

    /// An array of `ty` that a workgroup shares, and the type of a pointer into it.
    pub(super) fn shared(&mut self, ty: Id, length: u32) -> (Id, Id) {
        let length = self.u32(length);
        let (array, pointer) = (self.id(), self.id());
        put(&mut self.globals, 28, &[array, ty, length]);
        put(&mut self.globals, 32, &[pointer, WORKGROUP, ty]);
        (self.global(array, WORKGROUP), pointer)
    }

    /// Waits until every thread of the workgroup is here and what they shared is seen.
    pub(super) fn barrier(&mut self) {
        // Scope 2 is the workgroup; 0x108: acquire and release, of a workgroup's memory.
        let (scope, order) = (self.u32(2), self.u32(0x108));
        put(&mut self.code, 224, &[scope, scope, order]);
    }

    /// `usual`, unless `cond` holds: then what `body` computes instead.
    pub(super) fn unless<const N: usize>(
        &mut self,
        cond: Id,
        usual: [Id; N],
        body: impl FnOnce(&mut Self) -> [Id; N],
    ) -> [Id; N] {
        let [before, inside, end, merge] = [0; 4].map(|_| self.id());
        put(&mut self.code, 249, &[before]);
        put(&mut self.code, 248, &[before]);
        put(&mut self.code, 247, &[merge, 0]);
        put(&mut self.code, 250, &[cond, inside, merge]);
        put(&mut self.code, 248, &[inside]);
        let other = body(self);
        put(&mut self.code, 249, &[end]);
        put(&mut self.code, 248, &[end]);
        put(&mut self.code, 249, &[merge]);
        put(&mut self.code, 248, &[merge]);
        std::array::from_fn(|n| {
            let id = self.id();
            let operands = [self.float, id, usual[n], before, other[n], end];
            put(&mut self.code, 245, &operands);
            id
        })
    }

    /// A branch.
    pub(super) fn when(&mut self, cond: Id, body: impl FnOnce(&mut Self)) {
        let (inside, merge) = (self.id(), self.id());
        put(&mut self.code, 247, &[merge, 0]);
        put(&mut self.code, 250, &[cond, inside, merge]);
        put(&mut self.code, 248, &[inside]);
        body(self);
        put(&mut self.code, 249, &[merge]);
        put(&mut self.code, 248, &[merge]);
    }

    /// The body for each whole number from `first` to `last`, of which there is one.
    pub(super) fn each(&mut self, first: Id, last: Id, body: impl FnOnce(&mut Self, Id)) {
        let counter = self.word_variable(first);
        let [head, inside, next, merge] = [0; 4].map(|_| self.id());
        put(&mut self.code, 249, &[head]);
        put(&mut self.code, 248, &[head]);
        put(&mut self.code, 246, &[merge, next, 0]);
        put(&mut self.code, 249, &[inside]);
        put(&mut self.code, 248, &[inside]);
        let now = self.load(self.word, counter);
        body(self, now);
        put(&mut self.code, 249, &[next]);
        put(&mut self.code, 248, &[next]);
        let one = self.u32(1);
        let after = self.value(Op::IAdd, self.word, &[now, one]);
        self.store(counter, after);
        let more = self.value(Op::SLessThan, self.truth, &[now, last]);
        put(&mut self.code, 250, &[more, head, merge]);
        put(&mut self.code, 248, &[merge]);
    }

    /// The finished module, for workgroups of so many threads on a device whose floats can do this.
    pub(super) fn finish(mut self, threads: u32, floats: [VulkanFloats; 2]) -> Vec<u32> {
        let (void, function, first) = (self.id(), self.id(), self.id());
        let mut modes = Vec::new();
        let widths = [Some(32), self.double.map(|_| 64)];
        for (width, floats) in widths.into_iter().zip(floats) {
            let Some(width) = width else { continue };
            // Capabilities and execution modes of the float controls.
            let offered = [
                (floats.denormals, 4464, 4459),
                (floats.nearest, 4467, 4462),
                (floats.special, 4466, 4461),
            ];
            for (_, capability, mode) in offered.into_iter().filter(|(has, ..)| *has) {
                self.capabilities.push(capability);
                put(&mut modes, 16, &[self.entry, mode, width]);
            }
        }
        self.capabilities.sort_unstable();
        self.capabilities.dedup();
        // SPIR-V 1.5.
        let mut words = vec![0x0723_0203, 0x0001_0500, 0, self.next, 0];
        for capability in &self.capabilities {
            put(&mut words, 17, &[*capability]);
        }
        let library = [0x4c53_4c47, 0x6474_732e, 0x3035_342e, 0];
        put(&mut words, 11, &[&[self.functions], &library[..]].concat());
        // 64-bit addresses, GLSL's memory model.
        put(&mut words, 14, &[5348, 1]);
        let main = [5, self.entry, 0x6e69_616d, 0];
        put(&mut words, 15, &[&main, &self.interface[..]].concat());
        put(&mut words, 16, &[self.entry, 17, threads, 1, 1]);
        words.extend(modes);
        words.extend(self.decorations);
        words.extend(self.globals);
        put(&mut words, 19, &[void]);
        put(&mut words, 33, &[function, void]);
        put(&mut words, 54, &[void, self.entry, 0, function]);
        put(&mut words, 248, &[first]);
        words.extend(self.variables);
        words.extend(self.code);
        put(&mut words, 253, &[]);
        put(&mut words, 56, &[]);
        words
    }
}
