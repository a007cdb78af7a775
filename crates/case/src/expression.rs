//! Whole-number expressions over named dimensions: `(cols + 255) / 256`, `min(rows, 1024)`.
//!
//! Invariants: reading and evaluating always end, with bounded depth and length; no value leaves 64
//! bits silently; a name that is not known is an error when it is evaluated, and
//! [`Expression::names`] lists them before.

use std::collections::BTreeMap;
use std::fmt;

use thiserror::Error;

/// Names and their values.
pub type Scope = BTreeMap<String, i64>;

/// What is wrong with an expression, or with its value.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("`{text}`: {problem}")]
pub struct ExpressionError {
    /// The expression as it was written.
    pub text: String,
    /// What is wrong.
    pub problem: String,
}

/// An expression that was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Expression {
    text: String,
    root: Node,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Node {
    Number(i64),
    Name(String),
    Not(Box<Node>),
    Negative(Box<Node>),
    Binary(Operator, Box<Node>, Box<Node>),
    Choice(Box<Node>, Box<Node>, Box<Node>),
    Call(Function, Vec<Node>),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Operator {
    Or,
    And,
    Equal,
    Unequal,
    Less,
    LessEqual,
    Greater,
    GreaterEqual,
    Add,
    Subtract,
    Multiply,
    Divide,
    Remainder,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Function {
    Min,
    Max,
    CeilDiv,
    RoundUp,
    PowerOfTwo,
    Log2,
}

/// Name, function, and how many arguments it takes.
const FUNCTIONS: &[(&str, Function, usize)] = &[
    ("min", Function::Min, 2),
    ("max", Function::Max, 2),
    ("ceil_div", Function::CeilDiv, 2),
    ("round_up", Function::RoundUp, 2),
    ("next_power_of_two", Function::PowerOfTwo, 1),
    ("log2", Function::Log2, 1),
];

/// Operators from the loosest to the tightest; longer spellings first within a level.
const LEVELS: &[&[(&str, Operator)]] = &[
    &[("||", Operator::Or)],
    &[("&&", Operator::And)],
    &[
        ("==", Operator::Equal),
        ("!=", Operator::Unequal),
        ("<=", Operator::LessEqual),
        (">=", Operator::GreaterEqual),
        ("<", Operator::Less),
        (">", Operator::Greater),
    ],
    &[("+", Operator::Add), ("-", Operator::Subtract)],
    &[
        ("*", Operator::Multiply),
        ("/", Operator::Divide),
        ("%", Operator::Remainder),
    ],
];

/// Longer texts and deeper nesting are refused: nobody writes them by hand.
const LONGEST: usize = 1000;
const DEEPEST: usize = 64;

impl fmt::Display for Expression {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl From<i64> for Expression {
    fn from(value: i64) -> Self {
        Self {
            text: value.to_string(),
            root: Node::Number(value),
        }
    }
}

impl Expression {
    /// Reads an expression.
    pub fn parse(text: &str) -> Result<Self, ExpressionError> {
        let error = |problem: String| ExpressionError {
            text: text.chars().take(80).collect(),
            problem,
        };
        if text.len() > LONGEST {
            return Err(error(format!("longer than {LONGEST} characters")));
        }
        let mut reader = Reader { text, at: 0 };
        let root = reader.choice(0).map_err(&error)?;
        reader.spaces();
        if reader.at < text.len() {
            return Err(error(format!(
                "`{}` is left over at column {}",
                &text[reader.at..],
                reader.column()
            )));
        }
        Ok(Self {
            text: text.trim().to_owned(),
            root,
        })
    }

    /// The value with these names.
    pub fn value(&self, scope: &Scope) -> Result<i64, ExpressionError> {
        evaluate(&self.root, scope).map_err(|problem| ExpressionError {
            text: self.text.clone(),
            problem,
        })
    }

    /// Whether the value is not zero.
    pub fn holds(&self, scope: &Scope) -> Result<bool, ExpressionError> {
        Ok(self.value(scope)? != 0)
    }

    /// Every name in it.
    pub fn names(&self) -> Vec<&str> {
        let mut names = Vec::new();
        collect(&self.root, &mut names);
        names.sort_unstable();
        names.dedup();
        names
    }
}

fn collect<'a>(node: &'a Node, names: &mut Vec<&'a str>) {
    match node {
        Node::Number(_) => {}
        Node::Name(name) => names.push(name),
        Node::Not(inner) | Node::Negative(inner) => collect(inner, names),
        Node::Binary(_, left, right) => {
            collect(left, names);
            collect(right, names);
        }
        Node::Choice(condition, yes, no) => {
            for part in [condition, yes, no] {
                collect(part, names);
            }
        }
        Node::Call(_, arguments) => arguments.iter().for_each(|one| collect(one, names)),
    }
}

struct Reader<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Reader<'a> {
    fn spaces(&mut self) {
        let rest = &self.text[self.at..];
        self.at += rest.len() - rest.trim_start().len();
    }

    fn column(&self) -> usize {
        self.text[..self.at].chars().count() + 1
    }

    fn take(&mut self, symbol: &str) -> bool {
        self.spaces();
        let found = self.text[self.at..].starts_with(symbol);
        if found {
            self.at += symbol.len();
        }
        found
    }

    fn expect(&mut self, symbol: &str) -> Result<(), String> {
        match self.take(symbol) {
            true => Ok(()),
            false => Err(format!("`{symbol}` expected at column {}", self.column())),
        }
    }

    fn choice(&mut self, depth: usize) -> Result<Node, String> {
        if depth > DEEPEST {
            return Err(format!("nested deeper than {DEEPEST}"));
        }
        let condition = self.level(0, depth)?;
        if !self.take("?") {
            return Ok(condition);
        }
        let yes = self.choice(depth + 1)?;
        self.expect(":")?;
        let no = self.choice(depth + 1)?;
        Ok(Node::Choice(condition.into(), yes.into(), no.into()))
    }

    fn level(&mut self, level: usize, depth: usize) -> Result<Node, String> {
        let Some(operators) = LEVELS.get(level) else {
            return self.unary(depth);
        };
        let mut left = self.level(level + 1, depth)?;
        // A chain of operators nests to the left, and evaluating it recurses as deep.
        for _ in 0..=DEEPEST * 4 {
            let found = operators.iter().find(|(symbol, _)| self.take(symbol));
            let Some((_, operator)) = found else {
                return Ok(left);
            };
            let right = self.level(level + 1, depth)?;
            left = Node::Binary(*operator, left.into(), right.into());
        }
        Err("too many operators in a row".into())
    }

    fn unary(&mut self, depth: usize) -> Result<Node, String> {
        if depth > DEEPEST {
            return Err(format!("nested deeper than {DEEPEST}"));
        }
        if self.take("!") {
            return Ok(Node::Not(self.unary(depth + 1)?.into()));
        }
        if self.take("-") {
            return Ok(Node::Negative(self.unary(depth + 1)?.into()));
        }
        if self.take("(") {
            let inner = self.choice(depth + 1)?;
            self.expect(")")?;
            return Ok(inner);
        }
        let word = self.word();
        match word.chars().next() {
            None => Err(match self.text[self.at..].chars().next() {
                Some(found) => format!("`{found}` at column {} is unexpected", self.column()),
                None => "it ends too early".into(),
            }),
            Some('0'..='9') => number(word).map(Node::Number),
            Some(_) if self.take("(") => self.call(word, depth),
            Some(_) => Ok(Node::Name(word.to_owned())),
        }
    }

    fn word(&mut self) -> &'a str {
        self.spaces();
        let rest = &self.text[self.at..];
        let end = rest
            .find(|c: char| !c.is_ascii_alphanumeric() && c != '_')
            .unwrap_or(rest.len());
        self.at += end;
        &rest[..end]
    }

    fn call(&mut self, name: &str, depth: usize) -> Result<Node, String> {
        let Some((_, function, count)) = FUNCTIONS.iter().find(|(known, ..)| *known == name) else {
            let known: Vec<&str> = FUNCTIONS.iter().map(|(name, ..)| *name).collect();
            return Err(format!(
                "there is no function `{name}`; there are {}",
                known.join(", ")
            ));
        };
        let mut arguments = Vec::new();
        for index in 0..*count {
            if index > 0 {
                self.expect(",")?;
            }
            arguments.push(self.choice(depth + 1)?);
        }
        self.expect(")")?;
        Ok(Node::Call(*function, arguments))
    }
}

