//! The text of a program as it is written: lines, literals, and fresh names.

use std::borrow::Cow;

use super::kind::{Kind, Scalar};
use crate::random::Random;

/// Appends `value` as a literal of type `scalar`.
pub(super) fn float_literal(scalar: Scalar, value: f32, out: &mut String) {
    let wrapped = scalar != Scalar::F32;
    if wrapped {
        out.push_str("wp.");
        out.push_str(scalar.name());
        out.push('(');
    }
    decimal(value, out);
    if wrapped {
        out.push(')');
    }
}

/// Appends a number of hundredths as Python would print it.
fn decimal(value: f32, out: &mut String) {
    let hundredths = (value * 100.0).round() as i64;
    if hundredths < 0 {
        out.push('-');
    }
    let hundredths = hundredths.unsigned_abs();
    integer(hundredths / 100, out);
    out.push('.');
    let fraction = hundredths % 100;
    out.push(char::from(b'0' + (fraction / 10) as u8));
    if !fraction.is_multiple_of(10) {
        out.push(char::from(b'0' + (fraction % 10) as u8));
    }
}

/// Appends a whole number.
pub(super) fn integer(mut value: u64, out: &mut String) {
    let mut digits = [0_u8; 20];
    let mut at = digits.len();
    loop {
        at -= 1;
        digits[at] = b'0' + (value % 10) as u8;
        value /= 10;
        if value == 0 {
            break;
        }
    }
    out.extend(digits[at..].iter().map(|digit| char::from(*digit)));
}

/// Appends `value` as a literal of an integer type.
pub(super) fn integer_literal(scalar: Scalar, value: u32, out: &mut String) {
    if scalar == Scalar::I32 {
        return integer(u64::from(value), out);
    }
    out.push_str("wp.");
    out.push_str(scalar.name());
    out.push('(');
    integer(u64::from(value), out);
    out.push(')');
}

/// A float literal between 0.2 and 3, or below 1.
pub(super) fn any_float(random: &mut Random, fraction: bool) -> f32 {
    if fraction {
        (5 + random.below(91)) as f32 / 100.0
    } else {
        (20 + random.below(280)) as f32 / 100.0
    }
}

/// A name in a program: almost always a word of the vocabulary, so that nothing is allocated.
pub(super) type Name = Cow<'static, str>;

/// Names that are taken in a program; a name that comes again gets a suffix that a person would use.
#[derive(Debug)]
pub(super) struct NamesTaken(Vec<Name>);

const SUFFIXES: &[&str] = &["_next", "_prev", "_b", "_c", "_alt", "_out", "_two", "_mid"];

impl Default for NamesTaken {
    fn default() -> Self {
        Self(Vec::with_capacity(16))
    }
}

impl NamesTaken {
    /// One of `words`, or one of them with a suffix.
    pub(super) fn fresh(&mut self, words: &[&'static str], random: &mut Random) -> Name {
        let start = random.below(words.len());
        let name = match self.plain(words, start) {
            Some(free) => Name::Borrowed(words[free]),
            None => Name::Owned(self.suffixed(words, start)),
        };
        self.0.push(name.clone());
        name
    }

    /// As [`Self::fresh`], of words that are not in the vocabulary.
    pub(super) fn fresh_of(&mut self, words: &[&str], random: &mut Random) -> Name {
        let start = random.below(words.len());
        let name = match self.plain(words, start) {
            Some(free) => words[free].to_owned(),
            None => self.suffixed(words, start),
        };
        self.0.push(Name::Owned(name.clone()));
        Name::Owned(name)
    }

    /// The first of four words from `start` that is free.
    fn plain(&self, words: &[&str], start: usize) -> Option<usize> {
        (0..words.len().min(4))
            .map(|n| (start + n) % words.len())
            .find(|n| !self.has(words[*n]))
    }

    fn suffixed(&self, words: &[&str], start: usize) -> String {
        let in_turn = (0..words.len()).map(|n| words[(start + n) % words.len()]);
        in_turn
            .flat_map(|word| SUFFIXES.iter().map(move |suffix| format!("{word}{suffix}")))
            .find(|name| !self.has(name))
            // Beyond every suffix, numbers never run out.
            .unwrap_or_else(|| format!("{}_{}", words[start], self.0.len()))
    }

    pub(super) fn take(&mut self, name: Name) {
        self.0.push(name);
    }

    fn has(&self, name: &str) -> bool {
        self.0.iter().any(|taken| taken == name)
    }
}

/// Words for a local of this type.
pub(super) fn local_words(kind: Kind) -> &'static [&'static str] {
    use super::vocabulary as words;
    match kind {
        Kind::Scalar(Scalar::Bool) => words::BOOL_LOCALS,
        Kind::Scalar(scalar) if scalar.is_float() => words::SCALAR_LOCALS,
        Kind::Scalar(_) => words::INTEGER_LOCALS,
        Kind::Vector(..) => words::VECTOR_LOCALS,
        Kind::Matrix(..) => words::MATRIX_LOCALS,
        Kind::Quat(_) => words::QUAT_LOCALS,
        Kind::Transform(_) => words::TRANSFORM_LOCALS,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn literals_are_python_floats() {
        let literal = |scalar, value| {
            let mut text = String::new();
            float_literal(scalar, value, &mut text);
            text
        };
        assert_eq!(literal(Scalar::F32, 0.5), "0.5");
        assert_eq!(literal(Scalar::F32, 2.0), "2.0");
        assert_eq!(literal(Scalar::F64, 1.25), "wp.float64(1.25)");
        assert_eq!(literal(Scalar::F32, 0.05), "0.05");
    }

    #[test]
    fn a_name_is_never_given_twice() {
        let mut random = Random::of_pair(1, 1, 0);
        let mut taken = NamesTaken::default();
        let mut seen = Vec::new();
        for _ in 0..60 {
            let name = taken.fresh(&["gain", "mix"], &mut random);
            assert!(!seen.contains(&name), "{name}");
            seen.push(name);
        }
    }
}
