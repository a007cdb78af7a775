//! What a family leaves open: each axis is a list of options, and a specification picks one of each.

use crate::expression::{Expression, Language, literal};
use crate::function::{Chains, DOUBLE, FORMULAS, FUNCTIONS, SINGLE};

/// One parameter of a family.
pub(crate) struct Axis {
    pub(crate) name: &'static str,
    kind: Kind,
}

enum Kind {
    Constants(&'static [f64]),
    Integers(&'static [i64]),
    /// Functions of one number, one after the other.
    Chain(&'static Chains, usize),
    Options(&'static [Choice]),
}

/// An option with a name: a reduction, a boundary, an order.
pub(crate) struct Choice {
    pub(crate) name: &'static str,
    pub(crate) words: &'static str,
    /// A formula and the names of its parameters.
    pub(crate) formula: Option<(&'static [&'static str], &'static str)>,
    /// Further texts, by the key that templates use.
    pub(crate) parts: &'static [(&'static str, &'static str)],
}

/// A place in a template that an axis fills.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Use {
    /// `$name`
    Literal,
    /// `$name.key`; `$name.of(…)` is what comes `before` and `behind` the brackets
    Part(String),
    /// `$name(arguments)`; of a chain, one stage of it
    Apply(Vec<String>, usize),
}

impl Axis {
    pub(crate) const fn constants(name: &'static str, values: &'static [f64]) -> Self {
        Self {
            name,
            kind: Kind::Constants(values),
        }
    }

    pub(crate) const fn integers(name: &'static str, values: &'static [i64]) -> Self {
        Self {
            name,
            kind: Kind::Integers(values),
        }
    }

    pub(crate) const fn options(name: &'static str, options: &'static [Choice]) -> Self {
        Self {
            name,
            kind: Kind::Options(options),
        }
    }

    /// One function.
    pub(crate) fn function(name: &'static str) -> Self {
        Self {
            name,
            kind: Kind::Chain(&SINGLE, 1),
        }
    }

    /// Two functions, one after the other.
    pub(crate) fn chain(name: &'static str) -> Self {
        Self {
            name,
            kind: Kind::Chain(&DOUBLE, 2),
        }
    }

    pub(crate) fn count(&self) -> usize {
        match &self.kind {
            Kind::Constants(values) => values.len(),
            Kind::Integers(values) => values.len(),
            Kind::Chain(chains, _) => chains.list.len(),
            Kind::Options(options) => options.len(),
        }
    }

    /// Lines that a use as a function becomes: one for each stage of a chain.
    pub(crate) fn stages(&self) -> usize {
        match &self.kind {
            Kind::Chain(_, stages) => *stages,
            _ => 1,
        }
    }

    /// What a place may hold: as many texts as there are options of the axis, or of one stage of a chain.
    pub(crate) fn alternatives(&self, use_: &Use, language: Language) -> Vec<String> {
        let count = match (&self.kind, use_) {
            (Kind::Chain(..), Use::Apply(..)) => FUNCTIONS.len(),
            _ => self.count(),
        };
        (0..count)
            .map(|at| match (&self.kind, use_) {
                (Kind::Chain(..), Use::Apply(arguments, _)) => stage(at, arguments, language),
                _ => self.text(at, use_, language),
            })
            .collect()
    }

    /// The option whose stages are these; stages of an axis that is no chain are its option.
    pub(crate) fn option_of(&self, stages: &[usize]) -> Option<usize> {
        match &self.kind {
            Kind::Chain(chains, _) => chains.number(stages),
            _ => stages.first().copied(),
        }
    }

    /// The text of an option at a place.
    pub(crate) fn text(&self, option: usize, use_: &Use, language: Language) -> String {
        match (&self.kind, use_) {
            (Kind::Constants(values), _) => literal(values[option], language),
            (Kind::Integers(values), _) => values[option].to_string(),
            (Kind::Chain(chains, _), Use::Apply(arguments, at)) => {
                stage(chains.list[option][*at], arguments, language)
            }
            (Kind::Chain(chains, _), Use::Part(key)) => {
                let stages = chains.list[option].iter().map(|stage| &FUNCTIONS[*stage]);
                match key.as_str() {
                    "name" => stages.map(|one| one.name).collect::<Vec<_>>().join("_"),
                    "words" => stages
                        .map(|one| one.verb)
                        .collect::<Vec<_>>()
                        .join(", then "),
                    _ => {
                        let whole = stages.fold("{}".to_owned(), |inner, one| {
                            one.noun.replacen("{}", &inner, 1)
                        });
                        let (before, behind) = whole.split_once("{}").unwrap_or((&whole, ""));
                        if key == "before" { before } else { behind }.to_owned()
                    }
                }
            }
            (Kind::Options(options), Use::Apply(arguments, _)) => {
                let Some((parameters, formula)) = options[option].formula else {
                    return String::new();
                };
                let replace = |name: &str| {
                    let at = parameters.iter().position(|one| *one == name)?;
                    Some(Expression::Variable(arguments.get(at)?.clone()))
                };
                Expression::read(formula)
                    .map(|formula| formula.with(&replace).print(language))
                    .unwrap_or_default()
            }
            (Kind::Options(options), Use::Part(key)) => {
                let option = &options[option];
                let part = option.parts.iter().find(|(name, _)| name == key);
                match (key.as_str(), part) {
                    (_, Some((_, text))) => (*text).to_owned(),
                    ("name", None) => option.name.to_owned(),
                    _ => option.words.to_owned(),
                }
            }
            (Kind::Chain(..) | Kind::Options(_), Use::Literal) => String::new(),
        }
    }
}

/// One function of the vocabulary, applied.
fn stage(function: usize, arguments: &[String], language: Language) -> String {
    let replace = |_: &str| arguments.first().cloned().map(Expression::Variable);
    FORMULAS[function].with(&replace).print(language)
}
