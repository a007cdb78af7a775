//! What the lanes execute: operations on cells, each on one scalar type, and control by masks.
//!
//! A program is a flat list. Branches and loops are structured: each opens and closes, and jumps only
//! skip what no lane would do.
//!
//! Fields are documented where their names do not say it: `dst` is the cell of the result, `a`, `b` and
//! `src` are those of the operands, `ty` is the type of the operation.
#![expect(missing_docs, reason = "most names say all that there is to say")]

use super::factorisation::Factorisation;
use super::lanes::Cell;
use super::noise::Noise;
use super::object::Question;
use warpsmith_ir::Comparison;
use warpsmith_ir::types::{Scalar, TypeId};

/// An operation on two scalars of one type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Binary {
    Add,
    Sub,
    Mul,
    Div,
    FloorDiv,
    Mod,
    Min,
    Max,
    Pow,
    Atan2,
    CopySign,
    And,
    Or,
    Xor,
    Shl,
    Shr,
}

/// An operation on one scalar.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unary {
    Neg,
    Abs,
    Sign,
    Step,
    NonZero,
    Invert,
    BitCount,
    Sqrt,
    /// As [`Unary::Sqrt`], with a derivative of zero at zero: the root in a length.
    Length,
    Cbrt,
    Sin,
    Cos,
    Tan,
    Asin,
    Acos,
    Atan,
    Sinh,
    Cosh,
    Tanh,
    Exp,
    Log,
    Log2,
    Log10,
    Erf,
    Erfc,
    ErfInv,
    ErfcInv,
    Floor,
    Ceil,
    Round,
    Rint,
    Trunc,
    Frac,
    /// One step of the random generator.
    Pcg,
}

/// A question about one floating-point scalar.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    Nan,
    Inf,
    Finite,
}

/// An update of memory that gives the old value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Update {
    Binary(Binary),
    Exchange,
}

/// Which memory: an array's values or their gradients.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Space {
    Value,
    Gradient,
}

/// Which buffer a reference points into.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BufferAt {
    /// That of an array parameter of the kernel.
    Param(u16),
    /// Each lane's own, by number.
    Cell(Cell),
}

/// A scalar in memory, for each lane.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Location {
    pub buffer: BufferAt,
    /// The element's number in the buffer.
    pub element: Cell,
    /// The first scalar in the element.
    pub column: u32,
    /// What to add to the column, where an index is only known to the lane.
    pub offset: Option<Cell>,
    pub space: Space,
    /// What the buffer's elements are.
    pub element_type: TypeId,
}

impl Location {
    /// The value of an element of an array that the lane has in its cells, from its first scalar on.
    pub fn of_element(array: Cell, element: Cell, element_type: TypeId) -> Self {
        Self {
            buffer: BufferAt::Cell(array),
            element,
            column: 0,
            offset: None,
            space: Space::Value,
            element_type,
        }
    }
}

