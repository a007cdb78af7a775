//! Whether kernels stand in other people's files: by normalised syntax, so that other names, numbers,
//! comments and layout hide nothing.
//!
//! A text is read as tokens. Windows of [`WINDOW`] tokens are hashed; within a window variables are numbered
//! by the order in which they occur, and numbers are all alike, so that a part of a text has the same hashes
//! wherever it stands. Names of functions, members and types stay, because they say what is computed.

use std::collections::HashMap;

use crate::fingerprint::hash_bytes;

/// Tokens of a window: one more than the usual lines that find a thread's index and leave where it is too
/// large, which every kernel has.
pub const WINDOW: usize = 32;

/// Windows that are remembered, at most: 16 bytes each, and as much again for the table.
const MOST_WINDOWS: usize = 50_000_000;

/// More of other people's text than is remembered.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "the files have more than {MOST_WINDOWS} windows of {WINDOW} tokens; compare with some of them at a time"
)]
pub struct TooMuchText;

/// Other people's texts, by the hashes of their windows.
#[derive(Debug, Default)]
pub struct OtherTexts {
    names: Vec<String>,
    /// Text by window; the few windows that stand in several texts have a list.
    windows: HashMap<u64, Places>,
    count: usize,
}

#[derive(Debug)]
enum Places {
    One(u32),
    Several(Vec<u32>),
}

/// How much of a text stands in one of the others.
#[derive(Clone, Debug, PartialEq)]
pub struct Overlap {
    /// The other text's name.
    pub other: String,
    /// The share of our windows that it has, from 0 to 1.
    pub share: f64,
}

impl OtherTexts {
    /// How many texts there are.
    pub fn len(&self) -> usize {
        self.names.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.names.is_empty()
    }

    /// Adds a text.
    ///
    /// # Errors
    /// Where there is too much of it.
    pub fn add(&mut self, name: String, text: &str) -> Result<(), TooMuchText> {
        let number = self.names.len() as u32;
        let windows = windows(text);
        self.count += windows.len();
        if self.count > MOST_WINDOWS {
            return Err(TooMuchText);
        }
        self.names.push(name);
        for window in windows {
            let places = self.windows.entry(window).or_insert(Places::One(number));
            match places {
                Places::One(first) if *first == number => {}
                Places::One(first) => *places = Places::Several(vec![*first, number]),
                Places::Several(all) if all.last() == Some(&number) => {}
                Places::Several(all) => all.push(number),
            }
        }
        Ok(())
    }

    /// The text that has most of ours; `None` where none has any, or ours is shorter than a window.
    pub fn overlap(&self, text: &str) -> Option<Overlap> {
        let windows = windows(text);
        let mut found: HashMap<u32, usize> = HashMap::new();
        for window in &windows {
            let places = match self.windows.get(window) {
                Some(Places::One(number)) => std::slice::from_ref(number),
                Some(Places::Several(numbers)) => numbers,
                None => &[],
            };
            for number in places {
                *found.entry(*number).or_default() += 1;
            }
        }
        // Of equal ones the first, so that the answer does not depend on the table's order.
        let (number, count) = found
            .into_iter()
            .max_by_key(|(number, count)| (*count, std::cmp::Reverse(*number)))?;
        Some(Overlap {
            other: self.names[number as usize].clone(),
            share: count as f64 / windows.len() as f64,
        })
    }
}

/// The hashes of a text's windows, each once.
fn windows(text: &str) -> Vec<u64> {
    let tokens = tokens(text.as_bytes());
    let mut hashes: Vec<u64> = tokens.windows(WINDOW).map(hash_window).collect();
    hashes.sort_unstable();
    hashes.dedup();
    hashes
}

/// A token: a variable by its name's hash, or what stays as it is.
#[derive(Clone, Copy, PartialEq)]
enum Token {
    Variable(u64),
    Kept(u64),
}

fn hash_window(window: &[Token]) -> u64 {
    let mut seen: Vec<u64> = Vec::with_capacity(WINDOW);
    let mut words = [0_u8; 8 * WINDOW];
    for (token, word) in window.iter().zip(words.chunks_exact_mut(8)) {
        let value = match *token {
            Token::Kept(hash) => hash | 1 << 63,
            Token::Variable(name) => match seen.iter().position(|known| *known == name) {
                Some(place) => place as u64,
                None => {
                    seen.push(name);
                    seen.len() as u64 - 1
                }
            },
        };
        word.copy_from_slice(&value.to_le_bytes());
    }
    hash_bytes(&words)
}

/// Words of C++ and Python that say what kind of statement it is, or of which type.
const LANGUAGE: &[&str] = &[
    "and",
    "auto",
    "bool",
    "break",
    "case",
    "char",
    "const",
    "continue",
    "def",
    "do",
    "double",
    "elif",
    "else",
    "float",
    "for",
    "if",
    "import",
    "in",
    "inline",
    "int",
    "long",
    "not",
    "or",
    "return",
    "short",
    "signed",
    "static",
    "struct",
    "switch",
    "template",
    "unsigned",
    "void",
    "while",
    "blockIdx",
    "blockDim",
    "threadIdx",
    "gridDim",
    "__global__",
    "__device__",
    "__shared__",
    "__restrict__",
    "__syncthreads",
    "float2",
    "float4",
    "int2",
    "int4",
    "uint32_t",
    "int32_t",
    "int64_t",
    "size_t",
];

