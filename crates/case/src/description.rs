//! What a case says: the kernel, its sizes, its arguments, its launch, and what it is compared with.

use std::path::{Path, PathBuf};

use serde::Serialize;
use warpsmith_core::Tolerance;
use warpsmith_measure::kernel_file::{Direction, Scalar};

use crate::document::{CaseError, Place};
use crate::expression::{Expression, Scope};

/// A kernel with everything that checking and measuring it needs.
#[derive(Clone, Debug)]
pub struct Case {
    /// The case's own file.
    pub file: PathBuf,
    /// Where its code is.
    pub source: Source,
    /// The kernel, where the source has several.
    pub kernel: Option<String>,
    /// Named dimensions and the sizes that they take.
    pub sizes: Sizes,
    /// What sizes and tunables must satisfy.
    pub(crate) constraints: Vec<(Place, Expression)>,
    /// The kernel's arguments, in its order.
    pub arguments: Vec<Argument>,
    /// How many threads run.
    pub launch: Launch,
    /// Macros that are defined, and their values.
    pub defines: Vec<(String, String)>,
    /// Options that are passed on to NVRTC.
    pub flags: Vec<String>,
    /// What the kernel is compared with.
    pub reference: Option<Reference>,
    /// How far it may be from that; follows from rounding where it is not given.
    pub tolerance: Option<StatedTolerance>,
    /// What `tune` may choose.
    pub tunables: Vec<Tunable>,
    /// What one launch must at least move and compute.
    pub cost: CostExpressions,
}

/// Where a kernel's code is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    /// CUDA C++.
    Cuda(PathBuf),
    /// PTX.
    Ptx(PathBuf),
    /// Machine code.
    Cubin(PathBuf),
    /// A Warp-style Python kernel.
    Warp(PathBuf),
    /// A function of a Python file: PyTorch, Triton, CuPy, Numba or NumPy.
    Callable(Callable),
}

/// A function of a Python file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Callable {
    /// The file.
    pub file: PathBuf,
    /// The function in it.
    pub function: String,
}

impl Source {
    /// The file that holds the code.
    pub fn path(&self) -> &Path {
        match self {
            Self::Cuda(path) | Self::Ptx(path) | Self::Cubin(path) | Self::Warp(path) => path,
            Self::Callable(callable) => &callable.file,
        }
    }
}

/// Named dimensions with the sizes that they take.
#[derive(Clone, Debug, Default)]
pub struct Sizes {
    /// The dimensions' names, in the order of the file.
    pub names: Vec<String>,
    /// Every size that the case lists.
    pub listed: Vec<Scope>,
    /// Whether `verify` adds awkward sizes around these.
    pub tails: bool,
    pub(crate) place: Option<Place>,
}

/// One argument of the kernel.
#[derive(Clone, Debug)]
pub struct Argument {
    /// Its name, which references know it by.
    pub name: String,
    /// Its type, or that of its elements.
    pub scalar: Scalar,
    /// An array or a number.
    pub kind: ArgumentKind,
    pub(crate) place: Place,
}

/// What an argument is.
#[derive(Clone, Debug)]
pub enum ArgumentKind {
    /// An array in device memory.
    Array {
        /// What the kernel does with it.
        direction: Direction,
        /// Elements along each dimension.
        shape: Vec<Expression>,
        /// What it holds at first.
        fill: Fill,
    },
    /// A whole number by value.
    Whole(Expression),
    /// A number by value.
    Real(f64),
    /// The components of a vector, a matrix (row by row) or a quaternion by value.
    Components(Vec<f64>),
}

/// What an array holds before the kernel runs.
#[derive(Clone, Debug, PartialEq)]
pub enum Fill {
    /// What the case leaves open: normal at first, and wider or positive numbers in later rounds.
    Natural,
    /// Normal with this mean and standard deviation.
    Normal(f64, f64),
    /// Uniform between these.
    Uniform(f64, f64),
    /// Whole numbers from the first up to the second, both among them.
    Integers(i64, i64),
    /// Uniform between 0 and 1, in rising order.
    Sorted,
    /// Ordinary numbers with infinities, NaN, denormals, zeros of both signs and extremes among them.
    Special,
    /// Zeros.
    Zeros,
    /// Ones.
    Ones,
    /// 0, 1, 2…
    Iota,
    /// A file's contents.
    Npy(PathBuf),
}

