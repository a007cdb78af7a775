//! The table of expressions, read once into a shape that is quick to walk.

use std::sync::OnceLock;

use super::form_table::{Group, ROWS, TUPLES};
use super::kind::{Kind, Scalar};

/// The types that a program uses where the table says only "float" or "integer".
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Palette {
    pub(crate) float: Scalar,
    pub(crate) integer: Scalar,
}

/// A type as the table names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Pattern {
    Float,
    Integer,
    Int32,
    Bool,
    Vector(u8),
    IntegerVector(u8),
    Matrix(u8),
    Quat,
    Transform,
}

impl Pattern {
    fn read(text: &str) -> Option<Self> {
        let digit = || text.as_bytes().get(1).map(|digit| digit - b'0');
        Some(match text.as_bytes().first()? {
            b'f' => Self::Float,
            b'i' => Self::Integer,
            b'n' => Self::Int32,
            b'b' => Self::Bool,
            b'v' => Self::Vector(digit()?),
            b'w' => Self::IntegerVector(digit()?),
            b'm' => Self::Matrix(digit()?),
            b'q' => Self::Quat,
            b't' => Self::Transform,
            _ => return None,
        })
    }

    pub(crate) fn kind(self, palette: Palette) -> Kind {
        match self {
            Self::Float => Kind::Scalar(palette.float),
            Self::Integer => Kind::Scalar(palette.integer),
            Self::Int32 => Kind::Scalar(Scalar::I32),
            Self::Bool => Kind::Scalar(Scalar::Bool),
            Self::Vector(n) => Kind::Vector(n, palette.float),
            Self::IntegerVector(n) => Kind::Vector(n, palette.integer),
            Self::Matrix(n) => Kind::Matrix(n, palette.float),
            Self::Quat => Kind::Quat(palette.float),
            Self::Transform => Kind::Transform(palette.float),
        }
    }

    /// Position in the table of forms by result.
    fn slot(self) -> usize {
        match self {
            Self::Float => 0,
            Self::Integer => 1,
            Self::Int32 => 2,
            Self::Bool => 3,
            Self::Quat => 4,
            Self::Transform => 5,
            Self::Vector(n) => 6 + usize::from(n),
            Self::IntegerVector(n) => 13 + usize::from(n),
            Self::Matrix(n) => 20 + usize::from(n),
        }
    }
}

/// A piece of a form's text.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Part {
    Text(String),
    /// An expression; parentheses are put around anything below this precedence.
    Hole(u8, Pattern),
    Bounded(u8),
    Positive(u8),
    PositiveInteger(u8),
    UnitQuat(u8),
    RigidTransform(u8),
    Regular(u8),
    Direction(u8),
    FloatArray,
    RandomState,
    Float(f32),
    Integer(u32),
    AnyFloat,
    Fraction,
    SmallInteger,
    PlainInteger,
    Index(u8),
    Letter(u8),
    TypeName(Pattern),
    WarpName(Pattern),
}

/// How large the result can be.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Bound {
    Fixed(f32),
    First(f32),
    Max(f32),
    Sum(f32),
    Product(f32),
    Square(f32),
}

impl Bound {
    fn read(text: &str) -> Self {
        let (word, factor) = text.split_once('*').unwrap_or((text, "1"));
        let factor: f32 = factor.parse().unwrap_or(1.0);
        match word {
            "first" => Self::First(factor),
            "max" => Self::Max(factor),
            "sum" => Self::Sum(factor),
            "product" => Self::Product(factor),
            "square" => Self::Square(factor),
            number => Self::Fixed(number.parse().unwrap_or(1.0)),
        }
    }

    /// The bound of the whole, given those of the holes.
    pub(crate) fn of(self, holes: &[f32]) -> f32 {
        let first = holes.first().copied().unwrap_or(4.0);
        match self {
            Self::Fixed(bound) => bound,
            Self::First(factor) => first * factor,
            Self::Max(factor) => holes.iter().copied().fold(4.0, f32::max) * factor,
            Self::Sum(factor) => holes.iter().sum::<f32>().max(4.0) * factor,
            Self::Product(factor) => holes.iter().map(|b| b.max(1.0)).product::<f32>() * factor,
            Self::Square(factor) => first * first * factor,
        }
    }
}

/// An expression that the grammar can write.
#[derive(Clone, Debug)]
pub(crate) struct Form {
    pub(crate) result: Pattern,
    pub(crate) builtin: &'static str,
    pub(crate) group: Group,
    pub(crate) precedence: u8,
    pub(crate) bound: Bound,
    pub(crate) parts: Vec<Part>,
    /// Whether it exists for float32 alone.
    pub(crate) float32_only: bool,
    /// Whether it reads an array as a whole.
    pub(crate) reads_array: bool,
    /// Whether it draws random numbers.
    pub(crate) draws: bool,
}

/// A call with several results.
#[derive(Clone, Debug)]
pub(crate) struct TupleForm {
    pub(crate) results: Vec<Pattern>,
    pub(crate) builtin: &'static str,
    pub(crate) group: Group,
    pub(crate) parts: Vec<Part>,
}

/// All forms.
#[derive(Debug)]
pub(crate) struct Forms {
    pub(crate) forms: Vec<Form>,
    pub(crate) tuples: Vec<TupleForm>,
    by_result: Vec<Vec<u16>>,
}

impl Forms {
    /// The forms with this result.
    pub(crate) fn with_result(&self, result: Pattern) -> &[u16] {
        &self.by_result[result.slot()]
    }

