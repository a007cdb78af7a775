//! Expressions, by precedence.

use super::lexer::{Mark, Token};
use super::{MAX_NESTING, MAX_NODES, Parser};
use crate::syntax::{BinaryOp, CompareOp, Expr, ExprId, ExprKind, Keyword, List, UnaryOp};
use warpsmith_ir::Comparison;
use warpsmith_ir::names::Keyword as Word;

/// Where an expression begins.
#[derive(Clone, Copy)]
pub(super) struct Begin {
    pub(super) start: u32,
    pub(super) line: u32,
}

/// A primary that is read already, and where it begins: an expression may go on after it.
type Read = Option<(Begin, ExprId)>;

/// A binary operator and how tightly it binds.
fn binary(token: Token) -> Option<(BinaryOp, u8)> {
    let Token::Mark(mark) = token else {
        return None;
    };
    Some(match mark {
        Mark::Or => (BinaryOp::BitOr, 1),
        Mark::Xor => (BinaryOp::BitXor, 2),
        Mark::And => (BinaryOp::BitAnd, 3),
        Mark::ShiftLeft => (BinaryOp::ShiftLeft, 4),
        Mark::ShiftRight => (BinaryOp::ShiftRight, 4),
        Mark::Plus => (BinaryOp::Add, 5),
        Mark::Minus => (BinaryOp::Sub, 5),
        Mark::Star => (BinaryOp::Mul, 6),
        Mark::Slash => (BinaryOp::Div, 6),
        Mark::FloorDiv => (BinaryOp::FloorDiv, 6),
        Mark::Percent => (BinaryOp::Mod, 6),
        Mark::At => (BinaryOp::MatMul, 6),
        _ => return None,
    })
}

fn comparison(token: Token) -> Option<Comparison> {
    let Token::Mark(mark) = token else {
        return None;
    };
    Some(match mark {
        Mark::Less => Comparison::Less,
        Mark::LessEqual => Comparison::LessEqual,
        Mark::Greater => Comparison::Greater,
        Mark::GreaterEqual => Comparison::GreaterEqual,
        Mark::Equal => Comparison::Equal,
        Mark::NotEqual => Comparison::NotEqual,
        _ => return None,
    })
}

