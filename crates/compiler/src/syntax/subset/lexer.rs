//! Tokens.

use crate::syntax::BinaryOp;
use warpsmith_ir::names::{Keyword, Name, Names};

/// A token; the offsets are the lexer's.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Token {
    Name(Name),
    Keyword(Keyword),
    Int(u64),
    Float(f64),
    /// The offsets of a string's content.
    Str(u32, u32),
    Mark(Mark),
    Newline,
    Indent,
    Dedent,
    End,
}

/// Operators and delimiters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mark {
    Open,
    Close,
    OpenSquare,
    CloseSquare,
    OpenBrace,
    CloseBrace,
    Comma,
    Colon,
    Dot,
    At,
    Arrow,
    Assign,
    Less,
    LessEqual,
    Greater,
    GreaterEqual,
    Equal,
    NotEqual,
    Plus,
    Minus,
    Star,
    Power,
    Slash,
    FloorDiv,
    Percent,
    And,
    Or,
    Xor,
    Invert,
    ShiftLeft,
    ShiftRight,
    /// An augmented assignment by the operator.
    Augmented(BinaryOp),
}

/// Whether a byte may stand in a name.
static IN_WORD: [bool; 256] = {
    let mut table = [false; 256];
    let mut byte = 0;
    while byte < 256 {
        table[byte] = (byte as u8).is_ascii_alphanumeric() || byte as u8 == b'_';
        byte += 1;
    }
    table
};

/// Reads tokens one by one; the current one and its place are public fields.
pub(super) struct Lexer<'a> {
    pub(super) text: &'a str,
    bytes: &'a [u8],
    pub(super) names: &'a mut Names,
    indents: &'a mut Vec<u32>,
    at: usize,
    line_here: u32,
    brackets: u32,
    dedents: u32,
    line_start: bool,
    pub(super) token: Token,
    pub(super) start: u32,
    pub(super) end: u32,
    pub(super) line: u32,
    /// The end of the token before, line ends and indentation not counted.
    pub(super) previous_end: u32,
}

impl<'a> Lexer<'a> {
    pub(super) fn new(text: &'a str, names: &'a mut Names, indents: &'a mut Vec<u32>) -> Self {
        indents.push(0);
        Self {
            text,
            bytes: text.as_bytes(),
            names,
            indents,
            at: 0,
            line_here: 1,
            brackets: 0,
            dedents: 0,
            line_start: true,
            token: Token::Newline,
            start: 0,
            end: 0,
            line: 1,
            previous_end: 0,
        }
    }

    fn byte(&self, at: usize) -> u8 {
        self.bytes.get(at).copied().unwrap_or(0)
    }

    /// The next byte that is not a space, and the one after it.
    pub(super) fn peek(&self) -> (u8, u8) {
        let mut at = self.at;
        while self.byte(at) == b' ' {
            at += 1;
        }
        (self.byte(at), self.byte(at + 1))
    }

    /// Goes on to the next token.
    pub(super) fn advance(&mut self) -> Option<()> {
        if !matches!(
            self.token,
            Token::Newline | Token::Indent | Token::Dedent | Token::End
        ) {
            self.previous_end = self.end;
        }
        if self.dedents > 0 {
            self.dedents -= 1;
            self.token = Token::Dedent;
            return Some(());
        }
        if self.line_start {
            self.line_start = false;
            if let Some(token) = self.indentation()? {
                self.token = token;
                return Some(());
            }
        }
        loop {
            match self.byte(self.at) {
                b' ' => self.at += 1,
                b'#' => self.skip_comment(),
                b'\n' => {
                    if self.brackets == 0 {
                        self.place(1);
                        self.line_here += 1;
                        self.line_start = true;
                        self.token = Token::Newline;
                        return Some(());
                    }
                    self.at += 1;
                    self.line_here += 1;
                }
                _ => break,
            }
        }
        if self.at >= self.bytes.len() {
            return self.finish();
        }
        self.token = self.scan()?;
        Some(())
    }

    fn skip_comment(&mut self) {
        let rest = &self.bytes[self.at..];
        self.at += memchr::memchr(b'\n', rest).unwrap_or(rest.len());
    }

    /// The end of the text: the line, the blocks, and then nothing more.
    fn finish(&mut self) -> Option<()> {
        if self.brackets > 0 {
            return None;
        }
        self.place(0);
        self.token = match self.token {
            Token::Newline | Token::Dedent | Token::End => {
                if self.indents.len() > 1 {
                    self.indents.pop();
                    Token::Dedent
                } else {
                    Token::End
                }
            }
            _ => Token::Newline,
        };
        Some(())
    }