fn tokens(bytes: &[u8]) -> Vec<Token> {
    let mut found = Vec::new();
    let mut at = 0;
    while at < bytes.len() {
        let rest = &bytes[at..];
        let byte = rest[0];
        if byte.is_ascii_whitespace() {
            at += 1;
        } else if rest.starts_with(b"//") || byte == b'#' && !is_directive(rest) {
            at += memchr::memchr(b'\n', rest).unwrap_or(rest.len());
        } else if rest.starts_with(b"/*") {
            at += memchr::memmem::find(rest, b"*/").map_or(rest.len(), |end| end + 2);
        } else if byte.is_ascii_alphabetic() || byte == b'_' || !byte.is_ascii() {
            let length = length(rest, |b| {
                b.is_ascii_alphanumeric() || b == b'_' || !b.is_ascii()
            });
            let word = &rest[..length];
            let called = rest[length..].iter().find(|b| !b.is_ascii_whitespace()) == Some(&b'(');
            let member = at > 0 && (bytes[at - 1] == b'.' || bytes[..at].ends_with(b"->"));
            let kept = called && !is_definition(&bytes[..at])
                || member
                || std::str::from_utf8(word).is_ok_and(|word| LANGUAGE.contains(&word));
            let hash = hash_bytes(word);
            found.push(match kept {
                true => Token::Kept(hash),
                false => Token::Variable(hash),
            });
            at += length;
        } else if byte.is_ascii_digit() {
            at += length(rest, |b| b.is_ascii_alphanumeric() || b == b'.');
            found.push(Token::Kept(0));
        } else {
            found.push(Token::Kept(u64::from(byte)));
            at += 1;
        }
    }
    found
}

fn length(bytes: &[u8], part: impl Fn(u8) -> bool) -> usize {
    bytes.iter().take_while(|byte| part(**byte)).count()
}

/// Whether a line that begins with `#` is C++'s, and no comment of Python's.
fn is_directive(rest: &[u8]) -> bool {
    [
        &b"#include"[..],
        b"#define",
        b"#if",
        b"#else",
        b"#endif",
        b"#pragma",
    ]
    .iter()
    .any(|word| rest.starts_with(word))
}

/// Whether a name behind this text is being defined: a kernel's own name is free to choose.
fn is_definition(before: &[u8]) -> bool {
    let before = before.trim_ascii_end();
    before.ends_with(b"void") || before.ends_with(b"def")
}

#[cfg(test)]
mod tests {
    use super::*;

    const KERNEL: &str = "__global__ void scale_rows(const float* x, float* out, int rows, int cols) {\n    int row = blockIdx.x * blockDim.x + threadIdx.x;\n    if (row >= rows) return;\n    float sum = 0.0f;\n    for (int i = 0; i < cols; ++i) sum = sum + expf(x[row * cols + i]);\n    for (int i = 0; i < cols; ++i) out[row * cols + i] = expf(x[row * cols + i]) / sum;\n}\n";

    fn against(other: &str) -> f64 {
        let mut others = OtherTexts::default();
        others.add("other.cu".to_owned(), other).unwrap();
        others.overlap(KERNEL).map_or(0.0, |overlap| overlap.share)
    }

    #[test]
    fn names_numbers_comments_and_layout_hide_nothing() {
        let disguised = KERNEL
            .replace("row", "line")
            .replace("sum", "total")
            .replace("scale_rows", "normalise")
            .replace("0.0f", "0.f")
            .replace("{\n", "{ // begins here\n\n\n")
            .replace("out", "y /* result */");
        assert_ne!(disguised, KERNEL);
        assert_eq!(against(&disguised), 1.0);
        // In the middle of a longer file.
        let file = format!(
            "#include <cmath>\nint unrelated(int a) {{ return a; }}\n{disguised}\nint main() {{}}\n"
        );
        assert_eq!(against(&file), 1.0);
    }

    #[test]
    fn other_computations_are_others() {
        assert!(against(&KERNEL.replace("expf", "tanhf")) < 0.6);
        let stencil = "__global__ void blur(const float* x, float* y, int n) {\n    int i = blockIdx.x * blockDim.x + threadIdx.x;\n    if (i >= n) return;\n    y[i] = 0.25f * x[max(i - 1, 0)] + 0.5f * x[i] + 0.25f * x[min(i + 1, n - 1)];\n}\n";
        assert_eq!(against(stencil), 0.0);
        assert_eq!(against(""), 0.0);
    }

    #[test]
    fn the_text_with_most_is_named() {
        let mut others = OtherTexts::default();
        let half = &KERNEL[..KERNEL.len() / 2 + 60];
        for (name, text) in [("part", half), ("whole", KERNEL), ("again", KERNEL)] {
            others.add(name.to_owned(), text).unwrap();
        }
        let found = others.overlap(KERNEL).unwrap();
        assert_eq!((found.other.as_str(), found.share), ("whole", 1.0));
        assert_eq!(others.overlap("int x;"), None);
    }
}
