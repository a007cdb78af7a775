//! A program as steps: straight runs of them, and between those the instructions that the interpreter's
//! machine executes itself, because they choose lanes or are rare.

use std::collections::{BTreeMap, BTreeSet};

use super::address::{CheckDivisor, Clear, Coordinate, OfParameter, OfValue};
use super::cells::{Use, cells, is_control};
use super::dense::Dense;
use super::group::{AddAll, ExchangeAll, Kind, LoadAll, StoreAll, group};
use super::memory::{
    BrainFloat, HalfFloat, Narrow, Signed8, Signed16, Truth, Unsigned8, Unsigned16, Wide,
};
use super::place::Place;
use super::search::FirstNotLess;
use super::simplify::{Code, needed_zeroes, simplify_fully};
use super::step::{Choose, Compile, Function, MoreOfRange, MulAdd, Step, Vectors, compiled, plain};
use super::transfer::{Add, Exchange, Load, Modify, Store};
use super::worker::Indexed;
use crate::instruction::{Binary, BufferAt, Instruction, Location, Unary, Update};
use crate::lanes::{Cell, is_wide};
use crate::layout::Layout;
use crate::operations;
use crate::plan::Program;
use warpsmith_ir::Module;
use warpsmith_ir::types::{Scalar, TypeId};

/// A part of a program.
#[derive(Clone, Copy, Debug)]
pub(super) enum Part {
    /// Steps from the first to before the last.
    Straight(u32, u32),
    /// The instruction at this position, by the machine.
    Machine(u32),
}

/// A program that is ready to run natively.
#[derive(Debug)]
pub(crate) struct NativeCode {
    pub(super) parts: Vec<Part>,
    pub(super) steps: Vec<Step>,
    /// For each position of the program, the part that begins there or after it.
    pub(super) part_at: Vec<u32>,
    pub(super) places: Vec<Place>,
    pub(super) indexed: Vec<Indexed>,
    /// The steps that groups stand for.
    pub(super) grouped: Vec<Step>,
    /// Rows of indices of which something is known.
    pub(super) known: usize,
    /// Whether steps use 64-bit rows.
    pub(super) wide: bool,
}

/// The function of a body that is generic over how a scalar is stored.
macro_rules! stored_as {
    ($vectors:expr, $ty:expr, $body:ident) => {
        match $ty {
            Scalar::F64 | Scalar::I64 | Scalar::U64 => compiled::<$body<Wide>>($vectors),
            Scalar::F16 => plain::<$body<HalfFloat>>(),
            Scalar::BF16 => plain::<$body<BrainFloat>>(),
            Scalar::I8 => plain::<$body<Signed8>>(),
            Scalar::I16 => plain::<$body<Signed16>>(),
            Scalar::U8 => plain::<$body<Unsigned8>>(),
            Scalar::U16 => plain::<$body<Unsigned16>>(),
            Scalar::Bool => plain::<$body<Truth>>(),
            _ => compiled::<$body<Narrow>>($vectors),
        }
    };
}

/// Operands of a step.
#[derive(Clone, Copy, Debug, Default)]
struct Rows {
    dst: u32,
    a: u32,
    b: u32,
    c: u32,
}

struct Translator<'m> {
    module: &'m Module,
    program: &'m Program,
    vectors: Vectors,
    /// Whether a cell's lanes that are not active are never read.
    local: Vec<bool>,
    /// For a cell that only indices of one array parameter are written to: the parameter, and the number of
    /// what is known of it.
    known: Vec<Option<(u16, u32)>>,
    layouts: BTreeMap<TypeId, Layout>,
    code: NativeCode,
}