    /// At the start of a line: skips empty ones, and compares the indentation with that of the blocks
    /// that are open.
    fn indentation(&mut self) -> Option<Option<Token>> {
        let indent = loop {
            let begin = self.at;
            while self.byte(self.at) == b' ' {
                self.at += 1;
            }
            match self.byte(self.at) {
                b'\n' => {
                    self.at += 1;
                    self.line_here += 1;
                }
                b'#' => self.skip_comment(),
                0 => return Some(None),
                _ => break (self.at - begin) as u32,
            }
        };
        let open = *self.indents.last()?;
        if indent > open {
            self.indents.push(indent);
            self.place(0);
            return Some(Some(Token::Indent));
        }
        if indent == open {
            return Some(None);
        }
        while *self.indents.last()? > indent {
            self.indents.pop();
            self.dedents += 1;
        }
        if *self.indents.last()? != indent {
            return None;
        }
        self.dedents -= 1;
        self.place(0);
        Some(Some(Token::Dedent))
    }

    /// Sets the place of a token of `len` bytes and moves behind it.
    fn place(&mut self, len: usize) {
        self.start = self.at as u32;
        self.line = self.line_here;
        self.at += len;
        self.end = self.at as u32;
    }

    fn scan(&mut self) -> Option<Token> {
        let byte = self.bytes[self.at];
        if byte.is_ascii_alphabetic() || byte == b'_' {
            return self.word();
        }
        if byte.is_ascii_digit() || (byte == b'.' && self.byte(self.at + 1).is_ascii_digit()) {
            return self.number();
        }
        if byte == b'"' || byte == b'\'' {
            return self.string(byte);
        }
        self.mark(byte)
    }

    fn word(&mut self) -> Option<Token> {
        let rest = &self.bytes[self.at..];
        let len = rest
            .iter()
            .position(|byte| !IN_WORD[usize::from(*byte)])
            .unwrap_or(rest.len());
        self.place(len);
        // A prefix makes another kind of string.
        if matches!(self.byte(self.at), b'"' | b'\'') {
            return None;
        }
        let (start, end) = (self.start as usize, self.end as usize);
        let name = self.names.intern_word(self.text, start, end);
        Some(match name.keyword() {
            Some(keyword) => Token::Keyword(keyword),
            None => Token::Name(name),
        })
    }

    fn digits(&self, mut at: usize) -> usize {
        while self.byte(at).is_ascii_digit() {
            at += 1;
        }
        at
    }

    fn number(&mut self) -> Option<Token> {
        let begin = self.at;
        let mut at = self.digits(begin);
        let mut float = false;
        if at == begin + 1 && self.bytes[begin] == b'0' && matches!(self.byte(at), b'x' | b'X') {
            at += 1;
            let first = at;
            while self.byte(at).is_ascii_hexdigit() {
                at += 1;
            }
            if at == first || at - first > 16 {
                return None;
            }
            let value = u64::from_str_radix(&self.text[first..at], 16).ok()?;
            self.number_end(at)?;
            return Some(Token::Int(value));
        }
        if self.byte(at) == b'.' {
            float = true;
            at = self.digits(at + 1);
        }
        if matches!(self.byte(at), b'e' | b'E') {
            float = true;
            at += 1;
            if matches!(self.byte(at), b'+' | b'-') {
                at += 1;
            }
            let first = at;
            at = self.digits(at);
            if at == first {
                return None;
            }
        }
        self.number_end(at)?;
        let text = &self.text[begin..at];
        if float {
            return text.parse().ok().map(Token::Float);
        }
        if text.len() > 1 && text.starts_with('0') {
            return None;
        }
        text.parse().ok().map(Token::Int)
    }

    /// Ends a number, which a letter or underscore may not follow.
    fn number_end(&mut self, at: usize) -> Option<()> {
        self.place(at - self.at);
        let next = self.byte(self.at);
        (!next.is_ascii_alphabetic() && next != b'_').then_some(())
    }

