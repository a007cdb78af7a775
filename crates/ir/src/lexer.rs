//! Tokens of IR text.

use super::parse::ParseError;

/// A token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Token<'t> {
    Word(&'t str),
    /// Digits, a `0x` number, or the decimal form of a float.
    Number(&'t str),
    Str(String),
    Symbol(char),
    End,
}

/// Splits text into tokens, one ahead.
pub(super) struct Lexer<'t> {
    text: &'t str,
    at: usize,
    line: u32,
    ahead: Token<'t>,
    ahead_line: u32,
}

impl<'t> Lexer<'t> {
    pub(super) fn new(text: &'t str) -> Self {
        let mut lexer = Self {
            text,
            at: 0,
            line: 1,
            ahead: Token::End,
            ahead_line: 1,
        };
        lexer.next();
        lexer
    }

    pub(super) fn peek(&self) -> Token<'t> {
        self.ahead.clone()
    }

    pub(super) fn eat_word(&mut self, word: &str) -> bool {
        let found = matches!(&self.ahead, Token::Word(ahead) if *ahead == word);
        if found {
            self.next();
        }
        found
    }

    pub(super) fn eat_symbol(&mut self, symbol: char) -> bool {
        let found = self.ahead == Token::Symbol(symbol);
        if found {
            self.next();
        }
        found
    }

    /// An error at the token ahead.
    pub(super) fn expected(&self, expected: &str) -> ParseError {
        let found = match &self.ahead {
            Token::Word(text) | Token::Number(text) => (*text).to_owned(),
            Token::Str(text) => format!("{text:?}"),
            Token::Symbol(symbol) => symbol.to_string(),
            Token::End => "the end".to_owned(),
        };
        ParseError {
            line: self.ahead_line,
            expected: expected.to_owned(),
            found,
        }
    }

    /// Moves on by one token.
    pub(super) fn next(&mut self) {
        while let Some(c) = self.text[self.at..]
            .chars()
            .next()
            .filter(|c| c.is_whitespace())
        {
            self.line += u32::from(c == '\n');
            self.at += c.len_utf8();
        }
        self.ahead_line = self.line;
        let rest = &self.text[self.at..];
        let Some(first) = rest.chars().next() else {
            self.ahead = Token::End;
            return;
        };
        let word = |c: char| c == '_' || c.is_alphanumeric();
        if first == '"' {
            self.ahead = self.string();
        } else if first.is_ascii_digit() {
            // `1e-05` is one token: it is only ever skipped.
            let mut before = ' ';
            let end = rest
                .find(|c: char| {
                    let goes_on = word(c) || c == '.' || (matches!(c, '-' | '+') && before == 'e');
                    before = c;
                    !goes_on
                })
                .unwrap_or(rest.len());
            self.at += end;
            self.ahead = Token::Number(&rest[..end]);
        } else if word(first) {
            let end = rest.find(|c| !word(c)).unwrap_or(rest.len());
            self.at += end;
            self.ahead = Token::Word(&rest[..end]);
        } else {
            self.at += first.len_utf8();
            self.ahead = Token::Symbol(first);
        }
    }

    fn string(&mut self) -> Token<'t> {
        let mut out = String::new();
        let mut chars = self.text[self.at + 1..].char_indices();
        while let Some((offset, c)) = chars.next() {
            match c {
                '"' => {
                    self.at += offset + 2;
                    return Token::Str(out);
                }
                '\\' => match chars.next() {
                    Some((_, 'n')) => out.push('\n'),
                    Some((_, 'u')) => {
                        let digits: String = chars
                            .by_ref()
                            .map(|(_, c)| c)
                            .skip(1)
                            .take_while(|c| *c != '}')
                            .collect();
                        let code = u32::from_str_radix(&digits, 16).ok();
                        out.push(code.and_then(char::from_u32).unwrap_or('\u{fffd}'));
                    }
                    Some((_, c)) => out.push(c),
                    None => break,
                },
                c => out.push(c),
            }
        }
        self.at = self.text.len();
        Token::Str(out)
    }
}
