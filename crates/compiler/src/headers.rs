//! The constants of a package's compiled modules, from the C headers that the package ships.
//!
//! A compiled module cannot be read, but what it exports has the names and values of its headers: macros that
//! are numbers, and enumerations that `typedef` or a tag names. They are written as a module of Python. Whatever a
//! condition of the preprocessor leaves open is left out, and so is a name with two values.

use std::collections::{BTreeMap, HashMap};
use std::fmt::Write;

mod preprocessor;
mod tokens;

use preprocessor::Preprocessed;
use tokens::{Token, tokens};

/// What a macro or an enumerator is.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Number {
    Int(i128),
    Float(f64),
}

/// Everything that headers say of constants.
#[derive(Default)]
struct Constants {
    macros: BTreeMap<String, Option<Number>>,
    /// Enumerations by name; nothing where two differ.
    enums: BTreeMap<String, Option<Vec<(String, i128)>>>,
    /// What the expressions of enumerators may name.
    integers: HashMap<String, i128>,
}

/// The constants of some headers as a module of Python: a number for each macro, a class for each enumeration.
pub(crate) fn python_text(headers: &[String]) -> String {
    let mut constants = Constants::default();
    let mut defined = HashMap::new();
    for header in headers {
        let header = Preprocessed::of(header, &mut defined);
        for (name, value) in &header.macros {
            constants.note_macro(name, value.as_deref());
        }
        constants.note_enums(&tokens(&header.code));
    }
    let mut text = String::new();
    for (name, value) in &constants.macros {
        // Writing to a string cannot fail.
        let _ = match value {
            Some(Number::Int(value)) => writeln!(text, "{name} = {value}"),
            Some(Number::Float(value)) => writeln!(text, "{name} = {value:?}"),
            None => Ok(()),
        };
    }
    for (name, members) in &constants.enums {
        let members = members.as_deref().unwrap_or_default();
        if members.is_empty() {
            continue;
        }
        let _ = writeln!(text, "class {name}:");
        for (name, value) in members {
            let _ = writeln!(text, "    {name} = {value}");
        }
    }
    text
}

impl Constants {
    /// A macro with its text; nothing where what it stands for depends on a condition that is not known.
    fn note_macro(&mut self, name: &str, text: Option<&str>) {
        let value = text.and_then(|text| {
            let tokens = tokens(text);
            match *tokens {
                [Token::Float(value)] => Some(Number::Float(value)),
                [Token::Sign('-'), Token::Float(value)] => Some(Number::Float(-value)),
                _ => Expression::value(&tokens, &self.integers).map(Number::Int),
            }
        });
        if let Some(Number::Int(value)) = value {
            self.integers.insert(name.to_owned(), value);
        }
        let before = self.macros.insert(name.to_owned(), value);
        if before.is_some_and(|before| before != value) {
            self.macros.insert(name.to_owned(), None);
            self.integers.remove(name);
        }
    }

    fn note_enums(&mut self, tokens: &[Token]) {
        let mut at = 0;
        while at < tokens.len() {
            if !tokens[at].is_word("enum") {
                at += 1;
                continue;
            }
            let is_typedef = at > 0 && tokens[at - 1].is_word("typedef");
            at += 1;
            let tag = tokens.get(at).and_then(Token::word);
            let Some(open) = tokens[at..]
                .iter()
                .take(8)
                .position(|t| *t == Token::Sign('{'))
            else {
                continue;
            };
            let start = at + open + 1;
            // What stands before the brace belongs to something else.
            if tokens[at..start].contains(&Token::Sign(';')) {
                continue;
            }
            let Some(length) = tokens[start..].iter().position(|t| *t == Token::Sign('}')) else {
                return;
            };
            let body = &tokens[start..start + length];
            at = start + length + 1;
            let members = self.members(body);
            let name = match is_typedef {
                true => tokens.get(at).and_then(Token::word),
                false => tag,
            };
            if let Some(name) = name.filter(|name| !is_keyword(name)) {
                let before = self.enums.insert(name.to_owned(), members.clone());
                if before.is_some_and(|before| before != members) {
                    self.enums.insert(name.to_owned(), None);
                }
            }
        }
    }

    /// The members of an enumeration whose values are known.
    fn members(&mut self, body: &[Token]) -> Option<Vec<(String, i128)>> {
        if body.contains(&Token::Unknown) {
            return None;
        }
        let mut members = Vec::new();
        let mut next = Some(0_i128);
        for member in body.split(|token| *token == Token::Sign(',')) {
            let Some((name, rest)) = member.split_first() else {
                continue;
            };
            let name = name.word()?;
            let value = match rest {
                [] => next,
                [Token::Sign('='), value @ ..] => Expression::value(value, &self.integers),
                // An attribute, say.
                _ => return None,
            };
            next = value.and_then(|value| value.checked_add(1));
            if let Some(value) = value {
                self.integers.insert(name.to_owned(), value);
                if !is_keyword(name) {
                    members.push((name.to_owned(), value));
                }
            }
        }
        Some(members)
    }
}

/// A constant expression of integers.
struct Expression<'a> {
    tokens: &'a [Token],
    known: &'a HashMap<String, i128>,
    depth: u32,
}

/// Parentheses and signs inside each other that are followed.
const DEEPEST: u32 = 64;