    fn read() -> Self {
        let mut forms = Vec::new();
        for (result, builtin, group, precedence, bound, text) in ROWS {
            let generic = result.contains('*') || text.contains('*') && text.contains("*}");
            let sizes: &[u8] = if generic { &[2, 3, 4] } else { &[0] };
            for size in sizes {
                let name = instance(result, *size);
                let Some(result) = Pattern::read(&name) else {
                    continue;
                };
                let text = instance(text, *size);
                let parts = parts(text.trim_start_matches("{!}"));
                forms.push(Form {
                    result,
                    builtin,
                    group: *group,
                    precedence: *precedence,
                    bound: Bound::read(bound),
                    float32_only: text.starts_with("{!}") || parts.contains(&Part::RandomState),
                    reads_array: parts.contains(&Part::FloatArray),
                    draws: parts.contains(&Part::RandomState),
                    parts,
                });
            }
        }
        let mut by_result = vec![Vec::new(); 27];
        for (position, form) in forms.iter().enumerate() {
            by_result[form.result.slot()].push(position as u16);
        }
        let tuples = TUPLES
            .iter()
            .map(|(results, builtin, group, text)| TupleForm {
                results: results.iter().filter_map(|r| Pattern::read(r)).collect(),
                builtin,
                group: *group,
                parts: parts(text),
            })
            .collect();
        Self {
            forms,
            tuples,
            by_result,
        }
    }
}

/// The table.
pub(crate) fn forms() -> &'static Forms {
    static FORMS: OnceLock<Forms> = OnceLock::new();
    FORMS.get_or_init(Forms::read)
}

/// `{v*}` and `v*` for one size; the `*` of a product stays.
fn instance(text: &str, size: u8) -> String {
    if size == 0 {
        return text.to_owned();
    }
    let mut out = String::with_capacity(text.len());
    let mut inside = !text.contains('{');
    for c in text.chars() {
        match c {
            '{' => inside = true,
            '}' => inside = false,
            _ => {}
        }
        if c == '*' && inside {
            out.push(char::from(b'0' + size));
        } else {
            out.push(c);
        }
    }
    out
}

/// Splits a text into its parts.
fn parts(text: &str) -> Vec<Part> {
    let mut parts = Vec::new();
    let mut rest = text;
    while let Some(open) = rest.find('{') {
        if open > 0 {
            parts.push(Part::Text(rest[..open].to_owned()));
        }
        let close = rest[open..].find('}').map_or(rest.len(), |at| open + at);
        parts.push(part(&rest[open + 1..close]));
        rest = rest.get(close + 1..).unwrap_or("");
    }
    if !rest.is_empty() {
        parts.push(Part::Text(rest.to_owned()));
    }
    parts
}

fn part(code: &str) -> Part {
    let bytes = code.as_bytes();
    if let Some(number) = code.strip_prefix('=') {
        return Part::Float(number.parse().unwrap_or(0.0));
    }
    if let Some(number) = code.strip_prefix('#') {
        return Part::Integer(number.parse().unwrap_or(1));
    }
    if let Some(pattern) = code.strip_prefix('T').and_then(Pattern::read) {
        return Part::TypeName(pattern);
    }
    if let Some(pattern) = code.strip_prefix('W').and_then(Pattern::read) {
        return Part::WarpName(pattern);
    }
    let size = bytes.get(1).map_or(0, |digit| digit.wrapping_sub(b'0'));
    match bytes[0] {
        b'c' => return Part::AnyFloat,
        b'C' => return Part::Fraction,
        b'k' => return Part::SmallInteger,
        b'N' => return Part::PlainInteger,
        b'I' => return Part::Index(size),
        b'D' => return Part::Letter(size),
        b'a' => return Part::FloatArray,
        b'r' => return Part::RandomState,
        // A bare size, as in `identity(n=3)`.
        digit if bytes.len() == 1 && digit.is_ascii_digit() => {
            return Part::Text(code.to_owned());
        }
        _ => {}
    }
    let (precedence, name) = match bytes[0] {
        digit @ b'0'..=b'9' => (digit - b'0', &code[1..]),
        _ => (0, code),
    };
    let size = name.as_bytes().get(1).map_or(0, |digit| digit - b'0');
    match name.as_bytes()[0] {
        b'u' => Part::Bounded(precedence),
        b'p' => Part::Positive(precedence),
        b'j' => Part::PositiveInteger(precedence),
        b'd' => Part::UnitQuat(precedence),
        b'e' => Part::RigidTransform(precedence),
        b'o' => Part::Regular(size),
        b'z' => Part::Direction(size),
        _ => match Pattern::read(name) {
            Some(pattern) => Part::Hole(precedence, pattern),
            None => Part::Text(code.to_owned()),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_split_into_its_holes() {
        assert_eq!(
            parts("{2v3} * {C}"),
            [
                Part::Hole(2, Pattern::Vector(3)),
                Part::Text(" * ".into()),
                Part::Fraction
            ]
        );
        assert_eq!(instance("{2m*} * {3v*}", 4), "{2m4} * {3v4}");
        assert_eq!(instance("v*", 2), "v2");
    }

    #[test]
    fn no_hole_of_the_table_is_left_as_text() {
        for form in &forms().forms {
            for part in &form.parts {
                if let Part::Text(text) = part {
                    assert!(!text.contains(['{', '}']), "{}: {text}", form.builtin);
                }
            }
        }
    }
}
