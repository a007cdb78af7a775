//! Modules, functions, and the side tables that operations point into.

use super::{Comparison, Constant, Op};
use crate::names::{Name, Names};
use crate::types::{StructId, TypeId, TypeTable};

/// A variable of a function; the first [`Function::params`] are its parameters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct VarId(pub u32);

impl VarId {
    /// The first of the ids that stand for expressions.
    const FIRST_ALIAS: u32 = 1 << 31;

    /// Position among the function's variables.
    pub fn index(self) -> usize {
        self.0 as usize
    }

    /// Position among [`Function::aliases`], if this is no variable.
    #[inline]
    pub fn alias(self) -> Option<usize> {
        (self.0 >= Self::FIRST_ALIAS).then(|| (self.0 - Self::FIRST_ALIAS) as usize)
    }

    /// The id of an expression.
    pub fn of_alias(index: usize) -> Self {
        Self(Self::FIRST_ALIAS + index as u32)
    }
}

/// A variable.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Variable {
    /// Its type.
    pub ty: TypeId,
    /// Its value, if it is constant.
    pub constant: Option<Constant>,
    /// Its Python name, if it is a parameter.
    pub name: Option<Name>,
}

/// One step from a variable to the place that a reference points at.
#[derive(Clone, Debug, PartialEq)]
pub enum Step {
    /// A field of a struct.
    Field(Name),
    /// An element of an array.
    Element(Vec<VarId>),
    /// A view of an array.
    View(Vec<VarId>),
}

/// A place in memory, traced from a variable.
#[derive(Clone, Debug, PartialEq)]
pub struct Place {
    /// Where the path begins.
    pub root: VarId,
    /// The path.
    pub steps: Vec<Step>,
}

/// One step from an array element to a slot in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SlotStep {
    /// A component of a vector, quaternion or transform.
    Component(VarId),
    /// An element of a matrix.
    Element(VarId, VarId),
    /// A row of a matrix.
    Row(VarId),
    /// A field of a struct, or `p`/`q` of a transform.
    Field(Name),
}

/// A component, row or field of an array element.
#[derive(Clone, Debug, PartialEq)]
pub struct Slot {
    /// The array, or a reference to one.
    pub array: VarId,
    /// One index per dimension.
    pub indices: Vec<VarId>,
    /// The way into the element.
    pub steps: Vec<SlotStep>,
    /// The slot's type.
    pub ty: TypeId,
    /// Where the array itself came from, if it is a part of something.
    pub place: Option<Place>,
}

/// The values of a counted loop, known when it is compiled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CountedRange {
    /// First value.
    pub start: i64,
    /// One past the last value, in the direction of the step.
    pub stop: i64,
    /// The step; never 0.
    pub step: i64,
}

impl CountedRange {
    /// The last value; one step before `start` where there is none.
    pub fn last(self) -> i64 {
        let count = self
            .stop
            .abs_diff(self.start)
            .div_ceil(self.step.unsigned_abs());
        let last = i128::from(self.start) + i128::from(self.step) * (i128::from(count) - 1);
        last as i64
    }
}

/// What kind of loop it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LoopKind {
    /// Over a `range` value; `value` takes its numbers in turn.
    Range {
        /// The range.
        iter: VarId,
        /// The loop variable.
        value: VarId,
    },
    /// Over constants: `counter` runs through `range`, its first value set beforehand; `value` is
    /// its copy.
    Counted {
        /// The counter.
        counter: VarId,
        /// The loop variable.
        value: VarId,
        /// The counter's values.
        range: CountedRange,
    },
    /// While a condition holds.
    While,
}

/// A loop.
#[derive(Clone, Debug, PartialEq)]
pub struct Loop {
    /// What kind it is.
    pub kind: LoopKind,
    /// The number in its labels.
    pub label: u32,
    /// The variables whose duals are zeroed at the start of each backward iteration.
    pub zeroed: Vec<VarId>,
}

/// A template argument of a C++ call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Template {
    /// A number.
    Int(i64),
    /// A type.
    Type(TypeId),
}

/// A part of a statement that only the text knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Piece {
    /// C++ as it stands.
    Text(Name),
    /// C++ for CUDA, and for the CPU.
    Either(Name, Name),
    /// A variable.
    Var(VarId),
    /// A variable's dual.
    Dual(VarId),
    /// The spelling of a type.
    Type(TypeId),
}