/// A whole number; `K`, `M` and `G` multiply by 1024, its square and its cube.
pub(crate) fn number(word: &str) -> Result<i64, String> {
    let (digits, shift) = match word.as_bytes().last() {
        Some(b'K') => (&word[..word.len() - 1], 10),
        Some(b'M') => (&word[..word.len() - 1], 20),
        Some(b'G') => (&word[..word.len() - 1], 30),
        _ => (word, 0),
    };
    let value: i64 = digits
        .parse()
        .map_err(|_| format!("`{word}` is not a whole number"))?;
    value
        .checked_mul(1 << shift)
        .ok_or_else(|| format!("`{word}` is too large"))
}

fn evaluate(node: &Node, scope: &Scope) -> Result<i64, String> {
    let too_large = || "the value does not fit 64 bits".to_owned();
    match node {
        Node::Number(value) => Ok(*value),
        Node::Name(name) => scope.get(name).copied().ok_or_else(|| {
            let known: Vec<&str> = scope.keys().map(String::as_str).collect();
            match known.is_empty() {
                true => format!("there is no dimension `{name}`"),
                false => format!(
                    "there is no dimension or tunable `{name}`; there are {}",
                    known.join(", ")
                ),
            }
        }),
        Node::Not(inner) => Ok(i64::from(evaluate(inner, scope)? == 0)),
        Node::Negative(inner) => evaluate(inner, scope)?.checked_neg().ok_or_else(too_large),
        Node::Choice(condition, yes, no) => match evaluate(condition, scope)? {
            0 => evaluate(no, scope),
            _ => evaluate(yes, scope),
        },
        Node::Binary(Operator::And, left, right) => Ok(i64::from(
            evaluate(left, scope)? != 0 && evaluate(right, scope)? != 0,
        )),
        Node::Binary(Operator::Or, left, right) => Ok(i64::from(
            evaluate(left, scope)? != 0 || evaluate(right, scope)? != 0,
        )),
        Node::Binary(operator, left, right) => {
            let (a, b) = (evaluate(left, scope)?, evaluate(right, scope)?);
            binary(*operator, a, b)
        }
        Node::Call(function, arguments) => {
            let values = arguments
                .iter()
                .map(|argument| evaluate(argument, scope))
                .collect::<Result<Vec<_>, _>>()?;
            call(*function, &values)
        }
    }
}

