//! From code back to the specification: which family, and which option of every axis.
//!
//! Code is compared as tokens. Layout, comments, doc strings, the writing of numbers and all names of the
//! author's own choosing are free; everything else must be what some specification gives.

use std::collections::HashSet;
use std::sync::LazyLock;

use crate::axis::{Axis, Use};
use crate::expression::Language;
use crate::template::{Piece, Template};

/// Tokens of a template: plain ones, and places with what they may hold.
pub(crate) struct Pattern {
    items: Vec<Item>,
}

enum Item {
    Token(String),
    Place {
        axis: usize,
        stage: usize,
        alternatives: Vec<Vec<String>>,
    },
}

impl Pattern {
    pub(crate) fn of(template: &Template, axes: &[Axis]) -> Self {
        // A place is one character of the private area while the whole is cut into tokens.
        let mark = |at: usize| char::from_u32(0xE000 + at as u32).unwrap_or('\u{E000}');
        let mut text = String::new();
        for (at, piece) in template.pieces.iter().enumerate() {
            match piece {
                Piece::Text(plain) => text.push_str(plain),
                Piece::Place(..) => text.push(mark(at)),
            }
        }
        let items = tokens(&text, template.language).into_iter().map(|token| {
            let place = token.chars().next().filter(|c| *c >= '\u{E000}');
            let at = place.map(|c| c as usize - 0xE000);
            match at.and_then(|at| template.pieces.get(at)) {
                Some(Piece::Place(axis, use_)) => Item::Place {
                    axis: *axis,
                    stage: match use_ {
                        Use::Apply(_, stage) => *stage,
                        _ => 0,
                    },
                    alternatives: axes[*axis]
                        .alternatives(use_, template.language)
                        .iter()
                        .map(|text| inline_tokens(text, template.language))
                        .collect(),
                },
                _ => Item::Token(token),
            }
        });
        Self {
            items: items.collect(),
        }
    }

    /// The options that give this code.
    pub(crate) fn matches(&self, code: &[String], axes: &[Axis]) -> Option<Vec<usize>> {
        let mut search = Search {
            code,
            names: Vec::new(),
            chosen: axes.iter().map(|axis| vec![None; axis.stages()]).collect(),
            steps: 0,
        };
        if !search.from(&self.items, 0) {
            return None;
        }
        let chosen = search.chosen.iter().zip(axes);
        chosen
            .map(|(stages, axis)| {
                let first = stages.first().copied().flatten();
                // An axis that is no chain fills one place at most.
                let stages: Option<Vec<usize>> = stages.iter().copied().collect();
                axis.option_of(&stages.or_else(|| first.map(|one| vec![one]))?)
            })
            .collect()
    }
}

/// Attempts after which code counts as unknown: hostile code must end, too.
const MOST_STEPS: usize = 200_000;

struct Search<'a> {
    code: &'a [String],
    /// Names of the template with those of the code.
    names: Vec<(String, String)>,
    chosen: Vec<Vec<Option<usize>>>,
    steps: usize,
}

impl Search<'_> {
    fn from(&mut self, items: &[Item], mut at: usize) -> bool {
        for (index, item) in items.iter().enumerate() {
            match item {
                Item::Token(token) => {
                    if !self.same(token, at) {
                        return false;
                    }
                    at += 1;
                }
                Item::Place {
                    axis,
                    stage,
                    alternatives,
                } => return self.place(&items[index + 1..], at, (*axis, *stage), alternatives),
            }
        }
        at == self.code.len()
    }

    fn place(
        &mut self,
        rest: &[Item],
        at: usize,
        (axis, stage): (usize, usize),
        alternatives: &[Vec<String>],
    ) -> bool {
        let before = self.chosen[axis][stage];
        for (option, tokens) in alternatives.iter().enumerate() {
            if before.is_some_and(|chosen| chosen != option) {
                continue;
            }
            self.steps += 1;
            if self.steps > MOST_STEPS {
                return false;
            }
            let names = self.names.len();
            let fits = (at..).zip(tokens).all(|(at, token)| self.same(token, at));
            self.chosen[axis][stage] = Some(option);
            if fits && self.from(rest, at + tokens.len()) {
                return true;
            }
            self.chosen[axis][stage] = before;
            self.names.truncate(names);
        }
        false
    }

    /// Whether a token of the template is this one of the code: the same, or the author's name for it.
    fn same(&mut self, token: &str, at: usize) -> bool {
        let Some(code) = self.code.get(at) else {
            return false;
        };
        if !is_free_name(token) || !is_free_name(code) {
            return token == code;
        }
        let known = |(own, other): &&(String, String)| own == token || other == code;
        match self.names.iter().find(known) {
            Some((own, other)) => own == token && other == code,
            None => {
                self.names.push((token.to_owned(), code.clone()));
                true
            }
        }
    }
}