impl Parser<'_> {
    pub(super) fn begin(&self) -> Begin {
        Begin {
            start: self.lexer.start,
            line: self.lexer.line,
        }
    }

    /// Enters an expression that ends with the token before.
    pub(super) fn node(&mut self, begin: Begin, kind: ExprKind) -> ExprId {
        self.tree.push_expr(Expr {
            kind,
            line: begin.line,
            start: begin.start,
            end: self.lexer.previous_end,
        })
    }

    pub(super) fn is(&self, mark: Mark) -> bool {
        self.lexer.token == Token::Mark(mark)
    }

    pub(super) fn is_word(&self, word: Word) -> bool {
        self.lexer.token == Token::Keyword(word)
    }

    /// Goes on if the token is `mark`.
    pub(super) fn take(&mut self, mark: Mark) -> Option<bool> {
        let found = self.is(mark);
        if found {
            self.lexer.advance()?;
        }
        Some(found)
    }

    /// Goes on over `mark`, which must stand here.
    pub(super) fn expect(&mut self, mark: Mark) -> Option<()> {
        self.take(mark)?.then_some(())
    }

    /// Gives up on a statement of very many expressions: a chain of operators or subscripts is as deep
    /// as it is long.
    fn bound_chain(&self) -> Option<()> {
        (self.tree.exprs.len() - self.first_node <= MAX_NODES).then_some(())
    }

    /// A list of expressions under construction becomes one of the tree's.
    fn close_list(&mut self, first: usize) -> List {
        let list = self.tree.push_exprs(&self.exprs[first..]);
        self.exprs.truncate(first);
        list
    }

    /// An expression, or several separated by commas, which make a tuple.
    pub(super) fn expressions(&mut self) -> Option<ExprId> {
        let begin = self.begin();
        let first = self.expression()?;
        if !self.is(Mark::Comma) {
            return Some(first);
        }
        let mark = self.exprs.len();
        self.exprs.push(first);
        while self.take(Mark::Comma)? {
            if matches!(
                self.lexer.token,
                Token::Newline | Token::Mark(Mark::Assign | Mark::Colon)
            ) {
                break;
            }
            let next = self.expression()?;
            self.exprs.push(next);
        }
        let list = self.close_list(mark);
        Some(self.node(begin, ExprKind::Tuple(list)))
    }

    /// An expression.
    pub(super) fn expression(&mut self) -> Option<ExprId> {
        self.nesting += 1;
        if self.nesting > MAX_NESTING {
            return None;
        }
        let begin = self.begin();
        // Most arguments and indices are no more than a name, a number or a call: these need not pass
        // through every precedence.
        let read = match self.lexer.token {
            Token::Name(_) | Token::Int(_) | Token::Float(_) => {
                let primary = self.primary()?;
                if let Token::Newline
                | Token::Mark(
                    Mark::Comma | Mark::Close | Mark::CloseSquare | Mark::Colon | Mark::Assign,
                ) = self.lexer.token
                {
                    self.nesting -= 1;
                    return Some(primary);
                }
                Some((begin, primary))
            }
            _ => None,
        };
        let mut result = self.disjunction(read)?;
        if self.is_word(Word::If) {
            self.lexer.advance()?;
            let test = self.disjunction(None)?;
            if !self.is_word(Word::Else) {
                return None;
            }
            self.lexer.advance()?;
            let orelse = self.expression()?;
            let kind = ExprKind::IfElse {
                test,
                body: result,
                orelse,
            };
            result = self.node(begin, kind);
        }
        self.nesting -= 1;
        Some(result)
    }

    /// Where an expression begins of which a primary may have been read.
    fn begin_of(&self, read: Read) -> Begin {
        read.map_or_else(|| self.begin(), |(begin, _)| begin)
    }

    fn disjunction(&mut self, read: Read) -> Option<ExprId> {
        let begin = self.begin_of(read);
        let first = self.conjunction(read)?;
        if !self.is_word(Word::Or) {
            return Some(first);
        }
        let mark = self.exprs.len();
        self.exprs.push(first);
        while self.is_word(Word::Or) {
            self.lexer.advance()?;
            let next = self.conjunction(None)?;
            self.exprs.push(next);
        }
        let values = self.close_list(mark);
        Some(self.node(begin, ExprKind::BoolOp { and: false, values }))
    }

    fn conjunction(&mut self, read: Read) -> Option<ExprId> {
        let begin = self.begin_of(read);
        let first = self.negation(read)?;
        if !self.is_word(Word::And) {
            return Some(first);
        }
        let mark = self.exprs.len();
        self.exprs.push(first);
        while self.is_word(Word::And) {
            self.lexer.advance()?;
            let next = self.negation(None)?;
            self.exprs.push(next);
        }
        let values = self.close_list(mark);
        Some(self.node(begin, ExprKind::BoolOp { and: true, values }))
    }

    fn negation(&mut self, read: Read) -> Option<ExprId> {
        if read.is_some() || !self.is_word(Word::Not) {
            return self.compared(read);
        }
        let begin = self.begin();
        self.lexer.advance()?;
        self.nesting += 1;
        if self.nesting > MAX_NESTING {
            return None;
        }
        let operand = self.negation(None)?;
        self.nesting -= 1;
        Some(self.node(begin, ExprKind::Unary(UnaryOp::Not, operand)))
    }

    fn compared(&mut self, read: Read) -> Option<ExprId> {
        let begin = self.begin_of(read);
        let first = self.binary(1, read)?;
        if comparison(self.lexer.token).is_none() {
            return Some(first);
        }
        let mark = self.exprs.len();
        let compare_mark = self.compares.len();
        self.exprs.push(first);
        while let Some(comparison) = comparison(self.lexer.token) {
            self.compares.push(CompareOp::Known(comparison));
            self.lexer.advance()?;
            let next = self.binary(1, None)?;
            self.exprs.push(next);
        }
        let operands = self.close_list(mark);
        let at = self.tree.compares.len() as u32;
        self.tree
            .compares
            .extend_from_slice(&self.compares[compare_mark..]);
        self.compares.truncate(compare_mark);
        Some(self.node(begin, ExprKind::Compare(operands, at)))
    }

    /// Operators that bind at least as tightly as `least`.
    fn binary(&mut self, least: u8, read: Read) -> Option<ExprId> {
        let begin = self.begin_of(read);
        let mut left = match read {
            Some(read) => self.power(Some(read))?,
            None => self.unary()?,
        };
        while let Some((op, tightness)) = binary(self.lexer.token) {
            if tightness < least {
                break;
            }
            self.bound_chain()?;
            self.lexer.advance()?;
            let right = self.binary(tightness + 1, None)?;
            left = self.node(begin, ExprKind::Binary(op, left, right));
        }
        Some(left)
    }

    fn unary(&mut self) -> Option<ExprId> {
        let op = match self.lexer.token {
            Token::Mark(Mark::Minus) => UnaryOp::Minus,
            Token::Mark(Mark::Plus) => UnaryOp::Plus,
            Token::Mark(Mark::Invert) => UnaryOp::Invert,
            _ => return self.power(None),
        };
        let begin = self.begin();
        self.lexer.advance()?;
        self.nesting += 1;
        if self.nesting > MAX_NESTING {
            return None;
        }
        let operand = self.unary()?;
        self.nesting -= 1;
        Some(self.node(begin, ExprKind::Unary(op, operand)))
    }

    fn power(&mut self, read: Read) -> Option<ExprId> {
        let begin = self.begin_of(read);
        let base = match read {
            Some((_, primary)) => primary,
            None => self.primary()?,
        };
        if !self.take(Mark::Power)? {
            return Some(base);
        }
        self.nesting += 1;
        if self.nesting > MAX_NESTING {
            return None;
        }
        let exponent = self.unary()?;
        self.nesting -= 1;
        Some(self.node(begin, ExprKind::Binary(BinaryOp::Pow, base, exponent)))
    }

    /// An atom with its attributes, calls and subscripts.
    pub(super) fn primary(&mut self) -> Option<ExprId> {
        let begin = self.begin();
        let mut result = self.atom()?;
        loop {
            self.bound_chain()?;
            match self.lexer.token {
                Token::Mark(Mark::Dot) => {
                    self.lexer.advance()?;
                    let Token::Name(name) = self.lexer.token else {
                        return None;
                    };
                    self.lexer.advance()?;
                    result = self.node(begin, ExprKind::Attribute(result, name));
                }
                Token::Mark(Mark::Open) => {
                    self.lexer.advance()?;
                    let (args, keywords) = self.arguments()?;
                    let kind = ExprKind::Call {
                        func: result,
                        args,
                        keywords,
                    };
                    result = self.node(begin, kind);
                }
                Token::Mark(Mark::OpenSquare) => {
                    self.lexer.advance()?;
                    let index = self.subscript()?;
                    self.expect(Mark::CloseSquare)?;
                    result = self.node(begin, ExprKind::Subscript(result, index));
                }
                _ => return Some(result),
            }
        }
    }

    /// What stands in a call's parentheses, with the closing one.
    pub(super) fn arguments(&mut self) -> Option<(List, List)> {
        let mark = self.exprs.len();
        let keyword_mark = self.keywords.len();
        while !self.is(Mark::Close) {
            let begin = self.begin();
            match self.lexer.token {
                Token::Name(name) if matches!(self.lexer.peek(), (b'=', next) if next != b'=') => {
                    self.lexer.advance()?;
                    self.expect(Mark::Assign)?;
                    let value = self.expression()?;
                    let twice = self.keywords[keyword_mark..]
                        .iter()
                        .any(|keyword| keyword.name == Some(name));
                    if twice {
                        return None;
                    }
                    self.keywords.push(Keyword {
                        name: Some(name),
                        value,
                    });
                }
                _ if self.keywords.len() > keyword_mark => return None,
                Token::Mark(Mark::Star) => {
                    self.lexer.advance()?;
                    let value = self.expression()?;
                    let starred = self.node(begin, ExprKind::Starred(value));
                    self.exprs.push(starred);
                }
                _ => {
                    let value = self.expression()?;
                    self.exprs.push(value);
                }
            }
            if !self.take(Mark::Comma)? {
                break;
            }
        }
        self.expect(Mark::Close)?;
        let args = self.close_list(mark);
        let start = self.tree.keywords.len() as u32;
        self.tree
            .keywords
            .extend_from_slice(&self.keywords[keyword_mark..]);
        let len = (self.keywords.len() - keyword_mark) as u32;
        self.keywords.truncate(keyword_mark);
        Some((args, List { start, len }))
    }

    /// What stands in a subscript's brackets.
    fn subscript(&mut self) -> Option<ExprId> {
        let begin = self.begin();
        let first = self.index_or_slice()?;
        if !self.is(Mark::Comma) {
            return Some(first);
        }
        let mark = self.exprs.len();
        self.exprs.push(first);
        while self.take(Mark::Comma)? && !self.is(Mark::CloseSquare) {
            let next = self.index_or_slice()?;
            self.exprs.push(next);
        }
        let list = self.close_list(mark);
        Some(self.node(begin, ExprKind::Tuple(list)))
    }

    fn index_or_slice(&mut self) -> Option<ExprId> {
        let begin = self.begin();
        let lower = if self.is(Mark::Colon) {
            None
        } else {
            Some(self.expression()?)
        };
        if !self.take(Mark::Colon)? {
            return lower;
        }
        let upper = self.slice_part()?;
        let step = if self.take(Mark::Colon)? {
            self.slice_part()?
        } else {
            None
        };
        Some(self.node(begin, ExprKind::Slice([lower, upper, step])))
    }

    fn slice_part(&mut self) -> Option<Option<ExprId>> {
        if self.is(Mark::Colon) || self.is(Mark::Comma) || self.is(Mark::CloseSquare) {
            return Some(None);
        }
        self.expression().map(Some)
    }

    fn atom(&mut self) -> Option<ExprId> {
        let begin = self.begin();
        let kind = match self.lexer.token {
            Token::Name(name) => ExprKind::Name(name),
            Token::Int(value) => ExprKind::Int(i128::from(value)),
            Token::Float(value) => ExprKind::Float(value),
            Token::Keyword(Word::True) => ExprKind::Bool(true),
            Token::Keyword(Word::False) => ExprKind::Bool(false),
            Token::Keyword(Word::None) => ExprKind::None,
            Token::Str(from, to) => {
                let text = &self.lexer.text[from as usize..to as usize];
                let text = self.lexer.names.intern(text);
                self.lexer.advance()?;
                // Strings side by side are one.
                if matches!(self.lexer.token, Token::Str(..)) {
                    return None;
                }
                return Some(self.node(begin, ExprKind::Str(text)));
            }
            Token::Mark(Mark::Open) => return self.parenthesised(begin),
            Token::Mark(Mark::OpenSquare) => {
                self.lexer.advance()?;
                let mark = self.exprs.len();
                self.items(Mark::CloseSquare)?;
                let list = self.close_list(mark);
                return Some(self.node(begin, ExprKind::ListDisplay(list)));
            }
            Token::Mark(Mark::OpenBrace) => return self.dictionary(begin),
            _ => return None,
        };
        self.lexer.advance()?;
        Some(self.node(begin, kind))
    }

    /// Expressions up to `close`, which is read too.
    fn items(&mut self, close: Mark) -> Option<()> {
        while !self.is(close) {
            let item = self.expression()?;
            self.exprs.push(item);
            if !self.take(Mark::Comma)? {
                break;
            }
        }
        self.expect(close)
    }

    fn parenthesised(&mut self, begin: Begin) -> Option<ExprId> {
        self.lexer.advance()?;
        let mark = self.exprs.len();
        if !self.is(Mark::Close) {
            let first = self.expression()?;
            if self.take(Mark::Close)? {
                return Some(first);
            }
            self.exprs.push(first);
            self.expect(Mark::Comma)?;
        }
        self.items(Mark::Close)?;
        let list = self.close_list(mark);
        Some(self.node(begin, ExprKind::Tuple(list)))
    }

    fn dictionary(&mut self, begin: Begin) -> Option<ExprId> {
        self.lexer.advance()?;
        let mark = self.exprs.len();
        while !self.is(Mark::CloseBrace) {
            let key = self.expression()?;
            self.expect(Mark::Colon)?;
            let value = self.expression()?;
            self.exprs.push(key);
            self.exprs.push(value);
            if !self.take(Mark::Comma)? {
                break;
            }
        }
        self.expect(Mark::CloseBrace)?;
        let list = self.close_list(mark);
        Some(self.node(begin, ExprKind::Dict(list)))
    }
}