impl Expression<'_> {
    fn value(tokens: &[Token], known: &HashMap<String, i128>) -> Option<i128> {
        let mut expression = Expression {
            tokens,
            known,
            depth: 0,
        };
        let value = expression.binary(0)?;
        // Values that fit no C integer are nobody's constants.
        (expression.tokens.is_empty() && i64::try_from(value).is_ok()).then_some(value)
    }

    fn take(&mut self) -> Option<Token> {
        let (first, rest) = self.tokens.split_first()?;
        self.tokens = rest;
        Some(first.clone())
    }

    /// Operators that bind as strongly as `least` or more.
    fn binary(&mut self, least: u32) -> Option<i128> {
        let mut left = self.operand()?;
        while let Some(Token::Sign(sign)) = self.tokens.first() {
            let sign = *sign;
            let strength = match sign {
                '|' => 1,
                '^' => 2,
                '&' => 3,
                '«' | '»' => 4,
                '+' | '-' => 5,
                '*' => 6,
                _ => break,
            };
            if strength <= least {
                break;
            }
            self.take();
            let right = self.binary(strength)?;
            let shift = || u32::try_from(right).ok().filter(|bits| *bits < 63);
            left = match sign {
                '|' => left | right,
                '^' => left ^ right,
                '&' => left & right,
                '«' => left.checked_mul(1 << shift()?)?,
                '»' => left >> shift()?,
                '+' => left.checked_add(right)?,
                '-' => left.checked_sub(right)?,
                _ => left.checked_mul(right)?,
            };
        }
        Some(left)
    }

    fn operand(&mut self) -> Option<i128> {
        self.depth += 1;
        if self.depth > DEEPEST {
            return None;
        }
        let value = match self.take()? {
            Token::Int(value) => value,
            Token::Word(name) => *self.known.get(&name)?,
            Token::Sign('-') => -self.operand()?,
            Token::Sign('+') => self.operand()?,
            Token::Sign('~') => !self.operand()?,
            Token::Sign('(') => {
                let value = self.binary(0)?;
                (self.take()? == Token::Sign(')')).then_some(value)?
            }
            _ => return None,
        };
        self.depth -= 1;
        Some(value)
    }
}

/// Words that are no names in Python.
fn is_keyword(name: &str) -> bool {
    const KEYWORDS: [&str; 35] = [
        "False", "None", "True", "and", "as", "assert", "async", "await", "break", "class",
        "continue", "def", "del", "elif", "else", "except", "finally", "for", "from", "global",
        "if", "import", "in", "is", "lambda", "nonlocal", "not", "or", "pass", "raise", "return",
        "try", "while", "with", "yield",
    ];
    KEYWORDS.contains(&name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(header: &str) -> String {
        python_text(&[header.to_owned()])
    }

    #[test]
    fn macros_that_are_numbers_are_constants() {
        let header = "#define A 3 // three\n#define B (A << 2)\n#define C -1.5E-3\n#define F(x) x\n\
                      #define S \"text\"\n#define G 1e-3f\n#define H 0x10u\n#define LONG \\\n  7\n#define EMPTY\n";
        assert_eq!(
            text(header),
            "A = 3\nB = 12\nC = -0.0015\nH = 16\nLONG = 7\n"
        );
    }

    #[test]
    fn enumerations_count_on_from_the_last_value() {
        let header = "typedef enum tag_ { A = 0, B, /* , X */ C = 1 << 3, D,\n E = A | C, F = -2, G } Kind;\n\
                      enum Tagged : int { T = 5, };\nenum { FREE };\nenum Kind make(void);\n";
        let members =
            "    A = 0\n    B = 1\n    C = 8\n    D = 9\n    E = 8\n    F = -2\n    G = -1\n";
        assert_eq!(
            text(header),
            format!("class Kind:\n{members}class Tagged:\n    T = 5\n")
        );
    }

    #[test]
    fn what_a_condition_leaves_open_is_left_out() {
        let header = "#ifndef GUARD_H\n#define GUARD_H\n#ifndef SINGLE\n#define V 1.0\n#else\n#define V 2.0\n#endif\n\
                      #if VERSION > 3\n#define W 1\n#else\n#define W 2\n#endif\n#if 0\n#define X 1\n#endif\n\
                      enum E { A,\n#if defined(Y)\n B,\n#endif\n C };\n#endif\n";
        assert_eq!(text(header), "V = 1.0\n");
    }

    #[test]
    fn a_name_with_two_values_is_no_constant() {
        let header = "#define A 1\n#define A 2\nenum E { X };\nenum E { Y };\n#define D UNKNOWN + 1\n\
                      enum K { P = UNKNOWN, Q, R = 4 };";
        assert_eq!(text(header), "class K:\n    R = 4\n");
    }

    #[test]
    fn texts_that_are_no_headers_end() {
        for header in [
            "enum",
            "enum {",
            "typedef enum { A",
            "#define",
            "#define A ((((",
            "/* no end",
            "enum E { A = (((1 };",
            "#endif\n#else\n#define A 1",
            "\u{0}\u{1}é enum é { ä = 1 };",
        ] {
            let _ = text(header);
        }
        let deep = format!("#define A {}1{}\n", "(".repeat(10_000), ")".repeat(10_000));
        assert_eq!(text(&deep), "");
    }
}
