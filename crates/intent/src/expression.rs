//! Scalar formulas: written once in a neutral notation, printed in every language.
//!
//! The notation is that of arithmetic with `abs`, `min`, `max`, `clamp`, `where(a < b, c, d)` and the
//! usual functions. `$c` is a constant that an axis chooses, `$f(x)` a function that an axis chooses.

use std::fmt::Write;

/// A language that formulas are printed in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Language {
    /// CUDA C++ in single precision.
    Cuda,
    /// Warp-style Python.
    Warp,
    /// NumPy, over arrays.
    Numpy,
    /// PyTorch, over tensors.
    Torch,
    /// The notation itself, as it stands in a description.
    Formula,
}

/// A formula.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Expression {
    Number(f64),
    Variable(String),
    /// `$name`.
    Chosen(String),
    /// `$name(arguments)`.
    ChosenFunction(String, Vec<Expression>),
    Negative(Box<Expression>),
    Binary(char, Box<Expression>, Box<Expression>),
    /// `<` or `>`.
    Compare(char, Box<Expression>, Box<Expression>),
    Call(String, Vec<Expression>),
}

/// Functions of the notation: name, CUDA, Warp, NumPy, PyTorch.
const FUNCTIONS: &[[&str; 5]] = &[
    ["abs", "fabsf", "wp.abs", "np.abs", "torch.abs"],
    ["min", "fminf", "wp.min", "np.minimum", "torch.minimum"],
    ["max", "fmaxf", "wp.max", "np.maximum", "torch.maximum"],
    ["exp", "expf", "wp.exp", "np.exp", "torch.exp"],
    ["log", "logf", "wp.log", "np.log", "torch.log"],
    ["sqrt", "sqrtf", "wp.sqrt", "np.sqrt", "torch.sqrt"],
    ["sin", "sinf", "wp.sin", "np.sin", "torch.sin"],
    ["cos", "cosf", "wp.cos", "np.cos", "torch.cos"],
    ["tanh", "tanhf", "wp.tanh", "np.tanh", "torch.tanh"],
    ["atan", "atanf", "wp.atan", "np.arctan", "torch.atan"],
    ["floor", "floorf", "wp.floor", "np.floor", "torch.floor"],
    ["clamp", "", "wp.clamp", "np.clip", "torch.clamp"],
    ["where", "", "wp.where", "np.where", "torch.where"],
];

/// How tightly an operator binds.
fn strength(expression: &Expression) -> u8 {
    match expression {
        Expression::Compare(..) => 0,
        Expression::Binary('+' | '-', ..) => 1,
        Expression::Binary(..) => 2,
        Expression::Negative(_) => 3,
        _ => 4,
    }
}

impl Expression {
    /// Reads the notation. The formulas are our own: a mistake in one is found by the first test.
    pub(crate) fn read(text: &str) -> Result<Self, String> {
        let mut reader = Reader {
            text,
            rest: text.trim_start(),
        };
        let expression = reader.comparison()?;
        match reader.rest.is_empty() {
            true => Ok(expression),
            false => Err(format!("`{text}`: `{}` is left over", reader.rest)),
        }
    }

    /// The formula with every variable replaced.
    pub(crate) fn with(&self, replace: &dyn Fn(&str) -> Option<Expression>) -> Self {
        let each = |list: &[Self]| list.iter().map(|one| one.with(replace)).collect();
        let boxed = |one: &Self| Box::new(one.with(replace));
        match self {
            Self::Variable(name) => replace(name).unwrap_or_else(|| self.clone()),
            Self::ChosenFunction(name, list) => Self::ChosenFunction(name.clone(), each(list)),
            Self::Call(name, list) => Self::Call(name.clone(), each(list)),
            Self::Negative(one) => Self::Negative(boxed(one)),
            Self::Binary(op, left, right) => Self::Binary(*op, boxed(left), boxed(right)),
            Self::Compare(op, left, right) => Self::Compare(*op, boxed(left), boxed(right)),
            other => other.clone(),
        }
    }