fn binary(operator: Operator, a: i64, b: i64) -> Result<i64, String> {
    let checked = match operator {
        Operator::Add => a.checked_add(b),
        Operator::Subtract => a.checked_sub(b),
        Operator::Multiply => a.checked_mul(b),
        Operator::Divide | Operator::Remainder if b == 0 => {
            return Err("it divides by zero".into());
        }
        Operator::Divide => a.checked_div_euclid(b),
        Operator::Remainder => a.checked_rem_euclid(b),
        Operator::Equal => Some(i64::from(a == b)),
        Operator::Unequal => Some(i64::from(a != b)),
        Operator::Less => Some(i64::from(a < b)),
        Operator::LessEqual => Some(i64::from(a <= b)),
        Operator::Greater => Some(i64::from(a > b)),
        Operator::GreaterEqual => Some(i64::from(a >= b)),
        Operator::And => Some(i64::from(a != 0 && b != 0)),
        Operator::Or => Some(i64::from(a != 0 || b != 0)),
    };
    checked.ok_or_else(|| "the value does not fit 64 bits".to_owned())
}

fn call(function: Function, values: &[i64]) -> Result<i64, String> {
    let a = values[0];
    let b = values.get(1).copied().unwrap_or(1);
    let whole_blocks = || -> Result<i64, String> {
        match (a, b) {
            (0.., 1..) => Ok(a.unsigned_abs().div_ceil(b.unsigned_abs()) as i64),
            _ => Err("`ceil_div` and `round_up` take sizes from 0 and blocks from 1".into()),
        }
    };
    match function {
        Function::Min => Ok(a.min(b)),
        Function::Max => Ok(a.max(b)),
        Function::CeilDiv => whole_blocks(),
        Function::RoundUp => whole_blocks()?
            .checked_mul(b)
            .ok_or_else(|| "the value does not fit 64 bits".to_owned()),
        Function::PowerOfTwo => u64::try_from(a)
            .ok()
            .and_then(u64::checked_next_power_of_two)
            .and_then(|power| i64::try_from(power).ok())
            .ok_or_else(|| format!("there is no next power of two of {a}")),
        Function::Log2 => u64::try_from(a)
            .ok()
            .and_then(u64::checked_ilog2)
            .map(i64::from)
            .ok_or_else(|| format!("there is no logarithm of {a}")),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn value(text: &str) -> Result<i64, String> {
        let scope = [("rows", 10), ("cols", 1000)].map(|(name, value)| (name.to_owned(), value));
        Expression::parse(text)
            .and_then(|expression| expression.value(&scope.into_iter().collect()))
            .map_err(|error| error.problem)
    }

    #[test]
    fn precedence_functions_and_suffixes() {
        for (text, expected) in [
            ("1 + 2 * 3", 7),
            ("(1 + 2) * 3", 9),
            ("10 - 3 - 2", 5),
            ("cols / 256", 3),
            ("(cols + 255) / 256", 4),
            ("ceil_div(cols, 256)", 4),
            ("round_up(cols, 256)", 1024),
            ("next_power_of_two(cols)", 1024),
            ("log2(1024)", 10),
            ("min(rows, cols) + max(rows, cols)", 1010),
            ("4K", 4096),
            ("rows > 5 && cols % 4 == 0", 1),
            ("!(rows > 5) || 0", 0),
            ("rows > 100 ? 1 : 2", 2),
            ("-rows + 1", -9),
            ("-7 % 4", 1),
        ] {
            assert_eq!(value(text), Ok(expected), "{text}");
        }
    }

    #[test]
    fn mistakes_say_what_and_where() {
        for (text, problem) in [
            ("", "ends too early"),
            ("1 +", "ends too early"),
            ("1 2", "left over at column 3"),
            ("(1", "`)` expected at column 3"),
            (
                "depth",
                "no dimension or tunable `depth`; there are cols, rows",
            ),
            ("sin(1)", "no function `sin`"),
            ("min(1)", "`,` expected"),
            ("1 / 0", "divides by zero"),
            ("9223372036854775807 + 1", "64 bits"),
            ("99999999999999999999", "not a whole number"),
            ("é", "unexpected"),
            ("ceil_div(1, 0)", "blocks from 1"),
        ] {
            let error = value(text).unwrap_err();
            assert!(error.contains(problem), "{text}: {error}");
        }
        let deep = "(".repeat(900);
        assert!(
            Expression::parse(&deep)
                .unwrap_err()
                .problem
                .contains("deeper")
        );
        let long = "1+".repeat(499) + "1";
        assert!(Expression::parse(&long).is_err());
    }

    #[test]
    fn names_are_listed_once() {
        let expression = Expression::parse("cols * rows + min(cols, BLOCK)").unwrap();
        assert_eq!(expression.names(), ["BLOCK", "cols", "rows"]);
    }

    proptest! {
        #[test]
        fn any_text_is_read_or_refused(text in ".{0,60}") {
            if let Ok(expression) = Expression::parse(&text) {
                let _ = expression.value(&Scope::new());
            }
        }
    }
}