    fn string(&mut self, quote: u8) -> Option<Token> {
        let begin = self.at;
        let triple = self.byte(begin + 1) == quote && self.byte(begin + 2) == quote;
        let content = begin + if triple { 3 } else { 1 };
        let mut at = content;
        let mut lines = 0;
        loop {
            match self.byte(at) {
                0 | b'\\' => return None,
                b'\n' if !triple => return None,
                b'\n' => {
                    lines += 1;
                    at += 1;
                }
                byte if byte == quote => {
                    if !triple {
                        break;
                    }
                    if self.byte(at + 1) == quote && self.byte(at + 2) == quote {
                        break;
                    }
                    at += 1;
                }
                _ => at += 1,
            }
        }
        self.place(at + (content - begin) - begin);
        self.line_here += lines;
        Some(Token::Str(content as u32, at as u32))
    }

    fn mark(&mut self, byte: u8) -> Option<Token> {
        let next = self.byte(self.at + 1);
        let third = self.byte(self.at + 2);
        let (mark, len) = match (byte, next, third) {
            (b'(', ..) => (Mark::Open, 1),
            (b')', ..) => (Mark::Close, 1),
            (b'[', ..) => (Mark::OpenSquare, 1),
            (b']', ..) => (Mark::CloseSquare, 1),
            (b'{', ..) => (Mark::OpenBrace, 1),
            (b'}', ..) => (Mark::CloseBrace, 1),
            (b',', ..) => (Mark::Comma, 1),
            (b':', b'=', _) => return None,
            (b':', ..) => (Mark::Colon, 1),
            (b'.', b'.', _) => return None,
            (b'.', ..) => (Mark::Dot, 1),
            (b'=', b'=', _) => (Mark::Equal, 2),
            (b'=', ..) => (Mark::Assign, 1),
            (b'!', b'=', _) => (Mark::NotEqual, 2),
            (b'<', b'<', b'=') => (Mark::Augmented(BinaryOp::ShiftLeft), 3),
            (b'<', b'<', _) => (Mark::ShiftLeft, 2),
            (b'<', b'=', _) => (Mark::LessEqual, 2),
            (b'<', b'>', _) => return None,
            (b'<', ..) => (Mark::Less, 1),
            (b'>', b'>', b'=') => (Mark::Augmented(BinaryOp::ShiftRight), 3),
            (b'>', b'>', _) => (Mark::ShiftRight, 2),
            (b'>', b'=', _) => (Mark::GreaterEqual, 2),
            (b'>', ..) => (Mark::Greater, 1),
            (b'*', b'*', b'=') => (Mark::Augmented(BinaryOp::Pow), 3),
            (b'*', b'*', _) => (Mark::Power, 2),
            (b'*', b'=', _) => (Mark::Augmented(BinaryOp::Mul), 2),
            (b'*', ..) => (Mark::Star, 1),
            (b'/', b'/', b'=') => (Mark::Augmented(BinaryOp::FloorDiv), 3),
            (b'/', b'/', _) => (Mark::FloorDiv, 2),
            (b'/', b'=', _) => (Mark::Augmented(BinaryOp::Div), 2),
            (b'/', ..) => (Mark::Slash, 1),
            (b'+', b'=', _) => (Mark::Augmented(BinaryOp::Add), 2),
            (b'+', ..) => (Mark::Plus, 1),
            (b'-', b'=', _) => (Mark::Augmented(BinaryOp::Sub), 2),
            (b'-', b'>', _) => (Mark::Arrow, 2),
            (b'-', ..) => (Mark::Minus, 1),
            (b'%', b'=', _) => (Mark::Augmented(BinaryOp::Mod), 2),
            (b'%', ..) => (Mark::Percent, 1),
            (b'@', b'=', _) => (Mark::Augmented(BinaryOp::MatMul), 2),
            (b'@', ..) => (Mark::At, 1),
            (b'&', b'=', _) => (Mark::Augmented(BinaryOp::BitAnd), 2),
            (b'&', ..) => (Mark::And, 1),
            (b'|', b'=', _) => (Mark::Augmented(BinaryOp::BitOr), 2),
            (b'|', ..) => (Mark::Or, 1),
            (b'^', b'=', _) => (Mark::Augmented(BinaryOp::BitXor), 2),
            (b'^', ..) => (Mark::Xor, 1),
            (b'~', ..) => (Mark::Invert, 1),
            _ => return None,
        };
        match mark {
            Mark::Open | Mark::OpenSquare | Mark::OpenBrace => self.brackets += 1,
            Mark::Close | Mark::CloseSquare | Mark::CloseBrace => {
                self.brackets = self.brackets.checked_sub(1)?;
            }
            _ => {}
        }
        self.place(len);
        Some(Token::Mark(mark))
    }
}
