//! CUDA templates: Jinja's branches for other platforms are blanked before the text is read.
//!
//! Only a condition that plainly names the platform counts (`is_rocm`, `is_rocm and …`, the `else`
//! of `not is_rocm`); every other branch stays. Lines keep their numbers.

use std::borrow::Cow;

/// One `{% if %}` that is open.
struct Branch {
    /// The branch being read is for another platform.
    foreign: bool,
    /// The `else` of the chain is for another platform.
    foreign_else: bool,
}

pub(crate) fn without_other_platforms(text: &str) -> Cow<'_, str> {
    if memchr::memmem::find(text.as_bytes(), b"{%").is_none() {
        return Cow::Borrowed(text);
    }
    let mut kept = String::with_capacity(text.len());
    let mut open: Vec<Branch> = Vec::new();
    // A statement may span lines.
    let mut statement: Option<String> = None;
    for line in text.split_inclusive('\n') {
        let mut rest = line;
        let inside = statement.is_some();
        let mut had_statement = inside;
        while !rest.is_empty() {
            if let Some(begun) = &mut statement {
                let Some(end) = rest.find("%}") else {
                    begun.push_str(rest);
                    break;
                };
                begun.push_str(&rest[..end]);
                follow(begun, &mut open);
                statement = None;
                rest = &rest[end + 2..];
            } else {
                let Some(start) = rest.find("{%") else { break };
                had_statement = true;
                statement = Some(String::new());
                rest = &rest[start + 2..];
            }
        }
        if !had_statement && open.iter().any(|branch| branch.foreign) {
            kept.push_str(if line.ends_with('\n') { "\n" } else { "" });
        } else {
            kept.push_str(line);
        }
    }
    Cow::Owned(kept)
}

fn follow(statement: &str, open: &mut Vec<Branch>) {
    let statement = statement.trim_matches(|c: char| c == '-' || c == '+' || c.is_whitespace());
    let (word, condition) = statement
        .split_once(char::is_whitespace)
        .unwrap_or((statement, ""));
    match (word, open.last_mut()) {
        ("if", _) => open.push(Branch {
            foreign: needs_other_platform(condition),
            foreign_else: is_own_platform_alone(condition),
        }),
        ("elif", Some(branch)) => {
            branch.foreign = branch.foreign_else || needs_other_platform(condition);
        }
        ("else", Some(branch)) => branch.foreign = branch.foreign_else,
        ("endif", Some(_)) => {
            open.pop();
        }
        _ => {}
    }
}

fn names_platform(name: &str) -> bool {
    matches!(name, "is_rocm" | "is_hip" | "use_rocm" | "use_hip")
}

fn words(condition: &str) -> Vec<String> {
    let words = condition.split_whitespace();
    words.map(str::to_ascii_lowercase).collect()
}

/// A conjunction with the other platform as one of its terms.
fn needs_other_platform(condition: &str) -> bool {
    let words = words(condition);
    !words.iter().any(|w| w == "or" || w == "if")
        && words.split(|w| w == "and").any(|term| match term {
            [name] => names_platform(name),
            _ => false,
        })
}

fn is_own_platform_alone(condition: &str) -> bool {
    matches!(words(condition).as_slice(), [not, name] if not == "not" && names_platform(name))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn kept(text: &str) -> Vec<String> {
        let shown = without_other_platforms(text);
        assert_eq!(shown.matches('\n').count(), text.matches('\n').count());
        let lines = shown.lines().filter(|l| !l.contains('%') && !l.is_empty());
        lines.map(str::to_owned).collect()
    }

    #[test]
    fn a_branch_for_another_platform_is_blank() {
        let text =
            "{%- if is_rocm %}\na\n{%- if x %}\nb\n{%- endif %}\n{%- else %}\nc\n{%- endif %}\nd\n";
        assert_eq!(kept(text), ["c", "d"]);
        assert_eq!(
            kept("{% if not is_rocm %}\na\n{% else %}\nb\n{% endif %}\n"),
            ["a"]
        );
        assert_eq!(
            kept("{% if is_rocm and\n   x %}\na\n{% endif %}\nb\n"),
            ["   x %}", "b"][1..]
        );
    }

    #[test]
    fn a_branch_that_may_be_taken_stays() {
        for condition in [
            "dense",
            "is_rocm or dense",
            "not is_rocm",
            "not (is_rocm and x)",
        ] {
            let text = format!("{{% if {condition} %}}\na\n{{% endif %}}\nb\n");
            assert_eq!(kept(&text), ["a", "b"], "{condition}");
        }
        let set = "{%- set fast = is_rocm and x %}\na\n";
        assert_eq!(kept(set), ["a"]);
    }

    proptest! {
        #[test]
        fn any_text_keeps_its_lines(text in "(\\{%|%\\}|if|else|endif|is_rocm| |\n|\\PC){0,40}") {
            let shown = without_other_platforms(&text);
            prop_assert_eq!(shown.matches('\n').count(), text.matches('\n').count());
        }
    }
}