impl NativeCode {
    /// Translates a program; else what it has that only the interpreter does.
    pub(crate) fn new(module: &Module, program: &Program) -> Result<Self, &'static str> {
        let vectors = Vectors::detect().ok_or("a processor without AVX2")?;
        for instruction in &program.code {
            match instruction {
                Instruction::Tile { .. } => return Err("tiles"),
                Instruction::Allocate { .. } => return Err("arrays of a thread's own"),
                _ => {}
            }
        }
        let code = simplify_fully(program);
        let known = known_cells(&code, program);
        let mut translator = Translator {
            module,
            program,
            vectors,
            local: local_cells(&code, program),
            layouts: BTreeMap::new(),
            code: Self {
                parts: Vec::new(),
                steps: Vec::new(),
                part_at: Vec::with_capacity(code.len() + 1),
                places: Vec::new(),
                indexed: Vec::new(),
                grouped: Vec::new(),
                known: known.iter().flatten().count(),
                wide: program.code.iter().any(uses_wide),
            },
            known,
        };
        let mut open = false;
        // Members of groups that were translated with the first of them.
        let mut done = BTreeSet::new();
        for (at, instruction) in code.iter().enumerate() {
            let before = translator.code.steps.len() as u32;
            let translated = match instruction {
                _ if done.contains(&at) => None,
                Some(Instruction::Zero { first, count }) => {
                    let runs = needed_zeroes(&code, program, at, (*first, *count));
                    runs.iter()
                        .for_each(|run| translator.clear(*run, at as u32));
                    (!runs.is_empty()).then_some(true)
                }
                Some(instruction) => match translator.group(&code, at) {
                    Some(members) => {
                        done.extend(members);
                        Some(true)
                    }
                    None => Some(translator.step(instruction, at as u32)),
                },
                None => None,
            };
            let code = &mut translator.code;
            match translated {
                // Nothing is left here; whoever jumps here goes on with what follows.
                None => code.part_at.push(code.parts.len() as u32 - u32::from(open)),
                Some(true) => {
                    let end = code.steps.len() as u32;
                    match code.parts.last_mut() {
                        Some(Part::Straight(_, last)) if open => *last = end,
                        _ => code.parts.push(Part::Straight(before, end)),
                    }
                    open = true;
                    code.part_at.push(code.parts.len() as u32 - 1);
                }
                Some(false) => {
                    code.part_at.push(code.parts.len() as u32);
                    code.parts.push(Part::Machine(at as u32));
                    open = false;
                }
            }
        }
        let end = translator.code.parts.len() as u32;
        translator.code.part_at.push(end);
        Ok(translator.code)
    }
}

/// Whether an instruction that can become a step is on 64-bit numbers.
fn uses_wide(instruction: &Instruction) -> bool {
    match *instruction {
        Instruction::Binary { ty, .. }
        | Instruction::Unary { ty, .. }
        | Instruction::Classify { ty, .. }
        | Instruction::Compare { ty, .. }
        | Instruction::Select { ty, .. }
        | Instruction::MulAdd { ty, .. }
        | Instruction::Move { ty, .. }
        | Instruction::Load { ty, .. }
        | Instruction::Store { ty, .. }
        | Instruction::Atomic { ty, .. }
        | Instruction::CompareExchange { ty, .. } => is_wide(ty),
        Instruction::Cast { from, to, .. } => is_wide(from) || is_wide(to),
        _ => false,
    }
}

/// Whether an integer is divided, which stops lanes whose divisor is zero.
fn divides(op: Binary, ty: Scalar) -> bool {
    !ty.is_float() && matches!(op, Binary::Div | Binary::Mod | Binary::FloorDiv)
}

/// The cells that only indices of one array parameter are written to, with the parameter; numbered.
fn known_cells(code: &Code, program: &Program) -> Vec<Option<(u16, u32)>> {
    /// Whose indices are written to a cell.
    #[derive(Clone, Copy, PartialEq)]
    enum Writer {
        None,
        Param(u16),
        Other,
    }
    let mut writers = vec![Writer::None; (program.cells - program.first_cell) as usize];
    for instruction in code.iter().flatten() {
        let writer = match instruction {
            Instruction::AddressParam { param, .. } => Writer::Param(*param),
            _ => Writer::Other,
        };
        cells(instruction, program, |cell, how| {
            if how != Use::Read {
                let known = &mut writers[(cell.0 - program.first_cell) as usize];
                let first = *known == Writer::None || *known == writer;
                *known = if first { writer } else { Writer::Other };
            }
        });
    }
    let mut next = 0;
    let number = |writer| match writer {
        Writer::Param(param) => {
            next += 1;
            Some((param, next - 1))
        }
        _ => None,
    };
    writers.into_iter().map(number).collect()
}

/// The cells that are written before they are read wherever control does not divide: what is in their
/// lanes that are not active is never read.
fn local_cells(code: &Code, program: &Program) -> Vec<bool> {
    let base = program.first_cell;
    let mut local = vec![true; (program.cells - base) as usize];
    // The run of straight code in which a cell was last written.
    let mut written = vec![0_u32; local.len()];
    let mut run = 1;
    for instruction in code.iter().flatten() {
        cells(instruction, program, |cell, how| {
            let n = (cell.0 - base) as usize;
            match how {
                Use::Write => written[n] = run,
                Use::Read | Use::Change => local[n] &= written[n] == run,
            }
        });
        if is_control(instruction) {
            run += 1;
        }
    }
    local
}

/// Whether the scalars of the steps' places lie behind one another.
fn words_follow(places: &[Place], steps: &[Step]) -> bool {
    steps.windows(2).all(|pair| {
        let [first, second] = [&pair[0], &pair[1]].map(|step| &places[step.b as usize]);
        second.byte() == first.byte() + 4
    })
}

