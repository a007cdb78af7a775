//! Operations.

use super::{Function, LoopKind, VarId};
use crate::names::Name;

/// A run in [`super::Function::pool`]: first the operands, then the variables whose duals they feed
/// (one each), then the results.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Operands {
    /// Where the run begins.
    pub start: u32,
    /// Number of operands.
    pub args: u16,
    /// Number of results.
    pub outs: u16,
}

impl Operands {
    /// The operands of the forward call.
    pub fn args(self, pool: &[VarId]) -> &[VarId] {
        &pool[self.start as usize..][..usize::from(self.args)]
    }

    /// For each operand, the variable whose dual receives its gradient.
    pub fn adjoints(self, pool: &[VarId]) -> &[VarId] {
        &pool[self.start as usize + usize::from(self.args)..][..usize::from(self.args)]
    }

    /// The results.
    pub fn outs(self, pool: &[VarId]) -> &[VarId] {
        &pool[self.start as usize + 2 * usize::from(self.args)..][..usize::from(self.outs)]
    }
}

/// A chain of comparisons (`a < b <= c`): runs in [`Function::pool`] and
/// [`Function::comparisons`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Chain {
    /// First operand in the pool.
    pub operands: u32,
    /// First comparison.
    pub comparisons: u32,
    /// Number of comparisons: one less than operands.
    pub count: u32,
}

impl Chain {
    /// The operands.
    pub fn operands(self, function: &Function) -> &[VarId] {
        &function.pool[self.operands as usize..][..self.count as usize + 1]
    }

    /// The comparisons between them.
    pub fn comparisons(self, function: &Function) -> &[Comparison] {
        &function.comparisons[self.comparisons as usize..][..self.count as usize]
    }
}

/// What is called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Callee {
    /// A builtin: position in the table of builtins, and the overload's position among its rows.
    Builtin(u16, u16),
    /// A function of the module, by position.
    Function(u32),
    /// A struct's constructor: from nothing, or from a value for each field.
    Struct(crate::types::StructId),
}

/// A call. Adjoint: the callee's own, unless [`Call::has_adjoint`] is false.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Call {
    /// What is called.
    pub callee: Callee,
    /// Operands, adjoint targets, results.
    pub operands: Operands,
    /// Template arguments: position in [`super::Function::templates`].
    pub template: Option<u32>,
    /// Whether the arguments stand in braces.
    pub braces: bool,
    /// Whether walking backwards calls the adjoint.
    pub has_adjoint: bool,
}

/// How two values are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Comparison {
    Equal,
    NotEqual,
    Less,
    LessEqual,
    Greater,
    GreaterEqual,
}

impl Comparison {
    /// The operator, the same in Python and C++.
    pub fn symbol(self) -> &'static str {
        match self {
            Self::Equal => "==",
            Self::NotEqual => "!=",
            Self::Less => "<",
            Self::LessEqual => "<=",
            Self::Greater => ">",
            Self::GreaterEqual => ">=",
        }
    }
}

/// What is done to a component of an array element.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum SlotUpdate {
    Add,
    Sub,
    And,
    Or,
    Xor,
}

impl SlotUpdate {
    /// The word in the name of the C++ function.
    pub fn word(self) -> &'static str {
        match self {
            Self::Add => "add",
            Self::Sub => "sub",
            Self::And => "and",
            Self::Or => "or",
            Self::Xor => "xor",
        }
    }
}