/// A statement that only the text knows: tiles are C++ templates, and nothing else runs them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Text {
    /// The statement, without its semicolon.
    pub forward: Vec<Piece>,
    /// Its adjoint; empty for none.
    pub reverse: Vec<Piece>,
}

/// An expression that stands where a variable does, and that only the text knows: a gradient that its
/// author adds to, or the address of something.
#[derive(Clone, Debug, PartialEq)]
pub struct Alias {
    /// Its type.
    pub variable: Variable,
    /// The expression.
    pub pieces: Vec<Piece>,
}

/// A source line as the text quotes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Line {
    /// The number that is printed.
    pub number: u32,
    /// The line, stripped.
    pub text: Name,
    /// How many characters that is.
    pub width: u32,
}

/// Options of a kernel that change its frame.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KernelOptions {
    /// Whether the adjoint is generated.
    pub backward: bool,
    /// Whether each thread strides over the grid.
    pub grid_stride: bool,
    /// `__launch_bounds__` with one or two numbers.
    pub launch_bounds: Option<(i64, Option<i64>)>,
    /// Registers per thread.
    pub max_registers: Option<i64>,
    /// Blocks in a cluster.
    pub cluster_dim: i64,
    /// Whether registers may spill into shared memory.
    pub smem_spilling: bool,
}

impl Default for KernelOptions {
    fn default() -> Self {
        Self {
            backward: true,
            grid_stride: true,
            launch_bounds: None,
            max_registers: None,
            cluster_dim: 1,
            smem_spilling: false,
        }
    }
}

/// Whether a function is the kernel or is called by it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FunctionKind {
    /// The kernel.
    Kernel {
        /// Dimensions of the launch.
        launch_rank: u32,
        /// Whether the body asks for its thread's index as one number.
        scalar_tid: bool,
        /// Whether there is a loop over constants that was too long to unroll.
        long_constant_loop: bool,
        /// Options.
        options: KernelOptions,
    },
    /// A function.
    Device {
        /// `WP_NOINLINE `, `WP_FORCEINLINE ` or nothing.
        inline_hint: &'static str,
        /// Whether a kernel with an adjoint reaches it.
        adjoint: bool,
        /// The file that defines it, where that is not the module's own.
        file: Option<Name>,
        /// What its author wrote of the text, or of the adjoint.
        custom: Custom,
    },
}

/// What a function's author wrote instead of the compiler.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Custom {
    /// Where the function's own text comes from.
    pub origin: Origin,
    /// Whether another function of the module is its adjoint.
    pub has_gradient: bool,
    /// Whether another function of the module stands in for it when a forward pass is repeated.
    pub has_replay: bool,
}

/// Where a function's text comes from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Origin {
    /// The compiler.
    #[default]
    Compiled,
    /// The author, in C++.
    Native {
        /// The body.
        forward: Name,
        /// The adjoint's body.
        adjoint: Option<Name>,
        /// The body of what stands in for it when a forward pass is repeated.
        replay: Option<Name>,
    },
    /// The compiler, as the adjoint of another function.
    Gradient {
        /// How many parameters are the other function's; the rest are gradients of its results.
        inputs: u32,
    },
    /// The compiler, to stand in for another function when a forward pass is repeated.
    Replay,
}

/// A function: variables, operations, and the tables that operations point into.
#[derive(Clone, Debug, PartialEq)]
pub struct Function {
    /// The name in C++; for a kernel without the suffix.
    pub native: Name,
    /// The line of its first decorator; 0 for an instance of a generic one.
    pub first_line: u32,
    /// Kernel or function.
    pub kind: FunctionKind,
    /// How many of the variables are parameters.
    pub params: u32,
    /// The variables.
    pub vars: Vec<Variable>,
    /// The operations.
    pub ops: Vec<Op>,
    /// Operands of calls, comparisons and returns.
    pub pool: Vec<VarId>,
    /// Comparisons.
    pub comparisons: Vec<Comparison>,
    /// Places.
    pub places: Vec<Place>,
    /// Slots.
    pub slots: Vec<Slot>,
    /// Loops.
    pub loops: Vec<Loop>,
    /// Template argument lists.
    pub templates: Vec<Vec<Template>>,
    /// 64-bit literals.
    pub literals: Vec<Constant>,
    /// Statements that only the text knows.
    pub texts: Vec<Text>,
    /// Expressions that stand where variables do.
    pub aliases: Vec<Alias>,
    /// What is returned; empty for nothing.
    pub returns: Vec<TypeId>,
}

