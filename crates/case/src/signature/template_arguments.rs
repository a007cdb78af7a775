//! The parameters of a template, and an instance of it that the file launches or that is a fair guess.

use super::element_type::element;
use super::tokens::{Token, split};

/// `name<float, 32>`, or the name alone.
pub(super) fn instance(name: &str, arguments: &[Vec<&str>]) -> String {
    if arguments.is_empty() {
        return name.to_owned();
    }
    let words: Vec<String> = arguments.iter().map(|words| words.join(" ")).collect();
    format!("{name}<{}>", words.join(", "))
}

/// A parameter of a template, and what to put there unless something else is known.
pub(super) struct TemplateParameter<'a> {
    pub(super) name: &'a str,
    pub(super) guess: Vec<&'a str>,
    pub(super) is_type: bool,
}

/// The parameters of the `template <…>` that ends right before the kernel.
pub(super) fn template_parameters<'a>(before: &[Token<'a>]) -> Vec<TemplateParameter<'a>> {
    let ends = [";", "}", "{"];
    let start = before.iter().rposition(|token| ends.contains(&token.text));
    let header = &before[start.map_or(0, |at| at + 1)..];
    let Some(at) = header.iter().position(|token| token.text == "template") else {
        return Vec::new();
    };
    let Some(end) = header.iter().rposition(|token| token.text == ">") else {
        return Vec::new();
    };
    if end < at + 2 {
        return Vec::new();
    }
    let parameter = |words: &&[Token<'a>]| {
        let until = words
            .iter()
            .position(|token| token.text == "=")
            .unwrap_or(words.len());
        let name = words[..until].last()?.text;
        let is = |kind: &[&str]| {
            words[..until]
                .iter()
                .any(|token| kind.contains(&token.text))
        };
        let is_type = is(&["typename", "class"]);
        let guess: Vec<&'a str> = match words.get(until + 1..) {
            Some(default) if !default.is_empty() => {
                default.iter().map(|token| token.text).collect()
            }
            _ if is_type => vec!["float"],
            _ if is(&["bool"]) => vec!["true"],
            _ => vec!["32"],
        };
        Some(TemplateParameter {
            name,
            guess,
            is_type,
        })
    };
    split(&header[at + 2..end])
        .iter()
        .filter_map(parameter)
        .collect()
}

/// The arguments of the first launch `name<…><<<` that are numbers and types of their own.
pub(super) fn launched_arguments<'a>(
    tokens: &[Token<'a>],
    name: &str,
) -> Option<Vec<Vec<&'a str>>> {
    let plain = |words: &&[Token<'a>]| {
        let number = |word: &str| word.starts_with(|c: char| c.is_ascii_digit());
        let truth = |word: &str| word == "true" || word == "false";
        let texts: Vec<&str> = words.iter().map(|token| token.text).collect();
        match texts[..] {
            [word] if number(word) || truth(word) => true,
            _ => element(&texts).is_some(),
        }
    };
    for (at, token) in tokens.iter().enumerate() {
        let opens = tokens.get(at + 1).is_some_and(|next| next.text == "<");
        if token.text != name || !opens {
            continue;
        }
        let rest = &tokens[at + 2..tokens.len().min(at + 66)];
        let text = |at: usize| rest.get(at).map(|token| token.text);
        let end = (0..rest.len())
            .find(|at| text(*at) == Some(">") && (1..4).all(|next| text(at + next) == Some("<")));
        if let Some(end) = end {
            let arguments = split(&rest[..end]);
            if !arguments.is_empty() && arguments.iter().all(&plain) {
                let words = arguments.iter();
                return Some(
                    words
                        .map(|one| one.iter().map(|token| token.text).collect())
                        .collect(),
                );
            }
        }
    }
    None
}