    /// The value in double precision, `variable` being all variables.
    pub(crate) fn value(&self, variable: f64) -> f64 {
        let at = |one: &Self| one.value(variable);
        match self {
            Self::Number(number) => *number,
            Self::Variable(_) => variable,
            Self::Chosen(_) | Self::ChosenFunction(..) => f64::NAN,
            Self::Negative(one) => -at(one),
            Self::Compare('<', left, right) => f64::from(at(left) < at(right)),
            Self::Compare(_, left, right) => f64::from(at(left) > at(right)),
            Self::Binary(op, left, right) => match op {
                '+' => at(left) + at(right),
                '-' => at(left) - at(right),
                '*' => at(left) * at(right),
                _ => at(left) / at(right),
            },
            Self::Call(name, list) => {
                let list: Vec<f64> = list.iter().map(at).collect();
                match (name.as_str(), &list[..]) {
                    ("abs", [x]) => x.abs(),
                    ("min", [x, y]) => x.min(*y),
                    ("max", [x, y]) => x.max(*y),
                    ("exp", [x]) => x.exp(),
                    ("log", [x]) => x.ln(),
                    ("sqrt", [x]) => x.sqrt(),
                    ("sin", [x]) => x.sin(),
                    ("cos", [x]) => x.cos(),
                    ("tanh", [x]) => x.tanh(),
                    ("atan", [x]) => x.atan(),
                    ("floor", [x]) => x.floor(),
                    ("clamp", [x, low, high]) => x.max(*low).min(*high),
                    ("where", [condition, yes, no]) => match *condition != 0.0 {
                        true => *yes,
                        false => *no,
                    },
                    _ => f64::NAN,
                }
            }
        }
    }

    /// The text in a language. What an axis chooses stays as it is, for the template that it stands in.
    pub(crate) fn print(&self, language: Language) -> String {
        let mut text = String::new();
        self.write(&mut text, language, 0);
        text
    }

    fn write(&self, text: &mut String, language: Language, least: u8) {
        let own = strength(self);
        if own < least {
            text.push('(');
            self.write(text, language, 0);
            text.push(')');
            return;
        }
        match self {
            Self::Number(number) => text.push_str(&literal(*number, language)),
            Self::Variable(name) => text.push_str(name),
            Self::Chosen(name) => {
                let _ = write!(text, "${name}");
            }
            Self::ChosenFunction(name, list) => {
                // Below an operator its formula needs brackets, whichever it is.
                let inside = least > 0;
                let _ = write!(text, "{}${name}(", if inside { "(" } else { "" });
                write_list(text, list, language);
                text.push_str(if inside { "))" } else { ")" });
            }
            Self::Negative(one) => {
                text.push('-');
                one.write(text, language, 3);
            }
            Self::Compare(op, left, right) => {
                left.write(text, language, 1);
                let _ = write!(text, " {op} ");
                right.write(text, language, 1);
            }
            Self::Binary(op, left, right) => {
                left.write(text, language, own);
                let _ = write!(text, " {op} ");
                // `a - (b - c)` and `a / (b * c)` keep their brackets; so does every float sum.
                right.write(text, language, own + 1);
            }
            Self::Call(name, list) => write_call(text, name, list, language, least),
        }
    }
}

fn write_list(text: &mut String, list: &[Expression], language: Language) {
    for (at, one) in list.iter().enumerate() {
        text.push_str(if at == 0 { "" } else { ", " });
        one.write(text, language, 0);
    }
}

fn write_call(text: &mut String, name: &str, list: &[Expression], language: Language, least: u8) {
    let is_constant =
        |one: &Expression| matches!(one, Expression::Number(_) | Expression::Chosen(_));
    match (language, name, list) {
        (Language::Cuda, "clamp", [x, low, high]) => {
            text.push_str("fminf(fmaxf(");
            x.write(text, language, 0);
            text.push_str(", ");
            low.write(text, language, 0);
            text.push_str("), ");
            high.write(text, language, 0);
            text.push(')');
        }
        (Language::Cuda, "where", [condition, yes, no]) => {
            // Binds weaker than anything else in C.
            text.push_str(if least > 0 { "(" } else { "" });
            condition.write(text, language, 0);
            text.push_str(" ? ");
            yes.write(text, language, 1);
            text.push_str(" : ");
            no.write(text, language, 1);
            text.push_str(if least > 0 { ")" } else { "" });
        }
        (Language::Torch, "min" | "max", [x, bound]) if is_constant(bound) => {
            text.push_str("torch.clamp(");
            x.write(text, language, 0);
            text.push_str(if name == "min" { ", max=" } else { ", min=" });
            bound.write(text, language, 0);
            text.push(')');
        }
        _ => {
            let known = FUNCTIONS.iter().find(|row| row[0] == name);
            let column = match language {
                Language::Formula => 0,
                Language::Cuda => 1,
                Language::Warp => 2,
                Language::Numpy => 3,
                Language::Torch => 4,
            };
            text.push_str(known.map_or(name, |row| row[column]));
            text.push('(');
            write_list(text, list, language);
            text.push(')');
        }
    }
}

