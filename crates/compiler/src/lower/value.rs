//! What evaluating an expression gives.

use crate::diagnostic::Problem;
use crate::globals::PythonModule;
use warpsmith_ir::VarId;
use warpsmith_ir::names::Name;
use warpsmith_ir::types::TypeId;

/// The result of evaluating an expression.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Value {
    Var(VarId),
    /// Several results: a run in `Body::many`.
    Many {
        start: u32,
        len: u32,
    },
    /// A number that becomes a constant where it is passed on.
    Int(i64),
    Type(TypeId),
    /// One of Python's `float`, `int`, `bool`.
    PythonType(TypeId),
    Function(u32),
    Builtin(u16),
    /// What `wp.grad` gives: only to be called.
    Gradient(Differentiated),
    Module(PythonModule),
    /// A class that holds constants.
    Class(Name),
    /// Something that may only be called, by its name.
    Callable,
}

/// What `wp.grad` is given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Differentiated {
    /// All overloads of a function.
    Function(u32),
    Builtin(u16),
}

/// What a name of the body is bound to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Binding {
    Var(VarId),
    Function(u32),
    Builtin(u16),
    Gradient(Differentiated),
}

/// A list that is nearly always short.
pub(super) type Few<T> = smallvec::SmallVec<[T; 6]>;

/// A problem, boxed: errors are rare and results are many.
pub(super) type Res<T> = Result<T, Box<Problem>>;

/// A problem whose place is that of the expression being evaluated.
pub(super) fn problem(code: &'static str, message: impl Into<String>) -> Box<Problem> {
    Box::new(Problem::at(code, u32::MAX, u32::MAX, message))
}

/// Fails with a problem whose place is that of the expression being evaluated.
pub(super) fn fail<T>(code: &'static str, message: impl Into<String>) -> Res<T> {
    Err(problem(code, message))
}

/// Gives a problem without a place the place of `start..end`.
pub(super) fn placed(mut problem: Box<Problem>, start: u32, end: u32) -> Box<Problem> {
    if problem.start == u32::MAX {
        problem.start = start;
        problem.end = end;
    }
    problem
}

/// A problem that says what to do about it.
pub(super) fn hinted(
    code: &'static str,
    message: impl Into<String>,
    hint: impl Into<String>,
) -> Box<Problem> {
    Box::new(Problem::at(code, u32::MAX, u32::MAX, message).hint(hint))
}
