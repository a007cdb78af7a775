//! Emits instructions, hands out cells.
//!
//! Cells below [`TEMPORARIES`] are reused by every operation of the source, the highest first so that
//! all cells in use lie together; the rest belong to one variable, constant or reference each.

use std::rc::Rc;

use super::access::Access;
use super::program::{OwnArray, Parameter, Program};
use crate::instruction::{Binary, Instruction, Unary};
use crate::lanes::Cell;
use crate::layout::Layout;
use crate::machine::DenseCall;
use crate::text::Piece;
use crate::tile::TileCall;
use warpsmith_ir::half::{round_bfloat16, round_half};
use warpsmith_ir::small_keys::Map;
use warpsmith_ir::types::{Scalar, TypeId};
use warpsmith_ir::{Comparison, Module, Number};

/// Cells that hold intermediate results of one operation.
const TEMPORARIES: u32 = 2048;
/// A program longer than this is refused: functions are laid into their callers, so a few lines can
/// ask for any number of instructions.
const LONGEST_PROGRAM: usize = 4 << 20;

/// What the interpreter cannot do, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Unknown {
    pub(crate) what: String,
    /// Position in the module's lines.
    pub(crate) line: u32,
}

pub(crate) type Planned<T> = Result<T, Unknown>;

/// The cells of a builtin's result; `None` from a file whose builtin it is not.
pub(super) type Expanded = Planned<Option<Vec<Cell>>>;

/// Whether a builtin was laid out; false from a file whose builtin it is not.
pub(super) type LaidOut = Planned<bool>;

/// The program under construction.
pub(super) struct Builder<'m> {
    pub(super) module: &'m Module,
    pub(super) code: Vec<Instruction>,
    lines: Vec<u32>,
    pub(super) line: u32,
    next_cell: u32,
    next_temporary: u32,
    /// The most temporaries that one operation needed.
    most_temporaries: u32,
    constants: Map<(Scalar, u64), Cell>,
    runs: Vec<(Cell, Scalar, u64)>,
    layouts: Map<TypeId, Rc<Layout>>,
    pub(super) labels: u32,
    /// Variables that are watched for reads without a value.
    pub(super) marks: Vec<String>,
    pub(super) messages: Vec<String>,
    pub(super) printed: Vec<Vec<Piece>>,
    pub(super) reinterpreted: Vec<(Layout, Layout)>,
    pub(super) dense: Vec<DenseCall>,
    pub(super) tiles: Vec<TileCall>,
    pub(super) own_arrays: Vec<OwnArray>,
    pub(super) access: Vec<Access>,
    pub(super) ordered: bool,
    pub(super) block_dim: Option<Cell>,
    pub(super) rank: u8,
    /// How many functions deep the code being laid out stands.
    pub(super) depth: u32,
}

/// A number's bits in a lane of the given type.
pub(crate) fn number_bits(scalar: Scalar, number: Number) -> u64 {
    let float = match number {
        Number::Int(value) => value as f64,
        Number::Float(value) => value,
    };
    // Conversions to 128 bits are slow, and most numbers are for floats.
    let integer = match number {
        Number::Int(value) => value,
        Number::Float(_) if scalar.is_float() => 0,
        Number::Float(value) => value as i128,
    };
    match scalar {
        Scalar::F32 => u64::from((float as f32).to_bits()),
        Scalar::F64 => float.to_bits(),
        Scalar::F16 => u64::from(round_half(float as f32).to_bits()),
        Scalar::BF16 => u64::from(round_bfloat16(float as f32).to_bits()),
        Scalar::I64 | Scalar::U64 => integer as u64,
        Scalar::I8 => u64::from(i32::from(integer as i8) as u32),
        Scalar::I16 => u64::from(i32::from(integer as i16) as u32),
        Scalar::U8 => u64::from(integer as u8),
        Scalar::U16 => u64::from(integer as u16),
        Scalar::Bool => u64::from(integer != 0 || (float != 0.0 && float.abs() < 1.0)),
        _ => u64::from(integer as u32),
    }
}