/// One instruction.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Instruction {
    Binary {
        op: Binary,
        ty: Scalar,
        dst: Cell,
        a: Cell,
        b: Cell,
    },
    Unary {
        op: Unary,
        ty: Scalar,
        dst: Cell,
        a: Cell,
    },
    /// `a` times `b` plus `c`, rounded once; of `float32` and `float64`.
    MulAdd {
        ty: Scalar,
        dst: Cell,
        a: Cell,
        b: Cell,
        c: Cell,
    },
    Classify {
        class: Class,
        ty: Scalar,
        dst: Cell,
        a: Cell,
    },
    Compare {
        op: Comparison,
        ty: Scalar,
        dst: Cell,
        a: Cell,
        b: Cell,
    },
    Select {
        ty: Scalar,
        dst: Cell,
        cond: Cell,
        a: Cell,
        b: Cell,
    },
    Move {
        ty: Scalar,
        dst: Cell,
        src: Cell,
    },
    /// The value as another type.
    Cast {
        from: Scalar,
        to: Scalar,
        dst: Cell,
        src: Cell,
    },
    /// Zeroes cells in every lane.
    Zero {
        first: Cell,
        count: u32,
    },
    /// A thread coordinate.
    Tid {
        dst: Cell,
        axis: u8,
        rank: u8,
    },
    /// `dst` is `first[index]` of `len` cells.
    Gather {
        ty: Scalar,
        dst: Cell,
        first: Cell,
        len: u32,
        index: Cell,
    },
    /// `first[index]` of `len` cells is `src`.
    Scatter {
        ty: Scalar,
        first: Cell,
        len: u32,
        index: Cell,
        src: Cell,
    },
    /// An index into `len` components, counted from the end if negative; out of range is a fault.
    Component {
        dst: Cell,
        index: Cell,
        len: u32,
    },
    /// The element that indices of an array parameter name; out of range is a fault.
    AddressParam {
        param: u16,
        rank: u8,
        indices: [Cell; 4],
        dst: Cell,
    },
    /// The element and buffer that indices of an array value name.
    Address {
        array: Cell,
        rank: u8,
        indices: [Cell; 4],
        dst: Cell,
        buffer: Cell,
    },
    /// One step of a view: `index` fixes the first dimension that is left.
    ViewIndex {
        array: Cell,
        axis: u8,
        index: Cell,
    },
    /// One step of a view: a slice (three cells) of a dimension.
    ViewSlice {
        array: Cell,
        axis: u8,
        slice: Cell,
    },
    Load {
        ty: Scalar,
        dst: Cell,
        from: Location,
    },
    Store {
        ty: Scalar,
        src: Cell,
        to: Location,
    },
    /// `observed`: something looks at the old value.
    Atomic {
        update: Update,
        ty: Scalar,
        dst: Cell,
        src: Cell,
        at: Location,
        observed: bool,
    },
    CompareExchange {
        ty: Scalar,
        dst: Cell,
        expected: Cell,
        src: Cell,
        at: Location,
    },
    /// Turns a range (three cells: next, end, step) round.
    ReverseRange {
        range: Cell,
    },
    /// Whether a range has a further number.
    RangeTest {
        dst: Cell,
        range: Cell,
    },
    /// Notes that a variable has a value.
    Mark {
        variable: u32,
    },
    /// A fault where a variable has no value.
    CheckMarked {
        variable: u32,
    },
    /// A variable has a value where the one that it comes from has: the first of `from` where `cond` holds,
    /// else the second. Those without a mark have one.
    MarkChosen {
        variable: u32,
        cond: Cell,
        from: [Option<u32>; 2],
    },
    /// Reports the lanes in which `cond` is false; `stops` ends them.
    Expect {
        cond: Cell,
        message: u32,
        stops: bool,
    },
    /// Prints an entry of the program's list.
    Print {
        entry: u32,
    },
    /// The factors of the matrix at `src`; backwards, what its dual receives from the factors and then
    /// their duals at `src`.
    Factor {
        kind: Factorisation,
        ty: Scalar,
        dst: Cell,
        src: Cell,
        backward: bool,
    },
    /// Noise of the words from `src` on; backwards, what the point's dual receives from them and the
    /// results' duals behind them.
    Noise {
        noise: Noise,
        dst: Cell,
        src: Cell,
        backward: bool,
    },
    /// What an object answers to the words from `src` on. A search that moves on is changed in place.
    Ask {
        question: Question,
        dst: Cell,
        src: Cell,
    },
    /// A Poisson variate; the generator's state moves on.
    Poisson {
        dst: Cell,
        state: Cell,
        rate: Cell,
    },
    /// Matrices in arrays: an entry of the program's list.
    Dense {
        entry: u32,
    },
    /// Whole tiles: an entry of the program's list.
    Tile {
        entry: u32,
    },
    /// The bytes of a value as another type; the layouts are an entry of the program's list.
    Reinterpret {
        entry: u32,
        dst: Cell,
        src: Cell,
    },
    /// The first element from `begin` to `end` of a sorted array that is not less than `value`, or the
    /// last of them.
    LowerBound {
        ty: Scalar,
        dst: Cell,
        array: Cell,
        begin: Cell,
        end: Cell,
        value: Cell,
    },
    /// An array of the lane's own, all zero: an entry of the program's list.
    Allocate {
        entry: u32,
        array: Cell,
    },
    /// Runs up to the matching `EndIf` in the lanes where `cond` holds.
    If {
        cond: Cell,
        negated: bool,
        end: u32,
        skips: bool,
    },
    EndIf,
    Loop,
    LoopTest {
        cond: Cell,
        exit: u32,
    },
    LoopNext {
        head: u32,
    },
    LoopExit,
    /// `depth` counts the loops outwards from the innermost.
    Break {
        depth: u32,
    },
    Continue {
        depth: u32,
    },
    Enter,
    Leave,
    Return,
    /// Waits for the label in the backward walk.
    ReturnTo {
        label: u32,
    },
    /// Lanes that wait for the label go on here.
    Label {
        label: u32,
    },
}

impl Instruction {
    /// Whether its results are the same wherever floats are rounded as IEEE 754 says.
    pub fn rounds_alike(&self) -> bool {
        match self {
            Self::Unary { op, ty, .. } => {
                !ty.is_float()
                    || matches!(
                        op,
                        Unary::Neg
                            | Unary::Abs
                            | Unary::Sign
                            | Unary::Step
                            | Unary::NonZero
                            | Unary::Sqrt
                            | Unary::Length
                            | Unary::Floor
                            | Unary::Ceil
                            | Unary::Round
                            | Unary::Rint
                            | Unary::Trunc
                            | Unary::Frac
                    )
            }
            Self::Binary { op, .. } => !matches!(op, Binary::Pow | Binary::Atan2),
            // Sums of floats that threads add to depend on their order.
            Self::Atomic { update, ty, .. } => {
                let sums = matches!(update, Update::Binary(Binary::Add | Binary::Sub));
                !(sums && ty.is_float())
            }
            Self::Factor { .. }
            | Self::Noise { .. }
            | Self::Poisson { .. }
            | Self::Dense { .. }
            | Self::Tile { .. } => false,
            _ => true,
        }
    }
}