impl Function {
    /// A function with nothing in it.
    pub fn empty() -> Self {
        Self {
            native: Name::of_builtin(0),
            first_line: 0,
            kind: FunctionKind::Device {
                inline_hint: "",
                adjoint: false,
                file: None,
                custom: Custom::default(),
            },
            params: 0,
            vars: Vec::new(),
            ops: Vec::new(),
            pool: Vec::new(),
            comparisons: Vec::new(),
            places: Vec::new(),
            slots: Vec::new(),
            loops: Vec::new(),
            templates: Vec::new(),
            literals: Vec::new(),
            texts: Vec::new(),
            aliases: Vec::new(),
            returns: Vec::new(),
        }
    }

    /// Forgets everything but the memory that it is kept in.
    pub fn clear(&mut self) {
        self.vars.clear();
        self.ops.clear();
        self.pool.clear();
        self.comparisons.clear();
        self.places.clear();
        self.slots.clear();
        self.loops.clear();
        self.templates.clear();
        self.literals.clear();
        self.texts.clear();
        self.aliases.clear();
        self.returns.clear();
    }

    /// Whether a variable is a tile or a stack of a block, which only the text knows.
    pub fn has_tiles(&self, types: &TypeTable) -> bool {
        self.vars.iter().any(|variable| {
            matches!(
                types.get(variable.ty),
                crate::types::Type::Tile(_) | crate::types::Type::TileStack { .. }
            )
        })
    }

    /// What the author wrote of the text.
    pub fn custom(&self) -> Custom {
        match self.kind {
            FunctionKind::Device { custom, .. } => custom,
            FunctionKind::Kernel { .. } => Custom::default(),
        }
    }

    /// Whether it calls an adjoint itself, by `wp.grad`: it has none of its own, and stands behind those that it
    /// may call.
    pub fn takes_gradients(&self, names: &Names) -> bool {
        !matches!(self.custom().origin, Origin::Gradient { .. })
            && self.texts.iter().any(|text| match text.forward.first() {
                Some(Piece::Text(name)) => {
                    let name = names.get(*name);
                    name.strip_prefix("wp::")
                        .unwrap_or(name)
                        .starts_with("adj_")
                }
                _ => false,
            })
    }

    /// Whether something else is called in its place when a forward pass is repeated.
    pub fn is_replaced_in_replay(&self) -> bool {
        let custom = self.custom();
        match custom.origin {
            Origin::Native { replay, .. } => replay.is_some() && self.returns.is_empty(),
            _ => custom.has_replay && self.returns.len() <= 1,
        }
    }

    /// A variable.
    pub fn var(&self, id: VarId) -> &Variable {
        match id.alias() {
            Some(alias) => &self.aliases[alias].variable,
            None => &self.vars[id.index()],
        }
    }

    /// The variables that are not parameters, with their ids.
    pub fn locals(&self) -> impl Iterator<Item = (VarId, &Variable)> {
        let params = self.params;
        (params..).map(VarId).zip(&self.vars[params as usize..])
    }

    /// The parameters, with their ids.
    pub fn parameters(&self) -> impl Iterator<Item = (VarId, &Variable)> {
        (0..).map(VarId).zip(&self.vars[..self.params as usize])
    }
}

/// One kernel with everything that it reaches.
#[derive(Clone, Debug)]
pub struct Module {
    /// Names and texts.
    pub names: Names,
    /// Types.
    pub types: TypeTable,
    /// Structs in the order in which they are declared.
    pub structs: Vec<StructId>,
    /// Functions, callees before callers.
    pub functions: Vec<Function>,
    /// The kernel.
    pub kernel: Function,
    /// Quoted source lines.
    pub lines: Vec<Line>,
    /// Elements of compound constants.
    pub elements: Vec<super::Number>,
    /// The file that comments name.
    pub file: Name,
    /// What follows a kernel's key in its native name, with the underscore; empty for nothing.
    pub suffix: Name,
}