impl<'m> Builder<'m> {
    pub(super) fn new(module: &'m Module, rank: u8) -> Self {
        Self {
            module,
            code: Vec::new(),
            lines: Vec::new(),
            line: 0,
            next_cell: TEMPORARIES,
            next_temporary: 0,
            most_temporaries: 0,
            constants: Map::default(),
            runs: Vec::new(),
            layouts: Map::default(),
            labels: 0,
            marks: Vec::new(),
            messages: Vec::new(),
            printed: Vec::new(),
            reinterpreted: Vec::new(),
            dense: Vec::new(),
            tiles: Vec::new(),
            own_arrays: Vec::new(),
            access: Vec::new(),
            ordered: false,
            block_dim: None,
            rank,
            depth: 0,
        }
    }

    pub(super) fn finish(self, parameters: Vec<Parameter>) -> Program {
        let constants = self
            .constants
            .into_iter()
            .map(|((ty, bits), cell)| (cell, ty, bits));
        Program {
            code: self.code,
            lines: self.lines,
            first_cell: TEMPORARIES - self.most_temporaries,
            cells: self.next_cell,
            constants: constants.chain(self.runs).collect(),
            parameters,
            labels: self.labels,
            marks: self.marks,
            messages: self.messages,
            printed: self.printed,
            reinterpreted: self.reinterpreted,
            dense: self.dense,
            tiles: self.tiles,
            own_arrays: self.own_arrays,
            access: self.access,
            block_dim: self.block_dim,
            ordered: self.ordered,
        }
    }

    pub(super) fn unknown<T>(&self, what: impl Into<String>) -> Planned<T> {
        Err(Unknown {
            what: what.into(),
            line: self.line,
        })
    }

    /// Refuses a program that has grown out of bounds.
    pub(super) fn check_length(&self) -> Planned<()> {
        if self.code.len() > LONGEST_PROGRAM || self.next_cell > 1 << 22 {
            return self.unknown("a kernel that needs more than four million operations");
        }
        Ok(())
    }

    pub(super) fn emit(&mut self, instruction: Instruction) {
        self.code.push(instruction);
        self.lines.push(self.line);
    }

    /// Cuts the code off at `length` and gives what was after it.
    pub(super) fn take_code(&mut self, length: usize) -> Vec<Instruction> {
        self.lines.truncate(length);
        self.code.split_off(length)
    }

    /// The type's layout.
    pub(super) fn layout(&mut self, ty: TypeId) -> Rc<Layout> {
        let module = self.module;
        Rc::clone(
            self.layouts
                .entry(ty)
                .or_insert_with(|| Rc::new(Layout::of(module, ty))),
        )
    }

    pub(super) fn has_floats(layout: &Layout) -> bool {
        layout.leaves.iter().any(|leaf| leaf.scalar.is_float())
    }

    /// New cells that live as long as the program.
    pub(super) fn cells_for(&mut self, count: usize) -> Cell {
        let first = Cell(self.next_cell);
        self.next_cell += count as u32;
        first
    }

    /// The next operation of the source begins: intermediate results are forgotten.
    pub(super) fn forget_temporaries(&mut self) {
        self.next_temporary = 0;
    }

    pub(super) fn temporary(&mut self) -> Cell {
        if self.next_temporary == TEMPORARIES {
            return self.cells_for(1);
        }
        self.next_temporary += 1;
        self.most_temporaries = self.most_temporaries.max(self.next_temporary);
        Cell(TEMPORARIES - self.next_temporary)
    }

    /// Whether a cell holds an intermediate result.
    pub(super) fn is_temporary(cell: Cell) -> bool {
        cell.0 < TEMPORARIES
    }

    /// A cell that holds a constant in every lane.
    pub(super) fn bits(&mut self, ty: Scalar, bits: u64) -> Cell {
        if let Some(cell) = self.constants.get(&(ty, bits)) {
            return *cell;
        }
        let cell = self.cells_for(1);
        self.constants.insert((ty, bits), cell);
        cell
    }

