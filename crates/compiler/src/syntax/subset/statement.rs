//! Statements.

use super::lexer::{Mark, Token};
use super::{MAX_NESTING, Parser};
use crate::syntax::{
    Alias, ClassNode, ExprId, ExprKind, FunctionNode, List, Parameter, Stmt, StmtId, StmtKind,
};
use warpsmith_ir::names::{Keyword as Word, Name};

/// Names that begin a statement of another kind in some places; not worth telling apart here.
fn is_soft_keyword(text: &str) -> bool {
    matches!(text, "match" | "type" | "case")
}

impl Parser<'_> {
    /// All statements of a module.
    pub(super) fn module(&mut self) -> Option<List> {
        while self.lexer.token != Token::End {
            if self.lexer.token == Token::Newline {
                self.lexer.advance()?;
                continue;
            }
            let id = self.statement()?;
            self.stmts.push(id);
        }
        Some(self.close_suite(0))
    }

    fn close_suite(&mut self, first: usize) -> List {
        let list = self.tree.push_stmts(&self.stmts[first..]);
        self.stmts.truncate(first);
        list
    }

    fn statement(&mut self) -> Option<StmtId> {
        self.first_node = self.tree.exprs.len();
        let (start, line) = (self.lexer.start, self.lexer.line);
        let kind = match self.lexer.token {
            Token::Keyword(word) => match word {
                Word::If => self.if_statement()?,
                Word::For => self.for_statement()?,
                Word::While => self.while_statement()?,
                Word::Def => self.function(List { start: 0, len: 0 }, (0, 0))?,
                Word::Class => self.class(List { start: 0, len: 0 })?,
                _ => return self.simple_line(),
            },
            Token::Mark(Mark::At) => self.decorated()?,
            _ => return self.simple_line(),
        };
        let end = self.lexer.previous_end;
        Some(self.tree.push_stmt(Stmt {
            kind,
            line,
            start,
            end,
        }))
    }

    /// A simple statement with the end of its line.
    fn simple_line(&mut self) -> Option<StmtId> {
        let (start, line) = (self.lexer.start, self.lexer.line);
        let kind = self.simple()?;
        let end = self.lexer.previous_end;
        if self.lexer.token != Token::Newline {
            return None;
        }
        self.lexer.advance()?;
        Some(self.tree.push_stmt(Stmt {
            kind,
            line,
            start,
            end,
        }))
    }

    fn simple(&mut self) -> Option<StmtKind> {
        match self.lexer.token {
            Token::Keyword(word) => match word {
                Word::Pass => {
                    self.lexer.advance()?;
                    Some(StmtKind::Pass)
                }
                Word::Break => {
                    self.lexer.advance()?;
                    Some(StmtKind::Break)
                }
                Word::Continue => {
                    self.lexer.advance()?;
                    Some(StmtKind::Continue)
                }
                Word::Return => {
                    self.lexer.advance()?;
                    if self.lexer.token == Token::Newline {
                        return Some(StmtKind::Return(None));
                    }
                    Some(StmtKind::Return(Some(self.expressions()?)))
                }
                Word::Assert => {
                    self.lexer.advance()?;
                    let test = self.expression()?;
                    if self.take(Mark::Comma)? {
                        self.expression()?;
                    }
                    Some(StmtKind::Assert(test))
                }
                Word::Import => self.import(),
                Word::From => self.import_from(),
                Word::Not | Word::True | Word::False | Word::None => self.expression_statement(),
                _ => None,
            },
            Token::Name(name) if is_soft_keyword(self.lexer.names.get(name)) => None,
            _ => self.expression_statement(),
        }
    }

    /// An expression, or an assignment that begins with one.
    fn expression_statement(&mut self) -> Option<StmtKind> {
        let parenthesised = self.is(Mark::Open);
        let first = self.expressions()?;
        match self.lexer.token {
            Token::Mark(Mark::Assign) => self.assignment(first),
            Token::Mark(Mark::Augmented(op)) => {
                let simple = matches!(
                    self.tree.expr(first).kind,
                    ExprKind::Name(_) | ExprKind::Attribute(..) | ExprKind::Subscript(..)
                );
                if !simple {
                    return None;
                }
                self.lexer.advance()?;
                let value = self.expressions()?;
                Some(StmtKind::AugAssign {
                    target: first,
                    op,
                    value,
                })
            }
            Token::Mark(Mark::Colon) => {
                if parenthesised || !matches!(self.tree.expr(first).kind, ExprKind::Name(_)) {
                    return None;
                }
                self.lexer.advance()?;
                let annotation = self.expression()?;
                let value = if self.take(Mark::Assign)? {
                    Some(self.expressions()?)
                } else {
                    None
                };
                Some(StmtKind::AnnAssign {
                    target: first,
                    annotation,
                    value,
                })
            }
            _ => Some(StmtKind::Expr(first)),
        }
    }

    fn assignment(&mut self, first: ExprId) -> Option<StmtKind> {
        let mark = self.exprs.len();
        let mut value = first;
        while self.take(Mark::Assign)? {
            if !self.is_target(value) {
                return None;
            }
            self.exprs.push(value);
            value = self.expressions()?;
        }
        let targets = self.tree.push_exprs(&self.exprs[mark..]);
        self.exprs.truncate(mark);
        Some(StmtKind::Assign { targets, value })
    }

    /// Whether an expression may stand left of `=`.
    fn is_target(&self, expr: ExprId) -> bool {
        match self.tree.expr(expr).kind {
            ExprKind::Name(_) | ExprKind::Attribute(..) | ExprKind::Subscript(..) => true,
            ExprKind::Tuple(list) => self.tree.exprs_in(list).iter().all(|item| {
                matches!(
                    self.tree.expr(*item).kind,
                    ExprKind::Name(_) | ExprKind::Attribute(..) | ExprKind::Subscript(..)
                )
            }),
            _ => false,
        }
    }

    /// `:` and what it governs.
    fn block(&mut self) -> Option<List> {
        self.expect(Mark::Colon)?;
        self.depth += 1;
        if self.depth > MAX_NESTING {
            return None;
        }
        let mark = self.stmts.len();
        if self.lexer.token == Token::Newline {
            self.lexer.advance()?;
            if self.lexer.token != Token::Indent {
                return None;
            }
            self.lexer.advance()?;
            while self.lexer.token != Token::Dedent {
                let id = self.statement()?;
                self.stmts.push(id);
            }
            self.lexer.advance()?;
        } else {
            self.first_node = self.tree.exprs.len();
            let id = self.simple_line()?;
            self.stmts.push(id);
        }
        self.depth -= 1;
        Some(self.close_suite(mark))
    }

    /// `if` or `elif` with all that follows.
    fn if_statement(&mut self) -> Option<StmtKind> {
        self.lexer.advance()?;
        self.first_node = self.tree.exprs.len();
        let test = self.expression()?;
        let body = self.block()?;
        let orelse = match self.lexer.token {
            Token::Keyword(Word::Elif) => {
                let (start, line) = (self.lexer.start, self.lexer.line);
                self.depth += 1;
                if self.depth > MAX_NESTING {
                    return None;
                }
                let kind = self.if_statement()?;
                self.depth -= 1;
                let end = self.lexer.previous_end;
                let id = self.tree.push_stmt(Stmt {
                    kind,
                    line,
                    start,
                    end,
                });
                self.tree.push_stmts(&[id])
            }
            Token::Keyword(Word::Else) => {
                self.lexer.advance()?;
                self.block()?
            }
            _ => List { start: 0, len: 0 },
        };
        Some(StmtKind::If { test, body, orelse })
    }

    /// The `else` of a loop, which the language ignores.
    fn loop_else(&mut self) -> Option<()> {
        if self.is_word(Word::Else) {
            self.lexer.advance()?;
            self.block()?;
        }
        Some(())
    }

    fn for_statement(&mut self) -> Option<StmtKind> {
        self.lexer.advance()?;
        // Other targets are rare enough for the full parser.
        if !matches!(self.lexer.token, Token::Name(_)) {
            return None;
        }
        let target = self.primary()?;
        if !matches!(self.tree.expr(target).kind, ExprKind::Name(_)) || !self.is_word(Word::In) {
            return None;
        }
        self.lexer.advance()?;
        let iter = self.expressions()?;
        let body = self.block()?;
        self.loop_else()?;
        Some(StmtKind::For { target, iter, body })
    }

    fn while_statement(&mut self) -> Option<StmtKind> {
        self.lexer.advance()?;
        let test = self.expression()?;
        let body = self.block()?;
        self.loop_else()?;
        Some(StmtKind::While { test, body })
    }

    fn decorated(&mut self) -> Option<StmtKind> {
        let mark = self.exprs.len();
        let mut span = None;
        while self.is(Mark::At) {
            let start = self.lexer.start;
            self.lexer.advance()?;
            let decorator = self.expression()?;
            self.exprs.push(decorator);
            if span.is_none() {
                span = Some((start, self.lexer.previous_end));
            }
            if self.lexer.token != Token::Newline {
                return None;
            }
            self.lexer.advance()?;
        }
        let list = self.tree.push_exprs(&self.exprs[mark..]);
        self.exprs.truncate(mark);
        match self.lexer.token {
            Token::Keyword(Word::Def) => self.function(list, span?),
            Token::Keyword(Word::Class) => self.class(list),
            _ => None,
        }
    }

    fn new_name(&mut self) -> Option<Name> {
        let Token::Name(name) = self.lexer.token else {
            return None;
        };
        self.lexer.advance()?;
        Some(name)
    }

    fn function(&mut self, decorators: List, decorator_span: (u32, u32)) -> Option<StmtKind> {
        self.lexer.advance()?;
        let name_span = (self.lexer.start, self.lexer.end);
        let name = self.new_name()?;
        let open = self.lexer.start;
        self.expect(Mark::Open)?;
        let first = self.tree.parameters.len();
        while !self.is(Mark::Close) {
            let parameter = self.parameter()?;
            let earlier = &self.tree.parameters[first..];
            let twice = earlier.iter().any(|other| other.name == parameter.name);
            let out_of_order = parameter.default.is_none()
                && earlier.last().is_some_and(|other| other.default.is_some());
            if twice || out_of_order {
                return None;
            }
            self.tree.parameters.push(parameter);
            if !self.take(Mark::Comma)? {
                break;
            }
        }
        self.expect(Mark::Close)?;
        let parameters_span = (open, self.lexer.previous_end);
        let parameters = List {
            start: first as u32,
            len: (self.tree.parameters.len() - first) as u32,
        };
        let returns = if self.take(Mark::Arrow)? {
            Some(self.expression()?)
        } else {
            None
        };
        let body = self.block()?;
        self.tree.functions.push(FunctionNode {
            name,
            name_span,
            decorators,
            decorator_span,
            parameters,
            parameters_span,
            plain: true,
            returns,
            body,
            is_async: false,
        });
        Some(StmtKind::Function(self.tree.functions.len() as u32 - 1))
    }

    fn parameter(&mut self) -> Option<Parameter> {
        // Each annotation is a tree of its own.
        self.first_node = self.tree.exprs.len();
        let start = self.lexer.start;
        let name = self.new_name()?;
        let annotation = if self.take(Mark::Colon)? {
            Some(self.expression()?)
        } else {
            None
        };
        let default = if self.take(Mark::Assign)? {
            Some(self.expression()?)
        } else {
            None
        };
        Some(Parameter {
            name,
            annotation,
            default,
            start,
            end: self.lexer.previous_end,
        })
    }

    fn class(&mut self, decorators: List) -> Option<StmtKind> {
        self.lexer.advance()?;
        let name = self.new_name()?;
        let (bases, keywords) = if self.take(Mark::Open)? {
            self.arguments()?
        } else {
            let empty = self.tree.push_exprs(&[]);
            (empty, empty)
        };
        let body = self.block()?;
        self.tree.classes.push(ClassNode {
            name,
            decorators,
            bases,
            has_keywords: keywords.len > 0,
            body,
        });
        Some(StmtKind::Class(self.tree.classes.len() as u32 - 1))
    }

    /// A dotted name as one.
    fn dotted(&mut self) -> Option<Name> {
        let start = self.lexer.start as usize;
        let first = self.new_name()?;
        if !self.is(Mark::Dot) {
            return Some(first);
        }
        while self.take(Mark::Dot)? {
            self.new_name()?;
        }
        let text = &self.lexer.text[start..self.lexer.previous_end as usize];
        if text.bytes().any(|byte| byte.is_ascii_whitespace()) {
            return None;
        }
        Some(self.lexer.names.intern(text))
    }

    fn alias(&mut self, dotted: bool) -> Option<()> {
        let name = if dotted {
            self.dotted()?
        } else {
            self.new_name()?
        };
        let bound = if self.is_word(Word::As) {
            self.lexer.advance()?;
            Some(self.new_name()?)
        } else {
            None
        };
        self.tree.aliases.push(Alias { name, bound });
        Some(())
    }

    fn aliases_since(&self, first: usize) -> List {
        List {
            start: first as u32,
            len: (self.tree.aliases.len() - first) as u32,
        }
    }

    fn import(&mut self) -> Option<StmtKind> {
        self.lexer.advance()?;
        let first = self.tree.aliases.len();
        self.alias(true)?;
        while self.take(Mark::Comma)? {
            self.alias(true)?;
        }
        Some(StmtKind::Import(self.aliases_since(first)))
    }

    fn import_from(&mut self) -> Option<StmtKind> {
        self.lexer.advance()?;
        let module = self.dotted()?;
        if !self.is_word(Word::Import) {
            return None;
        }
        self.lexer.advance()?;
        let first = self.tree.aliases.len();
        if self.take(Mark::Open)? {
            while !self.is(Mark::Close) {
                self.alias(false)?;
                if !self.take(Mark::Comma)? {
                    break;
                }
            }
            self.expect(Mark::Close)?;
            if self.tree.aliases.len() == first {
                return None;
            }
        } else {
            self.alias(false)?;
            while self.take(Mark::Comma)? {
                self.alias(false)?;
            }
        }
        Some(StmtKind::ImportFrom {
            module: Some(module),
            level: 0,
            aliases: self.aliases_since(first),
        })
    }
}
