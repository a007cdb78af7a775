//! Straight-line formulas, `(variable, formula)` one after the other, in every language.

use std::collections::HashSet;

use crate::expression::{Expression, Language};

/// Assignments in the neutral notation.
pub(crate) type Steps = [(&'static str, &'static str)];

/// The formulas of our families are our own: one that cannot be read stays as it is, and fails the test
/// that reads every template.
pub(crate) fn formula(
    text: &str,
    language: Language,
    rename: &dyn Fn(&str) -> Option<String>,
) -> String {
    let replace = |name: &str| rename(name).map(Expression::Variable);
    match Expression::read(text) {
        Ok(read) => read.with(&replace).print(language),
        Err(error) => format!("${error}"),
    }
}

/// The assignments as lines. `known` are variables that exist already; CUDA declares the others.
pub(crate) fn lines(
    steps: &Steps,
    language: Language,
    known: &mut HashSet<String>,
    rename: &dyn Fn(&str) -> Option<String>,
) -> String {
    let mut text = String::new();
    for (variable, right) in steps {
        let target = rename(variable).unwrap_or_else(|| (*variable).to_owned());
        let right = formula(right, language, rename);
        text.push_str(&match language {
            Language::Cuda if known.insert(target.clone()) => {
                format!("float {target} = {right};\n")
            }
            Language::Cuda => format!("{target} = {right};\n"),
            _ => format!("{target} = {right}\n"),
        });
    }
    text
}

/// How often formulas name a variable.
pub(crate) fn uses(steps: &Steps, variable: &str) -> usize {
    let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let words = steps
        .iter()
        .flat_map(|(_, right)| right.split(|c| !is_word(c)));
    words.filter(|word| *word == variable).count()
}

/// Every line of a text, so many steps deeper.
pub(crate) fn deeper(text: &str, steps: usize) -> String {
    let pad = "    ".repeat(steps);
    let lines = text.lines();
    lines
        .map(|line| match line.is_empty() {
            true => "\n".to_owned(),
            false => format!("{pad}{line}\n"),
        })
        .collect()
}