    /// Cells that hold the leaves of a compound constant.
    pub(super) fn constant_run(&mut self, leaves: &[(Scalar, u64)]) -> Cell {
        let first = self.cells_for(leaves.len());
        let cells = leaves
            .iter()
            .enumerate()
            .map(|(n, (ty, bits))| (first.at(n), *ty, *bits));
        self.runs.extend(cells);
        first
    }

    pub(super) fn number(&mut self, ty: Scalar, value: f64) -> Cell {
        self.bits(ty, number_bits(ty, Number::Float(value)))
    }

    pub(super) fn integer(&mut self, value: i64) -> Cell {
        self.bits(
            Scalar::I32,
            number_bits(Scalar::I32, Number::Int(i128::from(value))),
        )
    }

    pub(super) fn binary(&mut self, op: Binary, ty: Scalar, a: Cell, b: Cell) -> Cell {
        let dst = self.temporary();
        self.emit(Instruction::Binary { op, ty, dst, a, b });
        dst
    }

    /// `a` times `b` plus `c` as Warp makes its products of matrices: rounded once, but for numbers of 16
    /// bits and integers, which have no such instruction.
    pub(super) fn mul_add(&mut self, ty: Scalar, a: Cell, b: Cell, c: Cell) -> Cell {
        if !matches!(ty, Scalar::F32 | Scalar::F64) {
            let product = self.binary(Binary::Mul, ty, a, b);
            return self.binary(Binary::Add, ty, c, product);
        }
        let dst = self.temporary();
        self.emit(Instruction::MulAdd { ty, dst, a, b, c });
        dst
    }

    pub(super) fn unary(&mut self, op: Unary, ty: Scalar, a: Cell) -> Cell {
        let dst = self.temporary();
        self.emit(Instruction::Unary { op, ty, dst, a });
        dst
    }

    pub(super) fn compare(&mut self, op: Comparison, ty: Scalar, a: Cell, b: Cell) -> Cell {
        let dst = self.temporary();
        self.emit(Instruction::Compare { op, ty, dst, a, b });
        dst
    }

    pub(super) fn select(&mut self, ty: Scalar, cond: Cell, a: Cell, b: Cell) -> Cell {
        let dst = self.temporary();
        self.emit(Instruction::Select {
            ty,
            dst,
            cond,
            a,
            b,
        });
        dst
    }

    pub(super) fn cast(&mut self, from: Scalar, to: Scalar, src: Cell) -> Cell {
        if from == to {
            return src;
        }
        let dst = self.temporary();
        self.emit(Instruction::Cast { from, to, dst, src });
        dst
    }

    pub(super) fn copy(&mut self, ty: Scalar, dst: Cell, src: Cell) {
        if dst != src {
            self.emit(Instruction::Move { ty, dst, src });
        }
    }

    /// A truth value from a number.
    pub(super) fn truth(&mut self, ty: Scalar, cell: Cell) -> Cell {
        if ty == Scalar::Bool {
            return cell;
        }
        let zero = self.bits(ty, 0);
        self.compare(Comparison::NotEqual, ty, cell, zero)
    }

    /// An index as a 32-bit integer.
    pub(super) fn index(&mut self, ty: Scalar, cell: Cell) -> Cell {
        match ty {
            Scalar::I32 | Scalar::I8 | Scalar::I16 | Scalar::U8 | Scalar::U16 => cell,
            _ => {
                // Anything beyond 32 bits is out of range of every array, and stays so.
                let wide = self.cast(ty, Scalar::I64, cell);
                let low = self.bits(Scalar::I64, i64::from(i32::MIN) as u64);
                let high = self.bits(Scalar::I64, i64::from(i32::MAX) as u64);
                let raised = self.binary(Binary::Max, Scalar::I64, wide, low);
                let clamped = self.binary(Binary::Min, Scalar::I64, raised, high);
                self.cast(Scalar::I64, Scalar::I32, clamped)
            }
        }
    }
}