/// Names that mean something by themselves.
static FIXED: LazyLock<HashSet<&'static str>> = LazyLock::new(|| {
    "def return for in range if else elif while not and or int float wp np torch void const unsigned \
     extern C __global__ __device__ __shared__ __restrict__ __forceinline__ inline static size_t \
     float2 float4 int4 blockIdx threadIdx blockDim gridDim __syncthreads INFINITY \
     fabsf fminf fmaxf expf logf sqrtf sinf cosf tanhf atanf floorf min max atomicAdd atomicMax \
     atomicMin __shfl_sync __shfl_down_sync __shfl_up_sync __shfl_xor_sync reinterpret_cast True False pragma unroll continue break abs len"
        .split_whitespace()
        .collect()
});

fn is_free_name(token: &str) -> bool {
    let named = |c: char| c.is_ascii_alphabetic() || c == '_';
    // A name behind a point belongs to what stands before it.
    token.starts_with(named) && !FIXED.contains(token)
}

/// The tokens of an option's text, which begins and ends within a line.
fn inline_tokens(text: &str, language: Language) -> Vec<String> {
    let mut list = tokens(text, language);
    list.retain(|token| !token.starts_with('\n'));
    list
}

/// Cuts code into tokens. In Python a line's end and depth are tokens, too.
pub(crate) fn tokens(text: &str, language: Language) -> Vec<String> {
    let python = language != Language::Cuda;
    let mut list = Vec::new();
    let mut depths = vec![0];
    let mut brackets = 0i32;
    for line in text.lines() {
        let comment = if python { "#" } else { "//" };
        let line = line.split(comment).next().unwrap_or_default().trim_end();
        let bare = line.trim_start();
        if bare.is_empty() || (python && bare.starts_with("\"\"\"") && bare.ends_with("\"\"\"")) {
            continue;
        }
        if python && brackets == 0 {
            let depth = line.len() - bare.len();
            while depths.len() > 1 && depths.last().is_some_and(|last| *last > depth) {
                depths.pop();
            }
            if depths.last().is_some_and(|last| *last < depth) {
                depths.push(depth);
            }
            list.push(format!("\n{}", depths.len() - 1));
        }
        let mut rest = bare;
        while let Some(first) = rest.chars().next() {
            let end = length(rest, first);
            let (token, behind) = rest.split_at(end);
            brackets += i32::from("([".contains(first)) - i32::from(")]".contains(first));
            list.push(match first.is_ascii_digit() {
                true => number(token),
                false => token.to_owned(),
            });
            rest = behind.trim_start();
        }
    }
    list
}

/// How long the token is that a text begins with.
fn length(text: &str, first: char) -> usize {
    let named = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let until = |ends: &dyn Fn(char) -> bool| text.find(ends).unwrap_or(text.len());
    if first.is_ascii_digit() {
        let mut end = until(&|c| !(named(c) || c == '.'));
        // 1e-5: the sign belongs to it.
        if text[..end].ends_with(['e', 'E']) && text[end..].starts_with(['-', '+']) {
            let behind = &text[end + 1..];
            end += 1 + behind.find(|c| !named(c)).unwrap_or(behind.len());
        }
        end
    } else if named(first) {
        until(&|c| !named(c))
    } else if first == '.' && text[1..].starts_with(|c: char| c.is_ascii_alphabetic()) {
        // A member is one token with its point: its name is never free.
        1 + text[1..].find(|c| !named(c)).unwrap_or(text.len() - 1)
    } else {
        let pairs = [
            "+=", "-=", "*=", "/=", "<<", ">>", "==", "!=", "<=", ">=", "&&", "||", "++", "//",
        ];
        match pairs.iter().any(|pair| text.starts_with(pair)) {
            true => 2,
            false => first.len_utf8(),
        }
    }
}

/// A number however it was written: `1.50f`, `1.5` and `15e-1` are one.
fn number(token: &str) -> String {
    let plain = token.trim_end_matches(['f', 'F', 'u', 'U']);
    match plain.parse::<f64>() {
        // A whole number and a fraction that is whole are different types.
        Ok(value) if plain.contains(['.', 'e', 'E']) => format!("{value:?}"),
        _ => plain.to_owned(),
    }
}