impl Translator<'_> {
    fn row(&self, cell: Cell) -> u32 {
        cell.0 - self.program.first_cell
    }

    fn push(&mut self, run: Function, at: u32, rows: Rows) {
        let local = self.local[rows.dst as usize];
        let Rows { dst, a, b, c } = rows;
        self.code.steps.push(Step {
            run,
            dst,
            a,
            b,
            c,
            at,
            local,
        });
    }

    fn place(&mut self, at: &Location, ty: Scalar) -> Option<u32> {
        let (module, first) = (self.module, self.program.first_cell);
        let known = match (at.buffer, self.known[self.row(at.element) as usize]) {
            (BufferAt::Param(param), Some((of, number))) if of == param => Some(number),
            _ => None,
        };
        let number = self.code.places.len() as u32;
        let layout = self
            .layouts
            .entry(at.element_type)
            .or_insert_with(|| Layout::of(module, at.element_type));
        let place = Place::new(at, ty, layout, (number, known), |cell| cell.0 - first)?;
        self.code.places.push(place);
        Some(number)
    }

    /// Zeroes a run of cells.
    fn clear(&mut self, (first, count): (Cell, u32), at: u32) {
        let rows = Rows {
            dst: self.row(first),
            a: count,
            ..Rows::default()
        };
        self.push(compiled::<Clear>(self.vectors), at, rows);
    }

    /// Makes one step of the group of instructions that begins here; gives its members.
    fn group(&mut self, code: &Code, at: usize) -> Option<Vec<usize>> {
        let rest = code.iter().enumerate().skip(at);
        let rest = rest.filter_map(|(n, slot)| Some((n, slot.as_ref()?)));
        let (kind, positions) = group(rest, self.program)?;
        let first = self.code.steps.len();
        for position in &positions {
            let instruction = code[*position].as_ref()?;
            if !self.step(instruction, *position as u32) {
                self.code.steps.truncate(first);
                return None;
            }
        }
        let rows = Rows {
            a: self.code.grouped.len() as u32,
            b: positions.len() as u32,
            ..Rows::default()
        };
        let steps = self.code.steps.split_off(first);
        if !words_follow(&self.code.places, &steps) {
            return None;
        }
        self.code.grouped.extend(steps);
        let run = match kind {
            Kind::Load => compiled::<LoadAll>(self.vectors),
            Kind::Store => compiled::<StoreAll>(self.vectors),
            Kind::Add => compiled::<AddAll>(self.vectors),
            Kind::Exchange => compiled::<ExchangeAll>(self.vectors),
        };
        self.push(run, at as u32, rows);
        Some(positions)
    }

    /// Makes steps of an instruction; false leaves it to the machine.
    fn step(&mut self, instruction: &Instruction, at: u32) -> bool {
        let vectors = self.vectors;
        let (run, rows) = match *instruction {
            Instruction::Binary { op, ty, dst, a, b } => {
                let run = match operations::is_common(ty) {
                    true => operations::common_binary(Compile(vectors), op, ty),
                    false => operations::small_binary(Compile(vectors), op, ty),
                };
                let rows = self.rows(dst, a, b);
                if divides(op, ty) {
                    let check = match is_wide(ty) {
                        true => compiled::<CheckDivisor<u64>>(vectors),
                        false => compiled::<CheckDivisor<u32>>(vectors),
                    };
                    self.push(check, at, rows);
                }
                (run, rows)
            }
            Instruction::Unary { op, ty, dst, a } => {
                let run = match operations::is_common(ty) && op != Unary::BitCount {
                    true => operations::common_unary(Compile(vectors), op, ty),
                    false => operations::small_unary(Compile(vectors), op, ty),
                };
                (run, self.rows(dst, a, a))
            }
            Instruction::Classify { class, ty, dst, a } => (
                operations::classify(Compile(vectors), class, ty),
                self.rows(dst, a, a),
            ),
            Instruction::Compare { op, ty, dst, a, b } => (
                operations::compare(Compile(vectors), op, ty),
                self.rows(dst, a, b),
            ),
            Instruction::Select {
                ty,
                dst,
                cond,
                a,
                b,
            } => {
                let run = match is_wide(ty) {
                    true => compiled::<Choose<u64>>(vectors),
                    false => compiled::<Choose<u32>>(vectors),
                };
                let rows = Rows {
                    c: self.row(cond),
                    ..self.rows(dst, a, b)
                };
                (Some(run), rows)
            }
            Instruction::MulAdd { ty, dst, a, b, c } => {
                let run = match is_wide(ty) {
                    true => compiled::<MulAdd<f64>>(vectors),
                    false => compiled::<MulAdd<f32>>(vectors),
                };
                let rows = Rows {
                    c: self.row(c),
                    ..self.rows(dst, a, b)
                };
                (Some(run), rows)
            }
            Instruction::Move { ty, dst, src } => {
                let as_bits = if is_wide(ty) {
                    Scalar::U64
                } else {
                    Scalar::U32
                };
                // Bits as bits of the same width: a copy.
                let run = operations::common_cast(Compile(vectors), as_bits, as_bits);
                (run, self.rows(dst, src, src))
            }
            Instruction::Cast { from, to, dst, src } => {
                let run = match operations::is_common(to) {
                    true => operations::common_cast(Compile(vectors), from, to),
                    false => operations::small_cast(Compile(vectors), from, to),
                };
                (run, self.rows(dst, src, src))
            }
            Instruction::RangeTest { dst, range } => (
                Some(compiled::<MoreOfRange>(vectors)),
                self.rows(dst, range, range),
            ),
            Instruction::Tid { dst, axis, rank } => {
                let rows = Rows {
                    dst: self.row(dst),
                    a: u32::from(axis),
                    b: u32::from(rank),
                    c: 0,
                };
                (Some(compiled::<Coordinate>(vectors)), rows)
            }
            Instruction::AddressParam {
                param,
                rank,
                indices,
                dst,
            } => {
                let known = self.known[self.row(dst) as usize];
                let rows = Rows {
                    dst: self.row(dst),
                    a: self.index(param, rank, indices),
                    c: known.map_or(u32::MAX, |(_, number)| number),
                    ..Rows::default()
                };
                let run = match rank {
                    1 => compiled::<OfParameter<1>>(vectors),
                    2 => compiled::<OfParameter<2>>(vectors),
                    3 => compiled::<OfParameter<3>>(vectors),
                    _ => compiled::<OfParameter<4>>(vectors),
                };
                (Some(run), rows)
            }
            Instruction::Address {
                array,
                rank,
                indices,
                dst,
                buffer,
            } => {
                let rows = Rows {
                    dst: self.row(dst),
                    a: self.index(0, rank, indices),
                    b: self.row(buffer),
                    c: self.row(array),
                };
                self.push(compiled::<OfValue>(vectors), at, rows);
                let copy = operations::common_cast(Compile(vectors), Scalar::U32, Scalar::U32);
                (copy, self.rows(buffer, array, array))
            }
            Instruction::Load { ty, dst, from } => {
                let Some(place) = self.place(&from, ty) else {
                    return false;
                };
                let rows = Rows {
                    dst: self.row(dst),
                    b: place,
                    ..Rows::default()
                };
                (Some(stored_as!(vectors, ty, Load)), rows)
            }
            Instruction::Store { ty, src, to } => {
                let Some(place) = self.place(&to, ty) else {
                    return false;
                };
                let rows = Rows {
                    a: self.row(src),
                    b: place,
                    ..Rows::default()
                };
                (Some(stored_as!(vectors, ty, Store)), rows)
            }
            Instruction::Atomic {
                update,
                ty,
                dst,
                src,
                at: location,
                observed,
            } => {
                let Some(place) = self.place(&location, ty) else {
                    return false;
                };
                let rows = Rows {
                    dst: self.row(dst),
                    a: self.row(src),
                    b: place,
                    c: self.row(src),
                };
                let adds = update == Update::Binary(Binary::Add) && !observed;
                let run = match (update, ty) {
                    (Update::Exchange, _) => stored_as!(vectors, ty, Exchange),
                    (_, Scalar::F32) if adds => compiled::<Add<Narrow, f32>>(vectors),
                    (_, Scalar::F64) if adds => compiled::<Add<Wide, f64>>(vectors),
                    _ => stored_as!(vectors, ty, Modify),
                };
                (Some(run), rows)
            }
            Instruction::Dense { .. } => (Some(plain::<Dense>()), Rows::default()),
            Instruction::LowerBound { dst, .. } => {
                let rows = Rows {
                    dst: self.row(dst),
                    ..Rows::default()
                };
                (Some(plain::<FirstNotLess>()), rows)
            }
            Instruction::CompareExchange {
                ty,
                dst,
                expected,
                src,
                at: location,
            } => {
                let Some(place) = self.place(&location, ty) else {
                    return false;
                };
                let rows = Rows {
                    dst: self.row(dst),
                    a: self.row(src),
                    b: place,
                    c: self.row(expected),
                };
                (Some(stored_as!(vectors, ty, Modify)), rows)
            }
            _ => return false,
        };
        let Some(run) = run else { return false };
        self.push(run, at, rows);
        true
    }

    fn rows(&self, dst: Cell, a: Cell, b: Cell) -> Rows {
        Rows {
            dst: self.row(dst),
            a: self.row(a),
            b: self.row(b),
            c: 0,
        }
    }

    fn index(&mut self, param: u16, rank: u8, indices: [Cell; 4]) -> u32 {
        let mut rows = [0; 4];
        for (row, cell) in rows.iter_mut().zip(&indices[..usize::from(rank)]) {
            *row = cell.0 - self.program.first_cell;
        }
        self.code.indexed.push(Indexed { param, rank, rows });
        self.code.indexed.len() as u32 - 1
    }
}