/// An operation.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Op {
    /// A source line begins: position in [`super::Module::lines`].
    Line(u32),
    /// A call.
    Call(Call),
    /// `dst` is the value behind the reference `src`. Adjoint: none, since whoever uses `dst` feeds the
    /// dual of `src` directly.
    Load {
        /// The value.
        dst: VarId,
        /// The reference.
        src: VarId,
    },
    /// `dst = src`, one step of `and`/`or`. Adjoint: none.
    Set {
        /// The boolean result.
        dst: VarId,
        /// The first operand.
        src: VarId,
    },
    /// `dst = dst && src`, or `||`. Adjoint: none.
    Accumulate {
        /// The boolean result.
        dst: VarId,
        /// A further operand.
        src: VarId,
        /// Whether this is `or`.
        or: bool,
    },
    /// `dst = value`: a counter's start. Adjoint: none.
    SetInt {
        /// The counter.
        dst: VarId,
        /// Its first value.
        value: i64,
    },
    /// `dst = constant` at full 64-bit precision. Adjoint: none.
    Literal {
        /// The variable; it is not a constant.
        dst: VarId,
        /// Position in [`super::Function::literals`].
        literal: u32,
    },
    /// `dst = a < b`, or a chain `a < b <= c`: the operands are `count + 1` variables of the pool and
    /// the comparisons `count` entries of [`super::Function::comparisons`]. Adjoint: none.
    Compare {
        /// The boolean result.
        dst: VarId,
        /// What is compared.
        chain: Chain,
    },
    /// Everything up to the matching [`Op::EndIf`] runs when `cond` is true (false if `negated`).
    If {
        /// The condition.
        cond: VarId,
        /// Whether the branch runs when the condition is false.
        negated: bool,
        /// Position of the matching end.
        end: u32,
    },
    /// The end of a branch. Walking backwards, `cond` decides whether the branch's adjoint runs; it
    /// is a variable of its own where the condition had to be loaded again.
    EndIf {
        /// The condition, walking backwards.
        cond: VarId,
        /// As at the beginning.
        negated: bool,
        /// Position of the matching [`Op::If`].
        begin: u32,
    },
    /// A loop begins: position in [`super::Function::loops`]. For a `while` the operations up to
    /// [`Op::Test`] evaluate the condition.
    Loop {
        /// Which loop.
        index: u32,
        /// Position of the matching end.
        end: u32,
    },
    /// The condition of a `while` has been evaluated: leave the loop if it is false.
    Test {
        /// Which loop.
        index: u32,
        /// The condition.
        cond: VarId,
    },
    /// The end of a loop's body.
    EndLoop {
        /// Which loop.
        index: u32,
        /// Position of the matching [`Op::Loop`].
        begin: u32,
    },
    /// Leaves a loop.
    Break {
        /// Which loop.
        index: u32,
    },
    /// Goes on with the next iteration of a loop.
    Continue {
        /// Which loop.
        index: u32,
    },
    /// Returns `count` values of the pool. Replaying, this jumps to `label`, which stands at this very
    /// operation in the backward walk. Adjoint: the duals of the values receive the function's results'
    /// duals.
    Return {
        /// First value in the pool.
        values: u32,
        /// Number of values.
        count: u32,
        /// The label.
        label: u32,
    },
    /// Returns a zero value, where control may reach the end of a function that returns one.
    ReturnDefault,
    /// `dst` is a reference to a field of `aggregate` (a value or a reference; for an array, its
    /// `shape`). Adjoint: the field of the aggregate's dual receives the dual of `dst`: added if
    /// `accumulates`, else overwritten.
    FieldAddress {
        /// The reference.
        dst: VarId,
        /// The struct or array.
        aggregate: VarId,
        /// The field.
        field: Name,
        /// The traced place, where there is one: position in [`super::Function::places`].
        place: Option<u32>,
        /// Whether the dual is added.
        accumulates: bool,
    },
    /// `root.path = value`. Adjoint: the value's dual receives the field's dual if `accumulates`, then
    /// the field's dual is zeroed.
    FieldStore {
        /// The struct.
        root: VarId,
        /// The field, or a dotted path of fields.
        path: Name,
        /// The value.
        value: VarId,
        /// Whether gradients flow.
        accumulates: bool,
    },
    /// `dst` is a reference to a slot of an array element: position in [`super::Function::slots`].
    /// Adjoint: none.
    SlotAddress {
        /// The reference.
        dst: VarId,
        /// Which slot.
        slot: u32,
    },
    /// Stores into a slot of an array element. Not replayed. Adjoint: the value's dual receives the
    /// slot's gradient, which is then zeroed.
    SlotStore {
        /// Which slot.
        slot: u32,
        /// The value.
        value: VarId,
    },
    /// Updates a slot of an array element atomically. Not replayed. Adjoint: the value's dual receives
    /// the slot's gradient.
    SlotAtomic {
        /// Which slot.
        slot: u32,
        /// The value.
        value: VarId,
        /// What is done.
        update: SlotUpdate,
    },
    /// A statement that only the text knows: position in [`super::Function::texts`]. Adjoint: its own.
    Text {
        /// Which statement.
        text: u32,
        /// Whether a replay executes it.
        replayed: bool,
    },
    /// Stops the program if `cond` is false; `text` is the statement's source. Adjoint: none.
    Assert {
        /// The condition.
        cond: VarId,
        /// The statement.
        text: Name,
    },
}

impl Op {
    /// Whether a replay of the forward pass executes the operation. Loops are replayed by the backward
    /// walk itself, iteration by iteration.
    pub fn is_replayed(&self) -> bool {
        match self {
            Self::SlotStore { .. } | Self::SlotAtomic { .. } | Self::ReturnDefault => false,
            Self::Text { replayed, .. } => *replayed,
            Self::Call(call) => match call.callee {
                Callee::Builtin(index, row) => {
                    !crate::builtin::BUILTINS[usize::from(index)].rows[usize::from(row)].skip_replay
                }
                _ => true,
            },
            _ => true,
        }
    }
}

impl LoopKind {
    /// The word in the loop's labels.
    pub fn word(&self) -> &'static str {
        match self {
            Self::Range { .. } | Self::Counted { .. } => "for",
            Self::While => "while",
        }
    }
}
