//! A parser for the plain part of Python that kernels are nearly always written in, straight into our
//! tree: several times as fast as the full parser, whose own tree would have to be converted.
//!
//! Invariant: what this parser reads, it reads exactly as the full parser and the conversion of its tree
//! do. At the first thing that is out of the ordinary (a construct outside the subset, an error, a
//! backslash, a character that is not ASCII, deep nesting) it gives up, and the full parser, which also
//! words the errors, takes over.

mod expression;
mod lexer;
mod statement;

use lexer::Lexer;

use super::{CompareOp, ExprId, Keyword, List, StmtId, Tree};
use warpsmith_ir::names::Names;

/// Most expressions in one statement: bounds the depth of a chain of operators, well below what the
/// conversion refuses.
const MAX_NODES: usize = 100;
/// Deepest nesting of brackets, blocks and `elif` chains.
const MAX_NESTING: u32 = 15;

/// Lists under construction, kept from one source to the next.
#[derive(Debug, Default)]
pub(crate) struct Scratch {
    exprs: Vec<ExprId>,
    stmts: Vec<StmtId>,
    keywords: Vec<Keyword>,
    compares: Vec<CompareOp>,
    indents: Vec<u32>,
}

impl Scratch {
    fn clear(&mut self) {
        self.exprs.clear();
        self.stmts.clear();
        self.keywords.clear();
        self.compares.clear();
        self.indents.clear();
    }
}

/// Reads a module into `tree`, behind what is there; `None`, with rests in the tree, where the source leaves
/// the subset.
pub(crate) fn parse(
    text: &str,
    tree: &mut Tree,
    names: &mut Names,
    scratch: &mut Scratch,
) -> Option<List> {
    let plain = text.bytes().fold(true, |plain, byte| {
        plain & (matches!(byte, b' '..=b'~') | (byte == b'\n'))
    });
    if !plain || text.len() > 1 << 20 {
        return None;
    }
    scratch.clear();
    let mut parser = Parser {
        lexer: Lexer::new(text, names, &mut scratch.indents),
        tree,
        exprs: &mut scratch.exprs,
        stmts: &mut scratch.stmts,
        keywords: &mut scratch.keywords,
        compares: &mut scratch.compares,
        nesting: 0,
        first_node: 0,
        depth: 0,
    };
    parser.lexer.advance()?;
    parser.module()
}

/// The state of the parser.
struct Parser<'a> {
    lexer: Lexer<'a>,
    tree: &'a mut Tree,
    exprs: &'a mut Vec<ExprId>,
    stmts: &'a mut Vec<StmtId>,
    keywords: &'a mut Vec<Keyword>,
    compares: &'a mut Vec<CompareOp>,
    /// Nesting of expressions.
    nesting: u32,
    /// The first expression of the statement at hand.
    first_node: usize,
    /// Nesting of blocks.
    depth: u32,
}

#[cfg(test)]
pub(super) mod tests;