/// How many threads a launch has.
#[derive(Clone, Debug)]
#[allow(clippy::large_enum_variant)] // There is one of these for a whole run.
pub enum Launch {
    /// Blocks, threads of a block, and dynamic shared memory in bytes.
    Grid {
        /// Blocks in x, y, z.
        grid: [Expression; 3],
        /// Threads of a block in x, y, z.
        block: [Expression; 3],
        /// Bytes of dynamic shared memory.
        shared: Expression,
    },
    /// Threads along each dimension, for Warp-style kernels.
    Threads(Vec<Expression>),
    /// A Python callable launches by itself.
    Itself,
}

/// What a kernel is compared with.
#[derive(Clone, Debug)]
pub struct Reference {
    /// What it is.
    pub kind: ReferenceKind,
    /// Seconds that one answer may take.
    pub seconds: f64,
    /// Bytes of memory that it may hold.
    pub memory: u64,
    pub(crate) place: Place,
}

/// Where right answers come from.
#[derive(Clone, Debug)]
#[allow(clippy::large_enum_variant)] // There is one of these for a whole run.
pub enum ReferenceKind {
    /// A NumPy or PyTorch function of a Python file.
    Function(Callable),
    /// Another kernel that takes the same arguments.
    Kernel {
        /// Where it is.
        source: Source,
        /// Its name, where there are several.
        kernel: Option<String>,
        /// Its launch, where it is another.
        launch: Option<Launch>,
    },
    /// Stored answers by argument.
    Npy(Vec<(String, PathBuf)>),
    /// The interpreter, for Warp-style kernels on a GPU.
    Interpreter,
    /// A built-in workload, on the CPU, with its own inputs.
    Workload(WorkloadReference),
}

/// A built-in workload with what the case says about it.
#[derive(Clone, Debug)]
pub struct WorkloadReference {
    /// `area/name`.
    pub id: String,
    /// Its parameters: the text, and the expression that it is where it names dimensions.
    pub parameters: Vec<(String, (String, Option<Expression>))>,
    /// The arguments that get its inputs, in its order; the arrays that the kernel reads where there are none.
    pub inputs: Vec<String>,
}

/// A tolerance with its reason.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct StatedTolerance {
    /// The bounds.
    pub bounds: Tolerance,
    /// Why these.
    pub because: String,
}

/// A macro or compiler option that `tune` may choose.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tunable {
    /// The macro; a name that begins with `-` is an option of the compiler.
    pub name: String,
    /// Its values; the first is used unless something else is said.
    pub values: Vec<TunableValue>,
}

/// A value of a tunable.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum TunableValue {
    /// A number, which expressions know too.
    Whole(i64),
    /// A word.
    Word(String),
}

impl std::fmt::Display for TunableValue {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Whole(value) => value.fmt(f),
            Self::Word(word) => word.fmt(f),
        }
    }
}

/// What one launch must at least move and compute.
#[derive(Clone, Debug, Default)]
pub struct CostExpressions {
    /// Bytes; every array once where it is not given.
    pub bytes: Option<Expression>,
    /// Floating-point operations.
    pub flops: Option<Expression>,
}

impl Case {
    /// An error about a place in the case's file.
    pub(crate) fn error(&self, place: &Place, problem: impl std::fmt::Display) -> CaseError {
        place.error(&self.file, problem)
    }

    /// What the case is called: its file's name without the ending.
    pub fn name(&self) -> String {
        let stem = self.file.file_stem().unwrap_or_default();
        stem.to_string_lossy().into_owned()
    }

    /// The arguments that the kernel writes.
    pub fn outputs(&self) -> impl Iterator<Item = &Argument> {
        self.arguments.iter().filter(|argument| {
            matches!(
                argument.kind,
                ArgumentKind::Array {
                    direction: Direction::Out | Direction::InOut,
                    ..
                }
            )
        })
    }
}

impl Argument {
    /// The direction of an array.
    pub fn direction(&self) -> Option<Direction> {
        match self.kind {
            ArgumentKind::Array { direction, .. } => Some(direction),
            _ => None,
        }
    }
}