/// A number as a language writes it: single precision in CUDA.
pub(crate) fn literal(number: f64, language: Language) -> String {
    let plain = match language {
        Language::Formula => format!("{number}"),
        _ => format!("{number:?}"),
    };
    match language {
        Language::Cuda => plain + "f",
        _ => plain,
    }
}

struct Reader<'a> {
    text: &'a str,
    rest: &'a str,
}

impl Reader<'_> {
    fn take(&mut self, sign: &str) -> bool {
        match self.rest.strip_prefix(sign) {
            Some(rest) => {
                self.rest = rest.trim_start();
                true
            }
            None => false,
        }
    }

    fn comparison(&mut self) -> Result<Expression, String> {
        let left = self.sum()?;
        for sign in ['<', '>'] {
            if self.take(&sign.to_string()) {
                let right = self.sum()?;
                return Ok(Expression::Compare(sign, Box::new(left), Box::new(right)));
            }
        }
        Ok(left)
    }

    fn sum(&mut self) -> Result<Expression, String> {
        self.chain(&['+', '-'], Self::product)
    }

    fn product(&mut self) -> Result<Expression, String> {
        self.chain(&['*', '/'], Self::factor)
    }

    fn chain(
        &mut self,
        signs: &[char],
        part: fn(&mut Self) -> Result<Expression, String>,
    ) -> Result<Expression, String> {
        let mut left = part(self)?;
        while let Some(sign) = signs.iter().find(|sign| self.rest.starts_with(**sign)) {
            self.take(&sign.to_string());
            left = Expression::Binary(*sign, Box::new(left), Box::new(part(self)?));
        }
        Ok(left)
    }

    fn factor(&mut self) -> Result<Expression, String> {
        if self.take("-") {
            return Ok(Expression::Negative(Box::new(self.factor()?)));
        }
        if self.take("(") {
            let inner = self.comparison()?;
            return match self.take(")") {
                true => Ok(inner),
                false => Err(format!("`{}`: `)` is missing", self.text)),
            };
        }
        let chosen = self.take("$");
        let is_word = |c: char| c.is_ascii_alphanumeric() || "_.[]".contains(c);
        let end = self.rest.find(|c| !is_word(c)).unwrap_or(self.rest.len());
        let (word, rest) = self.rest.split_at(end);
        self.rest = rest;
        let applied = self.rest.starts_with('(');
        self.rest = self.rest.trim_start();
        if word.is_empty() {
            return Err(format!("`{}`: something is missing", self.text));
        }
        if let (false, Ok(number)) = (chosen, word.parse()) {
            return Ok(Expression::Number(number));
        }
        if !applied {
            return Ok(match chosen {
                true => Expression::Chosen(word.into()),
                false => Expression::Variable(word.into()),
            });
        }
        let mut list = Vec::new();
        self.take("(");
        while !self.take(")") {
            list.push(self.comparison()?);
            if !self.take(",") && !self.rest.starts_with(')') {
                return Err(format!("`{}`: `)` is missing", self.text));
            }
        }
        Ok(match chosen {
            true => Expression::ChosenFunction(word.into(), list),
            false => Expression::Call(word.into(), list),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_formula_reads_naturally_in_every_language() {
        let formula = Expression::read("where(x > 0, x, $c * (exp(min(x, 0)) - 1))").unwrap();
        assert_eq!(
            formula.print(Language::Cuda),
            "x > 0.0f ? x : $c * (expf(fminf(x, 0.0f)) - 1.0f)"
        );
        assert_eq!(
            formula.print(Language::Torch),
            "torch.where(x > 0.0, x, $c * (torch.exp(torch.clamp(x, max=0.0)) - 1.0))"
        );
        assert_eq!(
            formula.print(Language::Formula),
            "where(x > 0, x, $c * (exp(min(x, 0)) - 1))"
        );
        let nested = Expression::read("a - (b - c) * $f(d)").unwrap();
        assert_eq!(nested.print(Language::Warp), "a - (b - c) * ($f(d))");
    }

    #[test]
    fn formulas_have_values() {
        let value = |text: &str, x: f64| Expression::read(text).unwrap().value(x);
        assert_eq!(value("clamp(x, -1, 1) * 2 - -x", 3.0), 5.0);
        assert_eq!(value("where(x < 0, 0 - x, x / 4)", -2.0), 2.0);
        assert!(Expression::read("max(x, ").is_err() && Expression::read("x )").is_err());
    }
}
