//! The subset of Python's syntax that kernels are written in, as a tree of small nodes in two arenas.
//!
//! Everything the parser accepts has a node: what is outside the subset becomes
//! [`ExprKind::Unsupported`] or [`StmtKind::Unsupported`] with its name, and is refused only if the
//! kernel reaches it.

mod chunks;
mod convert;
mod graft;
mod limits;
mod mentions;
mod parse;
mod source;
mod subset;
mod tree;

pub(crate) use parse::{Parsed, line_count, parse};
pub(crate) use source::SourceText;
pub(crate) use subset::Scratch;
pub(crate) use tree::{
    Alias, BinaryOp, ClassNode, CompareOp, ComprehensionKind, Expr, ExprId, ExprKind, FunctionNode,
    Keyword, List, Parameter, Stmt, StmtId, StmtKind, Tree, UnaryOp,
};
